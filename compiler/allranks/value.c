/* SPDX-License-Identifier: BSD-3-Clause
 * Results. The value of an element is a run of ranks, counted modulo the size, whose elements of one buffer at the start have
 * been summed up in this order, or a class of members (members.c); what was only moved is a run of one rank. For each site, terms
 * say what its ops read and write. They are guesses. Ops of a rank that use the same elements are ordered as in the text (order.c),
 * so that an op reads what the last op before it in the text has written. It is proved that
 *   every op writes what its terms say, if what it reads, or receives, is what terms say,
 *   every op reads what its terms say, because there is an op before it that writes this, and each op before it that writes
 *   the element is this one, or comes before this one; or because the element holds it at the start and no op writes it, and
 *   every element that is claimed holds the claimed value at the end, in the same way.
 * By induction along the order in which ops start, all elements that are claimed hold their values at the end. */
#include "compiler/allranks/values.h"

#include "format/check.h"

#include <stdlib.h>
#include <string.h>

#define MOST_WRITERS 64u

static bool is_commutative(const struct proof *p)
{
	return p->b->meta->flags & BIN_F_COMMUTATIVE;
}

/* ---- values ---- */

/* True if two values are of the same element of a buffer. */
static term same_element(struct proof *p, struct held a, struct held b)
{
	return term_and(&p->t, term_eq(&p->t, a.buf, b.buf), term_eq(&p->t, a.index, b.index));
}

/* True if two values are the same. The order of all ranks does not matter if the operation commutes. */
static term same_held(struct proof *p, struct held a, struct held b)
{
	struct terms *t = &p->t;
	term begin = term_eq(t, a.lo, b.lo);

	if (a.members || b.members)
		return term_and(t, same_element(p, a, b), members_same(p, a, b));
	if (is_commutative(p))
		begin = term_or(t, begin, term_eq(t, a.n, p->s.p));
	return term_and(t, same_element(p, a, b), term_and(t, term_eq(t, a.n, b.n), begin));
}

/* True if `sum` is a followed by b. */
static term is_sum(struct proof *p, struct held a, struct held b, struct held sum)
{
	struct terms *t = &p->t;
	const term next = term_eq(t, term_apply(t, BIN_MOD, term_add(t, a.lo, a.n), p->s.p), b.lo);
	const term n = term_and(t, term_eq(t, sum.n, term_add(t, a.n, b.n)), term_le(t, sum.n, p->s.p));
	const term begin = term_and(t, term_eq(t, sum.lo, a.lo), next);
	const term same = term_and(t, same_element(p, a, b), same_element(p, a, sum));

	if (a.members || b.members || sum.members)
		return is_commutative(p) ? term_and(t, same, members_sum(p, a, b, sum)) : term_num(t, 0);
	return term_and(t, same, term_and(t, n, begin));
}

/* Returns a value of a site for element d of the range of an instance. */
static struct held instance_held(struct proof *p, const struct instance *i, const struct held *h, term d)
{
	struct term_map m = i->map;

	term_map_add(&m, p->elem, d);
	return (struct held){ term_subst(&p->t, h->lo, &m), term_subst(&p->t, h->n, &m), term_subst(&p->t, h->buf, &m),
			      term_subst(&p->t, h->index, &m), h->members };
}

static const struct site_values *values_of(const struct proof *p, const struct site *x)
{
	return &p->values[x - p->s.ops.at];
}

/* Adds a variable for the number of an element of a range with this length, or 0 if the length is 1. */
static term element_of(struct proof *p, struct obligation *o, term len)
{
	struct terms *t = &p->t;
	int64_t k;

	if (term_is_num(t, len, &k) && k == 1)
		return term_num(t, 0);
	return obligation_var(p, o, "d", term_num(t, 0), term_sub(t, len, term_num(t, 1)));
}

/* ---- what ops write ---- */

