/* SPDX-License-Identifier: BSD-3-Clause
 * Simulates the ranks of a node, see node.h. */
#include "backends/sim/node_state.h"

#include "format/check.h"
#include "util/order.h"

#include <stdlib.h>

/* ---- ops of the schedule ---- */

BIN_LAST_OP(GETS);
/* Returns how long an op occupies its core. `size` is that of the simulator's op: the bytes of a message, or else the time. */
static uint64_t cost_of(const struct sim_node *n, const struct bin_op *op, uint64_t size)
{
	const struct sim_params *p = n->params;
	const uint64_t behind = size ? size - 1 : 0, sent = sim_cost(&p->O, behind);
	uint64_t copied;

	if (!bin_is_message(op->kind))
		return size;
	if (bin_sends(op->kind))
		return p->o + sent;
	copied = sim_later(sent, sim_cost(&p->G, behind));
	return p->o + (bin_reduces(op->kind) ? sim_later(copied, sim_cost(&n->binary->reduce, size)) : copied);
}

/* Returns the core on which an op runs. */
static uint32_t core_of(const struct sim_node *n, const struct node_op *o, uint32_t cpu)
{
	if (node_is_own(n, o))
		return n->core[o->rank];
	if (n->collab)
		return NODE_NONE;
	/* As for requests, an op that names a communication core names its number among them, from 1 on. */
	return o->exec == BIN_COMM && cpu ? n->comms[(cpu - 1) % n->ncomms] : n->comm[o->rank];
}

static int take_op(struct sim_node *n, uint32_t rank, uint32_t number, const struct bin_op *op)
{
	const uint64_t size = n->binary->ops[number].size;
	struct node_op o = { .rank = rank, .op = number, .peer = op->peer, .tag = op->tag, .partner = NODE_NONE,
			     .posted = NODE_NONE, .done = (uint32_t)n->ops.n, .level = op->level, .kind = op->kind,
			     .exec = op->exec, .cost = cost_of(n, op, size) };

	o.core = core_of(n, &o, op->cpu);
	if (bin_is_message(op->kind)) {
		o.bytes = size;
		n->least = size < n->least ? size : n->least;
		n->most = sim_later(n->most, size);
	}
	return VEC_PUSH(&n->ops, o) ? -ERR_NOMEM : 0;
}

static int take_rank(struct sim_node *n, uint32_t rank)
{
	const uint32_t base = (uint32_t)n->ops.n;
	const struct bin_space *sp = &n->binary->space;
	const struct bin_op *ops;
	int err = sim_binary_ops(n->binary, rank, &ops);

	if (!err && n->ops.n + sp->nops >= SUCC_OP)
		err = -ERR_SPACE;
	for (uint32_t i = 0; !err && i < sp->nops; i++)
		err = take_op(n, rank, i, &ops[i]);
	for (uint32_t i = 0; !err && i < sp->ndeps; i++) {
		const struct bin_dep *d = &sp->deps[i];

		node_add_dep(n, base + d->op, (base + (d->on & ~BIN_START)) | (d->on & BIN_START));
	}
	return err ? err : n->err;
}

/* ---- messages ---- */

struct end {
	uint32_t from, to, tag, i;
	bool recv;
};

static int by_channel(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	ORDER_BY(x->from, y->from);
	ORDER_BY(x->to, y->to);
	ORDER_BY(x->tag, y->tag);
	ORDER_BY(x->recv, y->recv);
	ORDER_BY(x->i, y->i);
	return 0;
}

static bool is_one_channel(const struct end *x, const struct end *y)
{
	return x->from == y->from && x->to == y->to && x->tag == y->tag;
}

