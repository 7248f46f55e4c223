/* SPDX-License-Identifier: BSD-3-Clause
 * The executor of mutants: a simulation in which every step of every op takes a random time.
 *
 * A send starts, its bytes are read, it completes; a recv starts, its bytes arrive, it completes; a copy or a
 * reduction starts, reads, writes, completes. Between two steps anything else may happen. Whether a send waits
 * for its recv to start is drawn for each one. */
#include "tests/mutants/world.h"

#include "format/check.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

const char *const exec_end_words[EXEC_ENDS] = {
	"right", "hang", "wrong bytes", "out of bounds", "length of a message", "left the barrier early",
};

/* ---- a graph to execute ---- */

enum state { WAITS, READY, STARTED, MOVED, WRITTEN, DONE };

/* An op in one epoch. */
struct node {
	const struct bin_op *op;
	uint32_t rank, epoch, ndeps;
	uint32_t partner; /* the other end of a message, or NOBODY */
	uint64_t at[2], kept; /* of its ranges, and of what it has read, in elements */
	enum exec_end fault; /* what comes of executing it */
};

struct event {
	uint64_t time;
	uint32_t node;
};

struct exec {
	const struct world *w;
	uint32_t per_epoch, n; /* ops of an epoch, nodes */
	uint32_t *base; /* of the ops of each rank in an epoch */
	struct node *nodes;
	uint32_t *succ_at, *succ; /* of an epoch's ops; BIN_START: on start */
	/* of one execution */
	uint64_t *memory, *kept;
	uint8_t *state;
	uint32_t *began, *ended, steps; /* the steps with which a node did */
	uint32_t *entered; /* of ranks, into their first epoch */
	bool *eager;
	uint32_t *waits;
	uint32_t *left; /* ops of a rank, in its epoch */
	uint32_t *epoch; /* that a rank is in; EPOCHS when it is through */
	uint32_t came[EPOCHS], through; /* ranks */
	uint64_t now, random;
	struct event *heap;
	uint32_t heaped;
	/* how times are drawn */
	bool tail; /* some steps take much longer than others */
	uint8_t *speed; /* of ranks */
	uint32_t stalled[3]; /* steps that take very long: 4 * node + state */
};

void exec_free(struct exec *x)
{
	if (!x)
		return;
	free(x->base);
	free(x->nodes);
	free(x->succ_at);
	free(x->succ);
	free(x->memory);
	free(x->kept);
	free(x->state);
	free(x->began);
	free(x->entered);
	free(x->ended);
	free(x->eager);
	free(x->waits);
	free(x->left);
	free(x->epoch);
	free(x->heap);
	free(x->speed);
	free(x);
}

/* Whether range k of an op lies in its buffer. */
static bool inside(const struct world *w, uint32_t rank, const struct bin_op *op, unsigned k)
{
	uint64_t size;

	if (op->buf[k] >= w->nbuffers)
		return false;
	if (!op->len)
		return true;
	size = world_elements(w, rank, op->buf[k]);
	return op->off[k] <= size && op->len <= size - op->off[k];
}

/* One end of a message. */
struct end {
	uint32_t src, dst, tag, node;
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
	return (x->node > y->node) - (x->node < y->node);
}

static int channel_order(const struct end *x, const struct end *y)
{
	struct end z = *y;

	z.node = x->node;
	return by_channel(x, &z);
}

