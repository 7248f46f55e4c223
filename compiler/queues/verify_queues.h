/* SPDX-License-Identifier: BSD-3-Clause
 * Verification of command queues. */
#ifndef COMPILER_QUEUES_VERIFY_QUEUES_H
#define COMPILER_QUEUES_VERIFY_QUEUES_H

#include "compiler/analysis/symbolic.h"
#include "compiler/ir/smcq.h"

/* Proves that the queues to which a schedule is lowered do what its ops do. Findings are reported as diagnostics. `run` is the
 * symbolic run of the ops, in which nothing wrong was found. `most` limits, roughly, how many entries may be visited; 0 means
 * no limit. *partly is set if the limit was too low to hold back every event. Returns 0 or -ERR_NOMEM. */
int verify_queues(struct goal_diags *d, const struct symbolic *run, const struct smcq *s, uint64_t most, bool *partly);

#endif
