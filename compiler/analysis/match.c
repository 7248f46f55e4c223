/* SPDX-License-Identifier: BSD-3-Clause
 * Matches messages: the k-th send of a channel with the k-th recv. Contains the checks unmatched, size and order. */
#include "compiler/analysis/match.h"

#include "compiler/analysis/events.h"
#include "compiler/analysis/finding.h"
#include "util/err.h"
#include "util/order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct end {
	uint32_t src, dst, tag, op;
};

/* A list of ends of messages. */
struct ends {
	VEC(struct end) v;
};

static int by_channel(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	ORDER_BY(x->src, y->src);
	ORDER_BY(x->dst, y->dst);
	ORDER_BY(x->tag, y->tag);
	return (x->op > y->op) - (x->op < y->op);
}

static bool same_channel(const struct end *x, const struct end *y)
{
	return x->src == y->src && x->dst == y->dst && x->tag == y->tag;
}

/* Sorts ends that are grouped by sender: by channel, then in program order. The ends of one sender are mostly sorted
 * already, or few. */
static void sort_senders(struct ends *ends)
{
	struct end *at = ends->v.at;

	for (size_t from = 0, to; from < ends->v.n; from = to) {
		bool sorted = true;

		for (to = from + 1; to < ends->v.n && at[to].src == at[from].src; to++)
			sorted &= by_channel(&at[to - 1], &at[to]) < 0;
		if (!sorted)
			qsort(at + from, to - from, sizeof *at, by_channel);
	}
}

/* Sorts recvs, which are in the order of their receivers, by sender. */
static int by_senders(struct ends *ends, uint32_t nranks)
{
	struct ends out = { 0 };
	size_t *at = mem_calloc((size_t)nranks + 1, sizeof *at);

	if (!at || VEC_RESERVE(&out.v, ends->v.n)) {
		free(at);
		return -ERR_NOMEM;
	}
	for (size_t i = 0; i < ends->v.n; i++)
		at[ends->v.at[i].src + 1]++;
	for (uint32_t r = 0; r < nranks; r++)
		at[r + 1] += at[r];
	for (size_t i = 0; i < ends->v.n; i++)
		out.v.at[at[ends->v.at[i].src]++] = ends->v.at[i];
	out.v.n = ends->v.n;
	free(at);
	VEC_FREE(&ends->v);
	*ends = out;
	return 0;
}

/* Marks the ranks with a wildcard, and counts the ends of messages. */
static void count(const struct ir_graph *g, bool *wild, size_t *sends, size_t *recvs)
{
	*sends = *recvs = 0;
	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++) {
			const struct bin_op *op = &g->ranks[r].ops[i];

			if (ir_op_recvs(op)) {
				++*recvs;
				wild[r] |= op->peer == BIN_ANY || op->tag == BIN_ANY;
			} else if (ir_op_sends(op)) {
				++*sends;
				wild[op->peer] |= op->tag == BIN_ANY;
			}
		}
}

/* Lists the sends and the recvs, each by channel and then in program order. Ends at a rank with a wildcard are left
 * out; wild[r] is set for such a rank. */
static int collect_ends(const struct ir_graph *g, struct ends *sends, struct ends *recvs, bool **wild)
{
	size_t nsends, nrecvs;
	int err;

	*sends = *recvs = (struct ends){ 0 };
	*wild = mem_calloc(g->nranks, 1);
	if (!*wild)
		return -ERR_NOMEM;
	count(g, *wild, &nsends, &nrecvs);
	if (VEC_RESERVE(&sends->v, nsends) || VEC_RESERVE(&recvs->v, nrecvs))
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++) {
			const struct bin_op *op = &g->ranks[r].ops[i];

			if (ir_op_sends(op) && !(*wild)[op->peer])
				sends->v.at[sends->v.n++] = (struct end){ r, op->peer, op->tag, i };
			if (ir_op_recvs(op) && !(*wild)[r])
				recvs->v.at[recvs->v.n++] = (struct end){ op->peer, r, op->tag, i };
		}
	err = by_senders(recvs, g->nranks);
	if (err)
		return err;
	sort_senders(sends);
	sort_senders(recvs);
	return 0;
}

static void free_ends(struct ends *sends, struct ends *recvs, bool *wild)
{
	VEC_FREE(&sends->v);
	VEC_FREE(&recvs->v);
	free(wild);
}

/* Functions to call for each pair of ends, and for each end without a partner. */
struct visitor {
	void *arg;
	int (*pair)(void *arg, const struct end *s, const struct end *r);
	int (*lone)(void *arg, const struct end *e, bool send);
};

