/* SPDX-License-Identifier: BSD-3-Clause
 * Changes what is posted to command queues in one place. */
#ifndef TESTS_QUEUES_MUTATE_H
#define TESTS_QUEUES_MUTATE_H

#include "compiler/ir/smcq.h"

enum mutation {
	MUTATE_DROP, /* an entry goes that is no NOP */
	MUTATE_SPS, /* one credit more or less */
	MUTATE_QUEUE, /* credit for another queue */
	MUTATE_SWAP, /* two entries of a queue change places */
	MUTATE_READY, /* a signal goes, and NOPs that waited for it */
	MUTATE_FLAG, /* order or a notice */
	MUTATE_SHIFT, /* credit comes with another arrival */
	MUTATE_MERGE, /* two queues become one */
	MUTATE_NORMAL, /* a queue no longer waits for credit */
	MUTATE_MOVE, /* an entry, and credit for it, to another queue */
	MUTATE_COMMAND, /* another operation, a put in place of an ARMW, a GET in place of a put or the other way round */
	MUTATE_RANGE, /* a range or a rank */
	MUTATE_NOP, /* a NOP goes */
	MUTATIONS
};
extern const char *const mutation_words[MUTATIONS];

struct smcq *mutant_copy(const struct smcq *s);
/* false: there is nothing of that kind to change. Ranges stay in their buffers, and numbers of what is there. */
bool mutate(struct smcq *s, const struct ir_graph *g, enum mutation kind, uint64_t seed, char *what, size_t size);

#endif
