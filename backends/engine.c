/* SPDX-License-Identifier: BSD-3-Clause
 * The dependency engine. */
#include "backends/engine.h"

#include <string.h>

/* Which of its two lists an op's dependency belongs to. */
static uint32_t *length(struct engine *e, uint32_t dep)
{
	struct engine_op *on = &e->ops[dep & ~BIN_START];

	return dep & BIN_START ? &on->nstarted : &on->ndone;
}

/* Successors by counting sort. */
static void invert(struct engine *e, const struct be_bind *b)
{
	uint32_t n = b->nops, at = 0;

	for (uint32_t d = 0; d < b->dep_at[n]; d++)
		++*length(e, b->deps[d]);
	for (uint32_t i = 0; i < n; i++) {
		struct engine_op *op = &e->ops[i];

		op->started = at;
		op->done = at + op->nstarted;
		at = op->done + op->ndone;
		op->nstarted = op->ndone = 0;
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t d = b->dep_at[i]; d < b->dep_at[i + 1]; d++) {
			const struct engine_op *on = &e->ops[b->deps[d] & ~BIN_START];
			uint32_t first = b->deps[d] & BIN_START ? on->started : on->done;

			e->succ[first + (*length(e, b->deps[d]))++] = i;
		}
}

size_t engine_room(const struct be_bind *b)
{
	size_t n = b->nops, m = b->dep_at[n];

	return n * sizeof(struct engine_op) + (2 * n + m + 1) / 2 * 2 * sizeof(uint32_t);
}

void engine_init(struct engine *e, const struct be_bind *b, void *room)
{
	*e = (struct engine){ .nops = b->nops, .ops = room };
	e->ready = (uint32_t *)(void *)(e->ops + b->nops);
	e->active = e->ready + b->nops;
	e->succ = e->active + b->nops;
	invert(e, b);
	for (uint32_t i = 0; i < b->nops; i++) {
		e->ops[i].wait = e->ops[i].need = b->dep_at[i + 1] - b->dep_at[i];
		if (!e->ops[i].need)
			e->ready[e->nroots++] = i;
	}
}

/* Takes a step off n successors; those that became ready are put behind tail, which moves. */
static inline uint32_t release(struct engine *e, uint32_t from, uint32_t n, uint32_t tail)
{
	if (!n)
		return tail;
	for (const uint32_t *s = e->succ + from, *end = s + n; s < end; s++) {
		struct engine_op *op = &e->ops[*s];

		if (--op->wait == 0) {
			op->wait = op->need;
			e->ready[tail++] = *s;
		}
	}
	return tail;
}

/* Issues what is ready from head to tail: kept in registers, as the first op's store is what a peer waits for. */
static inline int issue(struct engine *e, uint32_t head, uint32_t tail)
{
	int rc = 0;

	while (head != tail && rc >= 0) {
		const struct engine_op *op = &e->ops[e->ready[head++]];

		tail = release(e, op->started, op->nstarted, tail);
		rc = op->how.issue(e, op->what);
		if (rc > 0)
			tail = release(e, op->done, op->ndone, tail);
		else if (rc == 0)
			e->active[e->nactive++] = e->ready[head - 1];
	}
	e->head = head;
	e->tail = tail;
	return rc < 0 ? rc : !e->nactive; /* none: nothing is left that could make others ready, there are no cycles */
}

int engine_start(struct engine *e)
{
	return issue(e, 0, e->nroots);
}

int engine_progress(struct engine *e)
{
	int rc = 0;

	for (uint32_t k = 0;;) {
		const struct engine_op *op;

		if (e->head != e->tail && (rc = issue(e, e->head, e->tail)) < 0)
			return rc;
		/* Polls until one completes, which may make others ready. */
		do {
			if (k == e->nactive)
				return !k;
			op = &e->ops[e->active[k++]];
			rc = op->how.poll(e, op->what);
		} while (rc == 0);
		if (rc < 0)
			return rc;
		e->active[--k] = e->active[--e->nactive];
		e->tail = release(e, op->done, op->ndone, e->tail);
	}
}

void engine_states(const struct engine *e, uint8_t *state)
{
	memset(state, BE_WAITS, e->nops);
	for (uint32_t i = 0; i < e->tail; i++)
		state[e->ready[i]] = i < e->head ? BE_DONE : BE_READY;
	for (uint32_t i = 0; i < e->nactive; i++)
		state[e->active[i]] = BE_ISSUED;
}
