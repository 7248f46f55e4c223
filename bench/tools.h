/* SPDX-License-Identifier: BSD-3-Clause
 * What the benchmarks of the tools share: plain GOAL of any size, and what a run of a tool costs. */
#ifndef BENCH_TOOLS_H
#define BENCH_TOOLS_H

#include <stdbool.h>
#include <stdio.h>

/* ---- texts ---- */

/* Texts write plain GOAL. n: ranks, or ops of the only rank. random: with calcs before sends, random sizes, or random
 * dependencies, the same in each call; binomial and chain have nothing random. */
typedef void bench_text(FILE *f, unsigned n, bool random);
/* In round k each rank sends to rank + 2^k and receives from rank - 2^k. Each send waits for the recv of the round before. */
bench_text bench_dissemination;
/* Each rank sends to all others, beginning with the next. */
bench_text bench_alltoall;
/* A broadcast from rank 0: a rank that has the data sends it to rank + 2^k for all 2^k above its own number. */
bench_text bench_binomial;
/* One rank with n calcs, each of which waits for the one before. */
bench_text bench_chain;

/* ---- runs ---- */

/* Stores the path of a tool, or of another file, beside the program: path is relative to the folder of the program. Ends the
 * program if the result has no room in size bytes. */
void bench_beside(const char *path, char *out, size_t size);
/* Makes a folder for files of the program, which goes away with what is in it when the program ends, and returns it. */
const char *bench_folder(void);
/* Writes a text to a file of that folder, and stores its path. */
void bench_write(bench_text *text, unsigned n, bool random, char *path, size_t size);
/* Returns the length of a file in bytes. */
double bench_bytes(const char *path);

struct bench_cost {
	double cpu, wall; /* CPU time (user and system) and elapsed time in s */
	double peak; /* largest resident memory in bytes */
};
/* Runs a program on one core, without its output. argv ends with NULL. Ends this program if that fails. */
struct bench_cost bench_run(const char *const *argv);

#endif
