/* SPDX-License-Identifier: BSD-3-Clause
 * Diagnostics: "file:line:col: error: message [check]", the offending line and a caret. */
#include "lang/loc.h"

#include "util/err.h"
#include "util/mem.h"
#include "util/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most messages of one severity that are kept; further ones are only counted. */
#define SHOWN 20u
#define QUOTE 160u
#define CALLERS 8u
#define RANGES 8u /* of ranks, in the message of a group */

struct source {
	char *name;
	struct file file; /* text to quote; may be empty */
	bool owned; /* true: the file is closed with the diagnostics; false: it stays the caller's */
	struct goal_loc from; /* position of the call that messages also name (goal_diags_called); line 0: none */
	/* The line that was found last, and its offset. The next search starts there, because most messages come in the
	 * order of the text. */
	uint32_t line;
	uint64_t off;
};

/* A message that stands for others of its kind at its position. */
struct group {
	const char *kind;
	struct goal_loc at;
	enum goal_severity severity;
	size_t end; /* offset in the text at which the number of the others is inserted */
	uint32_t first; /* rank of the message */
	uint64_t others;
	VEC(uint32_t) ranks; /* ranks of the others, in the order in which they were reported */
};

struct goal_diags {
	VEC(struct source) sources;
	VEC(char) text; /* all messages, without the numbers of others that groups stand for */
	VEC(struct group) groups; /* ascending in `end` */
	struct group next; /* the group that the next message begins, if its kind is set */
	char *whole; /* text of goal_diags_text() if it differs from `text`, or NULL */
	unsigned errors, warnings;
	unsigned shown[2]; /* number of messages in the text, by severity */
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
	for (size_t i = 0; i < d->sources.n; i++) {
		struct source *s = &d->sources.at[i];

		if (s->owned)
			file_close(&s->file);
		if (!s->from.line)
			free(s->name);
	}
	for (size_t i = 0; i < d->groups.n; i++)
		VEC_FREE(&d->groups.at[i].ranks);
	VEC_FREE(&d->groups);
	VEC_FREE(&d->sources);
	VEC_FREE(&d->text);
	free(d->whole);
	free(d);
}

int goal_diags_source(struct goal_diags *d, const char *name, const char *text, size_t len)
{
	return goal_diags_file(d, name, &(struct file){ -1, (char *)(uintptr_t)text, len });
}

int goal_diags_file(struct goal_diags *d, const char *name, const struct file *f)
{
	char *copy = mem_alloc(strlen(name) + 1);

	if (!copy)
		return -ERR_NOMEM;
	strcpy(copy, name);
	if (VEC_PUSH(&d->sources, (struct source){ .name = copy, .file = *f, .line = 1 })) {
		free(copy);
		return -ERR_NOMEM;
	}
	return (int)d->sources.n - 1;
}

int goal_diags_take(struct goal_diags *d, const char *name, struct file *f)
{
	int at = goal_diags_file(d, name, f);

	if (at < 0)
		file_close(f);
	else
		d->sources.at[at].owned = true;
	return at;
}

unsigned goal_diags_called(struct goal_diags *d, unsigned file, struct goal_loc from)
{
	struct source s = d->sources.at[file];

	s.owned = false;
	s.from = from;
	if (d->sources.n > UINT16_MAX || VEC_PUSH(&d->sources, s))
		return file;
	return (unsigned)d->sources.n - 1;
}

ssize_t goal_diags_read(const struct goal_diags *d, unsigned file, uint64_t off, void *buf, size_t max)
{
	return file_at(&d->sources.at[file].file, off, buf, max);
}

size_t goal_diags_len(const struct goal_diags *d, unsigned file)
{
	return d->sources.at[file].file.len;
}

const char *goal_diags_name(const struct goal_diags *d, unsigned file)
{
	return file < d->sources.n ? d->sources.at[file].name : "?";
}

/* Appends to the messages, and replaces control characters: names and texts are not trusted, and messages go to terminals. */
static void append_text(struct goal_diags *d, const char *s, size_t len)
{
	if (VEC_RESERVE(&d->text, d->text.n + len))
		return;
	memcpy(d->text.at + d->text.n - 1, s, len);
	text_clean(d->text.at + d->text.n - 1, len);
	d->text.n += len;
	d->text.at[d->text.n - 1] = '\0';
}

