/* SPDX-License-Identifier: BSD-3-Clause
 * Answers which event comes before which. A short search from the events answers most questions. The others are
 * answered together: a walk over the events in topological order carries, for many sources at a time, the set of
 * sources that came before each event. The first walks cover one rank each, for questions about two events of that
 * rank; the last ones cover all ranks. */
#include "compiler/analysis/events.h"

#include "util/err.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* Part of a query: does event `from` come before event `to`? */
struct ask {
	uint32_t from, to;
	uint32_t query;
	uint32_t next; /* 1 + index of the next question with the same target `to`, or 0 */
};

struct asks {
	VEC(struct ask) v;
};

/* ---- short search ---- */

#define NEAR 48u /* most events that a search visits */
#define SEEN 64u
#define WIDE 8u /* most predecessors of an event that a search visits; if there are more, it visits only the first and the last */

enum answer { NO, YES, UNKNOWN };

/* A search whose answer is kept. Many questions lead to the same search, and longer searches contain shorter ones. Searches
 * of one rank follow each other closely, but many ranks alternate. So the table has room for about one search per SHARE
 * events, but for at most PLACES searches, so that it stays in the cache. */
#define SHARE 16u
#define PLACES (1u << 17)
struct ir_near_known {
	uint32_t from, to; /* the two events of the search; both are equal in an empty place */
	enum answer answer;
};

void ir_near_fini(struct ir_near *x)
{
	free(x->soon);
	free(x->many);
	free(x->known);
	*x = (struct ir_near){ 0 };
}

/* Returns the row where the answer of a search is kept. The row may hold the answer of another search. */
static struct ir_near_known *known_place(const struct ir_near *x, uint32_t from, uint32_t to)
{
	return &x->known[((uint64_t)from * 0x9e3779b97f4a7c15u ^ (uint64_t)to * 0xc2b2ae3d27d4eb4fu) >> 32 & x->mask];
}

int ir_near_init(struct ir_near *x, const struct ir_events *ev)
{
	uint32_t places = 64;

	while (places < ev->n / SHARE && places < PLACES)
		places *= 2;
	*x = (struct ir_near){ ev, mem_alloc((size_t)ev->n * sizeof *x->soon), mem_calloc(ev->n / 64 + (size_t)1, sizeof *x->many),
			       mem_calloc(places, sizeof *x->known), places - 1 };
	if (!x->soon || !x->many || !x->known)
		return -ERR_NOMEM;
	memset(x->soon, 0xff, (size_t)ev->n * sizeof *x->soon);
	for (uint32_t at = ev->n; at-- > 0;) {
		const uint32_t e = ev->order[at];

		for (uint32_t p = ev->pred_at[e]; p < ev->pred_at[e + 1]; p++) {
			const uint32_t on = ev->pred[p];

			if (x->soon[e] == NONE) {
				x->soon[on] = x->soon[on] == NONE ? ev->n : x->soon[on];
				continue;
			}
			if (x->soon[on] < ev->n && x->soon[on] != at)
				x->many[on / 64] |= (uint64_t)1 << on % 64;
			x->soon[on] = at;
		}
	}
	return 0;
}

/* Events that a search has visited. */
struct seen {
	uint32_t table[SEEN], n; /* event + 1; 0 if empty */
};

static bool seen_before(struct seen *s, uint32_t e)
{
	uint32_t at = e * 0x9e3779b9u / (UINT32_MAX / SEEN + 1);

	while (s->table[at] && s->table[at] != e + 1)
		at = (at + 1) % SEEN;
	if (s->table[at])
		return true;
	s->table[at] = e + 1;
	s->n++;
	return false;
}

/* The sort key of an event in a list of predecessors: dependencies on completions come first, and both kinds are in the
 * order of the ops. In a list without that order an event may not be found. */
static uint32_t key(uint32_t e)
{
	return e | (e & 1 ? 0 : 1u << 31);
}

static bool listed(const uint32_t *pred, uint32_t n, uint32_t e)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;

		if (key(pred[mid]) < key(e))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && pred[lo] == e;
}

