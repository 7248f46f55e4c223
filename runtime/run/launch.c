/* SPDX-License-Identifier: BSD-3-Clause
 * Starting ranks: as processes that end with goalrun, or as threads. */
#include "runtime/run/hosts.h"

#include "util/env.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_NS 2000000000u /* for the others, once a rank has failed; and where they are on several hosts */
#define FAR_GRACE_NS 4000000000u

/* ---- processes ---- */

pid_t run_fork(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) /* it died in between */
			_exit(EXIT_FAULT);
	}
	return pid;
}

/* Where nobody types, a rank has a process group, so that what it has started ends with it. */
static pid_t fork_rank(const struct run_options *o)
{
	pid_t pid = run_fork();

	if (o->agent && pid >= 0) /* on either side: whoever comes first */
		setpgid(pid, pid);
	return pid;
}

static void signal_all(const struct run_options *o, const pid_t *pids, int sig)
{
	for (uint32_t r = 0; r < o->nranks; r++)
		if (pids[r] > 0)
			kill(o->agent ? -pids[r] : pids[r], sig);
}

/* A line on a terminal, for sweeps; nothing in a pipe. */
static void progress(const struct run_launch *l, bool last)
{
	if (!l || l->o->agent || l->o->ncases < 2 || !isatty(STDERR_FILENO))
		return;
	if (last)
		fputs("\r\033[K", stderr);
	else
		fprintf(stderr, "\r%s memory: %llu cases done, %zu in all", run_memory_names[l->memory],
			(unsigned long long)atomic_load(&l->shared->cases_done), l->o->ncases);
}

/* Waits a moment; a signal that came, also from where goalrun was called if this is one of several hosts, or 0. */
static int next_signal(const struct run_options *o, const sigset_t *asked)
{
	struct timespec tick = { 0, o->agent ? 0 : 20000000 };
	int sig = sigtimedwait(asked, NULL, &tick);

	return sig <= 0 && o->agent ? agent_turn(o->agent) : sig;
}

/* Waits for all; once one has failed the board says so, and the others get a moment to notice. died[r] is the
 * signal that killed rank r. l: whose progress to show, or NULL. Signals for goalrun must be
 * blocked: SIGUSR1 goes on to the ranks, others end them. */
static int reap(const struct run_options *o, pid_t *pids, int *died, struct rt_board *board, const sigset_t *asked,
		const struct run_launch *l)
{
	const uint32_t n = o->nranks;
	uint32_t left = 0;
	uint64_t until = 0;
	int rc = EXIT_OK;

	for (uint32_t r = 0; r < n; r++)
		left += pids[r] > 0;
	while (left) {
		int status, sig;
		pid_t pid;

		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			for (uint32_t r = 0; r < n; r++) {
				if (pids[r] != pid)
					continue;
				pids[r] = 0;
				left--;
				if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
					atomic_store(&board->slots[r].closed, 1); /* the others need not wait for it */
					continue;
				}
				died[r] = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
				rc = EXIT_FAULT;
				if (o->agent) {
					agent_exited(o->agent, r, died[r]);
					kill(-pid, SIGKILL);
				}
				if (!until)
					until = rt_now_ns() + (o->agent ? FAR_GRACE_NS : GRACE_NS);
				if (!atomic_load(&board->failed))
					atomic_store(&board->failed, rt_failure(r, RT_NOBODY));
			}
		if (pid < 0 && errno == ECHILD)
			break;
		if (until && rt_now_ns() > until)
			signal_all(o, pids, SIGKILL);
		if (!left)
			break;
		progress(l, false);
		sig = next_signal(o, asked);
		if (sig == SIGUSR1) {
			signal_all(o, pids, sig);
		} else if (sig > 0 && sig != SIGCHLD) {
			signal_all(o, pids, SIGKILL);
			rc = EXIT_FAULT;
			if (l && !o->agent)
				run_reproduce(l->o, atomic_load(&l->shared->at_case));
		}
	}
	progress(l, true);
	return rc;
}

void run_block_signals(sigset_t *set, sigset_t *old)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGUSR1); /* is for the ranks */
	sigaddset(set, SIGCHLD); /* wakes the wait */
	sigprocmask(SIG_BLOCK, set, old);
}

struct thread {
	pthread_t id;
	struct run_launch *l;
	uint32_t rank;
	enum { RUNNING, DONE, FAILED } _Atomic state;
};

/* The first rank that was killed is the cause, else every rank that had something to say. Of threads only those
 * that have ended: the others may be writing. */
