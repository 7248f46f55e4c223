/* SPDX-License-Identifier: BSD-3-Clause
 * The pipeline: text -> tree -> IR -> checks -> passes -> binary. */
#include "compiler/compile.h"

#include "compiler/ir/smcq.h"
#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"
#include "compiler/transform.h"
#include "compiler/verify/counts.h"
#include "compiler/verify/verify.h"
#include "util/err.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

static struct goal_loc file_loc(unsigned file)
{
	return (struct goal_loc){ .file = (uint16_t)file };
}

int compile_graph(struct goal_diags *d, unsigned file, const struct bin *b, const struct bin_args *args,
		  struct ir_graph *g)
{
	struct bin_args a = *args;
	struct ir_fault fault = { 0 };

	if (b->meta->nranks)
		a.size = b->meta->nranks;
	a.fuel = lower_fuel(a.size);
	int err = ir_graph_specialise(b, &a, g, &a.rank, &fault);

	if (err && err != -ERR_NOMEM) {
		lower_fault(d, file, b, NULL, &a, err, &fault);
		return -ERR_SYNTAX;
	}
	if (err)
		return err;
	const struct pass_ctx c = passes_ctx(b, &a);
	const char *failed;

	g->file = file;
	err = passes_run_graph(bin_str(b, b->meta->passes), g, &c, &failed);
	err = err ? err : smcq_from_binary(b, args->args, g);
	if (err && err != -ERR_NOMEM)
		transform_refused(d, g, failed, err);
	if (err)
		ir_graph_fini(g);
	return err && err != -ERR_NOMEM ? -ERR_SYNTAX : err;
}

/* ---- parametric ---- */

struct sample {
	struct goal_diags *d;
	unsigned file;
	struct bin b; /* its lines are instruction numbers here */
	const struct ir_image *im;
	const struct compile_options *o;
	struct claim claim;
	struct bin_args args;
	bool guessed; /* some of them are a sample's */
	struct counts counts; /* of a size, to try in place of those that assertions rule out */
	bool searching;
	uint64_t checked, excluded; /* cases; and those that assertions rule out */
	uint64_t fuel; /* left for the sizes that were not asked for */
};

/* What checking a sample of sizes may take, one of them and all. */
#define SAMPLE_FUEL ((uint64_t)1 << 20)
#define SAMPLES_FUEL ((uint64_t)1 << 24)
#define CASE_FUEL 500u /* and one that an assertion rules out */

static uint64_t fuel_for(const struct compile_options *o, uint32_t size)
{
	return o->fuel ? o->fuel : lower_fuel(size);
}

/* Whether a fault only says that a size, or a vector that nobody asked for, is not for this schedule. */
static bool assert_is_excused(const struct sample *s, bool asked, int err, const struct ir_fault *fault)
{
	return (err == -ERR_ASSERT && !asked) || (s->searching && (err == -ERR_FUEL || err == -ERR_OVERFLOW)) ||
	       (s->guessed && !s->claim.name && lower_wrong_length(&s->b, err, fault));
}

/* Whether what is claimed makes sense for these values; the graph says whether it is true. */
static int check_claim(struct sample *s, struct bin_args a)
{
	struct expected *expected = mem_calloc(a.size, sizeof *expected);
	struct ir_fault fault;
	int err = expected ? claim_all_expected(&s->claim, &a, expected, &a.rank, &fault) : -ERR_NOMEM;

	if (err && err != -ERR_NOMEM)
		lower_fault(s->d, s->file, &s->b, s->im->locs.at, &a, err, &fault);
	for (uint32_t r = 0; r < a.size && !err; r++)
		expected_fini(&expected[r]);
	free(expected);
	return err == -ERR_NOMEM ? err : 0;
}

/* What is beyond a sample is not checked, which has to be wanted where it is written. */
static void too_long(struct sample *s, uint32_t where)
{
	const int check = check_find("long");

	if (s->o->checks_off >> check & 1)
		return;
	goal_diag(s->d, s->o->writes ? GOAL_ERROR : GOAL_WARNING, s->im->locs.at[where], "long",
		  "the schedule is long: not checked for sizes from %u on%s", s->args.size,
		  s->o->writes ? "; -n or --verify checks it, -Wno-long writes it all the same" : "");
}

/* Specialises for one size and checks the graph. A size that an assertion of the schedule rules out is
 * passed over unless it was asked for. *more is cleared when others would take too long. */
