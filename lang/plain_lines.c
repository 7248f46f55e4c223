/* SPDX-License-Identifier: BSD-3-Clause
 * Reads plain GOAL in the form in which generators write it, with one statement on each line:
 *
 *   rank 3 {
 *   l1: send 10b to 1 tag 0 cpu 0 nic 0
 *   l2: recv 10b from 1
 *   l3: calc 5
 *   l3 requires l2
 *   }
 *
 * The label, tag, cpu and nic may be missing. More blanks may stand where the example has one, and blanks may begin and end
 * a line. Nearly all lines of a large file are of this form. They are taken out of the text before the lexer sees
 * them, and are read at several times its speed. Nothing is refused here: a line that differs in any way, or has
 * too large a number, is left to the lexer and the grammar, which define the language. */
#include "lang/lex.h"

#include <string.h>

/* The functions up to line_op() read within one line and stop at its newline. */

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline const char *skip_blanks(const char *s)
{
	while (is_blank(*s))
		s++;
	return s;
}

/* Returns the length of the identifier that s starts with, or 0. */
static inline size_t name_len(const char *s)
{
	size_t n = 0;

	while (goal_is_name(s[n]))
		n++;
	return is_digit(*s) ? 0 : n;
}

/* Moves *s over the word w and the blanks behind it. Returns false, without a move, if they are not there. */
static inline bool skip_word(const char **s, const char *w, size_t len)
{
	if (memcmp(*s, w, len) != 0 || !is_blank((*s)[len]))
		return false;
	*s = skip_blanks(*s + len + 1);
	return true;
}

#define WORD(s, w) skip_word((s), (w), sizeof(w) - 1)

/* Reads a number of at most `digits` digits and moves *s behind it. Returns false, without a move, if there is none. */
static inline bool parse_digits(const char **s, int digits, uint64_t *v)
{
	const char *p = *s;
	uint64_t n = 0;

	for (; is_digit(*p); p++)
		n = n * 10 + (uint64_t)(*p - '0');
	if (p == *s || p - *s > digits)
		return false;
	*s = p;
	*v = n;
	return true;
}

/* Reads a number that fits 32 bits, and moves *s behind it and the blanks that follow. */
static inline bool parse_u32(const char **s, uint32_t *v)
{
	uint64_t n;

	if (!parse_digits(s, 9, &n))
		return false;
	*v = (uint32_t)n;
	*s = skip_blanks(*s);
	return true;
}

/* Returns the position of the newline if it comes next, after an optional carriage return; else NULL. */
static inline const char *line_end(const char *s)
{
	s += *s == '\r';
	return *s == '\n' ? s : NULL;
}

/* Reads an op into *op. Returns the end of the line, or NULL if the line is not of this form. */
static const char *line_op(const char *s, struct goal_plain_op *op)
{
	bool message;

	if (WORD(&s, "send"))
		op->kind = GOAL_SEND;
	else if (WORD(&s, "recv"))
		op->kind = GOAL_RECV;
	else if (WORD(&s, "calc"))
		op->kind = GOAL_CALC;
	else
		return NULL;
	message = op->kind != GOAL_CALC;
	if (!parse_digits(&s, 18, &op->size))
		return NULL;
	if (message && !(op->kind == GOAL_SEND ? WORD(&s, "b to") : WORD(&s, "b from")))
		return NULL;
	if (message && !parse_u32(&s, &op->peer))
		return NULL;
	s = skip_blanks(s);
	if (message && *s == 't' && !(WORD(&s, "tag") && parse_u32(&s, &op->tag)))
		return NULL;
	if (*s == 'c' && !(WORD(&s, "cpu") && parse_u32(&s, &op->cpu)))
		return NULL;
	if (*s == 'n' && !(WORD(&s, "nic") && parse_u32(&s, &op->nic)))
		return NULL;
	return line_end(s);
}

static struct goal_loc loc_of(const struct goal_lex *x, const char *line, const char *s)
{
	struct goal_loc at = x->at;

	at.col = (uint16_t)(s - line + 1);
	return at;
}

/* Reads "op requires on" and passes it to the sink; `s` points behind op. Returns the end of the line, or NULL if
 * the line is not of this form. */
static const char *line_dep(struct goal_lex *x, const char *line, const char *op, const char *s)
{
	bool start = *s == 'i';
	size_t on_len;
	const char *end;
	int64_t from, to;

	if (!(start ? WORD(&s, "irequires") : WORD(&s, "requires")))
		return NULL;
	on_len = name_len(s);
	end = on_len ? line_end(skip_blanks(s + on_len)) : NULL;
	if (!end)
		return NULL;
	from = goal_label(&x->labels, op);
	to = from < 0 ? from : goal_label(&x->labels, s);
	x->err = to < 0 ? (int)to :
			  x->sink->dep(x->sink->arg,
				       &(struct goal_plain_dep){ (uint32_t)from, (uint32_t)to, loc_of(x, line, op),
								 loc_of(x, line, s), start });
	return end;
}

