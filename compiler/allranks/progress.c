/* SPDX-License-Identifier: BSD-3-Clause
 * Progress: no rank waits for ever. Each op has a rank in a well-founded order, and every op has a higher one than each op whose
 * start its own start waits for: what it requires or irequires, and, because a message completes only after both its ends have
 * started, the other ends of the messages that it requires. By induction every op starts.
 *
 * The order is that of three numbers: the phase of the site, a measure of the instance, and the place of the site. Sites that wait
 * for each other in a circle have one phase, in which a measure is sought: one that no wait raises. The waits that may leave it as
 * it is must make no circle of sites; they give the sites their places. */
#include "compiler/allranks/proof.h"

#include "format/check.h"

#include <stdlib.h>

/* The sites as a graph whose edges are the waits. */
struct waits {
	unsigned *phase, *place; /* of each site */
	unsigned *measure; /* of each phase */
	bool *reach; /* reach[x * n + y]: x is y, or waits for y, perhaps by way of others */
	size_t n;
};

static bool names_may_match(const struct terms *t, term a, term b)
{
	const struct term_node *x = term_at(t, a), *y = term_at(t, b);
	int64_t u, v;

	if ((x->op == TERM_KEY) != (y->op == TERM_KEY))
		return false;
	if (x->op == TERM_KEY)
		return names_may_match(t, x->a, y->a) && names_may_match(t, x->b, y->b) && names_may_match(t, x->c, y->c);
	return !term_is_num(t, a, &u) || !term_is_num(t, b, &v) || u == v;
}

static term site_name(const struct site *x, unsigned i)
{
	return i ? x->calls[i - 1] : x->key;
}

static void add_wait(struct proof *p, struct wait e)
{
	if (VEC_PUSH(&p->waits, e))
		longjmp(p->stop, 1);
}

/* Adds the waits that a dependency makes between two sites. */
static void add_waits(struct proof *p, const struct site_dep *d, size_t i, size_t k)
{
	const struct site *x = &p->s.ops.at[i], *y = &p->s.ops.at[k];

	for (unsigned a = 0; a <= x->ncalls; a++)
		for (unsigned b = 0; b <= y->ncalls; b++) {
			struct wait e = { i, k, d, k, NULL, site_name(x, a), site_name(y, b) };

			if (e.op_name == TERM_NONE || e.on_name == TERM_NONE || !names_may_match(&p->t, d->op, e.op_name) ||
			    !names_may_match(&p->t, d->on, e.on_name))
				continue;
			add_wait(p, e);
			for (size_t m = 0; m < p->partners[k].v.n && !d->start; m++) {
				e.peer = &p->partners[k].v.at[m];
				e.y = (size_t)(e.peer->site - p->s.ops.at);
				add_wait(p, e);
			}
		}
}

/* Numbers the phases: sites in one circle of waits have the same number, and a site has a higher one than those it waits for. */
static void number_phases(struct proof *p, struct waits *w)
{
	const size_t n = w->n;

	for (size_t x = 0; x < n; x++)
		w->reach[x * n + x] = true;
	for (size_t i = 0; i < p->waits.n; i++)
		w->reach[p->waits.at[i].x * n + p->waits.at[i].y] = true;
	for (size_t k = 0; k < n; k++)
		for (size_t x = 0; x < n; x++)
			for (size_t y = 0; y < n && w->reach[x * n + k]; y++)
				w->reach[x * n + y] |= w->reach[k * n + y];
	for (size_t x = 0; x < n; x++)
		for (size_t y = 0; y < n; y++) /* a site of a later phase waits for more sites */
			w->phase[x] += w->reach[x * n + y];
}

/* Measure number m of an instance: the innermost loop's variable, its level, its rank, how far its rank is behind the root, the
 * distance of both, the first index of its label, or the negative of these. */
#define MEASURES 12u
static term measure_of(struct proof *p, const struct instance *i, unsigned m)
{
	struct terms *t = &p->t;
	term x = term_num(t, 0);

	switch (m / 2) {
	case 0:
		for (unsigned k = 0; k < i->site->path.n; k++)
			if (i->site->path.frame[k].var != TERM_NONE)
				x = instance_value(p, i, i->site->path.frame[k].var);
		break;
	case 1:
		x = instance_value(p, i, i->site->level);
		break;
	case 2:
		x = i->rank;
		break;
	case 3:
		x = term_apply(t, BIN_MOD, term_sub(t, i->rank, p->s.root), p->s.p);
		break;
	case 5:
		if (i->site->key != TERM_NONE)
			x = instance_value(p, i, term_at(t, term_at(t, i->site->key)->c)->a);
		break;
	default:
		x = term_apply(t, BIN_ABS, term_sub(t, i->rank, p->s.root), TERM_NONE);
	}
	return m & 1 ? term_apply(t, BIN_NEG, x, TERM_NONE) : x;
}

/* What is asked of a wait inside a phase: that the measure does not rise, that it falls, or that measure and place fall. */
enum rank_rule { RULE_NOT_UP, RULE_DOWN, RULE_RANK };

