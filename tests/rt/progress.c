/* SPDX-License-Identifier: BSD-3-Clause
 * progress MODE processes|threads: what others than a rank's own thread do for it; MODE is that of GOAL_PROGRESS.
 * Prints a line for each test. */
#include "tests/rt/team.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *mode, *kind;
static bool threads;

static struct shared {
	_Atomic int here[TEAM_MAX]; /* how far each rank has come */
	_Atomic int steals[TEAM_MAX];
	_Atomic int started; /* an epoch, by rank 1 */
} *shared;

/* A moment within the minute that team gives processes. */
static bool until(const _Atomic int *word, int value)
{
	for (int i = 0; i < 30000; i++) {
		if (atomic_load(word) >= value)
			return true;
		usleep(1000);
	}
	return false;
}

/* ---- threads that cannot be made ---- */

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) /* which have their own */
#define HAVE_NO_THREADS
static _Atomic bool no_threads;

/* Ours comes before that of the C library. */
__attribute__((visibility("default"))) int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		(__typeof__(real))(uintptr_t)dlsym(RTLD_NEXT, "pthread_create");

	return atomic_load(&no_threads) ? EAGAIN : real(t, a, fn, arg);
}
#endif

/* ---- the tests ---- */

struct bound {
	MPIX_Sched_request req;
	int64_t *data, *add;
	size_t count;
};

static int prepare(struct member *m, struct bound *b, size_t count, bool heap)
{
	b->count = count;
	if (heap) {
		CALL(MPIX_Sched_alloc(m->ctx, count * sizeof *b->data, (void **)&b->data));
		CALL(MPIX_Sched_alloc(m->ctx, count * sizeof *b->add, (void **)&b->add));
	} else {
		b->data = calloc(count, sizeof *b->data);
		b->add = calloc(count, sizeof *b->add);
	}
	return 0;
}

static int init(struct member *m, MPIX_Sched_group g, struct bound *b)
{
	void *buffers[] = { b->data, b->add };
	struct MPIX_Sched_bind with = { .struct_size = sizeof with,
					.buffers = buffers,
					.nbuffers = 2,
					.count = b->count,
					.basic = MPIX_SCHED_INT64,
					.builtin = MPIX_SCHED_SUM };
	MPIX_Sched s;
	int rc;

	CALL(MPIX_Sched_load_mem(m->ctx, "chain.goal", team_sum_chain, strlen(team_sum_chain), &s));
	rc = MPIX_Sched_init(s, g, &with, &b->req);
	CALL(MPIX_Sched_unload(&s));
	return rc;
}

static int bind(struct member *m, struct bound *b, size_t count, bool heap)
{
	if (prepare(m, b, count, heap))
		return 1;
	CALL(init(m, m->group, b));
	return 0;
}

static void fill(const struct member *m, const struct bound *b, int64_t epoch)
{
	for (size_t i = 0; i < b->count; i++) {
		b->data[i] = m->rank ? -1 : epoch + (int64_t)i;
		b->add[i] = m->rank * 1000;
	}
}

static int check(const struct member *m, const struct bound *b, int64_t epoch)
{
	for (size_t i = 0; i < b->count; i++)
		NEED(b->data[i] == epoch + (int64_t)i + m->rank * (m->rank + 1) / 2 * 1000);
	return 0;
}

static int drop(struct member *m, struct bound *b, bool heap)
{
	CALL(MPIX_Sched_free(&b->req));
	if (heap) {
		CALL(MPIX_Sched_dealloc(m->ctx, b->data));
		CALL(MPIX_Sched_dealloc(m->ctx, b->add));
	} else {
		free(b->data);
		free(b->add);
	}
	return 0;
}

/* Rank 1 starts and then calls nothing until all others are done. */
static int absent(struct member *m, size_t count, bool heap)
{
	struct bound b;

	if (bind(m, &b, count, heap))
		return 1;
	for (int epoch = 1; epoch <= 3; epoch++) {
		const int base = atomic_load(&shared->here[m->rank]);

		fill(m, &b, epoch);
		CALL(MPIX_Sched_start(b.req));
		for (int r = 0; r < m->size && m->rank == 1; r++)
			NEED(r == 1 || until(&shared->here[r], base + 1));
		CALL(MPIX_Sched_wait(b.req));
		atomic_store(&shared->here[m->rank], base + 1);
		if (check(m, &b, epoch))
			return 1;
	}
	return drop(m, &b, heap);
}

