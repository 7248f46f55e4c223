/* SPDX-License-Identifier: BSD-3-Clause
 * Starts the ranks, as processes that end with goalrun or as threads. */
#include "goalrun/hosts.h"
#include "runtime/context.h"
#include "runtime/heap/heap.h"
#include "util/clock.h"
#include "util/env.h"
#include "util/progress.h"
#include "util/text.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ns for the other ranks to notice, once a rank has failed; FAR_GRACE_NS if ranks are on several hosts */
#define GRACE_NS 2000000000u
#define FAR_GRACE_NS 4000000000u

/* ---- processes ---- */

/* Forks a rank. On an agent, where nobody types, the rank gets a process group of its own, so that whatever it starts
 * ends with it. */
static pid_t fork_rank(const struct run_options *o)
{
	pid_t pid = run_fork();

	if (o->agent && pid >= 0) /* both processes do this, because either may run first */
		setpgid(pid, pid);
	return pid;
}

/* The ranks of this host as processes, while they run. */
struct ranks {
	const struct run_options *o;
	const struct run_launch *l; /* launch whose progress is shown, for a schedule; NULL for a program */
	struct run_job *job; /* job of a program; NULL for a schedule */
	struct rt_board *board;
	pid_t *pids; /* process of each rank; 0 if there is none or it has ended */
	int *died; /* signal that killed each rank, or 0 */
	int64_t cause; /* rank that failed first, or -1 */
	struct progress progress;
	uint64_t until; /* time in ns at which the others are killed, once one has failed */
};

static void signal_all(const struct ranks *r, int sig)
{
	if (r->job)
		run_job_signal(r->job, sig);
	for (uint32_t k = 0; k < r->o->nranks; k++)
		if (r->pids[k] > 0 && (!r->job || sig == SIGKILL))
			kill(r->o->agent ? -r->pids[k] : r->pids[k], sig);
}

/* Shows on the terminal how far the cases are. */
static void show_progress(struct progress *p, const struct run_launch *l)
{
	if (l && !l->o->agent)
		progress_tick(p, "%s, %s memory: %llu cases done, %zu in all", l->o->name, run_memory_names[l->memory],
			      (unsigned long long)atomic_load(&l->shared->cases_done), l->o->ncases);
}

/* Waits a moment. Returns a signal that has arrived, or 0. An agent also returns signals that goalrun has forwarded. */
static int next_signal(const struct run_options *o, const sigset_t *asked)
{
	struct timespec tick = { 0, o->agent ? 0 : 20000000 };
	int sig = sigtimedwait(asked, NULL, &tick);

	return sig <= 0 && o->agent ? agent_poll(o->agent) : sig;
}

/* Handles the end of a rank. Returns false if the rank has failed. In that case it also kills the processes that the rank
 * has started, because they could act as the rank. */
static bool ended_well(struct ranks *r, uint32_t rank, pid_t pid, int status)
{
	r->pids[rank] = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		atomic_store(&r->board->slots[rank].closed, 1); /* the others need not wait for this rank */
		return true;
	}
	r->died[rank] = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	if (r->job) {
		agent_away(r->o->agent); /* the next call examines all processes, which takes long */
		run_job_kill(r->job, rank);
		agent_back(r->o->agent);
	}
	if (r->o->agent) {
		agent_exited(r->o->agent, rank, r->died[rank]);
		kill(-pid, SIGKILL);
	}
	return false;
}

/* Collects ranks that have ended, and writes on the board which failed first. If several failed at the same time, a
 * rank that was killed counts as first, because the others may have failed on its account. Returns the number of ranks
 * left. */
static uint32_t collect(struct ranks *r)
{
	int64_t worst = -1;
	uint32_t left = 0;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (uint32_t k = 0; k < r->o->nranks; k++)
			if (r->pids[k] == pid && !ended_well(r, k, pid, status) &&
			    (worst < 0 || (r->died[k] && !r->died[worst])))
				worst = k;
	if (worst >= 0 && r->cause < 0) {
		r->cause = worst;
		r->until = clock_now_ns() + (r->o->agent ? FAR_GRACE_NS : GRACE_NS);
		if (!atomic_load(&r->board->failed))
			atomic_store(&r->board->failed, rt_failure((uint32_t)worst, RT_NOBODY));
	}
	for (uint32_t k = 0; k < r->o->nranks; k++)
		left += r->pids[k] > 0;
	return left;
}

/* True if SIGINT, which is blocked, has arrived. */
static bool is_interrupted(void)
{
	static const struct timespec now;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	return sigtimedwait(&set, NULL, &now) == SIGINT;
}

