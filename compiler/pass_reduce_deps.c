/* SPDX-License-Identifier: BSD-3-Clause
 * reduce-deps: transitive reduction of one rank's dependencies. A requires that follows from a chain of
 * other dependencies ending in a completion is dropped, an irequires that follows from any chain. */
#include "compiler/passes.h"

#include "util/err.h"

#include <stdlib.h>
#include <string.h>

/* Walks back from op over all dependencies but the one at skip; sets started[x] and completed[x] for all
 * that must have started or completed before op starts. */
static void walk(const struct ir_rank *r, uint32_t op, uint32_t skip, unsigned char *seen, uint32_t *stack)
{
	uint32_t n = 0;

	stack[n++] = op;
	while (n) {
		uint32_t i = stack[--n];

		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++) {
			uint32_t on = r->deps[d] & ~BIN_START;
			unsigned char bits = r->deps[d] & BIN_START ? 1 : 3;

			if (d == skip || (seen[on] & bits) == bits)
				continue;
			if (!seen[on])
				stack[n++] = on;
			seen[on] |= bits;
		}
	}
}

int pass_reduce_deps(struct ir_rank *r, const struct pass_ctx *c)
{
	unsigned char *seen = mem_alloc(r->nops);
	uint32_t *stack = mem_alloc((size_t)r->nops * sizeof *stack);
	VEC(struct bin_dep) keep = { 0 };
	int err = seen && stack ? 0 : -ERR_NOMEM;

	(void)c;

	for (uint32_t i = 0; i < r->nops && !err; i++) {
		uint32_t from = r->dep_at[i], to = r->dep_at[i + 1];

		for (uint32_t d = from; d < to && !err; d++) {
			unsigned char bits = r->deps[d] & BIN_START ? 1 : 3;

			if (to - from > 1) {
				memset(seen, 0, r->nops);
				walk(r, i, d, seen, stack);
				if ((seen[r->deps[d] & ~BIN_START] & bits) == bits)
					continue;
			}
			err = VEC_PUSH(&keep, (struct bin_dep){ i, r->deps[d] });
		}
	}
	if (!err)
		err = ir_rank_set_deps(r, keep.at, (uint32_t)keep.n);
	VEC_FREE(&keep);
	free(seen);
	free(stack);
	return err;
}
