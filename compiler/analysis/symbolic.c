/* SPDX-License-Identifier: BSD-3-Clause
 * The symbolic run. A message is read when its send starts and written when its recv completes; a local op acts when it
 * starts. If every conflict is ordered, any other order and any other moment of access give the same values. */
#include "compiler/analysis/symbolic.h"

#include "format/check.h"
#include "util/err.h"
#include "util/hash64.h"
#include "util/index.h"

#include <stdlib.h>
#include <string.h>

/* Values of consecutive elements. */
struct value_run {
	uint64_t len;
	struct value v;
};

struct value_runs {
	VEC(struct value_run) v;
};

/* A read of a segment. Each segment has a list of reads; both parts of a segment that is split share its list. */
struct read {
	uint32_t op, next; /* next: 1 + index into reads, or 0 */
};

/* Part of a message that is under way, from the start of its send to the completion of its recv. */
struct flying {
	uint64_t len;
	int64_t at;
	uint32_t term, next; /* next: 1 + index of the message's next part, or 0 */
};

#define RECENT 1024u

struct sym_state {
	uint32_t *sent; /* for each op, 1 + index of the first part under way of its message */
	VEC(struct flying) flying;
	uint32_t unused; /* free list of flying: 1 + index */
	VEC(struct read) reads;
	struct value_runs a, b, sum; /* values of the current op */
	uint32_t rank; /* rank of the previous event */
	struct ir_near near; /* index for searches; zeroed if all conflicts are kept */
	uint64_t recent[RECENT]; /* hash of pairs that were handled before */
	VEC(uint64_t) pairs; /* pairs that are in conflicts */
	struct index by_pair;
};

size_t sym_find(const struct sym_map *m, uint64_t x)
{
	size_t lo = 0, hi = m->v.n;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->v.at[mid].lo <= x)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

uint64_t sym_end(const struct sym_map *m, size_t i)
{
	return i + 1 < m->v.n ? m->v.at[i + 1].lo : m->size;
}

/* Returns the index of the segment that contains x. It is usually close to the segment that was split last. */
static size_t find_near(const struct sym_map *m, uint64_t x)
{
	for (size_t i = m->last; i < m->v.n && i < m->last + 4 && m->v.at[i].lo <= x; i++)
		if (x < sym_end(m, i))
			return i;
	return sym_find(m, x);
}

/* Splits a segment so that a segment begins at x, and stores its index in *i, or v.n if x is the end of the buffer. On
 * entry, *i is a guess of that index. */
static int split_segment(struct sym_map *m, uint64_t x, size_t *i)
{
	if (*i < m->v.n && m->v.at[*i].lo == x)
		return 0;
	*i = m->v.n;
	if (x == m->size)
		return 0;
	*i = m->last = find_near(m, x);
	if (m->v.at[*i].lo == x)
		return 0;
	if (VEC_RESERVE(&m->v, m->v.n + 1))
		return -ERR_NOMEM;
	memmove(m->v.at + *i + 1, m->v.at + *i, (m->v.n - *i) * sizeof *m->v.at);
	m->v.n++;
	m->v.at[++*i].lo = x;
	return 0;
}

static int add_run(struct value_runs *p, uint64_t len, struct value v)
{
	struct value_run *last = p->v.n ? &p->v.at[p->v.n - 1] : NULL;

	if (last && last->v.term == v.term && last->v.at + (int64_t)last->len == v.at) {
		last->len += len;
		return 0;
	}
	return VEC_PUSH(&p->v, (struct value_run){ len, v });
}

/* ---- conflicts ---- */

