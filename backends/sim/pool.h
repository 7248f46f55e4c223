/* SPDX-License-Identifier: BSD-3-Clause
 * Memory of the simulator's ops: blocks of units of 32 bytes, which are addressed by the number of their first unit. A
 * number needs half the memory of a pointer. */
#ifndef BACKENDS_SIM_POOL_H
#define BACKENDS_SIM_POOL_H

#include "util/mem.h"

enum op_state { OP_WAITS, OP_STARTED, OP_DONE };

/* An op, or a message: a message is its send op. */
struct op {
	uint64_t time; /* when it may run: an op by its dependencies, a message by its arrival; of an unexpected message: when its
			  data is there */
	uint64_t serial : 38; /* number of its event; before it is ready: dependencies that it waits for; on the way: links behind it */
	uint64_t state : 2; /* enum op_state */
	uint64_t cls : 24;
	uint32_t size; /* lower 32 bits */
	uint32_t peer; /* of a message: its source */
	uint32_t next; /* in a queue */
	uint32_t succ; /* where its list of successors begins, among the words of sim_lists_at(); 0: it has none */
};
_Static_assert(sizeof(struct op) == 32, "a unit of the pool");

/* A successor: the number of an op of the rank, and these bits. */
#define SUCC_START 0x80000000u /* it waits for the start */
#define SUCC_LAST 0x40000000u /* it is the last one of the list */
#define SUCC_OP 0x3fffffffu

#define POOL_SIZES 256
#define POOL_PAGE 1024u /* units of a page; all blocks that begin in a page have one size */
#define POOL_MOST (1u << 30)
#define POOL_BLOCKS 16u /* at most so many large blocks share the pages that they fill */

/* A zeroed struct is an empty pool. Unit 0 is never used. */
struct pool {
	struct op *at;
	uint32_t n, cap; /* units in use, and allocated */
	uint32_t free[POOL_SIZES]; /* first free block of each size, or 0; the field `next` links them */
	VEC(uint8_t) page; /* size of the blocks of each page */
};

void pool_fini(struct pool *p);
/* Returns the number of a block of at least `units` units, or -ERR_NOMEM, or -ERR_SPACE. It may move all blocks. */
int64_t pool_alloc(struct pool *p, uint32_t units);
void pool_free(struct pool *p, uint32_t block);

#endif
