/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun --sweep pairs: the cases that are taken have every pair of values that any case has. */
#include "goalrun/run.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

enum { DIMS = 5 };

static int64_t value(const struct run_case *c, int d)
{
	const int64_t v[DIMS] = { c->count, c->root, c->type, c->op, c->memory };

	return v[d];
}

static bool has(const struct run_case *c, size_t n, int a, int64_t x, int b, int64_t y)
{
	for (size_t i = 0; i < n; i++)
		if (value(&c[i], a) == x && value(&c[i], b) == y)
			return true;
	return false;
}

static unsigned missing(const struct run_case *all, size_t n, const struct run_case *some, size_t m)
{
	unsigned bad = 0;

	for (size_t i = 0; i < n; i++)
		for (int a = 0; a < DIMS; a++)
			for (int b = a + 1; b < DIMS; b++)
				bad += !has(some, m, a, value(&all[i], a), b, value(&all[i], b));
	return bad;
}

/* n[d] values of each option, and each case; hole: one pair of values that does not occur. */
static void cover(const unsigned n[DIMS], bool hole, size_t most)
{
	struct run_case *all = calloc(100000, sizeof *all), *some = calloc(100000, sizeof *some);
	size_t cases = 0, taken;

	for (unsigned i = 0; i < n[0] * n[1] * n[2] * n[3] * n[4]; i++) {
		unsigned v[DIMS], rest = i;

		for (int d = 0; d < DIMS; d++) {
			v[d] = rest % n[d];
			rest /= n[d];
		}
		if (hole && v[2] == 0 && v[3] == 1)
			continue;
		all[cases++] = (struct run_case){ .count = 1000 * v[0],
						  .root = (int)v[1] - 1,
						  .type = (enum MPIX_Sched_basic)(v[2] + 3),
						  .op = v[3] + 1,
						  .memory = (enum run_memory)v[4] };
	}
	memcpy(some, all, cases * sizeof *some);
	taken = sweep_pairs(some, cases);
	CU_ASSERT(taken > 0 && taken <= most);
	CU_ASSERT_EQUAL(missing(all, cases, some, taken), 0);
	/* No case twice, none made up: what is left over is the rest. */
	for (size_t i = 0; i < cases; i++) {
		unsigned same = 0;

		for (size_t k = 0; k < cases; k++)
			same += missing(&all[i], 1, &some[k], 1) == 0;
		CU_ASSERT_EQUAL(same, 1);
	}
	free(all);
	free(some);
}

static void pairs(void)
{
	cover((const unsigned[]){ 1, 1, 1, 1, 1 }, false, 1);
	cover((const unsigned[]){ 5, 1, 1, 1, 1 }, false, 5);
	cover((const unsigned[]){ 5, 3, 3, 3, 3 }, false, 22);
	cover((const unsigned[]){ 4, 3, 3, 3, 2 }, true, 20);
	cover((const unsigned[]){ 2, 2, 2, 2, 2 }, false, 8);
	cover((const unsigned[]){ 7, 4, 1, 6, 1 }, false, 56);
}

/* The last case of those that are taken is needed. */
static void none_to_spare(void)
{
	struct run_case c[4] = { { .count = 1, .root = 1 }, { .count = 1, .root = 2 },
				 { .count = 2, .root = 1 }, { .count = 2, .root = 2 } };

	CU_ASSERT_EQUAL(sweep_pairs(c, 4), 4);
	c[3] = c[0];
	CU_ASSERT_EQUAL(sweep_pairs(c, 4), 3);
}

const struct unit_suite suite_sweep = {
	"sweep",
	(const struct unit_test[]){
		{ "pairs", pairs },
		{ "none_to_spare", none_to_spare },
		{ NULL, NULL },
	},
};
