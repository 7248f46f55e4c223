/* SPDX-License-Identifier: BSD-3-Clause
 * A second implementation of the rules of LogGOPSim, which goalsim(1) states: one list of events, searched from end to end, and lists
 * of recvs and messages. It shares nothing with backends/sim.
 *
 *   oracle SEED L o g G O S KIND
 *
 * writes a random schedule to standard output, and when each rank finishes to standard error, or "blocked". KIND: 0 one cpu and
 * one nic, no empty messages; 1 anything. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 6, OPS = 40, LANES = 3, EVENTS = 2 * RANKS * OPS };
enum kind { SEND, RECV, CALC, MESSAGE };
#define ANY UINT32_MAX

struct op {
	enum kind kind;
	uint32_t peer, tag, cpu, nic;
	uint64_t size;
	unsigned waits; /* dependencies that are not satisfied */
	bool done;
	uint8_t dep[OPS]; /* for each later op of the rank: 1 it requires this one, 2 it irequires this one */
};

struct rank {
	struct op op[OPS];
	unsigned n;
	uint64_t cpu[LANES], send[LANES], recv[LANES];
	struct { unsigned op, from; bool used; } posted[OPS], unexpected[RANKS * OPS];
	unsigned nposted, nunexpected;
	bool is_free[OPS];
};

struct event {
	uint64_t time, serial;
	unsigned rank, op, from; /* from: the sender of a message, whose op it is */
	enum kind kind;
	bool used;
};

static struct rank ranks[RANKS];
static struct event events[EVENTS];
static unsigned nranks, nevents;
static uint64_t serial, state, L, o, g, G, O, S;

static unsigned number(unsigned below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % below;
}

/* ---- a schedule ---- */

static struct op *add(unsigned r, enum kind kind, bool any)
{
	struct op *op = &ranks[r].op[ranks[r].n++];

	*op = (struct op){ .kind = kind };
	if (any) {
		op->cpu = number(LANES);
		op->nic = kind == CALC ? 0 : number(LANES);
	}
	return op;
}

static void make_schedule(bool any)
{
	const bool wild = any && number(3) == 0;

	nranks = 2 + number(RANKS - 1);
	for (unsigned m = 5 + number(30); m; m--) {
		const unsigned from = number(nranks), to = number(nranks);
		const uint32_t tag = number(3);
		const uint64_t size = any ? number(4) * number(2000) : 1 + number(3000);
		struct op *op;

		if (ranks[from].n > OPS - 3 || ranks[to].n > OPS - 3)
			continue;
		op = add(from, SEND, any);
		op->peer = to;
		op->tag = tag;
		op->size = size;
		if (number(3) == 0)
			add(from, CALC, any)->size = number(5000);
		op = add(to, RECV, any);
		op->peer = wild && number(2) ? ANY : from;
		op->tag = wild && number(2) ? ANY : tag;
		op->size = size;
	}
	for (unsigned r = 0; r < nranks; r++)
		for (unsigned i = 1; i < ranks[r].n; i++)
			for (unsigned k = number(4); k > 1; k--) {
				uint8_t *dep = &ranks[r].op[number(i)].dep[i];

				ranks[r].op[i].waits += !*dep;
				*dep = *dep ? *dep : number(4) ? 1 : 2;
			}
}

static void print_op(unsigned i, const struct op *op)
{
	printf("l%u: ", i);
	if (op->kind == CALC)
		printf("calc %llu", (unsigned long long)op->size);
	else
		printf("%s %llub %s %d tag %d", op->kind == SEND ? "send" : "recv", (unsigned long long)op->size,
		       op->kind == SEND ? "to" : "from", (int)op->peer, (int)op->tag);
	if (op->cpu)
		printf(" cpu %u", op->cpu);
	if (op->nic)
		printf(" nic %u", op->nic);
	putchar('\n');
}

static void print_schedule(void)
{
	printf("num_ranks %u\n", nranks);
	for (unsigned r = 0; r < nranks; r++) {
		printf("rank %u {\n", r);
		for (unsigned i = 0; i < ranks[r].n; i++)
			print_op(i, &ranks[r].op[i]);
		for (unsigned i = 0; i < ranks[r].n; i++)
			for (unsigned k = 0; k < i; k++)
				if (ranks[r].op[k].dep[i])
					printf("l%u %s l%u\n", i, ranks[r].op[k].dep[i] == 1 ? "requires" : "irequires", k);
		printf("}\n");
	}
}

/* ---- the rules ---- */

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void insert(uint64_t time, unsigned r, unsigned i, enum kind kind, unsigned from)
{
	events[nevents++] = (struct event){ .time = time, .serial = serial++, .rank = r, .op = i, .kind = kind, .from = from };
}

static void satisfy(unsigned r, unsigned i, uint8_t what)
{
	for (unsigned k = i + 1; k < ranks[r].n; k++)
		if (ranks[r].op[i].dep[k] == what && !--ranks[r].op[k].waits)
			ranks[r].is_free[k] = true;
}

static void finish(unsigned r, unsigned i)
{
	ranks[r].op[i].done = true;
	satisfy(r, i, 1);
}

