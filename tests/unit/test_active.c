/* SPDX-License-Identifier: BSD-3-Clause
 * Which requests are active, also while another thread has the context. */
#include "runtime/active.h"
#include "runtime/heap/heap.h"
#include "tests/unit/unit.h"

#include <pthread.h>

static void *nothing(void *arg)
{
	return arg;
}

/* One request more than fit on the list. */
static void listed(void)
{
	static struct mpix_sched_request r[RT_LISTED + 1];
	static struct be_turn turns[RT_LISTED + 1];
	_Alignas(64) struct rt_door door = { 0 };
	struct rt_heap heap = { .base = (char *)&door };
	struct mpix_sched_ctx ctx = { .heap = &heap, .lock = PTHREAD_MUTEX_INITIALIZER, .active.lock = PTHREAD_MUTEX_INITIALIZER };
	_Atomic uint64_t word = 0;
	pthread_t other;

	CU_ASSERT(!pthread_create(&other, NULL, nothing, NULL)); /* from now on there are locks */
	pthread_join(other, NULL);
	pthread_mutex_lock(&ctx.lock);
	for (unsigned i = 0; i <= RT_LISTED; i++) {
		r[i].ctx = &ctx;
		r[i].single_threaded = &__libc_single_threaded;
		r[i].turn = &turns[i];
		rt_active_end(&r[i], &word);
		CU_ASSERT_EQUAL(r[i].listed, i < RT_LISTED);
		CU_ASSERT_EQUAL(r[i].start_word, i < RT_LISTED ? &word : NULL);
		CU_ASSERT_EQUAL(rt_state(&r[i]), RT_IDLE);
	}
	CU_ASSERT_EQUAL(rt_active_number(&ctx), 0);
	r[3].start_word = NULL; /* a start */
	CU_ASSERT_EQUAL(rt_state(&r[3]), RT_ACTIVE);
	CU_ASSERT(!rt_active_others(&r[3]));
	CU_ASSERT(rt_active_others(&r[0]));
	rt_active_count(&r[RT_LISTED], 1);
	CU_ASSERT(rt_active_others(&r[3]));
	CU_ASSERT_EQUAL(rt_active_number(&ctx), 2);
	rt_active_count(&r[RT_LISTED], -1u);
	rt_active_end(&r[3], NULL); /* the next start says more */
	CU_ASSERT(!r[3].listed);
	CU_ASSERT_EQUAL(rt_state(&r[3]), RT_IDLE);
	CU_ASSERT_EQUAL(rt_active_number(&ctx), 0);
	rt_active_end(&r[RT_LISTED], &word);
	CU_ASSERT(r[RT_LISTED].listed);
	pthread_mutex_unlock(&ctx.lock);
}

static const struct unit_test tests[] = {
	{ "listed", listed },
	{ NULL, NULL },
};

const struct unit_suite suite_active = { "active", tests };
