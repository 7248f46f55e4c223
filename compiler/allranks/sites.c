/* SPDX-License-Identifier: BSD-3-Clause
 * Translates parametric programs to sites. The program is executed once with terms in place of numbers. Both ways of a branch
 * are executed; afterwards a register holds a choice. The body of a loop is executed twice: first with unknown values, which
 * shows how registers change from one iteration to the next, then with the values that follow from this for any iteration. */
#include "compiler/allranks/loops.h"
#include "compiler/allranks/parts.h"

#include "format/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FRAMES 12u

struct walk {
	struct sites *s;
	struct terms *t;
	const struct bin *b;
	term *reg;
	struct frame frame[MOST_FRAMES];
	unsigned nframes;
	VEC(term) calls; /* labels of the calls that are being executed */
	VEC(term) unknown; /* variables for values that loops change; they may differ from rank to rank and from iteration to iteration */
	bool inplace;
	term divisor; /* number of parts into which the program divides count elements, if that stopped the walk; or TERM_NONE */
	unsigned dry; /* more than 0: the walk only finds out how registers change */
	uint32_t seq;
	jmp_buf stop;
};

/* ---- results ---- */

_Noreturn static void stop_walk(struct walk *w, uint32_t insn, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void stop_walk(struct walk *w, uint32_t insn, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->s->stop, sizeof w->s->stop, fmt, ap);
	va_end(ap);
	w->s->stop_insn = insn;
	longjmp(w->stop, ERR_PASS);
}

_Noreturn static void stop_memory(struct walk *w)
{
	longjmp(w->stop, ERR_NOMEM);
}

static void *copy_of(struct walk *w, const void *from, size_t size)
{
	void *out = arena_alloc(w->s->store, size ? size : 1);

	if (!out)
		stop_memory(w);
	return size ? memcpy(out, from, size) : out;
}

/* True if a term has a value that a loop changes in a way that is not known. */
static bool is_unknown(const struct walk *w, term x)
{
	for (size_t i = 0; i < w->unknown.n; i++)
		if (term_has(w->t, x, w->unknown.at[i]))
			return true;
	return false;
}

static void refuse_unknown(struct walk *w, uint32_t insn, term x)
{
	if (is_unknown(w, x))
		stop_walk(w, insn, "a value that a loop changes in a way that is not understood");
}

static struct path copy_path(struct walk *w)
{
	return (struct path){ copy_of(w, w->frame, w->nframes * sizeof *w->frame), w->nframes };
}

static void push_frame(struct walk *w, uint32_t insn, struct frame f)
{
	if (w->nframes == MOST_FRAMES)
		stop_walk(w, insn, "too many nested statements");
	w->frame[w->nframes++] = f;
}

static void push_branch(struct walk *w, uint32_t insn, term cond)
{
	push_frame(w, insn, (struct frame){ .cond = cond, .var = TERM_NONE, .lo = TERM_NONE, .hi = TERM_NONE });
}

/* If the condition says that two lengths are equal, returns a condition without count that implies this. */
static term without_count(const struct sites *s, term cond)
{
	const struct term_node n = *term_at(s->t, cond);
	struct span a, b;

	if (n.op != BIN_EQ || !term_has(s->t, cond, s->count) || !span_of_length(s, n.a, &a) || !span_of_length(s, n.b, &b))
		return cond;
	cond = term_and(s->t, term_and(s->t, a.valid, b.valid), term_eq(s->t, a.n, b.n));
	return b.first == TERM_NONE ? cond : term_and(s->t, cond, span_begins(s, &a, b.first));
}

#define PARTS_DIFFER "two ranges may consist of different parts of blocks"

static void add_check(struct walk *w, uint32_t insn, term cond, const char *what)
{
	int64_t k;

	if (w->dry)
		return;
	cond = without_count(w->s, cond);
	if (term_is_num(w->t, cond, &k) && k)
		return;
	if (term_has(w->t, cond, w->s->count))
		stop_walk(w, insn, "a check depends on count: %s", what);
	if (VEC_PUSH(&w->s->checks, (struct site_check){ copy_path(w), insn, cond, what }))
		stop_memory(w);
}

/* Stops because a value is no number of parts. If it divides count elements, the program is translated again, with these parts. */
_Noreturn static void stop_parts(struct walk *w, uint32_t insn, term x, const char *what)
{
	if (w->s->parts == TERM_NONE)
		w->divisor = span_divisor(w->s, x);
	stop_walk(w, insn, "the %s is not a number of blocks of count elements, or of the same parts of them", what);
}

static term take_blocks(struct walk *w, uint32_t insn, term x, const char *what)
{
	const term out = span_of_blocks(w->s, x);

	if (out == TERM_NONE)
		stop_parts(w, insn, x, what);
	return out;
}

static struct span take_length(struct walk *w, uint32_t insn, term x, const char *what)
{
	struct span out;

	if (!span_of_length(w->s, x, &out))
		stop_parts(w, insn, x, what);
	add_check(w, insn, out.valid, "a part of a block that does not exist");
	return out;
}

