/* SPDX-License-Identifier: BSD-3-Clause
 * The rules of the simulator: what an op or a message does to its host, and when. goalsim(1) states them. */
#include "backends/sim/match.h"

#include <stdlib.h>
#include <string.h>

/* ---- costs ---- */

/* Returns what the bytes behind the first one cost. LogGOPSim computes with 64 bits that wrap, so that a message without bytes
 * costs minus one byte. */
static inline uint64_t cost_of_size(const struct sim *s, const struct sim_rate *r, uint64_t size)
{
	if (__builtin_expect(size > UINT32_MAX || r->whole > UINT32_MAX || r->millionths || !size, 0))
		return size ? sim_cost(r, size - 1) : s->p->compatible && !r->npoints ? -r->whole : 0;
	return (size - 1) * r->whole;
}

/* Returns the number of an op in its rank. */
static uint32_t number_of(const struct sim *s, uint32_t host, uint32_t i)
{
	return i - s->hosts[host].block;
}

/* Returns by how much longer an op, or the message of a send, occupies a cpu. */
static uint64_t noise_of(const struct sim *s, uint32_t host, uint32_t i, bool message)
{
	const uint64_t op = (uint64_t)s->hosts[host].rank << 32 | number_of(s, host, i) << 1 | message;

	return random_time(&s->p->noise, s->p->seed, op);
}

static inline bool has_noise(const struct sim *s)
{
	return __builtin_expect(s->p->noise.kind != RANDOM_NONE, 0);
}

/* Returns how long a message occupies the cpu of its receiver. */
static inline uint64_t cost_of_message(const struct sim *s, uint32_t message, uint64_t size)
{
	const uint64_t o = s->p->o + sim_later(cost_of_size(s, &s->p->O, size), cost_of_size(s, &s->p->G, size));

	return has_noise(s) ? o + noise_of(s, s->slot[sim_op_at(s, message)->peer] - 1, message, true) : o;
}

/* ---- steps ---- */

static bool is_watched(const struct sim *s)
{
	return __builtin_expect(s->p->watch != NULL, 0);
}

static int report_step(const struct sim *s, struct sim_step step)
{
	return s->p->watch->step(s->p->watch->arg, &step);
}

/* Returns a step of an op, without its times. */
static struct sim_step step_of(const struct sim *s, uint32_t host, uint32_t i, unsigned what)
{
	const struct sim_class *c = sim_class_of(s, sim_op_at(s, i));
	const struct host *h = &s->hosts[host];

	return (struct sim_step){ .what = what, .rank = h->rank, .op = number_of(s, host, i), .cpu = c->cpu, .cls = c,
				  .size = sim_size(c, sim_op_at(s, i)), .peer = sim_op_at(s, i)->peer, .tag = c->tag };
}

static int report_op(const struct sim *s, uint32_t host, uint32_t i, unsigned what, uint64_t begin, uint64_t end)
{
	struct sim_step step = step_of(s, host, i, what);

	step.begin = begin;
	step.end = end;
	return report_step(s, step);
}

/* Reports that a recv is done, which was posted or takes an unexpected message at time t. The message is there at time `data`, and
 * has occupied a cpu before. */
static int report_recv(const struct sim *s, uint32_t host, uint32_t recv, uint32_t message, bool posted, uint64_t t, uint64_t data)
{
	const struct op *m = sim_op_at(s, message);
	const struct sim_class *sent = sim_class_of(s, m);
	struct sim_step step = step_of(s, host, recv, SIM_DONE);
	const bool late = t > data;
	int err = 0;

	step.sent = number_of(s, s->slot[m->peer] - 1, message);
	step.peer = m->peer;
	step.tag = sent->tag;
	step.cpu = !s->charges_recv ? sent->cpu : posted ? step.cpu : 0;
	step.end = data;
	step.begin = data - cost_of_message(s, message, sim_size(sent, m));
	if (late) {
		step.what = SIM_PART;
		err = report_step(s, step);
		step.what = SIM_DONE;
		step.begin = step.end = t;
	}
	return err ? err : report_step(s, step);
}

/* Reports that a rendezvous is done at time t. */
static int report_rendezvous(const struct sim *s, uint32_t host, uint32_t i, uint32_t receiver, uint64_t t)
{
	struct sim_step step = step_of(s, host, i, SIM_DONE);

	step.peer = receiver;
	step.begin = step.end = t;
	return report_step(s, step);
}

/* ---- queues ---- */

static inline uint32_t queue_of(const struct sim *s, enum sim_kind kind, const struct sim_class *c)
{
	return s->lanes == 1 ? 0 : kind == SIM_SEND || kind == SIM_MESSAGE ? c->at_pair : c->at_cpu;
}

static inline uint32_t what_of(const struct sim *s, uint32_t host, uint32_t lane, enum sim_kind kind)
{
	return (host * s->lanes + lane) << 2 | kind;
}

