/* SPDX-License-Identifier: BSD-3-Clause
 * segment: pipelining. An op on more than size elements is split into pieces of size elements, the last of which has
 * the rest. The split depends on the op's length alone, so a send and its recv are split alike. The pieces stand in
 * order where the op stood, so the k-th send of a channel still meets the k-th recv.
 *
 * There are two ways in which the pieces of an op wait for what the op waits for:
 *
 * - By pieces, for a requires between ops with common elements: a piece waits for the pieces with which it shares
 *   elements, and for no others. This makes the pipeline.
 * - As a whole, for any other dependency, and for all of a barrier, whose effect is that ranks wait for each other: each
 *   piece waits for all pieces. A nop that waits for all of them, or for which all wait, keeps the number of dependencies
 *   linear.
 *
 * Why the result is right: any two ops that the new schedule orders were ordered in the old one, so no cycle and no
 * deadlock arises. Every element must be accessed in the same order as before. Ops that access it and have a requires
 * between them keep their order. Ops that are ordered by a chain of dependencies could lose their order if a link of the
 * chain is by pieces, so they get their own requires, by pieces. The order of two ops of one rank cannot be kept if only
 * messages give this order, because other ranks then also wait by pieces. A schedule with two such ops on the same
 * element is refused, even if the rank has nothing to split: others may have. */
#include "compiler/passes/passes.h"

#include "compiler/analysis/flow.h"
#include "format/check.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

#define MOST_OPS (BIN_MAX_OPS / 64) /* limit of the ops of a rank */

/* The new ops that replace an old op. */
struct split {
	uint32_t pieces, first; /* number of pieces; number of the first piece among the new ops */
	uint32_t before; /* nop before the pieces, or BIN_NONE */
	uint32_t after, started; /* nops that wait for the end and for the start of all pieces, or BIN_NONE */
	uint32_t seen; /* 1 + an op that is known to wait for this op, or 0 */
};

struct segment {
	struct ir_rank *r;
	const struct pass_ctx *c;
	uint64_t size;
	struct split *of;
	unsigned char *by_pieces; /* for each dependency, true if it becomes dependencies between pieces */
	struct flow flow;
	uint32_t at; /* current op of the walk */
	VEC(struct bin_dep) more; /* additional dependencies between old ops, which other dependencies implied before */
	VEC(struct bin_dep) edges; /* dependencies of the new ops */
	struct bin_op *ops;
	uint32_t nops;
};

static uint64_t count_pieces(const struct segment *s, const struct bin_op *o)
{
	return bin_nranges(o->kind) && o->len > s->size ? (o->len - 1) / s->size + 1 : 1;
}

/* True if range k of x and range l of y have common elements. */
static bool ranges_overlap(const struct bin_op *x, unsigned k, const struct bin_op *y, unsigned l)
{
	return x->buf[k] == y->buf[l] && x->off[k] < y->off[l] + y->len && y->off[l] < x->off[k] + x->len;
}

static bool share_elements(const struct bin_op *x, const struct bin_op *y)
{
	for (unsigned k = 0; k < bin_nranges(x->kind); k++)
		for (unsigned l = 0; l < bin_nranges(y->kind); l++)
			if (ranges_overlap(x, k, y, l))
				return true;
	return false;
}

/* ---- dependencies ---- */

/* Refuses to split op i; `why` is the reason. */
static int refuse(struct segment *s, uint32_t i, const char *why)
{
	return ir_refuse(s->c->refused, s->c->rank, i, "rank %u: this %s %s", s->c->rank, ir_op_word(s->r->ops[i].kind), why);
}

/* Counts the new ops, without nops. Returns 0, or -ERR_PASS if there are too many or an op cannot be split. */
static int count_new_ops(struct segment *s, uint32_t *out)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->r->nops; i++) {
		const struct bin_op *o = &s->r->ops[i];
		uint64_t m = count_pieces(s, o);

		n += m;
		if (n > MOST_OPS)
			return refuse(s, i, "would become so many pieces that the rank has too many ops");
		if (m > 1 && (o->peer == BIN_ANY || o->tag == BIN_ANY))
			return refuse(s, i, "has a wildcard: its pieces could meet those of several messages");
		if (m > 1 && bin_nranges(o->kind) == 2 && ranges_overlap(o, 0, o, 1) && o->off[0] != o->off[1])
			return refuse(s, i, "has two ranges that overlap: its pieces would read what others wrote");
		s->of[i] = (struct split){ .pieces = (uint32_t)m, .before = BIN_NONE, .after = BIN_NONE,
					   .started = BIN_NONE };
	}
	*out = (uint32_t)n;
	return 0;
}

