/* SPDX-License-Identifier: BSD-3-Clause
 * starts DIR STARTS processes|threads [SEED]: STARTS starts each of a reduce, an allreduce and a barrier of all
 * four ranks, and of a subgroup of three, with the schedules of DIR. All six are active at once, in an order that
 * differs on each rank; ranks pause at random, and data and buffers change with every start. In the first half a
 * round ends before the next begins; in the second each request is started again as soon as it is complete. */
#include "tests/rt/team.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 4, GROUPS = 2, REDUCE = 0, ALLREDUCE, BARRIER, KINDS, N = GROUPS * KINDS };

static const char *const files[KINDS] = { "reduce_binomial", "allreduce_recursive_doubling", "barrier_dissemination" };
/* Elements; a short message travels another way than a long one. */
static const size_t counts[GROUPS][KINDS] = { { 3, 400, 1 }, { 500, 5, 1 } };

struct plan {
	const char *dir;
	uint64_t starts;
	unsigned seed;
	/* The epoch that each rank has started of each barrier. Shared by the ranks. */
	_Atomic uint64_t entered[GROUPS][RANKS];
};

struct one {
	MPIX_Sched_request req;
	int kind, group, size, place; /* place: the rank in its group */
	int members[RANKS]; /* their ranks in the whole group */
	size_t count;
	int64_t *in[2], *out[2]; /* in the heap, and not */
	int at; /* those that are bound */
	uint64_t epoch;
};

struct rank {
	struct member *m;
	struct plan *plan;
	unsigned seed;
	struct one ones[N];
};

static unsigned dice(struct rank *r, unsigned n)
{
	return (unsigned)rand_r(&r->seed) % n;
}

/* Mostly nothing, now and then some microseconds, rarely the core is given away for longer, or those that communicate
 * for the rank shall pause. */
static void pause_maybe(struct rank *r)
{
	unsigned d = dice(r, 400);

	if (d == 399)
		MPIX_Sched_progress_pause(r->m->ctx);
	if (d >= 395 && d < 398)
		MPIX_Sched_progress_resume(r->m->ctx);
	if (d == 0)
		usleep(dice(r, 100));
	else if (d < 20)
		sched_yield();
	else if (d < 60)
		for (unsigned turns = dice(r, 2000), i = 0; i < turns; i++)
			atomic_signal_fence(memory_order_seq_cst);
}

static int64_t scrambled(const struct one *o, uint64_t epoch)
{
	uint64_t x = (epoch * N + (uint64_t)(o->group * KINDS + o->kind)) * 0x9e3779b97f4a7c15u;

	return (int64_t)((x ^ x >> 29) * 0xbf58476d1ce4e5b9u >> 16);
}

#define OF_RANK 1000003
#define OF_ELEMENT 17

static int start(struct rank *r, struct one *o)
{
	struct member *m = r->m;
	int64_t x = scrambled(o, ++o->epoch);
	int64_t *in, *out;

	if (o->kind != BARRIER && dice(r, 16) == 0) {
		o->at = !o->at;
		void *buffers[] = { o->in[o->at], o->out[o->at], NULL };

		CALL(MPIX_Sched_rebind(o->req, buffers, 3));
	}
	in = o->in[o->at];
	out = o->out[o->at];
	for (size_t i = 0; i < o->count; i++) {
		in[i] = x + m->rank * OF_RANK + (int64_t)i * OF_ELEMENT;
		out[i] = -1;
	}
	if (o->kind == BARRIER)
		atomic_store(&r->plan->entered[o->group][m->rank], o->epoch);
	CALL(MPIX_Sched_start(o->req));
	pause_maybe(r);
	return 0;
}

/* What a request that is complete has done; then its buffers are ours and get spoilt. */
static int check(struct rank *r, struct one *o)
{
	struct member *m = r->m;
	int64_t x = scrambled(o, o->epoch), ranks = 0;
	int64_t *in = o->in[o->at], *out = o->out[o->at];

	for (int k = 0; k < o->size; k++) {
		ranks += o->members[k];
		if (o->kind == BARRIER)
			NEED(atomic_load(&r->plan->entered[o->group][o->members[k]]) >= o->epoch);
	}
	for (size_t i = 0; i < o->count && o->kind != BARRIER; i++) {
		int64_t sum = o->size * (x + (int64_t)i * OF_ELEMENT) + ranks * OF_RANK;
		bool has = o->kind == ALLREDUCE || o->place == (o->group == 0);

		if (out[i] != (has ? sum : -1) || in[i] != x + m->rank * OF_RANK + (int64_t)i * OF_ELEMENT) {
			fprintf(stderr, "rank %d: %s of group %d, epoch %llu: element %zu is wrong\n", m->rank,
				files[o->kind], o->group, (unsigned long long)o->epoch, i);
			return 1;
		}
		in[i] = out[i] = -2;
	}
	return 0;
}

