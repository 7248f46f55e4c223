/* SPDX-License-Identifier: BSD-3-Clause
 * fuse: saves passes over memory. It repeats two kinds of rounds until nothing changes:
 *
 * - copies: a copy into scratch is removed if all its readers can read the original instead. That needs no new
 *   dependency, because ops that write to the original wait for the readers anyway.
 * - messages: a recv into scratch and the reduce of it, which is the only reader, become a recv-reduce. A recv into
 *   scratch and the copy of it become a recv into the target of the copy. Other readers of the scratch read that target
 *   if no later op writes to it.
 *
 * The merged recv also gets the dependencies of the op that it is merged with. The pass merges only if the recv
 * already waits for all messages that this op waits for. Otherwise ranks could wait for each other, because a send
 * may complete only after its recv has started. With wait=1 it merges all the same, and the deadlock check of goalc
 * decides. Elements that two ops touch in an order given only by messages are left alone. */
#include "compiler/passes/passes.h"

#include "compiler/analysis/flow.h"
#include "format/check.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* Link from one op to another op, which reads what the first one wrote, or overwrites what the first one read. */
struct link {
	uint32_t op, next;
	uint32_t spans; /* number of common spans */
};

struct fused {
	uint32_t readers; /* list of links to the ops that read what this op wrote */
	uint32_t reuses; /* list of links from a copy to the next writers of what it read */
	uint32_t first; /* position of the first op that waits for this op, or NONE */
	uint32_t into; /* recv that this op is merged with, or NONE */
	uint32_t at; /* new number of the op */
	/* ordered: 1 + an op that is known to be ordered after this op; loose: 1 + an op that is known not to be; or 0 */
	uint32_t ordered, loose;
	uint32_t instead; /* for a removed op, the dependency that replaces dependencies on this op, or NONE */
	bool gone, changed;
};

struct fuse {
	struct ir_rank *r;
	const struct pass_ctx *c;
	struct flow flow;
	struct fused *of;
	VEC(struct link) links;
	bool *loose; /* for each span, true if only messages order its accesses */
	uint32_t *last; /* for each span, the last op that writes to it, or NONE; the array is made on first use */
	uint32_t at; /* current op of the walk */
	bool any, again; /* any: this round changed something; again: another round may do more */
};

static bool is_scratch(const struct fuse *f, const struct bin_op *o, unsigned k)
{
	return pass_mode(f->c, o->buf[k]) == BIN_SCRATCH;
}

/* ---- readers and writers ---- */

static int add_link(struct fuse *f, uint32_t *list, uint32_t op)
{
	if (*list != NONE && f->links.at[*list].op == op) {
		f->links.at[*list].spans++;
		return 0;
	}
	if (VEC_PUSH(&f->links, (struct link){ op, *list, 1 }))
		return -ERR_NOMEM;
	*list = (uint32_t)f->links.n - 1;
	return 0;
}

static bool is_ordered(struct fuse *f, uint32_t a, uint32_t b)
{
	const struct ir_rank *r = f->r;
	struct fused *x = &f->of[a];

	if (f->at != b) {
		f->at = b;
		for (uint32_t d = r->dep_at[b]; d < r->dep_at[b + 1]; d++)
			if (!(r->deps[d] & BIN_START))
				f->of[r->deps[d]].ordered = b + 1;
	}
	if (x->ordered != b + 1 && x->loose != b + 1) {
		if (flow_before(&f->flow, a, b, NULL))
			x->ordered = b + 1;
		else
			x->loose = b + 1;
	}
	return x->ordered == b + 1;
}

static int note_pair(void *arg, enum flow_kind kind, uint32_t span, uint32_t a, uint32_t b)
{
	struct fuse *f = arg;

	if (!is_ordered(f, a, b))
		f->loose[span] = true;
	if (kind == FLOW_READ)
		return add_link(f, &f->of[a].readers, b);
	if (kind == FLOW_REUSE && f->r->ops[a].kind == BIN_OP_COPY)
		return add_link(f, &f->of[a].reuses, b);
	return 0;
}

