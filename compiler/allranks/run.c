/* SPDX-License-Identifier: BSD-3-Clause
 * Runs at small sizes. All ranks carry out their ops in the order of the text, and each element holds a run of ranks whose
 * elements were summed up. What ops read and write is collected, so that terms for it can be found. Nothing is proved here. */
#include "compiler/allranks/values.h"

#include "format/check.h"

#include <stdlib.h>
#include <string.h>

struct step { /* an execution of a site */
	const struct terms *t;
	const struct site *site;
	int64_t *value; /* values of the variables of sites */
};

struct message {
	int64_t from, to, tag, n;
	const struct cell *cell;
	bool taken;
	struct message *next;
};

struct rank_run {
	struct step *step;
	size_t n, cap, next;
	struct cell **buf;
	int64_t *size;
};

struct run {
	struct proof *p;
	struct site_samples *out;
	struct rank_run *rank;
	struct message *first, **last;
	int64_t size, root;
	int64_t *value;
};

static void *take_store(struct proof *p, size_t size)
{
	void *out = arena_alloc(&p->store, size + 1);

	if (!out)
		longjmp(p->stop, 1);
	return memset(out, 0, size);
}

/* Returns the value of a term, or -1 if its evaluation fails. */
static int64_t eval_term(struct run *r, term x, const int64_t *value)
{
	int64_t out;

	return term_eval(&r->p->t, x, value, &out) ? -1 : out;
}

/* ---- the steps of a rank ---- */

static int compare_steps(const void *a, const void *b)
{
	const struct step *x = a, *y = b;
	const struct path *p = &x->site->path, *q = &y->site->path;

	for (unsigned i = 0, k = 0;; i++, k++) {
		while (i < p->n && p->frame[i].var == TERM_NONE)
			i++;
		while (k < q->n && q->frame[k].var == TERM_NONE)
			k++;
		if (i == p->n || k == q->n || p->frame[i].loop != q->frame[k].loop)
			break;
		const int64_t u = x->value[term_at(x->t, p->frame[i].var)->num], v = y->value[term_at(y->t, q->frame[k].var)->num];

		if (u != v)
			return (u < v) != p->frame[i].down ? -1 : 1;
	}
	return x->site->seq < y->site->seq ? -1 : x->site->seq > y->site->seq;
}

static void add_step(struct run *r, struct rank_run *k, const struct site *x)
{
	const size_t size = r->p->site_vars * sizeof(int64_t);

	if (k->n == k->cap) {
		struct step *more = take_store(r->p, (2 * k->cap + 16) * sizeof *more);

		if (k->n)
			memcpy(more, k->step, k->n * sizeof *more);
		k->step = more;
		k->cap = 2 * k->cap + 16;
	}
	k->step[k->n] = (struct step){ &r->p->t, x, take_store(r->p, size) };
	memcpy(k->step[k->n++].value, r->value, size);
}

/* Adds a step for each way to meet the conditions of the path from frame `at` on. */
static void add_steps(struct run *r, struct rank_run *k, const struct site *x, unsigned at)
{
	const struct frame *f = &x->path.frame[at];

	if (at == x->path.n) {
		add_step(r, k, x);
		return;
	}
	if (f->var == TERM_NONE) {
		if (eval_term(r, f->cond, r->value) > 0)
			add_steps(r, k, x, at + 1);
		return;
	}
	const int64_t lo = eval_term(r, f->lo, r->value), hi = eval_term(r, f->hi, r->value);

	for (int64_t v = lo; v <= hi; v++) {
		r->value[term_at(&r->p->t, f->var)->num] = v;
		add_steps(r, k, x, at + 1);
	}
}

/* Returns the value of an element of one rank. */
static struct cell first_cell(struct run *r, struct held h)
{
	struct cell out = { .known = true, .run = true, .n = 1 };

	out.lo = eval_term(r, h.lo, r->value);
	out.buf = eval_term(r, h.buf, r->value);
	out.index = eval_term(r, h.index, r->value);
	out.ranks = (uint64_t)1 << (out.lo & 63);
	return out;
}

/* Sets the elements of a buffer to what they hold at the start. */
static void fill_buffer(struct run *r, struct rank_run *k, uint32_t buf)
{
	struct proof *p = r->p;
	struct terms *t = &p->t;

	k->size[buf] = eval_term(r, p->s.size[buf], r->value);
	if (k->size[buf] < 0)
		k->size[buf] = 0;
	k->buf[buf] = take_store(p, (size_t)k->size[buf] * sizeof **k->buf);
	for (int64_t i = 0; i < k->size[buf]; i++) {
		term known;
		const struct held h = initial_held(p, buf, p->s.r, term_num(t, i), &known);

		if (eval_term(r, known, r->value) > 0)
			k->buf[buf][i] = first_cell(r, h);
	}
}

static void begin_rank(struct run *r, int64_t rank)
{
	struct proof *p = r->p;
	struct rank_run *k = &r->rank[rank];

	r->value[term_at(&p->t, p->s.r)->num] = rank;
	k->buf = take_store(p, p->b->nbuffers * sizeof *k->buf);
	k->size = take_store(p, p->b->nbuffers * sizeof *k->size);
	for (uint32_t i = 0; i < p->b->nbuffers; i++)
		fill_buffer(r, k, i);
	for (size_t i = 0; i < p->s.ops.n; i++)
		add_steps(r, k, &p->s.ops.at[i], 0);
	if (k->n)
		qsort(k->step, k->n, sizeof *k->step, compare_steps);
}

/* ---- ops ---- */

static void note_sample(struct run *r, struct samples *s, const struct step *x, int64_t elem, struct cell cell)
{
	if (!s->at)
		s->at = take_store(r->p, MOST_SAMPLES * sizeof *s->at);
	if (s->n < MOST_SAMPLES)
		s->at[s->n++] = (struct sample){ x->value, elem, cell };
}

