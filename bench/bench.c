/* SPDX-License-Identifier: BSD-3-Clause
 * Functions that the benchmarks share. */
#include "bench/bench.h"

#include "util/clock.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct bench_options bench_options;

/* ---- time ---- */

uint64_t bench_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t bench_cpu(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The cores with which the program was started. Forked ranks are pinned, and would only see their own core. */
static cpu_set_t allowed;

unsigned bench_cores(void)
{
	if (!CPU_COUNT(&allowed))
		sched_getaffinity(0, sizeof allowed, &allowed);
	return (unsigned)CPU_COUNT(&allowed);
}

void bench_pin(unsigned core)
{
	cpu_set_t one;

	core %= bench_cores();
	CPU_ZERO(&one);
	for (unsigned c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, &allowed) && core-- == 0)
			CPU_SET(c, &one);
	if (sched_setaffinity(0, sizeof one, &one))
		perror("sched_setaffinity");
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct bench_stats bench_stats(double *x, size_t n)
{
	qsort(x, n, sizeof *x, ascending);
	return (struct bench_stats){ x[0], x[n / 10], x[n / 2], x[n - 1 - n / 10] };
}

/* ---- speed of the machine ---- */

double bench_copy_rate(void)
{
	size_t size = (size_t)64 << 20;
	char *from = malloc(size), *to = malloc(size);
	double rate[9];

	if (!from || !to)
		abort();
	memset(from, 1, size);
	memset(to, 2, size);
	for (int i = 0; i < 9; i++) {
		uint64_t t = bench_now();

		memcpy(to, from, size);
		/* Keeps the compiler from removing the copy. */
		__asm__ volatile("" : : "r"(to) : "memory");
		/* negative, so that the highest rate is the smallest value, which bench_stats() calls the best */
		rate[i] = -(double)size / (double)(bench_now() - t);
	}
	free(from);
	free(to);
	return -bench_stats(rate, 9).best;
}

struct court {
	_Alignas(64) _Atomic uint64_t ball[2];
	_Alignas(64) _Atomic uint64_t back;
};

static void wait_for(_Atomic uint64_t *word, uint64_t value, bool yield)
{
	while (atomic_load_explicit(word, memory_order_acquire) != value)
		if (yield)
			sched_yield();
}

double bench_handoff(bool one_core)
{
	enum { BLOCKS = 101, TURNS = 100 };
	struct court *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double ns[BLOCKS], out = NAN;
	cpu_set_t before;
	pid_t pid;

	if (c == MAP_FAILED)
		abort();
	if (!one_core && bench_cores() < 2)
		goto out;
	sched_getaffinity(0, sizeof before, &before);
	pid = fork();
	if (pid < 0)
		goto out;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		bench_pin(one_core ? 0 : 1);
		for (uint64_t i = 1; i <= BLOCKS * TURNS; i++) {
			wait_for(&c->ball[0], i, one_core);
			atomic_store_explicit(&c->back, i, memory_order_release);
		}
		_exit(0);
	}
	bench_pin(0);
	for (uint64_t b = 0, i = 1; b < BLOCKS; b++) {
		uint64_t t = bench_now();

		for (int k = 0; k < TURNS; k++, i++) {
			atomic_store_explicit(&c->ball[0], i, memory_order_release);
			wait_for(&c->back, i, one_core);
		}
		ns[b] = (double)(bench_now() - t) / (2 * TURNS);
	}
	waitpid(pid, NULL, 0);
	sched_setaffinity(0, sizeof before, &before);
	out = bench_stats(ns, BLOCKS).median;
out:
	munmap(c, sizeof *c);
	return out;
}

/* ---- output ---- */

#define COLUMNS 16
static struct json_object *report, *yardsticks, *tables, *rows;
static char *columns; /* names of the columns of the table, with a NUL after each name */
static const char *column[COLUMNS];
static size_t ncolumns;

