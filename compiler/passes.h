/* SPDX-License-Identifier: BSD-3-Clause
 * Named passes. A local pass changes the ops of one rank by themselves, and runs at bind time as well as
 * in goalc; a global one needs the whole graph. Passes change; they report nothing. */
#ifndef COMPILER_PASSES_H
#define COMPILER_PASSES_H

#include "compiler/ir.h"

struct pass {
	const char *name;
	const char *help;
	int (*local)(struct ir_rank *r); /* exactly one of the two is not NULL */
	int (*global)(struct ir_graph *g);
};

extern const struct pass passes[];
extern const unsigned npasses;

/* The pass of that name, or NULL. */
const struct pass *pass_find(const char *name, size_t len);
/* Runs the passes of a list "name,name" on one rank (local ones) or on a graph (all). */
int passes_run_rank(const char *list, struct ir_rank *r);
int passes_run_graph(const char *list, struct ir_graph *g);

/* pass_reduce_deps.c */
int pass_reduce_deps(struct ir_rank *r);

#endif
