/* SPDX-License-Identifier: BSD-3-Clause
 * Proves that the queues of a lowered schedule do what the ops do, in every order in which packets can arrive. The
 * proof uses only the output of the lowering.
 *
 * An event of a start is: a rank starts, an entry is issued, an entry arrives, or a rank is done. Each event waits
 * for fixed events, and an entry of a session queue also for a number of credits. No event is undone: an event that
 * can happen now can still happen later. So there is one largest set of events, and every execution reaches it. A run
 * holds back one event for ever, and lets all other events happen that can happen. These are the events that can come
 * before the one held back; all others come after it in every execution. So the runs show exactly which events can
 * come before which. The CPU of a rank posts only while the rank waits, so a rank must not complete before its CPU
 * has posted.
 *
 * Each run has two starts of every rank, and credit and notices count for the start that they come from. That is
 * correct as long as a queue gets all credit of one start before any credit of the next start, and a rank gets all
 * notices of one start before any notice of the next start. The first event to break this rule overtakes another
 * event, and shows in the run that holds back that other event. So a property that holds for two starts holds for
 * all.
 *
 * If the counts of two starts can mix, the runs have three starts with common counts, and nothing of the third start
 * may happen while anything of the first is held back. Then at any time only two consecutive starts are incomplete.
 * The events of these two starts could also happen in the first two starts, because each start uses as much credit as
 * it brings: no count is lower in the first two, and no event waits for more events. So nothing can happen in any
 * start that cannot happen in these. */
#include "compiler/queues/verify_queues.h"

#include "compiler/analysis/checks.h"
#include "compiler/analysis/conflicts.h"
#include "format/check.h"
#include "util/err.h"
#include "util/hash64.h"
#include "util/order.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG "queues"
#define STARTS 3u
#define SHOWN 6u
#define SOURCES 64u /* number of ranks for which the event graph is queried at once */

enum held { HELD_NOTHING, HELD_ARRIVAL, HELD_START, HELD_POST };

enum event_kind { TRY_QUEUE, TRY_ARRIVAL, TRY_DONE };
struct event {
	uint32_t kind, start, id;
};

/* Route of an entry's packets. Entries and queues are numbered over all ranks. */
struct route {
	uint32_t rank, queue; /* rank and queue of the entry */
	uint32_t before, after; /* previous and next entry on the same route, which arrive before and after it; or BIN_NONE */
	uint32_t first, last; /* first and last entry of the route */
};

/* The arrays of a state share one block of memory, which begins at `credit`. */
struct state {
	uint32_t *credit, *next; /* for each queue, its credit, and its next entry */
	uint32_t *locals, *remotes; /* for each rank, the numbers of notices that it has received */
	bool *started, *done; /* for each rank, true if it has started, and true if it has completed */
	bool *issued, *arrived; /* for each entry, true if it was issued, and true if it has arrived */
};

struct needed {
	uint32_t first, then; /* two entries that must stay in this order */
};

/* A count (of credit or notices) that can mix two starts: entry `before` can add to it for the next start before entry `late`
 * adds to it for this start. */
struct mixed {
	bool yes, notice;
	uint32_t before, late; /* entries */
};

struct check_queues {
	struct goal_diags *d;
	const struct ir_graph *g;
	const struct smcq *s;
	const struct symbolic *run;
	const struct ir_events *ev;
	uint32_t *ebase, *qbase, *rank_of_queue;
	uint32_t nentries, nqueues, nranks;
	struct route *route;
	uint32_t *by_op_at, *by_op; /* the entries of each op */
	struct conflicts conflicts;
	VEC(struct needed) needs; /* pairs that must stay in order, sorted by `first` */
	struct state state[STARTS];
	unsigned starts; /* number of starts in a run */
	bool pooled; /* true if counts continue from start to start */
	VEC(struct event) todo;
	enum held held;
	uint32_t held_id;
	uint64_t stride; /* one of `stride` events is held back */
	struct mixed mixed;
	bool ahead; /* true if a rank can be two starts ahead of an event */
	unsigned found;
};

/* ---- access to the schedule ---- */

static const struct bin_entry *entry_at(const struct check_queues *c, uint32_t e)
{
	const uint32_t r = c->route[e].rank;

	return &c->s->ranks[r].entries.at[e - c->ebase[r]];
}

static const struct bin_queue *queue_at(const struct check_queues *c, uint32_t rank, uint32_t q)
{
	return &c->s->ranks[rank].queues.at[q - c->qbase[rank]];
}

/* Returns the queue to which an entry brings credit, or BIN_NONE. */
static uint32_t target_of(const struct check_queues *c, uint32_t e)
{
	const struct bin_entry *b = entry_at(c, e);

	return b->queue == BIN_NONE ? BIN_NONE : c->qbase[bin_entry_lands(b, c->route[e].rank)] + b->queue;
}

/* True if an entry accesses buffers. */
static bool touches_buffers(const struct bin_entry *b)
{
	return bin_entry_facts(b->kind).ranges || b->kind == BIN_E_CPU;
}

static struct check_text entry_text(const struct check_queues *c, uint32_t e)
{
	const struct route *w = &c->route[e];
	const struct bin_entry *b = entry_at(c, e);
	struct check_text t;

	if (b->op != BIN_NONE)
		return check_op_text(c->g, w->rank, b->op);
	snprintf(t.s, sizeof t.s, "entry %u of queue %u of rank %u",
		 e - c->ebase[w->rank] - queue_at(c, w->rank, w->queue)->first, w->queue - c->qbase[w->rank], w->rank);
	return t;
}

