/* SPDX-License-Identifier: BSD-3-Clause
 * Applies passes for goalc, with diagnostics, and checks the result. */
#ifndef COMPILER_TRANSFORM_H
#define COMPILER_TRANSFORM_H

#include "compiler/analysis/checks.h"
#include "compiler/collectives/collective.h"
#include "compiler/compile.h"
#include "compiler/passes/passes.h"

/* Reports that a pass cannot be applied, and the reason if the pass has given one. */
void transform_refused(struct goal_diags *d, const struct ir_graph *g, const char *pass, int err);

/* Applies a list of passes to a graph that has passed the checks, and checks the result. A pass that cannot be applied is
 * reported as an error. Returns 0 or -ERR_NOMEM. */
int transform_graph(struct goal_diags *d, const char *list, const struct pass_ctx *c, enum check_for what,
		    uint64_t checks_off, struct ir_graph *g);

/* Makes a concrete binary of o->nranks ranks from a program, and applies o->passes. If roots is set, there is a variant for
 * each root. a->count must be fixed. The lines of b are numbers of source's instructions, from 1 on. With o->prove, a
 * result that cannot be proved is an error. */
int transform_concrete(struct goal_diags *d, unsigned file, const struct bin *b, const struct bin_args *a, bool roots,
		       const struct claim *claim, const struct ir_image *source, const struct compile_options *o,
		       struct ir_image *out);

#endif