static term take_offset(struct walk *w, uint32_t insn, term x, const char *what)
{
	struct span out;

	if (!span_of_offset(w->s, x, &out))
		stop_parts(w, insn, x, what);
	add_check(w, insn, out.valid, "a part of a block that does not exist");
	return out.n;
}

/* Returns the value of a register. Of a choice that was made by a branch around the instruction, only one side matters. */
static term reg_of(struct walk *w, uint16_t r)
{
	term x = r == BIN_NOREG ? term_num(w->t, 0) : w->reg[r];

	for (unsigned k = w->nframes; k-- && term_at(w->t, x)->op == TERM_ITE;) {
		const struct term_node n = *term_at(w->t, x);

		if (w->frame[k].cond == n.a)
			x = n.b;
		else if (w->frame[k].cond == term_not(w->t, n.a))
			x = n.c;
	}
	return x;
}

/* Checks that the range [off, off + len) lies in [0, size), or is empty. All are in blocks. */
static void check_range(struct walk *w, uint32_t insn, term off, term len, term size)
{
	struct terms *t = w->t;
	const term zero = term_num(t, 0);
	const term inside = term_and(t, term_le(t, zero, off), term_le(t, term_add(t, off, len), size));

	add_check(w, insn, term_le(t, zero, len), "the length of a range is negative");
	add_check(w, insn, term_or(t, term_eq(t, len, zero), inside), "a range is outside its buffer");
}

/* ---- ops ---- */

/* Returns the label with its instance of a call and its indices. */
static term label_key(struct walk *w, uint32_t insn, uint32_t label, uint16_t instance, const uint16_t index[2])
{
	struct terms *t = w->t;
	const term inst = instance ? w->reg[instance] : term_num(t, 0);

	for (unsigned i = 0; i < 2 && !w->dry; i++) {
		const struct term_node *n = term_at(t, reg_of(w, index[i]));

		if (n->lo < INT32_MIN || n->hi > INT32_MAX)
			stop_walk(w, insn, "it is not known that an index of this label fits 32 bits");
	}
	return term_key(t, term_num(t, label), inst, term_key(t, reg_of(w, index[0]), reg_of(w, index[1]), term_num(t, 0)));
}

static struct site_range take_range(struct walk *w, uint32_t insn, const struct bin_tmpl *t, unsigned k, term len, bool in_call)
{
	struct site_range out = { t->buf[k], take_offset(w, insn, reg_of(w, t->off[k]), "offset") };

	if (in_call) {
		const struct bin_window *win = &w->b->windows[t->buf[k]];
		const struct span size = take_length(w, insn, reg_of(w, win->size), "size of a buffer");
		const term base = take_offset(w, insn, reg_of(w, win->base), "offset"), zero = term_num(w->t, 0);

		check_range(w, insn, out.off, len, size.n);
		/* The range of the call has the parts of its size, and a sum of offsets begins with the part of the sum. */
		add_check(w, insn, span_begins(w->s, &size, base), PARTS_DIFFER);
		add_check(w, insn,
			  term_or(w->t, term_eq(w->t, span_phase(w->s, base), zero),
				  term_eq(w->t, span_phase(w->s, out.off), zero)),
			  PARTS_DIFFER);
		out.off = term_add(w->t, out.off, base);
		out.buf = win->buf;
	}
	check_range(w, insn, out.off, len, w->s->size[out.buf]);
	return out;
}

static void check_fields(struct walk *w, uint32_t insn, const struct bin_tmpl *t)
{
	const struct {
		uint16_t reg;
		int64_t most;
		const char *what;
	} fields[] = { { t->level, UINT16_MAX, "the level is out of range" },
		       { t->tag, BIN_ANY - 1, "the tag is out of range" },
		       { t->cpu, BIN_ANY - 1, "the cpu is out of range" },
		       { t->nic, BIN_ANY - 1, "the nic is out of range" } };
	struct terms *tt = w->t;

	for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++) {
		const term x = reg_of(w, fields[i].reg);

		if (term_has(tt, x, w->s->count))
			stop_walk(w, insn, "a field of the op depends on count");
		add_check(w, insn, term_and(tt, term_le(tt, term_num(tt, 0), x), term_le(tt, x, term_num(tt, fields[i].most))),
			  fields[i].what);
	}
}

/* Sets the ranges of an op. All begin at the same position in a block, so that they have the same parts. */
static void take_ranges(struct walk *w, uint32_t insn, const struct bin_tmpl *t, bool in_call, struct site *x)
{
	const unsigned n = bin_nranges(t->kind);
	struct span len;

	x->len = x->phase = term_num(w->t, 0);
	if (!n)
		return;
	len = take_length(w, insn, reg_of(w, t->len), "length");
	x->len = len.n;
	for (unsigned k = 0; k < n; k++)
		x->range[k] = take_range(w, insn, t, k, x->len, in_call);
	x->phase = span_phase(w->s, x->range[0].off);
	add_check(w, insn, span_begins(w->s, &len, x->range[0].off), PARTS_DIFFER);
	if (n == 2)
		add_check(w, insn, term_eq(w->t, x->phase, span_phase(w->s, x->range[1].off)), PARTS_DIFFER);
}

