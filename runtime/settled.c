/* SPDX-License-Identifier: BSD-3-Clause
 * Binds that repeat an earlier one. After the first exchange of a bind only two things can fail: that messages do not match, and
 * that a peer's block cannot be mapped. A second exchange reports this to all ranks. But whether messages match depends on nothing
 * but the messages of all ranks, and a block can be reached if the file of its heap is mapped up to its end. So a group
 * remembers a hash of the messages that it has bound, and how far each rank's peers have mapped its heap. Both follow from
 * what all ranks have exchanged, so that all decide alike. A rank that binds other messages than before changes the hash on
 * all ranks. */
#include "runtime/settled.h"

#include "backends/services.h"
#include "runtime/group.h"
#include "util/hash64.h"

static const struct rt_offer *offer_of(const struct rt_offer *first, size_t stride, uint32_t rank)
{
	return (const struct rt_offer *)(const void *)((const char *)first + rank * stride);
}

static uint64_t end_of(const struct rt_offer *o)
{
	return o->handle.off + o->handle.size;
}

/* Returns the row of such a bind; else one that remembers nothing, or the next one in turn. */
static uint32_t choose_row(struct be_group *g, uint64_t messages)
{
	uint32_t row, empty = RT_SETTLED;

	for (row = 0; row < RT_SETTLED && g->settled[row].messages != messages; row++)
		if (!g->settled[row].valid)
			empty = row;
	return row < RT_SETTLED ? row : empty < RT_SETTLED ? empty : g->turns++ % RT_SETTLED;
}

/* True if the file of each rank's heap is mapped up to the end of its block, by those that a bind of this row lets access it. */
static bool reaches_all(const struct be_group *g, const struct rt_offer *first, size_t stride, const uint64_t *reach)
{
	uint32_t r = 0;

	while (r < g->size && end_of(offer_of(first, stride, r)) <= reach[r])
		r++;
	return r == g->size;
}

void rt_settled_find(struct be_group *g, const struct rt_offer *first, size_t stride)
{
	struct rt_settled *s;
	uint64_t messages = 1, *reach;

	for (uint32_t r = 0; r < g->size; r++)
		messages = hash64(messages + offer_of(first, stride, r)->messages);
	g->row = choose_row(g, messages);
	s = &g->settled[g->row];
	reach = g->reach + (size_t)g->row * g->size;
	g->repeats = s->valid && s->messages == messages && reaches_all(g, first, stride, reach);
	if (g->repeats)
		return;
	/* All this is so once the bind has succeeded: group_settle. */
	*s = (struct rt_settled){ .messages = messages };
	for (uint32_t r = 0; r < g->size; r++)
		reach[r] = rt_heap_reach(end_of(offer_of(first, stride, r)));
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
