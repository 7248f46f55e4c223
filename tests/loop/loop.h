/* SPDX-License-Identifier: BSD-3-Clause
 * loop: all ranks in one thread, in a random but reproducible order. The reference that tests hold other
 * backends against; not for use. */
#ifndef TESTS_LOOP_LOOP_H
#define TESTS_LOOP_LOOP_H

#include "compiler/ir/ir.h"

struct loop_job {
	const struct ir_graph *graph; /* no wildcards */
	char *const *const *buffers; /* [rank][buffer] */
	size_t elem; /* bytes of an element */
	/* b = a op b, or b = b op a when with is set; n elements. May be NULL without reductions. */
	void (*reduce)(const char *a, char *b, uint64_t n, bool with);
	uint64_t seed; /* of the order */
};

/* Runs one epoch. Every order that the dependencies leave open may happen, a send may complete at once or
 * with its recv, and bytes move at any moment in between. 0; -ERR_DEADLOCK with an op that cannot go on in
 * *rank and *op; -ERR_UNMATCHED; -ERR_NOMEM. */
int loop_run(const struct loop_job *job, uint32_t *rank, uint32_t *op);

#endif
