/* SPDX-License-Identifier: BSD-3-Clause
 * When a thread keeps a CPU that it shares. */
#include "tests/unit/unit.h"
#include "util/patience.h"

/* A thread stays only after a yield that let another thread run. */
static void after_a_yield(void)
{
	struct stays s = { 0 };

	CU_ASSERT(!stays_due(&s, 1));
	s.gave_way = true;
	CU_ASSERT(stays_due(&s, 1));
	CU_ASSERT(!stays_due(&s, 1));
}

/* Each time in vain the next one is twice as far off, up to a second: in ten seconds it stays 23 times. */
static void ever_more_seldom(void)
{
	struct stays s = { 0 };
	uint64_t now = 1000, apart = 0, times = 0;

	for (; now < UINT64_C(10000000000); times++) {
		const uint64_t before = apart;

		CU_ASSERT_EQUAL(stays_begin(&s, now), now + STAY_NS);
		apart = s.from - now;
		CU_ASSERT_EQUAL(apart, before ? (2 * before < APART_MOST_NS ? 2 * before : APART_MOST_NS) : APART_NS);
		s.gave_way = true;
		CU_ASSERT(!stays_due(&s, now + apart - 1));
		s.gave_way = true;
		CU_ASSERT(stays_due(&s, now + apart));
		now += apart > STAY_NS ? apart : STAY_NS;
	}
	CU_ASSERT_EQUAL(times, 23);
}

static const struct unit_test tests[] = {
	{ "after_a_yield", after_a_yield },
	{ "ever_more_seldom", ever_more_seldom },
	{ NULL, NULL },
};

const struct unit_suite suite_patience = { "patience", tests };
