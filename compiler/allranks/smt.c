/* SPDX-License-Identifier: BSD-3-Clause
 * Obligations as texts of SMT-LIB 2.6, in bit-vectors that are wide enough for all values that the terms can have.
 *
 * A function that bit-vectors do not have, such as the remainder by a variable, is written for the arguments that occur in
 * practice. For all other arguments its value is a constant without a definition, so that the text allows more values than the
 * term has. A proof of the text is then still a proof of the obligation. */
#include "compiler/allranks/smt.h"

#include "format/arith.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- occurrence and width ---- */

static void mark_term(struct writer *w, term x)
{
	const struct term_node *n;

	if (x == TERM_NONE || w->used[x])
		return;
	n = term_at(w->t, x);
	w->used[x] = true;
	if (n->op == TERM_VAR) {
		mark_term(w, w->t->vars.at[n->num].below);
	} else if (n->op != TERM_NUM) {
		mark_term(w, n->a);
		mark_term(w, n->b);
		mark_term(w, n->c);
	}
}

/* Bits of a signed number with values up to x. */
static unsigned bits_of(int64_t x)
{
	const uint64_t a = x < 0 ? ~(uint64_t)x : (uint64_t)x;

	return a ? 65u - (unsigned)__builtin_clzll(a) : 1;
}

static void find_width(struct writer *w)
{
	w->width = 8;
	for (term x = 0; x < w->t->v.n; x++) {
		const struct term_node *n = term_at(w->t, x);
		unsigned lo, hi;

		if (!w->used[x])
			continue;
		w->wide |= n->lo == -TERM_MOST || n->hi == TERM_MOST || n->op == TERM_KEY;
		lo = bits_of(n->lo);
		hi = bits_of(n->hi);
		w->width = lo > w->width ? lo : w->width;
		w->width = hi > w->width ? hi : w->width;
	}
	w->width += 3; /* sums of a value and up to three divisors */
	w->wide |= w->width > 64;
}

/* ---- references ---- */

bool smt_is_bool(const struct writer *w, term x)
{
	const struct term_node *n = term_at(w->t, x);

	if (n->op == TERM_ITE)
		return smt_is_bool(w, n->b) && smt_is_bool(w, n->c);
	if (n->op == BIN_BAND || n->op == BIN_BOR)
		return smt_is_bool(w, n->a) && smt_is_bool(w, n->b);
	return n->op == BIN_EQ || n->op == BIN_LT || n->op == BIN_LE || n->op == BIN_NOT;
}

static void write_num(struct writer *w, int64_t x)
{
	const uint64_t mask = w->width == 64 ? UINT64_MAX : ((uint64_t)1 << w->width) - 1;

	if (!w->width && x < 0)
		text_add(w->out, "(- %" PRIu64 ")", -(uint64_t)x);
	else if (!w->width)
		text_add(w->out, "%" PRId64, x);
	else
		text_add(w->out, "(_ bv%" PRIu64 " %u)", (uint64_t)x & mask, w->width);
}

static void write_int(struct writer *w, term x)
{
	const struct term_node *n = term_at(w->t, x);

	if (n->op == TERM_NUM) {
		write_num(w, n->num);
	} else if (smt_is_bool(w, x)) {
		text_add(w->out, "(ite b%u ", x);
		write_num(w, 1);
		text_add(w->out, " ");
		write_num(w, 0);
		text_add(w->out, ")");
	} else {
		text_add(w->out, "t%u", x);
	}
}

void smt_bool(struct writer *w, term x)
{
	const struct term_node *n = term_at(w->t, x);

	if (n->op == TERM_NUM) {
		text_add(w->out, n->num ? "true" : "false");
	} else if (smt_is_bool(w, x)) {
		text_add(w->out, "b%u", x);
	} else {
		text_add(w->out, "(distinct t%u ", x);
		write_num(w, 0);
		text_add(w->out, ")");
	}
}

