/* SPDX-License-Identifier: BSD-3-Clause
 * Parsing of command lines, shared by the tools. Every tool exits with one of the statuses EXIT_x. */
#ifndef UTIL_OPTIONS_H
#define UTIL_OPTIONS_H

#include "util/mem.h"
#include "util/text.h"

#include <stdbool.h>
#include <stdint.h>

enum { EXIT_OK = 0, EXIT_FAULT = 1, EXIT_USAGE = 2 };

/* The argument of one option -D: a parameter and its value, an integer or a vector of them. */
struct define {
	const char *name;
	int64_t rank; /* rank that gets this value, -1 for all ranks */
	const int64_t *value;
	size_t n;
};

/* All arguments of options -D on a command line. The array owns the names and values. */
struct defines {
	VEC(struct define) v;
};

/* Prints "PROGRAM: what is wrong" and the usage, and returns EXIT_USAGE. */
__attribute__((format(printf, 3, 4))) int option_usage(const char *program, const char *usage, const char *fmt, ...);
/* Prints "PROGRAM: out of memory" and returns EXIT_FAULT. */
int option_no_memory(const char *program);
/* Reports the result err of parsing an option's argument. If it is an error, prints the explanation in why. Frees why and
 * returns an exit status. */
int option_result(const char *program, const char *usage, int err, struct text *why);
/* Reports that a feature is not implemented yet, and returns EXIT_USAGE. */
int option_not_built(const char *program, const char *what);

/* Parses a decimal integer within [min, max], which must be the whole string. Returns false if it is not one. */
bool option_number(const char *s, int64_t min, int64_t max, int64_t *out);
/* Parses a decimal number within [min, max], with or without a point and an exponent. Returns false if it is not one. */
bool option_decimal(const char *s, double min, double max, double *out);
/* Parses "A" or "A-B", two integers within [min, max] with A <= B. Returns false if it is neither. */
bool option_range(const char *s, int64_t min, int64_t max, int64_t *first, int64_t *last);
/* Adds the argument of an option -D; it replaces an earlier one of the same name and rank. Returns false if it is malformed. */
bool option_define(struct defines *d, const char *arg);
void define_drop(struct define *d);
void defines_free(struct defines *d);

#endif
