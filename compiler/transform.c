/* SPDX-License-Identifier: BSD-3-Clause
 * Applying passes in goalc. */
#include "compiler/transform.h"

#include "compiler/lower/lower.h"
#include "compiler/verify/verify.h"
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
		check_found(d, g, NULL, GOAL_ERROR, why->rank, why->op, "the pass %s cannot be applied: %s%s%s", pass, why->text,
			    why->other ? ": " : "", why->other ? check_op_text(g, why->rank, why->other - 1).s : "");
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

#define PROVE_MOST (UINT64_C(1) << 26) /* entries that the verifier may look at, a second or so, for all roots */

/* Of the graphs that one binary has, one for each root. */
struct share {
	uint32_t graphs;
	bool partly; /* the verifier would have had to look at more */
};

/* What the verifier says of one of them. */
static int prove(struct goal_diags *d, const struct bin *b, const struct bin_args *a, const struct claim *claim,
		 struct share *share, const struct ir_graph *g)
{
	struct expected *expected = claim->any ? mem_calloc(a->size, sizeof *expected) : NULL;
	struct verify_report report;
	struct ir_fault fault;
	uint32_t rank;
	int err = claim->any && !expected ? -ERR_NOMEM : 0;

	if (!err && expected)
		err = claim_all_expected(claim, a, expected, &rank, &fault);
	if (!err) {
		err = verify_graph_within(d, b, g, expected, PROVE_MOST / share->graphs, &report);
		share->partly |= report.partly;
		for (uint32_t r = 0; r < a->size && expected; r++)
			expected_fini(&expected[r]);
	}
	free(expected);
	return err == -ERR_NOMEM ? err : 0; /* a claim that makes no sense is told where it is lowered */
}

/* One root's graph, transformed, to the next sections. */
static int one_root(struct goal_diags *d, const struct bin *b, struct bin_args *a, const struct claim *claim,
		    const struct ir_image *source, const struct compile_options *o, struct share *share, unsigned file,
		    struct ir_image *out)
{
	const bool proves = o->prove && !o->checks_off;
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
	err = err ? err : transform_graph(d, o->passes, &c, CHECK_PARAMETRIC, proves ? UINT64_MAX : o->checks_off, &g);
	if (!err && proves && goal_diags_errors(d) == errors)
		err = prove(d, b, a, claim, share, &g);
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
		       const struct claim *claim, const struct ir_image *source, const struct compile_options *o,
		       struct ir_image *out)
{
	struct share share = { .graphs = roots ? args->size : 1 };
	struct bin_args a = *args;
	struct arg_rows rows;
	int err = arg_rows_init(&rows, b, args->size);

	err = err ? err : lower_concrete_begin(b, args, roots, out);
	if (!err)
		arg_rows_copy(&rows, args);
	a.args = err ? NULL : rows.by_rank[0];
	a.by_rank = rows.by_rank;
	for (uint32_t root = 0; root < share.graphs && !err && !goal_diags_errors(d); root++) {
		if (roots)
			arg_rows_set(&rows, b->meta->root, (struct bin_arg){ .known = true, .value = root });
		err = one_root(d, b, &a, claim, source, o, &share, file, out);
	}
	arg_rows_fini(&rows);
	if (!err && share.partly && !goal_diags_errors(d))
		goal_diag(d, GOAL_WARNING, (struct goal_loc){ .file = (uint16_t)file }, NULL,
			  "the queues are proved in part, as all of it would take long: goalc --verify proves the rest");
	if (!err && goal_diags_errors(d))
		err = -ERR_SYNTAX;
	return err && err != -ERR_NOMEM ? -ERR_SYNTAX : err;
}
