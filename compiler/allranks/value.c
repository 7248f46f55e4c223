/* SPDX-License-Identifier: BSD-3-Clause
 * Results of schedules that move data. Each element of a buffer has one value that it may hold: that of an element of some rank
 * at the start. For buffers of the caller it follows from the claim; for scratch it is guessed. It is proved that
 *   every op that writes an element writes the value that the element may hold, if what it reads is as it may be,
 *   every op reads only elements that hold their value at the start, or that ops before it write, and
 *   every element that is claimed holds its value at the start, or is written by some op.
 * By induction along the order in which ops start, all elements that are claimed hold their values at the end. */
#include "compiler/allranks/proof.h"

#include "format/check.h"

#include <stdlib.h>
#include <string.h>

/* The element of a rank's buffer at the start. If `known` is false, nothing is said. */
struct origin_of {
	term known, rank, buf, index;
};

#define SCRATCH_GUESSES 7u
#define MOST_WRITERS 64u

/* The values of scratch buffers: guess number `form` about input buffer `buf`. */
struct scratch {
	uint32_t buf;
	unsigned form;
};

struct values {
	struct scratch scratch;
};

static enum bin_mode mode_of(const struct proof *p, uint32_t buf)
{
	return (enum bin_mode)p->b->buffers[buf].mode;
}

static struct origin_of no_origin(struct proof *p)
{
	const term zero = term_num(&p->t, 0);

	return (struct origin_of){ zero, zero, zero, zero };
}

static struct origin_of element_origin(struct proof *p, term rank, uint32_t buf, term index)
{
	return (struct origin_of){ term_num(&p->t, 1), rank, term_num(&p->t, buf), index };
}

static struct origin_of choose_origin(struct proof *p, term cond, struct origin_of a, struct origin_of b)
{
	struct terms *t = &p->t;

	return (struct origin_of){ term_ite(t, cond, a.known, b.known), term_ite(t, cond, a.rank, b.rank),
				   term_ite(t, cond, a.buf, b.buf), term_ite(t, cond, a.index, b.index) };
}

static term same_origin(struct proof *p, struct origin_of a, struct origin_of b)
{
	struct terms *t = &p->t;
	const term same = term_and(t, term_eq(t, a.rank, b.rank),
				   term_and(t, term_eq(t, a.buf, b.buf), term_eq(t, a.index, b.index)));

	return term_and(t, term_and(t, a.known, b.known), same);
}

/* ---- what an element may hold ---- */

/* A search for the statement of the result that is about an element. */
struct claim_search {
	const struct site_gets *gets;
	term index;
	struct origin_of out;
};

static struct origin_of origin_by(struct proof *p, const struct site_gets *g, const struct instance *i, term index)
{
	const term shift = term_sub(&p->t, index, instance_value(p, i, g->to.off));

	return element_origin(p, instance_value(p, i, g->rank), g->from.buf,
			      term_add(&p->t, instance_value(p, i, g->from.off), shift));
}

static term covers_index(struct proof *p, const struct instance *i, struct site_range range, term len, term index)
{
	struct terms *t = &p->t;
	const term off = instance_value(p, i, range.off);

	return term_and(t, term_le(t, off, index), term_lt(t, index, term_add(t, off, instance_value(p, i, len))));
}

static void add_claim(struct proof *p, const struct instance *i, void *arg)
{
	struct claim_search *s = arg;
	const term cond = term_and(&p->t, instance_condition(p, i), covers_index(p, i, s->gets->to, s->gets->len, s->index));

	s->out = choose_origin(p, cond, origin_by(p, s->gets, i, s->index), s->out);
}

static struct origin_of claimed_value(struct proof *p, uint32_t buf, term rank, term index)
{
	struct claim_search s = { .index = index, .out = no_origin(p) };

