/* SPDX-License-Identifier: BSD-3-Clause
 * What goalc --verify goes through: sizes, roots, counts and arguments of one schedule. */
#ifndef COMPILER_VERIFY_CASES_H
#define COMPILER_VERIFY_CASES_H

#include "compiler/args.h"
#include "compiler/verify.h"

struct verify_asked {
	unsigned file; /* of the diagnostics */
	uint32_t first, last; /* sizes; 0: a sample of them, or that of the binary */
	const struct define *defines; /* by -D; others are samples, or have their defaults */
	size_t ndefines;
	const char *passes; /* in place of those of the binary, or NULL */
	const struct goal_loc *locs; /* of the instructions of a program, or NULL */
	void (*progress)(uint32_t size); /* may be NULL */
};

struct verify_result {
	VEC(uint32_t) sizes; /* proved, ascending */
	VEC(uint32_t) ruled_out; /* by assertions of the schedule */
	uint64_t cases; /* proved */
	bool claims; /* the schedule says what it does */
	struct verify_report report; /* of the case of the largest size with the most messages */
	uint32_t differ[3]; /* two ranks that bracket a reduction differently, and the size; or zeros */
};

/* Verifies all cases, until one is wrong. 0: proved; -ERR_SYNTAX: what is wrong is in d; or -ERR_x. */
int verify_cases(struct goal_diags *d, const struct bin *b, const struct verify_asked *asked,
		 struct verify_result *out);
void verify_result_fini(struct verify_result *r);
/* What is proved, as text owned by the caller; file: the name of a schedule that has none. */
int verify_text(const struct bin *b, const char *file, const struct verify_result *r, char **out);

#endif
