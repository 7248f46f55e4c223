/* SPDX-License-Identifier: BSD-3-Clause
 * The event graph: starts and completions of the ops of all ranks, and which must come before which. */
#ifndef COMPILER_ANALYSIS_EVENTS_H
#define COMPILER_ANALYSIS_EVENTS_H

#include "compiler/analysis/match.h"
#include "compiler/ir/ir.h"

/* Ops are numbered consecutively over the ranks; the ops of a rank begin at base[rank]. Op i starts in event 2i and completes
 * in event 2i + 1. Rank r starts in event 2nops + 2r and completes in the next one. */
struct ir_events {
	uint32_t *base; /* number of each rank's first op; nranks + 1 values */
	uint32_t nranks, nops, n; /* ranks, ops, events */
	uint32_t *pred_at, *pred; /* predecessors of event e: pred[pred_at[e] … pred_at[e+1]-1] */
	uint32_t *partner; /* for each op, 1 + the op at the other end of its message, or 0 */
	/* ir_events_sort() sets the fields below. */
	uint32_t *order, *pos; /* event at each position; position of each event */
	/* number of events in `order`; below n if there is a cycle: the other events then have the position UINT32_MAX */
	uint32_t sorted;
};
/* Builds the event graph. With rendezvous, a send completes only after its recv has started. The check for
 * deadlocks assumes rendezvous, because a send may wait that long. The check for races does not, because a send may also
 * complete at once. */
int ir_events_init(struct ir_events *ev, const struct ir_graph *g, const struct ir_match *m, size_t nm,
		   bool rendezvous);
/* Builds the event graph without rendezvous, and sorts it. */
int ir_events_of(struct ir_events *ev, const struct ir_graph *g);
void ir_events_fini(struct ir_events *ev);
/* Removes the edges of rendezvous. A topological order stays valid. */
void ir_events_relax(struct ir_events *ev, const struct ir_match *m, size_t nm);
/* Returns the nm messages with which the events were built, in the order of the senders and their ops; NULL if out of
 * memory. The caller frees them. */
struct ir_match *ir_events_messages(const struct ir_events *ev, const struct ir_graph *g, size_t nm);
int ir_events_sort(struct ir_events *ev);
/* Sorts as ir_events_sort(), but continues with one rank as long as possible. Events close in this order are close in
 * memory. */
int ir_events_sort_deep(struct ir_events *ev);
static inline uint32_t ir_rank_event(const struct ir_events *ev, uint32_t rank, bool completes)
{
	return 2 * (ev->nops + rank) + completes;
}
/* Returns the rank of an op, given its number over all ranks. */
uint32_t ir_events_rank(const struct ir_events *ev, uint32_t op);
/* Returns the rank of an op like ir_events_rank(), but tries rank `before` first, which is faster for ops in order. */
static inline uint32_t ir_events_rank_after(const struct ir_events *ev, uint32_t op, uint32_t before)
{
	return op >= ev->base[before] && op < ev->base[before + 1] ? before : ir_events_rank(ev, op);
}

/* Results that checks leave to their caller if nothing is wrong: the messages, from the check for unmatched ends, and the
 * sorted events with rendezvous, from the check for deadlocks. */
struct ir_left {
	struct ir_match *m;
	size_t nm;
	struct ir_events ev;
};
void ir_left_fini(struct ir_left *left);

#define IR_NO_EVENT UINT32_MAX

/* Question: does one of the events `from` come before one of the events `to`? */
struct ir_query {
	uint32_t from[2], to[2]; /* events, or IR_NO_EVENT */
	bool yes; /* the answer */
};
/* Answers all queries exactly. The events must be sorted. */
int ir_events_reach(const struct ir_events *ev, struct ir_query *q, size_t n);
/* Answers whether the start of each of the ranks `first` to end - 1 comes before the completion of each of all ranks, in this
 * order. q has room for all answers. */
int ir_ranks_reach(const struct ir_events *ev, uint32_t first, uint32_t end, struct ir_query *q);

/* Index for short searches in the event graph. Events without successors are left out: they are the ends of ranks, which
 * come after all else. */
struct ir_near {
	const struct ir_events *ev; /* events, which must be sorted */
	uint32_t *soon; /* for each event, the position of its first successor (n: all are left out; UINT32_MAX: there is none) */
	uint64_t *many; /* one bit for each event, set if it has more than one successor */
	struct ir_near_known *known; /* hash table of answers that searches have given */
	uint32_t mask; /* number of places in the table, minus 1 */
};
int ir_near_init(struct ir_near *x, const struct ir_events *ev);
void ir_near_fini(struct ir_near *x);
/* True if a short search finds a path. False means that the answer is not known. */
bool ir_near_yes(const struct ir_near *x, const struct ir_query *q);

#endif
