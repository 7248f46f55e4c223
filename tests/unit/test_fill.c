/* SPDX-License-Identifier: BSD-3-Clause
 * How chunks are stored into slots: which ones are tried, and what their times say. */
#include "backends/shm/sm.h"
#include "tests/unit/unit.h"

/* Two chunks of each SM_FILLS are tried, one each way. */
static void turns(void)
{
	const struct sm_msg m = { .mode = SM_STAGED };
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

static const struct unit_test tests[] = {
	{ "turns", turns },
	{ "says", says },
	{ NULL, NULL },
};

const struct unit_suite suite_fill = { "fill", tests };
