/* SPDX-License-Identifier: BSD-3-Clause
 * Simplification of obligations, which settles most of them without a solver. The conditions are facts. An equation is solved for
 * a variable, which is replaced everywhere. Comparisons give bounds of sums; with these, remainders, minima and choices are
 * resolved, and comparisons are decided. What stays open is split: by the conditions of choices, by the smaller one of two terms,
 * by the range of what a remainder is taken of, and by the order of two exponents.
 *
 * Rules use the ranges of variables. Where a variable is replaced by a term, it becomes a fact that the term lies in this range. */
#include "compiler/allranks/facts.h"

#include <string.h>

#define MOST_ROUNDS 30u
#define MOST_SPLITS 8u /* in a row */
#define FEW_SPLITS 2u /* if too many cases were left */
#define CACHED 1024u

/* ---- facts ---- */

static void add_fact(struct facts *f, term x)
{
	struct terms *t = f->t;
	const struct term_node n = *term_at(t, x);
	int64_t k;

	if (term_is_num(t, x, &k)) {
		f->absurd |= !k;
		return;
	}
	if (n.op == BIN_BAND && term_boolean(t, n.a) && term_boolean(t, n.b)) {
		add_fact(f, n.a);
		add_fact(f, n.b);
		return;
	}
	if (n.op == BIN_NOT && term_at(t, n.a)->op == BIN_BOR && term_boolean(t, n.a)) {
		const struct term_node or = *term_at(t, n.a);

		add_fact(f, term_not(t, or.a));
		add_fact(f, term_not(t, or.b));
		return;
	}
	for (unsigned i = 0; i < f->n; i++)
		if (f->fact[i] == x)
			return;
	if (f->n == MOST_FACTS)
		f->full = true;
	else
		f->fact[f->n++] = x;
}

/* ---- rewriting ---- */

/* Returns the remainder without the operator, if its argument is known to be near the range. */
static term rewrite_mod(struct facts *f, term x, struct term_node n)
{
	struct terms *t = f->t;
	const term m = term_spread(t, n.b);

	for (int64_t k = -1; k <= 1 && facts_at_least(f, m, 1); k++) {
		const term y = term_add(t, n.a, term_apply(t, BIN_MUL, m, term_num(t, k)));

		if (facts_at_least(f, y, 0) && facts_at_least(f, term_sub(t, m, y), 1))
			return y;
	}
	return x;
}

/* A remainder is 0 if the argument is, and is nearer to 0 than the divisor. */
static term rewrite_equal(struct facts *f, term x, struct term_node n)
{
	struct terms *t = f->t;
	const struct term_node *a = term_at(t, n.a), *b = term_at(t, n.b);
	const struct term_node mod = a->op == BIN_MOD ? *a : *b;
	const term other = a->op == BIN_MOD ? n.b : n.a, m = mod.op == BIN_MOD ? term_spread(t, mod.b) : TERM_NONE;
	int64_t k;

	if (m == TERM_NONE || !term_is_num(t, other, &k) || k || !facts_at_least(f, m, 1))
		return x;
	if (facts_at_least(f, term_add(t, m, mod.a), 1) && facts_at_least(f, term_sub(t, m, mod.a), 1))
		return term_equation(t, mod.a);
	return x;
}

static term rewrite_top(struct facts *f, term x)
{
	struct terms *t = f->t;
	const struct term_node n = *term_at(t, x);
	struct term_node lowest;
	int64_t base;
	int known;

	switch (n.op) {
	case BIN_MOD:
		return rewrite_mod(f, x, n);
	case BIN_POW: /* 2^log2(lowbit(a)) */
		lowest = *term_at(t, n.b);
		return term_is_num(t, n.a, &base) && base == 2 && lowest.op == BIN_LOG2 &&
				       term_at(t, lowest.a)->op == BIN_LOWBIT && facts_at_least(f, term_at(t, lowest.a)->a, 1) ?
			       lowest.a :
			       x;
	case BIN_MIN:
	case BIN_MAX:
		if (facts_at_least(f, term_sub(t, n.b, n.a), 0))
			return n.op == BIN_MIN ? n.a : n.b;
		return facts_at_least(f, term_sub(t, n.a, n.b), 0) ? n.op == BIN_MIN ? n.b : n.a : x;
	case BIN_EQ:
	case BIN_LE:
	case BIN_LT:
	case BIN_NOT:
	case BIN_BOR:
	case BIN_BAND:
		known = term_boolean(t, x) ? facts_decide(f, x) : -1;
		return known >= 0 ? term_num(t, known) : n.op == BIN_EQ ? rewrite_equal(f, x, n) : x;
	}
	return x;
}

