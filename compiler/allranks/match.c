/* SPDX-License-Identifier: BSD-3-Clause
 * Matching. A message is mapped to an op at its other end, by witnesses that are found at small sizes. It is proved that every
 * message has such an op, and that the map from the sends of a channel to its recvs keeps program order, as does the map from
 * recvs to sends. Both maps are then one to one, so a channel has as many sends as recvs, and the only map between them that
 * keeps the order takes the k-th send to the k-th recv. */
#include "compiler/allranks/proof.h"

#include "format/check.h"

#include <string.h>

#define MOST_GUESSES 64u

/* The candidates for the other end of one message. */
struct ends {
	struct instance self;
	struct instance at[MOST_GUESSES];
	term cond[MOST_GUESSES];
	term alike[MOST_GUESSES]; /* the two ranges have the same offset */
	unsigned n;
};

/* The condition under which the two ops can be the ends of one message. */
static term ends_meet(struct proof *p, const struct instance *of, const struct instance *with)
{
	struct terms *t = &p->t;
	const struct site *x = of->site, *y = with->site;
	const term back = term_eq(t, instance_value(p, with, y->peer), of->rank);
	const term tag = term_eq(t, instance_value(p, with, y->tag), instance_value(p, of, x->tag));
	const term len = term_eq(t, instance_value(p, with, y->len), instance_value(p, of, x->len));
	const term phase = term_eq(t, instance_value(p, with, y->phase), instance_value(p, of, x->phase));

	return term_and(t, instance_condition(p, with), term_and(t, term_and(t, back, tag), term_and(t, len, phase)));
}

term partner_condition(struct proof *p, const struct instance *of, const struct partner *with, const struct instance *at)
{
	return term_and(&p->t, instance_value(p, of, with->when), ends_meet(p, of, at));
}

void partner_instance(struct proof *p, struct obligation *o, const struct instance *of, const struct partner *with,
		      struct instance *out)
{
	const term peer = instance_value(p, of, of->site->peer);

	*out = (struct instance){ .site = with->site, .rank = o ? obligation_rank(p, o, peer) : peer };
	term_map_add(&out->map, p->s.r, out->rank);
	for (unsigned i = 0; i < with->map.n; i++)
		term_map_add(&out->map, with->map.from[i], instance_value(p, of, with->map.to[i]));
}

static void add_end(struct proof *p, const struct instance *i, void *arg)
{
	struct ends *e = arg;

	if (e->n == MOST_GUESSES)
		return;
	e->at[e->n] = *i;
	e->alike[e->n] = term_eq(&p->t, instance_value(p, i, i->site->range[0].off),
				 instance_value(p, &e->self, e->self.site->range[0].off));
	e->cond[e->n++] = ends_meet(p, &e->self, i);
}

/* Finds candidates for the other end: their peer is the rank of the message, and their level, label and offset are often the
 * same. */
static void guess_ends(struct proof *p, struct ends *e, term rank, const struct site *y)
{
	const struct instance *self = &e->self;
	const struct site *x = self->site;
	term more[MOST_HYPS];
	unsigned n = 0;

	for (unsigned i = 1; i < self->map.n; i++) /* entry 0 is the rank */
		more[n++] = self->map.to[i];
	const term from[] = { y->level, y->peer, y->range[0].off };
	const term to[] = { instance_value(p, self, x->level), self->rank, instance_value(p, self, x->range[0].off) };

	instance_guess(p, y, rank, &(struct guess){ from, to, 3, more, n }, add_end, e);
}

/* Applies a substitution twice, because what replaces a variable may have others that are replaced. */
static term over_rank(struct proof *p, term x, const struct term_map *back)
{
	return term_subst(&p->t, term_subst(&p->t, x, back), back);
}

/* Chooses among the candidates. A message could meet several ops of its channel; if it can be one with the same offset, it is likely
 * to be this one. */
static void choose_ends(struct proof *p, struct obligation *o, struct ends *e, bool *chosen)
{
	term both[MOST_GUESSES];

	for (unsigned i = 0; i < e->n; i++)
		both[i] = term_and(&p->t, e->cond[i], e->alike[i]);
	o->goal = obligation_cover(p, o, both, e->n, chosen);
	if (!obligation_refuted(p, o))
		return;
	for (unsigned i = 0; i < e->n; i++)
		e->alike[i] = term_num(&p->t, 1);
	o->goal = obligation_cover(p, o, e->cond, e->n, chosen);
}