/* Finds the partners of sends and recvs: the k-th of a channel belong together. */
static int match_ends(struct sim_node *n)
{
	struct end *v = mem_alloc((n->ops.n + 1) * sizeof *v);
	size_t ends = 0;

	if (!v)
		return -ERR_NOMEM;
	for (uint32_t i = 0; i < n->ops.n; i++) {
		const struct node_op *o = &n->ops.at[i];
		const bool recv = bin_recvs(o->kind);

		if (bin_is_message(o->kind))
			v[ends++] = (struct end){ recv ? o->peer : o->rank, recv ? o->rank : o->peer, o->tag, i, recv };
	}
	qsort(v, ends, sizeof *v, by_channel);
	for (size_t i = 0, recvs, next; i < ends; i = next) {
		for (recvs = i; recvs < ends && !v[recvs].recv && is_one_channel(&v[i], &v[recvs]); recvs++)
			;
		for (next = recvs; next < ends && is_one_channel(&v[i], &v[next]); next++)
			if (next - recvs < recvs - i) {
				n->ops.at[v[next].i].partner = v[i + next - recvs].i;
				n->ops.at[v[i + next - recvs].i].partner = v[next].i;
			}
	}
	free(v);
	return 0;
}

/* Makes recvs wait for their messages, and what waits for the send of a rendezvous wait for its recv. */
static void link_messages(struct sim_node *n)
{
	const struct sim_params *p = n->params;

	for (uint32_t i = 0; i < n->ops.n; i++) {
		struct node_op *o = &n->ops.at[i];
		const bool met = o->partner != NODE_NONE;

		if (bin_recvs(o->kind) && met && p->o + p->L) {
			const uint32_t arrival = node_add_extra(n, NODE_ARRIVAL, i, p->o + p->L);

			node_add_dep(n, arrival, o->partner | BIN_START);
			node_add_dep(n, i, arrival);
		} else if (bin_recvs(o->kind) && met) {
			node_add_dep(n, i, o->partner | BIN_START);
		} else if (bin_sends(o->kind) && o->bytes > p->S) {
			o->done = node_add_extra(n, met ? NODE_END : NODE_NO_END, i, 0);
			node_add_dep(n, o->done, i);
			if (met)
				node_add_dep(n, o->done, o->partner);
		}
	}
}

/* ---- dependencies ---- */

/* Turns the first ndeps dependencies, which are those of the schedule, into those of the host. */
static void settle_deps(struct sim_node *n, size_t ndeps)
{
	for (size_t i = 0; i < ndeps && !n->err; i++) {
		const uint32_t on = n->deps.at[i].on;
		struct node_op *o = &n->ops.at[on & ~BIN_START];

		if (on & BIN_START && bin_recvs(o->kind) && o->posted == NODE_NONE) {
			o->posted = node_add_extra(n, NODE_POSTED, on & ~BIN_START, 0);
			node_add_dep(n, on & ~BIN_START, o->posted);
		}
		n->deps.at[i].on = !(on & BIN_START) ? o->done : bin_recvs(o->kind) ? o->posted : on;
	}
	for (size_t i = 0; i < ndeps && !n->err; i++)
		if (n->ops.at[n->deps.at[i].op].posted != NODE_NONE)
			node_add_dep(n, n->ops.at[n->deps.at[i].op].posted, n->deps.at[i].on);
}

/* Adds the computation of each rank, perhaps one of no time, which its core does behind the ops of the start and before all other ops,
 * and the time at which it starts. */
static void add_ranks(struct sim_node *n)
{
	const uint32_t base = (uint32_t)(n->ops.n + n->extras.n), nranks = n->binary->source.nranks;
	const struct sim_params *p = n->params;
	const bool computes = n->compute || n->collab;
	uint32_t first;

	for (uint32_t r = 0; r < nranks && computes; r++)
		node_add_extra(n, NODE_COMPUTE, r, n->compute);
	for (uint32_t i = 0; i < n->ops.n && computes && !n->err; i++) {
		const struct node_op *o = &n->ops.at[i];

		if (o->exec == BIN_EARLY)
			node_add_dep(n, base + o->rank, o->done);
		else if (o->core == n->core[o->rank])
			node_add_dep(n, i, base + o->rank);
	}
	if (!p->start)
		return;
	first = (uint32_t)(n->ops.n + n->extras.n);
	for (uint32_t r = 0; r < nranks; r++) {
		node_add_extra(n, NODE_START, r, p->start[r]);
		if (computes)
			node_add_dep(n, base + r, first + r);
	}
	for (uint32_t i = 0; i < n->ops.n; i++)
		node_add_dep(n, i, first + n->ops.at[i].rank);
}

