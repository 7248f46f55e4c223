/* SPDX-License-Identifier: BSD-3-Clause
 * sparse-rounds: arranges the messages of a neighbour collective in rounds, with at most one send and one recv of each
 * rank in a round. The heavy messages come first, in as few rounds as possible, and then the light ones (T. Hoefler, J.
 * L. Träff: Sparse Collective Operations for MPI, HIPS 2009). Rounds are the colours of the edges of a bipartite
 * multigraph of senders and receivers. So the number of heavy rounds is the largest number of heavy sends, or of heavy
 * recvs, of a rank; no order has fewer.
 *
 * On each rank, the ops of a round wait for those of the rank's previous round. This cannot deadlock, even if every
 * send waits for its recv. By induction, when all messages of earlier rounds are complete, both ends of a message of
 * this round may start. For that, no message of the given schedule may wait for another message, unless the dependency
 * only orders the two. The order of the rounds replaces such dependencies.
 *
 * A message may carry order as well as data: its arrival may prove to the receiver that the elements which it writes next
 * have been read. So the pass first finds all pairs of ops on common elements that the schedule
 * orders, and at the end checks that each pair is still ordered. A barrier consists of order only, so none of its
 * dependencies is dropped.
 *
 * If there are buffers, a message from a rank to itself becomes a copy, or a reduce if its recv was a recv-reduce. */
#include "compiler/passes/passes.h"

#include "compiler/analysis/checks.h"
#include "compiler/analysis/conflicts.h"
#include "compiler/analysis/match.h"
#include "compiler/passes/colour.h"
#include "compiler/verify/verify.h"
#include "format/check.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

struct messages {
	struct ir_match *v;
	size_t n;
	uint32_t *first; /* number of each rank's first op among the ops of all ranks */
	uint32_t *round; /* for each op, its round, counted from 1; 0 if the op is no message */
};

/* Pairs of ops that the schedule orders, and the new numbers of its ops. The ops of rank r were was[r] … was[r + 1] - 1. */
struct orders {
	struct conflicts of;
	uint32_t *was, *now; /* now: for each op, its present number in the rank */
};

/* ---- before the rounds ---- */

/* True if a dependency of one message on another only orders the two. The order of the rounds replaces such a dependency. */
static bool only_order(const struct ir_rank *r, bool plain, uint32_t op, uint32_t on)
{
	return bin_is_message(r->ops[op].kind) && bin_is_message(r->ops[on].kind) && (plain || !bin_conflict(&r->ops[op], &r->ops[on]));
}

struct edges {
	VEC(struct bin_dep) v;
};

/* Adds to op i the dependencies that it had only by way of dropped dependencies between messages. `stack` first holds
 * the n messages on which i depends, and has room for all ops. From these messages the walk follows dropped
 * dependencies to further messages. If i is a message, it gets dependencies on the other ops for which these messages
 * wait; if not, it gets dependencies on the further messages. `seen` has a mark for each op. */
static int inherit_dropped(const struct ir_rank *r, bool plain, uint32_t i, uint32_t *seen, uint32_t *stack, uint32_t n,
			   struct edges *out)
{
	bool message = bin_is_message(r->ops[i].kind);
	int err = 0;

	while (n && !err) {
		uint32_t y = stack[--n];

		for (uint32_t k = r->dep_at[y]; k < r->dep_at[y + 1] && !err; k++) {
			uint32_t on = r->deps[k] & ~BIN_START;
			bool order = only_order(r, plain, y, on);

			if (order && seen[on] != i + 1) {
				seen[on] = i + 1;
				stack[n++] = on;
			}
			/* A message gets a dependency on an op that waits for nothing only if the two conflict. */
			if (order ? !message : message && (r->dep_at[on] < r->dep_at[on + 1] ||
							   bin_conflict(&r->ops[on], &r->ops[i])))
				err = VEC_PUSH(&out->v, (struct bin_dep){ i, r->deps[k] });
		}
	}
	return err;
}

