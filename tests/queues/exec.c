/* SPDX-License-Identifier: BSD-3-Clause
 * The executor of queues: one step after the other, each chosen at random among all that are possible.
 *
 * A queue issues an entry; its bytes are read in two steps, and written in two, with the second of which it arrives; those
 * of an ARMW are read in one, and combined with what is there in another. A
 * rank that completes finds its buffers compared, and then filled with rubbish until it starts again, when the rubbish
 * has to be what it was: so nobody touches them in between. */
#include "tests/queues/exec.h"

#include "compiler/ir/smcq.h"
#include "format/check.h"
#include "util/hash64.h"

#include <stdlib.h>
#include <string.h>

const char *const outcome_words[OUTCOMES] = { "right", "hangs", "wrong bytes", "bytes of a rank that has not started",
					    "too early" };

struct scene {
	const struct ir_graph *g;
	const struct ir_events *ev;
	const bool *waits;
	uint64_t *base; /* of buffer b of rank r: base[r * nbuffers + b], and the end */
	uint64_t size;
	unsigned armw; /* that of the schedule's operation, or 0 */
	uint64_t *given[EPOCHS], *wanted[EPOCHS];
};

struct flight {
	uint32_t rank, queue, entry, epoch, seq;
	unsigned step, steps;
	uint64_t *bytes;
};

struct rank {
	bool running;
	uint32_t starts, done; /* how many */
	uint64_t locals, remotes;
};

struct exec {
	const struct scene *w;
	const struct smcq *s;
	const struct order *o;
	uint64_t random, *memory;
	struct rank *ranks;
	uint32_t *qbase;
	uint64_t *credit, *issued; /* of each queue */
	uint32_t *posts; /* how often it has been posted, of those that a CPU posts */
	VEC(struct flight) flights;
	uint32_t seq;
	enum outcome end;
};

static uint64_t chance(struct exec *x, uint64_t n)
{
	x->random = hash64(x->random + 0x9e3779b97f4a7c15);
	return x->random % n;
}

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

static uint64_t *place(const struct scene *w, uint64_t *memory, uint32_t rank, uint32_t buf, uint64_t off)
{
	return memory + w->base[(size_t)rank * w->g->nbuffers + buf] + off;
}

/* a op b: of ARMWs, or in no way commutative. */
static uint64_t combine(unsigned armw, uint64_t a, uint64_t b)
{
	switch (armw) {
	case BIN_ARMW_ADD4:
	case BIN_ARMW_ADD8:
		return a + b;
	case BIN_ARMW_XOR4:
	case BIN_ARMW_XOR8:
		return a ^ b;
	case BIN_ARMW_AND4:
	case BIN_ARMW_AND8:
		return a & b;
	case BIN_ARMW_OR4:
	case BIN_ARMW_OR8:
		return a | b;
	default:
		return hash64(a) * 3 + b;
	}
}

/* ---- what is wanted ---- */

static void reduce(const struct scene *w, const struct bin_op *op, const uint64_t *a, uint64_t *b)
{
	const bool left = op->kind == BIN_OP_REDUCE || op->kind == BIN_OP_RECV_REDUCE;

	for (uint64_t i = 0; i < op->len; i++)
		b[i] = left ? combine(w->armw, a[i], b[i]) : combine(w->armw, b[i], a[i]);
}

