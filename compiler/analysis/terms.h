/* SPDX-License-Identifier: BSD-3-Clause
 * Symbolic values: what an element of a buffer holds, as an expression over the initial values of the buffers.
 *
 * A term stands for a vector of elements of unlimited length. A leaf is a buffer of a rank, and the value (leaf, at) is
 * its element at. An operation is left op right, where the elements of right are delta further on. So one value
 * describes a range of elements that are computed alike. Each term is stored once, so equal expressions are equal
 * values. */
#ifndef COMPILER_ANALYSIS_TERMS_H
#define COMPILER_ANALYSIS_TERMS_H

#include "util/mem.h"

#include <stdbool.h>
#include <stdint.h>

struct value {
	uint32_t term;
	int64_t at;
};

/* Contributions of n consecutive ranks from `rank` on: each contributes element `at` of buffer `buf`. `times` is
 * the multiplicity of each contribution: 1 unless the operation is commutative. */
struct term_run {
	uint32_t rank, buf, n, times;
	int64_t at;
};

struct terms;

/* If `commutative` is set, the contributions of a value are a multiset, otherwise a sequence. `max` is the largest number of
 * runs of a sequence, or of contributions of a multiset, that a caller will ask for. Larger sums are not stored, because no
 * expected value can equal them. */
struct terms *terms_new(uint32_t nranks, uint32_t nbuffers, bool commutative, uint64_t max);
void terms_free(struct terms *t);

/* Returns the initial value of element `at` of a buffer. */
struct value terms_leaf(const struct terms *t, uint32_t rank, uint32_t buf, int64_t at);
/* Stores the value of "left op right" in *out. */
int terms_op(struct terms *t, struct value left, struct value right, struct value *out);

/* Returns a number that is above the term of every value. */
uint32_t terms_count(const struct terms *t);
/* Stores the operands of a value "left op right". Returns false if the value is an initial value. */
bool terms_operands(const struct terms *t, struct value v, struct value *left, struct value *right);
/* Returns the single contribution of an initial value. */
struct term_run terms_source(const struct terms *t, struct value v);

/* Returns a number for the contributions of a value. Two values have the same contributions if both this number and *at
 * are equal. Returns TERMS_TOO_MANY if there are more than `max` of terms_new(). */
#define TERMS_TOO_MANY UINT32_MAX
uint32_t terms_sum(const struct terms *t, struct value v, int64_t *at);
/* Stores the number of the sum of n >= 1 contributions, given in order. Each element of `parts` is a run of one
 * contribution; the function may sort them. */
int terms_expected(struct terms *t, struct term_run *parts, size_t n, uint32_t *sum, int64_t *at);

/* Stores the first contributions of a value as runs, in the order of the expression, and returns the number of
 * runs, at most `max`. *more is true if there are others. */
size_t terms_list(const struct terms *t, struct value v, struct term_run *runs, size_t max, bool *more);

#endif
