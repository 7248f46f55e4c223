/* SPDX-License-Identifier: BSD-3-Clause
 * What happens before what, over all ranks: starts and completions of ops as a graph. */
#ifndef COMPILER_ANALYSIS_EVENTS_H
#define COMPILER_ANALYSIS_EVENTS_H

#include "compiler/analysis/match.h"
#include "compiler/ir/ir.h"

/* Ops are numbered through the ranks from base[rank]. Op i starts in event 2i and completes in 2i + 1. Rank r starts
 * in event 2nops + 2r and completes in the next. */
struct ir_events {
	uint32_t *base; /* nranks + 1 */
	uint32_t nranks, nops, n; /* ranks, ops, events */
	uint32_t *pred_at, *pred; /* what must come before event e */
	uint32_t *partner; /* of each op: the other end of its message + 1, or 0 */
	/* by ir_events_sort, level by level */
	uint32_t *order, *pos; /* the event at a position; the position of an event */
	uint32_t sorted; /* positions taken: fewer than n when events wait for themselves, which are at UINT32_MAX */
};
/* rendezvous: also the start of a recv before the completion of its send. A send may complete only then, as far
 * as deadlocks are concerned; but it may as well complete at once, as far as races are. */
int ir_events_init(struct ir_events *ev, const struct ir_graph *g, const struct ir_match *m, size_t nm,
		   bool rendezvous);
void ir_events_fini(struct ir_events *ev);
/* Without rendezvous from now on: an order stays one. */
void ir_events_relax(struct ir_events *ev, const struct ir_match *m, size_t nm);
/* The nm messages that they were made of, in the order of the senders and their ops; NULL when out of memory. */
struct ir_match *ir_events_messages(const struct ir_events *ev, const struct ir_graph *g, size_t nm);
int ir_events_sort(struct ir_events *ev);
/* Another order, in which a rank goes on as long as it can: what is near in it is near in memory. */
int ir_events_sort_deep(struct ir_events *ev);
static inline uint32_t ir_rank_event(const struct ir_events *ev, uint32_t rank, bool completes)
{
	return 2 * (ev->nops + rank) + completes;
}
/* The rank of an op that is numbered through. */
uint32_t ir_events_rank(const struct ir_events *ev, uint32_t op);
/* The same, where it may be the rank of the op before. */
static inline uint32_t ir_events_rank_after(const struct ir_events *ev, uint32_t op, uint32_t before)
{
	return op >= ev->base[before] && op < ev->base[before + 1] ? before : ir_events_rank(ev, op);
}

/* What checks leave to who asks for it, when nothing is wrong: that for lone ends the messages, and that for deadlocks
 * sorted events with rendezvous. */
struct ir_left {
	struct ir_match *m;
	size_t nm;
	struct ir_events ev;
};
void ir_left_fini(struct ir_left *left);

#define IR_NO_EVENT UINT32_MAX

/* Whether one of the events from comes before one of the events to. */
struct ir_query {
	uint32_t from[2], to[2]; /* or IR_NO_EVENT */
	bool yes; /* the answer */
};
/* Answers all queries on sorted events, exactly. */
int ir_events_reach(const struct ir_events *ev, struct ir_query *q, size_t n);

/* Where the successors of each event begin, of those that have successors themselves: so the ends of ranks are left out,
 * which follow everything. soon is n where there are only others, and UINT32_MAX where there are none. */
struct ir_near {
	const struct ir_events *ev; /* sorted */
	uint32_t *soon; /* a position */
	uint64_t *many; /* a bit for each event: that is not the only one */
};
int ir_near_init(struct ir_near *x, const struct ir_events *ev);
void ir_near_fini(struct ir_near *x);
/* Whether a path is found near by; false: that is not known. */
bool ir_near_yes(const struct ir_near *x, const struct ir_query *q);

#endif
