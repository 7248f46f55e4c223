/* SPDX-License-Identifier: BSD-3-Clause
 * Runs a schedule once, in a topological order, on symbolic values. The run yields what every element holds at the end,
 * and which accesses must happen in that order. */
#ifndef COMPILER_ANALYSIS_SYMBOLIC_H
#define COMPILER_ANALYSIS_SYMBOLIC_H

#include "compiler/analysis/events.h"
#include "compiler/analysis/terms.h"

/* A segment: elements from lo up to the next segment. Element x holds the value (term, x + shift). */
struct sym_seg {
	uint64_t lo;
	int64_t shift;
	uint32_t term;
	uint32_t writer; /* 1 + the op that wrote the segment last; 0 if none has */
	uint32_t readers; /* 1 + index into reads: list of the ops that read the segment since then */
};

/* Contents of a rank's buffer. The segments cover the buffer. */
struct sym_map {
	VEC(struct sym_seg) v;
	uint64_t size;
	size_t last; /* index of the segment that was split last; the next segment to split is often near */
};

/* Two ops of a rank that access the same elements, at least one of them writing. In the run, first came before second. */
struct sym_conflict {
	uint32_t rank, first, second, buf;
	uint64_t lo, hi;
};

struct symbolic {
	const struct ir_graph *g;
	const struct ir_events *ev; /* events, which must be sorted */
	struct terms *terms;
	/* A buffer has maps if an op writes it on some rank: column[buffer] is then 1 + its number among these buffers. Otherwise
	 * column[buffer] is 0, and the buffer keeps its initial values. The index in maps is rank * ncolumns + column - 1. */
	uint32_t *column, ncolumns;
	struct sym_map *maps;
	/* conflicts, each pair once, without pairs that a dependency orders; see also symbolic_run() */
	VEC(struct sym_conflict) conflicts;
	struct sym_state *state; /* state while symbolic_run() runs, else NULL */
};

/* Runs g, in which the ends of each message must have equal lengths, all ranges must lie in their buffers, and there
 * must be no deadlock. Conflicts that a short path orders are left out unless `all` is set. */
int symbolic_run(struct symbolic *s, const struct ir_graph *g, const struct ir_events *ev, struct terms *terms, bool all);
void symbolic_fini(struct symbolic *s);

/* Returns a query. Its answer is yes if the first of two ops of a rank no longer uses its elements when the second op
 * accesses them. */
struct ir_query conflict_query(const struct ir_graph *g, const struct ir_events *ev, uint32_t rank, uint32_t first, uint32_t second);

/* Room for the contents of a buffer that no op writes. */
struct sym_initial {
	struct sym_map map;
	struct sym_seg seg;
};
/* Returns the contents of a buffer. They are stored in *room if no op writes the buffer. */
const struct sym_map *sym_contents(const struct symbolic *s, uint32_t rank, uint32_t buf, struct sym_initial *room);
/* Returns the segment that contains element x. */
size_t sym_find(const struct sym_map *m, uint64_t x);
/* Returns the end of segment i. */
uint64_t sym_end(const struct sym_map *m, size_t i);

#endif
