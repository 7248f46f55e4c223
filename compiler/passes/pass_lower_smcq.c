/* SPDX-License-Identifier: BSD-3-Clause
 * The global pass lower-smcq: makes the entries that the ranks post to command queues in session mode (Tofu2), so that
 * arriving packets drive the schedule. The ops stay as they are, so that the queues can be verified against them.
 *
 * Each message becomes a put straight to its destination. With get=1, it becomes a signal of the sender that the data
 * is there, and a GET of the receiver. Each copy becomes a put of a rank to itself. A reduction becomes atomic
 * read-modify-writes (ARMWs), one for each element, if the operation is known and ARMWs exist for it. They read the
 * sender's buffer or, for a local reduction, the rank's own. Otherwise, an op that computes is a task of the rank's CPU,
 * if the options allow that. A task may be issued when the following have arrived at its rank:
 *
 * - The tasks of the recvs, copies and reduces that its op waits for, directly or through other ops. A task does not wait
 *   for sends to complete, because the completion of a send says only that its source is free.
 * - The earlier tasks that access the same elements, if one of the two tasks writes them (symbolic.h). An ARMW does not
 *   wait for another ARMW that updates the same elements, because their order does not matter. The earlier task may
 *   arrive at another rank than the one that must wait. If no other wait orders the two tasks, a signal is then sent to
 *   the waiting rank.
 * - The start of all ranks, if the task has nothing else to wait for. Each rank reports its start up a tree, and the
 *   signal that all have started comes down the same tree as far as needed. So nothing arrives before its destination is
 *   free. Starts are not mixed up either, because a rank begins the next start only when all its entries are complete.
 *   With post=1, the signals reach the CPU of the rank at the root of the tree, which then posts the tasks that wait
 *   there. A single rank waits for no other rank, and signals its CPU.
 *
 * Tasks are numbered in the order of the schedule's events with rendezvous, in which a send waits for its recv
 * (events.h). A task waits only for earlier tasks in that order, so there is no cycle.
 *
 * Refused are: plain GOAL; wildcards; schedules in which the checks find an error; ops that compute, unless there are
 * ARMWs for them or assist=1; and schedules that exceed the limits of the target. */
#include "compiler/passes/passes.h"

#include "compiler/analysis/conflicts.h"
#include "compiler/queues/armw.h"
#include "compiler/queues/tasks.h"
#include "format/check.h"
#include "util/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parts of keys. The key of a signal for a task is KEY_SIGNAL below the task's key. The keys of neighbouring ops differ by
 * KEY_STEP. */
#define KEY_TASK 8u
#define KEY_SIGNAL 4u
#define KEY_THERE 2u /* part of the key of a signal to a GET that the data is there */
#define KEY_STEP 16u

struct lowering {
	struct smcq_tasks t;
	struct ir_match *m;
	size_t nm;
	struct ir_events order; /* events with rendezvous */
	uint64_t base; /* offset of the keys of ops */
	uint32_t *task_of; /* for each op, 1 + its task, or 0; for a message, the task of the last part */
	struct smcq_set *needs; /* for each op, the tasks that must have arrived when it starts */
	struct conflicts conflicts;
	uint32_t *seen, now; /* for each op, the last search that marked it; number of the current search */
	VEC(uint32_t) open;
	uint8_t armw; /* the ARMW of the operation, or 0 */
	uint64_t elements; /* most elements of an op that is done by ARMWs */
	bool get; /* value of the pass's key SMCQ_GET */
	char no_armw[100]; /* why there is no ARMW, or empty */
};

/* Marks the tasks that must have arrived before one of n tasks is issued, by setting their stamp to `now`. Follows the waits
 * of tasks, and leaves out tasks with a key below `least`. Returns 0 or -ERR_NOMEM. */
static int mark_arrived(struct smcq_tasks *t, const uint32_t *from, size_t n, uint64_t least)
{
	if (t->stamps < t->v.n) {
		uint32_t *more = mem_resize(t->stamp, t->v.cap, sizeof *more);

		if (!more)
			return -ERR_NOMEM;
		memset(more + t->stamps, 0, (t->v.cap - t->stamps) * sizeof *more);
		t->stamp = more;
		t->stamps = t->v.cap;
	}
	t->now++;
	t->stack.n = 0;
	for (size_t i = 0; i < n; i++)
		if (VEC_PUSH(&t->stack, from[i]))
			return -ERR_NOMEM;
	while (t->stack.n) {
		const struct smcq_task *x = &t->v.at[t->stack.at[--t->stack.n]];

		for (size_t i = 0; i < x->waits.n; i++) {
			const uint32_t w = x->waits.at[i];

			if (t->v.at[w].key < least || t->stamp[w] == t->now)
				continue;
			t->stamp[w] = t->now;
			if (VEC_PUSH(&t->stack, w))
				return -ERR_NOMEM;
		}
	}
	return 0;
}

