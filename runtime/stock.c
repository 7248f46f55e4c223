/* SPDX-License-Identifier: BSD-3-Clause
 * A bind has to know where the other ranks have the blocks for it, and that all ranks are able to bind. If ranks share cores, to wait
 * for that costs each of them a turn of the scheduler. So ranks that promise to bind alike (MPIX_Sched_bind.alike) make blocks for
 * several binds at once: once a bind repeats an earlier one (settled.c), it also exchanges the blocks of the next RT_STOCK_MOST like
 * it. These take their blocks from the stock, in the same order on all ranks, and wait for nobody. What a rank writes to a block
 * whose rank has not bound it yet stays there, as it does while a rank that has bound is slow to start.
 *
 * All ranks have the same stocks with the same number of blocks at the same point of their order of binds. So a rank may free the
 * blocks that it has not taken itself when it gives up a stock: no rank will take them, or write to them. */
#include "runtime/stock.h"

#include "backends/services.h"
#include "runtime/group.h"

#include <string.h>

static struct rt_offer *offer_of(struct rt_offer *first, size_t stride, uint32_t rank)
{
	return (struct rt_offer *)(void *)((char *)first + rank * stride);
}

struct rt_stock *rt_stock_find(struct be_group *g, const struct rt_alike *alike)
{
	for (struct rt_stock *s = g->stocks; s < g->stocks + RT_STOCKS; s++)
		if (s->valid && !memcmp(&s->alike, alike, sizeof *alike))
			return s;
	return NULL;
}

uint32_t rt_stock_want(const struct rt_stock *s)
{
	const uint32_t n = !s ? 0 : s->made ? 2 * s->made : 2;

	return n < RT_STOCK_MOST ? n : RT_STOCK_MOST;
}

void rt_stock_return(struct be_group *g, const struct be_handle *block, uint32_t n)
{
	char *p = g->ctx->heap->base + block->off;

	while (n--)
		rt_heap_free(g->ctx->heap, p += rt_heap_room(block->size));
}

static void give_up(struct be_group *g, struct rt_stock *s)
{
	struct be_handle before;

	if (!s->valid)
		return;
	before = s->next[g->rank].handle;
	before.off -= rt_heap_room(before.size);
	rt_stock_return(g, &before, s->left);
	s->valid = false;
}

void rt_stock_add(struct be_group *g, const struct rt_alike *alike)
{
	struct rt_stock *s = &g->stocks[g->nstocks++ % RT_STOCKS];

	give_up(g, s);
	*s = (struct rt_stock){ .alike = *alike, .valid = true, .next = s->next };
	memset(s->next, 0, g->size * sizeof *s->next);
}

bool rt_stock_fill(struct be_group *g, struct rt_stock *s, uint32_t n, const struct rt_offer *first, size_t stride)
{
	for (uint32_t r = 0; r < g->size; r++) {
		struct be_handle *h = &s->next[r].handle;
		const size_t room = rt_heap_room(offer_of((struct rt_offer *)first, stride, r)->handle.size);

		s->next[r] = *offer_of((struct rt_offer *)first, stride, r);
		if (h->off + (n + 1) * room > rt_heap_reach(h->off + h->size))
			return false;
		h->off += room;
	}
	s->made = s->left = n;
	return true;
}

void rt_stock_take(struct be_group *g, struct rt_stock *s, struct rt_offer *first, size_t stride)
{
	for (uint32_t r = 0; r < g->size; r++) {
		*offer_of(first, stride, r) = s->next[r];
		s->next[r].handle.off += rt_heap_room(s->next[r].handle.size);
	}
	s->left--;
	atomic_fetch_add(&g->board->slots[g->rank].taken, 1);
}

void rt_stocks_free(struct be_group *g)
{
	for (struct rt_stock *s = g->stocks; s < g->stocks + RT_STOCKS; s++)
		give_up(g, s);
}

int64_t rt_stock_ahead(const struct be_group *g)
{
	const struct rt_slot *slots = g->board->slots;
	const uint32_t mine = atomic_load(&slots[g->rank].taken);

	/* A rank that is beyond this exchange has written its record first. */
	for (uint32_t r = 0; r < g->size; r++)
		if ((int32_t)(atomic_load(&slots[r].taken) - mine) > 0 && rt_board_round(g->board, r) < g->seq)
			return r;
	return -1;
}