/* The k-th send of a channel meets its k-th recv. Nodes ascend with the epoch, then with the text. */
static int match(struct exec *x)
{
	struct end *sends = mem_alloc(2 * (size_t)x->n * sizeof *sends), *recvs = sends ? sends + x->n : NULL;
	uint32_t ns = 0, nr = 0;

	if (!sends)
		return -ERR_NOMEM;
	for (uint32_t i = 0; i < x->n; i++) {
		const struct node *v = &x->nodes[i];

		if (bin_sends(v->op->kind))
			sends[ns++] = (struct end){ v->rank, v->op->peer, v->op->tag, i };
		else if (bin_recvs(v->op->kind))
			recvs[nr++] = (struct end){ v->op->peer, v->rank, v->op->tag, i };
	}
	qsort(sends, ns, sizeof *sends, by_channel);
	qsort(recvs, nr, sizeof *recvs, by_channel);
	for (uint32_t s = 0, r = 0; s < ns && r < nr;) {
		int order = channel_order(&sends[s], &recvs[r]);

		if (order == 0) {
			struct node *a = &x->nodes[sends[s].node], *b = &x->nodes[recvs[r].node];

			a->partner = recvs[r].node;
			b->partner = sends[s].node;
			if (a->op->len != b->op->len && !b->fault)
				b->fault = EXEC_LENGTH;
		}
		s += order <= 0;
		r += order >= 0;
	}
	free(sends);
	return 0;
}

static uint64_t make_node(const struct exec *x, struct node *v, const struct ir_rank *rank, uint32_t i)
{
	v->op = &rank->ops[i];
	v->ndeps = rank->dep_at[i + 1] - rank->dep_at[i];
	v->partner = NOBODY;
	for (unsigned k = 0; k < bin_nranges(v->op->kind); k++) {
		if (!inside(x->w, v->rank, v->op, k))
			v->fault = EXEC_BOUNDS;
		else if (v->op->len)
			v->at[k] = world_place(x->w, v->rank, v->op->buf[k]) + v->op->off[k];
	}
	return v->fault || !bin_nranges(v->op->kind) ? 0 : v->op->len;
}

/* Who waits for an op: one list for both epochs. */
static int link_ops(struct exec *x, const struct ir_graph *g)
{
	uint32_t edges = 0;

	for (uint32_t r = 0; r < g->nranks; r++)
		edges += g->ranks[r].dep_at[g->ranks[r].nops];
	x->succ_at = mem_calloc((size_t)x->per_epoch + 2, sizeof *x->succ_at);
	x->succ = mem_alloc((size_t)edges * sizeof *x->succ);
	if (!x->succ_at || !x->succ)
		return -ERR_NOMEM;
	for (int fill = 0; fill < 2; fill++) {
		for (uint32_t r = 0; r < g->nranks; r++)
			for (uint32_t i = 0; i < g->ranks[r].nops; i++)
				for (uint32_t k = g->ranks[r].dep_at[i]; k < g->ranks[r].dep_at[i + 1]; k++) {
					uint32_t dep = g->ranks[r].deps[k], on = x->base[r] + (dep & ~BIN_START);

					if (fill)
						x->succ[x->succ_at[on + 1]++] = (x->base[r] + i) | (dep & BIN_START);
					else
						x->succ_at[on + 2]++;
				}
		for (uint32_t i = 2; !fill && i < x->per_epoch + 2; i++)
			x->succ_at[i] += x->succ_at[i - 1];
	}
	return 0;
}

struct exec *exec_new(const struct world *w, const struct ir_graph *g)
{
	struct exec *x = mem_calloc(1, sizeof *x);
	uint64_t kept = 0;

