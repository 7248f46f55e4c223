/* SPDX-License-Identifier: BSD-3-Clause
 * The cases of goalc --verify. */
#include "compiler/verify_cases.h"

#include "compiler/collectives/collective.h"
#include "compiler/ir/smcq.h"
#include "compiler/lower/lower.h"
#include "compiler/transform.h"
#include "compiler/verify/counts.h"
#include "compiler/verify/verify_parts.h"
#include "util/err.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a case ended that is not wrong. */
enum outcome { PROVED, EXCLUDED };

/* Values that an assertion rules out. */
struct excluded {
	char values[160]; /* as messages begin; "": there are none */
	char text[256];
	uint32_t where; /* the instruction */
};

/* A case that is proved, with elements: others may be multiples of it. */
struct model_case {
	int64_t count; /* 0: there is none */
	struct ir_graph g;
	struct expected *expected;
	struct verify_report report;
};

struct cases {
	struct goal_diags *d;
	const struct verify_asked *asked;
	struct bin b; /* its lines are numbers of instructions where there are locs */
	struct claim claim;
	struct bin_args args; /* of the case at hand */
	struct verify_result *out;
	struct excluded first;
	struct model_case model;
	/* of the size at hand */
	uint64_t proved, useful; /* cases; and those with elements */
	struct tries tries;
	bool unsuited; /* the sample has a vector of another length */
	struct excluded here; /* the first with elements */
	struct counts counts; /* to try in place of those, once they are needed */
	int64_t found[COUNTS_USUAL]; /* which were */
	uint64_t search; /* what the search may still take, in steps of programs */
	/* of the sample and root at hand */
	unsigned which, turn, samples; /* turn: its number among those that differ, which are so many */
	int64_t root; /* -1: as given */
	uint32_t where; /* the instruction that ruled out the last case */
	bool searching;
};

static struct goal_loc asked_file_loc(const struct cases *c)
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

/* What a case costs beside the steps of programs. */
#define CASE 500u

static void note_excluded(struct cases *c, const struct bin_args *a, int err, const struct ir_fault *fault)
{
	const uint64_t size = a->size, steps = CASE + (a->rank + 1) * fault->steps + size * (a->sample ? size : 1);
	struct excluded *e = *c->first.values ? &c->here : &c->first;

	c->where = fault->where;
	if (c->searching) {
		c->search -= c->search < steps ? c->search : steps;
		return;
	}
	if (*e->values || (e == &c->here && !a->count))
		return;
	lower_sample(e->values, sizeof e->values, &c->b, a);
	e->where = fault->where;
	if (err == -ERR_ASSERT)
		snprintf(e->text, sizeof e->text, "%s", bin_str(&c->b, fault->what));
	else
		snprintf(e->text, sizeof e->text, "the vector %s has the wrong length",
			 bin_str(&c->b, c->b.params[fault->what].name));
	if (e == &c->first && a->count)
		c->here = *e;
}

/* Whether a fault says that the schedule is not for these values, and not that it is wrong: an assertion of its text, a vector
 * of a sample, which nobody has asked for, or a count that only the search has come up with and that is too large. */
static bool excludes(struct cases *c, const struct bin_args *a, int err, const struct ir_fault *fault)
{
	c->unsuited = a->sample && !c->claim.name && lower_wrong_length(&c->b, err, fault);
	return c->unsuited || err == -ERR_ASSERT ||
	       (c->searching && (err == -ERR_FUEL || (err == -ERR_OVERFLOW && a->count > INT32_MAX)));
}

