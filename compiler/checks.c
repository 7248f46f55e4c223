/* SPDX-License-Identifier: BSD-3-Clause
 * Named checks, one table at the bottom. */
#include "compiler/checks.h"

#include "compiler/bin_check.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void found(struct goal_diags *d, const struct ir_graph *g, const struct check *self,
		  enum goal_severity s, uint32_t rank, uint32_t op, const char *text)
{
	struct goal_loc at = ir_graph_loc(g, &g->ranks[rank].ops[op]);

	if (at.line)
		goal_diag(d, s, at, self->name, "%s%s", g->sample, text);
	else
		goal_diag(d, s, at, self->name, "%srank %u op %u: %s", g->sample, rank, op, text);
}

#define FOUND(d, g, self, s, rank, op, ...)                              \
	do {                                                             \
		char text_[256];                                         \
		snprintf(text_, sizeof text_, __VA_ARGS__);              \
		found(d, g, self, s, rank, op, text_);                   \
	} while (0)

/* ---- messages ---- */

struct end {
	uint32_t src, dst, tag, op;
};

/* A growable list of the ends of messages. */
struct ends {
	VEC(struct end) v;
};

static int by_channel(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->src != y->src)
		return x->src < y->src ? -1 : 1;
	if (x->dst != y->dst)
		return x->dst < y->dst ? -1 : 1;
	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return (x->op > y->op) - (x->op < y->op);
}

static bool same_channel(const struct end *x, const struct end *y)
{
	return x->src == y->src && x->dst == y->dst && x->tag == y->tag;
}

/* Where each kind of op is, by channel and then in program order. wild[r]: rank r has a wildcard. */
static int collect(const struct ir_graph *g, struct ends *sends, struct ends *recvs, bool **wild)
{
	*sends = *recvs = (struct ends){ 0 };
	*wild = mem_calloc(g->nranks, 1);
	if (!*wild)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++) {
			const struct bin_op *op = &g->ranks[r].ops[i];

			if (op->kind == BIN_OP_RECV && (op->peer == BIN_ANY || op->tag == BIN_ANY))
				(*wild)[r] = true;
			if (op->kind == BIN_OP_SEND && op->tag == BIN_ANY)
				(*wild)[op->peer] = true;
		}
	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++) {
			const struct bin_op *op = &g->ranks[r].ops[i];
			int err = 0;

			if (op->kind == BIN_OP_SEND && !(*wild)[op->peer])
				err = VEC_PUSH(&sends->v, (struct end){ r, op->peer, op->tag, i });
			if (op->kind == BIN_OP_RECV && !(*wild)[r])
				err = VEC_PUSH(&recvs->v, (struct end){ op->peer, r, op->tag, i });
			if (err)
				return err;
		}
	if (sends->v.n)
		qsort(sends->v.at, sends->v.n, sizeof *sends->v.at, by_channel);
	if (recvs->v.n)
		qsort(recvs->v.at, recvs->v.n, sizeof *recvs->v.at, by_channel);
	return 0;
}

static void drop(struct ends *sends, struct ends *recvs, bool *wild)
{
	VEC_FREE(&sends->v);
	VEC_FREE(&recvs->v);
	free(wild);
}

/* Calls one of the three for each end: a pair, a send without recv, a recv without send. */
struct visitor {
	void *arg;
	int (*pair)(void *arg, const struct end *s, const struct end *r);
	int (*lone)(void *arg, const struct end *e, bool send);
};

static int walk(const struct ends *sends, const struct ends *recvs, const struct visitor *v)
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
	int err = collect(g, &sends, &recvs, &wild);

	if (!err)
		err = walk(&sends, &recvs, &(struct visitor){ .arg = &m, .pair = add_match });
	drop(&sends, &recvs, wild);
	if (err)
		VEC_FREE(&m.v);
	*out = m.v.at;
	*n = m.v.n;
	return err;
}

struct report {
	struct goal_diags *d;
	const struct ir_graph *g;
	const struct check *self;
	enum goal_severity s;
};

static int lone_end(void *arg, const struct end *e, bool send)
{
	const struct report *p = arg;

	if (send)
		FOUND(p->d, p->g, p->self, p->s, e->src, e->op,
		      "this send from rank %u to rank %u with tag %u has no recv", e->src, e->dst, e->tag);
	else
		FOUND(p->d, p->g, p->self, p->s, e->dst, e->op,
		      "this recv of rank %u from rank %u with tag %u has no send", e->dst, e->src, e->tag);
	return 0;
}

