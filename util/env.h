/* SPDX-License-Identifier: BSD-3-Clause
 * Environment variables: the table of all of them, and the only calls of getenv in the library. */
#ifndef UTIL_ENV_H
#define UTIL_ENV_H

enum env_name {
#define ENV(NAME, fallback, range, help) ENV_##NAME,
#include "util/env.def"
#undef ENV
	ENV_COUNT
};

struct env_row {
	const char *name, *fallback;
	long least, most; /* the numbers that it may be; least > most: it is no number */
	const char *help;
};
extern const struct env_row env_table[ENV_COUNT];

/* Returns the value of a variable, or its default if it is not set. A program with more rights than its caller (setuid)
 * always gets the default. */
const char *env_get(enum env_name name);
/* Reads a variable as a number. Returns 0, or -ERR_ARG if the value is not a number that the variable may be. */
int env_number(enum env_name name, long *out);

#endif
