/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun --overlap: for how much of a collective's time the ranks can compute. The work-based benchmark of Hoefler
 * (ANL 2010): what goes between start and wait is not a time but an amount of work, which takes as long as the
 * communication when all ranks do it where they are. See goalrun(1). */
#include "runtime/run/rank.h"
#include "runtime/run/work.h"

#include <stdlib.h>
#include <string.h>

#define KINDS 2u /* of data, in turns: what one start leaves is wrong for the next */
#define ROUNDS 12u /* at most, to find the work */
#define EXCHANGED sizeof(struct rt_cpus) /* the largest record that ranks exchange here */

struct overlap {
	struct rank *r;
	uint64_t units; /* of work */
	bool crowded; /* ranks share CPUs */
	char *all; /* EXCHANGED bytes for each rank */
	size_t bytes; /* of all buffers */
	/* What they hold before and after a start of a kind, as the oracle made it and found it right. The next ones are
	 * copied and compared, which takes less time than the rest does. NULL: not known yet. */
	char *before[KINDS], *after[KINDS];
};

/* ---- data ---- */

static char *save(const struct overlap *v)
{
	const struct rank *r = v->r;
	char *kept = mem_alloc(v->bytes), *p = kept;

	for (uint32_t i = 0; i < r->info.nbuffers && kept; p += r->bytes[i], i++)
		if (r->buffers[i])
			memcpy(p, r->buffers[i], r->bytes[i]);
	return kept;
}

static void restore(const struct rank *r, const char *kept)
{
	for (uint32_t i = 0; i < r->info.nbuffers; kept += r->bytes[i], i++)
		if (r->buffers[i])
			memcpy(r->buffers[i], kept, r->bytes[i]);
}

static bool same(const struct rank *r, const char *kept)
{
	bool alike = true;

	for (uint32_t i = 0; i < r->info.nbuffers && alike; kept += r->bytes[i], i++)
		alike = !r->buffers[i] || !memcmp(r->buffers[i], kept, r->bytes[i]);
	return alike;
}

/* Whether copies stand for the oracle: there is data, and not every byte is asked for. */
static bool keeps(const struct rank *r)
{
	return !r->o->verify && !r->o->plain && !r->o->barrier && r->o->claim->any;
}

static int fill(struct overlap *v, unsigned kind)
{
	if (v->before[kind]) {
		restore(v->r, v->before[kind]);
		return 0;
	}
	rank_fill(v->r, kind + 1);
	if (keeps(v->r) && !(v->before[kind] = save(v)))
		return rank_failed(v->r, "out of memory");
	return 0;
}

/* Bytes that nobody claims may differ: then the oracle decides. */
static int check(struct overlap *v, unsigned kind)
{
	if (v->after[kind] && same(v->r, v->after[kind]))
		return rank_check_guards(v->r, kind + 1);
	if (rank_check(v->r, kind + 1))
		return 1;
	if (keeps(v->r) && !v->after[kind] && !(v->after[kind] = save(v)))
		return rank_failed(v->r, "out of memory");
	return 0;
}

/* ---- parts ---- */

/* The work, and with tests as many calls of test in it, at equal distances. */
static int work(struct overlap *v, uint64_t tests)
{
	uint64_t done = 0;
	int flag, err = 0;

	for (uint64_t i = 1; i <= tests + 1 && !err; i++) {
		const uint64_t until = (uint64_t)((double)v->units * (double)i / (double)(tests + 1));

		work_do(until - done);
		done = until;
		if (i <= tests)
			err = rank_library(v->r, "MPIX_Sched_test", MPIX_Sched_test(v->r->req, &flag));
	}
	return err;
}

/* A start and its wait, with work in between or without. Ranks that share a core would start one after the other, each
 * when the one before has done its work, and nothing could move in the meantime; so they meet once they have started,
 * which counts. started: when start came back. */
static int communicate(struct overlap *v, bool both, struct run_span *span, uint64_t *started)
{
	struct rank *r = v->r;
	const unsigned kind = (unsigned)(r->starts % KINDS);
	int err = fill(v, kind);

	if (err || rank_meet(r))
		return 1;
	r->starts++;
	if (r->o->barrier)
		atomic_store(&r->l->entered[r->rank].word, r->starts);
	span->begin = rt_now_ns();
	err = rank_library(r, "MPIX_Sched_start", MPIX_Sched_start(r->req));
	*started = rt_now_ns();
	if (both && !err) {
		err = v->crowded ? rank_meet(r) : 0;
		err = err ? err : work(v, (uint64_t)r->o->tests);
	}
	err = err ? err : rank_library(r, "MPIX_Sched_wait", MPIX_Sched_wait(r->req));
	span->end = rt_now_ns();
	return err ? err : check(v, kind);
}

static int compute(struct overlap *v, struct run_span *span)
{
	if (rank_meet(v->r))
		return 1;
	span->begin = rt_now_ns();
	work(v, 0);
	span->end = rt_now_ns();
	return 0;
}

