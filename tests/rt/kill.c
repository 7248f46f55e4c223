/* SPDX-License-Identifier: BSD-3-Clause
 * kill RUNS [SEED [SECONDS]]: kills a random rank at a random moment while all make groups, split them, bind or run; every
 * survivor's call must return an error that names the rank, and no living one, within 1 s, or as many, and nothing may be
 * left behind. */
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

enum phase { MAKING, SPLITTING, BINDING, RUNNING, PHASES };
static const char *const phase_names[PHASES] = { "making", "splitting", "binding", "running" };

struct report {
	_Atomic int phase; /* that it has come to; one more than it: 0 is none */
	int rc;
	char detail[512];
	double when;
};

struct shared {
	struct team team;
	_Atomic int reported;
	struct report report[TEAM_MAX];
};

/* In the phase of the kill all ranks do the same again and again. */
struct plan {
	int size, victim;
	enum phase phase;
	useconds_t after; /* the victim has come to the phase */
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

static void enter(struct report *out, enum phase phase)
{
	atomic_store(&out->phase, phase + 1);
}

static int make_group(struct member *m, const struct plan *p)
{
	int rc = MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &m->group);

	while (!rc && p->phase == MAKING) {
		rc = MPIX_Sched_group_free(&m->group);
		rc = rc ? rc : MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &m->group);
	}
	return rc;
}

static int split_group(struct member *m, const struct plan *p)
{
	MPIX_Sched_group sub;
	int rc = MPIX_Sched_group_split(m->group, 0, 0, &sub);

	while (!rc && p->phase == SPLITTING) {
		rc = MPIX_Sched_group_free(&sub);
		rc = rc ? rc : MPIX_Sched_group_split(m->group, m->rank % 2, 0, &sub);
	}
	rc = rc ? rc : MPIX_Sched_group_free(&m->group);
	m->group = rc ? m->group : sub;
	return rc;
}

static int bind_data(struct member *m, const struct plan *p, void *data, MPIX_Sched_request *req)
{
	struct MPIX_Sched_bind b = { .struct_size = sizeof b, .buffers = &data, .nbuffers = 1, .count = p->count };
	MPIX_Sched s;
	int rc = team_load(m, m->size, p->count, &s);

	rc = rc ? rc : MPIX_Sched_init(s, m->group, &b, req);
	while (!rc && p->phase == BINDING) {
		rc = MPIX_Sched_free(req);
		rc = rc ? rc : MPIX_Sched_init(s, m->group, &b, req);
	}
	return rc;
}

static int run(struct member *m, const struct plan *p, char *data, MPIX_Sched_request req)
{
	int rc = 0;

	while (!rc) {
		int flag = 0;

		memset(data, m->rank, p->count);
		rc = MPIX_Sched_start(req);
		while (!rc && p->test && !flag)
			rc = MPIX_Sched_test(req, &flag);
		rc = rc ? rc : MPIX_Sched_wait(req);
	}
	return MPIX_Sched_start(req) ? rc : 0; /* the request has failed for good */
}

