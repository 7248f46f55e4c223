/* SPDX-License-Identifier: BSD-3-Clause
 * compile: measures the speed and memory with which goalc compiles large plain texts, with all checks on. This
 * program makes the texts; -t prints one of any size. */
#include "bench/bench.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- texts ---- */

/* In round k each rank sends to rank + 2^k and receives from rank - 2^k. Each send waits for the recv of the round before. */
static void dissemination(FILE *f, unsigned p)
{
	fprintf(f, "num_ranks %u\n", p);
	for (unsigned r = 0; r < p; r++) {
		unsigned label = 0;

		fprintf(f, "\nrank %u {\n", r);
		for (unsigned step = 1; step < p; step *= 2) {
			fprintf(f, "l%u: send 8b to %u tag 0\n", label + 1, (r + step) % p);
			if (label)
				fprintf(f, "l%u requires l%u\n", label + 1, label);
			fprintf(f, "l%u: recv 8b from %u tag 0\n", label + 2, (r + p - step) % p);
			label += 2;
		}
		fputs("}\n", f);
	}
}

/* A broadcast from rank 0: a rank that has the data sends it to rank + 2^k for all 2^k above its own number. */
static void binomial(FILE *f, unsigned p)
{
	fprintf(f, "num_ranks %u\n", p);
	for (unsigned r = 0; r < p; r++) {
		unsigned label = 0, step = 1;

		fprintf(f, "\nrank %u {\n", r);
		while (step <= r)
			step *= 2;
		if (r)
			fprintf(f, "l%u: recv 1024b from %u tag 0\n", ++label, r - step / 2);
		for (; step < p - r; step *= 2) {
			fprintf(f, "l%u: send 1024b to %u tag 0\n", ++label, r + step);
			if (r)
				fprintf(f, "l%u requires l1\n", label);
		}
		fputs("}\n", f);
	}
}

/* One rank with n calcs, each of which waits for the one before. */
static void chain(FILE *f, unsigned n)
{
	fputs("num_ranks 1\n\nrank 0 {\n", f);
	for (unsigned i = 1; i <= n; i++) {
		fprintf(f, "l%u: calc 1000\n", i);
		if (i > 1)
			fprintf(f, "l%u requires l%u\n", i, i - 1);
	}
	fputs("}\n", f);
}

static const struct text {
	const char *name;
	void (*write)(FILE *, unsigned);
	unsigned size; /* size for which the bar holds */
	double memory; /* bar of the peak memory, as a fraction of the length of the text */
} texts[] = {
	{ "dissemination", dissemination, 65536, 0.5 },
	{ "binomial", binomial, 262144, 0.5 },
	{ "chain", chain, 2000000, 2 },
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
		texts[i].write(stdout, (unsigned)n);
		exit(fflush(stdout) || ferror(stdout) ? 1 : 0);
	}
	return false;
}

/* ---- runs ---- */

static char goalc[PATH_MAX];
static char dir[] = "/tmp/goal-compile-XXXXXX";

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "compile: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double bytes_of(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		fail(path);
	return (double)st.st_size;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

struct cost {
	double cpu, wall; /* CPU time and elapsed time in s */
	double peak; /* peak memory in bytes */
};

static struct cost run(const char *in, const char *out)
{
	uint64_t t = bench_now();
	struct rusage u;
	int status;
	/* fork and not vfork: after vfork the peak of this process would count as that of the new one. */
	pid_t pid = fork();

	if (pid == 0) {
		bench_pin(0);
		execl(goalc, goalc, in, "-o", out, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &u) != pid)
		fail("fork");
	if (status) {
		fprintf(stderr, "compile: %s %s: status %d\n", goalc, in, status);
		exit(1);
	}
	return (struct cost){ seconds(u.ru_utime) + seconds(u.ru_stime), (double)(bench_now() - t) / 1e9,
			      (double)u.ru_maxrss * 1024 };
}

static void measure(const struct text *text)
{
	const int runs = bench_options.quick ? 3 : 10;
	char in[64], out[64], label[64];
	struct cost best = { INFINITY, INFINITY, 0 };
	double size, binary;
	FILE *f;

	snprintf(in, sizeof in, "%s/in.goal", dir);
	snprintf(out, sizeof out, "%s/out.bin", dir);
	f = fopen(in, "w");
	if (!f)
		fail(in);
	text->write(f, text->size);
	if (fclose(f))
		fail(in);
	size = bytes_of(in);
	for (int i = 0; i < runs; i++) {
		struct cost c = run(in, out);

		best.cpu = fmin(best.cpu, c.cpu);
		best.wall = fmin(best.wall, c.wall);
		best.peak = fmax(best.peak, c.peak);
	}
	binary = bytes_of(out);
	unlink(in);
	unlink(out);
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
	ssize_t n = readlink("/proc/self/exe", goalc, sizeof goalc - 32);
	char *slash;

	if (n < 0)
		fail("/proc/self/exe");
	goalc[n] = '\0';
	slash = strrchr(goalc, '/'); /* the slash before the last word of build/bench/compile */
	strcpy(slash, "/../bin/goalc");
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
	if (!mkdtemp(dir))
		fail(dir);
	bench_table("plain texts", "text,MB,MB/s,wall MB/s,at least,peak,at most,binary,at most");
	for (size_t i = 0; i < TEXTS; i++)
		measure(&texts[i]);
	rmdir(dir);
	return bench_end();
}
