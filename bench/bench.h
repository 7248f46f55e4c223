/* SPDX-License-Identifier: BSD-3-Clause
 * Functions that the benchmarks share: clocks, statistics, pinning, speed of the machine, and output as tables or
 * JSON. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- time ---- */

uint64_t bench_now(void); /* elapsed time in ns */
uint64_t bench_cpu(void); /* CPU time of this thread in ns; other processes on the core do not count */
/* Pins this thread to one core: the one at index `core` modulo n of the n cores that the thread may use. */
void bench_pin(unsigned core);
unsigned bench_cores(void);

struct bench_stats {
	double best, low, median, high; /* low and high: 10th and 90th percentile */
};
/* Returns statistics of the n values of x, at least one, and sorts x. */
struct bench_stats bench_stats(double *x, size_t n);

/* ---- speed of the machine ---- */

/* Returns the rate at which one core copies from memory to memory, in GB (10^9 bytes) per second. */
double bench_copy_rate(void);
/* Returns the time in ns until a process sees a word that another process writes. Both spin on two cores or, if
 * one_core is true, yield on one core. Returns NaN on a machine with one core, or if fork fails. */
double bench_handoff(bool one_core);

/* ---- output ---- */

struct bench_options {
	bool json; /* true if -j is given */
	bool quick; /* true if -q is given: fewer runs */
};

/* Parses -j, -q, and the options of the program, whose letters the getopt string has. Calls more(letter, argument) for
 * each option of the program; more returns false if the argument is invalid. Ends the program on wrong usage. `usage`
 * is the text that -h prints. */
void bench_begin(int argc, char **argv, const char *usage, const char *others, bool (*more)(int, const char *));
extern struct bench_options bench_options;

/* Prints a sentence about the method of the measurement. */
void bench_method(const char *text);
void bench_yardstick(const char *name, double value, const char *unit);
/* Measures and prints the speed of the machine, which every report contains. */
void bench_yardsticks(void);
/* Begins a table. `columns` has the names of the columns, separated by commas, each with its unit. The first column is
 * text. */
void bench_table(const char *title, const char *columns);
/* Adds a row: a label, and a value for each further column; NaN stands for no value. */
void bench_row(const char *label, const double *values, size_t n);
#define BENCH_ROW(label, ...)                                                                               \
	bench_row(label, (const double[]){ __VA_ARGS__ }, sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))
/* Prints the collected tables as JSON, if -j is given. Returns the exit status of main. */
int bench_end(void);

#endif
