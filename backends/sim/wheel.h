/* SPDX-License-Identifier: BSD-3-Clause
 * The event queue of the simulator: a hierarchical timing wheel (Varghese and Lauck, SOSP 1987, scheme 7) with slots for each
 * byte of a time but the lowest one. The events of a slot of the lowest level, a window of 256 ns, are sorted when the window
 * opens, as in a calendar queue (Brown, CACM 31(10), 1988). So the next events are known ahead even if no two have the same time, and
 * their memory can be fetched. An event moves to a lower level at most five times; most do once. Events of one nanosecond are sorted
 * by their serial numbers, so that the order of events is total and does not depend on the wheel. */
#ifndef BACKENDS_SIM_WHEEL_H
#define BACKENDS_SIM_WHEEL_H

#include "util/mem.h"

#include <stdbool.h>

#define WHEEL_TIME_BITS 56
#define WHEEL_SERIAL_BITS 40
#define WHEEL_WINDOW_BITS 8
#define WHEEL_WINDOW (1u << WHEEL_WINDOW_BITS)
#define WHEEL_LEVELS 6
#define WHEEL_SLOTS 256
/* The latest time of an event, in ns: 833 days. */
#define WHEEL_MAX_TIME (((uint64_t)1 << WHEEL_TIME_BITS) - 1)

/* An event: its time (56 bits), serial number (40 bits) and the thing that it is about (32 bits). */
struct event {
	uint64_t when; /* time, and the upper 8 bits of the serial number */
	uint64_t what; /* the lower 32 bits of the serial number, and the thing */
};

static inline uint64_t event_time(const struct event *e)
{
	return e->when >> 8;
}

static inline uint32_t event_what(const struct event *e)
{
	return (uint32_t)e->what;
}

static inline bool event_before(const struct event *a, const struct event *b)
{
	return a->when < b->when || (a->when == b->when && a->what < b->what);
}

/* Events of a slot, in any order. */
#define WHEEL_CHUNK 31
struct wheel_chunk {
	struct wheel_chunk *next;
	size_t n;
	struct event at[WHEEL_CHUNK];
};

/* A zeroed struct is an empty queue at time 0. */
struct wheel {
	uint64_t now; /* the open window, in units of WHEEL_WINDOW ns */
	VEC(struct event) current; /* events of the open window, ascending; those before `next` are gone */
	size_t next;
	VEC(struct event) late; /* heap of events that belong before the last one of `current` */
	struct wheel_chunk *slot[WHEEL_LEVELS][WHEEL_SLOTS]; /* later windows, by the highest byte that differs from now */
	uint64_t used[WHEEL_LEVELS][WHEEL_SLOTS / 64]; /* bit mask of the slots that are not empty */
	struct wheel_chunk *free;
	VEC(struct wheel_chunk *) slabs; /* the memory of the chunks */
	VEC(struct event) spare; /* memory for sorting */
};

void wheel_fini(struct wheel *w);
/* Adds an event of the open window, or of an earlier one. */
int wheel_push_now(struct wheel *w, struct event e);
/* Adds an event to a slot whose first chunk has no room for it. */
int wheel_extend_slot(struct wheel *w, unsigned level, unsigned slot, struct event e);
/* Removes the first event, if it is not simply the next one of `current`. */
int wheel_pop_other(struct wheel *w, struct event *out);

/* Adds an event to the slot of its window, which may be the open one. */
static inline int wheel_place(struct wheel *w, struct event e)
{
	const uint64_t window = event_time(&e) >> WHEEL_WINDOW_BITS;
	const unsigned level = (63 - (unsigned)__builtin_clzll((window ^ w->now) | 1)) / 8;
	const unsigned slot = window >> 8 * level & (WHEEL_SLOTS - 1);
	struct wheel_chunk *c = w->slot[level][slot];

	if (!c || c->n == WHEEL_CHUNK)
		return wheel_extend_slot(w, level, slot, e);
	c->at[c->n++] = e;
	return 0;
}

/* Adds an event. Its time may be in the past; it is then the next one. Returns 0, -ERR_NOMEM, or -ERR_OVERFLOW if the time or the
 * serial number is too large. */
static inline int wheel_push(struct wheel *w, uint64_t time, uint64_t serial, uint32_t what)
{
	const struct event e = { time << 8 | serial >> 32, serial << 32 | what };

	if (time > WHEEL_MAX_TIME || serial >> WHEEL_SERIAL_BITS)
		return -ERR_OVERFLOW;
	return time >> WHEEL_WINDOW_BITS > w->now ? wheel_place(w, e) : wheel_push_now(w, e);
}

/* Removes the first event. Returns 1, 0 if there is none, or -ERR_NOMEM. */
static inline int wheel_pop(struct wheel *w, struct event *out)
{
	if (w->next == w->current.n || w->late.n)
		return wheel_pop_other(w, out);
	*out = w->current.at[w->next++];
	return 1;
}

/* Returns the event that probably comes `ahead` events after the next one, or NULL: a hint for prefetching. */
static inline const struct event *wheel_ahead(const struct wheel *w, size_t ahead)
{
	return w->next + ahead < w->current.n ? &w->current.at[w->next + ahead] : NULL;
}

#endif
