/* SPDX-License-Identifier: BSD-3-Clause
 * The stages of the compiler, one after the other: text -> tree -> IR -> checks -> passes -> binary. */
#include "compiler/compile.h"

#include "compiler/cases.h"
#include "compiler/ir/smcq.h"
#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"
#include "compiler/transform.h"
#include "compiler/verify/verify.h"
#include "util/err.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

int compile_graph(struct goal_diags *d, unsigned file, const struct bin *b, const struct bin_args *args, struct ir_graph *g)
{
	const struct origin s = { .d = d, .file = file, .b = *b };
	struct bin_args a = *args;
	struct ir_fault fault = { 0 };
	int err;

	if (b->meta->nranks)
		a.size = b->meta->nranks;
	a.fuel = lower_fuel(a.size);
	err = ir_graph_specialise(b, &a, g, &a.rank, &fault);
	if (err)
		return origin_fault(&s, &a, err, &fault);
	g->file = file;
	return transform_as_bound(d, b, bin_str(b, b->meta->passes), &a, g);
}

/* Returns err, or -ERR_SYNTAX if there were diagnostics: the next stage of the compiler needs a text without errors. */
static int stop_at_errors(const struct goal_diags *d, int err)
{
	return !err && goal_diags_errors(d) ? -ERR_SYNTAX : err;
}

/* Adds a string to the binary, and stores its offset in a field. */
static int keep_string(struct ir_image *im, const char *text, uint32_t *field)
{
	const int64_t at = ir_image_string(im, text);

	*field = (uint32_t)at;
	return at < 0 ? (int)at : 0;
}

/* Stores the path of the text in the binary, if a string of a binary can hold it. */
static int keep_source(const struct goal_diags *d, unsigned file, struct ir_image *im)
{
	struct text path = { 0 };
	int err;

	text_add(&path, "%s", goal_diags_name(d, file));
	for (size_t i = 0; i < path.n; i++)
		if (path.at[i] == '\n')
			path.at[i] = '?';
	text_clean(path.at, path.n);
	err = path.err ? path.err : keep_string(im, path.at, &im->meta.source);
	free(path.at);
	return err;
}

/* ---- parametric: read ---- */

/* A parametric text on its way through the compiler. */
struct unit {
	const struct compile_options *o;
	struct goal_text *texts;
	struct ir_image program, concrete; /* the program as lowered, and the image for one number of ranks */
	struct ir_image *out; /* the image that is emitted: program or concrete */
	void *full; /* the program in a buffer, with all names and lines */
	struct bin b; /* the binary in `full`, opened */
	struct origin s; /* the same binary with the location of each instruction; d and file are set from the beginning */
	struct arg_rows rows; /* values of -D */
	int64_t count; /* count from -D, or -1 if it is not given */
	uint64_t fuel; /* limit of instructions for the number of ranks that -n gives */
};

static bool is_concrete(const struct unit *u)
{
	return u->o->nranks && !u->o->parametric;
}

/* Reports an error that belongs to no line of the text. */
#define REFUSE(u, ...) goal_diag((u)->s.d, GOAL_ERROR, origin_file_loc((u)->s.file), NULL, __VA_ARGS__)

static int parse_texts(struct unit *u, const char *list)
{
	int err = goal_parse_parametric(u->s.d, u->s.file, &u->texts);

	if (!err && u->texts && list)
		err = passes_run_text(list, u->s.d, &u->texts);
	return stop_at_errors(u->s.d, err);
}

static int lower_texts(struct unit *u)
{
	size_t size;
	int err = ir_image_init(&u->program);

	u->s.file = u->texts->last->loc.file;
	err = err ? err : lower_program(u->s.d, u->texts, u->texts->last, &u->program);
	if (!err && u->o->debug)
		err = keep_source(u->s.d, u->s.file, &u->program);
	err = stop_at_errors(u->s.d, err);
	err = err ? err : ir_image_finish(&u->program, true, &u->full, &size);
	return err ? err : bin_open(&u->b, u->full, size);
}

