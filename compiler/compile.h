/* SPDX-License-Identifier: BSD-3-Clause
 * The compiler as a library: it compiles texts to binaries, and makes graphs from binaries. */
#ifndef COMPILER_COMPILE_H
#define COMPILER_COMPILE_H

#include "compiler/analysis/checks.h"
#include "compiler/ir/args.h"
#include "compiler/ir/ir.h"
#include "util/options.h"

struct compile_options {
	uint32_t nranks; /* number of ranks (goalc -n); 0 leaves a parametric schedule parametric */
	/* true to leave a schedule parametric even if nranks is set; nranks and defines are then only the values for which the
	 * schedule is checked */
	bool parametric;
	int64_t count; /* if `parametric` is set, the count for which the schedule is checked, unless defines contain a count */
	bool debug; /* true to keep names and lines in the binary */
	const struct define *defines;
	size_t ndefines;
	const char *passes; /* list of passes (passes.h), or NULL */
	bool only_text; /* true to apply only passes that work on texts, because the caller applies the others */
	uint64_t checks_off; /* one bit for each of checks[], set if it is turned off */
	bool prove; /* true to verify the result of global passes, unless checks are off */
	bool unchecked; /* true to leave out the checks of a parametric schedule on samples of values; the caller does them */
	struct ir_locs *locs; /* receives the source locations of a parametric program's instructions, or NULL */
	bool writes; /* true if the binary is kept; it is then an error if some sizes of a long text were not checked */
	uint32_t most_ops; /* limit of the ops of a rank; 0: BIN_USUAL_OPS */
	uint64_t fuel; /* limit of instructions for one size, all ranks together; 0: enough for any use */
};

/* Compiles a text to a binary, which the caller owns. Mistakes are reported in d. Returns 0, even if there were warnings,
 * -ERR_SYNTAX if there were errors, or another -ERR_x. */
int compile_text(struct goal_diags *d, const char *name, const char *text, size_t len,
		 const struct compile_options *o, void **image, size_t *size);
/* Compiles like compile_text(), from a file that is read piece by piece. If that fails, returns -ERR_SYS and sets errno. */
int compile_file(struct goal_diags *d, const char *name, const struct file *f, const struct compile_options *o,
		 void **image, size_t *size);

/* Makes the graph of all ranks of a binary, for args->size ranks or, if the binary is for a fixed number of ranks, for that
 * number. Applies the binary's passes. Faults are reported as diagnostics; the result is then -ERR_SYNTAX. */
int compile_graph(struct goal_diags *d, unsigned file, const struct bin *b, const struct bin_args *args,
		  struct ir_graph *g);

#endif
