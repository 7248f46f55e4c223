/* SPDX-License-Identifier: BSD-3-Clause
 * Terms: construction with simplification, intervals, substitution and evaluation. */
#include "compiler/allranks/term.h"

#include "format/arith.h"
#include "format/read.h"
#include "util/hash64.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void terms_fini(struct terms *t)
{
	VEC_FREE(&t->v);
	VEC_FREE(&t->vars);
	index_free(&t->by_node);
}

/* ---- intervals ---- */

typedef __int128 wide;

static int64_t cut_wide(wide x)
{
	return x > TERM_MOST ? TERM_MOST : x < -TERM_MOST ? -TERM_MOST : (int64_t)x;
}

static void set_interval(struct term_node *n, wide lo, wide hi)
{
	n->lo = cut_wide(lo);
	n->hi = cut_wide(hi);
}

static bool is_bounded(const struct term_node *n)
{
	return n->lo > -TERM_MOST && n->hi < TERM_MOST;
}

/* Returns the smallest number 2^k - 1 that is at least x. A number from -2^k to 2^k - 1 has k bits below those that are all equal
 * to its sign, and operations by bits keep that. */
static int64_t ones_over(int64_t x)
{
	int64_t m = 0;

	while (m < x)
		m = 2 * m + 1;
	return m;
}

static int64_t log_of(int64_t x, bool up)
{
	int64_t out = 0;

	return apply_unary(up ? BIN_CEILLOG2 : BIN_LOG2, x < 1 ? 1 : x, &out) ? 0 : out;
}

static void bound_product(struct term_node *n, const struct term_node *a, const struct term_node *b)
{
	const wide x[] = { (wide)a->lo * b->lo, (wide)a->lo * b->hi, (wide)a->hi * b->lo, (wide)a->hi * b->hi };
	wide lo = x[0], hi = x[0];

	for (unsigned i = 1; i < 4; i++) {
		lo = x[i] < lo ? x[i] : lo;
		hi = x[i] > hi ? x[i] : hi;
	}
	if (is_bounded(a) && is_bounded(b))
		set_interval(n, lo, hi);
}

static void bound_power(struct term_node *n, const struct term_node *a, const struct term_node *b)
{
	int64_t most;

	if (a->lo >= 1 && b->hi < 64 && b->hi >= 0 && !power(a->hi, b->hi, &most))
		set_interval(n, 1, most);
}

/* Bounds an operation by bits. */
static void bound_bits(struct term_node *n, const struct term_node *a, const struct term_node *b)
{
	const int64_t lo = a->lo < b->lo ? a->lo : b->lo, hi = a->hi > b->hi ? a->hi : b->hi;
	const int64_t ones = ones_over(hi > -1 - lo ? hi : -1 - lo);

	if (is_bounded(a) && is_bounded(b))
		set_interval(n, lo < 0 ? -1 - ones : 0, ones);
}

static void bound_binary(struct term_node *n, const struct term_node *a, const struct term_node *b)
{
	const bool natural = a->lo >= 0 && b->lo >= 0;

	switch (n->op) {
	case BIN_ADD:
		set_interval(n, (wide)a->lo + b->lo, (wide)a->hi + b->hi);
		break;
	case BIN_SUB:
		set_interval(n, (wide)a->lo - b->hi, (wide)a->hi - b->lo);
		break;
	case BIN_MUL:
		bound_product(n, a, b);
		break;
	case BIN_DIV:
		if (natural && b->lo > 0)
			set_interval(n, a->lo / b->hi, a->hi / b->lo);
		else if (b->lo > 0)
			set_interval(n, a->lo < 0 ? a->lo : 0, a->hi > 0 ? a->hi : 0);
		break;
	case BIN_MOD:
		if (b->lo >= 0 && b->hi > 0) /* by 0 it fails */
			set_interval(n, 0, a->lo >= 0 && a->hi < b->hi ? a->hi : b->hi - 1);
		break;
	case BIN_POW:
		bound_power(n, a, b);
		break;
	case BIN_BAND:
		if (natural)
			set_interval(n, 0, b->hi < a->hi ? b->hi : a->hi);
		else
			bound_bits(n, a, b);
		break;
	case BIN_SHR:
		if (natural)
			set_interval(n, 0, a->hi);
		break;
	case BIN_BOR:
	case BIN_XOR:
		bound_bits(n, a, b);
		break;
	case BIN_REVERSE:
		set_interval(n, 0, b->hi >= 0 && b->hi < 61 ? ((int64_t)1 << b->hi) - 1 : TERM_MOST);
		break;
	case BIN_MIN:
		set_interval(n, a->lo < b->lo ? a->lo : b->lo, a->hi < b->hi ? a->hi : b->hi);
		break;
	case BIN_MAX:
		set_interval(n, a->lo > b->lo ? a->lo : b->lo, a->hi > b->hi ? a->hi : b->hi);
		break;
	case BIN_EQ:
	case BIN_NE:
	case BIN_LT:
	case BIN_LE:
		set_interval(n, 0, 1);
		break;
	}
}

