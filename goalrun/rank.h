/* SPDX-License-Identifier: BSD-3-Clause
 * One rank of goalrun that runs cases (rank.c, overlap.c), and what both use (rank_data.c). */
#ifndef GOALRUN_RANK_H
#define GOALRUN_RANK_H

#include "goalrun/run.h"
#include "include/mpix_sched.h"

#define RANK_GUARD 64u

/* A rank and its current case. */
struct rank {
	struct run_launch *l;
	const struct run_options *o;
	uint32_t rank;
	uint64_t seq; /* number of exchanges on the launcher's board */
	unsigned spins;
	uint64_t *came; /* times at which the ranks came, in ns */
	MPIX_Sched_ctx ctx;
	MPIX_Sched_group group;
	MPIX_Sched sched;
	struct MPIX_Sched_info info;
	uint64_t random;
	/* The next fields describe the current case. */
	const struct run_case *c;
	size_t index;
	MPIX_Sched_request req;
	MPIX_Sched_op user;
	size_t elem;
	char **buffers; /* the caller's buffers, each with RANK_GUARD bytes before and after it */
	uint64_t *bytes;
	void **given; /* buffer addresses given to the library */
	struct arg_rows rows;
	struct oracle oracle;
	uint64_t starts; /* number of starts, over all cases */
};

/* Stores an error message in memory that goalrun and the other ranks read. Returns 1. */
__attribute__((format(printf, 2, 3))) int rank_failed(struct rank *r, const char *fmt, ...);
/* Stores the error of a library call that has returned rc. Returns 0 if rc is 0. */
int rank_library(struct rank *r, const char *call, int rc);
/* The allgather with which the rank makes its group. */
int rank_allgather(const void *in, void *out, size_t size, void *arg);
/* Exchanges at most GROUP_RECORD bytes with all ranks. */
int rank_exchange(struct rank *r, const void *in, void *out, size_t size);
/* Waits until all ranks have called it, and returns on all of them at the same time where these share a clock and each has a
 * CPU. */
int rank_begin(struct rank *r);
/* Fills the buffers before a start. Everything is overwritten, also what the previous start received. */
void rank_fill(const struct rank *r, uint64_t epoch);
/* Writes to each cache line that holds what the rank gives, as a program would that computes it anew; the values stay. */
void rank_touch(const struct rank *r);
/* Writes the guard bytes around a buffer. */
void rank_guard(const struct rank *r, uint32_t i);
/* Check the buffers after a start: rank_check_guards only the guard bytes around them, rank_check also all that the
 * schedule claims. */
int rank_check_guards(struct rank *r, uint64_t epoch);
int rank_check(struct rank *r, uint64_t epoch);

/* Runs the starts of a case with --overlap (overlap.c). */
int rank_overlap(struct rank *r);

#endif
