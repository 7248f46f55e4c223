/* SPDX-License-Identifier: BSD-3-Clause
 * The dispatcher; its header describes it. */
#include "backends/common/dispatch.h"

#include "format/check.h"

#define SHORT 2048u /* bytes of a send that is issued before other ops */

/* Returns the counter of the successor list that a dependency belongs to: of the op's start or of its completion. */
static uint32_t *successor_count(struct dispatcher *e, uint32_t dep)
{
	struct dispatch_op *on = &e->ops[dep & ~BIN_START];

	return dep & BIN_START ? &on->nstarted : &on->ndone;
}

/* Fills in the successor lists by counting sort. */
static void build_successors(struct dispatcher *e, const struct be_bind *b)
{
	uint32_t n = b->nops, at = 0;

	for (uint32_t d = 0; d < b->dep_at[n]; d++)
		++*successor_count(e, b->deps[d]);
	for (uint32_t i = 0; i < n; i++) {
		struct dispatch_op *op = &e->ops[i];

		op->started = at;
		op->done = at + op->nstarted;
		at = op->done + op->ndone;
		op->nstarted = op->ndone = 0;
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t d = b->dep_at[i]; d < b->dep_at[i + 1]; d++) {
			const struct dispatch_op *on = &e->ops[b->deps[d] & ~BIN_START];
			uint32_t first = b->deps[d] & BIN_START ? on->started : on->done;

			e->succ[first + (*successor_count(e, b->deps[d]))++] = i;
		}
}

/* Returns the number of slots in `ready`, and in `active`. With helpers an early op needs a slot in each of two classes. */
static size_t count_slots(uint32_t nops, bool helped)
{
	return (size_t)nops << helped;
}

size_t dispatch_room(const struct be_bind *b)
{
	size_t words = 2 * count_slots(b->nops, b->helped) + b->dep_at[b->nops];

	return sizeof(struct dispatch_state) + b->nops * sizeof(struct dispatch_op) + (words + 1) / 2 * 2 * sizeof(uint32_t);
}

static void set_pointers(struct dispatcher *e, uint32_t nops, bool helped, void *room, void *own, struct be_bound *bound)
{
	*e = (struct dispatcher){ .st = room, .todo = own, .nops = nops, .helped = helped, .bound = bound };
	e->ops = (struct dispatch_op *)(void *)(e->st + 1);
	e->ready = (uint32_t *)(void *)(e->ops + nops);
	e->active = e->ready + count_slots(nops, helped);
	e->succ = e->active + count_slots(nops, helped);
}

void dispatch_view(struct dispatcher *e, uint32_t nops, void *room, void *own, struct be_bound *bound)
{
	set_pointers(e, nops, true, room, own, bound);
}

enum order { SHORT_SEND, LONG_LOCAL, OTHER, LONG_SEND, ORDERS, LEFT_OUT = ORDERS };

/* Peers wait for short sends. A long local op is for this rank alone, what a long send leaves over the receiver does. */
static uint8_t order_of(const struct bin_op *o, size_t basic)
{
	const uint64_t bytes = o->len * basic;

	if (bin_sends(o->kind))
		return bytes <= SHORT ? SHORT_SEND : LONG_SEND;
	return !bin_is_message(o->kind) && bin_nranges(o->kind) && bytes > DISPATCH_ISSUE_MAX ? LONG_LOCAL : OTHER;
}

void dispatch_init(struct dispatcher *e, const struct be_bind *b, void *room, void *own, struct be_bound *bound)
{
	set_pointers(e, b->nops, b->helped, room, own, bound);
	build_successors(e, b);
	for (uint32_t i = 0; i < b->nops; i++) {
		e->ops[i].wait = e->ops[i].need = b->dep_at[i + 1] - b->dep_at[i];
		e->ops[i].order = order_of(&b->ops[i], b->layout->basic);
	}
}

void dispatch_leave_out(struct dispatcher *e, uint32_t op)
{
	struct dispatch_op *o = &e->ops[op];

	for (uint32_t i = 0; i < o->ndone; i++)
		e->ops[e->succ[o->done + i]].wait = --e->ops[e->succ[o->done + i]].need;
	o->ndone = 0;
	o->order = LEFT_OUT;
}