static void bound_unary(struct term_node *n, const struct term_node *a)
{
	switch (n->op) {
	case BIN_NOT:
		set_interval(n, 0, 1);
		break;
	case BIN_NEG:
		set_interval(n, -(wide)a->hi, -(wide)a->lo);
		break;
	case BIN_BNOT:
		set_interval(n, -(wide)a->hi - 1, -(wide)a->lo - 1);
		break;
	case BIN_ABS:
		set_interval(n, 0, a->hi > -a->lo ? a->hi : -a->lo);
		break;
	case BIN_LOG2:
	case BIN_CEILLOG2:
		set_interval(n, log_of(a->lo, n->op == BIN_CEILLOG2), log_of(a->hi, n->op == BIN_CEILLOG2));
		break;
	case BIN_LOWBIT:
		if (is_bounded(a))
			set_interval(n, a->lo > 0, a->lo >= 0 ? a->hi : ones_over(a->hi > -a->lo ? a->hi : -a->lo) + 1);
		break;
	case BIN_POPCOUNT:
		set_interval(n, 0, 64);
		break;
	}
}

static void bound_node(const struct terms *t, struct term_node *n)
{
	set_interval(n, -TERM_MOST, TERM_MOST);
	if (n->op == TERM_NUM)
		set_interval(n, n->num, n->num);
	else if (n->op == TERM_ITE)
		set_interval(n, term_at(t, n->b)->lo < term_at(t, n->c)->lo ? term_at(t, n->b)->lo : term_at(t, n->c)->lo,
			     term_at(t, n->b)->hi > term_at(t, n->c)->hi ? term_at(t, n->b)->hi : term_at(t, n->c)->hi);
	else if (n->op < TERM_NUM && n->b == TERM_NONE)
		bound_unary(n, term_at(t, n->a));
	else if (n->op < TERM_NUM)
		bound_binary(n, term_at(t, n->a), term_at(t, n->b));
}

/* ---- nodes ---- */

static bool same_node(const void *array, uint32_t i, const void *key)
{
	const struct term_node *x = (const struct term_node *)array + i, *y = key;

	return x->op == y->op && x->a == y->a && x->b == y->b && x->c == y->c && x->num == y->num;
}

static term store_node(struct terms *t, struct term_node n)
{
	const uint64_t hash = hash64(hash64(n.op + ((uint64_t)n.a << 32)) ^ hash64(n.b + ((uint64_t)n.c << 32)) ^
				     hash64((uint64_t)n.num));
	const int64_t old = index_find(&t->by_node, hash, same_node, t->v.at, &n);

	if (old >= 0)
		return (term)old;
	if (n.op != TERM_VAR)
		bound_node(t, &n);
	if (VEC_PUSH(&t->v, n) || index_add(&t->by_node, hash, t->v.n - 1))
		longjmp(*t->nomem, 1);
	return (term)t->v.n - 1;
}

static term make_node(struct terms *t, int op, term a, term b, term c)
{
	return store_node(t, (struct term_node){ .op = (uint8_t)op, .a = a, .b = b, .c = c });
}

term term_num(struct terms *t, int64_t x)
{
	return store_node(t, (struct term_node){ .op = TERM_NUM, .a = TERM_NONE, .b = TERM_NONE, .c = TERM_NONE, .num = x });
}

term term_var(struct terms *t, const char *name, int64_t lo, int64_t hi)
{
	struct term_var v = { .below = TERM_NONE };
	struct term_node n = { .op = TERM_VAR, .a = TERM_NONE, .b = TERM_NONE, .c = TERM_NONE, .num = (int64_t)t->vars.n };

	snprintf(v.name, sizeof v.name, "%s", name);
	set_interval(&n, lo, hi);
	if (VEC_PUSH(&t->vars, v))
		longjmp(*t->nomem, 1);
	return store_node(t, n);
}

term term_key(struct terms *t, term a, term b, term c)
{
	return make_node(t, TERM_KEY, a, b, c);
}

/* ---- sums: a number, and atoms with factors ---- */

