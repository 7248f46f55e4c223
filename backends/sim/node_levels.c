/* SPDX-License-Identifier: BSD-3-Clause
 * Levels that run one after the other, as the cost model of split-tree assumes (Denis et al., IJHPCA 33(6), 2019, section 6.2:
 * "assuming each level is run in sequence"). A phase is a level, counted in the direction of the tree. */
#include "backends/sim/node_state.h"

#include "format/check.h"

#include <stdlib.h>

#define NO_LEVEL UINT32_MAX

/* The levels of the recvs before an op. */
struct before {
	uint32_t least, most; /* least: NO_LEVEL if there is none; most: plus one */
};

/* Adds to an op what is before the op that it waits for. Returns true if that is new. */
static bool join_before(struct before *to, const struct before *on, const struct node_op *o)
{
	const struct before old = *to;
	const bool recv = bin_recvs(o->kind);

	to->least = on->least < to->least ? on->least : to->least;
	to->most = on->most > to->most ? on->most : to->most;
	if (recv && o->level < to->least)
		to->least = o->level;
	if (recv && o->level >= to->most)
		to->most = o->level + 1u;
	return old.least != to->least || old.most != to->most;
}

/* Finds the direction of the tree: of the recvs and the sends after them, the ones on the higher level. */
static int find_direction(const struct sim_node *n, size_t ndeps, bool *down)
{
	struct before *v = mem_alloc((n->ops.n + 1) * sizeof *v);
	bool up = false, more = true;

	*down = false;
	if (!v)
		return -ERR_NOMEM;
	for (size_t i = 0; i < n->ops.n; i++)
		v[i] = (struct before){ NO_LEVEL, 0 };
	while (more) {
		more = false;
		for (size_t i = 0; i < ndeps; i++) {
			const struct bin_dep *d = &n->deps.at[i];

			if (!(d->on & BIN_START) && d->on < n->ops.n && d->op < n->ops.n)
				more |= join_before(&v[d->op], &v[d->on], &n->ops.at[d->on]);
		}
	}
	for (size_t i = 0; i < n->ops.n; i++)
		if (bin_sends(n->ops.at[i].kind) && v[i].most) {
			up |= n->ops.at[i].level >= v[i].most;
			*down |= n->ops.at[i].level < v[i].least;
			if (n->ops.at[i].level < v[i].most && n->ops.at[i].level >= v[i].least)
				up = *down = true;
		}
	free(v);
	return up && *down ? -ERR_LEVELS : 0;
}

/* Sets the phases of messages from their levels. Other ops have the phase of the last messages that they wait for. Returns the
 * number of phases. */
static uint32_t number_phases(struct sim_node *n, size_t ndeps, bool down)
{
	uint32_t most = 0;
	bool more = true;

	for (size_t i = 0; i < n->ops.n; i++)
		if (bin_is_message(n->ops.at[i].kind) && n->ops.at[i].level > most)
			most = n->ops.at[i].level;
	for (size_t i = 0; i < n->ops.n; i++) {
		struct node_op *o = &n->ops.at[i];

		o->phase = !bin_is_message(o->kind) ? 0 : down ? most - o->level : o->level;
	}
	while (more) {
		more = false;
		for (size_t i = 0; i < ndeps; i++) {
			const struct bin_dep *d = &n->deps.at[i];
			struct node_op *o = d->op < n->ops.n ? &n->ops.at[d->op] : NULL;

			if (!o || d->on >= n->ops.n || bin_is_message(o->kind) || o->phase >= n->ops.at[d->on].phase)
				continue;
			o->phase = n->ops.at[d->on].phase;
			more = true;
		}
	}
	return most + 1;
}

/* Runs the ops of a phase on the communication cores: the sends first, and each on the core that has least to do. */
static void balance_phase(struct sim_node *n, uint32_t phase, uint64_t *load)
{
	for (uint32_t k = 0; k < n->ncomms; k++)
		load[k] = 0;
	for (unsigned turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < n->ops.n; i++) {
			struct node_op *o = &n->ops.at[i];
			uint32_t least = 0;

			if (o->phase != phase || bin_sends(o->kind) == turn || node_is_own(n, o))
				continue;
			for (uint32_t k = 1; k < n->ncomms; k++)
				least = load[k] < load[least] ? k : least;
			o->core = n->comms[least];
			load[least] += o->cost;
		}
}

/* Makes each phase wait for the one before. */
static void add_barriers(struct sim_node *n, uint32_t phases)
{
	const uint32_t base = (uint32_t)(n->ops.n + n->extras.n);

	for (uint32_t k = 0; k + 1 < phases; k++) {
		node_add_extra(n, NODE_BARRIER, 0, 0);
		if (k)
			node_add_dep(n, base + k, base + k - 1);
	}
	for (uint32_t i = 0; i < n->ops.n; i++) {
		const struct node_op *o = &n->ops.at[i];

		if (o->phase + 1 < phases)
			node_add_dep(n, base + o->phase, o->done);
		if (o->phase)
			node_add_dep(n, i, base + o->phase - 1);
	}
}

int node_separate_levels(struct sim_node *n)
{
	const size_t ndeps = n->deps.n;
	uint64_t *load = mem_alloc((n->ncomms + (size_t)1) * sizeof *load);
	uint32_t phases;
	bool down;
	int err = load ? find_direction(n, ndeps, &down) : -ERR_NOMEM;

	if (!err) {
		phases = number_phases(n, ndeps, down);
		for (uint32_t k = 0; k < phases && n->ncomms; k++)
			balance_phase(n, k, load);
		add_barriers(n, phases);
		err = n->err;
	}
	free(load);
	return err;
}
