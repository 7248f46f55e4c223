/* SPDX-License-Identifier: BSD-3-Clause
 * Labels, progress and races. */
#include "compiler/allranks/proof.h"

#include "format/check.h"

#include <stdlib.h>
#include <string.h>

/* ---- dependencies ---- */

/* Adds to *g the equations that make two keys equal. Returns false if they cannot be equal. */
static bool unify_keys(const struct terms *t, term key, term with, struct guess *g, term *left, term *right)
{
	const struct term_node *x = term_at(t, key), *y = term_at(t, with);
	int64_t a, b;

	if ((x->op == TERM_KEY) != (y->op == TERM_KEY))
		return false;
	if (x->op == TERM_KEY)
		return unify_keys(t, x->a, y->a, g, left, right) && unify_keys(t, x->b, y->b, g, left, right) &&
		       unify_keys(t, x->c, y->c, g, left, right);
	if (term_is_num(t, key, &a) && term_is_num(t, with, &b))
		return a == b;
	left[g->n] = key;
	right[g->n++] = with;
	return g->n < MOST_HYPS;
}

/* The labels by which a dependency can name an op: its own, and those of the calls around it. */
static term name_of(const struct site *x, unsigned i)
{
	return i ? x->calls[i - 1] : x->key;
}

/* A search for the instance of a dependency between two ops. */
struct dep_search {
	const struct site_dep *dep;
	term op_name, on_name; /* values of the names by which the dependency finds them */
	term out; /* disjunction of the conditions that were found */
};

/* A path as a site, so that its variables can be guessed. */
static struct site as_site(const struct path *path)
{
	return (struct site){ .path = *path };
}

static void add_dep(struct proof *p, const struct instance *d, void *arg)
{
	struct dep_search *s = arg;
	struct terms *t = &p->t;
	const term op = term_same(t, instance_value(p, d, s->dep->op), s->op_name);
	const term on = term_same(t, instance_value(p, d, s->dep->on), s->on_name);

	s->out = term_or(t, s->out, term_and(t, term_and(t, op, on), instance_condition(p, d)));
}

/* Returns a condition under which the dependency makes the op wait for the other one, by these names. */
static term dep_between(struct proof *p, const struct site_dep *d, const struct instance *op, const struct instance *on,
			term op_name, term on_name)
{
	struct terms *t = &p->t;
	struct dep_search s = { .dep = d, .out = term_num(t, 0) };
	struct term_map here = { 0 };
	term left[MOST_HYPS + 4], right[MOST_HYPS + 4];
	struct guess g = { .term = left, .value = right };
	const struct site path = as_site(&d->path);

	s.op_name = instance_value(p, op, op_name);
	s.on_name = instance_value(p, on, on_name);
	term_map_add(&here, p->s.r, op->rank);
	if (unify_keys(t, term_subst(t, d->op, &here), s.op_name, &g, left, right) &&
	    unify_keys(t, term_subst(t, d->on, &here), s.on_name, &g, left, right))
		instance_guess(p, &path, op->rank, &g, add_dep, &s);
	return s.out;
}

term order_waits_for(struct proof *p, const struct instance *op, const struct instance *on, bool start)
{
	term out = term_num(&p->t, 0);

	for (size_t i = 0; i < p->s.deps.n; i++) {
		const struct site_dep *d = &p->s.deps.at[i];

		for (unsigned a = 0; a <= op->site->ncalls && (start || !d->start); a++)
			for (unsigned b = 0; b <= on->site->ncalls; b++)
				if (name_of(op->site, a) != TERM_NONE && name_of(on->site, b) != TERM_NONE)
					out = term_or(&p->t, out,
						      dep_between(p, d, op, on, name_of(op->site, a), name_of(on->site, b)));
	}
	return out;
}

/* A search for an op between a and b: b waits for it, and it starts after a has completed. */
struct between {
	const struct instance *a, *b;
	unsigned depth;
	term out;
};

static void add_between(struct proof *p, const struct instance *z, void *arg)
{
	struct between *s = arg;
	struct terms *t = &p->t;
	const term first = order_waits_for(p, s->b, z, true);
	int64_t k;
	term rest;

	if (term_is_num(t, first, &k) && !k)
		return;
	rest = order_after(p, s->a, z, s->depth - 1);
	s->out = term_or(t, s->out, term_and(t, term_and(t, first, rest), instance_condition(p, z)));
}

