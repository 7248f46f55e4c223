/* SPDX-License-Identifier: BSD-3-Clause
 * Lowers syntax trees to the IR, and resolves their names. Plain GOAL becomes a graph (lower_plain.c) or directly a
 * binary (stream.c); a parametric text becomes a program (lower_program.c), which lower_concrete.c runs for a fixed number
 * of ranks. */
#ifndef COMPILER_LOWER_LOWER_H
#define COMPILER_LOWER_LOWER_H

#include "compiler/collectives/collective.h"
#include "compiler/ir/args.h"

#define LOWER_MAX_RANKS (1u << 28)
/* True if a plain text of len bytes is too short for n ranks: the shortest text of a rank is "rank0{}". */
static inline bool lower_too_short(uint64_t n, size_t len)
{
	return n > 1000 && n > len / 7;
}

/* Lowers a plain text to a graph. Mistakes are reported as diagnostics. Returns 0, -ERR_NOMEM or -ERR_SYS. */
int lower_plain(struct goal_diags *d, unsigned file, struct ir_graph *g);

/* Compiles a plain text to a binary without building a graph; the caller owns the binary. Returns -ERR_SYNTAX, without
 * diagnostics, if a check might report something; the caller then builds the graph, and the checks on the graph report it.
 * Otherwise returns 0, -ERR_NOMEM, -ERR_RANGE or -ERR_SYS. */
int stream_plain(const char *name, const struct file *f, void **image, size_t *size);
/* Begins a binary of plain GOAL: flags, the two buffers, and the rows of DIR. */
int lower_plain_begin(struct ir_image *im, uint32_t nranks);
/* Returns the class of an op of plain GOAL, or -ERR_NOMEM. The label, the peer, and the time of a calc that fits 32 bits
 * are no part of the class. */
int64_t lower_plain_class(struct ir_image *im, const struct bin_op *op);

/* Lowers the schedule s of parametric texts to a program in im. Mistakes are reported as diagnostics, including those in
 * other schedules of the texts. Returns 0 or -ERR_NOMEM. */
int lower_program(struct goal_diags *d, const struct goal_text *texts, const struct goal_schedule *s,
		  struct ir_image *im);

/* Runs a parametric program for every rank of a fixed size and appends the sections to out. count stays symbolic if
 * args->count is negative. If roots is set, there is a variant for each root. Faults are reported as diagnostics. Returns
 * 0, -ERR_SYNTAX if there were faults, or -ERR_NOMEM. */
int lower_concrete(struct goal_diags *d, unsigned file, const struct bin *b, const struct goal_loc *locs,
		   const struct bin_args *args, bool roots, struct ir_image *out);

/* Begins the binary of a program at a fixed size: names, flags, buffers, the parameter root, and the rows of DIR. */
int lower_concrete_begin(const struct bin *b, const struct bin_args *args, bool roots, struct ir_image *out);

/* Appends the result after the ops of all ranks. The schedule's own result is always appended. The result of the collective
 * that the schedule implements is appended only if it depends on parameters whose values the binary does not keep. */
int lower_concrete_result(struct goal_diags *d, unsigned file, const struct claim *claim, const struct bin_args *args,
			  bool roots, struct ir_image *out);

/* Appends the sections of a graph, with OPDEBUG if debug is set. The graph is of plain GOAL, or was made with a fixed
 * count; in the latter case, lower_concrete_begin() comes first. Buffers that passes added become scratch buffers.
 * Returns -ERR_SIZE if an earlier graph had another number of buffers. */
int lower_graph(const struct ir_graph *g, bool debug, struct ir_image *out);
/* Makes the binary of a graph, with the lines and labels of its ops; the caller owns the image. `b` is the binary of which the graph was
 * made, with these arguments; or NULL for plain GOAL. Returns 0 or -ERR_x. */
int lower_image(const struct ir_graph *g, const struct bin *b, const struct bin_args *args, void **image, size_t *size);

/* Reports why a specialisation failed. locs holds the locations of the instructions and may be NULL. */
void lower_fault(struct goal_diags *d, unsigned file, const struct bin *b, const struct goal_loc *locs,
		 const struct bin_args *args, int err, const struct ir_fault *fault);

/* True if the fault is a wrong length of an argument for a vector of the schedule. */
bool lower_wrong_length(const struct bin *b, int err, const struct ir_fault *fault);

/* Returns how many instructions a schedule of that size may execute, all ranks together. The limit keeps a mistake in a
 * loop from filling the memory. */
uint64_t lower_fuel(uint32_t size);

/* Writes the values of a specialisation to `out`, in the form in which messages begin: "size 4, count 7, root 0: ". */
void lower_sample(char *out, size_t size, const struct bin *b, const struct bin_args *args);

#endif