/* Reports a finding at the op of an entry, if it has one. */
__attribute__((format(printf, 3, 4))) static void found(struct check_queues *c, uint32_t e, const char *fmt, ...)
{
	const struct goal_loc nowhere = { .file = (uint16_t)c->g->file };
	char text[400];
	va_list ap;

	if (c->found++ >= SHOWN || c->pooled)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (e != BIN_NONE && entry_at(c, e)->op != BIN_NONE)
		check_found(c->d, c->g, TAG, GOAL_ERROR, c->route[e].rank, entry_at(c, e)->op, "%s", text);
	else
		goal_diag(c->d, GOAL_ERROR, nowhere, TAG, "%s%s", c->g->sample, text);
}

/* ---- shape and limits ---- */

static bool range_ok(const struct check_queues *c, const struct bin_entry *e, uint32_t rank, unsigned side)
{
	const uint64_t size = e->buf[side] < c->g->nbuffers ? c->g->ranks[rank].bufsize[e->buf[side]] : 0;

	return e->len <= size && e->off[side] <= size - e->len;
}

/* True if an entry is well formed. The reader of binaries checks this too, but these queues may come from elsewhere. */
static bool entry_ok(const struct check_queues *c, uint32_t rank, const struct bin_queue *q, const struct bin_entry *e)
{
	const struct bin_entry_facts f = bin_entry_facts(e->kind);
	const bool armw = e->kind == BIN_E_ARMW;

	if (armw ? e->len != 1 || !bin_armw_bytes(e->armw) || bin_armw_bytes(e->armw) != c->s->target.limit[BIN_LIMIT_BYTES] :
		   e->armw)
		return false;
	if (!f.is || e->peer >= c->nranks || (!f.sends && e->peer != rank))
		return false;
	if ((e->kind == BIN_E_CPU && (q->mode != BIN_Q_CPU || e->op == BIN_NONE)) || (f.sends && q->mode == BIN_Q_CPU) ||
	    q->mode >= BIN_Q_MODES)
		return false;
	if ((e->queue != BIN_NONE && e->queue >= c->s->ranks[bin_entry_lands(e, rank)].queues.n) || (e->sps && e->queue == BIN_NONE) ||
	    (e->kind == BIN_E_NOP && (e->sps || e->flags || e->op != BIN_NONE || q->mode == BIN_Q_POSTED)))
		return false;
	if ((e->op != BIN_NONE && e->op >= c->g->ranks[rank].nops) ||
	    (e->at != BIN_NONE && e->at >= c->g->ranks[e->peer].nops))
		return false;
	return f.ranges ? range_ok(c, e, rank, 0) && range_ok(c, e, e->peer, 1) : !e->len;
}

static void check_limits(struct check_queues *c, uint32_t rank, const struct bin_queue *q, uint32_t e)
{
	const uint32_t *limit = c->s->target.limit;
	const struct bin_entry *b = entry_at(c, e);

	if (b->sps > limit[BIN_LIMIT_SPS])
		found(c, e, "%s releases %u entries, and a packet of the target %u", entry_text(c, e).s, b->sps,
		      limit[BIN_LIMIT_SPS]);
	if ((uint64_t)b->len * limit[BIN_LIMIT_BYTES] >> limit[BIN_LIMIT_LENGTH])
		found(c, e, "%s moves %u elements at once, and their bytes have more than %u bits", entry_text(c, e).s, b->len,
		      limit[BIN_LIMIT_LENGTH]);
	if (q->mode != BIN_Q_CPU && (q->n > UINT64_C(1) << (11 + 2 * limit[BIN_LIMIT_DEPTH]) ||
				     q->n >= UINT64_C(1) << limit[BIN_LIMIT_OFFSET]))
		found(c, e, "rank %u: a queue has %u entries, which are too many for the target", rank, q->n);
	if (q->tni >= limit[BIN_LIMIT_TNIS] || q->cq >= limit[BIN_LIMIT_CQS])
		found(c, e, "rank %u: there is no command queue %u on interface %u", rank, q->cq, q->tni);
}

/* Checks that no two queues of a rank are the same command queue. */
static void check_names(struct check_queues *c, uint32_t rank)
{
	const struct smcq_rank *r = &c->s->ranks[rank];

	for (size_t i = 0; i < r->queues.n; i++)
		for (size_t k = 0; k < i; k++)
			if (r->queues.at[i].mode != BIN_Q_CPU && r->queues.at[k].mode != BIN_Q_CPU &&
			    r->queues.at[i].tni == r->queues.at[k].tni && r->queues.at[i].cq == r->queues.at[k].cq)
				found(c, BIN_NONE, "rank %u: queues %zu and %zu are the same command queue", rank, k, i);
}

static void check_shape(struct check_queues *c)
{
	for (uint32_t rank = 0; rank < c->nranks; rank++) {
		const struct smcq_rank *r = &c->s->ranks[rank];
		uint32_t at = 0;

		check_names(c, rank);
		for (size_t i = 0; i < r->queues.n; i++) {
			const struct bin_queue *q = &r->queues.at[i];

			for (uint32_t k = q->first; k < q->first + q->n; k++)
				if (!entry_ok(c, rank, q, &r->entries.at[k])) {
					found(c, BIN_NONE, "rank %u: entry %u of queue %zu is malformed", rank, k - q->first, i);
					return;
				}
			at = q->first + q->n;
		}
		for (uint32_t k = 0; k < at; k++)
			check_limits(c, rank, queue_at(c, rank, c->route[c->ebase[rank] + k].queue), c->ebase[rank] + k);
	}
}

/* ---- numbers, routes, ops ---- */

/* True if the entries of the queues are consecutive. */
static bool queues_are_contiguous(const struct smcq_rank *r)
{
	uint64_t at = 0;

	for (size_t i = 0; i < r->queues.n; i++) {
		if (r->queues.at[i].first != at)
			return false;
		at += r->queues.at[i].n;
	}
	return at == r->entries.n;
}

