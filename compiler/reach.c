/* SPDX-License-Identifier: BSD-3-Clause
 * Which event comes before which. Most questions have a short answer nearby. The others are answered together:
 * a walk over events in order carries, for some hundred sources at a time, which of them came before; first over
 * those of a rank, where both ends of a question are, then over all. */
#include "compiler/events.h"

#include "util/err.h"

#include <stdlib.h>
#include <string.h>

/* ---- near ---- */

#define NEAR 48u

enum answer { NO, YES, FAR };

/* Walks back from to, a little. */
static enum answer near(const struct ir_events *ev, uint32_t from, uint32_t to)
{
	uint32_t seen[NEAR], n = 1;

	if (from == to)
		return YES;
	seen[0] = to;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t p = ev->pred_at[seen[i]]; p < ev->pred_at[seen[i] + 1]; p++) {
			uint32_t e = ev->pred[p], k = 0;

			if (e == from)
				return YES;
			if (ev->pos[e] < ev->pos[from]) /* nothing before it comes after from */
				continue;
			while (k < n && seen[k] != e)
				k++;
			if (k < n)
				continue;
			if (n == NEAR)
				return FAR;
			seen[n++] = e;
		}
	return NO;
}

static enum answer near_query(const struct ir_events *ev, const struct ir_query *q)
{
	enum answer all = NO;

	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 2; k++) {
			enum answer a;

			if (q->from[i] == IR_NO_EVENT || q->to[k] == IR_NO_EVENT ||
			    ev->pos[q->from[i]] > ev->pos[q->to[k]])
				continue;
			a = near(ev, q->from[i], q->to[k]);
			if (a == YES)
				return YES;
			all = a == FAR ? FAR : all;
		}
	return all;
}

/* ---- far ---- */

#define WORDS 8u
#define SLOTS (64 * WORDS)

/* A query that is not answered; its sources have a bit of the walk. */
struct open {
	struct ir_query *q;
	uint32_t rank; /* of both ends; UINT32_MAX: of two ranks */
	uint32_t slot;
};

struct mask {
	uint64_t w[WORDS];
};

struct source {
	uint32_t pos, slot;
};

/* Over the events from lo to hi - 1, which are of one rank or all. */
struct walk {
	const struct ir_events *ev;
	uint32_t lo, hi;
	const uint32_t *order, *pos; /* of these events */
	struct mask *masks; /* of the event at a position */
	uint8_t *any;
	struct source sources[2 * SLOTS];
	uint32_t nsources;
};

static int by_sources(const void *a, const void *b)
{
	const struct open *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	for (int i = 0; i < 2; i++)
		if (x->q->from[i] != y->q->from[i])
			return x->q->from[i] < y->q->from[i] ? -1 : 1;
	return 0;
}

static int by_position(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	return (x->pos > y->pos) - (x->pos < y->pos);
}

static bool within(const struct walk *w, uint32_t e)
{
	return e != IR_NO_EVENT && e >= w->lo && e < w->hi;
}

static void add_bits(struct mask *to, const struct mask *from)
{
	for (unsigned i = 0; i < WORDS; i++)
		to->w[i] |= from->w[i];
}

static void sweep(struct walk *w, uint32_t last)
{
	const struct ir_events *ev = w->ev;
	uint32_t first = w->sources[0].pos, next = 0;

	for (uint32_t at = first; at <= last; at++) {
		struct mask m = { { 0 } };
		uint32_t e = w->order[at];
		bool any = false;

		for (; next < w->nsources && w->sources[next].pos == at; next++) {
			m.w[w->sources[next].slot / 64] |= (uint64_t)1 << w->sources[next].slot % 64;
			any = true;
		}
		for (uint32_t p = ev->pred_at[e]; p < ev->pred_at[e + 1]; p++) {
			uint32_t pred = within(w, ev->pred[p]) ? w->pos[ev->pred[p]] : 0;

			if (pred >= first && within(w, ev->pred[p]) && w->any[pred]) {
				add_bits(&m, &w->masks[pred]);
				any = true;
			}
		}
		w->any[at] = any;
		if (any)
			w->masks[at] = m;
	}
}

static bool has(const struct walk *w, uint32_t event, uint32_t slot)
{
	uint32_t at = within(w, event) ? w->pos[event] : 0;

	return within(w, event) && at >= w->sources[0].pos && w->any[at] &&
	       (w->masks[at].w[slot / 64] >> slot % 64 & 1);
}

/* One walk for the queries of at most SLOTS sources. */
static void answer(struct walk *w, struct open *o, size_t n)
{
	uint32_t last = 0, slot = UINT32_MAX;

	w->nsources = 0;
	for (size_t i = 0; i < n; i++) {
		for (int k = 0; k < 2 && o[i].slot != slot; k++)
			if (within(w, o[i].q->from[k]))
				w->sources[w->nsources++] = (struct source){ w->pos[o[i].q->from[k]], o[i].slot };
		slot = o[i].slot;
		for (int k = 0; k < 2; k++)
			if (within(w, o[i].q->to[k]) && w->pos[o[i].q->to[k]] > last)
				last = w->pos[o[i].q->to[k]];
	}
	qsort(w->sources, w->nsources, sizeof *w->sources, by_position);
	sweep(w, last);
	for (size_t i = 0; i < n; i++)
		o[i].q->yes = has(w, o[i].q->to[0], o[i].slot) || has(w, o[i].q->to[1], o[i].slot);
}