static void classify_deps(struct segment *s)
{
	const struct ir_rank *r = s->r;

	for (uint32_t i = 0; i < r->nops; i++)
		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++) {
			uint32_t on = r->deps[d] & ~BIN_START;

			s->by_pieces[d] = r->bufsize && !s->c->barrier && !(r->deps[d] & BIN_START) &&
					  (s->of[i].pieces > 1 || s->of[on].pieces > 1) &&
					  share_elements(&r->ops[i], &r->ops[on]);
		}
}

/* flow_walk() calls this for ops that access common elements, b after a. Keeps their order or refuses the schedule. */
static int mark_pieces(void *arg, enum flow_kind kind, uint32_t span, uint32_t a, uint32_t b)
{
	struct segment *s = arg;
	const struct ir_rank *r = s->r;

	(void)kind;
	(void)span;
	if (s->at != b) {
		s->at = b;
		for (uint32_t d = r->dep_at[b]; d < r->dep_at[b + 1]; d++)
			if (!(r->deps[d] & BIN_START))
				s->of[r->deps[d]].seen = b + 1;
	}
	if (s->of[a].seen == b + 1)
		return 0;
	s->of[a].seen = b + 1;
	if (flow_before(&s->flow, a, b, s->by_pieces))
		return 0;
	if (flow_before(&s->flow, a, b, NULL))
		return VEC_PUSH(&s->more, (struct bin_dep){ b, a });
	refuse(s, b, "would lose its order, which only messages see to, behind what touches the same elements");
	if (s->c->refused)
		s->c->refused->other = a + 1;
	return -ERR_PASS;
}

/* ---- the new ops ---- */

/* Decides which nops are needed, numbers all new ops, and makes them. */
static int make_ops(struct segment *s, uint32_t n)
{
	const struct ir_rank *r = s->r;
	/* for each op, three counts: its dependencies, dependencies on its end, and dependencies on its start */
	uint32_t *waits = mem_calloc(3 * (size_t)r->nops, sizeof *waits);
	uint32_t at = 0;

	if (!waits)
		return -ERR_NOMEM;
	for (uint32_t i = 0; i < r->nops; i++)
		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++)
			waits[3 * i] += !s->by_pieces[d];
	for (uint32_t i = 0; i < r->nops; i++)
		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++)
			if (!s->by_pieces[d])
				waits[3 * (r->deps[d] & ~BIN_START) + (r->deps[d] & BIN_START ? 2 : 1)] +=
					waits[3 * i] > 1 ? 1 : s->of[i].pieces;
	s->ops = mem_alloc((n + 3 * (size_t)r->nops) * sizeof *s->ops);
	for (uint32_t i = 0; i < r->nops && s->ops; i++) {
		const struct bin_op *o = &r->ops[i];
		const struct bin_op nop = { .kind = BIN_OP_NOP, .exec = o->exec, .level = o->level, .line = o->line };
		struct split *x = &s->of[i];

		if (x->pieces > 1 && waits[3 * i] > 1)
			s->ops[x->before = at++] = nop;
		x->first = at;
		for (uint32_t k = 0; k < x->pieces; k++) {
			struct bin_op *piece = &s->ops[at++];
			uint64_t skip = k * s->size;

			*piece = *o;
			if (x->pieces > 1)
				piece->len = k + 1 < x->pieces ? s->size : o->len - skip;
			for (unsigned c = 0; c < bin_nranges(o->kind); c++)
				piece->off[c] += skip;
		}
		if (x->pieces > 1 && waits[3 * i + 1] > 1)
			s->ops[x->after = at++] = nop;
		if (x->pieces > 1 && waits[3 * i + 2] > 1)
			s->ops[x->started = at++] = nop;
	}
	s->nops = at;
	free(waits);
	return s->ops ? 0 : -ERR_NOMEM;
}

/* Makes each of the n ops from `op` on wait for each of the m ops from `on` on. */
static int add_edges(struct segment *s, uint32_t op, uint32_t n, uint32_t on, uint32_t m, uint32_t start)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < m; k++)
			if (VEC_PUSH(&s->edges, (struct bin_dep){ op + i, (on + k) | start }))
				return -ERR_NOMEM;
	return 0;
}

/* Makes one op wait for another as a whole. */
static int add_whole_edges(struct segment *s, uint32_t op, uint32_t dep)
{
	const struct split *x = &s->of[op], *y = &s->of[dep & ~BIN_START];
	const uint32_t start = dep & BIN_START, join = start ? y->started : y->after;
	const bool one = x->before != BIN_NONE;

	return add_edges(s, one ? x->before : x->first, one ? 1 : x->pieces, join != BIN_NONE ? join : y->first,
			 join != BIN_NONE ? 1 : y->pieces, start);
}

