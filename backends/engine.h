/* SPDX-License-Identifier: BSD-3-Clause
 * The dependency engine that backends share: each op has a counter of what it still waits for (the
 * schedule pointer's idea as one model); at zero it is ready. Counters are private to the executor and
 * re-armed when they fire, so a start costs no more than its first ops. */
#ifndef BACKENDS_ENGINE_H
#define BACKENDS_ENGINE_H

#include "backends/backend.h"

struct engine;

/* How an op is carried out: 1 complete, 0 not yet, or -ERR_x. issue is called once per epoch, when the op is
 * ready; poll from then on until it returns 1. */
struct engine_how {
	int (*issue)(struct engine *e, void *what);
	int (*poll)(struct engine *e, void *what);
};

struct engine_op {
	struct engine_how how; /* the backend's choice, before the first start, */
	void *what; /* and what it is called with */
	uint32_t wait; /* what it still waits for */
	uint32_t need; /* the value at start */
	uint32_t started, nstarted; /* in succ: ops that wait for its start */
	uint32_t done, ndone; /* ops that wait for its completion */
};

struct engine {
	struct engine_op *ops;
	uint32_t nops;
	uint32_t head, tail; /* of ready */
	uint32_t nactive; /* 0 between epochs */
	uint32_t nroots;
	uint32_t *ready; /* queue: every op enters once per epoch; those that wait for nothing are its head for ever */
	uint32_t *active; /* issued, not complete */
	uint32_t *succ;
};

/* Bytes that an engine needs, zeroed and aligned like a pointer, as long as it lives. */
size_t engine_room(const struct be_bind *b);
void engine_init(struct engine *e, const struct be_bind *b, void *room);
/* Begins an epoch, when the last one is complete: issues what is ready. 1 when all ops are complete, 0 if not yet, or
 * -ERR_x. */
int engine_start(struct engine *e);
/* Issues what is ready and polls what is active; returns the same. */
int engine_progress(struct engine *e);
/* The same when one op is active and none is ready, as engine_progress may have left it. */
static inline int engine_progress_last(struct engine *e)
{
	const struct engine_op *op = &e->ops[e->active[0]];
	int rc;

	if (op->ndone)
		return engine_progress(e);
	rc = op->how.poll(e, op->what);
	if (rc > 0)
		e->nactive = 0;
	return rc;
}
/* The enum be_state of each op. */
void engine_states(const struct engine *e, uint8_t *state);

#endif
