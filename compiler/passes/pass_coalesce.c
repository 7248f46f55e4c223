/* SPDX-License-Identifier: BSD-3-Clause
 * coalesce: replaces messages from one rank to another that become ready together by one message. They become ready
 * together if their sends have the same dependencies, and so have their recvs. Then no path leads from one of them to
 * another. All of them wait for the same events, on both ranks and across all messages. So the message that replaces
 * them starts no later and waits for nothing else, and no cycle can arise.
 *
 * If the ranges are adjacent on both ranks, only the length of the remaining message changes. Other small messages are
 * gathered in scratch memory, but not on a rank where they are adjacent in the order of sending.
 *
 * The message that comes first in the text remains. On ranks with dependencies that point forward in the text, only
 * messages with the same tag are merged, which cannot contradict the order on the channel. */
#include "compiler/passes/passes.h"

#include "compiler/analysis/match.h"
#include "util/err.h"
#include "util/order.h"

#include <stdlib.h>
#include <string.h>

/* The end of a message on one rank. */
struct end {
	struct bin_op *op;
	const uint32_t *deps;
	uint32_t rank, at, ndeps;
};

struct message {
	struct end end[2]; /* send and recv */
	uint32_t tag; /* tag of the message; 0 if messages with different tags may be merged */
};

/* Messages with adjacent ranges: elements [from, to) of a list of messages. */
struct bundle {
	uint32_t from, to;
	uint64_t len, off[2];
	uint16_t buf[2];
};

/* A copy added to a rank, before or after one of its ops. */
struct added {
	uint32_t at;
	bool behind;
	struct bin_op op;
};

/* In the changes to a rank, ADDED + k stands for the k-th added op. */
#define ADDED 0x80000000u
struct edit {
	uint32_t *begun, *done; /* for each op, the op that replaces its start, and the op that replaces its completion */
	VEC(struct added) added;
};

struct coalesce {
	struct ir_graph *g;
	uint64_t most; /* largest number of elements of a bundle that is copied */
	int64_t scratch; /* buffer for gathering, or -1 */
	struct edit *edits; /* changes to each rank; begun is NULL if the rank stays as it is */
	VEC(struct bundle) bundles;
};

/* ---- groups of messages ---- */

/* Compares the properties that must be equal in messages that are merged. Returns 0 if the two messages may be merged. */
static int compare_ends(const struct end *x, const struct end *y)
{
	ORDER_BY(x->rank, y->rank);
	ORDER_BY(x->op->kind, y->op->kind);
	ORDER_BY(x->op->exec, y->op->exec);
	ORDER_BY(x->op->cpu, y->op->cpu);
	ORDER_BY(x->op->nic, y->op->nic);
	ORDER_BY(x->ndeps, y->ndeps);
	return x->ndeps ? memcmp(x->deps, y->deps, x->ndeps * sizeof *x->deps) : 0;
}

static int by_group(const void *a, const void *b)
{
	const struct message *x = a, *y = b;

	for (unsigned side = 0; side < 2; side++) {
		int c = compare_ends(&x->end[side], &y->end[side]);

		if (c)
			return c;
	}
	ORDER_BY(x->tag, y->tag);
	return 0;
}

static int by_text(const void *a, const void *b)
{
	const struct message *x = a, *y = b;
	int c = by_group(x, y);

	if (c)
		return c;
	ORDER_BY(x->end[0].at, y->end[0].at);
	return 0;
}

/* Orders messages by position. Messages without bytes come first, because they count as adjacent to any other message. */
static int by_position(const void *a, const void *b)
{
	const struct message *x = a, *y = b;
	const struct bin_op *s = x->end[0].op, *t = y->end[0].op;

	ORDER_BY(s->len != 0, t->len != 0);
	ORDER_BY(s->buf[0], t->buf[0]);
	ORDER_BY(s->off[0], t->off[0]);
	ORDER_BY(x->end[0].at, y->end[0].at);
	return 0;
}

static int by_position_there(const void *a, const void *b)
{
	const struct bundle *x = a, *y = b;

	ORDER_BY(x->buf[1], y->buf[1]);
	ORDER_BY(x->off[1], y->off[1]);
	ORDER_BY(x->from, y->from);
	return 0;
}

static struct end make_end(const struct ir_graph *g, uint32_t rank, uint32_t at)
{
	const struct ir_rank *r = &g->ranks[rank];

