/* SPDX-License-Identifier: BSD-3-Clause
 * reorder: critical path first. Sorts the ops of each rank by the length of the longest path that begins with them,
 * through all ranks: if several ops are ready, the program order decides which one runs first. The cost of an op is its
 * number of elements plus a constant; a message costs as much once more for its transfer. The order of each channel
 * stays the same on both ends. */
#include "compiler/passes/passes.h"

#include "compiler/analysis/events.h"
#include "format/check.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

/* Heap of the ops of a rank that can come next, with the longest path on top. */
struct heap {
	const uint64_t *path; /* length of each op's longest path */
	uint32_t *at, n;
};

static bool is_sooner(const struct heap *h, uint32_t a, uint32_t b)
{
	return h->path[a] != h->path[b] ? h->path[a] > h->path[b] : a < b;
}

static void push_op(struct heap *h, uint32_t op)
{
	uint32_t i = h->n++;

	for (; i && is_sooner(h, op, h->at[(i - 1) / 2]); i = (i - 1) / 2)
		h->at[i] = h->at[(i - 1) / 2];
	h->at[i] = op;
}

static uint32_t pop_op(struct heap *h)
{
	uint32_t top = h->at[0], last = h->at[--h->n], i = 0;

	for (uint32_t k = 1; k < h->n; i = k, k = 2 * k + 1) {
		k += k + 1 < h->n && is_sooner(h, h->at[k + 1], h->at[k]);
		if (!is_sooner(h, h->at[k], last))
			break;
		h->at[i] = h->at[k];
	}
	h->at[i] = last;
	return top;
}

/* Computes the length of the longest path from the start of each op on. Ops are numbered over all ranks. */
static int longest_paths(const struct ir_graph *g, uint64_t constant, uint64_t **out)
{
	struct ir_events ev;
	uint64_t *left = NULL;
	int err = ir_events_of(&ev, g);

	if (!err && ev.sorted < ev.n)
		err = -ERR_PASS;
	left = err ? NULL : mem_calloc(ev.n + (size_t)1, sizeof *left);
	if (!err && !left)
		err = -ERR_NOMEM;
	for (uint32_t p = err ? 0 : ev.n; p-- > 0;) {
		uint32_t e = ev.order[p], op = e / 2, r;
		const struct bin_op *o;

		if (op >= ev.nops) /* the start or end of a rank */
			continue;
		r = ir_events_rank(&ev, op);
		o = &g->ranks[r].ops[op - ev.base[r]];
		/* An edge to the completion of an op, from its own start or from the start of the send, stands for executing
		 * the op. */
		for (uint32_t k = ev.pred_at[e]; k < ev.pred_at[e + 1]; k++) {
			uint64_t path = left[e] + (e % 2 ? o->len + constant : 0);

			if (path > left[ev.pred[k]])
				left[ev.pred[k]] = path;
		}
	}
	for (uint32_t op = 0; !err && op < ev.nops; op++)
		left[op] = left[2 * op];
	ir_events_fini(&ev);
	*out = left;
	return err;
}

/* Reorders the ops of a rank by list scheduling. `room` has 4n + 2 words for n ops. */
static int reorder_rank(struct ir_rank *r, const uint64_t *path, uint32_t *room)
{
	const uint32_t n = r->nops;
	uint32_t *wait = room, *next_at = wait + n, *to = next_at + n + 2, done = 0;
	struct heap ready = { .path = path, .at = to + n };
	struct ir_rank before; /* what must come before each op: its dependencies, and the previous op of its channel */
	uint32_t *next, pairs;
	int err;

	for (uint32_t i = 0; i < n; i++)
		if (bin_is_message(r->ops[i].kind) && (r->ops[i].peer == BIN_ANY || r->ops[i].tag == BIN_ANY))
			return -ERR_PASS;
	err = ir_rank_chain(r, false, &before, &pairs);
	next = err ? NULL : mem_alloc((size_t)before.dep_at[n] * sizeof *next);
	if (!err && !next)
		err = -ERR_NOMEM;
	if (err)
		goto out;
	memset(next_at, 0, (n + (size_t)2) * sizeof *next_at);
	for (uint32_t d = 0; d < before.dep_at[n]; d++)
		next_at[before.deps[d] + 2]++;
	for (uint32_t i = 2; i < n + 2; i++)
		next_at[i] += next_at[i - 1];
	for (uint32_t i = 0; i < n; i++) {
		wait[i] = before.dep_at[i + 1] - before.dep_at[i];
		for (uint32_t d = before.dep_at[i]; d < before.dep_at[i + 1]; d++)
			next[next_at[before.deps[d] + 1]++] = i;
		if (!wait[i])
			push_op(&ready, i);
	}
	while (ready.n) {
		uint32_t i = pop_op(&ready);

		to[i] = done++;
		for (uint32_t k = next_at[i]; k < next_at[i + 1]; k++)
			if (--wait[next[k]] == 0)
				push_op(&ready, next[k]);
	}
	err = done == n ? ir_rank_reorder(r, to) : -ERR_PASS;
out:
	free(next);
	ir_rank_fini(&before);
	return err;
}

int pass_reorder(struct ir_graph *g, const struct pass_ctx *c)
{
	uint64_t *path, *at;
	uint32_t most = 0, *room;
	int err = longest_paths(g, (uint64_t)c->value[0], &path);

	for (uint32_t r = 0; r < g->nranks; r++)
		most = g->ranks[r].nops > most ? g->ranks[r].nops : most;
	room = err ? NULL : mem_alloc((4 * (size_t)most + 2) * sizeof *room);
	if (!err && !room)
		err = -ERR_NOMEM;
	at = path;
	for (uint32_t r = 0; r < g->nranks && !err; r++) {
		uint32_t n = g->ranks[r].nops;

		err = n ? reorder_rank(&g->ranks[r], at, room) : 0;
		at += n;
	}
	free(path);
	free(room);
	return err;
}