void dispatch_classify(struct dispatcher *e)
{
	struct dispatch_queue *of = e->st->of;
	uint32_t size[DISPATCH_CLASSES] = { 0 }, at = 0;

	for (uint32_t i = 0; i < e->nops; i++) {
		const uint8_t *class = e->ops[i].class;

		size[class[0]]++;
		size[class[1]] += class[1] != class[0];
	}
	for (unsigned c = 0; c < DISPATCH_CLASSES; c++) {
		of[c] = (struct dispatch_queue){ .first = at, .head = at, .tail = at };
		at += size[c];
	}
	for (int order = 0; order < ORDERS; order++)
		for (uint32_t i = 0; i < e->nops; i++) {
			struct dispatch_queue *q = &of[e->ops[i].class[0]];

			if (!e->ops[i].need && e->ops[i].order == order)
				e->ready[q->first + q->nroots++] = i;
		}
}

/* Handles an op that has become ready and whose class during start is not `c`. Returns true if its class is `c` now;
 * otherwise adds the op to the queue of its class. */
static __attribute__((noinline)) bool requeue_op(struct dispatcher *e, uint32_t op, unsigned c)
{
	const uint8_t *class = e->ops[op].class, now = class[e->st->begun];

	if (now != class[0])
		atomic_fetch_add_explicit(&e->bound->turn->passed, 1, memory_order_relaxed);
	if (now != c)
		e->ready[e->st->of[now].tail++] = op;
	return now != c;
}

/* Decrements the counters of n successors. Those of class `c` that become ready are appended at index `tail`; returns the
 * new tail. */
static inline uint32_t release_successors(struct dispatcher *e, uint32_t from, uint32_t n, unsigned c, uint32_t tail)
{
	if (!n)
		return tail;
	for (const uint32_t *s = e->succ + from, *end = s + n; s < end; s++) {
		struct dispatch_op *op = &e->ops[*s];

		if (--op->wait == 0) {
			op->wait = op->need;
			if (op->class[0] == c || !requeue_op(e, *s, c))
				e->ready[tail++] = *s;
		}
	}
	return tail;
}

/* Issues the ready ops of class `c` from index `head` to `tail`. Both indices stay in registers, and without helpers `c` is a
 * constant, because peers wait for the store of the first op. */
static inline __attribute__((always_inline)) int issue_ready(struct dispatcher *e, unsigned c, uint32_t head, uint32_t tail)
{
	struct dispatch_queue *q = &e->st->of[c];
	int rc = 0;

	while (head != tail && rc >= 0) {
		const uint32_t i = e->ready[head++];
		const struct dispatch_op *op = &e->ops[i];

		tail = release_successors(e, op->started, op->nstarted, c, tail);
		rc = e->todo[i].how.issue(e, e->todo[i].what);
		if (rc > 0)
			tail = release_successors(e, op->done, op->ndone, c, tail);
		else if (rc == 0)
			e->active[q->first + q->nactive++] = i;
	}
	q->head = head;
	q->tail = tail;
	return rc < 0 ? rc : !q->nactive;
}

/* Issues and polls the ops of one class. Returns 1 when none is left for now, 0 if some are, or -ERR_x. */
static inline int progress_class(struct dispatcher *e, unsigned c)
{
	struct dispatch_queue *q = &e->st->of[c];
	uint32_t *active = e->active + q->first;
	int rc = 0;

	for (uint32_t k = 0;;) {
		uint32_t i;

		if (q->head != q->tail && (rc = issue_ready(e, c, q->head, q->tail)) < 0)
			return rc;
		/* Polls until an op completes, which may make others ready. */
		do {
			if (k == q->nactive)
				return !k;
			i = active[k++];
			rc = e->todo[i].how.poll(e, e->todo[i].what);
		} while (rc == 0);
		if (rc < 0)
			return rc;
		active[--k] = active[--q->nactive];
		q->tail = release_successors(e, e->ops[i].done, e->ops[i].ndone, c, q->tail);
	}
}

/* Returns the classes that have ready ops, as bits. */
static unsigned ready_classes(const struct dispatcher *e)
{
	unsigned classes = 0;

	for (unsigned c = 0; c < DISPATCH_CLASSES; c++)
		classes |= (unsigned)(e->st->of[c].head != e->st->of[c].tail) << c;
	return classes;
}

