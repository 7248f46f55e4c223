/* SPDX-License-Identifier: BSD-3-Clause
 * What the benchmarks of the tools share. */
#include "bench/tools.h"

#include "bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- texts ---- */

#define LONGEST 4096u /* bytes of a random message */
#define BUSIEST 2000u /* ns of a random calc */

/* Returns a number that a and b determine, below n. */
static unsigned drawn(unsigned a, unsigned b, unsigned n)
{
	uint64_t x = ((uint64_t)a << 32 | b) + 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (unsigned)((x ^ x >> 31) % n);
}

/* Returns the size of the message from one rank to another. */
static unsigned size_of(unsigned from, unsigned to, bool random)
{
	return random ? 1 + drawn(from, to, LONGEST) : 8;
}

void bench_dissemination(FILE *f, unsigned p, bool random)
{
	fprintf(f, "num_ranks %u\n", p);
	for (unsigned r = 0; r < p; r++) {
		unsigned label = 0;

		fprintf(f, "\nrank %u {\n", r);
		for (unsigned step = 1; step < p; step *= 2) {
			const unsigned to = (r + step) % p, from = (r + p - step) % p, got = label;

			if (random && got) {
				fprintf(f, "l%u: calc %u\n", ++label, drawn(r, step, BUSIEST));
				fprintf(f, "l%u requires l%u\n", label, got);
			}
			fprintf(f, "l%u: send %ub to %u tag 0\n", label + 1, size_of(r, to, random), to);
			if (got)
				fprintf(f, "l%u requires l%u\n", label + 1, label);
			fprintf(f, "l%u: recv %ub from %u tag 0\n", label + 2, size_of(from, r, random), from);
			label += 2;
		}
		fputs("}\n", f);
	}
}

void bench_alltoall(FILE *f, unsigned p, bool random)
{
	fprintf(f, "num_ranks %u\n", p);
	for (unsigned r = 0; r < p; r++) {
		fprintf(f, "\nrank %u {\n", r);
		for (unsigned i = 1; i < p; i++) {
			const unsigned to = (r + i) % p, from = (r + p - i) % p;

			fprintf(f, "l%u: send %ub to %u tag 0\n", 2 * i - 1, size_of(r, to, random), to);
			fprintf(f, "l%u: recv %ub from %u tag 0\n", 2 * i, size_of(from, r, random), from);
			if (random && i > 1 && drawn(i, r, 2)) /* on one of the recvs before it */
				fprintf(f, "l%u requires l%u\n", 2 * i - 1, 2 * (1 + drawn(r, i, i - 1)));
		}
		fputs("}\n", f);
	}
}

void bench_binomial(FILE *f, unsigned p, bool random)
{
	(void)random;
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

void bench_chain(FILE *f, unsigned n, bool random)
{
	(void)random;
	fputs("num_ranks 1\n\nrank 0 {\n", f);
	for (unsigned i = 1; i <= n; i++) {
		fprintf(f, "l%u: calc 1000\n", i);
		if (i > 1)
			fprintf(f, "l%u requires l%u\n", i, i - 1);
	}
	fputs("}\n", f);
}

/* ---- runs ---- */

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

void bench_beside(const char *path, char *out, size_t size)
{
	char own[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);

	if (n < 0)
		fail("/proc/self/exe");
	own[n] = '\0';
	*strrchr(own, '/') = '\0';
	if ((size_t)snprintf(out, size, "%s/%s", own, path) >= size) {
		errno = ENAMETOOLONG;
		fail(path);
	}
}

static char folder[] = "/tmp/goal-bench-XXXXXX";
static pid_t maker;

static void remove_folder(void)
{
	char command[sizeof folder + 16];

	if (getpid() != maker)
		return;
	snprintf(command, sizeof command, "rm -rf %s", folder);
	if (system(command))
		fail(folder);
}

const char *bench_folder(void)
{
	if (!maker) {
		if (!mkdtemp(folder))
			fail(folder);
		maker = getpid();
		atexit(remove_folder);
	}
	return folder;
}

void bench_write(bench_text *text, unsigned n, bool random, char *path, size_t size)
{
	FILE *f;

	snprintf(path, size, "%s/in.goal", bench_folder());
	f = fopen(path, "w");
	if (!f)
		fail(path);
	text(f, n, random);
	if (fclose(f))
		fail(path);
}

double bench_bytes(const char *path)
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

struct bench_cost bench_run(const char *const *argv)
{
	const uint64_t t = bench_now();
	struct rusage u;
	int status;
	/* fork and not vfork: after vfork the peak of this process would count as that of the new one. */
	const pid_t pid = fork();

	if (pid == 0) {
		const int nothing = open("/dev/null", O_WRONLY);

		bench_pin(0);
		dup2(nothing, STDOUT_FILENO);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &u) != pid)
		fail("fork");
	if (status) {
		fprintf(stderr, "%s: %s: status %d\n", program_invocation_short_name, argv[0], status);
		exit(1);
	}
	return (struct bench_cost){ seconds(u.ru_utime) + seconds(u.ru_stime), (double)(bench_now() - t) / 1e9,
				    (double)u.ru_maxrss * 1024 };
}
