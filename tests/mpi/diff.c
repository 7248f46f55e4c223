/* SPDX-License-Identifier: BSD-3-Clause
 * A differential test of persistent collectives: diff SEED CASES [FILTER] [OPTION...]
 * A case is a persistent request of one of the 22 collectives, with random arguments. It is started several times, each time with
 * other data. Its results must be those of the blocking collective. A round has up to six requests at a time.
 *   FILTER            only collectives whose names contain it
 *   --blocking        a start makes the blocking call, and a message to itself stands for it in arrays: to test this program
 *   --lenient         nothing is freed early, statuses are not looked at, arrays stay as they are: for other implementations
 *   --round N         only round N, to repeat a failure
 *   --level N         0 to 3, MPI_THREAD_SINGLE to MPI_THREAD_MULTIPLE
 *   --threads N       so many threads, each with cases of its own
 *   --bound N         seconds for an event of a round, before the program says where it hangs */
#include "diff.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_THREADS = 8, ROUNDS_OF_A_POOL = 12 };
static struct run runs[MOST_THREADS];

/* ---- what went wrong ---- */

static int whereabouts(char *to, size_t room, const struct run *u, const struct request *q)
{
	int n = snprintf(to, room, "diff: seed %llu, rank %d of %d, thread %d, round %ld", (unsigned long long)u->opt->seed, u->rank,
		u->size, u->thread, u->round);

	if (q)
		n += snprintf(to + n, room - (size_t)n, ", request %d, MPI_%s_init, rank %d of %d (%s), start %d", (int)(q - u->r),
			coll_name[q->plan.coll], q->plan.on->rank, q->plan.on->size, q->plan.on->what, q->start);
	return n;
}

static void details(const struct request *q)
{
	const struct plan *p = &q->plan;
	int i;

	fprintf(stderr, "diff: root %d%s, multiple %d, most %d%s", p->root, p->place ? ", in place" : "", p->multiple, p->most,
		p->none ? ", all counts 0" : "");
	if (reduces(p->coll))
		fprintf(stderr, ", op %s", p->op >= 0 ? predefined_op_name(p->op) : user_ops[p->user].name);
	for (i = 0; i < p->units; i++)
		fprintf(stderr, " %s", basics[p->unit[i]].name);
	fprintf(stderr, "; blocks");
	for (i = 0; i < p->on->size && i < 16; i++)
		fprintf(stderr, " %d", plan_units(p, i, 0));
	fprintf(stderr, "\n");
}

void broken(struct run *u, const struct request *q, const char *format, ...)
{
	char text[1000];
	int n = whereabouts(text, sizeof(text), u, q);
	va_list args;

	va_start(args, format);
	n += snprintf(text + n, sizeof(text) - (size_t)n, ": ");
	vsnprintf(text + n, sizeof(text) - (size_t)n, format, args);
	va_end(args);
	fprintf(stderr, "%s (%s)\n", text, u->where);
	if (q)
		details(q);
	fflush(stderr);
	MPI_Abort(MPI_COMM_WORLD, 1);
	_exit(1);
}

void must(struct run *u, int rc, const char *call)
{
	char text[MPI_MAX_ERROR_STRING];
	int n;

	if (rc == MPI_SUCCESS)
		return;
	MPI_Error_string(rc, text, &n);
	broken(u, NULL, "%.60s: %s", call, text);
}

void here(struct run *u, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(u->where, sizeof(u->where), format, args);
	va_end(args);
}

/* Tells for all threads what they are at. It runs while the program hangs, and so takes what it finds. */
static void hangs(int sig)
{
	char text[3000];
	int t, i, n;

	(void)sig;
	for (t = 0; t < MOST_THREADS && runs[t].opt; t++) {
		struct run *u = &runs[t];

		n = whereabouts(text, 400, u, NULL);
		n += snprintf(text + n, 300, ": hangs, %s; requests", u->where);
		for (i = 0; i < u->n; i++)
			n += snprintf(text + n, 200, " [%d: %s, %s%s, start %d]", i, coll_name[u->r[i].plan.coll],
				u->r[i].present ? u->r[i].plan.on->what : "not in it",
				u->r[i].active ? ", active" : u->r[i].complete ? ", complete" : "", u->r[i].start);
		text[n++] = '\n';
		if (write(2, text, (size_t)n) < 0)
			break;
	}
	sleep(2); /* for other ranks to tell it, too */
	_exit(3);
}

