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
#include <stdbool.h>
#include <stdint.h>

/* How long a thread yields in vain before it sleeps: about as long as it takes to wake it on an idle core. It waits for less if it
 * knows that another rank needs its CPU (runtime/wait.c, runtime/board.c). */
#define PATIENCE_NS 8000u
/* A yield that takes longer let others run. */
#define PATIENCE_SWITCH_NS 2000u

struct patience {
	uint64_t since, last; /* time since when yields have let nobody run, and of the last yield, ns; 0: none yet */
};

/* Yields the CPU. begin: the time now, ns */
static inline void patience_yield(struct patience *p, uint64_t begin)
{
	sched_yield();
	p->last = clock_now_ns();
	if (!p->since || p->last - begin > PATIENCE_SWITCH_NS)
		p->since = p->last;
}

/* True once the thread has yielded in vain for `ns` nanoseconds. */
static inline bool patience_over(const struct patience *p, uint64_t ns)
{
	return p->last - p->since > ns;
}

#endif
