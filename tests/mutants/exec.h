/* SPDX-License-Identifier: BSD-3-Clause
 * Executes a graph of ops in a random order and compares the result with its definition. It shares no code with the
 * verifier, and accepts any graph: mutants may have messages without a recv, or ranges outside of buffers. */
#ifndef TESTS_MUTANTS_EXEC_H
#define TESTS_MUTANTS_EXEC_H

#include "compiler/collectives/collective.h"
#include "compiler/ir/ir.h"

/* Initial and expected contents of the buffers; the same for a schedule and all its mutants. */
struct world;
/* Makes the world of a graph of schedule b. by_rank has the expected ranges of each rank, or is NULL. The operation of
 * reductions commutes only if b is commutative. In a barrier no rank may complete before all have started. Returns NULL
 * if out of memory. */
struct world *world_new(const struct ir_graph *g, const struct bin *b, const struct expected *by_rank);
void world_free(struct world *w);

/* A graph that is prepared for execution. exec_new borrows world and graph, and returns NULL if out of memory. */
struct exec;
struct exec *exec_new(const struct world *w, const struct ir_graph *g);
void exec_free(struct exec *x);

enum exec_end {
	EXEC_RIGHT,
	EXEC_HANG, /* no op is ready, and some are not complete */
	EXEC_WRONG, /* an element has a wrong value */
	EXEC_BOUNDS, /* an op is outside its buffer */
	EXEC_LENGTH, /* a send and its recv have different lengths */
	EXEC_EARLY, /* a rank left a barrier before another rank entered it */
	EXEC_ENDS
};
extern const char *const exec_end_words[EXEC_ENDS];

/* Runs two epochs. A rank begins the second epoch as soon as it has completed the first. The seed decides the random
 * time of every step. On failure *rank is the rank at which it shows. */
enum exec_end exec_run(struct exec *x, uint64_t seed, uint32_t *rank);

/* Returns the contents of all buffers after the last execution, in a fixed order. */
const uint64_t *exec_memory(const struct exec *x, uint64_t *elements);
/* Return the number of the step with which an op of the first epoch, or its rank, started. */
uint32_t exec_began(const struct exec *x, uint32_t rank, uint32_t op);
uint32_t exec_rank_began(const struct exec *x, uint32_t rank);
/* Computes when an op of the first epoch may have accessed its ranges: not before step *from, and not after step *to. A
 * send reads its range until its recv has completed; a recv does not write before its send has started. */
void exec_touch(const struct exec *x, uint32_t rank, uint32_t op, uint32_t *from, uint32_t *to);

#endif
