/* SPDX-License-Identifier: BSD-3-Clause
 * Applies passes for goalc, with diagnostics, and checks the result. */
#ifndef COMPILER_TRANSFORM_H
#define COMPILER_TRANSFORM_H

#include "compiler/analysis/checks.h"
#include "compiler/compile.h"
#include "compiler/passes/passes.h"
#include "compiler/origin.h"

/* Applies a list of passes to a graph in which the checks have found no error, and checks the result. A pass that cannot
 * be applied is reported as an error, with the reason if the pass gives one. Returns 0 or -ERR_NOMEM. */
int transform_graph(struct goal_diags *d, const char *list, const struct pass_ctx *c, enum check_for what,
		    uint64_t checks_off, struct ir_graph *g);

/* Turns a graph of binary b into the graph that ranks execute after they bind b: applies a list of passes, and takes over the
 * command queues of the binary. On error, reports it, frees the graph, and returns -ERR_SYNTAX or -ERR_NOMEM. */
int transform_as_bound(struct goal_diags *d, const struct bin *b, const char *list, const struct bin_args *a,
		       struct ir_graph *g);

/* Makes a concrete binary for a->size ranks and the count a->count, with a variant for each root if `roots` is set, and applies
 * o->passes. If o->prove is set, the variants are verified, and findings are errors. Returns -ERR_SYNTAX after errors, or
 * -ERR_NOMEM. */
int transform_concrete(const struct origin *s, const struct bin_args *a, bool roots, const struct compile_options *o,
		       struct ir_image *out);

#endif