static int check_size(struct sample *s, bool asked, bool *more)
{
	struct ir_graph g;
	struct ir_fault fault = { 0 };
	struct bin_args a = s->args;
	unsigned warnings = goal_diags_warnings(s->d);
	int err;

	a.fuel = s->o->nranks ? fuel_for(s->o, a.size) : s->fuel < SAMPLE_FUEL ? s->fuel : SAMPLE_FUEL;
	a.fuel += !a.fuel; /* 0 would be the default */
	err = ir_graph_specialise(&s->b, &a, &g, &a.rank, &fault);
	if (err == -ERR_NOMEM || assert_is_excused(s, asked, err, &fault)) {
		s->fuel -= s->searching && s->fuel > CASE_FUEL ? CASE_FUEL : 0;
		s->excluded++;
		return err == -ERR_NOMEM ? err : 0;
	}
	s->checked++;
	if (err == -ERR_FUEL && !s->o->nranks) {
		*more = false;
		too_long(s, fault.where);
		return 0;
	}
	if (err) {
		lower_fault(s->d, s->file, &s->b, s->im->locs.at, &a, err, &fault);
		return 0;
	}
	for (uint32_t r = 0; r < g.nranks; r++)
		s->fuel -= s->fuel > g.ranks[r].nops * 8ull ? g.ranks[r].nops * 8ull : s->fuel;
	g.file = s->file;
	lower_sample(g.sample, sizeof g.sample, &s->b, &a);
	for (size_t i = 0; i < s->im->locs.n && !err; i++)
		err = VEC_PUSH(&g.locs, s->im->locs.at[i]);
	if (!err)
		err = checks_run(s->d, &g, CHECK_PARAMETRIC, s->o->checks_off);
	if (!err && s->o->passes && !passes_global(s->o->passes) && !goal_diags_errors(s->d)) { /* else it is done later */
		const struct pass_ctx c = passes_ctx(&s->b, &a);

		err = transform_graph(s->d, s->o->passes, &c, CHECK_PARAMETRIC, s->o->checks_off, &g);
	}
	*more = goal_diags_warnings(s->d) == warnings; /* else a check gave up */
	ir_graph_fini(&g);
	return err ? err : check_claim(s, a);
}

static bool needs_values(const struct bin *b, const struct arg_rows *rows)
{
	for (uint32_t r = 0; r < rows->size; r++)
		for (uint32_t i = 0; i < b->nparams; i++)
			if (!arg_row(rows, r)[i].known && !b->params[i].has_default)
				return true;
	return false;
}

/* Checks one size, count and sample of arguments, for the first, the middle and the last root. */
static int check_sample(struct sample *s, unsigned which, bool *more)
{
	const uint32_t root = s->b.meta->root;
	unsigned errors = goal_diags_errors(s->d), unknown = 0;
	struct arg_rows rows;
	int64_t count;
	int err = arg_rows_init(&rows, &s->b, s->args.size);
	bool vary, useful;

	err = err ? err : arg_rows_define(&rows, s->d, s->file, &s->b, s->o->defines, s->o->ndefines, &count);
	if (err) {
		arg_rows_fini(&rows);
		return err == -ERR_SYNTAX ? 0 : err;
	}
	for (uint32_t i = 0; i < s->b.nparams; i++)
		unknown += !arg_row(&rows, 0)[i].known;
	err = collective_sample(&s->b, s->args.count, which, &rows);
	for (uint32_t i = 0; i < s->b.nparams; i++)
		unknown -= !arg_row(&rows, 0)[i].known;
	s->guessed = unknown;
	vary = root != BIN_NONE && !arg_row(&rows, 0)[root].known && !(s->o->parametric && s->b.params[root].has_default);
	s->args.args = rows.by_rank[0];
	s->args.by_rank = rows.by_rank;
	s->args.sample = s->guessed ? rows.name : NULL;
	/* Without -n it is fine when there are no values to check it with. All samples of nothing are the same. */
	useful = (s->guessed || !which) && (s->o->nranks || !needs_values(&s->b, &rows));
	for (unsigned k = 0; k < (vary ? 3u : 1u) && !err && useful; k++) {
		if (vary)
			arg_rows_set(&rows, root, (struct bin_arg){ .known = true,
								    .value = (int64_t)(s->args.size - 1) * k / 2 });
		err = check_size(s, s->o->nranks && !s->o->parametric, more);
		if (!*more || goal_diags_errors(s->d) != errors)
			break;
	}
	s->args = (struct bin_args){ .size = s->args.size, .count = s->args.count, .most_ops = s->o->most_ops };
	arg_rows_fini(&rows);
	return err;
}

