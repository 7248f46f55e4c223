/* SPDX-License-Identifier: BSD-3-Clause
 * Sums over classes of members. Where ranks exchange by powers of two, m xor 2^k, m is the number of the member for which a rank
 * stands; if there are more ranks than members, neighbours stand for the same one. If the farthest members exchange first, an
 * element is not summed up over a run of ranks but over a class: all ranks of the members that are equal to one of them modulo a
 * power of two. Only operations that commute can be summed up in this order. */
#include "compiler/allranks/values.h"

#include "format/check.h"

/* Returns the number that is combined with a power of two by an exclusive or, in a term; TERM_NONE if there is none. */
static term flipped_number(const struct terms *t, term x)
{
	const struct term_node n = *term_at(t, x);
	const term part[] = { n.a, n.b, n.c };
	term out = TERM_NONE, exponent;

	if (n.op == TERM_NUM || n.op == TERM_VAR)
		return out;
	for (unsigned i = 0; n.op == BIN_XOR && i < 2 && out == TERM_NONE; i++)
		if (term_power_of_two(t, i ? n.a : n.b, &exponent))
			out = i ? n.b : n.a;
	for (unsigned i = 0; i < 3 && out == TERM_NONE; i++)
		out = part[i] == TERM_NONE ? out : flipped_number(t, part[i]);
	return out;
}

/* True if the term has a variable of a loop. */
static bool has_loop(const struct terms *t, const struct path *path, term x)
{
	for (unsigned i = 0; i < path->n; i++)
		if (path->frame[i].var != TERM_NONE && term_has(t, x, path->frame[i].var))
			return true;
	return false;
}

void members_find(struct proof *p)
{
	p->member = TERM_NONE;
	for (size_t i = 0; i < p->s.ops.n && p->member == TERM_NONE; i++) {
		const struct site *x = &p->s.ops.at[i];
		const term m = bin_is_message(x->kind) ? flipped_number(&p->t, x->peer) : TERM_NONE;

		if (m != TERM_NONE && !has_loop(&p->t, &x->path, m) && !term_has(&p->t, m, p->s.root))
			p->member = m;
	}
}

/* Returns the number of the member for which a rank stands. */
static term member_of(struct proof *p, term rank)
{
	const struct term_map m = { .from = { p->s.r }, .to = { rank }, .n = 1 };

	return term_subst(&p->t, p->member, &m);
}

void members_prove(struct proof *p)
{
	struct terms *t = &p->t;
	const term next = term_add(t, p->rank, term_num(t, 1));
	struct obligation o;

	obligation_begin(p, &o, 0, "the members do not have their numbers in the order of ranks");
	obligation_assume(p, &o, term_lt(t, next, p->s.p));
	o.goal = term_and(t, term_le(t, term_num(t, 0), member_of(p, p->rank)),
			  term_le(t, member_of(p, p->rank), member_of(p, next)));
	obligation_prove(p, &o);
}

static term is_congruent(struct proof *p, term a, term b, term n)
{
	struct terms *t = &p->t;

	return term_or(t, term_eq(t, a, b), term_eq(t, term_apply(t, BIN_MOD, a, n), term_apply(t, BIN_MOD, b, n)));
}

/* True if the class has the ranks of the run: all, or those of one member. Members are in the order of ranks, so the run has all of a
 * member if its neighbours stand for others. */
static term is_run(struct proof *p, struct held class, struct held run)
{
	struct terms *t = &p->t;
	const term one = term_num(t, 1), zero = term_num(t, 0), last = term_sub(t, term_add(t, run.lo, run.n), one);
	const term end = term_sub(t, p->s.p, one), m = class.lo;
	const term all = term_and(t, term_eq(t, class.n, one), term_eq(t, run.n, p->s.p));
	const term inside = term_and(t, term_and(t, term_le(t, zero, run.lo), term_le(t, one, run.n)), term_le(t, last, end));
	const term below = term_or(t, term_eq(t, run.lo, zero), term_not(t, term_eq(t, member_of(p, term_sub(t, run.lo, one)), m)));
	const term above = term_or(t, term_eq(t, last, end), term_not(t, term_eq(t, member_of(p, term_add(t, last, one)), m)));
	const term ends = term_and(t, term_eq(t, member_of(p, run.lo), m), term_eq(t, member_of(p, last), m));
	const term alone = term_lt(t, member_of(p, end), class.n); /* no other member is equal modulo this */

	return term_or(t, all, term_and(t, term_and(t, inside, alone), term_and(t, ends, term_and(t, below, above))));
}

term members_same(struct proof *p, struct held a, struct held b)
{
	if (a.members && b.members)
		return term_and(&p->t, term_eq(&p->t, a.n, b.n), is_congruent(p, a.lo, b.lo, a.n));
	return a.members ? is_run(p, a, b) : is_run(p, b, a);
}

/* A class modulo n consists of the two classes modulo 2n of members that differ by n. */
term members_sum(struct proof *p, struct held a, struct held b, struct held sum)
{
	struct terms *t = &p->t;
	const term n = term_and(t, term_eq(t, a.n, b.n), term_eq(t, a.n, term_add(t, sum.n, sum.n)));
	const term apart = term_eq(t, term_apply(t, BIN_ABS, term_sub(t, a.lo, b.lo), TERM_NONE), sum.n);

	if (!a.members || !b.members || !sum.members)
		return term_num(t, 0);
	return term_and(t, n, term_and(t, apart, is_congruent(p, b.lo, sum.lo, sum.n)));
}
