/* SPDX-License-Identifier: BSD-3-Clause
 * wait: measures the cost of waiting with each value of GOAL_WAIT, alternately in the same two processes. Each
 * process has a context for each value. */
#include "bench/bench.h"
#include "include/mpix_sched.h"
#include "tests/rt/team.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define LONG_NS 10000000 /* duration of a long wait */
#define LONG_WAITS 60
#define BLOCKS 200 /* number of blocks of short operations */
#define SHORT_OPS 2000 /* operations of a block */

static const char *const ways[] = { "spin", "yield", "block", "learn" };
enum { WAYS = sizeof ways / sizeof *ways };

static const char text[] = "schedule swap\nbuffer in a[count]\nbuffer out b[count]\n"
			   "rank r of p { send a to (r + 1) mod p\n recv b from (r - 1) mod p }\n";

struct shared {
	_Atomic uint64_t arrived; /* number of ranks that have called meet() */
	_Atomic uint64_t sent; /* time at which rank 0 has started, in ns */
	double share[WAYS], late[WAYS][LONG_WAITS]; /* long waits: CPU time as a fraction, and lateness */
	double ns[WAYS][BLOCKS]; /* time of a short operation, by block */
};

struct me {
	struct member *m;
	struct shared *sh;
	struct member with[WAYS];
	MPIX_Sched_request req[WAYS];
	double *a[WAYS], *b[WAYS];
	uint64_t turn;
};

static unsigned most(unsigned n)
{
	return bench_options.quick ? n / 6 : n;
}

static void meet(struct me *x)
{
	uint64_t e = ++x->turn;

	atomic_fetch_add(&x->sh->arrived, 1);
	while (atomic_load(&x->sh->arrived) < 2 * e)
		;
}

static int bind_way(struct me *x, int w)
{
	struct member *m = &x->with[w];
	struct MPIX_Sched_bind b = { .struct_size = sizeof b, .nbuffers = 2, .count = 1, .basic = MPIX_SCHED_DOUBLE };
	MPIX_Sched s;

	*m = *x->m;
	setenv("GOAL_WAIT", ways[w], 1);
	CALL(MPIX_Sched_ctx_create(&m->ctx));
	CALL(MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &m->group));
	CALL(MPIX_Sched_alloc(m->ctx, sizeof(double), (void **)&x->a[w]));
	CALL(MPIX_Sched_alloc(m->ctx, sizeof(double), (void **)&x->b[w]));
	b.buffers = (void *[]){ x->a[w], x->b[w] };
	CALL(MPIX_Sched_load_mem(m->ctx, "swap", text, strlen(text), &s));
	CALL(MPIX_Sched_init(s, m->group, &b, &x->req[w]));
	CALL(MPIX_Sched_unload(&s));
	x->m->seq = m->seq; /* number of the last round of team_allgather */
	return 0;
}

static int free_way(struct me *x, int w)
{
	struct member *m = &x->with[w];

	CALL(MPIX_Sched_free(&x->req[w]));
	CALL(MPIX_Sched_dealloc(m->ctx, x->a[w]));
	CALL(MPIX_Sched_dealloc(m->ctx, x->b[w]));
	CALL(MPIX_Sched_group_free(&m->group));
	CALL(MPIX_Sched_ctx_free(&m->ctx));
	return 0;
}

static int swap(struct me *x, int w, double value)
{
	struct member *m = &x->with[w];

	*x->a[w] = value;
	CALL(MPIX_Sched_start(x->req[w]));
	CALL(MPIX_Sched_wait(x->req[w]));
	NEED(*x->b[w] == value);
	return 0;
}

/* Rank 0 starts 10 ms late each time. Measures what the waits cost rank 1. */
static int long_waits(struct me *x, int w)
{
	const struct timespec late = { 0, LONG_NS };
	uint64_t cpu = 0, wall = 0;

	for (unsigned i = 0; i < most(LONG_WAITS); i++) {
		uint64_t c, t;

		meet(x);
		if (x->m->rank == 0) {
			nanosleep(&late, NULL);
			atomic_store(&x->sh->sent, bench_now());
		}
		c = bench_cpu();
		t = bench_now();
		if (swap(x, w, i))
			return 1;
		cpu += bench_cpu() - c;
		wall += bench_now() - t;
		if (x->m->rank == 1)
			x->sh->late[w][i] = (double)(bench_now() - atomic_load(&x->sh->sent)) / 1e3;
	}
	if (x->m->rank == 1)
		x->sh->share[w] = 100 * (double)cpu / (double)wall;
	return 0;
}

static int short_block(struct me *x, int w, unsigned block)
{
	uint64_t t;

	meet(x);
	t = bench_now();
	for (int i = 0; i < SHORT_OPS; i++)
		if (swap(x, w, i))
			return 1;
	meet(x);
	if (x->m->rank == 0)
		x->sh->ns[w][block] = (double)(bench_now() - t) / SHORT_OPS;
	return 0;
}

static int run(struct member *m)
{
	struct me x = { .m = m, .sh = m->arg };

	bench_pin((unsigned)m->rank);
	for (int w = 0; w < WAYS; w++)
		if (bind_way(&x, w))
			return 1;
	for (int w = 0; w < WAYS; w++)
		if (short_block(&x, w, 0)) /* warm-up */
			return 1;
	for (unsigned b = 0; b < most(BLOCKS); b++)
		for (int w = 0; w < WAYS; w++)
			if (short_block(&x, w, b))
				return 1;
	for (int w = 0; w < WAYS; w++)
		if (long_waits(&x, w))
			return 1;
	for (int w = 0; w < WAYS; w++)
		if (free_way(&x, w))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	struct shared *sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double q[BLOCKS];

	bench_begin(argc, argv,
		    "usage: wait [-j] [-q]\n"
		    "  -j  JSON          -q  fewer waits\n",
		    "", NULL);
	if (sh == MAP_FAILED || bench_cores() < 2) {
		fprintf(stderr, "wait: it needs two cores\n");
		return 1;
	}
	bench_method("two ranks, processes on a core each, swap 8 bytes, with a context for each way to wait, in turns; the "
		     "share is of the CPU time of the rank that waits; late is from the other's start to the end of the wait; "
		     "ratio is the median of the ratios of neighbouring blocks to those that spin");
	if (team_run_bare(2, false, run, sh)) {
		fprintf(stderr, "wait: it failed\n");
		return 1;
	}
	bench_table("waits of 10 ms", "GOAL_WAIT,% of a core,late us,low,high,bar");
	for (int w = 0; w < WAYS; w++) {
		struct bench_stats late = bench_stats(sh->late[w], most(LONG_WAITS));

		BENCH_ROW(ways[w], sh->share[w], late.median, late.low, late.high, strcmp(ways[w], "block") ? NAN : 2);
	}
	bench_table("short operations", "GOAL_WAIT,ns,best,ratio,low,high,bar");
	/* from the last to spin: bench_stats() sorts, and the ratios need the order of the blocks of spin */
	for (int w = WAYS - 1; w >= 0; w--) {
		struct bench_stats ns, ratio;

		for (unsigned b = 0; b < most(BLOCKS); b++)
			q[b] = sh->ns[w][b] / sh->ns[0][b];
		ratio = bench_stats(q, most(BLOCKS));
		ns = bench_stats(sh->ns[w], most(BLOCKS));
		BENCH_ROW(ways[w], ns.median, ns.best, ratio.median, ratio.low, ratio.high,
			  strcmp(ways[w], "block") ? NAN : 1.05);
	}
	munmap(sh, sizeof *sh);
	return bench_end();
}