/* Removes equations whose value has a variable of the dependency that is not known. */
static void drop_unknown(const struct terms *t, struct guess *g, term *left, term *right, const struct path *path,
			 const struct term_map *known)
{
	unsigned n = 0;

	for (unsigned i = 0; i < g->n; i++) {
		bool keep = true;

		for (unsigned k = 0; k < path->n && keep; k++) {
			bool is_known = path->frame[k].var == TERM_NONE;

			for (unsigned m = 0; m < known->n && !is_known; m++)
				is_known = known->from[m] == path->frame[k].var;
			keep = is_known || !term_has(t, right[i], path->frame[k].var);
		}
		left[n] = left[i];
		right[n] = right[i];
		n += keep;
	}
	g->n = n;
}

/* Guesses the executions of z that b waits for by a dependency and by these names. The indices of labels follow from each other; if
 * they do not, because z is named by a call or in a loop around the dependency, its loop variables are guessed to be those of a, or
 * those of the first or last iteration. */
static void search_by_names(struct proof *p, struct between *s, const struct site_dep *d, term b_name, const struct site *z,
			    term z_name)
{
	/* The variables of the dependency are those of the loops around b, if the statements stand together. */
	const struct term_map *here = &s->b->map, at_rank = { .from = { p->s.r }, .to = { s->b->rank }, .n = 1 };
	term left[MOST_HYPS + 4], right[MOST_HYPS + 4], more[MOST_HYPS];
	struct guess g = { .term = left, .value = right };

	if (b_name == TERM_NONE || z_name == TERM_NONE ||
	    !unify_keys(&p->t, term_subst(&p->t, d->op, here), instance_value(p, s->b, b_name), &g, left, right))
		return;
	g.n = 0;
	if (!unify_keys(&p->t, z_name, term_subst(&p->t, d->on, here), &g, left, right))
		return;
	drop_unknown(&p->t, &g, left, right, &d->path, here);
	if (!g.n) {
		for (unsigned i = 1; i < s->a->map.n && g.nmore < MOST_HYPS; i++) /* entry 0 is the rank */
			more[g.nmore++] = s->a->map.to[i];
		for (unsigned i = 0; i < z->path.n && g.nmore + 2 <= MOST_HYPS; i++)
			if (z->path.frame[i].var != TERM_NONE) {
				more[g.nmore++] = term_subst(&p->t, z->path.frame[i].lo, &at_rank);
				more[g.nmore++] = term_subst(&p->t, z->path.frame[i].hi, &at_rank);
			}
		g.more = more;
	}
	instance_guess(p, z, s->b->rank, &g, add_between, s);
}

static void search_between(struct proof *p, struct between *s)
{
	for (size_t i = 0; i < p->s.deps.n; i++)
		for (size_t k = 0; k < p->s.ops.n; k++) {
			const struct site *b = s->b->site, *z = &p->s.ops.at[k];

			for (unsigned m = 0; m <= b->ncalls; m++)
				for (unsigned n = 0; n <= z->ncalls; n++)
					search_by_names(p, s, &p->s.deps.at[i], name_of(b, m), z, name_of(z, n));
		}
}

/* Returns the only loop around a site, or NULL if there is another number of loops. */
static const struct frame *only_loop(const struct site *x)
{
	const struct frame *out = NULL;

	for (unsigned i = 0; i < x->path.n; i++) {
		if (x->path.frame[i].var == TERM_NONE)
			continue;
		if (out)
			return NULL;
		out = &x->path.frame[i];
	}
	return out;
}

/* Returns the value of the loop's variable n iterations after that in which it is x. */
static term iterations_on(struct proof *p, const struct frame *loop, term x, int64_t n)
{
	return term_add(&p->t, x, term_num(&p->t, loop->down ? -n : n));
}

/* True if the iteration in which the loop's variable is x comes before that in which it is y. */
static term is_earlier(struct proof *p, const struct frame *loop, term x, term y)
{
	return loop->down ? term_lt(&p->t, y, x) : term_lt(&p->t, x, y);
}