/* Queues an op alone, because its place in its queue is not at the end. */
static int queue_alone(struct sim *s, uint32_t host, enum sim_kind kind, uint32_t i)
{
	struct op *op = sim_op_at(s, i);

	op->next = host;
	return wheel_push(&s->wheel, op->time, op->serial, WHAT_ALONE | (kind == SIM_MESSAGE ? WHAT_MESSAGE : 0) | i);
}

/* Queues an op or message that may run at a time. */
static int queue_op(struct sim *s, uint32_t host, enum sim_kind kind, uint32_t i, uint64_t time, uint64_t serial)
{
	struct op *op = sim_op_at(s, i), *last;
	const uint32_t at = queue_of(s, kind, sim_class_of(s, op));
	struct queue *queue = &sim_lane(s, host, at)->queue[kind];
	uint32_t *end = &s->lasts[(size_t)host * s->lanes + at].at[kind];

	op->time = time;
	op->serial = serial & (((uint64_t)1 << 38) - 1);
	if (serial >> 38)
		return -ERR_OVERFLOW;
	if ((kind == SIM_MESSAGE && s->charges_recv) ||
	    (kind == SIM_CALC && (sim_class_of(s, op)->idle || sim_class_of(s, op)->shared)))
		return queue_alone(s, host, kind, i);
	op->next = 0;
	if (!queue->first) {
		queue->first = i & (POOL_MOST - 1);
		*end = i;
		return wheel_push(&s->wheel, time, serial, what_of(s, host, at, kind));
	}
	last = sim_op_at(s, *end);
	if (time < last->time || serial < last->serial)
		return queue_alone(s, host, kind, i);
	last->next = *end = i;
	return 0;
}

/* ---- dependencies ---- */

/* Tells the successors of an op that it has started, or is done, at a time. `k` is the list for those that become ready. */
static int release_successors(struct sim *s, unsigned k, const struct op *op, uint32_t bit, uint64_t time)
{
	const struct host *h = &s->hosts[s->ready[k].host];
	const uint32_t block = h->block, *words = sim_lists_at(s, h->lists);

	for (uint32_t at = op->succ; at; at = words[at] & SUCC_LAST ? 0 : at + 1) {
		struct op *to = sim_op_at(s, block + (words[at] & SUCC_OP));

		if ((words[at] & SUCC_START) != bit)
			continue;
		to->time = sim_later(to->time, time);
		if (!--to->serial && VEC_PUSH(&s->ready[k].ops, block + (words[at] & SUCC_OP)))
			return -ERR_NOMEM;
	}
	return 0;
}

static inline int start_op(struct sim *s, unsigned k, struct op *op, uint64_t time)
{
	s->result->events++;
	op->state = OP_STARTED;
	return op->succ ? release_successors(s, k, op, SUCC_START, time) : 0;
}

static inline int finish_op(struct sim *s, unsigned k, struct op *op, uint64_t time)
{
	s->hosts[s->ready[k].host].left--;
	op->state = OP_DONE;
	return op->succ ? release_successors(s, k, op, 0, time) : 0;
}

/* ---- shared calcs ---- */

#define CLOSED UINT64_MAX

static inline bool is_shared(const struct sim *s, uint32_t i, enum sim_kind kind)
{
	return kind == SIM_CALC && sim_class_of(s, sim_op_at(s, i))->shared;
}

/* Returns when the cpu of a lane is free for shared calcs, or CLOSED if that is not known yet. */
static uint64_t open_at(const struct sim *s, uint32_t host, uint32_t lane)
{
	return sim_later(sim_lane(s, host, lane)->cpu, s->open[lane]);
}

static uint32_t open_lane(const struct sim *s, uint32_t host)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < s->lanes; i++)
		if (open_at(s, host, i) < open_at(s, host, best))
			best = i;
	return best;
}

/* Opens the lane of a calc that is done at time `end`, also for calcs that wait for another lane. */
static int open_for_others(struct sim *s, uint32_t lane, uint64_t end)
{
	int err = 0;

	s->open[lane] = end;
	for (size_t n = 0; n < s->late.n && !err; n++) {
		const uint32_t i = s->late.at[n];

		err = wheel_push(&s->wheel, end, sim_op_at(s, i)->serial, WHAT_ALONE | i);
	}
	s->late.n = 0;
	return err;
}

/* A shared calc that cannot run now is tried again when the first lane is free of those that are open, and when others open. It may
 * have run by then. */
static int wait_for_lane(struct sim *s, uint32_t i, uint64_t free)
{
	const struct op *op = sim_op_at(s, i);
	const int err = free == CLOSED ? 0 : wheel_push(&s->wheel, free, op->serial, WHAT_ALONE | i);

	return err ? err : VEC_PUSH(&s->late, i) ? -ERR_NOMEM : 0;
}

/* ---- what is ready ---- */

