/* SPDX-License-Identifier: BSD-3-Clause
 * The proof of goalc --verify: all cases of one schedule, and what is proved. */
#ifndef COMPILER_VERIFY_CASES_H
#define COMPILER_VERIFY_CASES_H

#include "compiler/ir/args.h"
#include "compiler/verify/counts.h"
#include "compiler/verify/verify.h"

struct verify_asked {
	unsigned file; /* source file named in diagnostics */
	uint32_t first, last; /* range of sizes; 0 selects some small sizes, or the only size of the binary */
	const struct define *defines; /* values of -D; other parameters take values of samples, or their defaults */
	size_t ndefines;
	const char *varied; /* name of the define whose value is one of several, and is written as VERIFY_VALUES; or NULL */
	uint32_t most_ops; /* most ops that a rank may have, as in struct bin_args */
	const char *passes; /* list of passes in place of the binary's own, or NULL */
	struct brackets *brackets; /* bracketings of reductions, with those of earlier values; NULL if there are no earlier ones */
	const struct goal_loc *locs; /* locations of the program's instructions, or NULL */
	void (*progress)(void *arg, uint32_t size); /* called before each size; may be NULL */
	void *progress_arg;
};

/* Stands in texts for the values of the define `varied`. */
#define VERIFY_VALUES '\1'

/* The roots with which a size is proved. */
struct verify_roots {
	uint32_t n; /* number of these roots; 0 if no root is to be chosen */
	uint32_t few[3]; /* the first of these roots, in the order in which they were tried */
};

/* A list of distinct numbers in ascending order. */
struct ascending {
	VEC(int64_t) v;
};
/* Returns 0 or -ERR_NOMEM. */
int ascending_add(struct ascending *a, int64_t x);

/* Values that assertions of the schedule exclude at sizes that are proved. */
struct verify_passed {
	unsigned counts; /* excluded counts: a bit for each enum counts_usual */
	struct ascending roots;
	uint32_t samples; /* excluded samples: a bit for each */
	uint64_t cases; /* number of excluded cases of which neither the count, nor the root, nor the sample is excluded as such */
	char such[96]; /* the first of these cases, in words */
};

/* What the cases say about the bracketing of reductions (brackets.h). */
struct verify_brackets {
	bool any, differ, by_value; /* brackets_any(), brackets_differ() and brackets_differ_by_value() */
	char *text; /* brackets_text() if they differ, or NULL */
};

struct verify_result {
	VEC(uint32_t) sizes; /* sizes that are proved, ascending */
	VEC(struct verify_roots) roots; /* roots with which each element of `sizes` is proved */
	VEC(uint32_t) ruled_out; /* sizes that assertions of the schedule exclude */
	VEC(uint32_t) unsuited; /* sizes at which no sample has vectors of the lengths that the schedule requires */
	uint64_t cases; /* number of cases that are proved */
	int64_t count; /* the only count, or -1: several counts are proved */
	const char *varied; /* as in struct verify_asked */
	unsigned usual; /* usual counts that are proved: a bit for each enum counts_usual */
	int64_t cut; /* the value of COUNTS_CUT */
	struct verify_passed passed;
	struct ascending others; /* proved counts that are not usual */
	uint32_t samples; /* a bit for each sample that is proved */
	bool chosen; /* true if samples differ */
	char *values; /* text with the values of parameters that samples do not set, or NULL */
	bool claims; /* true if the schedule claims a result, or to be a barrier */
	struct verify_report report; /* report on the case with the most messages at the largest size */
	struct verify_brackets brackets;
	uint32_t differ[3]; /* two ranks that bracket a reduction differently, and the size; all 0 if there are none */
};

/* Verifies all cases until one fails. Returns 0 if all are proved, -ERR_SYNTAX after a diagnostic, or -ERR_x. */
int verify_cases(struct goal_diags *d, const struct bin *b, const struct verify_asked *asked, struct verify_result *out);
void verify_result_fini(struct verify_result *r);

/* ---- several values of a parameter (verify_values.c) ---- */

/* What is proved for one value or more, and the same for all of them. */
struct verify_proof {
	struct verify_result r; /* with the cases of all these values, and with the report on the most messages */
	char *same; /* the text of the result without cases and report */
	VEC(int64_t) values;
};

/* In the order of their first values. Without a range there is one proof. */
struct verify_proofs {
	VEC(struct verify_proof) v;
};

/* Verifies all cases, with each value of the define that is a range, until one fails. Returns as verify_cases(). */
int verify_values(struct goal_diags *d, const struct bin *b, const struct verify_asked *asked, struct verify_proofs *all);
/* Makes a text that describes all proofs. The caller owns the text. */
int verify_values_text(const struct bin *b, const char *file, const struct verify_proofs *all, char **out);
void verify_proofs_fini(struct verify_proofs *all);

/* ---- excluded cases (verify_passed.c) ---- */

/* Outcomes of the cases of one size, with a bit for each sample. Row 0 is for cases in which no root is chosen, and row 1 + r
 * is for root r. Each usual count has a column. One more column is for all other counts, or for the only count. */
#define TRIED_COUNTS (COUNTS_USUAL + 1u)
struct tries {
	uint32_t size;
	struct tried {
		uint32_t proved[TRIED_COUNTS], excluded[TRIED_COUNTS];
	} *root;
};
int tries_init(struct tries *t, uint32_t size);
void tries_fini(struct tries *t);
/* Records the outcome of a case: proved, or excluded by an assertion. k is the column; root is -1 for row 0. */
void tries_note(struct tries *t, int64_t root, unsigned k, unsigned sample, bool proved);
/* Derives from the outcomes of a size which values are excluded, and adds these to *out. `counts` has the value of each of the
 * TRIED_COUNTS columns. */
int tries_tell(const struct tries *t, const struct bin *b, const int64_t *counts, struct verify_passed *out);

/* Makes a text that describes what is proved. The caller owns the text. `file` replaces the name of a schedule without name. */
int verify_text(const struct bin *b, const char *file, const struct verify_result *r, char **out);

#endif
