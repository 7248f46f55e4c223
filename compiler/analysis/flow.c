/* SPDX-License-Identifier: BSD-3-Clause
 * Flow of values. The cost is the cost of sorting the ends of ranges, plus the number of spans that the ops access. */
#include "compiler/analysis/flow.h"

#include "format/check.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

/* ---- spans ---- */

struct edge { /* an end of a range */
	uint64_t at;
	uint32_t buf, number; /* number: index in the order in which edges are found */
};

static bool edge_is_less(const struct edge *x, const struct edge *y)
{
	return x->buf != y->buf ? x->buf < y->buf : x->at < y->at;
}

static int by_position(const void *a, const void *b)
{
	return edge_is_less(a, b) ? -1 : 1; /* no two edges are equal */
}

static void sort_edges(struct edge *e, uint32_t n)
{
	if (n > 48) {
		qsort(e, n, sizeof *e, by_position);
		return;
	}
	for (uint32_t i = 1; i < n; i++) { /* few edges, mostly sorted already */
		struct edge x = e[i];
		uint32_t k = i;

		for (; k && edge_is_less(&x, &e[k - 1]); k--)
			e[k] = e[k - 1];
		e[k] = x;
	}
}

/* The distinct edges of all ranges, with a hash table to find known edges. */
struct edges {
	struct edge *at;
	uint32_t n, mask;
	uint32_t *table; /* hash table: 1 + number of an edge, or 0 in a free slot */
};

static uint32_t number_edge(struct edges *e, uint32_t buf, uint64_t at)
{
	uint32_t h = (uint32_t)((at * 0x9e3779b97f4a7c15u + buf * 0xbf58476d1ce4e5b9u) >> 32);

	for (h &= e->mask; e->table[h]; h = (h + 1) & e->mask) {
		const struct edge *x = &e->at[e->table[h] - 1];

		if (x->at == at && x->buf == buf)
			return x->number;
	}
	e->at[e->n] = (struct edge){ at, buf, e->n };
	e->table[h] = ++e->n;
	return e->n - 1;
}

/* Computes the range of spans of each op. The ranges first hold the numbers of their edges. When the edges are sorted, the
 * positions of the edges replace these numbers. */
static void find_spans(struct flow *f, struct edges *e)
{
	const struct ir_rank *r = f->r;
	uint32_t *sorted = e->table; /* the hash table is no longer needed */

	for (uint32_t i = 0; i < r->nops; i++) {
		const struct bin_op *o = &r->ops[i];
		const unsigned n = o->len ? bin_nranges(o->kind) : 0;

		f->range[i][0] = f->range[i][1] = (struct flow_range){ 0, 0 };
		for (unsigned k = 0; k < n; k++)
			f->range[i][k] = (struct flow_range){ number_edge(e, o->buf[k], o->off[k]),
							      number_edge(e, o->buf[k], o->off[k] + o->len) };
	}
	sort_edges(e->at, e->n);
	for (uint32_t i = 0; i < e->n; i++)
		sorted[e->at[i].number] = i;
	for (uint32_t i = 0; i < r->nops; i++)
		for (unsigned k = 0; k < 2; k++)
			if (f->range[i][k].from != f->range[i][k].to)
				f->range[i][k] = (struct flow_range){ sorted[f->range[i][k].from],
								      sorted[f->range[i][k].to] };
	f->nspans = e->n;
}

int flow_init(struct flow *f, const struct ir_rank *r)
{
	const size_t n = r->nops;
	size_t slots = 8;
	struct edges e = { 0 };
	uint32_t bad;
	int err;

	*f = (struct flow){ .r = r };
	while (slots < 6 * n)
		slots *= 2;
	f->block = mem_alloc(4 * n * sizeof *e.at + n * sizeof *f->range + (4 * n + slots) * sizeof(uint32_t));
	if (!f->block)
		return -ERR_NOMEM;
	e.at = f->block;
	f->range = (struct flow_range(*)[2])(void *)(e.at + 4 * n);
	f->pos = (uint32_t *)(void *)(f->range + n);
	f->order = f->pos + n;
	f->stamp = f->order + n;
	f->stack = f->stamp + n;
	e.table = f->stack + n;
	e.mask = (uint32_t)slots - 1;
	err = ir_rank_positions(r, f->pos, &bad);
	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++)
		f->order[f->pos[i]] = i;
	memset(f->stamp, 0, n * sizeof *f->stamp);
	memset(e.table, 0, slots * sizeof *e.table);
	find_spans(f, &e);
	return 0;
}