/* ---- check of the schedule ---- */

static void choose_armw(struct lowering *l, const int64_t *choice)
{
	const int64_t op = choice[SMCQ_OP] - 1, type = choice[SMCQ_TYPE] - 1;

	if (type >= 0)
		l->t.target.limit[BIN_LIMIT_BYTES] = (uint32_t)armw_size((enum MPIX_Sched_basic)type);
	if (op >= 0 && type >= 0)
		l->armw = (uint8_t)armw_of((enum MPIX_Sched_builtin)op, (enum MPIX_Sched_basic)type, l->no_armw,
					   sizeof l->no_armw);
	l->elements = (uint64_t)choice[SMCQ_ELEMENTS];
}

/* True if ARMWs carry out an op. */
static bool by_armw(const struct lowering *l, const struct bin_op *op)
{
	return l->armw && bin_reduces(op->kind) && op->len <= l->elements;
}

/* Refuses an op that neither an ARMW nor a CPU computes. */
static int refuse_to_compute(struct lowering *l, uint32_t r, uint32_t i)
{
	const struct bin_op *op = &l->t.g->ranks[r].ops[i];
	const char *help = bin_recvs(op->kind) ? "the CPU does not reduce on the way: leave out the pass that made this op" :
						 "with assist=1 the CPU may do it";
	char why[160] = "";

	if (bin_reduces(op->kind) && l->armw)
		snprintf(why, sizeof why, "an ARMW for each of its %llu elements would be more than %llu (elements), and ",
			 (unsigned long long)op->len, (unsigned long long)l->elements);
	else if (bin_reduces(op->kind) && *l->no_armw)
		snprintf(why, sizeof why, "an ARMW is for integers of 4 or 8 bytes, and %s; ", l->no_armw);
	else if (bin_reduces(op->kind))
		snprintf(why, sizeof why, "if it is given op and type there may be ARMWs, and ");
	return ir_refuse(&l->t.g->refused, r, i, "rank %u: a network interface has no arithmetic unit for this %s: %s%s", r,
			   ir_op_word(op->kind), why, help);
}

BIN_LAST_OP(GETS);
static int op_fits(struct lowering *l, uint32_t r, uint32_t i)
{
	struct ir_graph *g = l->t.g;
	const struct bin_op *op = &g->ranks[r].ops[i];

	if ((bin_reduces(op->kind) || op->kind == BIN_OP_CALC) && op->len && !by_armw(l, op) &&
	    (bin_recvs(op->kind) || !l->t.target.limit[BIN_LIMIT_ASSIST]))
		return refuse_to_compute(l, r, i);
	if (op->nic >= l->t.target.limit[BIN_LIMIT_TNIS])
		return ir_refuse(&g->refused, r, i, "rank %u: this %s is for nic %u, and the target has %u (tnis)", r,
				   ir_op_word(op->kind), op->nic, l->t.target.limit[BIN_LIMIT_TNIS]);
	return 0;
}

static int may_lower(struct lowering *l)
{
	struct ir_graph *g = l->t.g;
	uint64_t ends = 0;
	int err = 0;

	if (g->plain)
		return ir_refuse(&g->refused, 0, BIN_NONE, "plain GOAL has no buffers, between which queues could put");
	if (l->t.target.limit[BIN_LIMIT_BYTES] >> l->t.target.limit[BIN_LIMIT_LENGTH])
		return ir_refuse(&g->refused, 0, BIN_NONE, "an element of %u bytes does not fit into a put of less than 2^%u (length)",
				   l->t.target.limit[BIN_LIMIT_BYTES], l->t.target.limit[BIN_LIMIT_LENGTH]);
	for (uint32_t r = 0; r < g->nranks && !err; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops && !err; i++) {
			err = op_fits(l, r, i);
			ends += ir_op_sends(&g->ranks[r].ops[i]) || ir_op_recvs(&g->ranks[r].ops[i]);
		}
	err = err ? err : ir_graph_match(g, &l->m, &l->nm);
	if (!err && !ir_graph_fits(g, l->m, l->nm))
		err = -ERR_PASS;
	if (!err && ends != 2 * (uint64_t)l->nm)
		err = ir_refuse(&g->refused, 0, BIN_NONE, "there are messages of which it is not decided which send meets which recv");
	err = err ? err : ir_events_init(&l->order, g, l->m, l->nm, true);
	err = err ? err : ir_events_sort(&l->order);
	return !err && l->order.sorted < l->order.n ? -ERR_DEADLOCK : err;
}

