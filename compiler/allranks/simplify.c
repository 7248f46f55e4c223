/* SPDX-License-Identifier: BSD-3-Clause
 * Simplification of obligations, which settles most of them without a solver. The conditions are facts. An equation is solved for
 * a variable, which is replaced everywhere. Comparisons give bounds of sums; with these, remainders, minima and choices are
 * resolved, and comparisons are decided. What stays open is split: by the conditions of choices, and by the range of what a
 * remainder is taken of.
 *
 * Rules use the ranges of variables. Where a variable is replaced by a term, it becomes a fact that the term lies in this range. */
#include "compiler/allranks/proof.h"

#include <string.h>

#define MOST_FACTS 96u
#define MOST_BOUNDS 160u
#define MOST_ROUNDS 30u
#define MOST_SPLITS 6u /* in a row */
#define FEW_SPLITS 2u /* if too many cases were left */
#define CACHED 1024u

/* sum >= least, because of fact number `from` */
struct bound {
	term sum; /* without a number */
	uint64_t signs; /* of its atoms */
	int64_t least;
	unsigned from;
};

#define FROM_RANGE UINT32_MAX /* a bound that follows from the range of a variable or a remainder */

struct rewritten {
	term from, to;
	uint32_t pass;
};

struct facts {
	const struct proof *p;
	struct terms *t;
	term fact[MOST_FACTS];
	unsigned n;
	struct bound bound[MOST_BOUNDS];
	unsigned nbounds;
	term goal;
	unsigned skip; /* the fact that is being rewritten */
	bool absurd; /* the facts contradict each other */
	bool full; /* there was no room for a fact */
	struct rewritten *cache; /* CACHED entries */
	uint32_t *pass;
};

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

/* ---- bounds ---- */

static void add_bound(struct facts *f, term sum, int64_t least, unsigned from)
{
	uint64_t signs;
	term rest;

	least -= term_number(f->t, sum, &rest);
	term_atoms(f->t, rest, &signs);
	if (f->nbounds < MOST_BOUNDS && term_at(f->t, rest)->op != TERM_NUM)
		f->bound[f->nbounds++] = (struct bound){ rest, signs, least, from };
}

/* Adds the bounds that a comparison says. */
static void bound_fact(struct facts *f, unsigned i)
{
	struct terms *t = f->t;
	struct term_node n = *term_at(t, f->fact[i]);
	const bool not = n.op == BIN_NOT;

	n = not ? *term_at(t, n.a) : n;
	if (n.op == BIN_LE || n.op == BIN_LT)
		add_bound(f, not ? term_sub(t, n.a, n.b) : term_sub(t, n.b, n.a), (n.op == BIN_LT) != not, i);
	if (n.op == BIN_EQ && !not ) {
		add_bound(f, term_sub(t, n.a, n.b), 0, i);
		add_bound(f, term_sub(t, n.b, n.a), 0, i);
	}
}

/* Adds the bounds of variables and remainders in a term. */
static void bound_ranges(struct facts *f, term x)
{
	const struct term_node n = *term_at(f->t, x);
	const term below = n.op == TERM_VAR				 ? f->t->vars.at[n.num].below :
			   n.op == BIN_MOD && term_at(f->t, n.b)->lo > 0 ? n.b :
									   TERM_NONE;

	if (below != TERM_NONE && term_at(f->t, below)->op != TERM_NUM) {
		const term d = term_sub(f->t, below, x);
		bool known = false;

		for (unsigned i = 0; i < f->nbounds; i++)
			known |= f->bound[i].sum == d && f->bound[i].from == FROM_RANGE;
		if (known)
			return;
		add_bound(f, d, 1, FROM_RANGE);
	}
	if (n.op == TERM_VAR || n.op == TERM_NUM)
		return;
	bound_ranges(f, n.a);
	if (n.b != TERM_NONE)
		bound_ranges(f, n.b);
	if (n.c != TERM_NONE)
		bound_ranges(f, n.c);
}

static void find_bounds(struct facts *f)
{
	f->nbounds = 0;
	for (unsigned i = 0; i < f->n; i++)
		bound_fact(f, i);
	for (unsigned i = 0; i < f->n; i++)
		bound_ranges(f, f->fact[i]);
	bound_ranges(f, f->goal);
	++*f->pass;
}

/* Returns a number that x is known not to be less than, by adding up to `depth` bounds; -TERM_MOST if none is known. */
static int64_t least_of(struct facts *f, term x, unsigned depth)
{
	uint64_t signs, other;
	term rest;
	const int64_t num = term_number(f->t, x, &rest);
	int64_t best = term_at(f->t, rest)->lo;

	if (term_at(f->t, rest)->op == TERM_NUM)
		return num;
	const unsigned atoms = term_atoms(f->t, rest, &signs);

	for (unsigned i = 0; i < f->nbounds; i++) {
		const struct bound b = f->bound[i];
		int64_t least = -TERM_MOST;

		if (b.from == f->skip)
			continue;
		if (b.sum == rest) {
			least = b.least;
		} else if (depth && (b.signs & signs)) {
			const term d = term_sub(f->t, rest, b.sum);

			if (term_atoms(f->t, d, &other) <= atoms)
				least = least_of(f, d, depth - 1);
			least = least > -TERM_MOST / 2 ? least + b.least : -TERM_MOST;
		}
		best = least > best ? least : best;
	}
	return best > -TERM_MOST / 2 && num > -TERM_MOST / 2 && num < TERM_MOST / 2 ? best + num : -TERM_MOST;
}