static void emit_site(struct walk *w, uint32_t insn, const struct bin_tmpl *t, bool in_call)
{
	struct terms *tt = w->t;
	struct site x = { .insn = insn, .kind = t->kind, .key = TERM_NONE, .seq = w->seq++ };

	if (w->dry)
		return;
	if (t->kind == BIN_OP_CALC)
		stop_walk(w, insn, "an op calc");
	check_fields(w, insn, t);
	x.peer = reg_of(w, t->peer);
	x.tag = reg_of(w, t->tag);
	x.level = reg_of(w, t->level);
	if (is_unknown(w, x.level)) { /* it orders no ops; proofs take it for a guess only */
		x.level = term_num(tt, 0);
		x.any_level = true;
	}
	if (bin_is_message(t->kind)) {
		if (term_has(tt, x.peer, w->s->count))
			stop_walk(w, insn, "the peer depends on count");
		add_check(w, insn, term_and(tt, term_le(tt, term_num(tt, 0), x.peer), term_lt(tt, x.peer, w->s->p)),
			  "the peer is no rank");
	}
	take_ranges(w, insn, t, in_call, &x);
	if (t->label != BIN_NONE)
		x.key = label_key(w, insn, t->label, in_call ? t->instance : 0, t->index);
	x.path = copy_path(w);
	x.ncalls = (unsigned)w->calls.n;
	x.calls = copy_of(w, w->calls.at, x.ncalls * sizeof *x.calls);
	if (VEC_PUSH(&w->s->ops, x))
		stop_memory(w);
}

static void emit_dep(struct walk *w, uint32_t insn, const struct bin_dep_tmpl *d, bool in_call)
{
	struct site_dep x = { .insn = insn, .start = d->start };

	if (w->dry)
		return;
	x.op = label_key(w, insn, d->op, in_call ? d->op_instance : 0, d->op_index);
	x.on = label_key(w, insn, d->on, in_call ? d->on_instance : 0, d->on_index);
	x.path = copy_path(w);
	if (VEC_PUSH(&w->s->deps, x))
		stop_memory(w);
}

static void emit_gets(struct walk *w, uint32_t insn, const struct bin_tmpl *t)
{
	struct site_gets x = { .insn = insn };

	if (w->dry)
		return;
	x.len = take_blocks(w, insn, reg_of(w, t->len), "length");
	x.to = (struct site_range){ t->buf[0], take_blocks(w, insn, reg_of(w, t->off[0]), "offset") };
	x.from = (struct site_range){ t->buf[1], take_blocks(w, insn, reg_of(w, t->off[1]), "offset") };
	x.rank = reg_of(w, t->peer);
	x.path = copy_path(w);
	if (VEC_PUSH(&w->s->gets, x))
		stop_memory(w);
}

/* ---- buffers in place ---- */

/* Adds a site once more, with another branch around it. */
static void add_branched(struct walk *w, struct site x, term cond)
{
	struct frame f[MOST_FRAMES + 1];
	int64_t k;

	for (unsigned i = 0; i < x.path.n; i++)
		if (x.path.frame[i].cond == term_not(w->t, cond))
			return; /* both cannot hold */
	if (term_is_num(w->t, cond, &k)) {
		if (!k)
			return;
	} else {
		memcpy(f + 1, x.path.frame, x.path.n * sizeof *f);
		f[0] = (struct frame){ .cond = cond, .var = TERM_NONE, .lo = TERM_NONE, .hi = TERM_NONE };
		x.path = (struct path){ copy_of(w, f, (x.path.n + 1) * sizeof *f), x.path.n + 1 };
	}
	if (VEC_PUSH(&w->s->ops, x))
		stop_memory(w);
}

/* Moves the ranges of a site from the buffer that is in place to the range that replaces it. */
static void move_ranges(struct walk *w, struct site *x)
{
	const struct site_inplace *in = &w->s->inplace;

	for (unsigned k = 0; k < bin_nranges(x->kind); k++)
		if (x->range[k].buf == in->buf) {
			x->range[k].buf = in->at.buf;
			x->range[k].off = term_add(w->t, x->range[k].off, in->at.off);
		}
}

/* Adds a site whose ranges were moved. Where it copies a range onto itself, it does nothing. */
static void add_moved(struct walk *w, struct site x)
{
	term same = term_num(w->t, 0);

	if (x.kind == BIN_OP_COPY && x.range[0].buf == x.range[1].buf)
		same = term_eq(w->t, x.range[0].off, x.range[1].off);
	add_branched(w, x, term_and(w->t, w->s->inplace.cond, term_not(w->t, same)));
	x.kind = BIN_OP_NOP;
	x.len = term_num(w->t, 0);
	add_branched(w, x, term_and(w->t, w->s->inplace.cond, same));
}