void smt_form(struct writer *w, term self, const char *form, const int64_t *arg)
{
	for (; *form; form++) {
		if (*form != '%') {
			text_add(w->out, "%c", *form);
			continue;
		}
		form++;
		if (*form == 'u')
			text_add(w->out, "u%u", self);
		else if (*form == 'i')
			write_int(w, (term)*arg++);
		else if (*form == 'z')
			write_num(w, 0);
		else if (*form == 'b')
			smt_bool(w, (term)*arg++);
		else
			write_num(w, *arg++);
	}
}

/* Declares a constant without a definition. */
static void declare_free(struct writer *w, const char *prefix, term x)
{
	text_add(w->out, "(declare-const %s%u (_ BitVec %u))\n", prefix, x, w->width);
}

/* Declares the value of a term, which lies in the interval of the term also where it has no definition. */
static void declare_value(struct writer *w, term x, const struct term_node *n)
{
	declare_free(w, "t", x);
	FORM(x, "(assert (and (bvsle %n %i) (bvsle %i %n)))\n", n->lo, x, x, n->hi);
}

/* ---- definitions ---- */

/* The logarithm: a constant with the property that defines it. The property can be met for each argument. */
static void define_log(struct writer *w, term x, const struct term_node *n)
{
	declare_value(w, x, n);
	if (n->op == BIN_LOG2)
		FORM(x, "(assert (=> (bvsle %n %i) (and (bvsle (bvshl %n %i) %i) (bvslt (bvashr %i %i) %n))))\n", 1, n->a, 1, x,
		     n->a, n->a, x, 2);
	else
		FORM(x,
		     "(assert (=> (bvsle %n %i) (and (bvule %i (bvshl %n %i)) (or (= %i %n) (bvult (bvshl %n (bvsub %i %n)) "
		     "%i)))))\n",
		     1, n->a, n->a, 1, x, x, 0, 1, x, 1, n->a);
}

/* The remainder by a number: the quotient is a constant with the property that defines it. */
static void define_by_number(struct writer *w, term x, const struct term_node *n, int64_t divisor)
{
	const bool mod = n->op == BIN_MOD;

	if ((divisor & (divisor - 1)) == 0) {
		if (mod)
			FORM(x, "(assert (= %i (bvand %i %n)))\n", x, n->a, divisor - 1);
		else
			FORM(x, "(assert (= %i (bvashr %i %n)))\n", x, n->a, __builtin_ctzll((uint64_t)divisor));
		return;
	}
	declare_free(w, "u", x);
	FORM(x, "(assert (let ((m (bvmul %u %n))) (and (bvsle m %i) (bvslt (bvsub %i m) %n) (bvsle %n %u) (bvsle %u %n))))\n",
	     divisor, n->a, n->a, divisor, term_at(w->t, n->a)->lo < 0 ? term_at(w->t, n->a)->lo : 0,
	     term_at(w->t, n->a)->hi > 0 ? term_at(w->t, n->a)->hi : 0);
	if (mod)
		FORM(x, "(assert (= %i (bvsub %i (bvmul %u %n))))\n", x, n->a, divisor);
	else
		FORM(x, "(assert (= %i %u))\n", x);
}

/* Remainder and quotient by 2 to the power of a term. They are exact wherever the power is defined (define_power()). */
static void define_by_power(struct writer *w, term x, const struct term_node *n, term exponent)
{
	FORM(x, "(assert (=> (and (bvsle %n %i) (bvsle %i %n)) (= %i ", 0, exponent, exponent, w->width - 2, x);
	if (n->op == BIN_MOD)
		FORM(x, "(bvand %i (bvsub %i %n)))))\n", n->a, n->b, 1);
	else
		FORM(x, "(bvashr %i %i))))\n", n->a, exponent);
}

