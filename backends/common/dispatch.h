/* SPDX-License-Identifier: BSD-3-Clause
 * The dispatcher, which backends share: it runs the ops of a schedule as their dependencies complete. Each op has a
 * counter of the dependencies that it still waits for; at zero the op is ready. Only the thread that holds the turn
 * accesses the counters. A counter is reset when it reaches zero, so that a start costs no more than its first ops.
 *
 * All state that changes while a schedule runs is in one block of memory without pointers, so that another process can
 * continue where this one has stopped. Each process has its own view of that block. */
#ifndef BACKENDS_COMMON_DISPATCH_H
#define BACKENDS_COMMON_DISPATCH_H

#include "backends/backend.h"

#define DISPATCH_ISSUE_MAX 4096u /* bytes that the issue of an op moves; a longer op is left to poll */

struct dispatcher;

/* The functions that carry out an op. Both return 1 if the op is complete, 0 if not yet, or -ERR_x. issue is called
 * once per epoch, when the op is ready; poll is called from then on until it returns 1. A start calls issue, and poll only for
 * ops marked for start. So issue leaves to poll what takes long. */
struct dispatch_how {
	int (*issue)(struct dispatcher *e, void *what);
	int (*poll)(struct dispatcher *e, void *what);
};

/* The functions of one op in this view, which the backend sets before the first start, and their argument. */
struct dispatch_do {
	struct dispatch_how how;
	void *what;
};

/* Classes of ops: ops of class c run on threads that have bit 1 << c (enum be_who). Without helpers all ops are of
 * class 0. */
enum dispatch_class {
	DISPATCH_APP,
	DISPATCH_OWNER,
	DISPATCH_ANY,
	DISPATCH_EARLY, /* runs on the rank's own thread within start; what is not complete then passes to another class */
	DISPATCH_CLASSES
};

struct dispatch_op {
	uint32_t wait; /* number of dependencies that the op still waits for */
	uint32_t need; /* value of wait at the start of an epoch */
	uint32_t started, nstarted; /* range in succ: the ops that wait for this op's start */
	uint32_t done, ndone; /* range in succ: the ops that wait for its completion */
	uint8_t class[2]; /* class of the op: [0] during start, [1] afterwards */
	uint8_t order; /* ops that are ready at the start are issued, and then polled, in ascending order */
};

/* The queue of one class. Each queue has its own part of `ready` and of `active`. */
struct dispatch_queue {
	uint32_t first; /* index of the queue's part in `ready` and in `active` */
	uint32_t head, tail; /* indices into `ready`: the ops from head to tail are ready and not issued */
	uint32_t nactive; /* number of issued ops in `active`; 0 between epochs */
	uint32_t nroots;
};

struct dispatch_state {
	struct dispatch_queue of[DISPATCH_CLASSES];
	uint32_t begun; /* 0 during start, 1 afterwards: the index into dispatch_op.class */
};

struct dispatcher {
	struct dispatch_state *st;
	struct dispatch_op *ops;
	struct dispatch_do *todo; /* functions of each op */
	/* the queues' ready ops; each op enters once per epoch, and ops without dependencies always stay at the front */
	uint32_t *ready;
	uint32_t *active; /* the queues' ops that are issued and not complete */
	uint32_t *succ;
	uint32_t nops;
	bool helped;
	unsigned who; /* with helpers: classes that the thread making progress now may run */
	struct be_bound *bound; /* the request that this dispatcher belongs to */
};

/* Return the sizes of the memory that a dispatcher needs: dispatch_room of the zeroed, pointer-aligned block that all
 * views share, dispatch_own_room of this view's own. Both must live as long as the dispatcher. */
size_t dispatch_room(const struct be_bind *b);
static inline size_t dispatch_own_room(uint32_t nops)
{
	return nops * sizeof(struct dispatch_do);
}
/* Sets up the shared block. All ops are of class DISPATCH_APP at first. The caller calls dispatch_classify before the first start. */
void dispatch_init(struct dispatcher *e, const struct be_bind *b, void *room, void *own, struct be_bound *bound);
/* Makes another view of a block that dispatch_init has set up. */
void dispatch_view(struct dispatcher *e, uint32_t nops, void *room, void *own, struct be_bound *bound);
/* Leaves out an op that waits for none: those that wait for it no longer do. Called before dispatch_classify. */
void dispatch_leave_out(struct dispatcher *e, uint32_t op);
/* Sorts the ops into their queues. Called between epochs, and again after the caller has changed the classes in ops. */
void dispatch_classify(struct dispatcher *e);
/* Begins an epoch after the previous one has completed: issues ready ops, and polls those marked for start. Returns 1 when all
 * ops are complete, 0 if not yet, or -ERR_x. `who` is as in be_ops. */
int dispatch_start(struct dispatcher *e, unsigned who);
/* Begins an epoch as dispatch_start does, but leaves the issue of the ready ops to dispatch_progress. Without helpers. */
static inline void dispatch_start_later(struct dispatcher *e)
{
	struct dispatch_queue *q = &e->st->of[0];

	q->head = 0;
	q->tail = q->nroots;
}
/* Issues ready ops and polls all issued ones. Returns the same as dispatch_start. */
int dispatch_progress(struct dispatcher *e, unsigned who);
/* Without helpers: returns the op that dispatch_progress has left active if it is the only one, else NULL. */
static inline const uint32_t *dispatch_last(const struct dispatcher *e)
{
	return !e->helped && e->st->of[0].nactive == 1 ? e->active : NULL;
}
/* Does the same as dispatch_progress, faster, if dispatch_last has returned an op. */
static inline int dispatch_progress_last(struct dispatcher *e)
{
	const uint32_t op = e->active[0];
	int rc;

	if (e->ops[op].ndone)
		return dispatch_progress(e, BE_ALL);
	rc = e->todo[op].how.poll(e, e->todo[op].what);
	if (rc > 0)
		e->st->of[0].nactive = 0;
	return rc;
}
/* Returns the next op that is issued and not complete, or UINT32_MAX after the last. *at is 0 for the first call. */
uint32_t dispatch_next_active(const struct dispatcher *e, uint32_t *at);
/* Sets state[op] to the enum be_state of each op. */
void dispatch_states(const struct dispatcher *e, uint8_t *state);

#endif
