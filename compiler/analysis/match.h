/* SPDX-License-Identifier: BSD-3-Clause
 * Which send meets which recv. */
#ifndef COMPILER_ANALYSIS_MATCH_H
#define COMPILER_ANALYSIS_MATCH_H

#include "compiler/ir/ir.h"
#include "format/check.h"

/* Whether an op is an end of a message (ops.def). */
static inline bool ir_op_sends(const struct bin_op *op)
{
	return bin_sends(op->kind);
}

static inline bool ir_op_recvs(const struct bin_op *op)
{
	return bin_recvs(op->kind);
}

/* A message: send op of rank src matched with recv op of rank dst. */
struct ir_match {
	uint32_t src, send, dst, recv;
};

/* Matches the k-th send with the k-th recv of each channel, in program order. Ops without a partner,
 * wildcards and what shares a rank with a wildcard are left out. *out is the caller's to free. */
int ir_graph_match(const struct ir_graph *g, struct ir_match **out, size_t *n);

/* Whether all ranges lie in their buffers, and both ends of each of these messages have one length. */
bool ir_graph_fits(const struct ir_graph *g, const struct ir_match *m, size_t nm);

/* Whether the order of the text on each channel agrees with the dependencies of a rank, which have no cycle:
 * 0, -ERR_CYCLE with an op in *bad, or -ERR_NOMEM. */
int ir_rank_order(const struct ir_rank *r, uint32_t *bad);

#endif
