/* SPDX-License-Identifier: BSD-3-Clause
 * Which event comes before which. Most questions have a short answer nearby. The others are answered together:
 * a walk over the events in order carries, for some hundred sources at a time, which of them came before. */
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
	uint32_t slot;
};

struct mask {
	uint64_t w[WORDS];
};

struct source {
	uint32_t pos, slot;
};

struct walk {
	const struct ir_events *ev;
	struct mask *masks; /* of the event at a position */
	uint8_t *any;
	struct source sources[2 * SLOTS];
	uint32_t nsources;
};

static int by_sources(const void *a, const void *b)
{
	const struct ir_query *x = ((const struct open *)a)->q, *y = ((const struct open *)b)->q;

	for (int i = 0; i < 2; i++)
		if (x->from[i] != y->from[i])
			return x->from[i] < y->from[i] ? -1 : 1;
	return 0;
}

static int by_position(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	return (x->pos > y->pos) - (x->pos < y->pos);
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
		uint32_t e = ev->order[at];
		bool any = false;

		for (; next < w->nsources && w->sources[next].pos == at; next++) {
			m.w[w->sources[next].slot / 64] |= (uint64_t)1 << w->sources[next].slot % 64;
			any = true;
		}
		for (uint32_t p = ev->pred_at[e]; p < ev->pred_at[e + 1]; p++) {
			uint32_t pred = ev->pos[ev->pred[p]];

			if (pred >= first && w->any[pred]) {
				add_bits(&m, &w->masks[pred]);
				any = true;
			}
		}
		w->any[at] = any;
		if (any)
			w->masks[at] = m;
	}
}

static bool has(const struct walk *w, uint32_t first, uint32_t event, uint32_t slot)
{
	uint32_t at = event == IR_NO_EVENT ? 0 : w->ev->pos[event];

	return event != IR_NO_EVENT && at >= first && w->any[at] && (w->masks[at].w[slot / 64] >> slot % 64 & 1);
}

/* One walk for the queries of at most SLOTS sources. */
static void answer(struct walk *w, struct open *o, size_t n)
{
	const struct ir_events *ev = w->ev;
	uint32_t last = 0, slot = UINT32_MAX;

	w->nsources = 0;
	for (size_t i = 0; i < n; i++) {
		for (int k = 0; k < 2 && o[i].slot != slot; k++)
			if (o[i].q->from[k] != IR_NO_EVENT)
				w->sources[w->nsources++] = (struct source){ ev->pos[o[i].q->from[k]], o[i].slot };
		slot = o[i].slot;
		for (int k = 0; k < 2; k++)
			if (o[i].q->to[k] != IR_NO_EVENT && ev->pos[o[i].q->to[k]] > last)
				last = ev->pos[o[i].q->to[k]];
	}
	qsort(w->sources, w->nsources, sizeof *w->sources, by_position);
	sweep(w, last);
	for (size_t i = 0; i < n; i++)
		o[i].q->yes = has(w, w->sources[0].pos, o[i].q->to[0], o[i].slot) ||
			      has(w, w->sources[0].pos, o[i].q->to[1], o[i].slot);
}

static int far_queries(const struct ir_events *ev, struct open *o, size_t n)
{
	struct walk *w = mem_calloc(1, sizeof *w);
	size_t from = 0;
	uint32_t slot = 0;
	int err = w ? 0 : -ERR_NOMEM;

	if (!err) {
		w->ev = ev;
		w->masks = mem_alloc((size_t)ev->n * sizeof *w->masks);
		w->any = mem_alloc(ev->n);
		err = w->masks && w->any ? 0 : -ERR_NOMEM;
	}
	qsort(o, n, sizeof *o, by_sources);
	for (size_t i = 0; i < n && !err; i++) {
		if (i > from)
			slot += by_sources(&o[i - 1], &o[i]) != 0;
		if (slot == SLOTS) {
			answer(w, o + from, i - from);
			from = i;
			slot = 0;
		}
		o[i].slot = slot;
	}
	if (!err)
		answer(w, o + from, n - from);
	if (w) {
		free(w->masks);
		free(w->any);
	}
	free(w);
	return err;
}

int ir_events_reach(const struct ir_events *ev, struct ir_query *q, size_t n)
{
	VEC(struct open) far = { 0 };
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		enum answer a = near_query(ev, &q[i]);

		q[i].yes = a == YES;
		if (a == FAR)
			err = VEC_PUSH(&far, (struct open){ &q[i], 0 });
	}
	if (!err && far.n)
		err = far_queries(ev, far.at, far.n);
	VEC_FREE(&far);
	return err;
}
