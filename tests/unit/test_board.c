/* SPDX-License-Identifier: BSD-3-Clause
 * Records of ranks that end while others wait for them, and ranks that sleep until a round is complete. */
#include "runtime/board/board.h"
#include "tests/unit/unit.h"
#include "util/err.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static int never(void *arg)
{
	(void)arg;
	return 0;
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

/* Rank 1 of three, which writes its record and waits for the round. */
static void *wait_for_round(void *arg)
{
	struct rt_board *b = arg;
	const int mine = 1;
	int got[3];

	if (rt_board_allgather(b, 1, rt_seq(1, RT_INIT), &mine, sizeof mine, got, 0, never, NULL) || got[0] != 0 || got[2] != 2)
		return NULL;
	return b;
}

/* A rank sleeps until the last record of the round is there; the one before does not wake it. */
static void sleepers(void)
{
	struct rt_board *b = aligned_alloc(64, rt_board_size(3));
	pthread_t waits;
	void *good = NULL;
	int record = 0;
	bool slept = false;

	memset(b, 0, rt_board_size(3));
	b->size = 3;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&waits, NULL, wait_for_round, b), 0);
	for (int i = 0; i < 60000 && !slept; i++) { /* its yields let others run, as long as there are any */
		usleep(1000);
		slept = atomic_load(&b->asleep) == 1;
	}
	CU_ASSERT_TRUE(slept);
	rt_board_post(b, 0, rt_seq(1, RT_INIT), &record, sizeof record);
	CU_ASSERT_EQUAL(atomic_load(&b->posted), 2);
	record = 2;
	rt_board_post(b, 2, rt_seq(1, RT_INIT), &record, sizeof record);
	CU_ASSERT_EQUAL(pthread_join(waits, &good), 0);
	CU_ASSERT_PTR_NOT_NULL(good);
	CU_ASSERT_EQUAL(atomic_load(&b->asleep), 0);
	free(b);
}

const struct unit_suite suite_board = {
	"board",
	(const struct unit_test[]){
		{ "last_words", last_words },
		{ "sleepers", sleepers },
		{ NULL, NULL },
	},
};