/* True if x is known to be at least `least`. */
static bool is_least(struct facts *f, term x, int64_t least)
{
	return least_of(f, x, 2) >= least;
}

/* Returns 1 if the condition is known to hold, 0 if it is known not to, and -1 if neither is known. */
static int decide_condition(struct facts *f, term x)
{
	struct terms *t = f->t;
	const struct term_node n = *term_at(t, x);
	const term not = term_not(t, x);
	int known;

	for (unsigned i = 0; i < f->n; i++)
		if (i != f->skip && (f->fact[i] == x || f->fact[i] == not ))
			return f->fact[i] == x;
	switch (n.op) {
	case BIN_NOT:
		known = decide_condition(f, n.a);
		return known < 0 ? known : !known;
	case BIN_LE:
	case BIN_LT: {
		const bool less = n.op == BIN_LT;

		return is_least(f, term_sub(t, n.b, n.a), less) ? 1 : is_least(f, term_sub(t, n.a, n.b), !less) ? 0 : -1;
	}
	case BIN_EQ: {
		const term d = term_sub(t, n.a, n.b), e = term_sub(t, n.b, n.a);
		const int64_t more = least_of(f, d, 2), less = least_of(f, e, 2);

		return more > 0 || less > 0 ? 0 : more == 0 && less == 0 ? 1 : -1;
	}
	}
	return -1;
}

/* ---- rewriting ---- */

/* Returns the remainder without the operator, if its argument is known to be near the range. */
static term rewrite_mod(struct facts *f, term x, struct term_node n)
{
	struct terms *t = f->t;

	for (int64_t k = -1; k <= 1 && term_at(t, n.b)->lo > 0; k++) {
		const term y = term_add(t, n.a, term_apply(t, BIN_MUL, n.b, term_num(t, k)));

		if (is_least(f, y, 0) && is_least(f, term_sub(t, n.b, y), 1))
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
	const term other = a->op == BIN_MOD ? n.b : n.a;
	int64_t k;

	if (mod.op != BIN_MOD || !term_is_num(t, other, &k) || k || term_at(t, mod.b)->lo < 1)
		return x;
	if (is_least(f, term_add(t, mod.b, mod.a), 1) && is_least(f, term_sub(t, mod.b, mod.a), 1))
		return term_equation(t, mod.a);
	return x;
}

static term rewrite_top(struct facts *f, term x)
{
	struct terms *t = f->t;
	const struct term_node n = *term_at(t, x);
	int known;

	switch (n.op) {
	case BIN_MOD:
		return rewrite_mod(f, x, n);
	case BIN_MIN:
	case BIN_MAX:
		if (is_least(f, term_sub(t, n.b, n.a), 0))
			return n.op == BIN_MIN ? n.a : n.b;
		return is_least(f, term_sub(t, n.a, n.b), 0) ? n.op == BIN_MIN ? n.b : n.a : x;
	case BIN_EQ:
	case BIN_LE:
	case BIN_LT:
	case BIN_NOT:
	case BIN_BOR:
	case BIN_BAND:
		known = term_boolean(t, x) ? decide_condition(f, x) : -1;
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
	f->skip = UINT32_MAX - 1;
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
		find_bounds(f);
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
		find_bounds(f);
		changed |= rewrite_facts(f);
		f->goal = rewrite_term(f, f->goal);
		if (term_is_num(f->t, f->goal, &k) && k)
			return true;
		if (!find_equation(f) && !changed)
			break;
	}
	return f->absurd;
}

/* ---- cases ---- */

/* Returns the condition of a choice in x; if there is none, and `deep` is set, a condition about what a remainder is taken of. */
static term find_condition(struct facts *f, term x, bool deep)
{
	struct terms *t = f->t;
	const struct term_node n = *term_at(t, x);
	const term part[] = { n.a, n.b, n.c };
	term out = TERM_NONE;

	if (n.op == TERM_NUM || n.op == TERM_VAR)
		return out;
	for (unsigned i = 0; i < 3 && out == TERM_NONE; i++)
		out = part[i] == TERM_NONE ? out : find_condition(f, part[i], deep);
	if (out != TERM_NONE)
		return out;
	if (n.op == TERM_ITE)
		return n.a;
	if (deep && n.op == BIN_MOD && term_at(t, n.b)->op == TERM_VAR) {
		out = term_lt(t, n.a, n.b);
		if (decide_condition(f, out) >= 0)
			out = term_le(t, term_num(t, 0), n.a);
		return decide_condition(f, out) >= 0 ? TERM_NONE : out;
	}
	if (deep && (n.op == BIN_MIN || n.op == BIN_MAX))
		return term_le(t, n.a, n.b);
	return out;
}

static term choose_condition(struct facts *f, bool deep)
{
	term out = find_condition(f, f->goal, deep);

	for (unsigned i = 0; i < f->n && out == TERM_NONE; i++)
		out = find_condition(f, f->fact[i], deep);
	return out;
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
	f->skip = UINT32_MAX - 1;
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
