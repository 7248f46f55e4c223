/* SPDX-License-Identifier: BSD-3-Clause
 * Calls: wherever a schedule is called, its body is generated again, with a scope of its own. Its variables own registers
 * like those of the caller. Its buffers are windows on the caller's buffers. Its labels have a new instance each time that
 * the call is executed. */
#include "compiler/lower/gen.h"

#include <string.h>

#define MOST_CALLS 16384u /* limit of calls in a program; a call counts as often as it is generated */
#define MOST_CODE (1u << 20) /* no call is generated after so many instructions */
#define DEEPEST 64u

/* ---- names ---- */

/* Declares the schedules of a text in `list`, which is the list of the text's own schedules or that of imported schedules.
 * The number of a name becomes the number of different schedules with this name. */
static void index_text(struct gen *g, const void *list, const struct goal_text *t)
{
	for (const struct goal_schedule *s = t->schedules; s; s = s->next) {
		struct gen_name *n = gen_declare(g, list, s->name, s, 0);

		n->number += n->node == s ? !n->number : 1;
	}
}

const struct goal_schedule *gen_callee(struct gen *g, const struct goal_schedule *caller, const char *name, bool *several)
{
	const struct goal_text *t = caller->text, *last = NULL;
	const struct gen_name *n;

	*several = false;
	if (gen_first_use(g, &t->schedules))
		index_text(g, &t->schedules, t);
	n = gen_named(g, &t->schedules, name);
	if (n)
		return n->node;
	if (gen_first_use(g, &t->imports))
		for (const struct goal_import *i = t->imports; i; last = i->text, i = i->next)
			if (i->text != last)
				index_text(g, &t->imports, i->text);
	n = gen_named(g, &t->imports, name);
	*several = n && n->number > 1;
	return n && !*several ? n->node : NULL;
}

static const struct goal_named *find_named(struct gen *g, const struct goal_call *c, const char *name)
{
	const struct gen_name *n;

	if (gen_first_use(g, &c->args))
		for (const struct goal_named *a = c->args; a; a = a->next)
			gen_declare(g, &c->args, a->name, a, 0);
	n = gen_named(g, &c->args, name);
	return n ? n->node : NULL;
}

const struct goal_expr *gen_argument(struct gen *g, const struct gen_scope *scope, const char *name)
{
	const struct goal_named *a = find_named(g, scope->call, name);

	return a ? a->expr : NULL;
}

const struct goal_buffer *gen_can_be_in_place(const struct goal_schedule *s)
{
	const struct goal_buffer *b = s->buffers;

	while (b && !b->inplace)
		b = b->next;
	return b;
}

/* ---- the call as the caller sees it ---- */

static bool is_written(const struct goal_buffer *b)
{
	return b->mode == GOAL_OUT || b->mode == GOAL_INOUT;
}

/* Checks that the call gives one range for each buffer of the schedule that is not scratch. */
static void check_ranges(struct gen *g, const struct goal_call *c, const struct goal_schedule *s)
{
	const struct goal_range *r = c->ranges;
	unsigned need = 0, given = 0;

	for (const struct goal_buffer *b = s->buffers; b; b = b->next) {
		if (b->mode == GOAL_SCRATCH)
			continue;
		need++;
		if (r)
			gen_find_buffer(g, r, is_written(b));
		r = r ? r->next : NULL;
	}
	for (r = c->ranges; r; r = r->next)
		given++;
	if (need != given)
		goal_diag(g->d, GOAL_ERROR, c->loc, "name", "%s takes %u buffer%s, not %u", s->name, need,
			  need == 1 ? "" : "s", given);
}

static void check_args(struct gen *g, const struct goal_call *c, const struct goal_schedule *s)
{
	for (const struct goal_named *a = c->args; a; a = a->next) {
		unsigned index;
		const struct goal_param *p = gen_find_param(g, s, a->name, &index);
		/* The parser prepends arguments, so the last argument with a name comes first in the list. */
		const struct goal_named *last = find_named(g, c, a->name);

		if (last != a)
			gen_error(g, last->loc, "name", "the argument %s is given twice", a->name);
		if (!p && strcmp(a->name, "count") != 0 && (strcmp(a->name, "inplace") != 0 || !gen_can_be_in_place(s)))
			goal_diag(g->d, GOAL_ERROR, a->loc, "name", "%s has no parameter %s", s->name, a->name);
		if (p && p->length && (a->expr->kind != GOAL_E_NAME || gen_find_var(g, a->expr->name) ||
				       gen_vector(g, g->scope, a->expr->name) == GEN_NO_VECTOR))
			gen_error(g, a->expr->loc, "name", "the argument %s is not the name of a vector", a->name);
	}
	for (const struct goal_param *p = s->params; p; p = p->next)
		if (!p->value && !p->length && !find_named(g, c, p->name))
			goal_diag(g->d, GOAL_ERROR, c->loc, "name", "the parameter %s of %s has no value", p->name,
				  s->name);
}