static int use(struct member *m, const struct plan *p, struct report *out)
{
	MPIX_Sched_request req;
	void *data = NULL;
	int rc = MPIX_Sched_ctx_create(&m->ctx);

	enter(out, MAKING);
	rc = rc ? rc : make_group(m, p);
	if (!rc && p->heap)
		rc = MPIX_Sched_alloc(m->ctx, p->count, &data);
	else
		data = calloc(1, p->count);
	if (!rc && p->split) {
		enter(out, SPLITTING);
		rc = split_group(m, p);
	}
	if (rc)
		return rc;
	enter(out, BINDING);
	rc = bind_data(m, p, data, &req);
	if (!rc)
		enter(out, RUNNING);
	return rc ? rc : run(m, p, data, req);
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

/* Waits until the victim has come to its phase, and some more. */
static void aim(const struct plan *p, struct shared *sh)
{
	const double until = now() + 20;

	while (atomic_load(&sh->report[p->victim].phase) <= (int)p->phase && now() < until)
		usleep(100);
	usleep(p->after);
}

/* Whether all ranks that a survivor names are the victim, and it names that; or its caller's own allgather has failed. */
static bool is_true(const struct plan *p, const struct report *o)
{
	const char *at = o->detail;
	bool named = false;
	int rank, len = 0;

	for (; (at = strstr(at, "rank ")); at++) {
		if (sscanf(at, "rank %d%n", &rank, &len) != 1)
			continue;
		at += len;
		if (strncmp(at, " died", 5) != 0 && strncmp(at, " has left", 9) != 0 && strncmp(at, " cannot be reached", 18) != 0)
			continue;
		if (rank != p->victim)
			return false;
		named = true;
	}
	return named || (p->phase == MAKING && strstr(o->detail, "the caller's allgather failed"));
}

#define LAGS 20 /* turns in which a survivor that has to share its CPU waits for it */

/* What the survivors have reported; how many of them wrongly. */
static int judge(const struct plan *p, const struct shared *sh, double killed, double limit)
{
	int bad = 0;

	for (int r = 0; r < p->size; r++) {
		const struct report *o = &sh->report[r];

		if (r == p->victim || (o->rc && is_true(p, o) && o->when <= killed + limit))
			continue;
		printf("survivor %d of %d (victim %d, %s, %s, %zu bytes%s): rc %d \"%s\" after %.3f s\n", r, p->size, p->victim,
		       phase_names[p->phase], p->heap ? "heap" : "private", p->count, p->split ? ", subgroup" : "", o->rc,
		       o->detail, o->when - killed);
		bad++;
	}
	return bad;
}

static int one(const struct plan *p, double limit)
{
	struct shared *sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[TEAM_MAX];
	double killed, last, lag = 0;
	int bad, left = p->size;

	sh->team.size = p->size;
	for (int r = 0; r < p->size; r++)
		if ((pids[r] = fork()) == 0)
			survive(sh, p, r);
	aim(p, sh);
	kill(pids[p->victim], SIGKILL);
	killed = last = now();
	while (left) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		/* How long this process, which needs next to nothing, has been kept from its CPU. */
		lag = now() - last > lag ? now() - last : lag;
		last = now();
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
	bad = judge(p, sh, killed, limit + LAGS * lag);
	munmap(sh, sizeof *sh);
	return bad;
}

int main(int argc, char **argv)
{
	int runs = argc > 1 ? atoi(argv[1]) : 20, bad = 0, phases[PHASES] = { 0 }, before = team_shm();
	unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	const double limit = argc > 3 ? atof(argv[3]) : 1;
	const size_t counts[] = { 8, 5000, 300000 };

	for (int i = 0; i < runs; i++) {
		struct plan p = { .size = 2 + rand_r(&seed) % 5, .phase = (enum phase)(i % PHASES) };

		p.victim = rand_r(&seed) % p.size;
		p.after = (useconds_t)(rand_r(&seed) % 20000);
		p.heap = rand_r(&seed) % 2 || getenv("TEAM_BINS"); /* what runs on a device has no private memory */
		p.count = counts[rand_r(&seed) % 3];
		p.test = rand_r(&seed) % 2;
		p.split = rand_r(&seed) % 2 || p.phase == SPLITTING;
		bad += one(&p, limit);
		phases[p.phase]++;
	}
	printf("%d runs: ranks killed while making groups %d, splitting %d, binding %d, running %d; %d survivors wrong\n", runs,
	       phases[MAKING], phases[SPLITTING], phases[BINDING], phases[RUNNING], bad);
	if (team_shm() != before) {
		printf("something is left in /dev/shm\n");
		bad++;
	}
	printf("%s kill.random %d runs\n", bad ? "FAIL" : "ok", runs);
	return bad != 0;
}