/* Searches for a path between two events, backwards from `to`, and visits a limited number of events. start is the first
 * position of an event after `from`, so events before it cannot come after `from`. The search is depth-first: long paths lead
 * through the few events that many others wait for. */
static enum answer search_back(const struct ir_near *x, uint32_t from, uint32_t start, uint32_t to)
{
	const struct ir_events *ev = x->ev;
	struct seen seen = { { 0 }, 0 };
	uint32_t todo[NEAR], n = 0;
	bool all = true;

	todo[n++] = to;
	while (n) {
		const uint32_t at = todo[--n], *pred = ev->pred + ev->pred_at[at], npred = ev->pred_at[at + 1] - ev->pred_at[at];
		const bool wide = npred > WIDE;
		const struct ir_near_known *k = wide ? known_place(x, from, at) : NULL;

		if (k && k->from == from && k->to == at && k->answer != UNKNOWN) {
			if (k->answer == YES)
				return YES;
			continue;
		}
		if (wide && listed(pred, npred, from))
			return YES;
		all &= !wide;
		for (uint32_t p = 0; p < npred; p += wide ? npred - 1 : 1) {
			const uint32_t e = pred[p];

			if (e == from)
				return YES;
			if (ev->pos[e] < start || seen_before(&seen, e))
				continue;
			if (seen.n == NEAR)
				return UNKNOWN;
			todo[n++] = e;
		}
	}
	return all ? NO : UNKNOWN;
}

/* As search_back(), but first looks for the answer in the table. */
static enum answer search_known(const struct ir_near *x, uint32_t from, uint32_t start, uint32_t to)
{
	struct ir_near_known *k = known_place(x, from, to);
	enum answer a;

	if (k->from == from && k->to == to)
		return k->answer;
	a = search_back(x, from, start, to);
	if (a != UNKNOWN || k->from == k->to || k->answer == UNKNOWN)
		*k = (struct ir_near_known){ from, to, a };
	return a;
}

static bool one_way(const struct ir_near *x, uint32_t e)
{
	return x->soon[e] < x->ev->n && !(x->many[e / 64] >> e % 64 & 1);
}

static enum answer search_near(const struct ir_near *x, uint32_t from, uint32_t to)
{
	const struct ir_events *ev = x->ev;

	if (x->soon[to] == NONE)
		return from == to ? YES : search_back(x, from, ev->pos[from], to);
	/* Move `from` forward while it has only one successor, and `to` back while it has only one predecessor. */
	for (unsigned i = 0; i < NEAR && ev->pos[from] < ev->pos[to] && one_way(x, from); i++)
		from = ev->order[x->soon[from]];
	for (unsigned i = 0; i < NEAR && ev->pos[from] < ev->pos[to] && ev->pred_at[to] + 1 == ev->pred_at[to + 1]; i++)
		to = ev->pred[ev->pred_at[to]];
	if (ev->pos[from] >= ev->pos[to])
		return from == to ? YES : NO;
	return x->soon[from] > ev->pos[to] ? NO : search_known(x, from, x->soon[from], to);
}

bool ir_near_yes(const struct ir_near *x, const struct ir_query *q)
{
	for (unsigned i = 0; i < 4; i++) {
		const uint32_t from = q->from[i & 1], to = q->to[i >> 1];

		if (from != IR_NO_EVENT && to != IR_NO_EVENT && search_near(x, from, to) == YES)
			return true;
	}
	return false;
}

/* Answers a query by short searches, or appends its open questions to *left. */
static int search_query(const struct ir_near *x, struct ir_query *q, uint32_t number, struct asks *left)
{
	const size_t before = left->v.n;
	int err = 0;

	q->yes = false;
	for (unsigned i = 0; i < 4 && !q->yes && !err; i++) {
		const uint32_t from = q->from[i & 1], to = q->to[i >> 1];
		enum answer a = from == IR_NO_EVENT || to == IR_NO_EVENT ? NO : search_near(x, from, to);

		q->yes = a == YES;
		if (a == UNKNOWN)
			err = VEC_PUSH(&left->v, (struct ask){ from, to, number, 0 });
	}
	if (q->yes)
		left->v.n = before;
	return err;
}

/* ---- sets of positions ---- */

