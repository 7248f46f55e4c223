/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of the verifier. Findings are reported as diagnostics. Functions of type int return 0 or -ERR_NOMEM. */
#ifndef COMPILER_VERIFY_VERIFY_PARTS_H
#define COMPILER_VERIFY_VERIFY_PARTS_H

#include "compiler/analysis/symbolic.h"
#include "compiler/verify/verify.h"

/* verify_shape.c: Reports ops of unknown kinds, accesses outside of the buffers, and writes to buffers of mode "in". */
void verify_shape(struct goal_diags *d, const struct ir_graph *g);

/* verify_data.c: Returns an empty set of terms, dimensioned for the expected ranges, or NULL if out of memory. */
struct terms *verify_terms(const struct ir_graph *g, const struct expected *by_rank, bool commutative);
/* Compares the values that a run left in the buffers with the expected ranges. */
int verify_data(struct goal_diags *d, const struct symbolic *s, const struct expected *by_rank, uint32_t differ[2]);

/* verify_multiple.c: True if replacing each element by `times` elements in graph x and its expected ranges gives graph y and
 * its expected ranges. If x is proved, y is then right as well, with the same report. Both must come from one binary.
 * x_expects and y_expects have the expected ranges of each rank, or are NULL. */
bool verify_multiple(const struct ir_graph *x, const struct expected *x_expects, uint64_t times, const struct ir_graph *y,
		     const struct expected *y_expects);

/* verify_barrier.c: Checks that no rank can complete before all ranks have started. */
int verify_barrier(struct goal_diags *d, const struct ir_graph *g, const struct ir_events *ev);

/* verify_ready.c: Sets safe[i] to true if message i has no elements, or if its send cannot start before its recv has
 * started. */
int verify_ready(const struct ir_graph *g, const struct ir_events *ev, const struct ir_match *m, size_t nm, bool *safe);
/* Adds to *out the number of messages that are safe, and the number of messages that need a ready signal. */
int verify_count_ready(const struct ir_graph *g, const struct ir_events *ev, const struct ir_match *m, size_t nm,
		       struct verify_report *out);

#endif
