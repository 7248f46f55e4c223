/* SPDX-License-Identifier: BSD-3-Clause
 * Arguments of all ranks: what the command line gives, and samples of what schedules are used with. */
#ifndef COMPILER_IR_ARGS_H
#define COMPILER_IR_ARGS_H

#include "format/read.h"
#include "util/arena.h"
#include "util/options.h"

struct goal_diags;

/* A row of values for each rank; by_rank goes into struct bin_args. */
struct arg_rows {
	uint32_t size, nparams;
	struct bin_arg *values;
	const struct bin_arg **by_rank;
	struct arena store; /* of vectors that a sample made */
	char name[32]; /* of the sample, "" where there is nothing to choose */
};

/* All unknown. */
int arg_rows_init(struct arg_rows *a, const struct bin *b, uint32_t size);
void arg_rows_fini(struct arg_rows *a);
struct bin_arg *arg_row(const struct arg_rows *a, uint32_t rank);
/* The values of args, as every function over all ranks takes them. */
void arg_rows_copy(struct arg_rows *a, const struct bin_args *args);
/* One value for all ranks. */
void arg_rows_set(struct arg_rows *a, uint32_t param, struct bin_arg v);
/* From -D name=value and -D name@RANK=value; count is not touched unless given. Mistakes are diagnostics and then
 * -ERR_SYNTAX. The vectors stay those of the defines. */
int arg_rows_define(struct arg_rows *a, struct goal_diags *d, unsigned file, const struct bin *b,
		    const struct define *defines, size_t n, int64_t *count);

/* ---- samples (sample.c) ---- */

/* How many samples there are for the parameters with names that man/goal.5 lists (counts, displs, sources, dims, inplace
 * and so on): at least 1. They differ in the counts (even, uneven with zeros, the same in any order, all zero), the graph
 * (ring, torus, random, empty) or the grid. Where a buffer can be in place, the second half of them is. */
unsigned collective_samples(const struct bin *b);
/* Gives the parameters of those names the values of a sample, the same each time; none where some of them are known,
 * but for inplace. Others stay unknown, root too. */
int collective_sample(const struct bin *b, int64_t count, unsigned which, struct arg_rows *a);
/* The name of a sample; "" when there is only one. */
void collective_sample_name(const struct bin *b, unsigned which, char *out, size_t size);

#endif
