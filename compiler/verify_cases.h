/* SPDX-License-Identifier: BSD-3-Clause
 * What goalc --verify goes through: sizes, roots, counts and arguments of one schedule. */
#ifndef COMPILER_VERIFY_CASES_H
#define COMPILER_VERIFY_CASES_H

#include "compiler/ir/args.h"
#include "compiler/verify/counts.h"
#include "compiler/verify/verify.h"

struct verify_asked {
	unsigned file; /* of the diagnostics */
	uint32_t first, last; /* sizes; 0: a sample of them, or that of the binary */
	const struct define *defines; /* by -D; others are samples, or have their defaults */
	size_t ndefines;
	uint32_t most_ops; /* as in bin_args */
	const char *passes; /* in place of those of the binary, or NULL */
	const struct goal_loc *locs; /* of the instructions of a program, or NULL */
	void (*progress)(uint32_t size); /* may be NULL */
};

/* Of a size that is proved. */
struct verify_roots {
	uint32_t n; /* with so many; 0: there is none to choose */
	uint32_t few[3]; /* the first of them */
};

/* What assertions of the schedule ruled out of the sizes that are proved. */
struct verify_passed {
	unsigned counts; /* usual ones, as bits */
	VEC(uint32_t) roots; /* ascending */
	uint32_t samples; /* as bits */
	uint64_t cases; /* that are not explained by these alone */
	char such[96]; /* the first of them */
};

struct verify_result {
	VEC(uint32_t) sizes; /* proved, ascending */
	VEC(struct verify_roots) roots; /* of each of them */
	VEC(uint32_t) ruled_out; /* by assertions of the schedule */
	VEC(uint32_t) unsuited; /* samples have no vectors of the lengths that it wants */
	uint64_t cases; /* proved */
	/* The counts that were proved: the only one there is, or -1 and then the usual ones (a bit for each enum counts_usual)
	 * and others, ascending. */
	int64_t count, cut; /* COUNTS_CUT */
	unsigned usual;
	struct verify_passed passed;
	VEC(int64_t) others;
	uint32_t samples; /* a bit for each that was proved */
	bool chosen; /* they differ */
	char *values; /* of parameters that are no sample's, as text; NULL: there are none */
	bool claims; /* the schedule says what it does */
	struct verify_report report; /* of the case of the largest size with the most messages */
	uint32_t differ[3]; /* two ranks that bracket a reduction differently, and the size; or zeros */
};

/* Verifies all cases, until one is wrong. 0: proved; -ERR_SYNTAX: what is wrong is in d; or -ERR_x. */
int verify_cases(struct goal_diags *d, const struct bin *b, const struct verify_asked *asked,
		 struct verify_result *out);
void verify_result_fini(struct verify_result *r);

/* verify_passed.c: the cases of a size, by root (the first: as given) and usual count (the last: another, or the only one), as
 * a bit for each sample. */
#define TRIED_COUNTS (COUNTS_USUAL + 1u)
struct tries {
	uint32_t size;
	struct tried {
		uint32_t proved[TRIED_COUNTS], excluded[TRIED_COUNTS];
	} *root;
};
int tries_init(struct tries *t, uint32_t size);
void tries_fini(struct tries *t);
/* root: -1 as given. Otherwise than proved, an assertion has ruled it out. */
void tries_note(struct tries *t, int64_t root, unsigned k, unsigned sample, bool proved);
/* Adds what was ruled out. counts: TRIED_COUNTS of them. */
int tries_tell(const struct tries *t, const struct bin *b, const int64_t *counts, struct verify_passed *out);

/* What is proved, as text owned by the caller; file: the name of a schedule that has none. */
int verify_text(const struct bin *b, const char *file, const struct verify_result *r, char **out);

#endif