/* A set of positions, numbered in ascending order. */
struct marks {
	uint64_t *bits;
	uint32_t *before; /* number of positions in the preceding words */
	uint32_t n;
};

static int marks_init(struct marks *s, uint32_t positions)
{
	const size_t words = (size_t)positions / 64 + 1;

	*s = (struct marks){ mem_alloc(words * sizeof *s->bits), mem_alloc(words * sizeof *s->before), 0 };
	return s->bits && s->before ? 0 : -ERR_NOMEM;
}

static void marks_fini(struct marks *s)
{
	free(s->bits);
	free(s->before);
}

/* Removes the positions `first` to `last`. Positions below `first` must not be queried afterwards. */
static void marks_clear(struct marks *s, uint32_t first, uint32_t last)
{
	for (uint32_t i = first / 64; i <= last / 64; i++)
		s->bits[i] = 0;
}

static void marks_add(struct marks *s, uint32_t at)
{
	s->bits[at / 64] |= (uint64_t)1 << at % 64;
}

static void marks_number(struct marks *s, uint32_t first, uint32_t last)
{
	s->n = 0;
	for (uint32_t i = first / 64; i <= last / 64; i++) {
		s->before[i] = s->n;
		s->n += (uint32_t)__builtin_popcountll(s->bits[i]);
	}
}

static bool marks_has(const struct marks *s, uint32_t at)
{
	return s->bits[at / 64] >> at % 64 & 1;
}

static uint32_t marks_of(const struct marks *s, uint32_t at)
{
	return s->before[at / 64] + (uint32_t)__builtin_popcountll(s->bits[at / 64] & (((uint64_t)1 << at % 64) - 1));
}

/* ---- walks over all events ---- */

#define WORDS 16u
#define SLOTS (64 * WORDS)

/* Set of sources that came before an event. Several events may share a mask; holders counts them. */
struct mask {
	uint64_t w[WORDS];
	uint32_t holders;
};

/* A walk over the events lo to hi - 1, which belong to one rank or to all ranks. */
struct walk {
	const struct ir_events *ev;
	uint32_t lo, hi, n;
	const uint32_t *order, *pos; /* order and positions of the n events of this walk */
	uint32_t *late; /* for each event, the last position at which its mask is needed; NONE if the mask is not needed */
	uint32_t *mask; /* for each event, the index of its mask; NONE if no source comes before the event */
	VEC(struct mask) masks;
	VEC(uint32_t) unused; /* free masks */
	struct marks sources, targets;
	VEC(uint32_t) asked; /* for each target, by its number: 1 + index of the first question about it */
	struct ir_query *q;
};

static bool in_window(const struct walk *w, uint32_t e)
{
	return e >= w->lo && e < w->hi;
}

/* Returns the position of an event. */
static uint32_t place(const struct walk *w, uint32_t e)
{
	return w->pos[e - w->lo];
}

static uint32_t *late(const struct walk *w, uint32_t e)
{
	return &w->late[e - w->lo];
}

/* Makes room for a walk over n events. No mask of an event is needed so far. */
static int walk_room(struct walk *w, uint32_t n)
{
	free(w->late);
	w->late = mem_alloc((size_t)n * sizeof *w->late);
	if (!w->late)
		return -ERR_NOMEM;
	memset(w->late, 0xff, (size_t)n * sizeof *w->late);
	return 0;
}

static int mask_take(struct walk *w, uint32_t *out)
{
	if (w->unused.n) {
		*out = w->unused.at[--w->unused.n];
	} else {
		if (VEC_PUSH(&w->masks, (struct mask){ 0 }) || VEC_RESERVE(&w->unused, w->masks.cap))
			return -ERR_NOMEM;
		*out = (uint32_t)w->masks.n - 1;
	}
	w->masks.at[*out].holders = 1;
	return 0;
}

static void mask_drop(struct walk *w, uint32_t e)
{
	const uint32_t i = w->mask[e];

	w->mask[e] = NONE;
	if (i != NONE && --w->masks.at[i].holders == 0)
		w->unused.at[w->unused.n++] = i;
}