/* Moves s->off to the start of a line. Returns false if the source has no such line. */
static bool seek_line(struct source *s, uint32_t line)
{
	char buf[4096];
	uint64_t at;

	if (line < s->line) {
		s->line = 1;
		s->off = 0;
	}
	at = s->off;
	while (s->line < line) {
		ssize_t n = file_at(&s->file, at, buf, sizeof buf);
		const char *p = buf, *nl;

		if (n <= 0)
			return false;
		while (s->line < line && (nl = memchr(p, '\n', (size_t)(buf + n - p))) != NULL) {
			p = nl + 1;
			s->line++;
			s->off = at + (uint64_t)(p - buf);
		}
		at += (uint64_t)n;
	}
	return true;
}

void goal_diags_peek(struct goal_diags *d, struct goal_loc at, char *buf, size_t size)
{
	struct source *s = at.file < d->sources.n ? &d->sources.at[at.file] : NULL;
	ssize_t got = 0;

	if (s && at.line && at.col != UINT16_MAX && seek_line(s, at.line))
		got = file_at(&s->file, s->off + at.col - 1u, buf, size - 1);
	buf[got > 0 ? got : 0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
}

static void put_line(struct goal_diags *d, struct source *s, struct goal_loc at)
{
	size_t col = at.col ? at.col - 1u : 0, from = col > QUOTE - 20 ? col - (QUOTE - 20) : 0;
	char p[QUOTE + 1], line[QUOTE + 1], caret[QUOTE + 3];
	size_t len = 0, n = 0; /* bytes of the line behind `from`, and bytes that are shown */
	ssize_t got;

	if (at.col == UINT16_MAX || !seek_line(s, at.line)) /* larger columns are not counted */
		return;
	got = file_at(&s->file, s->off + from, p, sizeof p);
	while (got > 0 && len < (size_t)got && p[len] != '\n')
		len++;
	if (got <= 0 || from + len == 0)
		return;
	for (; n < len && n < QUOTE; n++)
		line[n] = p[n];
	if (n && n == len && p[len - 1] == '\r')
		n--;
	line[n] = '\n';
	append_text(d, line, n + 1);
	for (n = 0; n < col - from && n < QUOTE; n++)
		caret[n] = n < len && p[n] == '\t' ? '\t' : ' ';
	caret[n++] = '^';
	caret[n++] = '\n';
	append_text(d, caret, n);
}

/* Appends a note for each call that leads to a position, the innermost first. */
static void put_callers(struct goal_diags *d, struct goal_loc at)
{
	char buf[1024];
	int n;

	for (unsigned i = 0; at.file < d->sources.n && d->sources.at[at.file].from.line; i++) {
		at = d->sources.at[at.file].from;
		if (i == CALLERS) {
			append_text(d, "...\n", 4);
			break;
		}
		n = snprintf(buf, sizeof buf, "%s:%u:%u: note: called from here\n", goal_diags_name(d, at.file),
			     at.line, at.col);
		append_text(d, buf, n < (int)sizeof buf ? (size_t)n : sizeof buf - 1);
		put_line(d, &d->sources.at[at.file], at);
	}
}

/* Counts a message. Returns false if it is not shown, because there are too many. */
static bool count_message(struct goal_diags *d, enum goal_severity s, struct goal_loc at)
{
	const char *kind = s == GOAL_ERROR ? "error" : "warning";
	char buf[1024];
	int n;

	++*(s == GOAL_ERROR ? &d->errors : &d->warnings);
	if (++d->shown[s] <= SHOWN)
		return true;
	if (d->shown[s] == SHOWN + 1) {
		n = snprintf(buf, sizeof buf, "%s: more %ss follow and are not shown\n", goal_diags_name(d, at.file), kind);
		append_text(d, buf, n < (int)sizeof buf ? (size_t)n : sizeof buf - 1);
	}
	return false;
}

/* Begins the group that goal_diag_again() has announced. Its first message ends here. */
static void begin_group(struct goal_diags *d)
{
	if (!d->next.kind)
		return;
	d->next.end = d->text.n - 1;
	(void)VEC_PUSH(&d->groups, d->next); /* without memory, the others are shown one by one */
	d->next.kind = NULL;
}

void goal_diag(struct goal_diags *d, enum goal_severity s, struct goal_loc at, const char *tag,
	       const char *fmt, ...)
{
	const char *kind = s == GOAL_ERROR ? "error" : "warning";
	char buf[1024];
	va_list ap;
	int n;

	if (!count_message(d, s, at)) {
		d->next.kind = NULL;
		return;
	}
	if (at.line)
		n = snprintf(buf, sizeof buf, "%s:%u:%u: %s: ", goal_diags_name(d, at.file), at.line,
			     at.col, kind);
	else
		n = snprintf(buf, sizeof buf, "%s: %s: ", goal_diags_name(d, at.file), kind);
	append_text(d, buf, n < (int)sizeof buf ? (size_t)n : sizeof buf - 1);
	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof buf, fmt, ap);
	va_end(ap);
	append_text(d, buf, n < (int)sizeof buf ? (size_t)n : sizeof buf - 1);
	begin_group(d);
	if (tag) {
		n = snprintf(buf, sizeof buf, " [%s]", tag);
		append_text(d, buf, (size_t)n);
	}
	append_text(d, "\n", 1);
	if (at.line && at.file < d->sources.n)
		put_line(d, &d->sources.at[at.file], at);
	put_callers(d, at);
}

