/* SPDX-License-Identifier: BSD-3-Clause
 * Virtual queues for large copies; copyq.h describes them. */
#include "backends/shm/copyq.h"

static uint64_t load_relaxed(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static void store_relaxed(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

bool copyq_put(struct copyq *q, const struct copyq_what *what, uint64_t bytes, uint64_t step)
{
	const uint64_t first = load_relaxed(&q->put);

	if (!copyq_complete(q))
		return false;
	store_relaxed(&q->first, first);
	store_relaxed(&q->bytes, bytes);
	store_relaxed(&q->step, step);
	store_relaxed(&q->op, what->op);
	store_relaxed(&q->address, what->address);
	store_relaxed(&q->heap, what->heap);
	/* Makes the description visible before the fragments; pairs with the load of put in copyq_peek. */
	atomic_store_explicit(&q->put, first + (bytes + step - 1) / step, memory_order_release);
	return true;
}

bool copyq_peek(struct copyq *q, struct copyq_part *p)
{
	uint64_t left;

	p->number = load_relaxed(&q->taken);
	if (p->number >= atomic_load_explicit(&q->put, memory_order_acquire))
		return false;
	p->what = (struct copyq_what){ load_relaxed(&q->op), load_relaxed(&q->address), load_relaxed(&q->heap) };
	p->off = (p->number - load_relaxed(&q->first)) * load_relaxed(&q->step);
	left = load_relaxed(&q->bytes) - p->off;
	p->len = left < load_relaxed(&q->step) ? left : load_relaxed(&q->step);
	return true;
}

bool copyq_take(struct copyq *q, const struct copyq_part *p)
{
	uint64_t number = p->number;

	return atomic_compare_exchange_strong_explicit(&q->taken, &number, number + 1, memory_order_acquire,
						       memory_order_relaxed);
}

bool copyq_done(struct copyq *q)
{
	/* Makes the fragment's bytes visible before it is counted; pairs with the load of done in copyq_complete. */
	return atomic_fetch_add_explicit(&q->done, 1, memory_order_acq_rel) + 1 ==
	       atomic_load_explicit(&q->put, memory_order_relaxed);
}

bool copyq_complete(struct copyq *q)
{
	return atomic_load_explicit(&q->done, memory_order_acquire) == load_relaxed(&q->put);
}
