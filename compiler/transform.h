/* SPDX-License-Identifier: BSD-3-Clause
 * Passes as goalc applies them: with diagnostics, and checks on what comes out. */
#ifndef COMPILER_TRANSFORM_H
#define COMPILER_TRANSFORM_H

#include "compiler/analysis/checks.h"
#include "compiler/collectives/collective.h"
#include "compiler/compile.h"
#include "compiler/passes/passes.h"

/* Says that a pass cannot be applied, and where it has told, why. */
void transform_refused(struct goal_diags *d, const struct ir_graph *g, const char *pass, int err);

/* Applies a list of passes to a graph that the checks have found right, and checks the result: what a pass cannot be
 * applied to is an error. 0 or -ERR_NOMEM. */
int transform_graph(struct goal_diags *d, const char *list, const struct pass_ctx *c, enum check_for what,
		    uint64_t checks_off, struct ir_graph *g);

/* A program to a concrete binary of o->nranks ranks to which o->passes have been applied, with a variant for each
 * root if roots is set. a->count is fixed. The lines of b are numbers of source's instructions, from 1 on. With o->prove
 * what the verifier refuses is an error. */
int transform_concrete(struct goal_diags *d, unsigned file, const struct bin *b, const struct bin_args *a, bool roots,
		       const struct claim *claim, const struct ir_image *source, const struct compile_options *o,
		       struct ir_image *out);

#endif