/* ---- requests of a round ---- */

static enum coll choose(struct run *u, struct rng *g)
{
	enum coll c;

	do {
		c = (enum coll)below(g, C_COUNT);
	} while (u->opt->filter && !strstr(coll_name[c], u->opt->filter));
	return c;
}

/* A communicator for it. The pool has one with neighbours. */
static struct pooled *choose_comm(struct run *u, struct rng *g, enum coll c)
{
	int i = below(g, u->pools);

	while (is_near(c) && !u->pool[i].near)
		i = (i + 1) % u->pools;
	return &u->pool[i];
}

static MPI_Info info_for(struct run *u, bool strict, int kind)
{
	static const char key[] = "mpi_assert_strict_persistent_collective_ordering";
	MPI_Info info = MPI_INFO_NULL;

	if (!strict && kind != 0)
		return info;
	MUST(u, MPI_Info_create(&info));
	if (strict && sizeof(key) <= MPI_MAX_INFO_KEY) /* Open MPI 4.1 has keys of up to 35 bytes */
		MUST(u, MPI_Info_set(info, key, "true"));
	else
		MUST(u, MPI_Info_set(info, "no_such_key", "no such value"));
	return info;
}

static void call(struct run *u, struct request *q, bool strict)
{
	char text[MPI_MAX_ERROR_STRING];
	int rc, n;

	q->args.info = info_for(u, strict, below(&u->own, 4));
	rc = call_init(q->plan.coll, &q->args, one_in(&u->own, 4), &q->handle);
	if (rc != MPI_SUCCESS) {
		MPI_Error_string(rc, text, &n);
		broken(u, q, "init fails: %s", text);
	}
	if (q->args.info != MPI_INFO_NULL)
		MUST(u, MPI_Info_free(&q->args.info));
}

/* Makes request i. `freed`: when a communicator of its own is freed: 0: at once, 1: after the first start, 2: at the end, or 3: it
 * has none of its own. times: how often it is made; all but the last are freed at once, and their datatypes are others */
static void request_init(struct run *u, int i, int freed, bool strict, int times)
{
	struct request *q = &u->r[i];

	here(u, "makes request %d, %s on %s", i, coll_name[q->plan.coll], q->plan.on->what);
	while (--times && !u->opt->blocking) {
		sides_draw(&u->own, &q->plan, &q->sides);
		sides_args(&u->own, &q->sides, false, &q->args);
		q->args.comm = q->plan.on->comm;
		call(u, q, strict);
		MUST(u, MPI_Request_free(&q->handle));
		sides_forget(&q->args);
		sides_free(&q->sides);
	}
	sides_draw(&u->own, &q->plan, &q->sides);
	sides_args(&u->own, &q->sides, false, &q->args);
	sides_args(&u->own, &q->sides, true, &q->twin);
	q->has_args = true;
	q->twin.comm = q->plan.on->twin;
	q->comm = q->plan.on->comm;
	q->owns_comm = freed < 3;
	if (q->owns_comm)
		MUST(u, MPI_Comm_dup(q->plan.on->comm, &q->comm));
	q->args.comm = q->comm;
	if (u->opt->blocking) {
		MUST(u, MPI_Recv_init(NULL, 0, MPI_INT, 0, i, u->self, &q->handle));
		return;
	}
	call(u, q, strict);
	if (!u->opt->lenient && !one_in(&u->own, 4)) {
		sides_forget(&q->args);
		q->has_args = false;
	}
	if (freed == 0 && !u->opt->lenient) {
		MUST(u, MPI_Comm_free(&q->comm));
		q->owns_comm = false;
	}
}

static void request_free(struct run *u, struct request *q)
{
	MUST(u, MPI_Request_free(&q->handle));
	if (q->handle != MPI_REQUEST_NULL)
		broken(u, q, "MPI_Request_free leaves the handle as it was");
	q->freed = true;
}