/* True if dependencies order all accesses to a range. */
static bool order_is_known(const struct fuse *f, struct flow_range x)
{
	for (uint32_t s = x.from; s < x.to; s++)
		if (f->loose[s])
			return false;
	return true;
}

static bool spans_overlap(struct flow_range x, struct flow_range y)
{
	return x.from < y.to && y.from < x.to;
}

/* Compares the ranges of a reader with `from`, which another op writes. Returns the number of the range that lies in `from`
 * if it is the only one that touches `from`, and the op only reads it. Otherwise returns -1. */
static int reads_only(const struct fuse *f, const struct link *l, struct flow_range from)
{
	const struct bin_op *o = &f->r->ops[l->op];
	const struct flow_range *x = f->flow.range[l->op];
	int found = -1;

	for (int k = 0; k < (int)bin_nranges(o->kind); k++) {
		if (!spans_overlap(x[k], from))
			continue;
		if (found >= 0 || bin_writes(o->kind, (unsigned)k) || x[k].from < from.from || x[k].to > from.to ||
		    l->spans != x[k].to - x[k].from)
			return -1;
		found = k;
	}
	return found;
}

/* Moves range k of an op from the target of a copy to the same place in the copy's source. */
static void redirect_range(struct fuse *f, uint32_t op, int k, const struct bin_op *copy)
{
	struct bin_op *o = &f->r->ops[op];

	/* the op then accesses the copy's buffer 0 instead of its buffer 1 */
	o->off[k] = o->off[k] - copy->off[1] + copy->off[0];
	o->buf[k] = copy->buf[0];
	f->of[op].changed = true;
}

/* ---- copies ---- */

/* True if all ops that read the target of a copy may read the copy's source instead. */
static bool can_drop(struct fuse *f, uint32_t i)
{
	const struct flow_range *x = f->flow.range[i];

	if (f->of[i].changed || !order_is_known(f, x[0]) || !order_is_known(f, x[1]) || spans_overlap(x[0], x[1]))
		return false;
	for (uint32_t l = f->of[i].readers; l != NONE; l = f->links.at[l].next) {
		uint32_t by = f->links.at[l].op;

		if (reads_only(f, &f->links.at[l], x[1]) < 0 || f->of[by].changed || f->of[by].gone)
			return false;
		/* The reader must not write to the source of the copy, which it would then read. */
		for (unsigned k = 0; k < bin_nranges(f->r->ops[by].kind); k++)
			if (bin_writes(f->r->ops[by].kind, k) && spans_overlap(f->flow.range[by][k], x[0]))
				return false;
		for (uint32_t w = f->of[i].reuses; w != NONE; w = f->links.at[w].next)
			if (!flow_before(&f->flow, by, f->links.at[w].op, NULL))
				return false;
	}
	return true;
}

static void drop_copies(struct fuse *f)
{
	for (uint32_t p = 0; p < f->r->nops; p++) {
		uint32_t i = f->flow.order[p];
		const struct bin_op *o = &f->r->ops[i];

		if (o->kind != BIN_OP_COPY || !o->len || !is_scratch(f, o, 1) || !can_drop(f, i))
			continue;
		for (uint32_t l = f->of[i].readers; l != NONE; l = f->links.at[l].next)
			redirect_range(f, f->links.at[l].op, reads_only(f, &f->links.at[l], f->flow.range[i][1]), o);
		f->of[i].gone = f->any = true;
	}
}

/* ---- messages ---- */

#define MOST_SEARCHED 32u /* most ops that are searched before a merge is given up */

