/* SPDX-License-Identifier: BSD-3-Clause
 * A text that grows. */
#include "util/text.h"

#include "util/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (t->err)
		return;
	va_start(ap, fmt);
	n = vsnprintf(t->at ? t->at + t->n : NULL, t->cap - t->n, fmt, ap);
	va_end(ap);
	if (n < 0) {
		t->err = -ERR_NOMEM;
		return;
	}
	if ((size_t)n >= t->cap - t->n) {
		t->err = vec_grow((void **)&t->at, &t->cap, t->n + (size_t)n + 1, 1);
		if (t->err)
			return;
		va_start(ap, fmt);
		vsnprintf(t->at + t->n, t->cap - t->n, fmt, ap);
		va_end(ap);
	}
	t->n += (size_t)n;
}

void text_add_ranges(struct text *t, const uint32_t *v, size_t n, size_t most)
{
	for (size_t i = 0, last, shown = 0; i < n; i = last + 1) {
		for (last = i; last + 1 < n && v[last + 1] == v[last] + 1;)
			last++;
		if (shown++ == most) {
			text_add(t, ", ...");
			return;
		}
		text_add(t, last == i ? "%s%u" : "%s%u-%u", i ? ", " : "", v[i], v[last]);
	}
}

int text_take(struct text *t, char **out)
{
	text_add(t, "%s", "");
	if (t->err) {
		free(t->at);
		t->at = NULL;
	}
	*out = t->at;
	return t->err;
}

/* Returns how many bytes of s are a character: 0 if they begin with none. */
static size_t find_char(const char *s, size_t len)
{
	const unsigned char *c = (const unsigned char *)s, first = len ? *c : 0x80;
	const size_t n = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;

	if (n > len)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	/* longer than need be, a surrogate, or above U+10FFFF */
	if (n > 2 && ((first == 0xe0 && c[1] < 0xa0) || (first == 0xed && c[1] > 0x9f) || (first == 0xf0 && c[1] < 0x90) ||
		      (first == 0xf4 && c[1] > 0x8f)))
		return 0;
	return n;
}

size_t text_add_char(struct text *t, const char *s, size_t len)
{
	const size_t n = find_char(s, len);

	if (n)
		text_add(t, "%.*s", (int)n, s);
	else
		text_add(t, TEXT_NO_CHAR);
	return n ? n : 1;
}

void text_add_xml(struct text *t, const char *s, size_t len)
{
	for (const char *end = s + strnlen(s, len); s < end;)
		if (*s == '<' || *s == '>' || *s == '&') {
			text_add(t, "&%s;", *s == '<' ? "lt" : *s == '>' ? "gt" : "amp");
			s++;
		} else {
			s += text_add_char(t, s, (size_t)(end - s));
		}
}

void text_clean(char *s, size_t len)
{
	unsigned char before = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c != '\n' && text_control(before, c))
			s[i] = '?';
		before = c;
	}
}