/* ---- tasks of ops ---- */

static uint64_t key_of(const struct lowering *l, uint32_t op)
{
	return l->base + (uint64_t)KEY_STEP * l->order.pos[2 * op] + KEY_TASK;
}

/* Adds the tasks of an op, or of a message whose other end is op `at` of rank `to`. A long op or message takes several
 * tasks; *last is the task that arrives after all others. */
static int add_op(struct lowering *l, uint32_t from, uint32_t op, uint32_t to, uint32_t at, unsigned kind, uint32_t *last)
{
	const struct bin_op *o = &l->t.g->ranks[from].ops[op];
	const struct bin_op *other = at == BIN_NONE ? o : &l->t.g->ranks[to].ops[at];
	const unsigned side = at == BIN_NONE; /* range of the other op */
	const uint64_t mine = key_of(l, l->order.base[from] + op);
	const uint64_t its = at == BIN_NONE ? 0 : key_of(l, l->order.base[to] + at);
	const uint64_t put = ((UINT64_C(1) << l->t.target.limit[BIN_LIMIT_LENGTH]) - 1) / l->t.target.limit[BIN_LIMIT_BYTES];
	const uint64_t most = kind == BIN_E_ARMW ? 1 : put;
	const uint32_t depth = 11 + 2 * l->t.target.limit[BIN_LIMIT_DEPTH];
	static const char *const words[BIN_E_KINDS] = { [BIN_E_PUT] = "puts", [BIN_E_GET] = "GETs", [BIN_E_ARMW] = "ARMWs" };
	uint64_t done = 0, len = bin_entry_facts(kind).ranges ? o->len : 0;

	if (len / most >> depth)
		return ir_refuse(&l->t.g->refused, from, op,
				   "rank %u: this %s takes %s of %llu element%s%s, and of those more than the 2^%u that a queue of "
				   "the target has (depth)",
				   from, ir_op_word(o->kind), words[kind], (unsigned long long)most,
				   most == 1 ? "" : "s", kind == BIN_E_ARMW ? "" : " (length, bytes)", depth);
	do {
		const uint64_t n = len - done < most ? len - done : most;
		int64_t id = smcq_task(&l->t, from, kind == BIN_E_GET ? from : to, mine > its ? mine : its);
		struct smcq_task *t;

		if (id < 0)
			return (int)id;
		if (done)
			l->t.v.at[id - 1].more = (uint32_t)id + 1;
		t = &l->t.v.at[id];
		t->nic = o->nic;
		t->entry.kind = (uint8_t)kind;
		t->entry.peer = to;
		t->entry.op = op;
		t->entry.at = at;
		if (kind == BIN_E_ARMW)
			t->entry.armw = l->armw;
		if (len) {
			t->entry.len = (uint32_t)n;
			t->entry.buf[0] = o->buf[0];
			t->entry.buf[1] = other->buf[side];
			t->entry.off[0] = o->off[0] + done;
			t->entry.off[1] = other->off[side] + done;
		}
		*last = (uint32_t)id;
		done += n;
	} while (done < len);
	return 0;
}

/* Adds the GETs of a message, and the sender's signal that all of them wait for. */
static int add_gets(struct lowering *l, const struct ir_match *m, uint32_t *last)
{
	int err = add_op(l, m->dst, m->recv, m->src, m->send, BIN_E_GET, last);
	int64_t id = err ? err : smcq_task(&l->t, m->src, m->dst, l->t.v.at[*last].key - KEY_THERE);

	if (id < 0)
		return (int)id;
	l->t.v.at[id].nic = l->t.g->ranks[m->src].ops[m->send].nic;
	l->t.v.at[*last].there = (uint32_t)id + 1;
	return smcq_add(&l->t.v.at[*last].waits, (uint32_t)id);
}