/* Checks one size and sample with a count, or with another one where assertions rule it out. */
static int check_count(struct sample *s, int64_t count, unsigned which, bool *more)
{
	const uint64_t checked = s->checked, excluded = s->excluded, least = s->fuel / 2;
	int err;

	s->args.count = count;
	err = check_sample(s, which, more);
	if (err || !count || s->checked != checked || s->excluded == excluded)
		return err;
	if (!s->counts.numbers.n)
		err = counts_init(&s->counts, &s->b, s->args.size, NULL);
	s->searching = true;
	for (size_t i = 0; i < counts_short(&s->counts) && !err && s->checked == checked && s->fuel > least; i++) {
		s->args.count = counts_other(&s->counts, count, i);
		err = check_sample(s, which, more);
	}
	s->searching = false;
	return err;
}

/* Checks the sizes that -n names, or a sample of small ones, until one is at fault. */
static int check_program(struct sample *s, int64_t count)
{
	static const uint32_t sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16 };
	/* The last one, if any, is for passes that leave short ranges alone. */
	const int64_t counts[] = { 7, 0, s->o->passes ? passes_count(s->o->passes) : 0 };
	const unsigned samples = collective_samples(&s->b), errors = goal_diags_errors(s->d);
	bool more = true;
	int err = 0;

	s->fuel = s->o->fuel ? s->o->fuel : SAMPLES_FUEL;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !(i && s->o->nranks); i++) {
		s->args.size = s->o->nranks ? s->o->nranks : sizes[i];
		for (unsigned c = 0; c < (count >= 0 ? 1u : counts[2] ? 3u : 2u); c++) {
			for (unsigned k = 0; k < samples; k++) {
				err = check_count(s, count < 0 ? counts[c] : count, k, &more);
				if (err || !more || goal_diags_errors(s->d) != errors) {
					counts_fini(&s->counts);
					return err;
				}
			}
		}
		counts_fini(&s->counts);
	}
	return err;
}

/* Keeps the path of the text, as far as strings of binaries can have it. */
static int keep_source(const struct goal_diags *d, unsigned file, struct ir_image *im)
{
	struct text path = { 0 };
	int64_t at;

	text_add(&path, "%s", goal_diags_name(d, file));
	for (size_t i = 0; i < path.n; i++)
		if (path.at[i] == '\n')
			path.at[i] = '?';
	text_clean(path.at, path.n);
	at = path.err ? path.err : ir_image_string(im, path.at);
	free(path.at);
	im->meta.source = (uint32_t)at;
	return at < 0 ? (int)at : 0;
}

/* Keeps the passes for bind. */
static int keep_passes(const char *list, struct ir_image *im)
{
	int64_t at = ir_image_string(im, list);

	im->meta.passes = (uint32_t)at;
	return at < 0 ? (int)at : 0;
}

static bool every_root(const struct bin *b, const struct arg_rows *rows)
{
	return b->meta->root != BIN_NONE && !arg_row(rows, 0)[b->meta->root].known;
}

/* What a binary with -n, or one without, cannot be; before checking it takes its time. */
static void check_asked(struct goal_diags *d, unsigned file, const struct bin *b, const struct arg_rows *rows, int64_t count,
			const struct compile_options *o)
{
	const char *global = o->passes ? passes_global(o->passes) : NULL;
	const struct goal_loc at = file_loc(file);
	const bool concrete = o->nranks && !o->parametric;

	if (concrete && o->nranks > 2048 && every_root(b, rows))
		goal_diag(d, GOAL_ERROR, at, NULL,
			  "a binary for %u ranks and every root would be too large: fix one with -D root=R", o->nranks);
	if (concrete && global && count < 0)
		goal_diag(d, GOAL_ERROR, at, NULL, "the pass %s works on the ops of all ranks: fix count with -D count=N",
			  global);
	for (uint32_t i = 0; !o->nranks && i < b->nparams; i++)
		if (arg_row(rows, 0)[i].known && b->params[i].vector)
			goal_diag(d, GOAL_ERROR, at, NULL, "the vector %s can only be fixed together with -n",
				  bin_str(b, b->params[i].name));
	if (!concrete && global)
		goal_diag(d, GOAL_ERROR, at, NULL, "the pass %s works on the ops of all ranks: give their number with -n",
			  global);
	if (!o->nranks && count >= 0)
		goal_diag(d, GOAL_ERROR, at, NULL, "count can only be fixed together with -n");
}