	for (size_t i = 0; i < p->result.gets.n; i++) {
		const struct site_gets *g = &p->result.gets.at[i];
		const struct site path = { .path = g->path };

		s.gets = g;
		if (g->to.buf == buf)
			instance_guess(p, &path, rank, &(struct guess){ .term = &g->to.off, .value = &index, .n = 1 }, add_claim,
				       &s);
	}
	return s.out;
}

static struct origin_of scratch_value(struct proof *p, struct scratch s, term rank, term index)
{
	struct terms *t = &p->t;
	const term zero = term_num(t, 0), size = p->s.p;
	const term ahead = term_apply(t, BIN_MOD, term_add(t, rank, index), size);
	const term behind = term_apply(t, BIN_MOD, term_sub(t, rank, index), size);

	switch (s.form) {
	case 0:
		return element_origin(p, rank, s.buf, index);
	case 1:
		return element_origin(p, ahead, s.buf, zero);
	case 2:
		return element_origin(p, behind, s.buf, zero);
	case 3:
		return element_origin(p, p->s.root, s.buf, index);
	case 4:
		return element_origin(p, p->s.root, s.buf, ahead);
	case 5:
		return element_origin(p, rank, s.buf, ahead);
	default:
		return element_origin(p, rank, s.buf, behind);
	}
}

static struct origin_of value_at(struct proof *p, const struct values *v, uint32_t buf, term rank, term index)
{
	const enum bin_mode mode = mode_of(p, buf);

	if (mode == BIN_IN)
		return element_origin(p, rank, buf, index);
	return mode == BIN_SCRATCH ? scratch_value(p, v->scratch, rank, index) : claimed_value(p, buf, rank, index);
}

/* What an element holds at the start. */
static struct origin_of initial_value(struct proof *p, uint32_t buf, term rank, term index)
{
	const enum bin_mode mode = mode_of(p, buf);
	const struct site_inplace *in = &p->s.inplace;
	struct origin_of out = mode == BIN_IN || mode == BIN_INOUT ? element_origin(p, rank, buf, index) : no_origin(p);
	struct instance i = { .rank = rank };
	term cond;

	if (!in->any || in->at.buf != buf || mode_of(p, in->buf) == BIN_OUT)
		return out;
	term_map_add(&i.map, p->s.r, rank);
	cond = term_and(&p->t, instance_value(p, &i, in->cond), covers_index(p, &i, in->at, in->len, index));
	return choose_origin(p, cond, element_origin(p, rank, in->buf, term_sub(&p->t, index, instance_value(p, &i, in->at.off))),
			     out);
}

static term holds_at_start(struct proof *p, const struct values *v, uint32_t buf, term rank, term index)
{
	return same_origin(p, initial_value(p, buf, rank, index), value_at(p, v, buf, rank, index));
}

/* ---- obligations ---- */

/* Adds a variable for the number of an element of a range with this length, or 0 if the length is 1. */
static term element_of(struct proof *p, struct obligation *o, term len)
{
	struct terms *t = &p->t;
	int64_t k;

	if (term_is_num(t, len, &k) && k == 1)
		return term_num(t, 0);
	return obligation_var(p, o, "d", term_num(t, 0), term_sub(t, len, term_num(t, 1)));
}

/* The range that an op writes, or TERM_NONE as its offset. */
static struct site_range written_range(const struct site *x)
{
	for (unsigned i = 0; i < bin_nranges(x->kind); i++)
		if (bin_writes(x->kind, i))
			return x->range[i];
	return (struct site_range){ 0, TERM_NONE };
}

static struct site_range read_range(const struct site *x)
{
	for (unsigned i = 0; i < bin_nranges(x->kind); i++)
		if (bin_reads(x->kind, i))
			return x->range[i];
	return (struct site_range){ 0, TERM_NONE };
}

/* Makes the obligation that element d of what an op writes gets its value, if what it reads has its own. A recv reads what its
 * partner sends. */