void flow_fini(struct flow *f)
{
	free(f->block);
	f->block = NULL;
}

/* ---- order ---- */

bool flow_before(struct flow *f, uint32_t a, uint32_t b, const unsigned char *skip)
{
	const struct ir_rank *r = f->r;
	uint32_t n = 0;

	f->round++;
	f->stack[n++] = b;
	while (n) {
		uint32_t i = f->stack[--n];

		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++) {
			uint32_t on = r->deps[d] & ~BIN_START;

			if (skip && skip[d])
				continue;
			if (r->deps[d] == a)
				return true;
			/* An op earlier than a in the order cannot depend on a. */
			if (f->pos[on] > f->pos[a] && f->stamp[on] != f->round) {
				f->stamp[on] = f->round;
				f->stack[n++] = on;
			}
		}
	}
	return false;
}

/* ---- accesses to spans ---- */

#define NOBODY UINT32_MAX

struct reader {
	uint32_t op, next;
};

/* Accesses to a span: its last writer, and all readers since that write. */
struct touched {
	uint32_t writer, readers;
};

struct walk {
	uint8_t reads[BIN_OP_KINDS], writes[BIN_OP_KINDS]; /* bit k is for range k */
	struct touched *at;
	VEC(struct reader) pool;
	uint32_t unused; /* free list of the pool */
	int (*pair)(void *arg, enum flow_kind kind, uint32_t span, uint32_t a, uint32_t b);
	void *arg;
};

static int read_span(struct walk *w, uint32_t span, uint32_t op)
{
	struct touched *t = &w->at[span];
	uint32_t i = w->unused;
	int err = t->writer == NOBODY ? 0 : w->pair(w->arg, FLOW_READ, span, t->writer, op);

	if (err)
		return err;
	if (i != NOBODY)
		w->unused = w->pool.at[i].next;
	else if (VEC_PUSH(&w->pool, (struct reader){ 0 }))
		return -ERR_NOMEM;
	else
		i = (uint32_t)w->pool.n - 1;
	w->pool.at[i] = (struct reader){ op, t->readers };
	t->readers = i;
	return 0;
}

static int write_span(struct walk *w, uint32_t span, uint32_t op)
{
	struct touched *t = &w->at[span];
	bool read = false;
	int err = 0;

	while (t->readers != NOBODY) {
		struct reader *x = &w->pool.at[t->readers];
		uint32_t next = x->next, by = x->op;

		x->next = w->unused;
		w->unused = t->readers;
		t->readers = next;
		read = true;
		if (by != op && !err) /* a reduction reads the span that it writes */
			err = w->pair(w->arg, FLOW_REUSE, span, by, op);
	}
	if (!read && !err && t->writer != NOBODY && t->writer != op)
		err = w->pair(w->arg, FLOW_OVERWRITE, span, t->writer, op);
	t->writer = op;
	return err;
}

int flow_walk(struct flow *f, int (*pair)(void *arg, enum flow_kind kind, uint32_t span, uint32_t a, uint32_t b),
	      void *arg)
{
	struct walk w = { .unused = NOBODY, .pair = pair, .arg = arg };
	int err = 0;

	w.at = mem_alloc((f->nspans + (size_t)1) * sizeof *w.at);
	if (!w.at || VEC_RESERVE(&w.pool, f->r->nops)) {
		free(w.at);
		return -ERR_NOMEM;
	}
	memset(w.at, 0xff, f->nspans * sizeof *w.at);
	for (unsigned kind = 0; kind < BIN_OP_KINDS; kind++)
		for (unsigned k = 0; k < bin_nranges(kind); k++) {
			w.reads[kind] |= (uint8_t)(bin_reads(kind, k) << k);
			w.writes[kind] |= (uint8_t)(bin_writes(kind, k) << k);
		}
	for (uint32_t p = 0; p < f->r->nops && !err; p++) {
		uint32_t i = f->order[p];

		const struct flow_range *x = f->range[i];
		const unsigned kind = f->r->ops[i].kind;

		for (unsigned k = 0; k < 2; k++)
			for (uint32_t s = x[k].from; s < x[k].to && w.reads[kind] >> k & 1 && !err; s++)
				err = read_span(&w, s, i);
		for (unsigned k = 0; k < 2; k++)
			for (uint32_t s = x[k].from; s < x[k].to && w.writes[kind] >> k & 1 && !err; s++)
				err = write_span(&w, s, i);
	}
	VEC_FREE(&w.pool);
	free(w.at);
	return err;
}
