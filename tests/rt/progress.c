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

/* Each rank adds its number to what it gets and sends it on: rank 1 has a reduction and a forward. */
static const char chain_text[] = "schedule chain\n"
				 "buffer inout data[count]\n"
				 "buffer in add[count]\n"
				 "rank r of p {\n"
				 "  if r > 0 { got: recv data from r - 1\n"
				 "    sum: reduce add into data\n sum requires got }\n"
				 "  if r + 1 < p { on: send data to r + 1\n on requires sum }\n"
				 "}\n";

static const char *mode, *kind;
static bool threads;

static struct shared {
	_Atomic int here[TEAM_MAX]; /* how far each rank has come */
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

static _Atomic bool no_threads;

/* Ours comes before that of the C library. */
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		(__typeof__(real))(uintptr_t)dlsym(RTLD_NEXT, "pthread_create");

	return atomic_load(&no_threads) ? EAGAIN : real(t, a, fn, arg);
}

/* ---- the tests ---- */

struct bound {
	MPIX_Sched_request req;
	int64_t *data, *add;
	size_t count;
};

static int bind(struct member *m, struct bound *b, size_t count, bool heap)
{
	struct MPIX_Sched_bind with = { .struct_size = sizeof with,
					.nbuffers = 2,
					.count = count,
					.basic = MPIX_SCHED_INT64,
					.builtin = MPIX_SCHED_SUM };
	MPIX_Sched s;

	b->count = count;
	if (heap) {
		CALL(MPIX_Sched_alloc(m->ctx, count * sizeof *b->data, (void **)&b->data));
		CALL(MPIX_Sched_alloc(m->ctx, count * sizeof *b->add, (void **)&b->add));
	} else {
		b->data = calloc(count, sizeof *b->data);
		b->add = calloc(count, sizeof *b->add);
	}
	void *buffers[] = { b->data, b->add };

	with.buffers = buffers;
	CALL(MPIX_Sched_load_mem(m->ctx, "chain.goal", chain_text, strlen(chain_text), &s));
	CALL(MPIX_Sched_init(s, m->group, &with, &b->req));
	CALL(MPIX_Sched_unload(&s));
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

static const struct test {
	const char *name;
	int (*fn)(struct member *);
	bool thread, collab, processes, threads; /* where it holds */
	int ranks;
} tests[] = {
	{ "absent_heap", absent_heap, true, true, true, true, 3 },
	{ "absent_private", absent_private, true, false, true, true, 3 },
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