	if (!x)
		return NULL;
	x->w = w;
	x->base = mem_calloc((size_t)g->nranks + 1, sizeof *x->base);
	if (!x->base)
		goto nomem;
	for (uint32_t r = 0; r < g->nranks; r++)
		x->base[r + 1] = x->base[r] + g->ranks[r].nops;
	x->per_epoch = x->base[g->nranks];
	x->n = EPOCHS * x->per_epoch;
	x->nodes = mem_calloc(x->n, sizeof *x->nodes);
	x->memory = mem_alloc(w->size * sizeof *x->memory);
	x->state = mem_alloc(x->n);
	x->began = mem_alloc(x->n * sizeof *x->began);
	x->ended = mem_alloc(x->n * sizeof *x->ended);
	x->eager = mem_alloc(x->n * sizeof *x->eager);
	x->waits = mem_alloc(x->n * sizeof *x->waits);
	x->left = mem_alloc(g->nranks * sizeof *x->left);
	x->epoch = mem_alloc(g->nranks * sizeof *x->epoch);
	x->heap = mem_alloc((x->n + g->nranks) * sizeof *x->heap);
	x->speed = mem_alloc(g->nranks);
	x->entered = mem_alloc(g->nranks * sizeof *x->entered);
	if (!x->nodes || !x->memory || !x->state || !x->began || !x->ended || !x->eager || !x->waits || !x->left ||
	    !x->epoch || !x->heap || !x->speed || !x->entered)
		goto nomem;
	for (uint32_t e = 0, n = 0; e < EPOCHS; e++)
		for (uint32_t r = 0; r < g->nranks; r++)
			for (uint32_t i = 0; i < g->ranks[r].nops; i++, n++) {
				struct node *v = &x->nodes[n];

				v->rank = r;
				v->epoch = e;
				v->kept = kept;
				kept += make_node(x, v, &g->ranks[r], i);
			}
	x->kept = mem_alloc(kept * sizeof *x->kept);
	if (!x->kept || link_ops(x, g) || match(x))
		goto nomem;
	return x;
nomem:
	exec_free(x);
	return NULL;
}

/* ---- time ---- */

static uint64_t draw(struct exec *x)
{
	x->random ^= x->random << 13;
	x->random ^= x->random >> 7;
	x->random ^= x->random << 17;
	return x->random;
}

#define LONG ((uint64_t)1 << 40)

