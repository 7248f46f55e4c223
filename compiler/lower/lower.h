/* SPDX-License-Identifier: BSD-3-Clause
 * From syntax trees to the IR: names are resolved here. */
#ifndef COMPILER_LOWER_LOWER_H
#define COMPILER_LOWER_LOWER_H

#include "compiler/collectives/collective.h"
#include "compiler/ir/args.h"

#define LOWER_MAX_RANKS (1u << 28)
/* Whether a plain text of len bytes cannot have n ranks, since the shortest text of a rank is "rank0{}". */
static inline bool lower_too_short(uint64_t n, size_t len)
{
	return n > 1000 && n > len / 7;
}

/* Plain text to a graph. Mistakes are diagnostics; 0, -ERR_NOMEM or -ERR_SYS. */
int lower_plain(struct goal_diags *d, unsigned file, struct ir_graph *g);

/* Plain text to an owned binary, without a graph: -ERR_SYNTAX when any check might have something to say, which
 * is for the graph to tell; 0, -ERR_NOMEM, -ERR_RANGE or -ERR_SYS. */
int stream_plain(const char *name, const struct file *f, void **image, size_t *size);
/* What all binaries of plain GOAL have in common. */
int lower_plain_begin(struct ir_image *im, uint32_t nranks);
/* The class of an op of plain GOAL, of which the label, the peer, and the length of a short calc are no part. */
int64_t lower_plain_class(struct ir_image *im, const struct bin_op *op);

/* A schedule of parametric texts to a program in im. Mistakes are diagnostics, also those in other schedules of the
 * texts; 0 or -ERR_NOMEM. */
int lower_program(struct goal_diags *d, const struct goal_text *texts, const struct goal_schedule *s,
		  struct ir_image *im);

/* Runs a parametric program for every rank of a fixed size and appends the sections to out, with count
 * left symbolic unless args->count is not negative, and a variant for each root if roots is set.
 * Faults are diagnostics; 0, -ERR_SYNTAX when there were some, or -ERR_NOMEM. */
int lower_concrete(struct goal_diags *d, unsigned file, const struct bin *b, const struct goal_loc *locs,
		   const struct bin_args *args, bool roots, struct ir_image *out);

/* What all binaries of a program at a fixed size have in common. */
int lower_concrete_begin(const struct bin *b, const struct bin_args *args, bool roots, struct ir_image *out);

/* Appends the result behind them: the schedule's own, or that of the collective that it implements, where that
 * depends on parameters that the binary has not. */
int lower_concrete_result(struct goal_diags *d, unsigned file, const struct claim *claim, const struct bin_args *args,
			  bool roots, struct ir_image *out);

/* A graph to the next sections, with OPDEBUG if debug: of plain GOAL, or one that was made with a fixed count, behind
 * lower_concrete_begin. Its further buffers are scratch; -ERR_SIZE when they are not as many as those of a graph
 * before. */
int lower_graph(const struct ir_graph *g, bool debug, struct ir_image *out);

/* Says why a specialisation failed. locs: of the instructions, may be NULL. */
void lower_fault(struct goal_diags *d, unsigned file, const struct bin *b, const struct goal_loc *locs,
		 const struct bin_args *args, int err, const struct ir_fault *fault);

/* Whether the fault is that a vector of the schedule is given with another length. */
bool lower_wrong_length(const struct bin *b, int err, const struct ir_fault *fault);

/* How many instructions a whole schedule of that size may take, so that a slip in a loop does not fill the
 * memory. */
uint64_t lower_fuel(uint32_t size);

/* What a specialisation was made with, as messages begin: "size 4, count 7, root 0: ". */
void lower_sample(char *out, size_t size, const struct bin *b, const struct bin_args *args);

#endif