/* The ops in one order; a message is on its way from its send's start to its recv's completion. */
static void wanted(struct scene *w, uint64_t *memory)
{
	uint64_t **flying = must(calloc(w->ev->nops + 1, sizeof *flying));

	for (uint32_t at = 0; at < w->ev->n; at++) {
		const uint32_t e = w->ev->order[at], op = e / 2;

		if (op >= w->ev->nops)
			continue;
		const uint32_t r = ir_events_rank(w->ev, op);
		const struct bin_op *o = &w->g->ranks[r].ops[op - w->ev->base[r]];
		uint64_t *p[2] = { NULL, NULL };

		for (unsigned k = 0; k < bin_nranges(o->kind); k++)
			p[k] = place(w, memory, r, o->buf[k], o->off[k]);
		if (o->kind == BIN_OP_SEND && e % 2 == 0) {
			flying[w->ev->partner[op] - 1] = must(malloc(o->len * 8 + 1));
			memcpy(flying[w->ev->partner[op] - 1], p[0], o->len * 8);
		} else if (bin_recvs(o->kind) && e % 2) {
			if (bin_reduces(o->kind))
				reduce(w, o, flying[op], p[0]);
			else
				memcpy(p[0], flying[op], o->len * 8);
			free(flying[op]);
		} else if (o->kind == BIN_OP_COPY && e % 2 == 0) {
			memmove(p[1], p[0], o->len * 8);
		} else if (bin_reduces(o->kind) && !bin_recvs(o->kind) && e % 2 == 0) {
			reduce(w, o, p[0], p[1]);
		}
	}
	free(flying);
}

struct scene *scene_new(const struct ir_graph *g, const struct ir_events *ev, const bool *waits)
{
	struct scene *w = must(calloc(1, sizeof *w));
	const size_t n = (size_t)g->nranks * g->nbuffers;

	*w = (struct scene){ .g = g, .ev = ev, .waits = waits, .base = must(calloc(n + 1, 8)) };
	for (uint32_t r = 0; r < g->nranks; r++)
		for (size_t i = 0; i < g->queues->ranks[r].entries.n; i++)
			w->armw |= g->queues->ranks[r].entries.at[i].armw; /* all are the same */
	for (size_t i = 0; i < n; i++)
		w->base[i + 1] = w->base[i] + g->ranks[i / g->nbuffers].bufsize[i % g->nbuffers];
	w->size = w->base[n];
	for (uint32_t e = 0; e < EPOCHS; e++) {
		w->given[e] = must(malloc(w->size * 8 + 1));
		w->wanted[e] = must(malloc(w->size * 8 + 1));
		for (uint64_t i = 0; i < w->size; i++)
			w->given[e][i] = hash64(i + ((uint64_t)e << 40));
		memcpy(w->wanted[e], w->given[e], w->size * 8);
		wanted(w, w->wanted[e]);
	}
	return w;
}

void scene_free(struct scene *w)
{
	for (uint32_t e = 0; e < EPOCHS; e++) {
		free(w->given[e]);
		free(w->wanted[e]);
	}
	free(w->base);
	free(w);
}

/* ---- ranks ---- */

static uint64_t rubbish(uint64_t i, uint32_t epoch)
{
	return hash64(i ^ ((uint64_t)(epoch + 1) << 50));
}

static void fail(struct exec *x, enum outcome end)
{
	if (x->end == OUT_RIGHT)
		x->end = end;
}

/* Nobody has touched a rank that had not started. */
static void check_rubbish(struct exec *x, uint32_t r)
{
	const uint64_t from = x->w->base[(size_t)r * x->w->g->nbuffers], to = x->w->base[((size_t)r + 1) * x->w->g->nbuffers];

	for (uint64_t i = from; i < to; i++)
		if (x->memory[i] != rubbish(i, x->ranks[r].done))
			fail(x, OUT_STRAY);
}

static void fill(struct exec *x, uint32_t r)
{
	const uint64_t from = x->w->base[(size_t)r * x->w->g->nbuffers], to = x->w->base[((size_t)r + 1) * x->w->g->nbuffers];

	for (uint64_t i = from; i < to; i++)
		x->memory[i] = rubbish(i, x->ranks[r].done);
}

static void start(struct exec *x, uint32_t r)
{
	struct rank *me = &x->ranks[r];
	const uint64_t from = x->w->base[(size_t)r * x->w->g->nbuffers], to = x->w->base[((size_t)r + 1) * x->w->g->nbuffers];

	check_rubbish(x, r);
	memcpy(x->memory + from, x->w->given[me->starts] + from, (to - from) * 8);
	me->starts++;
	me->running = true;
}