static int count_wild(const struct report *p, const bool *wild)
{
	const struct ir_graph *g = p->g;
	uint64_t *to = mem_calloc(g->nranks, sizeof *to);

	if (!to)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++)
			if (g->ranks[r].ops[i].kind == BIN_OP_SEND)
				to[g->ranks[r].ops[i].peer]++;
	for (uint32_t r = 0; r < g->nranks; r++) {
		uint64_t recvs = 0;
		uint32_t last = 0;

		for (uint32_t i = 0; i < g->ranks[r].nops; i++)
			if (g->ranks[r].ops[i].kind == BIN_OP_RECV) {
				recvs++;
				last = i;
			}
		if (!wild[r] || recvs == to[r])
			continue;
		if (recvs)
			FOUND(p->d, g, p->self, p->s, r, last,
			      "with wildcards rank %u has recvs: %" PRIu64 ", but sends go to it: %" PRIu64, r, recvs,
			      to[r]);
		else
			goal_diag(p->d, p->s, (struct goal_loc){ .file = (uint16_t)g->file }, p->self->name,
				  "rank %u has no recv, but sends go to it: %" PRIu64, r, to[r]);
	}
	free(to);
	return 0;
}

/* Walks over all ends of messages for a check. */
static int visit(struct report *p, struct visitor v, int (*more)(const struct report *, const bool *))
{
	struct ends sends, recvs;
	bool *wild;
	int err = collect(p->g, &sends, &recvs, &wild);

	v.arg = p;
	if (!err)
		err = walk(&sends, &recvs, &v);
	if (!err && more)
		err = more(p, wild);
	drop(&sends, &recvs, wild);
	return err;
}

static int check_unmatched(struct goal_diags *d, const struct ir_graph *g, const struct check *self,
			   enum goal_severity s)
{
	return visit(&(struct report){ d, g, self, s }, (struct visitor){ .lone = lone_end }, count_wild);
}

static int size_pair(void *arg, const struct end *s, const struct end *r)
{
	const struct report *p = arg;
	uint64_t ls = p->g->ranks[s->src].ops[s->op].len, lr = p->g->ranks[r->dst].ops[r->op].len;
	const char *unit = p->g->plain ? "bytes" : "elements";

	if (ls != lr) {
		struct goal_loc at = ir_graph_loc(p->g, &p->g->ranks[s->src].ops[s->op]);

		FOUND(p->d, p->g, p->self, p->s, r->dst, r->op,
		      "this recv of rank %u takes %" PRIu64 " %s, its send from rank %u (line %u) has %" PRIu64,
		      r->dst, lr, unit, s->src, at.line, ls);
	}
	return 0;
}

static int check_size(struct goal_diags *d, const struct ir_graph *g, const struct check *self,
		      enum goal_severity s)
{
	return visit(&(struct report){ d, g, self, s }, (struct visitor){ .pair = size_pair }, NULL);
}

/* ---- one rank ---- */

static int check_cycle(struct goal_diags *d, const struct ir_graph *g, const struct check *self,
		       enum goal_severity s)
{
	for (uint32_t r = 0; r < g->nranks; r++) {
		uint32_t bad = 0, *pos = mem_alloc((size_t)g->ranks[r].nops * sizeof *pos);
		int err = pos ? ir_rank_positions(&g->ranks[r], pos, &bad) : -ERR_NOMEM;

		free(pos);
		if (err == -ERR_CYCLE)
			FOUND(d, g, self, s, r, bad, "this op of rank %u waits for itself: its dependencies form a cycle", r);
		else if (err)
			return err;
	}
	return 0;
}

/* The k-th and the next op of a channel are an edge of their own here: if that closes a cycle, the
 * dependencies want the opposite order. */
