/* SPDX-License-Identifier: BSD-3-Clause
 * Parsing of the arguments of options: numbers, ranges, and values of parameters. Passes, selection tables and environment
 * variables have such arguments too. The options themselves are in util/command_line.h. */
#ifndef UTIL_OPTIONS_H
#define UTIL_OPTIONS_H

#include "util/mem.h"

#include <stdbool.h>
#include <stdint.h>

/* The numbers from first to last. A range of one number has first == last. */
struct option_range {
	int64_t first, last;
};

/* The argument of one option -D: a parameter and its value, an integer or a vector of them. */
struct define {
	const char *name;
	int64_t rank; /* rank that gets this value, -1 for all ranks */
	const int64_t *value;
	size_t n;
	bool range; /* true if all numbers from value[0] to value[1] are meant, one after the other */
};

/* All arguments of options -D on a command line. The array owns the names and values. */
struct defines {
	VEC(struct define) v;
};

/* Parses a decimal integer within [min, max], which must be the whole string. Returns false if it is not one. */
bool option_number(const char *s, int64_t min, int64_t max, int64_t *out);
/* Parses a decimal number of at least 0 at *s, which k, K, M or G may follow, for 1024, its square and its cube; Ki, Mi and
 * Gi are the same. Sets *s behind it, at most at `end`. Returns false if there is none, or it overflows. */
bool option_scaled(const char **s, const char *end, uint64_t *out);
/* Parses a number in this form, with or without a minus, within [min, max]. It must be all of the `len` bytes. */
bool option_amount(const char *s, size_t len, int64_t min, int64_t max, int64_t *out);
/* Parses a decimal number within [min, max], with or without a point and an exponent. Returns false if it is not one. */
bool option_decimal(const char *s, double min, double max, double *out);
/* Parses "A" or "A-B", two integers within [min, max] with A <= B. Returns false if it is neither. */
/* Returns the index of the `len` bytes at s among n names, or -1. */
int option_name_index(const char *const *names, size_t n, const char *s, size_t len);
/* Returns the index of the `len` bytes at s among the words of a list "a|b|c", or -1. */
int option_word(const char *words, const char *s, size_t len);
bool option_range(const char *s, int64_t min, int64_t max, int64_t *first, int64_t *last);
/* Adds the argument of an option -D; it replaces an earlier one of the same name and rank. If `ranges` is true, the value may be
 * a range A-B. Returns 0, -ERR_SYNTAX if it is malformed, or -ERR_NOMEM. */
int option_define(struct defines *d, const char *arg, bool ranges);
void define_drop(struct define *d);
void defines_free(struct defines *d);

#endif
