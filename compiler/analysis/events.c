/* SPDX-License-Identifier: BSD-3-Clause
 * The event graph, a topological order of it, and the check for deadlocks: there is a deadlock if no such order exists. */
#include "compiler/analysis/events.h"

#include "compiler/analysis/finding.h"
#include "util/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ir_events_fini(struct ir_events *ev)
{
	free(ev->base);
	free(ev->pred_at);
	free(ev->pred);
	free(ev->partner);
	free(ev->order);
	free(ev->pos);
	*ev = (struct ir_events){ 0 };
}

/* Marks the ops that another op of their rank waits for. Returns NULL when out of memory. */
static bool *find_awaited(const struct ir_graph *g, const struct ir_events *ev)
{
	bool *awaited = mem_calloc(ev->nops, sizeof *awaited);

	for (uint32_t r = 0; awaited && r < g->nranks; r++) {
		const struct ir_rank *rank = &g->ranks[r];

		for (uint32_t k = 0; k < rank->dep_at[rank->nops]; k++)
			if (!(rank->deps[k] & BIN_START))
				awaited[ev->base[r] + rank->deps[k]] = true;
	}
	return awaited;
}

/* Calls add(ev, to, from) for each edge of the graph, where event `from` comes before event `to`. Edges that other edges imply
 * are left out: an awaited op needs no edge to the end of its rank, because the ops that wait for it have one. */
static void each_edge(const struct ir_graph *g, struct ir_events *ev, const struct ir_match *m, size_t nm, bool rendezvous,
		      const bool *awaited, void (*add)(struct ir_events *ev, uint32_t to, uint32_t from))
{
	for (uint32_t r = 0; r < g->nranks; r++) {
		const struct ir_rank *rank = &g->ranks[r];
		uint32_t starts = ir_rank_event(ev, r, false), completes = ir_rank_event(ev, r, true);

		add(ev, completes, starts);
		for (uint32_t i = 0; i < rank->nops; i++) {
			uint32_t me = 2 * (ev->base[r] + i);

			add(ev, me + 1, me);
			if (!awaited[ev->base[r] + i])
				add(ev, completes, me + 1);
			if (rank->dep_at[i] == rank->dep_at[i + 1])
				add(ev, me, starts);
			for (uint32_t k = rank->dep_at[i]; k < rank->dep_at[i + 1]; k++) {
				uint32_t on = 2 * (ev->base[r] + (rank->deps[k] & ~BIN_START));

				add(ev, me, rank->deps[k] & BIN_START ? on : on + 1);
			}
		}
	}
	for (size_t i = 0; i < nm; i++) {
		uint32_t s = 2 * (ev->base[m[i].src] + m[i].send), r = 2 * (ev->base[m[i].dst] + m[i].recv);

		add(ev, r + 1, s); /* a recv completes after its send started */
		if (rendezvous)
			add(ev, s + 1, r);
	}
}

static void count_edge(struct ir_events *ev, uint32_t to, uint32_t from)
{
	(void)from;
	ev->pred_at[to + 2]++;
}

static void put_edge(struct ir_events *ev, uint32_t to, uint32_t from)
{
	ev->pred[ev->pred_at[to + 1]++] = from;
}

static int number_ops(struct ir_events *ev, const struct ir_graph *g)
{
	uint64_t total = 0;

	ev->base = mem_calloc((size_t)g->nranks + 1, sizeof *ev->base);
	if (!ev->base)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < g->nranks; r++) {
		ev->base[r] = (uint32_t)total;
		total += g->ranks[r].nops;
		if (total + g->nranks > UINT32_MAX / 4 - g->nranks)
			return -ERR_NOMEM;
	}
	ev->base[g->nranks] = ev->nops = (uint32_t)total;
	ev->nranks = g->nranks;
	ev->n = 2 * (ev->nops + g->nranks);
	return 0;
}