/* ---- the host ---- */

static int make_op(struct sim_node *n, int64_t cls, uint64_t ns)
{
	if (cls < 0)
		return (int)cls;
	return VEC_PUSH(&n->made, (struct sim_op){ .size = ns, .cls = (uint32_t)cls }) ? -ERR_NOMEM : 0;
}

/* Makes an op of the host. A recv that the simulator knows as one has no message, and never ends. */
static int make_extra(struct sim_node *n, const struct node_extra *x)
{
	const uint32_t high = (uint32_t)(x->ns >> 32);

	return make_op(n,
		       x->kind == NODE_NO_END  ? sim_class(&n->classes, SIM_RECV, 0, 0, 0, 0) :
		       x->kind == NODE_COMPUTE ? sim_opening_class(&n->classes, n->core[x->of], high) :
						 sim_idle_class(&n->classes, high),
		       x->ns);
}

static int64_t class_of(struct sim_node *n, const struct node_op *o)
{
	const uint32_t high = (uint32_t)(o->cost >> 32);

	return o->core == NODE_NONE ? sim_shared_class(&n->classes, high) : sim_class(&n->classes, SIM_CALC, 0, o->core, 0, high);
}

static int make_ops(struct sim_node *n)
{
	int err = n->err;

	for (uint32_t i = 0; i < n->ops.n && !err; i++) {
		const struct node_op *o = &n->ops.at[i];

		if (bin_recvs(o->kind) && o->partner == NODE_NONE)
			err = make_op(n, sim_class(&n->classes, SIM_RECV, 0, 0, 0, 0), 0);
		else
			err = make_op(n, class_of(n, o), o->cost);
	}
	for (size_t i = 0; i < n->extras.n && !err; i++)
		err = make_extra(n, &n->extras.at[i]);
	return err;
}

static int give_host(void *arg, uint32_t rank, struct sim_rank *out)
{
	const struct sim_node *n = arg;

	(void)rank;
	*out = (struct sim_rank){ n->made.at, n->deps.at, (uint32_t)n->made.n, (uint32_t)n->deps.n, 0 };
	return 0;
}

static int make_host(struct sim_node *n)
{
	const uint32_t nranks = n->binary->source.nranks;
	size_t ndeps;
	int err = 0;

	n->least = UINT64_MAX;
	n->finish = mem_calloc(nranks, sizeof *n->finish);
	if (!n->finish)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < nranks && !err; r++)
		err = take_rank(n, r);
	ndeps = n->deps.n;
	err = err ? err : match_ends(n);
	if (err)
		return err;
	link_messages(n);
	err = n->err ? n->err : n->barrier ? node_separate_levels(n) : 0;
	if (err)
		return err;
	settle_deps(n, ndeps);
	add_ranks(n);
	n->source = (struct sim_source){ .nranks = 1, .classes = &n->classes, .make = give_host, .arg = n };
	return make_ops(n);
}

/* ---- steps ---- */

/* Passes a step on, with the numbers of the schedule. */
static int pass_step(const struct sim_node *n, const struct node_op *o, struct sim_step step)
{
	static const struct sim_class classes[] = { { .kind = SIM_SEND }, { .kind = SIM_RECV }, { .kind = SIM_CALC } };
	const struct sim_watch *watch = n->params->watch;

	if (!watch)
		return 0;
	step.rank = o->rank;
	step.op = o->op;
	step.cpu = o->core == NODE_NONE ? step.cpu : o->core;
	step.cls = &classes[bin_sends(o->kind) ? 0 : bin_recvs(o->kind) ? 1 : 2];
	step.size = o->bytes;
	step.peer = o->peer;
	step.tag = o->tag;
	step.sent = o->partner != NODE_NONE ? n->ops.at[o->partner].op : 0;
	return watch->step(watch->arg, &step);
}

