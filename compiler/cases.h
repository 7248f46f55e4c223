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
	CASE_PASSED, CASE_EXCLUDED, /* an assertion rules it out, so another count is tried */
	CASE_UNSUITED /* the sample is not for this schedule, so no other count helps */
};

struct cases {
	/* What the user asks for. All roots of up to all_roots ranks are tried; of more ranks, the first, the middle and the
	 * last. Up to all_pairs ranks, each count is tried with each sample. For more ranks, where a case takes seconds, each
	 * count and each sample is still tried, but not in all combinations. A sample in place and the same sample out of
	 * place then have different counts. */
	const struct origin *s; /* only d, file and b are used */
	const struct define *defines; /* arguments that have one value only */
	size_t ndefines;
	enum cases_axis order[CASES_AXES]; /* outermost first */
	uint32_t first, last; /* sizes, if first is not 0 */
	const uint32_t *sizes; /* other sizes: ascending, then 0 */
	enum counts_usual counts[COUNTS_USUAL + 1]; /* in this order, then COUNTS_USUAL */
	int64_t only; /* the only count, or -1; cases_begin() sets it if -D gives one */
	int64_t cut; /* the value of COUNTS_CUT, or 0: there is none */
	uint32_t all_roots, all_pairs;
	/* Searches longer for cases in place of excluded ones. Excluded roots are replaced too. All counts are candidates, and
	 * those that have passed at this size come first. The only count is not replaced. */
	bool persistent;
	bool default_root; /* the root is not varied if it has a default */
	bool valued; /* samples that leave a parameter without a value are not tried */
	/* The search for counts in place of an excluded one ends when budget, which the user decreases, is down to least. */
	uint64_t budget, least;

	/* The case at hand. The arguments are valid until the next case. */
	struct bin_args args;
	unsigned sample;
	int64_t root; /* -1: as given */
	unsigned usual; /* enum counts_usual of the count, or of the count that it replaces; COUNTS_USUAL: the only one */
	bool searching; /* the count replaces an excluded one */
	struct arg_rows rows; /* after cases_begin(): those of the first size and sample, with the root as given */

	/* Cases of the size at hand: those that passed, of these the ones with elements, and those that were excluded. */
	uint64_t passed, useful, excluded;

	/* The rest belongs to cases.c. */
	unsigned nsizes; /* begun */
	uint32_t samples; /* bits of those that are tried */
	bool open; /* roots are to be chosen */
	bool empty; /* nothing is sent with the sample at hand, whatever the count */
	int level; /* axis that advances next, as an index into order */
	uint32_t at[CASES_AXES]; /* steps taken on each axis */
	int64_t base, count; /* base: the count before any search */
	unsigned turn; /* the sample's number among those that are tried */
	uint32_t suited; /* roots that need no other in their place */
	bool stale; /* the rows are those of another case */
	uint32_t where; /* the instruction that ruled out the last case */
	int64_t used[2 * COUNTS_USUAL]; /* counts that have been tried with the sample and the root at hand */
	unsigned nused;
	int64_t none; /* the instruction that ruled out count 0 with them, or -1 */
	uint64_t passed_root, useful_root, passed_base, excluded_base; /* before the root, or the count, at hand */
	struct counts others; /* the counts of the search, listed when the first search begins; it tries the first `most` */
	size_t most;
	int64_t found[COUNTS_USUAL]; /* counts that passed in place of a usual one */
};

/* Begins, which checks the defines: 0, -ERR_SYNTAX after a diagnostic, or -ERR_NOMEM. */
int cases_begin(struct cases *c);
void cases_end(struct cases *c);
/* Goes to the next size; false: there is none. */
bool cases_next_size(struct cases *c);
/* Goes to the next case of the size: 1, or 0 if there is none, or -ERR_NOMEM. */
int cases_next(struct cases *c);
/* Reports the outcome of the case at hand. where: the instruction that rules it out. */
void cases_note(struct cases *c, enum case_outcome outcome, uint32_t where);
/* Returns a usual count at the size at hand, or the only one for COUNTS_USUAL. */
int64_t cases_usual_count(const struct cases *c, unsigned usual);

#endif
