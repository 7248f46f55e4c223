/* SPDX-License-Identifier: BSD-3-Clause
 * Copies past the caches, of all lengths and alignments. */
#include "backends/shm/copy.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define ROOM 1024u
#define MOST 400u /* bytes of a copy: some lines, with what is before and after them */

static void same_as_memcpy(void)
{
	char *from = aligned_alloc(64, ROOM), *to = aligned_alloc(64, ROOM), *want = aligned_alloc(64, ROOM);
	char *other = aligned_alloc(64, ROOM);
	size_t bad = 0;

	if (!from || !to || !want || !other)
		abort();
	for (size_t i = 0; i < ROOM; i++)
		from[i] = (char)(i * 7 + i / 256 + 1);
	for (size_t x = 0; x < 64; x++)
		for (size_t y = 0; y < 64; y += 7)
			for (size_t n = 0; n <= MOST; n += n < 130 ? 1 : 9) {
				memset(to, 0, ROOM);
				memset(want, 0, ROOM);
				copy_past(to + 64 + x, from + y, n);
				memcpy(want + 64 + x, from + y, n);
				bad += memcmp(to, want, ROOM) != 0;
				for (int past = 0; past < 2; past++) {
					memset(to, 0, ROOM);
					memset(other, 0, ROOM);
					copy_twice(other, past, to + 64 + x, from + y, n);
					bad += memcmp(to, want, ROOM) || memcmp(other, from + y, n) || other[n];
				}
			}
	CU_ASSERT_EQUAL(bad, 0);
	free(from);
	free(to);
	free(want);
	free(other);
}

#define BLOCK 256u
#define ROUNDS 50000u

struct pair {
	_Alignas(64) char block[BLOCK];
	_Alignas(64) _Atomic unsigned written, read;
	size_t bad;
};

static void await(_Atomic unsigned *word, unsigned n)
{
	for (unsigned spun = 0; atomic_load_explicit(word, memory_order_acquire) != n; spun++)
		if (spun > 1000)
			sched_yield();
}

static void *read_blocks(void *arg)
{
	struct pair *x = arg;

	for (unsigned n = 1; n <= ROUNDS; n++) {
		await(&x->written, n);
		for (size_t i = BLOCK; (i -= 64) < BLOCK;) /* the last line is the last to come */
			x->bad += x->block[i] != (char)n;
		atomic_store_explicit(&x->read, n, memory_order_release);
	}
	return NULL;
}

/* Who sees a word that was stored after a copy sees the copy. */
static void seen_in_order(void)
{
	struct pair *x = aligned_alloc(_Alignof(struct pair), sizeof *x);
	char *from = aligned_alloc(64, BLOCK);
	pthread_t reader;

	if (!x || !from)
		abort();
	memset(x, 0, sizeof *x);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&reader, NULL, read_blocks, x), 0);
	for (unsigned n = 1; n <= ROUNDS; n++) {
		memset(from, (char)n, BLOCK);
		copy_past(x->block, from, BLOCK);
		atomic_store_explicit(&x->written, n, memory_order_release);
		await(&x->read, n);
	}
	pthread_join(reader, NULL);
	CU_ASSERT_EQUAL(x->bad, 0);
	free(x);
	free(from);
}

static const struct unit_test tests[] = { { "same_as_memcpy", same_as_memcpy }, { "seen_in_order", seen_in_order }, { 0 } };

const struct unit_suite suite_copy = { "copy", tests };