/* Finds the partners of a message, and proves that there always is one. */
static void find_partners(struct proof *p, size_t index)
{
	const struct site *x = &p->s.ops.at[index];
	const bool send = x->kind == BIN_OP_SEND;
	struct ends e = { .n = 0 };
	struct term_map back = { 0 };
	bool chosen[MOST_GUESSES];
	struct obligation o;
	term rank;

	obligation_begin(p, &o, x->insn,
			 send ? "a send has no recv of the same length" : "a recv has no send of the same length");
	instance_fresh(p, &o, x, p->rank, &e.self);
	rank = obligation_rank(p, &o, instance_value(p, &e.self, x->peer));
	for (size_t k = 0; k < p->s.ops.n; k++)
		if (p->s.ops.at[k].kind == (send ? BIN_OP_RECV : BIN_OP_SEND))
			guess_ends(p, &e, rank, &p->s.ops.at[k]);
	choose_ends(p, &o, &e, chosen);
	obligation_prove(p, &o);
	/* The witnesses are over variables of this obligation; they are kept as terms over those of the site. */
	term_map_add(&back, o.frame[o.n - 1].var, o.frame[o.n - 1].lo);
	for (unsigned k = 1; k < e.self.map.n; k++)
		term_map_add(&back, e.self.map.to[k], e.self.map.from[k]);
	if (p->rank != p->s.r)
		term_map_add(&back, p->turned, term_apply(&p->t, BIN_MOD, term_sub(&p->t, p->s.r, p->s.root), p->s.p));
	for (unsigned i = 0; i < e.n; i++) {
		struct partner with = { .site = e.at[i].site, .when = over_rank(p, e.alike[i], &back) };

		if (!chosen[i])
			continue;
		for (unsigned k = 1; k < e.at[i].map.n; k++)
			term_map_add(&with.map, e.at[i].map.from[k], over_rank(p, e.at[i].map.to[k], &back));
		if (VEC_PUSH(&p->partners[index].v, with))
			longjmp(p->stop, 1);
	}
}

/* Proves that two messages of one channel meet ops in the same order. */
static void prove_order(struct proof *p, size_t i, size_t k, const struct partner *with_i, const struct partner *with_k)
{
	const struct site *x = &p->s.ops.at[i], *y = &p->s.ops.at[k];
	struct terms *t = &p->t;
	struct instance a, b, to_a, to_b;
	struct obligation o;

	obligation_begin(p, &o, y->insn, "messages of one channel do not meet in their order");
	instance_fresh(p, &o, x, p->rank, &a);
	instance_fresh(p, &o, y, p->rank, &b);
	partner_instance(p, &o, &a, with_i, &to_a);
	partner_instance(p, &o, &b, with_k, &to_b);
	obligation_assume(p, &o, term_eq(t, instance_value(p, &a, x->peer), instance_value(p, &b, y->peer)));
	obligation_assume(p, &o, term_eq(t, instance_value(p, &a, x->tag), instance_value(p, &b, y->tag)));
	obligation_assume(p, &o, instance_before(p, &a, &b));
	obligation_assume(p, &o, partner_condition(p, &a, with_i, &to_a));
	obligation_assume(p, &o, partner_condition(p, &b, with_k, &to_b));
	o.goal = instance_before(p, &to_a, &to_b);
	obligation_prove(p, &o);
}

void prove_matching(struct proof *p)
{
	const size_t n = p->s.ops.n;

	for (size_t i = 0; i < n; i++)
		if (bin_is_message(p->s.ops.at[i].kind))
			find_partners(p, i);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++)
			for (size_t a = 0; a < p->partners[i].v.n && p->s.ops.at[i].kind == p->s.ops.at[k].kind; a++)
				for (size_t b = 0; b < p->partners[k].v.n; b++)
					prove_order(p, i, k, &p->partners[i].v.at[a], &p->partners[k].v.at[b]);
}
