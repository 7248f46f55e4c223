/* SPDX-License-Identifier: BSD-3-Clause
 * Verifies a barrier, which has no data: a rank must not complete before all ranks have started. */
#include "compiler/verify/verify_parts.h"

#include "compiler/analysis/checks.h"
#include "util/err.h"

#include <stdlib.h>

#define SOURCES 512u /* number of ranks whose starts are queried in one call of ir_ranks_reach() */

int verify_barrier(struct goal_diags *d, const struct ir_graph *g, const struct ir_events *ev)
{
	const uint32_t n = g->nranks;
	struct ir_query *q = mem_alloc((size_t)(n < SOURCES ? n : SOURCES) * n * sizeof *q);
	struct goal_loc nowhere = { .file = (uint16_t)g->file };
	int err = q ? 0 : -ERR_NOMEM;

	for (uint32_t first = 0; first < n && !err; first += SOURCES) {
		uint32_t end = n - first < SOURCES ? n : first + SOURCES;

		err = ir_ranks_reach(ev, first, end, q);
		for (size_t i = 0; i < (size_t)(end - first) * n && !err; i++)
			if (!q[i].yes && !goal_diag_again(d, GOAL_ERROR, nowhere, "barrier", (uint32_t)(i % n)))
				goal_diag(d, GOAL_ERROR, nowhere, "result",
					  "%srank %u can complete before rank %u has started", g->sample,
					  (uint32_t)(i % n), first + (uint32_t)(i / n));
	}
	free(q);
	return err;
}