/* Remainder and quotient. A remainder by another variable m is exact for values from -2m to 3m - 1. */
static void define_division(struct writer *w, term x, const struct term_node *n)
{
	int64_t k;

	declare_free(w, "t", x);
	if (term_is_num(w->t, n->b, &k) && k > 0 && k < INT32_MAX) {
		define_by_number(w, x, n, k);
		return;
	}
	if (term_at(w->t, n->b)->op == BIN_POW && term_is_num(w->t, term_at(w->t, n->b)->a, &k) && k == 2) {
		define_by_power(w, x, n, term_at(w->t, n->b)->b);
		return;
	}
	if (n->op == BIN_DIV || term_at(w->t, n->b)->lo < 0)
		return;
	FORM(x, "(assert (let ((v %i) (m %i)) (=> (bvslt %n m) (and (bvsle %n %i) (bvslt %i m) ", n->a, n->b, 0, 0, x, x);
	FORM(x, "(=> (and (bvsle %n v) (bvslt v m)) (= %i v)) ", 0, x);
	FORM(x, "(=> (and (bvsle m v) (bvslt v (bvadd m m))) (= %i (bvsub v m))) ", x);
	FORM(x, "(=> (and (bvsle (bvadd m m) v) (bvslt v (bvadd m m m))) (= %i (bvsub v (bvadd m m)))) ", x);
	FORM(x, "(=> (and (bvsle (bvneg m) v) (bvslt v %n)) (= %i (bvadd v m))) ", 0, x);
	FORM(x, "(=> (and (bvsle (bvneg (bvadd m m)) v) (bvslt v (bvneg m))) (= %i (bvadd v m m)))))))\n", x);
}

static void define_power(struct writer *w, term x, const struct term_node *n)
{
	int64_t base, value;

	declare_value(w, x, n);
	if (!term_is_num(w->t, n->a, &base) || base < 2)
		return;
	if (base == 2) {
		FORM(x, "(assert (=> (and (bvsle %n %i) (bvsle %i %n)) (= %i (bvshl %n %i))))\n", 0, n->b, n->b, w->width - 2, x,
		     1, n->b);
		return;
	}
	for (int64_t k = 0; k <= term_at(w->t, n->b)->hi && !power(base, k, &value) && bits_of(value) < w->width; k++)
		FORM(x, "(assert (=> (= %i %n) (= %i %n)))\n", n->b, k, x, value);
}

static const char *form_of(int op)
{
	switch (op) {
	case BIN_ADD:
		return "(bvadd %i %i)";
	case BIN_SUB:
		return "(bvsub %i %i)";
	case BIN_MUL:
		return "(bvmul %i %i)";
	case BIN_NEG:
		return "(bvneg %i)";
	case BIN_BNOT:
		return "(bvnot %i)";
	case BIN_XOR:
		return "(bvxor %i %i)";
	case BIN_EQ:
		return "(= %i %i)";
	case BIN_LT:
		return "(bvslt %i %i)";
	case BIN_LE:
		return "(bvsle %i %i)";
	case BIN_BAND:
		return "(bvand %i %i)";
	case BIN_BOR:
		return "(bvor %i %i)";
	case BIN_MIN:
		return "(ite (bvslt %i %i) %i %i)";
	case BIN_MAX:
		return "(ite (bvsgt %i %i) %i %i)";
	case BIN_ABS:
		return "(ite (bvslt %i %z) (bvneg %i) %i)";
	case BIN_LOWBIT:
		return "(bvand %i (bvneg %i))";
	}
	return NULL;
}

void smt_define(struct writer *w, term x, const char *form)
{
	const struct term_node *n = term_at(w->t, x);
	const bool bits = smt_is_bool(w, x);

	text_add(w->out, "(define-fun %c%u () ", bits ? 'b' : 't', x);
	if (bits)
		text_add(w->out, "Bool ");
	else if (w->width)
		text_add(w->out, "(_ BitVec %u) ", w->width);
	else
		text_add(w->out, "Int ");
	if (n->op == BIN_NOT)
		FORM(x, "(not %b)", n->a);
	else if (n->op == TERM_ITE)
		FORM(x, bits ? "(ite %b %b %b)" : "(ite %b %i %i)", n->a, n->b, n->c);
	else if (bits && n->op == BIN_BAND)
		FORM(x, "(and %b %b)", n->a, n->b);
	else if (bits && n->op == BIN_BOR)
		FORM(x, "(or %b %b)", n->a, n->b);
	else if (n->op == BIN_ABS || n->op == BIN_LOWBIT)
		FORM(x, form, n->a, n->a, n->a);
	else
		FORM(x, form, n->a, n->b, n->a, n->b);
	text_add(w->out, ")\n");
}

