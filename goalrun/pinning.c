/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun: finds the cores of the ranks and of their communication, and pins ranks to them. */
#include "goalrun/run.h"
#include "util/env.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

int run_place_ranks(const struct run_options *o, struct run_pinning *w)
{
	struct text why = { 0 };
	int err = topology_load(&w->topology, false, &why);

	w->first = o->first;
	if (!err) {
		err = placement_make(&w->placement, &w->topology, &o->placement, o->here, &why);
		if (err)
			topology_free(&w->topology);
	}
	if (err)
		fprintf(stderr, "goalrun: %s\n", why.at && !why.err ? why.at : err_text(err));
	free(why.at);
	return err ? EXIT_FAULT : EXIT_OK;
}

void run_unplace_ranks(struct run_pinning *w)
{
	placement_free(&w->placement);
	topology_free(&w->topology);
}

int run_export_placement(const struct run_pinning *w)
{
	const struct topology *t = &w->topology;
	struct text list = { 0 };
	int err;

	const uint32_t n = w->placement.nranks;

	/* Rank r reads element r modulo n of the list. */
	for (uint32_t r = 0; r < n; r++) {
		const struct topology_core *c = &t->cores[w->placement.comm[(r + n - w->first % n) % n]];

		text_add(&list, "%s%d", r ? "," : "", t->here ? (int)t->cpus[c->first] : -1);
	}
	err = list.err || setenv(env_table[ENV_GOAL_COMM_CPUS].name, list.at, 1);
	free(list.at);
	return err ? option_no_memory("goalrun") : EXIT_OK;
}

bool run_pin(const struct run_pinning *w, uint32_t rank)
{
	const struct topology_core *c = &w->topology.cores[w->placement.core[rank - w->first]];
	const uint32_t *cpus = w->topology.cpus + c->first;
	size_t size = CPU_ALLOC_SIZE(cpus[c->ncpus - 1] + 1);
	cpu_set_t *set;
	bool pinned;

	if (!w->topology.here)
		return true;
	set = CPU_ALLOC(cpus[c->ncpus - 1] + 1);
	if (!set)
		return false;
	CPU_ZERO_S(size, set);
	for (uint32_t i = 0; i < c->ncpus; i++)
		CPU_SET_S(cpus[i], size, set);
	pinned = !sched_setaffinity(0, size, set);
	CPU_FREE(set);
	return pinned;
}