static int find_routes(struct check_queues *c, uint32_t rank, uint32_t q)
{
	const struct bin_queue *b = queue_at(c, rank, q);
	VEC(uint32_t) last = { 0 }; /* last entry of each route so far */
	int err = 0;

	for (uint32_t k = 0; k < b->n && !err; k++) {
		const uint32_t e = c->ebase[rank] + b->first + k;
		const struct bin_entry *x = entry_at(c, e);
		size_t i = 0;

		if (x->kind == BIN_E_NOP || !(x->flags & BIN_E_STRONG))
			continue;
		while (i < last.n && !bin_entry_same_route(entry_at(c, last.at[i]), x))
			i++;
		if (i == last.n) {
			err = VEC_PUSH(&last, e);
			continue;
		}
		c->route[e].before = last.at[i];
		c->route[e].first = c->route[last.at[i]].first;
		c->route[last.at[i]].after = e;
		last.at[i] = e;
	}
	for (size_t i = 0; i < last.n; i++)
		c->route[c->route[last.at[i]].first].last = last.at[i];
	VEC_FREE(&last);
	return err;
}

static int number_entries(struct check_queues *c)
{
	uint64_t entries = 0, queues = 0;

	c->ebase = mem_calloc((size_t)c->nranks + 1, sizeof *c->ebase);
	c->qbase = mem_calloc((size_t)c->nranks + 1, sizeof *c->qbase);
	if (!c->ebase || !c->qbase)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < c->nranks; r++) {
		c->ebase[r] = (uint32_t)entries;
		c->qbase[r] = (uint32_t)queues;
		entries += c->s->ranks[r].entries.n;
		queues += c->s->ranks[r].queues.n;
		if (entries > BIN_MAX_OPS || queues > BIN_MAX_OPS)
			return -ERR_NOMEM;
	}
	c->ebase[c->nranks] = c->nentries = (uint32_t)entries;
	c->qbase[c->nranks] = c->nqueues = (uint32_t)queues;
	c->route = mem_alloc(entries * sizeof *c->route);
	c->rank_of_queue = mem_alloc(queues * sizeof *c->rank_of_queue);
	if (!c->route || !c->rank_of_queue)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < c->nranks; r++)
		for (uint32_t q = c->qbase[r]; q < c->qbase[r + 1]; q++) {
			c->rank_of_queue[q] = r;
			for (uint32_t k = 0; k < queue_at(c, r, q)->n; k++) {
				const uint32_t e = c->ebase[r] + queue_at(c, r, q)->first + k;

				c->route[e] = (struct route){ r, q, BIN_NONE, BIN_NONE, e, e };
			}
		}
	return 0;
}

/* Returns the op, numbered over all ranks, that an entry is for: the op of its own rank or, if `peer` is set, of its peer. */
static uint32_t op_of(const struct check_queues *c, uint32_t e, bool peer)
{
	const struct bin_entry *b = entry_at(c, e);
	const uint32_t op = peer ? b->at : b->op;

	return op == BIN_NONE ? BIN_NONE : c->ev->base[peer ? b->peer : c->route[e].rank] + op;
}

static int index_ops(struct check_queues *c)
{
	const uint32_t n = c->ev->nops;

	c->by_op_at = mem_calloc((size_t)n + 1, sizeof *c->by_op_at);
	c->by_op = mem_alloc(2 * (size_t)c->nentries * sizeof *c->by_op);
	if (!c->by_op_at || !c->by_op)
		return -ERR_NOMEM;
	for (uint32_t e = 0; e < c->nentries; e++)
		for (unsigned peer = 0; peer < 2; peer++)
			if (op_of(c, e, peer) != BIN_NONE)
				c->by_op_at[op_of(c, e, peer)]++;
	for (uint32_t i = 1; i <= n; i++)
		c->by_op_at[i] += c->by_op_at[i - 1];
	for (uint32_t e = c->nentries; e--;) /* moves by_op_at of each op from the end of its entries to their beginning */
		for (unsigned peer = 0; peer < 2; peer++)
			if (op_of(c, e, peer) != BIN_NONE)
				c->by_op[--c->by_op_at[op_of(c, e, peer)]] = e;
	return 0;
}

/* Returns the entries of an op, and stores their number in *n. */
static const uint32_t *entries_of(const struct check_queues *c, uint32_t op, uint32_t *n)
{
	*n = c->by_op_at[op + 1] - c->by_op_at[op];
	return c->by_op + c->by_op_at[op];
}

/* ---- check of ops ---- */

struct extent {
	uint64_t at, len;
};

static int by_position(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->len > y->len) - (x->len < y->len);
}

/* True if an entry carries out op i of `rank`, and moves its elements to op `at` of rank `to`. `at` is BIN_NONE if there is
 * no other op. */
static bool is_for(const struct check_queues *c, uint32_t e, uint32_t rank, uint32_t i, uint32_t to, uint32_t at)
{
	const struct bin_entry *b = entry_at(c, e);

	if (b->kind == BIN_E_GET)
		return b->peer == rank && b->at == i && c->route[e].rank == to && b->op == at;
	return c->route[e].rank == rank && b->op == i && b->peer == to && b->at == at;
}

/* Checks that the entries of op i move all of its elements exactly once, with entries of one kind, from its range to the range
 * of another op, or to its own second range. A message without bytes needs no entries; the order that it gives is checked
 * elsewhere. */
