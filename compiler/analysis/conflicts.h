/* SPDX-License-Identifier: BSD-3-Clause
 * Conflicts: pairs of ops of a rank that access the same elements, at least one of them writing, and so must run one
 * after the other. */
#ifndef COMPILER_ANALYSIS_CONFLICTS_H
#define COMPILER_ANALYSIS_CONFLICTS_H

#include "compiler/analysis/symbolic.h"

/* Two ops, numbered over all ranks as in struct ir_events. */
struct conflict {
	uint32_t first, second;
};

struct conflicts {
	VEC(struct conflict) v; /* conflicts, sorted by their second op */
};

/* Lists the conflicts that the run has found, and adds the conflicts between an op and an op that it requires, which the run
 * leaves out. */
int conflicts_find(struct conflicts *c, const struct ir_graph *g, const struct ir_events *ev, const struct symbolic *run);
/* Finds the conflicts of a graph with the messages m (ir_graph_fits() must hold) by a symbolic run of its own. Returns
 * -ERR_DEADLOCK if there is a deadlock. */
int conflicts_of_graph(struct conflicts *c, const struct ir_graph *g, const struct ir_match *m, size_t nm);
void conflicts_free(struct conflicts *c);
/* Returns the index of the first conflict whose second op is `op`. */
size_t conflicts_of(const struct conflicts *c, uint32_t op);

#endif
