/* SPDX-License-Identifier: BSD-3-Clause
 * Measures how much of the communication time can be overlapped with computation. This is the work-based benchmark of
 * Hoefler (ANL 2010): between start and wait the ranks do not compute for a fixed time, but do a fixed amount of work.
 * That work takes as long as the communication when all ranks do it where they run. goalrun --overlap and
 * bench/overlap_mpi.c measure in the same way; goalrun(1) describes it. */
#ifndef GOALRUN_WORK_H
#define GOALRUN_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parts that are timed: a start with its wait, the work, and both together. */
enum work_part { WORK_COMM, WORK_COMPUTE, WORK_BOTH, WORK_PARTS };

/* Times at which a rank began a part, had returned from start, and ended the part, in ns. */
struct work_span {
	uint64_t begin, started, end;
};
struct work_spans {
	struct work_span of[WORK_PARTS];
};

/* The benchmark's view of one rank. The functions return 0, or a value with which the benchmark stops. */
struct work_bench {
	uint32_t ranks;
	size_t iters, warmup; /* numbers of starts; both at least 1 */
	uint64_t tests; /* calls of test, spread evenly over the work */
	double work_us; /* work of all ranks together, in us on one core; 0: an amount that takes as long as the communication */
	bool crowded; /* true if ranks share CPUs */
	void *arg;
	/* gathers the records of all ranks, and synchronises them */
	int (*exchange)(void *arg, const void *in, void *out, size_t size);
	int (*fill)(void *arg); /* fills the buffers for the next start */
	int (*start)(void *arg);
	int (*test)(void *arg);
	int (*wait)(void *arg);
	int (*check)(void *arg); /* checks everything received */
	int (*no_memory)(void *arg);
};

/* Sorts n numbers, at least one, and returns the one in the middle, or the mean of both there. */
double work_median(double *v, size_t n);
/* Measures all parts. Collective. `spans` has one element per iteration. */
int work_measure(const struct work_bench *b, struct work_spans *spans);
/* Returns the overlap, and the median time of each part in us. `spans` has the spans of all ranks, `iters` per rank.
 * `scratch` has room for `iters` numbers. */
double work_overlap(const struct work_spans *spans, uint32_t ranks, size_t iters, double *scratch,
		    double us[WORK_PARTS]);

#endif