static void sum_add_atom(struct term_sum *s, term x, int64_t factor)
{
	unsigned i = 0;

	while (i < s->n && s->atom[i] != x)
		i++;
	if (i == TERM_SUM) {
		s->full = true;
		return;
	}
	if (i == s->n) {
		s->atom[i] = x;
		s->factor[i] = 0;
		s->n++;
	}
	s->full |= __builtin_add_overflow(s->factor[i], factor, &s->factor[i]);
}

static void sum_add(const struct terms *t, struct term_sum *s, term x, int64_t factor)
{
	const struct term_node *n = term_at(t, x);
	int64_t k;

	if (n->op == TERM_NUM) {
		s->full |= __builtin_mul_overflow(n->num, factor, &k) || __builtin_add_overflow(s->num, k, &s->num);
	} else if (n->op == BIN_ADD || n->op == BIN_SUB) {
		sum_add(t, s, n->a, factor);
		sum_add(t, s, n->b, n->op == BIN_ADD ? factor : -factor);
	} else if (n->op == BIN_NEG) {
		sum_add(t, s, n->a, -factor);
	} else if (n->op == BIN_MUL && term_is_num(t, n->b, &k)) {
		s->full |= __builtin_mul_overflow(factor, k, &k);
		sum_add(t, s, n->a, k);
	} else {
		sum_add_atom(s, x, factor);
	}
}

static void sum_sort(struct term_sum *s)
{
	for (unsigned i = 1; i < s->n; i++)
		for (unsigned k = i; k && s->atom[k - 1] > s->atom[k]; k--) {
			const term x = s->atom[k];
			const int64_t f = s->factor[k];

			s->atom[k] = s->atom[k - 1];
			s->factor[k] = s->factor[k - 1];
			s->atom[k - 1] = x;
			s->factor[k - 1] = f;
		}
}

static term sum_atom(struct terms *t, term x, int64_t factor)
{
	return factor == 1 ? x : make_node(t, BIN_MUL, x, term_num(t, factor), TERM_NONE);
}

/* Returns the sum as a term. Atoms stand in the order of their numbers, those with positive factors first. */
static term sum_term(struct terms *t, struct term_sum *s)
{
	term out = TERM_NONE;

	sum_sort(s);
	for (unsigned i = 0; i < s->n; i++)
		if (s->factor[i] > 0)
			out = out == TERM_NONE ? sum_atom(t, s->atom[i], s->factor[i]) :
						 make_node(t, BIN_ADD, out, sum_atom(t, s->atom[i], s->factor[i]), TERM_NONE);
	if (out == TERM_NONE || s->num > 0)
		out = out == TERM_NONE ? term_num(t, s->num) : make_node(t, BIN_ADD, out, term_num(t, s->num), TERM_NONE);
	else if (s->num < 0)
		out = make_node(t, BIN_SUB, out, term_num(t, -s->num), TERM_NONE);
	for (unsigned i = 0; i < s->n; i++)
		if (s->factor[i] < 0)
			out = make_node(t, BIN_SUB, out, sum_atom(t, s->atom[i], -s->factor[i]), TERM_NONE);
	return out;
}

static term make_sum(struct terms *t, int op, term a, term b)
{
	struct term_sum s = { 0 };
	int64_t k;

	if (op == BIN_MUL) {
		if (term_is_num(t, a, &k))
			sum_add(t, &s, b, k);
		else if (term_is_num(t, b, &k))
			sum_add(t, &s, a, k);
		else
			return make_node(t, op, a < b ? a : b, a < b ? b : a, TERM_NONE);
	} else {
		sum_add(t, &s, a, op == BIN_NEG ? -1 : 1);
		if (op != BIN_NEG)
			sum_add(t, &s, b, op == BIN_ADD ? 1 : -1);
	}
	return s.full ? make_node(t, op, a, op == BIN_NEG ? TERM_NONE : b, TERM_NONE) : sum_term(t, &s);
}

int64_t term_number(struct terms *t, term x, term *rest)
{
	struct term_sum s = { 0 };
	int64_t num;

	sum_add(t, &s, x, 1);
	num = s.num;
	s.num = 0;
	*rest = s.full || !num ? x : sum_term(t, &s);
	return s.full ? 0 : num;
}

void term_sum_of(const struct terms *t, term x, struct term_sum *out)
{
	unsigned n = 0;

	*out = (struct term_sum){ 0 };
	sum_add(t, out, x, 1);
	if (out->full) {
		*out = (struct term_sum){ .atom = { x }, .factor = { 1 }, .n = 1 };
		return;
	}
	sum_sort(out);
	for (unsigned i = 0; i < out->n; i++)
		if (out->factor[i]) {
			out->atom[n] = out->atom[i];
			out->factor[n++] = out->factor[i];
		}
	out->n = n;
}

