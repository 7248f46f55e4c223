/* SPDX-License-Identifier: BSD-3-Clause
 * Obligations as texts of SMT-LIB 2.6 in linear arithmetic of integers. Powers of two and operations on bits are constants without
 * a definition, about which some facts are stated: those that trees and exchanges by powers of two need. So the text allows more
 * values than the terms have. If it is unsatisfiable, the obligation is proved; otherwise nothing is known. Solvers answer at once
 * where bit-vectors take minutes. */
#include "compiler/allranks/smt.h"

#include "format/arith.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- powers of two ---- */

/* Splits an exponent into a term and a number that is added to it. The term is TERM_NONE if the exponent is a number. */
static term exponent_base(const struct terms *t, term x, int64_t *more)
{
	const struct term_node *n = term_at(t, x);
	int64_t k;

	*more = 0;
	if (term_is_num(t, x, &k)) {
		*more = k;
		return TERM_NONE;
	}
	if (n->op == BIN_ADD && term_is_num(t, n->b, &k)) {
		*more = k;
		return n->a;
	}
	if (n->op == BIN_ADD && term_is_num(t, n->a, &k)) {
		*more = k;
		return n->b;
	}
	if (n->op == BIN_SUB && term_is_num(t, n->b, &k)) {
		*more = -k;
		return n->a;
	}
	return x;
}

/* True if x is a power of two; *exponent is the term over it. */
static bool is_power(const struct terms *t, term x, term *exponent)
{
	const struct term_node *n = term_at(t, x);
	int64_t base;

	if (n->op != BIN_POW || !term_is_num(t, n->a, &base) || base != 2)
		return false;
	*exponent = n->b;
	return true;
}

/* The exponent x has the power of two %u of itself: a constant that is the term 2^x, if the obligation has that. */
static void declare_power(struct writer *w, term x)
{
	text_add(w->out, "(declare-const u%" PRIu32 " Int)\n", x);
	FORM(x, "(assert (and (<= %n %u) (=> (= %i %n) (= %u %n)) (=> (< %n %i) (<= %n %u))))\n", 1, x, 0, 1, 0, x, 2);
}

/* Two powers u and v, with the exponents x and y. */
static void relate_powers(struct writer *w, term x, term y)
{
	int64_t k, j;

	if (exponent_base(w->t, x, &k) == exponent_base(w->t, y, &j) && k - j < 40 && j - k < 40) {
		const term low = k < j ? x : y, high = k < j ? y : x;

		FORM(low, "(assert (=> (<= %n %i) (= (* %n %u) ", 0, low, (int64_t)1 << (k < j ? j - k : k - j));
		FORM(high, "%u)))\n", 0);
		return;
	}
	for (unsigned way = 0; way < 2; way++) {
		const term a = way ? y : x, b = way ? x : y;

		FORM(a, "(assert (=> (and (<= %n %i) (< %i %i)) (<= (* %n %u) ", 0, a, a, b, 2);
		FORM(b, "%u)))\n", 0);
	}
	FORM(x, "(assert (=> (and (<= %n %i) (= %i %i)) (= %u ", 0, x, x, y);
	FORM(y, "%u)))\n", 0);
}

/* ---- bits ---- */

/* A remainder a mod 2^e or an exclusive or of a and 2^e. */
struct bit_op {
	term x, a, e;
};

/* The bit of a is set if the exclusive or is less than a. %u of x is a mod 2^e, and so x mod 2^e. */
static void define_flip(struct writer *w, term x, term a, term e)
{
	FORM(e, "(assert (=> (<= %n %i) (or (= %i (+ %i %u)) (= %i (- %i %u)))))\n", 0, e, x, a, x, a);
	FORM(x, "(assert (=> (and (<= %n %i) (<= %n %i)) (<= %n %i)))\n", 0, e, 0, a, 0, x);
	text_add(w->out, "(declare-const u%" PRIu32 " Int)\n", x);
	FORM(x, "(assert (=> (<= %n %i) (and (<= %n %u) (< %u ", 0, e, 0);
	FORM(e, "%u))))\n", 0);
}

