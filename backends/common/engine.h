/* SPDX-License-Identifier: BSD-3-Clause
 * The dependency engine that backends share: each op has a counter of what it still waits for (the
 * schedule pointer's idea as one model); at zero it is ready. Counters are private to who makes progress and
 * re-armed when they fire, so a start costs no more than its first ops.
 *
 * What changes while a schedule runs is in one room without pointers, so that another process may go on where this
 * one has stopped; a struct engine is one process's view of it. */
#ifndef BACKENDS_COMMON_ENGINE_H
#define BACKENDS_COMMON_ENGINE_H

#include "backends/backend.h"

struct engine;

/* How an op is carried out: 1 complete, 0 not yet, or -ERR_x. issue is called once per epoch, when the op is
 * ready; poll from then on until it returns 1. */
struct engine_how {
	int (*issue)(struct engine *e, void *what);
	int (*poll)(struct engine *e, void *what);
};

/* In a view: the backend's choice, before the first start, and what it is called with. */
struct engine_do {
	struct engine_how how;
	void *what;
};

/* Ops by who may carry them out: bit 1 << class of enum be_who. Without others who help there is only the first. */
enum engine_class {
	ENGINE_APP,
	ENGINE_OWNER,
	ENGINE_ANY,
	ENGINE_EARLY, /* the rank's own thread while it starts; what is not complete then passes to another class */
	ENGINE_CLASSES
};

struct engine_op {
	uint32_t wait; /* what it still waits for */
	uint32_t need; /* the value at start */
	uint32_t started, nstarted; /* in succ: ops that wait for its start */
	uint32_t done, ndone; /* ops that wait for its completion */
	uint8_t class[2]; /* while the rank starts, and from then on */
};

/* Those of one class. Each has a part of ready and active of its own. */
struct engine_queue {
	uint32_t first; /* where it begins */
	uint32_t head, tail; /* of ready */
	uint32_t nactive; /* 0 between epochs */
	uint32_t nroots;
};

struct engine_state {
	struct engine_queue of[ENGINE_CLASSES];
	uint32_t begun; /* start is over: the index of engine_op.class */
};

struct engine {
	struct engine_state *st;
	struct engine_op *ops;
	struct engine_do *todo; /* by op */
	uint32_t *ready; /* queues: every op enters once per epoch; those that wait for nothing are the head for ever */
	uint32_t *active; /* issued, not complete */
	uint32_t *succ;
	uint32_t nops;
	bool helped;
	unsigned who; /* where others help: makes progress now */
	struct be_bound *bound; /* whose it is */
};

/* Bytes of what an engine shares, zeroed and aligned like a pointer, and of what is its own, as long as it lives. */
size_t engine_room(const struct be_bind *b);
static inline size_t engine_own_room(uint32_t nops)
{
	return nops * sizeof(struct engine_do);
}
/* Sets up what is shared; all ops are ENGINE_APP. */
void engine_init(struct engine *e, const struct be_bind *b, void *room, void *own, struct be_bound *bound);
/* Another view of what engine_init has set up. */
void engine_view(struct engine *e, uint32_t nops, void *room, void *own, struct be_bound *bound);
/* After the classes in ops have been changed; between epochs. */
void engine_classify(struct engine *e);
/* Begins an epoch, when the last one is complete: issues what is ready, and polls. 1 when all ops are complete, 0 if
 * not yet, or -ERR_x. who: as in be_ops. */
int engine_start(struct engine *e, unsigned who);
/* Issues what is ready and polls what is active; returns the same. */
int engine_progress(struct engine *e, unsigned who);
/* Where nobody helps: the op that engine_progress has left active, if it is the only one; else NULL. */
static inline const uint32_t *engine_last(const struct engine *e)
{
	return !e->helped && e->st->of[0].nactive == 1 ? e->active : NULL;
}
/* engine_progress when there is such an op. */
static inline int engine_progress_last(struct engine *e)
{
	const uint32_t op = e->active[0];
	int rc;

	if (e->ops[op].ndone)
		return engine_progress(e, BE_ALL);
	rc = e->todo[op].how.poll(e, e->todo[op].what);
	if (rc > 0)
		e->st->of[0].nactive = 0;
	return rc;
}
/* The next op that is issued and not complete, UINT32_MAX when there are no more; *at is 0 for the first. */
uint32_t engine_next_active(const struct engine *e, uint32_t *at);
/* The enum be_state of each op. */
void engine_states(const struct engine *e, uint8_t *state);

#endif