static int concretise_schedule(struct goal_diags *d, unsigned file, const struct bin *b, const struct sample *s,
			       const struct arg_rows *rows, int64_t count, const struct compile_options *o,
			       void **image, size_t *size)
{
	const char *global = o->passes ? passes_global(o->passes) : NULL;
	bool roots = every_root(b, rows);
	struct bin_args a = { .size = o->nranks, .count = count, .args = rows->by_rank[0], .by_rank = rows->by_rank,
			      .fuel = fuel_for(o, o->nranks), .most_ops = o->most_ops };
	struct claim claim = { 0 };
	struct ir_fault fault;
	struct ir_image im;
	int err;

	err = ir_image_init(&im);
	err = err ? err : claim_open(&claim, b, &fault);
	if (!err)
		err = global ? transform_concrete(d, file, &s->b, &a, roots, &claim, s->im, o, &im) :
			       lower_concrete(d, file, b, s->im->locs.at, &a, roots, &im);
	err = err ? err : lower_concrete_result(d, file, &claim, &a, roots, &im);
	if (!err && o->passes && !global)
		err = keep_passes(o->passes, &im);
	err = err ? err : ir_image_finish(&im, o->debug, image, size);
	claim_close(&claim);
	ir_image_fini(&im);
	return err;
}

static int finish_program(struct goal_diags *d, unsigned file, struct ir_image *im,
			  const struct compile_options *o, void **image, size_t *size)
{
	struct sample s = { .d = d, .file = file, .im = im, .o = o, .args.most_ops = o->most_ops };
	void *full = NULL;
	size_t full_size;
	struct bin b;
	struct arg_rows rows = { 0 };
	uint32_t *numbers = NULL;
	struct ir_fault fault;
	int64_t count = -1;
	int err = ir_image_finish(im, true, &full, &full_size);

	err = err ? err : bin_open(&b, full, full_size);
	if (err)
		goto out;
	numbers = mem_alloc((size_t)b.ncode * sizeof *numbers);
	err = numbers ? arg_rows_init(&rows, &b, o->nranks ? o->nranks : 1) : -ERR_NOMEM;
	for (size_t i = 0; !err && !o->nranks && i < o->ndefines; i++)
		if (o->defines[i].rank >= 0) {
			goal_diag(d, GOAL_ERROR, file_loc(file), NULL,
				  "the %s of one rank can only be fixed together with -n", o->defines[i].name);
			err = -ERR_SYNTAX;
		}
	err = err ? err : arg_rows_define(&rows, d, file, &b, o->defines, o->ndefines, &count);
	if (err)
		goto out;
	for (uint32_t i = 0; i < b.ncode; i++)
		numbers[i] = i + 1;
	s.b = b;
	s.b.lines = numbers;
	check_asked(d, file, &b, &rows, count, o);
	err = claim_open(&s.claim, &s.b, &fault);
	if (err == -ERR_CLAIM) {
		goal_diag(d, GOAL_ERROR, im->locs.at[0], NULL, "%s", fault.text);
		err = 0;
	}
	if (err)
		goto out;
	if (!goal_diags_errors(d) && !o->unchecked)
		err = check_program(&s, o->parametric && count < 0 ? o->count : count);
	if (err || goal_diags_errors(d))
		goto out;
	if (o->nranks && !o->parametric) {
		err = concretise_schedule(d, file, &b, &s, &rows, count, o, image, size);
		goto out;
	}
	for (uint32_t i = 0; i < b.nparams && !err; i++) {
		if (!arg_row(&rows, 0)[i].known || o->parametric)
			continue;
		im->params.at[i].has_default = 1;
		im->params.at[i].value = arg_row(&rows, 0)[i].value;
	}
	if (o->passes && !err)
		err = keep_passes(o->passes, im);
	for (size_t i = 0; o->locs && i < im->locs.n && !err; i++)
		err = VEC_PUSH(&o->locs->v, im->locs.at[i]);
	if (!err && !goal_diags_errors(d))
		err = ir_image_finish(im, o->debug, image, size);
out:
	claim_close(&s.claim);
	arg_rows_fini(&rows);
	free(numbers);
	free(full);
	return err;
}

