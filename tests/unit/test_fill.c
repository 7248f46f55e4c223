/* SPDX-License-Identifier: BSD-3-Clause
 * How chunks are stored into slots: which ones are tried, and what their times say. */
#include "backends/shm/sm.h"
#include "tests/unit/unit.h"

#include <string.h>

/* Two chunks of each SM_FILLS are tried, one each way. */
static void turns(void)
{
	const struct sm_msg m = { .mode = SM_STAGED, .chunk = SM_CHUNK_SHORT };
	const struct sm_bound s = { .epoch = 1 };
	unsigned caches = 0, past = 0;

	for (uint64_t n = 0; n < 4 * SM_FILLS; n++) {
		const enum sm_fill_way way = sm_fill_way(&s, &m, n);

		caches += way == SM_FILL_CACHES;
		past += way == SM_FILL_PAST;
		CU_ASSERT_EQUAL(way == SM_FILL_CACHES, sm_fill_way(&s, &m, n + 1) == SM_FILL_PAST);
	}
	CU_ASSERT_EQUAL(caches, 4);
	CU_ASSERT_EQUAL(past, 4);
}

/* Of messages whose ring may be narrow the beginnings are tried, where they are in its first slots. */
static void beginnings(void)
{
	const struct sm_bound s = { .epoch = 1 };
	unsigned tried[3] = { 0 };

	for (uint32_t chunks = 4; chunks < 8; chunks++) {
		struct sm_moved now = { 0 };
		const struct sm_msg m = { .mode = SM_STAGED, .chunk = SM_CHUNK_MIN, .chunks = chunks, .now = &now };

		for (; now.staged < 2 * SM_FILLS * chunks; now.staged += chunks)
			for (now.moved = 0; now.moved < chunks; now.moved++) {
				const enum sm_fill_way way = sm_fill_way(&s, &m, now.staged + now.moved);

				tried[way]++;
				CU_ASSERT(way == SM_FILL_AS_CHOSEN || (now.staged + now.moved) % SM_NARROW == 0);
			}
	}
	CU_ASSERT_EQUAL(tried[SM_FILL_CACHES], 8);
	CU_ASSERT_EQUAL(tried[SM_FILL_PAST], 8);
}

/* In a ring that grows no slot is tried before it has been used, and one is soon. */
static void used_first(void)
{
	for (uint32_t first = 1; first < 128; first *= 2) {
		const struct sm_msg m = { .mode = SM_STAGED, .chunk = SM_CHUNK, .ring = { .first = first, .slots = 128 } };
		const struct sm_bound s = { .epoch = 1 };
		uint64_t n = 0;

		while (sm_fill_way(&s, &m, n) == SM_FILL_AS_CHOSEN)
			n++;
		CU_ASSERT_EQUAL(n, first + SM_FILL_WAITS);
	}
}

/* A trial. caches, past: the time of each way, ns. Returns true if the chunks after it go past the caches. */
static bool fill(struct sm_fill *f, bool sure, uint64_t caches, uint64_t past)
{
	sm_note_fill(f, SM_FILL_CACHES, sure, caches, 4096);
	sm_note_fill(f, SM_FILL_PAST, sure, past, 4096);
	return f->past;
}

/* Chunks go past the caches if that is many times as fast, and as long as it is faster: as two trials in a row say, or one that is
 * sure. */
static void says(void)
{
	struct sm_fill f = { 0 };

	CU_ASSERT(!fill(&f, true, 2000, 1000));
	CU_ASSERT(fill(&f, true, 10000, 1000));
	CU_ASSERT(fill(&f, true, 1000, 1010));
	CU_ASSERT(fill(&f, false, 1010, 1000)); /* enough to keep them there, not to get them there */
	CU_ASSERT(fill(&f, false, 1000, 1010));
	CU_ASSERT(!fill(&f, false, 1000, 1010));
	CU_ASSERT(!fill(&f, false, 10000, 1000));
	CU_ASSERT(!fill(&f, false, 1010, 1000));
	CU_ASSERT(!fill(&f, false, 10000, 1000));
	CU_ASSERT(fill(&f, false, 10000, 1000));
}

/* Bytes that go to the receiver's buffer arrive whole in whatever parts they are stored, from the last chunk on as well; and once in so
 * many bytes there is a trial. */
static void peer(void)
{
	enum { N = 100000, PART = 30000 };
	static char from[N], to[N];
	struct sm_shared sh = { 0 };
	struct sm_msg m = { .mode = SM_PULL, .bytes = N, .at = to };
	struct sm_bound s = { .sh = &sh };
	unsigned tries = 0;

	for (s.epoch = 1; s.epoch <= 200; s.epoch++) {
		for (int i = 0; i < N; i++)
			from[i] = (char)(i % 251 + (int)s.epoch);
		m.fill.took = UINT32_MAX;
		for (int at = (N - 1) / PART * PART; at >= 0; at -= PART)
			sm_fill_peer(&s, &m, (uint64_t)at, from + at, N - at < PART ? (size_t)(N - at) : PART);
		CU_ASSERT_EQUAL(memcmp(from, to, N), 0);
		CU_ASSERT_EQUAL(sm_tries_peer(&s, &m), m.fill.took != UINT32_MAX);
		tries += sm_tries_peer(&s, &m);
	}
	CU_ASSERT_EQUAL(tries, 7); /* after 0.5, 1 and 1.5 MiB, then each 4 MiB of 20 MB */
}

/* However long a message is, there are trials in the second and the third epoch, which are sure. Of later ones two have to agree, and they
 * seldom do. */
static void early(void)
{
	for (uint64_t bytes = 512 << 10; bytes <= 64 << 20; bytes *= 2) {
		const struct sm_msg m = { .mode = SM_PULL, .bytes = bytes };

		for (uint64_t e = 2; e <= 3; e++) {
			const struct sm_bound s = { .epoch = e };

			CU_ASSERT(sm_tries_peer(&s, &m));
		}
	}
}

static const struct unit_test tests[] = {
	{ "turns", turns }, { "beginnings", beginnings },
	{ "used_first", used_first },
	{ "says", says },
	{ "peer", peer },
	{ "early", early },
	{ NULL, NULL },
};

const struct unit_suite suite_fill = { "fill", tests };