/* True if a recv can also wait for everything that `op` waits for. `op` waits for the recv. */
static bool can_wait(struct fuse *f, uint32_t recv, uint32_t op)
{
	const struct ir_rank *r = f->r;
	uint32_t todo[MOST_SEARCHED], n = 0, at = 0;
	bool direct = false;

	/* If the recv moves to the position of op, it comes after all that op waits for. It must also come before all other ops
	 * that wait for the recv. */
	if (f->c->value[0])
		return f->of[recv].first == f->flow.pos[op];
	for (uint32_t d = r->dep_at[op]; d < r->dep_at[op + 1]; d++)
		if (r->deps[d] == recv)
			direct = true;
		else if (n == MOST_SEARCHED)
			return false;
		else
			todo[n++] = r->deps[d] & ~BIN_START;
	for (; at < n && direct; at++) {
		uint32_t i = todo[at];

		if (i == recv)
			return false;
		if (bin_is_message(r->ops[i].kind)) {
			if (!flow_before(&f->flow, i, recv, NULL))
				return false;
			continue; /* the ops that this message waits for come before the recv too */
		}
		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++)
			if (n == MOST_SEARCHED)
				return false;
			else
				todo[n++] = r->deps[d] & ~BIN_START;
	}
	return direct;
}

/* True if `op` reads exactly what the recv wrote, and can be merged with the recv. The send of a message to the rank itself may
 * read the target of `op`: then only the completion of the recv orders the two. */
static bool can_merge(struct fuse *f, uint32_t recv, uint32_t op)
{
	const struct bin_op *a = &f->r->ops[recv], *o = &f->r->ops[op];

	if (a->peer == f->c->rank && !order_is_known(f, f->flow.range[op][1]))
		return false;
	return (o->kind == BIN_OP_COPY || o->kind == BIN_OP_REDUCE || o->kind == BIN_OP_REDUCE_WITH) &&
	       o->exec == a->exec && o->buf[0] == a->buf[0] && o->off[0] == a->off[0] && o->len == a->len &&
	       !f->of[op].changed && !spans_overlap(f->flow.range[op][1], f->flow.range[recv][0]) &&
	       can_wait(f, recv, op);
}

static int find_last(struct fuse *f)
{
	if (f->last)
		return 0;
	f->last = mem_alloc((f->flow.nspans + (size_t)1) * sizeof *f->last);
	if (!f->last)
		return -ERR_NOMEM;
	memset(f->last, 0xff, f->flow.nspans * sizeof *f->last);
	for (uint32_t p = 0; p < f->r->nops; p++) {
		uint32_t i = f->flow.order[p];

		for (unsigned k = 0; k < bin_nranges(f->r->ops[i].kind); k++)
			for (uint32_t s = f->flow.range[i][k].from;
			     s < f->flow.range[i][k].to && bin_writes(f->r->ops[i].kind, k); s++)
				f->last[s] = i;
	}
	return 0;
}

/* True if all other readers of the received data can instead read the copy that `op` makes. */
static int can_share(struct fuse *f, uint32_t recv, uint32_t op)
{
	struct flow_range to = f->flow.range[op][1];
	int err = find_last(f);

	if (err)
		return err;
	if (f->r->ops[op].kind != BIN_OP_COPY || !order_is_known(f, to))
		return 0;
	for (uint32_t s = to.from; s < to.to; s++)
		if (f->last[s] != op)
			return 0;
	for (uint32_t l = f->of[recv].readers; l != NONE; l = f->links.at[l].next)
		if (f->links.at[l].op != op && (reads_only(f, &f->links.at[l], f->flow.range[recv][0]) < 0 ||
						f->of[f->links.at[l].op].changed))
			return 0;
	return 1;
}