/* Returns when the cpu and the nic are free that an op, or a message of its class, occupies. */
static inline uint64_t free_for(const struct sim *s, uint32_t host, enum sim_kind kind, const struct sim_class *c)
{
	const uint64_t cpu = sim_lane(s, host, c->at_cpu)->cpu;

	switch (kind) {
	case SIM_SEND:
		return sim_later(cpu, sim_lane(s, host, c->at_nic)->send);
	case SIM_RECV:
		return 0;
	case SIM_CALC:
		return c->shared ? open_at(s, host, open_lane(s, host)) : c->idle ? 0 : cpu;
	default:
		return sim_later(cpu, sim_lane(s, host, c->at_nic)->recv);
	}
}

/* Sorts ops that became ready at the same event by kind, and then by their place in the rank. There are few of them. */
static void sort_ready(const struct sim *s, struct ready *r)
{
	for (size_t n = 1; n < r->ops.n; n++) {
		const uint32_t i = r->ops.at[n];
		const enum sim_kind kind = sim_class_of(s, sim_op_at(s, i))->kind;
		size_t at = n;

		for (; at; at--) {
			const uint32_t before = r->ops.at[at - 1];
			const enum sim_kind its = sim_class_of(s, sim_op_at(s, before))->kind;

			if (its < kind || (its == kind && before < i))
				break;
			r->ops.at[at] = before;
		}
		r->ops.at[at] = i;
	}
}

static int queue_ready(struct sim *s, struct ready *r)
{
	int err = 0;

	if (r->ops.n > 1)
		sort_ready(s, r);
	for (size_t n = 0; n < r->ops.n && !err; n++) {
		const struct op *op = sim_op_at(s, r->ops.at[n]);
		const struct sim_class *c = sim_class_of(s, op);
		/* A recv occupies no cpu, but is not tried before its cpu is free. */
		uint64_t time = c->shared ? 0 : free_for(s, r->host, c->kind == SIM_RECV ? SIM_CALC : c->kind, c);

		if (!s->p->compatible)
			time = sim_later(time, op->time);
		err = queue_op(s, r->host, c->kind, r->ops.at[n], time, s->serial++);
	}
	r->ops.n = 0;
	return err;
}

/* Queues what the event has made ready: by host in the order of ranks. */
static int end_event(struct sim *s)
{
	const bool both = s->ready[0].ops.n && s->ready[1].ops.n;
	const unsigned first = both && s->hosts[s->ready[1].host].rank < s->hosts[s->ready[0].host].rank;
	int err = s->ready[first].ops.n ? queue_ready(s, &s->ready[first]) : 0;

	return err || !s->ready[!first].ops.n ? err : queue_ready(s, &s->ready[!first]);
}

/* ---- what ops and messages do ---- */

static int run_calc(struct sim *s, uint32_t host, uint32_t i, uint64_t t)
{
	struct op *op = sim_op_at(s, i);
	const struct sim_class *c = sim_class_of(s, op);
	const uint64_t end = t + sim_size(c, op) + (has_noise(s) && !c->idle ? noise_of(s, host, i, false) : 0);
	const uint32_t lane = c->shared ? open_lane(s, host) : c->at_cpu;
	int err;

	if (!c->idle)
		sim_lane(s, host, lane)->cpu = end;
	err = start_op(s, 0, op, t);
	if (!err && c->opens && s->open)
		err = open_for_others(s, lane, end);
	if (!err && is_watched(s)) {
		struct sim_step step = step_of(s, host, i, SIM_DONE);

		step.begin = t;
		step.end = end;
		step.cpu = c->shared ? (uint32_t)s->src->classes->cpus.v.at[lane] : c->cpu;
		err = report_step(s, step);
	}
	return err ? err : finish_op(s, 0, op, end);
}

/* A message is on its way, and at a switch at time t. It waits for the next link until those that came earlier have passed, and its
 * first byte goes on as soon as it can. Messages come to the links in the order of their events. */
static int pass_link(struct sim *s, uint32_t to, uint32_t i, uint64_t t)
{
	const struct sim_params *p = s->p;
	struct op *op = sim_op_at(s, i);
	const uint64_t size = sim_size(sim_class_of(s, op), op);
	const int64_t link = sim_topology_link(&p->topology, op->peer, s->hosts[to].rank, op->serial);
	const uint64_t gap = cost_of_size(s, &p->G, size), slow = cost_of_size(s, &p->link, size);
	uint64_t begin;

	if (link < 0) /* the last byte is late by what slow links have added */
		return queue_op(s, to, SIM_MESSAGE, i, t + p->L + (op->serial && slow > gap ? slow - gap : 0), s->serial++);
	begin = sim_later(t, s->links[link]);
	s->links[link] = begin + sim_cost(&p->link, size);
	op->serial++;
	return wheel_push(&s->wheel, begin + p->hop, s->serial++, WHAT_ALONE | WHAT_MESSAGE | i);
}

/* Sends the message, which is the op itself from now on, at time t. As long as it is not at its receiver, its serial number is how many
 * links it has crossed. */
