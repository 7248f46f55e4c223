/* SPDX-License-Identifier: BSD-3-Clause
 * The cases of goalc --verify. */
#include "compiler/verify_cases.h"

#include "compiler/cases.h"
#include "compiler/lower/lower.h"
#include "compiler/transform.h"
#include "compiler/verify/brackets.h"
#include "compiler/verify/verify_parts.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Message about values that an assertion rules out. */
struct excluded {
	char values[160]; /* the values, in the form in which messages begin; empty if none were ruled out */
	char text[256];
	uint32_t where; /* instruction of the assertion */
};

/* A case with elements that is proved. Cases that are multiples of it are proved with it. */
struct reference_case {
	int64_t count; /* count of the case; 0 if there is no such case */
	int64_t root; /* root of the case, or -1 */
	struct ir_graph g;
	struct expected *expected;
	struct verify_report report;
};

struct proof {
	const struct verify_asked *asked;
	struct verify_result *out;
	const char *passes;
	struct origin s;
	struct cases c;
	struct excluded first; /* first excluded values of all sizes */
	struct reference_case reference;
	struct brackets *brackets; /* those of `asked`, or its own */
	/* The fields below are for the current size. */
	struct tries tries;
	struct excluded here; /* first excluded values of a case with elements */
	bool unsuited; /* true if the last case without a graph failed because a vector of its sample has the wrong length */
	struct verify_roots roots;
	unsigned sample; /* sample of the last case that note_root() counted */
	int64_t root; /* root of the last case that note_root() counted */
	uint32_t nroots; /* number of roots with which `sample` is proved */
};

/* ---- one case ---- */

/* Steps that the searches for counts may take at a size, and steps that each case takes in addition to the steps of its
 * programs. */
#define SEARCH ((uint64_t)1 << 23)
#define CASE 500u

/* Records why a case is excluded, for messages. In a search, only charges the cost of the case to the budget. */
static void note_excluded(struct proof *p, const struct bin_args *a, int err, const struct ir_fault *fault)
{
	const uint64_t size = a->size, steps = CASE + (a->rank + 1) * fault->steps + size * (a->sample ? size : 1);
	struct excluded *e = *p->first.values ? &p->here : &p->first;
	const struct bin *b = &p->s.b;

	if (p->c.searching) {
		p->c.budget -= p->c.budget < steps ? p->c.budget : steps;
		return;
	}
	if (!p->unsuited)
		tries_note(&p->tries, p->c.root, p->c.usual, p->c.sample, false);
	if (*e->values || (e == &p->here && !a->count))
		return;
	lower_sample(e->values, sizeof e->values, b, a);
	e->where = fault->where;
	if (err == -ERR_ASSERT)
		snprintf(e->text, sizeof e->text, "%s", bin_str(b, fault->what));
	else
		snprintf(e->text, sizeof e->text, "the vector %s has the wrong length", bin_str(b, b->params[fault->what].name));
	if (e == &p->first && a->count)
		p->here = *e;
}

/* True if a fault only says that the schedule is not for these values. It is then a failed assertion of the text, a wrong
 * length of a vector that comes from a sample, or a count that is too large and comes from a search. */
static bool excludes(struct proof *p, const struct bin_args *a, int err, const struct ir_fault *fault)
{
	p->unsuited = a->sample && !p->s.claim.name && lower_wrong_length(&p->s.b, err, fault);
	return p->unsuited || err == -ERR_ASSERT ||
	       (p->c.searching && (err == -ERR_FUEL || (err == -ERR_OVERFLOW && a->count > INT32_MAX)));
}

/* Checks the graph before passes are applied. Otherwise an error of the schedule would be reported as a refusal by a pass. */
static int check_before(struct proof *p, const struct ir_graph *g)
{
	const unsigned errors = goal_diags_errors(p->s.d);
	int err = 0;

	if (!*p->passes)
		return 0;
	verify_shape(p->s.d, g);
	if (goal_diags_errors(p->s.d) == errors)
		err = checks_run(p->s.d, g, CHECK_RUN, 0);
	return err || goal_diags_errors(p->s.d) == errors ? err : -ERR_SYNTAX;
}

/* Makes the graph of the case, with passes applied. Returns -ERR_ASSERT if the schedule is not for these values. */
static int make_graph(struct proof *p, struct bin_args *a, struct ir_graph *g)
{
	struct ir_fault fault = { 0 };
	int err = origin_specialise(&p->s, a, g, &fault);

	if (err && excludes(p, a, err, &fault)) {
		note_excluded(p, a, err, &fault);
		cases_note(&p->c, p->unsuited ? CASE_UNSUITED : CASE_EXCLUDED, fault.where);
		return -ERR_ASSERT;
	}
	if (err)
		return origin_fault(&p->s, a, err, &fault);
	err = check_before(p, g);
	if (!err)
		return transform_as_bound(p->s.d, &p->s.b, p->passes, a, g);
	ir_graph_fini(g);
	return err;
}

