/* SPDX-License-Identifier: BSD-3-Clause
 * Arguments of all ranks: values from the command line, and samples of values that schedules are used with. */
#ifndef COMPILER_IR_ARGS_H
#define COMPILER_IR_ARGS_H

#include "format/read.h"
#include "util/arena.h"
#include "util/options.h"

struct goal_diags;

/* A row of values for each rank. by_rank is in the form that struct bin_args takes. Ranks with the same values share a row,
 * since a schedule may have many parameters. */
struct arg_rows {
	uint32_t size, nparams;
	struct bin_arg *common; /* the row of all ranks that have none of their own */
	struct bin_arg **own; /* for each rank, its own row or NULL */
	const struct bin_arg **by_rank;
	struct arena store; /* memory of rows, and of the vectors of a sample */
	char name[32]; /* name of the sample; "" if there is only one sample */
};

/* Allocates the rows, with all values unknown. */
int arg_rows_init(struct arg_rows *a, const struct bin *b, uint32_t size);
void arg_rows_fini(struct arg_rows *a);
static inline const struct bin_arg *arg_row(const struct arg_rows *a, uint32_t rank)
{
	return a->by_rank[rank];
}
/* Gives a rank a row of its own, for values that differ from those of other ranks. Returns NULL if out of memory. */
struct bin_arg *arg_row_own(struct arg_rows *a, uint32_t rank);
/* Copies the arguments of all ranks from args. */
int arg_rows_copy(struct arg_rows *a, const struct bin_args *args);
/* Sets a parameter to one value on all ranks. */
void arg_rows_set(struct arg_rows *a, uint32_t param, struct bin_arg v);
/* Sets values from -D name=value and -D name@RANK=value; *count changes only if count is given. Errors are reported as
 * diagnostics, and the result is then -ERR_SYNTAX. Vectors are borrowed from the defines. */
int arg_rows_define(struct arg_rows *a, struct goal_diags *d, unsigned file, const struct bin *b,
		    const struct define *defines, size_t n, int64_t *count);

/* ---- samples (sample.c) ---- */

/* Returns the number of samples, at least 1, for the parameters whose names man/goal.5 lists (counts, displs, sources,
 * dims, inplace and so on). Samples differ in the counts (even, uneven with zeros, uneven with blocks in any order, all
 * zero), the graph (ring, torus, random, empty) or the grid. If a buffer can be in place, it is in place in the second
 * half of the samples. */
unsigned collective_samples(const struct bin *b);
/* Sets the parameters that have such names to the values of sample number `which`; the same number always gives the same
 * values. If some of these parameters are known already, only inplace is set. All other parameters, such as root, stay
 * unknown. */
int collective_sample(const struct bin *b, int64_t count, unsigned which, struct arg_rows *a);
/* Writes the name of a sample to `out`; "" if there is only one sample. */
void collective_sample_name(const struct bin *b, unsigned which, char *out, size_t size);

#endif
