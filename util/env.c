/* SPDX-License-Identifier: BSD-3-Clause
 * Environment variables. */
#include "util/env.h"

#include <stdlib.h>

const struct env_row env_table[ENV_COUNT] = {
#define ENV(NAME, fallback, help) { #NAME, fallback, help },
#include "util/env.def"
#undef ENV
};

const char *env_get(enum env_name name)
{
	const char *v = getenv(env_table[name].name);

	return v ? v : env_table[name].fallback;
}

long env_number(enum env_name name)
{
	const char *v = env_get(name);
	char *end;
	long n = strtol(v, &end, 10);

	return *v && !*end && n >= 0 ? n : strtol(env_table[name].fallback, NULL, 10);
}