term term_equation(struct terms *t, term x)
{
	struct term_sum plus = { 0 }, minus = { 0 }, s = { 0 };

	sum_add(t, &s, x, 1);
	if (s.full)
		return term_eq(t, x, term_num(t, 0));
	for (unsigned i = 0; i < s.n; i++)
		if (s.factor[i])
			sum_add_atom(s.factor[i] > 0 ? &plus : &minus, s.atom[i], s.factor[i] > 0 ? s.factor[i] : -s.factor[i]);
	plus.num = s.num > 0 ? s.num : 0;
	minus.num = s.num < 0 ? -s.num : 0;
	return term_eq(t, sum_term(t, &plus), sum_term(t, &minus));
}

term term_isolate(struct terms *t, term x, const term *keep, unsigned nkeep, term *value)
{
	struct term_sum s = { 0 };

	sum_add(t, &s, x, 1);
	for (unsigned i = 0; i < s.n && !s.full; i++) {
		const term var = s.atom[i];
		const int64_t factor = s.factor[i];
		bool out = term_at(t, var)->op == TERM_VAR && (factor == 1 || factor == -1);

		for (unsigned k = 0; k < nkeep && out; k++)
			out = keep[k] != var;
		for (unsigned k = 0; k < s.n && out; k++)
			out = k == i || !s.factor[k] || !term_has(t, s.atom[k], var);
		if (!out)
			continue;
		s.factor[i] = 0;
		*value = sum_term(t, &s);
		if (factor > 0)
			*value = term_apply(t, BIN_NEG, *value, TERM_NONE);
		return var;
	}
	return TERM_NONE;
}

/* ---- simplification ---- */

/* Powers of two in sums are 2^n times 2^k, so that sums can be compared. Divisors and operands of bits are 2^(k + n): they have
 * properties as powers. */
static term join_power(struct terms *t, term x)
{
	const struct term_node n = *term_at(t, x);
	int64_t factor;
	term k;

	if (n.op != BIN_MUL || !term_is_num(t, n.b, &factor) || factor < 1 || (factor & (factor - 1)) ||
	    !term_power_of_two(t, n.a, &k))
		return x;
	k = make_sum(t, BIN_ADD, k, term_num(t, __builtin_ctzll((uint64_t)factor)));
	return make_node(t, BIN_POW, term_at(t, n.a)->a, k, TERM_NONE);
}

term term_spread(struct terms *t, term x)
{
	const struct term_node n = *term_at(t, x);

	return n.op == BIN_POW ? term_apply(t, BIN_POW, n.a, n.b) : x;
}

/* True if x is known to be less than y, or at most y if `equal` is set. */
static bool is_below(struct terms *t, term x, term y, bool equal)
{
	const term most = term_spread(t, y), d = make_sum(t, BIN_SUB, most, x);
	const struct term_node n = *term_at(t, x);

	if (term_at(t, d)->lo >= (equal ? 0 : 1) && term_at(t, d)->hi < TERM_MOST)
		return true;
	if (n.op == TERM_VAR && t->vars.at[n.num].below == y)
		return true;
	return n.op == BIN_MOD && term_spread(t, n.b) == most && term_at(t, most)->lo > 0;
}

/* Compares a minimum or a maximum with one of its arguments. Returns TERM_NONE if it is neither. */
static term order_extreme(struct terms *t, int op, term a, term b)
{
	const struct term_node x = *term_at(t, a), y = *term_at(t, b);

	if ((x.op == BIN_MIN || x.op == BIN_MAX) && (x.a == b || x.b == b)) {
		const term other = x.a == b ? x.b : x.a;

		if ((x.op == BIN_MIN) == (op == BIN_LT))
			return term_apply(t, op, other, b); /* min(b, c) < b, max(b, c) <= b */
		return term_num(t, op == BIN_LE); /* min(b, c) <= b, max(b, c) < b */
	}
	if ((y.op == BIN_MIN || y.op == BIN_MAX) && (y.a == a || y.b == a)) {
		const term other = y.a == a ? y.b : y.a;

		if ((y.op == BIN_MAX) == (op == BIN_LT))
			return term_apply(t, op, a, other);
		return term_num(t, op == BIN_LE);
	}
	return TERM_NONE;
}

static term simplify_order(struct terms *t, int op, term a, term b)
{
	const term extreme = order_extreme(t, op, a, b);

	if (extreme != TERM_NONE)
		return extreme;
	if (is_below(t, a, b, op == BIN_LE))
		return term_num(t, 1);
	if (is_below(t, b, a, op == BIN_LT))
		return term_num(t, 0);
	return make_node(t, op, a, b, TERM_NONE);
}

