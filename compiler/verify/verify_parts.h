/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of the verifier. Findings are diagnostics; what returns a number returns 0 or -ERR_NOMEM. */
#ifndef COMPILER_VERIFY_VERIFY_PARTS_H
#define COMPILER_VERIFY_VERIFY_PARTS_H

#include "compiler/analysis/symbolic.h"
#include "compiler/verify/verify.h"

/* verify_shape.c: ops that are none, and accesses outside of the buffers or to what may not be written. */
void verify_shape(struct goal_diags *d, const struct ir_graph *g);

/* verify_data.c: the terms that suit what is asked for; NULL when out of memory. */
struct terms *verify_terms(const struct ir_graph *g, const struct expected *by_rank, bool commutative);
/* Compares what a run left with what is expected. */
int verify_data(struct goal_diags *d, const struct symbolic *s, const struct expected *by_rank, uint32_t differ[2]);

/* verify_multiple.c: whether a schedule, and what is asked of it, is another one, x, with each element so many times: then it
 * is right if x is, with the same report. Both are of one binary; wants: of each rank, or NULL. */
bool verify_multiple(const struct ir_graph *x, const struct expected *x_expects, uint64_t times, const struct ir_graph *y,
		     const struct expected *y_expects);

/* verify_barrier.c: that no rank completes before all have started. */
int verify_barrier(struct goal_diags *d, const struct ir_graph *g, const struct ir_events *ev);

/* verify_ready.c: for each message, whether its send cannot start before its recv. */
int verify_ready(const struct ir_graph *g, const struct ir_events *ev, const struct ir_match *m, size_t nm, bool *safe);
/* How many are. */
int verify_count_ready(const struct ir_graph *g, const struct ir_events *ev, const struct ir_match *m, size_t nm,
		       struct verify_report *out);

#endif
