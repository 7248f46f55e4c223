/* SPDX-License-Identifier: BSD-3-Clause
 * The verifier's part for command queues. */
#ifndef COMPILER_QUEUES_VERIFY_QUEUES_H
#define COMPILER_QUEUES_VERIFY_QUEUES_H

#include "compiler/analysis/symbolic.h"
#include "compiler/ir/smcq.h"

/* Proves that the queues to which a schedule is lowered do what its ops do; findings are diagnostics. run: the symbolic
 * run of the ops, on which nothing else was found. most: about how many entries may be looked at; 0: all that it takes.
 * *partly: that was too few to ask what can come too early of all of them. 0 or -ERR_NOMEM. */
int verify_queues(struct goal_diags *d, const struct symbolic *run, const struct smcq *s, uint64_t most, bool *partly);

#endif
