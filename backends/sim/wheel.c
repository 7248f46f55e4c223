/* SPDX-License-Identifier: BSD-3-Clause
 * The event queue of the simulator, see wheel.h. */
#include "backends/sim/wheel.h"

#include <stdlib.h>
#include <string.h>

#define CHUNKS_OF_A_SLAB 128
/* So many events are sorted by insertion: for more of them it is slower than what sorts many. */
#define FEW_EVENTS 24

void wheel_fini(struct wheel *w)
{
	for (size_t i = 0; i < w->slabs.n; i++)
		free(w->slabs.at[i]);
	VEC_FREE(&w->slabs);
	VEC_FREE(&w->current);
	VEC_FREE(&w->late);
	VEC_FREE(&w->spare);
}

/* ---- chunks ---- */

static int add_slab(struct wheel *w)
{
	struct wheel_chunk *slab = mem_alloc(CHUNKS_OF_A_SLAB * sizeof *slab);

	if (!slab || VEC_PUSH(&w->slabs, slab)) {
		free(slab);
		return -ERR_NOMEM;
	}
	for (size_t i = 0; i < CHUNKS_OF_A_SLAB; i++) {
		slab[i].next = w->free;
		w->free = &slab[i];
	}
	return 0;
}

int wheel_extend_slot(struct wheel *w, unsigned level, unsigned slot, struct event e)
{
	struct wheel_chunk *c;

	if (!w->free && add_slab(w))
		return -ERR_NOMEM;
	c = w->free;
	w->free = c->next;
	c->next = w->slot[level][slot];
	c->n = 1;
	c->at[0] = e;
	w->slot[level][slot] = c;
	w->used[level][slot / 64] |= (uint64_t)1 << slot % 64;
	return 0;
}

static void free_chunk(struct wheel *w, struct wheel_chunk *c)
{
	c->next = w->free;
	w->free = c;
}

/* ---- events that are late ---- */

static int push_late(struct wheel *w, struct event e)
{
	size_t i = w->late.n;

	if (VEC_PUSH(&w->late, e))
		return -ERR_NOMEM;
	for (; i && event_before(&e, &w->late.at[(i - 1) / 2]); i = (i - 1) / 2)
		w->late.at[i] = w->late.at[(i - 1) / 2];
	w->late.at[i] = e;
	return 0;
}

static struct event pop_late(struct wheel *w)
{
	const struct event first = w->late.at[0], last = w->late.at[--w->late.n];
	const size_t n = w->late.n;
	size_t i = 0;

	for (size_t child = 1; child < n; child = 2 * i + 1) {
		child += child + 1 < n && event_before(&w->late.at[child + 1], &w->late.at[child]);
		if (!event_before(&w->late.at[child], &last))
			break;
		w->late.at[i] = w->late.at[child];
		i = child;
	}
	if (n)
		w->late.at[i] = last;
	return first;
}

int wheel_push_now(struct wheel *w, struct event e)
{
	if (w->next == w->current.n)
		w->next = w->current.n = 0;
	if (!w->current.n || event_before(&w->current.at[w->current.n - 1], &e))
		return VEC_PUSH(&w->current, e);
	return push_late(w, e);
}

/* ---- sorting ---- */

static void sort_few(struct event *e, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const struct event x = e[i];
		size_t k = i;

		for (; k && event_before(&x, &e[k - 1]); k--)
			e[k] = e[k - 1];
		e[k] = x;
	}
}

/* Returns the end of the ascending run that begins at `at`. */
static size_t run_end(const struct event *e, size_t at, size_t n)
{
	for (at++; at < n && event_before(&e[at - 1], &e[at]); at++)
		;
	return at;
}

/* Merges the runs [a, m) and [m, b) of `from` into `to`. */
static void merge_runs(const struct event *from, struct event *to, size_t a, size_t m, size_t b)
{
	size_t i = a, k = m;

	for (size_t out = a; out < b; out++)
		to[out] = k == b || (i < m && event_before(&from[i], &from[k])) ? from[i++] : from[k++];
}

/* Sorts events of one nanosecond by merging their ascending runs, of which there are few: a slot holds events in the order of their
 * making. */
static int sort_many(struct wheel *w, struct event *e, size_t n)
{
	struct event *from = e, *to;

	if (run_end(e, 0, n) >= n)
		return 0;
	if (VEC_RESERVE(&w->spare, n))
		return -ERR_NOMEM;
	to = w->spare.at;
	while (run_end(from, 0, n) < n) {
		struct event *old = from;

		for (size_t a = 0, m, b; a < n; a = b) {
			m = run_end(from, a, n);
			b = m < n ? run_end(from, m, n) : n;
			merge_runs(from, to, a, m, b);
		}
		from = to;
		to = old;
	}
	if (from != e)
		memcpy(e, from, n * sizeof *from);
	return 0;
}

