/* SPDX-License-Identifier: BSD-3-Clause
 * Counts to try in place of a count that the schedule's own assertions exclude. */
#ifndef COMPILER_VERIFY_COUNTS_H
#define COMPILER_VERIFY_COUNTS_H

#include "format/read.h"
#include "util/mem.h"

/* The counts that are tried first: 0, 1, a small count, twice the number of ranks plus 1, and a count at which passes also
 * change messages that they leave alone if these are short (COUNTS_CUT). */
enum counts_usual { COUNTS_NONE, COUNTS_ONE, COUNTS_SOME, COUNTS_UNEVEN, COUNTS_CUT, COUNTS_USUAL };

struct counts {
	VEC(int64_t) numbers; /* ascending, from 2 on; an assertion may ask for multiples of them */
	int64_t few; /* all counts up to this number are listed, at the end */
};

/* Finds the numbers for one size. `row` has the arguments of a rank, or is NULL. Returns 0 or -ERR_NOMEM. */
int counts_init(struct counts *c, const struct bin *b, uint32_t size, const struct bin_arg *row);
void counts_fini(struct counts *c);
/* Returns the i-th count to try in place of `base`, which is at least 1. Returns 0 if there are no more. The same count may
 * come twice. */
int64_t counts_other(const struct counts *c, int64_t base, size_t i);
/* Returns how many of the counts, from the first on, are likely to satisfy the assertions. */
size_t counts_short(const struct counts *c);

#endif
