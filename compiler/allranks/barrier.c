/* SPDX-License-Identifier: BSD-3-Clause
 * Barriers: no rank completes before all ranks have started. Each site has a set of ranks that have started when its op starts,
 * chosen from a list of sets by trials. It is proved that each op waits for ops whose sets together contain its own, and that
 * the sets of the ops of each rank together contain all ranks. A recv completes after the send that it meets has started. */
#include "compiler/allranks/proof.h"

#include "format/check.h"

#include <string.h>

/* The sets, from the largest to the smallest. */
enum known_set {
	KNOWN_ALL, /* all ranks */
	KNOWN_TREE, /* the subtree below the rank: 2^level ranks from it on */
	KNOWN_3, /* the 3^k ranks that end with it, where k is the variable of the innermost loop */
	KNOWN_2, /* the 2^k ranks that end with it */
	KNOWN_SELF, /* the rank itself */
};

struct barrier {
	enum known_set *set; /* of each site */
};

#define MOST_SOURCES 64u

/* How far rank x lies behind rank r. */
static term rank_distance(struct proof *p, term r, term x)
{
	return term_apply(&p->t, BIN_MOD, term_sub(&p->t, r, x), p->s.p);
}

static term power_of(struct proof *p, int64_t base, term k)
{
	return term_apply(&p->t, BIN_POW, term_num(&p->t, base), k);
}

/* True if rank x has started when the op, which is no recv, starts. */
static term known_at_start(struct proof *p, const struct barrier *b, const struct instance *i, term x)
{
	struct terms *t = &p->t;
	const struct path *path = &i->site->path;
	term k = TERM_NONE;

	for (unsigned f = 0; f < path->n; f++)
		k = path->frame[f].var == TERM_NONE ? k : instance_value(p, i, path->frame[f].var);
	switch (b->set[i->site - p->s.ops.at]) {
	case KNOWN_ALL:
		return term_num(t, 1);
	case KNOWN_TREE:
		return term_and(t, term_le(t, i->rank, x),
				term_lt(t, x, term_add(t, i->rank, power_of(p, 2, instance_value(p, i, i->site->level)))));
	case KNOWN_3:
	case KNOWN_2:
		if (k != TERM_NONE)
			return term_lt(t, rank_distance(p, i->rank, x),
				       power_of(p, b->set[i->site - p->s.ops.at] == KNOWN_3 ? 3 : 2, k));
		break;
	case KNOWN_SELF:
		break;
	}
	return term_eq(t, i->rank, x);
}

/* True if rank x has started when the op has completed. */
static term known_at_end(struct proof *p, const struct barrier *b, const struct instance *i, term x)
{
	const struct partners *with = &p->partners[i->site - p->s.ops.at];
	term out = term_num(&p->t, 0);

	if (i->site->kind != BIN_OP_RECV)
		return known_at_start(p, b, i, x);
	for (size_t k = 0; k < with->v.n; k++) {
		struct instance send;

		partner_instance(p, NULL, i, &with->v.at[k], &send);
		out = term_or(&p->t, out,
			      term_and(&p->t, partner_condition(p, i, &with->v.at[k], &send), known_at_start(p, b, &send, x)));
	}
	return out;
}

/* ---- sources of what is known ---- */

struct sources {
	const struct barrier *b;
	const struct instance *op; /* the op that waits, or NULL: the end of the rank */
	term x;
	term cond[MOST_SOURCES];
	unsigned n;
};

static void add_source(struct proof *p, const struct instance *z, void *arg)
{
	struct sources *s = arg;
	struct terms *t = &p->t;
	const bool recv = z->site->kind == BIN_OP_RECV;
	const term waits = s->op ? order_waits_for(p, s->op, z, !recv) : term_num(t, 1);
	int64_t k;

	if (s->n == MOST_SOURCES || (term_is_num(t, waits, &k) && !k))
		return;
	s->cond[s->n++] = term_and(t, term_and(t, waits, instance_condition(p, z)), known_at_end(p, s->b, z, s->x));
}