/* Simplifies "and" and "or" of bits. */
static term simplify_bits(struct terms *t, int op, term a, term b)
{
	const bool and = op == BIN_BAND;

	for (unsigned i = 0; i < 2; i++) {
		const term x = i ? b : a, y = i ? a : b;
		int64_t k;

		if (!term_is_num(t, x, &k))
			continue;
		if (k == 0)
			return and? x : y;
		if (k == 1 && term_boolean(t, y))
			return and? y : x;
	}
	return a == b ? a : make_node(t, op, a < b ? a : b, a < b ? b : a, TERM_NONE);
}

/* True if x is a product with the factor y; *other is then the other factor. */
static bool is_multiple(const struct terms *t, term x, term y, term *other)
{
	const struct term_node *n = term_at(t, x);

	if (n->op != BIN_MUL || (n->a != y && n->b != y))
		return false;
	*other = n->a == y ? n->b : n->a;
	return true;
}

/* True if `factor` times x is a multiple of a power of two, m, because x is a power of two. */
static bool is_power_multiple(struct terms *t, term x, int64_t factor, term m)
{
	term k, e, rest;
	int64_t more;

	if (!term_power_of_two(t, x, &k) || !term_power_of_two(t, m, &e))
		return false;
	more = term_number(t, make_sum(t, BIN_SUB, e, k), &rest);
	return term_at(t, rest)->op == TERM_NUM && (more <= 0 || (more < 62 && factor % ((int64_t)1 << more) == 0));
}

/* Removes from a sum what does not change its remainder by m: multiples of m, and remainders by m among the summands. */
static term flat_sum(struct terms *t, term x, term m)
{
	struct term_sum in = { 0 }, out = { 0 };
	int64_t k;

	sum_add(t, &in, x, 1);
	out.num = in.num;
	if (!term_is_num(t, m, &k))
		k = INT64_MAX;
	out.num = k < INT64_MAX ? (in.num % k + k) % k : in.num;
	for (unsigned i = 0; i < in.n; i++) {
		const struct term_node a = *term_at(t, in.atom[i]);

		if (in.atom[i] != m && in.factor[i] % k && !is_power_multiple(t, in.atom[i], in.factor[i], m))
			sum_add(t, &out, a.op == BIN_MOD && a.b == m ? a.a : in.atom[i], in.factor[i]);
	}
	return in.full || out.full ? x : sum_term(t, &out);
}

static term simplify_mod(struct terms *t, term a, term b)
{
	int64_t k;
	term other;

	b = join_power(t, b);
	if (is_multiple(t, a, b, &other))
		return term_num(t, 0);
	if (term_is_num(t, b, &k) && k == 1)
		return term_num(t, 0);
	if (term_at(t, b)->lo > 0)
		a = flat_sum(t, a, b);
	if (term_at(t, a)->lo >= 0 && is_below(t, a, b, false))
		return a;
	return make_node(t, BIN_MOD, a, b, TERM_NONE);
}

/* If one of two terms is a remainder by m, and the other one lies between 0 and m - 1, returns m. */
static term common_divisor(struct terms *t, term a, term b)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct term_node *n = term_at(t, i ? b : a);
		const term m = n->b;

		if (n->op == BIN_MOD && term_at(t, m)->lo > 0 && term_at(t, i ? a : b)->lo >= 0 &&
		    is_below(t, i ? a : b, m, false))
			return m;
	}
	return TERM_NONE;
}

static term simplify_equal(struct terms *t, term a, term b)
{
	const struct term_node *x, *y;
	int64_t k;
	term m;

	if (a > b) {
		const term c = a;

		a = b;
		b = c;
	}
	if (a == b)
		return term_num(t, 1);
	x = term_at(t, a);
	y = term_at(t, b);
	if (x->lo > y->hi || y->lo > x->hi || is_below(t, a, b, false) || is_below(t, b, a, false))
		return term_num(t, 0);
	if (term_boolean(t, a) && term_is_num(t, b, &k))
		return k ? a : term_not(t, a);
	if (term_boolean(t, b) && term_is_num(t, a, &k))
		return k ? b : term_not(t, b);
	/* Remainders are equal if that of the difference is 0. */
	m = common_divisor(t, a, b);
	if (m != TERM_NONE && !(term_at(t, a)->op == TERM_NUM || term_at(t, b)->op == TERM_NUM)) {
		const term d = term_apply(t, BIN_MOD, make_sum(t, BIN_SUB, a, b), m);

		return simplify_equal(t, d, term_num(t, 0));
	}
	/* A number has one bit set if it is positive and has no bit in common with its predecessor. */
	for (unsigned i = 0; i < 2; i++) {
		const struct term_node *n = term_at(t, i ? b : a);

		if (n->op == BIN_POPCOUNT && term_is_num(t, i ? a : b, &k) && k == 1 && term_at(t, n->a)->lo >= 0) {
			const term v = n->a;

			return term_and(t, term_lt(t, term_num(t, 0), v),
					term_eq(t, term_apply(t, BIN_BAND, v, term_sub(t, v, term_num(t, 1))), term_num(t, 0)));
		}
	}
	return make_node(t, BIN_EQ, a, b, TERM_NONE);
}

