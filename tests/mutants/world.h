/* SPDX-License-Identifier: BSD-3-Clause
 * Initial and expected contents of all buffers, element by element. Private to the executor. */
#ifndef TESTS_MUTANTS_WORLD_H
#define TESTS_MUTANTS_WORLD_H

#include "tests/mutants/exec.h"

#define EPOCHS 2u

/* The elements [at, at + n) of the memory of all ranks. */
struct span {
	uint64_t at, n;
	uint32_t rank;
};

struct world {
	uint32_t nranks, nbuffers;
	bool commutes, barrier;
	uint64_t *base; /* base[r * nbuffers + b]: first element of buffer b of rank r; the last value is the end */
	uint64_t size; /* number of elements of all ranks */
	/* values of all elements: overwriting old contents, given at the start of an epoch, expected at its end */
	uint64_t *poison, *given[EPOCHS], *wanted[EPOCHS];
	VEC(struct span) gives, wants; /* spans in the order of ranks, ascending */
};

/* Returns a op b. */
uint64_t world_combine(const struct world *w, uint64_t a, uint64_t b);
/* Return where a buffer of a rank begins in the memory of all ranks, and how many elements it has. */
uint64_t world_place(const struct world *w, uint32_t rank, uint32_t buf);
uint64_t world_elements(const struct world *w, uint32_t rank, uint32_t buf);
/* Returns the first span of a rank among n spans that are sorted by rank; the end if there is none. */
const struct span *world_spans(const struct span *s, size_t n, uint32_t rank);
/* Returns a hash of x. */
uint64_t world_mix(uint64_t x);

#endif