/* Returns an instance in another iteration of its only loop. */
static struct instance in_iteration(const struct instance *i, term k)
{
	const struct frame *loop = only_loop(i->site);
	struct instance out = *i;

	for (unsigned m = 0; m < out.map.n; m++)
		if (out.map.from[m] == loop->var)
			out.map.to[m] = k;
	return out;
}

/* Returns a condition under which the execution of b's site in iteration `at`, which b is or which comes before b, waits for a. */
static term waits_in_iteration(struct proof *p, const struct instance *a, const struct instance *b, term at)
{
	const struct frame *loop = only_loop(b->site);
	const struct instance first = in_iteration(b, at);
	const term waits = order_waits_for(p, &first, a, false);
	struct terms *t = &p->t;
	const term later = is_earlier(p, loop, instance_value(p, b, loop->var), at);

	return term_and(t, term_not(t, later), term_and(t, waits, instance_condition(p, &first)));
}

/* Returns a condition under which b starts after a because the executions of b's site are a chain: a is one of them, or one of
 * them, which b is or which comes before b, waits for a. */
static term order_by_chain(struct proof *p, const struct instance *a, const struct instance *b)
{
	const enum chain chain = p->chain ? p->chain[b->site - p->s.ops.at] : CHAIN_NONE;
	const struct frame *loop = chain ? only_loop(b->site) : NULL;
	struct terms *t = &p->t;
	term out = term_num(t, 0);

	if (!chain)
		return out;
	if (chain == CHAIN_ENDS && a->site == b->site)
		return is_earlier(p, loop, instance_value(p, a, loop->var), instance_value(p, b, loop->var));
	for (unsigned i = 0; i < a->map.n; i++) { /* entry 0 is the rank */
		const term from = i ? a->map.to[i] : instance_value(p, b, loop->down ? loop->hi : loop->lo);

		for (int64_t more = 0; more < 3; more++)
			out = term_or(t, out, waits_in_iteration(p, a, b, iterations_on(p, loop, from, more)));
	}
	return out;
}

term order_after(struct proof *p, const struct instance *a, const struct instance *b, unsigned depth)
{
	struct between s = { .a = a, .b = b, .depth = depth, .out = order_waits_for(p, b, a, false) };

	s.out = term_or(&p->t, s.out, order_by_chain(p, a, b));
	if (depth)
		search_between(p, &s);
	return s.out;
}

/* Finds out whether the executions of a site are a chain: behind the first one, each waits for that of the iteration before it, which
 * exists, to start or to complete. By induction an execution starts after all those before it have. */
static bool prove_chain(struct proof *p, const struct site *x, bool start)
{
	const struct frame *loop = only_loop(x);
	struct terms *t = &p->t;
	struct instance a, before, first;
	struct obligation o;
	term waits;
	int64_t k;

	if (!loop || x->key == TERM_NONE)
		return false;
	obligation_begin(p, &o, x->insn, "an op does not wait for that of the iteration before it");
	instance_fresh(p, &o, x, p->rank, &a);
	before = in_iteration(&a, iterations_on(p, loop, instance_value(p, &a, loop->var), -1));
	waits = start ? order_waits_for(p, &a, &before, true) : order_after(p, &before, &a, 1);
	if (term_is_num(t, waits, &k) && !k)
		return false;
	instance_fresh(p, &o, x, p->rank, &first);
	obligation_assume(p, &o, is_earlier(p, loop, instance_value(p, &first, loop->var), instance_value(p, &a, loop->var)));
	o.goal = term_and(t, waits, instance_condition(p, &before));
	if (obligation_refuted(p, &o))
		return false;
	obligation_prove(p, &o);
	return true;
}

static void prove_chains(struct proof *p)
{
	enum chain *chain = arena_alloc(&p->store, (p->s.ops.n + 1) * sizeof *chain);

	if (!chain)
		longjmp(p->stop, 1);
	for (size_t i = 0; i < p->s.ops.n; i++) {
		const struct site *x = &p->s.ops.at[i];

		chain[i] = prove_chain(p, x, false) ? CHAIN_ENDS : prove_chain(p, x, true) ? CHAIN_STARTS : CHAIN_NONE;
	}
	p->chain = chain;
}