static int walk_channels(const struct ends *sends, const struct ends *recvs, const struct visitor *v)
{
	size_t i = 0, k = 0;
	int err = 0;

	while (!err && (i < sends->v.n || k < recvs->v.n)) {
		const struct end *s = i < sends->v.n ? &sends->v.at[i] : NULL;
		const struct end *r = k < recvs->v.n ? &recvs->v.at[k] : NULL;

		if (s && r && same_channel(s, r)) {
			err = v->pair ? v->pair(v->arg, s, r) : 0;
			i++;
			k++;
		} else if (!r || (s && by_channel(s, r) < 0)) {
			/* by_channel also compares op numbers, but only within a channel. */
			err = v->lone ? v->lone(v->arg, s, true) : 0;
			i++;
		} else {
			err = v->lone ? v->lone(v->arg, r, false) : 0;
			k++;
		}
	}
	return err;
}

struct matches {
	VEC(struct ir_match) v;
};

static int add_match(void *arg, const struct end *s, const struct end *r)
{
	struct matches *m = arg;

	return VEC_PUSH(&m->v, (struct ir_match){ s->src, s->op, r->dst, r->op });
}

int ir_graph_match(const struct ir_graph *g, struct ir_match **out, size_t *n)
{
	struct ends sends, recvs;
	struct matches m = { 0 };
	bool *wild;
	int err = collect_ends(g, &sends, &recvs, &wild);

	err = err ? err : VEC_RESERVE(&m.v, sends.v.n < recvs.v.n ? sends.v.n : recvs.v.n);
	if (!err)
		err = walk_channels(&sends, &recvs, &(struct visitor){ .arg = &m, .pair = add_match });
	free_ends(&sends, &recvs, wild);
	if (err)
		VEC_FREE(&m.v);
	*out = m.v.at;
	*n = m.v.n;
	return err;
}

bool ir_graph_fits(const struct ir_graph *g, const struct ir_match *m, size_t nm)
{
	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++) {
			const struct bin_op *op = &g->ranks[r].ops[i];

			for (unsigned k = 0; k < bin_nranges(op->kind); k++) {
				const uint64_t size = op->buf[k] < g->nbuffers ? g->ranks[r].bufsize[op->buf[k]] : 0;

				if (op->len > size || op->off[k] > size - op->len)
					return false;
			}
		}
	for (size_t i = 0; i < nm; i++)
		if (g->ranks[m[i].src].ops[m[i].send].len != g->ranks[m[i].dst].ops[m[i].recv].len)
			return false;
	return true;
}

struct report {
	struct goal_diags *d;
	const struct ir_graph *g;
	const struct check *self;
	enum goal_severity s;
	struct matches *found; /* all pairs, for checks that follow; NULL if these are not needed */
};

static int keep_pair(void *arg, const struct end *s, const struct end *r)
{
	const struct report *p = arg;

	return add_match(p->found, s, r);
}

static int lone_end(void *arg, const struct end *e, bool send)
{
	const struct report *p = arg;

	if (send)
		check_found(p->d, p->g, p->self->name, p->s, e->src, e->op,
			    "this send from rank %u to rank %u with tag %u has no recv", e->src, e->dst, e->tag);
	else
		check_found(p->d, p->g, p->self->name, p->s, e->dst, e->op,
			    "this recv of rank %u from rank %u with tag %u has no send", e->dst, e->src, e->tag);
	return 0;
}

static int count_wild(const struct report *p, const bool *wild)
{
	const struct ir_graph *g = p->g;
	uint64_t *to;

	if (!memchr(wild, true, g->nranks))
		return 0;
	to = mem_calloc(g->nranks, sizeof *to);
	if (!to)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++)
			if (ir_op_sends(&g->ranks[r].ops[i]))
				to[g->ranks[r].ops[i].peer]++;
	for (uint32_t r = 0; r < g->nranks; r++) {
		uint64_t recvs = 0;
		uint32_t last = 0;

		for (uint32_t i = 0; i < g->ranks[r].nops; i++)
			if (ir_op_recvs(&g->ranks[r].ops[i])) {
				recvs++;
				last = i;
			}
		if (!wild[r] || recvs == to[r])
			continue;
		if (recvs)
			check_found(p->d, g, p->self->name, p->s, r, last,
				    "with wildcards rank %u has recvs: %" PRIu64 ", but sends go to it: %" PRIu64, r, recvs,
				    to[r]);
		else
			goal_diag(p->d, p->s, (struct goal_loc){ .file = (uint16_t)g->file }, p->self->name,
				  "rank %u has no recv, but sends go to it: %" PRIu64, r, to[r]);
	}
	free(to);
	return 0;
}

/* Walks over the ends of all messages for a check, and then calls `more`, unless it is NULL. */
static int visit_ends(struct report *p, struct visitor v, int (*more)(const struct report *, const bool *))
{
	struct ends sends, recvs;
	bool *wild;
	int err = collect_ends(p->g, &sends, &recvs, &wild);

	v.arg = p;
	if (!err && p->found)
		err = VEC_RESERVE(&p->found->v, sends.v.n < recvs.v.n ? sends.v.n : recvs.v.n);
	if (!err)
		err = walk_channels(&sends, &recvs, &v);
	if (!err && more)
		err = more(p, wild);
	free_ends(&sends, &recvs, wild);
	return err;
}