BIN_LAST_OP(GETS);
/* Proves that an op writes what its terms say. A recv gets what its partner reads. */
static void prove_write(struct proof *p, const struct site *x, const struct partner *with)
{
	struct terms *t = &p->t;
	const struct site_values *v = values_of(p, x);
	struct instance a, send;
	struct obligation o;
	term d, swapped;

	obligation_begin(p, &o, x->insn, "an op writes a wrong value");
	instance_fresh(p, &o, x, p->rank, &a);
	if (with) {
		partner_instance(p, &o, &a, with, &send);
		obligation_assume(p, &o, partner_condition(p, &a, with, &send));
	}
	d = element_of(p, &o, instance_value(p, &a, x->len));
	obligation_assume(p, &o, term_lt(t, term_num(t, 0), instance_value(p, &a, x->len)));
	const struct held out = instance_held(p, &a, &v->wrote, d);
	const struct held first = with ? instance_held(p, &send, &values_of(p, send.site)->read[0], d) :
					 instance_held(p, &a, &v->read[0], d);

	o.goal = same_held(p, out, first);
	if (x->kind == BIN_OP_REDUCE || x->kind == BIN_OP_REDUCE_WITH) {
		const struct held second = instance_held(p, &a, &v->read[1], d);
		const bool back = x->kind == BIN_OP_REDUCE_WITH;

		o.goal = is_sum(p, back ? second : first, back ? first : second, out);
		swapped = is_sum(p, back ? first : second, back ? second : first, out);
		o.goal = is_commutative(p) ? term_or(t, o.goal, swapped) : o.goal;
	}
	obligation_prove(p, &o);
}

static void prove_writes(struct proof *p, size_t i)
{
	const struct site *x = &p->s.ops.at[i];

	if (x->kind == BIN_OP_RECV)
		for (size_t k = 0; k < p->partners[i].v.n; k++)
			prove_write(p, x, &p->partners[i].v.at[k]);
	else if (written_range(x).off != TERM_NONE)
		prove_write(p, x, NULL);
}

/* ---- what ops read ---- */

/* An element that is used: by an op, or at the end. */
struct use {
	const struct site *site; /* the op, or NULL */
	unsigned range; /* the range that the op reads */
	const struct site_gets *gets; /* the statement that claims the element */
	bool moved; /* the buffer of the statement is in place */
	/* The values in an obligation: */
	struct instance at;
	uint32_t buf;
	term index;
	struct held need;
	term more[MOST_HYPS]; /* guesses of loop variables */
	unsigned nmore;
};

/* A search for the op that writes the element last. */
struct writers {
	const struct use *use;
	const struct instance *other; /* another op that writes it, or NULL */
	term cond[MOST_WRITERS];
	unsigned n;
};

static void add_writer(struct proof *p, const struct instance *i, void *arg)
{
	struct writers *w = arg;
	const struct use *u = w->use;
	struct terms *t = &p->t;
	const term d = term_sub(t, u->index, instance_value(p, i, written_range(i->site).off));
	term cond = term_and(t, instance_condition(p, i), covers_index(p, i, written_range(i->site), i->site->len, u->index));

	cond = term_and(t, cond, same_held(p, instance_held(p, i, &values_of(p, i->site)->wrote, d), u->need));
	if (u->site)
		cond = term_and(t, cond, instance_before(p, i, &u->at));
	if (w->other)
		cond = term_and(t, cond, term_not(t, instance_before(p, i, w->other)));
	if (w->n < MOST_WRITERS)
		w->cond[w->n++] = cond;
}

/* Adds guesses that hold for any writer: variables of the use, also in the iteration before, and steps of trees. */
static void add_guesses(struct proof *p, struct use *u)
{
	struct terms *t = &p->t;
	const term one = term_num(t, 1), ahead = term_apply(t, BIN_MOD, term_sub(t, u->index, p->rank), p->s.p);
	const struct path *path = u->site ? &u->site->path : &u->gets->path;

	u->nmore = 0;
	for (unsigned i = 0; i < path->n; i++)
		if (path->frame[i].var != TERM_NONE) {
			const term k = instance_value(p, &u->at, path->frame[i].var);

			u->more[u->nmore++] = k;
			u->more[u->nmore++] = path->frame[i].down ? term_add(t, k, one) : term_sub(t, k, one);
		}
	u->more[u->nmore++] = term_apply(t, BIN_LOG2, term_apply(t, BIN_MAX, ahead, one), TERM_NONE);
}

/* Adds the values of a loop variable at which a term has a value. */
static void add_solutions(struct proof *p, term x, term var, term value, term *more, unsigned *n)
{
	struct term_solutions s;

	term_solve(&p->t, x, var, value, &s);
	for (unsigned i = 0; i < s.n && *n < MOST_HYPS; i++) {
		unsigned k = 0;

		while (k < *n && more[k] != s.at[i])
			k++;
		if (k == *n && !term_has(&p->t, s.at[i], var))
			more[(*n)++] = s.at[i];
	}
}