static int check_moved(struct check_queues *c, uint32_t rank, uint32_t i, uint32_t to, uint32_t at, unsigned kind)
{
	const struct bin_op *o = &c->g->ranks[rank].ops[i], *other = at == BIN_NONE ? o : &c->g->ranks[to].ops[at];
	const unsigned side = at == BIN_NONE;
	uint32_t n;
	const uint32_t *list = entries_of(c, c->ev->base[rank] + i, &n);
	struct extent *p = mem_alloc((size_t)n * sizeof *p);
	bool right = n > 0 || !o->len;
	uint64_t done = 0;

	if (!p)
		return -ERR_NOMEM;
	for (uint32_t k = 0; k < n; k++) {
		const struct bin_entry *e = entry_at(c, list[k]);
		const unsigned from = bin_entry_source(e), into = !from;
		const uint64_t off = o->len ? e->off[from] - o->off[0] : 0;

		right &= is_for(c, list[k], rank, i, to, at);
		if (o->len)
			right &= e->kind == kind && e->buf[from] == o->buf[0] && e->buf[into] == other->buf[side] &&
				 e->off[from] >= o->off[0] && e->off[into] >= other->off[side] &&
				 e->off[into] - other->off[side] == off;
		else
			right &= e->kind == BIN_E_PIGGYBACK;
		p[k] = (struct extent){ off, e->len };
	}
	qsort(p, n, sizeof *p, by_position);
	for (uint32_t k = 0; k < n; k++) {
		right &= p[k].at == done && (p[k].len || n == 1);
		done += p[k].len;
	}
	free(p);
	if (!right || done != o->len)
		check_found(c->d, c->g, TAG, GOAL_ERROR, rank, i, "rank %u: what is posted for this op does not move what it moves",
			    rank);
	c->found += !right || done != o->len;
	return 0;
}

static int check_op(struct check_queues *c, uint32_t rank, uint32_t i)
{
	const struct bin_op *o = &c->g->ranks[rank].ops[i];
	const uint32_t id = c->ev->base[rank] + i, partner = c->ev->partner[id];
	uint32_t n, to, at;
	const uint32_t *list = entries_of(c, id, &n);

	if (ir_op_recvs(o)) /* check_moved() checks the recv with its send; here: no other entry may name it */
		for (uint32_t k = 0; k < n; k++)
			if (op_of(c, list[k], entry_at(c, list[k])->kind == BIN_E_GET) + 1 != partner)
				found(c, list[k], "%s is not what is received here", entry_text(c, list[k]).s);
	if (ir_op_recvs(o))
		return 0;
	if (ir_op_sends(o)) {
		to = ir_events_rank(c->ev, partner - 1);
		at = partner - 1 - c->ev->base[to];
		if (bin_reduces(c->g->ranks[to].ops[at].kind))
			return check_moved(c, rank, i, to, at, BIN_E_ARMW);
		return check_moved(c, rank, i, to, at, n && entry_at(c, *list)->kind == BIN_E_GET ? BIN_E_GET : BIN_E_PUT);
	}
	if (o->kind == BIN_OP_COPY && o->len)
		return check_moved(c, rank, i, rank, BIN_NONE, BIN_E_PUT);
	if (bin_reduces(o->kind) && n && entry_at(c, *list)->kind == BIN_E_ARMW)
		return check_moved(c, rank, i, rank, BIN_NONE, BIN_E_ARMW);
	if (n != (o->len && (o->kind == BIN_OP_CALC || bin_reduces(o->kind))) ||
	    (n && (entry_at(c, *list)->kind != BIN_E_CPU || c->route[*list].rank != rank || entry_at(c, *list)->at != BIN_NONE)))
		check_found(c->d, c->g, TAG, GOAL_ERROR, rank, i, "rank %u: this op is not left to the CPU once", rank), c->found++;
	return 0;
}

static int check_ops(struct check_queues *c)
{
	uint8_t armw = 0; /* a schedule has one operation */
	int err = 0;

	for (uint32_t r = 0; r < c->nranks; r++)
		for (uint32_t i = 0; i < c->g->ranks[r].nops && !err; i++)
			err = check_op(c, r, i);
	for (uint32_t e = 0; e < c->nentries; e++) {
		const struct bin_entry *b = entry_at(c, e);

		if ((touches_buffers(b) || b->at != BIN_NONE) && b->op == BIN_NONE)
			found(c, e, "%s is for no op", entry_text(c, e).s);
		if (b->kind == BIN_E_ARMW && armw && b->armw != armw)
			found(c, e, "%s is by another operation than other ARMWs", entry_text(c, e).s);
		armw = b->kind == BIN_E_ARMW ? b->armw : armw;
	}
	return err;
}

/* ---- sums of credit and notices ---- */

static int check_sums(struct check_queues *c)
{
	uint64_t *credit = mem_calloc(c->nqueues, sizeof *credit);
	uint32_t *locals = mem_calloc(2 * (size_t)c->nranks, sizeof *locals), *remotes = locals + c->nranks;

	if (!credit || !locals) {
		free(credit);
		free(locals);
		return -ERR_NOMEM;
	}
	for (uint32_t e = 0; e < c->nentries; e++) {
		const struct bin_entry *b = entry_at(c, e);

		if (b->queue != BIN_NONE)
			credit[target_of(c, e)] += b->sps;
		locals[c->route[e].rank] += (b->flags & BIN_E_LOCAL) != 0;
		remotes[b->peer] += (b->flags & BIN_E_REMOTE) != 0;
	}
	for (uint32_t r = 0; r < c->nranks; r++) {
		for (uint32_t q = c->qbase[r]; q < c->qbase[r + 1]; q++) {
			const struct bin_queue *b = queue_at(c, r, q);
			const uint32_t want = b->mode == BIN_Q_NORMAL ? 0 : b->mode == BIN_Q_POSTED ? b->needs : b->n;

			if (credit[q] != want)
				found(c, b->n ? c->ebase[r] + b->first + b->n - 1 : BIN_NONE,
				      "queue %u of rank %u gets %" PRIu64 " credits in a start, and needs %u", q - c->qbase[r], r,
				      credit[q], want);
		}
		if (locals[r] != c->s->ranks[r].locals || remotes[r] != c->s->ranks[r].remotes)
			found(c, BIN_NONE, "rank %u waits for %u of its own entries and %u of others, and is told of %u and %u", r,
			      c->s->ranks[r].locals, c->s->ranks[r].remotes, locals[r], remotes[r]);
	}
	free(credit);
	free(locals);
	return 0;
}