int ir_rank_order(const struct ir_rank *rank, uint32_t *bad)
{
	struct ir_rank with = { .ops = rank->ops, .nops = rank->nops };
	VEC(struct end) ends = { 0 };
	VEC(struct bin_dep) edges = { 0 };
	uint32_t *pos = mem_alloc((size_t)rank->nops * sizeof *pos);
	bool any = false;
	int err = pos ? 0 : -ERR_NOMEM;

	for (uint32_t i = 0; i < rank->nops && !err; i++) {
		const struct bin_op *op = &rank->ops[i];

		for (uint32_t k = rank->dep_at[i]; k < rank->dep_at[i + 1]; k++) {
			any |= (rank->deps[k] & ~BIN_START) > i;
			err |= VEC_PUSH(&edges, (struct bin_dep){ i, rank->deps[k] });
		}
		if (bin_operands(op->kind)[0] == 'P')
			err |= VEC_PUSH(&ends, (struct end){ op->kind, op->peer, op->tag, i });
	}
	/* With all dependencies pointing back, text order agrees with them. */
	if (!err && any && ends.n > 1) {
		qsort(ends.at, ends.n, sizeof *ends.at, by_channel);
		for (size_t i = 1; i < ends.n && !err; i++)
			if (same_channel(&ends.at[i - 1], &ends.at[i]))
				err = VEC_PUSH(&edges, (struct bin_dep){ ends.at[i].op,
									 ends.at[i - 1].op | BIN_START });
		if (!err)
			err = ir_rank_set_deps(&with, edges.at, (uint32_t)edges.n);
		if (!err)
			err = ir_rank_positions(&with, pos, bad);
	}
	with.ops = NULL;
	ir_rank_fini(&with);
	VEC_FREE(&ends);
	VEC_FREE(&edges);
	free(pos);
	return err;
}

static int check_order(struct goal_diags *d, const struct ir_graph *g, const struct check *self,
		       enum goal_severity s)
{
	int err = 0;

	for (uint32_t r = 0; r < g->nranks && !err; r++) {
		uint32_t bad;

		err = ir_rank_order(&g->ranks[r], &bad);
		if (err == -ERR_CYCLE) {
			err = 0;
			FOUND(d, g, self, s, r, bad,
			      "rank %u: the order of the text on a channel contradicts the dependencies", r);
		}
	}
	return err;
}

/* ---- events ---- */

void ir_events_fini(struct ir_events *ev)
{
	free(ev->base);
	free(ev->pred_at);
	free(ev->pred);
	*ev = (struct ir_events){ 0 };
}