static int send_message(struct sim *s, uint32_t host, uint32_t i, uint64_t t)
{
	struct op *op = sim_op_at(s, i);
	const int64_t to = sim_host_of(s, op->peer);

	if (to < 0)
		return (int)to;
	op->peer = s->hosts[host].rank;
	s->hosts[host].left++;
	s->hosts[to].left++;
	s->result->unmatched++;
	if (!s->links)
		return queue_op(s, (uint32_t)to, SIM_MESSAGE, i, t + s->p->L, s->serial++);
	op->serial = 0;
	op->next = (uint32_t)to;
	return wheel_push(&s->wheel, t, s->serial++, WHAT_ALONE | WHAT_MESSAGE | i);
}

static int run_send(struct sim *s, uint32_t host, uint32_t i, uint64_t t)
{
	const struct sim_params *p = s->p;
	struct op *op = sim_op_at(s, i);
	const struct sim_class *c = sim_class_of(s, op);
	const uint64_t size = sim_size(c, op), noise = has_noise(s) ? noise_of(s, host, i, false) : 0;
	const uint64_t end = t + p->o + cost_of_size(s, &p->O, size) + noise;
	int err = start_op(s, 0, op, t);

	sim_lane(s, host, c->at_cpu)->cpu = end;
	sim_lane(s, host, c->at_nic)->send = t + p->g + cost_of_size(s, &p->G, size);
	if (!err && is_watched(s))
		err = report_op(s, host, i, size <= p->S ? SIM_DONE : SIM_STARTED, t, end);
	if (!err && size <= p->S)
		err = finish_op(s, 0, op, end);
	return err ? err : send_message(s, host, i, t + p->o + noise);
}

/* A recv and a message meet at time t; the data is there at time `data`. A rendezvous ends here. */
static int receive_message(struct sim *s, uint32_t recv, uint32_t message, uint64_t t, uint64_t data)
{
	struct op *op = sim_op_at(s, message);
	const struct sim_class *c = sim_class_of(s, op);
	const uint32_t from = s->slot[op->peer] - 1;
	const unsigned k = from != s->ready[0].host;
	int err = finish_op(s, 0, sim_op_at(s, recv), sim_later(t, data));

	s->ready[1].host = from;
	s->hosts[from].left--;
	s->result->unmatched--;
	if (err || sim_size(c, op) <= s->p->S)
		return err;
	if (is_watched(s))
		err = report_rendezvous(s, from, message, s->hosts[s->ready[0].host].rank, t);
	if (err)
		return err;
	sim_lane(s, from, c->at_cpu)->cpu = sim_later(sim_lane(s, from, c->at_cpu)->cpu, t);
	sim_lane(s, from, c->at_nic)->send = sim_later(sim_lane(s, from, c->at_nic)->send, t);
	return finish_op(s, k, op, t);
}

static int run_recv(struct sim *s, uint32_t host, uint32_t i, uint64_t t)
{
	int err = start_op(s, 0, sim_op_at(s, i), t);
	uint32_t message;

	if (err)
		return err;
	message = s->hosts[host].waiting ? match_take(s, host, i) : 0;
	if (is_watched(s))
		err = message ? report_recv(s, host, i, message, false, t, sim_op_at(s, message)->time) :
				report_op(s, host, i, SIM_STARTED, t, t);
	if (err)
		return err;
	return message ? receive_message(s, i, message, t, sim_op_at(s, message)->time) : match_add(s, host, i);
}

/* Returns which cpu and nic of the receiving host a message is charged to: to those of its recv, if that is posted. An
 * unexpected message is charged to the first cpu, and to the nic of the number from which it was sent. */
static inline void find_charged(const struct sim *s, uint32_t host, uint32_t message, struct lane **cpu, struct lane **nic)
{
	const struct sim_class *c = sim_class_of(s, sim_op_at(s, message));
	const uint32_t recv = s->charges_recv ? match_find(s, host, message) : 0;

	*nic = sim_lane(s, host, c->at_nic);
	*cpu = sim_lane(s, host, s->charges_recv ? 0 : c->at_cpu);
	if (recv) {
		c = sim_class_of(s, sim_op_at(s, recv));
		*nic = sim_lane(s, host, c->at_nic);
		*cpu = sim_lane(s, host, c->at_cpu);
	}
}

static int run_message(struct sim *s, uint32_t host, uint32_t i, uint64_t t)
{
	const struct sim_params *p = s->p;
	struct op *op = sim_op_at(s, i);
	const uint64_t size = sim_size(sim_class_of(s, op), op);
	struct lane *cpu, *nic;
	uint32_t recv;

	find_charged(s, host, i, &cpu, &nic);
	cpu->cpu = t + cost_of_message(s, i, size);
	nic->recv = t + p->g + cost_of_size(s, &p->G, size);
	op->time = cpu->cpu;
	s->result->events++;
	s->hosts[host].left--;
	recv = s->hosts[host].waiting ? match_take(s, host, i) : 0;
	if (recv && is_watched(s)) {
		int err = report_recv(s, host, recv, i, true, t, op->time);

		if (err)
			return err;
	}
	return recv ? receive_message(s, recv, i, t, op->time) : match_add(s, host, i);
}

/* ---- ranks ---- */

