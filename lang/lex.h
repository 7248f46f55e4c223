/* SPDX-License-Identifier: BSD-3-Clause
 * What the two lexers share: input from memory and positions. */
#ifndef LANG_LEX_H
#define LANG_LEX_H

#include "lang/ast.h"
#include "util/err.h"

#include <limits.h>
#include <setjmp.h>

/* Deeper ones are not named in messages. */
#define GOAL_OPEN 32u

/* A token that the buffer ends in is read again from its start when more has come: so as much comes as there is room for,
 * which doubles, and a long token costs no more than many short ones. */
#define YY_READ_BUF_SIZE INT_MAX

struct goal_lex {
	struct goal_diags *diags;
	uint64_t off; /* in the source, of what is not read yet */
	struct goal_loc at; /* of the next character */
	int err; /* -ERR_x: stop */
	struct arena scanner; /* the scanner's own memory */
	bool end_reported; /* the end of the file has been reported already */
	int resume; /* the start condition around a comment */
	struct goal_loc comment; /* where it starts */
	struct goal_loc open[GOAL_OPEN]; /* the braces that are not closed */
	unsigned nopen;
	jmp_buf fatal; /* taken when the scanner cannot go on: for err, or for want of memory */
	/* plain */
	const struct goal_plain_sink *sink;
	struct goal_labels labels; /* of the rank */
	struct goal_plain_op op; /* being read */
	uint32_t rank;
	unsigned errors; /* before the rank */
	bool inside; /* a rank, as far as the parser knows */
	bool midline; /* the lexer has the start of a line without its end */
	char *ahead; /* GOAL_AHEAD bytes; what is at from ... to has been read, but not given to the lexer */
	size_t from, to;
	/* parametric */
	struct goal_text *text;
	struct goal_schedule *schedule; /* being read */
	struct goal_call *call;
	struct goal_import **last_import; /* where the next one goes */
	struct goal_buffer **last_buffer; /* of the schedule */
	struct goal_range **last_range; /* of the call */
	bool calls; /* the statement is a call, which has keywords of its own */
	bool operand; /* the next word is an operand, hence a name */
	bool head; /* the statement is the head of a schedule */
	bool scope; /* the next word may be a scope or a mode, which a name follows */
	int depth, ternary;
	bool joins; /* an else follows, on this line or another */
};

/* Copies up to max bytes of what is left; YY_INPUT of both lexers. A byte 0 ends the parse: this is no text. */
size_t goal_lex_read(struct goal_lex *x, char *buf, size_t max);

#define GOAL_AHEAD 65536u

/* The same for plain GOAL. When a statement may start, those in the form of generators that come next go to the sink and not
 * into buf (plain_lines.c). */
size_t goal_plain_read(struct goal_lex *x, bool statement, char *buf, size_t max);

/* A rank of plain GOAL begins, with its number at a position, and ends; what the sink returned. */
int goal_plain_begin_rank(struct goal_lex *x, uint32_t rank, struct goal_loc at);
int goal_plain_end_rank(struct goal_lex *x);

/* Steps over a token without a newline; returns where it started. */
static inline struct goal_loc goal_lex_step(struct goal_lex *x, int len)
{
	struct goal_loc at = x->at;
	long col = (long)x->at.col + len;

	x->at.col = (uint16_t)(col > UINT16_MAX ? UINT16_MAX : col);
	return at;
}

/* Steps back over the last n bytes of a token, which yyless gives back. Too far right stays there. */
static inline void goal_lex_back(struct goal_lex *x, int n)
{
	if (x->at.col < UINT16_MAX)
		x->at.col = (uint16_t)(x->at.col > n ? x->at.col - n : 1);
}

static inline void goal_lex_newline(struct goal_lex *x)
{
	x->at.line++;
	x->at.col = 1;
}

static inline void goal_lex_open(struct goal_lex *x, struct goal_loc at)
{
	if (x->nopen++ < GOAL_OPEN)
		x->open[x->nopen - 1] = at;
}

static inline void goal_lex_close(struct goal_lex *x)
{
	x->nopen -= x->nopen > 0;
}

/* n bytes of the scanner's memory, beginning with what is at old if that is not NULL. */
void *goal_lex_alloc(struct goal_lex *x, const void *old, size_t n);

/* The value of a decimal literal, or UINT64_MAX after a diagnostic when it does not fit 63 bits. */
uint64_t goal_lex_number(struct goal_lex *x, struct goal_loc at, const char *s, size_t len);

/* Says it when a string has control characters. */
void goal_lex_string(struct goal_lex *x, struct goal_loc at, const char *s, size_t len);

/* A comment that starts at x->comment runs to the end of the file. */
void goal_lex_unclosed(struct goal_lex *x);

/* Says that a token of some kind was found where others are due. Kinds are bison's names: "a number",
 * "the end of the line", a word, or a character in quotes. */
void goal_lex_unexpected(struct goal_lex *x, struct goal_loc at, const char *kind, const char *text,
			 size_t len, const char *const *expected, int n);

#endif
