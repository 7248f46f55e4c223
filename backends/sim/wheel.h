/* SPDX-License-Identifier: BSD-3-Clause
 * The event queue of the simulator: a hierarchical timing wheel (Varghese and Lauck, SOSP 1987, scheme 7) with slots for each
 * of the seven bytes of a time. An event moves to a lower level at most six times; most do once or twice. Events of one
 * nanosecond are sorted by their serial numbers, so that the order of events is total and does not depend on the wheel. */
#ifndef BACKENDS_SIM_WHEEL_H
#define BACKENDS_SIM_WHEEL_H

#include "util/mem.h"

#include <stdbool.h>

#define WHEEL_TIME_BITS 56
#define WHEEL_SERIAL_BITS 40
#define WHEEL_LEVELS 7
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

struct wheel_chunk;

/* A zeroed struct is an empty queue at time 0. */
struct wheel {
	uint64_t now; /* time of the events in `current` */
	VEC(struct event) current; /* events of that time, ascending; those before `next` are gone */
	size_t next;
	VEC(struct event) late; /* heap of events that belong before the last one of `current` */
	struct wheel_chunk *slot[WHEEL_LEVELS][WHEEL_SLOTS]; /* later events, by the highest byte that differs from now */
	uint64_t used[WHEEL_LEVELS][WHEEL_SLOTS / 64]; /* bit mask of the slots that are not empty */
	struct wheel_chunk *free;
	VEC(struct wheel_chunk *) slabs; /* the memory of the chunks */
	VEC(struct event) spare; /* memory for sorting */
};

void wheel_fini(struct wheel *w);
/* Adds an event. Its time may be in the past; it is then the next one. Returns 0, -ERR_NOMEM, or -ERR_OVERFLOW if the time or the
 * serial number is too large. */
int wheel_push(struct wheel *w, uint64_t time, uint64_t serial, uint32_t what);
/* Removes the first event. Returns 1, 0 if there is none, or -ERR_NOMEM. */
int wheel_pop(struct wheel *w, struct event *out);

/* Returns the event that probably comes `ahead` events after the next one, or NULL: a hint for prefetching. */
static inline const struct event *wheel_ahead(const struct wheel *w, size_t ahead)
{
	return w->next + ahead < w->current.n ? &w->current.at[w->next + ahead] : NULL;
}

#endif
