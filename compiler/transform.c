/* SPDX-License-Identifier: BSD-3-Clause
 * Applies passes in goalc. */
#include "compiler/transform.h"

#include "compiler/ir/smcq.h"
#include "compiler/lower/lower.h"
#include "compiler/verify/verify.h"
#include "util/err.h"

#include <stdio.h>
#include <string.h>

static void report_refused(struct goal_diags *d, const struct ir_graph *g, const char *pass, int err)
{
	const struct ir_refusal *why = &g->refused;

	if (*why->text && why->op != BIN_NONE)
		check_found(d, g, NULL, GOAL_ERROR, why->rank, why->op, "the pass %s cannot be applied: %s%s%s", pass, why->text,
			    why->other ? ": " : "", why->other ? check_op_text(g, why->rank, why->other - 1).s : "");
	else
		goal_diag(d, GOAL_ERROR, origin_file_loc(g->file), NULL, "%sthe pass %s cannot be applied: %s", g->sample, pass,
			  *why->text ? why->text : err == -ERR_PASS && g->plain ? "GOAL is plain" : err_text(err));
}

/* Makes messages about a graph say which passes have changed it. */
static void note_passes(struct ir_graph *g, const char *list)
{
	const size_t len = strlen(g->sample);

	if (*list)
		snprintf(g->sample + len, sizeof g->sample - len, "after %.*s: ", (int)(sizeof g->sample - len - 9), list);
}

int transform_graph(struct goal_diags *d, const char *list, const struct pass_ctx *c, enum check_for what,
		    uint64_t checks_off, struct ir_graph *g)
{
	const char *failed;
	int err = passes_run_graph(list, g, c, &failed);

	if (err && err != -ERR_NOMEM) {
		report_refused(d, g, failed, err);
		return 0;
	}
	if (err)
		return err;
	note_passes(g, list);
	return checks_run(d, g, what, checks_off);
}

int transform_as_bound(struct goal_diags *d, const struct bin *b, const char *list, const struct bin_args *a,
		       struct ir_graph *g)
{
	const struct pass_ctx c = passes_ctx(b, a);
	const char *failed;
	int err = passes_run_graph(list, g, &c, &failed);

	err = err ? err : smcq_from_binary(b, a->args, g);
	if (!err) {
		note_passes(g, list);
		return 0;
	}
	if (err != -ERR_NOMEM)
		report_refused(d, g, failed, err);
	ir_graph_fini(g);
	return err == -ERR_NOMEM ? err : -ERR_SYNTAX;
}

/* Entries that the verifier may visit for all roots together: about a second. */
#define PROVE_MOST (UINT64_C(1) << 26)

/* The graphs of one binary, one for each root. */
struct variants {
	uint32_t n;
	bool partly; /* true if the limit of visited entries was too low to verify some of the graphs completely */
};

/* Verifies the graph of one root. */
static int prove_variant(const struct origin *s, struct bin_args *a, struct variants *v, const struct ir_graph *g)
{
	struct expected *expected;
	struct verify_report report = { 0 };
	struct ir_fault fault;
	int err = origin_expected(s, a, &expected, &fault);

	if (!err)
		err = verify_graph_with(s->d, &s->b, g, expected, &(struct verify_options){ .most = PROVE_MOST / v->n }, &report);
	v->partly |= report.partly;
	origin_free_expected(expected, a->size);
	return err == -ERR_NOMEM ? err : 0; /* lower_concrete_result() reports a claim that cannot be computed */
}

/* Makes one root's graph, transforms it, and appends it to the sections of out. */
static int transform_variant(const struct origin *s, struct bin_args *a, const struct compile_options *o, struct variants *v,
			     struct ir_image *out)
{
	const bool proves = o->prove && !o->checks_off;
	const struct pass_ctx c = passes_ctx(&s->b, a);
	const unsigned errors = goal_diags_errors(s->d);
	struct ir_fault fault = { 0 };
	struct ir_graph g;
	int err = origin_specialise(s, a, &g, &fault);

	if (err)
		return origin_fault(s, a, err, &fault);
	err = transform_graph(s->d, o->passes, &c, CHECK_PARAMETRIC, proves ? UINT64_MAX : o->checks_off, &g);
	if (!err && proves && goal_diags_errors(s->d) == errors)
		err = prove_variant(s, a, v, &g);
	if (!err && goal_diags_errors(s->d) == errors) {
		err = lower_graph(&g, o->debug, out);
		if (err == -ERR_SIZE)
			goal_diag(s->d, GOAL_ERROR, origin_file_loc(s->file), NULL,
				  "%sthe passes need other buffers than for root 0: fix the root with -D root=R", g.sample);
	}
	ir_graph_fini(&g);
	return err;
}

int transform_concrete(const struct origin *s, const struct bin_args *args, bool roots, const struct compile_options *o,
		       struct ir_image *out)
{
	struct variants v = { .n = roots ? args->size : 1 };
	struct bin_args a = *args;
	struct arg_rows rows;
	int err = arg_rows_init(&rows, &s->b, args->size);

	err = err ? err : lower_concrete_begin(&s->b, args, roots, out);
	err = err ? err : arg_rows_copy(&rows, args);
	a.args = err ? NULL : rows.by_rank[0];
	a.by_rank = rows.by_rank;
	for (uint32_t root = 0; root < v.n && !err && !goal_diags_errors(s->d); root++) {
		if (roots)
			arg_rows_set(&rows, s->b.meta->root, (struct bin_arg){ .known = true, .value = root });
		err = transform_variant(s, &a, o, &v, out);
	}
	arg_rows_fini(&rows);
	if (!err && v.partly && !goal_diags_errors(s->d))
		goal_diag(s->d, GOAL_WARNING, origin_file_loc(s->file), NULL,
			  "the queues are proved in part, as all of it would take long: goalc --verify proves the rest");
	return err == -ERR_NOMEM ? err : err || goal_diags_errors(s->d) ? -ERR_SYNTAX : 0;
}
