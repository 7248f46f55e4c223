/* SPDX-License-Identifier: BSD-3-Clause
 * What a loop does to the registers of a program: their values in any iteration, as terms, or else bounds of them. */
#ifndef COMPILER_ALLRANKS_LOOPS_H
#define COMPILER_ALLRANKS_LOOPS_H

#include "compiler/allranks/sites.h"

#define MOST_CHANGED 48u

/* The registers that change in a loop. */
struct changes {
	uint16_t reg[MOST_CHANGED];
	term var[MOST_CHANGED]; /* variable that stands for the value at the start of an iteration */
	term next[MOST_CHANGED]; /* value at its end, as a term over these variables */
	term first[MOST_CHANGED]; /* value before the loop */
	term closed[MOST_CHANGED]; /* value at the start of iteration `turn`, or TERM_NONE if it is not known */
	int64_t lo[MOST_CHANGED], hi[MOST_CHANGED]; /* bounds of a value that is not known, at the start of any iteration */
	unsigned n;
	term turn; /* variable for the number of an iteration, from 0 on */
};

/* Finds the values of registers at the start of any iteration. What is found is right by induction: it is the value before the
 * loop for iteration 0, and an iteration leads from each value to the next. */
void changes_close(struct terms *t, struct changes *c);
/* Finds bounds of the values that are not known, for a loop of at most so many iterations. */
void changes_bound(struct terms *t, struct changes *c, int64_t iterations);
/* Returns the value of register number i of c, which is known, at the start of an iteration. */
term changes_at(struct terms *t, const struct changes *c, unsigned i, term turn);
/* Describes the loop whose variable is register number i of c: it goes on while `test` is true. *turn is the number of its
 * iteration. Returns false if this register is not the variable. */
bool changes_counter(const struct sites *s, const struct changes *c, unsigned i, term test, struct frame *f, term *turn);

#endif