static bool can_complete(const struct exec *x, uint32_t r)
{
	const struct rank *me = &x->ranks[r];

	return me->running && me->locals >= (uint64_t)me->starts * x->s->ranks[r].locals &&
	       me->remotes >= (uint64_t)me->starts * x->s->ranks[r].remotes;
}

static void complete(struct exec *x, uint32_t r)
{
	const struct ir_graph *g = x->w->g;
	struct rank *me = &x->ranks[r];

	for (uint32_t b = 0; b < g->nbuffers; b++)
		if (b < g->bin->nbuffers && g->bin->buffers[b].mode != BIN_SCRATCH &&
		    memcmp(place(x->w, x->memory, r, b, 0), place(x->w, x->w->wanted[me->done], r, b, 0),
			   g->ranks[r].bufsize[b] * 8) != 0)
			fail(x, OUT_WRONG);
	for (uint32_t i = 0; i < g->nranks; i++)
		if (x->w->waits[(size_t)i * g->nranks + r] && x->ranks[i].starts < me->starts)
			fail(x, OUT_EARLY);
	me->done++;
	me->running = false;
	fill(x, r);
}

/* ---- queues and packets ---- */

static const struct bin_entry *entry_of(const struct exec *x, const struct flight *f)
{
	return &x->s->ranks[f->rank].entries.at[f->entry];
}

/* A CPU works while its rank waits. */
static bool can_post(const struct exec *x, uint32_t r, uint32_t q)
{
	const struct bin_queue *b = &x->s->ranks[r].queues.at[q];
	const uint32_t id = x->qbase[r] + q;

	return b->mode == BIN_Q_POSTED && x->ranks[r].running && x->posts[id] < x->ranks[r].starts &&
	       x->credit[id] >= (uint64_t)b->needs * (x->posts[id] + 1);
}

static bool can_issue(const struct exec *x, uint32_t r, uint32_t q)
{
	const struct bin_queue *b = &x->s->ranks[r].queues.at[q];
	const uint32_t id = x->qbase[r] + q;

	if (x->issued[id] >= (uint64_t)b->n * x->ranks[r].starts)
		return false;
	if (b->mode == BIN_Q_POSTED)
		return x->issued[id] < (uint64_t)b->n * x->posts[id];
	if (b->mode == BIN_Q_CPU && !x->ranks[r].running)
		return false;
	return b->mode == BIN_Q_NORMAL || x->credit[id] > x->issued[id];
}

static void issue(struct exec *x, uint32_t r, uint32_t q)
{
	const struct bin_queue *b = &x->s->ranks[r].queues.at[q];
	const uint64_t at = x->issued[x->qbase[r] + q]++;
	struct flight f = { r, q, b->first + (uint32_t)(at % b->n), (uint32_t)(at / b->n), x->seq++, 0, 1, NULL };
	const struct bin_entry *e = entry_of(x, &f);

	if (e->kind == BIN_E_NOP)
		return;
	if (e->kind == BIN_E_PUT || e->kind == BIN_E_GET) {
		f.steps = 4;
		f.bytes = must(malloc((size_t)e->len * 8 + 1));
	} else if (e->kind == BIN_E_ARMW) {
		f.steps = 2;
		f.bytes = must(malloc(8));
	} else if (e->kind == BIN_E_CPU) {
		f.steps = 2;
		f.bytes = must(malloc(2 * x->w->g->ranks[r].ops[e->op].len * 8 + 1));
	}
	if (VEC_PUSH(&x->flights, f))
		abort();
}

