/* SPDX-License-Identifier: BSD-3-Clause
 * Applying passes in goalc. */
#include "compiler/transform.h"

#include "compiler/lower.h"
#include "util/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void transform_refused(struct goal_diags *d, const struct ir_graph *g, const char *pass, int err)
{
	const struct ir_refusal *why = &g->refused;

	if (!*why->text)
		goal_diag(d, GOAL_ERROR, (struct goal_loc){ .file = (uint16_t)g->file }, NULL,
			  "%sthe pass %s cannot be applied: %s", g->sample, pass, err_text(err));
	else if (why->op == BIN_NONE)
		goal_diag(d, GOAL_ERROR, (struct goal_loc){ .file = (uint16_t)g->file }, NULL,
			  "%sthe pass %s cannot be applied: %s", g->sample, pass, why->text);
	else
		check_found(d, g, NULL, GOAL_ERROR, why->rank, why->op, "the pass %s cannot be applied: %s", pass, why->text);
}

int transform_graph(struct goal_diags *d, const char *list, const struct pass_ctx *c, enum check_for what,
		    uint64_t checks_off, struct ir_graph *g)
{
	const char *failed;
	size_t len = strlen(g->sample);
	int err = passes_run_graph(list, g, c, &failed);

	if (err && err != -ERR_NOMEM) {
		transform_refused(d, g, failed, err);
		return 0;
	}
	if (err)
		return err;
	snprintf(g->sample + len, sizeof g->sample - len, "after %.*s: ", (int)(sizeof g->sample - len - 9), list);
	return checks_run(d, g, what, checks_off);
}

/* One root's graph, transformed, to the next sections. */
static int one_root(struct goal_diags *d, const struct bin *b, struct bin_args *a, const struct ir_image *source,
		    const struct compile_options *o, unsigned file, struct ir_image *out)
{
	const struct pass_ctx c = passes_ctx(b, a);
	struct ir_fault fault = { 0 };
	struct ir_graph g;
	unsigned errors = goal_diags_errors(d);
	int err = ir_graph_specialise(b, a, &g, &a->rank, &fault);

	if (err && err != -ERR_NOMEM)
		lower_fault(d, file, b, source->locs.at, a, err, &fault);
	if (err)
		return err;
	g.file = file;
	lower_sample(g.sample, sizeof g.sample, b, a);
	for (size_t i = 0; i < source->locs.n && !err; i++)
		err = VEC_PUSH(&g.locs, source->locs.at[i]);
	err = err ? err : transform_graph(d, o->passes, &c, CHECK_PARAMETRIC, o->checks_off, &g);
	if (!err && goal_diags_errors(d) == errors) {
		err = lower_graph(&g, o->debug, out);
		if (err == -ERR_SIZE)
			goal_diag(d, GOAL_ERROR, (struct goal_loc){ .file = (uint16_t)file }, NULL,
				  "%sthe passes need other buffers than for root 0: fix the root with -D root=R",
				  g.sample);
	}
	ir_graph_fini(&g);
	return err;
}

int transform_concrete(struct goal_diags *d, unsigned file, const struct bin *b, const struct bin_args *args, bool roots,
		       const struct ir_image *source, const struct compile_options *o, struct ir_image *out)
{
	struct bin_args a = *args;
	struct arg_rows rows;
	int err = arg_rows_init(&rows, b, args->size);

	err = err ? err : lower_concrete_begin(b, args, roots, out);
	if (!err)
		arg_rows_copy(&rows, args);
	a.args = err ? NULL : rows.by_rank[0];
	a.by_rank = rows.by_rank;
	for (uint32_t root = 0; root < (roots ? a.size : 1) && !err && !goal_diags_errors(d); root++) {
		if (roots)
			arg_rows_set(&rows, b->meta->root, (struct bin_arg){ .known = true, .value = root });
		err = one_root(d, b, &a, source, o, file, out);
	}
	arg_rows_fini(&rows);
	if (!err && goal_diags_errors(d))
		err = -ERR_SYNTAX;
	return err && err != -ERR_NOMEM ? -ERR_SYNTAX : err;
}
