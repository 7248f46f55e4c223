/* SPDX-License-Identifier: BSD-3-Clause
 * Binds that repeat an earlier one. After the ranks have exchanged what they bind, and where their blocks are, only two things
 * can fail: that messages do not match, and that a peer's block cannot be mapped. A second exchange is for these errors. But
 * messages match if ranks with the same arguments have matched before, and a block can be reached if the file of the heap is
 * mapped up to it. So a group remembers which terms it has bound, and how far each rank's peers have mapped its heap. These
 * follow from what all ranks have exchanged, so that all decide alike.
 *
 * Where ranks bind alike (MPIX_Sched_bind.alike), even the first exchange is not needed. Each rank then publishes RT_BATCH equal
 * blocks at once, and the next binds with the same terms get one after the other. A peer may connect to a block, and write its
 * messages, before the block's own rank has bound it. To find ranks that do not bind alike after all, each rank shows a count
 * and a hash of its binds (rt_slot.bound). A rank that waits compares them with its own log. */
#include "runtime/settled.h"

#include <string.h>

/* rt_slot.bound has the number of binds in the low bits, and the hash above. */
#define COUNT_BITS 24
#define COUNT_MASK ((1u << COUNT_BITS) - 1)

static uint64_t *reach_of(const struct be_group *g, uint32_t row)
{
	return g->reach + (size_t)row * g->size;
}

static struct be_handle *blocks_of(const struct be_group *g, uint32_t row)
{
	return g->blocks + (size_t)row * g->size;
}

/* Returns the row of these terms; RT_SETTLED if there is none. */
static uint32_t find_row(const struct be_group *g, const struct rt_terms *terms, bool inplace)
{
	uint32_t row = 0;

	while (row < RT_SETTLED && !(g->settled[row].valid && g->settled[row].inplace == inplace &&
				     !memcmp(&g->settled[row].terms, terms, sizeof *terms)))
		row++;
	return row;
}

static const struct be_handle *handle_of(struct rt_handles all, uint32_t rank)
{
	return (const struct be_handle *)(const void *)((const char *)all.first + rank * all.stride);
}

/* Returns the end of the blocks that a rank has published. */
static uint64_t end_of(const struct be_handle *h, const struct rt_terms *terms)
{
	return h->off + h->size * be_batch(terms->blocks, h);
}

/* Returns how many blocks each rank has published at least. */
static uint32_t count_blocks(const struct be_group *g, const struct rt_terms *terms, struct rt_handles all)
{
	uint32_t least = terms->blocks;

	for (uint32_t r = 0; r < g->size; r++) {
		const uint32_t n = be_batch(terms->blocks, handle_of(all, r));

		least = n < least ? n : least;
	}
	return least;
}

/* Frees a rank's own blocks from number `from` on. */
static void free_blocks(struct be_group *g, const struct be_handle *first, uint32_t from, uint32_t nblocks)
{
	for (uint32_t k = from; k < nblocks; k++)
		rt_heap_free(g->ctx->heap, g->ctx->heap->base + first->off + k * first->size);
}

static void drop_row(struct be_group *g, uint32_t row)
{
	struct rt_settled *s = &g->settled[row];

	if (s->valid)
		free_blocks(g, &blocks_of(g, row)[g->rank], s->used, be_batch(s->terms.blocks, &blocks_of(g, row)[g->rank]));
	s->valid = false;
}

bool rt_settled_take(struct be_group *g, const struct rt_terms *terms, bool inplace)
{
	g->row = terms->blocks > 1 ? find_row(g, terms, inplace) : RT_SETTLED;
	if (g->row == RT_SETTLED || g->settled[g->row].used == g->settled[g->row].nblocks)
		return false;
	g->settled[g->row].used++;
	g->repeats = true;
	g->alone = true;
	return true;
}

struct be_handle rt_settled_block(const struct be_group *g, uint32_t rank)
{
	struct be_handle h = blocks_of(g, g->row)[rank];

	h.off += (g->settled[g->row].used - 1) * h.size;
	return h;
}

void rt_settled_find(struct be_group *g, const struct rt_terms *terms, bool inplace, struct rt_handles all)
{
	g->row = terms ? find_row(g, terms, inplace) : RT_SETTLED;
	g->repeats = g->row < RT_SETTLED;
	for (uint32_t r = 0; r < g->size && g->repeats; r++)
		g->repeats = end_of(handle_of(all, r), terms) <= reach_of(g, g->row)[r];
	if (!terms)
		return;
	if (g->row == RT_SETTLED)
		g->row = g->next++ % RT_SETTLED;
	drop_row(g, g->row);
	g->settled[g->row] = (struct rt_settled){ *terms, inplace, g->repeats, 1, count_blocks(g, terms, all) };
	for (uint32_t r = 0; r < g->size; r++) {
		blocks_of(g, g->row)[r] = *handle_of(all, r);
		if (!g->repeats)
			reach_of(g, g->row)[r] = rt_heap_reach(end_of(handle_of(all, r), terms));
	}
}

void rt_settled_over(struct be_group *g, const struct rt_terms *terms, const struct be_handle *mine)
{
	if (mine->off && (g->row == RT_SETTLED || !g->settled[g->row].valid))
		free_blocks(g, mine, 1, be_batch(terms->blocks, mine));
}

void rt_settled_end(struct be_group *g)
{
	for (uint32_t row = 0; row < RT_SETTLED; row++)
		drop_row(g, row);
}

bool group_repeats(const struct be_group *g)
{
	return g->repeats;
}

void group_settle(struct be_group *g)
{
	if (g->row < RT_SETTLED)
		g->settled[g->row].valid = true;
}

/* ---- ranks that do not bind alike ---- */

void rt_settled_note(struct be_group *g, const struct rt_terms *terms, bool inplace)
{
	const uint64_t count = (g->bound + 1) & COUNT_MASK;
	uint64_t words[sizeof *terms / sizeof(uint64_t)], hash = g->bound + inplace;

	memcpy(words, terms, sizeof words);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		hash = rt_id(hash, words[i]);
	g->bound = (hash & ~(uint64_t)COUNT_MASK) | count;
	atomic_store_explicit(&g->log[count % RT_LOG], g->bound, memory_order_relaxed);
	atomic_store_explicit(&g->board->slots[g->rank].bound, g->bound, memory_order_relaxed);
}

int64_t rt_settled_stranger(const struct be_group *g)
{
	const uint64_t mine = atomic_load_explicit(&g->board->slots[g->rank].bound, memory_order_relaxed);

	for (uint32_t r = 0; r < g->size && g->alone; r++) {
		const uint64_t theirs = atomic_load_explicit(&g->board->slots[r].bound, memory_order_relaxed);
		const uint64_t ahead = (mine - theirs) & COUNT_MASK;

		/* The rank that is behind is compared: where the other one is, this one does not know. */
		if (theirs & COUNT_MASK && ahead < RT_LOG &&
		    atomic_load_explicit(&g->log[theirs % RT_LOG], memory_order_relaxed) != theirs)
			return r;
	}
	return -1;
}
