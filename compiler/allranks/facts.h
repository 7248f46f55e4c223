/* SPDX-License-Identifier: BSD-3-Clause
 * The facts of an obligation, and the bounds of sums that they say. */
#ifndef COMPILER_ALLRANKS_FACTS_H
#define COMPILER_ALLRANKS_FACTS_H

#include "compiler/allranks/proof.h"

#define MOST_FACTS 96u
#define MOST_BOUNDS 160u
#define BOUND_SLOTS 256u /* a power of two */

/* A sum without its number, for comparisons. */
struct sum_key {
	struct term_sum sum;
	uint64_t hash; /* of a difference of sums it is the difference */
};

/* sum >= least, because of one or two facts. A fact is not rewritten by bounds that it says itself, since it would then be lost. */
struct bound {
	term sum; /* without a number */
	struct sum_key key;
	uint64_t signs; /* sums that have an atom with factors of the same sign have a bit in common */
	int64_t least;
	unsigned from, also; /* numbers of these facts; `also` is FROM_RANGE if there is one only */
	unsigned next; /* 1 + the number of another bound whose sum has a like hash, or 0 */
};

#define FROM_RANGE UINT32_MAX /* a bound that follows from the range of a variable or a remainder */
#define FROM_MANY (UINT32_MAX - 1) /* a bound that follows from an unknown number of facts, and is not used to rewrite facts */
#define SKIP_NONE (UINT32_MAX - 2) /* no fact is being rewritten */

struct rewritten {
	term from, to;
	uint32_t pass;
};

struct facts {
	const struct proof *p;
	struct terms *t;
	term fact[MOST_FACTS];
	unsigned n;
	struct bound bound[MOST_BOUNDS];
	unsigned nbounds;
	uint8_t slot[BOUND_SLOTS]; /* 1 + the number of the last bound with a hash of these bits, or 0 */
	term goal;
	unsigned skip; /* the fact that is being rewritten */
	bool absurd; /* the facts contradict each other */
	bool full; /* there was no room for a fact */
	struct rewritten *cache; /* CACHED entries */
	uint32_t *pass;
};

/* ---- bounds.c ---- */

/* Powers of two, and logarithms to the base 2. */
#define MOST_POWERS 12u
struct powers {
	term power[MOST_POWERS], log[MOST_POWERS];
	unsigned npowers, nlogs;
};

/* Adds those in the facts and the goal, each once. */
void facts_powers(const struct facts *f, struct powers *out);

/* Finds the bounds that the facts, and the ranges of what occurs in them and in the goal, say. */
void facts_bound(struct facts *f);
/* True if x is known to be at least `least`. */
bool facts_at_least(struct facts *f, term x, int64_t least);
/* Returns 1 if the condition is known to hold, 0 if it is known not to, and -1 if neither is known. */
int facts_decide(struct facts *f, term x);
/* True if two bounds exclude each other. */
bool facts_exclude(struct facts *f);

#endif
