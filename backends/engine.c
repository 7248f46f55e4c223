/* SPDX-License-Identifier: BSD-3-Clause
 * The dependency engine. */
#include "backends/engine.h"

#include "util/err.h"
#include "util/mem.h"

#include <stdlib.h>
#include <string.h>

/* Successors by counting sort: of completions or of starts. */
static void invert(const struct be_bind *b, uint32_t flag, uint32_t *at, uint32_t *succ)
{
	uint32_t n = b->nops;

	for (uint32_t d = 0; d < b->dep_at[n]; d++)
		if ((b->deps[d] & BIN_START) == flag)
			at[(b->deps[d] & ~BIN_START) + 2]++;
	for (uint32_t i = 2; i < n + 2; i++)
		at[i] += at[i - 1];
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t d = b->dep_at[i]; d < b->dep_at[i + 1]; d++)
			if ((b->deps[d] & BIN_START) == flag)
				succ[at[(b->deps[d] & ~BIN_START) + 1]++] = i;
}

int engine_init(struct engine *e, const struct be_bind *b, const struct engine_kind *kinds)
{
	size_t n = b->nops, m = b->dep_at[n];
	uint32_t *p = mem_calloc(7 * n + 4 + 2 * m, sizeof *p);

	if (!p)
		return -ERR_NOMEM;
	*e = (struct engine){ .kinds = kinds, .ops = b->ops, .nops = b->nops, .memory = p };
	e->wait = p;
	e->need = p + n;
	e->ready = p + 2 * n;
	e->active = p + 3 * n;
	e->roots = p + 4 * n;
	e->done_at = p + 5 * n;
	e->start_at = p + 6 * n + 2;
	e->done = p + 7 * n + 4;
	e->start = e->done + m;
	invert(b, 0, e->done_at, e->done);
	invert(b, BIN_START, e->start_at, e->start);
	for (uint32_t i = 0; i < b->nops; i++) {
		e->wait[i] = e->need[i] = b->dep_at[i + 1] - b->dep_at[i];
		if (!e->need[i])
			e->roots[e->nroots++] = i;
	}
	return 0;
}

void engine_fini(struct engine *e)
{
	free(e->memory);
	e->memory = NULL;
}

void engine_start(struct engine *e)
{
	e->head = e->tail = e->nactive = 0;
	e->left = e->nops;
	for (uint32_t i = 0; i < e->nroots; i++)
		e->ready[e->tail++] = e->roots[i];
}

static inline void release(struct engine *e, const uint32_t *succ, uint32_t from, uint32_t to)
{
	for (uint32_t k = from; k < to; k++) {
		uint32_t op = succ[k];

		if (--e->wait[op] == 0) {
			e->wait[op] = e->need[op];
			e->ready[e->tail++] = op;
		}
	}
}

static inline void complete(struct engine *e, uint32_t op)
{
	e->left--;
	release(e, e->done, e->done_at[op], e->done_at[op + 1]);
}

static int issue_ready(struct engine *e)
{
	while (e->head != e->tail) {
		uint32_t op = e->ready[e->head++];
		int rc;

		release(e, e->start, e->start_at[op], e->start_at[op + 1]);
		rc = e->kinds[e->ops[op].kind].issue(e, op);
		if (rc < 0)
			return rc;
		if (rc)
			complete(e, op);
		else
			e->active[e->nactive++] = op;
	}
	return 0;
}

int engine_progress(struct engine *e)
{
	int rc = issue_ready(e);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < e->nactive;) {
		uint32_t op = e->active[i];

		rc = e->kinds[e->ops[op].kind].poll(e, op);
		if (rc < 0)
			return rc;
		if (!rc) {
			i++;
			continue;
		}
		e->active[i] = e->active[--e->nactive];
		complete(e, op);
		rc = issue_ready(e);
		if (rc < 0)
			return rc;
	}
	return e->left == 0;
}

void engine_states(const struct engine *e, uint8_t *state)
{
	memset(state, BE_WAITS, e->nops);
	for (uint32_t i = 0; i < e->tail; i++)
		state[e->ready[i]] = i < e->head ? BE_DONE : BE_READY;
	for (uint32_t i = 0; i < e->nactive; i++)
		state[e->active[i]] = BE_ISSUED;
}