static bool has_every_root(const struct unit *u)
{
	return u->b.meta->root != BIN_NONE && !arg_row(&u->rows, 0)[u->b.meta->root].known;
}

/* Refuses options that do not go together, before the checks take their time. */
static void check_options(const struct unit *u)
{
	const struct compile_options *o = u->o;
	const char *global = o->passes ? passes_global(o->passes) : NULL;

	if (is_concrete(u) && o->nranks > 2048 && has_every_root(u))
		REFUSE(u, "a binary for %u ranks and every root would be too large: fix one with -D root=R", o->nranks);
	if (is_concrete(u) && global && u->count < 0)
		REFUSE(u, "the pass %s works on the ops of all ranks: fix count with -D count=N", global);
	for (uint32_t i = 0; !o->nranks && i < u->b.nparams; i++)
		if (arg_row(&u->rows, 0)[i].known && u->b.params[i].vector)
			REFUSE(u, "the vector %s can only be fixed together with -n", bin_str(&u->b, u->b.params[i].name));
	if (!is_concrete(u) && global)
		REFUSE(u, "the pass %s works on the ops of all ranks: give their number with -n", global);
	if (!o->nranks && u->count >= 0)
		REFUSE(u, "count can only be fixed together with -n");
}

static int read_options(struct unit *u)
{
	const struct compile_options *o = u->o;
	int err = arg_rows_init(&u->rows, &u->b, o->nranks ? o->nranks : 1);

	for (size_t i = 0; !err && !o->nranks && i < o->ndefines; i++)
		if (o->defines[i].rank >= 0) {
			REFUSE(u, "the %s of one rank can only be fixed together with -n", o->defines[i].name);
			err = -ERR_SYNTAX;
		}
	err = err ? err : arg_rows_define(&u->rows, u->s.d, u->s.file, &u->b, o->defines, o->ndefines, &u->count);
	if (err)
		return err;
	check_options(u);
	u->s.b = u->b;
	u->s.locs = u->program.locs.at;
	return stop_at_errors(u->s.d, origin_open(&u->s));
}

/* ---- parametric: check ---- */

/* Limits of the instructions for checking one size, and for checking all sizes if the user gives no size. */
#define SAMPLE_FUEL ((uint64_t)1 << 20)
#define SAMPLES_FUEL ((uint64_t)1 << 24)
#define CASE_FUEL 500u /* cost of a case that a search tries and an assertion rules out, in instructions */

/* True if a fault only says that the schedule is not for this size, or not for values that the user did not give. */
static bool is_excused(const struct unit *u, const struct cases *c, int err, const struct ir_fault *fault)
{
	return (err == -ERR_ASSERT && !is_concrete(u)) || (c->searching && (err == -ERR_FUEL || err == -ERR_OVERFLOW)) ||
	       (c->args.sample && !u->s.claim.name && lower_wrong_length(&u->s.b, err, fault));
}

/* Reports that larger sizes are not checked. The user must accept this with an option before a binary is written. */
static void report_long(const struct unit *u, uint32_t size, uint32_t where)
{
	if (u->o->checks_off >> check_find("long") & 1)
		return;
	goal_diag(u->s.d, u->o->writes ? GOAL_ERROR : GOAL_WARNING, u->s.locs[where], "long",
		  "the schedule is long: not checked for sizes from %u on%s", size,
		  u->o->writes ? "; -n or --verify checks it, -Wno-long writes it all the same" : "");
}

/* Checks the graph of a case, before and after local passes, and checks that the claim can be computed. Global passes, and
 * the checks of their results, come later (transform.c). */