static void drop_reference(struct proof *p)
{
	if (!p->reference.count)
		return;
	origin_free_expected(p->reference.expected, p->reference.g.nranks);
	ir_graph_fini(&p->reference.g);
	p->reference = (struct reference_case){ 0 };
}

/* Verifies a graph. Keeps the graph and the expected ranges as the reference, or frees both. */
static int prove_graph(struct proof *p, int64_t count, struct ir_graph *g, struct expected *expected,
		       struct verify_report *report)
{
	const struct reference_case *m = &p->reference;
	const uint32_t size = g->nranks;
	int err = 0;

	if (m->count && count % m->count == 0 && m->root == p->c.root &&
	    verify_multiple(&m->g, m->expected, (uint64_t)(count / m->count), g, expected)) {
		*report = m->report;
	} else {
		drop_reference(p); /* frees its memory, which is needed now */
		err = verify_graph_with(p->s.d, &p->s.b, g, expected,
					&(struct verify_options){ .brackets = p->brackets }, report);
		err = err || report->proved ? err : -ERR_SYNTAX;
		if (!err && count && !g->queues) {
			g->args.size = 0; /* the next case has other rows */
			p->reference = (struct reference_case){ count, p->c.root, *g, expected, *report };
			return 0;
		}
	}
	origin_free_expected(expected, size);
	ir_graph_fini(g);
	return err;
}

/* Keeps the report on the case with the most messages at the largest size. */
static void note_report(struct proof *p, const struct verify_report *report)
{
	struct verify_result *out = p->out;

	if (!p->c.passed || report->messages > out->report.messages ||
	    (report->messages == out->report.messages && report->ready > out->report.ready))
		out->report = *report;
	if (report->differ[0] == report->differ[1] || out->differ[2])
		return;
	out->differ[0] = report->differ[0];
	out->differ[1] = report->differ[1];
	out->differ[2] = p->c.args.size;
}

/* Counts the roots with which a sample is proved. The number that is recorded for a size is the largest of any sample. */
static void note_root(struct proof *p)
{
	const struct cases *c = &p->c;
	struct verify_roots *roots = &p->roots;

	if (c->root < 0 || (c->sample == p->sample && c->root == p->root))
		return;
	p->nroots = c->sample == p->sample ? p->nroots : 0;
	p->sample = c->sample;
	p->root = c->root;
	if (p->nroots++ < roots->n)
		return;
	if (roots->n < 3)
		roots->few[roots->n] = (uint32_t)c->root;
	roots->n++;
}

static int note_proved(struct proof *p, const struct verify_report *report)
{
	struct cases *c = &p->c;
	const uint64_t useful = c->useful;

	note_report(p, report);
	cases_note(c, CASE_PASSED, 0);
	p->out->samples |= 1u << c->sample;
	p->out->chosen |= c->args.sample != NULL;
	tries_note(&p->tries, c->root, c->searching ? COUNTS_USUAL : c->usual, c->sample, true);
	if (c->useful != useful || !c->only)
		note_root(p);
	if (c->searching)
		return ascending_add(&p->out->others, c->args.count);
	p->out->usual |= c->usual < COUNTS_USUAL ? 1u << c->usual : 0;
	return 0;
}

/* Returns the value of the parameter that -D gives as a range, or 0. Bracketings are compared between counts, so the count is not
 * such a parameter here. */
static int64_t varied_value(const struct proof *p)
{
	const struct verify_asked *asked = p->asked;

	for (size_t i = 0; i < asked->ndefines && asked->varied && strcmp(asked->varied, "count") != 0; i++)
		if (!strcmp(asked->defines[i].name, asked->varied))
			return asked->defines[i].value[0];
	return 0;
}

static void begin_brackets(struct proof *p)
{
	const struct cases *c = &p->c;
	const struct brackets_case now = { .size = c->args.size, .root = c->root, .value = varied_value(p), .count = c->args.count,
					   .sample = c->sample, .chosen = c->args.sample != NULL };

	brackets_begin_case(p->brackets, &now, p->asked->varied != NULL);
}

