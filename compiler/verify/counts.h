/* SPDX-License-Identifier: BSD-3-Clause
 * Counts to try in place of those for which, by its own assertions, a schedule is not. */
#ifndef COMPILER_VERIFY_COUNTS_H
#define COMPILER_VERIFY_COUNTS_H

#include "format/read.h"
#include "util/mem.h"

/* What is tried first: no element, one, some, and more than ranks but no multiple of them; and one for passes, beyond what
 * they cut off. */
enum counts_usual { COUNTS_NONE, COUNTS_ONE, COUNTS_SOME, COUNTS_UNEVEN, COUNTS_CUT, COUNTS_USUAL };

struct counts {
	VEC(int64_t) numbers; /* ascending, from 2 on: what an assertion may want counts to be multiples of */
	int64_t few; /* all up to this one are worth a try where others may be too few */
};

/* row: the arguments of a rank, or NULL. 0 or -ERR_NOMEM. */
int counts_init(struct counts *c, const struct bin *b, uint32_t size, const struct bin_arg *row);
void counts_fini(struct counts *c);
/* The i-th count in place of one of at least 1; 0: there are no more. Some come twice. The first counts_short are the ones
 * that are likely. */
int64_t counts_other(const struct counts *c, int64_t base, size_t i);
size_t counts_short(const struct counts *c);

#endif