/* Returns a count that grows with each op that is issued, and with each that completes. */
static uint32_t count_steps(const struct dispatcher *e)
{
	uint32_t n = 0;

	for (unsigned c = 0; c < DISPATCH_CLASSES; c++)
		n += 2 * e->st->of[c].head - e->st->of[c].nactive;
	return n;
}

/* Issues the ops of several classes, given as bits, until none of them is ready, and polls those of the classes `polled`. */
static int progress_some(struct dispatcher *e, unsigned classes, unsigned polled)
{
	const uint32_t before = count_steps(e);

	e->who = classes;
	do {
		for (unsigned c = 0; c < DISPATCH_CLASSES; c++) {
			const struct dispatch_queue *q = &e->st->of[c];
			int rc = !(classes >> c & 1) ? 0 :
				 polled >> c & 1     ? progress_class(e, c) :
						       issue_ready(e, c, q->head, q->tail);

			if (rc < 0)
				return rc;
		}
	} while (ready_classes(e) & classes);
	e->bound->moved += count_steps(e) - before;
	return 0;
}

/* Publishes which classes have ops left. Returns 1 if none has: the epoch is complete then, because without cycles an
 * op that still waits would have a ready or issued predecessor. */
static int update_pending(struct dispatcher *e)
{
	_Atomic uint32_t *pending = &e->bound->turn->pending;
	unsigned left = ready_classes(e);

	for (unsigned c = 0; c < DISPATCH_CLASSES; c++)
		left |= (unsigned)(e->st->of[c].nactive != 0) << c;
	if (atomic_load_explicit(pending, memory_order_relaxed) != left)
		atomic_store_explicit(pending, left, memory_order_relaxed);
	return !left;
}

/* Moves early ops that start has issued but not completed to their class after start. */
static void pass_on(struct dispatcher *e)
{
	struct dispatch_queue *early = &e->st->of[DISPATCH_EARLY];

	for (uint32_t k = 0; k < early->nactive; k++) {
		uint32_t i = e->active[early->first + k];
		struct dispatch_queue *q = &e->st->of[e->ops[i].class[1]];

		e->active[q->first + q->nactive++] = i;
	}
	if (early->nactive)
		atomic_fetch_add_explicit(&e->bound->turn->passed, early->nactive, memory_order_relaxed);
	early->nactive = 0;
	e->st->begun = 1;
}

static int start_some(struct dispatcher *e, unsigned who)
{
	int rc;

	for (unsigned c = 0; c < DISPATCH_CLASSES; c++) {
		struct dispatch_queue *q = &e->st->of[c];

		q->head = q->first;
		q->tail = q->first + q->nroots;
	}
	e->st->begun = 0;
	rc = progress_some(e, who | 1u << DISPATCH_EARLY, 1u << DISPATCH_EARLY);
	pass_on(e);
	return rc < 0 ? rc : update_pending(e);
}

int dispatch_start(struct dispatcher *e, unsigned who)
{
	return e->helped ? start_some(e, who) : issue_ready(e, 0, 0, e->st->of[0].nroots);
}

int dispatch_progress(struct dispatcher *e, unsigned who)
{
	int rc = e->helped ? progress_some(e, who, who) : progress_class(e, 0);

	return rc || !e->helped ? rc : update_pending(e);
}

uint32_t dispatch_next_active(const struct dispatcher *e, uint32_t *at)
{
	for (unsigned c = 0; c < DISPATCH_CLASSES; c++) {
		const struct dispatch_queue *q = &e->st->of[c];

		*at = *at > q->first ? *at : q->first;
		if (*at < q->first + q->nactive)
			return e->active[(*at)++];
	}
	return UINT32_MAX;
}

void dispatch_states(const struct dispatcher *e, uint8_t *state)
{
	for (uint32_t i = 0; i < e->nops; i++)
		state[i] = e->ops[i].order == LEFT_OUT ? BE_DONE : BE_WAITS;
	for (unsigned c = 0; c < DISPATCH_CLASSES; c++) {
		const struct dispatch_queue *q = &e->st->of[c];

		for (uint32_t i = q->first; i < q->tail; i++)
			state[e->ready[i]] = i < q->head ? BE_DONE : BE_READY;
	}
	for (uint32_t at = 0, op; (op = dispatch_next_active(e, &at)) != UINT32_MAX;)
		state[op] = BE_ISSUED;
}