static bool depends_on(const struct ir_rank *r, uint32_t op, uint32_t on)
{
	uint32_t lo = r->dep_at[op], hi = r->dep_at[op + 1];

	while (lo < hi) { /* deps are sorted, and dependencies on starts (BIN_START) come last */
		uint32_t mid = lo + (hi - lo) / 2;

		if (r->deps[mid] < on)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->dep_at[op + 1] && r->deps[lo] == on;
}

static bool same_pair(const void *pairs, uint32_t i, const void *pair)
{
	return ((const uint64_t *)pairs)[i] == *(const uint64_t *)pair;
}

/* Adds a pair to the known pairs. Returns 1 if the pair is new, 0 if it was known, or -ERR_NOMEM. */
static int new_pair(struct sym_state *st, uint64_t pair)
{
	const uint64_t hash = hash64(pair);
	int err;

	if (index_find(&st->by_pair, hash, same_pair, st->pairs.at, &pair) >= 0)
		return 0;
	err = VEC_PUSH(&st->pairs, pair);
	err = err ? err : index_add(&st->by_pair, hash, st->pairs.n - 1);
	return err ? err : 1;
}

/* Two facts order ops in addition to the dependencies: a send no longer reads its range once its recv has completed, and a
 * recv does not write its range before its send has started. */
struct ir_query conflict_query(const struct ir_graph *g, const struct ir_events *ev, uint32_t rank, uint32_t first, uint32_t second)
{
	const struct bin_op *ops = g->ranks[rank].ops;
	const uint32_t a = ev->base[rank] + first, b = ev->base[rank] + second;
	struct ir_query q = { { 2 * a + 1, IR_NO_EVENT }, { 2 * b, IR_NO_EVENT }, false };

	if (ir_op_sends(&ops[first]) && ev->partner[a])
		q.from[1] = 2 * (ev->partner[a] - 1) + 1;
	if (ir_op_recvs(&ops[second]) && ev->partner[b])
		q.to[1] = 2 * (ev->partner[b] - 1);
	return q;
}

static int add_conflict(struct symbolic *s, const struct sym_conflict *c)
{
	struct sym_state *st = s->state;
	const uint32_t base = s->ev->base[c->rank];
	const uint64_t pair = ((uint64_t)(base + c->first) << 32 | (base + c->second)) + 1;
	uint64_t *recent = &st->recent[(pair * 0x9e3779b97f4a7c15u) >> 54];
	struct ir_query q;
	int rc;

	if (*recent == pair)
		return 0;
	*recent = pair;
	if (c->first == c->second || depends_on(&s->g->ranks[c->rank], c->second, c->first))
		return 0;
	q = conflict_query(s->g, s->ev, c->rank, c->first, c->second);
	if (st->near.ev && ir_near_yes(&st->near, &q))
		return 0;
	rc = new_pair(st, pair);
	return rc <= 0 ? rc : VEC_PUSH(&s->conflicts, *c);
}

/* ---- accesses ---- */

/* Returns the map of a buffer that has one. */
static struct sym_map *map_of(const struct symbolic *s, uint32_t rank, uint32_t buf)
{
	return &s->maps[(size_t)rank * s->ncolumns + s->column[buf] - 1];
}

const struct sym_map *sym_contents(const struct symbolic *s, uint32_t rank, uint32_t buf, struct sym_initial *room)
{
	if (s->column[buf])
		return map_of(s, rank, buf);
	room->seg = (struct sym_seg){ .term = terms_leaf(s->terms, rank, buf, 0).term };
	room->map = (struct sym_map){ { &room->seg, 1, 1 }, s->g->ranks[rank].bufsize[buf], 0 };
	return &room->map;
}

/* Adds a reader to a segment. Segments with the same readers share one list. */
static int add_reader(struct sym_state *st, uint32_t op, struct sym_seg *x)
{
	const struct read *last = st->reads.n ? &st->reads.at[st->reads.n - 1] : NULL;

	if (!(last && last->op == op && last->next == x->readers) && VEC_PUSH(&st->reads, (struct read){ op, x->readers }))
		return -ERR_NOMEM;
	x->readers = (uint32_t)st->reads.n;
	return 0;
}

/* Reads range k of an op, and stores the range's values in *out. */
static int read_runs(struct symbolic *s, uint32_t rank, uint32_t op, unsigned k, struct value_runs *out)
{
	const struct bin_op *o = &s->g->ranks[rank].ops[op];
	struct sym_map *m;
	size_t from = 0, to;
	int err;

	out->v.n = 0;
	if (!s->column[o->buf[k]]) /* the buffer holds its initial values on all ranks, so no conflict is possible */
		return add_run(out, o->len, terms_leaf(s->terms, rank, o->buf[k], (int64_t)o->off[k]));
	m = map_of(s, rank, o->buf[k]);
	err = split_segment(m, o->off[k], &from);
	to = from + 1;
	err = err ? err : split_segment(m, o->off[k] + o->len, &to);
	for (size_t i = from; !err && i < to; i++) {
		struct sym_seg *x = &m->v.at[i];
		uint64_t end = sym_end(m, i);

		if (x->writer)
			err = add_conflict(s, &(struct sym_conflict){ rank, x->writer - 1, op, o->buf[k], x->lo, end });
		err = err ? err : add_reader(s->state, op, x);
		err = err ? err : add_run(out, end - x->lo, (struct value){ x->term, (int64_t)x->lo + x->shift });
	}
	return err;
}

/* Adds the conflicts of a write to a segment: with all readers since the last write or, if there are no readers, with the
 * last writer. */
static int add_write_conflicts(struct symbolic *s, uint32_t rank, uint32_t op, uint32_t buf, const struct sym_seg *x,
			       uint64_t end)
{
	int err = 0;

	if (!x->readers && x->writer)
		return add_conflict(s, &(struct sym_conflict){ rank, x->writer - 1, op, buf, x->lo, end });
	for (uint32_t i = x->readers; i && !err; i = s->state->reads.at[i - 1].next)
		err = add_conflict(s,
				   &(struct sym_conflict){ rank, s->state->reads.at[i - 1].op, op, buf, x->lo, end });
	return err;
}

/* Writes the values *in to range k of an op. */
static int write_runs(struct symbolic *s, uint32_t rank, uint32_t op, unsigned k, const struct value_runs *in)
{
	const struct bin_op *o = &s->g->ranks[rank].ops[op];
	struct sym_map *m = map_of(s, rank, o->buf[k]);
	size_t from = 0, to, n = in->v.n;
	uint64_t lo = o->off[k];
	int err = split_segment(m, lo, &from);

	to = from + 1;
	err = err ? err : split_segment(m, lo + o->len, &to);
	for (size_t i = from; !err && i < to; i++)
		err = add_write_conflicts(s, rank, op, o->buf[k], &m->v.at[i], sym_end(m, i));
	err = err ? err : VEC_RESERVE(&m->v, m->v.n - (to - from) + n);
	if (err)
		return err;
	memmove(m->v.at + from + n, m->v.at + to, (m->v.n - to) * sizeof *m->v.at);
	m->v.n = m->v.n - (to - from) + n;
	for (size_t i = 0; i < n; i++) {
		const struct value_run *p = &in->v.at[i];

		m->v.at[from + i] = (struct sym_seg){ .lo = lo,
						      .shift = p->v.at - (int64_t)lo,
						      .term = p->v.term,
						      .writer = op + 1 };
		lo += p->len;
	}
	return 0;
}

/* ---- ops ---- */

/* Computes x op y, element by element. */
static int combine_runs(struct symbolic *s, const struct value_runs *x, const struct value_runs *y, struct value_runs *out)
{
	size_t i = 0, k = 0;
	uint64_t xd = 0, yd = 0; /* elements of the current runs of x and y that are done */
	int err = 0;

	out->v.n = 0;
	while (i < x->v.n && k < y->v.n && !err) {
		const struct value_run *a = &x->v.at[i], *b = &y->v.at[k];
		uint64_t len = a->len - xd < b->len - yd ? a->len - xd : b->len - yd;
		struct value v;

		err = terms_op(s->terms, (struct value){ a->v.term, a->v.at + (int64_t)xd },
			       (struct value){ b->v.term, b->v.at + (int64_t)yd }, &v);
		err = err ? err : add_run(out, len, v);
		xd += len;
		yd += len;
		if (xd == a->len) {
			xd = 0;
			i++;
		}
		if (yd == b->len) {
			yd = 0;
			k++;
		}
	}
	return err;
}

/* Computes b = a op b or, if `with` is set, b = b op a. b is range k of the op. */
static int reduce_runs(struct symbolic *s, uint32_t rank, uint32_t op, unsigned k, const struct value_runs *a, bool with)
{
	struct sym_state *st = s->state;
	int err = read_runs(s, rank, op, k, &st->b);

	err = err ? err : with ? combine_runs(s, &st->b, a, &st->sum) : combine_runs(s, a, &st->b, &st->sum);
	return err ? err : write_runs(s, rank, op, k, &st->sum);
}

BIN_LAST_OP(GETS);
static int local_op(struct symbolic *s, uint32_t rank, uint32_t op)
{
	const struct bin_op *o = &s->g->ranks[rank].ops[op];
	int err = read_runs(s, rank, op, 0, &s->state->a);

	if (err)
		return err;
	return o->kind == BIN_OP_COPY ? write_runs(s, rank, op, 1, &s->state->a) :
					reduce_runs(s, rank, op, 1, &s->state->a, o->kind == BIN_OP_REDUCE_WITH);
}

/* Stores the values that a send (numbered over all ranks) has read, as a message under way. */
static int depart(struct sym_state *st, uint32_t op, const struct value_runs *in)
{
	uint32_t last = 0;

	for (size_t i = 0; i < in->v.n; i++) {
		const struct value_run *p = &in->v.at[i];
		const struct flying f = { p->len, p->v.at, p->v.term, 0 };
		uint32_t at = st->unused;

		if (at)
			st->unused = st->flying.at[at - 1].next;
		else if (VEC_PUSH(&st->flying, f))
			return -ERR_NOMEM;
		else
			at = (uint32_t)st->flying.n;
		st->flying.at[at - 1] = f;
		*(last ? &st->flying.at[last - 1].next : &st->sent[op]) = at;
		last = at;
	}
	return 0;
}

/* Finds the values that a recv gets. Elements are unknown if no send matches, or if they lie beyond the send's
 * length. */
static int recv_runs(struct symbolic *s, uint32_t rank, uint32_t op, struct value_runs *in)
{
	const struct bin_op *o = &s->g->ranks[rank].ops[op];
	struct sym_state *st = s->state;
	uint32_t partner = s->ev->partner[s->ev->base[rank] + op];
	uint64_t left = o->len;
	int err = 0;

	in->v.n = 0;
	for (uint32_t i = partner ? st->sent[partner - 1] : 0, next; i; i = next) {
		struct flying *f = &st->flying.at[i - 1];
		uint64_t len = f->len < left ? f->len : left;

		if (len && !err)
			err = add_run(in, len, (struct value){ f->term, f->at });
		left -= len;
		next = f->next;
		f->next = st->unused;
		st->unused = i;
	}
	if (left && !err)
		err = add_run(in, left,
			      terms_leaf(s->terms, rank, o->buf[0], (int64_t)(o->off[0] + o->len - left)));
	return err;
}

static int run_event(struct symbolic *s, uint32_t e)
{
	uint32_t rank = ir_events_rank_after(s->ev, e / 2, s->state->rank), op = e / 2 - s->ev->base[rank];
	const struct bin_op *o = &s->g->ranks[rank].ops[op];
	bool starts = e % 2 == 0;
	int err;

	s->state->rank = rank;
	if (!o->len || !bin_nranges(o->kind))
		return 0;
	if (ir_op_sends(o)) {
		err = starts ? read_runs(s, rank, op, 0, &s->state->a) : 0;
		return err || !starts ? err : depart(s->state, e / 2, &s->state->a);
	}
	if (!ir_op_recvs(o))
		return starts ? local_op(s, rank, op) : 0;
	if (starts)
		return 0;
	err = recv_runs(s, rank, op, &s->state->a);
	if (err)
		return err;
	return bin_reduces(o->kind) ? reduce_runs(s, rank, op, 0, &s->state->a, o->kind == BIN_OP_RECV_REDUCE_WITH) :
				      write_runs(s, rank, op, 0, &s->state->a);
}

/* ---- the run ---- */

/* Numbers the buffers that an op writes. */
static int find_written(struct symbolic *s)
{
	const struct ir_graph *g = s->g;

	s->column = mem_calloc(g->nbuffers, sizeof *s->column);
	if (!s->column)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++) {
			const struct bin_op *o = &g->ranks[r].ops[i];

			for (unsigned k = 0; k < bin_nranges(o->kind); k++)
				if (o->len && bin_writes(o->kind, k) && !s->column[o->buf[k]])
					s->column[o->buf[k]] = ++s->ncolumns;
		}
	return 0;
}

