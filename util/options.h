/* SPDX-License-Identifier: BSD-3-Clause
 * What the command lines of the tools share. Exit statuses: DESIGN's 0, 1 and 2. */
#ifndef UTIL_OPTIONS_H
#define UTIL_OPTIONS_H

#include "util/mem.h"

#include <stdbool.h>
#include <stdint.h>

enum { EXIT_OK = 0, EXIT_FAULT = 1, EXIT_USAGE = 2 };

/* A -D name=value[,value…]. */
struct define {
	char *name;
	int64_t *value;
	size_t n;
};

struct defines {
	VEC(struct define) v;
};

/* Parses a whole decimal number within [min, max]; false when it is none. */
bool option_number(const char *s, int64_t min, int64_t max, int64_t *out);
/* Adds the argument of a -D; a later one of the same name wins. false: malformed. */
bool option_define(struct defines *d, const char *arg);
void defines_free(struct defines *d);

#endif
