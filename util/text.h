/* SPDX-License-Identifier: BSD-3-Clause
 * A text that grows. Once an operation has failed, all later ones do nothing, so callers check once, at the end. */
#ifndef UTIL_TEXT_H
#define UTIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *at;
	size_t n, cap;
	int err;
};

__attribute__((format(printf, 2, 3))) void text_add(struct text *t, const char *fmt, ...);
/* Stores the text, owned by the caller, in *out. Returns 0 or -ERR_NOMEM; after a failure *out is NULL. */
int text_take(struct text *t, char **out);

/* Appends ascending distinct numbers as ranges: "1-17, 31-33, 64". At most `most` ranges are listed. */
void text_add_ranges(struct text *t, const uint32_t *v, size_t n, size_t most);

/* True if byte `c`, which follows byte `before`, ends a control character, which a terminal would obey: one of ASCII other
 * than tab, or one of C1 (U+0080 to U+009F) in UTF-8. Texts in schedules contain none. */
static inline bool text_control(unsigned char before, unsigned char c)
{
	return (c < 32 && c != '\t') || c == 127 || (before == 0xc2 && c >= 0x80 && c < 0xa0);
}

#define TEXT_NO_CHAR "\xef\xbf\xbd" /* U+FFFD, for a byte that is no character */
/* Appends the character of UTF-8 with which the bytes at s begin, of which there are len, or TEXT_NO_CHAR: names of files may be any
 * bytes, and texts of JSON and XML may not. Returns its bytes at s. */
size_t text_add_char(struct text *t, const char *s, size_t len);

/* Appends at most `len` bytes of a string as a text of XML. */
void text_add_xml(struct text *t, const char *s, size_t len);

/* Replaces each control character other than newline by a question mark. */
void text_clean(char *s, size_t len);

#endif
