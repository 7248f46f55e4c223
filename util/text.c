/* SPDX-License-Identifier: BSD-3-Clause
 * A text that grows. */
#include "util/text.h"

#include "util/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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