/* If a is below another power 2^f that is no less, so is the end of its aligned group. */
static void relate_mod_power(struct writer *w, const struct bit_op *m, term f)
{
	FORM(f, "(assert (=> (and (<= %n %i) (<= %i %i) (<= %n %i) (< %i %u)) (<= (+ (- %i %i) ", 0, m->e, m->e, f, 0, m->a, m->a,
	     m->a, m->x);
	FORM(m->e, "%u) ", 0);
	FORM(f, "%u)))\n", 0);
}

static void relate_flip_power(struct writer *w, const struct bit_op *x, term f)
{
	FORM(f, "(assert (=> (and (<= %n %i) (< %i %i) (<= %n %i) (< %i %u)) (and (< %i %u) (<= (+ %i ", 0, x->e, x->e, f, 0,
	     x->a, x->a, x->x, x->x);
	FORM(x->e, "%u (- ", 0);
	FORM(x->x, "%u)) ", 0);
	FORM(f, "%u))))\n", 0);
}

/* Two remainders of the same number. */
static void relate_mods(struct writer *w, const struct bit_op *x, const struct bit_op *y)
{
	const struct bit_op *low = x, *high = y;
	int64_t k, j;

	for (unsigned way = 0; way < 2; way++, low = y, high = x) { /* the lower group is a part of the higher one */
		FORM(low->e, "(assert (=> (and (= %i %i) (<= %n %i) (<= %i %i)) (and (<= %i %i) (<= (+ %i %u) (+ %i ", x->a, y->a,
		     0, low->e, low->e, high->e, low->x, high->x, high->x, low->x);
		FORM(high->e, "%u)))))\n", 0);
	}
	if (exponent_base(w->t, x->e, &k) != exponent_base(w->t, y->e, &j) || (k - j != 1 && j - k != 1))
		return;
	low = k < j ? x : y;
	high = k < j ? y : x;
	FORM(low->e, "(assert (=> (and (= %i %i) (<= %n %i)) (or (= %i %i) (= %i (+ %i %u)))))\n", x->a, y->a, 0, low->e, high->x,
	     low->x, high->x, low->x);
}

/* Remainders of the same number, and the power with half the group of the higher one: the lower group is a part of that half in which
 * the number is. */
static void relate_halves(struct writer *w, const struct bit_op *low, const struct bit_op *high, term f)
{
	FORM(f, "(assert (=> (and (= %i %i) (<= %n %i) (<= %i %i) (= (+ %i %n) %i)) (ite (<= %u %i) (<= (+ %i %u) %i) (<= (+ %i ",
	     low->a, high->a, 0, low->e, low->e, f, f, 1, high->e, high->x, low->x, high->x, high->x);
	FORM(low->e, "%u) (+ %i ", low->x);
	FORM(f, "%u)))))\n", 0);
}

/* Two exclusive ors: of the same number, one of the other, or of a number and of where its group begins. */
static void relate_flips(struct writer *w, const struct bit_op *x, const struct bit_op *y)
{
	FORM(x->x, "(assert (=> (and (= %i %i) (= %i %i) (<= %n %i)) (= %i %i)))\n", x->a, y->a, x->e, y->e, 0, x->e, x->x, y->x);
	FORM(x->x, "(assert (=> (and (= %i %i) (= %i %i) (<= %n %i)) (= %i %i)))\n", x->x, y->a, x->e, y->e, 0, x->e, y->x, x->a);
	FORM(x->x, "(assert (=> (and (= %i %i) (= %i %i) (<= %n %i)) (= %i %i)))\n", y->x, x->a, x->e, y->e, 0, x->e, x->x, y->a);
	FORM(y->x, "(assert (=> (and (<= %n %i) (= %i %i) (= %i (- %i %u))) (= %i (- %i %u))))\n", 0, x->e, x->e, y->e, x->a,
	     y->a, x->x, y->x);
	FORM(x->x, "(assert (=> (and (<= %n %i) (= %i %i) (= %i (- %i %u))) (= %i (- %i %u))))\n", 0, x->e, x->e, y->e, y->a,
	     x->a, y->x, x->x);
}

