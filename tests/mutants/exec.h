/* SPDX-License-Identifier: BSD-3-Clause
 * Executes a graph of ops in a random order and compares the result with its definition. It shares no code with
 * the verifier, and takes any graph: mutants may send what nobody receives, or touch what is in no buffer. */
#ifndef TESTS_MUTANTS_EXEC_H
#define TESTS_MUTANTS_EXEC_H

#include "compiler/collectives/collective.h"
#include "compiler/ir/ir.h"

/* What an execution begins with and what it must end with; the same for a schedule and all its mutants. */
struct world;
/* Of a graph of schedule b, with what it wants by rank, or NULL. The operation of reductions commutes only if b says that
 * it has to; in a barrier no rank may complete before all have started. NULL: no memory. */
struct world *world_new(const struct ir_graph *g, const struct bin *b, const struct expected *by_rank);
void world_free(struct world *w);

/* A graph made ready for execution; world and graph are borrowed. NULL: no memory. */
struct exec;
struct exec *exec_new(const struct world *w, const struct ir_graph *g);
void exec_free(struct exec *x);

enum exec_end {
	EXEC_RIGHT,
	EXEC_HANG, /* nothing is ready */
	EXEC_WRONG, /* a byte is not what it should be */
	EXEC_BOUNDS, /* an op is outside its buffer */
	EXEC_LENGTH, /* a message does not have the length of its recv */
	EXEC_EARLY, /* a rank left a barrier before another one came */
	EXEC_ENDS
};
extern const char *const exec_end_words[EXEC_ENDS];

/* Two epochs with nothing between them: a rank begins the second one as soon as it has completed the first. Every
 * step takes a random time, as the seed has it. On failure *rank is where it shows. */
enum exec_end exec_run(struct exec *x, uint64_t seed, uint32_t *rank);

/* Of the last execution: what all buffers hold, in a fixed order. */
const uint64_t *exec_memory(const struct exec *x, uint64_t *elements);
/* The step with which an op of the first epoch, or its rank, started. */
uint32_t exec_began(const struct exec *x, uint32_t rank, uint32_t op);
uint32_t exec_rank_began(const struct exec *x, uint32_t rank);
/* When an op of the first epoch may have touched its ranges: the numbers of the steps before and after which it did
 * not. A send is through when its recv has completed; a recv does not begin before its send. */
void exec_touch(const struct exec *x, uint32_t rank, uint32_t op, uint32_t *from, uint32_t *to);

#endif