static void report(const struct run_launch *l, const int *died, const struct thread *t)
{
	for (uint32_t r = 0; r < l->o->nranks; r++)
		if (died && died[r] && died[r] != SIGKILL)
			fprintf(stderr, "goalrun: rank %u: killed by signal %d (%s)\n", r, died[r],
				strsignal(died[r]));
	for (uint32_t r = 0; r < l->o->nranks; r++)
		if (t && atomic_load(&t[r].state) == RUNNING)
			continue;
		else if (l->error[r][0])
			fprintf(stderr, "goalrun: rank %u: %s\n", r, l->error[r]);
		else if (died && died[r] == SIGKILL)
			fprintf(stderr, "goalrun: rank %u: killed\n", r);
	if (l->shared->failed_case)
		run_reproduce(l->o, l->shared->failed_case - 1);
}

static int launch_processes(struct run_launch *l)
{
	uint32_t n = l->o->nranks;
	pid_t *pids = mem_calloc(n, sizeof *pids);
	int *died = mem_calloc(n, sizeof *died), rc = EXIT_FAULT;
	sigset_t asked, old;

	if (!pids || !died) {
		fprintf(stderr, "goalrun: %s\n", err_text(ERR_NOMEM));
		goto out;
	}
	if (l->o->hosts) {
		rc = hosts_run(l->o->hosts, l->o, l, died);
		goto report;
	}
	fflush(NULL);
	run_block_signals(&asked, &old);
	rc = EXIT_OK;
	for (uint32_t r = l->o->first; r < l->o->first + l->o->here; r++) {
		pids[r] = fork_rank(l->o);
		if (pids[r] == 0) {
			sigprocmask(SIG_SETMASK, &old, NULL);
			_exit(run_rank(l, r) ? EXIT_FAULT : EXIT_OK);
		}
		if (pids[r] < 0) {
			fprintf(stderr, "goalrun: fork: %s\n", strerror(errno));
			signal_all(l->o, pids, SIGKILL);
			rc = EXIT_FAULT;
			break;
		}
	}
	rc |= reap(l->o, pids, died, l->board, &asked, l);
	sigprocmask(SIG_SETMASK, &old, NULL);
report:
	if (rc && !l->o->agent)
		report(l, died, NULL);
out:
	free(pids);
	free(died);
	return rc;
}

/* ---- threads ---- */

static void *thread_main(void *arg)
{
	struct thread *t = arg;

	atomic_store(&t->state, run_rank(t->l, t->rank) ? FAILED : DONE);
	return NULL;
}

static bool any_failed(const struct thread *t, uint32_t n)
{
	for (uint32_t r = 0; r < n; r++)
		if (atomic_load(&t[r].state) == FAILED)
			return true;
	return false;
}

static int launch_threads(struct run_launch *l)
{
	uint32_t n = l->o->nranks;
	struct thread *t = mem_calloc(n, sizeof *t);
	sigset_t asked, old, dump;

	if (!t) {
		fprintf(stderr, "goalrun: %s\n", err_text(ERR_NOMEM));
		return EXIT_FAULT;
	}
	run_block_signals(&asked, &old);
	sigemptyset(&dump); /* goes to the library, in whatever thread */
	sigaddset(&dump, SIGUSR1);
	sigdelset(&asked, SIGUSR1);
	sigprocmask(SIG_UNBLOCK, &dump, NULL);
	for (uint32_t r = 0; r < n; r++) {
		t[r].l = l;
		t[r].rank = r;
		if (pthread_create(&t[r].id, NULL, thread_main, &t[r])) {
			fprintf(stderr, "goalrun: pthread_create failed\n");
			_exit(EXIT_FAULT);
		}
	}
	for (uint32_t r = 0; r < n;) {
		const struct timespec tick = { 0, 20000000 };

		if (any_failed(t, n)) { /* the others may wait for it for ever; those that fail, too, get a moment */
			nanosleep(&tick, NULL);
			report(l, NULL, t);
			for (; r < n; r++)
				if (atomic_load(&t[r].state) != RUNNING)
					pthread_join(t[r].id, NULL);
			_exit(EXIT_FAULT);
		}
		if (atomic_load(&t[r].state) == DONE) {
			pthread_join(t[r++].id, NULL);
			continue;
		}
		progress(l, false);
		if (sigtimedwait(&asked, NULL, &tick) > 0) {
			run_reproduce(l->o, atomic_load(&l->shared->at_case));
			_exit(EXIT_FAULT);
		}
	}
	progress(l, true);
	sigprocmask(SIG_SETMASK, &old, NULL);
	free(t);
	return EXIT_OK;
}

/* ---- both ---- */

