/* SPDX-License-Identifier: BSD-3-Clause
 * The state that lexer and parser of a text share, for both dialects, and functions of the lexers: input, positions, memory
 * and messages. */
#ifndef LANG_LEX_H
#define LANG_LEX_H

#include "lang/ast.h"
#include "util/err.h"

#include <limits.h>
#include <setjmp.h>

/* Depth of nesting up to which a message can name the line of an open brace. */
#define GOAL_OPEN 32u

/* Bytes that a flex scanner may ask for at a time. When the buffer ends inside a token, flex reads more and scans the token
 * again from its start. So it always fills its buffer, whose size doubles: the cost of a long token stays linear. */
#define YY_READ_BUF_SIZE INT_MAX

struct goal_lex {
	struct goal_diags *diags;
	uint64_t off; /* offset in the source of the first byte that has not been read */
	struct goal_loc at; /* position of the next character */
	int err; /* 0, or the -ERR_x for which the parse has to stop */
	struct arena scanner; /* memory of the flex scanner */
	uint32_t bad_line; /* line of the last unexpected token, which is the only one that is reported of a line */
	bool end_reported; /* an unexpected end of the file has been reported */
	int resume; /* start condition of flex to return to after a comment */
	struct goal_loc comment; /* start of the comment */
	struct goal_loc open[GOAL_OPEN]; /* positions of the braces that are not closed */
	unsigned nopen;
	jmp_buf fatal; /* target of the jump out of the parse, if err is set or memory runs out */
	/* The fields below are for plain GOAL. */
	const struct goal_plain_sink *sink;
	struct goal_labels labels; /* labels of the current rank */
	struct goal_plain_op op; /* op that is being read */
	uint32_t rank;
	unsigned errors; /* number of errors before the current rank */
	bool inside; /* true if the parser is inside a rank */
	bool midline; /* true if the lexer has been given the start of a line, but not its end */
	char *ahead; /* buffer of GOAL_AHEAD bytes; the lexer has not been given the bytes [from, to) yet */
	size_t from, to;
	/* The fields below are for parametric GOAL. */
	struct goal_text *text;
	struct goal_schedule *schedule; /* schedule that is being read */
	struct goal_call *call;
	struct goal_import **last_import; /* where the next import is linked in */
	struct goal_buffer **last_buffer; /* where the next buffer of the schedule is linked in */
	struct goal_named **last_define; /* where the next definition of the schedule is linked in */
	struct goal_range **last_range; /* where the next range of the call is linked in */
	bool calls; /* true if the statement is a call, which has its own keywords */
	bool operand; /* true if the next word is an operand, and so a name */
	bool head; /* true if the statement is the head of a schedule */
	bool scope; /* true if the next word may be a scope or mode, which a name follows */
	int depth, ternary; /* in the statement so far, numbers of open brackets and parentheses, and of "?" without their ":" */
	bool joins; /* true if an "else" follows, on this line or a later line */
};

/* Copies up to max bytes of the rest of the source to buf. Both lexers use this as YY_INPUT. A byte 0 ends the parse with an
 * error, because the source is then not a text. */
size_t goal_lex_read(struct goal_lex *x, char *buf, size_t max);

#define GOAL_AHEAD 65536u

/* Like goal_lex_read, for plain GOAL. If `statement` is true, a statement may start here. The next lines that have the form
 * of generators are then passed to the sink and left out of buf (plain_lines.c). */
size_t goal_plain_read(struct goal_lex *x, bool statement, char *buf, size_t max);

/* These functions begin and end a rank of plain GOAL. `at` is the position of the rank's number. Both return the result of
 * the sink. */
int goal_plain_begin_rank(struct goal_lex *x, uint32_t rank, struct goal_loc at);
int goal_plain_end_rank(struct goal_lex *x);

/* Moves the position over a token without a newline. Returns the position of the token. */
static inline struct goal_loc goal_lex_step(struct goal_lex *x, int len)
{
	struct goal_loc at = x->at;
	long col = (long)x->at.col + len;

	x->at.col = (uint16_t)(col > UINT16_MAX ? UINT16_MAX : col);
	return at;
}

/* Moves the position back over the last n bytes of a token, which yyless gives back. A column that was too large to count
 * stays as it is. */
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

/* Returns n bytes of memory for the flex scanner, or NULL. They begin with a copy of the block at `old`, if that is not
 * NULL. */
void *goal_lex_alloc(struct goal_lex *x, const void *old, size_t n);

/* Returns the value of a decimal number. If it does not fit 63 bits, reports this and returns UINT64_MAX. */
uint64_t goal_lex_number(struct goal_lex *x, struct goal_loc at, const char *s, size_t len);

/* Reports a string that has control characters. */
void goal_lex_string(struct goal_lex *x, struct goal_loc at, const char *s, size_t len);

/* Reports that the comment that starts at x->comment is not closed. */
void goal_lex_unclosed(struct goal_lex *x);

/* Reports that a token of some kind was found where others are expected. Kinds are bison's names of tokens: "a number",
 * "the end of the line", a word, or a character in quotes. */
void goal_lex_unexpected(struct goal_lex *x, struct goal_loc at, const char *kind, const char *text,
			 size_t len, const char *const *expected, int n);

#endif