static int drop_order(struct ir_rank *r, bool plain)
{
	uint32_t *seen = mem_calloc(r->nops, sizeof *seen), *stack = mem_resize(NULL, r->nops, sizeof *stack);
	struct edges out = { 0 };
	int err = seen && stack ? 0 : -ERR_NOMEM;

	for (uint32_t i = 0; i < r->nops && !err; i++) {
		uint32_t n = 0;

		for (uint32_t k = r->dep_at[i]; k < r->dep_at[i + 1] && !err; k++) {
			uint32_t on = r->deps[k] & ~BIN_START;

			if (!only_order(r, plain, i, on))
				err = VEC_PUSH(&out.v, (struct bin_dep){ i, r->deps[k] });
			if (bin_is_message(r->ops[on].kind) && seen[on] != i + 1) {
				seen[on] = i + 1;
				stack[n++] = on;
			}
		}
		err = err ? err : inherit_dropped(r, plain, i, seen, stack, n, &out);
	}
	err = err ? err : ir_rank_set_deps(r, out.v.at, (uint32_t)out.v.n);
	VEC_FREE(&out.v);
	free(seen);
	free(stack);
	return err;
}

/* Updates the present numbers after the ops of a rank were renumbered: op i is now op number[i]. */
static void renumber(struct orders *o, uint32_t rank, const uint32_t *number)
{
	for (uint32_t i = o->was[rank]; i < o->was[rank + 1]; i++)
		o->now[i] = number[o->now[i]];
}

/* Replaces both ops of each of n messages of a rank to itself by a copy or a reduce. */
static int make_copies(struct ir_rank *r, const struct ir_match *m, size_t n, struct orders *o)
{
	uint32_t *by = mem_resize(NULL, r->nops, sizeof *by), *number = mem_resize(NULL, r->nops, sizeof *number);
	int err = by && number ? 0 : -ERR_NOMEM;

	for (uint32_t i = 0; i < r->nops && !err; i++)
		by[i] = i;
	for (size_t k = 0; k < n && !err; k++) {
		struct bin_op *send = &r->ops[m[k].send], *recv = &r->ops[m[k].recv];

		send->kind = recv->kind == BIN_OP_RECV	   ? BIN_OP_COPY :
			     recv->kind == BIN_OP_RECV_REDUCE ? BIN_OP_REDUCE :
								BIN_OP_REDUCE_WITH;
		send->peer = send->tag = 0;
		send->buf[1] = recv->buf[0];
		send->off[1] = recv->off[0];
		by[m[k].recv] = m[k].send;
	}
	if (!err) {
		ir_rank_renumbering(r, by, number);
		renumber(o, m->src, number);
		err = ir_rank_replace(r, by);
	}
	free(by);
	free(number);
	return err;
}

/* Checks that each send has its recv. */
static int check_matched(struct ir_graph *g, const struct ir_match *m, size_t n, const struct orders *o)
{
	bool *met = mem_calloc(o->was[g->nranks], sizeof *met);
	int err = met ? 0 : -ERR_NOMEM;

	for (size_t i = 0; i < n && !err; i++)
		met[o->was[m[i].src] + m[i].send] = met[o->was[m[i].dst] + m[i].recv] = true;
	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops && !err; i++) {
			const struct bin_op *op = &g->ranks[r].ops[i];

			if (bin_is_message(op->kind) && !met[o->was[r] + i])
				err = ir_refuse(&g->refused, r, i, "rank %u: no %s is sure to meet this %s", r,
						  ir_op_sends(op) ? "recv" : "send", ir_op_word(op->kind));
		}
	free(met);
	return err;
}

/* Lists the pairs of ops that the schedule orders. */
static int find_orders(struct ir_graph *g, const struct ir_match *m, size_t n, struct orders *o)
{
	uint64_t total = 0;
	int err;

	o->was = mem_calloc((size_t)g->nranks + 1, sizeof *o->was);
	for (uint32_t r = 0; r < g->nranks && o->was; r++) {
		total += g->ranks[r].nops;
		if (total >= BIN_MAX_OPS)
			return -ERR_RANGE;
		o->was[r + 1] = (uint32_t)total;
	}
	o->now = mem_resize(NULL, total, sizeof *o->now);
	if (!o->was || !o->now)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++)
			o->now[o->was[r] + i] = i;
	err = check_matched(g, m, n, o);
	if (err || g->plain)
		return err;
	return ir_graph_fits(g, m, n) ? conflicts_of_graph(&o->of, g, m, n) : -ERR_PASS;
}

