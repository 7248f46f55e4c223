/* SPDX-License-Identifier: BSD-3-Clause
 * Threads that sleep are counted on the boards of the groups that there are meanwhile. */
#include "runtime/group.h"
#include "tests/unit/unit.h"

/* Two groups of one board, as a group and one split from it, and one of another. Groups are made and freed while threads sleep. */
static void as_groups_come_and_go(void)
{
	static struct rt_board a, b;
	struct rt_process of_a = { .board = &a }, of_b = { .board = &b };
	struct be_group g[3] = { { .process = &of_a }, { .process = &of_a }, { .process = &of_b } };
	struct rt_sleepers s = { .lock = PTHREAD_MUTEX_INITIALIZER };

	rt_sleepers_join(&s, &g[0]);
	CU_ASSERT_EQUAL(a.sleepers, 0);
	rt_sleepers_count(&s, 1);
	CU_ASSERT_EQUAL(a.sleepers, 1);
	rt_sleepers_count(&s, 1);
	rt_sleepers_join(&s, &g[1]);
	rt_sleepers_join(&s, &g[2]);
	CU_ASSERT_EQUAL(a.sleepers, 4);
	CU_ASSERT_EQUAL(b.sleepers, 2);
	rt_sleepers_leave(&s, &g[0]);
	rt_sleepers_count(&s, -1u);
	CU_ASSERT_EQUAL(a.sleepers, 1);
	CU_ASSERT_EQUAL(b.sleepers, 1);
	rt_sleepers_leave(&s, &g[2]);
	CU_ASSERT_EQUAL(b.sleepers, 0);
	rt_sleepers_count(&s, -1u);
	CU_ASSERT_EQUAL(a.sleepers, 0);
	rt_sleepers_leave(&s, &g[1]);
	CU_ASSERT_PTR_NULL(s.groups);
	CU_ASSERT_EQUAL(a.sleepers, 0);
}

static const struct unit_test tests[] = {
	{ "as_groups_come_and_go", as_groups_come_and_go },
	{ NULL, NULL },
};

const struct unit_suite suite_sleepers = { "sleepers", tests };
