/* SPDX-License-Identifier: BSD-3-Clause
 * compile: measures the speed and memory with which goalc compiles large plain texts, with all checks on. This
 * program makes the texts; -t prints one of any size. */
#include "bench/bench.h"
#include "bench/tools.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

static const struct text {
	const char *name;
	bench_text *write;
	unsigned size; /* size for which the bar holds */
	double memory; /* bar of the peak memory, as a fraction of the length of the text */
} texts[] = {
	{ "dissemination", bench_dissemination, 65536, 0.5 },
	{ "binomial", bench_binomial, 262144, 0.5 },
	{ "chain", bench_chain, 2000000, 2 },
};
#define TEXTS (sizeof texts / sizeof *texts)
#define BAR_RATE 150.0
#define BAR_BINARY 0.4

/* Carries out the option -t NAME:SIZE. */
static bool print_text(const char *what)
{
	for (size_t i = 0; i < TEXTS; i++) {
		size_t len = strlen(texts[i].name);
		char *end;
		unsigned long n;

		if (strncmp(what, texts[i].name, len) != 0 || what[len] != ':')
			continue;
		n = strtoul(what + len + 1, &end, 10);
		if (*end || n < 1 || n > 1u << 28)
			return false;
		texts[i].write(stdout, (unsigned)n, false);
		exit(fflush(stdout) || ferror(stdout) ? 1 : 0);
	}
	return false;
}

/* ---- runs ---- */

static char goalc[PATH_MAX];

static void measure(const struct text *text)
{
	const int runs = bench_options.quick ? 3 : 10;
	char in[64], out[64], label[64];
	struct bench_cost best = { INFINITY, INFINITY, 0 };
	double size, binary;

	bench_write(text->write, text->size, false, in, sizeof in);
	snprintf(out, sizeof out, "%s/out.bin", bench_folder());
	size = bench_bytes(in);
	for (int i = 0; i < runs; i++) {
		const struct bench_cost c = bench_run((const char *const[]){ goalc, in, "-o", out, NULL });

		best.cpu = fmin(best.cpu, c.cpu);
		best.wall = fmin(best.wall, c.wall);
		best.peak = fmax(best.peak, c.peak);
	}
	binary = bench_bytes(out);
	snprintf(label, sizeof label, "%s %u", text->name, text->size);
	BENCH_ROW(label, size / 1e6, size / 1e6 / best.cpu, size / 1e6 / best.wall, BAR_RATE, best.peak / size,
		  text->memory, binary / size, BAR_BINARY);
}

static bool option(int c, const char *arg)
{
	if (c == 't')
		return print_text(arg);
	if (strlen(arg) >= sizeof goalc)
		return false;
	strcpy(goalc, arg);
	return true;
}

int main(int argc, char **argv)
{
	bench_beside("../bin/goalc", goalc, sizeof goalc);
	bench_begin(argc, argv,
		    "usage: compile [-j] [-q] [-c GOALC]\n"
		    "       compile -t dissemination:RANKS|binomial:RANKS|chain:OPS\n"
		    "  -j  JSON          -q  fewer runs\n"
		    "  -c  the compiler  -t  only prints such a text\n",
		    "c:t:", option);
	bench_method("goalc on plain texts with all checks on, one core; MB/s = 10^6 bytes of text by computing time "
		     "(user and system), wall = by wall time, both the best of the runs; peak = the largest resident "
		     "memory of the runs, of the text's size; binary = its size, of the text's");
	bench_yardstick("copy from memory to memory", bench_copy_rate(), "GB/s");
	bench_table("plain texts", "text,MB,MB/s,wall MB/s,at least,peak,at most,binary,at most");
	for (size_t i = 0; i < TEXTS; i++)
		measure(&texts[i]);
	return bench_end();
}