/* Makes the obligation that a wait meets the rule, with measure m. */
static void wait_obligation(struct proof *p, const struct waits *w, const struct wait *e, unsigned m, enum rank_rule rule,
			    struct obligation *o)
{
	struct terms *t = &p->t;
	struct instance x, on, y, d;
	const struct site path = { .path = e->dep->path };

	obligation_begin(p, o, e->dep->insn, "ops may wait for each other in a circle");
	instance_fresh(p, o, &p->s.ops.at[e->x], p->rank, &x);
	instance_fresh(p, o, &p->s.ops.at[e->on], p->rank, &on);
	instance_fresh(p, o, &path, p->rank, &d);
	obligation_assume(p, o, term_same(t, instance_value(p, &d, e->dep->op), instance_value(p, &x, e->op_name)));
	obligation_assume(p, o, term_same(t, instance_value(p, &d, e->dep->on), instance_value(p, &on, e->on_name)));
	y = on;
	if (e->peer) {
		partner_instance(p, o, &on, e->peer, &y);
		obligation_assume(p, o, partner_condition(p, &on, e->peer, &y));
	}
	const term u = measure_of(p, &x, m), v = measure_of(p, &y, m);
	const bool same_too = rule == RULE_NOT_UP || (rule == RULE_RANK && w->place[e->y] < w->place[e->x]);

	o->goal = same_too ? term_le(t, v, u) : term_lt(t, v, u);
	if (w->phase[e->x] != w->phase[e->y])
		o->goal = term_num(t, w->phase[e->y] < w->phase[e->x]);
}

/* Raises the places of sites until each is above those that it waits for with the same measure. Returns false if there is a circle. */
static bool find_places(const struct proof *p, struct waits *w, unsigned phase, const bool *same)
{
	bool more = true;

	for (size_t round = 0; more; round++) {
		more = false;
		for (size_t i = 0; i < p->waits.n; i++) {
			const struct wait *e = &p->waits.at[i];

			if (w->phase[e->x] != phase || !same[i] || w->place[e->x] > w->place[e->y])
				continue;
			w->place[e->x] = w->place[e->y] + 1;
			more = true;
		}
		if (round > w->n)
			return false;
	}
	return true;
}

/* True if measure m is one for the phase at all sizes that are tried. */
static bool is_measure(struct proof *p, struct waits *w, unsigned phase, unsigned m)
{
	bool *same = arena_alloc(&p->store, p->waits.n + 1);
	struct obligation o;

	if (!same)
		longjmp(p->stop, 1);
	for (size_t i = 0; i < p->waits.n; i++) {
		const struct wait *e = &p->waits.at[i];

		same[i] = false;
		if (w->phase[e->x] != phase || w->phase[e->y] != phase)
			continue;
		wait_obligation(p, w, e, m, RULE_NOT_UP, &o);
		if (obligation_refuted(p, &o))
			return false;
		wait_obligation(p, w, e, m, RULE_DOWN, &o);
		same[i] = obligation_refuted(p, &o);
	}
	for (size_t x = 0; x < w->n; x++)
		if (w->phase[x] == phase)
			w->place[x] = 0;
	return find_places(p, w, phase, same);
}

static void find_measures(struct proof *p, struct waits *w)
{
	for (size_t i = 0; i < p->waits.n; i++) {
		const unsigned phase = w->phase[p->waits.at[i].x];

		if (phase != w->phase[p->waits.at[i].y] || w->measure[phase] < MEASURES)
			continue;
		w->measure[phase] = 0;
		while (w->measure[phase] < MEASURES - 1 && !is_measure(p, w, phase, w->measure[phase]))
			w->measure[phase]++;
	}
}

static void prove_waits(struct proof *p, struct waits *w)
{
	struct obligation o;

	find_measures(p, w);
	for (size_t i = 0; i < p->waits.n; i++) {
		const struct wait *e = &p->waits.at[i];

		wait_obligation(p, w, e, w->measure[w->phase[e->x]], RULE_RANK, &o);
		obligation_prove(p, &o);
	}
}

void prove_progress(struct proof *p)
{
	struct waits w = { .n = p->s.ops.n };

	w.phase = arena_alloc(&p->store, w.n * sizeof *w.phase + 1);
	w.place = arena_alloc(&p->store, w.n * sizeof *w.place + 1);
	w.measure = arena_alloc(&p->store, (w.n + 1) * sizeof *w.measure);
	w.reach = arena_alloc(&p->store, w.n * w.n + 1);
	if (!w.phase || !w.place || !w.measure || !w.reach)
		longjmp(p->stop, 1);
	for (size_t i = 0; i <= w.n; i++)
		w.measure[i] = MEASURES; /* it is not known */
	for (size_t d = 0; d < p->s.deps.n; d++)
		for (size_t i = 0; i < w.n; i++)
			for (size_t k = 0; k < w.n; k++)
				add_waits(p, &p->s.deps.at[d], i, k);
	number_phases(p, &w);
	prove_waits(p, &w);
}
