/* SPDX-License-Identifier: BSD-3-Clause
 * simulate: measures the speed and memory of goalsim. Concrete binaries first; then parametric ones, whose ranks exist only while
 * they are simulated. An event is an op, or a message that arrives, as LogGOPSim counts them. */
#include "bench/bench.h"
#include "bench/tools.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char goalc[PATH_MAX], goalsim[PATH_MAX], schedules[PATH_MAX];

/* ---- concrete binaries ---- */

/* Returns how many steps of dissemination p ranks need. */
static double steps_of(double p)
{
	return ceil(log2(p));
}

static double events_dissemination(double p, bool random)
{
	return p * (3 * steps_of(p) + (random ? steps_of(p) - 1 : 0));
}

static double events_alltoall(double p, bool random)
{
	(void)random;
	return 3 * p * (p - 1);
}

static const struct concrete {
	const char *name;
	bench_text *write;
	double (*events)(double p, bool random);
	unsigned ranks;
	bool random;
	double rate; /* bar, in millions of events a second */
} concretes[] = {
	{ "dissemination", bench_dissemination, events_dissemination, 65536, false, 15 },
	{ "alltoall", bench_alltoall, events_alltoall, 1024, false, 12 },
	{ "dissemination, random", bench_dissemination, events_dissemination, 65536, true, 4 },
	{ "alltoall, random", bench_alltoall, events_alltoall, 1024, true, 4 },
};
#define BAR_MEMORY 150.0

/* Runs goalsim several times. Returns the median of the elapsed times, and the most memory. */
static struct bench_cost simulate(const char *const *argv, int runs)
{
	struct bench_cost c = { 0 };
	double wall[5];

	for (int i = 0; i < runs; i++) {
		const struct bench_cost one = bench_run(argv);

		wall[i] = one.wall;
		c.peak = fmax(c.peak, one.peak);
	}
	c.wall = bench_stats(wall, (size_t)runs).median;
	return c;
}

static void measure_concrete(const struct concrete *s)
{
	char in[64], bin[64], label[64];
	const unsigned ranks = bench_options.quick ? s->ranks / 8 : s->ranks;
	const double events = s->events(ranks, s->random);
	struct bench_cost c;

	bench_write(s->write, ranks, s->random, in, sizeof in);
	snprintf(bin, sizeof bin, "%s/in.bin", bench_folder());
	bench_run((const char *const[]){ goalc, in, "-o", bin, NULL });
	c = simulate((const char *const[]){ goalsim, bin, NULL }, bench_options.quick ? 1 : 5);
	snprintf(label, sizeof label, "%s %u", s->name, ranks);
	BENCH_ROW(label, events / 1e6, c.wall, events / 1e6 / c.wall, s->rate, c.peak / 1e6, BAR_MEMORY);
}

/* ---- parametric binaries ---- */

static double events_binomial(double p)
{
	return 3 * (p - 1);
}

/* The library's dissemination goes two ways, by 3^k and 2 * 3^k. */
static double events_two_ways(double p)
{
	double n = 0;

	for (double d = 1; d < p; d *= 3)
		n += 2 * d < p ? 2 : 1;
	return 3 * p * n;
}

static const struct parametric {
	const char *name;
	double (*events)(double p);
	unsigned ranks; /* for which the bars hold */
	double seconds, memory; /* bars, in s and MB; NaN if there is none */
	unsigned most; /* for the growth: the largest power of two of ranks */
} parametrics[] = {
	{ "bcast_binomial", events_binomial, 10000000, 15, 1610, 23 },
	{ "barrier_dissemination", events_two_ways, 1048576, 10, NAN, 20 },
};
#define ALL(a) (sizeof(a) / sizeof *(a))

static struct bench_cost simulate_parametric(const char *bin, unsigned ranks)
{
	char n[16];

	snprintf(n, sizeof n, "%u", ranks);
	return simulate((const char *const[]){ goalsim, "-n", n, bin, NULL }, bench_options.quick ? 1 : 3);
}

static void compile_parametric(const struct parametric *s, char *bin, size_t size)
{
	char in[PATH_MAX];

	if ((size_t)snprintf(in, sizeof in, "%s/%s.goal", schedules, s->name) >= sizeof in) {
		fprintf(stderr, "simulate: %s: too long\n", schedules);
		exit(1);
	}
	snprintf(bin, size, "%s/%s.bin", bench_folder(), s->name);
	bench_run((const char *const[]){ goalc, in, "-o", bin, NULL });
}

static void measure_parametric(const struct parametric *s)
{
	const unsigned ranks = bench_options.quick ? 20000 : s->ranks;
	const double events = s->events(ranks);
	char bin[64], label[64];
	struct bench_cost c;

	compile_parametric(s, bin, sizeof bin);
	c = simulate_parametric(bin, ranks);
	snprintf(label, sizeof label, "%s %u", s->name, ranks);
	BENCH_ROW(label, events / 1e6, c.wall, s->seconds, events / 1e6 / c.wall, c.peak / 1e6, s->memory);
}

/* What a run with few ranks takes is what goalsim itself needs. */
static void measure_growth(const struct parametric *s)
{
	const unsigned most = bench_options.quick ? 14 : s->most;
	char bin[64];
	double own;

	compile_parametric(s, bin, sizeof bin);
	own = simulate_parametric(bin, 2).peak;
	for (unsigned k = 10; k <= most; k += most - k == 1 ? 1 : 2) {
		const double events = s->events(1u << k);
		const struct bench_cost c = simulate_parametric(bin, 1u << k);
		char label[64];

		snprintf(label, sizeof label, "%s 2^%u", s->name, k);
		BENCH_ROW(label, events / 1e6, c.wall, c.wall * 1e9 / events, c.peak / 1e6, (c.peak - own) / events);
	}
}

static bool option(int c, const char *arg)
{
	(void)c;
	if (strlen(arg) >= sizeof schedules)
		return false;
	strcpy(schedules, arg);
	return true;
}

int main(int argc, char **argv)
{
	bench_beside("../bin/goalc", goalc, sizeof goalc);
	bench_beside("../bin/goalsim", goalsim, sizeof goalsim);
	bench_beside("../../schedules", schedules, sizeof schedules);
	bench_begin(argc, argv,
		    "usage: simulate [-j] [-q] [-s FOLDER]\n"
		    "  -j  JSON                 -q  one run of each, with fewer ranks\n"
		    "  -s  the schedules\n",
		    "s:", option);
	bench_method("goalsim on one core, with its default parameters; an event is an op or a message that arrives; s = elapsed time "
		     "of the process, reading included, the median of 5 runs (parametric: of 3); MB = the largest resident memory of "
		     "the runs. Random: calcs of up to 2 us before sends and messages of 1 to 4,096 bytes; in the alltoall half of "
		     "the sends wait for an earlier recv, and there are no calcs");
	bench_yardstick("copy from memory to memory", bench_copy_rate(), "GB/s");
	bench_table("concrete binaries", "schedule and ranks,million events,s,million events/s,at least,MB,at most");
	for (size_t i = 0; i < ALL(concretes); i++)
		measure_concrete(&concretes[i]);
	bench_table("parametric binaries", "schedule and ranks,million events,s,at most,million events/s,MB,at most MB");
	for (size_t i = 0; i < ALL(parametrics); i++)
		measure_parametric(&parametrics[i]);
	bench_table("growth", "schedule and ranks,million events,s,ns/event,MB,bytes/event");
	for (size_t i = 0; i < ALL(parametrics); i++)
		measure_growth(&parametrics[i]);
	return bench_end();
}
