/* SPDX-License-Identifier: BSD-3-Clause
 * A growing text. The first failure sticks, so that callers check once, at the end. */
#ifndef UTIL_TEXT_H
#define UTIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *at;
	size_t n, cap;
	int err;
};

__attribute__((format(printf, 2, 3))) void text_add(struct text *t, const char *fmt, ...);
/* The text, owned by the caller, in *out; 0 or -ERR_NOMEM. */
int text_take(struct text *t, char **out);

/* Whether a byte, behind another one, is a control character, which a terminal obeys: of ASCII, but no tab, or of those
 * that UTF-8 has besides. No text of a schedule has any. */
static inline bool text_control(unsigned char before, unsigned char c)
{
	return (c < 32 && c != '\t') || c == 127 || (before == 0xc2 && c >= 0x80 && c < 0xa0);
}

/* Puts question marks in the place of control characters, but for the ends of lines. */
void text_clean(char *s, size_t len);

#endif