static void merge_recv(struct fuse *f, uint32_t recv, uint32_t op)
{
	struct bin_op *a = &f->r->ops[recv];
	const struct bin_op *o = &f->r->ops[op];
	/* A copy in reverse, from the received range to its new location. */
	const struct bin_op back = { .buf = { o->buf[1], o->buf[0] }, .off = { o->off[1], o->off[0] } };

	for (uint32_t l = f->of[recv].readers; l != NONE; l = f->links.at[l].next)
		if (f->links.at[l].op != op)
			redirect_range(f, f->links.at[l].op, reads_only(f, &f->links.at[l], f->flow.range[recv][0]),
				       &back);
	if (o->kind != BIN_OP_COPY)
		a->kind = o->kind == BIN_OP_REDUCE ? BIN_OP_RECV_REDUCE : BIN_OP_RECV_REDUCE_WITH;
	a->buf[0] = o->buf[1];
	a->off[0] = o->off[1];
	f->of[op].into = recv;
	f->of[recv].changed = f->of[op].changed = f->any = true;
	f->again |= o->kind == BIN_OP_COPY;
}

static int merge_messages(struct fuse *f)
{
	for (uint32_t i = 0; i < f->r->nops; i++) {
		const struct bin_op *o = &f->r->ops[i];

		if (o->kind != BIN_OP_RECV || !o->len || !is_scratch(f, o, 0) || f->of[i].changed ||
		    !order_is_known(f, f->flow.range[i][0]))
			continue;
		for (uint32_t l = f->of[i].readers; l != NONE; l = f->links.at[l].next) {
			bool alone = l == f->of[i].readers && f->links.at[l].next == NONE;
			int ok = can_merge(f, i, f->links.at[l].op);

			if (ok && !alone)
				ok = can_share(f, i, f->links.at[l].op);
			if (ok < 0)
				return ok;
			if (ok) {
				merge_recv(f, i, f->links.at[l].op);
				break;
			}
		}
	}
	return 0;
}

/* ---- the new ops ---- */

/* Returns the dependency, in old numbers, that replaces a dependency on an old op; NONE if none does. */
static uint32_t resolve_dep(const struct fuse *f, uint32_t dep)
{
	const struct fused *x = &f->of[dep & ~BIN_START];

	if (x->gone && x->at == NONE)
		return x->instead;
	/* A dependency on the start of a merged op becomes a dependency on the completion of the recv. */
	return x->into != NONE ? x->into : dep;
}

/* Assigns new numbers. A removed copy stays as a nop if it waits for several ops. */
static void assign_numbers(struct fuse *f)
{
	struct ir_rank *r = f->r;
	uint32_t n = 0;

	for (uint32_t p = 0; p < r->nops; p++) {
		uint32_t i = f->flow.order[p], deps = r->dep_at[i + 1] - r->dep_at[i];
		struct fused *x = &f->of[i];

		x->at = x->into == NONE && !(x->gone && deps < 2) ? 0 : NONE;
		x->instead = NONE;
		if (x->gone && deps == 1)
			x->instead = resolve_dep(f, r->deps[r->dep_at[i]]);
	}
	for (uint32_t i = 0; i < r->nops; i++)
		if (f->of[i].at != NONE)
			f->of[i].at = n++;
}

static int rebuild_rank(struct fuse *f)
{
	struct ir_rank *r = f->r;
	VEC(struct bin_dep) edges = { 0 };
	uint32_t n = 0;
	int err = VEC_RESERVE(&edges, r->dep_at[r->nops] + (size_t)1);

	assign_numbers(f);
	for (uint32_t i = 0; i < r->nops && !err; i++) {
		const struct fused *x = &f->of[i];
		uint32_t to = x->into == NONE ? x->at : f->of[x->into].at;

		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1] && to != NONE && !err; d++) {
			uint32_t on = resolve_dep(f, r->deps[d]);

			if (on != NONE && f->of[on & ~BIN_START].at != to)
				err = VEC_PUSH(&edges, (struct bin_dep){ to, f->of[on & ~BIN_START].at | (on & BIN_START) });
		}
	}
	for (uint32_t i = 0; i < r->nops && !err; i++) {
		struct bin_op *o = &r->ops[i];

		if (f->of[i].at == NONE)
			continue;
		if (f->of[i].gone)
			*o = (struct bin_op){ .kind = BIN_OP_NOP, .exec = o->exec, .level = o->level, .line = o->line };
		r->ops[n++] = *o;
	}
	if (!err) {
		r->nops = n;
		err = ir_rank_set_deps(r, edges.at, (uint32_t)edges.n);
	}
	VEC_FREE(&edges);
	return err;
}