/* ---- windows ---- */

/* Finds the first slot with events: the lowest level has the earliest ones. Returns false if the wheel is empty. */
static bool find_slot(const struct wheel *w, unsigned *level, unsigned *slot)
{
	for (*level = 0; *level < WHEEL_LEVELS; ++*level)
		for (unsigned i = 0; i < WHEEL_SLOTS / 64; i++)
			if (w->used[*level][i]) {
				*slot = i * 64 + (unsigned)__builtin_ctzll(w->used[*level][i]);
				return true;
			}
	return false;
}

/* Removes the chunks of a slot. Returns them in the order in which they were filled, and their number of events. */
static struct wheel_chunk *take_slot(struct wheel *w, unsigned level, unsigned slot, size_t *n)
{
	struct wheel_chunk *c = w->slot[level][slot], *ordered = NULL;

	w->slot[level][slot] = NULL;
	w->used[level][slot / 64] &= ~((uint64_t)1 << slot % 64);
	for (*n = 0; c;) {
		struct wheel_chunk *next = c->next;

		*n += c->n;
		c->next = ordered;
		ordered = c;
		c = next;
	}
	return ordered;
}

static unsigned time_in_window(const struct event *e)
{
	return event_time(e) & (WHEEL_WINDOW - 1);
}

/* Makes `current` of the events of a slot: sorted by their times, by counting, and then by their serial numbers. */
static int sort_window(struct wheel *w, const struct wheel_chunk *chunks, size_t n)
{
	size_t end[WHEEL_WINDOW] = { 0 }, sum = 0;
	struct event *e = w->current.at;
	int err = 0;

	for (const struct wheel_chunk *c = chunks; c; c = c->next)
		for (size_t i = 0; i < c->n; i++)
			end[time_in_window(&c->at[i])]++;
	for (size_t t = 0; t < WHEEL_WINDOW; t++) {
		sum += end[t];
		end[t] = sum - end[t];
	}
	for (const struct wheel_chunk *c = chunks; c; c = c->next)
		for (size_t i = 0; i < c->n; i++)
			e[end[time_in_window(&c->at[i])]++] = c->at[i];
	w->current.n = n;
	for (size_t t = 0, a = 0; t < WHEEL_WINDOW && !err; a = end[t++])
		if (end[t] - a > FEW_EVENTS)
			err = sort_many(w, &e[a], end[t] - a);
		else
			sort_few(&e[a], end[t] - a);
	return err;
}

static int open_window(struct wheel *w, struct wheel_chunk *chunks, size_t n)
{
	int err = VEC_RESERVE(&w->current, n);

	if (!err && n > FEW_EVENTS)
		err = sort_window(w, chunks, n);
	while (chunks) {
		struct wheel_chunk *next = chunks->next;

		if (!err && n <= FEW_EVENTS) {
			memcpy(&w->current.at[w->current.n], chunks->at, chunks->n * sizeof *chunks->at);
			w->current.n += chunks->n;
		}
		free_chunk(w, chunks);
		chunks = next;
	}
	if (n <= FEW_EVENTS)
		sort_few(w->current.at, w->current.n);
	return err;
}

/* Opens the window of the next event in the wheel. Slots of higher levels are emptied into lower ones until it is in one of the
 * lowest. */
static int advance(struct wheel *w)
{
	unsigned level, slot;
	int err = 0;

	w->current.n = w->next = 0;
	while (!err && find_slot(w, &level, &slot)) {
		size_t n;
		struct wheel_chunk *c = take_slot(w, level, slot, &n);

		w->now = ((w->now >> 8 * level & ~(uint64_t)(WHEEL_SLOTS - 1)) | slot) << 8 * level;
		if (!level)
			return open_window(w, c, n);
		while (c) {
			struct wheel_chunk *next = c->next;

			for (size_t i = 0; i < c->n && !err; i++)
				err = wheel_place(w, c->at[i]);
			free_chunk(w, c);
			c = next;
		}
	}
	return err;
}

int wheel_pop_other(struct wheel *w, struct event *out)
{
	if (w->next == w->current.n && !w->late.n) {
		int err = advance(w);

		if (err || !w->current.n)
			return err;
	}
	if (w->late.n && (w->next == w->current.n || event_before(&w->late.at[0], &w->current.at[w->next])))
		*out = pop_late(w);
	else
		*out = w->current.at[w->next++];
	return 1;
}
