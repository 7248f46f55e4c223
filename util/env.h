/* SPDX-License-Identifier: BSD-3-Clause
 * Environment variables: one table, the only getenv of the library. */
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

/* The value of a variable, or its default, which is also what programs with more rights than their caller get. */
const char *env_get(enum env_name name);
/* The same as a number of at least -1. 0, or -ERR_ARG when it is none. */
int env_number(enum env_name name, long *out);

#endif