/* An exclusive or and a remainder: of the same number, or a remainder of the exclusive or. */
static void relate_flip_mod(struct writer *w, const struct bit_op *x, const struct bit_op *m)
{
	FORM(x->x, "(assert (=> (and (or (= %i %i) (= %i %i)) (= %i %i) (<= %n %i)) (= %u %i)))\n", x->a, m->a, x->x, m->a, x->e, m->e,
	     0, x->e, m->x);
	FORM(x->x, "(assert (=> (and (= %i (- %i %i)) (= %i %i) (<= %n %i)) (= %u %n)))\n", x->a, m->a, m->x, x->e, m->e, 0, x->e,
	     0);
	/* a bit that is set adds to what is above the bits below */
	FORM(x->e, "(assert (=> (and (= %i %i) (= %i %i) (<= %n %i) (<= %n %i) (< %i %i)) (<= (+ %i %u) %i)))\n", x->a, m->a,
	     x->e, m->e, 0, x->e, 0, x->a, x->x, x->a, m->x, x->a);
	/* the bit that is flipped is the highest one of the remainder */
	FORM(x->e, "(assert (=> (and (= %i %i) (= %i (+ %i %n)) (<= %n %i)) (= (< %i %i) (<= %u %i))))\n", x->a, m->a, m->e, x->e,
	     1, 0, x->e, x->x, x->a, m->x);
}

/* An exclusive or of a, and a remainder by a higher power of a number in the same group as a: the other group is a part of the group
 * that the remainder is about. */
static void relate_groups(struct writer *w, const struct bit_op *x, const struct bit_op *m)
{
	FORM(x->x, "(assert (=> (and (<= %n %i) (< %i %i) (<= (- %i %u) %i) (< %i (+ (- %i %u) ", 0, x->e, x->e, m->e, x->a, m->a,
	     m->a, x->a);
	FORM(x->e, "%u))) (and (<= (- %i %i) (- %i ", m->a, m->x, x->x);
	FORM(x->x, "%u)) (<= (+ (- %i %u) ", x->x);
	FORM(x->e, "%u) (+ (- %i %i) ", m->a, m->x);
	FORM(m->e, "%u)))))\n", 0);
}

/* l is the highest bit in which a and b differ, the logarithm of max(a xor b, 1). In an exchange by this bit, the group of a meets
 * that of b. */
static void relate_distance_flip(struct writer *w, term l, term a, term b, const struct bit_op *x)
{
	FORM(x->x, "(assert (=> (and (= %i %i) (distinct %i %i) (<= %n %i) (<= %n %i) (<= (- %i %u) %i) (< %i (+ (- %i %u) ", l,
	     x->e, a, b, 0, a, 0, b, x->a, a, a, x->a);
	FORM(x->e, "%u))) (and (<= (- %i ", x->x);
	FORM(x->x, "%u) %i) (< %i (+ (- %i %u) ", b, b, x->x);
	FORM(x->e, "%u)))))\n", 0);
}

/* If b is in the same group as a, they differ only below. */
static void relate_distance_mod(struct writer *w, term l, term a, term b, const struct bit_op *m)
{
	FORM(m->e,
	     "(assert (=> (and (= %i %i) (distinct %i %i) (<= %n %i) (<= %n %i) (<= %n %i) (<= (- %i %i) %i) (< %i (+ (- %i %i) "
	     "%u))) ",
	     m->a, a, a, b, 0, m->e, 0, a, 0, b, a, m->x, b, b, a, m->x);
	FORM(m->e, "(< %i %i)))\n", l, m->e);
}