/* ---- runs ---- */

static size_t state_size(const struct check_queues *c)
{
	return 2 * ((c->nqueues + c->nranks) * sizeof(uint32_t) + (c->nranks + (size_t)c->nentries) * sizeof(bool));
}

static int state_init(struct check_queues *c)
{
	for (unsigned k = 0; k < STARTS; k++) {
		struct state *s = &c->state[k];

		s->credit = mem_alloc(state_size(c));
		if (!s->credit)
			return -ERR_NOMEM;
		s->next = s->credit + c->nqueues;
		s->locals = s->next + c->nqueues;
		s->remotes = s->locals + c->nranks;
		s->started = (bool *)(s->remotes + c->nranks);
		s->done = s->started + c->nranks;
		s->issued = s->done + c->nranks;
		s->arrived = s->issued + c->nentries;
	}
	/* Upper bound of the number of events. In each start, an entry is tried when it is issued, and when the entry
	 * before it arrives. A queue is tried at each credit, and a rank at each notice. Each of these may continue
	 * through all starts. */
	return VEC_RESERVE(&c->todo, 12 * (size_t)STARTS * (c->nentries + c->nqueues + c->nranks) + 8);
}

static void push_event(struct check_queues *c, enum event_kind kind, uint32_t start, uint32_t id)
{
	c->todo.at[c->todo.n++] = (struct event){ kind, start, id };
}

static bool is_held(const struct check_queues *c, enum held what, uint32_t start, uint32_t id)
{
	return start == 0 && c->held == what && c->held_id == id;
}

static void start_rank(struct check_queues *c, uint32_t k, uint32_t r)
{
	if (is_held(c, HELD_START, k, r))
		return;
	c->state[k].started[r] = true;
	for (uint32_t q = c->qbase[r]; q < c->qbase[r + 1]; q++)
		push_event(c, TRY_QUEUE, k, q);
	push_event(c, TRY_DONE, k, r);
}

/* pool_of() returns the start whose counts serve start k. used_before() returns how many earlier starts have used these
 * counts. */
static uint32_t pool_of(const struct check_queues *c, uint32_t k)
{
	return c->pooled ? 0 : k;
}

static uint64_t used_before(const struct check_queues *c, uint32_t k)
{
	return c->pooled ? k : 0;
}

/* True if the next entry of a queue has the credit that it needs in start k. */
static bool has_credit(const struct check_queues *c, const struct bin_queue *b, uint32_t k, uint32_t q)
{
	const uint64_t credit = c->state[pool_of(c, k)].credit[q];

	if (b->mode == BIN_Q_POSTED)
		return credit >= (used_before(c, k) + 1) * b->needs;
	return b->mode == BIN_Q_NORMAL || credit > used_before(c, k) * b->n + c->state[k].next[q];
}

static void try_queue(struct check_queues *c, uint32_t k, uint32_t q)
{
	struct state *s = &c->state[k];
	const uint32_t r = c->rank_of_queue[q];
	const struct bin_queue *b = queue_at(c, r, q);

	if (!s->started[r] || is_held(c, HELD_POST, k, q) || (k && c->state[k - 1].next[q] < b->n))
		return;
	while (s->next[q] < b->n && has_credit(c, b, k, q)) {
		const uint32_t e = c->ebase[r] + b->first + s->next[q]++;

		s->issued[e] = true;
		if (entry_at(c, e)->kind == BIN_E_NOP)
			s->arrived[e] = true;
		else
			push_event(c, TRY_ARRIVAL, k, e);
	}
	if (s->next[q] == b->n && k + 1 < c->starts)
		push_event(c, TRY_QUEUE, k + 1, q);
}

static void try_arrival(struct check_queues *c, uint32_t k, uint32_t e)
{
	const uint32_t pool = pool_of(c, k);
	struct state *s = &c->state[k], *counts = &c->state[pool];
	const struct route *w = &c->route[e];
	const struct bin_entry *b = entry_at(c, e);

	if (s->arrived[e] || !s->issued[e] || is_held(c, HELD_ARRIVAL, k, e) ||
	    (w->before != BIN_NONE && !s->arrived[w->before]))
		return;
	if (k && w->before == BIN_NONE && b->flags & BIN_E_STRONG && !c->state[k - 1].arrived[w->last])
		return;
	s->arrived[e] = true;
	if (b->sps) {
		counts->credit[target_of(c, e)] += b->sps;
		push_event(c, TRY_QUEUE, pool, target_of(c, e));
	}
	if (b->flags & BIN_E_LOCAL) {
		counts->locals[w->rank]++;
		push_event(c, TRY_DONE, pool, w->rank);
	}
	if (b->flags & BIN_E_REMOTE) {
		counts->remotes[b->peer]++;
		push_event(c, TRY_DONE, pool, b->peer);
	}
	if (w->after != BIN_NONE)
		push_event(c, TRY_ARRIVAL, k, w->after);
	else if (k + 1 < c->starts)
		push_event(c, TRY_ARRIVAL, k + 1, w->first);
}