static void requests_free(struct run *u)
{
	int order[MOST_REQUESTS], i;
	bool first = one_in(&u->own, 2);

	here(u, "frees the requests");
	for (i = 0; i < u->n; i++)
		order[i] = i;
	shuffle(&u->own, order, u->n);
	for (i = 0; i < u->n; i++)
		if (first && u->r[order[i]].present)
			request_free(u, &u->r[order[i]]);
	for (i = 0; i < u->n; i++) {
		struct request *q = &u->r[i];

		if (!q->present)
			continue;
		if (q->owns_comm)
			MUST(u, MPI_Comm_free(&q->comm));
		if (!first)
			request_free(u, q);
		if (q->has_args)
			sides_forget(&q->args);
		sides_forget(&q->twin);
		sides_free(&q->sides);
	}
	u->n = 0;
}

/* ---- starts ---- */

#ifdef OMPI_MAJOR_VERSION
/* True if a message has complex numbers of long doubles, and is so long that it may be divided. A message may have the blocks of all
 * ranks. */
static bool may_overflow(const struct plan *p)
{
	long bytes = 0;
	bool wide = false;
	int i;

	for (i = 0; i < p->units; i++) {
		const struct basic *b = &basics[p->unit[i]];

		bytes += b->second ? b->second + b->second_size : b->size;
		wide |= b->second + b->second_size > 16;
	}
	return wide && bytes * p->multiple * p->most * p->on->size > 1000;
}
#endif

/* Blocking calls that a library cannot make are left out, and only what the test computes itself is compared:
 * - Of two edges between the same ranks, libraries mix up the blocks.
 * - Open MPI 4.1.4 multiplies the displacements of MPI_Alltoallw on one rank by the extent, and so writes anywhere. It overflows a
 *   buffer if it divides a message within a number of more than 16 bytes.
 * - MPICH 4.0.2 truncates long messages of types that ranks write differently, messages of structs, and those in place in
 *   MPI_Alltoall and its variants. Its MPI_Allgatherv on one rank ignores the displacement. Its MPI_Reduce in place crashes if it
 *   scatters and gathers. Its MPI_Reduce_scatter and MPI_Reduce_scatter_block with an operation that does not commute are
 *   wrong, and access memory beyond their buffers. Its MPI_Neighbor_alltoallw mixes up blocks, and hangs. */
static bool lame(const struct plan *p)
{
	if (p->coll >= C_NEIGHBOR_ALLTOALL && p->on->twice)
		return true;
#ifdef OMPI_MAJOR_VERSION
	return (p->coll == C_ALLTOALLW && p->on->size == 1) || may_overflow(p);
#else
	const bool structs = p->units > 1 || basics[p->unit[0]].second;

	return (!reduces(p->coll) && (structs || p->most * p->multiple >= 1000)) ||
		(p->place && p->coll >= C_ALLTOALL && p->coll <= C_ALLTOALLW) || p->coll == C_NEIGHBOR_ALLTOALLW ||
		(p->coll == C_ALLGATHERV && p->on->size == 1) ||
		(p->coll == C_REDUCE && p->place && plan_units(p, 0, 0) > 64) ||
		((p->coll == C_REDUCE_SCATTER_BLOCK || p->coll == C_REDUCE_SCATTER) && p->user >= 0 && !user_ops[p->user].commutes);
#endif
}

static void blocking(struct run *u, struct request *q, const struct args *a)
{
	char text[MPI_MAX_ERROR_STRING];
	int rc, n;

	if (lame(&q->plan)) {
		sides_set(&q->sides, a == &q->twin);
		return;
	}
	here(u, "makes the blocking call of request %d", (int)(q - u->r));
	rc = call_blocking(q->plan.coll, a);
	if (rc == MPI_SUCCESS)
		return;
	MPI_Error_string(rc, text, &n);
	broken(u, q, "the blocking call fails: %s", text);
}

static long stamp(const struct run *u, const struct request *q)
{
	return u->round * 1000 + q->start;
}