static int make_maps(struct symbolic *s)
{
	const struct ir_graph *g = s->g;

	s->maps = mem_calloc((size_t)g->nranks * s->ncolumns, sizeof *s->maps);
	if (!s->maps)
		return -ERR_NOMEM;
	for (uint32_t i = 0; i < g->nbuffers; i++)
		for (uint32_t r = 0; r < g->nranks && s->column[i]; r++) {
			struct sym_map *m = map_of(s, r, i);

			m->size = g->ranks[r].bufsize[i];
			if (!m->size)
				continue;
			/* room for one segment only, because on most ranks most buffers are not written */
			m->v.at = mem_alloc(sizeof *m->v.at);
			if (!m->v.at)
				return -ERR_NOMEM;
			m->v.n = m->v.cap = 1;
			m->v.at[0] = (struct sym_seg){ .term = terms_leaf(s->terms, r, i, 0).term };
		}
	return 0;
}

static int alloc_state(struct symbolic *s, bool all)
{
	s->state = mem_calloc(1, sizeof *s->state);
	if (!s->state)
		return -ERR_NOMEM;
	s->state->sent = mem_calloc(s->ev->nops, sizeof *s->state->sent);
	if (!s->state->sent || (!all && ir_near_init(&s->state->near, s->ev)))
		return -ERR_NOMEM;
	return 0;
}