static void insert_free(void)
{
	for (unsigned r = 0; r < nranks; r++)
		for (enum kind kind = SEND; kind <= CALC; kind++)
			for (unsigned i = 0; i < ranks[r].n; i++) {
				const struct op *op = &ranks[r].op[i];

				if (!ranks[r].is_free[i] || op->kind != kind)
					continue;
				ranks[r].is_free[i] = false;
				insert(kind == SEND ? later(ranks[r].cpu[op->cpu], ranks[r].send[op->nic]) : ranks[r].cpu[op->cpu],
				       r, i, kind, 0);
			}
}

static bool fits(const struct op *recv, const struct op *send, unsigned from)
{
	return (recv->peer == ANY || recv->peer == from) && (recv->tag == ANY || recv->tag == send->tag);
}

static void meet(unsigned r, unsigned recv, unsigned from, unsigned send, uint64_t t)
{
	struct rank *s = &ranks[from];
	const struct op *op = &s->op[send];

	finish(r, recv);
	if (op->size <= S)
		return;
	s->cpu[op->cpu] = later(s->cpu[op->cpu], t);
	s->send[op->nic] = later(s->send[op->nic], t);
	finish(from, send);
}

static void receive(unsigned r, unsigned i, uint64_t t)
{
	struct rank *h = &ranks[r];

	satisfy(r, i, 2);
	for (unsigned k = 0; k < h->nunexpected; k++)
		if (!h->unexpected[k].used &&
		    fits(&h->op[i], &ranks[h->unexpected[k].from].op[h->unexpected[k].op], h->unexpected[k].from)) {
			h->unexpected[k].used = true;
			meet(r, i, h->unexpected[k].from, h->unexpected[k].op, t);
			return;
		}
	h->posted[h->nposted].op = i;
	h->posted[h->nposted++].used = false;
}

static void arrive(unsigned r, unsigned from, unsigned i, uint64_t t)
{
	const struct op *op = &ranks[from].op[i];
	struct rank *h = &ranks[r];

	h->cpu[op->cpu] = t + o + later((op->size - 1) * O, (op->size - 1) * G);
	h->recv[op->nic] = t + g + (op->size - 1) * G;
	for (unsigned k = 0; k < h->nposted; k++)
		if (!h->posted[k].used && fits(&h->op[h->posted[k].op], op, from)) {
			h->posted[k].used = true;
			meet(r, h->posted[k].op, from, i, t);
			return;
		}
	h->unexpected[h->nunexpected].op = i;
	h->unexpected[h->nunexpected].from = from;
	h->unexpected[h->nunexpected++].used = false;
}

static uint64_t busy_until(const struct event *e)
{
	const struct rank *h = &ranks[e->rank];
	const struct op *op = e->kind == MESSAGE ? &ranks[e->from].op[e->op] : &h->op[e->op];

	switch (e->kind) {
	case SEND:
		return later(h->cpu[op->cpu], h->send[op->nic]);
	case CALC:
		return h->cpu[op->cpu];
	case MESSAGE:
		return later(h->cpu[op->cpu], h->recv[op->nic]);
	default:
		return 0;
	}
}

static void run(const struct event *e)
{
	struct rank *h = &ranks[e->rank];
	const struct op *op = &h->op[e->op];
	const uint64_t t = e->time;

	if (e->kind == MESSAGE) {
		arrive(e->rank, e->from, e->op, t);
	} else if (e->kind == RECV) {
		receive(e->rank, e->op, t);
	} else if (e->kind == CALC) {
		h->cpu[op->cpu] = t + op->size;
		satisfy(e->rank, e->op, 2);
		finish(e->rank, e->op);
	} else {
		satisfy(e->rank, e->op, 2);
		h->cpu[op->cpu] = t + o + (op->size - 1) * O;
		h->send[op->nic] = t + g + (op->size - 1) * G;
		insert(t + o + L, op->peer, e->op, MESSAGE, e->rank);
		if (op->size <= S)
			finish(e->rank, e->op);
	}
}

static void simulate(void)
{
	for (unsigned r = 0; r < nranks; r++)
		for (unsigned i = 0; i < ranks[r].n; i++)
			ranks[r].is_free[i] = !ranks[r].op[i].waits;
	for (insert_free();; insert_free()) {
		struct event *first = NULL;

		for (unsigned i = 0; i < nevents; i++)
			if (!events[i].used && (!first || events[i].time < first->time ||
						(events[i].time == first->time && events[i].serial < first->serial)))
				first = &events[i];
		if (!first)
			return;
		if (busy_until(first) > first->time) {
			first->time = busy_until(first);
			continue;
		}
		first->used = true;
		run(first);
	}
}

static void print_result(void)
{
	bool blocked = false;

	for (unsigned r = 0; r < nranks; r++)
		for (unsigned i = 0; i < ranks[r].n; i++)
			blocked |= !ranks[r].op[i].done;
	if (blocked)
		fprintf(stderr, "blocked\n");
	for (unsigned r = 0; r < nranks && !blocked; r++) {
		uint64_t end = 0;

		for (unsigned k = 0; k < LANES; k++)
			end = later(end, ranks[r].cpu[k]);
		fprintf(stderr, "rank %u: %llu\n", r, (unsigned long long)end);
	}
}

int main(int argc, char **argv)
{
	uint64_t *const values[] = { &state, &L, &o, &g, &G, &O, &S };

	if (argc != 9)
		return 2;
	for (int i = 0; i < 7; i++)
		*values[i] = strtoull(argv[i + 1], NULL, 10);
	number(2);
	make_schedule(argv[8][0] != '0');
	print_schedule();
	simulate();
	print_result();
	return 0;
}