/* Adds the values of a loop variable at which comparisons in a term change. */
static void add_ends(struct proof *p, term x, term var, term *more, unsigned *n)
{
	const struct term_node c = *term_at(&p->t, x);
	const term part[] = { c.a, c.b, c.c }, one = term_num(&p->t, 1);

	if (c.op == TERM_NUM || c.op == TERM_VAR)
		return;
	for (unsigned i = 0; i < 3; i++)
		if (part[i] != TERM_NONE)
			add_ends(p, part[i], var, more, n);
	if (c.op == BIN_LE || c.op == BIN_LT || c.op == BIN_EQ) {
		add_solutions(p, c.a, var, c.b, more, n);
		add_solutions(p, c.b, var, c.a, more, n);
	}
	if (c.op == BIN_LT)
		add_solutions(p, c.a, var, term_sub(&p->t, c.b, one), more, n);
}

/* Adds the step in which a number of this site is combined with the power of two that is the highest bit in which it differs from
 * `other`. */
static void add_step(struct proof *p, const struct path *path, term number, term exponent, term other, term *more, unsigned *n)
{
	struct terms *t = &p->t;
	const term differ = term_apply(t, BIN_MAX, term_apply(t, BIN_XOR, number, other), term_num(t, 1));

	for (unsigned i = 0; i < path->n; i++)
		if (path->frame[i].var != TERM_NONE)
			add_solutions(p, exponent, path->frame[i].var, term_apply(t, BIN_LOG2, differ, TERM_NONE), more, n);
}

/* Adds the steps in which members exchange by powers of two, x xor 2^k: if x is that of the peer, such that the member of the
 * element's rank is reached; if x is in an offset, such that the element itself is. */
static void add_steps(struct proof *p, const struct path *path, term x, bool is_peer, term index, term *more, unsigned *n)
{
	struct terms *t = &p->t;
	const struct term_node c = *term_at(t, x);
	const term part[] = { c.a, c.b, c.c };
	const struct term_map here = { .from = { p->s.r }, .to = { p->rank }, .n = 1 },
			      there = { .from = { p->s.r }, .to = { index }, .n = 1 };
	int64_t base;

	if (c.op == TERM_NUM || c.op == TERM_VAR)
		return;
	for (unsigned i = 0; i < 3; i++)
		if (part[i] != TERM_NONE)
			add_steps(p, path, part[i], is_peer, index, more, n);
	for (unsigned i = 0; i < 2 && c.op == BIN_XOR; i++) {
		const term number = i ? c.b : c.a;
		const struct term_node power = *term_at(t, i ? c.a : c.b);

		if (power.op == BIN_POW && term_is_num(t, power.a, &base) && base == 2)
			add_step(p, path, term_subst(t, number, &here), term_subst(t, power.b, &here),
				 is_peer ? term_subst(t, number, &there) : index, more, n);
	}
}

/* Calls add_writer for the guesses of a site. Its first and its last iteration are guesses too. */
static void guess_writers(struct proof *p, struct writers *w, const struct site *x)
{
	const struct site_range range = written_range(x);
	const struct term_map here = { .from = { p->s.r }, .to = { p->rank }, .n = 1 };
	/* the element may be the first one of the range, or another one of a short range */
	const term from[] = { range.off, range.off }, to[] = { w->use->index, term_sub(&p->t, w->use->index, term_num(&p->t, 1)) };
	struct guess g = { .term = from, .value = to, .n = 2 };
	term more[MOST_HYPS];
	unsigned ends;

	if (range.off == TERM_NONE || range.buf != w->use->buf)
		return;
	memcpy(more, w->use->more, w->use->nmore * sizeof *more);
	g.more = more;
	g.nmore = w->use->nmore;
	if (x->kind == BIN_OP_RECV) {
		add_steps(p, &x->path, x->peer, true, w->use->index, more, &g.nmore);
		add_steps(p, &x->path, range.off, false, w->use->index, more, &g.nmore);
	}
	for (unsigned i = 0; i < x->path.n && g.nmore + 2 < MOST_HYPS; i++)
		if (x->path.frame[i].var != TERM_NONE) {
			more[g.nmore++] = term_subst(&p->t, x->path.frame[i].hi, &here);
			more[g.nmore++] = term_subst(&p->t, x->path.frame[i].lo, &here);
			ends = g.nmore;
			add_ends(p, range.off, x->path.frame[i].var, more, &g.nmore);
			for (unsigned k = i + 1; k < x->path.n; k++) /* the last iteration in which a branch is taken */
				if (x->path.frame[k].var == TERM_NONE)
					add_ends(p, x->path.frame[k].cond, x->path.frame[i].var, more, &g.nmore);
			for (; ends < g.nmore; ends++)
				more[ends] = term_subst(&p->t, more[ends], &here);
		} else if (term_at(&p->t, x->path.frame[i].cond)->op == BIN_LE) { /* a branch may have the last iteration */
			more[g.nmore++] = term_subst(&p->t, term_at(&p->t, x->path.frame[i].cond)->b, &here);
		}
	instance_guess(p, x, p->rank, &g, add_writer, w);
}

