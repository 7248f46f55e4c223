/* SPDX-License-Identifier: BSD-3-Clause
 * The medians that goalrun prints. */
#include "goalrun/work.h"
#include "tests/unit/unit.h"

static void medians(void)
{
	double one[] = { 7 }, odd[] = { 9, 1, 4 }, two[] = { 4, 1 }, even[] = { 10, 1, 3, 2 };

	CU_ASSERT_DOUBLE_EQUAL(work_median(one, 1), 7, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(work_median(odd, 3), 4, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(work_median(two, 2), 2.5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(work_median(even, 4), 2.5, 1e-9);
}

/* The parts of one rank, twice: half of the shorter part is hidden behind the other one. */
static void overlaps(void)
{
	const struct work_spans spans[] = {
		{ { [WORK_COMM] = { 0, 10, 2000 }, [WORK_COMPUTE] = { 0, 0, 4000 }, [WORK_BOTH] = { 0, 10, 5000 } } },
		{ { [WORK_COMM] = { 0, 10, 4000 }, [WORK_COMPUTE] = { 0, 0, 4000 }, [WORK_BOTH] = { 0, 10, 6000 } } },
	};
	double scratch[2], us[WORK_PARTS];

	CU_ASSERT_DOUBLE_EQUAL(work_overlap(spans, 1, 2, scratch, us), 0.5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(us[WORK_COMM], 3, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(us[WORK_BOTH], 5.5, 1e-9);
}

const struct unit_suite suite_work = {
	"work",
	(const struct unit_test[]){
		{ "medians", medians },
		{ "overlaps", overlaps },
		{ NULL, NULL },
	},
};