static void put_in_place(struct walk *w, uint32_t insn, const struct bin_tmpl *t, bool result)
{
	struct site_inplace *in = &w->s->inplace;
	const size_t n = w->s->ops.n;
	struct path path;

	if (w->dry)
		return;
	path = copy_path(w);
	in->any = true;
	in->cond = path_condition(w->t, &path, &(struct term_map){ 0 });
	in->at = (struct site_range){ t->buf[1], take_blocks(w, insn, reg_of(w, t->off[1]), "offset") };
	in->buf = t->buf[0];
	in->len = take_blocks(w, insn, reg_of(w, t->len), "length");
	if (result)
		return;
	check_range(w, insn, in->at.off, in->len, w->s->size[in->at.buf]);
	for (size_t i = 0; i < n; i++) {
		struct site x = w->s->ops.at[i];
		bool has = false;

		for (unsigned k = 0; k < bin_nranges(x.kind); k++)
			has |= x.range[k].buf == in->buf;
		if (!has)
			continue;
		/* The old site stays for the ranks that do not have the buffer in place; if there are none, its path says so. */
		add_branched(w, x, term_not(w->t, in->cond));
		move_ranges(w, &x);
		add_moved(w, x);
		w->s->ops.at[i].kind = BIN_OP_KINDS; /* removed below */
	}
	size_t kept = 0;

	for (size_t i = 0; i < w->s->ops.n; i++)
		if (w->s->ops.at[i].kind != BIN_OP_KINDS)
			w->s->ops.at[kept++] = w->s->ops.at[i];
	w->s->ops.n = kept;
}

/* ---- instructions ---- */

/* True if the parameter says whether a buffer is in place. */
static bool is_inplace(const struct bin *b, uint16_t param)
{
	bool any = false;

	for (uint32_t i = 0; i < b->nbuffers; i++)
		any |= b->buffers[i].inplace != 0;
	return any && !strcmp(bin_str(b, b->params[param].name), "inplace");
}

static void load_param(struct walk *w, uint32_t insn, const struct bin_word *i)
{
	const struct bin_param *p = &w->b->params[i->b];
	const char *name = bin_str(w->b, p->name);

	if (i->op == BIN_GIVEN) {
		w->reg[i->a] = term_num(w->t, p->has_default == BIN_NUMBER);
		return;
	}
	if (i->op != BIN_PARAM || p->vector)
		stop_walk(w, insn, "the vector %s", name);
	if (i->b == w->b->meta->root)
		w->reg[i->a] = w->s->root;
	else if (is_inplace(w->b, i->b))
		w->reg[i->a] = term_num(w->t, w->inplace);
	else if (p->has_default == BIN_NUMBER)
		w->reg[i->a] = term_num(w->t, p->value);
	else
		stop_walk(w, insn, "the parameter %s has no value", name);
}

/* Checks that an arithmetic instruction does not fail. Sizes of buffers bound what depends on count: a rank whose offsets do
 * not fit 64 bits cannot bind. */
static void check_arith(struct walk *w, uint32_t insn, int op, term a, term b, term out)
{
	struct terms *t = w->t;
	const struct term_node *n = term_at(t, out);

	if (w->dry)
		return;
	if (op == BIN_DIV || op == BIN_MOD)
		add_check(w, insn, term_not(t, term_eq(t, b, term_num(t, 0))), "division by 0");
	if (op == BIN_POW)
		add_check(w, insn, term_le(t, term_num(t, 0), b), "the exponent is negative");
	if (op == BIN_LOG2 || op == BIN_CEILLOG2)
		add_check(w, insn, term_lt(t, term_num(t, 0), a), "the logarithm of a number below 1");
	if (op == BIN_REVERSE)
		add_check(w, insn,
			  term_and(t, term_and(t, term_le(t, term_num(t, 0), b), term_le(t, b, term_num(t, 62))),
				   term_and(t, term_le(t, term_num(t, 0), a), term_lt(t, a, term_apply(t, BIN_POW, term_num(t, 2), b)))),
			  "a number whose bits are reversed has other bits");
	if (op == BIN_SHL || op == BIN_SHR)
		add_check(w, insn, term_and(t, term_le(t, term_num(t, 0), b), term_le(t, b, term_num(t, 63))),
			  "a shift by less than 0 or more than 63 bits");
	if ((n->lo == -TERM_MOST || n->hi == TERM_MOST) && !term_has(t, out, w->s->count))
		stop_walk(w, insn, "it is not known that this value fits 64 bits");
}

static void walk_arith(struct walk *w, uint32_t insn, const struct bin_word *i)
{
	const term a = w->reg[i->b], b = term_unary(i->op) ? TERM_NONE : w->reg[i->c];
	const term out = term_apply(w->t, i->op, a, b);

	check_arith(w, insn, i->op, a, b, out);
	w->reg[i->a] = out;
}

static void walk_window(struct walk *w, uint32_t insn, const struct bin_word *i)
{
	struct terms *t = w->t;
	struct span size, x;

	if (w->dry)
		return;
	size = take_length(w, insn, reg_of(w, w->b->windows[i->c].size), "size of a buffer");
	if (i->op == BIN_WITHIN) {
		const term off = take_offset(w, insn, w->reg[i->a], "range of the call");

		x = take_length(w, insn, w->reg[i->b], "length");
		check_range(w, insn, off, x.n, size.n);
		add_check(w, insn, span_begins(w->s, &x, off), PARTS_DIFFER);
		return;
	}
	x = take_length(w, insn, w->reg[i->a], "range of the call");
	add_check(w, insn, term_and(t, term_le(t, term_num(t, 0), size.n), term_le(t, size.n, x.n)),
		  "the range is shorter than the buffer of the call");
	if (x.first != TERM_NONE)
		add_check(w, insn, span_begins(w->s, &size, x.first), PARTS_DIFFER);
}