	return (struct end){ &r->ops[at], r->deps + r->dep_at[at], rank, at, r->dep_at[at + 1] - r->dep_at[at] };
}

/* Lists all messages. Messages that may be merged with each other are consecutive, in the order of the text. */
static int find_messages(const struct ir_graph *g, struct message **out, size_t *n)
{
	struct ir_match *m = NULL;
	bool *forward = mem_alloc(g->nranks);
	size_t all = 0;
	int err = forward ? ir_graph_match(g, &m, &all) : -ERR_NOMEM;

	*n = 0;
	*out = err ? NULL : mem_resize(NULL, all, sizeof **out);
	err = err || *out ? err : -ERR_NOMEM;
	for (uint32_t r = 0; r < g->nranks && !err; r++)
		forward[r] = !ir_rank_points_back(&g->ranks[r]);
	for (size_t i = 0; i < all && !err; i++) {
		struct message x = { .end = { make_end(g, m[i].src, m[i].send), make_end(g, m[i].dst, m[i].recv) } };

		if (forward[m[i].src] || forward[m[i].dst])
			x.tag = x.end[0].op->tag;
		if (x.end[0].op->len == x.end[1].op->len && x.end[1].op->kind == BIN_OP_RECV)
			(*out)[(*n)++] = x;
	}
	if (*n)
		qsort(*out, *n, sizeof **out, by_text);
	free(forward);
	free(m);
	return err;
}

/* ---- edits of ranks ---- */

static int begin_edit(struct coalesce *c, uint32_t rank)
{
	struct edit *e = &c->edits[rank];
	uint32_t n = c->g->ranks[rank].nops;

	if (e->begun)
		return 0;
	e->begun = mem_resize(NULL, n, sizeof *e->begun);
	e->done = mem_resize(NULL, n, sizeof *e->done);
	if (!e->begun || !e->done)
		return -ERR_NOMEM;
	for (uint32_t i = 0; i < n; i++)
		e->begun[i] = e->done[i] = i;
	return 0;
}

static bool side_by_side(const struct bundle *p, uint32_t n, unsigned side)
{
	for (uint32_t i = 1; i < n; i++)
		if (p[i].buf[side] != p[0].buf[side] || p[i].off[side] != p[i - 1].off[side] + p[i - 1].len)
			return false;
	return true;
}

/* Sets the range of a merged message on one side: where its bundles are, if these are adjacent; otherwise scratch
 * memory. */
static int gather_bundle(struct coalesce *c, const struct message *all, const struct message *first, unsigned side,
			 const struct bundle *p, uint32_t n)
{
	const struct end *lead = &first->end[side];
	struct edit *e = &c->edits[lead->rank];
	struct bin_op *op = lead->op;
	uint64_t *off;
	int err = 0;

	op->buf[0] = p[0].buf[side];
	op->off[0] = p[0].off[side];
	op->len = 0;
	for (uint32_t i = 0; i < n; i++)
		op->len += p[i].len;
	if (side_by_side(p, n, side))
		return 0;
	if (c->scratch < 0)
		c->scratch = ir_graph_add_scratch(c->g);
	if (c->scratch < 0)
		return (int)c->scratch;
	off = &c->g->ranks[lead->rank].bufsize[c->scratch];
	op->buf[0] = (uint16_t)c->scratch;
	op->off[0] = *off;
	for (uint32_t i = 0; i < n && !err; i++) {
		struct added a = { .at = lead->at, .behind = side, .op = *op };

		a.op.kind = BIN_OP_COPY;
		a.op.peer = a.op.tag = 0;
		a.op.len = p[i].len;
		a.op.buf[side] = p[i].buf[side];
		a.op.off[side] = p[i].off[side];
		a.op.buf[!side] = (uint16_t)c->scratch;
		a.op.off[!side] = *off;
		*off += p[i].len;
		for (uint32_t k = p[i].from; k < p[i].to && side; k++)
			e->done[all[k].end[1].at] = ADDED + (uint32_t)e->added.n;
		err = VEC_PUSH(&e->added, a);
	}
	return err;
}

