/* SPDX-License-Identifier: BSD-3-Clause
 * Symbolic values: what an element of a buffer holds, as an expression over what the buffers held at the start.
 *
 * A term stands for a vector of elements, as long as one likes: a leaf is a buffer of a rank, and the value
 * (leaf, at) is its element at; an operation is left op right, where right lies delta elements further on. So a
 * range of equal make is one value, and equal expressions are equal values: terms are kept once. */
#ifndef COMPILER_ANALYSIS_TERMS_H
#define COMPILER_ANALYSIS_TERMS_H

#include "util/mem.h"

#include <stdbool.h>
#include <stdint.h>

struct value {
	uint32_t term;
	int64_t at;
};

/* Contributions in a row: element at of buffer buf of rank, rank + 1, … n in all, each of them so many times (1 but
 * for commutative operations). */
struct term_run {
	uint32_t rank, buf, n, times;
	int64_t at;
};

struct terms;

/* commutative: contributions are a multiset, else a sequence. max: the most runs of a sequence, or the most
 * contributions of a multiset, that anybody will ask for; what has more is none that could be asked for. */
struct terms *terms_new(uint32_t nranks, uint32_t nbuffers, bool commutative, uint64_t max);
void terms_free(struct terms *t);

/* What element at of a buffer held at the start. */
struct value terms_leaf(const struct terms *t, uint32_t rank, uint32_t buf, int64_t at);
/* left op right. */
int terms_op(struct terms *t, struct value left, struct value right, struct value *out);

/* The contributions of a value; a number stands for them, the same for the same ones, when *at is the same too.
 * TERMS_TOO_MANY: more than max. */
#define TERMS_TOO_MANY UINT32_MAX
uint32_t terms_sum(const struct terms *t, struct value v, int64_t *at);
/* That of n contributions, at least 1, in order; each is a run of one, and they may be sorted. */
int terms_wanted(struct terms *t, struct term_run *parts, size_t n, uint32_t *sum, int64_t *at);

/* The first contributions of a value in the order of the expression, as runs: how many, at most max; *more when
 * there are others. */
size_t terms_list(const struct terms *t, struct value v, struct term_run *runs, size_t max, bool *more);

#endif
