/* SPDX-License-Identifier: BSD-3-Clause
 * Environment variables. */
#include "util/env.h"

#include "util/err.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

const struct env_row env_table[ENV_COUNT] = {
#define TEXT 0, -1
#define NUMBER(least, most) least, most
#define ENV(NAME, fallback, range, help) { #NAME, fallback, range, help },
#include "util/env.def"
#undef ENV
#undef NUMBER
#undef TEXT
};

const char *env_get(enum env_name name)
{
	/* secure_getenv: a setuid program must not open files that its caller names. */
	const char *v = secure_getenv(env_table[name].name);

	return v ? v : env_table[name].fallback;
}

int env_number(enum env_name name, long *out)
{
	const struct env_row *row = &env_table[name];
	const char *v = env_get(name);
	char *end;

	errno = 0;
	*out = strtol(v, &end, 10);
	return *v && !*end && !errno && *out >= row->least && *out <= row->most ? 0 : -ERR_ARG;
}