static bool is_ready_recv(const struct sim *s, uint32_t i)
{
	const struct op *op = sim_op_at(s, i);

	return !op->serial && sim_class_of(s, op)->kind == SIM_RECV;
}

/* Runs the recvs that are ready at the start, at time 0: there is no message yet, and nobody waits for their start. Uses s->at. */
static int post_recvs(struct sim *s, uint32_t host, uint32_t nops)
{
	const uint32_t block = s->hosts[host].block;
	int err = VEC_RESERVE(&s->at, nops);

	s->at.n = 0;
	for (uint32_t i = block; i < block + nops && !err; i++) {
		if (!is_ready_recv(s, i))
			continue;
		s->at.at[s->at.n++] = i;
		sim_op_at(s, i)->state = OP_STARTED;
		if (is_watched(s))
			err = report_op(s, host, i, SIM_STARTED, 0, 0);
	}
	s->result->events += s->at.n;
	return err ? err : match_add_first(s, host, s->at.at, (uint32_t)s->at.n);
}

/* Makes the ops of a rank whose first message has come: they all wait for the recvs that are ready at the start. */
static int make_late(struct sim *s, uint32_t host)
{
	struct sim_rank r;
	int err = s->src->make(s->src->arg, s->hosts[host].rank, &r);

	err = err ? err : sim_fill_host(s, host, &r);
	return err ? err : post_recvs(s, host, r.nops);
}

static inline uint64_t busy_until(const struct sim *s, uint32_t host, enum sim_kind kind, uint32_t i)
{
	const struct sim_class *c = sim_class_of(s, sim_op_at(s, i));
	struct lane *cpu, *nic;

	if (kind != SIM_MESSAGE || !s->charges_recv)
		return free_for(s, host, kind, c);
	find_charged(s, host, i, &cpu, &nic);
	return sim_later(cpu->cpu, nic->recv);
}

static int run_op(struct sim *s, uint32_t host, enum sim_kind kind, uint32_t i, uint64_t t)
{
	s->ready[0].host = s->ready[1].host = host;
	switch (kind) {
	case SIM_SEND:
		return run_send(s, host, i, t);
	case SIM_RECV:
		return run_recv(s, host, i, t);
	case SIM_CALC:
		return run_calc(s, host, i, t);
	default:
		return s->hosts[host].block || s->hosts[host].complete ? run_message(s, host, i, t) : -ERR_STATE;
	}
}

static void retire_done(struct sim *s)
{
	const uint32_t a = s->ready[0].host, b = s->ready[1].host;

	if (a != NO_HOST && !s->hosts[a].left)
		sim_retire_host(s, a);
	if (b != a && !s->hosts[b].left)
		sim_retire_host(s, b);
}

/* True if nothing happens on a rank before its first message. Uses s->at. */
static bool waits_for_message(struct sim *s, const struct sim_rank *r)
{
	bool waits = r->nops;

	memset(s->at.at, 0, r->nops * sizeof *s->at.at);
	for (uint32_t i = 0; i < r->ndeps; i++) {
		s->at.at[r->deps[i].op]++;
		waits &= !(r->deps[i].on & BIN_START);
	}
	for (uint32_t i = 0; i < r->nops; i++)
		waits &= s->at.at[i] || s->src->classes->v.at[r->ops[i].cls].kind == SIM_RECV;
	return waits;
}

/* True if the start of some recv matters, as an op waits for it. */
static bool are_starts_awaited(const struct sim_rank *r, const struct sim_classes *c)
{
	for (uint32_t i = 0; i < r->ndeps; i++)
		if (r->deps[i].on & BIN_START && c->v.at[r->ops[r->deps[i].on & ~BIN_START].cls].kind == SIM_RECV)
			return true;
	return false;
}

/* Queues the ops of a kind that are ready at the start, in the order of the rank. */
static int begin_ops(struct sim *s, uint32_t host, enum sim_kind kind, uint32_t nops)
{
	const uint32_t block = s->hosts[host].block;
	int err = 0;

	for (uint32_t i = block; i < block + nops && !err; i++)
		if (!sim_op_at(s, i)->serial && sim_class_of(s, sim_op_at(s, i))->kind == kind)
			err = queue_op(s, host, kind, i, 0, s->start_serial++);
	return err;
}

/* True if the recvs or messages of a rank can match in several ways, so that their order matters. */
static bool has_wildcards(const struct sim_rank *r, const struct sim_classes *c)
{
	for (uint32_t i = 0; i < r->nops; i++)
		if (c->v.at[r->ops[i].cls].kind == SIM_RECV &&
		    (r->ops[i].peer == BIN_ANY || c->v.at[r->ops[i].cls].tag == BIN_ANY))
			return true;
	return c->any_tag;
}

/* Finds out how a rank begins, unless it is like the one before. */
static int find_begin(struct sim *s, const struct sim_rank *r)
{
	const struct sim_classes *c = s->src->classes;

	if (r->like && r->like == s->begin.like)
		return 0;
	if (VEC_RESERVE(&s->at, r->nops + 1))
		return -ERR_NOMEM;
	s->begin = (struct begin){ .like = r->like, .waits = s->src->again && waits_for_message(s, r),
				   .posts = !are_starts_awaited(r, c), .wild = !s->src->again && has_wildcards(r, c) };
	return 0;
}