/* Sets the size of a buffer. The program of a call grows the buffer that holds its scratch. */
static void walk_size(struct walk *w, uint32_t insn, const struct bin_word *i)
{
	term size;

	if (w->dry)
		return;
	size = take_blocks(w, insn, w->reg[i->b], "size of a buffer");
	for (unsigned k = 0; k < w->nframes; k++)
		if (w->frame[k].var != TERM_NONE)
			stop_walk(w, insn, "a call in a loop has scratch buffers");
	add_check(w, insn, term_le(w->t, term_num(w->t, 0), size), "the size of a buffer is negative");
	w->s->size[i->a] = size;
}

static void walk_call(struct walk *w, const struct bin_word *i, uint32_t insn)
{
	const struct bin_call *c = &w->b->calls[i->imm];
	struct terms *t = w->t;
	term key;

	if (c->label == BIN_NONE) { /* each execution has labels of its own */
		key = term_num(t, -1 - (int64_t)insn);
		for (unsigned k = 0; k < w->nframes; k++)
			if (w->frame[k].var != TERM_NONE)
				key = term_key(t, key, w->frame[k].var, term_num(t, 0));
		w->reg[i->a] = key;
		return;
	}
	key = label_key(w, insn, c->label, c->instance, c->index);
	if (i->op == BIN_LEAVE) {
		w->calls.n--;
		return;
	}
	w->reg[i->a] = key;
	if (i->op != BIN_ENTER)
		return;
	if (VEC_PUSH(&w->calls, key))
		stop_memory(w);
	if (!w->dry && VEC_PUSH(&w->s->calls, (struct site){ .insn = insn, .path = copy_path(w), .key = key }))
		stop_memory(w);
}

static void walk_assert(struct walk *w, uint32_t insn, const struct bin_word *i)
{
	const term cond = term_not(w->t, term_not(w->t, w->reg[i->a]));
	int64_t k;

	if (w->dry || (term_is_num(w->t, cond, &k) && k))
		return;
	if (w->nframes)
		stop_walk(w, insn, "an assertion inside a statement");
	if (term_has(w->t, cond, w->s->r) || term_has(w->t, cond, w->s->count))
		stop_walk(w, insn, "an assertion that depends on the rank or on count");
	if (VEC_PUSH(&w->s->asserts, cond))
		stop_memory(w);
}

/* Carries out an instruction that is no jump. */
static void walk_insn(struct walk *w, uint32_t insn)
{
	const struct bin_word *i = &w->b->code[insn];
	struct terms *t = w->t;

	switch (i->op) {
	case BIN_IMM:
		w->reg[i->a] = term_num(t, i->imm);
		break;
	case BIN_CONST:
		w->reg[i->a] = term_num(t, w->b->consts[i->imm]);
		break;
	case BIN_MOV:
		w->reg[i->a] = w->reg[i->b];
		break;
	case BIN_PARAM:
	case BIN_GIVEN:
	case BIN_ELEM:
	case BIN_VECLEN:
	case BIN_PARAM_OF:
	case BIN_ELEM_OF:
	case BIN_LENGTH:
		load_param(w, insn, i);
		break;
	case BIN_BUFSIZE:
		walk_size(w, insn, i);
		break;
	case BIN_CHECK:
		add_check(w, insn, term_not(t, term_not(t, w->reg[i->a])), bin_str(w->b, (uint32_t)i->imm));
		break;
	case BIN_ASSERT:
		walk_assert(w, insn, i);
		break;
	case BIN_EMIT:
	case BIN_EMITIN:
	case BIN_COPYIN:
		emit_site(w, insn, &w->b->tmpls[i->imm], i->op != BIN_EMIT);
		break;
	case BIN_DEP:
	case BIN_DEPIN:
		emit_dep(w, insn, &w->b->deps[i->imm], i->op == BIN_DEPIN);
		break;
	case BIN_GETS:
		emit_gets(w, insn, &w->b->tmpls[i->imm]);
		break;
	case BIN_ENTER:
	case BIN_INSIDE:
	case BIN_LEAVE:
		walk_call(w, i, insn);
		break;
	case BIN_PEER:
		add_check(w, insn, term_and(t, term_le(t, term_num(t, 0), w->reg[i->a]), term_lt(t, w->reg[i->a], w->reg[i->b])),
			  "a rank of the call is out of range");
		break;
	case BIN_WITHIN:
	case BIN_FITS:
		walk_window(w, insn, i);
		break;
	case BIN_SIDE:
		stop_walk(w, insn, "the function side");
	default:
		walk_arith(w, insn, i);
	}
}

/* ---- branches ---- */

