/* SPDX-License-Identifier: BSD-3-Clause
 * odd-even: assigns the ops of consecutive ranks to different communication cores, in turn, as in the odd-even
 * placement of Denis et al. (IJHPCA 33(6), 2019, section 5.2). Ops for the rank's own thread stay there.
 *
 * Only executors change, so the result is right. The assignment depends on the rank's number alone, for three reasons.
 * In a chain, neighbours have consecutive numbers, whichever rank it begins at, except rank 0 and the last. In a
 * pipelined tree, the children of a rank have consecutive numbers too, and they are served one after the other. Each
 * core gets as many ranks as any other, which matters most for a pipeline that keeps all ranks busy. An assignment by
 * distance from the leaves would also separate a rank from its parent, but would not share the work evenly, because
 * half the vertices of a binary tree are leaves. */
#include "compiler/passes/passes.h"

#include "util/err.h"

int pass_odd_even(struct ir_rank *r, const struct pass_ctx *c)
{
	if (!r->bufsize) /* in plain GOAL an op's core is one of the rank's own */
		return -ERR_PASS;
	for (uint32_t i = 0; i < r->nops; i++) {
		struct bin_op *o = &r->ops[i];

		if (o->exec == BIN_DEFAULT || o->exec == BIN_COMM) {
			o->exec = BIN_COMM;
			o->cpu = 1 + c->rank;
		}
	}
	return 0;
}