static int check_graph(const struct unit *u, struct bin_args *a, struct ir_graph *g)
{
	const struct compile_options *o = u->o;
	const struct pass_ctx ctx = passes_ctx(&u->s.b, a);
	struct expected *expected = NULL;
	struct ir_fault fault = { 0 };
	int err = checks_run(u->s.d, g, CHECK_PARAMETRIC, o->checks_off);

	if (!err && o->passes && !passes_global(o->passes) && !goal_diags_errors(u->s.d))
		err = transform_graph(u->s.d, o->passes, &ctx, CHECK_PARAMETRIC, o->checks_off, g);
	if (err)
		return err;
	err = origin_expected(&u->s, a, &expected, &fault);
	origin_free_expected(expected, a->size);
	return err ? origin_fault(&u->s, a, err, &fault) : stop_at_errors(u->s.d, 0);
}

/* Checks one case. Clears *more if no further case should be checked, because they take too long or a check gave up. */
static int check_case(const struct unit *u, struct cases *c, bool *more)
{
	const unsigned warnings = goal_diags_warnings(u->s.d);
	struct bin_args a = c->args;
	struct ir_fault fault = { 0 };
	struct ir_graph g;
	int err;

	a.most_ops = u->o->most_ops;
	a.fuel = u->o->nranks ? u->fuel : c->budget < SAMPLE_FUEL ? c->budget : SAMPLE_FUEL;
	a.fuel += !a.fuel; /* 0 would be the default */
	if (!c->searching)
		c->least = c->budget / 2;
	err = origin_specialise(&u->s, &a, &g, &fault);
	if (err && is_excused(u, c, err, &fault)) {
		c->budget -= c->searching && c->budget > CASE_FUEL ? CASE_FUEL : 0;
		cases_note(c, CASE_EXCLUDED, fault.where);
		return 0;
	}
	cases_note(c, CASE_PASSED, 0);
	*more = err != -ERR_FUEL || u->o->nranks;
	if (!*more)
		report_long(u, a.size, fault.where);
	if (err)
		return *more ? origin_fault(&u->s, &a, err, &fault) : 0;
	for (uint32_t r = 0; r < g.nranks; r++)
		c->budget -= c->budget > g.ranks[r].nops * 8ull ? g.ranks[r].nops * 8ull : c->budget;
	err = check_graph(u, &a, &g);
	*more = goal_diags_warnings(u->s.d) == warnings;
	ir_graph_fini(&g);
	return err;
}

/* Checks the size that -n gives, or some small sizes, until a case is at fault. */
static int check_cases(const struct unit *u)
{
	static const uint32_t sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 0 };
	const struct compile_options *o = u->o;
	struct cases c = { .s = &u->s, .defines = o->defines, .ndefines = o->ndefines,
			   .order = { CASES_COUNT, CASES_SAMPLE, CASES_OTHER, CASES_ROOT },
			   .first = o->nranks, .last = o->nranks, .sizes = sizes,
			   .counts = { COUNTS_SOME, COUNTS_NONE, COUNTS_CUT, COUNTS_USUAL },
			   .only = o->parametric && u->count < 0 ? o->count : u->count,
			   .cut = o->passes ? passes_count(o->passes) : 0, .all_pairs = UINT32_MAX,
			   .default_root = o->parametric, .valued = !o->nranks, .budget = o->fuel ? o->fuel : SAMPLES_FUEL };
	bool more = !o->unchecked;
	int err = more ? cases_begin(&c) : 0;

	while (!err && more && cases_next_size(&c))
		while (!err && more && (err = cases_next(&c)) > 0)
			err = check_case(u, &c, &more);
	cases_end(&c);
	return err;
}

/* ---- parametric: transform and emit ---- */

