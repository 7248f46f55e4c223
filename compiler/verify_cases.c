/* SPDX-License-Identifier: BSD-3-Clause
 * The cases of goalc --verify. */
#include "compiler/verify_cases.h"

#include "compiler/collective.h"
#include "compiler/lower.h"
#include "compiler/smcq.h"
#include "compiler/transform.h"
#include "compiler/verify_parts.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

struct cases {
	struct goal_diags *d;
	const struct verify_asked *asked;
	struct bin b; /* its lines are numbers of instructions where there are locs */
	struct claim claim;
	struct bin_args args; /* of the case at hand */
	uint64_t proved; /* of the size at hand */
	char excluded[160]; /* the first values that an assertion rules out, as messages begin */
	struct ir_fault fault; /* by which */
	struct verify_result *out;
};

static struct goal_loc nowhere(const struct cases *c)
{
	return (struct goal_loc){ .file = (uint16_t)c->asked->file };
}

static const char *passes_of(const struct cases *c)
{
	return c->asked->passes ? c->asked->passes : bin_str(&c->b, c->b.meta->passes);
}

/* What passes are applied to is right: else they would be refused for what comes of it. */
static int check_before(struct cases *c, const struct ir_graph *g)
{
	const unsigned errors = goal_diags_errors(c->d);
	int err = 0;

	if (!*passes_of(c))
		return 0;
	verify_shape(c->d, g);
	if (goal_diags_errors(c->d) == errors)
		err = checks_run(c->d, g, CHECK_RUN, 0);
	return err || goal_diags_errors(c->d) == errors ? err : -ERR_SYNTAX;
}

/* Specialises, and applies the passes: 0, or -ERR_ASSERT when the schedule is not for these values. */
static int make_graph(struct cases *c, struct bin_args *a, struct ir_graph *g)
{
	const struct pass_ctx ctx = passes_ctx(&c->b, a);
	struct ir_fault fault = { 0 };
	const char *failed = NULL; /* until passes run */
	int err = ir_graph_specialise(&c->b, a, g, &a->rank, &fault);

	if (err == -ERR_ASSERT && !*c->excluded) {
		lower_sample(c->excluded, sizeof c->excluded, &c->b, a);
		c->fault = fault;
	}
	if (err == -ERR_NOMEM || err == -ERR_ASSERT)
		return err;
	if (err) {
		lower_fault(c->d, c->asked->file, &c->b, c->asked->locs, a, err, &fault);
		return -ERR_SYNTAX;
	}
	g->file = c->asked->file;
	lower_sample(g->sample, sizeof g->sample, &c->b, a);
	for (uint32_t i = 0; c->asked->locs && i < c->b.ncode && !err; i++)
		err = VEC_PUSH(&g->locs, c->asked->locs[i]);
	err = err ? err : check_before(c, g);
	err = err ? err : passes_run_graph(passes_of(c), g, &ctx, &failed);
	err = err ? err : smcq_from_binary(&c->b, a->args, g);
	if (!err)
		return 0;
	if (err != -ERR_NOMEM && failed)
		transform_refused(c->d, g, failed, err);
	ir_graph_fini(g);
	return err == -ERR_NOMEM ? err : -ERR_SYNTAX;
}

/* What the ranks shall hold; NULL where nothing is claimed. */
static int make_wants(struct cases *c, struct bin_args *a, struct wants **out)
{
	struct ir_fault fault = { 0 };
	int err;

	*out = NULL;
	if (!c->claim.any)
		return 0;
	*out = mem_calloc(a->size, sizeof **out);
	err = *out ? claim_all_wants(&c->claim, a, *out, &a->rank, &fault) : -ERR_NOMEM;
	if (!err || err == -ERR_NOMEM)
		return err;
	lower_fault(c->d, c->asked->file, &c->b, c->asked->locs, a, err, &fault);
	return -ERR_SYNTAX;
}

static void drop_wants(struct wants *w, uint32_t n)
{
	for (uint32_t i = 0; w && i < n; i++)
		wants_fini(&w[i]);
	free(w);
}