/* No rank leaves a barrier before all have entered it. */
static void check_barrier(struct run *u, struct request *q)
{
	int r, w;

	for (r = 0; u->begun && r < q->plan.on->size; r++) {
		w = q->plan.on->world[r];
		if (u->begun[w * MOST_REQUESTS + (q - u->r)] < stamp(u, q))
			broken(u, q, "the barrier is complete, but rank %d has not started it", r);
	}
}

static void compare(struct run *u, struct request *q)
{
	char why[300] = "";
	bool ours, theirs;

	if (!q->complete)
		broken(u, q, "it is not complete");
	q->complete = false;
	sides_compare(&q->sides, &ours, &theirs, why, sizeof(why));
	if (!ours && !u->opt->blocking)
		broken(u, q, "%s; the blocking collective is %s", why, theirs ? "right" : "wrong, too");
	if (!theirs && u->wrong++ < 20 && u->opt->verbose) {
		char text[400];

		whereabouts(text, sizeof(text), u, q);
		fprintf(stderr, "%s: note: the blocking collective is wrong: %s\n", text, why);
		details(q);
	}
	if (q->plan.coll == C_BARRIER && !u->opt->blocking)
		check_barrier(u, q);
}

static void begin(struct run *u, struct request *q)
{
	here(u, "starts request %d", (int)(q - u->r));
	if (u->begun)
		u->begun[u->rank * MOST_REQUESTS + (q - u->r)] = stamp(u, q);
	if (u->opt->blocking)
		blocking(u, q, &q->args);
	q->active = true;
}

/* The messages of an event are the number `want`. */
static void native_fill(struct run *u, int want)
{
	struct native *t = u->nat;
	int i;

	for (i = 0; i < 4; i++) {
		t[0].buf[i] = t[2].buf[i] = -1;
		t[1].buf[i] = t[3].buf[i] = want;
	}
	t[0].want = t[2].want = want;
}

/* Messages in a ring, and a barrier: bits 0 and 2 of `kinds`. Bit 1 is for persistent messages. */
static void native_start(struct run *u, int kinds)
{
	int next = (u->rank + 1) % u->size, before = (u->rank + u->size - 1) % u->size;
	struct native *t = u->nat;

	if (kinds & 1) {
		MUST(u, MPI_Irecv(t[0].buf, 4, MPI_INT, before, 7, u->side, &t[0].handle));
		MUST(u, MPI_Isend(t[1].buf, 4, MPI_INT, next, 7, u->side, &t[1].handle));
		t[0].source = before;
		t[0].active = t[1].active = true;
	}
	if (kinds & 4) {
		MUST(u, MPI_Ibarrier(u->side, &t[4].handle));
		t[4].active = true;
	}
}

static void native_init(struct run *u)
{
	int next = (u->rank + 1) % u->size, before = (u->rank + u->size - 1) % u->size;
	struct native *t = u->nat;

	MUST(u, MPI_Comm_dup(u->base, &u->side));
	MUST(u, MPI_Comm_dup(MPI_COMM_SELF, &u->self));
	t[0].receives = t[2].receives = true;
	t[2].persistent = t[3].persistent = true;
	t[0].tag = 7;
	t[2].tag = 8;
	t[2].source = next;
	MUST(u, MPI_Recv_init(t[2].buf, 4, MPI_INT, next, 8, u->side, &t[2].handle));
	MUST(u, MPI_Send_init(t[3].buf, 4, MPI_INT, before, 8, u->side, &t[3].handle));
}

