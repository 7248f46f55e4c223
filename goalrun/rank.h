/* SPDX-License-Identifier: BSD-3-Clause
 * One rank of goalrun, at work: what rank.c and overlap.c share. */
#ifndef GOALRUN_RANK_H
#define GOALRUN_RANK_H

#include "goalrun/run.h"
#include "include/mpix_sched.h"

/* A rank and its case at hand. */
struct rank {
	struct run_launch *l;
	const struct run_options *o;
	uint32_t rank;
	uint64_t seq; /* rounds on the launcher's board */
	unsigned spins;
	char *met; /* a byte of each rank */
	MPIX_Sched_ctx ctx;
	MPIX_Sched_group group;
	MPIX_Sched sched;
	struct MPIX_Sched_info info;
	uint64_t random;
	/* the case */
	const struct run_case *c;
	size_t index;
	MPIX_Sched_request req;
	MPIX_Sched_op user;
	size_t elem;
	char **buffers; /* with GUARD bytes before and behind */
	uint64_t *bytes;
	void **given; /* to the library */
	struct arg_rows rows;
	struct oracle oracle;
	uint64_t starts; /* of all cases */
};


/* What went wrong, for all to see; returns 1. */
__attribute__((format(printf, 2, 3))) int rank_failed(struct rank *r, const char *fmt, ...);
/* The same for what a call of the library returned; 0 if that was 0. */
int rank_library(struct rank *r, const char *call, int rc);
/* Exchanges at most HOST_RECORD bytes with all ranks. */
int rank_exchange(struct rank *r, const void *in, void *out, size_t size);
/* Waits until all ranks have come here. */
int rank_meet(struct rank *r);
/* Data before a start: everything is overwritten, also what the last one received. */
void rank_fill(const struct rank *r, uint64_t epoch);
/* After it: the memory around the buffers alone, or all that is claimed as well. */
int rank_check_guards(struct rank *r, uint64_t epoch);
int rank_check(struct rank *r, uint64_t epoch);

/* The starts of a case with --overlap (overlap.c). */
int rank_overlap(struct rank *r);

#endif