static int rounds(struct rank *r, uint64_t until)
{
	struct member *m = r->m;
	MPIX_Sched_request reqs[N];
	int order[N], flag = 0, index, count, indices[N];

	for (int i = 0; i < N; i++)
		order[i] = i;
	while (r->ones[0].epoch < until) {
		for (int i = N - 1; i > 0; i--) {
			int k = (int)dice(r, (unsigned)i + 1), t = order[i];

			order[i] = order[k];
			order[k] = t;
		}
		for (int i = 0; i < N; i++) {
			if (start(r, &r->ones[order[i]]))
				return 1;
			reqs[i] = r->ones[order[(i * 5 + 1) % N]].req;
		}
		switch (dice(r, 5)) {
		case 0:
			CALL(MPIX_Sched_waitall(N, reqs));
			break;
		case 1:
			for (int i = 0; i < N; i++) {
				CALL(MPIX_Sched_wait(reqs[i]));
				pause_maybe(r);
			}
			break;
		case 2:
			do
				CALL(MPIX_Sched_waitany(N, reqs, &index));
			while (index != MPIX_SCHED_UNDEFINED);
			break;
		case 3:
			for (flag = 0; !flag; pause_maybe(r)) {
				CALL(MPIX_Sched_testall(N, reqs, &flag, NULL));
				if (!flag)
					sched_yield();
			}
			break;
		default:
			do
				CALL(MPIX_Sched_waitsome(N, reqs, &count, indices, NULL));
			while (count != MPIX_SCHED_UNDEFINED);
		}
		for (int i = 0; i < N; i++)
			if (check(r, &r->ones[i]))
				return 1;
	}
	return 0;
}

/* Requests drift apart, and so do ranks. */
static int drift(struct rank *r, uint64_t until)
{
	struct member *m = r->m;
	MPIX_Sched_request reqs[N];
	int count, indices[N];

	for (int i = 0; i < N; i++)
		if (start(r, &r->ones[(i + m->rank) % N]))
			return 1;
	for (;;) {
		unsigned first = dice(r, N);

		for (unsigned i = 0; i < N; i++)
			reqs[i] = r->ones[(first + i) % N].req;
		CALL(MPIX_Sched_waitsome(N, reqs, &count, indices, NULL));
		if (count == MPIX_SCHED_UNDEFINED)
			return 0;
		for (int k = 0; k < count; k++) {
			struct one *o = &r->ones[(first + (unsigned)indices[k]) % N];

			if (check(r, o) || (o->epoch < until && start(r, o)))
				return 1;
		}
	}
}

static int bind_one(struct rank *r, struct one *o, MPIX_Sched_group g)
{
	struct member *m = r->m;
	struct MPIX_Sched_param root = { "root", &(int64_t){ o->group == 0 }, 1 };
	struct MPIX_Sched_bind b = { .struct_size = sizeof b,
				     .nbuffers = o->kind == BARRIER ? 0 : 3,
				     .count = o->count,
				     .basic = MPIX_SCHED_INT64,
				     .builtin = MPIX_SCHED_SUM,
				     .params = &root,
				     .nparams = o->kind == REDUCE };
	size_t bytes = o->count * sizeof(int64_t);
	char path[512];
	MPIX_Sched s;

	CALL(MPIX_Sched_alloc(m->ctx, bytes, (void **)&o->in[0]));
	CALL(MPIX_Sched_alloc(m->ctx, bytes, (void **)&o->out[0]));
	o->in[1] = malloc(bytes);
	o->out[1] = malloc(bytes);
	NEED(o->in[1] && o->out[1]);
	o->at = o->group;
	void *buffers[] = { o->in[o->at], o->out[o->at], NULL };

	b.buffers = buffers;
	snprintf(path, sizeof path, "%s/%s.goal", r->plan->dir, files[o->kind]);
	CALL(MPIX_Sched_load(m->ctx, path, &s));
	CALL(MPIX_Sched_init(s, g, &b, &o->req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

static int run(struct member *m)
{
	struct rank r = { .m = m, .plan = m->arg };
	MPIX_Sched_group sub;

	r.seed = r.plan->seed * 31 + (unsigned)m->rank;
	/* Ranks 3, 2, 0, in this order; rank 1 is alone. */
	CALL(MPIX_Sched_group_split(m->group, m->rank == 1, -m->rank, &sub));
	for (int i = 0; i < N; i++) {
		struct one *o = &r.ones[i];
		MPIX_Sched_group g = i / KINDS ? sub : m->group;

		*o = (struct one){ .group = i / KINDS, .kind = i % KINDS, .count = counts[i / KINDS][i % KINDS] };
		CALL(MPIX_Sched_group_rank(g, &o->place, &o->size));
		for (int k = 0; k < o->size; k++)
			o->members[k] = o->group == 0 ? k : o->size == 1 ? 1 : (int[]){ 3, 2, 0 }[k];
		NEED(o->members[o->place] == m->rank);
		/* A reduce has its result at rank 1 of all, at rank 0 of the subgroup. */
		if (bind_one(&r, o, g))
			return 1;
	}
	CALL(MPIX_Sched_group_free(&sub));
	if (rounds(&r, r.plan->starts / 2) || drift(&r, r.plan->starts))
		return 1;
	for (int i = 0; i < N; i++) {
		struct one *o = &r.ones[i];

		NEED(o->epoch == r.plan->starts);
		CALL(MPIX_Sched_free(&o->req));
		CALL(MPIX_Sched_dealloc(m->ctx, o->in[0]));
		CALL(MPIX_Sched_dealloc(m->ctx, o->out[0]));
		free(o->in[1]);
		free(o->out[1]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct plan *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int bad;

	if (argc < 4 || p == MAP_FAILED)
		return 2;
	p->dir = argv[1];
	p->starts = strtoull(argv[2], NULL, 10);
	p->seed = argc > 4 ? (unsigned)atoi(argv[4]) : 1;
	team_seconds = 3600; /* who starts this has a limit */
	bad = team_run(RANKS, !strcmp(argv[3], "threads"), run, p);
	printf("%s starts.%s %llu starts of each of 6 requests\n", bad ? "FAIL" : "ok", argv[3],
	       (unsigned long long)p->starts);
	return bad != 0;
}
