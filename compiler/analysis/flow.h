/* SPDX-License-Identifier: BSD-3-Clause
 * How values flow through the buffers of one rank: which ops touch the same elements after each other. */
#ifndef COMPILER_ANALYSIS_FLOW_H
#define COMPILER_ANALYSIS_FLOW_H

#include "compiler/ir/ir.h"

/* Elements are cut into spans, numbered through all buffers, that each op touches as a whole or not at all. */
struct flow_range {
	uint32_t from, to; /* spans; empty: nothing */
};

struct flow {
	const struct ir_rank *r;
	uint32_t *pos, *order; /* the position of an op in an order that agrees with the dependencies; the op at one */
	struct flow_range (*range)[2]; /* of each op */
	uint32_t nspans;
	/* working state */
	uint32_t *stamp, *stack, round;
	void *block;
};

/* -ERR_CYCLE where the dependencies form one. */
int flow_init(struct flow *f, const struct ir_rank *r);
void flow_fini(struct flow *f);

/* Whether op a is complete before op b starts, by dependencies of this rank other than those that skip, which may be
 * NULL, is set for. */
bool flow_before(struct flow *f, uint32_t a, uint32_t b, const unsigned char *skip);

/* How op b touches a span after op a: the last write before a read, the last one before a write that nobody has read,
 * or a read before the next write. */
enum flow_kind { FLOW_READ, FLOW_OVERWRITE, FLOW_REUSE };

/* Goes through the ops in order, and calls pair for each b and what comes before it, for each span. What pair returns,
 * if not 0, ends it. */
int flow_walk(struct flow *f, int (*pair)(void *arg, enum flow_kind kind, uint32_t span, uint32_t a, uint32_t b),
	      void *arg);

#endif