static term simplify_not(struct terms *t, term a)
{
	if (!term_boolean(t, a))
		return simplify_equal(t, a, term_num(t, 0));
	if (term_at(t, a)->op == BIN_NOT && term_boolean(t, term_at(t, a)->a))
		return term_at(t, a)->a;
	return make_node(t, BIN_NOT, a, TERM_NONE, TERM_NONE);
}

static term simplify_xor(struct terms *t, term a, term b)
{
	int64_t k;

	if (a == b)
		return term_num(t, 0);
	a = join_power(t, a);
	b = join_power(t, b);
	for (unsigned i = 0; i < 2; i++) {
		const term x = i ? b : a, y = i ? a : b;
		const struct term_node *n = term_at(t, y);

		if (term_is_num(t, x, &k) && k == 0)
			return y;
		if (n->op == BIN_XOR && (n->a == x || n->b == x))
			return n->a == x ? n->b : n->a;
	}
	return make_node(t, BIN_XOR, a < b ? a : b, a < b ? b : a, TERM_NONE);
}

bool term_power_of_two(const struct terms *t, term x, term *exponent)
{
	const struct term_node *n = term_at(t, x);
	int64_t base;

	if (n->op != BIN_POW || !term_is_num(t, n->a, &base) || base != 2)
		return false;
	*exponent = n->b;
	return term_at(t, n->b)->lo >= 0 && term_at(t, n->b)->hi < 61;
}

/* Makes 2^k times a number of a power of two whose exponent is k plus this many. */
static term simplify_power(struct terms *t, term a, term b)
{
	term rest;
	int64_t base;
	const int64_t more = term_is_num(t, a, &base) && base == 2 ? term_number(t, b, &rest) : 0;

	if (more <= 0 || more > 32 || term_at(t, rest)->lo < 0 || term_at(t, rest)->hi > 60 - more)
		return make_node(t, BIN_POW, a, b, TERM_NONE);
	return term_apply(t, BIN_MUL, make_node(t, BIN_POW, a, rest, TERM_NONE), term_num(t, (int64_t)1 << more));
}

/* Applies a logarithm or the lowest bit to a power of two, perhaps times a number that is one. Returns TERM_NONE for others. */
static term of_power(struct terms *t, int op, term a)
{
	const struct term_node n = *term_at(t, a);
	term exponent;
	int64_t k = 1;

	if (n.op == BIN_MUL && !term_is_num(t, n.b, &k))
		return TERM_NONE;
	if (k < 1 || (k & (k - 1)) || !term_power_of_two(t, n.op == BIN_MUL ? n.a : a, &exponent))
		return TERM_NONE;
	return op == BIN_LOWBIT ? a : term_add(t, exponent, term_num(t, __builtin_ctzll((uint64_t)k)));
}

term term_apply(struct terms *t, int op, term a, term b)
{
	int64_t x, y = 0, z;
	term other;

	if (term_unary(op))
		b = TERM_NONE;
	if (term_is_num(t, a, &x) && (b == TERM_NONE || term_is_num(t, b, &y)) && !bin_arith(op, x, y, &z))
		return term_num(t, z);
	switch (op) {
	case BIN_ADD:
	case BIN_SUB:
	case BIN_MUL:
	case BIN_NEG:
		return make_sum(t, op, a, b);
	case BIN_LT:
	case BIN_LE:
		return simplify_order(t, op, a, b);
	case BIN_EQ:
		return simplify_equal(t, a, b);
	case BIN_NE:
		return term_not(t, simplify_equal(t, a, b));
	case BIN_NOT:
		return simplify_not(t, a);
	case BIN_BAND:
	case BIN_BOR:
		return simplify_bits(t, op, a, b);
	case BIN_MOD:
		return simplify_mod(t, a, b);
	case BIN_MIN:
	case BIN_MAX:
		if (is_below(t, a, b, true))
			return op == BIN_MIN ? a : b;
		if (is_below(t, b, a, true))
			return op == BIN_MIN ? b : a;
		break;
	case BIN_XOR:
		return simplify_xor(t, a, b);
	case BIN_POW:
		return simplify_power(t, a, b);
	case BIN_REVERSE:
		if (term_at(t, a)->op == BIN_REVERSE && term_at(t, a)->b == b)
			return term_at(t, a)->a;
		break;
	case BIN_LOG2:
	case BIN_CEILLOG2:
	case BIN_LOWBIT:
		other = of_power(t, op, a);
		if (other != TERM_NONE)
			return other;
		break;
	case BIN_DIV:
		if (b != TERM_NONE && term_is_num(t, b, &y) && y == 1)
			return a;
		if (is_multiple(t, a, b, &other))
			return other;
		b = join_power(t, b);
		break;
	}
	return make_node(t, op, a, b, TERM_NONE);
}