/* Waits for all ranks. Once one has failed, the others get a moment to notice. The caller has blocked goalrun's signals:
 * SIGUSR1 is forwarded to the ranks, and all other signals end the ranks. */
static int wait_for_ranks(struct ranks *r, const sigset_t *asked)
{
	int rc = EXIT_OK;

	progress_begin(&r->progress, "goalrun");
	while (collect(r)) {
		int sig;

		if (r->cause >= 0 && clock_now_ns() > r->until)
			signal_all(r, SIGKILL);
		show_progress(&r->progress, r->l);
		sig = next_signal(r->o, asked);
		if (sig == SIGUSR1) {
			signal_all(r, sig);
		} else if (sig > 0 && sig != SIGCHLD) {
			const bool again = rc != EXIT_OK;

			signal_all(r, SIGKILL);
			rc = sig == SIGINT && !r->o->agent ? EXIT_INTERRUPTED : EXIT_FAULT;
			progress_end(&r->progress);
			if (r->l && !r->o->agent && rc == EXIT_FAULT && !again)
				run_reproduce(r->l->o, atomic_load(&r->l->shared->at_case));
		}
	}
	progress_end(&r->progress);
	/* A terminal sends SIGINT to the ranks as well, which may have ended first. */
	if (!r->o->agent && (rc == EXIT_INTERRUPTED || is_interrupted()))
		return option_interrupted();
	return r->cause < 0 ? rc : EXIT_FAULT;
}

struct thread {
	pthread_t id;
	struct run_launch *l;
	uint32_t rank;
	enum { RUNNING, DONE, FAILED } _Atomic state;
};

/* Prints why ranks failed, each reason once, with the ranks that it holds for. `why` has the reason of each rank, or "",
 * and is empty afterwards. */
static void report_reasons(char (*why)[RUN_ERROR], uint32_t n)
{
	uint32_t *ranks = mem_alloc(n * sizeof *ranks);

	for (uint32_t r = 0; r < n && ranks; r++) {
		struct text t = { 0 };
		size_t same = 0;
		char *list;

		if (!*why[r])
			continue;
		for (uint32_t q = r; q < n; q++)
			if (!strcmp(why[q], why[r]))
				ranks[same++] = q;
		text_add_ranges(&t, ranks, same, SIZE_MAX);
		if (!text_take(&t, &list))
			fprintf(stderr, "goalrun: rank%s %s: %s\n", same > 1 ? "s" : "", list, why[r]);
		free(list);
		for (size_t i = same; i--;)
			*why[ranks[i]] = '\0';
	}
	if (!ranks)
		fprintf(stderr, "goalrun: %s\n", err_text(ERR_NOMEM));
	free(ranks);
}

/* Prints the signals that killed ranks. A rank that was killed with SIGKILL is left out if `kills` is false. */
static void report_signals(const int *died, uint32_t n, bool kills)
{
	char (*why)[RUN_ERROR] = mem_calloc(n, sizeof *why);

	for (uint32_t r = 0; r < n && why && died; r++)
		if (died[r] && (kills || died[r] != SIGKILL))
			snprintf(why[r], sizeof why[r], "killed by signal %d (%s)", died[r], strsignal(died[r]));
	if (why)
		report_reasons(why, n);
	free(why);
}

/* Returns where an error names the rank itself, as "rank 1: " behind the function, and sets how long that is; NULL if it does not. */
static char *find_own_number(char *why, uint32_t rank, size_t *len)
{
	char own[24], *at;

	*len = (size_t)snprintf(own, sizeof own, ": rank %u: ", rank) - 2;
	at = strstr(why, own);
	return at ? at + 2 : NULL;
}

/* Removes the numbers of the ranks from their errors if each error names its own rank: at the start of a group each rank reports its
 * own, and the same error of all of them is printed once. */
static void drop_own_numbers(char (*why)[RUN_ERROR], uint32_t n)
{
	size_t len;

	for (uint32_t r = 0; r < n; r++)
		if (why[r][0] && !find_own_number(why[r], r, &len))
			return;
	for (uint32_t r = 0; r < n; r++)
		if (why[r][0]) {
			char *at = find_own_number(why[r], r, &len);

			memmove(at, at + len, strlen(at + len) + 1);
		}
}

/* Prints why ranks failed: first those that were killed, then every rank that has stored an error. Only threads that
 * have ended are examined, because the others may be writing. */
