/* SPDX-License-Identifier: BSD-3-Clause
 * bind: measures MPIX_Sched_init on a group, and the two parts that it cannot do without: the exchange of addresses
 * over the same board, and the specialisation of the rank. */
#include "backends/services.h"
#include "bench/bench.h"
#include "runtime/request.h"
#include "tests/rt/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SAMPLES 300
#define RECORD 56 /* bytes of a rank's record in a round; at most as many as binding sends */
#define BYTES 8 /* bytes of the message */

enum { INIT, EXCHANGE, SPECIALISE, BAR, FREE, PARTS };

struct shared {
	uint64_t rounds;
	double ops; /* number of ops of rank 0 */
	struct {
		uint64_t from, to;
	} at[PARTS][SAMPLES][TEAM_MAX]; /* by part, sample and rank */
};

struct race {
	const char *schedule;
	struct shared *sh;
};

static const char *dir = "schedules";
static int most = 8;

static unsigned samples(void)
{
	return bench_options.quick ? SAMPLES / 5 : SAMPLES;
}

/* Runs n rounds, in each of which every rank gets a record from every rank. */
static int rounds(struct member *m, uint64_t n)
{
	char mine[RECORD] = { 0 }, all[TEAM_MAX * RECORD];

	while (n--)
		NEED(group_allgather(&m->group->g, mine, RECORD, all) == 0);
	return 0;
}

static void compute(uint64_t ns)
{
	uint64_t t = bench_now();

	while (bench_now() - t < ns)
		;
}

static void begin(struct member *m, int part, unsigned i)
{
	struct shared *sh = ((const struct race *)m->arg)->sh;

	sh->at[part][i][m->rank].from = bench_now();
}

static void end(struct member *m, int part, unsigned i)
{
	struct shared *sh = ((const struct race *)m->arg)->sh;

	sh->at[part][i][m->rank].to = bench_now();
}

static int run_rank(struct member *m)
{
	const struct race *race = m->arg;
	struct shared *sh = race->sh;
	struct bin_args args = { .rank = (uint32_t)m->rank, .size = (uint32_t)m->size, .count = BYTES };
	MPIX_Sched_request req;
	MPIX_Sched s;
	struct ir_rank rank;
	char path[512];
	void *data;

	bench_pin((unsigned)m->rank % 2);
	snprintf(path, sizeof path, "%s/%s.goal", dir, race->schedule);
	CALL(MPIX_Sched_load(m->ctx, path, &s));
	CALL(MPIX_Sched_alloc(m->ctx, BYTES, &data));
	struct MPIX_Sched_bind b = { .struct_size = sizeof b, .buffers = &data, .nbuffers = 1, .count = BYTES };

	for (unsigned i = 0; i < samples(); i++) {
		uint64_t before = m->group->g.seq, used, may;

		NEED(!rounds(m, 2));
		begin(m, INIT, i);
		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		end(m, INIT, i);
		used = m->group->g.seq - before - 2;
		may = 1000 + 20 * req->rank.nops;
		NEED(!rounds(m, 2));
		begin(m, EXCHANGE, i);
		NEED(!rounds(m, used));
		end(m, EXCHANGE, i);
		NEED(!rounds(m, 2));
		begin(m, BAR, i);
		compute(may);
		NEED(!rounds(m, used));
		end(m, BAR, i);
		for (int k = 0; k < 2; k++) { /* the second run, with warm caches, counts */
			begin(m, SPECIALISE, i);
			NEED(ir_rank_specialise(&s->image->bin, &args, &rank, NULL) == 0);
			end(m, SPECIALISE, i);
			ir_rank_fini(&rank);
		}
		if (m->rank == 0) {
			sh->rounds = used;
			sh->ops = req->rank.nops;
		}
		begin(m, FREE, i);
		CALL(MPIX_Sched_free(&req));
		end(m, FREE, i);
	}
	CALL(MPIX_Sched_dealloc(m->ctx, data));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* Returns the time from the moment when the first of some ranks begins until the last one is done. */
static double span(const struct shared *sh, int part, unsigned sample, int ranks)
{
	uint64_t from = UINT64_MAX, to = 0;

	for (int r = 0; r < ranks; r++) {
		from = sh->at[part][sample][r].from < from ? sh->at[part][sample][r].from : from;
		to = sh->at[part][sample][r].to > to ? sh->at[part][sample][r].to : to;
	}
	return (double)(to - from);
}

static void report(const char *schedule)
{
	char title[128], label[32];

	snprintf(title, sizeof title, "%s, %d bytes; ns of all ranks, but for specialise and free: of one", schedule, BYTES);
	bench_table(title, "ranks,ops,rounds,init,low,high,exchange,specialise,bar,of the bar,low,high,free");
	for (int ranks = 1; ranks <= most; ranks += ranks < 4 ? 1 : 2) {
		struct shared *sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		struct race race = { schedule, sh };
		struct bench_stats s[PARTS], ratio;
		double ns[PARTS][SAMPLES], q[SAMPLES];

		if (sh == MAP_FAILED || team_run(ranks, false, run_rank, &race)) {
			fprintf(stderr, "bind: %s on %d ranks failed\n", schedule, ranks);
			exit(1);
		}
		for (unsigned i = 0; i < samples(); i++) {
			for (int p = 0; p < PARTS; p++)
				ns[p][i] = span(sh, p, i, p == SPECIALISE || p == FREE ? 1 : ranks);
			q[i] = ns[INIT][i] / ns[BAR][i];
		}
		ratio = bench_stats(q, samples());
		for (int p = 0; p < PARTS; p++)
			s[p] = bench_stats(ns[p], samples());
		snprintf(label, sizeof label, "%d", ranks);
		BENCH_ROW(label, sh->ops, (double)sh->rounds, s[INIT].median, s[INIT].low, s[INIT].high,
			  s[EXCHANGE].median, s[SPECIALISE].median, s[BAR].median, ratio.median, ratio.low, ratio.high,
			  s[FREE].median);
		munmap(sh, sizeof *sh);
	}
}

static bool option(int c, const char *arg)
{
	if (c == 's')
		dir = arg;
	else
		most = atoi(arg);
	return most >= 1 && most <= TEAM_MAX;
}

int main(int argc, char **argv)
{
	bench_begin(argc, argv,
		    "usage: bind [-j] [-q] [-s DIR] [-n RANKS]\n"
		    "  -j  JSON          -q  fewer runs\n"
		    "  -s  where the schedules are\n"
		    "  -n  ranks at most, 8 unless given\n",
		    "s:n:", option);
	bench_method("ranks are processes, rank r on core r mod 2; each sample binds once, then exchanges bare records of 56 "
		     "bytes in as many rounds as that took, then specialises the rank; the bar is measured in the same sample: "
		     "each rank computes for 1000 ns and 20 ns an op, which specialising may cost it, and then exchanges in as "
		     "many rounds; times are from when the first rank begins until the last one has done; the ratio to the bar "
		     "is the median over samples; low and high are the 10th and 90th percentile");
	bench_yardsticks();
	report("bcast_binomial");
	report("barrier_dissemination");
	return bench_end();
}