static int add_messages(struct lowering *l)
{
	int err = 0;

	for (size_t i = 0; i < l->nm && !err; i++) {
		const struct ir_match *m = &l->m[i];
		const struct bin_op *recv = &l->t.g->ranks[m->dst].ops[m->recv];
		const unsigned kind = !recv->len ? BIN_E_PIGGYBACK : bin_reduces(recv->kind) ? BIN_E_ARMW : BIN_E_PUT;
		uint32_t last;

		if (l->get && kind == BIN_E_PUT && m->src != m->dst)
			err = add_gets(l, m, &last);
		else
			err = add_op(l, m->src, m->send, m->dst, m->recv, kind, &last);
		if (!err)
			l->task_of[l->order.base[m->src] + m->send] = l->task_of[l->order.base[m->dst] + m->recv] = last + 1;
	}
	return err;
}

static int add_others(struct lowering *l)
{
	int err = 0;

	for (uint32_t r = 0; r < l->t.g->nranks; r++)
		for (uint32_t i = 0; i < l->t.g->ranks[r].nops && !err; i++) {
			const struct bin_op *op = &l->t.g->ranks[r].ops[i];
			const unsigned kind = op->kind == BIN_OP_COPY ? BIN_E_PUT : by_armw(l, op) ? BIN_E_ARMW : BIN_E_CPU;
			uint32_t last;

			if (!op->len || op->kind == BIN_OP_NOP || ir_op_sends(op) || ir_op_recvs(op))
				continue;
			err = add_op(l, r, i, r, BIN_NONE, kind, &last);
			if (!err)
				l->task_of[l->order.base[r] + i] = last + 1;
		}
	return err;
}

/* If no op names a network interface, allows any interface for all ops. */
static void free_nics(struct lowering *l)
{
	for (size_t i = 0; i < l->t.v.n; i++)
		if (l->t.v.at[i].nic)
			return;
	for (size_t i = 0; i < l->t.v.n; i++)
		l->t.v.at[i].nic = SMCQ_ANY;
}

/* ---- waits ---- */

/* Removes from a set the tasks that must have arrived before another of the set is issued. */
static int shorten_waits(struct smcq_tasks *t, struct smcq_set *s)
{
	uint64_t least = UINT64_MAX;
	size_t n = 0;
	int err;

	for (size_t i = 0; i < s->n; i++)
		least = t->v.at[s->at[i]].key < least ? t->v.at[s->at[i]].key : least;
	err = s->n > 1 ? mark_arrived(t, s->at, s->n, least) : 0;
	if (err || s->n < 2)
		return err;
	for (size_t i = 0; i < s->n; i++)
		if (t->stamp[s->at[i]] != t->now)
			s->at[n++] = s->at[i];
	s->n = n;
	return 0;
}

/* Finds the tasks that an op needs. These are the tasks of the ops that it waits for, if they arrive at its rank, and the
 * tasks that those ops need. */
static int find_needs(struct lowering *l, uint32_t rank, uint32_t i)
{
	const struct ir_rank *r = &l->t.g->ranks[rank];
	const uint32_t base = l->order.base[rank];
	struct smcq_set *s = &l->needs[base + i];
	int err = 0;

	for (uint32_t k = r->dep_at[i]; k < r->dep_at[i + 1] && !err; k++) {
		const uint32_t on = r->deps[k] & ~BIN_START;
		const struct smcq_set *its = &l->needs[base + on];

		for (size_t n = 0; n < its->n && !err; n++)
			err = smcq_add(s, its->at[n]);
		if (!err && l->task_of[base + on] && !(r->deps[k] & BIN_START) && !ir_op_sends(&r->ops[on]))
			err = smcq_add(s, l->task_of[base + on] - 1);
	}
	return err ? err : shorten_waits(&l->t, s);
}