bool goal_diag_again(struct goal_diags *d, enum goal_severity s, struct goal_loc at, const char *kind, uint32_t rank)
{
	for (size_t i = 0; i < d->groups.n; i++) {
		struct group *g = &d->groups.at[i];

		if (g->kind != kind || g->severity != s || g->at.line != at.line || g->at.col != at.col || g->at.file != at.file)
			continue;
		++*(s == GOAL_ERROR ? &d->errors : &d->warnings);
		g->others++;
		if (rank != (g->ranks.n ? g->ranks.at[g->ranks.n - 1] : g->first))
			(void)VEC_PUSH(&g->ranks, rank); /* without memory, the rank is not named */
		return true;
	}
	d->next = (struct group){ .kind = kind, .at = at, .severity = s, .first = rank };
	return false;
}

static int compare_ranks(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Appends how many other messages a group stands for, and their ranks if these are several. */
static void add_others(struct text *t, const struct group *g)
{
	const size_t n = g->ranks.n + 1;
	uint32_t *ranks = mem_alloc(n * sizeof *ranks);
	size_t distinct = 0;

	if (!ranks) {
		t->err = -ERR_NOMEM;
		return;
	}
	ranks[0] = g->first;
	for (size_t i = 1; i < n; i++)
		ranks[i] = g->ranks.at[i - 1];
	qsort(ranks, n, sizeof *ranks, compare_ranks);
	for (size_t i = 0; i < n; i++)
		if (!distinct || ranks[i] != ranks[distinct - 1])
			ranks[distinct++] = ranks[i];
	text_add(t, " (and %llu like it", (unsigned long long)g->others);
	if (distinct > 1) {
		text_add(t, ", of ranks ");
		text_add_ranges(t, ranks, distinct, RANGES);
	}
	text_add(t, ")");
	free(ranks);
}

unsigned goal_diags_errors(const struct goal_diags *d)
{
	return d->errors;
}

unsigned goal_diags_warnings(const struct goal_diags *d)
{
	return d->warnings;
}

const char *goal_diags_text(struct goal_diags *d)
{
	struct text t = { 0 };
	size_t from = 0;

	free(d->whole);
	d->whole = NULL;
	for (size_t i = 0; i < d->groups.n; i++) {
		const struct group *g = &d->groups.at[i];

		if (!g->others)
			continue;
		text_add(&t, "%.*s", (int)(g->end - from), d->text.at + from);
		add_others(&t, g);
		from = g->end;
	}
	if (!from || (text_add(&t, "%s", d->text.at + from), text_take(&t, &d->whole)))
		return d->text.at;
	return d->whole;
}