/* ---- how much work ---- */

double run_span_us(const struct run_span *of, size_t stride, uint32_t ranks)
{
	uint64_t begin = UINT64_MAX, end = 0;

	for (uint32_t r = 0; r < ranks; r++) {
		const struct run_span *s = (const struct run_span *)(const void *)((const char *)of + r * stride);

		begin = s->begin < begin ? s->begin : begin;
		end = s->end > end ? s->end : end;
	}
	return (double)(end - begin) / 1e3;
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of n runs of a part, us; the same on all ranks. */
static int typical(struct overlap *v, enum run_part part, size_t n, double *us)
{
	double *times = mem_alloc(n * sizeof *times);
	int err = times ? 0 : rank_failed(v->r, "out of memory");

	for (size_t i = 0; i < n && !err; i++) {
		struct run_span mine;
		uint64_t started;

		err = part == RUN_COMPUTE ? compute(v, &mine) : communicate(v, part == RUN_BOTH, &mine, &started);
		err = err ? err : rank_exchange(v->r, &mine, v->all, sizeof mine);
		times[i] = err ? 0 : run_span_us((struct run_span *)(void *)v->all, sizeof mine, v->r->o->nranks);
	}
	if (!err) {
		qsort(times, n, sizeof *times, ascending);
		*us = times[n / 2];
	}
	free(times);
	return err;
}

/* Work that takes a rank so long, us, where it has a core for itself; the same on all ranks. */
static int units_of(struct overlap *v, double us)
{
	const double mine = work_rate(), *all = (const double *)(const void *)v->all;
	double best = 0;

	if (rank_exchange(v->r, &mine, v->all, sizeof mine))
		return 1;
	for (uint32_t q = 0; q < v->r->o->nranks; q++)
		best = all[q] > best ? all[q] : best;
	v->units = (uint64_t)(us * 1e3 * best) + 1;
	return 0;
}

/* With --work each rank's share of it. Else what takes as long as the communication while all ranks do it: by
 * steps, as it does not take twice as long for twice the work where ranks share a core. */
static int find_work(struct overlap *v)
{
	const struct run_options *o = v->r->o;
	double comm, us;
	int err = typical(v, RUN_COMM, (size_t)o->warmup, &comm);

	if (err || o->work_us)
		return err ? err : units_of(v, (double)o->work_us / o->nranks);
	err = units_of(v, comm);
	for (unsigned i = 0; i < ROUNDS && !err; i++) {
		err = typical(v, RUN_COMPUTE, 5, &us);
		if (err || (us > 0.98 * comm && us < 1.02 * comm))
			break;
		v->units = (uint64_t)((double)v->units * (comm / us > 0.1 ? comm / us : 0.1)) + 1;
	}
	return err;
}

/* ---- a case ---- */

/* Whether any ranks share CPUs; they yield while they wait. */
static int look_around(struct overlap *v)
{
	struct rank *r = v->r;
	struct rt_cpus mine;
	bool crowded;

	rt_cpus_get(&mine);
	if (rank_exchange(r, &mine, v->all, sizeof mine))
		return 1;
	r->spins = rt_cpus_spins(v->all, sizeof mine, r->o->nranks, r->rank);
	crowded = !r->spins;
	if (rank_exchange(r, &crowded, v->all, sizeof crowded))
		return 1;
	for (uint32_t q = 0; q < r->o->nranks; q++)
		v->crowded |= v->all[q];
	return 0;
}

/* The parts take turns, so that all see the same machine. */
static int measure(struct overlap *v)
{
	const struct run_options *o = v->r->o;
	const size_t first = (v->r->index * o->nranks + v->r->rank) * (size_t)o->iters;
	int err = 0;

	for (size_t i = first; i < first + (size_t)o->iters && !err; i++) {
		struct run_span *of = v->r->l->spans[i].of;
		uint64_t started, ignored;

		err = communicate(v, false, &of[RUN_COMM], &started);
		v->r->l->total[i] = (double)(of[RUN_COMM].end - of[RUN_COMM].begin) / 1e3;
		v->r->l->start[i] = (double)(started - of[RUN_COMM].begin) / 1e3;
		err = err ? err : compute(v, &of[RUN_COMPUTE]);
		err = err ? err : communicate(v, true, &of[RUN_BOTH], &ignored);
	}
	return err;
}

int rank_overlap(struct rank *r)
{
	struct overlap v = { .r = r, .all = mem_alloc(r->o->nranks * EXCHANGED) };
	int err = v.all ? 0 : rank_failed(r, "out of memory");

	for (uint32_t i = 0; i < r->info.nbuffers; i++)
		v.bytes += r->bytes[i];
	err = err ? err : look_around(&v);
	err = err ? err : find_work(&v);
	err = err ? err : measure(&v);
	for (unsigned k = 0; k < KINDS; k++) {
		free(v.before[k]);
		free(v.after[k]);
	}
	free(v.all);
	return err;
}
