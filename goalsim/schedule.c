/* SPDX-License-Identifier: BSD-3-Clause
 * Makes the schedule that is simulated: a binary, as it is or compiled from a text, with the values of its parameters. */
#include "goalsim/goalsim.h"

#include "compiler/compile.h"
#include "compiler/ir/loggopsim.h"
#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"
#include "format/check.h"
#include "lang/ast.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct goal_loc whole = { .file = 0 };

#define REFUSE(s, ...) (goal_diag((s)->diags, GOAL_ERROR, whole, NULL, __VA_ARGS__), -ERR_SYNTAX)

/* ---- the image ---- */

/* Reads a binary as a whole. */
static int load_image(struct goalsim *s)
{
	int err = file_load(&s->in);

	if (err)
		return err;
	s->image = s->in.data;
	s->size = s->in.len;
	s->in.data = NULL;
	return 0;
}

/* Replaces the image by that of a graph, see lower_image(). */
static int image_of_graph(struct goalsim *s, const struct bin *b, const struct bin_args *args, const struct ir_graph *g)
{
	void *image = NULL;
	size_t size = 0;
	int err = lower_image(g, b, args, &image, &size);

	if (err)
		return err;
	free(s->image);
	s->image = image;
	s->size = size;
	return 0;
}

static int read_loggopsim(struct goalsim *s)
{
	struct ir_graph g = { 0 };
	struct text why = { 0 };
	int err = file_load(&s->in);

	err = err ? err : loggopsim_read(s->in.data, s->in.len, &g, &why);
	err = err ? err : image_of_graph(s, NULL, NULL, &g);
	if (err == -ERR_CORRUPT)
		err = REFUSE(s, "the binary of LogGOPSim is malformed: %s", why.at ? why.at : "");
	free(why.at);
	ir_graph_fini(&g);
	return err;
}

static int compile_input(struct goalsim *s)
{
	const bool plain = goal_text_is_plain(&s->in);
	const bool fixed = s->passes && passes_global(s->passes);
	const struct compile_options o = { .nranks = fixed && !plain ? (uint32_t)s->nranks : 0,
					   .debug = !plain,
					   .defines = s->defines.v.at,
					   .ndefines = plain || fixed ? s->defines.v.n : 0,
					   .passes = s->passes,
					   .most_ops = s->most_ops };

	s->defined = fixed && !plain;
	return compile_file(s->diags, option_source(s->input), &s->in, &o, &s->image, &s->size);
}

static int read_input(struct goalsim *s)
{
	uint64_t magic = 0;
	const ssize_t n = file_at(&s->in, 0, &magic, sizeof magic);
	const bool binary = n > 0 && (magic & 0xff) == (unsigned char)BIN_MAGIC[0];
	int err;

	if (!binary && !(n == sizeof magic && magic == LOGGOPSIM_MAGIC))
		return compile_input(s);
	if (s->passes)
		return REFUSE(s, "passes are for texts, and this is a binary");
	if (!binary)
		return read_loggopsim(s);
	err = window_open(&s->binary.window, &s->in);
	return err == -ERR_STATE ? load_image(s) : err;
}

/* ---- the schedule ---- */

static int open_binary(struct goalsim *s)
{
	struct sim_window *w = &s->binary.window;
	int err = bin_open(&s->binary.b, w->image ? w->image : s->image, w->image ? w->size : s->size);

	if (err)
		return REFUSE(s, "%s", err_text(err));
	if (!w->image || !*bin_str(&s->binary.b, s->binary.b.meta->passes))
		return 0;
	window_close(w); /* passes need the ops of all ranks */
	err = load_image(s);
	return err ? err : open_binary(s);
}

/* True if some value of -D is for one rank. */
static bool is_any_local(const struct goalsim *s)
{
	for (size_t i = 0; i < s->defines.v.n; i++)
		if (s->defines.v.at[i].rank >= 0)
			return true;
	return false;
}

/* Sets the arguments of the ranks. Only values for single ranks need memory for each rank. */
static int set_args(struct goalsim *s)
{
	const struct bin *b = &s->binary.b;
	const bool plain = b->meta->flags & BIN_F_PLAIN, local = is_any_local(s);
	struct bin_args *a = &s->binary.args;
	int err;

	*a = (struct bin_args){ .size = b->meta->nranks ? b->meta->nranks : (uint32_t)s->nranks,
				.count = s->count >= 0 ? s->count : -1, .most_ops = s->most_ops };
	s->binary.element = plain ? 1 : s->element;
	if (!a->size)
		return REFUSE(s, "the schedule is parametric: give the number of ranks with -n");
	if (s->nranks && s->nranks != a->size)
		return REFUSE(s, "the schedule is for %u ranks, not for %" PRId64, a->size, s->nranks);
	err = arg_rows_init(&s->rows, b, local ? a->size : 1);
	err = err ? err : arg_rows_define(&s->rows, s->diags, 0, b, s->defines.v.at, s->defined ? 0 : s->defines.v.n, &a->count);
	if (err)
		return err;
	if (s->count >= 0 && a->count != s->count)
		return REFUSE(s, "--count and -D count differ");
	if (a->count < 0)
		a->count = b->meta->count >= 0 ? b->meta->count : 1;
	a->args = s->rows.by_rank[0];
	a->by_rank = local ? s->rows.by_rank : NULL;
	return 0;
}

