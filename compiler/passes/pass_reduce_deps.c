/* SPDX-License-Identifier: BSD-3-Clause
 * reduce-deps: transitive reduction of one rank's dependencies. A requires is dropped if it follows from a chain of
 * other dependencies that ends in a completion; an irequires is dropped if it follows from any chain.
 *
 * Most of this needs no search. Take an order of the ops that agrees with the dependencies. Before an op starts, all
 * ops up to some position are complete; this position follows from the positions for the ops that it waits for. The
 * remaining dependencies take one search for each op, no further back than the earliest of these dependencies. The total
 * number of steps of all searches is limited. Implied dependencies that are not found within this limit stay. */
#include "compiler/passes/passes.h"

#include "util/err.h"

#include <stdlib.h>
#include <string.h>

#define STEPS 32u /* limit of the steps of all searches together, per op and dependency */
#define STEPS_ALWAYS (1u << 14)

#define STARTED 1u
#define COMPLETED 2u

struct reduce {
	const struct ir_rank *r;
	uint32_t *pos;
	uint32_t *order; /* op at each position */
	uint32_t *through; /* for each op, a position: before the op starts, all ops at lower positions are complete */
	uint64_t *seen; /* for each op, 4 * round plus bits of its events (STARTED, COMPLETED) that precede the current op */
	uint32_t *stack;
	uint64_t round, steps;
};

static unsigned implied_events(uint32_t dep)
{
	return dep & BIN_START ? STARTED : STARTED | COMPLETED;
}

/* Computes through[op], given the values of all earlier ops. Returns the largest value of the ops that op waits for, which is
 * a lower bound of through[op]. */
static uint32_t find_through(struct reduce *x, uint32_t op)
{
	const struct ir_rank *r = x->r;
	uint32_t others = 0, p;

	x->round += 4;
	for (uint32_t d = r->dep_at[op]; d < r->dep_at[op + 1]; d++) {
		uint32_t on = r->deps[d] & ~BIN_START;

		others = x->through[on] > others ? x->through[on] : others;
		if (!(r->deps[d] & BIN_START))
			x->seen[on] = x->round;
	}
	for (p = others; p < r->nops && x->seen[x->order[p]] == x->round;)
		p++;
	x->through[op] = p;
	return others;
}

/* Walks back from all ops that `op` waits for. The walk leaves out positions below `through`, and positions before the
 * earliest dependency. */
static void walk_back(struct reduce *x, uint32_t op, uint32_t through)
{
	const struct ir_rank *r = x->r;
	uint32_t n = 0, first = UINT32_MAX;

	x->round += 4;
	for (uint32_t d = r->dep_at[op]; d < r->dep_at[op + 1]; d++) {
		uint32_t on = r->deps[d] & ~BIN_START;

		if (x->pos[on] < through)
			continue;
		x->stack[n++] = on;
		x->seen[on] = x->round;
		first = x->pos[on] < first ? x->pos[on] : first;
	}
	if (n < 2)
		return;
	while (n && x->steps) {
		uint32_t i = x->stack[--n];

		x->steps--;
		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++) {
			uint32_t on = r->deps[d] & ~BIN_START;

			if (x->pos[on] < first)
				continue;
			if (x->seen[on] < x->round) {
				x->seen[on] = x->round;
				x->stack[n++] = on;
			}
			x->seen[on] |= implied_events(r->deps[d]);
		}
	}
}

/* True if the other dependencies of `op` imply its dependency `dep`. The last walk must have been for `op`. */
static bool is_implied(const struct reduce *x, uint32_t op, uint32_t through, uint32_t dep)
{
	const struct ir_rank *r = x->r;
	unsigned wanted = implied_events(dep);

	if (x->pos[dep & ~BIN_START] < through || (x->seen[dep & ~BIN_START] & wanted) == wanted)
		return true;
	for (uint32_t d = r->dep_at[op]; d < r->dep_at[op + 1] && dep & BIN_START; d++)
		if (r->deps[d] == (dep & ~BIN_START))
			return true;
	return false;
}

int pass_reduce_deps(struct ir_rank *r, const struct pass_ctx *c)
{
	const size_t n = r->nops, m = r->dep_at[n];
	struct reduce x = { .r = r, .steps = STEPS_ALWAYS + STEPS * ((uint64_t)n + m) };
	VEC(struct bin_dep) keep = { 0 };
	uint32_t bad;
	int err = -ERR_NOMEM;

	(void)c;
	x.seen = mem_calloc(n, sizeof *x.seen + 5 * sizeof(uint32_t)); /* each op is on the stack at most twice */
	x.pos = (uint32_t *)(void *)(x.seen + n);
	x.order = x.pos + n;
	x.through = x.order + n;
	x.stack = x.through + n;
	if (x.seen && !VEC_RESERVE(&keep, m + 1))
		err = ir_rank_positions(r, x.pos, &bad);
	for (uint32_t i = 0; i < n && !err; i++)
		x.order[x.pos[i]] = i;
	for (uint32_t p = 0; p < n && !err; p++) {
		const uint32_t i = x.order[p], through = find_through(&x, i);
		const bool several = r->dep_at[i + 1] - r->dep_at[i] > 1;

		if (several)
			walk_back(&x, i, through);
		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++)
			if (!several || !is_implied(&x, i, through, r->deps[d]))
				keep.at[keep.n++] = (struct bin_dep){ i, r->deps[d] };
	}
	if (!err && keep.n < m)
		err = ir_rank_set_deps(r, keep.at, (uint32_t)keep.n);
	VEC_FREE(&keep);
	free(x.seen);
	return err;
}