/* Removes dependencies that only order two messages. Replaces messages of ranks to themselves by copies. */
static int prepare_graph(struct ir_graph *g, struct orders *o)
{
	struct ir_match *m = NULL;
	size_t n = 0, i = 0;
	int err = ir_graph_match(g, &m, &n);

	err = err ? err : find_orders(g, m, n, o);
	for (uint32_t r = 0; r < g->nranks && !err && !(g->bin && verify_is_barrier(g->bin)); r++)
		err = drop_order(&g->ranks[r], g->plain);
	while (i < n && !err && !g->plain) { /* the messages are sorted by sender and receiver */
		size_t from = i;

		while (i < n && m[i].src == m[from].src && m[i].dst == m[from].dst)
			i++;
		if (m[from].src == m[from].dst)
			err = make_copies(&g->ranks[m[from].src], m + from, i - from, o);
	}
	free(m);
	return err;
}

/* ---- rounds of all messages ---- */

static const struct bin_op *send_of(const struct ir_graph *g, const struct ir_match *m)
{
	return &g->ranks[m->src].ops[m->send];
}

static int find_messages(const struct ir_graph *g, struct messages *x)
{
	uint64_t total = 0;
	int err = ir_graph_match(g, &x->v, &x->n);

	x->first = mem_resize(NULL, g->nranks, sizeof *x->first);
	if (err || !x->first)
		return err ? err : -ERR_NOMEM;
	for (uint32_t r = 0; r < g->nranks; r++) {
		x->first[r] = (uint32_t)total;
		total += g->ranks[r].nops;
	}
	x->round = mem_calloc(total, sizeof *x->round);
	return x->round ? 0 : -ERR_NOMEM;
}

static uint64_t mean_length(const struct ir_graph *g, const struct messages *x)
{
	uint64_t whole = 0, rest = 0; /* quotients and remainders are added separately, because the sum of lengths may overflow */

	for (size_t i = 0; i < x->n; i++) {
		whole += send_of(g, &x->v[i])->len / x->n;
		rest += send_of(g, &x->v[i])->len % x->n;
	}
	return x->n ? whole + (rest + x->n - 1) / x->n : 0;
}

/* Assigns the messages of at least `limit` elements (if `heavy` is set), or all shorter messages, to rounds from *next on. */
static int colour_messages(const struct ir_graph *g, const struct messages *x, uint64_t limit, bool heavy,
			   uint32_t *next)
{
	struct colour_edge *edges = mem_resize(NULL, x->n, sizeof *edges);
	uint32_t *colour = mem_resize(NULL, x->n, sizeof *colour), n = 0, rounds = 0;
	int err = edges && colour ? 0 : -ERR_NOMEM;

	for (size_t i = 0; i < x->n && !err; i++)
		if ((send_of(g, &x->v[i])->len >= limit) == heavy)
			edges[n++] = (struct colour_edge){ x->v[i].src, x->v[i].dst };
	err = err ? err : colour_edges(edges, n, g->nranks, colour, &rounds);
	n = 0;
	for (size_t i = 0; i < x->n && !err; i++) {
		const struct ir_match *m = &x->v[i];

		if ((send_of(g, m)->len >= limit) != heavy)
			continue;
		x->round[x->first[m->src] + m->send] = *next + colour[n];
		x->round[x->first[m->dst] + m->recv] = *next + colour[n++];
	}
	*next += rounds;
	free(edges);
	free(colour);
	return err;
}

/* ---- one rank ---- */