/* ---- labels ---- */

/* Proves that two executions of these sites, which have labels, have different ones. */
static void prove_distinct(struct proof *p, const struct site *x, const struct site *y)
{
	struct terms *t = &p->t;
	struct instance a, b;
	struct obligation o;

	obligation_begin(p, &o, x->insn, "two ops have the same label");
	instance_fresh(p, &o, x, p->rank, &a);
	instance_fresh(p, &o, y, p->rank, &b);
	o.goal = term_or(t, instance_same(p, &a, &b),
			 term_not(t, term_same(t, instance_value(p, &a, x->key), instance_value(p, &b, y->key))));
	obligation_prove(p, &o);
}

void prove_labels(struct proof *p)
{
	const size_t nops = p->s.ops.n, n = nops + p->s.calls.n;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k <= i; k++) {
			const struct site *x = i < nops ? &p->s.ops.at[i] : &p->s.calls.at[i - nops];
			const struct site *y = k < nops ? &p->s.ops.at[k] : &p->s.calls.at[k - nops];

			if (x->key != TERM_NONE && y->key != TERM_NONE)
				prove_distinct(p, x, y);
		}
}

/* ---- races ---- */

static void prove_race(struct proof *p, const struct site *x, unsigned i, const struct site *y, unsigned k)
{
	struct terms *t = &p->t;
	const term zero = term_num(t, 0);
	struct instance a, b;
	struct obligation o;

	obligation_begin(p, &o, x->insn, "two ops use the same elements and are not ordered as in the text");
	instance_fresh(p, &o, x, p->rank, &a);
	instance_fresh(p, &o, y, p->rank, &b);
	const term off_a = instance_value(p, &a, x->range[i].off), off_b = instance_value(p, &b, y->range[k].off);
	const term len_a = instance_value(p, &a, x->len), len_b = instance_value(p, &b, y->len);

	obligation_assume(p, &o, term_lt(t, zero, len_a));
	obligation_assume(p, &o, term_lt(t, zero, len_b));
	obligation_assume(p, &o, term_lt(t, off_a, term_add(t, off_b, len_b)));
	obligation_assume(p, &o, term_lt(t, off_b, term_add(t, off_a, len_a)));
	if (x != y || i == k) /* the two ranges of one copy must not overlap either */
		obligation_assume(p, &o, term_not(t, instance_same(p, &a, &b)));
	o.goal = zero;
	if (obligation_refuted_if_large(p, &o)) /* they overlap somewhere, so they must be ordered */
		o.goal = term_or(t, term_and(t, instance_before(p, &a, &b), order_after(p, &a, &b, 2)),
				 term_and(t, instance_before(p, &b, &a), order_after(p, &b, &a, 2)));
	obligation_prove(p, &o);
}

/* Proves that an op writes nothing. */
static void prove_no_write(struct proof *p, const struct site *x)
{
	struct instance a;
	struct obligation o;

	obligation_begin(p, &o, x->insn, "an op writes to a buffer of mode in");
	instance_fresh(p, &o, x, p->rank, &a);
	o.goal = term_eq(&p->t, instance_value(p, &a, x->len), term_num(&p->t, 0));
	obligation_prove(p, &o);
}

void prove_races(struct proof *p)
{
	for (size_t a = 0; a < p->s.ops.n; a++)
		for (unsigned i = 0; i < bin_nranges(p->s.ops.at[a].kind); i++)
			if (bin_writes(p->s.ops.at[a].kind, i) && p->b->buffers[p->s.ops.at[a].range[i].buf].mode == BIN_IN)
				prove_no_write(p, &p->s.ops.at[a]);
	prove_chains(p);
	for (size_t a = 0; a < p->s.ops.n; a++)
		for (size_t b = 0; b <= a; b++) {
			const struct site *x = &p->s.ops.at[a], *y = &p->s.ops.at[b];

			for (unsigned i = 0; i < bin_nranges(x->kind); i++)
				for (unsigned k = 0; k < bin_nranges(y->kind); k++)
					if (x->range[i].buf == y->range[k].buf && (a != b || k <= i) &&
					    (bin_writes(x->kind, i) || bin_writes(y->kind, k)))
						prove_race(p, x, i, y, k);
		}
}
