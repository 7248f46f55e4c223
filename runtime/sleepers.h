/* SPDX-License-Identifier: BSD-3-Clause
 * How many threads of a node sleep on bells, or are about to (sleepers.c). */
#ifndef RUNTIME_SLEEPERS_H
#define RUNTIME_SLEEPERS_H

#include <pthread.h>
#include <stdint.h>

struct be_group;

struct rt_sleepers {
	pthread_mutex_t lock;
	uint32_t n; /* threads of the context that are counted */
	struct be_group *groups; /* the context's groups, linked by `next` */
};

/* Adds step, 1 or -1, for a thread of the context. */
void rt_sleepers_count(struct rt_sleepers *s, uint32_t step);
/* A group of the context is made, or freed. */
void rt_sleepers_join(struct rt_sleepers *s, struct be_group *g);
void rt_sleepers_leave(struct rt_sleepers *s, struct be_group *g);

#endif