static void walk_range(struct walk *w, uint32_t from, uint32_t to);

static term *copy_regs(struct walk *w)
{
	return copy_of(w, w->reg, w->b->meta->nregs * sizeof *w->reg);
}

/* Walks one way of a branch, with the registers as they are before it. Returns the registers after it. */
static term *walk_way(struct walk *w, uint32_t insn, term cond, uint32_t from, uint32_t to, const term *before)
{
	memcpy(w->reg, before, w->b->meta->nregs * sizeof *w->reg);
	push_branch(w, insn, cond);
	walk_range(w, from, to);
	w->nframes--;
	return copy_regs(w);
}

/* True if instruction i is the jump with which a loop begins: the test of the loop jumps back behind it. */
static bool is_loop(const struct walk *w, uint32_t i, uint32_t *back)
{
	const struct bin_word *code = w->b->code;

	if (code[i].op != BIN_JMP || code[i].imm <= (int64_t)i)
		return false;
	for (uint32_t k = (uint32_t)code[i].imm; k < w->b->ncode && code[k].op != BIN_JMP && code[k].op != BIN_END; k++)
		if (code[k].op == BIN_JNZ && code[k].imm == (int64_t)i + 1) {
			*back = k;
			return true;
		}
	return false;
}

/* Walks a branch that begins at instruction i. Returns the instruction behind it. */
static uint32_t walk_branch(struct walk *w, uint32_t i, uint32_t to)
{
	const struct bin_word *code = w->b->code;
	const bool zero = code[i].op == BIN_JZ;
	const term *before = copy_regs(w), *then, *other;
	uint32_t skip = (uint32_t)code[i].imm, then_end = skip, end = skip, back;
	term cond = term_not(w->t, w->reg[code[i].a]);
	int64_t k;

	if (skip <= i || skip > to)
		stop_walk(w, i, "a jump that no statement makes");
	cond = zero ? term_not(w->t, cond) : cond;
	if (zero && code[skip - 1].op == BIN_JMP && !is_loop(w, skip - 1, &back) && code[skip - 1].imm >= (int64_t)skip) {
		then_end = skip - 1;
		end = (uint32_t)code[skip - 1].imm;
	}
	if (end > to)
		stop_walk(w, i, "a jump that no statement makes");
	if (term_has(w->t, cond, w->s->count) && !w->dry)
		stop_walk(w, i, "a condition depends on count");
	if (term_is_num(w->t, cond, &k)) {
		walk_range(w, k ? i + 1 : skip, k ? then_end : end);
		return end;
	}
	then = walk_way(w, i, cond, i + 1, then_end, before);
	other = walk_way(w, i, term_not(w->t, cond), skip, end, before);
	for (uint32_t r = 0; r < w->b->meta->nregs; r++)
		w->reg[r] = then[r] == other[r] ? then[r] : term_ite(w->t, cond, then[r], other[r]);
	return end;
}

/* ---- loops ---- */

static bool sets_register(int op)
{
	const bool other = op == BIN_END || op == BIN_JMP || op == BIN_JZ || op == BIN_JNZ || op == BIN_BUFSIZE ||
			   op == BIN_CHECK || op == BIN_ASSERT || op == BIN_EMIT || op == BIN_DEP || op == BIN_GETS ||
			   op == BIN_LENGTH || op == BIN_INPLACE || op == BIN_LEAVE || op == BIN_EMITIN || op == BIN_COPYIN ||
			   op == BIN_DEPIN || op == BIN_PEER || op == BIN_WITHIN || op == BIN_FITS;

	return !other;
}

static void find_changes(struct walk *w, uint32_t from, uint32_t to, struct changes *c)
{
	for (uint32_t i = from; i < to; i++) {
		const struct bin_word *word = &w->b->code[i];
		unsigned k = 0;

		if (!sets_register(word->op))
			continue;
		while (k < c->n && c->reg[k] != word->a)
			k++;
		if (k < c->n)
			continue;
		if (c->n == MOST_CHANGED)
			stop_walk(w, i, "a loop that changes many variables");
		c->reg[c->n] = word->a;
		c->first[c->n] = w->reg[word->a];
		c->closed[c->n] = TERM_NONE;
		c->var[c->n++] = term_var(w->t, "x", -TERM_MOST, TERM_MOST);
	}
	c->turn = term_var(w->t, "turn", 0, TERM_MOST);
}

/* Walks the body of a loop once with variables in all registers that change. Returns the condition of the loop. */
static term walk_dry(struct walk *w, uint32_t from, uint32_t test, uint32_t back, struct changes *c)
{
	const uint32_t seq = w->seq;

	w->dry++;
	for (unsigned i = 0; i < c->n; i++)
		w->reg[c->reg[i]] = c->var[i];
	walk_range(w, from, test);
	walk_range(w, test, back);
	for (unsigned i = 0; i < c->n; i++)
		c->next[i] = w->reg[c->reg[i]];
	w->dry--;
	w->seq = seq;
	return w->reg[w->b->code[back].a];
}

