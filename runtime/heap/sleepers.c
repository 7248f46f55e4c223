/* SPDX-License-Identifier: BSD-3-Clause
 * How many threads of a node sleep on bells, or are about to.
 *
 * A start that only says that it has begun (be_bound.start_word) says so to all peers, and would have to look at the bell of each. Those
 * lie in the heap of each peer, and the data of the program have driven them out of the caches. One word on the board of all ranks says
 * whether any thread sleeps at all. A thread adds itself before it says on its bell that it sleeps, so the word is right whenever the
 * bell is. It does so on the board of each group of its context, because it sleeps for the requests of all. One that dies meanwhile
 * stays counted: then starts look at the bells. */
#include "runtime/heap/sleepers.h"

static void add(const struct rt_tally *t, uint32_t n)
{
	atomic_fetch_add_explicit(t->sleepers, n, memory_order_acq_rel);
}

void rt_sleepers_count(struct rt_sleepers *s, uint32_t step)
{
	pthread_mutex_lock(&s->lock);
	s->n += step;
	for (const struct rt_tally *t = s->tallies; t; t = t->next)
		add(t, step);
	pthread_mutex_unlock(&s->lock);
}

void rt_sleepers_join(struct rt_sleepers *s, struct rt_tally *t)
{
	pthread_mutex_lock(&s->lock);
	t->next = s->tallies;
	s->tallies = t;
	add(t, s->n);
	pthread_mutex_unlock(&s->lock);
}

void rt_sleepers_leave(struct rt_sleepers *s, struct rt_tally *t)
{
	struct rt_tally **at = &s->tallies;

	pthread_mutex_lock(&s->lock);
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	add(t, -s->n);
	pthread_mutex_unlock(&s->lock);
}