/* x is an exclusive or of a, m a remainder of a, and n one of x. Both are the same if the bit is not in them; otherwise a and x are
 * in the same group. */
static void relate_flipped(struct writer *w, const struct bit_op *x, const struct bit_op *m, const struct bit_op *n)
{
	FORM(x->x, "(assert (=> (and (= %i %i) (= %i %i) (= %i %i) (<= %n %i) (< %i %i)) (= (- %i %i) (- %i %i))))\n", x->a, m->a,
	     n->a, x->x, m->e, n->e, 0, x->e, x->e, m->e, x->x, n->x, x->a, m->x);
	FORM(x->x, "(assert (=> (and (= %i %i) (= %i %i) (= %i %i) (<= %n %i) (<= %i %i)) (= %i %i)))\n", x->a, m->a, n->a, x->x,
	     m->e, n->e, 0, m->e, m->e, x->e, n->x, m->x);
}

/* v is the number a with its n lowest bits reversed. */
struct reverse {
	term v, a, n;
};

/* Two reversed numbers: of the same number, or one of the other. */
static void relate_reverses(struct writer *w, const struct reverse *x, const struct reverse *y)
{
	FORM(x->n, "(assert (=> (and (= %i %i) (<= %n %i) (<= %n %i) (< %i %u)) (and (=> (= %i %i) (= %i %i)) (=> (= %i %i) (= %i %i)))))\n",
	     x->n, y->n, 0, x->n, 0, x->a, x->a, x->a, y->a, x->v, y->v, x->v, y->a, y->v, x->a);
}

/* Numbers that differ in the bit of x, reversed: these differ in the bit of y. */
static void relate_reverse_flips(struct writer *w, const struct reverse *v, const struct reverse *u, const struct bit_op *x,
				 const struct bit_op *y)
{
	FORM(v->n, "(assert (=> (and (= %i %i) (<= %n %i) (<= %n %i) (= (+ %i %i %n) %i) (<= %n %i) (< %i %u) ", v->n, u->n, 0, x->e, 0,
	     y->e, x->e, y->e, 1, v->n, 0, v->a, v->a);
	FORM(v->n, "(= %i %i) (= %i %i) (= %i %i)) (= %i %i)))\n", v->a, x->a, u->a, x->x, v->v, y->a, u->v, y->x);
}

/* ---- definitions ---- */

static void declare_value(struct writer *w, term x)
{
	const struct term_node *n = term_at(w->t, x);

	text_add(w->out, "(declare-const t%" PRIu32 " Int)\n", x);
	if (n->lo > -TERM_MOST)
		FORM(x, "(assert (<= %n %i))\n", n->lo, x);
	if (n->hi < TERM_MOST)
		FORM(x, "(assert (<= %i %n))\n", x, n->hi);
}

/* Remainder and quotient by a number. The quotient is a constant with the property that defines it. */
static void define_by_number(struct writer *w, term x, const struct term_node *n, int64_t divisor)
{
	text_add(w->out, "(declare-const q%" PRIu32 " Int)\n", x);
	text_add(w->out, "(assert (let ((m (* q%" PRIu32 " ", x);
	FORM(x, "%n))) (and (<= m %i) (< (- %i m) %n) ", divisor, n->a, n->a, divisor);
	if (n->op == BIN_MOD)
		FORM(x, "(= %i (- %i m)))))\n", x, n->a);
	else
		FORM(x, "(= (* %i %n) m))))\n", x, divisor);
}

