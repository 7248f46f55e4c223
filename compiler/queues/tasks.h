/* SPDX-License-Identifier: BSD-3-Clause
 * The tasks that lower-smcq assigns to command queues. A task begins when certain other tasks have arrived at its rank.
 * Private to the pass. */
#ifndef COMPILER_QUEUES_TASKS_H
#define COMPILER_QUEUES_TASKS_H

#include "compiler/ir/ir.h"
#include "compiler/ir/smcq.h"

#define SMCQ_ANY UINT32_MAX /* any network interface */

/* Keys of the pass that come after the keys of the limits. */
enum smcq_choice {
#define LIMIT(...)
#define CHOICE(NAME, ...) SMCQ_##NAME,
#include "format/smcq.def"
#undef LIMIT
	SMCQ_CHOICES
};

/* A set of numbers: ascending, without duplicates. */
struct smcq_set {
	uint32_t *at;
	size_t n, cap;
};

struct smcq_task {
	/* Position among all tasks. A task has a lower key than the tasks that wait for it. Between the keys of two ops there
	 * is room for the keys of signals. */
	uint64_t key;
	uint32_t from, to; /* rank that issues the task, and rank at which it arrives (for a GET, the same) */
	struct bin_entry entry; /* the entry, without its flags, sps and queue */
	uint32_t nic; /* network interface, or SMCQ_ANY */
	bool gathers; /* true if the task reports that a rank has started */
	uint32_t there; /* for a GET, 1 + the task that signals to the GET's rank that the GET can begin; or 0 */
	struct smcq_set waits; /* tasks that this task waits for; they arrive at rank `from` */
	uint32_t signals, next; /* list of the signals that report this task's arrival, each 1 + a task, or 0 */
	/* smcq_assign() sets the fields below. */
	uint32_t more; /* 1 + the next part of the same message, or 0; other tasks wait for the last part only */
	uint32_t block;
	uint32_t position; /* position of the task in its queue */
};

struct smcq_tasks {
	struct ir_graph *g;
	struct bin_target target;
	bool post; /* value of the pass's key SMCQ_POST */
	VEC(struct smcq_task) v;
	uint32_t *stamp, now; /* for each task, the last search that marked it */
	size_t stamps;
	VEC(uint32_t) stack;
};

/* Adds an empty task and returns its number, or -ERR_NOMEM. */
int64_t smcq_task(struct smcq_tasks *t, uint32_t from, uint32_t to, uint64_t key);
/* Adds x to a set. Returns 0 or -ERR_NOMEM. */
int smcq_add(struct smcq_set *s, uint32_t x);

/* Assigns all tasks to positions in queues. */
int smcq_assign(struct smcq_tasks *t, struct smcq *out);

#endif