static _Noreturn void usage_error(const char *usage)
{
	fputs(usage, stderr);
	exit(2);
}

void bench_begin(int argc, char **argv, const char *usage, const char *others, bool (*more)(int, const char *))
{
	char letters[64];
	int c;

	snprintf(letters, sizeof letters, "hjq%s", others);
	while ((c = getopt(argc, argv, letters)) != -1)
		if (c == 'h') {
			fputs(usage, stdout);
			exit(0);
		} else if (c == 'j') {
			bench_options.json = true;
		} else if (c == 'q') {
			bench_options.quick = true;
		} else if (c == '?' || !more || !more(c, optarg)) {
			usage_error(usage);
		}
	if (optind < argc)
		usage_error(usage);
	bench_cores();
	report = json_object_new_object();
	yardsticks = json_object_new_object();
	tables = json_object_new_array();
	json_object_object_add(report, "bench", json_object_new_string(program_invocation_short_name));
}

void bench_method(const char *text)
{
	json_object_object_add(report, "method", json_object_new_string(text));
	if (!bench_options.json)
		printf("%s: %s\n", program_invocation_short_name, text);
}

/* JSON has no NaN. */
static struct json_object *number(double v)
{
	char text[32];

	if (isnan(v))
		return NULL;
	snprintf(text, sizeof text, "%.6g", v);
	return json_object_new_double_s(v, text);
}

void bench_yardstick(const char *name, double value, const char *unit)
{
	char key[64];

	snprintf(key, sizeof key, "%s %s", name, unit);
	json_object_object_add(yardsticks, key, number(value));
	if (!bench_options.json && !isnan(value))
		printf("yardstick: %-45s %10.1f %s\n", name, value, unit);
}

void bench_yardsticks(void)
{
	bench_yardstick("copy from memory to memory", bench_copy_rate(), "GB/s");
	bench_yardstick("hand-off between two cores", bench_handoff(false), "ns");
	bench_yardstick("hand-off between two yielding on one core", bench_handoff(true), "ns");
}

void bench_table(const char *title, const char *names)
{
	struct json_object *t = json_object_new_object();

	free(columns);
	columns = strdup(names);
	if (!columns)
		abort();
	ncolumns = 0;
	for (char *p = strtok(columns, ","); p && ncolumns < COLUMNS; p = strtok(NULL, ","))
		column[ncolumns++] = p;
	rows = json_object_new_array();
	json_object_object_add(t, "title", json_object_new_string(title));
	json_object_object_add(t, "rows", rows);
	json_object_array_add(tables, t);
	if (bench_options.json)
		return;
	printf("\n%s\n%-34s", title, column[0]);
	for (size_t i = 1; i < ncolumns; i++)
		printf(" %11s", column[i]);
	putchar('\n');
}

void bench_row(const char *label, const double *values, size_t n)
{
	struct json_object *row = json_object_new_object();

	json_object_object_add(row, column[0], json_object_new_string(label));
	for (size_t i = 0; i < n && i + 1 < ncolumns; i++)
		json_object_object_add(row, column[i + 1], number(values[i]));
	json_object_array_add(rows, row);
	if (bench_options.json)
		return;
	printf("%-34s", label);
	for (size_t i = 0; i < n && i + 1 < ncolumns; i++)
		if (isnan(values[i]))
			printf(" %11s", "-");
		else
			printf(" %11.*f", fabs(values[i]) < 10 ? 2 : fabs(values[i]) < 1000 ? 1 : 0, values[i]);
	putchar('\n');
	fflush(stdout);
}

int bench_end(void)
{
	json_object_object_add(report, "yardsticks", yardsticks);
	json_object_object_add(report, "tables", tables);
	if (bench_options.json)
		puts(json_object_to_json_string_ext(report, JSON_C_TO_STRING_PRETTY));
	else
		putchar('\n');
	json_object_put(report);
	free(columns);
	return fflush(stdout) ? 1 : 0;
}
