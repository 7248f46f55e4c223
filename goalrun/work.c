/* SPDX-License-Identifier: BSD-3-Clause
 * Measures how much of the communication time can be overlapped with computation; work.h describes the method. */
#include "goalrun/work.h"

#include "util/clock.h"
#include "util/mem.h"

#include <stdlib.h>
#include <time.h>

#define STEPS 16u /* steps of a unit of work, which takes some tens of nanoseconds */
#define ROUNDS 12u /* most rounds to find the amount of work */
#define TRIES 5u /* measurements in each round */

/* Computes without accessing memory. It has four independent chains, so that the multiplier is always busy. The speed
 * is therefore limited by the core itself, and another hardware thread on that core slows it down measurably. */
static void compute_units(uint64_t units)
{
	uint64_t a = 1, b = 2, c = 3, d = 4;

	for (uint64_t n = units * STEPS; n; n--) {
		a = a * 6364136223846793005u + 1;
		b = b * 6364136223846793005u + 3;
		c = c * 6364136223846793005u + 5;
		d = d * 6364136223846793005u + 7;
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d)); /* keeps the compiler from removing any of it */
	}
}

/* Returns units per nanosecond of CPU time. CPU time excludes the time in which others have the core. */
static double measure_rate(void)
{
	enum { UNITS = 20000 };
	double best = 0;

	for (unsigned i = 0; i < 2 * TRIES; i++) {
		const uint64_t t = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		double one;

		compute_units(UNITS);
		one = UNITS / (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - t);
		best = one > best ? one : best;
	}
	return best;
}

struct bench {
	const struct work_bench *b;
	uint64_t units; /* units of work per rank */
	void *all; /* a span or a number of each rank */
	double *times;
};

/* ---- parts: ranks synchronise before and after each, because one rank's work may keep another from its core ---- */

static int sync_ranks(const struct bench *m)
{
	return m->b->exchange(m->b->arg, "", m->all, 1);
}

static int work_and_test(const struct bench *m)
{
	const uint64_t parts = m->b->tests + 1;
	uint64_t done = 0;
	int err = 0;

	for (uint64_t i = 1; i <= parts && !err; i++) {
		const uint64_t until = i == parts ? m->units : (uint64_t)((double)m->units * (double)i / (double)parts);

		compute_units(until - done);
		done = until;
		err = i < parts ? m->b->test(m->b->arg) : 0;
	}
	return err;
}

/* Runs a communication, and for WORK_BOTH also the work. Ranks that share a core synchronise once more after
 * the start; that time is included. Otherwise each would start only after the previous one had done its work, and no data
 * could move during the work. */
static int run_communication(const struct bench *m, bool both, struct work_span *span)
{
	const struct work_bench *b = m->b;
	int err = b->fill(b->arg);

	err = err ? err : sync_ranks(m);
	if (err)
		return err;
	span->begin = clock_now_ns();
	err = b->start(b->arg);
	span->started = clock_now_ns();
	if (both && !err) {
		err = b->crowded ? sync_ranks(m) : 0;
		err = err ? err : work_and_test(m);
	}
	err = err ? err : b->wait(b->arg);
	span->end = clock_now_ns();
	err = err ? err : sync_ranks(m);
	return err ? err : b->check(b->arg);
}

static int run_computation(const struct bench *m, struct work_span *span)
{
	int err = sync_ranks(m);

	if (err)
		return err;
	span->begin = span->started = clock_now_ns();
	compute_units(m->units);
	span->end = clock_now_ns();
	return sync_ranks(m);
}

static int run_work_part(const struct bench *m, enum work_part which, struct work_span *span)
{
	return which == WORK_COMPUTE ? run_computation(m, span) : run_communication(m, which == WORK_BOTH, span);
}

/* ---- times ---- */

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double work_median(double *v, size_t n)
{
	qsort(v, n, sizeof *v, ascending);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Returns the time in us from the first rank's begin to the last rank's end. The spans of successive ranks are `stride`
 * elements apart. */
static double span_us(const struct work_span *s, size_t stride, uint32_t ranks)
{
	uint64_t begin = s->begin, end = s->end;

	for (uint32_t r = 1; r < ranks; r++) {
		s += stride;
		begin = s->begin < begin ? s->begin : begin;
		end = s->end > end ? s->end : end;
	}
	return (double)(end - begin) / 1e3;
}

/* Measures the time of a part in us: the median of the last half of n times. It is the same on all ranks. */
static int typical_time(const struct bench *m, enum work_part which, size_t n, double *us)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		struct work_span mine;

		err = run_work_part(m, which, &mine);
		err = err ? err : m->b->exchange(m->b->arg, &mine, m->all, sizeof mine);
		m->times[i] = err ? 0 : span_us(m->all, 1, m->b->ranks);
	}
	*us = err ? 0 : work_median(m->times + n / 2, n - n / 2);
	return err;
}

double work_overlap(const struct work_spans *spans, uint32_t ranks, size_t iters, double *scratch,
		    double us[WORK_PARTS])
{
	for (unsigned k = 0; k < WORK_PARTS; k++) {
		for (size_t i = 0; i < iters; i++)
			scratch[i] = span_us(&spans[i].of[k], iters * WORK_PARTS, ranks);
		us[k] = work_median(scratch, iters);
	}
	return (us[WORK_COMM] + us[WORK_COMPUTE] - us[WORK_BOTH]) /
	       (us[WORK_COMM] < us[WORK_COMPUTE] ? us[WORK_COMM] : us[WORK_COMPUTE]);
}

/* ---- amount of work ---- */

/* Sets the work to the amount that a rank does in `us` microseconds with a core of its own. It is the same on all ranks. */
static int set_units(struct bench *m, double us)
{
	const double mine = measure_rate(), *all = m->all;
	double best = 0;
	int err = m->b->exchange(m->b->arg, &mine, m->all, sizeof mine);

	for (uint32_t r = 0; r < m->b->ranks && !err; r++)
		best = all[r] > best ? all[r] : best;
	m->units = (uint64_t)(us * 1e3 * best) + 1;
	return err;
}

/* Sets the work: a rank's share of the given work, or else the amount that takes as long as the communication when all ranks
 * do it. */
static int find_work(struct bench *m)
{
	double comm, us;
	int err = typical_time(m, WORK_COMM, m->b->warmup, &comm);

	if (err || m->b->work_us > 0)
		return err ? err : set_units(m, m->b->work_us / m->b->ranks);
	err = set_units(m, comm);
	for (unsigned i = 0; i < ROUNDS && !err; i++) {
		err = typical_time(m, WORK_COMPUTE, TRIES, &us);
		if (err || (us > 0.98 * comm && us < 1.02 * comm))
			break;
		m->units = (uint64_t)((double)m->units * (comm / us > 0.1 ? comm / us : 0.1)) + 1;
	}
	return err;
}

int work_measure(const struct work_bench *b, struct work_spans *spans)
{
	struct bench m = { .b = b,
			   .all = mem_alloc(b->ranks * sizeof(struct work_span)),
			   .times = mem_alloc((b->warmup > TRIES ? b->warmup : TRIES) * sizeof(double)) };
	int err = m.all && m.times ? find_work(&m) : b->no_memory(b->arg);

	/* The parts alternate, so that all are measured under the same conditions. */
	for (size_t i = 0; i < b->iters && !err; i++)
		for (unsigned k = 0; k < WORK_PARTS && !err; k++)
			err = run_work_part(&m, (enum work_part)k, &spans[i].of[k]);
	free(m.all);
	free(m.times);
	return err;
}
