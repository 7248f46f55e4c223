/* SPDX-License-Identifier: BSD-3-Clause
 * odd-even: the ops of consecutive ranks go to different communication cores, in turn, as the odd-even placement of
 * Denis et al. has it (IJHPCA 33(6), 2019, section 5.2). Ops that are for the rank's own thread stay there.
 *
 * Only executors change, so the result is right. The rank's number is all that is looked at, for these reasons: in
 * a chain neighbours have consecutive numbers, whatever rank it begins at, but for ranks 0 and the last; the children
 * of a rank in a pipelined tree have, and they are served one after the other; and each core gets as many ranks as any
 * other, which is what a pipeline that keeps all ranks busy needs most. Distances from the leaves, which would also
 * part a rank from its parent, would not share the work out: half of a binary tree are leaves. */
#include "compiler/passes/passes.h"

#include "util/err.h"

int pass_odd_even(struct ir_rank *r, const struct pass_ctx *c)
{
	if (!r->bufsize) /* in plain GOAL the core of an op is one of the rank's own */
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