/* Begins an obligation about a use, and finds its values. */
static void begin_use(struct proof *p, struct use *u, struct obligation *o)
{
	struct terms *t = &p->t;
	const struct site_inplace *in = &p->s.inplace;
	const struct site path = { .path = u->gets ? u->gets->path : (struct path){ 0 } };
	const struct site *x = u->site ? u->site : &path;
	const struct site_range range = u->site ? x->range[u->range] : u->gets->to;
	const term len = u->site ? x->len : u->gets->len;
	term d;

	obligation_begin(p, o, u->site ? x->insn : 0,
			 u->site ? "an op reads a value that is not there" : "a claimed element does not hold its value");
	instance_fresh(p, o, x, p->rank, &u->at);
	d = element_of(p, o, instance_value(p, &u->at, len));
	obligation_assume(p, o, term_lt(t, term_num(t, 0), instance_value(p, &u->at, len)));
	u->buf = range.buf;
	u->index = term_add(t, instance_value(p, &u->at, range.off), d);
	u->need = u->site ? instance_held(p, &u->at, &values_of(p, x)->read[u->range], d) :
			    (struct held){ instance_value(p, &u->at, u->gets->rank), instance_value(p, &u->at, u->gets->ranks),
					   term_num(t, u->gets->from.buf),
					   term_add(t, instance_value(p, &u->at, u->gets->from.off), d), false };
	if (u->gets && in->any && in->buf == u->buf) {
		const term cond = instance_value(p, &u->at, in->cond);

		obligation_assume(p, o, u->moved ? cond : term_not(t, cond));
	}
	if (u->moved) {
		u->buf = in->at.buf;
		u->index = term_add(t, u->index, instance_value(p, &u->at, in->at.off));
	}
	add_guesses(p, u);
}

/* Proves that the element holds its value at the start or from an op before the use, and, if `other` is set, that this op does
 * not come before an op of that site which writes the element. */
static void prove_source(struct proof *p, struct use *u, const struct site *other)
{
	struct terms *t = &p->t;
	struct writers w = { .use = u };
	struct instance later;
	struct obligation o;
	bool chosen[MOST_WRITERS];
	term known;

	begin_use(p, u, &o);
	if (other) {
		instance_fresh(p, &o, other, p->rank, &later);
		obligation_assume(p, &o, covers_index(p, &later, written_range(other), other->len, u->index));
		if (u->site)
			obligation_assume(p, &o, instance_before(p, &later, &u->at));
		w.other = &later;
		add_writer(p, &later, &w); /* the first choice, because this is the simplest condition */
	} else {
		const struct held first = initial_held(p, u->buf, p->rank, u->index, &known);

		w.cond[w.n++] = term_and(t, known, same_held(p, first, u->need));
	}
	for (size_t i = 0; i < p->s.ops.n; i++)
		guess_writers(p, &w, &p->s.ops.at[i]);
	o.goal = obligation_cover(p, &o, w.cond, w.n, chosen);
	obligation_prove(p, &o);
}

static void prove_use(struct proof *p, struct use *u)
{
	const uint32_t buf = u->site ? u->site->range[u->range].buf : u->moved ? p->s.inplace.at.buf : u->gets->to.buf;

	prove_source(p, u, NULL);
	for (size_t i = 0; i < p->s.ops.n; i++) {
		const struct site_range range = written_range(&p->s.ops.at[i]);

		if (range.off != TERM_NONE && range.buf == buf)
			prove_source(p, u, &p->s.ops.at[i]);
	}
}

static void prove_reads(struct proof *p, const struct site *x)
{
	for (unsigned i = 0; i < bin_nranges(x->kind); i++)
		if (bin_reads(x->kind, i))
			prove_use(p, &(struct use){ .site = x, .range = i });
}

/* ---- the claim ---- */

static bool path_has(const struct terms *t, const struct path *path, term var)
{
	for (unsigned i = 0; i < path->n; i++) {
		const struct frame *f = &path->frame[i];
		const bool own = f->var == var;

		if (!own && f->var == TERM_NONE ? term_has(t, f->cond, var) :
		    !own			? term_has(t, f->lo, var) || term_has(t, f->hi, var) :
						  false)
			return true;
	}
	return false;
}