/* Finds the sources before event e: the mask of a predecessor if that is the whole set, otherwise a new mask. */
static int mask_find(struct walk *w, uint32_t e, uint32_t first, uint32_t *out)
{
	const struct ir_events *ev = w->ev;
	bool own = false;
	int err = 0;

	*out = NONE;
	for (uint32_t p = ev->pred_at[e]; p < ev->pred_at[e + 1] && !err; p++) {
		const uint32_t on = ev->pred[p], i = in_window(w, on) && place(w, on) >= first ? w->mask[on] : NONE;

		if (i == NONE || i == *out)
			continue;
		if (*out != NONE && !own) {
			uint32_t other = *out;

			err = mask_take(w, out);
			if (!err)
				memcpy(w->masks.at[*out].w, w->masks.at[other].w, sizeof w->masks.at->w);
			own = true;
		}
		if (*out == NONE)
			*out = i;
		else
			for (unsigned k = 0; k < WORDS && !err; k++)
				w->masks.at[*out].w[k] |= w->masks.at[i].w[k];
	}
	if (!err && !own && *out != NONE)
		w->masks.at[*out].holders++;
	return err;
}

/* Adds source number `slot` to a mask, which is copied first if other events share it. */
static int mask_add(struct walk *w, uint32_t slot, uint32_t *i)
{
	const uint32_t old = *i;
	int err = old != NONE && w->masks.at[old].holders == 1 ? 0 : mask_take(w, i);

	if (err)
		return err;
	if (old == NONE)
		memset(w->masks.at[*i].w, 0, sizeof w->masks.at->w);
	else if (old != *i)
		memcpy(w->masks.at[*i].w, w->masks.at[old].w, sizeof w->masks.at->w);
	if (old != NONE && old != *i)
		w->masks.at[old].holders--;
	w->masks.at[*i].w[slot / 64] |= (uint64_t)1 << slot % 64;
	return 0;
}

/* Answers the questions about event e, whose mask is known. */
static void answer_queries(struct walk *w, const struct ask *a, uint32_t base, uint32_t e)
{
	if (w->mask[e] == NONE || !marks_has(&w->targets, place(w, e)))
		return;
	for (uint32_t i = w->asked.at[marks_of(&w->targets, place(w, e))]; i; i = a[i - 1].next) {
		const uint32_t slot = marks_of(&w->sources, place(w, a[i - 1].from)) - base;

		w->q[a[i - 1].query].yes |= w->masks.at[w->mask[e]].w[slot / 64] >> slot % 64 & 1;
	}
}

/* Notes that the event at position `at` needs the mask of event e. Positions come in descending order, so the first note has
 * the last position at which the mask is needed. The `late` of a target is first its own position, which a note replaces. */
static void need(struct walk *w, uint32_t e, uint32_t first, uint32_t at)
{
	if (in_window(w, e) && place(w, e) >= first && (*late(w, e) == NONE || *late(w, e) == place(w, e)))
		*late(w, e) = at;
}

/* Walks from position `first`, of the first source, to position `last`, of the last target. The numbers of the sources begin
 * at `base`. */
static int walk(struct walk *w, const struct ask *a, uint32_t base, uint32_t first, uint32_t last)
{
	const struct ir_events *ev = w->ev;
	int err = 0;

	for (uint32_t at = last + 1; at-- > first;) {
		const uint32_t e = w->order[at];

		for (uint32_t p = ev->pred_at[e]; p < ev->pred_at[e + 1] && *late(w, e) != NONE; p++)
			need(w, ev->pred[p], first, at);
	}
	for (uint32_t at = first; at <= last && !err; at++) {
		const uint32_t e = w->order[at];
		uint32_t slot = marks_has(&w->sources, at) ? marks_of(&w->sources, at) - base : NONE;

		if (*late(w, e) == NONE)
			continue;
		err = mask_find(w, e, first, &w->mask[e]);
		if (slot < SLOTS && !err)
			err = mask_add(w, slot, &w->mask[e]);
		if (err)
			break;
		answer_queries(w, a, base, e);
		for (uint32_t p = ev->pred_at[e]; p < ev->pred_at[e + 1]; p++)
			if (in_window(w, ev->pred[p]) && *late(w, ev->pred[p]) == at)
				mask_drop(w, ev->pred[p]);
		if (*late(w, e) == at) /* no other event needs it */
			mask_drop(w, e);
	}
	for (uint32_t at = first; at <= last; at++)
		*late(w, w->order[at]) = NONE;
	return err;
}

