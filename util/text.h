/* SPDX-License-Identifier: BSD-3-Clause
 * A growing text. The first failure sticks, so that callers check once, at the end. */
#ifndef UTIL_TEXT_H
#define UTIL_TEXT_H

#include <stddef.h>

struct text {
	char *at;
	size_t n, cap;
	int err;
};

__attribute__((format(printf, 2, 3))) void text_add(struct text *t, const char *fmt, ...);
/* The text, owned by the caller, in *out; 0 or -ERR_NOMEM. */
int text_take(struct text *t, char **out);

#endif
