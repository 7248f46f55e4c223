/* SPDX-License-Identifier: BSD-3-Clause
 * How many threads of a node sleep on bells, or are about to.
 *
 * A start that only says that it has begun (be_bound.said) says so to all peers, and would have to look at the bell of each. Those lie
 * in the heap of each peer, and the data of the program have driven them out of the caches. One word on the board of all ranks says
 * whether any thread sleeps at all. A thread adds itself before it says on its bell that it sleeps, so the word is right whenever the
 * bell is. It does so on the board of each group of its context, because it sleeps for the requests of all. One that dies meanwhile stays counted: then starts look at the bells. */
#include "runtime/sleepers.h"

#include "runtime/group.h"

static void add(const struct be_group *g, uint32_t n)
{
	atomic_fetch_add_explicit(&g->process->board->sleepers, n, memory_order_acq_rel);
}

void rt_sleepers_count(struct rt_sleepers *s, uint32_t step)
{
	pthread_mutex_lock(&s->lock);
	s->n += step;
	for (const struct be_group *g = s->groups; g; g = g->next)
		add(g, step);
	pthread_mutex_unlock(&s->lock);
}

void rt_sleepers_join(struct rt_sleepers *s, struct be_group *g)
{
	pthread_mutex_lock(&s->lock);
	g->next = s->groups;
	s->groups = g;
	add(g, s->n);
	pthread_mutex_unlock(&s->lock);
}

void rt_sleepers_leave(struct rt_sleepers *s, struct be_group *g)
{
	struct be_group **at = &s->groups;

	pthread_mutex_lock(&s->lock);
	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	add(g, -s->n);
	pthread_mutex_unlock(&s->lock);
}