/* What was issued before it on the same way is still on it. */
static bool overtakes(const struct exec *x, const struct flight *f)
{
	const struct bin_entry *e = entry_of(x, f);

	for (size_t i = 0; i < x->flights.n; i++) {
		const struct flight *o = &x->flights.at[i];
		const struct bin_entry *p = entry_of(x, o);

		if (o->seq < f->seq && o->rank == f->rank && o->queue == f->queue && p->peer == e->peer && p->queue == e->queue &&
		    (p->kind == BIN_E_GET) == (e->kind == BIN_E_GET) && p->flags & e->flags & BIN_E_STRONG)
			return true;
	}
	return false;
}

static bool is_last(const struct flight *f)
{
	return f->step + 1 == f->steps;
}

static void move(struct exec *x, const struct flight *f, const struct bin_entry *e)
{
	const uint32_t half = e->len / 2, at = f->step % 2 ? half : 0, n = f->step % 2 ? e->len - half : half;
	uint64_t *mine = place(x->w, x->memory, f->rank, e->buf[0], e->off[0] + at);
	uint64_t *its = place(x->w, x->memory, e->peer, e->buf[1], e->off[1] + at);

	if (f->step < 2)
		memcpy(f->bytes + at, e->kind == BIN_E_GET ? its : mine, (size_t)n * 8);
	else
		memcpy(e->kind == BIN_E_GET ? mine : its, f->bytes + at, (size_t)n * 8);
}

static void update(struct exec *x, const struct flight *f, const struct bin_entry *e)
{
	uint64_t *to = place(x->w, x->memory, e->peer, e->buf[1], e->off[1]);

	if (f->step == 0)
		*f->bytes = *place(x->w, x->memory, f->rank, e->buf[0], e->off[0]);
	else
		*to = combine(e->armw, *f->bytes, *to);
}

static void compute(struct exec *x, const struct flight *f, const struct bin_op *op)
{
	if (!bin_reduces(op->kind))
		return;
	uint64_t *a = place(x->w, x->memory, f->rank, op->buf[0], op->off[0]);
	uint64_t *b = place(x->w, x->memory, f->rank, op->buf[1], op->off[1]);

	if (f->step == 0) {
		memcpy(f->bytes, a, op->len * 8);
		memcpy(f->bytes + op->len, b, op->len * 8);
	} else {
		reduce(x->w, op, f->bytes, f->bytes + op->len);
		memcpy(b, f->bytes + op->len, op->len * 8);
	}
}

static void arrive(struct exec *x, const struct flight *f, const struct bin_entry *e)
{
	if (e->queue != BIN_NONE)
		x->credit[x->qbase[e->kind == BIN_E_GET ? f->rank : e->peer] + e->queue] += e->sps;
	x->ranks[f->rank].locals += (e->flags & BIN_E_LOCAL) != 0;
	x->ranks[e->peer].remotes += (e->flags & BIN_E_REMOTE) != 0;
}

static void step(struct exec *x, size_t i)
{
	struct flight *f = &x->flights.at[i];
	const struct bin_entry *e = entry_of(x, f);

	if (e->kind == BIN_E_PUT || e->kind == BIN_E_GET)
		move(x, f, e);
	else if (e->kind == BIN_E_ARMW)
		update(x, f, e);
	else if (e->kind == BIN_E_CPU)
		compute(x, f, &x->w->g->ranks[f->rank].ops[e->op]);
	if (is_last(f)) {
		arrive(x, f, e);
		free(f->bytes);
		*f = x->flights.at[--x->flights.n];
	} else {
		f->step++;
	}
}

/* ---- a run ---- */

enum act { ACT_START, ACT_POST, ACT_ISSUE, ACT_STEP, ACT_COMPLETE };
struct action {
	enum act act;
	uint32_t a, b;
	bool late;
};

struct actions {
	VEC(struct action) v;
};

static void add(struct actions *s, enum act act, uint32_t a, uint32_t b, bool late)
{
	if (VEC_PUSH(&s->v, (struct action){ act, a, b, late }))
		abort();
}