static void free_state(struct symbolic *s)
{
	struct sym_state *st = s->state;

	if (st) {
		free(st->sent);
		VEC_FREE(&st->flying);
		ir_near_fini(&st->near);
		VEC_FREE(&st->reads);
		VEC_FREE(&st->a.v);
		VEC_FREE(&st->b.v);
		VEC_FREE(&st->sum.v);
		VEC_FREE(&st->pairs);
		index_free(&st->by_pair);
	}
	free(st);
	s->state = NULL;
}

int symbolic_run(struct symbolic *s, const struct ir_graph *g, const struct ir_events *ev, struct terms *terms, bool all)
{
	int err;

	*s = (struct symbolic){ .g = g, .ev = ev, .terms = terms };
	err = find_written(s);
	err = err ? err : make_maps(s);
	err = err ? err : alloc_state(s, all);
	for (uint32_t at = 0; at < ev->n && !err; at++)
		if (ev->order[at] < 2 * ev->nops)
			err = run_event(s, ev->order[at]);
	free_state(s);
	return err;
}

void symbolic_fini(struct symbolic *s)
{
	for (size_t i = 0; s->maps && i < (size_t)s->g->nranks * s->ncolumns; i++)
		VEC_FREE(&s->maps[i].v);
	free(s->maps);
	free(s->column);
	VEC_FREE(&s->conflicts);
	*s = (struct symbolic){ 0 };
}