/* Returns the signal to the rank of task b that task a has arrived. An earlier signal is reused if possible. */
static int64_t signal_for(struct lowering *l, uint32_t a, uint32_t b)
{
	const uint64_t key = l->t.v.at[b].key - KEY_SIGNAL;
	const uint32_t from = l->t.v.at[a].to, to = l->t.v.at[b].from;
	int64_t id;

	for (uint32_t s = l->t.v.at[a].signals; s; s = l->t.v.at[s - 1].next) /* look for a signal that can be reused */
		if (l->t.v.at[s - 1].to == to && l->t.v.at[s - 1].key < l->t.v.at[b].key)
			return s - 1;
	id = smcq_task(&l->t, from, to, key);
	if (id < 0 || smcq_add(&l->t.v.at[id].waits, a))
		return -ERR_NOMEM;
	l->t.v.at[id].next = l->t.v.at[a].signals;
	l->t.v.at[a].signals = (uint32_t)id + 1;
	return id;
}

/* Makes task b wait until task a has arrived. */
static int order_tasks(struct lowering *l, uint32_t a, uint32_t b)
{
	int64_t s = a;
	int err = mark_arrived(&l->t, &b, 1, l->t.v.at[a].key);

	if (err || a == b || l->t.stamp[a] == l->t.now)
		return err;
	if (l->t.v.at[a].to != l->t.v.at[b].from)
		s = signal_for(l, a, b);
	return s < 0 ? (int)s : smcq_add(&l->t.v.at[b].waits, (uint32_t)s);
}

static const struct bin_op *op_at(const struct lowering *l, uint32_t op)
{
	const uint32_t r = ir_events_rank(&l->order, op);

	return &l->t.g->ranks[r].ops[op - l->order.base[r]];
}

static bool set_contains(const struct smcq_set *s, uint32_t x)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->at[i] == x)
			return true;
	return false;
}

/* True if an op may also have to wait for accesses to its elements that precede op `first`. This is so if `first` is an ARMW,
 * because ARMWs do not wait for each other. */
static bool is_behind(const struct lowering *l, const struct bin_op *o, uint32_t task, uint32_t first)
{
	const struct bin_op *f = op_at(l, first), update = bin_update(f);

	return by_armw(l, f) && bin_conflict(&update, o) &&
	       !(by_armw(l, o) && set_contains(&l->t.v.at[task].waits, l->task_of[first] - 1));
}

/* Makes a task wait until the elements that its op touches are free. */
static int free_target(struct lowering *l, uint32_t op, uint32_t task)
{
	const struct bin_op *o = op_at(l, op);
	const struct conflicts *all = &l->conflicts;
	int err = 0;

	l->now++;
	l->open.n = 0;
	for (uint32_t via = op; !err; via = l->open.at[--l->open.n]) {
		const struct bin_op by = via == op ? *o : bin_update(op_at(l, via));

		for (size_t i = conflicts_of(all, via); i < all->v.n && all->v.at[i].second == via && !err; i++) {
			const uint32_t first = all->v.at[i].first;
			const struct bin_op *f = op_at(l, first);

			if (!l->task_of[first] || l->seen[first] == l->now || !bin_conflict(f, &by))
				continue;
			l->seen[first] = l->now;
			if (bin_conflict_of(f, o, by_armw(l, f) && by_armw(l, o)))
				err = order_tasks(l, l->task_of[first] - 1, task);
			if (!err && is_behind(l, o, task, first))
				err = VEC_PUSH(&l->open, first);
		}
		if (!l->open.n)
			break;
	}
	return err;
}

/* Makes a task wait for the tasks that an op of its rank needs, and until the op's elements are free. */
static int wait_for_needs(struct lowering *l, uint32_t op, uint32_t task)
{
	const struct smcq_set *needs = &l->needs[op];
	int err = 0;

	for (size_t i = 0; i < needs->n && !err; i++)
		err = smcq_add(&l->t.v.at[task].waits, needs->at[i]);
	return err ? err : free_target(l, op, task);
}

/* Finds the tasks that a task waits for. The needs of its op, and of the op at the other end of its message, must be known. A
 * GET also waits for a task of the other end, which signals that the data is there. Other entries write at the other end,
 * and wait until the elements there are free. */
