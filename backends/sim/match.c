/* SPDX-License-Identifier: BSD-3-Clause
 * Matching of recvs and messages. Each host has a hash table of those that wait, by source and tag. A host with wildcards has
 * one chain instead, in which the order of all of them is kept. */
#include "backends/sim/state.h"

#include "util/hash64.h"

#include <stdlib.h>

#define MOST_OF_A_CHAIN 2u /* on average */

static inline uint32_t chain_of(const struct sim *s, const struct host *h, const struct op *op)
{
	return h->bits ? (uint32_t)(hash64((uint64_t)op->peer << 32 | sim_class_of(s, op)->tag) >> (64 - h->bits)) : 0;
}

static inline uint32_t *tail_of(struct host *h, uint32_t chain)
{
	return h->bits ? &h->table.many[chain] : &h->table.one;
}

static void append_to_chain(const struct sim *s, uint32_t *tail, uint32_t i)
{
	struct op *op = sim_op_at(s, i);

	if (*tail) {
		struct op *last = sim_op_at(s, *tail);

		op->next = last->next;
		last->next = i;
	} else {
		op->next = i;
	}
	*tail = i;
}

void match_prefetch(const struct sim *s, uint32_t host, uint32_t i)
{
	__builtin_prefetch(tail_of(&s->hosts[host], chain_of(s, &s->hosts[host], sim_op_at(s, i))));
}

/* Moves the ops of a chain, in their order, to the chains of the larger table. */
static void move_chain(const struct sim *s, struct host *h, uint32_t tail)
{
	uint32_t i = tail ? sim_op_at(s, tail)->next : 0;

	while (i) {
		const uint32_t next = i == tail ? 0 : sim_op_at(s, i)->next;

		append_to_chain(s, tail_of(h, chain_of(s, h, sim_op_at(s, i))), i);
		i = next;
	}
}

static int grow_table(const struct sim *s, struct host *h)
{
	const struct host old = *h;
	const unsigned bits = h->bits + 2;
	uint32_t *many = mem_calloc((size_t)1 << bits, sizeof *many);

	if (!many)
		return -ERR_NOMEM;
	h->bits = bits & 31;
	h->table.many = many;
	if (!old.bits) {
		move_chain(s, h, old.table.one);
		return 0;
	}
	for (uint32_t k = 0; k < 1u << old.bits; k++)
		move_chain(s, h, old.table.many[k]);
	free(old.table.many);
	return 0;
}

int match_add(struct sim *s, uint32_t host, uint32_t i)
{
	struct host *h = &s->hosts[host];

	if (h->chained == MOST_CHAINED)
		return -ERR_SPACE;
	if (h->chained >= MOST_OF_A_CHAIN << h->bits && !h->pinned) {
		int err = grow_table(s, h);

		if (err)
			return err;
	}
	append_to_chain(s, tail_of(h, chain_of(s, h, sim_op_at(s, i))), i);
	h->chained++;
	return 0;
}

bool match_fits(const struct sim_class *recv, uint32_t peer, const struct sim_class *send, uint32_t source)
{
	return (peer == source || peer == BIN_ANY) && (recv->tag == send->tag || recv->tag == BIN_ANY || send->tag == BIN_ANY);
}

/* True if one of the two is a recv, and the other a message for it. */
static inline bool is_pair(const struct sim *s, const struct op *a, const struct op *b)
{
	const struct sim_class *ca = sim_class_of(s, a), *cb = sim_class_of(s, b);

	if (ca->kind == cb->kind)
		return false;
	return ca->kind == SIM_RECV ? match_fits(ca, a->peer, cb, b->peer) : match_fits(cb, b->peer, ca, a->peer);
}

/* Returns the first partner of an op in its chain, and in *before the op before it there. */
static uint32_t find_partner(const struct sim *s, uint32_t tail, const struct op *op, uint32_t *before)
{
	*before = tail;
	while (*before) {
		const uint32_t i = sim_op_at(s, *before)->next;

		if (is_pair(s, op, sim_op_at(s, i)))
			return i;
		*before = i == tail ? 0 : i;
	}
	return 0;
}

uint32_t match_find(const struct sim *s, uint32_t host, uint32_t i)
{
	struct host *h = &s->hosts[host];
	const struct op *op = sim_op_at(s, i);
	uint32_t before;

	return find_partner(s, *tail_of(h, chain_of(s, h, op)), op, &before);
}

uint32_t match_take(struct sim *s, uint32_t host, uint32_t i)
{
	struct host *h = &s->hosts[host];
	const struct op *op = sim_op_at(s, i);
	uint32_t *tail = tail_of(h, chain_of(s, h, op)), before, found = find_partner(s, *tail, op, &before);

	if (!found)
		return 0;
	sim_op_at(s, before)->next = sim_op_at(s, found)->next;
	if (found == *tail)
		*tail = before == found ? 0 : before;
	h->chained--;
	return found;
}
