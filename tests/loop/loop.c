/* SPDX-License-Identifier: BSD-3-Clause
 * loop: the reference executor. Each iteration chooses an op that can take a step, and takes this step. */
#include "tests/loop/loop.h"

#include "compiler/analysis/match.h"
#include "format/check.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

struct node {
	uint32_t rank, op, wait;
	uint32_t partner; /* for a message: node of the other end */
	bool started, done;
	char *kept; /* bytes of a send that has completed before its recv, else NULL */
};

struct loop {
	const struct loop_job *job;
	struct node *nodes;
	uint32_t n, left;
	uint32_t *base;
	uint32_t *at, *succ; /* successors by node; BIN_START in succ: they wait for the start */
	uint32_t *live; /* nodes that may have a step to take */
	uint32_t nlive;
	uint64_t random;
};

static uint64_t draw(struct loop *l)
{
	l->random ^= l->random << 13;
	l->random ^= l->random >> 7;
	l->random ^= l->random << 17;
	return l->random;
}

static const struct bin_op *op_of(const struct loop *l, const struct node *x)
{
	return &l->job->graph->ranks[x->rank].ops[x->op];
}

static char *range(const struct loop *l, const struct node *x, unsigned k)
{
	const struct bin_op *op = op_of(l, x);

	return l->job->buffers[x->rank][op->buf[k]] + op->off[k] * l->job->elem;
}

static void release(struct loop *l, uint32_t i, uint32_t flag)
{
	for (uint32_t k = l->at[i]; k < l->at[i + 1]; k++) {
		uint32_t to = l->succ[k] & ~BIN_START;

		if ((l->succ[k] & BIN_START) == flag && --l->nodes[to].wait == 0)
			l->live[l->nlive++] = to;
	}
}

static void complete(struct loop *l, uint32_t i)
{
	l->nodes[i].done = true;
	l->left--;
	release(l, i, 0);
}

static void copy(void *to, const void *from, size_t n)
{
	if (n)
		memmove(to, from, n);
}

BIN_LAST_OP(GETS);
/* Takes a step of a live node. Returns 1 if it took one, 0 if the node has to wait, or -ERR_NOMEM. */
static int step(struct loop *l, uint32_t i)
{
	struct node *x = &l->nodes[i], *other;
	const struct bin_op *op = op_of(l, x);
	size_t bytes = op->len * l->job->elem;

	if (!x->started) {
		x->started = true;
		release(l, i, BIN_START);
		return 1;
	}
	switch (op->kind) {
	case BIN_OP_SEND:
		if (draw(l) % 3) /* stays in its buffer for now */
			return 0;
		x->kept = mem_alloc(bytes);
		if (!x->kept)
			return -ERR_NOMEM;
		copy(x->kept, range(l, x, 0), bytes);
		break;
	case BIN_OP_RECV:
	case BIN_OP_RECV_REDUCE:
	case BIN_OP_RECV_REDUCE_WITH:
		other = &l->nodes[x->partner];
		if (!other->started)
			return 0;
		if (bin_reduces(op->kind))
			l->job->reduce(other->done ? other->kept : range(l, other, 0), range(l, x, 0), op->len,
				       op->kind == BIN_OP_RECV_REDUCE_WITH);
		else
			copy(range(l, x, 0), other->done ? other->kept : range(l, other, 0), bytes);
		if (!other->done)
			complete(l, x->partner);
		break;
	case BIN_OP_COPY:
		copy(range(l, x, 1), range(l, x, 0), bytes);
		break;
	case BIN_OP_REDUCE:
	case BIN_OP_REDUCE_WITH:
		l->job->reduce(range(l, x, 0), range(l, x, 1), op->len, op->kind == BIN_OP_REDUCE_WITH);
		break;
	}
	complete(l, i);
	return 1;
}