/* Returns the schedule that is called, or NULL after reporting why it cannot be called. */
static const struct goal_schedule *find_callee(struct gen *g, const struct goal_call *c)
{
	bool several;
	const struct goal_schedule *s = gen_callee(g, g->scope->s, c->name, &several);

	if (!s) {
		gen_error(g, c->loc, "name",
			  several ? "several imported files have a schedule %s" : "there is no schedule %s", c->name);
		return NULL;
	}
	for (const struct gen_scope *up = g->scope; up; up = up->up)
		if (up->s == s) {
			gen_error(g, c->loc, "name", "%s calls itself, directly or by way of others", s->name);
			return NULL;
		}
	if (g->full)
		return NULL;
	if (g->scope->depth == DEEPEST || ++g->calls > MOST_CALLS || g->im->code.n > MOST_CODE ||
	    g->im->windows.n > UINT16_MAX - 256u) {
		gen_error(g, c->loc, "syntax", "%s", "there are too many calls");
		g->full = true;
		return NULL;
	}
	return s;
}

/* ---- ranks ---- */

uint16_t gen_expr_up(struct gen *g, const struct goal_expr *e, uint16_t into)
{
	struct gen_scope *scope = g->scope;
	struct gen_var peer = g->peer;

	g->scope = scope->up;
	g->peer.name = NULL;
	into = gen_expr(g, e, into);
	g->scope = scope;
	g->peer = peer;
	return into;
}

/* Returns the register with the caller's number of a rank, given its number in the called schedule. */
static uint16_t peer_up(struct gen *g, const struct goal_call *c, uint16_t peer)
{
	struct gen_var old = g->peer;

	if (!c->at)
		return peer;
	g->peer = (struct gen_var){ .name = c->peer, .reg = peer, .given = true };
	peer = gen_expr(g, c->at, GEN_ANY);
	g->peer = old;
	return peer;
}

uint16_t gen_peer(struct gen *g, uint16_t peer)
{
	struct gen_scope *inner = g->scope;

	for (; g->scope->up; g->scope = g->scope->up) {
		struct gen_scope *s = g->scope;

		if (!s->mapped)
			continue;
		gen_emit_abc(g, BIN_PEER, peer, s->size, 0);
		g->scope = s->up;
		peer = peer_up(g, s->call, peer);
		g->scope = s;
	}
	g->scope = inner;
	return peer;
}

/* ---- entering ---- */

struct range {
	struct gen_buffer *buf;
	uint16_t off, len;
};

static uint16_t add_window(struct gen *g, const char *name, const struct gen_buffer *b)
{
	struct bin_window w = { .name = gen_string(g, name), .buf = b->buf, .base = b->base, .size = b->size };

	if (VEC_PUSH(&g->im->windows, w))
		gen_no_memory(g);
	return (uint16_t)(g->im->windows.n - 1);
}

/* Generates a range that the caller gives, and the check that it lies in the caller's buffer. */
static void gen_given(struct gen *g, const struct goal_range *r, struct range *out)
{
	out->buf = gen_find_buffer(g, r, false);
	out->off = BIN_NOREG;
	out->len = out->buf->size;
	if (!r->off)
		return;
	out->off = gen_expr(g, r->off, GEN_ANY);
	out->len = r->len ? gen_expr(g, r->len, GEN_ANY) : gen_num(g, 1, GEN_ANY);
	if (out->buf->window == GEN_NO_WINDOW)
		out->buf->window = add_window(g, r->name, out->buf);
	g->at = r->loc;
	gen_emit_abc(g, BIN_WITHIN, out->off, out->len, out->buf->window);
}

/* Generates a scratch buffer of a called schedule. The scratch buffers of all calls are windows on one buffer of the binary,
 * which grows with each call. */
static void gen_scratch(struct gen *g, struct gen_buffer *b, const char *name)
{
	if (g->hidden == BIN_NONE) {
		struct bin_buffer row = { .name = gen_string(g, "(scratch)"), .mode = BIN_SCRATCH };

		g->hidden = (uint32_t)g->im->buffers.n;
		if (VEC_PUSH(&g->im->buffers, row))
			gen_no_memory(g);
	}
	b->buf = (uint16_t)g->hidden;
	b->base = gen_reg(g);
	b->window = add_window(g, name, b);
	gen_emit_abc(g, BIN_MOV, b->base, g->hidden_size, 0);
	gen_emit_abc(g, BIN_FITS, b->size, 0, b->window);
	gen_emit_abc(g, BIN_ADD, g->hidden_size, g->hidden_size, b->size);
	gen_emit_abc(g, BIN_BUFSIZE, g->hidden, g->hidden_size, 0);
}

