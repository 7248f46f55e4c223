/* SPDX-License-Identifier: BSD-3-Clause
 * ofikill RUNS SEED SECONDS RANKS COUNT BINARY: ends a random rank of a lowered schedule on the engine ofi by a signal;
 * signals, phases and progress modes take turns. Every survivor's call must return an error that names the rank within some seconds (to load
 * libfabric takes each rank 0.4 s of CPU), no signal may have got another handler, and nothing may be left behind. Prints a
 * line. */
#include "tests/rt/team.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum phase { MEETING, BINDING, RUNNING, AGAIN /* bound, run and freed in turns */, PHASES };
static const char *const phases[] = { "meeting", "binding", "running", "binding again" };
static const char *const modes[] = { "app", "thread", "collab" };
enum { MODES = 3 };
static const int signals[] = { SIGKILL, SIGABRT, SIGTERM, SIGKILL, SIGSEGV };
enum { SIGNALS = 5 };

struct report {
	_Atomic int phase;
	int rc;
	bool handlers; /* that the program did not install */
	char detail[512];
	double when;
};

static struct shared {
	struct team team;
	_Atomic int reported;
	struct report report[TEAM_MAX];
} *shared;

static double limit;
static int size, count;
static const char *path;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool any_handler(void)
{
	struct sigaction a;

	for (int s = 1; s < NSIG; s++) /* SIGUSR1 is the library's */
		if (s != SIGUSR1 && !sigaction(s, NULL, &a) && a.sa_handler != SIG_DFL)
			return true;
	return false;
}

static int start(MPIX_Sched_request req, bool test)
{
	int flag = 0, rc = MPIX_Sched_start(req);

	while (!rc && test && !flag)
		rc = MPIX_Sched_test(req, &flag);
	return rc ? rc : MPIX_Sched_wait(req);
}

/* For ever, unless something fails. */
static int use(struct member *m, enum phase phase, bool test, struct report *out)
{
	struct MPIX_Sched_bind b = {
		.struct_size = sizeof b, .nbuffers = 1, .count = (size_t)count, .basic = MPIX_SCHED_INT32
	};
	MPIX_Sched s;
	MPIX_Sched_request req;
	void *data = calloc((size_t)count, 4);
	int rc = MPIX_Sched_ctx_create(&m->ctx);

	b.buffers = &data;
	rc = rc ? rc : MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &m->group);
	rc = rc ? rc : MPIX_Sched_load(m->ctx, path, &s);
	if (!rc)
		atomic_store(&out->phase, BINDING);
	while (!rc) {
		rc = MPIX_Sched_init(s, m->group, &b, &req);
		out->handlers |= any_handler();
		if (rc)
			break;
		if (phase != AGAIN)
			atomic_store(&out->phase, RUNNING);
		for (int i = 0; !rc && (phase != AGAIN || i < 3); i++)
			rc = start(req, test);
		if (rc)
			break;
		atomic_store(&out->phase, AGAIN);
		rc = MPIX_Sched_free(&req);
	}
	return rc;
}

static void survive(enum phase phase, bool test, int rank)
{
	struct member m = { .team = &shared->team, .rank = rank, .size = size };
	struct report *out = &shared->report[rank];
	double until;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
	out->rc = use(&m, phase, test, out);
	out->when = now();
	MPIX_Sched_error_detail(m.ctx, out->detail, sizeof out->detail);
	/* A rank that ends is a death, too, of which the others must not hear first. */
	atomic_fetch_add(&shared->reported, 1);
	for (until = now() + 2; atomic_load(&shared->reported) < size - 1 && now() < until;)
		usleep(1000);
	_exit(0);
}

/* Those that do not end are killed. */
static void await(const pid_t *pids, int victim)
{
	const double end = now() + limit + 6;

	for (int left = size; left;) {
		const pid_t pid = waitpid(-1, NULL, WNOHANG);

		left -= pid > 0;
		if (pid == pids[victim])
			atomic_store(&shared->team.failed, 1); /* the caller's allgather has its own means to notice */
		if (now() > end)
			for (int r = 0; r < size; r++)
				kill(pids[r], SIGKILL);
		if (pid <= 0)
			usleep(500);
	}
}

/* How many survivors heard something else, or too late. */
static int judge(int victim, const char *mode, double killed, int *heard)
{
	char name[32];
	int wrong = 0;

	snprintf(name, sizeof name, "rank %d died", victim);
	for (int r = 0; r < size; r++) {
		const struct report *o = &shared->report[r];
		const int phase = atomic_load(&o->phase);

		if (r == victim)
			continue;
		heard[phase]++;
		if (o->rc && !o->handlers && (strstr(o->detail, name) || phase == MEETING) && o->when < killed + limit)
			continue;
		printf("survivor %d, victim %d, %s, %s: rc %d \"%s\" after %.3f s%s\n", r, victim, phases[phase], mode, o->rc,
		       o->detail, o->when - killed, o->handlers ? ", with handlers that it did not install" : "");
		wrong++;
	}
	return wrong;
}

static int one(int run, unsigned *seed, int *heard)
{
	const enum phase phase = (enum phase)(run % PHASES);
	const char *mode = modes[run / PHASES % MODES];
	const int victim = rand_r(seed) % size;
	const bool test = rand_r(seed) % 2;
	const useconds_t after = (useconds_t)rand_r(seed) % (rand_r(seed) % 2 ? 1000 : phase == BINDING ? 400000 : 30000);
	const double begin = now();
	pid_t pids[TEAM_MAX];
	double killed;

	memset(shared, 0, sizeof *shared);
	shared->team.size = size;
	setenv("GOAL_PROGRESS", mode, 1);
	fflush(stdout);
	for (int r = 0; r < size; r++)
		if ((pids[r] = fork()) == 0)
			survive(phase, test, r);
	while (atomic_load(&shared->report[victim].phase) < (int)phase && now() < begin + 10)
		usleep(100);
	usleep(after);
	killed = now();
	kill(pids[victim], signals[run % SIGNALS]);
	await(pids, victim);
	return judge(victim, mode, killed, heard);
}

int main(int argc, char **argv)
{
	int heard[PHASES] = { 0 }, wrong = 0, before = team_shm(), runs = argc > 1 ? atoi(argv[1]) : 0;
	unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;

	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc != 7 || shared == MAP_FAILED)
		return 2;
	limit = atof(argv[3]);
	size = atoi(argv[4]);
	count = atoi(argv[5]);
	path = argv[6];
	setenv("GOAL_BACKEND", "smcq", 1);
	setenv("GOAL_ENGINE", "ofi", 1);
	for (int i = 0; i < runs; i++)
		wrong += one(i, &seed, heard);
	if (team_shm() != before) {
		printf("something is left in /dev/shm\n");
		wrong++;
	}
	printf("%s ofikill %d runs: survivors heard of it while meeting %d, binding %d, running %d, binding again %d; %d wrong\n",
	       wrong ? "FAIL" : "ok", runs, heard[MEETING], heard[BINDING], heard[RUNNING], heard[AGAIN], wrong);
	return wrong != 0;
}