/* Calls add(to, from) for each pair of events of which from comes first. */
static void each_edge(const struct ir_graph *g, const struct ir_events *ev, const struct ir_match *m,
		      size_t nm, bool rendezvous, void (*add)(struct ir_events *, uint32_t, uint32_t),
		      struct ir_events *arg)
{
	for (uint32_t r = 0; r < g->nranks; r++) {
		const struct ir_rank *rank = &g->ranks[r];

		for (uint32_t i = 0; i < rank->nops; i++) {
			uint32_t me = 2 * (ev->base[r] + i);

			add(arg, me + 1, me);
			for (uint32_t k = rank->dep_at[i]; k < rank->dep_at[i + 1]; k++) {
				uint32_t on = 2 * (ev->base[r] + (rank->deps[k] & ~BIN_START));

				add(arg, me, rank->deps[k] & BIN_START ? on : on + 1);
			}
		}
	}
	for (size_t i = 0; i < nm; i++) {
		uint32_t s = 2 * (ev->base[m[i].src] + m[i].send), r = 2 * (ev->base[m[i].dst] + m[i].recv);

		add(arg, r + 1, s); /* a recv completes after its send started */
		if (rendezvous)
			add(arg, s + 1, r);
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

int ir_events_init(struct ir_events *ev, const struct ir_graph *g, const struct ir_match *m, size_t nm,
		   bool rendezvous)
{
	uint64_t total = 0;
	uint32_t n;

	*ev = (struct ir_events){ 0 };
	ev->base = mem_calloc((size_t)g->nranks + 1, sizeof *ev->base);
	if (!ev->base)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < g->nranks; r++) {
		ev->base[r] = (uint32_t)total;
		total += g->ranks[r].nops;
		if (total > UINT32_MAX / 4)
			return -ERR_NOMEM;
	}
	ev->base[g->nranks] = (uint32_t)total;
	n = 2 * (uint32_t)total;
	ev->pred_at = mem_calloc((size_t)n + 3, sizeof *ev->pred_at);
	if (!ev->pred_at)
		return -ERR_NOMEM;
	each_edge(g, ev, m, nm, rendezvous, count_edge, ev);
	for (uint32_t e = 2; e < n + 2; e++)
		ev->pred_at[e] += ev->pred_at[e - 1];
	ev->pred = mem_alloc((size_t)ev->pred_at[n + 1] * sizeof *ev->pred);
	if (!ev->pred)
		return -ERR_NOMEM;
	each_edge(g, ev, m, nm, rendezvous, put_edge, ev);
	return 0;
}

static uint32_t rank_of(const struct ir_graph *g, const struct ir_events *ev, uint32_t op)
{
	uint32_t lo = 0, hi = g->nranks;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (ev->base[mid] <= op)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* Kahn: pos[e] is the place of event e in an order, UINT32_MAX of one that waits for itself. */
static int sort_events(const struct ir_events *ev, uint32_t n, uint32_t *pos, bool *all)
{
	uint32_t *wait = mem_alloc((size_t)n * sizeof *wait), *queue = mem_alloc((size_t)n * sizeof *queue);
	uint32_t *succ_at = mem_calloc((size_t)n + 2, sizeof *succ_at);
	uint32_t *succ = mem_alloc((size_t)ev->pred_at[n] * sizeof *succ), head = 0, tail = 0;
	int err = wait && queue && succ_at && succ ? 0 : -ERR_NOMEM;

	if (err)
		goto out;
	for (uint32_t p = 0; p < ev->pred_at[n]; p++)
		succ_at[ev->pred[p] + 2]++;
	for (uint32_t e = 2; e < n + 2; e++)
		succ_at[e] += succ_at[e - 1];
	for (uint32_t e = 0; e < n; e++) {
		pos[e] = UINT32_MAX;
		wait[e] = ev->pred_at[e + 1] - ev->pred_at[e];
		for (uint32_t p = ev->pred_at[e]; p < ev->pred_at[e + 1]; p++)
			succ[succ_at[ev->pred[p] + 1]++] = e;
		if (!wait[e])
			queue[tail++] = e;
	}
	for (; head < tail; head++) {
		pos[queue[head]] = head;
		for (uint32_t k = succ_at[queue[head]]; k < succ_at[queue[head] + 1]; k++)
			if (--wait[succ[k]] == 0)
				queue[tail++] = succ[k];
	}
	*all = tail == n;
out:
	free(wait);
	free(queue);
	free(succ_at);
	free(succ);
	return err;
}

static int check_deadlock(struct goal_diags *d, const struct ir_graph *g, const struct check *self,
			  enum goal_severity s)
{
	struct ir_match *m = NULL;
	struct ir_events ev = { 0 };
	size_t nm = 0;
	uint32_t n, *pos = NULL;
	bool all = true;
	int err = ir_graph_match(g, &m, &nm);

	err = err ? err : ir_events_init(&ev, g, m, nm, true);
	if (err)
		goto out;
	n = 2 * ev.base[g->nranks];
	pos = mem_alloc((size_t)n * sizeof *pos);
	err = pos ? sort_events(&ev, n, pos, &all) : -ERR_NOMEM;
	if (err)
		goto out;
	if (!all) { /* walk back among what waits until the walk has entered a cycle */
		uint32_t e = 0, at;

		while (pos[e] != UINT32_MAX)
			e++;
		for (uint32_t step = 0; step < n; step++)
			for (uint32_t p = ev.pred_at[e]; p < ev.pred_at[e + 1]; p++)
				if (pos[ev.pred[p]] == UINT32_MAX) {
					e = ev.pred[p];
					break;
				}
		at = rank_of(g, &ev, e / 2);
		FOUND(d, g, self, s, at, e / 2 - ev.base[at],
		      "deadlock: this op of rank %u waits for itself by way of messages", at);
	}
out:
	free(m);
	ir_events_fini(&ev);
	free(pos);
	return err;
}

/* ---- races ---- */

struct access {
	uint64_t lo, hi;
	uint32_t op;
	uint16_t buf;
	bool write;
};

static int by_range(const void *a, const void *b)
{
	const struct access *x = a, *y = b;

	if (x->buf != y->buf)
		return x->buf < y->buf ? -1 : 1;
	return (x->lo > y->lo) - (x->lo < y->lo);
}

struct races {
	const struct ir_graph *g;
	struct ir_events ev;
	uint32_t *partner; /* of each send and recv, the other op + 1 */
	uint32_t *stamp, *stack, *pos, round;
	uint64_t work; /* left */
	unsigned found;
	uint32_t last[2]; /* that were found */
};

/* Past so many steps, or findings, the search ends. */
#define RACE_WORK ((uint64_t)1 << 26)
#define RACES 20u

/* Whether event from comes before event to, walking back from to. */
static bool before(struct races *x, uint32_t from, uint32_t to)
{
	uint32_t n = 0;

	x->round++;
	x->stack[n++] = to;
	x->stamp[to] = x->round;
	while (n) {
		uint32_t e = x->stack[--n];

		if (e == from)
			return true;
		x->work -= x->work > 0;
		for (uint32_t p = x->ev.pred_at[e]; p < x->ev.pred_at[e + 1]; p++) {
			uint32_t pred = x->ev.pred[p];

			/* What comes earlier in the order than from does not come after it. */
			if (x->stamp[pred] != x->round && x->pos[pred] >= x->pos[from]) {
				x->stamp[pred] = x->round;
				x->stack[n++] = pred;
			}
		}
	}
	return false;
}

/* Whether op a (numbered through) is through with its bytes before op b touches them. The bytes of a send
 * are also read when its recv is complete; those of a recv are not written before its send starts. */
static bool ordered(struct races *x, uint32_t a, bool a_sends, uint32_t b, bool b_recvs)
{
	uint32_t from[2] = { 2 * a + 1, 0 }, to[2] = { 2 * b, 0 };
	int nf = 1, nt = 1;

	if (a_sends && x->partner[a])
		from[nf++] = 2 * (x->partner[a] - 1) + 1;
	if (b_recvs && x->partner[b])
		to[nt++] = 2 * (x->partner[b] - 1);
	for (int i = 0; i < nf; i++)
		for (int k = 0; k < nt; k++)
			if (before(x, from[i], to[k]))
				return true;
	return false;
}

static void race(struct goal_diags *d, struct races *x, const struct check *self, enum goal_severity s,
		 uint32_t r, const struct access *a, const struct access *b)
{
	const struct ir_rank *rank = &x->g->ranks[r];
	uint32_t base = x->ev.base[r];
	uint8_t ka = rank->ops[a->op].kind, kb = rank->ops[b->op].kind;

	if (x->found && x->last[0] == base + a->op && x->last[1] == base + b->op)
		return; /* it is known by another range */
	if (a->op == b->op || (!a->write && !b->write) ||
	    ordered(x, base + a->op, ka == BIN_OP_SEND, base + b->op, kb == BIN_OP_RECV) ||
	    ordered(x, base + b->op, kb == BIN_OP_SEND, base + a->op, ka == BIN_OP_RECV))
		return;
	uint32_t first = a->op < b->op ? a->op : b->op, second = a->op < b->op ? b->op : a->op;
	struct goal_loc at = ir_graph_loc(x->g, &rank->ops[first]);

	x->found++;
	x->last[0] = base + a->op;
	x->last[1] = base + b->op;
	FOUND(d, x->g, self, s, r, second,
	      "rank %u: this op and op %u (line %u) touch the same bytes, one writes, and nothing orders them",
	      r, first, at.line);
}

static int race_of_rank(struct goal_diags *d, struct races *x, const struct check *self,
			enum goal_severity s, uint32_t r)
{
	const struct ir_rank *rank = &x->g->ranks[r];
	VEC(struct access) v = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < rank->nops && !err; i++) {
		const struct bin_op *op = &rank->ops[i];
		const char *operands = bin_operands(op->kind);

		for (unsigned k = 0; k < bin_nranges(op->kind) && op->len && !err; k++) {
			bool write = operands[0] == 'P' ? operands[1] == 'R' : k == 1;

			err = VEC_PUSH(&v, (struct access){ op->off[k], op->off[k] + op->len, i, op->buf[k],
							    write });
		}
	}
	if (v.n > 1)
		qsort(v.at, v.n, sizeof *v.at, by_range);
	for (size_t i = 0; i < v.n && !err; i++)
		for (size_t k = i + 1; k < v.n && v.at[k].buf == v.at[i].buf && v.at[k].lo < v.at[i].hi &&
				       x->work && x->found < RACES;
		     k++, x->work -= x->work > 0)
			race(d, x, self, s, r, &v.at[i], &v.at[k]);
	/* An op of its own that reads and writes one range is at fault as well. */
	for (uint32_t i = 0; i < rank->nops && !err; i++) {
		const struct bin_op *op = &rank->ops[i];

		if (bin_nranges(op->kind) == 2 && op->buf[0] == op->buf[1] && op->len &&
		    op->off[0] < op->off[1] + op->len && op->off[1] < op->off[0] + op->len &&
		    (op->kind == BIN_OP_COPY || op->off[0] != op->off[1]))
			FOUND(d, x->g, self, s, r, i, "rank %u: the two ranges of this op overlap", r);
	}
	VEC_FREE(&v);
	return err;
}

static int check_race(struct goal_diags *d, const struct ir_graph *g, const struct check *self,
		      enum goal_severity s)
{
	struct races x = { .g = g, .work = RACE_WORK };
	struct ir_match *m = NULL;
	size_t nm = 0;
	bool all;
	int err = g->plain ? 0 : ir_graph_match(g, &m, &nm);

