/* SPDX-License-Identifier: BSD-3-Clause
 * loop: runs all ranks in one thread, in a random order that a seed repeats. Tests compare backends with this
 * reference; it is not for use. */
#ifndef TESTS_LOOP_LOOP_H
#define TESTS_LOOP_LOOP_H

#include "compiler/ir/ir.h"

struct loop_job {
	const struct ir_graph *graph; /* graph to run; it has no wildcards */
	char *const *const *buffers; /* addresses of the buffers, by rank and buffer */
	size_t elem; /* bytes of an element */
	/* Reduces n elements: b = a op b, or b = b op a if `with` is set. May be NULL if nothing is reduced. */
	void (*reduce)(const char *a, char *b, uint64_t n, bool with);
	uint64_t seed; /* seed of the order */
};

/* Runs one epoch. Every order that the dependencies allow may happen. A send may complete at once or with its recv, and
 * bytes move at any moment in between. Returns 0, -ERR_UNMATCHED, -ERR_NOMEM, or -ERR_DEADLOCK with an op that cannot
 * continue in *rank and *op. */
int loop_run(const struct loop_job *job, uint32_t *rank, uint32_t *op);

#endif