static term rewrite_term(struct facts *f, term x)
{
	struct rewritten *c = &f->cache[x % CACHED];
	const struct term_node n = *term_at(f->t, x);
	term out = x;

	if (n.op == TERM_NUM || n.op == TERM_VAR || n.op == TERM_KEY)
		return x;
	if (c->from == x && c->pass == *f->pass)
		return c->to;
	const term a = rewrite_term(f, n.a), b = n.b == TERM_NONE ? n.b : rewrite_term(f, n.b),
		   d = n.c == TERM_NONE ? n.c : rewrite_term(f, n.c);

	if (a != n.a || b != n.b || d != n.c)
		out = n.op == TERM_ITE ? term_ite(f->t, a, b, d) : term_apply(f->t, n.op, a, b);
	out = rewrite_top(f, out);
	*c = (struct rewritten){ x, out, *f->pass };
	return out;
}

/* Rewrites a fact. A comparison must not be decided by itself, but what is compared may be rewritten. */
static term rewrite_fact(struct facts *f, unsigned i)
{
	term out;

	f->skip = i;
	++*f->pass;
	out = rewrite_term(f, f->fact[i]);
	f->skip = SKIP_NONE;
	++*f->pass;
	return out;
}

/* ---- equations ---- */

/* Replaces a variable in everything. */
static void replace_variable(struct facts *f, term var, term value)
{
	const struct term_node n = *term_at(f->t, var);
	const term below = f->t->vars.at[n.num].below;
	struct term_map m = { 0 };
	const struct facts old = *f;

	term_map_add(&m, var, value);
	f->n = 0;
	f->goal = term_subst(f->t, f->goal, &m);
	for (unsigned i = 0; i < old.n; i++)
		add_fact(f, term_subst(f->t, old.fact[i], &m));
	/* The value lies in the range of the variable. */
	add_fact(f, term_le(f->t, term_num(f->t, n.lo), value));
	add_fact(f, term_le(f->t, value, term_num(f->t, n.hi)));
	if (below != TERM_NONE)
		add_fact(f, term_subst(f->t, term_lt(f->t, value, below), &m));
}

/* Adds an equation for two facts that bound a sum from both sides. Returns true if there was a new one. */
static bool find_equation(struct facts *f)
{
	const unsigned n = f->n;

	for (unsigned i = 0; i < f->nbounds; i++)
		for (unsigned k = 0; k < i; k++) {
			const struct bound *a = &f->bound[i], *b = &f->bound[k];
			term zero;

			if (a->from == b->from || a->least != -b->least || a->sum != term_apply(f->t, BIN_NEG, b->sum, TERM_NONE))
				continue;
			zero = term_sub(f->t, a->sum, term_num(f->t, a->least));
			add_fact(f, term_equation(f->t, zero));
			if (f->n > n)
				return true;
		}
	return false;
}

/* Solves one equation among the facts for a variable, and replaces it. The variables that counterexamples are asked for stay. */
static bool solve_equation(struct facts *f)
{
	const term keep[] = { f->p->s.p, f->p->s.root };

	for (unsigned i = 0; i < f->n; i++) {
		const struct term_node n = *term_at(f->t, f->fact[i]);
		term var, value;

		if (n.op != BIN_EQ)
			continue;
		var = term_isolate(f->t, term_sub(f->t, n.a, n.b), keep, 2, &value);
		if (var == TERM_NONE)
			continue;
		f->fact[i] = f->fact[--f->n];
		replace_variable(f, var, value);
		return true;
	}
	return false;
}

static bool rewrite_facts(struct facts *f)
{
	bool changed = false;

	for (unsigned i = 0; i < f->n && !f->absurd; i++) {
		const term x = rewrite_fact(f, i);

		if (x == f->fact[i])
			continue;
		changed = true;
		f->fact[i] = f->fact[--f->n];
		add_fact(f, x);
		facts_bound(f);
		i--;
	}
	return changed;
}

/* Returns true if the obligation is settled: the goal holds, or the facts exclude each other. */
static bool simplify_facts(struct facts *f)
{
	int64_t k;

	for (unsigned round = 0; round < MOST_ROUNDS && !f->absurd && !f->full; round++) {
		bool changed = false;

		while (solve_equation(f))
			changed = true;
		facts_bound(f);
		changed |= rewrite_facts(f);
		f->goal = rewrite_term(f, f->goal);
		if (term_is_num(f->t, f->goal, &k) && k)
			return true;
		f->absurd |= facts_exclude(f);
		if (!find_equation(f) && !changed)
			break;
	}
	return f->absurd;
}

/* ---- cases ---- */

/* What cases are distinguished by, in this order: the condition of a choice, the smaller one of two terms, the multiple of a
 * divisor that is subtracted from a term to make its remainder. */
enum split { SPLIT_CHOICE, SPLIT_EXTREME, SPLIT_MOD, SPLITS };

