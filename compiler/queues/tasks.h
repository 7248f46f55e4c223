/* SPDX-License-Identifier: BSD-3-Clause
 * What a lowering to command queues has to place: tasks, each of which begins when certain others have arrived at its
 * rank. Private to the pass. */
#ifndef COMPILER_QUEUES_TASKS_H
#define COMPILER_QUEUES_TASKS_H

#include "compiler/ir/ir.h"
#include "compiler/ir/smcq.h"

#define SMCQ_ANY UINT32_MAX /* any interface */

/* What the pass is told beside the limits. */
enum smcq_choice {
#define LIMIT(...)
#define CHOICE(NAME, ...) SMCQ_##NAME,
#include "format/smcq.def"
#undef LIMIT
	SMCQ_CHOICES
};

/* Ascending, each once. */
struct smcq_set {
	uint32_t *at;
	size_t n, cap;
};

struct smcq_task {
	/* A task comes before those that wait for it. Numbers keep room between those of two ops, for signals. */
	uint64_t key;
	uint32_t from, to; /* ranks: where it is issued, where it arrives (for a GET the same) */
	struct bin_entry entry; /* but for flags, sps and queue */
	uint32_t nic; /* or SMCQ_ANY */
	bool gathers; /* tells that a rank has started */
	uint32_t there; /* of a GET: the task + 1 that says at its rank that it can begin; or 0 */
	struct smcq_set waits; /* tasks that arrive at from */
	uint32_t told, next; /* signals that tell of it, a list: task + 1, or 0 */
	/* by smcq_place */
	uint32_t more; /* the next piece of the same message + 1, which alone is waited for; or 0 */
	uint32_t block;
	uint32_t place; /* in the order of its queue */
};

struct smcq_tasks {
	struct ir_graph *g;
	struct bin_target target;
	bool post; /* SMCQ_POST */
	VEC(struct smcq_task) v;
	uint32_t *stamp, now; /* of searches: of each task */
	size_t stamps;
	VEC(uint32_t) stack;
};

/* A task without anything yet: its number, or -ERR_NOMEM. */
int64_t smcq_task(struct smcq_tasks *t, uint32_t from, uint32_t to, uint64_t key);
/* 0 or -ERR_NOMEM. */
int smcq_add(struct smcq_set *s, uint32_t x);

/* Gives all tasks their places in queues. */
int smcq_place(struct smcq_tasks *t, struct smcq *out);

#endif
