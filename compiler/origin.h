/* SPDX-License-Identifier: BSD-3-Clause
 * A schedule that is compiled or verified, as the binary of which graphs are made: one graph for each case. */
#ifndef COMPILER_ORIGIN_H
#define COMPILER_ORIGIN_H

#include "compiler/collectives/collective.h"
#include "lang/loc.h"

struct origin {
	struct goal_diags *d;
	unsigned file; /* source file named in diagnostics */
	const struct goal_loc *locs; /* locations of the program's instructions (borrowed), or NULL */
	struct bin b; /* the binary; after origin_open(), if locs is not NULL, its lines are numbers of instructions, from 1 on */
	struct claim claim;
	uint32_t *numbers; /* memory of the lines of b */
};

/* Returns the location for messages about the file as a whole. */
static inline struct goal_loc origin_file_loc(unsigned file)
{
	return (struct goal_loc){ .file = (uint16_t)file };
}

/* Opens the claim of b. The caller sets d, file, locs and b before. Reports a schedule that does not fit the definition that
 * it names, and then returns -ERR_SYNTAX. The struct must not move afterwards. */
int origin_open(struct origin *s);
void origin_close(struct origin *s);
/* Makes the graph of all ranks, with the data that messages about it need. Errors are not reported; a->rank is then the first
 * rank with a fault. */
int origin_specialise(const struct origin *s, struct bin_args *a, struct ir_graph *g, struct ir_fault *fault);
/* Computes what all ranks must hold at the end; *out is NULL if nothing is claimed. Errors are as in origin_specialise(). */
int origin_expected(const struct origin *s, struct bin_args *a, struct expected **out, struct ir_fault *fault);
/* Frees the n ranks of origin_expected(). */
void origin_free_expected(struct expected *e, uint32_t n);
/* Reports an error of origin_specialise() or origin_expected(). Returns -ERR_SYNTAX, or -ERR_NOMEM, which is not reported. */
int origin_fault(const struct origin *s, const struct bin_args *a, int err, const struct ir_fault *fault);

#endif
