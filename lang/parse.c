/* SPDX-License-Identifier: BSD-3-Clause
 * Entry points of the two parsers, and the functions that their lexers share (lang/lex.h). */
#include "format/bin.h"
#include "lang/lex.h"
#include "util/err.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

/* Functions of the generated lexers and parsers. */
int goal_plain_lex_init_extra(struct goal_lex *x, void **scanner);
int goal_plain_lex_destroy(void *scanner);
int goal_plain_parse(void *scanner, struct goal_lex *x);
int goal_param_lex_init_extra(struct goal_lex *x, void **scanner);
int goal_param_lex_destroy(void *scanner);
int goal_param_parse(void *scanner, struct goal_lex *x);

uint64_t goal_lex_number(struct goal_lex *x, struct goal_loc at, const char *s, size_t len)
{
	uint64_t v = 0;

	for (size_t i = 0; i < len; i++) {
		uint64_t digit = (uint64_t)(s[i] - '0');

		if (v > ((uint64_t)INT64_MAX - digit) / 10) {
			goal_diag(x->diags, GOAL_ERROR, at, "overflow",
				  "the number %.*s%s is larger than %lld", len > 24 ? 24 : (int)len, s,
				  len > 24 ? "..." : "", (long long)INT64_MAX);
			return UINT64_MAX;
		}
		v = v * 10 + digit;
	}
	return v;
}

/* Returns the position of a byte of the text. The text is read again from its start, because the byte is beyond the
 * lexer's position. */
static struct goal_loc loc_of(const struct goal_lex *x, uint64_t off)
{
	struct goal_loc at = { 1, 1, x->at.file };
	uint64_t line = 0;
	char buf[4096];

	for (uint64_t i = 0, n; i < off; i += n) {
		ssize_t got = goal_diags_read(x->diags, at.file, i, buf, sizeof buf);

		if (got <= 0)
			break;
		n = (uint64_t)got;
		for (uint64_t k = 0; k < n && i + k < off; k++)
			if (buf[k] == '\n') {
				at.line++;
				line = i + k + 1;
			}
	}
	at.col = (uint16_t)(off - line < UINT16_MAX ? off - line + 1 : UINT16_MAX);
	return at;
}

size_t goal_lex_read(struct goal_lex *x, char *buf, size_t max)
{
	ssize_t n = goal_diags_read(x->diags, x->at.file, x->off, buf, max);
	const char *zero = n > 0 ? memchr(buf, '\0', (size_t)n) : NULL;

	if (zero) {
		goal_diag(x->diags, GOAL_ERROR, loc_of(x, x->off + (uint64_t)(zero - buf)), "syntax",
			  "this is no text: it has a byte that is 0");
		n = -ERR_SYNTAX;
	}
	if (n < 0) {
		x->err = (int)n;
		longjmp(x->fatal, 1);
	}
	x->off += (uint64_t)n;
	return (size_t)n;
}

void goal_lex_string(struct goal_lex *x, struct goal_loc at, const char *s, size_t len)
{
	for (size_t i = 1; i < len; i++)
		if (text_control((unsigned char)s[i - 1], (unsigned char)s[i])) {
			goal_diag(x->diags, GOAL_ERROR, at, "syntax", "this string has a control character");
			return;
		}
}

void goal_lex_unclosed(struct goal_lex *x)
{
	goal_diag(x->diags, GOAL_ERROR, x->comment, "syntax", "this comment is not closed");
	x->end_reported = true;
}

static bool is_end(const char *kind)
{
	return !strcmp(kind, "the end of the file");
}

/* Appends bison's name of a kind of token in the form that messages use. */
static void add_kind(struct text *t, const char *kind)
{
	if (!strncmp(kind, "a ", 2) || !strncmp(kind, "an ", 3) || !strncmp(kind, "the ", 4))
		text_add(t, "%s", kind);
	else if (*kind == '\'')
		text_add(t, "\"%c\"", kind[1]);
	else
		text_add(t, "\"%s\"", kind);
}

static void add_found(struct text *t, const char *the, const char *kind, const char *text, size_t len)
{
	unsigned char c = len ? (unsigned char)*text : 0;

	if (*kind == '\'')
		text_add(t, "\"%c\"", kind[1]);
	else if (!strncmp(kind, "the end", 7))
		text_add(t, "%s%s", the, kind + 4);
	else if (c < 32 || c > 126)
		text_add(t, "%sbyte 0x%02x", the, c);
	else if (c == '"' && len > 1)
		text_add(t, "%.*s%s", len > 40 ? 40 : (int)len, text, len > 40 ? "..." : "");
	else
		text_add(t, "\"%.*s%s\"", len > 40 ? 40 : (int)len, text, len > 40 ? "..." : "");
}