/* Specialises, and applies the passes: 0, or -ERR_ASSERT when the schedule is not for these values. */
static int make_graph(struct cases *c, struct bin_args *a, struct ir_graph *g)
{
	const struct pass_ctx ctx = passes_ctx(&c->b, a);
	struct ir_fault fault = { 0 };
	const char *failed = NULL; /* until passes run */
	int err = ir_graph_specialise(&c->b, a, g, &a->rank, &fault);

	if (err && excludes(c, a, err, &fault)) {
		note_excluded(c, a, err, &fault);
		return -ERR_ASSERT;
	}
	if (err == -ERR_NOMEM)
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
static int make_expected(struct cases *c, struct bin_args *a, struct expected **out)
{
	struct ir_fault fault = { 0 };
	int err;

	*out = NULL;
	if (!c->claim.any)
		return 0;
	*out = mem_calloc(a->size, sizeof **out);
	err = *out ? claim_all_expected(&c->claim, a, *out, &a->rank, &fault) : -ERR_NOMEM;
	if (!err || err == -ERR_NOMEM)
		return err;
	lower_fault(c->d, c->asked->file, &c->b, c->asked->locs, a, err, &fault);
	return -ERR_SYNTAX;
}

static void drop_expected(struct expected *w, uint32_t n)
{
	for (uint32_t i = 0; w && i < n; i++)
		expected_fini(&w[i]);
	free(w);
}

static void drop_model(struct cases *c)
{
	if (!c->model.count)
		return;
	drop_expected(c->model.expected, c->model.g.nranks);
	ir_graph_fini(&c->model.g);
	c->model = (struct model_case){ 0 };
}

/* The graph is proved, or not; with its wants it is kept as a model, or freed. */
static int prove(struct cases *c, int64_t count, struct ir_graph *g, struct expected *expected, struct verify_report *report)
{
	const struct model_case *m = &c->model;
	const uint32_t size = g->nranks;
	int err = 0;

	if (m->count && count % m->count == 0 &&
	    verify_multiple(&m->g, m->expected, (uint64_t)(count / m->count), g, expected)) {
		*report = m->report;
	} else {
		drop_model(c); /* whose memory is needed */
		err = verify_graph(c->d, &c->b, g, expected, report);
		err = err || report->proved ? err : -ERR_SYNTAX;
		if (!err && count && !g->queues) {
			c->model = (struct model_case){ count, *g, expected, *report };
			return 0;
		}
	}
	drop_expected(expected, size);
	ir_graph_fini(g);
	return err;
}

static void count_proved(struct cases *c, const struct verify_report *report, uint32_t size)
{
	struct verify_result *out = c->out;

	if (!c->proved++ || report->messages > out->report.messages ||
	    (report->messages == out->report.messages && report->ready > out->report.ready))
		out->report = *report;
	if (report->differ[0] == report->differ[1] || out->differ[2])
		return;
	out->differ[0] = report->differ[0];
	out->differ[1] = report->differ[1];
	out->differ[2] = size;
}

static int one_case(struct cases *c, enum outcome *outcome)
{
	struct bin_args a = c->args;
	struct verify_report report = { 0 };
	struct expected *expected = NULL;
	struct ir_graph g;
	int err;

	a.fuel = lower_fuel(a.size) / (c->searching ? 8 : 1);
	a.most_ops = c->asked->most_ops;
	*outcome = EXCLUDED;
	err = make_graph(c, &a, &g);
	if (err)
		return err == -ERR_ASSERT ? 0 : err;
	*outcome = PROVED;
	err = make_expected(c, &a, &expected);
	if (err) {
		drop_expected(expected, a.size);
		ir_graph_fini(&g);
		return err;
	}
	err = prove(c, a.count, &g, expected, &report);
	if (!err)
		count_proved(c, &report, a.size);
	return err;
}

/* ---- values ---- */

static unsigned count_known(const struct cases *c, const struct arg_rows *rows)
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
			goal_diag(c->d, GOAL_ERROR, asked_file_loc(c), NULL,
				  "the parameter %s has no default: give it with -D",
				  bin_str(&c->b, c->b.params[i].name));
			return -ERR_SYNTAX;
		}
	return 0;
}

/* Of one parameter, in words; "n by rank" where ranks have their own. */
static void add_value(struct text *t, const struct cases *c, const struct arg_rows *rows, uint32_t i)
{
	const struct bin_arg *v = &arg_row(rows, 0)[i];
	const char *name = bin_str(&c->b, c->b.params[i].name);

	text_add(t, "%s", t->n ? ", " : "");
	for (uint32_t r = 1; r < rows->size; r++)
		if (arg_row(rows, r)[i].known != v->known || arg_row(rows, r)[i].value != v->value ||
		    arg_row(rows, r)[i].elem != v->elem) {
			text_add(t, "%s by rank", name);
			return;
		}
	text_add(t, "%s = %" PRId64, name, v->known ? v->value : c->b.params[i].value);
	for (size_t k = 1; v->elem && k < v->n && k < 8; k++)
		text_add(t, k == 7 ? ",..." : ",%" PRId64, v->elem[k]);
}

