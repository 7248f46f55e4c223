/* SPDX-License-Identifier: BSD-3-Clause
 * Environment variables: the table of all of them, and the only calls of getenv in the library. */
#ifndef UTIL_ENV_H
#define UTIL_ENV_H

enum env_name {
#define ENV(NAME, fallback, help) ENV_##NAME,
#include "util/env.def"
#undef ENV
	ENV_COUNT
};

struct env_row {
	const char *name, *fallback, *help;
};
extern const struct env_row env_table[ENV_COUNT];

/* Returns the value of a variable, or its default if it is not set. A program with more rights than its caller (setuid)
 * always gets the default. */
const char *env_get(enum env_name name);
/* Reads a variable as a number of at least -1. Returns 0, or -ERR_ARG if the value is not such a number. */
int env_number(enum env_name name, long *out);

#endif
