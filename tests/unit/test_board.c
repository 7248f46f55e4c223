/* SPDX-License-Identifier: BSD-3-Clause
 * Records of ranks that end while others wait for them. */
#include "runtime/board.h"
#include "tests/unit/unit.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

struct other {
	struct rt_board *b;
	bool writes;
};

/* The rank that is waited for ends, and may have written its record just before. */
static int end(void *arg)
{
	const struct other *o = arg;
	const int record = 42;

	if (o->writes)
		rt_board_post(o->b, 0, rt_seq(1, RT_INIT), &record, sizeof record);
	return -ERR_DEAD;
}

static void last_words(void)
{
	struct other o = { .b = aligned_alloc(64, rt_board_size(1)) };
	int got = 0;

	memset(o.b, 0, rt_board_size(1));
	o.b->size = 1;
	CU_ASSERT_EQUAL(rt_board_collect(o.b, rt_seq(1, RT_INIT), sizeof got, &got, 0, end, &o), -ERR_DEAD);
	o.writes = true;
	CU_ASSERT_EQUAL(rt_board_collect(o.b, rt_seq(1, RT_INIT), sizeof got, &got, 0, end, &o), 0);
	CU_ASSERT_EQUAL(got, 42);
	free(o.b);
}

const struct unit_suite suite_board = {
	"board",
	(const struct unit_test[]){
		{ "last_words", last_words },
		{ NULL, NULL },
	},
};