/* Returns the message that gives op i the key `last`, found along the dependencies of i. */
static uint32_t message_before(const struct ir_rank *r, const uint32_t *round, const uint32_t *key, uint32_t i, uint32_t last)
{
	do {
		uint32_t k = r->dep_at[i];

		while (key[r->deps[k] & ~BIN_START] != last)
			k++;
		i = r->deps[k] & ~BIN_START;
	} while (!round[i]);
	return i;
}

/* Computes the keys of ops. The key of a message is its round. The key of another op is the last round that it waits for.
 * A message must not wait for another message. `order` is a topological order of the ops. */
static int find_keys(struct ir_graph *g, uint32_t rank, const uint32_t *round, const uint32_t *order, uint32_t *key)
{
	const struct ir_rank *r = &g->ranks[rank];

	for (uint32_t p = 0; p < r->nops; p++) {
		uint32_t i = order[p], last = 0;

		for (uint32_t k = r->dep_at[i]; k < r->dep_at[i + 1]; k++) {
			uint32_t on = key[r->deps[k] & ~BIN_START];

			last = on > last ? on : last;
		}
		if (round[i] && last)
			return ir_refuse(&g->refused, rank, i,
					   "rank %u: this %s waits for %s, and rounds are for messages that can go without each other",
					   rank, ir_op_word(r->ops[i].kind),
					   check_op_text(g, rank, message_before(r, round, key, i, last)).s);
		key[i] = round[i] ? round[i] : last;
	}
	return 0;
}

/* Sorts the ops by key. The sort is stable: ops with equal keys keep their order. */
static int sort_by_key(uint32_t *order, uint32_t n, const uint32_t *key, uint32_t rounds)
{
	uint32_t *at = mem_calloc((size_t)rounds + 2, sizeof *at), *out = mem_resize(NULL, n, sizeof *out);
	int err = at && out ? 0 : -ERR_NOMEM;

	for (uint32_t i = 0; i < n && !err; i++)
		at[key[i] + 1]++;
	for (uint32_t k = 1; k <= rounds && !err; k++)
		at[k] += at[k - 1];
	for (uint32_t p = 0; p < n && !err; p++)
		out[at[key[order[p]]]++] = order[p];
	if (!err)
		memcpy(order, out, n * sizeof *out);
	free(at);
	free(out);
	return err;
}

/* Makes the ops of a round, at most two, wait for the ops of the rank's previous round. */
static int chain_rounds(struct ir_rank *r, const uint32_t *order, const uint32_t *round)
{
	VEC(struct bin_dep) edges = { 0 };
	uint32_t now[2], before[2], nnow = 0, nbefore = 0, last = 0;
	int err = 0;

	for (uint32_t i = 0; i < r->nops; i++)
		for (uint32_t k = r->dep_at[i]; k < r->dep_at[i + 1] && !err; k++)
			err = VEC_PUSH(&edges, (struct bin_dep){ i, r->deps[k] });
	for (uint32_t p = 0; p < r->nops && !err; p++) {
		uint32_t i = order[p];

		if (!round[i])
			continue;
		if (round[i] != last) {
			memcpy(before, now, sizeof now);
			nbefore = nnow;
			nnow = 0;
			last = round[i];
		}
		now[nnow++] = i;
		for (uint32_t k = 0; k < nbefore && !err; k++)
			err = VEC_PUSH(&edges, (struct bin_dep){ i, before[k] });
	}
	err = err ? err : ir_rank_set_deps(r, edges.at, (uint32_t)edges.n);
	VEC_FREE(&edges);
	return err;
}

/* Reorders the ops by key and, for equal keys, in a topological order. Then dependencies point back, and the messages
 * of a channel are in the order of their rounds on both ends, so that the same ops match as before. */