static int prove_case(struct proof *p)
{
	struct bin_args a = p->c.args;
	struct verify_report report = { 0 };
	struct expected *expected;
	struct ir_fault fault = { 0 };
	struct ir_graph g;
	int err;

	a.fuel = lower_fuel(a.size) / (p->c.searching ? 8 : 1);
	a.most_ops = p->asked->most_ops;
	err = make_graph(p, &a, &g);
	if (err)
		return err == -ERR_ASSERT ? 0 : err;
	err = origin_expected(&p->s, &a, &expected, &fault);
	if (err) {
		ir_graph_fini(&g);
		return origin_fault(&p->s, &a, err, &fault);
	}
	begin_brackets(p);
	err = prove_graph(p, a.count, &g, expected, &report);
	return err ? err : note_proved(p, &report);
}

/* ---- values ---- */

/* True if -D gives the parameter a value on rank 0. */
static bool is_given(const struct proof *p, const char *name)
{
	for (size_t i = 0; i < p->asked->ndefines; i++)
		if (p->asked->defines[i].rank <= 0 && !strcmp(p->asked->defines[i].name, name))
			return true;
	return false;
}

/* Adds one parameter in words: "n by rank" if ranks have their own values. */
static void add_value(struct text *t, const struct proof *p, uint32_t i)
{
	const struct arg_rows *rows = &p->c.rows;
	const struct bin_arg *v = &arg_row(rows, 0)[i];
	const char *name = bin_str(&p->s.b, p->s.b.params[i].name);

	text_add(t, "%s", t->n ? ", " : "");
	for (uint32_t r = 1; r < rows->size; r++)
		if (arg_row(rows, r)[i].known != v->known || arg_row(rows, r)[i].value != v->value ||
		    arg_row(rows, r)[i].elem != v->elem) {
			text_add(t, "%s by rank", name);
			return;
		}
	if (p->asked->varied && !strcmp(p->asked->varied, name))
		text_add(t, "%s = %c", name, VERIFY_VALUES);
	else if (!v->known && p->s.b.params[i].has_default == BIN_COMPUTED)
		text_add(t, "%s by default", name);
	else
		text_add(t, "%s = %" PRId64, name, v->known ? v->value : p->s.b.params[i].value);
	for (size_t k = 1; v->elem && k < v->n && k < 8; k++)
		text_add(t, k == 7 ? ",..." : ",%" PRId64, v->elem[k]);
}

/* Maximum number of values that are listed. If there are more, only their number is shown. */
#define LISTED_VALUES 8u

/* Describes the values that are the same in all cases. Fails if a parameter has no value. A binary for one size contains
 * its values, so that they need no description. */
static int describe_values(struct proof *p)
{
	const struct bin *b = &p->s.b;
	struct text t = { 0 };
	uint32_t n = 0;

	if (b->meta->nranks)
		return 0;
	for (uint32_t k = 0; k < 2 * b->nparams; k++) { /* values of -D first, then defaults */
		const uint32_t i = k % b->nparams;
		const char *name = bin_str(b, b->params[i].name);
		const bool known = arg_row(&p->c.rows, 0)[i].known;

		if (!known && !b->params[i].has_default && i != b->meta->root) {
			goal_diag(p->s.d, GOAL_ERROR, origin_file_loc(p->s.file), NULL,
				  "the parameter %s has no default: give it with -D", name);
			free(t.at);
			return -ERR_SYNTAX;
		}
		if ((k < b->nparams ? known && is_given(p, name) :
				      !known && i != b->meta->root && strcmp(name, "inplace") != 0) &&
		    n++ < LISTED_VALUES)
			add_value(&t, p, i);
	}
	if (n > LISTED_VALUES)
		text_add(&t, " and %" PRIu32 " other%s", n - LISTED_VALUES, n == LISTED_VALUES + 1 ? "" : "s");
	return t.n || t.err ? text_take(&t, &p->out->values) : 0;
}

/* ---- sizes ---- */

/* Reports `what`, with the values in e and the assertion that rules them out. */
static int refuse_excluded(const struct proof *p, const struct excluded *e, const char *what)
{
	goal_diag(p->s.d, GOAL_ERROR, p->s.locs ? p->s.locs[e->where] : origin_file_loc(p->s.file), NULL, "%s%s: %s", e->values,
		  what, e->text);
	return -ERR_SYNTAX;
}