/* Those that are known, or those that are not and have defaults, but for what a sample decides. A binary for one size has
 * them inside. */
static void add_values(struct text *t, const struct cases *c, const struct arg_rows *rows, bool given)
{
	for (uint32_t i = 0; i < c->b.nparams && !c->out->values && !c->b.meta->nranks; i++)
		if (given ? arg_row(rows, 0)[i].known :
			    !arg_row(rows, 0)[i].known && c->b.params[i].has_default && i != c->b.meta->root &&
				    strcmp(bin_str(&c->b, c->b.params[i].name), "inplace") != 0)
			add_value(t, c, rows, i);
}

/* The arguments of the case: what -D gives, a sample of what is left, and the root. */
static int make_rows(struct cases *c, struct arg_rows *rows)
{
	struct text values = { 0 };
	int64_t count;
	unsigned given;
	int err = arg_rows_init(rows, &c->b, c->args.size);

	if (err)
		return err;
	err = arg_rows_define(rows, c->d, c->asked->file, &c->b, c->asked->defines, c->asked->ndefines, &count);
	given = count_known(c, rows);
	add_values(&values, c, rows, true);
	if (!err && !c->b.meta->nranks) /* whose parameters are fixed */
		err = collective_sample(&c->b, c->args.count, c->which, rows);
	c->args.sample = count_known(c, rows) > given ? rows->name : NULL;
	add_values(&values, c, rows, false);
	if (values.n || values.err)
		err = err ? err : text_take(&values, &c->out->values);
	err = err ? err : check_values(c, rows);
	if (c->root >= 0)
		arg_rows_set(rows, c->b.meta->root, (struct bin_arg){ .known = true, .value = c->root });
	c->args.args = rows->by_rank[0];
	c->args.by_rank = rows->by_rank;
	return err;
}

/* ---- counts ---- */

/* Steps that a search for counts may take at a size. */
#define SEARCH ((uint64_t)1 << 23)

/* Where nothing is sent, whatever the count. */
static bool is_empty(const struct cases *c)
{
	char name[32];

	collective_sample_name(&c->b, c->which, name, sizeof name);
	return !strncmp(name, "zero", 4) || !strncmp(name, "empty", 5);
}

/* k: the usual count that it is, or COUNTS_USUAL. Of a search only what is proved counts. */
static int try_count(struct cases *c, int64_t count, unsigned k, enum outcome *outcome)
{
	struct arg_rows rows = { 0 };
	int err;

	c->args.count = count;
	err = make_rows(c, &rows);
	err = err ? err : one_case(c, outcome);
	if (!err && *outcome == PROVED) {
		c->out->samples |= 1u << c->which;
		c->out->chosen |= c->args.sample != NULL;
		c->useful += count && !is_empty(c);
	}
	if (!err && (*outcome == PROVED || !(c->searching || c->unsuited)))
		tries_note(&c->tries, c->root, k, c->which, *outcome == PROVED);
	c->args = (struct bin_args){ .size = c->args.size };
	arg_rows_fini(&rows);
	return err;
}

/* Counts that have been tried with a sample and a root. */
struct used {
	int64_t count[2 * COUNTS_USUAL];
	unsigned n;
	int64_t none; /* the instruction that ruled out count 0, or -1 */
};

static bool is_used(const struct used *u, int64_t count)
{
	for (unsigned i = 0; i < u->n; i++)
		if (u->count[i] == count)
			return true;
	return false;
}

static int add_other(struct verify_result *r, int64_t count)
{
	size_t i = r->others.n;

	for (size_t k = 0; k < r->others.n; k++)
		if (r->others.at[k] == count)
			return 0;
	if (VEC_PUSH(&r->others, count))
		return -ERR_NOMEM;
	for (; i && r->others.at[i - 1] > count; i--)
		r->others.at[i] = r->others.at[i - 1];
	r->others.at[i] = count;
	return 0;
}

static int begin_search(struct cases *c, int64_t base)
{
	struct arg_rows rows = { 0 };
	int err;

	c->args.count = base;
	err = make_rows(c, &rows);
	err = err ? err : counts_init(&c->counts, &c->b, c->args.size, c->args.args);
	c->args = (struct bin_args){ .size = c->args.size };
	arg_rows_fini(&rows);
	return err;
}

/* Assertions rule a count out: another one in its place, first of all the one that another root or sample has taken. What rules
 * out count 0 as well may be about the size or the root, so that a long search is in vain. */