/* Makes the pieces of range k of one op wait for the pieces of range l of another with which they share elements. */
static int ranges_by_pieces(struct segment *s, uint32_t op, unsigned k, uint32_t on, unsigned l)
{
	const struct split *x = &s->of[op], *y = &s->of[on];
	const uint64_t from = s->r->ops[op].off[k], end = from + s->r->ops[op].len;
	const uint64_t other = s->r->ops[on].off[l], others_end = other + s->r->ops[on].len;
	/* An op that is not split may have any length. */
	const uint64_t step = x->pieces > 1 ? s->size : end - from, others = y->pieces > 1 ? s->size : others_end - other;
	struct bin_dep *out;
	uint32_t j = 0;

	if (VEC_RESERVE(&s->edges, s->edges.n + x->pieces + y->pieces))
		return -ERR_NOMEM;
	out = s->edges.at + s->edges.n;
	for (uint32_t i = 0; i < x->pieces; i++) {
		uint64_t lo = from + i * step, hi = end - lo < step ? end : lo + step;

		while (j < y->pieces && other + j * others + others <= lo)
			j++;
		for (uint32_t m = j; m < y->pieces && other + m * others < hi; m++)
			if (lo < others_end)
				*out++ = (struct bin_dep){ x->first + i, y->first + m };
	}
	s->edges.n = (size_t)(out - s->edges.at);
	return 0;
}

static int by_pieces(struct segment *s, uint32_t op, uint32_t on)
{
	const struct bin_op *x = &s->r->ops[op], *y = &s->r->ops[on];
	int err = 0;

	for (unsigned k = 0; k < bin_nranges(x->kind); k++)
		for (unsigned l = 0; l < bin_nranges(y->kind) && !err; l++)
			if (ranges_overlap(x, k, y, l))
				err = ranges_by_pieces(s, op, k, on, l);
	return err;
}

static int make_edges(struct segment *s)
{
	const struct ir_rank *r = s->r;
	int err = VEC_RESERVE(&s->edges, 2 * (size_t)s->nops + r->dep_at[r->nops]);

	for (uint32_t i = 0; i < r->nops && !err; i++) {
		const struct split *x = &s->of[i];

		if (x->before != BIN_NONE)
			err = add_edges(s, x->first, x->pieces, x->before, 1, 0);
		if (x->after != BIN_NONE && !err)
			err = add_edges(s, x->after, 1, x->first, x->pieces, 0);
		if (x->started != BIN_NONE && !err)
			err = add_edges(s, x->started, 1, x->first, x->pieces, BIN_START);
		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1] && !err; d++)
			err = s->by_pieces[d] ? by_pieces(s, i, r->deps[d]) : add_whole_edges(s, i, r->deps[d]);
	}
	for (size_t i = 0; i < s->more.n && !err; i++)
		err = by_pieces(s, s->more.at[i].op, s->more.at[i].on);
	return err;
}

static int segment_rank(struct segment *s)
{
	struct ir_rank *r = s->r;
	uint32_t n = 0;
	int err = count_new_ops(s, &n);

	if (err)
		return err;
	classify_deps(s);
	if (r->bufsize) { /* in plain GOAL each op has elements of its own */
		err = flow_init(&s->flow, r);
		s->at = BIN_NONE;
		err = err ? err : flow_walk(&s->flow, mark_pieces, s);
	}
	if (err || n == r->nops)
		return err;
	err = make_ops(s, n);
	err = err ? err : make_edges(s);
	if (!err && s->edges.n > BIN_MAX_OPS)
		err = refuse(s, r->nops - 1, "is the last of a rank that would have too many dependencies");
	if (err)
		return err;
	free(r->ops);
	r->ops = s->ops;
	r->nops = s->nops;
	s->ops = NULL;
	return ir_rank_set_deps(r, s->edges.at, (uint32_t)s->edges.n);
}

int pass_segment(struct ir_rank *r, const struct pass_ctx *c)
{
	struct segment s = { .r = r, .c = c, .size = (uint64_t)c->value[0] };
	int err = 0;

	s.of = mem_alloc(r->nops * sizeof *s.of + r->dep_at[r->nops]);
	if (!s.of)
		return -ERR_NOMEM;
	s.by_pieces = (unsigned char *)(s.of + r->nops);
	if (r->nops)
		err = segment_rank(&s);
	flow_fini(&s.flow);
	VEC_FREE(&s.more);
	VEC_FREE(&s.edges);
	free(s.ops);
	free(s.of);
	return err;
}