static int absent_heap(struct member *m)
{
	const size_t counts[] = { 1, 200, 100000 };

	for (int i = 0; i < 3; i++)
		if (absent(m, counts[i], true))
			return 1;
	return 0;
}

static int absent_private(struct member *m)
{
	return absent(m, 5, false) || absent(m, 100000, false);
}

/* A rank computes with a reduction and a forward pending, the others wait: they tell that they have done it. */
static int steals(struct member *m)
{
	struct MPIX_Sched_stats s = { .struct_size = sizeof s };
	int sum = 0;

	if (absent(m, 100000, true))
		return 1;
	CALL(MPIX_Sched_stats(m->ctx, &s));
	NEED(s.steals_local + s.steals_remote < 1000000);
	atomic_store(&shared->steals[m->rank], (int)(s.steals_local + s.steals_remote));
	if (team_meet(m))
		return 1;
	for (int r = 0; r < m->size; r++)
		sum += r == 1 ? 0 : atomic_load(&shared->steals[r]);
	/* Each epoch needs one at least. */
	NEED(strcmp(mode, "collab") ? sum == 0 : sum >= 3);
	s.struct_size = 1;
	NEED(MPIX_Sched_stats(m->ctx, &s) == MPIX_SCHED_ERR_ARG);
	return 0;
}

/* Nobody makes progress for rank 1 that has paused its cores, but it does so itself; then they go on. */
static int pauses(struct member *m)
{
	struct bound b;

	if (bind(m, &b, 100000, true))
		return 1;
	for (int epoch = 1; epoch <= 6; epoch++) {
		const bool paused = epoch % 2;

		fill(m, &b, epoch);
		if (m->rank == 1 && paused) {
			CALL(MPIX_Sched_progress_pause(m->ctx));
			CALL(MPIX_Sched_progress_pause(m->ctx));
		}
		if (m->rank == 0)
			NEED(until(&shared->started, epoch)); /* or its start would do it all */
		CALL(MPIX_Sched_start(b.req));
		if (m->rank == 1)
			atomic_store(&shared->started, epoch);
		if (m->rank == 1 && paused && epoch == 3)
			CALL(MPIX_Sched_progress_resume(m->ctx)); /* with a request that is active */
		else if (m->rank == 1 && paused && threads) {
			usleep(20000);
			NEED(atomic_load(&shared->here[0]) == epoch - 1); /* it could not send */
		}
		if (m->rank == 1 && (!paused || epoch == 3))
			NEED(until(&shared->here[0], epoch));
		CALL(MPIX_Sched_wait(b.req));
		if (m->rank == 1 && paused)
			CALL(MPIX_Sched_progress_resume(m->ctx));
		atomic_store(&shared->here[m->rank], epoch);
		if (check(m, &b, epoch))
			return 1;
	}
	NEED(MPIX_Sched_progress_pause(NULL) == MPIX_SCHED_ERR_ARG);
	return drop(m, &b, true);
}

#ifdef HAVE_NO_THREADS
/* All ranks hear that one has got no thread. */
static int threadless(struct member *m)
{
	char detail[512];
	struct bound b;

	if (prepare(m, &b, 10, true))
		return 1;
	if (m->rank == 0)
		atomic_store(&no_threads, true);
	if (team_meet(m))
		return 1;
	NEED(init(m, m->group, &b) == MPIX_SCHED_ERR_SYS);
	MPIX_Sched_error_detail(m->ctx, detail, sizeof detail);
	NEED(strstr(detail, "rank 0: pthread_create"));
	if (team_meet(m))
		return 1;
	atomic_store(&no_threads, false);
	if (team_meet(m))
		return 1;
	CALL(init(m, m->group, &b));
	fill(m, &b, 1);
	CALL(MPIX_Sched_start(b.req));
	CALL(MPIX_Sched_wait(b.req));
	return check(m, &b, 1) || drop(m, &b, true);
}
#endif

