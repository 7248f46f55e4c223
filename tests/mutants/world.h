/* SPDX-License-Identifier: BSD-3-Clause
 * What an execution begins with and what it must end with, element by element: private to the executor. */
#ifndef TESTS_MUTANTS_WORLD_H
#define TESTS_MUTANTS_WORLD_H

#include "tests/mutants/exec.h"

#define EPOCHS 2u

/* Elements at .. at + n of the memory of all ranks. */
struct span {
	uint64_t at, n;
	uint32_t rank;
};

struct world {
	uint32_t nranks, nbuffers;
	bool commutes, barrier;
	uint64_t *base; /* of buffer b of rank r: base[r * nbuffers + b]; one more at the end */
	uint64_t size; /* elements of all ranks */
	uint64_t *poison, *given[EPOCHS], *wanted[EPOCHS]; /* of the whole memory */
	VEC(struct span) gives, wants; /* by rank, ascending */
};

/* a op b. */
uint64_t world_combine(const struct world *w, uint64_t a, uint64_t b);
/* Where a buffer of a rank begins in the memory of all, and how many elements it has. */
uint64_t world_place(const struct world *w, uint32_t rank, uint32_t buf);
uint64_t world_elements(const struct world *w, uint32_t rank, uint32_t buf);
/* Of n spans that are sorted by rank, the first one of a rank; or the end. */
const struct span *world_spans(const struct span *s, size_t n, uint32_t rank);
/* A number that looks random for each number. */
uint64_t world_mix(uint64_t x);

#endif