static void write_obligation(struct proof *p, const struct values *v, const struct site *x, const struct partner *with,
			     struct obligation *o)
{
	struct terms *t = &p->t;
	struct instance a, from;
	struct origin_of to_value, from_value;
	struct site_range range;
	term d;

	obligation_begin(p, o, x->insn, "an op writes a wrong value");
	instance_fresh(p, o, x, p->rank, &a);
	from = a;
	if (with) {
		partner_instance(p, o, &a, with, &from);
		obligation_assume(p, o, partner_condition(p, &a, &from));
	}
	d = element_of(p, o, instance_value(p, &a, x->len));
	range = read_range(from.site);
	from_value = value_at(p, v, range.buf, from.rank, term_add(t, instance_value(p, &from, range.off), d));
	range = written_range(x);
	to_value = value_at(p, v, range.buf, a.rank, term_add(t, instance_value(p, &a, range.off), d));
	o->goal = term_or(t, term_not(t, to_value.known), same_origin(p, to_value, from_value));
	obligation_assume(p, o, term_lt(t, term_num(t, 0), instance_value(p, &a, x->len)));
}

/* Calls fn for each obligation about an op that writes. */
static bool each_write(struct proof *p, const struct values *v, bool (*fn)(struct proof *, const struct obligation *))
{
	struct obligation o;

	for (size_t i = 0; i < p->s.ops.n; i++) {
		const struct site *x = &p->s.ops.at[i];

		if (x->kind == BIN_OP_COPY) {
			write_obligation(p, v, x, NULL, &o);
			if (!fn(p, &o))
				return false;
		}
		for (size_t k = 0; k < p->partners[i].v.n && x->kind == BIN_OP_RECV; k++) {
			write_obligation(p, v, x, &p->partners[i].v.at[k], &o);
			if (!fn(p, &o))
				return false;
		}
	}
	return true;
}

static bool prove_one(struct proof *p, const struct obligation *o)
{
	obligation_prove(p, o);
	return true;
}

static bool is_not_refuted(struct proof *p, const struct obligation *o)
{
	return !obligation_refuted(p, o);
}

/* ---- writers ---- */

/* A search for ops that write an element before a given op, or at any time. */
struct writers {
	const struct instance *before; /* or NULL */
	const struct site *site;
	term index;
	term cond[MOST_WRITERS];
	unsigned n;
};

static void add_writer(struct proof *p, const struct instance *i, void *arg)
{
	struct writers *w = arg;
	struct terms *t = &p->t;
	term cond = term_and(t, instance_condition(p, i), covers_index(p, i, written_range(i->site), i->site->len, w->index));

	if (w->before)
		cond = term_and(t, cond, order_after(p, i, w->before, 1));
	if (w->n < MOST_WRITERS)
		w->cond[w->n++] = cond;
}

/* Sets the goal that the element holds its value at the start, or is written by an op. */
static void goal_written(struct proof *p, const struct values *v, struct obligation *o, uint32_t buf, term index,
			 const struct instance *before, const term *more, unsigned nmore)
{
	struct terms *t = &p->t;
	struct writers w = { .before = before, .index = index };
	bool chosen[MOST_WRITERS];
	const term known = value_at(p, v, buf, p->rank, index).known;

	w.cond[w.n++] = holds_at_start(p, v, buf, p->rank, index);
	for (size_t i = 0; i < p->s.ops.n; i++) {
		const struct site *x = &p->s.ops.at[i];
		const struct site_range range = written_range(x);
		const struct guess g = { &range.off, &index, 1, more, nmore };

		if (range.off != TERM_NONE && range.buf == buf)
			instance_guess(p, x, p->rank, &g, add_writer, &w);
	}
	o->goal = term_or(t, term_not(t, known), obligation_cover(p, o, w.cond, w.n, chosen));
}

