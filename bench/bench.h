/* SPDX-License-Identifier: BSD-3-Clause
 * What the benchmarks share: clocks, statistics, pinning, yardsticks, and output as tables or JSON. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- time ---- */

uint64_t bench_now(void); /* ns of wall time */
uint64_t bench_cpu(void); /* ns that this thread has computed; not disturbed by other processes' turns */
/* Runs this thread on one core only, counted among those that it may use, modulo their number. */
void bench_pin(unsigned core);
unsigned bench_cores(void);

struct bench_stats {
	double best, low, median, high; /* low and high: tenth and ninetieth percentile */
};
/* Sorts x, which has n > 0 values. */
struct bench_stats bench_stats(double *x, size_t n);

/* ---- yardsticks: what the machine can do ---- */

/* GB (10^9 bytes) copied a second, from memory to memory, one core. */
double bench_copy_rate(void);
/* ns until a word that one process writes is seen by another: on two cores, both spinning; or on one core, both
 * yielding. NaN on a machine with one core, or when fork fails. */
double bench_handoff(bool one_core);

/* ---- output ---- */

struct bench_options {
	bool json; /* -j */
	bool quick; /* -q: a smaller number of runs */
};

/* Parses -j and -q, and others as main has them: more(letter, its argument) for the options in the getopt string,
 * false when the argument makes no sense. Ends the program on wrong usage; usage is what -h prints. */
void bench_begin(int argc, char **argv, const char *usage, const char *others, bool (*more)(int, const char *));
extern struct bench_options bench_options;

/* A sentence on how it was measured. */
void bench_method(const char *text);
void bench_yardstick(const char *name, double value, const char *unit);
/* The yardsticks of every report. */
void bench_yardsticks(void);
/* Begins a table; columns: names that end with the unit, comma between. The first column is text. */
void bench_table(const char *title, const char *columns);
/* One value for each column after the first. NaN: there is none. */
void bench_row(const char *label, const double *values, size_t n);
#define BENCH_ROW(label, ...)                                                                               \
	bench_row(label, (const double[]){ __VA_ARGS__ }, sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))
/* Prints what is collected in JSON. Returns main's status. */
int bench_end(void);

#endif
