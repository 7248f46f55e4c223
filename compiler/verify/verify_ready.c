/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the messages that need a ready signal. A message that is written directly into the receiver's buffer must not
 * arrive before its recv has started. For some messages the schedule guarantees that: a path of dependencies and messages
 * leads from the start of the recv to the start of the send. For the others, the receiver must signal that it is ready. */
#include "compiler/verify/verify_parts.h"

#include "util/err.h"

#include <stdlib.h>

/* Returns, for each op, true if it starts as soon as its rank starts, whatever other ranks do. */
static bool *started_at_once(const struct ir_graph *g, const struct ir_events *ev)
{
	bool *at_once = mem_calloc(ev->nops, sizeof *at_once);
	uint32_t rank = 0;

	for (uint32_t at = 0; at_once && at < ev->n; at++) {
		uint32_t e = ev->order[at], op;
		const struct ir_rank *r;

		if (e % 2 || e >= 2 * ev->nops)
			continue;
		rank = ir_events_rank_after(ev, e / 2, rank);
		op = e / 2 - ev->base[rank];
		r = &g->ranks[rank];
		at_once[e / 2] = true;
		for (uint32_t k = r->dep_at[op]; k < r->dep_at[op + 1]; k++) {
			uint32_t on = r->deps[k] & ~BIN_START;

			/* A nop completes when it starts. */
			at_once[e / 2] &= at_once[ev->base[rank] + on] &&
					  (r->deps[k] & BIN_START || r->ops[on].kind == BIN_OP_NOP);
		}
	}
	return at_once;
}

/* Returns a query. Its answer is yes if a message is safe. The query's `from` is the start of the recv, or the start of the
 * rank if the recv starts at once. `early` is as in find_safe(). */
static struct ir_query safety_query(const struct ir_graph *g, const struct ir_events *ev, const struct ir_match *m,
				    const bool *at_once, const uint64_t *early)
{
	const uint32_t s = ev->base[m->src] + m->send, r = ev->base[m->dst] + m->recv;
	const uint32_t rank = ir_rank_event(ev, m->dst, false);

	if (early && g->ranks[m->src].ops[m->send].len <= *early)
		return (struct ir_query){ { rank, IR_NO_EVENT }, { ir_rank_event(ev, m->src, true), IR_NO_EVENT }, false };
	return (struct ir_query){ { at_once[r] ? rank : 2 * r, IR_NO_EVENT }, { 2 * s, IR_NO_EVENT }, false };
}

/* Sets safe[i] to true if message i is safe. If early is not NULL, messages of at most *early elements may arrive one start
 * early: such a message is safe if its sender cannot complete before the receiving rank has started. */
static int find_safe(const struct ir_graph *g, const struct ir_events *ev, const struct ir_match *m, size_t nm,
		     const uint64_t *early, bool *safe)
{
	bool *at_once = started_at_once(g, ev);
	struct ir_query *q = mem_alloc(nm * sizeof *q);
	int err = at_once && q ? 0 : -ERR_NOMEM;

	for (size_t i = 0; i < nm && !err; i++)
		q[i] = safety_query(g, ev, &m[i], at_once, early);
	err = err ? err : ir_events_reach(ev, q, nm);
	for (size_t i = 0; i < nm && !err; i++)
		safe[i] = q[i].yes;
	free(at_once);
	free(q);
	return err;
}

int verify_ready(const struct ir_graph *g, const struct ir_events *ev, const struct ir_match *m, size_t nm, bool *safe)
{
	int err = find_safe(g, ev, m, nm, NULL, safe);

	for (size_t i = 0; i < nm && !err; i++) /* a message without bytes writes nothing, so it may arrive at any time */
		safe[i] |= !g->ranks[m[i].src].ops[m[i].send].len;
	return err;
}

int verify_recvs(const struct ir_graph *g, uint32_t rank, uint64_t few, bool *safe)
{
	struct ir_match *m = NULL;
	struct ir_events ev = { 0 };
	bool *all = NULL;
	size_t nm = 0;
	int err = ir_graph_match(g, &m, &nm);

	err = err ? err : ir_events_init(&ev, g, m, nm, false);
	err = err ? err : ir_events_sort_deep(&ev);
	if (!err && ev.sorted != ev.n)
		err = -ERR_DEADLOCK;
	all = err ? NULL : mem_alloc(nm * sizeof *all);
	err = err ? err : all ? find_safe(g, &ev, m, nm, &few, all) : -ERR_NOMEM;
	for (size_t i = 0; i < nm && !err; i++)
		if (m[i].dst == rank)
			safe[m[i].recv] = all[i];
	ir_events_fini(&ev);
	free(all);
	free(m);
	return err;
}

int verify_count_ready(const struct ir_graph *g, const struct ir_events *ev, const struct ir_match *m, size_t nm,
		       struct verify_report *out)
{
	bool *safe = mem_alloc(nm * sizeof *safe);
	int err = safe ? verify_ready(g, ev, m, nm, safe) : -ERR_NOMEM;

	for (size_t i = 0; i < nm && !err; i++) {
		out->safe += safe[i];
		out->ready += !safe[i];
	}
	free(safe);
	return err;
}

int verify_messages(const struct ir_graph *g, struct verify_report *out, bool *decided)
{
	struct ir_match *m = NULL;
	struct ir_events ev = { 0 };
	size_t nm = 0;
	int err = ir_graph_match(g, &m, &nm);

	*out = (struct verify_report){ .messages = nm };
	err = err ? err : ir_events_init(&ev, g, m, nm, false);
	err = err ? err : ir_events_sort_deep(&ev);
	*decided = !err && ev.sorted == ev.n;
	if (*decided)
		err = verify_count_ready(g, &ev, m, nm, out);
	ir_events_fini(&ev);
	free(m);
	return err;
}
