/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun --overlap: the functions and data that work.c measures with. */
#include "goalrun/rank.h"
#include "runtime/placement/cpus.h"

#include <stdlib.h>
#include <string.h>

#define KINDS 2u /* kinds of data, used in turns, so that the result of one start is wrong for the next */

struct overlap {
	struct rank *r;
	uint64_t starts; /* starts that were checked */
	size_t bytes; /* bytes of all buffers */
	/* Contents of the buffers before and after a start of each kind, as the oracle generated and checked them.
	 * Later starts copy and compare these, which is faster. NULL if not known yet. */
	char *before[KINDS], *after[KINDS];
};

/* ---- data ---- */

static char *save_buffers(const struct overlap *v)
{
	const struct rank *r = v->r;
	char *kept = mem_alloc(v->bytes), *p = kept;

	for (uint32_t i = 0; i < r->info.nbuffers && kept; p += r->bytes[i], i++)
		if (r->buffers[i])
			memcpy(p, r->buffers[i], r->bytes[i]);
	return kept;
}

static void restore_buffers(const struct rank *r, const char *kept)
{
	for (uint32_t i = 0; i < r->info.nbuffers; kept += r->bytes[i], i++)
		if (r->buffers[i])
			memcpy(r->buffers[i], kept, r->bytes[i]);
}

static bool same_buffers(const struct rank *r, const char *kept)
{
	bool alike = true;

	for (uint32_t i = 0; i < r->info.nbuffers && alike; kept += r->bytes[i], i++)
		alike = !r->buffers[i] || !memcmp(r->buffers[i], kept, r->bytes[i]);
	return alike;
}

/* True if copies may replace the oracle: there is data, and --verify is not given. */
static bool keeps_copies(const struct rank *r)
{
	return !r->o->verify && !r->o->plain && !r->o->barrier && r->o->claim->any;
}

static unsigned kind_of(const struct overlap *v)
{
	return (unsigned)(v->starts % KINDS);
}

static int overlap_fill(void *arg)
{
	struct overlap *v = arg;
	const unsigned kind = kind_of(v);

	if (v->before[kind]) {
		restore_buffers(v->r, v->before[kind]);
		return 0;
	}
	rank_fill(v->r, kind + 1);
	if (keeps_copies(v->r) && !(v->before[kind] = save_buffers(v)))
		return rank_failed(v->r, "out of memory");
	return 0;
}

/* Bytes that the schedule does not claim may differ. The oracle decides if the copies differ. */
static int overlap_check(void *arg)
{
	struct overlap *v = arg;
	const unsigned kind = kind_of(v);

	v->starts++;
	if (v->after[kind] && same_buffers(v->r, v->after[kind]))
		return rank_check_guards(v->r, kind + 1);
	if (rank_check(v->r, kind + 1))
		return 1;
	if (keeps_copies(v->r) && !v->after[kind] && !(v->after[kind] = save_buffers(v)))
		return rank_failed(v->r, "out of memory");
	return 0;
}

/* ---- other functions that work.c calls ---- */

static struct rank *rank_of(void *arg)
{
	return ((struct overlap *)arg)->r;
}

static int overlap_exchange(void *arg, const void *in, void *out, size_t size)
{
	return rank_exchange(rank_of(arg), in, out, size);
}

static int overlap_start(void *arg)
{
	struct rank *r = rank_of(arg);

	r->starts++;
	if (r->o->barrier)
		atomic_store(&r->l->entered[r->rank].word, r->starts);
	return rank_library(r, "MPIX_Sched_start", MPIX_Sched_start(r->req));
}

static int overlap_test(void *arg)
{
	struct rank *r = rank_of(arg);
	int flag;

	return rank_library(r, "MPIX_Sched_test", MPIX_Sched_test(r->req, &flag));
}

static int wait_for_it(void *arg)
{
	struct rank *r = rank_of(arg);

	return rank_library(r, "MPIX_Sched_wait", MPIX_Sched_wait(r->req));
}

static int no_memory(void *arg)
{
	return rank_failed(rank_of(arg), "out of memory");
}

/* Finds out whether any ranks share CPUs. Such ranks yield while they wait for each other. */
static int find_crowding(struct rank *r, bool *crowded)
{
	const uint32_t n = r->o->nranks;
	struct rt_cpus mine, *all = mem_alloc(n * sizeof *all);
	int err = all ? 0 : rank_failed(r, "out of memory");

	rt_cpus_get(&mine);
	err = err ? err : rank_exchange(r, &mine, all, sizeof mine);
	for (uint32_t q = 0; q < n && !err; q++)
		*crowded |= !rt_cpus_spins(all, sizeof mine, n, q);
	if (!err)
		r->spins = rt_cpus_spins(all, sizeof mine, n, r->rank);
	free(all);
	return err;
}

static int measure_overlap(struct overlap *v)
{
	struct rank *r = v->r;
	const struct run_options *o = r->o;
	const size_t first = (r->index * o->nranks + r->rank) * (size_t)o->iters;
	struct work_spans *spans = r->l->spans + first;
	struct work_bench b = { .ranks = o->nranks,
				.iters = (size_t)o->iters,
				.warmup = (size_t)o->warmup,
				.tests = (uint64_t)o->tests,
				.work_us = (double)o->work_us,
				.arg = v,
				.exchange = overlap_exchange,
				.fill = overlap_fill,
				.start = overlap_start,
				.test = overlap_test,
				.wait = wait_for_it,
				.check = overlap_check,
				.no_memory = no_memory };
	int err = find_crowding(r, &b.crowded);

	err = err ? err : work_measure(&b, spans);
	for (size_t i = 0; i < b.iters && !err; i++) {
		const struct work_span *s = &spans[i].of[WORK_COMM];

		r->l->total[first + i] = (double)(s->end - s->begin) / 1e3;
		r->l->start[first + i] = (double)(s->started - s->begin) / 1e3;
	}
	return err;
}

int rank_overlap(struct rank *r)
{
	struct overlap v = { .r = r };
	int err;

	for (uint32_t i = 0; i < r->info.nbuffers; i++)
		v.bytes += r->bytes[i];
	err = measure_overlap(&v);
	for (unsigned k = 0; k < KINDS; k++) {
		free(v.before[k]);
		free(v.after[k]);
	}
	return err;
}