/* Returns the end of a message about a token that other languages have in its place, or "". */
static const char *hint(struct goal_lex *x, struct goal_loc at, const char *line)
{
	static const struct {
		const char *text; /* found so that the token at `at` is its last character */
		const char *hint;
		bool inside; /* only in brackets */
	} habits[] = {
		{ "&&", "; did you mean \"and\"?", false },
		{ "||", "; did you mean \"or\"?", false },
		{ "**", "; did you mean \"^\"?", false },
		{ "%", "; did you mean \"mod\"?", false },
		{ "!", "; did you mean \"not\"?", false },
		{ "#", "; did you mean \"//\"?", false },
		{ ":", "; a range is [first +: number]", true },
		{ ".", "; a range is [first +: number]", true },
		{ "for (", "; a loop is \"for i = 0 to n - 1 { ... }\"", false },
		{ "for(", "; a loop is \"for i = 0 to n - 1 { ... }\"", false },
		{ "+", "; a variable is only set with \"=\"", false },
		{ "-", "; a variable is only set with \"=\"", false },
	};
	const char *p = line + strspn(line, " \t"), *here = line + at.col;

	if (!x->text || at.col > strlen(line))
		return "";
	if (!strncmp(p, "buffer", 6) && here[-1] == '[')
		return "; a buffer has a mode: in, out, inout or scratch";
	if (here[-1] == '=' && here[0] == '=')
		return "; did you mean \"=\"?";
	if (here[-1] == '=' && (strstr(line, "if ") || strstr(line, "assert ")))
		return "; did you mean \"==\"?";
	for (size_t i = 0; i < sizeof habits / sizeof *habits; i++) {
		const char *text = habits[i].text;
		const size_t n = strlen(text);
		const bool sets = *text == '+' || *text == '-'; /* as in += and ++ */

		if (n <= at.col && !strncmp(here - n, text, n) && (!habits[i].inside || x->depth) &&
		    (!sets || here[0] == '=' || here[0] == *text))
			return habits[i].hint;
	}
	return "";
}

void goal_lex_unexpected(struct goal_lex *x, struct goal_loc at, const char *kind, const char *text,
			 size_t len, const char *const *expected, int n)
{
	struct text t = { 0 };
	int shown = 0, due = 0;
	char line[256], *s;

	if (x->err || x->end_reported || x->bad_line == at.line)
		return;
	x->bad_line = at.line;
	if (is_end(kind) && x->nopen) {
		unsigned last = x->nopen > GOAL_OPEN ? GOAL_OPEN : x->nopen;

		text_add(&t, "the file ends, but the \"{\" of line %u is not closed", x->open[last - 1].line);
		n = -1;
	}
	for (int i = 0; i < n; i++) /* an empty line is nearly always allowed: do not suggest it */
		due += n == 1 || strcmp(expected[i], "the end of the line") != 0;
	if (n >= 0 && (due == 0 || due > 4)) {
		text_add(&t, "unexpected ");
		add_found(&t, "", kind, text, len);
	} else if (n >= 0) {
		text_add(&t, "expected ");
		for (int i = 0; i < n; i++) {
			if (n > 1 && !strcmp(expected[i], "the end of the line"))
				continue;
			shown++;
			text_add(&t, "%s", shown == 1 ? "" : shown == due ? " or " : ", ");
			add_kind(&t, expected[i]);
		}
		text_add(&t, ", not ");
		add_found(&t, "the ", kind, text, len);
	}
	goal_diags_peek(x->diags, (struct goal_loc){ at.line, 1, at.file }, line, sizeof line);
	if (text_take(&t, &s))
		x->err = -ERR_NOMEM;
	else
		goal_diag(x->diags, GOAL_ERROR, at, "syntax", "%s%s", s, hint(x, at, line));
	free(s);
	x->end_reported = is_end(kind);
}

/* Reads a text byte by byte. */
struct bytes {
	const struct file *file;
	uint64_t off;
	ssize_t at, n;
	char buf[4096];
};

/* Returns the next byte, or -1 at the end. */
static int next_byte(struct bytes *b)
{
	if (b->at == b->n) {
		b->n = file_at(b->file, b->off, b->buf, sizeof b->buf);
		b->at = 0;
		if (b->n <= 0) {
			b->n = 0;
			return -1;
		}
		b->off += (uint64_t)b->n;
	}
	return (unsigned char)b->buf[b->at++];
}

static bool match_word(struct bytes *b, const char *rest)
{
	while (*rest && next_byte(b) == *rest)
		rest++;
	return !*rest;
}