/* Records a size at which all cases are proved or excluded. Cases without elements prove nothing about cases with elements. */
static int end_size(struct proof *p)
{
	const struct cases *c = &p->c;
	const uint32_t size = c->args.size;
	int64_t counts[TRIED_COUNTS];
	char what[160];
	int err;

	p->out->cases += c->passed;
	if (!c->passed)
		return p->unsuited ? VEC_PUSH(&p->out->unsuited, size) : VEC_PUSH(&p->out->ruled_out, size);
	if (!c->useful && *p->here.values && c->only) {
		snprintf(what, sizeof what,
			 "nothing is proved of %u rank%s, since no case with elements was found that assertions do not rule out",
			 size, size == 1 ? "" : "s");
		return refuse_excluded(p, &p->here, what);
	}
	for (unsigned k = 0; k < TRIED_COUNTS; k++)
		counts[k] = cases_usual_count(c, k);
	err = tries_tell(&p->tries, &p->s.b, counts, &p->out->passed);
	err = err ? err : VEC_PUSH(&p->out->roots, p->roots);
	return err ? err : VEC_PUSH(&p->out->sizes, size);
}

static int prove_size(struct proof *p)
{
	const uint32_t size = p->c.args.size;
	int err;

	if (p->asked->progress)
		p->asked->progress(p->asked->progress_arg, size);
	p->unsuited = false;
	p->here = (struct excluded){ 0 };
	p->roots = (struct verify_roots){ 0 };
	p->root = -1;
	p->nroots = 0;
	p->c.budget = SEARCH;
	err = tries_init(&p->tries, size);
	while (!err && (err = cases_next(&p->c)) > 0)
		err = prove_case(p);
	drop_reference(p);
	err = err ? err : end_size(p);
	tries_fini(&p->tries);
	return err;
}

/* Records what the cases say about bracketings. A schedule that is marked reproducible must say what it computes. */
static int end_brackets(struct proof *p)
{
	struct brackets *brackets = p->brackets;
	struct verify_brackets *out = &p->out->brackets;

	if (p->s.b.meta->flags & BIN_F_REPRODUCIBLE && !p->out->claims) {
		goal_diag(p->s.d, GOAL_ERROR, origin_file_loc(p->s.file), "reproducible",
			  "the schedule says reproducible, but not what it computes: add a result, or the collective that it implements");
		return -ERR_SYNTAX;
	}
	out->any = brackets_any(brackets);
	out->differ = brackets_differ(brackets);
	return out->differ ? brackets_text(brackets, &p->s.b, &out->text) : 0;
}

int verify_cases(struct goal_diags *d, const struct bin *b, const struct verify_asked *asked, struct verify_result *out)
{
	static const uint32_t sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33, 64, 0 };
	struct proof p = { .asked = asked, .out = out, .passes = asked->passes ? asked->passes : bin_str(b, b->meta->passes),
			   .s = { .d = d, .file = asked->file, .locs = asked->locs, .b = *b } };
	const uint32_t nranks = b->meta->nranks;
	int err;

	*out = (struct verify_result){ .cut = passes_count(p.passes), .varied = asked->varied };
	p.c = (struct cases){ .s = &p.s, .defines = asked->defines, .ndefines = asked->ndefines,
			      .order = { CASES_SAMPLE, CASES_ROOT, CASES_COUNT, CASES_OTHER }, .sizes = sizes,
			      .first = nranks ? nranks : asked->first, .last = nranks ? nranks : asked->last,
			      .counts = { COUNTS_NONE, COUNTS_ONE, COUNTS_SOME, COUNTS_UNEVEN, COUNTS_CUT, COUNTS_USUAL },
			      .only = b->meta->flags & BIN_F_PLAIN ? 1 : b->meta->count, .cut = out->cut,
			      .all_roots = 9, .all_pairs = 256, .persistent = true };
	p.brackets = asked->brackets ? asked->brackets : brackets_new(b->meta->flags & BIN_F_COMMUTATIVE);
	if (!p.brackets)
		return -ERR_NOMEM;
	err = cases_begin(&p.c);
	out->count = p.c.only;
	err = err ? err : origin_open(&p.s);
	err = err ? err : describe_values(&p);
	out->claims = p.s.claim.any || verify_is_barrier(b);
	brackets_begin_value(p.brackets);
	while (!err && cases_next_size(&p.c))
		err = prove_size(&p);
	if (!err && !out->cases)
		err = refuse_excluded(&p, &p.first, p.c.first ?
				"the schedule is for none of the values that were tried" :
				"the schedule is for none of the values that were tried (-n says for how many ranks)");
	err = err ? err : end_brackets(&p);
	cases_end(&p.c);
	origin_close(&p.s);
	if (!asked->brackets)
		brackets_free(p.brackets);
	return err;
}

void verify_result_fini(struct verify_result *r)
{
	VEC_FREE(&r->sizes);
	VEC_FREE(&r->roots);
	VEC_FREE(&r->ruled_out);
	VEC_FREE(&r->unsuited);
	VEC_FREE(&r->others.v);
	VEC_FREE(&r->passed.roots.v);
	free(r->brackets.text);
	free(r->values);
	r->brackets.text = r->values = NULL;
}