/* Applies the passes that ranks apply when they bind the schedule. This needs the ops of all ranks. */
static int apply_passes(struct goalsim *s)
{
	const struct bin b = s->binary.b;
	struct ir_graph g = { 0 };
	int err = compile_graph(s->diags, 0, &b, &s->binary.args, &g);

	if (err)
		return err;
	err = image_of_graph(s, b.meta->flags & BIN_F_PLAIN ? NULL : &b, &s->binary.args, &g);
	ir_graph_fini(&g);
	return err ? err : open_binary(s);
}

static void report_failed(struct goalsim *s, int err)
{
	if (err == -ERR_SYS)
		fprintf(stderr, "goalsim: %s: %s\n", option_source(s->input), file_why(errno));
	else if (err == -ERR_NOMEM)
		no_memory();
	else if (!s->diags || !goal_diags_errors(s->diags))
		fprintf(stderr, "goalsim: %s: %s\n", option_source(s->input), err_text(err));
}

void schedule_report(struct goalsim *s, int err)
{
	const struct bin_space *sp = &s->binary.space;
	const struct ir_fault fault = { .where = sp->where, .what = sp->what, .value = { sp->value[0], sp->value[1], sp->value[2] } };

	if (err != -ERR_NOMEM && err != -ERR_SYS && !goal_diags_errors(s->diags)) {
		if (s->binary.b.meta->flags & BIN_F_PARAMETRIC)
			lower_fault(s->diags, 0, &s->binary.b, NULL, &s->binary.args, err, &fault);
		else
			goal_diag(s->diags, GOAL_ERROR, whole, NULL, "rank %u: %s", s->binary.args.rank, err_text(err));
	}
	report_failed(s, err);
}

int schedule_open(struct goalsim *s)
{
	int err;

	s->diags = goal_diags_new();
	err = s->diags ? option_open(s->input, &s->in) : -ERR_NOMEM;
	if (!err && goal_diags_source(s->diags, option_source(s->input), NULL, 0) < 0)
		err = -ERR_NOMEM;
	err = err ? err : read_input(s);
	err = err ? err : open_binary(s);
	err = err ? err : set_args(s);
	if (!err && *bin_str(&s->binary.b, s->binary.b.meta->passes))
		err = apply_passes(s);
	if (err) {
		report_failed(s, err);
		return err;
	}
	s->binary.posted = s->rules == RULES_COMPATIBLE;
	err = sim_binary_open(&s->binary);
	if (err)
		schedule_report(s, err);
	return err ? err : noise_start(s);
}

void schedule_close(struct goalsim *s)
{
	if (s->diags)
		fputs(goal_diags_text(s->diags), stderr);
	noise_end(s);
	placement_free(&s->node.placed);
	sim_repeat_close(&s->repeated);
	sim_binary_close(&s->binary);
	arg_rows_fini(&s->rows);
	window_close(&s->binary.window);
	file_close(&s->in);
	free(s->image);
	goal_diags_free(s->diags);
}

/* ---- ops in messages ---- */

/* Compiles a plain text once more, with the lines of its ops. The image was made without them, as that is faster. */
static void add_lines(struct goalsim *s)
{
	const struct compile_options o = { .debug = true, .checks_off = UINT64_MAX };
	struct goal_diags *d;
	void *image = NULL;
	size_t size;

	if (s->binary.b.debug || !(s->binary.b.meta->flags & BIN_F_PLAIN) || !goal_text_is_plain(&s->in))
		return;
	d = goal_diags_new();
	if (d && !compile_file(d, s->input, &s->in, &o, &image, &size)) {
		free(s->image);
		s->image = image;
		bin_open(&s->binary.b, image, size);
	}
	goal_diags_free(d);
}

int schedule_describe(struct goalsim *s, uint32_t rank, uint32_t op, struct text *out)
{
	uint32_t turn = 0, number = op;
	const struct bin_op *ops, *o;
	int err = s->repeat ? sim_repeat_find(&s->repeated, rank, op, &turn, &number) : 0;

	add_lines(s);
	text_add(out, "rank %u, ", rank);
	if (s->repeat)
		text_add(out, "repetition %u, ", turn + 1);
	if (!err && number == BIN_NONE) {
		text_add(out, "its end");
		return 0;
	}
	s->binary.turn = s->repeated.rotate ? turn : 0;
	err = err ? err : sim_binary_ops(&s->binary, rank, &ops);
	s->binary.turn = 0;
	if (err)
		return err;
	o = &ops[number];
	text_add(out, "op %u", number);
	if (o->line)
		text_add(out, " (line %u)", o->line);
	text_add(out, ": %s %" PRIu64, ir_op_word(o->kind), o->kind == BIN_OP_CALC ? o->len : o->len * s->binary.element);
	if (!bin_is_message(o->kind))
		return 0;
	text_add(out, "b %s ", bin_sends(o->kind) ? "to" : "from");
	if (o->peer == BIN_ANY)
		text_add(out, "any rank");
	else
		text_add(out, "%u", o->peer);
	if (o->tag == BIN_ANY)
		text_add(out, " any tag");
	else if (o->tag)
		text_add(out, " tag %u", o->tag);
	return 0;
}