static int find_waits(struct lowering *l, uint32_t task)
{
	const struct smcq_task *t = &l->t.v.at[task];
	const uint32_t op = l->order.base[t->from] + t->entry.op, there = t->there;
	const uint32_t at = t->entry.at == BIN_NONE ? BIN_NONE : l->order.base[t->entry.peer] + t->entry.at;
	int err = there ? wait_for_needs(l, at, there - 1) : 0;

	err = err || !there ? err : shorten_waits(&l->t, &l->t.v.at[there - 1].waits);
	err = err ? err : wait_for_needs(l, op, task);
	err = err || there || at == BIN_NONE ? err : free_target(l, at, task);
	err = err ? err : shorten_waits(&l->t, &l->t.v.at[task].waits);
	for (uint32_t i = task; i && l->t.v.at[i - 1].more == i + 1 && !err; i--) /* earlier parts wait for the same tasks */
		for (size_t k = 0; k < l->t.v.at[task].waits.n && !err; k++)
			err = smcq_add(&l->t.v.at[i - 1].waits, l->t.v.at[task].waits.at[k]);
	return err;
}

/* Goes through the ops in the order of events, so that the waits of earlier tasks are known. */
static int find_all_waits(struct lowering *l)
{
	int err = 0;

	for (uint32_t at = 0; at < l->order.n && !err; at++) {
		const uint32_t e = l->order.order[at], op = e / 2;
		uint32_t task, rank;

		if (e % 2 || op >= l->order.nops)
			continue;
		rank = ir_events_rank(&l->order, op);
		err = find_needs(l, rank, op - l->order.base[rank]);
		task = l->task_of[op];
		if (!err && task && l->t.v.at[task - 1].key == key_of(l, op)) /* once for a message: at the end that starts later */
			err = find_waits(l, task - 1);
	}
	return err;
}

/* ---- start of all ranks ---- */

struct tree {
	uint32_t root, n;
	/* for each position in the tree, 1 + the task from it to its parent, and 1 + the task to it; or 0 */
	uint32_t *up, *down;
};

static uint32_t rank_at(const struct tree *t, uint32_t position)
{
	return (t->root + position) % t->n;
}

/* Returns the parent of position v in the binomial tree: v without its lowest bit set. */
static uint32_t tree_parent(uint32_t v)
{
	return v & (v - 1);
}

/* Makes a task wait for the signals that the positions below v have started. */
static int wait_for_children(struct lowering *l, const struct tree *t, uint32_t v, uint32_t task)
{
	int err = 0;

	for (uint32_t bit = 1; bit < t->n && !(v & bit) && !err; bit <<= 1)
		if (v + bit < t->n)
			err = smcq_add(&l->t.v.at[task].waits, t->up[v + bit] - 1);
	return err;
}

static int signal_up(struct lowering *l, struct tree *t)
{
	int err = 0;

	for (uint32_t v = t->n - 1; v && !err; v--) {
		int64_t id = smcq_task(&l->t, rank_at(t, v), rank_at(t, tree_parent(v)),
				       (uint64_t)KEY_STEP * (t->n - v));

		if (id < 0)
			return (int)id;
		l->t.v.at[id].gathers = true;
		t->up[v] = (uint32_t)id + 1;
		err = wait_for_children(l, t, v, (uint32_t)id);
	}
	return err;
}

static int signal_down(struct lowering *l, struct tree *t, uint32_t v)
{
	const uint32_t over = tree_parent(v);
	int64_t id;
	int err = 0;

	if (t->down[v])
		return 0;
	if (over && !t->down[over]) /* the depth of the recursion is at most the number of bits of a position */
		err = signal_down(l, t, over);
	id = err ? err : smcq_task(&l->t, rank_at(t, over), rank_at(t, v), (uint64_t)KEY_STEP * (t->n + v));
	if (id < 0)
		return (int)id;
	t->down[v] = (uint32_t)id + 1;
	return over ? smcq_add(&l->t.v.at[id].waits, t->down[over] - 1) : wait_for_children(l, t, 0, (uint32_t)id);
}

/* Makes tasks that wait for nothing wait for the start of all ranks. A rank without tasks waits too: it must not start
 * again before the others have started. */