/* Replaces the messages of n bundles by one message. */
static int coalesce_messages(struct coalesce *c, const struct message *all, const struct bundle *p, uint32_t n)
{
	const struct message *first = &all[p->from];
	int err = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = p[i].from; k < p[i].to; k++)
			if (all[k].end[0].at < first->end[0].at)
				first = &all[k];
	for (unsigned side = 0; side < 2 && !err; side++) {
		const struct end *lead = &first->end[side];
		struct edit *e = &c->edits[lead->rank];

		err = begin_edit(c, lead->rank);
		for (uint32_t i = 0; i < n && !err; i++)
			for (uint32_t k = p[i].from; k < p[i].to; k++)
				e->begun[all[k].end[side].at] = e->done[all[k].end[side].at] = lead->at;
		err = err ? err : gather_bundle(c, all, first, side, p, n);
	}
	return err;
}

/* Divides the messages of a group, sorted by position, into bundles. */
static int find_bundles(struct coalesce *c, const struct message *m, uint32_t n)
{
	int err = 0;

	c->bundles.n = 0;
	for (uint32_t i = 0; i < n && !err; i++) {
		const struct bin_op *ops[2] = { m[i].end[0].op, m[i].end[1].op };
		struct bundle *p = c->bundles.n ? &c->bundles.at[c->bundles.n - 1] : NULL;
		bool joins = p && (c->g->plain || !p->len);

		if (p && !joins)
			joins = p->buf[0] == ops[0]->buf[0] && p->off[0] + p->len == ops[0]->off[0] &&
				p->buf[1] == ops[1]->buf[0] && p->off[1] + p->len == ops[1]->off[0];
		if (!joins)
			err = VEC_PUSH(&c->bundles, (struct bundle){ .from = i });
		if (err)
			break;
		p = &c->bundles.at[c->bundles.n - 1];
		for (unsigned side = 0; side < 2 && !p->len; side++) {
			p->buf[side] = ops[side]->buf[0];
			p->off[side] = ops[side]->off[0];
		}
		p->len += ops[0]->len;
		p->to = i + 1;
	}
	return err;
}

/* Merges a group of n messages: first messages with adjacent ranges, then small messages. */
static int merge_group(struct coalesce *c, struct message *m, uint32_t n)
{
	bool copies = m->end[0].rank != m->end[1].rank; /* from a rank to itself, a message costs only as much as a copy */
	uint32_t kept = 1, small = 0;
	struct bundle *p;
	int err;

	for (uint32_t i = 1; i < n; i++) /* keeps the messages that are in the same order on both ranks */
		if (m[i].end[1].at > m[kept - 1].end[1].at)
			m[kept++] = m[i];
	qsort(m, kept, sizeof *m, by_position);
	err = find_bundles(c, m, kept);
	p = c->bundles.at;
	for (uint32_t i = 0; i < c->bundles.n && !err; i++) {
		struct bundle one = p[i];

		if (copies && one.len <= c->most) {
			p[i] = p[small];
			p[small++] = one;
		} else if (one.to - one.from > 1) {
			err = coalesce_messages(c, m, &one, 1);
		}
	}
	if (small && !side_by_side(p, small, 0))
		qsort(p, small, sizeof *p, by_position_there);
	if (!err && small && (small > 1 || p->to - p->from > 1))
		err = coalesce_messages(c, m, p, small);
	return err;
}

/* ---- the new ops of a rank ---- */

struct renumbering {
	uint32_t *at, *list; /* the ops that were added at op i: list[at[i] … at[i + 1] - 1] */
	uint32_t *old, *added; /* new numbers of the old and the added ops */
	uint32_t n;
};

/* Numbers the ops. Added ops come right before or after the op to which they were added, in the order of
 * addition. */
static void number_ops(const struct ir_rank *r, const struct edit *e, struct renumbering *w)
{
	for (size_t k = 0; k < e->added.n; k++)
		w->at[e->added.at[k].at + 2]++;
	for (uint32_t i = 2; i < r->nops + 2; i++)
		w->at[i] += w->at[i - 1];
	for (uint32_t k = 0; k < e->added.n; k++)
		w->list[w->at[e->added.at[k].at + 1]++] = k;
	for (uint32_t i = 0; i < r->nops; i++) {
		bool behind = w->at[i] < w->at[i + 1] && e->added.at[w->list[w->at[i]]].behind;

		if (e->begun[i] != i)
			continue;
		if (behind)
			w->old[i] = w->n++;
		for (uint32_t k = w->at[i]; k < w->at[i + 1]; k++)
			w->added[w->list[k]] = w->n++;
		if (!behind)
			w->old[i] = w->n++;
	}
}

