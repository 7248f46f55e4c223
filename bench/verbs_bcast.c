/* SPDX-License-Identifier: BSD-3-Clause
 * verbs_bcast STARTS: broadcasts of 8 bytes between two ranks, processes on a CPU each, with the backend that the environment
 * names. Prints three medians in us in one line:
 *
 *   1. The time from the root's start until the wait of the other rank returns, which has begun to wait before that. This
 *      corresponds to half of a round trip of ib_send_lat, whose receives are posted before as well.
 *   2. Half of the time of two broadcasts, of which rank 0 and then rank 1 is the root. This includes what a rank does after
 *      its send.
 *   3. The time from a common start until the slower rank is done, as goalrun measures it. */
#include "bench/bench.h"
#include "include/mpix_sched.h"
#include "tests/rt/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define WARM 20u /* starts before those that are measured */
#define PAUSE_NS 100000u /* time for the other rank to begin to wait, and for its word to arrive */
#define SCHEDULE "schedules/bcast_binomial.goal"

enum { ONE_WAY, TURNS, TOGETHER, WAYS };

struct shared {
	size_t starts;
	_Atomic uint64_t arrived; /* number of ranks that have called meet() */
	_Atomic uint64_t waits; /* written by rank 1: the start for which it is about to wait */
	uint64_t *began, *ended; /* by start, in ns. ONE_WAY: when rank 0 began and rank 1 ended; TOGETHER: durations of rank 0 and rank 1 */
	double *us[WAYS];
};

struct me {
	struct member *m;
	struct shared *sh;
	MPIX_Sched_request req[2]; /* request of each root */
	uint64_t *data;
	uint64_t turn, stamp;
};

static void meet(struct me *x)
{
	const uint64_t e = ++x->turn;

	atomic_fetch_add(&x->sh->arrived, 1);
	while (atomic_load(&x->sh->arrived) < 2 * e)
		;
}

static int begin(struct me *x, int root)
{
	struct member *m = x->m;

	x->stamp++;
	*x->data = m->rank == root ? x->stamp : 0;
	CALL(MPIX_Sched_start(x->req[root]));
	return 0;
}

static int end(struct me *x, int root)
{
	struct member *m = x->m;

	CALL(MPIX_Sched_wait(x->req[root]));
	return 0;
}

static int one_way(struct me *x, size_t i)
{
	struct member *m = x->m;
	struct shared *sh = x->sh;
	uint64_t t;

	if (m->rank == 0) {
		while (atomic_load(&sh->waits) <= i)
			;
		t = bench_now();
		while (bench_now() - t < PAUSE_NS)
			;
		sh->began[i] = bench_now();
		return begin(x, 0) || end(x, 0);
	}
	if (begin(x, 0))
		return 1;
	atomic_store(&sh->waits, i + 1);
	if (end(x, 0))
		return 1;
	sh->ended[i] = bench_now();
	NEED(*x->data == x->stamp);
	return 0;
}

static int turns(struct me *x, size_t i)
{
	struct member *m = x->m;
	const uint64_t t = bench_now();

	for (int root = 0; root < 2; root++) {
		if (begin(x, root) || end(x, root))
			return 1;
		NEED(*x->data == x->stamp);
	}
	if (m->rank == 0)
		x->sh->us[TURNS][i] = (double)(bench_now() - t) / 2e3;
	return 0;
}

static int together(struct me *x, size_t i)
{
	struct member *m = x->m;
	uint64_t *took = m->rank ? x->sh->ended : x->sh->began, t;

	meet(x);
	t = bench_now();
	if (begin(x, 0) || end(x, 0))
		return 1;
	took[i] = bench_now() - t;
	NEED(*x->data == x->stamp);
	return 0;
}

static int bind_requests(struct me *x)
{
	struct member *m = x->m;
	MPIX_Sched s;

	CALL(MPIX_Sched_load(m->ctx, SCHEDULE, &s));
	CALL(MPIX_Sched_alloc(m->ctx, sizeof *x->data, (void **)&x->data));
	for (int64_t root = 0; root < 2; root++) {
		struct MPIX_Sched_param p = { "root", &root, 1 };
		struct MPIX_Sched_bind b = { .struct_size = sizeof b,
					     .buffers = (void *[]){ x->data },
					     .nbuffers = 1,
					     .count = sizeof *x->data,
					     .basic = MPIX_SCHED_BYTE,
					     .params = &p,
					     .nparams = 1 };

		CALL(MPIX_Sched_init(s, m->group, &b, &x->req[root]));
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

static int run(struct member *m)
{
	struct me x = { .m = m, .sh = m->arg };
	struct shared *sh = x.sh;
	const size_t n = sh->starts;

	bench_pin((unsigned)m->rank);
	if (bind_requests(&x))
		return 1;
	for (size_t i = 0; i < n; i++)
		if (one_way(&x, i))
			return 1;
	meet(&x);
	for (size_t i = 0; i < n && m->rank == 0; i++)
		sh->us[ONE_WAY][i] = (double)(sh->ended[i] - sh->began[i]) / 1e3;
	for (size_t i = 0; i < n; i++)
		if (turns(&x, i))
			return 1;
	for (size_t i = 0; i < n; i++)
		if (together(&x, i))
			return 1;
	meet(&x);
	for (size_t i = 0; i < n && m->rank == 0; i++)
		sh->us[TOGETHER][i] = (double)(sh->began[i] > sh->ended[i] ? sh->began[i] : sh->ended[i]) / 1e3;
	for (int root = 0; root < 2; root++)
		CALL(MPIX_Sched_free(&x.req[root]));
	CALL(MPIX_Sched_dealloc(m->ctx, x.data));
	return 0;
}

int main(int argc, char **argv)
{
	const size_t n = argc == 2 ? strtoul(argv[1], NULL, 10) + WARM : 0, bytes = n * (2 * sizeof(uint64_t) + WAYS * sizeof(double));
	struct shared *sh = mmap(NULL, sizeof *sh + bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (n <= WARM || sh == MAP_FAILED) {
		fprintf(stderr, "usage: verbs_bcast STARTS\n");
		return 2;
	}
	sh->starts = n;
	sh->began = (uint64_t *)(sh + 1);
	sh->ended = sh->began + n;
	for (int w = 0; w < WAYS; w++)
		sh->us[w] = (double *)(sh->ended + n) + (size_t)w * n;
	if (team_run(2, false, run, sh))
		return 1;
	for (int w = 0; w < WAYS; w++)
		printf("%.2f%c", bench_stats(sh->us[w] + WARM, n - WARM).median, w + 1 < WAYS ? ' ' : '\n');
	return 0;
}
