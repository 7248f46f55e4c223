/* SPDX-License-Identifier: BSD-3-Clause
 * Matching of recvs and messages. Each host has a hash table of those that wait, by source, tag and number (order.h), with linear
 * probing: entries of the same ones are in their order. A host where few wait has a chain of them instead, and so has one with
 * wildcards, for which the order of all matters. */
#ifndef BACKENDS_SIM_MATCH_H
#define BACKENDS_SIM_MATCH_H

#include "backends/sim/state.h"

/* A recv or a message that waits. */
struct match_entry {
	uint32_t key; /* hash of its source, tag and number */
	uint32_t op; /* 0: the slot is free; MATCH_GONE: the op was removed */
};
#define MATCH_GONE UINT32_MAX

#define MATCH_MOST ((1u << 25) - 1) /* recvs and messages that wait on a host */

/* Adds a recv or a message to those that wait. */
int match_add(struct sim *s, uint32_t host, uint32_t i);
/* Adds the first recvs of a host, for which none waits yet. */
int match_add_first(struct sim *s, uint32_t host, const uint32_t *recvs, uint32_t n);
/* Returns the first message for a recv, or the first recv for a message, or 0 if there is none. */
uint32_t match_find(const struct sim *s, uint32_t host, uint32_t i);
/* The same, and removes it. */
uint32_t match_take(struct sim *s, uint32_t host, uint32_t i);
void match_free(struct sim *s, uint32_t host);
/* True if a message, which `source` sends, is for a recv. */
bool match_fits(const struct sim_class *recv, uint32_t peer, const struct sim_class *send, uint32_t source);

/* Returns the number of slots of a table: four sizes between each power of two and the next. Behind them is an entry that counts in
 * `op` those that were added. */
static inline uint32_t match_slots(unsigned size)
{
	return (4 + size % 4) << size / 4;
}

static inline uint32_t match_key(const struct sim *s, const struct op *op)
{
	const struct sim_class *c = sim_class_of(s, op);

	return (uint32_t)((((uint64_t)op->peer << 32 | c->tag) + ((uint64_t)c->before << 24)) * 0x9e3779b97f4a7c15 >> 32);
}

/* Returns the slot at which the search for a key begins. */
static inline uint32_t match_home(const struct host *h, uint32_t key)
{
	return (uint32_t)((uint64_t)key * match_slots(h->size) >> 32);
}

static inline uint32_t match_after(const struct host *h, uint32_t slot)
{
	return slot + 1 == match_slots(h->size) ? 0 : slot + 1;
}

/* Returns the table of a host that has one. It moves when the pool does. */
static inline struct match_entry *match_table(const struct sim *s, const struct host *h)
{
	return (struct match_entry *)(void *)sim_op_at(s, h->match);
}

/* Returns the entry that is looked at first for a partner of an op, or NULL: a hint for prefetching. */
static inline const struct match_entry *match_first(const struct sim *s, const struct host *h, const struct op *op)
{
	return h->size ? &match_table(s, h)[match_home(h, match_key(s, op))] : NULL;
}

/* Returns what probably is the partner of an op, or 0: a hint for prefetching, which looks at no other op. */
static inline uint32_t match_guess(const struct sim *s, const struct host *h, const struct op *op)
{
	const uint32_t key = match_key(s, op);
	const struct match_entry *t = match_table(s, h);
	uint32_t slot;

	if (!h->size)
		return h->match;
	for (slot = match_home(h, key); t[slot].op && (t[slot].key != key || t[slot].op == MATCH_GONE); slot = match_after(h, slot))
		;
	return t[slot].op;
}

#endif
