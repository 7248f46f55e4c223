/* SPDX-License-Identifier: BSD-3-Clause
 * Reproducibility: whether all elements of a result are reduced with the same bracketing, in all cases of a schedule.
 *
 * The bracketing of an element is a tree: its leaves are the ranks that contribute, and its inner nodes are the operations,
 * with a left and a right operand. Two elements of different positions, ranks, counts or samples have to be bracketed alike if
 * the same ranks contribute to both in the same order, and if the cases have the same size, root and value (struct
 * brackets_case). An operation of floating-point numbers then gives the same bits for the same contributions. As in terms.h,
 * the two operands of an operation have no order if the schedule is marked commutative. */
#ifndef COMPILER_VERIFY_BRACKETS_H
#define COMPILER_VERIFY_BRACKETS_H

#include "compiler/analysis/symbolic.h"
#include "compiler/collectives/collective.h"

/* The values of a case. */
struct brackets_case {
	uint32_t size;
	int64_t root; /* -1 if no root is chosen */
	int64_t value; /* value of the parameter that -D gives as a range, or 0 */
	/* Values between which the bracketing must not change. */
	int64_t count;
	unsigned sample;
	bool chosen; /* true if the sample sets parameters */
};

struct brackets;

struct brackets *brackets_new(bool commutative);
void brackets_free(struct brackets *b);
/* Begins the cases of a further value: the answer of brackets_differ() is for these. */
void brackets_begin_value(struct brackets *b);
/* Begins a case: brackets_compare() is then called for it, or not at all if the case equals an earlier one. If `keep` is not
 * set, no case of another size will be compared with one of this size again. */
void brackets_begin_case(struct brackets *b, const struct brackets_case *c, bool keep);
/* Compares the bracketings of all reductions of a case with those of the cases before. Call it after verify_data() has found
 * no error. A difference is an error if the schedule is marked reproducible. */
int brackets_compare(struct brackets *b, struct goal_diags *d, const struct symbolic *s, const struct expected *by_rank);

/* True if a result has been a reduction. */
bool brackets_any(const struct brackets *b);
/* True if two bracketings differ in cases of the same size, root and value. */
bool brackets_differ(const struct brackets *b);
/* True if two bracketings differ only in cases of different values. */
bool brackets_differ_by_value(const struct brackets *b);
/* Makes a text that shows two elements whose bracketings differ. The caller owns the text. */
int brackets_text(const struct brackets *b, const struct bin *bin, char **out);

#endif