/* A remainder by a variable m, for values from -2m to 3m - 1. */
static void define_mod(struct writer *w, term x, const struct term_node *n)
{
	FORM(x, "(assert (let ((v %i) (m %i)) (=> (< %n m) (and (<= %n %i) (< %i m) ", n->a, n->b, 0, 0, x, x);
	FORM(x, "(=> (and (<= %n v) (< v m)) (= %i v)) ", 0, x);
	FORM(x, "(=> (and (<= m v) (< v (+ m m))) (= %i (- v m))) ", x);
	FORM(x, "(=> (and (<= (+ m m) v) (< v (+ m m m))) (= %i (- v (+ m m)))) ", x);
	FORM(x, "(=> (and (<= (- m) v) (< v %n)) (= %i (+ v m))) ", 0, x);
	FORM(x, "(=> (and (<= (- (+ m m)) v) (< v (- m))) (= %i (+ v m m)))))))\n", x);
}

static void define_division(struct writer *w, term x, const struct term_node *n)
{
	term e;
	int64_t k;

	if (term_at(w->t, n->b)->lo > 0)
		declare_value(w, x);
	else
		text_add(w->out, "(declare-const t%" PRIu32 " Int)\n", x);
	if (term_is_num(w->t, n->b, &k) && k > 0 && k < INT32_MAX)
		define_by_number(w, x, n, k);
	else if (n->op == BIN_MOD && is_power(w->t, n->b, &e))
		FORM(e,
		     "(assert (=> (<= %n %i) (and (<= %n %i) (< %i %u) (=> (<= %n %i) (<= %i %i)) (=> (and (<= %n %i) (< %i %u)) "
		     "(= %i %i)))))\n",
		     0, e, 0, x, x, 0, n->a, x, n->a, 0, n->a, n->a, x, n->a);
	else if (n->op == BIN_MOD && term_at(w->t, n->b)->lo >= 0)
		define_mod(w, x, n);
	else if (n->op == BIN_DIV && is_power(w->t, n->b, &e))
		FORM(e, "(assert (=> (and (<= %n %i) (<= %n %i)) (and (<= %n %i) (<= %i %i) (= (= %i %n) (< %i %u)))))\n", 0, e,
		     0, n->a, 0, x, x, n->a, x, 0, n->a);
}

/* True for a remainder by a power of two, or an exclusive or with one. */
static bool is_bit_op(const struct terms *t, term x, struct bit_op *out)
{
	const struct term_node *n = term_at(t, x);

	*out = (struct bit_op){ .x = x, .a = n->a };
	if (n->op != BIN_MOD && n->op != BIN_XOR)
		return false;
	if (is_power(t, n->b, &out->e))
		return true;
	out->a = n->b;
	return n->op == BIN_XOR && is_power(t, n->a, &out->e);
}

/* An exclusive or with a number that is a power of two. */
static bool flips_number(const struct terms *t, const struct term_node *n, int64_t *k)
{
	return term_is_num(t, n->b, k) && *k > 0 && *k < INT32_MAX && !(*k & (*k - 1));
}

static void define_xor(struct writer *w, term x, const struct term_node *n)
{
	struct bit_op flip;
	int64_t k;

	declare_value(w, x);
	if (is_bit_op(w->t, x, &flip)) {
		define_flip(w, x, flip.a, flip.e);
	} else if (flips_number(w->t, n, &k)) { /* a = 2kq + b + rest, where b is 0 or k */
		text_add(w->out, "(declare-const q%" PRIu32 " Int)\n", x);
		text_add(w->out, "(assert (let ((m (* q%" PRIu32 " ", x);
		FORM(x, "%n))) (and (<= m %i) (< (- %i m) %n) (= %i (ite (< (- %i m) %n) (+ %i %n) (- %i %n))))))\n", 2 * k, n->a,
		     n->a, 2 * k, x, n->a, k, n->a, k, n->a, k);
	}
}