/* Generates the windows that are the buffers of the entered schedule. r holds the ranges that the caller gives, in order. */
static void gen_windows(struct gen *g, const struct range *r)
{
	struct gen_buffer *out = g->scope->buffers;

	for (const struct goal_buffer *b = g->scope->s->buffers; b; b = b->next, out++) {
		g->at = b->loc;
		out->size = gen_kept(g, b->length, NULL);
		if (b->mode == GOAL_SCRATCH) {
			gen_scratch(g, out, b->name);
			continue;
		}
		out->buf = r->buf->buf;
		out->base = r->off == BIN_NOREG ? r->buf->base : r->off;
		if (r->off != BIN_NOREG && r->buf->base != BIN_NOREG) {
			out->base = gen_reg(g);
			gen_emit_abc(g, BIN_ADD, out->base, r->buf->base, r->off);
		}
		out->window = add_window(g, b->name, out);
		gen_emit_abc(g, BIN_FITS, r->len, 0, out->window);
		r++;
	}
}

/* Makes variables of the parameters that are numbers. Vectors and rootonly parameters are looked up in the caller instead,
 * at each use. Defaults that are computed come later, because they are expressions of the called schedule. */
static void gen_args(struct gen *g, const struct goal_call *c, const struct goal_schedule *s)
{
	for (const struct goal_param *p = s->params; p; p = p->next) {
		const struct goal_named *a = find_named(g, c, p->name);
		const struct goal_expr *e = a ? a->expr : p->value;

		if (!p->length && p->scope != GOAL_ROOTONLY && (a || !goal_computed(p)))
			gen_add_var(g, p->name, gen_expr(g, e, GEN_ANY), true);
	}
}

/* Makes variables of the parameters that the call leaves out, and whose defaults are computed. */
static void gen_left_out(struct gen *g, const struct goal_call *c)
{
	for (const struct goal_param *p = g->scope->s->params; p; p = p->next)
		if (goal_computed(p) && !find_named(g, c, p->name))
			gen_add_var(g, p->name, gen_kept(g, p->value, NULL), true);
}

/* Generates the value "inplace" of the entered schedule: the argument of the call, or 0 if it gives none. */
static void gen_inplace(struct gen *g, const struct goal_call *c)
{
	const struct goal_buffer *b = gen_can_be_in_place(g->scope->s);
	const struct goal_named *a = find_named(g, c, "inplace");
	uint16_t r;
	uint32_t skip;

	if (!b)
		return;
	r = gen_reg(g);
	if (a)
		gen_expr_up(g, a->expr, r);
	else
		gen_num(g, 0, r);
	if (b->when) {
		skip = gen_emit_imm(g, BIN_JZ, r, 0);
		gen_into(g, b->when, r);
		gen_jump_here(g, skip);
	}
	gen_emit_abc(g, BIN_NE, r, r, gen_num(g, 0, GEN_ANY));
	gen_add_var(g, "inplace", r, true);
}

/* Generates the checks that the rank in the call is a rank of the called schedule, and is the rank that calls. */
static void gen_check_rank(struct gen *g, const struct gen_scope *in)
{
	uint16_t ok, up;

	if (!in->mapped)
		return;
	gen_emit_abc(g, BIN_PEER, in->rank, in->size, 0);
	up = peer_up(g, in->call, in->rank);
	ok = gen_reg(g);
	gen_emit_abc(g, BIN_EQ, ok, up, g->scope->rank);
	gen_emit_imm(g, BIN_CHECK, ok, gen_string(g, "the rank in the call is not the rank that calls"));
}

static void gen_tag(struct gen *g, struct gen_scope *in)
{
	uint16_t tag;

	in->tag = g->scope->tag;
	if (!in->call->tag)
		return;
	tag = gen_expr(g, in->call->tag, GEN_ANY);
	in->tag = tag;
	if (g->scope->tag != BIN_NOREG) {
		in->tag = gen_reg(g);
		gen_emit_abc(g, BIN_ADD, in->tag, tag, g->scope->tag);
	}
}

/* Generates ENTER, which creates an instance of the schedule's labels and marks where its ops begin. Returns the number
 * of the call if it has a label, and so needs LEAVE; otherwise BIN_NONE. */
