/* SPDX-License-Identifier: BSD-3-Clause
 * A schedule lowered to command queues in session mode: what each rank posts at each start. The records are those of
 * the binary (bin.h). A queue issues its entries in order; packets that arrive bring credit to queues. */
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

/* Of so many ranks, with nothing to post. */
struct smcq *smcq_new(uint32_t nranks);
void smcq_free(struct smcq *s);

/* Behind those of the graphs before. */
int smcq_to_image(const struct smcq *s, struct ir_image *im);
/* To a graph of a binary what its ranks post when the arguments are these, if the binary has that. */
int smcq_from_binary(const struct bin *b, const struct bin_arg *args, struct ir_graph *g);

/* The word for entries of a kind. */
const char *smcq_entry_word(unsigned kind);
/* And that between it and the peer. */
const char *smcq_entry_preposition(unsigned kind);

/* What it takes. */
struct smcq_needs {
	uint32_t queues, entries; /* of the rank that needs most of them; without those of CPUs */
	uint64_t cpu; /* ops for a CPU, of all ranks */
};
struct smcq_needs smcq_needs(const struct smcq *s);
/* Of one rank: the queues that are no CPU's, and the entries in them. */
struct smcq_needs smcq_rank_needs(const struct smcq_rank *r);

#endif