static int compile_parametric(struct goal_diags *d, unsigned file, const char *list, const struct compile_options *o,
			      void **image, size_t *size)
{
	struct goal_text *texts;
	struct ir_image im;
	int err = goal_parse_parametric(d, file, &texts);

	if (err || !texts)
		return err;
	err = list ? passes_run_text(list, d, &texts) : 0;
	if (err || goal_diags_errors(d)) {
		goal_text_free(texts);
		return err;
	}
	file = texts->last->loc.file;
	err = ir_image_init(&im);
	err = err ? err : lower_program(d, texts, texts->last, &im);
	goal_text_free(texts);
	if (!err && o->debug)
		err = keep_source(d, file, &im);
	if (!err && !goal_diags_errors(d))
		err = finish_program(d, file, &im, o, image, size);
	ir_image_fini(&im);
	return err;
}

/* ---- plain ---- */

/* Whether the verifier finds nothing wrong. */
static int is_proved(const struct ir_graph *g, bool *proved)
{
	struct goal_diags *d = goal_diags_new();
	struct verify_report report = { 0 };
	int err = d && goal_diags_source(d, "", NULL, 0) >= 0 ? verify_graph(d, NULL, g, NULL, &report) : -ERR_NOMEM;

	*proved = report.proved;
	goal_diags_free(d);
	return err;
}

/* Applies the passes. A text with warnings has nothing more to lose, and one that is not proved no proof. */
static int transform_plain(struct goal_diags *d, const struct compile_options *o, struct ir_graph *g)
{
	static const struct bin_buffer buffers[] = { { .mode = BIN_IN }, { .mode = BIN_OUT } };
	const struct pass_ctx c = { .size = g->nranks, .buffers = buffers, .nbuffers = 2 };
	uint64_t off = goal_diags_warnings(d) ? UINT64_MAX : o->checks_off;
	struct verify_report report;
	bool proved = false;
	int err = o->prove && !off && passes_global(o->passes) ? is_proved(g, &proved) : 0;

	err = err ? err : transform_graph(d, o->passes, &c, CHECK_PLAIN, off, g);
	return err || !proved || goal_diags_errors(d) ? err : verify_graph(d, NULL, g, NULL, &report);
}

/* By way of a graph: with passes, names and lines, and all messages. */
static int compile_by_graph(struct goal_diags *d, unsigned file, const struct compile_options *o, void **image,
			    size_t *size)
{
	struct ir_graph g;
	struct ir_image im = { 0 };
	int err = lower_plain(d, file, &g);

	if (!err && !goal_diags_errors(d))
		err = checks_run(d, &g, CHECK_PLAIN, o->checks_off);
	if (!err && !goal_diags_errors(d)) {
		if (o->ndefines)
			goal_diag(d, GOAL_ERROR, file_loc(file), NULL, "plain GOAL has no parameter %s",
				  o->defines[0].name);
		if (o->nranks && o->nranks != g.nranks)
			goal_diag(d, GOAL_ERROR, file_loc(file), NULL, "the file is for %u ranks, not for %u",
				  g.nranks, o->nranks);
	}
	if (!err && !goal_diags_errors(d)) {
		if (o->passes)
			err = transform_plain(d, o, &g);
		if (!err && goal_diags_errors(d))
			err = -ERR_SYNTAX;
		err = err ? err : ir_image_init(&im);
		err = err ? err : lower_graph(&g, o->debug, &im);
		if (!err && o->debug)
			err = keep_source(d, file, &im);
		err = err ? err : ir_image_finish(&im, o->debug, image, size);
	}
	ir_image_fini(&im);
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
		goal_diag(d, GOAL_ERROR, file_loc((unsigned)file), NULL, "the pass %.*s is for parametric schedules",
			  (int)strcspn(o->passes, ":;"), o->passes);
		err = -ERR_SYNTAX;
	}
	if (!err && goal_diags_errors(d))
		err = -ERR_SYNTAX;
	if (err == -ERR_RANGE)
		goal_diag(d, GOAL_ERROR, file_loc((unsigned)file), "overflow", "the schedule is too large");
	return err;
}
