/* SPDX-License-Identifier: BSD-3-Clause
 * Flow of values through the buffers of one rank: which ops access the same elements one after the other. */
#ifndef COMPILER_ANALYSIS_FLOW_H
#define COMPILER_ANALYSIS_FLOW_H

#include "compiler/ir/ir.h"

/* Elements are cut into spans, numbered over all buffers; each op accesses a span entirely or not at all. */
struct flow_range {
	uint32_t from, to; /* numbers of spans; from == to if the range is empty */
};

struct flow {
	const struct ir_rank *r;
	/* pos: position of each op in an order that agrees with the dependencies; order: op at each position */
	uint32_t *pos, *order;
	struct flow_range (*range)[2]; /* the two ranges of each op */
	uint32_t nspans;
	/* The fields below are working state. */
	uint32_t *stamp, *stack, round;
	void *block;
};

/* Returns -ERR_CYCLE if the dependencies form a cycle. */
int flow_init(struct flow *f, const struct ir_rank *r);
void flow_fini(struct flow *f);

/* True if the dependencies of this rank make op a complete before op b starts. Dependencies whose byte in skip is set
 * do not count; skip may be NULL. */
bool flow_before(struct flow *f, uint32_t a, uint32_t b, const unsigned char *skip);

/* How op b accesses a span after op a. FLOW_READ: b reads what a wrote. FLOW_OVERWRITE: b overwrites what a wrote and
 * no op has read. FLOW_REUSE: b overwrites what a has read. */
enum flow_kind { FLOW_READ, FLOW_OVERWRITE, FLOW_REUSE };

/* Walks through the ops in order and calls pair for each span and each two ops a and b that access it one after the
 * other. A result of pair other than 0 ends the walk. */
int flow_walk(struct flow *f, int (*pair)(void *arg, enum flow_kind kind, uint32_t span, uint32_t a, uint32_t b),
	      void *arg);

#endif
