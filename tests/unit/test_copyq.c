/* SPDX-License-Identifier: BSD-3-Clause
 * Virtual queues: copies in fragments, taken by several threads with random delays. */
#include "backends/shm/copyq.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define BYTES ((size_t)16 << 20)
#define PAGE 4096u
#define THREADS 3
#define COPIES 12u

/* Copies go back and forth between two buffers. */
struct bed {
	struct copyq q;
	char *memory[2];
	_Atomic bool over;
	_Atomic unsigned taken[THREADS]; /* fragments */
	_Atomic unsigned strange; /* fragments that are no part of a copy */
};

struct taker {
	struct bed *bed;
	unsigned number, seed;
};

static unsigned draw(struct taker *t, unsigned n)
{
	t->seed = t->seed * 1664525u + 1013904223u;
	return (t->seed >> 8) % n;
}

static void delay(struct taker *t)
{
	if (!draw(t, 8))
		sched_yield();
}

/* Takes one, if there is one. */
static bool take(struct taker *t)
{
	struct bed *b = t->bed;
	struct copyq_part p;

	if (!copyq_peek(&b->q, &p))
		return false;
	delay(t);
	if (!copyq_take(&b->q, &p))
		return true;
	delay(t);
	if (p.off >= BYTES || p.len > BYTES - p.off || p.what.op > 1)
		atomic_fetch_add(&b->strange, 1);
	else
		memcpy(b->memory[!p.what.op] + p.off, b->memory[p.what.op] + p.off, p.len);
	atomic_fetch_add(&b->taken[t->number], 1);
	delay(t);
	copyq_done(&b->q);
	return true;
}

static void *join(void *arg)
{
	struct taker *t = arg;

	while (!atomic_load(&t->bed->over))
		if (!take(t))
			sched_yield();
	return NULL;
}

static void write_all(char *at, unsigned n)
{
	for (size_t i = 0; i < BYTES; i++)
		at[i] = (char)(i * 7 + i / PAGE + n * 31);
}

static size_t wrong(const char *at, unsigned n, size_t bytes)
{
	size_t bad = 0;

	for (size_t i = 0; i < bytes; i++)
		bad += at[i] != (char)(i * 7 + i / PAGE + n * 31);
	for (size_t i = bytes; i < BYTES; i++)
		bad += at[i] != 0;
	return bad;
}

static void all_share(void)
{
	struct bed *b = aligned_alloc(64, sizeof *b);
	struct taker takers[THREADS];
	pthread_t threads[THREADS];
	unsigned fragments = 0, taken = 0;

	memset(b, 0, sizeof *b);
	b->memory[0] = malloc(BYTES);
	b->memory[1] = malloc(BYTES);
	for (unsigned i = 0; i < THREADS; i++) {
		takers[i] = (struct taker){ b, i, i + 1 };
		if (i)
			CU_ASSERT_FATAL(!pthread_create(&threads[i], NULL, join, &takers[i]));
	}
	for (unsigned n = 0; n < COPIES; n++) {
		const struct copyq_what what = { .op = n % 2 };
		const size_t bytes = n < 2 ? BYTES : draw(takers, BYTES) + 1;
		const size_t step = (size_t)PAGE << draw(takers, 6);

		write_all(b->memory[n % 2], n);
		memset(b->memory[!(n % 2)], 0, BYTES);
		CU_ASSERT(copyq_put(&b->q, &what, bytes, step));
		fragments += (unsigned)((bytes + step - 1) / step);
		while (take(takers))
			;
		while (!copyq_complete(&b->q))
			sched_yield();
		CU_ASSERT_EQUAL(wrong(b->memory[!(n % 2)], n, bytes), 0);
	}
	atomic_store(&b->over, true);
	for (unsigned i = 1; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < THREADS; i++)
		taken += b->taken[i];
	CU_ASSERT_EQUAL(taken, fragments);
	CU_ASSERT_EQUAL(b->strange, 0);
	free(b->memory[0]);
	free(b->memory[1]);
	free(b);
}

/* Who has looked may find that another one was faster; a second copy waits for the last fragment of the first. */
static void one_by_one(void)
{
	struct copyq *q = aligned_alloc(64, sizeof *q);
	struct copyq_part p, same, next;

	memset(q, 0, sizeof *q);
	CU_ASSERT(copyq_complete(q));
	CU_ASSERT(!copyq_peek(q, &p));
	CU_ASSERT(copyq_put(q, &(struct copyq_what){ 5, 6, 7 }, 10, 8));
	CU_ASSERT(copyq_peek(q, &p) && copyq_peek(q, &same));
	CU_ASSERT(p.off == 0 && p.len == 8 && p.what.op == 5 && p.what.address == 6 && p.what.heap == 7);
	CU_ASSERT(copyq_take(q, &p) && !copyq_take(q, &same));
	CU_ASSERT(copyq_peek(q, &next) && next.off == 8 && next.len == 2);
	CU_ASSERT(copyq_take(q, &next) && !copyq_peek(q, &same));
	CU_ASSERT(!copyq_done(q) && !copyq_complete(q));
	CU_ASSERT(!copyq_put(q, &p.what, 1, 1));
	CU_ASSERT(copyq_done(q) && copyq_complete(q));
	CU_ASSERT(copyq_put(q, &(struct copyq_what){ .op = 1 }, 1, 1));
	CU_ASSERT(copyq_peek(q, &p) && p.off == 0 && p.len == 1 && p.what.op == 1);
	free(q);
}

static const struct unit_test tests[] = {
	{ "one_by_one", one_by_one },
	{ "all_share", all_share },
	{ NULL, NULL },
};

const struct unit_suite suite_copyq = { "copyq", tests };
