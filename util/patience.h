/* SPDX-License-Identifier: BSD-3-Clause
 * How long a thread that waits goes on yielding its CPU before it sleeps.
 *
 * Yielding is the fastest way to let another rank run, but it may be in vain: Linux schedules each session in a group of its own
 * (sched(7), autogroups), as it does each control group, and sched_yield lets only others of the group run. MPICH's launcher
 * makes each rank the leader of a session. Where such ranks share a CPU, a rank that yields keeps it for milliseconds, while a
 * rank that it waits for has none. A thread that sleeps lets anybody run, but has to be woken. */
#ifndef UTIL_PATIENCE_H
#define UTIL_PATIENCE_H

#include "util/clock.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* How long a thread yields in vain before it sleeps: about as long as it takes to wake it on an idle core. It waits for less if it
 * knows that another rank needs its CPU (runtime/wait.c, runtime/board.c). */
#define PATIENCE_NS 8000u
/* A yield that takes longer let others run. */
#define PATIENCE_SWITCH_NS 2000u

struct patience {
	uint64_t since, last; /* time since when yields have let nobody run, and of the last yield, ns; 0: none yet */
	uint64_t stays; /* time until which it keeps its CPU, ns */
};

/* Yields the CPU. Returns true if that let others run. begin: the time now, ns */
static inline bool patience_yield(struct patience *p, uint64_t begin)
{
	bool gave_way;

	sched_yield();
	p->last = clock_now_ns();
	gave_way = p->last - begin > PATIENCE_SWITCH_NS;
	if (!p->since || gave_way)
		p->since = p->last;
	return gave_way;
}

/* True once the thread has yielded in vain for `ns` nanoseconds. */
static inline bool patience_over(const struct patience *p, uint64_t ns)
{
	return p->last - p->since > ns;
}

/* When threads that share a CPU, although there may be one for each, keep it instead of yielding. Linux moves only a thread that has not
 * run for a while (sched_migration_cost, 500 us), and so none of those that yield to each other. */
struct stays {
	_Atomic bool gave_way; /* the last yield let another thread run */
	_Atomic uint64_t from, apart; /* time before which none stays again, and how long after the last time that is, ns */
};

/* Longest time for which a thread stays, and time until one does so again: at first, and at most */
#define STAY_NS 4000000u
#define APART_NS 100000u
#define APART_MOST_NS ((uint64_t)1000000000)

/* True if the last yield let another thread run, and it is time to try whether they part. Asked once for each yield. */
static inline bool stays_due(struct stays *s, uint64_t now)
{
	return atomic_exchange_explicit(&s->gave_way, false, memory_order_relaxed) &&
	       now >= atomic_load_explicit(&s->from, memory_order_relaxed);
}

/* Returns the time until which the thread stays. */
static inline uint64_t stays_begin(struct stays *s, uint64_t now)
{
	uint64_t apart = 2 * atomic_load_explicit(&s->apart, memory_order_relaxed);

	apart = apart < APART_NS ? APART_NS : apart > APART_MOST_NS ? APART_MOST_NS : apart;
	atomic_store_explicit(&s->apart, apart, memory_order_relaxed);
	atomic_store_explicit(&s->from, now + apart, memory_order_relaxed);
	return now + STAY_NS;
}

#endif