term term_ite(struct terms *t, term c, term a, term b)
{
	int64_t k, x, y;

	if (!term_boolean(t, c))
		c = term_not(t, term_not(t, c));
	if (term_is_num(t, c, &k))
		return k ? a : b;
	if (a == b)
		return a;
	if (term_at(t, c)->op == BIN_NOT)
		return term_ite(t, term_at(t, c)->a, b, a);
	if (term_is_num(t, a, &x) && term_is_num(t, b, &y) && x + y == 1 && x * y == 0)
		return x ? c : term_not(t, c);
	return make_node(t, TERM_ITE, c, a, b);
}

term term_same(struct terms *t, term a, term b)
{
	const struct term_node x = *term_at(t, a), y = *term_at(t, b);

	if (a == b)
		return term_num(t, 1);
	if (x.op != TERM_KEY && y.op != TERM_KEY)
		return term_eq(t, a, b);
	if (x.op != y.op)
		return term_num(t, 0);
	return term_and(t, term_and(t, term_same(t, x.a, y.a), term_same(t, x.b, y.b)), term_same(t, x.c, y.c));
}

/* ---- substitution ---- */

bool term_has(const struct terms *t, term x, term var)
{
	const struct term_node *n;

	if (x == TERM_NONE)
		return false;
	n = term_at(t, x);
	return x == var || (n->op != TERM_VAR && n->op != TERM_NUM &&
			    (term_has(t, n->a, var) || term_has(t, n->b, var) || term_has(t, n->c, var)));
}

void term_map_add(struct term_map *m, term from, term to)
{
	assert(m->n < TERM_MAP); /* a site has fewer frames, and a loop fewer registers that change */
	m->from[m->n] = from;
	m->to[m->n++] = to;
}

term term_subst(struct terms *t, term x, const struct term_map *m)
{
	struct term_node n;
	term a, b, c;

	if (x == TERM_NONE)
		return x;
	for (unsigned i = 0; i < m->n; i++)
		if (m->from[i] == x)
			return m->to[i];
	n = *term_at(t, x);
	if (n.op == TERM_VAR || n.op == TERM_NUM)
		return x;
	a = term_subst(t, n.a, m);
	b = term_subst(t, n.b, m);
	c = term_subst(t, n.c, m);
	if (a == n.a && b == n.b && c == n.c)
		return x;
	return n.op == TERM_ITE ? term_ite(t, a, b, c) : n.op == TERM_KEY ? term_key(t, a, b, c) : term_apply(t, n.op, a, b);
}

/* ---- solving ---- */

static void solve(struct terms *t, term x, term var, term value, term m, struct term_solutions *out);

static term reduce_by(struct terms *t, term value, term m)
{
	return m == TERM_NONE ? value : term_apply(t, BIN_MOD, value, m);
}

static void add_solution(struct term_solutions *s, term x)
{
	if (s->n < TERM_SOLUTIONS)
		s->at[s->n++] = x;
}

static void solve_sum(struct terms *t, term x, term var, term value, term m, struct term_solutions *out)
{
	struct term_sum s = { 0 };
	unsigned at = TERM_SUM;

	sum_add(t, &s, x, 1);
	for (unsigned i = 0; i < s.n; i++)
		if (s.factor[i] && term_has(t, s.atom[i], var)) {
			if (at < TERM_SUM)
				return;
			at = i;
		}
	if (s.full || at == TERM_SUM)
		return;
	const term atom = s.atom[at];
	const int64_t factor = s.factor[at];

	s.factor[at] = 0;
	value = term_sub(t, value, sum_term(t, &s));
	if (factor < 0)
		value = term_apply(t, BIN_NEG, value, TERM_NONE);
	if (factor != 1 && factor != -1)
		value = term_apply(t, BIN_DIV, value, term_num(t, factor < 0 ? -factor : factor));
	if (atom != x || factor != 1)
		solve(t, atom, var, value, m, out);
}

