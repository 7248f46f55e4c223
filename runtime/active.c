/* SPDX-License-Identifier: BSD-3-Clause
 * Which requests of a context are active: a wait makes progress on all.
 *
 * Active requests are counted. A start that only says that it has begun (be_bound.start_word) need not touch its context for that,
 * which the data of the program have driven out of the caches. So requests with such starts are not counted, but listed. Nor does such a
 * start change the state of the request (RT_BRIEF). As each wait may look at all on the list, it is short. */
#include "runtime/active.h"

#include "runtime/heap/heap.h"

uint32_t rt_active_listed(struct mpix_sched_ctx *ctx, const struct mpix_sched_request *mine)
{
	struct rt_active *a = &ctx->active;
	uint32_t n = 0;
	const bool locks = !__libc_single_threaded;

	if (locks)
		pthread_mutex_lock(&a->lock);
	for (uint32_t i = 0; i < a->nlisted; i++)
		n += a->listed[i] != mine && !atomic_load_explicit(&a->listed[i]->start_word, memory_order_relaxed);
	if (locks)
		pthread_mutex_unlock(&a->lock);
	return n;
}

void rt_active_list(struct mpix_sched_request *req, bool listed)
{
	struct rt_active *a = &req->ctx->active;
	uint32_t i = 0;

	/* Threads that ask others to look at their bells are not among the sleepers for which such a start looks. */
	if (listed && rt_heap_door(req->ctx->heap)->asks)
		return;
	pthread_mutex_lock(&a->lock);
	if (!listed) {
		while (a->listed[i] != req)
			i++;
		a->listed[i] = a->listed[--a->nlisted];
		req->listed = false;
		atomic_store_explicit(&req->start_word, NULL, memory_order_relaxed);
	} else if (a->nlisted < RT_LISTED) {
		a->listed[a->nlisted++] = req;
		req->listed = true;
	}
	pthread_mutex_unlock(&a->lock);
}
