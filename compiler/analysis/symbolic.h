/* SPDX-License-Identifier: BSD-3-Clause
 * Runs a schedule once, in a topological order, on symbolic values: what every element holds at the end, and which
 * accesses had to be in that order. */
#ifndef COMPILER_ANALYSIS_SYMBOLIC_H
#define COMPILER_ANALYSIS_SYMBOLIC_H

#include "compiler/analysis/events.h"
#include "compiler/analysis/terms.h"

/* Elements from lo up to the next segment: element x holds (term, x + shift). */
struct sym_seg {
	uint64_t lo;
	int64_t shift;
	uint32_t term;
	uint32_t writer; /* the op + 1 that wrote it last; 0: as at the start */
	uint32_t readers; /* since then; of the reads, index + 1 */
};

/* A buffer of a rank. Its segments cover it. */
struct sym_map {
	VEC(struct sym_seg) v;
	uint64_t size;
	size_t last; /* the segment that was split last: the next one is often near */
};

/* Two ops of a rank that touch the same elements, one writing; in the run, first came before second. */
struct sym_conflict {
	uint32_t rank, first, second, buf;
	uint64_t lo, hi;
};

struct symbolic {
	const struct ir_graph *g;
	const struct ir_events *ev; /* sorted */
	struct terms *terms;
	struct sym_map *maps; /* rank * nbuffers + buffer */
	VEC(struct sym_conflict) conflicts; /* each pair once; those that a dependency orders are left out, and see below */
	struct sym_state *state; /* during the run */
};

/* g has messages of equal lengths, ranges in their buffers and no deadlock. all: also the conflicts that a path near by
 * orders. */
int symbolic_run(struct symbolic *s, const struct ir_graph *g, const struct ir_events *ev, struct terms *terms, bool all);
void symbolic_fini(struct symbolic *s);

/* Whether the first of two ops of a rank is through with its elements before the second one touches them. */
struct ir_query conflict_query(const struct ir_graph *g, const struct ir_events *ev, uint32_t rank, uint32_t first, uint32_t second);

/* The segment that has element x. */
size_t sym_find(const struct sym_map *m, uint64_t x);
/* Where segment i ends. */
uint64_t sym_end(const struct sym_map *m, size_t i);

#endif