/* Node n has a step to take, at some time from now on. Nodes behind the last one are ranks that start. */
static void push(struct exec *x, uint32_t n)
{
	uint32_t rank = n < x->n ? x->nodes[n].rank : n - x->n;
	uint32_t step = 4 * n + (n < x->n ? x->state[n] % 4 : 0);
	uint64_t span = 1 + (draw(x) >> 20 & 0xffff), time;
	uint32_t i = x->heaped++;

	if (x->tail)
		span <<= draw(x) % 12;
	span <<= x->speed[rank];
	for (unsigned k = 0; k < sizeof x->stalled / sizeof *x->stalled; k++)
		if (step == x->stalled[k])
			span += LONG;
	time = x->now + span;
	while (i && x->heap[(i - 1) / 2].time > time) {
		x->heap[i] = x->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	x->heap[i] = (struct event){ time, n };
}

static uint32_t pop(struct exec *x)
{
	struct event first = x->heap[0], last = x->heap[--x->heaped];
	uint32_t i = 0;

	for (;;) {
		uint32_t k = 2 * i + 1;

		if (k + 1 < x->heaped && x->heap[k + 1].time < x->heap[k].time)
			k++;
		if (k >= x->heaped || x->heap[k].time >= last.time)
			break;
		x->heap[i] = x->heap[k];
		i = k;
	}
	x->heap[i] = last;
	x->now = first.time;
	return first.node;
}

/* ---- steps ---- */

static void release(struct exec *x, uint32_t n, uint32_t flag)
{
	uint32_t epoch = n / x->per_epoch * x->per_epoch, i = n - epoch;

	for (uint32_t k = x->succ_at[i]; k < x->succ_at[i + 1]; k++) {
		uint32_t to = epoch + (x->succ[k] & ~BIN_START);

		if ((x->succ[k] & BIN_START) == flag && --x->waits[to] == 0) {
			x->state[to] = READY;
			push(x, to);
		}
	}
}

/* A rank has completed its epoch: its result is looked at, and what it was given may change. */
static enum exec_end rank_ends(struct exec *x, uint32_t r)
{
	const struct world *w = x->w;
	uint32_t e = x->epoch[r]++;
	const struct span *end = w->wants.at + w->wants.n;

	if (w->barrier && x->came[e] < w->nranks)
		return EXEC_EARLY;
	for (const struct span *s = world_spans(w->wants.at, w->wants.n, r); s < end && s->rank == r; s++)
		if (memcmp(x->memory + s->at, w->wanted[e] + s->at, s->n * sizeof *x->memory) != 0)
			return EXEC_WRONG;
	if (x->epoch[r] < EPOCHS)
		push(x, x->n + r);
	else
		x->through++;
	return EXEC_RIGHT;
}

static enum exec_end rank_starts(struct exec *x, uint32_t r)
{
	const struct world *w = x->w;
	uint32_t e = x->epoch[r], from = e * x->per_epoch + x->base[r], to = e * x->per_epoch + x->base[r + 1];
	const struct span *end = w->gives.at + w->gives.n;

	x->came[e]++;
	if (!e)
		x->entered[r] = x->steps;
	for (const struct span *s = world_spans(w->gives.at, w->gives.n, r); s < end && s->rank == r; s++)
		memcpy(x->memory + s->at, w->given[e] + s->at, s->n * sizeof *x->memory);
	x->left[r] = to - from;
	for (uint32_t n = from; n < to; n++)
		if (x->state[n] == READY)
			push(x, n);
	return from == to ? rank_ends(x, r) : EXEC_RIGHT;
}

static enum exec_end complete(struct exec *x, uint32_t n)
{
	uint32_t r = x->nodes[n].rank;

	x->state[n] = DONE;
	x->ended[n] = x->steps;
	release(x, n, 0);
	return --x->left[r] ? EXEC_RIGHT : rank_ends(x, r);
}

static enum exec_end start(struct exec *x, uint32_t n)
{
	const struct node *v = &x->nodes[n];
	const struct node *other = v->partner != NOBODY ? &x->nodes[v->partner] : NULL;

	if (v->fault)
		return v->fault;
	x->state[n] = STARTED;
	x->began[n] = x->steps;
	release(x, n, BIN_START);
	switch (v->op->kind) {
	case BIN_OP_SEND:
		if (x->eager[n] || (other && x->state[v->partner] == STARTED))
			push(x, n);
		break;
	case BIN_OP_RECV:
	case BIN_OP_RECV_REDUCE:
	case BIN_OP_RECV_REDUCE_WITH:
		if (other && x->state[v->partner] >= MOVED)
			push(x, n);
		else if (other && x->state[v->partner] == STARTED && !x->eager[v->partner])
			push(x, v->partner);
		break;
	case BIN_OP_NOP:
		return complete(x, n);
	case BIN_OP_CALC:
		push(x, n);
		break;
	default:
		if (!v->op->len)
			return complete(x, n);
		push(x, n);
	}
	return EXEC_RIGHT;
}

/* kept = a op b, or b op a. */
static void reduce(const struct exec *x, const struct node *v, const uint64_t *a, const uint64_t *b, bool with)
{
	for (uint64_t i = 0; i < v->op->len; i++)
		x->kept[v->kept + i] = with ? world_combine(x->w, b[i], a[i]) : world_combine(x->w, a[i], b[i]);
}

BIN_LAST_OP(GETS);
/* The second step: what it does with its bytes. */
static enum exec_end move(struct exec *x, uint32_t n)
{
	const struct node *v = &x->nodes[n];
	uint64_t *kept = x->kept + v->kept, *a = x->memory + v->at[0], *b = x->memory + v->at[1];
	const uint64_t *came = v->partner != NOBODY ? x->kept + x->nodes[v->partner].kept : NULL;

	switch (v->op->kind) {
	case BIN_OP_SEND:
		memcpy(kept, a, v->op->len * sizeof *kept);
		if (came && x->state[v->partner] == STARTED)
			push(x, v->partner);
		break;
	case BIN_OP_RECV:
		memcpy(a, came, v->op->len * sizeof *kept);
		break;
	case BIN_OP_RECV_REDUCE:
	case BIN_OP_RECV_REDUCE_WITH:
		reduce(x, v, came, a, v->op->kind == BIN_OP_RECV_REDUCE_WITH);
		break;
	case BIN_OP_COPY:
		memcpy(kept, a, v->op->len * sizeof *kept);
		break;
	case BIN_OP_REDUCE:
	case BIN_OP_REDUCE_WITH:
		reduce(x, v, a, b, v->op->kind == BIN_OP_REDUCE_WITH);
		break;
	default: /* calc */
		return complete(x, n);
	}
	x->state[n] = MOVED;
	push(x, n);
	return EXEC_RIGHT;
}

static enum exec_end step(struct exec *x, uint32_t n)
{
	const struct node *v = &x->nodes[n];

	switch ((enum state)x->state[n]) {
	case READY:
		return start(x, n);
	case STARTED:
		return move(x, n);
	case MOVED:
		if (v->op->kind == BIN_OP_SEND || v->op->kind == BIN_OP_RECV)
			return complete(x, n);
		memcpy(x->memory + v->at[bin_nranges(v->op->kind) - 1], x->kept + v->kept, v->op->len * sizeof *x->kept);
		x->state[n] = WRITTEN;
		push(x, n);
		return EXEC_RIGHT;
	case WRITTEN:
		return complete(x, n);
	case WAITS:
	case DONE:
		break;
	}
	abort(); /* never is such a node on the heap */
}

static void reset(struct exec *x, uint64_t seed)
{
	static const uint8_t speeds[] = { 0, 0, 3, 10 };
	bool even;
	unsigned eager;

	x->random = world_mix(seed);
	x->now = x->heaped = x->through = x->steps = 0;
	x->tail = draw(x) >> 40 & 1;
	eager = draw(x) >> 40 & 3; /* none, some, some, all */
	memcpy(x->memory, x->w->poison, x->w->size * sizeof *x->memory);
	memset(x->came, 0, sizeof x->came);
	for (uint32_t n = 0; n < x->n; n++) {
		x->waits[n] = x->nodes[n].ndeps;
		x->state[n] = x->waits[n] ? WAITS : READY;
		x->eager[n] = eager == 3 || (eager && (draw(x) >> 40 & 1));
	}
	for (unsigned k = 0; k < sizeof x->stalled / sizeof *x->stalled; k++)
		x->stalled[k] = draw(x) >> 40 & 1 && x->n ? (uint32_t)(draw(x) >> 20) % (4 * x->n) : NOBODY;
	even = draw(x) >> 40 & 1;
	for (uint32_t r = 0; r < x->w->nranks; r++) {
		x->speed[r] = even ? 0 : speeds[draw(x) >> 40 & 3];
		x->epoch[r] = 0;
		push(x, x->n + r);
	}
}

enum exec_end exec_run(struct exec *x, uint64_t seed, uint32_t *rank)
{
	reset(x, seed);
	while (x->heaped) {
		uint32_t n = pop(x);
		enum exec_end end = n < x->n ? step(x, n) : rank_starts(x, n - x->n);

		x->steps++;
		*rank = n < x->n ? x->nodes[n].rank : n - x->n;
		if (end != EXEC_RIGHT)
			return end;
	}
	for (*rank = 0; *rank < x->w->nranks && x->epoch[*rank] == EPOCHS;)
		++*rank;
	return x->through == x->w->nranks ? EXEC_RIGHT : EXEC_HANG;
}

const uint64_t *exec_memory(const struct exec *x, uint64_t *elements)
{
	*elements = x->w->size;
	return x->memory;
}

uint32_t exec_began(const struct exec *x, uint32_t rank, uint32_t op)
{
	return x->began[x->base[rank] + op];
}

uint32_t exec_rank_began(const struct exec *x, uint32_t rank)
{
	return x->entered[rank];
}

void exec_touch(const struct exec *x, uint32_t rank, uint32_t op, uint32_t *from, uint32_t *to)
{
	uint32_t n = x->base[rank] + op, other = x->nodes[n].partner;
	bool message = other != NOBODY;

	*from = x->began[n];
	*to = x->ended[n];
	if (message && bin_recvs(x->nodes[n].op->kind) && x->began[other] > *from)
		*from = x->began[other];
	if (message && bin_sends(x->nodes[n].op->kind) && x->ended[other] < *to)
		*to = x->ended[other];
}
