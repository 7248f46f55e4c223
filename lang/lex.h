/* SPDX-License-Identifier: BSD-3-Clause
 * What the two lexers share: input from memory and positions. */
#ifndef LANG_LEX_H
#define LANG_LEX_H

#include "lang/ast.h"
#include "util/err.h"

#include <setjmp.h>

struct goal_lex {
	struct goal_diags *diags;
	const char *text, *end; /* what is not read yet */
	struct goal_loc at; /* of the next character */
	int err; /* -ERR_x: stop */
	jmp_buf fatal; /* taken when the scanner runs out of memory */
	/* plain */
	const struct goal_plain_sink *sink;
	struct goal_plain_rank rank;
	struct goal_plain_op op; /* being read */
	/* parametric */
	struct goal_schedule *schedule;
	bool operand; /* the next word is an operand, hence a name */
	int depth, ternary;
};

/* Copies up to max bytes of what is left; YY_INPUT of both lexers. */
static inline size_t goal_lex_read(struct goal_lex *x, char *buf, size_t max)
{
	size_t n = (size_t)(x->end - x->text) < max ? (size_t)(x->end - x->text) : max;

	for (size_t i = 0; i < n; i++)
		buf[i] = x->text[i];
	x->text += n;
	return n;
}

/* Steps over a token without a newline; returns where it started. */
static inline struct goal_loc goal_lex_step(struct goal_lex *x, int len)
{
	struct goal_loc at = x->at;
	long col = (long)x->at.col + len;

	x->at.col = (uint16_t)(col > UINT16_MAX ? UINT16_MAX : col);
	return at;
}

static inline void goal_lex_newline(struct goal_lex *x)
{
	x->at.line++;
	x->at.col = 1;
}

/* The value of a decimal literal; a diagnostic when it exceeds max. */
uint64_t goal_lex_number(struct goal_lex *x, struct goal_loc at, const char *s, size_t len, uint64_t max);

#endif
