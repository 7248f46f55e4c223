/* SPDX-License-Identifier: BSD-3-Clause
 * A schedule lowered to command queues in session mode: what each rank posts at each start. The records are those of
 * the binary (bin.h). A queue issues its entries in order; arriving packets bring credit to queues. */
#ifndef COMPILER_IR_SMCQ_H
#define COMPILER_IR_SMCQ_H

#include "compiler/ir/ir.h"

struct smcq_rank {
	VEC(struct bin_queue) queues;
	VEC(struct bin_entry) entries;
	uint32_t locals, remotes;
};

struct smcq {
	uint32_t nranks;
	struct bin_target target;
	struct smcq_rank *ranks;
};

/* Returns queues for nranks ranks, all empty. */
struct smcq *smcq_new(uint32_t nranks);
void smcq_free(struct smcq *s);

/* Appends the queues of s to the image, after the queues of its earlier graphs. */
int smcq_to_image(const struct smcq *s, struct ir_image *im);
/* If the binary has queues, sets g->queues to the queues that its ranks post with these arguments. */
int smcq_from_binary(const struct bin *b, const struct bin_arg *args, struct ir_graph *g);

/* Returns the keyword for a kind of entry. */
const char *smcq_entry_word(unsigned kind);
/* Returns the preposition between the keyword of a kind of entry and the peer. */
const char *smcq_entry_preposition(unsigned kind);

/* Resources that lowered schedules need. */
struct smcq_needs {
	/* largest number of queues, and of entries, of a rank; queues that CPUs run do not count, but that of their puts does */
	uint32_t queues, entries;
	uint64_t cpu; /* number of ops of all ranks that CPUs execute */
};
struct smcq_needs smcq_needs(const struct smcq *s);
/* Returns the needs of one rank; queues that its CPU runs and their entries do not count. */
struct smcq_needs smcq_rank_needs(const struct smcq_rank *r);
/* Returns the first entry of the rank's CPU that gives credit, or NULL. If there is one, the rank has one more command queue,
 * by which its CPU puts to the rank itself. */
const struct bin_entry *smcq_cpu_puts(const struct smcq_rank *r);

#endif