static void find_actions(const struct exec *x, struct actions *s)
{
	const struct order *o = x->o;

	s->v.n = 0;
	for (uint32_t r = 0; r < x->s->nranks; r++) {
		const struct rank *me = &x->ranks[r];

		if (!me->running && me->starts < EPOCHS)
			add(s, ACT_START, r, 0, o->late == LATE_START && o->rank == r && o->epoch == me->starts);
		if (can_complete(x, r))
			add(s, ACT_COMPLETE, r, 0, o->late == LATE_DONE && o->rank == r && o->epoch == me->done);
		for (uint32_t q = 0; q < x->s->ranks[r].queues.n; q++) {
			if (can_post(x, r, q))
				add(s, ACT_POST, r, q, false);
			if (can_issue(x, r, q))
				add(s, ACT_ISSUE, r, q, false);
		}
	}
	for (size_t i = 0; i < x->flights.n; i++) {
		const struct flight *f = &x->flights.at[i];

		if (!is_last(f) || !overtakes(x, f))
			add(s, ACT_STEP, (uint32_t)i, 0,
			    is_last(f) && o->late == LATE_ARRIVAL && o->rank == f->rank && o->entry == f->entry &&
				    o->epoch == f->epoch);
	}
}

/* Some ranks and queues are slow in a run. */
static bool slow(const struct exec *x, const struct action *a)
{
	uint64_t id = a->a;

	if (a->act == ACT_STEP)
		id = x->flights.at[a->a].rank * 64u + x->flights.at[a->a].queue + 1000;
	return hash64(x->o->seed * 77 + id) % 4 == 0;
}

static const struct action *choose(struct exec *x, const struct actions *s)
{
	const struct action *a = NULL;

	for (unsigned tries = 0; tries < 8; tries++) {
		a = &s->v.at[chance(x, s->v.n)];
		if (!a->late && (!slow(x, a) || !chance(x, 16)))
			return a;
	}
	for (size_t i = 0; i < s->v.n; i++)
		if (!s->v.at[i].late)
			return a->late ? &s->v.at[i] : a;
	return a;
}

enum outcome carry_out(const struct scene *w, const struct smcq *s, const struct order *o)
{
	struct exec x = { .w = w, .s = s, .o = o, .random = hash64(o->seed), .end = OUT_RIGHT };
	struct actions actions = { { 0 } };
	uint32_t queues = 0;

	x.qbase = must(calloc(s->nranks + 1, sizeof *x.qbase));
	x.ranks = must(calloc(s->nranks, sizeof *x.ranks));
	x.memory = must(malloc(w->size * 8 + 1));
	for (uint32_t r = 0; r < s->nranks; r++) {
		x.qbase[r] = queues;
		queues += (uint32_t)s->ranks[r].queues.n;
		fill(&x, r);
	}
	x.credit = must(calloc(queues + 1, sizeof *x.credit));
	x.issued = must(calloc(queues + 1, sizeof *x.issued));
	x.posts = must(calloc(queues + 1, sizeof *x.posts));
	for (find_actions(&x, &actions); actions.v.n && x.end == OUT_RIGHT; find_actions(&x, &actions)) {
		const struct action a = *choose(&x, &actions);

		if (a.act == ACT_START)
			start(&x, a.a);
		else if (a.act == ACT_POST)
			x.posts[x.qbase[a.a] + a.b]++;
		else if (a.act == ACT_ISSUE)
			issue(&x, a.a, a.b);
		else if (a.act == ACT_STEP)
			step(&x, a.a);
		else
			complete(&x, a.a);
	}
	for (uint32_t r = 0; r < s->nranks; r++) {
		if (x.ranks[r].done < EPOCHS)
			fail(&x, OUT_HANG);
		else
			check_rubbish(&x, r);
	}
	for (size_t i = 0; i < x.flights.n; i++)
		free(x.flights.at[i].bytes);
	VEC_FREE(&x.flights);
	VEC_FREE(&actions.v);
	free(x.qbase);
	free(x.ranks);
	free(x.memory);
	free(x.credit);
	free(x.issued);
	free(x.posts);
	return x.end;
}