/* Starts what is in `list`: requests, then -1 for the persistent ones of the library, by calls of both forms. */
static void start_list(struct run *u, const int *list, int n)
{
	MPI_Request some[MOST_REQUESTS + 2];
	int i, k, m;

	for (i = 0; i < n; i += k) {
		k = u->opt->blocking ? 1 : 1 + below(&u->own, n - i);
		for (m = 0; m < k; m++)
			if (list[i + m] >= 0)
				begin(u, &u->r[list[i + m]]);
		if (k == 1 && list[i] >= 0 && one_in(&u->own, 2)) {
			MUST(u, MPI_Start(&u->r[list[i]].handle));
		} else {
			int count = 0;

			for (m = 0; m < k; m++) {
				if (list[i + m] >= 0) {
					some[count++] = u->r[list[i + m]].handle;
					continue;
				}
				some[count++] = u->nat[2].handle;
				some[count++] = u->nat[3].handle;
				u->nat[2].active = u->nat[3].active = true;
			}
			MUST(u, MPI_Startall(count, some));
		}
		if (u->opt->blocking && list[i] >= 0)
			MUST(u, MPI_Send(NULL, 0, MPI_INT, 0, list[i], u->self));
		for (m = 0; m < k; m++)
			if (list[i + m] >= 0 && one_in(&u->own, 4))
				poke(u, &u->r[list[i + m]]);
	}
}

/* Starts the requests of `which`, in an order of this rank's own unless `strict`. */
static void start(struct run *u, const bool *which, bool strict, int kinds, int want)
{
	int list[MOST_REQUESTS + 1], n = 0, i;
	bool early = one_in(&u->own, 2);

	if (one_in(&u->own, 8))
		usleep((unsigned)below(&u->own, 400));
	native_fill(u, want);
	if (early)
		native_start(u, kinds);
	for (i = 0; i < u->n; i++)
		if (which[i] && u->r[i].present)
			list[n++] = i;
	if (kinds & 2)
		list[n++] = -1;
	if (!strict && !u->opt->blocking)
		shuffle(&u->own, list, n);
	start_list(u, list, n);
	if (!early)
		native_start(u, kinds);
}

/* ---- rounds ---- */

/* What all ranks do in a round, whether they are in the communicators or not. */
struct script {
	struct rng g;
	bool active[MOST_REQUESTS], late[MOST_REQUESTS], strict;
	int left[MOST_REQUESTS], freed[MOST_REQUESTS], n, events;
};

static void round_begin(struct run *u, struct script *s)
{
	uint64_t seed = mix(mix(u->opt->seed, (uint64_t)u->thread), (uint64_t)u->round);
	int i, n, last = 0;

	*s = (struct script){ .g = { seed } };
	u->own.state = mix(seed, (uint64_t)(u->rank + 1) << 32);
	s->strict = one_in(&s->g, 5);
	n = one_in(&s->g, 3) ? 1 : 1 + below(&s->g, MOST_REQUESTS);
	for (i = 0; i < n; i++) {
		const bool again = i && one_in(&s->g, 4); /* the same as the last request */
		struct rng g = { mix(seed, (uint64_t)(1000 + (again ? last : i))) };
		enum coll c = again ? u->r[last].plan.coll : choose(u, &s->g);
		const struct pooled *on = again ? u->r[last].plan.on : choose_comm(u, &s->g, c);
		const int times = one_in(&s->g, 3) ? 1 + below(&s->g, 8) : 1;
		struct request *q = &u->r[i];

		*q = (struct request){ .handle = MPI_REQUEST_NULL, .present = on->comm != MPI_COMM_NULL };
		s->left[i] = one_in(&s->g, 30) ? 0 : 3 + below(&s->g, 3);
		s->freed[i] = below(&s->g, 8);
		u->n = i + 1;
		q->plan.on = on;
		q->plan.coll = c;
		last = again ? last : i;
		if (!q->present)
			continue;
		plan_draw(&g, c, on, &q->plan);
		request_init(u, i, s->freed[i], s->strict, times);
	}
	s->n = n;
}

/* Which requests an event starts, and which it completes. */
static bool event_draw(struct script *s, bool *starts, bool *ends)
{
	bool any = false, end = false;
	int i;

	for (i = 0; i < s->n; i++) {
		starts[i] = !s->active[i] && s->left[i] > 0 && !one_in(&s->g, 3);
		s->active[i] |= starts[i];
		any |= s->active[i];
	}
	for (i = 0; i < s->n && !any; i++)
		if (s->left[i] > 0)
			any = starts[i] = s->active[i] = true;
	for (i = 0; i < s->n; i++) {
		s->left[i] -= starts[i];
		ends[i] = s->active[i] && !one_in(&s->g, 3);
		end |= ends[i];
		s->late[i] = starts[i] ? one_in(&s->g, 2) : s->late[i];
	}
	for (i = 0; i < s->n; i++) {
		ends[i] |= s->active[i] && !end;
		s->active[i] &= !ends[i];
	}
	return any;
}