static uint32_t gen_enter(struct gen *g, const struct goal_stmt *s, struct gen_scope *in)
{
	struct bin_call t = { .label = BIN_NONE,
			      .nlabels = in->labels->n,
			      .index = { BIN_NOREG, BIN_NOREG },
			      .instance = g->scope->instance };

	if (s->label)
		gen_label(g, s->label, &t.label, t.index);
	if (!s->label && !t.nlabels)
		return BIN_NONE;
	if (VEC_PUSH(&g->im->calls, t))
		gen_no_memory(g);
	g->at = s->loc;
	in->instance = gen_reg(g);
	gen_emit_imm(g, BIN_ENTER, in->instance, (int64_t)g->im->calls.n - 1);
	return s->label ? (uint32_t)g->im->calls.n - 1 : BIN_NONE;
}

/* Generates the expressions that stand in the call, only to check them. */
static void gen_interface(struct gen *g, const struct goal_stmt *s)
{
	const struct goal_call *c = s->call;
	uint32_t label;
	uint16_t index[2];

	if (s->label)
		gen_label(g, s->label, &label, index);
	for (const struct goal_range *r = c->ranges; r; r = r->next) {
		if (r->off)
			gen_expr(g, r->off, GEN_ANY);
		if (r->len)
			gen_expr(g, r->len, GEN_ANY);
	}
	if (c->rank) {
		gen_expr(g, c->rank, GEN_ANY);
		gen_expr(g, c->size, GEN_ANY);
	}
	peer_up(g, c, g->scope->rank);
	if (c->tag)
		gen_expr(g, c->tag, GEN_ANY);
	for (const struct goal_named *a = c->args; a; a = a->next)
		if (a->expr->kind != GOAL_E_NAME || gen_find_var(g, a->expr->name) ||
		    gen_vector(g, g->scope, a->expr->name) == GEN_NO_VECTOR)
			gen_expr(g, a->expr, GEN_ANY);
}

static void gen_expansion(struct gen *g, const struct goal_stmt *s, const struct goal_schedule *callee)
{
	const struct goal_call *c = s->call;
	const struct goal_named *count = find_named(g, c, "count");
	struct gen_scope *up = g->scope;
	struct gen_scope in = { .up = up,
				.s = callee,
				.call = c,
				.labels = gen_labels_of(g, callee),
				.end = SIZE_MAX,
				.line = up->line || callee->text == up->s->text ? up->line : s->loc.line,
				.depth = up->depth + 1,
				.rank = up->rank,
				.size = up->size,
				.count = up->count,
				.mapped = c->rank || c->at };
	size_t vars = g->vars.n, n = 1;
	struct goal_loc at = s->loc;
	struct range *ranges, *r;
	uint32_t call;

	for (const struct goal_buffer *b = callee->buffers; b; b = b->next)
		n++;
	in.buffers = gen_alloc(g, n * sizeof *in.buffers);
	ranges = r = gen_alloc(g, n * sizeof *ranges);
	at.file = (uint16_t)up->source;
	in.source = goal_diags_called(g->d, callee->loc.file, at);
	for (const struct goal_range *given = c->ranges; given; given = given->next)
		gen_given(g, given, r++);
	g->at = s->loc;
	if (count)
		in.count = gen_expr(g, count->expr, GEN_ANY);
	if (c->rank) {
		in.rank = gen_expr(g, c->rank, GEN_ANY);
		in.size = gen_expr(g, c->size, GEN_ANY);
	}
	gen_tag(g, &in);
	g->at = c->loc;
	gen_check_rank(g, &in);
	call = gen_enter(g, s, &in);
	up->end = in.vars = vars;
	gen_args(g, c, callee);
	g->scope = &in;
	gen_add_var(g, callee->rank, in.rank, true);
	gen_add_var(g, callee->size, in.size, true);
	gen_add_var(g, "count", in.count, true);
	gen_left_out(g, c);
	gen_definitions(g);
	gen_inplace(g, c);
	gen_check_params(g);
	gen_windows(g, ranges);
	gen_block_of(g, callee->body);
	g->scope = up;
	up->end = SIZE_MAX;
	gen_drop_vars(g, vars);
	g->at = s->loc;
	if (call != BIN_NONE)
		gen_emit_imm(g, BIN_LEAVE, 0, call);
}

void gen_call(struct gen *g, const struct goal_stmt *s)
{
	unsigned errors = goal_diags_errors(g->d);
	const struct goal_schedule *to = find_callee(g, s->call);

	if (!to)
		return;
	if (g->interface) {
		check_ranges(g, s->call, to);
		check_args(g, s->call, to);
		gen_interface(g, s);
	} else if (goal_diags_errors(g->d) == errors) {
		gen_expansion(g, s, to);
	}
}