struct edges {
	VEC(struct bin_dep) v;
};

/* Makes op `to` wait for all ops that op i of the rank waited for. */
static int inherit_deps(const struct ir_rank *r, const struct edit *e, const struct renumbering *w, uint32_t i, uint32_t to,
			struct edges *out)
{
	int err = 0;

	for (uint32_t k = r->dep_at[i]; k < r->dep_at[i + 1] && !err; k++) {
		uint32_t start = r->deps[k] & BIN_START, was = r->deps[k] & ~BIN_START;
		uint32_t on = start ? e->begun[was] : e->done[was];

		on = on >= ADDED ? w->added[on - ADDED] : w->old[on];
		err = VEC_PUSH(&out->v, (struct bin_dep){ to, on | start });
	}
	return err;
}

static int fill_ops(struct ir_rank *r, const struct edit *e, const struct renumbering *w, struct bin_op *ops,
		    struct edges *out)
{
	int err = 0;

	for (uint32_t i = 0; i < r->nops && !err; i++) {
		bool before = false;

		if (e->begun[i] != i)
			continue;
		ops[w->old[i]] = r->ops[i];
		for (uint32_t k = w->at[i]; k < w->at[i + 1] && !err; k++) {
			const struct added *a = &e->added.at[w->list[k]];
			uint32_t me = w->added[w->list[k]];

			ops[me] = a->op;
			before |= !a->behind;
			err = VEC_PUSH(&out->v, a->behind ? (struct bin_dep){ me, w->old[i] } :
							    (struct bin_dep){ w->old[i], me });
			if (!a->behind)
				err = err ? err : inherit_deps(r, e, w, i, me, out);
		}
		if (!before)
			err = err ? err : inherit_deps(r, e, w, i, w->old[i], out);
	}
	return err;
}

static int apply_edit(struct ir_rank *r, const struct edit *e)
{
	size_t nadded = e->added.n;
	struct renumbering w = { .at = mem_calloc((size_t)r->nops + 2, sizeof *w.at),
				 .list = mem_resize(NULL, nadded, sizeof *w.list),
				 .old = mem_calloc(r->nops, sizeof *w.old),
				 .added = mem_calloc(nadded, sizeof *w.added) };
	struct bin_op *ops = mem_resize(NULL, r->nops + nadded, sizeof *ops);
	struct edges out = { 0 };
	int err = w.at && w.list && w.old && w.added && ops ? 0 : -ERR_NOMEM;

	if (!err && r->nops + nadded > BIN_MAX_OPS)
		err = -ERR_RANGE;
	if (!err)
		number_ops(r, e, &w);
	err = err ? err : fill_ops(r, e, &w, ops, &out);
	if (!err) {
		free(r->ops);
		r->ops = ops;
		r->nops = w.n;
		ops = NULL;
		err = ir_rank_set_deps(r, out.v.at, (uint32_t)out.v.n);
	}
	VEC_FREE(&out.v);
	free(ops);
	free(w.at);
	free(w.list);
	free(w.old);
	free(w.added);
	return err;
}

int pass_coalesce(struct ir_graph *g, const struct pass_ctx *ctx)
{
	struct coalesce c = { .g = g, .most = (uint64_t)ctx->value[0], .scratch = -1 };
	struct message *m;
	size_t n, to;
	int err = find_messages(g, &m, &n);

	c.edits = mem_calloc(g->nranks, sizeof *c.edits);
	err = err || c.edits ? err : -ERR_NOMEM;
	for (size_t i = 0; i < n && !err; i = to) {
		for (to = i + 1; to < n && !by_group(&m[i], &m[to]); to++)
			;
		if (to - i > 1)
			err = merge_group(&c, m + i, (uint32_t)(to - i));
	}
	for (uint32_t r = 0; r < g->nranks && c.edits; r++) {
		if (!err && c.edits[r].begun)
			err = apply_edit(&g->ranks[r], &c.edits[r]);
		free(c.edits[r].begun);
		free(c.edits[r].done);
		VEC_FREE(&c.edits[r].added);
	}
	VEC_FREE(&c.bundles);
	free(c.edits);
	free(m);
	return err;
}
