/* SPDX-License-Identifier: BSD-3-Clause
 * The ops of a simulated node: what the files node*.c share. */
#ifndef BACKENDS_SIM_NODE_STATE_H
#define BACKENDS_SIM_NODE_STATE_H

#include "backends/sim/node.h"
#include "backends/sim/state.h"

/* An op of the schedule. Its place in the list is its number in the host. */
struct node_op {
	uint64_t cost; /* ns on its core */
	uint64_t bytes; /* of a message */
	uint32_t rank, op; /* of the schedule */
	uint32_t peer, tag;
	uint32_t partner; /* the other end of a message, or NODE_NONE */
	uint32_t done; /* op of the host with whose end this one is complete */
	uint32_t posted; /* op of the host with whose end this recv has started, or NODE_NONE if nobody asks */
	uint32_t core, phase; /* core: NODE_NONE if it is any that is open */
	uint16_t level;
	uint8_t kind, exec;
	bool over; /* it is complete */
};

enum node_extra_kind {
	NODE_ARRIVAL, /* of a recv: its message is there */
	NODE_POSTED, /* of a recv: it has started */
	NODE_END, /* of a send: its rendezvous is complete */
	NODE_NO_END, /* the same of a send that has no recv */
	NODE_COMPUTE, /* of a rank */
	NODE_START, /* of a rank */
	NODE_BARRIER /* between two levels */
};

/* An op of the host that the schedule does not have. */
struct node_extra {
	enum node_extra_kind kind;
	uint32_t of; /* number of an op, or of a rank */
	uint64_t ns;
};

/* Adds an op of the host, and returns its number. Errors are kept in n->err, and nothing is done after one. */
static inline uint32_t node_add_extra(struct sim_node *n, enum node_extra_kind kind, uint32_t of, uint64_t ns)
{
	const uint32_t i = (uint32_t)(n->ops.n + n->extras.n);

	if (!n->err && i >= SUCC_OP)
		n->err = -ERR_SPACE;
	if (!n->err && VEC_PUSH(&n->extras, (struct node_extra){ kind, of, ns }))
		n->err = -ERR_NOMEM;
	return n->err ? 0 : i;
}

/* Makes an op of the host wait for another one. `on` is as in struct bin_dep. */
static inline void node_add_dep(struct sim_node *n, uint32_t op, uint32_t on)
{
	if (!n->err && VEC_PUSH(&n->deps, (struct bin_dep){ op, on }))
		n->err = -ERR_NOMEM;
}


/* True if an op runs on the core of its rank, and not on one that communicates. */
static inline bool node_is_own(const struct sim_node *n, const struct node_op *o)
{
	return n->own || o->exec == BIN_EARLY || o->exec == BIN_APP || (!n->collab && n->core[o->rank] == n->comm[o->rank]);
}

/* ---- node_levels.c ---- */

/* Puts barriers between the levels, and chooses the cores of the ops that communication cores carry out. n->deps has the
 * dependencies of the schedule alone. Returns 0, -ERR_NOMEM or -ERR_LEVELS. */
int node_separate_levels(struct sim_node *n);

#endif
