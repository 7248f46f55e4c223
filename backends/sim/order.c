/* SPDX-License-Identifier: BSD-3-Clause
 * The order of the messages of a channel. In a schedule the k-th send to a rank with a tag is for the k-th recv of that tag from there, in
 * whatever order they become ready (goal(5)). Both ends count alike, and so each message and its recv have the same number in their
 * classes. */
#include "backends/sim/order.h"

#include "util/hash64.h"

#include <stdlib.h>

void sim_order_fini(struct sim_order *o)
{
	free(o->slots);
	*o = (struct sim_order){ 0 };
}

/* Makes the table empty, with two slots at least for each of n messages. */
static int clear(struct sim_order *o, uint32_t n)
{
	uint32_t size = 64;

	if (++o->rank && n <= o->nslots / 2)
		return 0;
	while (size / 2 < n)
		size *= 2;
	sim_order_fini(o);
	o->slots = mem_calloc(size, sizeof *o->slots);
	o->nslots = o->slots ? size : 0;
	o->rank = 1;
	return o->slots ? 0 : -ERR_NOMEM;
}

static struct sim_channel *find_channel(const struct sim_order *o, const struct sim_op *op, const struct sim_class *c)
{
	uint64_t i = hash64((uint64_t)op->peer << 32 | c->tag) + c->kind;

	for (;; i++) {
		struct sim_channel *at = &o->slots[i & (o->nslots - 1)];

		if (at->rank != o->rank)
			*at = (struct sim_channel){ op->peer, c->tag, c->kind, o->rank, 0 };
		if (at->peer == op->peer && at->tag == c->tag && at->kind == c->kind)
			return at;
	}
}

int sim_order_ops(struct sim_order *o, struct sim_classes *c, struct sim_op *ops, uint32_t nops)
{
	int changed = clear(o, nops);

	if (changed < 0)
		return changed;
	for (uint32_t i = 0; i < nops; i++) {
		const struct sim_class *of = &c->v.at[ops[i].cls];
		int64_t cls;
		uint32_t before;

		if (of->kind != SIM_SEND && of->kind != SIM_RECV)
			continue;
		before = find_channel(o, &ops[i], of)->n++;
		if (of->before == before)
			continue;
		cls = sim_ordered_class(c, ops[i].cls, before);
		if (cls < 0)
			return (int)cls;
		ops[i].cls = (uint32_t)cls;
		changed = 1;
	}
	return changed;
}