CHECK(unmatched)
{
	struct matches m = { 0 };
	struct report p = { d, g, self, s, g->left ? &m : NULL };
	int err = visit_ends(&p, (struct visitor){ .lone = lone_end, .pair = g->left ? keep_pair : NULL }, count_wild);

	if (err || !g->left) {
		VEC_FREE(&m.v);
		return err;
	}
	free(g->left->m);
	g->left->m = m.v.at;
	g->left->nm = m.v.n;
	return 0;
}

static void compare_sizes(const struct report *p, const struct ir_match *m)
{
	const struct ir_graph *g = p->g;
	const struct bin_op *send = &g->ranks[m->src].ops[m->send];
	const uint64_t ls = send->len, lr = g->ranks[m->dst].ops[m->recv].len;
	const char *unit = g->plain ? "bytes" : "elements";

	if (ls != lr)
		check_found(p->d, g, p->self->name, p->s, m->dst, m->recv,
			    "this recv of rank %u takes %" PRIu64 " %s, its send from rank %u (line %u) has %" PRIu64,
			    m->dst, lr, unit, m->src, ir_graph_loc(g, send).line, ls);
}

static int size_pair(void *arg, const struct end *s, const struct end *r)
{
	compare_sizes(arg, &(struct ir_match){ s->src, s->op, r->dst, r->op });
	return 0;
}

CHECK(size)
{
	struct report p = { d, g, self, s, NULL };

	if (!g->left || !g->left->m)
		return visit_ends(&p, (struct visitor){ .pair = size_pair }, NULL);
	for (size_t i = 0; i < g->left->nm; i++)
		compare_sizes(&p, &g->left->m[i]);
	return 0;
}

/* ---- order ---- */

bool ir_rank_points_back(const struct ir_rank *rank)
{
	for (uint32_t i = 0; i < rank->nops; i++)
		for (uint32_t k = rank->dep_at[i]; k < rank->dep_at[i + 1]; k++)
			if ((rank->deps[k] & ~BIN_START) > i)
				return false;
	return true;
}

int ir_rank_chain(const struct ir_rank *rank, bool starts, struct ir_rank *out, uint32_t *pairs)
{
	VEC(struct bin_dep) edges = { 0 };
	struct ends ends = { 0 };
	int err = 0;

	*out = (struct ir_rank){ .nops = rank->nops };
	*pairs = 0;
	for (uint32_t i = 0; i < rank->nops && !err; i++) {
		const struct bin_op *op = &rank->ops[i];

		for (uint32_t k = rank->dep_at[i]; k < rank->dep_at[i + 1] && !err; k++)
			err = VEC_PUSH(&edges, (struct bin_dep){ i, starts ? rank->deps[k] : rank->deps[k] & ~BIN_START });
		if (bin_is_message(op->kind) && !err)
			err = VEC_PUSH(&ends.v, (struct end){ ir_op_sends(op), op->peer, op->tag, i });
	}
	ORDER_VEC(&ends.v, by_channel);
	for (size_t i = 1; i < ends.v.n && !err; i++)
		if (same_channel(&ends.v.at[i - 1], &ends.v.at[i])) {
			err = VEC_PUSH(&edges, (struct bin_dep){ ends.v.at[i].op, ends.v.at[i - 1].op | (starts ? BIN_START : 0) });
			++*pairs;
		}
	err = err ? err : ir_rank_set_deps(out, edges.at, (uint32_t)edges.n);
	VEC_FREE(&edges);
	VEC_FREE(&ends.v);
	return err;
}

/* For each two consecutive ops of a channel, adds a dependency of the second on the first. If this closes a cycle, the
 * rank's own dependencies contradict the order of the text. */
int ir_rank_order(const struct ir_rank *rank, uint32_t *bad)
{
	struct ir_rank with;
	uint32_t pairs;
	int err;

	if (ir_rank_points_back(rank))
		return 0;
	err = ir_rank_chain(rank, true, &with, &pairs);
	if (!err && pairs) /* without pairs, nothing is added */
		err = ir_rank_positions(&with, NULL, bad);
	ir_rank_fini(&with);
	return err;
}

CHECK(order)
{
	int err = 0;

	for (uint32_t r = 0; r < g->nranks && !err; r++) {
		uint32_t bad;

		err = ir_rank_order(&g->ranks[r], &bad);
		if (err == -ERR_CYCLE) {
			err = 0;
			check_found(d, g, self->name, s, r, bad,
				    "rank %u: the order of the text on a channel contradicts the dependencies", r);
		}
	}
	return err;
}
