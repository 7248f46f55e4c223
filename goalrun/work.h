/* SPDX-License-Identifier: BSD-3-Clause
 * For how much of a communication's time ranks can compute. The work-based benchmark of Hoefler (ANL 2010): what goes
 * between start and wait is not a time but an amount of work, which takes as long as the communication when all ranks
 * do it where they are. goalrun --overlap and bench/overlap_mpi.c measure in this same way; goalrun(1) describes it. */
#ifndef GOALRUN_WORK_H
#define GOALRUN_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is timed: a start and its wait, the work, and both together. */
enum work_part { WORK_COMM, WORK_COMPUTE, WORK_BOTH, WORK_PARTS };

/* When a rank began a part, had started, and ended it, in ns. */
struct work_span {
	uint64_t begin, started, end;
};
struct work_spans {
	struct work_span of[WORK_PARTS];
};

/* What is measured, on one rank. The calls return 0, or what to give up with. */
struct work_bench {
	uint32_t ranks;
	size_t iters, warmup; /* both at least 1 */
	uint64_t tests; /* calls of test in the work, at equal distances */
	double work_us; /* of one core, shared by all ranks; 0: as long as the communication */
	bool crowded; /* ranks share CPUs */
	void *arg;
	int (*exchange)(void *arg, const void *in, void *out, size_t size); /* all ranks' records; they meet there */
	int (*fill)(void *arg); /* new data for the next start */
	int (*start)(void *arg);
	int (*test)(void *arg);
	int (*wait)(void *arg);
	int (*check)(void *arg); /* all that was received */
	int (*no_memory)(void *arg);
};

/* Collective. spans: one for each iteration. */
int work_measure(const struct work_bench *b, struct work_spans *spans);
/* From all ranks' spans, those of a rank iters apart: the median of what the parts took, and the overlap. scratch: room
 * for iters numbers. */
double work_overlap(const struct work_spans *spans, uint32_t ranks, size_t iters, double *scratch,
		    double us[WORK_PARTS]);

#endif