/* Answers the questions of a list by one walk. The numbers of their sources begin at `base`. */
static int answer_some(struct walk *w, struct ask *a, uint32_t list, uint32_t base)
{
	uint32_t first = NONE, last = 0;

	for (uint32_t i = list; i; i = a[i - 1].next) {
		first = place(w, a[i - 1].from) < first ? place(w, a[i - 1].from) : first;
		last = place(w, a[i - 1].to) > last ? place(w, a[i - 1].to) : last;
	}
	marks_clear(&w->targets, first, last);
	for (uint32_t i = list; i; i = a[i - 1].next)
		marks_add(&w->targets, place(w, a[i - 1].to));
	marks_number(&w->targets, first, last);
	w->asked.n = 0;
	if (VEC_RESERVE(&w->asked, w->targets.n))
		return -ERR_NOMEM;
	memset(w->asked.at, 0, w->targets.n * sizeof *w->asked.at);
	for (uint32_t i = list, next; i; i = next) {
		uint32_t *head = &w->asked.at[marks_of(&w->targets, place(w, a[i - 1].to))];

		next = a[i - 1].next;
		a[i - 1].next = *head;
		*head = i;
		*late(w, a[i - 1].to) = place(w, a[i - 1].to);
	}
	return walk(w, a, base, first, last);
}

/* Makes as many walks as the number of sources requires. The sources of one walk are close to each other. */
static int answer_all(struct walk *w, struct ask *a, size_t n)
{
	uint32_t *lists, walks;
	int err = 0;

	marks_clear(&w->sources, 0, w->n);
	for (size_t i = 0; i < n; i++)
		marks_add(&w->sources, place(w, a[i].from));
	marks_number(&w->sources, 0, w->n);
	walks = (w->sources.n + SLOTS - 1) / SLOTS;
	lists = mem_calloc(walks, sizeof *lists);
	if (!lists)
		return -ERR_NOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t *list = &lists[marks_of(&w->sources, place(w, a[i].from)) / SLOTS];

		a[i].next = *list;
		*list = i + 1;
	}
	for (uint32_t k = 0; k < walks && !err; k++)
		err = answer_some(w, a, lists[k], k * SLOTS);
	free(lists);
	return err;
}

/* ---- within a rank ---- */

/* Returns the rank to which both events belong, or NONE if they belong to different ranks. */
static uint32_t rank_of_both(const struct ir_events *ev, const struct ask *a)
{
	uint32_t rank;

	if (!ev->nranks || a->from >= 2 * ev->nops || a->to >= 2 * ev->nops)
		return NONE;
	rank = ir_events_rank(ev, a->from / 2);
	return a->to >= 2 * ev->base[rank] && a->to < 2 * ev->base[rank + 1] ? rank : NONE;
}

/* Stores the events of each rank's ops in `order`, rank by rank, each rank's events in the order of all. Stores the largest
 * number of events of a rank in *most. */
static int split_ranks(const struct ir_events *ev, uint32_t *order, uint32_t *most)
{
	uint32_t *at = mem_calloc(ev->nranks, sizeof *at), rank = 0;

	if (!at)
		return -ERR_NOMEM;
	*most = 0;
	for (uint32_t i = 0; i < ev->n; i++) {
		const uint32_t e = ev->order[i];

		if (e >= 2 * ev->nops)
			continue;
		rank = ir_events_rank_after(ev, e / 2, rank);
		order[2 * ev->base[rank] + at[rank]++] = e;
		*most = at[rank] > *most ? at[rank] : *most;
	}
	free(at);
	return 0;
}

/* Answers the questions to which the dependencies of one rank alone give a positive answer. lists: the first question
 * of each rank. pos: room for the events of one rank. */
