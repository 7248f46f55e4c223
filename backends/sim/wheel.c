/* SPDX-License-Identifier: BSD-3-Clause
 * The event queue of the simulator, see wheel.h. */
#include "backends/sim/wheel.h"

#include <stdlib.h>
#include <string.h>

#define EVENTS_OF_A_CHUNK 31
#define CHUNKS_OF_A_SLAB 128

/* Events of a slot, in any order. */
struct wheel_chunk {
	struct wheel_chunk *next;
	size_t n;
	struct event at[EVENTS_OF_A_CHUNK];
};

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

static int add_to_slot(struct wheel *w, unsigned level, unsigned slot, struct event e)
{
	struct wheel_chunk **head = &w->slot[level][slot], *c = *head;

	if (!c || c->n == EVENTS_OF_A_CHUNK) {
		if (!w->free && add_slab(w))
			return -ERR_NOMEM;
		c = w->free;
		w->free = c->next;
		c->next = *head;
		c->n = 0;
		*head = c;
		w->used[level][slot / 64] |= (uint64_t)1 << slot % 64;
	}
	c->at[c->n++] = e;
	return 0;
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

/* ---- adding ---- */

/* Adds an event at or after now to the wheel, or to `current`, whose order is not kept. */
static inline int place_event(struct wheel *w, struct event e)
{
	const uint64_t time = event_time(&e), differs = time ^ w->now;
	unsigned level;

	if (!differs)
		return VEC_PUSH(&w->current, e);
	level = (63 - (unsigned)__builtin_clzll(differs)) / 8;
	return add_to_slot(w, level, time >> 8 * level & (WHEEL_SLOTS - 1), e);
}

int wheel_push(struct wheel *w, uint64_t time, uint64_t serial, uint32_t what)
{
	const struct event e = { time << 8 | serial >> 32, serial << 32 | what };

	if (time > WHEEL_MAX_TIME || serial >> WHEEL_SERIAL_BITS)
		return -ERR_OVERFLOW;
	if (time > w->now)
		return place_event(w, e);
	if (time == w->now && (!w->current.n || event_before(&w->current.at[w->current.n - 1], &e)))
		return VEC_PUSH(&w->current, e);
	return push_late(w, e);
}

/* ---- removing ---- */

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

/* Sorts `current` by merging its ascending runs, of which there are few: a slot holds events in the order of their making. */
static int sort_current(struct wheel *w)
{
	const size_t n = w->current.n;
	struct event *from, *to;

	if (run_end(w->current.at, 0, n) >= n)
		return 0;
	if (VEC_RESERVE(&w->spare, n))
		return -ERR_NOMEM;
	from = w->current.at;
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
	if (from != w->current.at)
		memcpy(w->current.at, from, n * sizeof *from);
	return 0;
}

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

static uint64_t earliest(const struct wheel_chunk *c)
{
	uint64_t first = UINT64_MAX;

	for (; c; c = c->next)
		for (size_t i = 0; i < c->n; i++)
			first = c->at[i].when < first ? c->at[i].when : first;
	return first >> 8;
}

/* Returns the chunks of a slot in the reverse order, in which they were filled. */
static struct wheel_chunk *reverse_chunks(struct wheel_chunk *c)
{
	struct wheel_chunk *reversed = NULL;

	while (c) {
		struct wheel_chunk *next = c->next;

		c->next = reversed;
		reversed = c;
		c = next;
	}
	return reversed;
}

/* Moves on to the time of the next event in the wheel, whose slot is emptied into `current` and lower slots. */
static int advance(struct wheel *w)
{
	unsigned level, slot;
	struct wheel_chunk *c;

	w->current.n = w->next = 0;
	if (!find_slot(w, &level, &slot))
		return 0;
	c = w->slot[level][slot];
	w->slot[level][slot] = NULL;
	w->used[level][slot / 64] &= ~((uint64_t)1 << slot % 64);
	w->now = earliest(c);
	for (c = reverse_chunks(c); c;) {
		struct wheel_chunk *next = c->next;

		for (size_t i = 0; i < c->n; i++)
			if (place_event(w, c->at[i]))
				return -ERR_NOMEM;
		c->next = w->free;
		w->free = c;
		c = next;
	}
	return sort_current(w);
}

int wheel_pop(struct wheel *w, struct event *out)
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