static void event(struct run *u, struct script *s, const bool *starts, const bool *ends)
{
	int i, kinds = one_in(&s->g, 2) ? below(&s->g, 8) : 0;
	bool mine[MOST_REQUESTS];

	alarm(u->opt->bound);
	for (i = 0; i < u->n; i++) {
		struct request *q = &u->r[i];

		if (!starts[i] || !q->present)
			continue;
		q->start++;
		sides_fill(&q->sides, q->start);
		if (!s->late[i])
			blocking(u, q, &q->twin);
	}
	start(u, starts, s->strict, kinds, (int)(u->round * 100 + s->events++));
	for (i = 0; i < u->n; i++)
		mine[i] = ends[i] && u->r[i].active;
	wait_for(u, mine);
	for (i = 0; i < u->n; i++) {
		struct request *q = &u->r[i];

		if (!ends[i] || !q->present)
			continue;
		if (s->late[i])
			blocking(u, q, &q->twin);
		compare(u, q);
	}
	for (i = 0; i < u->n; i++) {
		struct request *q = &u->r[i];

		if (s->freed[i] == 1 && q->owns_comm && q->start > 0 && starts[i] && !u->opt->lenient && !u->opt->blocking) {
			MUST(u, MPI_Comm_free(&q->comm));
			q->owns_comm = false;
		}
	}
	if (one_in(&u->own, 3))
		idle(u);
}

static void round_run(struct run *u)
{
	bool starts[MOST_REQUESTS], ends[MOST_REQUESTS];
	struct script s;

	alarm(u->opt->bound);
	round_begin(u, &s);
	if (one_in(&u->own, 3))
		idle(u);
	while (event_draw(&s, starts, ends))
		event(u, &s, starts, ends);
	u->cases += s.n;
	requests_free(u);
	if (ops_wrong())
		broken(u, NULL, "an operation of the user was called with another datatype");
}

static void pool_change(struct run *u, long epoch)
{
	struct rng g = { mix(mix(u->opt->seed, (uint64_t)(u->thread + 100)), (uint64_t)epoch) };
	int i;

	here(u, "makes communicators");
	alarm(u->opt->bound);
	for (i = 0; i < u->pools; i++)
		pooled_free(&u->pool[i]);
	for (i = 0; i < MOST_COMMS; i++)
		pooled_draw(&g, u->base, i == 0, &u->pool[i]);
	u->pools = MOST_COMMS;
}

/* ---- threads ---- */

/* Memory that all ranks share, if they are on one node. */
static void share(struct run *u)
{
	MPI_Comm node;
	MPI_Aint bytes;
	void *at;
	int size, unit;

	MUST(u, MPI_Comm_split_type(u->base, MPI_COMM_TYPE_SHARED, u->rank, MPI_INFO_NULL, &node));
	MPI_Comm_size(node, &size);
	u->win = MPI_WIN_NULL;
	if (size == u->size) {
		bytes = u->rank == 0 ? (MPI_Aint)sizeof(long) * size * MOST_REQUESTS : 0;
		MUST(u, MPI_Win_allocate_shared(bytes, sizeof(long), MPI_INFO_NULL, node, &at, &u->win));
		MUST(u, MPI_Win_shared_query(u->win, 0, &bytes, &unit, &at));
		if (u->rank == 0)
			memset(at, 0, (size_t)bytes);
		MUST(u, MPI_Barrier(node));
		u->begun = at;
	}
	MUST(u, MPI_Comm_free(&node));
}

static void run_begin(struct run *u, const struct options *opt, int thread)
{
	u->opt = opt;
	u->thread = thread;
	u->base = MPI_COMM_WORLD;
	if (opt->threads > 1)
		MUST(u, MPI_Comm_dup(MPI_COMM_WORLD, &u->base));
	MPI_Comm_rank(u->base, &u->rank);
	MPI_Comm_size(u->base, &u->size);
	native_init(u);
	share(u);
}