static const char *form_of(int op)
{
	switch (op) {
	case BIN_ADD:
		return "(+ %i %i)";
	case BIN_SUB:
		return "(- %i %i)";
	case BIN_NEG:
		return "(- %i)";
	case BIN_EQ:
		return "(= %i %i)";
	case BIN_LT:
		return "(< %i %i)";
	case BIN_LE:
		return "(<= %i %i)";
	case BIN_MIN:
		return "(ite (< %i %i) %i %i)";
	case BIN_MAX:
		return "(ite (> %i %i) %i %i)";
	case BIN_ABS:
		return "(ite (< %i %z) (- %i) %i)";
	case BIN_BAND: /* of 0 and 1 */
		return "(ite (and %b %b) 1 0)";
	case BIN_BOR:
		return "(ite (or %b %b) 1 0)";
	}
	return NULL;
}

/* True if both operands are 0 or 1, whether or not they are written as Bools. */
static bool are_bits(const struct terms *t, const struct term_node *n)
{
	const struct term_node *a = term_at(t, n->a), *b = term_at(t, n->b);

	return a->lo >= 0 && a->hi <= 1 && b->lo >= 0 && b->hi <= 1;
}

/* True if x is a choice between two numbers. */
static bool chooses_number(const struct terms *t, term x, int64_t *then, int64_t *other)
{
	const struct term_node *n = term_at(t, x);

	return n->op == TERM_ITE && term_is_num(t, n->b, then) && term_is_num(t, n->c, other);
}

/* Defines a product, which is free if neither factor is a number or a choice between two. */
static void define_product(struct writer *w, term x, const struct term_node *n)
{
	int64_t k, m;

	if (term_is_num(w->t, n->a, &k) || term_is_num(w->t, n->b, &k)) {
		smt_define(w, x, "(* %i %i)");
		return;
	}
	declare_value(w, x);
	for (unsigned i = 0; i < 2; i++) {
		const term choice = i ? n->b : n->a, other = i ? n->a : n->b;

		if (chooses_number(w->t, choice, &k, &m))
			FORM(x, "(assert (= %i (ite %b (* %n %i) (* %n %i))))\n", x, term_at(w->t, choice)->a, k, other, m, other);
	}
}

/* True if linear arithmetic has the operation. */
static bool is_linear(const struct terms *t, const struct term_node *n)
{
	if (n->op == BIN_BAND || n->op == BIN_BOR)
		return are_bits(t, n);
	return form_of(n->op) || n->op == BIN_NOT || n->op == TERM_ITE;
}

static void define_power(struct writer *w, term x, const struct term_node *n)
{
	int64_t base, value;
	term e;

	declare_value(w, x);
	if (is_power(w->t, x, &e))
		FORM(e, "(assert (=> (<= %n %i) (= %i %u)))\n", 0, e, x);
	else if (term_is_num(w->t, n->a, &base) && base > 2)
		for (int64_t k = 0; k <= term_at(w->t, n->b)->hi && !power(base, k, &value); k++)
			FORM(x, "(assert (=> (= %i %n) (= %i %n)))\n", n->b, k, x, value);
}

static void define_node(struct writer *w, term x)
{
	const struct term_node *n = term_at(w->t, x);

	switch (n->op) {
	case TERM_NUM:
		break;
	case TERM_VAR:
		text_add(w->out, "; t%" PRIu32 " is %s\n", x, w->t->vars.at[n->num].name);
		declare_value(w, x);
		if (w->t->vars.at[n->num].below != TERM_NONE)
			FORM(x, "(assert (< %i %i))\n", x, w->t->vars.at[n->num].below);
		break;
	case BIN_LOG2: /* of a power of two it is exact */
		declare_value(w, x);
		declare_power(w, x);
		FORM(x, "(assert (=> (<= %n %i) (and (<= %u %i) (< %i (* %n %u)))))\n", 1, n->a, n->a, n->a, 2);
		if (term_at(w->t, n->a)->op == BIN_LOWBIT)
			FORM(x, "(assert (=> (<= %n %i) (= %u %i)))\n", 1, n->a, n->a);
		break;
	case BIN_CEILLOG2:
		declare_value(w, x);
		declare_power(w, x);
		FORM(x, "(assert (=> (<= %n %i) (and (<= %i %u) (or (= %i %n) (< %u (* %n %i))))))\n", 1, n->a, n->a, x, 0, 2,
		     n->a);
		break;
	case BIN_DIV:
	case BIN_MOD:
		define_division(w, x, n);
		break;
	case BIN_MUL:
		define_product(w, x, n);
		break;
	case BIN_POW:
		define_power(w, x, n);
		break;
	case BIN_XOR:
		define_xor(w, x, n);
		break;
	case BIN_REVERSE:
		declare_value(w, x);
		break;
	case BIN_LOWBIT:
		declare_value(w, x);
		FORM(x, "(assert (=> (< %n %i) (and (<= %n %i) (<= %i %i))))\n", 0, n->a, 1, x, x, n->a);
		break;
	default:
		if (is_linear(w->t, n))
			smt_define(w, x, form_of(n->op));
		else
			declare_value(w, x);
	}
}