static void report_failures(const struct run_launch *l, const int *died, const struct thread *t)
{
	const uint32_t n = l->o->nranks;
	char (*why)[RUN_ERROR] = mem_calloc(n, sizeof *why);

	report_signals(died, n, false);
	for (uint32_t r = 0; r < n && why; r++) {
		if (t && atomic_load(&t[r].state) == RUNNING)
			continue;
		if (l->error[r][0])
			memcpy(why[r], l->error[r], sizeof why[r]);
		else if (died && died[r] == SIGKILL)
			strcpy(why[r], "killed");
	}
	if (why) {
		drop_own_numbers(why, n);
		report_reasons(why, n);
	}
	free(why);
	if (l->shared->failed_case)
		run_reproduce(l->o, l->shared->failed_case - 1);
}

/* True if the reader of standard output has gone. */
static bool output_closed(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) > 0 && p.revents & POLLERR;
}

static bool new_ranks(struct ranks *r)
{
	r->pids = mem_calloc(r->o->nranks, sizeof *r->pids);
	r->died = mem_calloc(r->o->nranks, sizeof *r->died);
	if (!r->pids || !r->died)
		fprintf(stderr, "goalrun: %s\n", err_text(ERR_NOMEM));
	return r->pids && r->died;
}

static void free_ranks(struct ranks *r)
{
	free(r->pids);
	free(r->died);
}

/* Starts all ranks and waits for them. Each rank calls `main`, which does not return. */
static int run_ranks(struct ranks *r, void (*main)(void *arg, uint32_t rank), void *arg)
{
	const struct run_options *o = r->o;
	sigset_t asked, old;
	int rc = EXIT_OK;

	fflush(NULL);
	run_block_signals(&asked, &old);
	for (uint32_t k = o->first; k < o->first + o->here && !rc; k++) {
		r->pids[k] = fork_rank(o);
		if (r->pids[k] == 0) {
			sigprocmask(SIG_SETMASK, &old, NULL);
			main(arg, k);
		}
		if (r->pids[k] < 0) {
			fprintf(stderr, "goalrun: fork: %s\n", run_errno_text());
			signal_all(r, SIGKILL);
			rc = EXIT_FAULT;
		}
	}
	if (r->job && !rc)
		run_job_guard(r->job);
	rc |= wait_for_ranks(r, &asked);
	if (r->job) {
		agent_away(o->agent);
		run_job_finish(r->job);
		agent_back(o->agent);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return rc;
}

static void schedule_main(void *arg, uint32_t rank)
{
	_exit(run_rank(arg, rank) ? EXIT_FAULT : EXIT_OK);
}

static int launch_processes(struct run_launch *l)
{
	struct ranks r = { .o = l->o, .l = l, .board = l->board, .cause = -1 };
	int rc = EXIT_FAULT;

	if (new_ranks(&r))
		rc = l->o->hosts ? hosts_run(l->o->hosts, l->o, l, r.died) : run_ranks(&r, schedule_main, l);
	if (rc && rc != EXIT_INTERRUPTED && r.died && !l->o->agent)
		report_failures(l, r.died, NULL);
	free_ranks(&r);
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
	struct progress progress;
	sigset_t asked, old, dump;

	if (!t)
		return option_no_memory("goalrun");
	progress_begin(&progress, "goalrun");
	run_block_signals(&asked, &old);
	sigemptyset(&dump); /* SIGUSR1 goes to the library, in any thread */
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

		/* other threads may wait for the failed one for ever; threads that also fail get a moment to store their
		 * errors */
		if (any_failed(t, n)) {
			nanosleep(&tick, NULL);
			progress_end(&progress);
			report_failures(l, NULL, t);
			for (; r < n; r++)
				if (atomic_load(&t[r].state) != RUNNING)
					pthread_join(t[r].id, NULL);
			_exit(EXIT_FAULT);
		}
		if (atomic_load(&t[r].state) == DONE) {
			pthread_join(t[r++].id, NULL);
			continue;
		}
		show_progress(&progress, l);
		const int sig = sigtimedwait(&asked, NULL, &tick);

		if (sig > 0)
			progress_end(&progress);
		if (sig == SIGINT)
			_exit(option_interrupted());
		if (sig > 0) {
			run_reproduce(l->o, atomic_load(&l->shared->at_case));
			_exit(EXIT_FAULT);
		}
	}
	progress_end(&progress);
	sigprocmask(SIG_SETMASK, &old, NULL);
	free(t);
	return EXIT_OK;
}

/* ---- processes and threads ---- */

/* Exchanges the value of the variable that a kind of memory needs, which bind reads, with *value: the needed one if that is NULL.
 * Returns false if out of memory. */
