/* SPDX-License-Identifier: BSD-3-Clause
 * The verifier proves that a schedule does what it claims, for one size and one set of arguments, or reports what is wrong
 * with it. PROOF.md explains why the proof is valid. */
#ifndef COMPILER_VERIFY_VERIFY_H
#define COMPILER_VERIFY_VERIFY_H

#include "compiler/ir/ir.h"

struct expected; /* collective.h */
struct brackets; /* brackets.h */

struct verify_report {
	bool proved; /* true if everything is proved: nothing wrong was found, and nothing was left open */
	uint64_t messages; /* number of messages */
	/* Numbers of messages that may be written directly into the receiver's buffer. safe: without a signal, because the send
	 * cannot start before its recv has started. ready: only after a ready signal of the receiver. */
	uint64_t safe, ready;
	bool lowered; /* true if the schedule is lowered to command queues, and the next three fields are set */
	uint32_t queues, entries; /* the largest number of queues of a rank, and the largest number of entries of a rank */
	uint64_t cpu; /* number of ops of all ranks that are left to CPUs */
	bool partly; /* true if only a part of the queues' properties is proved, because of verify_options.most */
	/* two ranks that hold the result of one reduction with different bracketing; both 0 if there are none */
	uint32_t differ[2];
};

/* Verifies a graph. Findings are reported in d, at most a few of each kind. by_rank holds the expected ranges of each rank,
 * or is NULL if nothing is claimed. b describes the buffers; it may be NULL for plain GOAL, where neither races nor data
 * are checked. The graph may come from anywhere: any ops, dependencies and ranges are safe. Returns 0 or -ERR_NOMEM. */
int verify_graph(struct goal_diags *d, const struct bin *b, const struct ir_graph *g, const struct expected *by_rank,
		 struct verify_report *out);

struct verify_options {
	uint64_t most; /* limit for verify_queues(); 0 means no limit. A finding is an error even if the limit was reached. */
	struct brackets *brackets; /* what the bracketings of reductions are compared with, or NULL */
};
/* Verifies a graph as verify_graph() does, with options. */
int verify_graph_with(struct goal_diags *d, const struct bin *b, const struct ir_graph *g, const struct expected *by_rank,
		      const struct verify_options *o, struct verify_report *out);

/* Counts the messages of a graph, and the fields `safe` and `ready`. If the events have no order, as in a deadlock, *decided is
 * set to false, and safe and ready are 0. */
int verify_messages(const struct ir_graph *g, struct verify_report *out, bool *decided);
/* Sets safe[i], for each recv i of a rank, to true if its message cannot arrive too early. The sender then needs no ready
 * signal. A message of more than `few` elements is too early if it arrives before its recv has started. A shorter message may
 * arrive one start early: it can be too early only if its sender can complete before the rank has started. */
int verify_recvs(const struct ir_graph *g, uint32_t rank, uint64_t few, bool *safe);
/* True if the schedule claims to implement a barrier. verify_graph() then proves this claim. */
bool verify_is_barrier(const struct bin *b);

#endif