/* Shrinks scratch buffers to the part that ops use. An empty range counts with its offset. */
static void shrink_scratch(const struct fuse *f)
{
	const struct ir_rank *r = f->r;
	uint64_t end;

	for (uint32_t b = 0; b < f->c->nbuffers; b++) {
		if (pass_mode(f->c, b) != BIN_SCRATCH || !r->bufsize[b])
			continue;
		end = 0;
		for (uint32_t i = 0; i < r->nops; i++)
			for (unsigned k = 0; k < bin_nranges(r->ops[i].kind); k++)
				if (r->ops[i].buf[k] == b && r->ops[i].off[k] + r->ops[i].len > end)
					end = r->ops[i].off[k] + r->ops[i].len;
		r->bufsize[b] = end;
	}
}

/* Sets `first` of each op that the op at position p waits for, unless it is set. */
static void note_waiting(struct fuse *f, uint32_t p)
{
	uint32_t i = f->flow.order[p];

	for (uint32_t d = f->r->dep_at[i]; d < f->r->dep_at[i + 1]; d++) {
		struct fused *x = &f->of[f->r->deps[d] & ~BIN_START];

		if (x->first == NONE)
			x->first = p;
	}
}

/* Runs one round. A round that removes copies leaves merges with recvs to the next round. */
static int one_round(struct fuse *f)
{
	int err = flow_init(&f->flow, f->r);

	f->at = NONE;
	f->again = f->any = false;
	f->links.n = 0;
	f->of = mem_alloc(f->r->nops * sizeof *f->of + f->flow.nspans);
	f->loose = (bool *)(f->of + f->r->nops);
	if (!err && (!f->of || VEC_RESERVE(&f->links, f->r->nops)))
		err = -ERR_NOMEM;
	if (!err)
		memset(f->loose, 0, f->flow.nspans);
	for (uint32_t i = 0; i < f->r->nops && !err; i++)
		f->of[i] = (struct fused){ .readers = NONE, .reuses = NONE, .first = NONE, .into = NONE };
	for (uint32_t p = 0; p < f->r->nops && !err; p++)
		note_waiting(f, p);
	err = err ? err : flow_walk(&f->flow, note_pair, f);
	if (!err)
		drop_copies(f);
	f->again = f->any;
	if (!err && !f->any)
		err = merge_messages(f);
	if (!err && f->any)
		err = rebuild_rank(f);
	flow_fini(&f->flow);
	free(f->of);
	free(f->last);
	f->last = NULL;
	return err;
}

/* True if a round could change anything. */
static bool worth_it(const struct fuse *f)
{
	bool recv = false, use = false;

	for (uint32_t i = 0; i < f->r->nops; i++) {
		const struct bin_op *o = &f->r->ops[i];

		if (o->kind == BIN_OP_COPY && is_scratch(f, o, 1))
			return true;
		recv |= o->kind == BIN_OP_RECV && is_scratch(f, o, 0);
		use |= bin_nranges(o->kind) == 2 && is_scratch(f, o, 0);
	}
	return recv && use;
}

int pass_fuse(struct ir_rank *r, const struct pass_ctx *c)
{
	struct fuse f = { .r = r, .c = c };
	bool changed = false;
	int err = 0;

	if (!r->bufsize) /* in plain GOAL there is nothing to merge */
		return 0;
	do {
		f.again = f.any = false;
		if (worth_it(&f))
			err = one_round(&f);
		changed |= f.any;
	} while (f.again && !err);
	if (!err && changed)
		shrink_scratch(&f);
	VEC_FREE(&f.links);
	return err;
}
