/* SPDX-License-Identifier: BSD-3-Clause
 * How many threads of a node sleep on bells, or are about to (sleepers.c). */
#ifndef RUNTIME_HEAP_SLEEPERS_H
#define RUNTIME_HEAP_SLEEPERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* A place where the sleepers of a context are counted: one for each of its groups. */
struct rt_tally {
	_Atomic uint32_t *sleepers; /* on the board of all ranks */
	struct rt_tally *next;
};

struct rt_sleepers {
	pthread_mutex_t lock;
	uint32_t n; /* threads of the context that are counted */
	struct rt_tally *tallies;
};

/* Adds step, 1 or -1, for a thread of the context. */
void rt_sleepers_count(struct rt_sleepers *s, uint32_t step);
/* Count there from now on, or no longer: a group of the context is made, or freed. */
void rt_sleepers_join(struct rt_sleepers *s, struct rt_tally *t);
void rt_sleepers_leave(struct rt_sleepers *s, struct rt_tally *t);

#endif
