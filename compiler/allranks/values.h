/* SPDX-License-Identifier: BSD-3-Clause
 * What elements hold, as terms: the values that ops read and write are found by runs at small sizes, and described by terms. */
#ifndef COMPILER_ALLRANKS_VALUES_H
#define COMPILER_ALLRANKS_VALUES_H

#include "compiler/allranks/proof.h"

/* A value as a number, as struct held is one as terms. If `known` is false, the element has not been written. */
struct cell {
	bool known;
	bool run; /* the ranks are a run: lo, lo + 1, ...; otherwise only `ranks` says which they are */
	int64_t lo, n, buf, index;
	uint64_t ranks; /* bit i is set if rank i is one of them */
};

/* A value that an op had in a run: element number `elem` of its range. `value` has the values of the variables of sites. */
struct sample {
	int64_t *value;
	int64_t elem;
	struct cell cell;
};

/* What an op read or wrote in all runs. */
#define MOST_SAMPLES 1200u
struct samples {
	struct sample *at; /* room for MOST_SAMPLES */
	size_t n;
};
struct site_samples {
	struct samples read[2], wrote;
};

/* ---- held.c ---- */

/* The range that an op writes; its offset is TERM_NONE if there is none. */
struct site_range written_range(const struct site *x);
/* What the elements of a buffer hold at the start. *known is a condition for it. */
struct held initial_held(struct proof *p, uint32_t buf, term rank, term index, term *known);

/* True if the element is in the range of an instance. */
term covers_index(struct proof *p, const struct instance *i, struct site_range range, term len, term index);

/* ---- members.c ---- */

/* Finds the number of the member for which a rank stands, p->member. */
void members_find(struct proof *p);
/* Proves that members are numbered in the order of ranks, which the other functions rely on. */
void members_prove(struct proof *p);
/* True if two values, of which one is over members at least, are over the same ranks. */
term members_same(struct proof *p, struct held a, struct held b);
/* True if the ranks of `sum` are those of a and those of b, which have none in common. */
term members_sum(struct proof *p, struct held a, struct held b, struct held sum);

/* ---- run.c, fit.c ---- */

/* Runs the schedule at small sizes, each rank in the order of the text. out has an entry for each site, filled with 0. */
void run_small(struct proof *p, struct site_samples *out);
/* Finds terms over the variables of the site that have the values of the samples. Returns false if none are found. */
bool fit_held(struct proof *p, const struct site *x, const struct samples *s, struct held *out);

#endif