int ir_events_init(struct ir_events *ev, const struct ir_graph *g, const struct ir_match *m, size_t nm,
		   bool rendezvous)
{
	bool *awaited;
	int err;

	*ev = (struct ir_events){ 0 };
	err = number_ops(ev, g);
	if (err)
		return err;
	ev->partner = mem_calloc(ev->nops, sizeof *ev->partner);
	ev->pred_at = mem_calloc((size_t)ev->n + 3, sizeof *ev->pred_at);
	if (!ev->partner || !ev->pred_at)
		return -ERR_NOMEM;
	for (size_t i = 0; i < nm; i++) {
		uint32_t s = ev->base[m[i].src] + m[i].send, r = ev->base[m[i].dst] + m[i].recv;

		ev->partner[s] = r + 1;
		ev->partner[r] = s + 1;
	}
	awaited = find_awaited(g, ev);
	if (!awaited)
		return -ERR_NOMEM;
	each_edge(g, ev, m, nm, rendezvous, awaited, count_edge);
	for (uint32_t e = 2; e < ev->n + 2; e++)
		ev->pred_at[e] += ev->pred_at[e - 1];
	ev->pred = mem_alloc((size_t)ev->pred_at[ev->n + 1] * sizeof *ev->pred);
	if (ev->pred)
		each_edge(g, ev, m, nm, rendezvous, awaited, put_edge);
	free(awaited);
	return ev->pred ? 0 : -ERR_NOMEM;
}

/* Replaces each edge of rendezvous by a duplicate of the edge from the send's start to its completion. */
void ir_events_relax(struct ir_events *ev, const struct ir_match *m, size_t nm)
{
	for (size_t i = 0; i < nm; i++) {
		uint32_t s = 2 * (ev->base[m[i].src] + m[i].send), r = 2 * (ev->base[m[i].dst] + m[i].recv);

		for (uint32_t p = ev->pred_at[s + 1]; p < ev->pred_at[s + 2]; p++)
			ev->pred[p] = ev->pred[p] == r ? s : ev->pred[p];
	}
}

struct ir_match *ir_events_messages(const struct ir_events *ev, const struct ir_graph *g, size_t nm)
{
	struct ir_match *m = mem_alloc(nm * sizeof *m);
	size_t n = 0;

	for (uint32_t r = 0; m && r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++) {
			const struct bin_op *op = &g->ranks[r].ops[i];
			const uint32_t partner = ev->partner[ev->base[r] + i];

			if (partner && ir_op_sends(op))
				m[n++] = (struct ir_match){ r, i, op->peer, partner - 1 - ev->base[op->peer] };
		}
	return m;
}

uint32_t ir_events_rank(const struct ir_events *ev, uint32_t op)
{
	uint32_t lo = 0, hi = ev->nranks;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (ev->base[mid] <= op)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* Kahn's algorithm. The next event is the one that became ready first or, if `deep` is set, last. */
static int sort(struct ir_events *ev, bool deep)
{
	const uint32_t n = ev->n;
	uint32_t *wait = mem_alloc((size_t)n * sizeof *wait);
	uint32_t *succ_at = mem_calloc((size_t)n + 2, sizeof *succ_at);
	uint32_t *succ = mem_alloc((size_t)ev->pred_at[n] * sizeof *succ), *ready;
	uint32_t head = 0, nready = 0;
	int err;

	ev->order = mem_alloc((size_t)n * sizeof *ev->order);
	ev->pos = mem_alloc((size_t)n * sizeof *ev->pos);
	ready = deep ? ev->pos : ev->order; /* `ready` is a stack (deep) or a queue */
	err = wait && succ_at && succ && ev->order && ev->pos ? 0 : -ERR_NOMEM;
	if (err)
		goto out;
	for (uint32_t p = 0; p < ev->pred_at[n]; p++)
		succ_at[ev->pred[p] + 2]++;
	for (uint32_t e = 2; e < n + 2; e++)
		succ_at[e] += succ_at[e - 1];
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t e = deep ? n - 1 - i : i;

		wait[e] = ev->pred_at[e + 1] - ev->pred_at[e];
		for (uint32_t p = ev->pred_at[e]; p < ev->pred_at[e + 1]; p++)
			succ[succ_at[ev->pred[p] + 1]++] = e;
		if (!wait[e])
			ready[nready++] = e;
	}
	while (head < nready) {
		const uint32_t e = deep ? ready[--nready] : ready[head++];

		ev->order[ev->sorted++] = e;
		for (uint32_t k = succ_at[e]; k < succ_at[e + 1]; k++)
			if (--wait[succ[k]] == 0)
				ready[nready++] = succ[k];
	}
	memset(ev->pos, 0xff, (size_t)n * sizeof *ev->pos);
	for (uint32_t at = 0; at < ev->sorted; at++)
		ev->pos[ev->order[at]] = at;
out:
	free(wait);
	free(succ_at);
	free(succ);
	return err;
}