/* Returns the first byte that is neither a blank nor part of a comment, or -1 at the end. */
static int first(struct bytes *b)
{
	int c = next_byte(b);

	while (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '/') {
		bool line = false;

		if (c == '/') {
			c = next_byte(b);
			line = c == '/';
			if (!line && c != '*')
				return -1;
			c = next_byte(b);
			for (int last = 0; c >= 0 && (line ? c != '\n' : c != '/' || last != '*');) {
				last = c;
				c = next_byte(b);
			}
		}
		c = next_byte(b);
	}
	return c;
}

bool goal_text_is_parametric(const struct file *f)
{
	struct bytes b = { .file = f };
	int c = first(&b);

	if (!(c == 's' && match_word(&b, "chedule")) && !(c == 'i' && match_word(&b, "mport")))
		return false;
	c = next_byte(&b);
	return c < 0 || !goal_is_name((char)c);
}

bool goal_text_is_plain(const struct file *f)
{
	struct bytes b = { .file = f };
	int c = first(&b);

	if (c == 'n')
		return match_word(&b, "um_ranks");
	if (c != 'r' || !match_word(&b, "ank"))
		return false;
	do
		c = next_byte(&b);
	while (c == ' ' || c == '\t');
	return c >= '0' && c <= '9';
}

#define LONGEST ((size_t)1 << 28) /* bytes of the longest token; flex scanners count in int */

/* The size of a block is stored in the 16 bytes in front of it. */
void *goal_lex_alloc(struct goal_lex *x, const void *old, size_t n)
{
	size_t *p = n <= LONGEST ? arena_alloc(&x->scanner, n + 16) : NULL;

	if (n > LONGEST)
		x->err = -ERR_RANGE;
	if (!p)
		return NULL;
	if (old) {
		size_t had = *(const size_t *)(const void *)((const char *)old - 16);

		memcpy(p + 16 / sizeof *p, old, had < n ? had : n);
	}
	*p = n;
	return p + 16 / sizeof *p;
}

/* Runs one parser. Frees the scanner's memory, also after a jump to x->fatal. */
static int run_parser(struct goal_lex *x, int (*init)(struct goal_lex *, void **), int (*destroy)(void *),
		      int (*parse)(void *, struct goal_lex *))
{
	void *volatile scanner = NULL;
	void *fresh = NULL;

	if (init(x, &fresh)) {
		arena_fini(&x->scanner);
		return -ERR_NOMEM;
	}
	scanner = fresh;
	if (setjmp(x->fatal))
		x->err = x->err ? x->err : -ERR_NOMEM;
	else if (parse(scanner, x) == 2)
		x->err = -ERR_NOMEM;
	destroy(scanner);
	arena_fini(&x->scanner);
	return x->err;
}

int goal_plain_begin_rank(struct goal_lex *x, uint32_t rank, struct goal_loc at)
{
	x->rank = rank;
	x->errors = goal_diags_errors(x->diags);
	x->inside = true;
	return x->sink->rank(x->sink->arg, rank, at);
}

int goal_plain_end_rank(struct goal_lex *x)
{
	x->inside = false;
	if (x->rank == GOAL_ANY) /* the rank's number is wrong, which has been reported */
		return 0;
	return x->sink->end(x->sink->arg, &x->labels, goal_diags_errors(x->diags) != x->errors);
}

int goal_parse_plain(struct goal_diags *d, unsigned file, const struct goal_plain_sink *sink)
{
	struct goal_lex x = { .diags = d, .at = { 1, 1, (uint16_t)file }, .sink = sink };
	int err = -ERR_NOMEM;

	x.ahead = mem_calloc(1, GOAL_AHEAD + 16); /* 16 more bytes: skip_word() of plain_lines.c compares words beyond the end */
	if (x.ahead)
		err = run_parser(&x, goal_plain_lex_init_extra, goal_plain_lex_destroy, goal_plain_parse);
	free(x.ahead);
	goal_labels_fini(&x.labels);
	return err;
}

int goal_parse_text(struct goal_diags *d, unsigned file, struct goal_text *t)
{
	struct goal_lex x = { .diags = d, .at = { 1, 1, (uint16_t)file }, .text = t, .last_import = &t->imports };

	return run_parser(&x, goal_param_lex_init_extra, goal_param_lex_destroy, goal_param_parse);
}

bool goal_number(const struct goal_expr *e, int64_t *out)
{
	const bool minus = e->kind == GOAL_E_UNARY && e->fn == BIN_NEG;

	if (minus)
		e = e->arg[0];
	*out = minus ? -e->num : e->num;
	return e->kind == GOAL_E_NUM;
}

bool goal_computed(const struct goal_param *p)
{
	int64_t number;

	return p->value && !goal_number(p->value, &number);
}
