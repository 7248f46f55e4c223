/* SPDX-License-Identifier: BSD-3-Clause
 * Ops of a rank that touch the same elements, one writing, and so come one after the other. */
#ifndef COMPILER_ANALYSIS_CONFLICTS_H
#define COMPILER_ANALYSIS_CONFLICTS_H

#include "compiler/analysis/symbolic.h"

/* Ops, numbered over all ranks as ir_events does. */
struct conflict {
	uint32_t first, second;
};

struct conflicts {
	VEC(struct conflict) v; /* by second */
};

/* Those that the run has found, and those that a dependency orders, which it leaves out. */
int conflicts_find(struct conflicts *c, const struct ir_graph *g, const struct ir_events *ev, const struct symbolic *run);
/* The same of a graph with these messages (ir_graph_fits), by a run of its own. -ERR_DEADLOCK where there is one. */
int conflicts_of_graph(struct conflicts *c, const struct ir_graph *g, const struct ir_match *m, size_t nm);
void conflicts_free(struct conflicts *c);
/* Where those begin in which an op comes second. */
size_t conflicts_of(const struct conflicts *c, uint32_t op);

#endif