/* The lowest n->b bits in reverse order: all bits reversed, shifted down. */
static void define_reverse(struct writer *w, term x, const struct term_node *n)
{
	declare_value(w, x, n);
	FORM(x, "(assert (=> (and (bvsle %n %i) (bvsle %i %n)) (= %i (bvlshr ", 0, n->b, n->b, w->width, x);
	text_add(w->out, "(concat");
	for (unsigned i = 0; i < w->width; i++) {
		text_add(w->out, " ((_ extract %u %u) ", i, i);
		FORM(x, "%i)", n->a);
	}
	FORM(x, ") (bvsub %n %i)))))\n", w->width, n->b);
}

static void define_var(struct writer *w, term x, const struct term_node *n)
{
	const struct term_var *v = &w->t->vars.at[n->num];

	text_add(w->out, "; t%u is %s\n", x, v->name);
	declare_value(w, x, n);
	if (v->below != TERM_NONE)
		FORM(x, "(assert (bvslt %i %i))\n", x, v->below);
}

static void define_node(struct writer *w, term x)
{
	const struct term_node *n = term_at(w->t, x);

	switch (n->op) {
	case TERM_NUM:
		break;
	case TERM_VAR:
		define_var(w, x, n);
		break;
	case BIN_LOG2:
	case BIN_CEILLOG2:
		define_log(w, x, n);
		break;
	case BIN_DIV:
	case BIN_MOD:
		define_division(w, x, n);
		break;
	case BIN_POW:
		define_power(w, x, n);
		break;
	case BIN_REVERSE:
		define_reverse(w, x, n);
		break;
	case BIN_SHR:
		declare_value(w, x, n);
		FORM(x, "(assert (=> (and (bvsle %n %i) (bvslt %i %n)) (= %i (bvashr %i %i))))\n", 0, n->b, n->b, w->width, x,
		     n->a, n->b);
		break;
	case BIN_SHL:
	case BIN_POPCOUNT:
		declare_value(w, x, n);
		break;
	default:
		smt_define(w, x, form_of(n->op));
	}
}

/* Writes the values of the variables that are asked for, after the text has been found satisfiable. */
static void ask_values(struct writer *w, const term *vars, unsigned nvars)
{
	text_add(w->out, "(get-value (");
	for (unsigned i = 0; i < nvars; i++)
		text_add(w->out, "t%u ", vars[i]);
	text_add(w->out, "))\n");
}

bool smt_begin(struct writer *w, const struct terms *t, const struct obligation *o, const term *vars, unsigned nvars,
	       struct text *out)
{
	*w = (struct writer){ .t = t, .out = out, .used = mem_calloc(t->v.n, sizeof *w->used) };
	if (!w->used) {
		out->err = -ERR_NOMEM;
		return false;
	}
	for (unsigned i = 0; i < o->n; i++)
		mark_term(w, o->frame[i].cond);
	for (unsigned i = 0; i < nvars; i++)
		mark_term(w, vars[i]);
	mark_term(w, o->goal);
	return true;
}

void smt_end(struct writer *w, const struct obligation *o)
{
	text_add(w->out, "; the hypotheses and the negated claim\n");
	for (unsigned i = 0; i < o->n; i++) {
		text_add(w->out, "(assert ");
		smt_bool(w, o->frame[i].cond);
		text_add(w->out, ")\n");
	}
	text_add(w->out, "(assert (not ");
	smt_bool(w, o->goal);
	text_add(w->out, "))\n(check-sat)\n");
	free(w->used);
}

bool smt_write(const struct terms *t, const struct obligation *o, const term *vars, unsigned nvars, struct text *out)
{
	struct writer w;

	if (!smt_begin(&w, t, o, vars, nvars, out))
		return false;
	find_width(&w);
	text_add(out, "(set-option :produce-models true)\n(set-logic QF_BV)\n");
	for (term x = 0; x < t->v.n && !w.wide; x++)
		if (w.used[x])
			define_node(&w, x);
	smt_end(&w, o);
	ask_values(&w, vars, nvars);
	return !w.wide;
}