/* Either side may be the one that matters. If it is known for each value of the variable which, there are solutions of both. */
static void solve_choice(struct terms *t, struct term_node n, term var, term value, term m, struct term_solutions *out)
{
	struct term_solutions a = { .n = 0 }, b = { .n = 0 };

	solve(t, n.b, var, value, m, &a);
	solve(t, n.c, var, value, m, &b);
	if (term_has(t, n.a, var)) {
		for (unsigned i = 0; i < a.n; i++)
			add_solution(out, a.at[i]);
		for (unsigned i = 0; i < b.n; i++)
			add_solution(out, b.at[i]);
		return;
	}
	for (unsigned i = 0; a.n && b.n && (i < a.n || i < b.n); i++)
		add_solution(out, term_ite(t, n.a, a.at[i < a.n ? i : a.n - 1], b.at[i < b.n ? i : b.n - 1]));
}

/* A product with 1 or -1, whichever is chosen. */
static void solve_product(struct terms *t, struct term_node n, term var, term value, term m, struct term_solutions *out)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct term_node choice = *term_at(t, i ? n.b : n.a);
		const term other = i ? n.a : n.b;
		int64_t k;

		if (choice.op != TERM_ITE)
			continue;
		if (term_is_num(t, choice.b, &k) && (k == 1 || k == -1))
			solve(t, other, var, term_apply(t, BIN_MUL, value, choice.b), m, out);
		if (term_is_num(t, choice.c, &k) && (k == 1 || k == -1))
			solve(t, other, var, term_apply(t, BIN_MUL, value, choice.c), m, out);
	}
}

#define MOST_DIVISOR 4

static void solve_quotient(struct terms *t, struct term_node n, term var, term value, struct term_solutions *out)
{
	int64_t k;

	if (!term_is_num(t, n.b, &k) || k < 2 || k > MOST_DIVISOR)
		return;
	for (int64_t i = 0; i < k; i++)
		solve(t, n.a, var, term_add(t, term_apply(t, BIN_MUL, value, n.b), term_num(t, i)), TERM_NONE, out);
}

/* Solves x = value, or if m is set, that both have the same remainder by m. */
static void solve(struct terms *t, term x, term var, term value, term m, struct term_solutions *out)
{
	const struct term_node n = *term_at(t, x);
	int64_t k;

	if (x == var) {
		add_solution(out, reduce_by(t, value, m));
		return;
	}
	if (!term_has(t, x, var))
		return;
	switch (n.op) {
	case BIN_MOD:
		if (!term_has(t, n.b, var))
			solve(t, n.a, var, reduce_by(t, value, m), n.b, out);
		break;
	case TERM_ITE:
		solve_choice(t, n, var, value, m, out);
		break;
	case BIN_POW:
		if (term_is_num(t, n.a, &k) && k == 2)
			solve(t, n.b, var, term_apply(t, BIN_LOG2, reduce_by(t, value, m), TERM_NONE), TERM_NONE, out);
		break;
	case BIN_XOR:
		value = term_apply(t, BIN_XOR, reduce_by(t, value, m), term_has(t, n.a, var) ? n.b : n.a);
		solve(t, term_has(t, n.a, var) ? n.a : n.b, var, value, TERM_NONE, out);
		break;
	case BIN_DIV:
		solve_quotient(t, n, var, reduce_by(t, value, m), out);
		break;
	case BIN_MUL:
		if (!term_is_num(t, n.a, &k) && !term_is_num(t, n.b, &k)) {
			solve_product(t, n, var, value, m, out);
			break;
		} /* fall through */
	default:
		solve_sum(t, x, var, value, m, out);
	}
}

void term_solve(struct terms *t, term x, term var, term value, struct term_solutions *out)
{
	out->n = 0;
	solve(t, x, var, value, TERM_NONE, out);
}

/* ---- evaluation ---- */

int term_eval(const struct terms *t, term x, const int64_t *value, int64_t *out)
{
	const struct term_node *n = term_at(t, x);
	int64_t a, b = 0;
	int err;

	if (n->op == TERM_NUM || n->op == TERM_VAR) {
		*out = n->op == TERM_NUM ? n->num : value[n->num];
		return 0;
	}
	err = term_eval(t, n->a, value, &a);
	if (err)
		return err;
	if (n->op == TERM_ITE)
		return term_eval(t, a ? n->b : n->c, value, out);
	if (n->op == BIN_BAND && !a) {
		*out = 0;
		return 0;
	}
	if (n->op == BIN_BOR && a == 1 && term_boolean(t, x)) {
		*out = 1;
		return 0;
	}
	if (n->b != TERM_NONE)
		err = term_eval(t, n->b, value, &b);
	return err ? err : bin_arith(n->op, a, b, out);
}
