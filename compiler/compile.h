/* SPDX-License-Identifier: BSD-3-Clause
 * The compiler as a library: text to binary, and what the tools need from a binary. */
#ifndef COMPILER_COMPILE_H
#define COMPILER_COMPILE_H

#include "compiler/analysis/checks.h"
#include "compiler/ir/args.h"
#include "compiler/ir/ir.h"
#include "util/options.h"

struct compile_options {
	uint32_t nranks; /* goalc -n; 0: leave a parametric schedule parametric */
	/* Leave it so all the same: nranks, defines and count, unless it is one of these, only say for what it is checked. */
	bool parametric;
	int64_t count;
	bool debug; /* names and lines into the binary */
	const struct define *defines;
	size_t ndefines;
	const char *passes; /* a list (passes.h); NULL: none */
	bool only_text; /* of these only what works on texts: the caller has the others */
	uint64_t checks_off; /* a bit for each of checks[] */
	bool prove; /* what global passes make is verified, unless checks are off */
	bool unchecked; /* the caller checks what a parametric schedule makes of some values */
	struct ir_locs *locs; /* where to leave those of the program of a parametric schedule, or NULL */
	bool writes; /* the result is kept: it is an error that a part of a long text was not checked */
	uint32_t most_ops; /* of a rank; 0: BIN_USUAL_OPS */
	uint64_t fuel; /* instructions that one size may take, all ranks together; 0: enough for any use */
};

/* Compiles a text to an owned binary, also when there are only warnings. Mistakes are diagnostics of d;
 * 0, -ERR_SYNTAX when there were any, or -ERR_x. */
int compile_text(struct goal_diags *d, const char *name, const char *text, size_t len,
		 const struct compile_options *o, void **image, size_t *size);
/* The same for what is read piece by piece; -ERR_SYS with errno when it cannot be. */
int compile_file(struct goal_diags *d, const char *name, const struct file *f, const struct compile_options *o,
		 void **image, size_t *size);

/* The graph of all ranks of a binary at a size (its own if it has one), with diagnostics. */
int compile_graph(struct goal_diags *d, unsigned file, const struct bin *b, const struct bin_args *args,
		  struct ir_graph *g);

#endif
