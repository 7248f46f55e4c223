/* SPDX-License-Identifier: BSD-3-Clause
 * storm ROUNDS [SEED]: signals come a thousand times a second, of a timer with and without SA_RESTART and SIGUSR1 from
 * outside, while ranks make contexts and groups, split them, bind, start, wait and free: nothing may fail.
 * storm exec COMMAND...: sends SIGUSR1 as often to a command, which has to end with 0. */
#include "tests/rt/team.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT 5000
#define MAKINGS 20 /* of groups in a round */

struct plan {
	int rounds, restart; /* SA_RESTART or 0 */
	_Atomic int ready; /* ranks that SIGUSR1 does not end any more */
};

static void nothing(int sig)
{
	(void)sig;
}

static void start_timer(int flags)
{
	const struct sigaction a = { .sa_handler = nothing, .sa_flags = flags };
	const struct itimerval each = { { 0, 1000 }, { 0, 1000 } };

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
}

static int use_group(struct member *m, MPIX_Sched_group g)
{
	static int data[COUNT];
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = { .struct_size = sizeof b, .buffers = buffers, .nbuffers = 1, .count = COUNT,
				     .basic = MPIX_SCHED_INT32 };
	MPIX_Sched_request req;
	MPIX_Sched s;
	int rank, size, flag = 0;

	CALL(MPIX_Sched_group_rank(g, &rank, &size));
	CALL(team_load(m, size, COUNT, &s));
	CALL(MPIX_Sched_init(s, g, &b, &req));
	for (int e = 1; e <= 20; e++, flag = 0) {
		for (int i = 0; i < COUNT; i++)
			data[i] = rank ? -1 : e + i;
		CALL(MPIX_Sched_start(req));
		while (e % 2 && !flag)
			CALL(MPIX_Sched_test(req, &flag));
		CALL(MPIX_Sched_wait(req));
		for (int i = 0; i < COUNT; i++)
			NEED(data[i] == e + i);
	}
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

static int rank_main(struct member *m)
{
	struct plan *p = m->arg;
	MPIX_Sched_ctx first;
	MPIX_Sched_group half;

	CALL(MPIX_Sched_ctx_create(&first)); /* its handler of SIGUSR1 stays */
	atomic_fetch_add(&p->ready, 1);
	start_timer(p->restart);
	for (int i = 0; i < p->rounds; i++) {
		CALL(MPIX_Sched_ctx_create(&m->ctx));
		for (int k = 0; k < MAKINGS; k++) {
			CALL(MPIX_Sched_group_free(&m->group));
			CALL(MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &m->group));
		}
		CALL(MPIX_Sched_group_split(m->group, m->rank % 2, 0, &half));
		if (use_group(m, m->group) || use_group(m, half))
			return 1;
		CALL(MPIX_Sched_group_free(&half));
		CALL(MPIX_Sched_group_free(&m->group));
		CALL(MPIX_Sched_ctx_free(&m->ctx));
	}
	start_timer(0);
	_exit(0); /* with a context: SIGUSR1 still comes */
}

static void pause_briefly(void)
{
	nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

/* Runs ranks, and sends them SIGUSR1 all the time; how many have failed. */
static int blow(struct plan *p, int size)
{
	struct team *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[TEAM_MAX];
	int status, left = size, bad = 0;

	t->size = size;
	atomic_store(&p->ready, 0);
	for (int r = 0; r < size; r++)
		if ((pids[r] = fork()) == 0) {
			struct member m = { .team = t, .rank = r, .size = size, .arg = p };

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(rank_main(&m));
		}
	while (left) {
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid > 0) {
			left--;
			bad += status != 0;
			if (status)
				atomic_store(&t->failed, 1);
			for (int r = 0; r < size; r++)
				pids[r] = pids[r] == pid ? 0 : pids[r];
			continue;
		}
		for (int r = 0; r < size && atomic_load(&p->ready) == size; r++)
			if (pids[r])
				kill(pids[r], SIGUSR1);
		pause_briefly();
	}
	munmap(t, sizeof *t);
	return bad;
}

/* Until a command has taken the signal over it must not be ended by it. */
static int blow_at(char **command)
{
	pid_t pid;
	int status;

	signal(SIGUSR1, SIG_IGN);
	pid = fork();
	if (pid == 0) {
		execvp(command[0], command);
		_exit(127);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		kill(pid, SIGUSR1);
		pause_briefly();
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	struct plan *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	int bad = 0;

	if (argc > 2 && !strcmp(argv[1], "exec"))
		return blow_at(argv + 2);
	p->rounds = argc > 1 ? atoi(argv[1]) : 5;
	for (int restart = 0; restart < 2; restart++) {
		p->restart = restart ? SA_RESTART : 0;
		bad += blow(p, 2 + rand_r(&seed) % 3);
	}
	return bad != 0;
}
