/* SPDX-License-Identifier: BSD-3-Clause
 * The cases of goalc --verify. */
#include "compiler/verify_cases.h"

#include "compiler/collective.h"
#include "compiler/lower.h"
#include "compiler/transform.h"
#include "util/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cases {
	struct goal_diags *d;
	const struct verify_asked *asked;
	struct bin b; /* its lines are numbers of instructions where there are locs */
	struct claim claim;
	struct bin_arg *args;
	bool vary_root;
	uint32_t inplace; /* the parameter of that name, if it is to be tried, or BIN_NONE */
	uint64_t proved; /* of the size at hand */
	struct bin_args excluded; /* the first values that an assertion rules out */
	struct ir_fault fault; /* by which */
	struct verify_result *out;
};

/* Specialises, and applies the passes: 0, or -ERR_ASSERT when the schedule is not for these values. */
static int make_graph(struct cases *c, struct bin_args *a, struct ir_graph *g)
{
	const struct pass_ctx ctx = transform_ctx(&c->b, a->size);
	const char *list = c->asked->passes ? c->asked->passes : bin_str(&c->b, c->b.meta->passes), *failed;
	struct ir_fault fault = { 0 };
	int err = ir_graph_specialise(&c->b, a, g, &a->rank, &fault);

	if (err == -ERR_ASSERT && !c->excluded.size) {
		c->excluded = *a;
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
	if (c->inplace != BIN_NONE && c->args[c->inplace].known)
		snprintf(strchr(g->sample, ':'), sizeof ", in place: ", ", in place: ");
	for (uint32_t i = 0; c->asked->locs && i < c->b.ncode && !err; i++)
		err = VEC_PUSH(&g->locs, c->asked->locs[i]);
	err = err ? err : passes_run_graph(list, g, &ctx, &failed);
	if (!err)
		return 0;
	if (err != -ERR_NOMEM)
		goal_diag(c->d, GOAL_ERROR, (struct goal_loc){ .file = (uint16_t)g->file }, NULL,
			  "%sthe pass %s cannot be applied: %s", g->sample, failed, err_text(err));
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

static int one_graph(struct cases *c, uint32_t size, int64_t count)
{
	struct bin_args a = { .size = size, .args = c->args, .count = count, .fuel = lower_fuel(size) };
	struct verify_report report = { 0 };
	struct wants *wants = NULL;
	struct ir_graph g;
	int err = make_graph(c, &a, &g);

	if (err)
		return err == -ERR_ASSERT ? 0 : err;
	err = make_wants(c, &a, &wants);
	err = err ? err : verify_graph(c->d, &c->b, &g, wants, &report);
	if (!err && !report.proved)
		err = -ERR_SYNTAX;
	if (!err) {
		c->proved++;
		c->out->report = report;
		if (report.differ[0] != report.differ[1] && !c->out->differ[2]) {
			c->out->differ[0] = report.differ[0];
			c->out->differ[1] = report.differ[1];
			c->out->differ[2] = size;
		}
	}
	drop_wants(wants, size);
	ir_graph_fini(&g);
	return err;
}

/* Also with the buffer in place, where the schedule has one that may be. */
static int one_case(struct cases *c, uint32_t size, int64_t count)
{
	int err = one_graph(c, size, count);

	if (err || c->inplace == BIN_NONE)
		return err;
	c->args[c->inplace] = (struct bin_arg){ .known = true, .value = 1 };
	err = one_graph(c, size, count);
	c->args[c->inplace].known = false;
	return err;
}

/* No element, one, some, and more than ranks but no multiple of them; and beyond what passes cut off. */
static int each_count(struct cases *c, uint32_t size)
{
	const char *list = c->asked->passes ? c->asked->passes : bin_str(&c->b, c->b.meta->passes);
	const int64_t counts[] = { 0, 1, 7, 2 * (int64_t)size + 1, passes_count(list) };
	int64_t only = c->asked->count >= 0 ? c->asked->count : c->b.meta->count;
	int err = 0;

	if (only >= 0 || c->b.meta->flags & BIN_F_PLAIN)
		return one_case(c, size, only >= 0 ? only : 1);
	for (size_t i = 0; i < sizeof counts / sizeof *counts && !err; i++) {
		bool again = i == 4 && !counts[i];

		for (size_t k = 0; k < i; k++)
			again |= counts[k] == counts[i];
		if (!again)
			err = one_case(c, size, counts[i]);
	}
	return err;
}

/* Roots up to this many ranks; of more, the first, the middle and the last. */
#define ALL_ROOTS 9u

static int each_root(struct cases *c, uint32_t size)
{
	uint32_t n = size <= ALL_ROOTS ? size : 3;
	int err = 0;

	if (!c->vary_root)
		return each_count(c, size);
	for (uint32_t i = 0; i < n && !err; i++) {
		int64_t root = size <= ALL_ROOTS ? i : (int64_t)(size - 1) * i / 2;

		c->args[c->b.meta->root] = (struct bin_arg){ .known = true, .value = root };
		err = each_count(c, size);
	}
	return err;
}

static int one_size(struct cases *c, uint32_t size)
{
	int err;

	if (c->asked->progress)
		c->asked->progress(size);
	c->proved = 0;
	err = each_root(c, size);
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

/* Parameters without a value: nothing can be said. */
static int check_args(struct cases *c)
{
	for (uint32_t i = 0; i < c->b.nparams; i++)
		if (!c->args[i].known && !c->b.params[i].has_default && i != c->b.meta->root) {
			goal_diag(c->d, GOAL_ERROR, (struct goal_loc){ .file = (uint16_t)c->asked->file }, NULL,
				  "the parameter %s has no default: give it with -D", bin_str(&c->b, c->b.params[i].name));
			return -ERR_SYNTAX;
		}
	return 0;
}

static uint32_t find_inplace(const struct bin *b, const struct bin_arg *args)
{
	if (b->meta->nranks)
		return BIN_NONE; /* its parameters are fixed */
	for (uint32_t i = 0; i < b->nparams; i++)
		if (!strcmp(bin_str(b, b->params[i].name), "inplace") && !args[i].known)
			return i;
	return BIN_NONE;
}

int verify_cases(struct goal_diags *d, const struct bin *b, const struct verify_asked *asked,
		 struct verify_result *out)
{
	struct cases c = { .d = d, .asked = asked, .b = *b, .out = out };
	struct ir_fault fault = { 0 };
	uint32_t *numbers = NULL;
	int err = 0;

	*out = (struct verify_result){ 0 };
	c.args = mem_calloc(b->nparams, sizeof *c.args);
	numbers = mem_alloc((size_t)b->ncode * sizeof *numbers);
	err = c.args && numbers ? claim_open(&c.claim, b, &fault) : -ERR_NOMEM;
	if (err == -ERR_CLAIM)
		goal_diag(d, GOAL_ERROR, (struct goal_loc){ .file = (uint16_t)asked->file }, NULL, "%s", fault.text);
	for (uint32_t i = 0; !err && i < b->nparams; i++)
		c.args[i] = asked->args[i];
	for (uint32_t i = 0; !err && asked->locs && i < b->ncode; i++)
		numbers[i] = i + 1;
	if (asked->locs)
		c.b.lines = numbers;
	c.inplace = c.args ? find_inplace(b, c.args) : BIN_NONE;
	c.vary_root = b->meta->root != BIN_NONE && c.args && !c.args[b->meta->root].known &&
		      (b->meta->flags & BIN_F_ROOTS || !b->meta->nranks);
	out->claims = c.claim.any || verify_is_barrier(b);
	err = err ? err : check_args(&c);
	err = err ? err : each_size(&c);
	if (!err && !out->cases) {
		lower_fault(d, asked->file, &c.b, asked->locs, &c.excluded, -ERR_ASSERT, &c.fault);
		err = -ERR_SYNTAX;
	}
	claim_close(&c.claim);
	free(c.args);
	free(numbers);
	return err == -ERR_CLAIM ? -ERR_SYNTAX : err;
}

void verify_result_fini(struct verify_result *r)
{
	VEC_FREE(&r->sizes);
	VEC_FREE(&r->ruled_out);
}