static void try_done(struct check_queues *c, uint32_t k, uint32_t r)
{
	const struct smcq_rank *rank = &c->s->ranks[r];
	const struct state *counts = &c->state[pool_of(c, k)];
	const uint64_t times = used_before(c, k) + 1;
	struct state *s = &c->state[k];

	if (s->done[r] && c->pooled && k + 1 < c->starts)
		push_event(c, TRY_DONE, k + 1, r);
	if (s->done[r] || !s->started[r] || counts->locals[r] < times * rank->locals ||
	    counts->remotes[r] < times * rank->remotes)
		return;
	s->done[r] = true;
	if (k + 1 < c->starts)
		start_rank(c, k + 1, r);
}

/* Runs all events that can happen while one event is held back. */
static void run_without_event(struct check_queues *c, enum held held, uint32_t id)
{
	c->held = held;
	c->held_id = id;
	c->todo.n = 0;
	for (unsigned k = 0; k < c->starts; k++)
		memset(c->state[k].credit, 0, state_size(c));
	for (uint32_t r = 0; r < c->nranks; r++)
		start_rank(c, 0, r);
	while (c->todo.n) {
		const struct event e = c->todo.at[--c->todo.n];

		if (e.kind == TRY_QUEUE)
			try_queue(c, e.start, e.id);
		else if (e.kind == TRY_ARRIVAL)
			try_arrival(c, e.start, e.id);
		else
			try_done(c, e.start, e.id);
	}
}

/* ---- required orders ---- */

static void check_all_happens(struct check_queues *c)
{
	const struct state *s = &c->state[c->starts - 1];

	run_without_event(c, HELD_NOTHING, 0);
	for (uint32_t r = 0; r < c->nranks; r++)
		for (uint32_t q = c->qbase[r]; q < c->qbase[r + 1]; q++)
			if (s->next[q] < queue_at(c, r, q)->n) {
				const uint32_t e = c->ebase[r] + queue_at(c, r, q)->first + s->next[q];

				found(c, e, "%s is never issued, since what it waits for waits for it", entry_text(c, e).s);
			}
	for (uint32_t r = 0; r < c->nranks; r++)
		if (!s->done[r])
			found(c, BIN_NONE, "rank %u never completes", r);
}

/* Returns the access of an entry to a rank's memory in the form of an op. */
static struct bin_op entry_access(const struct check_queues *c, uint32_t e, uint32_t rank)
{
	const struct bin_entry *b = entry_at(c, e);
	const unsigned from = bin_entry_source(b);
	const uint32_t source = from ? b->peer : c->route[e].rank, lands = bin_entry_lands(b, c->route[e].rank);
	struct bin_op o = { .kind = BIN_OP_NOP, .len = b->len };

	if (b->kind == BIN_E_CPU)
		return c->g->ranks[rank].ops[b->op];
	if (!bin_entry_facts(b->kind).ranges)
		return o;
	if (source != rank)
		o.kind = b->kind == BIN_E_ARMW ? BIN_OP_RECV_REDUCE : BIN_OP_RECV;
	else if (lands != rank)
		o.kind = BIN_OP_SEND;
	else
		o.kind = b->kind == BIN_E_ARMW ? BIN_OP_REDUCE : BIN_OP_COPY;
	for (unsigned k = 0; k < 2; k++) {
		const unsigned its = (source != rank || k) ^ from;

		o.buf[k] = b->buf[its];
		o.off[k] = b->off[its];
	}
	return o;
}

/* True if ARMWs carry out the reduction of an op. */
static bool is_armw(const struct check_queues *c, uint32_t rank, uint32_t op)
{
	uint32_t n;
	const uint32_t *list = entries_of(c, op, &n);

	return n && bin_reduces(c->g->ranks[rank].ops[op - c->ev->base[rank]].kind) && entry_at(c, *list)->kind == BIN_E_ARMW;
}

/* For two ops of a rank, adds the pairs of entries that must stay in order. Two ARMWs may update the same elements in any
 * order: each ARMW is atomic, and they commute, because all apply one operation on integers. */
static int need_pair(struct check_queues *c, uint32_t rank, uint32_t first, uint32_t second)
{
	uint32_t n, m;
	const uint32_t *a = entries_of(c, c->ev->base[rank] + first, &n);
	const uint32_t *b = entries_of(c, c->ev->base[rank] + second, &m);
	int err = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < m && !err; k++) {
			const struct bin_op x = entry_access(c, a[i], rank), y = entry_access(c, b[k], rank);
			const bool armws = entry_at(c, a[i])->kind == BIN_E_ARMW && entry_at(c, b[k])->kind == BIN_E_ARMW;

			if (a[i] != b[k] && bin_conflict_of(&x, &y, armws))
				err = VEC_PUSH(&c->needs, (struct needed){ a[i], b[k] });
		}
	return err;
}