static bool swap_variable(enum run_memory memory, char **value)
{
	const enum env_name name = memory == RUN_STAGED ? ENV_GOAL_SHM_DIRECT : ENV_GOAL_MOVE;
	struct text before = { 0 };
	bool ok;

	if (memory != RUN_STAGED && memory != RUN_MOVED)
		return true;
	text_add(&before, "%s", env_get(name));
	ok = !before.err && !setenv(env_table[name].name, *value ? *value : memory == RUN_STAGED ? "0" : "1", 1);
	free(*value);
	*value = before.at;
	return ok;
}

int launch_schedule(struct run_launch *l)
{
	char *variable = NULL;
	uint32_t n = l->o->nranks;
	size_t board = rt_board_size(n), errors = n * sizeof *l->error, words = n * sizeof *l->entered;
	int rc = EXIT_FAULT;

	/* Each memory kind has a launch of its own, because the environment is read at bind. */
	if (!swap_variable(l->memory, &variable)) {
		free(variable);
		return option_no_memory("goalrun");
	}
	l->board = run_shared_memory(board);
	l->shared = run_shared_memory(sizeof *l->shared);
	l->error = run_shared_memory(errors);
	l->entered = run_shared_memory(words);
	if (l->board && l->shared && l->error && l->entered) {
		l->board->size = n;
		if (!l->o->agent || agent_begin(l->o->agent, l->board, l->shared))
			rc = l->o->threads ? launch_threads(l) : launch_processes(l);
		if (l->o->agent)
			agent_finish(l->o->agent, l, rc);
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
	if (!swap_variable(l->memory, &variable))
		rc = option_no_memory("goalrun");
	free(variable);
	return rc;
}

struct program {
	const struct run_options *o;
	const struct run_job *job;
	int fd; /* descriptor of the board */
};

static bool set_number(enum env_name name, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof text, "%u", value);
	return !setenv(env_table[name].name, text, 1);
}

/* Executes the program as a rank. */
static void program_main(void *arg, uint32_t rank)
{
	const struct program *p = arg;
	const struct run_options *o = p->o;

	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (o->agent && rank == 0 && dup2(agent_input(o->agent), STDIN_FILENO) < 0)
		_exit(EXIT_FAULT);
	if (!set_number(ENV_GOAL_BOOT_FD, (uint32_t)p->fd) || !set_number(ENV_GOAL_RANK, rank) ||
	    !set_number(ENV_GOAL_SIZE, o->nranks) || !run_job_mark(p->job, rank))
		_exit(option_no_memory("goalrun"));
	if (o->pinning && !run_pin(o->pinning, rank)) {
		fprintf(stderr, "goalrun: rank %u cannot be pinned: %s\n", rank, run_errno_text());
		_exit(EXIT_FAULT);
	}
	execvp(o->program[0], o->program);
	fprintf(stderr, "goalrun: %s: %s\n", o->program[0], run_errno_text());
	_exit(EXIT_FAULT);
}

static int run_program(struct ranks *r, struct program *p)
{
	const struct run_options *o = r->o;
	int rc;

	if (o->hosts)
		return hosts_run(o->hosts, o, NULL, r->died);
	if (o->agent && !agent_begin(o->agent, r->board, NULL))
		return EXIT_FAULT;
	rc = run_ranks(r, program_main, p);
	if (o->agent)
		agent_finish(o->agent, NULL, rc);
	return rc;
}

/* Prints the signals that killed ranks. If the reader of standard output has gone, ranks end by SIGPIPE as usual in a
 * pipeline, and nothing is printed. */
static void report_program(const struct ranks *r)
{
	if (r->o->agent || (r->cause >= 0 && r->died[r->cause] == SIGPIPE && output_closed()))
		return;
	report_signals(r->died, r->o->nranks, true);
}

int launch_program(const struct run_options *o)
{
	const size_t size = rt_board_size(o->nranks);
	struct run_job job = { 0 };
	struct ranks r = { .o = o, .job = &job, .board = MAP_FAILED, .cause = -1 };
	struct program p = { .o = o, .job = &job, .fd = memfd_create("goal-boot", 0) }; /* inherited by exec */
	int rc = EXIT_FAULT;

	run_job_name(&job, p.fd);
	if (p.fd >= 0 && !rt_resize(p.fd, size))
		r.board = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, p.fd, 0);
	if (r.board == MAP_FAILED) {
		fprintf(stderr, "goalrun: no board for %u ranks: %s\n", o->nranks, run_errno_text());
	} else if (new_ranks(&r)) {
		r.board->size = o->nranks;
		rc = run_program(&r, &p);
		if (rc != EXIT_INTERRUPTED)
			report_program(&r);
	}
	if (r.board != MAP_FAILED)
		munmap(r.board, size);
	if (p.fd >= 0)
		close(p.fd);
	free_ranks(&r);
	return rc;
}
