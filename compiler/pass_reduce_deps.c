/* SPDX-License-Identifier: BSD-3-Clause
 * reduce-deps: transitive reduction of one rank's dependencies. A requires that follows from a chain of
 * other dependencies ending in a completion is dropped, an irequires that follows from any chain.
 *
 * One search for each op, over what comes between it and the earliest op that it waits for. That could still be the
 * whole rank each time: all searches together may take so many steps for each op, and what is not found by then
 * stays. */
#include "compiler/passes.h"

#include "util/err.h"

#include <stdlib.h>
#include <string.h>

#define STEPS 32u /* for each op and dependency */
#define STEPS_ALWAYS (1u << 14)

#define STARTED 1u
#define COMPLETED 2u

struct reduce {
	const struct ir_rank *r;
	uint32_t *pos;
	uint64_t *seen; /* of each op: round * 4, and what is known to have happened to it before the op looked at */
	uint32_t *stack;
	uint64_t round, steps;
};

static unsigned happens(uint32_t dep)
{
	return dep & BIN_START ? STARTED : STARTED | COMPLETED;
}

/* Walks back from all that op waits for, but not beyond the earliest of it. */
static void walk(struct reduce *x, uint32_t op)
{
	const struct ir_rank *r = x->r;
	uint32_t n = 0, first = UINT32_MAX;

	x->round += 4;
	for (uint32_t d = r->dep_at[op]; d < r->dep_at[op + 1]; d++) {
		uint32_t on = r->deps[d] & ~BIN_START;

		x->stack[n++] = on;
		x->seen[on] = x->round;
		first = x->pos[on] < first ? x->pos[on] : first;
	}
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
			x->seen[on] |= happens(r->deps[d]);
		}
	}
}

/* Whether a dependency of the op that was looked at last follows from its others. */
static bool implied(const struct reduce *x, uint32_t op, uint32_t dep)
{
	const struct ir_rank *r = x->r;
	unsigned wanted = happens(dep);

	if ((x->seen[dep & ~BIN_START] & wanted) == wanted)
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
	x.seen = mem_calloc(n, sizeof *x.seen + 3 * sizeof(uint32_t)); /* each op is on the stack at most twice */
	x.pos = (uint32_t *)(void *)(x.seen + n);
	x.stack = x.pos + n;
	if (x.seen && !VEC_RESERVE(&keep, m + 1))
		err = ir_rank_positions(r, x.pos, &bad);
	for (uint32_t i = 0; i < n && !err; i++) {
		bool several = r->dep_at[i + 1] - r->dep_at[i] > 1;

		if (several)
			walk(&x, i);
		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++)
			if (!several || !implied(&x, i, r->deps[d]))
				keep.at[keep.n++] = (struct bin_dep){ i, r->deps[d] };
	}
	if (!err && keep.n < m)
		err = ir_rank_set_deps(r, keep.at, (uint32_t)keep.n);
	VEC_FREE(&keep);
	free(x.seen);
	return err;
}