/* Returns the value of a register at the start of an iteration; if it is not known, a variable with its bounds. */
static term value_at(struct walk *w, const struct changes *c, unsigned i, term turn)
{
	term x;

	if (c->closed[i] != TERM_NONE)
		return changes_at(w->t, c, i, turn);
	x = term_var(w->t, "x", c->lo[i], c->hi[i]);
	if (VEC_PUSH(&w->unknown, x))
		stop_memory(w);
	return x;
}

static void walk_loop(struct walk *w, uint32_t i, uint32_t back)
{
	const uint32_t test = (uint32_t)w->b->code[i].imm;
	const term *before = copy_regs(w);
	struct changes c = { 0 };
	struct frame f = { .var = TERM_NONE };
	term turn = TERM_NONE, go;
	int64_t lo, hi;

	find_changes(w, i + 1, back, &c);
	go = walk_dry(w, i + 1, test, back, &c);
	for (unsigned k = 0; k < c.n && f.var == TERM_NONE; k++)
		if (!changes_counter(w->s, &c, k, go, &f, &turn))
			f.var = TERM_NONE;
	if (f.var == TERM_NONE)
		stop_walk(w, i, "a loop that does not count");
	memcpy(w->reg, before, w->b->meta->nregs * sizeof *w->reg);
	if (term_is_num(w->t, f.lo, &lo) && term_is_num(w->t, f.hi, &hi) && lo > hi)
		return;
	if ((term_has(w->t, f.lo, w->s->count) || term_has(w->t, f.hi, w->s->count)) && !w->dry)
		stop_walk(w, i, "the ends of a loop depend on count");
	changes_close(w->t, &c);
	changes_bound(w->t, &c, term_at(w->t, term_sub(w->t, f.hi, f.lo))->hi + 1);
	f.loop = ++w->s->loops;
	for (unsigned k = 0; k < c.n; k++)
		w->reg[c.reg[k]] = value_at(w, &c, k, turn);
	push_frame(w, i, f);
	walk_range(w, i + 1, test);
	w->nframes--;
	turn = term_apply(w->t, BIN_MAX, term_add(w->t, term_sub(w->t, f.hi, f.lo), term_num(w->t, 1)), term_num(w->t, 0));
	for (unsigned k = 0; k < c.n; k++) /* a register has the value that it would have in the next iteration */
		w->reg[c.reg[k]] = value_at(w, &c, k, turn);
}

/* ---- programs ---- */

static void walk_range(struct walk *w, uint32_t from, uint32_t to)
{
	const struct bin_word *code = w->b->code;
	uint32_t back;

	for (uint32_t i = from; i < to;) {
		switch (code[i].op) {
		case BIN_JMP:
			if (!is_loop(w, i, &back) || back >= to)
				stop_walk(w, i, "a jump that no statement makes");
			walk_loop(w, i, back);
			i = back + 1;
			break;
		case BIN_JZ:
		case BIN_JNZ:
			i = walk_branch(w, i, to);
			break;
		case BIN_INPLACE:
			put_in_place(w, i, &w->b->tmpls[code[i].imm], w->b->meta->result && i >= w->b->meta->result);
			i++;
			break;
		default:
			walk_insn(w, i++);
		}
	}
}

/* Walks a program. It begins with a jump to the instructions that load constants, which jump back behind it. */
static void walk_program(struct walk *w, uint32_t start)
{
	const struct bin_word *code = w->b->code;
	uint32_t load = (uint32_t)code[start].imm, i;

	if (code[start].op != BIN_JMP || load >= w->b->ncode)
		stop_walk(w, start, "a program of another compiler");
	for (i = load; i < w->b->ncode && code[i].op != BIN_JMP; i++)
		walk_insn(w, i);
	if (i == w->b->ncode || code[i].imm != (int64_t)start + 1 || load < 1 || code[load - 1].op != BIN_END)
		stop_walk(w, start, "a program of another compiler");
	walk_range(w, start + 1, load - 1);
}

static void refuse_in_path(struct walk *w, uint32_t insn, const struct path *p)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->frame[i].var == TERM_NONE) {
			refuse_unknown(w, insn, p->frame[i].cond);
		} else {
			refuse_unknown(w, insn, p->frame[i].lo);
			refuse_unknown(w, insn, p->frame[i].hi);
		}
}

static void refuse_in_op(struct walk *w, const struct site *x)
{
	const term part[] = { x->peer, x->tag, x->len, x->phase, x->key };

	refuse_in_path(w, x->insn, &x->path);
	for (unsigned i = 0; i < sizeof part / sizeof *part; i++)
		refuse_unknown(w, x->insn, part[i]);
	for (unsigned i = 0; i < bin_nranges(x->kind); i++)
		refuse_unknown(w, x->insn, x->range[i].off);
	for (unsigned i = 0; i < x->ncalls; i++)
		refuse_unknown(w, x->insn, x->calls[i]);
}

