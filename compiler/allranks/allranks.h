/* SPDX-License-Identifier: BSD-3-Clause
 * Proofs of parametric schedules for every number of ranks (goal-proof(7)). */
#ifndef COMPILER_ALLRANKS_ALLRANKS_H
#define COMPILER_ALLRANKS_ALLRANKS_H

#include "format/read.h"

#include <stdbool.h>

struct allranks_asked {
	const char *solver; /* program, or NULL: cvc5 or z3, whichever is found */
	unsigned seconds; /* limit for each obligation */
	const char *dir; /* directory in which obligations are kept, or NULL */
};

struct allranks_result {
	bool proved;
	bool asserts; /* assertions of the schedule limit the sizes */
	unsigned obligations; /* number of obligations that were proved */
	unsigned asked; /* number of these for which a solver was needed */
	uint64_t hash; /* sum of the XXH64 of the texts of all obligations */
	/* If it is not proved: */
	uint32_t insn; /* the instruction that stands in the way */
	char why[200];
	/* A counterexample to an obligation; size is 0 if there is none. */
	uint32_t size;
	int64_t root;
	bool root_matters;
};

/* Proves the schedule, with the defaults of its parameters, or says why not. Returns 0 or -ERR_NOMEM. */
int allranks_prove(const struct bin *b, const struct allranks_asked *asked, struct allranks_result *out);

#endif