/* Returns the elements of range i of a step, and notes what it reads there; NULL if the range is outside its buffer. */
static struct cell *range_cells(struct run *r, struct rank_run *k, const struct step *x, unsigned i, int64_t len)
{
	const struct site *site = x->site;
	const uint32_t buf = site->range[i].buf;
	const int64_t off = eval_term(r, site->range[i].off, x->value);

	if (off < 0 || off + len > k->size[buf])
		return NULL;
	for (int64_t d = 0; d < len && bin_reads(site->kind, i); d++)
		note_sample(r, &r->out[site - r->p->s.ops.at].read[i], x, d, k->buf[buf][off + d]);
	return k->buf[buf] + off;
}

/* Returns the sum of a and b, in this order. If the operation commutes, all ranks are a run in whatever order they were summed up. */
static struct cell add_cells(const struct run *r, struct cell a, struct cell b)
{
	const bool commutes = r->p->b->meta->flags & BIN_F_COMMUTATIVE, runs = a.run && b.run;
	struct cell out = { .lo = a.lo, .n = a.n + b.n, .buf = a.buf, .index = a.index, .ranks = a.ranks | b.ranks };

	out.known = a.known && b.known && a.buf == b.buf && a.index == b.index && !(a.ranks & b.ranks);
	out.run = runs && (a.lo + a.n) % r->size == b.lo;
	if (out.run)
		return out;
	out.known = out.known && commutes;
	out.lo = b.lo;
	out.run = (runs && (b.lo + b.n) % r->size == a.lo) || out.n == r->size;
	return out;
}

static void send_cells(struct run *r, const struct step *x, int64_t from, const struct cell *cell, int64_t n)
{
	struct message *m = take_store(r->p, sizeof *m);
	struct cell *copy = take_store(r->p, (size_t)n * sizeof *copy);

	if (n)
		memcpy(copy, cell, (size_t)n * sizeof *copy);
	*m = (struct message){ from, eval_term(r, x->site->peer, x->value), eval_term(r, x->site->tag, x->value), n, copy, false,
			       NULL };
	*r->last = m;
	r->last = &m->next;
}

/* Returns the first message for a recv that was not taken yet, or NULL. */
static struct message *find_message(struct run *r, const struct step *x, int64_t to)
{
	const int64_t from = eval_term(r, x->site->peer, x->value), tag = eval_term(r, x->site->tag, x->value);
	struct message *m = r->first;

	while (m && (m->taken || m->from != from || m->to != to || m->tag != tag))
		m = m->next;
	return m;
}

BIN_LAST_OP(GETS);
static void write_cells(struct run *r, const struct step *x, struct cell *to, const struct cell *from, int64_t len)
{
	struct samples *s = &r->out[x->site - r->p->s.ops.at].wrote;

	for (int64_t d = 0; d < len; d++) {
		to[d] = x->site->kind == BIN_OP_REDUCE	    ? add_cells(r, from[d], to[d]) :
			x->site->kind == BIN_OP_REDUCE_WITH ? add_cells(r, to[d], from[d]) :
							      from[d];
		note_sample(r, s, x, d, to[d]);
	}
}

/* Carries out a step. Returns false if it is a recv whose message was not sent yet. */
static bool do_step(struct run *r, int64_t rank, const struct step *x)
{
	struct rank_run *k = &r->rank[rank];
	const int64_t len = eval_term(r, x->site->len, x->value);
	const unsigned n = bin_nranges(x->site->kind);
	struct cell *at[2] = { 0 };
	struct message *m;

	for (unsigned i = 0; i < n; i++)
		at[i] = range_cells(r, k, x, i, len);
	for (unsigned i = 0; i < n; i++)
		if (!at[i])
			return true; /* proofs of ranges find this */
	if (x->site->kind == BIN_OP_SEND)
		send_cells(r, x, rank, at[0], len);
	if (x->site->kind == BIN_OP_RECV) {
		m = find_message(r, x, rank);
		if (!m)
			return false;
		m->taken = true;
		write_cells(r, x, at[0], m->cell, len < m->n ? len : m->n);
	}
	if (n == 2)
		write_cells(r, x, at[1], at[0], len);
	return true;
}

/* Runs all ranks at one size, as far as they get. */
static void run_size(struct run *r)
{
	struct proof *p = r->p;
	bool more = true;

	r->value = take_store(p, p->site_vars * sizeof *r->value);
	r->rank = take_store(p, (size_t)r->size * sizeof *r->rank);
	r->first = NULL;
	r->last = &r->first;
	r->value[term_at(&p->t, p->s.p)->num] = r->size;
	r->value[term_at(&p->t, p->s.root)->num] = r->root;
	for (size_t i = 0; i < p->s.asserts.n; i++)
		if (eval_term(r, p->s.asserts.at[i], r->value) <= 0)
			return;
	for (int64_t i = 0; i < r->size; i++)
		begin_rank(r, i);
	while (more) {
		more = false;
		for (int64_t i = 0; i < r->size; i++)
			for (struct rank_run *k = &r->rank[i]; k->next < k->n && do_step(r, i, &k->step[k->next]); more = true)
				k->next++;
	}
}

void run_small(struct proof *p, struct site_samples *out)
{
	static const int64_t sizes[] = { 1, 13, 29, 2, 11, 3, 8, 4, 7, 5, 6 };
	struct run r = { .p = p, .out = out };

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const int64_t n = sizes[i], step = n > 3 ? (n + 2) / 3 : 1;

		r.size = n;
		for (r.root = 0; r.root < (p->b->meta->root == BIN_NONE ? 1 : n); r.root += step)
			run_size(&r);
	}
}