/* Stops if anything that proofs are about has a value that is not known: two executions would seem to have the same. */
static void refuse_all_unknown(struct walk *w)
{
	const struct sites *s = w->s;

	for (size_t i = 0; i < s->ops.n; i++)
		refuse_in_op(w, &s->ops.at[i]);
	for (size_t i = 0; i < s->calls.n; i++) {
		refuse_in_path(w, s->calls.at[i].insn, &s->calls.at[i].path);
		refuse_unknown(w, s->calls.at[i].insn, s->calls.at[i].key);
	}
	for (size_t i = 0; i < s->deps.n; i++) {
		refuse_in_path(w, s->deps.at[i].insn, &s->deps.at[i].path);
		refuse_unknown(w, s->deps.at[i].insn, s->deps.at[i].op);
		refuse_unknown(w, s->deps.at[i].insn, s->deps.at[i].on);
	}
	for (size_t i = 0; i < s->checks.n; i++) {
		refuse_in_path(w, s->checks.at[i].insn, &s->checks.at[i].path);
		refuse_unknown(w, s->checks.at[i].insn, s->checks.at[i].cond);
	}
	for (size_t i = 0; i < s->gets.n; i++) {
		const struct site_gets *g = &s->gets.at[i];
		const term part[] = { g->rank, g->len, g->to.off, g->from.off };

		refuse_in_path(w, g->insn, &g->path);
		for (unsigned k = 0; k < sizeof part / sizeof *part; k++)
			refuse_unknown(w, g->insn, part[k]);
	}
	for (size_t i = 0; i < s->asserts.n; i++)
		refuse_unknown(w, 0, s->asserts.at[i]);
	for (uint32_t i = 0; i < w->b->nbuffers; i++)
		refuse_unknown(w, 0, s->size[i]);
	if (s->inplace.any) {
		refuse_unknown(w, 0, s->inplace.cond);
		refuse_unknown(w, 0, s->inplace.at.off);
		refuse_unknown(w, 0, s->inplace.len);
	}
}

void sites_begin(struct sites *s, struct terms *t, struct arena *store)
{
	const int64_t most = SITES_MOST_RANKS;

	*s = (struct sites){ .t = t, .store = store, .parts = TERM_NONE };
	s->p = term_var(t, "p", 1, most);
	s->r = term_var(t, "r", 0, most - 1);
	s->root = term_var(t, "root", 0, most - 1);
	s->count = term_var(t, "count", 0, TERM_MOST);
	t->vars.at[term_at(t, s->r)->num].below = s->p;
	t->vars.at[term_at(t, s->root)->num].below = s->p;
}

/* Walks a program with the registers set to their first values. Returns 0, ERR_PASS or ERR_NOMEM. */
static int try_walk(struct walk *w, bool result)
{
	const struct bin *b = w->b;
	struct sites *s = w->s;
	const int err = setjmp(w->stop);

	if (err)
		return err == ERR_PASS ? err : ERR_NOMEM;
	s->t->nomem = &w->stop;
	w->reg = arena_alloc(s->store, b->meta->nregs * sizeof *w->reg);
	s->size = arena_alloc(s->store, (b->nbuffers + 1) * sizeof *s->size);
	if (!w->reg || !s->size)
		stop_memory(w);
	for (uint32_t i = 0; i < b->meta->nregs; i++)
		w->reg[i] = term_num(s->t, 0);
	for (uint32_t i = 0; i < b->nbuffers; i++)
		s->size[i] = term_num(s->t, 0);
	w->reg[0] = s->r;
	w->reg[1] = s->p;
	w->reg[2] = s->count;
	walk_program(w, result ? b->meta->result : 0);
	refuse_all_unknown(w);
	return 0;
}

void sites_fini(struct sites *s)
{
	VEC_FREE(&s->ops);
	VEC_FREE(&s->calls);
	VEC_FREE(&s->deps);
	VEC_FREE(&s->checks);
	VEC_FREE(&s->gets);
	VEC_FREE(&s->asserts);
}

int sites_translate(struct sites *s, const struct bin *b, bool inplace, bool result)
{
	struct walk w = { .s = s, .t = s->t, .b = b, .inplace = inplace, .divisor = TERM_NONE };
	jmp_buf *const nomem = s->t->nomem;
	const int err = try_walk(&w, result);

	s->t->nomem = nomem;
	VEC_FREE(&w.calls);
	VEC_FREE(&w.unknown);
	if (!err || w.divisor == TERM_NONE)
		return -err;
	sites_fini(s);
	*s = (struct sites){ .t = s->t,
			     .store = s->store,
			     .r = s->r,
			     .p = s->p,
			     .root = s->root,
			     .count = s->count,
			     .parts = w.divisor };
	return sites_translate(s, b, inplace, result);
}

term frame_condition(struct terms *t, const struct frame *f, const struct term_map *m)
{
	term var;

	if (f->var == TERM_NONE)
		return term_subst(t, f->cond, m);
	var = term_subst(t, f->var, m);
	return term_and(t, term_le(t, term_subst(t, f->lo, m), var), term_le(t, var, term_subst(t, f->hi, m)));
}

term path_condition(struct terms *t, const struct path *p, const struct term_map *m)
{
	term out = term_num(t, 1);

	for (unsigned i = 0; i < p->n; i++)
		out = term_and(t, out, frame_condition(t, &p->frame[i], m));
	return out;
}
