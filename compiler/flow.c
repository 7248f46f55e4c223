/* SPDX-License-Identifier: BSD-3-Clause
 * Flow of values. Costs are those of sorting the ends of ranges and of the spans that ops touch. */
#include "compiler/flow.h"

#include "compiler/bin_check.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

/* ---- spans ---- */

struct edge { /* of a range */
	uint64_t at;
	uint32_t buf;
};

static int by_place(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->buf != y->buf)
		return x->buf < y->buf ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static bool less(const struct edge *x, const struct edge *y)
{
	return x->buf != y->buf ? x->buf < y->buf : x->at < y->at;
}

/* Sorts, and drops what is there twice. */
static uint32_t sort(struct edge *e, uint32_t n)
{
	uint32_t m = 0;

	if (n > 32) {
		qsort(e, n, sizeof *e, by_place);
	} else { /* as most are; and few are long */
		for (uint32_t i = 1; i < n; i++) {
			struct edge x = e[i];
			uint32_t k = i;

			for (; k && less(&x, &e[k - 1]); k--)
				e[k] = e[k - 1];
			e[k] = x;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		if (!m || less(&e[m - 1], &e[i]))
			e[m++] = e[i];
	return m;
}

static uint32_t find(const struct edge *e, uint32_t n, struct edge x)
{
	uint32_t lo = 0;

	while (n > 1) {
		uint32_t half = n / 2;

		lo = less(&x, &e[lo + half]) ? lo : lo + half;
		n -= half;
	}
	return lo;
}

/* Ranges repeat: what has been seen shortly before is left out at once. */
#define SEEN 64u

static uint32_t collect(const struct ir_rank *r, struct edge *e)
{
	struct edge seen[SEEN];
	uint32_t n = 0;

	memset(seen, 0xff, sizeof seen);
	for (uint32_t i = 0; i < r->nops; i++) {
		const struct bin_op *o = &r->ops[i];

		for (unsigned k = 0; k < bin_nranges(o->kind) && o->len; k++)
			for (unsigned end = 0; end < 2; end++) {
				struct edge x = { o->off[k] + (end ? o->len : 0), o->buf[k] };
				struct edge *s = &seen[(x.at * 0x9e3779b97f4a7c15u + x.buf * 0xbf58476d1ce4e5b9u) >> 58];

				if (s->at == x.at && s->buf == x.buf)
					continue;
				*s = e[n++] = x;
			}
	}
	return n;
}

int flow_init(struct flow *f, const struct ir_rank *r)
{
	const size_t n = r->nops;
	struct edge *e;
	uint32_t bad;
	int err;

	*f = (struct flow){ .r = r };
	f->block = mem_alloc(n * (4 * sizeof *e + sizeof *f->range + 4 * sizeof(uint32_t)));
	if (!f->block)
		return -ERR_NOMEM;
	e = f->block;
	f->range = (struct flow_range(*)[2])(void *)(e + 4 * n);
	f->pos = (uint32_t *)(void *)(f->range + n);
	f->order = f->pos + n;
	f->stamp = f->order + n;
	f->stack = f->stamp + n;
	err = ir_rank_positions(r, f->pos, &bad);
	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++)
		f->order[f->pos[i]] = i;
	memset(f->stamp, 0, n * sizeof *f->stamp);
	f->nspans = sort(e, collect(r, e));
	for (uint32_t i = 0; i < n; i++) {
		const struct bin_op *o = &r->ops[i];

		memset(f->range[i], 0, sizeof f->range[i]);
		for (unsigned k = 0; k < bin_nranges(o->kind) && o->len; k++) {
			f->range[i][k].from = find(e, f->nspans, (struct edge){ o->off[k], o->buf[k] });
			f->range[i][k].to = find(e, f->nspans, (struct edge){ o->off[k] + o->len, o->buf[k] });
		}
	}
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
			/* What comes earlier in the order than a does not come after it. */
			if (f->pos[on] > f->pos[a] && f->stamp[on] != f->round) {
				f->stamp[on] = f->round;
				f->stack[n++] = on;
			}
		}
	}
	return false;
}

/* ---- who touches what ---- */

#define NOBODY UINT32_MAX

struct reader {
	uint32_t op, next;
};

/* Of a span: who has written it last, and who has read it since. */
struct touched {
	uint32_t writer, readers;
};

struct walk {
	struct touched *at;
	VEC(struct reader) pool;
	uint32_t unused; /* of the pool */
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
		if (by != op && !err) /* else it reads what it writes */
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
	if (!w.at)
		return -ERR_NOMEM;
	memset(w.at, 0xff, f->nspans * sizeof *w.at);
	for (uint32_t p = 0; p < f->r->nops && !err; p++) {
		uint32_t i = f->order[p];

		for (unsigned write = 0; write < 2; write++)
			for (unsigned k = 0; k < 2 && !err; k++) {
				struct flow_range x = f->range[i][k];

				if (x.from == x.to || !(write ? bin_writes : bin_reads)(f->r->ops[i].kind, k))
					continue;
				for (uint32_t s = x.from; s < x.to && !err; s++)
					err = (write ? write_span : read_span)(&w, s, i);
			}
	}
	VEC_FREE(&w.pool);
	free(w.at);
	return err;
}