static int by_first(const void *a, const void *b)
{
	const struct needed *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* Adds the pairs for all ops that an op must wait for. ARMWs do not wait for each other, so the op also waits for the ops that
 * come before these ARMWs. */
static int need_all(struct check_queues *c, uint32_t rank, uint32_t op, uint32_t *seen)
{
	const struct conflicts *all = &c->conflicts;
	VEC(uint32_t) open = { 0 };
	int err = VEC_PUSH(&open, op);

	while (open.n && !err) {
		const uint32_t via = open.at[--open.n];
		const struct bin_op *o = &c->g->ranks[rank].ops[via - c->ev->base[rank]];
		const struct bin_op by = via == op ? *o : bin_update(o);

		for (size_t i = conflicts_of(all, via); i < all->v.n && all->v.at[i].second == via && !err; i++) {
			const uint32_t first = all->v.at[i].first;
			const struct bin_op *f = &c->g->ranks[rank].ops[first - c->ev->base[rank]];

			if (seen[first] == op + 1 || !bin_conflict(f, &by))
				continue;
			seen[first] = op + 1;
			err = need_pair(c, rank, first - c->ev->base[rank], op - c->ev->base[rank]);
			if (!err && is_armw(c, rank, first))
				err = VEC_PUSH(&open, first);
		}
	}
	VEC_FREE(&open);
	return err;
}

static int find_needs(struct check_queues *c)
{
	uint32_t *seen = mem_calloc(c->ev->nops, sizeof *seen);
	int err = seen ? conflicts_find(&c->conflicts, c->g, c->ev, c->run) : -ERR_NOMEM;

	for (uint32_t r = 0; r < c->nranks; r++)
		for (uint32_t i = 0; i < c->g->ranks[r].nops && !err; i++)
			err = need_all(c, r, c->ev->base[r] + i, seen);
	ORDER_VEC(&c->needs, by_first);
	free(seen);
	return err;
}

/* Entries sorted by the queue to which they bring credit, or by the rank to which they give notice. */
struct counted {
	uint32_t *list, *from;
};

/* While entry e is held back, checks whether an entry of the next start has added to the same count. */
static void find_mixed(struct check_queues *c, const struct counted *l, uint32_t what, bool notice, uint32_t e)
{
	for (uint32_t i = l->from[what]; i < l->from[what + 1] && !c->mixed.yes; i++)
		if (c->state[1].arrived[l->list[i]])
			c->mixed = (struct mixed){ true, notice, l->list[i], e };
}

static void report_mixed(struct check_queues *c)
{
	const struct mixed *m = &c->mixed;
	const struct bin_entry *b = entry_at(c, m->late);

	if (m->notice)
		found(c, m->late, "rank %u can be told of %s, of the next start, before it is told of %s, of this one", b->peer,
		      entry_text(c, m->before).s, entry_text(c, m->late).s);
	else
		found(c, m->late, "credit of the next start, by %s, can come to queue %u of rank %u before that of this one, by %s",
		      entry_text(c, m->before).s, b->queue, bin_entry_lands(b, c->route[m->late].rank), entry_text(c, m->late).s);
}

/* Checks whether a rank is two starts ahead of the event that is held back. */
static void check_ahead(struct check_queues *c)
{
	for (uint32_t r = 0; r < c->nranks && c->pooled; r++)
		c->ahead |= c->state[STARTS - 1].started[r];
}

/* True if the event is left out because the limit does not allow a run for each event. */
static bool left_out(const struct check_queues *c, uint32_t id)
{
	return hash64(id) % c->stride != 0;
}

/* Checks that three things do not happen before an entry has arrived: that later entries access the same elements; that the
 * ranks whose memory it accesses complete; and that credit and notices of the next start arrive, which would be taken for
 * those of the entry. *need advances through c->needs. */
static void check_arrival(struct check_queues *c, uint32_t e, size_t *need, const struct counted *credit,
			  const struct counted *notices)
{
	const struct bin_entry *b = entry_at(c, e);
	const struct route *w = &c->route[e];

	while (*need < c->needs.n && c->needs.at[*need].first < e)
		++*need;
	if (b->kind == BIN_E_NOP || left_out(c, e))
		return;
	run_without_event(c, HELD_ARRIVAL, e);
	for (; *need < c->needs.n && c->needs.at[*need].first == e; ++*need)
		if (c->state[0].issued[c->needs.at[*need].then])
			found(c, c->needs.at[*need].then, "%s can be issued before %s has arrived, which touches the same elements",
			      entry_text(c, c->needs.at[*need].then).s, entry_text(c, e).s);
	if (touches_buffers(b) && c->state[0].done[w->rank])
		found(c, e, "rank %u can complete before %s has arrived", w->rank, entry_text(c, e).s);
	if (touches_buffers(b) && b->peer != w->rank && c->state[0].done[b->peer])
		found(c, e, "rank %u can complete before %s has arrived there", b->peer, entry_text(c, e).s);
	if (b->sps)
		find_mixed(c, credit, target_of(c, e), false, e);
	if (b->flags & BIN_E_REMOTE)
		find_mixed(c, notices, b->peer, true, e);
	if (touches_buffers(b) || b->sps || b->flags & (BIN_E_LOCAL | BIN_E_REMOTE))
		check_ahead(c);
}

/* Returns the rank to which an entry gives notice (if `notice` is set), or the queue to which it brings credit; BIN_NONE if
 * there is none. Notices of the own rank are left out, because its next start waits for them. */
static uint32_t counted_for(const struct check_queues *c, uint32_t e, bool notice)
{
	const struct bin_entry *b = entry_at(c, e);

	if (notice)
		return b->flags & BIN_E_REMOTE ? b->peer : BIN_NONE;
	return b->sps ? target_of(c, e) : BIN_NONE;
}

static int list_counted(const struct check_queues *c, uint32_t n, bool notice, struct counted *l)
{
	l->list = mem_alloc((size_t)c->nentries * sizeof *l->list);
	l->from = mem_calloc((size_t)n + 2, sizeof *l->from);
	if (!l->list || !l->from)
		return -ERR_NOMEM;
	for (uint32_t e = 0; e < c->nentries; e++)
		if (counted_for(c, e, notice) != BIN_NONE)
			l->from[counted_for(c, e, notice) + 2]++;
	for (uint32_t i = 2; i < n + 2; i++)
		l->from[i] += l->from[i - 1];
	for (uint32_t e = 0; e < c->nentries; e++)
		if (counted_for(c, e, notice) != BIN_NONE)
			l->list[l->from[counted_for(c, e, notice) + 1]++] = e;
	return 0;
}

static int check_arrivals(struct check_queues *c)
{
	struct counted credit = { 0 }, notices = { 0 };
	size_t need = 0;
	int err = list_counted(c, c->nqueues, false, &credit);

	err = err ? err : list_counted(c, c->nranks, true, &notices);
	for (uint32_t e = 0; e < c->nentries && !err && c->found < SHOWN; e++)
		check_arrival(c, e, &need, &credit, &notices);
	free(credit.list);
	free(credit.from);
	free(notices.list);
	free(notices.from);
	return err;
}

/* Checks that two things do not happen before a rank has started: that other ranks access its memory, and that ranks which
 * wait for it complete. */
static void check_rank(struct check_queues *c, uint32_t r, const struct ir_query *ends)
{
	run_without_event(c, HELD_START, r);
	for (uint32_t e = 0; e < c->nentries; e++)
		if (entry_at(c, e)->peer == r && touches_buffers(entry_at(c, e)) && c->state[0].issued[e])
			found(c, e, "%s can be issued before rank %u has started", entry_text(c, e).s, r);
	for (uint32_t i = 0; i < c->nranks; i++)
		if (ends[i].yes && c->state[0].done[i])
			found(c, BIN_NONE, "rank %u can complete before rank %u has started, and not in the schedule", i, r);
	check_ahead(c);
}

static int check_ranks(struct check_queues *c)
{
	const uint32_t n = c->nranks;
	struct ir_query *q = mem_alloc((size_t)(n < SOURCES ? n : SOURCES) * n * sizeof *q);
	int err = q ? 0 : -ERR_NOMEM;

	for (uint32_t first = 0; first < n && !err && c->found < SHOWN; first += SOURCES) {
		const uint32_t end = n - first < SOURCES ? n : first + SOURCES;

		err = ir_ranks_reach(c->ev, first, end, q);
		for (uint32_t r = first; r < end && !err && c->found < SHOWN; r++)
			if (!left_out(c, r))
				check_rank(c, r, q + (size_t)(r - first) * n);
	}
	free(q);
	return err;
}

/* Checks that a rank does not complete before its CPU has posted its queues. The CPU posts nothing after completion. */
static void check_posts(struct check_queues *c)
{
	for (uint32_t r = 0; r < c->nranks; r++)
		for (uint32_t q = c->qbase[r]; q < c->qbase[r + 1] && c->found < SHOWN; q++) {
			const struct bin_queue *b = queue_at(c, r, q);

			if (b->mode != BIN_Q_POSTED || !b->n)
				continue;
			run_without_event(c, HELD_POST, q);
			if (c->state[0].done[r])
				found(c, c->ebase[r] + b->first, "rank %u can complete before it has posted its queue %u", r,
				      q - c->qbase[r]);
		}
}

/* ---- all checks ---- */

/* Checks the required orders in a run of two starts. If the counts of the starts can mix, checks the orders again in three
 * starts with common counts. */
static int check_orders(struct check_queues *c)
{
	int err;

	check_all_happens(c);
	if (!c->found)
		check_posts(c);
	err = c->found ? 0 : check_arrivals(c);
	err = err || c->found ? err : check_ranks(c);
	if (err || c->found || !c->mixed.yes || c->pooled)
		return err;
	c->pooled = true;
	c->starts = STARTS;
	err = check_orders(c);
	c->pooled = false;
	if (!err && (c->found || c->ahead)) {
		c->found = 0;
		report_mixed(c);
	}
	return err;
}

static void free_checks(struct check_queues *c)
{
	for (unsigned k = 0; k < STARTS; k++)
		free(c->state[k].credit);
	free(c->ebase);
	free(c->qbase);
	free(c->route);
	free(c->rank_of_queue);
	free(c->by_op_at);
	free(c->by_op);
	conflicts_free(&c->conflicts);
	VEC_FREE(&c->needs);
	VEC_FREE(&c->todo);
}

static int check_all_queues(struct check_queues *c)
{
	int err = 0;

	for (uint32_t r = 0; r < c->nranks; r++)
		if (!queues_are_contiguous(&c->s->ranks[r])) {
			found(c, BIN_NONE, "rank %u: the queues do not share its entries out", r);
			return 0;
		}
	err = number_entries(c);
	if (!err)
		check_shape(c);
	if (err || c->found)
		return err;
	err = index_ops(c);
	for (uint32_t r = 0; r < c->nranks; r++)
		for (uint32_t q = c->qbase[r]; q < c->qbase[r + 1] && !err; q++)
			err = find_routes(c, r, q);
	err = err ? err : check_ops(c);
	err = err ? err : check_sums(c);
	err = err || c->found ? err : state_init(c);
	if (err || c->found)
		return err;
	err = find_needs(c);
	return err ? err : check_orders(c);
}

/* Returns the stride with which all runs together visit about `most` entries; 1 if there is no limit. */
static uint64_t stride_for(const struct smcq *s, uint64_t most)
{
	uint64_t runs = s->nranks, entries = 0;

	for (uint32_t r = 0; r < s->nranks; r++) {
		entries += s->ranks[r].entries.n;
		for (size_t e = 0; e < s->ranks[r].entries.n; e++)
			runs += s->ranks[r].entries.at[e].kind != BIN_E_NOP;
	}
	return most ? runs * (entries + 1) / most + 1 : 1;
}

int verify_queues(struct goal_diags *d, const struct symbolic *run, const struct smcq *s, uint64_t most, bool *partly)
{
	struct check_queues c = { .d = d, .g = run->g, .s = s, .run = run, .ev = run->ev, .nranks = run->g->nranks,
				  .starts = STARTS - 1, .stride = stride_for(s, most) };
	int err = check_all_queues(&c);

	*partly = c.stride > 1;
	free_checks(&c);
	return err;
}