/* Makes the image for the number of ranks that -n gives. */
static int make_concrete(struct unit *u)
{
	const struct compile_options *o = u->o;
	const bool roots = has_every_root(u);
	struct bin_args a = { .size = o->nranks, .count = u->count, .args = u->rows.by_rank[0], .by_rank = u->rows.by_rank,
			      .fuel = u->fuel, .most_ops = o->most_ops };
	struct claim claim = { 0 };
	struct ir_fault fault;
	int err = ir_image_init(&u->concrete);

	if (!err && o->passes && passes_global(o->passes))
		err = transform_concrete(&u->s, &a, roots, o, &u->concrete);
	else if (!err)
		err = lower_concrete(u->s.d, u->s.file, &u->b, u->s.locs, &a, roots, &u->concrete);
	err = err ? err : claim_open(&claim, &u->b, &fault);
	err = err ? err : lower_concrete_result(u->s.d, u->s.file, &claim, &a, roots, &u->concrete);
	claim_close(&claim);
	return err;
}

/* Makes the image that is emitted. In a program that stays parametric, the values of -D only become defaults. */
static int transform_unit(struct unit *u)
{
	const char *list = u->o->passes;
	int err = 0;

	u->out = is_concrete(u) ? &u->concrete : &u->program;
	if (is_concrete(u))
		err = make_concrete(u);
	for (uint32_t i = 0; !u->o->nranks && !u->o->parametric && i < u->b.nparams; i++)
		if (arg_row(&u->rows, 0)[i].known) {
			u->program.params.at[i].has_default = BIN_NUMBER;
			u->program.params.at[i].value = arg_row(&u->rows, 0)[i].value;
		}
	return err || !list || passes_global(list) ? err : keep_string(u->out, list, &u->out->meta.passes);
}

static int emit_unit(struct unit *u, void **image, size_t *size)
{
	const struct ir_image *p = &u->program;
	int err = 0;

	for (size_t i = 0; u->o->locs && u->out == p && i < p->locs.n && !err; i++)
		err = VEC_PUSH(&u->o->locs->v, p->locs.at[i]);
	return err ? err : ir_image_finish(u->out, u->o->debug, image, size);
}

static void close_unit(struct unit *u)
{
	origin_close(&u->s);
	arg_rows_fini(&u->rows);
	free(u->full);
	ir_image_fini(&u->program);
	ir_image_fini(&u->concrete);
	goal_text_free(u->texts);
}

/* Compiles a parametric text. `list` has all passes; o->passes has only the passes on ops. */
static int compile_parametric(struct goal_diags *d, unsigned file, const char *list, const struct compile_options *o,
			      void **image, size_t *size)
{
	struct unit u = { .s = { .d = d, .file = file }, .o = o, .count = -1, .fuel = o->fuel ? o->fuel : lower_fuel(o->nranks) };
	int err = parse_texts(&u, list);

	err = err ? err : lower_texts(&u);
	err = err ? err : read_options(&u);
	err = err ? err : check_cases(&u);
	err = err ? err : transform_unit(&u);
	err = err ? err : emit_unit(&u, image, size);
	close_unit(&u);
	return err;
}

/* ---- plain ---- */

/* True if the verifier finds nothing wrong. */
static int is_proved(const struct ir_graph *g, bool *proved)
{
	struct goal_diags *d = goal_diags_new();
	struct verify_report report = { 0 };
	int err = d && goal_diags_source(d, "", NULL, 0) >= 0 ? verify_graph(d, NULL, g, NULL, &report) : -ERR_NOMEM;

	*proved = report.proved;
	goal_diags_free(d);
	return err;
}

/* Applies the passes. Their result is checked only if the text has no warnings, and verified only if the text is proved:
 * otherwise the text itself may cause the findings. */
static int transform_plain(struct goal_diags *d, const struct compile_options *o, struct ir_graph *g)
{
	static const struct bin_buffer buffers[] = { { .mode = BIN_IN }, { .mode = BIN_OUT } };
	const struct pass_ctx c = { .size = g->nranks, .buffers = buffers, .nbuffers = 2 };
	uint64_t off = goal_diags_warnings(d) ? UINT64_MAX : o->checks_off;
	struct verify_report report;
	bool proved = false;
	int err = o->prove && !off && passes_global(o->passes) ? is_proved(g, &proved) : 0;

	err = err ? err : transform_graph(d, o->passes, &c, CHECK_PLAIN, off, g);
	err = stop_at_errors(d, err);
	err = err || !proved ? err : verify_graph(d, NULL, g, NULL, &report);
	return stop_at_errors(d, err);
}