	if (g->plain) /* every op has bytes of its own */
		return 0;
	err = err ? err : ir_events_init(&x.ev, g, m, nm, false);
	if (!err) {
		uint32_t n = x.ev.base[g->nranks];

		x.partner = mem_calloc(n, sizeof *x.partner);
		x.stamp = mem_calloc(2 * (size_t)n, sizeof *x.stamp);
		x.stack = mem_alloc(2 * (size_t)n * sizeof *x.stack);
		x.pos = mem_alloc(2 * (size_t)n * sizeof *x.pos);
		err = x.partner && x.stamp && x.stack && x.pos ? sort_events(&x.ev, 2 * n, x.pos, &all) :
								 -ERR_NOMEM;
	}
	for (size_t i = 0; i < nm && !err; i++) {
		uint32_t a = x.ev.base[m[i].src] + m[i].send, b = x.ev.base[m[i].dst] + m[i].recv;

		x.partner[a] = b + 1;
		x.partner[b] = a + 1;
	}
	for (uint32_t r = 0; r < g->nranks && !err && x.found < RACES; r++) {
		err = race_of_rank(d, &x, self, s, r);
		if (!x.work) {
			goal_diag(d, GOAL_WARNING, (struct goal_loc){ .file = (uint16_t)g->file }, self->name,
				  "%sthe schedule is too long to look for races beyond rank %u", g->sample, r);
			break;
		}
	}
	free(x.pos);
	free(m);
	free(x.partner);
	free(x.stamp);
	free(x.stack);
	ir_events_fini(&x.ev);
	return err;
}

/* ---- the table ---- */

#define ALWAYS { CHECK_FAIL, CHECK_FAIL, CHECK_FAIL }, true

const struct check checks[] = {
	{ "syntax", "the text follows the grammar", ALWAYS, NULL },
	{ "overflow", "numbers fit their fields", ALWAYS, NULL },
	{ "name", "variables, functions, buffers and parameters are declared", ALWAYS, NULL },
	{ "unknown-label", "a dependency names labels of its rank", ALWAYS, NULL },
	{ "duplicate-label", "a label stands for one op", ALWAYS, NULL },
	{ "missing-rank", "every rank of a plain file is there", ALWAYS, NULL },
	{ "duplicate-rank", "no rank of a plain file is there twice", ALWAYS, NULL },
	{ "peer", "peers are ranks of the schedule", ALWAYS, NULL },
	{ "bounds", "ranges lie within their buffers, and in buffers are not written", ALWAYS, NULL },
	{ "unknown-param", "ops use only parameters that their rank knows", ALWAYS, NULL },
	{ "cycle", "no op of a rank waits for itself", ALWAYS, check_cycle },
	{ "order", "on a channel the text order agrees with the dependencies", ALWAYS, check_order },
	{ "unmatched", "every send has a recv and every recv a send",
	  { CHECK_WARN, CHECK_FAIL, CHECK_FAIL }, false, check_unmatched },
	{ "size", "a send and its recv have the same size",
	  { CHECK_WARN, CHECK_FAIL, CHECK_FAIL }, false, check_size },
	{ "deadlock", "no op waits for itself by way of messages",
	  { CHECK_OFF, CHECK_FAIL, CHECK_FAIL }, false, check_deadlock },
	{ "race", "ops that touch the same bytes, one writing, are ordered",
	  { CHECK_FAIL, CHECK_FAIL, CHECK_FAIL }, false, check_race },
};
const unsigned nchecks = sizeof checks / sizeof *checks;

int check_find(const char *name)
{
	for (unsigned i = 0; i < nchecks; i++)
		if (!strcmp(checks[i].name, name))
			return (int)i;
	return -1;
}

int checks_run(struct goal_diags *d, const struct ir_graph *g, enum check_for what, uint64_t off)
{
	for (unsigned i = 0; i < nchecks; i++) {
		const struct check *c = &checks[i];
		enum goal_severity s = c->level[what] == CHECK_FAIL ? GOAL_ERROR : GOAL_WARNING;
		unsigned before = goal_diags_errors(d);
		int err;

		if (!c->run || c->level[what] == CHECK_OFF || (!c->fixed && (off >> i & 1)))
			continue;
		err = c->run(d, g, c, s);
		if (err)
			return err;
		if (c->fixed && goal_diags_errors(d) != before)
			return 0;
	}
	return 0;
}