static int one_case(struct cases *c)
{
	struct bin_args a = c->args;
	struct verify_report report = { 0 };
	struct wants *wants = NULL;
	struct ir_graph g;
	int err;

	a.fuel = lower_fuel(a.size);
	err = make_graph(c, &a, &g);
	if (err)
		return err == -ERR_ASSERT ? 0 : err;
	err = make_wants(c, &a, &wants);
	err = err ? err : verify_graph(c->d, &c->b, &g, wants, &report);
	if (!err && !report.proved)
		err = -ERR_SYNTAX;
	if (!err) {
		if (!c->proved++ || report.messages > c->out->report.messages ||
		    (report.messages == c->out->report.messages && report.ready > c->out->report.ready))
			c->out->report = report;
		if (report.differ[0] != report.differ[1] && !c->out->differ[2]) {
			c->out->differ[0] = report.differ[0];
			c->out->differ[1] = report.differ[1];
			c->out->differ[2] = a.size;
		}
	}
	drop_wants(wants, a.size);
	ir_graph_fini(&g);
	return err;
}

/* Roots up to this many ranks; of more, the first, the middle and the last. */
#define ALL_ROOTS 9u

static int each_root(struct cases *c, struct arg_rows *rows)
{
	const uint32_t root = c->b.meta->root, size = c->args.size, n = size <= ALL_ROOTS ? size : 3;
	int err = 0;

	c->args.args = rows->by_rank[0];
	c->args.by_rank = rows->by_rank;
	if (root == BIN_NONE || arg_row(rows, 0)[root].known || (c->b.meta->nranks && !(c->b.meta->flags & BIN_F_ROOTS)))
		return one_case(c);
	for (uint32_t i = 0; i < n && !err; i++) {
		int64_t r = size <= ALL_ROOTS ? i : (int64_t)(size - 1) * i / 2;

		arg_rows_set(rows, root, (struct bin_arg){ .known = true, .value = r });
		err = one_case(c);
	}
	return err;
}

static unsigned known(const struct cases *c, const struct arg_rows *rows)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < c->b.nparams; i++)
		n += arg_row(rows, 0)[i].known;
	return n;
}

/* With a parameter that has no value nothing can be said. */
static int check_values(struct cases *c, const struct arg_rows *rows)
{
	for (uint32_t i = 0; i < c->b.nparams && !c->b.meta->nranks; i++)
		if (!arg_row(rows, 0)[i].known && !c->b.params[i].has_default && i != c->b.meta->root) {
			goal_diag(c->d, GOAL_ERROR, nowhere(c), NULL, "the parameter %s has no default: give it with -D",
				  bin_str(&c->b, c->b.params[i].name));
			return -ERR_SYNTAX;
		}
	return 0;
}

/* What -D gives, and a sample of what is left. */
static int one_sample(struct cases *c, unsigned which)
{
	struct arg_rows rows;
	int64_t count;
	unsigned given;
	int err = arg_rows_init(&rows, &c->b, c->args.size);

	if (err)
		return err;
	err = arg_rows_define(&rows, c->d, c->asked->file, &c->b, c->asked->defines, c->asked->ndefines, &count);
	given = known(c, &rows);
	if (!err && !c->b.meta->nranks) /* whose parameters are fixed */
		err = collective_sample(&c->b, c->args.count, which, &rows);
	c->args.sample = known(c, &rows) > given ? rows.name : NULL;
	err = err ? err : check_values(c, &rows);
	if (!err && (!which || c->args.sample)) /* all samples of nothing are the same */
		err = each_root(c, &rows);
	c->args = (struct bin_args){ .size = c->args.size, .count = c->args.count };
	arg_rows_fini(&rows);
	return err;
}

static int each_sample(struct cases *c, int64_t count)
{
	unsigned n = c->b.meta->nranks ? 1 : collective_samples(&c->b);
	int err = 0;

	c->args.count = count;
	for (unsigned i = 0; i < n && !err; i++)
		err = one_sample(c, i);
	return err;
}