/* Notes when ranks finish. */
static int keep_step(void *arg, const struct sim_step *s)
{
	struct sim_node *n = arg;
	const struct node_extra *x = s->op < n->ops.n ? NULL : &n->extras.at[s->op - n->ops.n];
	struct node_op *o = !x ? &n->ops.at[s->op] : x->kind == NODE_END ? &n->ops.at[x->of] : NULL;
	const uint32_t rank = o ? o->rank : x->of;
	struct sim_step step = *s;

	if (s->what != SIM_STARTED && (o || x->kind == NODE_COMPUTE))
		n->finish[rank] = sim_later(n->finish[rank], s->end);
	if (!o)
		return 0;
	if (s->what == SIM_DONE && s->op != o->done)
		step.what = SIM_STARTED;
	o->over = step.what == SIM_DONE;
	return pass_step(n, o, step);
}

/* ---- results ---- */

/* Turns an op of the host that waits into one of the schedule. Returns false if it stands for none. */
static bool find_waiting(const struct sim_node *n, struct sim_waiting *w, uint32_t next)
{
	const struct node_extra *x = w->op < n->ops.n ? NULL : &n->extras.at[w->op - n->ops.n];
	const struct node_extra *to = next < n->ops.n ? NULL : &n->extras.at[next - n->ops.n];
	const uint32_t i = x ? x->of : w->op;

	if (x && x->kind != NODE_POSTED && x->kind != NODE_END && x->kind != NODE_NO_END)
		return false;
	if (x && x->kind == NODE_END)
		w->waits = SIM_FOR_RECV;
	else if (!x && (to ? to->kind == NODE_ARRIVAL && to->of == i : next == n->ops.at[i].partner))
		w->waits = SIM_FOR_MESSAGE;
	w->rank = n->ops.at[i].rank;
	w->op = n->ops.at[i].op;
	return true;
}

static void find_cycle(const struct sim_node *n, struct sim_result *r)
{
	const uint32_t first = r->cycle.n ? r->cycle.at[0].op : 0;
	size_t kept = 0;

	for (size_t i = 0; i < r->cycle.n; i++) {
		struct sim_waiting w = r->cycle.at[i];

		if (find_waiting(n, &w, i + 1 < r->cycle.n ? r->cycle.at[i + 1].op : first))
			r->cycle.at[kept++] = w;
	}
	r->cycle.n = kept;
}

static void make_result(struct sim_node *n, struct sim_result *r)
{
	uint32_t last = NODE_NONE;

	free(r->finish);
	r->finish = n->finish;
	n->finish = NULL;
	r->events = r->blocked = 0;
	for (size_t i = 0; i < n->ops.n; i++) {
		const struct node_op *o = &n->ops.at[i];

		r->events += o->over ? 1 + bin_sends(o->kind) : 0;
		r->blocked += !o->over && o->rank != last;
		last = o->over ? last : o->rank;
		r->unmatched += bin_sends(o->kind) && o->partner == NODE_NONE;
	}
	find_cycle(n, r);
}

int sim_node_run(struct sim_node *n, const struct sim_params *p, struct sim_result *r)
{
	const struct sim_watch watch = { keep_step, n };
	struct sim_params host = *p;
	int err;

	host.compatible = false;
	host.start = NULL;
	host.watch = &watch;
	n->params = p;
	err = make_host(n);
	err = err ? err : sim_run(&n->source, &host, r);
	if (!err)
		make_result(n, r);
	return err;
}

void sim_node_fini(struct sim_node *n)
{
	sim_classes_fini(&n->classes);
	VEC_FREE(&n->ops);
	VEC_FREE(&n->extras);
	VEC_FREE(&n->deps);
	VEC_FREE(&n->made);
	free(n->finish);
	n->finish = NULL;
}