/* As many walks as the sources need. */
static void answer_all(struct walk *w, struct open *o, size_t n)
{
	size_t from = 0;
	uint32_t slot = 0;

	for (size_t i = 0; i < n; i++) {
		if (i > from)
			slot += by_sources(&o[i - 1], &o[i]) != 0;
		if (slot == SLOTS) {
			answer(w, o + from, i - from);
			from = i;
			slot = 0;
		}
		o[i].slot = slot;
	}
	answer(w, o + from, n - from);
}

/* ---- within a rank ---- */

/* The events of each rank's ops in their order, and the position of each event there. */
struct by_rank {
	uint32_t *at, *order, *pos; /* at: where a rank's events begin */
};

static int split_ranks(const struct ir_events *ev, struct by_rank *out)
{
	out->at = mem_calloc((size_t)ev->nranks + 1, sizeof *out->at);
	out->order = mem_alloc((size_t)ev->n * sizeof *out->order);
	out->pos = mem_alloc((size_t)ev->n * sizeof *out->pos);
	if (!out->at || !out->order || !out->pos)
		return -ERR_NOMEM;
	for (uint32_t at = 0; at < ev->n; at++) {
		uint32_t e = ev->order[at], rank;

		if (e >= 2 * ev->nops)
			continue;
		rank = ir_events_rank(ev, e / 2);
		out->pos[e] = out->at[rank]++;
		out->order[2 * ev->base[rank] + out->pos[e]] = e;
	}
	return 0;
}

/* Answers those that the dependencies of a rank alone say yes to. o is sorted. */
static int within_ranks(const struct ir_events *ev, struct walk *w, struct open *o, size_t n)
{
	struct by_rank ranks = { 0 };
	int err = o[0].rank == UINT32_MAX ? 0 : split_ranks(ev, &ranks);

	for (size_t i = 0, end; i < n && !err && o[i].rank != UINT32_MAX; i = end) {
		for (end = i; end < n && o[end].rank == o[i].rank;)
			end++;
		w->lo = 2 * ev->base[o[i].rank];
		w->hi = 2 * ev->base[o[i].rank + 1];
		w->order = ranks.order + w->lo;
		w->pos = ranks.pos;
		answer_all(w, o + i, end - i);
	}
	free(ranks.at);
	free(ranks.order);
	free(ranks.pos);
	return err;
}

static int far_queries(const struct ir_events *ev, struct open *o, size_t n)
{
	struct walk *w = mem_calloc(1, sizeof *w);
	size_t left = 0;
	int err = w ? 0 : -ERR_NOMEM;

	if (!err) {
		w->ev = ev;
		w->masks = mem_alloc((size_t)ev->n * sizeof *w->masks);
		w->any = mem_alloc(ev->n);
		err = w->masks && w->any ? 0 : -ERR_NOMEM;
	}
	qsort(o, n, sizeof *o, by_sources);
	err = err ? err : within_ranks(ev, w, o, n);
	for (size_t i = 0; i < n && !err; i++)
		if (!o[i].q->yes) {
			o[left] = o[i];
			o[left++].rank = UINT32_MAX;
		}
	if (!err && left) {
		qsort(o, left, sizeof *o, by_sources);
		w->lo = 0;
		w->hi = ev->n;
		w->order = ev->order;
		w->pos = ev->pos;
		answer_all(w, o, left);
	}
	if (w) {
		free(w->masks);
		free(w->any);
	}
	free(w);
	return err;
}

static uint32_t rank_of_both(const struct ir_events *ev, const struct ir_query *q)
{
	uint32_t rank;

	if (!ev->nranks || q->from[0] >= 2 * ev->nops || q->to[0] >= 2 * ev->nops)
		return UINT32_MAX;
	rank = ir_events_rank(ev, q->from[0] / 2);
	return q->to[0] >= 2 * ev->base[rank] && q->to[0] < 2 * ev->base[rank + 1] ? rank : UINT32_MAX;
}

int ir_events_reach(const struct ir_events *ev, struct ir_query *q, size_t n)
{
	VEC(struct open) far = { 0 };
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		enum answer a = near_query(ev, &q[i]);

		q[i].yes = a == YES;
		if (a == FAR)
			err = VEC_PUSH(&far, (struct open){ &q[i], rank_of_both(ev, &q[i]), 0 });
	}
	if (!err && far.n)
		err = far_queries(ev, far.at, far.n);
	VEC_FREE(&far);
	return err;
}
