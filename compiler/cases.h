/* SPDX-License-Identifier: BSD-3-Clause
 * The cases in which a schedule is tried. A case is a size, a sample of arguments, a root and a count. Its user tries each
 * case and reports the outcome. A case that the schedule's assertions rule out is replaced by others. compile.c tries few
 * cases, counts first, and verify_cases.c many. */
#ifndef COMPILER_CASES_H
#define COMPILER_CASES_H

#include "compiler/ir/args.h"
#include "compiler/origin.h"
#include "compiler/verify/counts.h"

enum cases_axis { CASES_SAMPLE, CASES_ROOT, CASES_COUNT, CASES_OTHER /* counts in place of an excluded one */, CASES_AXES };

enum case_outcome {
	CASE_PASSED, CASE_EXCLUDED, /* an assertion rules out the case, so another count is tried */
	CASE_UNSUITED /* the sample is not for this schedule, so no other count helps */
};

struct cases {
	/* What the user asks for. With up to all_roots ranks, all roots are tried; with more ranks, the first, the middle and the
	 * last root. With up to all_pairs ranks, each count is tried with each sample. With more ranks, where a case takes
	 * seconds, each count and each sample is tried, but not in all combinations. A sample in place and the same sample out
	 * of place then have different counts. */
	const struct origin *s; /* only d, file and b are used */
	const struct define *defines; /* arguments that have one value only */
	size_t ndefines;
	enum cases_axis order[CASES_AXES]; /* order in which the axes are nested, outermost first */
	uint32_t first, last; /* range of sizes; unused if first is 0 */
	const uint32_t *sizes; /* sizes if first is 0: ascending, ended by 0 */
	enum counts_usual counts[COUNTS_USUAL + 1]; /* usual counts in the order in which they are tried, ended by COUNTS_USUAL */
	int64_t only; /* the only count, or -1; cases_begin() sets it if -D gives one */
	int64_t cut; /* the value of COUNTS_CUT; 0 if there is none */
	uint32_t all_roots, all_pairs;
	/* If true, the search for replacements of excluded cases is longer, and excluded roots are replaced too. All counts are
	 * candidates; counts that have passed at this size come first. A count that -D gives (`only`) is not replaced. */
	bool persistent;
	bool default_root; /* if true, the root is not varied if it has a default */
	bool valued; /* if true, samples that leave a parameter without a value are not tried */
	/* The search for a replacement of an excluded count ends when `budget`, which the user decreases, is down to `least`. */
	uint64_t budget, least;

	/* The case at hand. The arguments are valid until the next case. */
	struct bin_args args;
	unsigned sample;
	int64_t root; /* -1: the given root, or its default */
	unsigned usual; /* enum counts_usual of the count, or of the count that it replaces; COUNTS_USUAL for the count `only` */
	bool searching; /* the count replaces an excluded one */
	struct arg_rows rows; /* rows of arguments; after cases_begin(), for the first size and sample, with the root as given */

	/* Numbers of cases of the current size: cases that passed, passed cases that have elements, and excluded cases. */
	uint64_t passed, useful, excluded;

	/* The rest belongs to cases.c. */
	unsigned nsizes; /* number of sizes that were begun */
	uint32_t samples; /* one bit for each sample that is tried */
	bool open; /* true if roots are to be chosen */
	bool empty; /* true if nothing is sent with the current sample, whatever the count */
	int level; /* axis that advances next, as an index into order */
	uint32_t at[CASES_AXES]; /* steps taken on each axis */
	int64_t base, count; /* base: the count before any search */
	unsigned turn; /* the sample's number among the samples that are tried */
	uint32_t suited; /* number of roots that need no replacement */
	bool stale; /* true if the rows belong to another case */
	uint32_t where; /* the instruction that ruled out the last case */
	int64_t used[2 * COUNTS_USUAL]; /* counts that were tried with the current sample and root */
	unsigned nused;
	int64_t none; /* instruction that ruled out count 0 with the current sample and root, or -1 */
	/* values of passed, useful and excluded before the current root (_root) and before the current count (_base) */
	uint64_t passed_root, useful_root, passed_base, excluded_base;
	struct counts others; /* the counts of the search, listed when the first search begins; it tries the first `most` */
	size_t most;
	int64_t found[COUNTS_USUAL]; /* for each usual count, the replacement that passed last, or 0 */
};

/* Begins the walk and checks the defines. Returns 0, -ERR_SYNTAX after a diagnostic, or -ERR_NOMEM. */
int cases_begin(struct cases *c);
void cases_end(struct cases *c);
/* Goes to the next size. Returns false if there is none. */
bool cases_next_size(struct cases *c);
/* Goes to the next case of the size. Returns 1, 0 if there is none, or -ERR_NOMEM. */
int cases_next(struct cases *c);
/* Takes note of the outcome of the current case. `where` is the instruction that rules the case out. */
void cases_note(struct cases *c, enum case_outcome outcome, uint32_t where);
/* Returns the value of a usual count at the current size; for COUNTS_USUAL, the count `only`. */
int64_t cases_usual_count(const struct cases *c, unsigned usual);

#endif
