/* SPDX-License-Identifier: BSD-3-Clause
 * What the command lines of the tools share. Exit statuses: DESIGN's 0, 1 and 2. */
#ifndef UTIL_OPTIONS_H
#define UTIL_OPTIONS_H

#include "util/mem.h"
#include "util/text.h"

#include <stdbool.h>
#include <stdint.h>

enum { EXIT_OK = 0, EXIT_FAULT = 1, EXIT_USAGE = 2 };

/* A -D: a value, or a vector. */
struct define {
	const char *name;
	int64_t rank; /* whose value it is, -1: of all */
	const int64_t *value;
	size_t n;
};

/* Those of a command line, which own what they point to. */
struct defines {
	VEC(struct define) v;
};

/* "PROGRAM: what is wrong" and the usage; returns EXIT_USAGE. */
__attribute__((format(printf, 3, 4))) int option_usage(const char *program, const char *usage, const char *fmt, ...);
/* "PROGRAM: out of memory"; returns EXIT_FAULT. */
int option_no_memory(const char *program);
/* What became of an option's argument, whose mistakes are told in why, which is freed; an exit status. */
int option_result(const char *program, const char *usage, int err, struct text *why);
/* What a later version brings; returns EXIT_USAGE. */
int option_not_built(const char *program, const char *what);

/* Parses a whole decimal number within [min, max]; false when it is none. */
bool option_number(const char *s, int64_t min, int64_t max, int64_t *out);
/* The same for one that may have a point and an exponent. */
bool option_decimal(const char *s, double min, double max, double *out);
/* As option_number, for "A" or "A-B", with A <= B. */
bool option_range(const char *s, int64_t min, int64_t max, int64_t *first, int64_t *last);
/* Adds the argument of a -D; a later one of the same name wins. false: malformed. */
bool option_define(struct defines *d, const char *arg);
void define_drop(struct define *d);
void defines_free(struct defines *d);

#endif