/* Refuses options that are for parametric schedules, or for another number of ranks. */
static int check_plain_options(struct goal_diags *d, unsigned file, const struct compile_options *o, const struct ir_graph *g)
{
	if (o->ndefines)
		goal_diag(d, GOAL_ERROR, origin_file_loc(file), NULL, "plain GOAL has no parameter %s", o->defines[0].name);
	if (o->nranks && o->nranks != g->nranks)
		goal_diag(d, GOAL_ERROR, origin_file_loc(file), NULL, "the file is for %u ranks, not for %u", g->nranks,
			  o->nranks);
	return stop_at_errors(d, 0);
}

static int emit_plain(const struct goal_diags *d, unsigned file, const struct compile_options *o, const struct ir_graph *g,
		      void **image, size_t *size)
{
	struct ir_image im;
	int err = ir_image_init(&im);

	err = err ? err : lower_graph(g, o->debug, &im);
	if (!err && o->debug)
		err = keep_source(d, file, &im);
	err = err ? err : ir_image_finish(&im, o->debug, image, size);
	ir_image_fini(&im);
	return err;
}

/* Compiles by way of a graph, which passes, names, lines and messages need. */
static int compile_by_graph(struct goal_diags *d, unsigned file, const struct compile_options *o, void **image, size_t *size)
{
	struct ir_graph g;
	int err = stop_at_errors(d, lower_plain(d, file, &g));

	err = err ? err : stop_at_errors(d, checks_run(d, &g, CHECK_PLAIN, o->checks_off));
	err = err ? err : check_plain_options(d, file, o, &g);
	err = err || !o->passes ? err : transform_plain(d, o, &g);
	err = err ? err : emit_plain(d, file, o, &g, image, size);
	ir_graph_fini(&g);
	return err;
}

static int compile_plain(struct goal_diags *d, unsigned file, const struct file *f, const struct compile_options *o,
			 void **image, size_t *size)
{
	int err = -ERR_SYNTAX;

	if (!o->passes && !o->debug && !o->ndefines && !o->nranks)
		err = stream_plain(goal_diags_name(d, file), f, image, size);
	return err == -ERR_SYNTAX ? compile_by_graph(d, file, o, image, size) : err;
}

int compile_text(struct goal_diags *d, const char *name, const char *text, size_t len,
		 const struct compile_options *o, void **image, size_t *size)
{
	return compile_file(d, name, &(struct file){ -1, (char *)(uintptr_t)text, len }, o, image, size);
}

int compile_file(struct goal_diags *d, const char *name, const struct file *f, const struct compile_options *o,
		 void **image, size_t *size)
{
	int file = goal_diags_file(d, name, f), err;
	const char *list = o->passes ? passes_on_ops(o->passes) : NULL;
	struct compile_options own = *o;

	if (file < 0)
		return file;
	own.passes = list && *list && !o->only_text ? list : NULL;
	if (!goal_text_is_plain(f))
		err = compile_parametric(d, (unsigned)file, o->passes, &own, image, size);
	else if (list == o->passes)
		err = compile_plain(d, (unsigned)file, f, &own, image, size);
	else {
		goal_diag(d, GOAL_ERROR, origin_file_loc((unsigned)file), NULL, "the pass %.*s is for parametric schedules",
			  (int)strcspn(o->passes, ":;"), o->passes);
		err = -ERR_SYNTAX;
	}
	if (!err && goal_diags_errors(d))
		err = -ERR_SYNTAX;
	if (err == -ERR_RANGE)
		goal_diag(d, GOAL_ERROR, origin_file_loc((unsigned)file), "overflow", "the schedule is too large");
	return err;
}