static int run(struct loop *l)
{
	uint32_t idle = 0;

	while (l->left) {
		uint32_t k, i;
		int rc;

		if (!l->nlive)
			return -ERR_DEADLOCK;
		k = (uint32_t)(draw(l) >> 20) % l->nlive;
		i = l->live[k];
		rc = l->nodes[i].done ? 1 : step(l, i);
		if (rc < 0)
			return rc;
		if (l->nodes[i].done)
			l->live[k] = l->live[--l->nlive];
		/* Sends hesitate, so many turns without a step are no deadlock yet. */
		idle = rc ? 0 : idle + 1;
		if (idle > 64 + 32 * l->nlive) {
			bool any = false;

			for (uint32_t n = 0; n < l->nlive; n++) {
				const struct node *x = &l->nodes[l->live[n]];

				any |= op_of(l, x)->kind == BIN_OP_SEND || l->nodes[x->partner].started;
			}
			if (!any)
				return -ERR_DEADLOCK;
			idle = 0;
		}
	}
	return 0;
}

static int prepare(struct loop *l, const struct ir_match *m, size_t nm)
{
	const struct ir_graph *g = l->job->graph;
	uint32_t messages = 0, edges = 0;

	for (uint32_t r = 0; r < g->nranks; r++) {
		l->base[r] = l->n;
		l->n += g->ranks[r].nops;
		edges += g->ranks[r].dep_at[g->ranks[r].nops];
	}
	l->left = l->n;
	l->nodes = mem_calloc(l->n, sizeof *l->nodes);
	l->at = mem_calloc((size_t)l->n + 2, sizeof *l->at);
	l->succ = mem_alloc((size_t)edges * sizeof *l->succ);
	l->live = mem_alloc((size_t)l->n * sizeof *l->live);
	if (!l->nodes || !l->at || !l->succ || !l->live)
		return -ERR_NOMEM;
	for (int fill = 0; fill < 2; fill++) {
		for (uint32_t r = 0; r < g->nranks; r++)
			for (uint32_t i = 0; i < g->ranks[r].nops; i++)
				for (uint32_t k = g->ranks[r].dep_at[i]; k < g->ranks[r].dep_at[i + 1]; k++) {
					uint32_t on = l->base[r] + (g->ranks[r].deps[k] & ~BIN_START);

					if (fill)
						l->succ[l->at[on + 1]++] = (l->base[r] + i) |
									   (g->ranks[r].deps[k] & BIN_START);
					else
						l->at[on + 2]++;
				}
		for (uint32_t i = 2; !fill && i < l->n + 2; i++)
			l->at[i] += l->at[i - 1];
	}
	for (size_t i = 0; i < nm; i++) {
		uint32_t s = l->base[m[i].src] + m[i].send, t = l->base[m[i].dst] + m[i].recv;

		l->nodes[s].partner = t;
		l->nodes[t].partner = s;
	}
	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++) {
			struct node *x = &l->nodes[l->base[r] + i];

			x->rank = r;
			x->op = i;
			x->wait = g->ranks[r].dep_at[i + 1] - g->ranks[r].dep_at[i];
			messages += bin_is_message(g->ranks[r].ops[i].kind);
			if (!x->wait)
				l->live[l->nlive++] = l->base[r] + i;
		}
	return messages == 2 * nm ? 0 : -ERR_UNMATCHED;
}

int loop_run(const struct loop_job *job, uint32_t *rank, uint32_t *op)
{
	struct loop l = { .job = job, .random = job->seed * 2654435761u + 88172645463325252u };
	struct ir_match *m = NULL;
	size_t nm = 0;
	int err;

	l.base = mem_calloc((size_t)job->graph->nranks + 1, sizeof *l.base);
	err = l.base ? ir_graph_match(job->graph, &m, &nm) : -ERR_NOMEM;
	err = err ? err : prepare(&l, m, nm);
	err = err ? err : run(&l);
	*rank = *op = 0;
	for (uint32_t i = 0; i < l.n && err == -ERR_DEADLOCK; i++)
		if (!l.nodes[i].done) {
			*rank = l.nodes[i].rank;
			*op = l.nodes[i].op;
			break;
		}
	for (uint32_t i = 0; l.nodes && i < l.n; i++)
		free(l.nodes[i].kept);
	free(l.nodes);
	free(l.base);
	free(l.at);
	free(l.succ);
	free(l.live);
	free(m);
	return err;
}