static int search_count(struct cases *c, enum counts_usual k, int64_t base, struct used *used)
{
	enum outcome outcome = EXCLUDED;
	int64_t count = c->found[k];
	int err = c->counts.numbers.n ? 0 : begin_search(c, base);
	const size_t most = used->none == (int64_t)c->where ? counts_short(&c->counts) : SIZE_MAX;

	c->searching = true;
	for (size_t i = 0; !err && outcome == EXCLUDED && (!i || (i <= most && c->search)); i++) {
		count = i ? counts_other(&c->counts, base, i - 1) : count;
		if (i && !count)
			break;
		if (count && !is_used(used, count))
			err = try_count(c, count, COUNTS_USUAL, &outcome);
	}
	c->searching = false;
	if (err || outcome == EXCLUDED)
		return err;
	c->found[k] = used->count[used->n++] = count;
	return add_other(c->out, count);
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

/* Up to this many ranks each count is tried with each sample; of more, counts and samples go by turns, since a case takes
 * seconds. All of both are tried all the same, and a sample has another count when its kind comes again, in place. */
#define ALL_PAIRS 256u

static bool is_turn(const struct cases *c, unsigned k)
{
	const unsigned counts = c->out->cut ? COUNTS_USUAL : COUNTS_USUAL - 1;
	const unsigned most = counts > c->samples ? counts : c->samples;

	for (unsigned i = c->turn; i < most; i += c->samples)
		if ((i + i / counts) % counts == k)
			return true;
	return c->args.size <= ALL_PAIRS;
}

/* Of the size; the last is the only one, or none. */
static void common_counts(const struct cases *c, int64_t *v)
{
	memcpy(v, (int64_t[]){ 0, 1, 7, 2 * (int64_t)c->args.size + 1, c->out->cut, c->out->count },
	       (COUNTS_USUAL + 1) * sizeof *v);
}

static int each_count(struct cases *c)
{
	int64_t usual[COUNTS_USUAL + 1];
	struct used used = { .none = -1 };
	enum outcome outcome;
	int err = 0;

	common_counts(c, usual);
	if (c->out->count >= 0)
		return try_count(c, c->out->count, COUNTS_USUAL, &outcome);
	for (unsigned k = 0; k < COUNTS_USUAL && !err; k++) {
		if (is_used(&used, usual[k]) || !is_turn(c, k))
			continue;
		err = try_count(c, usual[k], k, &outcome);
		used.count[used.n++] = usual[k];
		if (!err && outcome == PROVED)
			c->out->usual |= 1u << k;
		if (err || outcome == PROVED)
			continue;
		if (!usual[k])
			used.none = c->where;
		else if (!c->unsuited)
			err = search_count(c, k, usual[k], &used);
	}
	return err;
}

/* ---- roots, samples and sizes ---- */

/* Roots up to this many ranks; of more, the first, the middle and the last, or others in place of those that assertions
 * rule out. */
#define ALL_ROOTS 9u

static int each_root(struct cases *c, struct verify_roots *tried)
{
	const uint32_t size = c->args.size, most = size <= ALL_ROOTS ? size : 3;
	const bool empty = !c->out->count || is_empty(c) || size > ALL_PAIRS;
	uint32_t n = 0, full = 0;
	int err = 0;

	for (uint32_t i = 0; i < most + size && n < most && !err; i++) {
		const uint64_t useful = c->useful, proved = c->proved;
		int64_t r = i < most ? (size <= ALL_ROOTS ? i : (int64_t)(size - 1) * i / 2) : i - most;

		if (i >= most && (size <= ALL_ROOTS || r == 0 || r == (size - 1) / 2 || r == size - 1))
			continue;
		c->root = r;
		err = each_count(c);
		n += c->useful != useful || (empty && c->proved != proved);
		if (c->useful == useful && (c->out->count || c->proved == proved))
			continue;
		if (full >= tried->n && full < 3)
			tried->few[full] = (uint32_t)r;
		full++;
	}
	if (full > tried->n)
		tried->n = full;
	return err;
}

/* Begins with a sample; *differs: it is not as the first one, as all samples of nothing are, *open: its root is to be chosen. */
static int begin_sample(struct cases *c, unsigned which, bool *differs, bool *open)
{
	const uint32_t root = c->b.meta->root;
	struct arg_rows rows = { 0 };
	int err;

	c->which = which;
	c->root = -1;
	err = make_rows(c, &rows);
	*differs = !which || c->args.sample;
	*open = !err && root != BIN_NONE && !arg_row(&rows, 0)[root].known &&
		(!c->b.meta->nranks || c->b.meta->flags & BIN_F_ROOTS);
	arg_rows_fini(&rows);
	return err;
}

static int each_sample(struct cases *c)
{
	const unsigned n = c->b.meta->nranks ? 1 : collective_samples(&c->b);
	struct verify_roots roots = { 0 };
	bool differs, open;
	int err = 0;

	c->samples = c->turn = 0;
	for (unsigned i = 0; i < n && !err; i++) {
		err = begin_sample(c, i, &differs, &open);
		c->samples += differs;
	}
	for (unsigned i = 0; i < n && !err; i++) {
		err = begin_sample(c, i, &differs, &open);
		if (err || !differs)
			continue;
		err = open ? each_root(c, &roots) : each_count(c);
		c->turn++;
	}
	return err ? err : VEC_PUSH(&c->out->roots, roots);
}

/* Cases without an element say nothing of those with some. */
static int refuse_empty(struct cases *c)
{
	goal_diag(c->d, GOAL_ERROR, c->asked->locs ? c->asked->locs[c->here.where] : asked_file_loc(c), NULL,
		  "%snothing is proved of %u rank%s, since no case with elements was found that assertions do not rule out: %s",
		  c->here.values, c->args.size, c->args.size == 1 ? "" : "s", c->here.text);
	return -ERR_SYNTAX;
}

/* All cases of the size are proved, or passed over. */
static int end_size(struct cases *c)
{
	const uint32_t size = c->args.size;
	int64_t usual[COUNTS_USUAL + 1];
	int err;

	c->out->cases += c->proved;
	if (!c->proved)
		c->out->roots.n--;
	if (!c->proved && c->unsuited)
		return VEC_PUSH(&c->out->unsuited, size);
	if (!c->proved)
		return VEC_PUSH(&c->out->ruled_out, size);
	if (!c->useful && *c->here.values && c->out->count)
		return refuse_empty(c);
	common_counts(c, usual);
	err = tries_tell(&c->tries, &c->b, usual, &c->out->passed);
	return err ? err : VEC_PUSH(&c->out->sizes, size);
}

static int one_size(struct cases *c, uint32_t size)
{
	int err;

	if (c->asked->progress)
		c->asked->progress(size);
	c->proved = c->useful = 0;
	c->unsuited = false;
	c->here = (struct excluded){ 0 };
	c->search = SEARCH;
	memset(c->found, 0, sizeof c->found);
	c->args = (struct bin_args){ .size = size };
	err = tries_init(&c->tries, size);
	err = err ? err : each_sample(c);
	counts_fini(&c->counts);
	drop_model(c);
	err = err ? err : end_size(c);
	tries_fini(&c->tries);
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
		goal_diag(d, GOAL_ERROR, asked_file_loc(&c), NULL, "%s", fault.text);
	for (uint32_t i = 0; !err && asked->locs && i < b->ncode; i++)
		numbers[i] = i + 1;
	if (asked->locs)
		c.b.lines = numbers;
	out->cut = passes_count(passes_of(&c));
	out->count = only_count(&c);
	out->claims = c.claim.any || verify_is_barrier(b);
	err = err ? err : each_size(&c);
	if (!err && !out->cases) {
		goal_diag(d, GOAL_ERROR, asked->locs ? asked->locs[c.first.where] : asked_file_loc(&c), NULL,
			  "%sthe schedule is for none of the values that were tried%s: %s", c.first.values,
			  asked->first || b->meta->nranks ? "" : " (-n says for how many ranks)", c.first.text);
		err = -ERR_SYNTAX;
	}
	claim_close(&c.claim);
	free(numbers);
	return err == -ERR_CLAIM ? -ERR_SYNTAX : err;
}

void verify_result_fini(struct verify_result *r)
{
	VEC_FREE(&r->sizes);
	VEC_FREE(&r->roots);
	VEC_FREE(&r->ruled_out);
	VEC_FREE(&r->unsuited);
	VEC_FREE(&r->others);
	VEC_FREE(&r->passed.roots);
	free(r->values);
	r->values = NULL;
}