int ir_events_sort(struct ir_events *ev)
{
	return sort(ev, false);
}

int ir_events_sort_deep(struct ir_events *ev)
{
	return sort(ev, true);
}

int ir_events_of(struct ir_events *ev, const struct ir_graph *g)
{
	struct ir_match *m = NULL;
	size_t nm = 0;
	int err = ir_graph_match(g, &m, &nm);

	*ev = (struct ir_events){ 0 };
	err = err ? err : ir_events_init(ev, g, m, nm, false);
	err = err ? err : ir_events_sort(ev);
	free(m);
	return err;
}

/* ---- deadlock ---- */

/* Returns a predecessor of e that, like e, is not in the order. */
static uint32_t waits_for(const struct ir_events *ev, uint32_t e)
{
	for (uint32_t p = ev->pred_at[e]; p < ev->pred_at[e + 1]; p++)
		if (ev->pos[ev->pred[p]] == UINT32_MAX)
			return ev->pred[p];
	return e;
}

#define SHOWN 8u /* most ops of a cycle that a message names */

/* Reports a deadlock. A walk backwards among the unsorted events ends in a cycle, and the message lists the ops of that
 * cycle. */
static void report_cycle(struct goal_diags *d, const struct ir_graph *g, const struct ir_events *ev,
			 const struct check *self, enum goal_severity s)
{
	uint32_t first = 0, e, op, shown = 0, more = 0;
	char text[SHOWN * sizeof(struct check_text) + 64] = "itself by way of messages";
	size_t len = 0;

	while (ev->pos[first] != UINT32_MAX)
		first++;
	for (uint32_t step = 0; step < ev->n; step++)
		first = waits_for(ev, first);
	for (e = waits_for(ev, first), op = first; e != op; e = waits_for(ev, e))
		first = e < first ? e : first;
	op = first / 2;
	for (e = waits_for(ev, first); e != first; e = waits_for(ev, e)) {
		uint32_t rank = ir_events_rank(ev, e / 2);

		if (e / 2 == op)
			continue;
		op = e / 2;
		if (op == first / 2)
			continue;
		if (shown == SHOWN - 1) {
			more++;
			continue;
		}
		len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", shown++ ? ", that for " : "",
					check_op_text(g, rank, op - ev->base[rank]).s);
	}
	if (more)
		len += (size_t)snprintf(text + len, sizeof text - len, ", and so on by way of %u more", more);
	if (shown)
		snprintf(text + len, sizeof text - len, ", and that for this op");
	op = ir_events_rank(ev, first / 2);
	check_found(d, g, self->name, s, op, first / 2 - ev->base[op], "deadlock: this op of rank %u waits for %s", op,
		    text);
}

void ir_left_fini(struct ir_left *left)
{
	free(left->m);
	ir_events_fini(&left->ev);
	*left = (struct ir_left){ 0 };
}

CHECK(deadlock)
{
	struct ir_left x = { 0 };
	int err;

	if (g->left) { /* the messages are known */
		x = *g->left;
		*g->left = (struct ir_left){ 0 };
	}
	err = x.m ? 0 : ir_graph_match(g, &x.m, &x.nm);
	err = err ? err : ir_events_init(&x.ev, g, x.m, x.nm, true);
	err = err ? err : ir_events_sort_deep(&x.ev);
	if (!err && x.ev.sorted < x.ev.n)
		report_cycle(d, g, &x.ev, self, s);
	else if (!err && g->left) {
		*g->left = x;
		return 0;
	}
	ir_left_fini(&x);
	return err;
}
