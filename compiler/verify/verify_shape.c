/* SPDX-License-Identifier: BSD-3-Clause
 * Checks the ops of a graph one by one: kinds, peers, dependencies and ranges. The verifier needs this because it accepts
 * graphs from anywhere. */
#include "compiler/verify/verify_parts.h"

#include "compiler/analysis/checks.h"
#include "compiler/analysis/race.h"
#include "format/check.h"

#include <inttypes.h>

/* True if the op writes its range k (operands in ops.def). */
static bool op_writes(const struct bin_op *op, unsigned k)
{
	const char *operands = bin_operands(op->kind);

	return operands[0] == 'P' ? operands[1] != 'S' : k == 1;
}

static void check_ranges(struct goal_diags *d, const struct ir_graph *g, uint32_t r, uint32_t i)
{
	const struct bin_op *op = &g->ranks[r].ops[i];

	for (unsigned k = 0; k < bin_nranges(op->kind); k++) {
		uint32_t buf = op->buf[k];
		uint64_t size;

		if (buf >= g->nbuffers) {
			check_found(d, g, "bounds", GOAL_ERROR, r, i, "this op of rank %u is on a buffer that is not there", r);
			continue;
		}
		size = g->ranks[r].bufsize[buf];
		if (op->len && (op->off[k] > size || op->len > size - op->off[k]))
			check_found(d, g, "bounds", GOAL_ERROR, r, i,
				    "this op of rank %u is on %s, beyond the end of the buffer: it has %" PRIu64
				    " elements",
				    r, check_range_text(g, buf, op->off[k], op->off[k] + op->len).s, size);
		else if (op_writes(op, k) && op->len && ir_graph_mode(g, buf) == BIN_IN)
			check_found(d, g, "bounds", GOAL_ERROR, r, i, "this op of rank %u writes to %s, an in buffer", r,
				    check_range_text(g, buf, op->off[k], op->off[k] + op->len).s);
	}
}

static void check_op(struct goal_diags *d, const struct ir_graph *g, uint32_t r, uint32_t i)
{
	const struct ir_rank *rank = &g->ranks[r];
	const struct bin_op *op = &rank->ops[i];
	const char *operands = bin_operands(op->kind);

	if (op->kind == BIN_OP_GETS || (!*operands && op->kind != BIN_OP_NOP && op->kind != BIN_OP_CALC))
		check_found(d, g, NULL, GOAL_ERROR, r, i, "this is no kind of op");
	if (*operands == 'P' && op->peer >= g->nranks && op->peer != BIN_ANY)
		check_found(d, g, "peer", GOAL_ERROR, r, i, "the peer %u of rank %u is no rank", op->peer, r);
	for (uint32_t k = rank->dep_at[i]; k < rank->dep_at[i + 1]; k++)
		if ((rank->deps[k] & ~BIN_START) >= rank->nops)
			check_found(d, g, NULL, GOAL_ERROR, r, i, "this op of rank %u waits for none", r);
	if (!g->plain)
		check_ranges(d, g, r, i);
}

void verify_shape(struct goal_diags *d, const struct ir_graph *g)
{
	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++)
			check_op(d, g, r, i);
}