/* Recvs at time 0 are posted at once, if this has no other effect than that they are there when the first message comes. */
static int begin_rank(struct sim *s, uint32_t rank)
{
	struct sim_rank r;
	int64_t host;
	int err = s->src->make(s->src->arg, rank, &r);

	err = err ? err : find_begin(s, &r);
	if (err || s->begin.waits)
		return err;
	host = sim_host_of(s, rank);
	err = host < 0 ? (int)host : sim_fill_host(s, (uint32_t)host, &r);
	for (enum sim_kind kind = SIM_SEND; kind <= SIM_CALC && !err; kind++)
		err = kind == SIM_RECV && s->begin.posts ? post_recvs(s, (uint32_t)host, r.nops) :
							   begin_ops(s, (uint32_t)host, kind, r.nops);
	return err;
}

/* ---- events ---- */

/* When the first op of a queue runs, if nothing happens to its cpu and nic before. */
struct due {
	uint64_t time, serial;
};

static inline struct due due_of(const struct sim *s, uint32_t host, enum sim_kind kind, const struct queue *queue)
{
	const struct op *op = sim_op_at(s, queue->first);

	return (struct due){ sim_later(op->time, free_for(s, host, kind, sim_class_of(s, op))), op->serial };
}

static inline bool is_due_before(const struct due *a, const struct due *b)
{
	return a->time < b->time || (a->time == b->time && a->serial < b->serial);
}

/* Queues the first one of the parked queues of a lane. It leads the others. */
static int queue_leader(struct sim *s, uint32_t host, uint32_t lane)
{
	struct queue *queue = sim_lane(s, host, lane)->queue;
	enum sim_kind leader = SIM_KINDS + 1;
	struct due first = { 0 };

	for (enum sim_kind kind = SIM_SEND; kind <= SIM_MESSAGE; kind++) {
		struct due due;

		if (!queue[kind].parked)
			continue;
		due = due_of(s, host, kind, &queue[kind]);
		if (leader > SIM_KINDS || is_due_before(&due, &first)) {
			leader = kind;
			first = due;
		}
	}
	if (leader > SIM_KINDS)
		return 0;
	queue[leader].parked = 0;
	queue[leader].leads = 1;
	return wheel_push(&s->wheel, first.time, first.serial, what_of(s, host, lane, leader));
}

/* Queues a queue of a lane that has another leader, or none, or parks it. */
static int queue_follower(struct sim *s, uint32_t host, uint32_t lane, enum sim_kind kind)
{
	struct queue *queue = sim_lane(s, host, lane)->queue;
	const struct due due = due_of(s, host, kind, &queue[kind]);
	enum sim_kind leader = SIM_SEND;

	while (leader <= SIM_MESSAGE && !queue[leader].leads)
		leader++;
	if (leader > SIM_MESSAGE) {
		queue[kind].leads = 1;
	} else {
		const struct due its = due_of(s, host, leader, &queue[leader]);

		queue[kind].parked = is_due_before(&its, &due);
	}
	return queue[kind].parked ? 0 : wheel_push(&s->wheel, due.time, due.serial, what_of(s, host, lane, kind));
}

/* Runs the first op of a queue, unless its cpu or nic is busy, and queues those that wait. */
static int run_queue(struct sim *s, const struct event *e)
{
	const uint32_t what = event_what(e), at = what >> 2;
	const uint32_t host = s->lanes == 1 ? at : at / s->lanes, lane = s->lanes == 1 ? 0 : at % s->lanes;
	const enum sim_kind kind = what & 3;
	struct queue *queue = &sim_lane(s, host, lane)->queue[kind];
	const uint32_t first = queue->first, next = sim_op_at(s, first)->next;
	const bool led = queue->leads, runs = busy_until(s, host, kind, first) <= event_time(e), waits = !runs || next;
	int err = 0;

	queue->leads = 0;
	queue->parked = led && waits;
	if (runs) {
		queue->first = next & (POOL_MOST - 1);
		err = run_op(s, host, kind, first, event_time(e));
	}
	if (!err && led)
		err = queue_leader(s, host, lane);
	else if (!err && waits)
		err = queue_follower(s, host, lane, kind);
	return err;
}

static int run_alone(struct sim *s, const struct event *e)
{
	const uint32_t what = event_what(e), i = what & WHAT_OP, host = sim_op_at(s, i)->next;
	const enum sim_kind kind = what & WHAT_MESSAGE ? SIM_MESSAGE : sim_class_of(s, sim_op_at(s, i))->kind;
	uint64_t busy;

	if (kind == SIM_MESSAGE && sim_op_at(s, i)->serial < SERIAL_LATER)
		return pass_link(s, host, i, event_time(e));
	if (is_shared(s, i, kind) && sim_op_at(s, i)->state != OP_WAITS)
		return 0;
	busy = busy_until(s, host, kind, i);
	if (busy <= event_time(e))
		return run_op(s, host, kind, i, event_time(e));
	return is_shared(s, i, kind) ? wait_for_lane(s, i, busy) : wheel_push(&s->wheel, busy, sim_op_at(s, i)->serial, what);
}

