/* SPDX-License-Identifier: BSD-3-Clause
 * Collaborative polling (Didelot et al., EuroMPI 2012): a rank that waits makes progress for other ranks, first for those
 * of its NUMA node. It carries out only those ops of another rank that do not need that rank's own thread. The turn of a
 * request ensures that at most one rank polls it. */
#include "runtime/comm.h"

static _Atomic uint32_t *node_of(const struct rt_process *l, uint32_t slot)
{
	return &l->board->slots[slot].node;
}

void rt_collab_here(const struct be_group *g)
{
	_Atomic uint32_t *node = node_of(g->process, rt_root_rank(g, g->rank));
	unsigned cpu, now = 0;

	if (getcpu(&cpu, &now))
		now = 0;
	if (atomic_load_explicit(node, memory_order_relaxed) != now)
		atomic_store_explicit(node, now, memory_order_relaxed);
}

bool rt_collab_help(const struct mpix_sched_request *mine)
{
	struct rt_driver *c = mine->driver;
	const struct rt_process *l = c->process;
	const uint32_t me = rt_root_rank(mine->group, mine->group->rank), my_node = atomic_load(node_of(l, me));
	bool left = false, helped = false;

	if (pthread_rwlock_tryrdlock(&c->lock))
		return true;
	for (int remote = 0; remote < 2 && !helped; remote++)
		for (size_t i = 0; i < c->driven.n; i++) {
			const struct rt_driven *it = &c->driven.at[i];
			uint64_t moved = 0;

			if (it->slot == me || remote != (atomic_load(node_of(l, it->slot)) != my_node))
				continue;
			rt_drive(it, &moved, NULL);
			left |= rt_turn_state(it->bound->turn) == RT_ACTIVE;
			if (!moved)
				continue;
			helped = true;
			atomic_fetch_add_explicit(&mine->ctx->steals[remote], 1, memory_order_relaxed);
		}
	pthread_rwlock_unlock(&c->lock);
	return left;
}