static void *run_thread(void *arg)
{
	struct run *u = arg;
	long epoch = -1;

	if (u->opt->round >= 0)
		u->round = u->opt->round;
	for (; u->cases < u->opt->cases; u->round++) {
		if (u->opt->threads == 1 && u->round / ROUNDS_OF_A_POOL != epoch) {
			epoch = u->round / ROUNDS_OF_A_POOL;
			pool_change(u, epoch);
		}
		round_run(u);
		if (u->opt->round >= 0)
			break;
	}
	return NULL;
}

static void run_end(struct run *u)
{
	int i;

	for (i = 0; i < u->pools; i++)
		pooled_free(&u->pool[i]);
	for (i = 2; i < 4; i++)
		MUST(u, MPI_Request_free(&u->nat[i].handle));
	if (u->win != MPI_WIN_NULL)
		MUST(u, MPI_Win_free(&u->win));
	MUST(u, MPI_Comm_free(&u->side));
	MUST(u, MPI_Comm_free(&u->self));
	if (u->base != MPI_COMM_WORLD)
		MUST(u, MPI_Comm_free(&u->base));
}

static bool parse(int argc, char **argv, struct options *o)
{
	int i;

	if (argc < 3)
		return false;
	*o = (struct options){ .seed = strtoull(argv[1], NULL, 0), .cases = atol(argv[2]), .round = -1, .threads = 1, .bound = 100 };
	for (i = 3; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "0";

		if (strcmp(argv[i], "--blocking") == 0)
			o->blocking = true;
		else if (strcmp(argv[i], "--lenient") == 0)
			o->lenient = true;
		else if (strcmp(argv[i], "--verbose") == 0)
			o->verbose = true;
		else if (strcmp(argv[i], "--round") == 0)
			o->round = atol(value), i++;
		else if (strcmp(argv[i], "--level") == 0)
			o->level = atoi(value), i++;
		else if (strcmp(argv[i], "--threads") == 0)
			o->threads = atoi(value), i++;
		else if (strcmp(argv[i], "--bound") == 0)
			o->bound = (unsigned)atoi(value), i++;
		else if (argv[i][0] != '-')
			o->filter = argv[i];
		else
			return false;
	}
	return o->threads >= 1 && o->threads <= MOST_THREADS;
}

int main(int argc, char **argv)
{
	static const int levels[] = { MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE };
	pthread_t threads[MOST_THREADS];
	struct options opt;
	long cases = 0, waits = 0, wrong = 0;
	int level, t;

	if (!parse(argc, argv, &opt)) {
		fprintf(stderr, "usage: diff SEED CASES [FILTER] [--blocking] [--lenient] [--round N] [--level N] [--threads N] "
				"[--bound N]\n");
		return 2;
	}
	MPI_Init_thread(&argc, &argv, levels[opt.threads > 1 ? 3 : opt.level & 3], &level);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	basics_begin();
	ops_begin();
	signal(SIGALRM, hangs);
	for (t = 0; t < opt.threads; t++)
		run_begin(&runs[t], &opt, t);
	/* Open MPI 4.1.4 can hang while threads make communicators, so these are made before. */
	for (t = 0; t < opt.threads && opt.threads > 1; t++)
		pool_change(&runs[t], 0);
	for (t = 1; t < opt.threads; t++)
		pthread_create(&threads[t], NULL, run_thread, &runs[t]);
	run_thread(&runs[0]);
	for (t = 1; t < opt.threads; t++)
		pthread_join(threads[t], NULL);
	for (t = 0; t < opt.threads; t++) {
		cases += runs[t].cases;
		waits += runs[t].waits;
		wrong += runs[t].wrong;
		run_end(&runs[t]);
	}
	if (runs[0].rank == 0)
		printf("diff: %ld cases, %ld rounds, %ld waits, on rank 0 %ld wrong results of blocking calls\n", cases,
			runs[0].round, waits, wrong);
	MPI_Finalize();
	return 0;
}