/* Returns a condition in x of this kind that is not decided, the innermost first, or TERM_NONE. */
static term find_condition(struct facts *f, term x, enum split kind)
{
	struct terms *t = f->t;
	const struct term_node n = *term_at(t, x);
	const term part[] = { n.a, n.b, n.c };
	term out = TERM_NONE;

	if (n.op == TERM_NUM || n.op == TERM_VAR)
		return out;
	for (unsigned i = 0; i < 3 && out == TERM_NONE; i++)
		out = part[i] == TERM_NONE ? out : find_condition(f, part[i], kind);
	if (out != TERM_NONE)
		return out;
	if (kind == SPLIT_CHOICE && n.op == TERM_ITE)
		return n.a;
	if (kind == SPLIT_EXTREME && (n.op == BIN_MIN || n.op == BIN_MAX))
		return term_le(t, n.a, n.b);
	if (kind == SPLIT_MOD && n.op == BIN_MOD && term_at(t, n.b)->op != TERM_NUM) {
		out = term_lt(t, n.a, term_spread(t, n.b));
		if (facts_decide(f, out) >= 0)
			out = term_le(t, term_num(t, 0), n.a);
		return facts_decide(f, out) >= 0 ? TERM_NONE : out;
	}
	return out;
}

/* Returns which of two exponents that differ is the smaller one. */
static term find_order(struct facts *f)
{
	struct terms *t = f->t;
	struct powers all = { 0 };

	facts_powers(f, &all);
	for (unsigned i = 0; i < all.npowers; i++)
		for (unsigned k = 0; k < i; k++) {
			const term a = term_at(t, all.power[i])->b, b = term_at(t, all.power[k])->b;

			if (facts_decide(f, term_eq(t, a, b)) == 0 && facts_decide(f, term_lt(t, a, b)) < 0)
				return term_lt(t, a, b);
		}
	return TERM_NONE;
}

static term choose_condition(struct facts *f, bool deep)
{
	term out = TERM_NONE;

	for (enum split kind = SPLIT_CHOICE; kind < (deep ? SPLITS : SPLIT_EXTREME); kind++) {
		out = find_condition(f, f->goal, kind);
		for (unsigned i = 0; i < f->n && out == TERM_NONE; i++)
			out = find_condition(f, f->fact[i], kind);
		if (out != TERM_NONE)
			return out;
	}
	return deep ? find_order(f) : out;
}

/* The cases that were not settled. */
struct cases {
	struct facts *left;
	unsigned n, most;
};

/* Settles what it can by splitting. Returns false if more cases are left than there is room for. */
static bool split_cases(struct facts *f, unsigned depth, bool deep, struct cases *out)
{
	struct facts side;
	term cond = TERM_NONE;

	if (simplify_facts(f))
		return true;
	if (depth)
		cond = choose_condition(f, deep);
	if (cond == TERM_NONE || f->full) {
		if (out->n == out->most)
			return false;
		out->left[out->n++] = *f;
		return true;
	}
	side = *f;
	add_fact(&side, cond);
	if (!split_cases(&side, depth - 1, deep, out))
		return false;
	add_fact(f, term_not(f->t, cond));
	return split_cases(f, depth - 1, deep, out);
}

/* ---- obligations ---- */

static void load_facts(struct facts *f, const struct obligation *o)
{
	f->n = 0;
	f->skip = SKIP_NONE;
	f->goal = o->goal;
	for (unsigned i = 0; i < o->n; i++)
		add_fact(f, o->frame[i].cond);
}

static void store_obligation(const struct facts *f, const struct obligation *o, struct obligation *out)
{
	*out = (struct obligation){ .goal = f->goal, .insn = o->insn, .what = o->what };
	for (unsigned i = 0; i < f->n; i++) {
		struct frame *last = &out->frame[MOST_HYPS - 2];

		if (out->n < MOST_HYPS - 1)
			out->frame[out->n++] = (struct frame){ f->fact[i], TERM_NONE, TERM_NONE, TERM_NONE, 0, false };
		else
			last->cond = term_and(f->t, last->cond, f->fact[i]);
	}
}

unsigned obligation_simplify(struct proof *p, const struct obligation *o, struct obligation *left)
{
	struct rewritten cache[CACHED] = { 0 };
	struct facts some[MOST_LEFT];
	uint32_t pass = 1;
	struct facts f = { .p = p, .t = &p->t, .cache = cache, .pass = &pass }, start;
	struct cases all = { .left = some, .most = MOST_LEFT };

	load_facts(&f, o);
	start = f;
	if (!split_cases(&f, MOST_SPLITS, true, &all)) {
		f = start;
		all.n = 0;
		if (!split_cases(&f, FEW_SPLITS, false, &all)) {
			left[0] = *o;
			return 1;
		}
	}
	for (unsigned i = 0; i < all.n; i++)
		store_obligation(&some[i], o, &left[i]);
	return all.n;
}