/* The only count, or -1. */
static int64_t only_count(const struct cases *c)
{
	int64_t count = c->b.meta->flags & BIN_F_PLAIN ? 1 : c->b.meta->count;

	for (size_t i = 0; i < c->asked->ndefines; i++) /* they have been checked */
		if (!strcmp(c->asked->defines[i].name, "count"))
			count = c->asked->defines[i].value[0];
	return count;
}

/* No element, one, some, and more than ranks but no multiple of them; and beyond what passes cut off. */
static int each_count(struct cases *c)
{
	const int64_t counts[] = { 0, 1, 7, 2 * (int64_t)c->args.size + 1, passes_count(passes_of(c)) };
	int64_t only = only_count(c);
	int err = 0;

	if (only >= 0)
		return each_sample(c, only);
	for (size_t i = 0; i < sizeof counts / sizeof *counts && !err; i++) {
		bool again = i == 4 && !counts[i];

		for (size_t k = 0; k < i; k++)
			again |= counts[k] == counts[i];
		if (!again)
			err = each_sample(c, counts[i]);
	}
	return err;
}

static int one_size(struct cases *c, uint32_t size)
{
	int err;

	if (c->asked->progress)
		c->asked->progress(size);
	c->proved = 0;
	c->args = (struct bin_args){ .size = size };
	err = each_count(c);
	if (!err && c->proved)
		err = VEC_PUSH(&c->out->sizes, size);
	else if (!err)
		err = VEC_PUSH(&c->out->ruled_out, size);
	c->out->cases += c->proved;
	return err;
}

static int each_size(struct cases *c)
{
	static const uint32_t sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33, 64 };
	int err = 0;

	if (c->b.meta->nranks)
		return one_size(c, c->b.meta->nranks);
	if (!c->asked->first) {
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !err; i++)
			err = one_size(c, sizes[i]);
		return err;
	}
	for (uint32_t n = c->asked->first; n <= c->asked->last && !err; n++)
		err = one_size(c, n);
	return err;
}

/* -D is wrong for any size, or for none. */
static int check_defines(struct cases *c)
{
	struct arg_rows rows;
	int64_t count;
	int err = arg_rows_init(&rows, &c->b, c->asked->first ? c->asked->first : 1);

	err = err ? err : arg_rows_define(&rows, c->d, c->asked->file, &c->b, c->asked->defines, c->asked->ndefines, &count);
	arg_rows_fini(&rows);
	return err;
}

int verify_cases(struct goal_diags *d, const struct bin *b, const struct verify_asked *asked,
		 struct verify_result *out)
{
	struct cases c = { .d = d, .asked = asked, .b = *b, .out = out };
	struct ir_fault fault = { 0 };
	uint32_t *numbers = NULL;
	int err = 0;

	*out = (struct verify_result){ 0 };
	numbers = mem_alloc((size_t)b->ncode * sizeof *numbers);
	err = numbers ? check_defines(&c) : -ERR_NOMEM;
	err = err ? err : claim_open(&c.claim, b, &fault);
	if (err == -ERR_CLAIM)
		goal_diag(d, GOAL_ERROR, nowhere(&c), NULL, "%s", fault.text);
	for (uint32_t i = 0; !err && asked->locs && i < b->ncode; i++)
		numbers[i] = i + 1;
	if (asked->locs)
		c.b.lines = numbers;
	out->claims = c.claim.any || verify_is_barrier(b);
	err = err ? err : each_size(&c);
	if (!err && !out->cases) {
		goal_diag(d, GOAL_ERROR, asked->locs ? asked->locs[c.fault.where] : nowhere(&c), NULL,
			  "%sthe schedule is for none of these values: %s", c.excluded, bin_str(b, c.fault.what));
		err = -ERR_SYNTAX;
	}
	claim_close(&c.claim);
	free(numbers);
	return err == -ERR_CLAIM ? -ERR_SYNTAX : err;
}

void verify_result_fini(struct verify_result *r)
{
	VEC_FREE(&r->sizes);
	VEC_FREE(&r->ruled_out);
}