static void prove_read(struct proof *p, const struct values *v, const struct site *x)
{
	struct terms *t = &p->t;
	const struct site_range range = read_range(x);
	struct instance a;
	struct obligation o;
	term more[MOST_HYPS], index;
	unsigned n = 0;

	obligation_begin(p, &o, x->insn, "an op reads an element that was not written before");
	instance_fresh(p, &o, x, p->rank, &a);
	for (unsigned i = 1; i < a.map.n; i++)
		more[n++] = a.map.to[i];
	obligation_assume(p, &o, term_lt(t, term_num(t, 0), instance_value(p, &a, x->len)));
	index = term_add(t, instance_value(p, &a, range.off), element_of(p, &o, instance_value(p, &a, x->len)));
	goal_written(p, v, &o, range.buf, index, &a, more, n);
	obligation_prove(p, &o);
}

/* ---- the claim ---- */

/* Proves that each claimed element gets its value, and that only one statement is about it. If `moved` is set, this is about
 * the ranks on which the buffer is in place; else about all others. */
static void prove_gets_where(struct proof *p, const struct values *v, const struct site_gets *g, bool moved)
{
	struct terms *t = &p->t;
	const struct site_inplace *in = &p->s.inplace;
	const struct site path = { .path = g->path };
	uint32_t buf = g->to.buf;
	struct instance a;
	struct obligation o;
	term index, cond;

	obligation_begin(p, &o, 0, "a claimed element is not written");
	instance_fresh(p, &o, &path, p->rank, &a);
	if (in->any && in->buf == buf) {
		cond = instance_value(p, &a, in->cond);
		obligation_assume(p, &o, moved ? cond : term_not(t, cond));
	}
	index = term_add(t, instance_value(p, &a, g->to.off), element_of(p, &o, instance_value(p, &a, g->len)));
	const struct origin_of origin = origin_by(p, g, &a, index);

	if (moved) {
		buf = in->at.buf;
		index = term_add(t, index, instance_value(p, &a, in->at.off));
	}
	o.goal = same_origin(p, value_at(p, v, buf, p->rank, index), origin);
	if (obligation_refuted(p, &o))
		proof_stop(p, 0, "reductions are not proved for every number of ranks yet");
	obligation_prove(p, &o);
	goal_written(p, v, &o, buf, index, NULL, NULL, 0);
	obligation_prove(p, &o);
}

static void prove_gets(struct proof *p, const struct values *v, const struct site_gets *g)
{
	prove_gets_where(p, v, g, false);
	if (p->s.inplace.any && p->s.inplace.buf == g->to.buf)
		prove_gets_where(p, v, g, true);
}

/* Guesses what scratch buffers hold. */
static void guess_scratch(struct proof *p, struct values *v)
{
	bool any = false;

	for (uint32_t i = 0; i < p->b->nbuffers; i++)
		any |= mode_of(p, i) == BIN_SCRATCH;
	for (uint32_t i = 0; i < p->b->nbuffers && any; i++)
		for (unsigned form = 0; form < SCRATCH_GUESSES && mode_of(p, i) != BIN_SCRATCH && mode_of(p, i) != BIN_OUT;
		     form++) {
			v->scratch = (struct scratch){ i, form };
			if (each_write(p, v, is_not_refuted))
				return;
		}
}

void prove_values(struct proof *p)
{
	struct values v = { 0 };

	for (size_t i = 0; i < p->s.ops.n; i++)
		if (p->s.ops.at[i].kind == BIN_OP_REDUCE)
			proof_stop(p, p->s.ops.at[i].insn, "reductions are not proved for every number of ranks yet");
	guess_scratch(p, &v);
	each_write(p, &v, prove_one);
	for (size_t i = 0; i < p->s.ops.n; i++)
		if (read_range(&p->s.ops.at[i]).off != TERM_NONE)
			prove_read(p, &v, &p->s.ops.at[i]);
	for (size_t i = 0; i < p->result.gets.n; i++)
		prove_gets(p, &v, &p->result.gets.at[i]);
}