/* ---- facts ---- */

static bool is_log(const struct terms *t, term x)
{
	return term_at(t, x)->op == BIN_LOG2 || term_at(t, x)->op == BIN_CEILLOG2;
}

/* The exponents of which the text has a power. */
struct powers {
	term at[64];
	unsigned n;
};

static bool has_exponent(const struct powers *all, term x)
{
	for (unsigned i = 0; i < all->n; i++)
		if (all->at[i] == x)
			return true;
	return false;
}

static void add_exponent(struct powers *all, term x)
{
	if (!has_exponent(all, x) && all->n < sizeof all->at / sizeof *all->at)
		all->at[all->n++] = x;
}

/* Logarithms have a power, too. */
static void find_powers(const struct writer *w, struct powers *all)
{
	term e;

	for (term x = 0; x < w->t->v.n; x++)
		if (w->used[x] && is_power(w->t, x, &e))
			add_exponent(all, e);
		else if (w->used[x] && is_log(w->t, x))
			add_exponent(all, x);
}

#define MOST_BITS 32u

struct bits {
	struct bit_op mod[MOST_BITS], flip[MOST_BITS];
	struct reverse reverse[MOST_BITS];
	unsigned nmods, nflips, nreverses;
};

static void find_bits(const struct writer *w, struct bits *b)
{
	const struct term_node *n;
	struct bit_op x;

	for (term i = 0; i < w->t->v.n; i++) {
		n = term_at(w->t, i);
		if (w->used[i] && n->op == BIN_REVERSE && b->nreverses < MOST_BITS)
			b->reverse[b->nreverses++] = (struct reverse){ i, n->a, n->b };
		if (!w->used[i] || !is_bit_op(w->t, i, &x))
			continue;
		if (term_at(w->t, i)->op == BIN_MOD && b->nmods < MOST_BITS)
			b->mod[b->nmods++] = x;
		else if (term_at(w->t, i)->op == BIN_XOR && b->nflips < MOST_BITS)
			b->flip[b->nflips++] = x;
	}
}

/* About a reversed number of bits facts are stated if the text has their power of two. */
static void state_reverses(struct writer *w, const struct powers *p, const struct bits *b)
{
	for (unsigned i = 0; i < b->nreverses; i++) {
		const struct reverse *v = &b->reverse[i];

		if (!has_exponent(p, v->n))
			continue;
		FORM(v->n, "(assert (=> (and (<= %n %i) (<= %n %i) (< %i %u)) (< %i %u)))\n", 0, v->n, 0, v->a, v->a, v->v);
		for (unsigned k = 0; k < b->nreverses; k++) {
			if (k == i)
				continue;
			relate_reverses(w, v, &b->reverse[k]);
			for (unsigned x = 0; x < b->nflips; x++)
				for (unsigned y = 0; y < b->nflips; y++)
					if (x != y)
						relate_reverse_flips(w, v, &b->reverse[k], &b->flip[x], &b->flip[y]);
		}
	}
}

