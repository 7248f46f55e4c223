/* SPDX-License-Identifier: BSD-3-Clause
 * kill RUNS [SEED [SECONDS]]: kills a random rank at a random moment; every survivor's call must return an error that
 * names the rank within 1 s, or as many, and nothing may be left behind. */
#include "tests/rt/team.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct report {
	_Atomic int phase; /* 0 joining, 1 binding, 2 running */
	int rc;
	char detail[512];
	double when;
};

struct shared {
	struct team team;
	_Atomic int reported;
	struct report report[TEAM_MAX];
};

struct plan {
	int size, victim;
	useconds_t after;
	bool heap;
	size_t count;
	bool test; /* instead of wait */
	bool split; /* a subgroup of all ranks */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int use(struct member *m, const struct plan *p, struct report *out)
{
	MPIX_Sched s;
	MPIX_Sched_request req;
	void *data = NULL;
	int rc = MPIX_Sched_ctx_create(&m->ctx);

	rc = rc ? rc : MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &m->group);
	rc = rc ? rc : MPIX_Sched_load_mem(m->ctx, "bcast", team_bcast, strlen(team_bcast), &s);
	if (rc)
		return rc;
	if (p->heap)
		rc = MPIX_Sched_alloc(m->ctx, p->count, &data);
	else
		data = calloc(1, p->count);
	struct MPIX_Sched_bind b = { .struct_size = sizeof b, .buffers = &data, .nbuffers = 1, .count = p->count };

	atomic_store(&out->phase, 1);
	if (!rc && p->split) {
		MPIX_Sched_group sub;

		rc = MPIX_Sched_group_split(m->group, 0, 0, &sub);
		rc = rc ? rc : MPIX_Sched_group_free(&m->group);
		m->group = rc ? m->group : sub;
	}
	rc = rc ? rc : MPIX_Sched_init(s, m->group, &b, &req);
	if (!rc)
		atomic_store(&out->phase, 2);
	while (!rc) {
		int flag = 0;

		memset(data, m->rank, p->count);
		rc = MPIX_Sched_start(req);
		while (!rc && p->test && !flag)
			rc = MPIX_Sched_test(req, &flag);
		rc = rc ? rc : MPIX_Sched_wait(req);
	}
	return rc;
}

static void survive(struct shared *sh, const struct plan *p, int rank)
{
	struct member m = { .team = &sh->team, .rank = rank, .size = p->size };
	struct report *out = &sh->report[rank];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	out->rc = use(&m, p, out);
	out->when = now();
	MPIX_Sched_error_detail(m.ctx, out->detail, sizeof out->detail);
	/* Its own exit must not be taken for the death: some may have failed in the caller's allgather. */
	atomic_fetch_add(&sh->reported, 1);
	while (atomic_load(&sh->reported) < p->size - 1 && now() < out->when + 2)
		usleep(1000);
	_exit(0);
}

static int one(const struct plan *p, double limit, int phases[3])
{
	struct shared *sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[TEAM_MAX];
	char name[32];
	double killed;
	int bad = 0, left = p->size;

	sh->team.size = p->size;
	snprintf(name, sizeof name, "rank %d died", p->victim);
	for (int r = 0; r < p->size; r++)
		if ((pids[r] = fork()) == 0)
			survive(sh, p, r);
	usleep(p->after);
	kill(pids[p->victim], SIGKILL);
	killed = now();
	while (left) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid > 0) {
			left--;
			if (pid == pids[p->victim]) /* the caller's allgather has its own means to notice */
				atomic_store(&sh->team.failed, 1);
			continue;
		}
		if (now() > killed + limit + 4) { /* those that hang */
			for (int r = 0; r < p->size; r++)
				kill(pids[r], SIGKILL);
			while (waitpid(-1, NULL, 0) > 0)
				;
			break;
		}
		usleep(500);
	}
	for (int r = 0; r < p->size; r++) {
		struct report *o = &sh->report[r];
		int phase = atomic_load(&o->phase);
		bool named = strstr(o->detail, name) || phase == 0; /* joining: the caller's own allgather failed */

		if (r == p->victim)
			continue;
		phases[phase]++;
		if (o->rc == 0 || !named || o->when > killed + limit) {
			printf("survivor %d of %d (victim %d, phase %d, %s, %zu bytes): rc %d \"%s\" after %.3f s\n", r,
			       p->size, p->victim, phase, p->heap ? "heap" : "private", p->count, o->rc, o->detail,
			       o->when - killed);
			bad++;
		}
	}
	munmap(sh, sizeof *sh);
	return bad;
}

int main(int argc, char **argv)
{
	int runs = argc > 1 ? atoi(argv[1]) : 20, bad = 0, phases[3] = { 0 }, before = team_entries("/dev/shm");
	unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	const double limit = argc > 3 ? atof(argv[3]) : 1;
	const size_t counts[] = { 8, 5000, 300000 };

	for (int i = 0; i < runs; i++) {
		struct plan p = { .size = 2 + rand_r(&seed) % 5 };

		p.victim = rand_r(&seed) % p.size;
		p.after = (useconds_t)(rand_r(&seed) % (i % 3 ? 30000 : 1500));
		p.heap = rand_r(&seed) % 2;
		p.count = counts[rand_r(&seed) % 3];
		p.test = rand_r(&seed) % 2;
		p.split = rand_r(&seed) % 2;
		bad += one(&p, limit, phases);
	}
	printf("%d runs: survivors heard of it while joining %d, binding %d, running %d; %d wrong\n", runs, phases[0],
	       phases[1], phases[2], bad);
	if (team_entries("/dev/shm") != before) {
		printf("something is left in /dev/shm\n");
		bad++;
	}
	printf("%s kill.random %d runs\n", bad ? "FAIL" : "ok", runs);
	return bad != 0;
}
