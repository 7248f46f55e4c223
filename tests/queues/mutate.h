/* SPDX-License-Identifier: BSD-3-Clause
 * Makes mutants: changes the entries that ranks post to command queues in one place. */
#ifndef TESTS_QUEUES_MUTATE_H
#define TESTS_QUEUES_MUTATE_H

#include "compiler/ir/smcq.h"

enum mutation {
	MUTATE_DROP, /* removes an entry that is no NOP */
	MUTATE_SPS, /* changes the credit of an entry by one */
	MUTATE_QUEUE, /* gives the credit to another queue */
	MUTATE_SWAP, /* exchanges two entries of a queue */
	MUTATE_READY, /* removes a signal, and the NOPs that waited for it */
	MUTATE_FLAG, /* changes a flag for order or for a notice */
	MUTATE_SHIFT, /* moves credit to another arrival */
	MUTATE_MERGE, /* merges two queues */
	MUTATE_NORMAL, /* makes a queue no longer wait for credit */
	MUTATE_MOVE, /* moves an entry, and the credit for it, to another queue */
	MUTATE_COMMAND, /* changes the operation, turns an ARMW into a put, or exchanges GET and put */
	MUTATE_RANGE, /* changes a range or a rank */
	MUTATE_NOP, /* removes a NOP */
	MUTATIONS
};
extern const char *const mutation_words[MUTATIONS];

struct smcq *mutant_copy(const struct smcq *s);
/* Makes one change. Returns false if there is nothing of that kind to change. Changed ranges stay in their buffers, and
 * changed numbers name things that exist. */
bool mutate(struct smcq *s, const struct ir_graph *g, enum mutation kind, uint64_t seed, char *what, size_t size);

#endif