static int each_rank(struct walk *w, struct asks *all, const uint32_t *lists, const uint32_t *order, uint32_t *pos)
{
	const struct ir_events *ev = w->ev;
	struct asks some = { 0 };
	int err = 0;

	w->pos = pos;
	for (uint32_t r = 0; r < ev->nranks && !err; r++) {
		some.v.n = 0;
		for (uint32_t i = lists[r]; i && !err; i = all->v.at[i - 1].next)
			err = VEC_PUSH(&some.v, all->v.at[i - 1]);
		if (!some.v.n || err)
			continue;
		w->lo = 2 * ev->base[r];
		w->hi = 2 * ev->base[r + 1];
		w->n = w->hi - w->lo;
		w->order = order + w->lo;
		for (uint32_t i = 0; i < w->n; i++)
			pos[w->order[i] - w->lo] = i;
		err = answer_all(w, some.v.at, some.v.n);
	}
	VEC_FREE(&some.v);
	return err;
}

static int within_ranks(struct walk *w, struct asks *a)
{
	const struct ir_events *ev = w->ev;
	uint32_t *lists = mem_calloc(ev->nranks, sizeof *lists), *order = NULL, *pos = NULL, most;
	bool any = false;
	int err = lists ? 0 : -ERR_NOMEM;

	for (uint32_t i = 0; i < a->v.n && !err; i++) {
		uint32_t rank = rank_of_both(ev, &a->v.at[i]);

		if (rank == NONE)
			continue;
		a->v.at[i].next = lists[rank];
		lists[rank] = i + 1;
		any = true;
	}
	if (any) {
		order = mem_alloc((size_t)ev->n * sizeof *order);
		err = order ? split_ranks(ev, order, &most) : -ERR_NOMEM;
		pos = err ? NULL : mem_alloc((size_t)most * sizeof *pos);
		err = err || pos ? err : -ERR_NOMEM;
		err = err ? err : walk_room(w, most);
		err = err ? err : each_rank(w, a, lists, order, pos);
	}
	free(lists);
	free(order);
	free(pos);
	return err;
}

/* ---- all ranks ---- */

/* Answers the remaining questions. The walks reuse the memory of near. */
static int walk_queries(const struct ir_near *near, struct asks *a, struct ir_query *q)
{
	const struct ir_events *ev = near->ev;
	struct walk w = { .ev = ev, .mask = near->soon, .q = q };
	size_t left = 0;
	int err = marks_init(&w.sources, ev->n);

	err = err ? err : marks_init(&w.targets, ev->n);
	memset(w.mask, 0xff, (size_t)ev->n * sizeof *w.mask);
	err = err ? err : within_ranks(&w, a);
	for (size_t i = 0; i < a->v.n && !err; i++)
		if (!q[a->v.at[i].query].yes)
			a->v.at[left++] = a->v.at[i];
	err = err || !left ? err : walk_room(&w, ev->n);
	if (!err && left) {
		w.lo = 0;
		w.hi = w.n = ev->n;
		w.order = ev->order;
		w.pos = ev->pos;
		err = answer_all(&w, a->v.at, left);
	}
	marks_fini(&w.sources);
	marks_fini(&w.targets);
	free(w.late);
	VEC_FREE(&w.masks);
	VEC_FREE(&w.unused);
	VEC_FREE(&w.asked);
	return err;
}

int ir_events_reach(const struct ir_events *ev, struct ir_query *q, size_t n)
{
	struct ir_near near = { 0 };
	struct asks left = { 0 };
	int err = n < NONE ? 0 : -ERR_NOMEM;

	if (n && !err)
		err = ir_near_init(&near, ev);
	for (size_t i = 0; i < n && !err; i++)
		err = search_query(&near, &q[i], (uint32_t)i, &left);
	if (!err && left.v.n)
		err = walk_queries(&near, &left, q);
	ir_near_fini(&near);
	VEC_FREE(&left.v);
	return err;
}

int ir_ranks_reach(const struct ir_events *ev, uint32_t first, uint32_t end, struct ir_query *q)
{
	size_t n = 0;

	for (uint32_t from = first; from < end; from++)
		for (uint32_t to = 0; to < ev->nranks; to++)
			q[n++] = (struct ir_query){ { ir_rank_event(ev, from, false), IR_NO_EVENT },
						    { ir_rank_event(ev, to, true), IR_NO_EVENT },
						    false };
	return ir_events_reach(ev, q, n);
}