void *run_shared_memory(size_t size)
{
	void *p = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int launch_schedule(struct run_launch *l)
{
	uint32_t n = l->o->nranks;
	size_t board = rt_board_size(n), errors = n * sizeof *l->error, words = n * sizeof *l->entered;
	int rc = EXIT_FAULT;

	/* A launch of its own for each memory kind: the environment is read at bind. */
	if (setenv("GOAL_SHM_DIRECT", l->memory == RUN_STAGED ? "0" : "1", l->memory == RUN_STAGED))
		return EXIT_FAULT;
	l->board = run_shared_memory(board);
	l->shared = run_shared_memory(sizeof *l->shared);
	l->error = run_shared_memory(errors);
	l->entered = run_shared_memory(words);
	if (l->board && l->shared && l->error && l->entered) {
		l->board->size = n;
		rt_usr1_hold(); /* processes inherit it: no SIGUSR1 comes too early for a rank */
		if (!l->o->agent || agent_begin(l->o->agent, l->board, l->shared))
			rc = l->o->threads ? launch_threads(l) : launch_processes(l);
		if (l->o->agent)
			agent_finish(l->o->agent, l, rc);
		rt_usr1_release();
	} else {
		fprintf(stderr, "goalrun: %s\n", err_text(ERR_NOMEM));
	}
	if (l->board)
		munmap(l->board, board);
	if (l->shared)
		munmap(l->shared, sizeof *l->shared);
	if (l->error)
		munmap(l->error, errors);
	if (l->entered)
		munmap(l->entered, words);
	if (l->memory == RUN_STAGED)
		unsetenv("GOAL_SHM_DIRECT");
	return rc;
}

int launch_program(const struct run_options *o)
{
	uint32_t n = o->nranks;
	pid_t *pids = mem_calloc(n, sizeof *pids);
	int *died = mem_calloc(n, sizeof *died), rc = EXIT_FAULT;
	int fd = memfd_create("goal-boot", 0); /* inherited by exec */
	struct rt_board *b = MAP_FAILED;
	char text[16];
	sigset_t asked, old;

	if (pids && died && fd >= 0 && !ftruncate(fd, (off_t)rt_board_size(n)))
		b = mmap(NULL, rt_board_size(n), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (b == MAP_FAILED) {
		fprintf(stderr, "goalrun: no memory for a board of %u ranks: %s\n", n, strerror(errno));
		goto out;
	}
	b->size = n;
	if (o->hosts) {
		rc = hosts_run(o->hosts, o, NULL, died);
		goto report;
	}
	if (o->agent && !agent_begin(o->agent, b, NULL))
		goto out;
	run_block_signals(&asked, &old);
	rc = EXIT_OK;
	for (uint32_t r = o->first; r < o->first + o->here; r++) {
		pids[r] = fork_rank(o);
		if (pids[r] == 0) {
			sigprocmask(SIG_SETMASK, &old, NULL);
			signal(SIGPIPE, SIG_DFL);
			if (o->agent && r == 0 && dup2(agent_input(o->agent), STDIN_FILENO) < 0)
				_exit(EXIT_FAULT);
			snprintf(text, sizeof text, "%d", fd);
			setenv(env_table[ENV_GOAL_BOOT_FD].name, text, 1);
			snprintf(text, sizeof text, "%u", r);
			setenv(env_table[ENV_GOAL_RANK].name, text, 1);
			snprintf(text, sizeof text, "%u", n);
			setenv(env_table[ENV_GOAL_SIZE].name, text, 1);
			if (o->places && !run_pin(o->places, r)) {
				fprintf(stderr, "goalrun: rank %u cannot be pinned: %s\n", r, strerror(errno));
				_exit(EXIT_FAULT);
			}
			execvp(o->program[0], o->program);
			fprintf(stderr, "goalrun: %s: %s\n", o->program[0], strerror(errno));
			_exit(EXIT_FAULT);
		}
		if (pids[r] < 0) {
			fprintf(stderr, "goalrun: fork: %s\n", strerror(errno));
			signal_all(o, pids, SIGKILL);
			rc = EXIT_FAULT;
			break;
		}
	}
	rc |= reap(o, pids, died, b, &asked, NULL);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (o->agent)
		agent_finish(o->agent, NULL, rc);
report:
	for (uint32_t r = 0; r < n && !o->agent; r++)
		if (died[r])
			fprintf(stderr, "goalrun: rank %u: killed by signal %d (%s)\n", r, died[r],
				strsignal(died[r]));
out:
	if (b != MAP_FAILED)
		munmap(b, rt_board_size(n));
	if (fd >= 0)
		close(fd);
	free(pids);
	free(died);
	return rc;
}
