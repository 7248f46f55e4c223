/* SPDX-License-Identifier: BSD-3-Clause
 * Which requests of a context are active (active.c). */
#ifndef RUNTIME_ACTIVE_H
#define RUNTIME_ACTIVE_H

#include "runtime/request.h"

/* Adds step, 1 or -1, to the number of active requests, for a request that is counted. An atomic addition would wait for earlier stores,
 * so a process of one thread does without. */
static inline void rt_active_count(struct mpix_sched_request *req, uint32_t step)
{
	_Atomic uint32_t *n = &req->ctx->active.counted;

	req->counted = step == 1;
	if (*req->single_threaded)
		atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + step, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(n, step, memory_order_relaxed);
}

/* Returns how many listed requests of a context are active, but for `mine`, which may be NULL. */
uint32_t rt_active_listed(struct mpix_sched_ctx *ctx, const struct mpix_sched_request *mine);

/* True if a request of the context is active besides `mine`. */
static inline bool rt_active_others(const struct mpix_sched_request *mine)
{
	struct rt_active *a = &mine->ctx->active;

	return atomic_load_explicit(&a->counted, memory_order_relaxed) > mine->counted ||
	       (atomic_load_explicit(&a->nlisted, memory_order_relaxed) > mine->listed && rt_active_listed(mine->ctx, mine));
}

/* Returns how many requests of a context are active. */
static inline uint32_t rt_active_number(struct mpix_sched_ctx *ctx)
{
	return atomic_load_explicit(&ctx->active.counted, memory_order_relaxed) +
	       (atomic_load_explicit(&ctx->active.nlisted, memory_order_relaxed) ? rt_active_listed(ctx, NULL) : 0);
}

/* Lists a request that is not active, or takes it off the list. Touches nothing that is shared with other processes. */
void rt_active_list(struct mpix_sched_request *req, bool listed);

/* Ends an epoch, or sets up the first one: the request is idle, and is listed if it is started next only by a store to start_word. */
static inline void rt_active_end(struct mpix_sched_request *req, _Atomic uint64_t *start_word)
{
	if (__builtin_expect(req->listed != (start_word != NULL), 0)) {
		rt_turn_set(req->turn, RT_IDLE); /* without a start_word it would look active */
		rt_active_list(req, start_word != NULL);
	}
	if (req->listed)
		atomic_store_explicit(&req->start_word, start_word, memory_order_relaxed);
	rt_turn_set(req->turn, req->listed ? RT_BRIEF : RT_IDLE);
}

#endif