static void state_facts(struct writer *w, const struct powers *p, const struct bits *b)
{
	for (unsigned i = 0; i < p->n; i++) {
		for (unsigned k = 0; k < i; k++)
			relate_powers(w, p->at[i], p->at[k]);
		for (unsigned k = 0; k < b->nmods; k++)
			relate_mod_power(w, &b->mod[k], p->at[i]);
		for (unsigned k = 0; k < b->nflips; k++)
			relate_flip_power(w, &b->flip[k], p->at[i]);
	}
	for (unsigned i = 0; i < b->nmods; i++)
		for (unsigned k = 0; k < i; k++)
			relate_mods(w, &b->mod[i], &b->mod[k]);
	for (unsigned i = 0; i < b->nmods; i++)
		for (unsigned k = 0; k < b->nmods; k++)
			for (unsigned j = 0; j < p->n; j++)
				if (i != k)
					relate_halves(w, &b->mod[i], &b->mod[k], p->at[j]);
	for (unsigned i = 0; i < b->nflips; i++) {
		for (unsigned k = 0; k < i; k++)
			relate_flips(w, &b->flip[i], &b->flip[k]);
		for (unsigned k = 0; k < b->nmods; k++) {
			relate_flip_mod(w, &b->flip[i], &b->mod[k]);
			relate_groups(w, &b->flip[i], &b->mod[k]);
			for (unsigned j = 0; j < b->nmods; j++)
				if (j != k)
					relate_flipped(w, &b->flip[i], &b->mod[k], &b->mod[j]);
		}
	}
}

/* True for the logarithm of max(a xor b, 1). */
static bool is_distance(const struct terms *t, term x, term *a, term *b)
{
	const struct term_node n = *term_at(t, x);
	struct term_node most, other;
	int64_t k;

	if (n.op != BIN_LOG2 || term_at(t, n.a)->op != BIN_MAX)
		return false;
	most = *term_at(t, n.a);
	if (term_is_num(t, most.a, &k))
		most = (struct term_node){ .a = most.b, .b = most.a };
	other = *term_at(t, most.a);
	*a = other.a;
	*b = other.b;
	return other.op == BIN_XOR && term_is_num(t, most.b, &k) && k == 1;
}

static void state_distances(struct writer *w, const struct bits *bits)
{
	term a, b;

	for (term x = 0; x < w->t->v.n; x++) {
		if (!w->used[x] || !is_distance(w->t, x, &a, &b))
			continue;
		for (unsigned i = 0; i < bits->nflips; i++) {
			relate_distance_flip(w, x, a, b, &bits->flip[i]);
			relate_distance_flip(w, x, b, a, &bits->flip[i]);
		}
		for (unsigned i = 0; i < bits->nmods; i++) {
			relate_distance_mod(w, x, a, b, &bits->mod[i]);
			relate_distance_mod(w, x, b, a, &bits->mod[i]);
		}
	}
}

bool smt_write_int(const struct terms *t, const struct obligation *o, struct text *out)
{
	struct powers powers = { .n = 0 };
	struct bits bits = { 0 };
	struct writer w;

	if (!smt_begin(&w, t, o, NULL, 0, out))
		return false;
	text_add(out, "(set-logic QF_LIA)\n");
	find_powers(&w, &powers);
	find_bits(&w, &bits);
	for (term x = 0; x < t->v.n; x++) {
		w.wide |= w.used[x] && term_at(t, x)->op == TERM_KEY;
		if (!w.used[x] || w.wide)
			continue;
		define_node(&w, x);
		for (unsigned i = 0; i < powers.n; i++) /* an exponent comes before its power */
			if (powers.at[i] == x && !is_log(t, x))
				declare_power(&w, x);
	}
	if (!w.wide) {
		state_facts(&w, &powers, &bits);
		state_reverses(&w, &powers, &bits);
		state_distances(&w, &bits);
	}
	smt_end(&w, o);
	return !w.wide;
}