/* Reads a statement, which it passes to the sink, or an empty line. Returns the next line, or NULL if the line is not of this
 * form. */
static const char *take_line(struct goal_lex *x, const char *line)
{
	const char *name = skip_blanks(line), *s, *end;
	size_t len = name_len(name);
	struct goal_plain_op op = { .label = GOAL_ANY };

	if (name + len - line > UINT16_MAX / 4) /* columns this far right might not be counted */
		return NULL;
	s = skip_blanks(name + len);
	if (len == 0)
		end = line_end(s);
	else if (s > name + len && (*s == 'r' || *s == 'i'))
		end = line_dep(x, line, name, s);
	else
		end = line_op(*s == ':' ? skip_blanks(s + 1) : name, &op);
	if (end && op.kind) {
		if (*s == ':') {
			int64_t label = goal_label(&x->labels, name);

			x->err = label < 0 ? (int)label : 0;
			op.label = (uint32_t)label;
		}
		op.loc = loc_of(x, line, name);
		if (!x->err)
			x->err = x->sink->op(x->sink->arg, &op);
	}
	if (!end)
		return NULL;
	goal_lex_newline(x);
	return end + 1;
}

/* Reads the end of a rank and the head of the next one, which must all stand before the newline at `last`. Returns the first
 * line of the next rank's statements, or NULL if the lines are not of this form. */
static const char *take_rank(struct goal_lex *x, const char *line, const char *last)
{
	const char *s = skip_blanks(line), *brace, *end;
	uint32_t rank, lines = 0;

	if (*s != '}' || x->nopen != 1)
		return NULL;
	for (s++; (s = line_end(skip_blanks(s))) != NULL; s = line) { /* empty lines */
		if (s == last)
			return NULL;
		line = s + 1;
		lines++;
	}
	s = skip_blanks(line);
	if (!WORD(&s, "rank"))
		return NULL;
	brace = s;
	if (!parse_u32(&brace, &rank) || *brace != '{' || brace - line > UINT16_MAX / 4)
		return NULL;
	end = line_end(skip_blanks(brace + 1));
	if (!end)
		return NULL;
	x->err = goal_plain_end_rank(x);
	goal_labels_clear(&x->labels);
	x->at.line += lines;
	x->open[0] = loc_of(x, line, brace);
	if (!x->err)
		x->err = goal_plain_begin_rank(x, rank, loc_of(x, line, s));
	goal_lex_newline(x);
	return end + 1;
}

/* Reads more of the source into the buffer. Returns false if there is no more, or no room. */
static bool fill_lookahead(struct goal_lex *x)
{
	size_t n;

	memmove(x->ahead, x->ahead + x->from, x->to - x->from);
	x->to -= x->from;
	x->from = 0;
	n = goal_lex_read(x, x->ahead + x->to, GOAL_AHEAD - x->to);
	x->to += n;
	return n > 0;
}

/* Handles all lines that come next and have the form of generators. */
static void take_lines(struct goal_lex *x)
{
	do {
		const char *s = x->ahead + x->from, *last = memrchr(s, '\n', x->to - x->from), *next = s;

		while (last && s <= last &&
		       ((next = take_line(x, s)) != NULL || (next = take_rank(x, s, last)) != NULL)) {
			if (x->err)
				longjmp(x->fatal, 1);
			s = next;
		}
		x->from = (size_t)(s - x->ahead);
		if (!next)
			return;
	} while (fill_lookahead(x));
}

/* Copies up to max bytes from the buffer to buf, for the lexer. Where statements follow, it stops at the end of the line, so
 * that take_lines() can try the next one. */
static size_t take(struct goal_lex *x, char *buf, size_t max)
{
	const char *s = x->ahead + x->from, *nl, *open;
	size_t n = x->to - x->from;

	nl = memchr(s, '\n', n);
	if (!x->inside || *skip_blanks(s) == '}') { /* before a rank: stop at the end of the line with the next open brace */
		open = memchr(s, '{', n);
		nl = open ? memchr(open, '\n', n - (size_t)(open - s)) : NULL;
	}
	if (nl)
		n = (size_t)(nl - s) + 1;
	if (n > max)
		n = max;
	memcpy(buf, s, n);
	x->from += n;
	x->midline = n && buf[n - 1] != '\n';
	return n;
}

size_t goal_plain_read(struct goal_lex *x, bool statement, char *buf, size_t max)
{
	size_t n = 0;

	if (statement && x->inside && !x->midline)
		take_lines(x);
	do { /* a line without its end may end inside a token: give all of it at once, see YY_READ_BUF_SIZE */
		if (x->from == x->to && !fill_lookahead(x))
			break;
		n += take(x, buf + n, max - n);
	} while (x->midline && n < max);
	return n;
}