static int arrange_ops(struct ir_graph *g, uint32_t rank, const uint32_t *round, uint32_t rounds, struct orders *o)
{
	struct ir_rank *r = &g->ranks[rank];
	uint32_t *pos = mem_resize(NULL, r->nops, sizeof *pos), *order = mem_resize(NULL, r->nops, sizeof *order);
	uint32_t *key = mem_resize(NULL, r->nops, sizeof *key), bad;
	int err = pos && order && key ? ir_rank_positions(r, pos, &bad) : -ERR_NOMEM;

	if (err == -ERR_CYCLE)
		err = ir_refuse(&g->refused, rank, bad, "rank %u: this %s stands for both ends of a message, of which one waits for "
				  "the other by way of other ops", rank, ir_op_word(r->ops[bad].kind));
	for (uint32_t i = 0; i < r->nops && !err; i++)
		order[pos[i]] = i;
	err = err ? err : find_keys(g, rank, round, order, key);
	err = err ? err : sort_by_key(order, r->nops, key, rounds);
	err = err ? err : chain_rounds(r, order, round);
	for (uint32_t p = 0; p < r->nops && !err; p++)
		pos[order[p]] = p;
	if (!err) {
		renumber(o, rank, pos);
		err = ir_rank_reorder(r, pos);
	}
	free(pos);
	free(order);
	free(key);
	return err;
}

/* ---- check of the orders ---- */

/* A pair of ordered ops, given by their new numbers. */
struct kept {
	uint32_t rank, first, second;
};

static struct kept find_kept(const struct orders *o, const struct conflict *c, uint32_t rank)
{
	while (c->second >= o->was[rank + 1])
		rank++;
	return (struct kept){ rank, o->now[c->first], o->now[c->second] };
}

static int refuse_lost(struct ir_graph *g, const struct kept *k)
{
	return ir_refuse(&g->refused, k->rank, k->second,
			   "rank %u: other messages see to it that this %s comes after %s, which touches the same elements; in "
			   "rounds they would not",
			   k->rank, ir_op_word(g->ranks[k->rank].ops[k->second].kind), check_op_text(g, k->rank, k->first).s);
}

static int check_kept(struct ir_graph *g, const struct orders *o, const struct ir_events *ev)
{
	const size_t n = o->of.v.n;
	struct ir_query *q = mem_alloc(n * sizeof *q);
	struct kept *k = mem_alloc(n * sizeof *k);
	int err = q && k ? 0 : -ERR_NOMEM;

	for (size_t i = 0; i < n && !err; i++) { /* the pairs are sorted by rank */
		k[i] = find_kept(o, &o->of.v.at[i], i ? k[i - 1].rank : 0);
		q[i] = conflict_query(g, ev, k[i].rank, k[i].first, k[i].second);
		if (k[i].first == k[i].second) /* both ends of a message that has become a copy */
			q[i].to[0] = q[i].from[0];
	}
	err = err ? err : ir_events_reach(ev, q, n);
	for (size_t i = 0; i < n && !err; i++)
		if (!q[i].yes)
			err = refuse_lost(g, &k[i]);
	free(q);
	free(k);
	return err;
}

static int check_orders(struct ir_graph *g, const struct orders *o)
{
	struct ir_events ev;
	int err = ir_events_of(&ev, g);

	if (!err && ev.sorted < ev.n)
		err = -ERR_DEADLOCK;
	err = err ? err : check_kept(g, o, &ev);
	ir_events_fini(&ev);
	return err;
}

int pass_sparse_rounds(struct ir_graph *g, const struct pass_ctx *c)
{
	struct messages x = { 0 };
	struct orders o = { 0 };
	uint32_t next = 1;
	int err = prepare_graph(g, &o);

	err = err ? err : find_messages(g, &x);
	if (!err) {
		uint64_t limit = c->value[0] ? (uint64_t)c->value[0] : mean_length(g, &x);

		err = colour_messages(g, &x, limit, true, &next);
		err = err ? err : colour_messages(g, &x, limit, false, &next);
	}
	for (uint32_t r = 0; r < g->nranks && !err; r++)
		err = arrange_ops(g, r, x.round + x.first[r], next, &o);
	if (!err && o.of.v.n)
		err = check_orders(g, &o);
	free(x.v);
	free(x.first);
	free(x.round);
	conflicts_free(&o.of);
	free(o.was);
	free(o.now);
	return err;
}