/* Makes one statement of a loop whose statements are about the same range: the sum of the ranks that the loop counts. */
static void join_gets(struct proof *p, struct site_gets *g)
{
	struct terms *t = &p->t;
	const struct frame *f = g->path.n ? &g->path.frame[g->path.n - 1] : NULL;

	g->ranks = term_num(t, 1);
	if (f && f->var != TERM_NONE && g->rank == f->var && !f->down && !term_has(t, g->to.off, f->var) &&
	    !term_has(t, g->len, f->var) && !term_has(t, g->from.off, f->var) && !path_has(t, &g->path, f->var)) {
		struct frame *frames = arena_alloc(&p->store, g->path.n * sizeof *frames);

		if (!frames)
			longjmp(p->stop, 1);
		memcpy(frames, g->path.frame, g->path.n * sizeof *frames);
		frames[g->path.n - 1] =
			(struct frame){ .cond = term_le(t, f->lo, f->hi), .var = TERM_NONE, .lo = TERM_NONE, .hi = TERM_NONE };
		g->rank = f->lo;
		g->ranks = term_add(t, term_sub(t, f->hi, f->lo), term_num(t, 1));
		g->path.frame = frames;
	}
}

/* Proves that two statements, or two executions of one, are not about the same element. */
static void prove_apart(struct proof *p, const struct site_gets *g, const struct site_gets *h)
{
	struct terms *t = &p->t;
	const struct site x = { .path = g->path }, y = { .path = h->path };
	struct instance a, b;
	struct obligation o;

	obligation_begin(p, &o, 0, "the result has a sum that is not over a run of ranks");
	instance_fresh(p, &o, &x, p->rank, &a);
	instance_fresh(p, &o, g == h ? &x : &y, p->rank, &b);
	const term index = term_add(t, instance_value(p, &a, g->to.off), element_of(p, &o, instance_value(p, &a, g->len)));

	obligation_assume(p, &o, covers_index(p, &b, h->to, h->len, index));
	o.goal = g == h ? instance_same(p, &a, &b) : term_num(t, 0);
	obligation_prove(p, &o);
}

static void prove_claim(struct proof *p)
{
	const struct site_inplace *in = &p->s.inplace;
	const size_t n = p->result.gets.n;
	struct site_gets *g = p->result.gets.at;

	for (size_t i = 0; i < n; i++)
		join_gets(p, &g[i]);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k <= i; k++)
			if (g[i].to.buf == g[k].to.buf)
				prove_apart(p, &g[i], &g[k]);
	for (size_t i = 0; i < n; i++) {
		prove_use(p, &(struct use){ .gets = &g[i] });
		if (in->any && in->buf == g[i].to.buf)
			prove_use(p, &(struct use){ .gets = &g[i], .moved = true });
	}
}

/* Finds terms for what each site reads and writes. */
static void guess_values(struct proof *p)
{
	struct site_samples *s = arena_alloc(&p->store, (p->s.ops.n + 1) * sizeof *s);

	p->values = arena_alloc(&p->store, (p->s.ops.n + 1) * sizeof *p->values);
	if (!s || !p->values)
		longjmp(p->stop, 1);
	memset(s, 0, (p->s.ops.n + 1) * sizeof *s);
	members_find(p);
	run_small(p, s);
	for (size_t i = 0; i < p->s.ops.n; i++) {
		const struct site *x = &p->s.ops.at[i];

		if (!fit_held(p, x, &s[i].read[0], &p->values[i].read[0]) ||
		    !fit_held(p, x, &s[i].read[1], &p->values[i].read[1]) || !fit_held(p, x, &s[i].wrote, &p->values[i].wrote))
			proof_stop(p, x->insn, "no terms were found for the values of this op");
	}
}

static bool has_members(const struct proof *p)
{
	for (size_t i = 0; i < p->s.ops.n; i++)
		if (p->values[i].read[0].members || p->values[i].read[1].members || p->values[i].wrote.members)
			return true;
	return false;
}

void prove_values(struct proof *p)
{
	guess_values(p);
	if (has_members(p))
		members_prove(p);
	for (size_t i = 0; i < p->s.ops.n; i++)
		prove_writes(p, i);
	for (size_t i = 0; i < p->s.ops.n; i++)
		prove_reads(p, &p->s.ops.at[i]);
	prove_claim(p);
}
