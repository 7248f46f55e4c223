/* SPDX-License-Identifier: BSD-3-Clause
 * Messages of a graph: which send is matched with which recv. */
#ifndef COMPILER_ANALYSIS_MATCH_H
#define COMPILER_ANALYSIS_MATCH_H

#include "compiler/ir/ir.h"
#include "format/check.h"

/* True if an op sends, or receives, a message (ops.def). */
static inline bool ir_op_sends(const struct bin_op *op)
{
	return bin_sends(op->kind);
}

static inline bool ir_op_recvs(const struct bin_op *op)
{
	return bin_recvs(op->kind);
}

/* A message: op number `send` of rank `src`, matched with op number `recv` of rank `dst`. */
struct ir_match {
	uint32_t src, send, dst, recv;
};

/* Matches the k-th send with the k-th recv of each channel, in program order. Leaves out ops without a partner, ops
 * with wildcards, and all messages to a rank with a wildcard. The caller frees *out. */
int ir_graph_match(const struct ir_graph *g, struct ir_match **out, size_t *n);

/* True if all ranges lie in their buffers and both ends of each message of m have the same length. */
bool ir_graph_fits(const struct ir_graph *g, const struct ir_match *m, size_t nm);

/* True if all dependencies of a rank point back, so that the order of the text agrees with them. */
bool ir_rank_points_back(const struct ir_rank *rank);
/* Copies the dependencies of a rank to *out, and makes each send or recv also wait for the previous op of its channel. If
 * `starts` is set, it waits for the start of that op; otherwise all dependencies become dependencies on completions. Stores
 * the number of ops that follow another op of their channel in *pairs. */
int ir_rank_chain(const struct ir_rank *rank, bool starts, struct ir_rank *out, uint32_t *pairs);
/* Checks that on each channel the order of the text agrees with the dependencies of a rank, which must have no cycle.
 * Returns 0, -ERR_CYCLE with an op in *bad, or -ERR_NOMEM. */
int ir_rank_order(const struct ir_rank *r, uint32_t *bad);

#endif