static int wait_for_all(struct lowering *l, struct tree *t)
{
	const size_t n = l->t.v.n;
	bool *busy = mem_calloc(t->n, sizeof *busy);
	int err = busy ? 0 : -ERR_NOMEM;

	t->root = t->n;
	for (size_t i = 0; i < n && !err; i++) {
		busy[l->t.v.at[i].from] = busy[l->t.v.at[i].to] = true;
		if (!l->t.v.at[i].waits.n && l->t.v.at[i].from < t->root)
			t->root = l->t.v.at[i].from;
	}
	t->root %= t->n;
	err = err ? err : signal_up(l, t);
	for (size_t i = 0; i < n && !err; i++) {
		const uint32_t v = (l->t.v.at[i].from + t->n - t->root) % t->n;

		if (l->t.v.at[i].waits.n)
			continue;
		if (v)
			err = signal_down(l, t, v);
		if (!err)
			err = v ? smcq_add(&l->t.v.at[i].waits, t->down[v] - 1) :
			      wait_for_children(l, t, 0, (uint32_t)i);
	}
	for (uint32_t v = 1; v < t->n && !err; v++)
		if (!busy[rank_at(t, v)]) {
			err = signal_down(l, t, v);
			if (!err)
				l->t.v.at[t->down[v] - 1].entry.flags |= BIN_E_REMOTE;
		}
	free(busy);
	return err;
}

/* For a single rank, makes its CPU wait for the start. The CPU begins nothing without credit. A put of the rank to itself
 * brings this credit when the rank has started. */
static int signal_cpu(struct lowering *l)
{
	const size_t n = l->t.v.n;
	int64_t start = -1;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		if (l->t.v.at[i].entry.kind != BIN_E_CPU || l->t.v.at[i].waits.n)
			continue;
		if (start < 0)
			start = smcq_task(&l->t, 0, 0, KEY_STEP);
		err = start < 0 ? (int)start : smcq_add(&l->t.v.at[i].waits, (uint32_t)start);
	}
	return err;
}

static int synchronise_ranks(struct lowering *l)
{
	const uint32_t n = l->t.g->nranks;
	struct tree t = { .n = n, .up = mem_calloc(n, sizeof *t.up), .down = mem_calloc(n, sizeof *t.down) };
	int err = t.up && t.down ? 0 : -ERR_NOMEM;

	if (!err)
		err = n > 1 ? wait_for_all(l, &t) : signal_cpu(l);
	free(t.up);
	free(t.down);
	return err;
}

/* ---- the pass ---- */

static int lower_to_tasks(struct lowering *l)
{
	int err = may_lower(l);

	if (err)
		return err;
	l->base = (uint64_t)2 * KEY_STEP * (l->t.g->nranks + 1);
	l->task_of = mem_calloc(l->order.nops, sizeof *l->task_of);
	l->needs = mem_calloc(l->order.nops, sizeof *l->needs);
	l->seen = mem_calloc(l->order.nops, sizeof *l->seen);
	err = l->task_of && l->needs && l->seen ? add_messages(l) : -ERR_NOMEM;
	err = err ? err : add_others(l);
	if (err)
		return err;
	free_nics(l);
	err = conflicts_of_graph(&l->conflicts, l->t.g, l->m, l->nm);
	err = err ? err : find_all_waits(l);
	return err ? err : synchronise_ranks(l);
}

int pass_lower_smcq(struct ir_graph *g, const struct pass_ctx *c)
{
	struct lowering l = { .t = { .g = g } };
	struct smcq *out = smcq_new(g->nranks);
	int err = out ? 0 : -ERR_NOMEM;

	_Static_assert(BIN_LIMITS + SMCQ_CHOICES <= PASS_KEYS, "a key for each");
	for (unsigned i = 0; i < BIN_LIMITS; i++)
		l.t.target.limit[i] = (uint32_t)c->value[i];
	l.t.post = c->value[BIN_LIMITS + SMCQ_POST];
	l.get = c->value[BIN_LIMITS + SMCQ_GET];
	choose_armw(&l, c->value + BIN_LIMITS);
	err = err ? err : lower_to_tasks(&l);
	err = err ? err : smcq_assign(&l.t, out);
	if (err) {
		smcq_free(out);
	} else {
		out->target = l.t.target;
		g->queues = out;
	}
	for (uint32_t i = 0; l.needs && i < l.order.nops; i++)
		VEC_FREE(&l.needs[i]);
	for (size_t i = 0; i < l.t.v.n; i++)
		VEC_FREE(&l.t.v.at[i].waits);
	free(l.needs);
	free(l.task_of);
	free(l.seen);
	free(l.m);
	free(l.t.stamp);
	VEC_FREE(&l.t.v);
	VEC_FREE(&l.t.stack);
	conflicts_free(&l.conflicts);
	VEC_FREE(&l.open);
	ir_events_fini(&l.order);
	return err;
}