/* Returns the logarithm of x to base 3, rounded down; 0 if x is less than 3. */
static term log_three(struct terms *t, term x)
{
	int64_t power = 1;
	term out = term_num(t, 0);

	for (int64_t k = 1; k <= 19; k++) {
		power *= 3;
		out = term_ite(t, term_le(t, term_num(t, power), x), term_num(t, k), out);
	}
	return out;
}

/* Sets the goal that rank x is known by the op itself or by what it waits for. */
static void goal_known(struct proof *p, const struct barrier *b, struct obligation *o, const struct instance *op, term x)
{
	struct terms *t = &p->t;
	const term one = term_num(t, 1), back = rank_distance(p, p->rank, x), ahead = term_sub(t, x, p->rank);
	struct sources s = { .b = b, .op = op, .x = x };
	bool chosen[MOST_SOURCES];
	term more[MOST_HYPS];
	unsigned n = 0;

	for (unsigned i = 1; op && i < op->map.n; i++) {
		more[n++] = op->map.to[i];
		more[n++] = term_sub(t, op->map.to[i], one);
	}
	more[n++] = term_apply(t, BIN_LOG2, term_apply(t, BIN_MAX, ahead, one), TERM_NONE);
	more[n++] = term_apply(t, BIN_LOG2, term_apply(t, BIN_MAX, back, one), TERM_NONE);
	more[n++] = log_three(t, back);
	more[n++] = back;
	s.cond[s.n++] = term_eq(t, p->rank, x);
	for (size_t i = 0; i < p->s.ops.n; i++)
		instance_guess(p, &p->s.ops.at[i], p->rank, &(struct guess){ .more = more, .nmore = n }, add_source, &s);
	o->goal = obligation_cover(p, o, s.cond, s.n, chosen);
}

static term any_rank(struct proof *p, struct obligation *o)
{
	struct terms *t = &p->t;
	const term x = obligation_var(p, o, "x", term_num(t, 0), term_sub(t, p->s.p, term_num(t, 1)));

	t->vars.at[term_at(t, x)->num].below = p->s.p;
	return x;
}

static void start_obligation(struct proof *p, const struct barrier *b, size_t i, struct obligation *o)
{
	struct instance a;
	term x;

	obligation_begin(p, o, p->s.ops.at[i].insn, "the op starts before ranks that it reports have started");
	instance_fresh(p, o, &p->s.ops.at[i], p->rank, &a);
	x = any_rank(p, o);
	obligation_assume(p, o, known_at_start(p, b, &a, x));
	goal_known(p, b, o, &a, x);
}

/* Chooses the sets: each site gets the largest one that is right at the sizes that are tried, given those of the others. */
static void choose_sets(struct proof *p, struct barrier *b)
{
	struct obligation o;
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < p->s.ops.n; i++) {
			if (p->s.ops.at[i].kind == BIN_OP_RECV || b->set[i] == KNOWN_SELF)
				continue;
			start_obligation(p, b, i, &o);
			if (!obligation_refuted(p, &o))
				continue;
			b->set[i]++;
			more = true;
		}
	}
}

void prove_barrier(struct proof *p)
{
	struct barrier b = { arena_alloc(&p->store, (p->s.ops.n + 1) * sizeof *b.set) };
	struct obligation o;

	if (!b.set)
		longjmp(p->stop, 1);
	choose_sets(p, &b);
	for (size_t i = 0; i < p->s.ops.n; i++) {
		if (p->s.ops.at[i].kind == BIN_OP_RECV)
			continue;
		start_obligation(p, &b, i, &o);
		obligation_prove(p, &o);
	}
	obligation_begin(p, &o, 0, "a rank completes before all ranks have started");
	goal_known(p, &b, &o, NULL, any_rank(p, &o));
	obligation_prove(p, &o);
}
