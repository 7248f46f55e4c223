/* SPDX-License-Identifier: BSD-3-Clause
 * Diagnostics: "file:line:col: error: message [check]", the offending line and a caret. */
#include "lang/loc.h"

#include "util/err.h"
#include "util/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Past this many messages of a kind the rest is only counted. */
#define SHOWN 20u
#define QUOTE 160u

struct source {
	char *name;
	const char *text;
	size_t len;
};

struct goal_diags {
	VEC(struct source) sources;
	VEC(char) text;
	unsigned errors, warnings;
};

struct goal_diags *goal_diags_new(void)
{
	struct goal_diags *d = mem_calloc(1, sizeof *d);

	if (d && VEC_PUSH(&d->text, '\0')) {
		free(d);
		return NULL;
	}
	return d;
}

void goal_diags_free(struct goal_diags *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->sources.n; i++)
		free(d->sources.at[i].name);
	VEC_FREE(&d->sources);
	VEC_FREE(&d->text);
	free(d);
}

int goal_diags_source(struct goal_diags *d, const char *name, const char *text, size_t len)
{
	char *copy = mem_alloc(strlen(name) + 1);

	if (!copy)
		return -ERR_NOMEM;
	strcpy(copy, name);
	if (VEC_PUSH(&d->sources, (struct source){ copy, text, len })) {
		free(copy);
		return -ERR_NOMEM;
	}
	return (int)d->sources.n - 1;
}

const char *goal_diags_name(const struct goal_diags *d, unsigned file)
{
	return file < d->sources.n ? d->sources.at[file].name : "?";
}

static void put(struct goal_diags *d, const char *s, size_t len)
{
	if (VEC_RESERVE(&d->text, d->text.n + len))
		return;
	memcpy(d->text.at + d->text.n - 1, s, len);
	d->text.n += len;
	d->text.at[d->text.n - 1] = '\0';
}

static void put_line(struct goal_diags *d, const struct source *s, struct goal_loc at)
{
	const char *p = s->text, *end = s->text + s->len;

	for (uint32_t line = 1; line < at.line; line++) {
		p = memchr(p, '\n', (size_t)(end - p));
		if (!p)
			return;
		p++;
	}
	const char *nl = memchr(p, '\n', (size_t)(end - p));
	size_t len = (size_t)((nl ? nl : end) - p), col = at.col ? at.col - 1u : 0;
	size_t from = col > QUOTE - 20 ? col - (QUOTE - 20) : 0;
	char line[QUOTE + 1], caret[QUOTE + 3];
	size_t n = 0;

	if (!len || at.col == UINT16_MAX) /* further right is not counted */
		return;

	for (; from + n < len && n < QUOTE; n++) {
		unsigned char c = (unsigned char)p[from + n];

		line[n] = c == '\t' ? '\t' : c < 32 || c == 127 ? '?' : (char)c;
	}
	if (n && from + n == len && p[len - 1] == '\r')
		n--;
	line[n] = '\n';
	put(d, line, n + 1);
	for (n = 0; n < col - from && n < QUOTE; n++)
		caret[n] = from + n < len && p[from + n] == '\t' ? '\t' : ' ';
	caret[n++] = '^';
	caret[n++] = '\n';
	put(d, caret, n);
}

void goal_diag(struct goal_diags *d, enum goal_severity s, struct goal_loc at, const char *tag,
	       const char *fmt, ...)
{
	unsigned *count = s == GOAL_ERROR ? &d->errors : &d->warnings;
	const char *kind = s == GOAL_ERROR ? "error" : "warning";
	char buf[1024];
	va_list ap;
	int n;

	if (++*count > SHOWN) {
		if (*count == SHOWN + 1) {
			n = snprintf(buf, sizeof buf, "%s: more %ss follow and are not shown\n",
				     goal_diags_name(d, at.file), kind);
			put(d, buf, (size_t)n);
		}
		return;
	}
	if (at.line)
		n = snprintf(buf, sizeof buf, "%s:%u:%u: %s: ", goal_diags_name(d, at.file), at.line,
			     at.col, kind);
	else
		n = snprintf(buf, sizeof buf, "%s: %s: ", goal_diags_name(d, at.file), kind);
	put(d, buf, n < (int)sizeof buf ? (size_t)n : sizeof buf - 1);
	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof buf, fmt, ap);
	va_end(ap);
	put(d, buf, n < (int)sizeof buf ? (size_t)n : sizeof buf - 1);
	if (tag) {
		n = snprintf(buf, sizeof buf, " [%s]", tag);
		put(d, buf, (size_t)n);
	}
	put(d, "\n", 1);
	if (at.line && at.file < d->sources.n && d->sources.at[at.file].text)
		put_line(d, &d->sources.at[at.file], at);
}

unsigned goal_diags_errors(const struct goal_diags *d)
{
	return d->errors;
}

unsigned goal_diags_warnings(const struct goal_diags *d)
{
	return d->warnings;
}

const char *goal_diags_text(const struct goal_diags *d)
{
	return d->text.at;
}
