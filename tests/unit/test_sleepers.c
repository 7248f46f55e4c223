/* SPDX-License-Identifier: BSD-3-Clause
 * Threads that sleep are counted on the boards of the groups that there are meanwhile. */
#include "runtime/heap/sleepers.h"
#include "tests/unit/unit.h"

/* Two groups of one board, as a group and one split from it, and one of another. Groups are made and freed while threads sleep. */
static void as_groups_come_and_go(void)
{
	_Atomic uint32_t a = 0, b = 0;
	struct rt_tally g[3] = { { .sleepers = &a }, { .sleepers = &a }, { .sleepers = &b } };
	struct rt_sleepers s = { .lock = PTHREAD_MUTEX_INITIALIZER };

	rt_sleepers_join(&s, &g[0]);
	CU_ASSERT_EQUAL(a, 0);
	rt_sleepers_count(&s, 1);
	CU_ASSERT_EQUAL(a, 1);
	rt_sleepers_count(&s, 1);
	rt_sleepers_join(&s, &g[1]);
	rt_sleepers_join(&s, &g[2]);
	CU_ASSERT_EQUAL(a, 4);
	CU_ASSERT_EQUAL(b, 2);
	rt_sleepers_leave(&s, &g[0]);
	rt_sleepers_count(&s, -1u);
	CU_ASSERT_EQUAL(a, 1);
	CU_ASSERT_EQUAL(b, 1);
	rt_sleepers_leave(&s, &g[2]);
	CU_ASSERT_EQUAL(b, 0);
	rt_sleepers_count(&s, -1u);
	CU_ASSERT_EQUAL(a, 0);
	rt_sleepers_leave(&s, &g[1]);
	CU_ASSERT_PTR_NULL(s.tallies);
	CU_ASSERT_EQUAL(a, 0);
}

static const struct unit_test tests[] = {
	{ "as_groups_come_and_go", as_groups_come_and_go },
	{ NULL, NULL },
};

const struct unit_suite suite_sleepers = { "sleepers", tests };