/* Makes the rank for which a message comes, if it has not been made yet. */
static int make_receiver(struct sim *s, const struct event *e)
{
	const uint32_t what = event_what(e);
	uint32_t host = 0;

	if (what & WHAT_ALONE ? !(what & WHAT_MESSAGE) : (what & 3) != SIM_MESSAGE)
		return 0;
	host = what & WHAT_ALONE ? sim_op_at(s, what & WHAT_OP)->next : (what >> 2) / s->lanes;
	s->ready[0].host = s->ready[1].host = host;
	return s->hosts[host].block || s->hosts[host].complete ? 0 : make_late(s, host);
}

/* ---- prefetching: most of the time of a large simulation would be spent on waiting for memory ---- */

/* Without the attribute gcc takes a function that only fetches for one without effect, and leaves out its calls. */
#define FETCH_INLINE static inline __attribute__((always_inline))

/* What is fetched for an event, step by step, and how many events ahead: its host; the first op of its queue; the host at the other
 * end of its message, the op behind it, and where its partner is looked up; the partner, or what the message is queued behind; and
 * what waits for the op that ends. */
enum fetch { FETCH_HOST = 20, FETCH_FIRST = 16, FETCH_OTHER = 12, FETCH_PARTNER = 8, FETCH_NEXT = 4 };
_Static_assert(FETCH_HOST < sizeof((struct sim *)0)->ahead / sizeof(struct ahead), "all events between the first step and the last");

static inline struct ahead *ahead_at(struct sim *s, size_t ahead)
{
	return &s->ahead[(s->wheel.next + ahead) % (sizeof s->ahead / sizeof *s->ahead)];
}

FETCH_INLINE void fetch_host(struct sim *s, size_t ahead)
{
	const struct event *e = wheel_ahead(&s->wheel, ahead);
	const uint32_t what = e ? event_what(e) : WHAT_ALONE;
	struct ahead *a = ahead_at(s, ahead);

	a->none = what & WHAT_ALONE;
	if (a->none)
		return;
	a->kind = what & 3;
	a->host = s->lanes == 1 ? what >> 2 : (what >> 2) / s->lanes;
	__builtin_prefetch(&s->hosts[a->host]);
}

static inline uint32_t first_ahead(const struct sim *s, const struct ahead *a)
{
	return s->hosts[a->host].lane.queue[a->kind].first;
}

/* Returns the number of the host at the other end of a message, or NO_HOST. */
static inline uint32_t other_host(const struct sim *s, const struct op *op)
{
	const uint32_t slot = s->slot[op->peer];

	return slot == SLOT_NONE || slot == SLOT_GONE ? NO_HOST : slot - 1;
}

FETCH_INLINE void fetch_other(const struct sim *s, const struct ahead *a)
{
	const struct op *op = sim_op_at(s, first_ahead(s, a));
	const uint32_t other = a->kind == SIM_SEND || a->kind == SIM_MESSAGE ? other_host(s, op) : NO_HOST;

	__builtin_prefetch(sim_op_at(s, op->next));
	if (other != NO_HOST)
		__builtin_prefetch(&s->hosts[other]);
	if (a->kind == SIM_SEND && other != NO_HOST)
		__builtin_prefetch(&s->lasts[(size_t)other * s->lanes]);
	else if (a->kind == SIM_MESSAGE)
		__builtin_prefetch(match_first(s, &s->hosts[a->host], op));
}

FETCH_INLINE void fetch_partner(const struct sim *s, struct ahead *a)
{
	const struct host *h = &s->hosts[a->host];

	a->op = first_ahead(s, a);
	if (a->kind == SIM_MESSAGE) {
		a->op = match_guess(s, h, sim_op_at(s, a->op)); /* its recv, which ends with it */
		__builtin_prefetch(sim_op_at(s, a->op));
	} else if (a->kind == SIM_SEND) {
		const uint32_t other = other_host(s, sim_op_at(s, a->op));

		if (other != NO_HOST)
			__builtin_prefetch(sim_op_at(s, s->lasts[(size_t)other * s->lanes].at[SIM_MESSAGE]));
	}
}

/* Fetches two successors. The op may be gone, and something else in its place. */
FETCH_INLINE void fetch_next(const struct sim *s, const struct ahead *a)
{
	const struct host *h = &s->hosts[a->host];
	const uint32_t succ = a->op < s->pool.n ? sim_op_at(s, a->op)->succ : 0;

	if (succ && h->lists + succ / (sizeof(struct op) / sizeof(uint32_t)) + 1 < s->pool.n) {
		const uint32_t *words = sim_lists_at(s, h->lists) + succ;

		__builtin_prefetch(sim_op_at(s, h->block + (words[0] & SUCC_OP)));
		if (!(words[0] & SUCC_LAST))
			__builtin_prefetch(sim_op_at(s, h->block + (words[1] & SUCC_OP)));
	}
}

