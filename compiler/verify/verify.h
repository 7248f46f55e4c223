/* SPDX-License-Identifier: BSD-3-Clause
 * The verifier: proves that a schedule does what it says, for one size and one set of arguments, or says what is
 * wrong with it. PROOF.md has the argument. */
#ifndef COMPILER_VERIFY_VERIFY_H
#define COMPILER_VERIFY_VERIFY_H

#include "compiler/ir/ir.h"

struct expected; /* collective.h */

struct verify_report {
	bool proved; /* nothing wrong was found, and nothing was left open */
	uint64_t messages;
	/* Messages to be put straight into the receiver's buffer: those whose send cannot start before its recv has
	 * (safe), and those that need a signal that it has (ready). */
	uint64_t safe, ready;
	bool lowered; /* to command queues; then, of the rank that has most of them, how many and with how many entries */
	uint32_t queues, entries;
	uint64_t cpu; /* and ops that are left to CPUs, of all ranks */
	bool partly; /* the queues are proved in part only, by verify_graph_within */
	/* Two ranks whose results of one reduction are bracketed differently; both 0: there are none. */
	uint32_t differ[2];
};

/* Verifies a graph. d: what is wrong, at most a few findings of each kind. by_rank: what the ranks must hold at the
 * end; NULL when nothing is claimed. b: its buffers; may be NULL in plain GOAL, where there are no races and no data.
 * The graph need not come from a text: any ops, dependencies and ranges are safe. 0 or -ERR_NOMEM. */
int verify_graph(struct goal_diags *d, const struct bin *b, const struct ir_graph *g, const struct expected *by_rank,
		 struct verify_report *out);

/* The same, where queues may take so much as verify_queues has it, if not 0. What is found is wrong in any case. */
int verify_graph_within(struct goal_diags *d, const struct bin *b, const struct ir_graph *g, const struct expected *by_rank,
			uint64_t most, struct verify_report *out);

/* The messages of a graph, counted as above; *decided is false where the order of events is not known, as in a
 * deadlock. */
int verify_messages(const struct ir_graph *g, struct verify_report *out, bool *decided);
/* By op of a rank's: whether what a recv waits for cannot come too early, so that its sender needs no signal. For messages
 * of at most so many elements, as for those without any, too early is more than one start: their sender must not complete
 * before the rank has started. */
int verify_recvs(const struct ir_graph *g, uint32_t rank, uint64_t few, bool *safe);
/* What it implements is a barrier: verify_graph proves that it is one. */
bool verify_is_barrier(const struct bin *b);

#endif