/* Children that run something else, or just end, leave everything as it is. */
static int forks(struct member *m)
{
	struct bound b;

	if (bind(m, &b, 5000, true))
		return 1;
	for (int epoch = 1; epoch <= 8; epoch++) {
		int status = 1;
		pid_t pid;

		fill(m, &b, epoch);
		CALL(MPIX_Sched_start(b.req));
		pid = fork();
		if (pid == 0) {
			if (epoch % 2)
				execlp("true", "true", (char *)NULL);
			_exit(0);
		}
		NEED(waitpid(pid, &status, 0) == pid && status == 0);
		CALL(MPIX_Sched_wait(b.req));
		if (check(m, &b, epoch))
			return 1;
	}
	return drop(m, &b, true);
}

/* Rank 0, whose process has been driving all, is gone; the others go on in a group of theirs. */
static int goes(struct member *m, bool exits, bool heap)
{
	const int rank = m->rank;
	MPIX_Sched_group sub, all = m->group;
	struct bound b, own;

	CALL(MPIX_Sched_group_split(m->group, rank > 0, 0, &sub));
	if (bind(m, &b, 1000, true))
		return 1;
	fill(m, &b, 1);
	CALL(MPIX_Sched_start(b.req));
	CALL(MPIX_Sched_wait(b.req));
	if (prepare(m, &own, 100000, heap))
		return 1;
	CALL(init(m, sub, &own));
	if (team_meet(m))
		return 1;
	if (rank == 0 && exits)
		_exit(0);
	if (rank == 0)
		return drop(m, &b, true) || drop(m, &own, heap) || MPIX_Sched_group_free(&sub);
	m->rank--;
	m->group = sub;
	for (int epoch = 1; epoch <= 20; epoch++) {
		fill(m, &own, epoch);
		CALL(MPIX_Sched_start(own.req));
		if (m->rank == 1)
			NEED(until(&shared->here[0], epoch)); /* calls nothing */
		CALL(MPIX_Sched_wait(own.req));
		atomic_store(&shared->here[m->rank], epoch);
		if (check(m, &own, epoch))
			return 1;
	}
	m->rank = rank;
	m->group = all;
	if (drop(m, &own, heap) || MPIX_Sched_group_free(&sub))
		return 1;
	if (exits)
		NEED(MPIX_Sched_start(b.req) == MPIX_SCHED_SUCCESS && MPIX_Sched_wait(b.req) == MPIX_SCHED_ERR_DEAD);
	return drop(m, &b, true);
}

static int host_leaves(struct member *m)
{
	return goes(m, false, true);
}

static int host_exits(struct member *m)
{
	return goes(m, true, true);
}

/* What is in private memory needs the owner's thread, which needs the baton. */
static int host_exits_private(struct member *m)
{
	return goes(m, true, false);
}

static const struct test {
	const char *name;
	int (*fn)(struct member *);
	bool thread, collab, processes, threads; /* where it holds */
	int ranks;
} tests[] = {
	{ "absent_heap", absent_heap, true, true, true, true, 3 },
	{ "absent_private", absent_private, true, false, true, true, 3 },
	{ "steals", steals, true, true, true, true, 4 },
	{ "pauses", pauses, true, false, true, true, 3 },
#ifdef HAVE_NO_THREADS
	{ "threadless", threadless, true, false, true, true, 3 },
#endif
	{ "forks", forks, true, true, true, true, 3 },
	{ "host_leaves", host_leaves, true, true, true, true, 3 },
	{ "host_exits", host_exits, true, true, true, false, 3 },
	{ "host_exits_private", host_exits_private, true, false, true, false, 3 },
};

int main(int argc, char **argv)
{
	int bad = 0;

	if (argc < 3)
		return 2;
	mode = argv[1];
	kind = argv[2];
	threads = !strcmp(kind, "threads");
	setenv("GOAL_PROGRESS", mode, 1);
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
		const struct test *t = &tests[i];

		if (!(strcmp(mode, "thread") ? t->collab : t->thread) || !(threads ? t->threads : t->processes))
			continue;
		memset(shared, 0, sizeof *shared);
		int wrong = team_run(t->ranks, threads, t->fn, NULL);

		printf("%s progress.%s.%s.%s\n", wrong ? "FAIL" : "ok", mode, kind, t->name);
		fflush(stdout);
		bad += wrong != 0;
	}
	return bad != 0;
}