FETCH_INLINE void fetch_step(struct sim *s, enum fetch step, size_t ahead)
{
	struct ahead *a = ahead_at(s, ahead);

	if (step == FETCH_HOST)
		fetch_host(s, ahead);
	else if (a->none)
		return;
	else if (step == FETCH_FIRST)
		__builtin_prefetch(sim_op_at(s, first_ahead(s, a)));
	else if (step == FETCH_OTHER)
		fetch_other(s, a);
	else if (step == FETCH_PARTNER)
		fetch_partner(s, a);
	else
		fetch_next(s, a);
}

/* Fetches what the next events need. When a window has opened, nothing has been fetched for its first events. */
FETCH_INLINE void fetch_ahead(struct sim *s)
{
	static const enum fetch steps[] = { FETCH_HOST, FETCH_FIRST, FETCH_OTHER, FETCH_PARTNER, FETCH_NEXT };

	for (size_t n = 0; s->wheel.next == 1 && n < sizeof steps / sizeof *steps; n++)
		for (size_t i = 0; i < steps[n]; i++)
			fetch_step(s, steps[n], i);
	fetch_step(s, FETCH_HOST, FETCH_HOST);
	fetch_step(s, FETCH_FIRST, FETCH_FIRST);
	fetch_step(s, FETCH_OTHER, FETCH_OTHER);
	fetch_step(s, FETCH_PARTNER, FETCH_PARTNER);
	fetch_step(s, FETCH_NEXT, FETCH_NEXT);
}

static int run_events(struct sim *s)
{
	struct event e;
	int err;

	while ((err = wheel_pop(&s->wheel, &e)) > 0) {
		fetch_ahead(s);
		s->ready[0].host = s->ready[1].host = NO_HOST;
		err = s->src->again ? make_receiver(s, &e) : 0;
		if (!err)
			err = event_what(&e) & WHAT_ALONE ? run_alone(s, &e) : run_queue(s, &e);
		err = err ? err : end_event(s);
		if (err)
			return err;
		retire_done(s);
	}
	return err;
}

/* ---- a whole run ---- */

/* Closes the cpus that calcs open. */
static int close_lanes(struct sim *s)
{
	const struct sim_classes *c = s->src->classes;

	s->open = mem_calloc(s->lanes, sizeof *s->open);
	for (size_t i = 0; s->open && i < c->v.n; i++)
		if (c->v.at[i].opens)
			s->open[c->v.at[i].at_cpu] = CLOSED;
	return s->open ? 0 : -ERR_NOMEM;
}

static int begin_run(struct sim *s)
{
	const struct sim_classes *c = s->src->classes;
	/* Each cpu and each nic is in some pair, as the pair of cpu 0 and nic 0 is always there. */
	s->lanes = c->pairs.v.n ? (uint32_t)c->pairs.v.n : 1;
	s->charges_recv = !s->p->compatible && s->lanes > 1;
	s->serial = SERIAL_LATER;
	s->result->finish = mem_calloc(s->src->nranks, sizeof *s->result->finish);
	s->slot = mem_calloc(s->src->nranks, sizeof *s->slot);
	if (s->p->topology.kind)
		s->links = mem_calloc(sim_topology_links(&s->p->topology) + 1, sizeof *s->links);
	if (c->any_shared && close_lanes(s))
		return -ERR_NOMEM;
	return s->result->finish && s->slot && (s->links || !s->p->topology.kind) ? 0 : -ERR_NOMEM;
}

static int end_run(struct sim *s)
{
	for (uint32_t i = 0; i < s->src->nranks; i++) {
		const uint32_t slot = s->slot[i];

		if (slot == SLOT_NONE || slot == SLOT_GONE)
			continue;
		sim_note_finish(s, slot - 1);
	}
	if (s->result->end > WHEEL_MAX_TIME)
		return -ERR_OVERFLOW;
	return blocked_find(s);
}

void sim_result_fini(struct sim_result *r)
{
	free(r->finish);
	VEC_FREE(&r->cycle);
}

int sim_run(const struct sim_source *src, const struct sim_params *p, struct sim_result *r)
{
	struct sim s = { .src = src, .p = p, .result = r };
	int err = begin_run(&s);

	for (uint32_t i = 0; i < src->nranks && !err; i++)
		err = begin_rank(&s, i);
	err = err ? err : run_events(&s);
	err = err ? err : end_run(&s);
	wheel_fini(&s.wheel);
	pool_fini(&s.pool);
	hosts_fini(&s);
	free(s.open);
	VEC_FREE(&s.late);
	free(s.links);
	free(s.slot);
	free(s.fresh.at);
	VEC_FREE(&s.ready[0].ops);
	VEC_FREE(&s.ready[1].ops);
	VEC_FREE(&s.at);
	return err;
}
