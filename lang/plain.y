/* SPDX-License-Identifier: BSD-3-Clause
 * Grammar of plain GOAL (man/goal.5). Each op and dependency is passed to the sink as soon as it is read. */
%define api.pure full
%define api.prefix {goal_plain_}
%define api.location.type {struct goal_loc}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param { void *scanner }
%parse-param { struct goal_lex *x }

%code requires {
#include "lang/lex.h"
}
%code {
#include <stdlib.h>
#include <string.h>

#define YYLLOC_DEFAULT(cur, rhs, n) ((cur) = YYRHSLOC(rhs, (n) ? 1 : 0))
#define YYMALLOC mem_alloc
#define YYFREE free

char *goal_plain_get_text(void *scanner);
int goal_plain_get_leng(void *scanner);
int goal_plain_lex(GOAL_PLAIN_STYPE *v, GOAL_PLAIN_LTYPE *l, void *scanner);
static void goal_plain_error(GOAL_PLAIN_LTYPE *l, void *scanner, struct goal_lex *x, const char *msg);
static void begin_op(struct goal_lex *x, enum goal_kind kind, uint64_t size);
static void option(struct goal_lex *x, unsigned bit, const char *word, struct goal_loc at);
static uint32_t u32(struct goal_lex *x, const char *what, uint64_t v, struct goal_loc at);
static int end_op(struct goal_lex *x, uint32_t label, struct goal_loc at);

#define STOP_ON(expr)                        \
	do {                                 \
		if ((x->err = (expr)) != 0)  \
			YYABORT;             \
	} while (0)
}
%union {
	uint64_t num;
	uint32_t label;
	bool start;
}
%token T_NUM_RANKS "num_ranks" T_RANK "rank" T_SEND "send" T_RECV "recv" T_CALC "calc"
%token T_BYTES "b" T_TO "to" T_FROM "from" T_TAG "tag" T_CPU "cpu" T_NIC "nic" T_ANY "-1"
%token T_REQUIRES "requires" T_IREQUIRES "irequires" T_NL "the end of the line" T_WORD
%token <num> T_INT "a number"
%token <label> T_LABEL "a label with a colon" T_NAME "a label"
%type <start> requires
%token YYEOF 0 "the end of the file"
%%
file:	T_NUM_RANKS T_INT {
		if ($2 != UINT64_MAX) /* otherwise the number was too large, which has been reported */
			STOP_ON(x->sink->num_ranks(x->sink->arg, $2, @2));
	} ranks
	;
ranks:	%empty
	| rank_list
	;
rank_list: rank
	| rank_list rank
	;
rank:	T_RANK T_INT '{' {
		STOP_ON(goal_plain_begin_rank(x, u32(x, "rank", $2, @2), @2));
	} stmts '}' { STOP_ON(goal_plain_end_rank(x)); }
	| error '}' { yyerrok; }
	;
stmts:	stmt
	| stmts nl stmt
	;
nl:	T_NL { yyerrok; }
	;
stmt:	%empty
	| op { STOP_ON(end_op(x, GOAL_ANY, @1)); }
	| T_LABEL op { STOP_ON(end_op(x, $1, @1)); }
	| T_NAME requires T_NAME {
		struct goal_plain_dep dep = { $1, $3, @1, @3, $2 };

		STOP_ON(x->sink->dep(x->sink->arg, &dep));
	}
	| error
	;
requires: T_REQUIRES { $$ = false; }
	| T_IREQUIRES { $$ = true; }
	;
op:	what options
	;
what:	T_SEND T_INT T_BYTES T_TO T_INT {
		begin_op(x, GOAL_SEND, $2);
		x->op.peer = u32(x, "peer", $5, @5);
	}
	| T_RECV T_INT T_BYTES T_FROM T_INT {
		begin_op(x, GOAL_RECV, $2);
		x->op.peer = u32(x, "peer", $5, @5);
	}
	| T_RECV T_INT T_BYTES T_FROM T_ANY {
		begin_op(x, GOAL_RECV, $2);
		x->op.peer = GOAL_ANY;
	}
	| T_CALC T_INT { begin_op(x, GOAL_CALC, $2); }
	;
options: %empty
	| options T_TAG T_INT { option(x, 1, "tag", @2); x->op.tag = u32(x, "tag", $3, @3); }
	| options T_TAG T_ANY { option(x, 1, "tag", @2); x->op.tag = GOAL_ANY; }
	| options T_CPU T_INT { option(x, 2, "cpu", @2); x->op.cpu = u32(x, "cpu", $3, @3); }
	| options T_NIC T_INT { option(x, 4, "nic", @2); x->op.nic = u32(x, "nic", $3, @3); }
	;
%%
static int yyreport_syntax_error(const yypcontext_t *c, void *scanner, struct goal_lex *x)
{
	yysymbol_kind_t kinds[8];
	const char *names[8];
	int n = yypcontext_expected_tokens(c, kinds, 8);
	const char *text = goal_plain_get_text(scanner);
	size_t len = (size_t)goal_plain_get_leng(scanner);

	for (int i = 0; i < n; i++)
		names[i] = yysymbol_name(kinds[i]);
	while (len > 1 && (text[len - 1] == ' ' || text[len - 1] == '\t')) /* the message leaves out blanks behind the token */
		len--;
	goal_lex_unexpected(x, *yypcontext_location(c), yysymbol_name(yypcontext_token(c)), text, len, names, n);
	return 0;
}

/* Bison calls this only if memory runs out. */
static void goal_plain_error(GOAL_PLAIN_LTYPE *l, void *scanner, struct goal_lex *x, const char *msg)
{
	(void)l;
	(void)scanner;
	(void)msg;
	x->err = -ERR_NOMEM;
}

static void begin_op(struct goal_lex *x, enum goal_kind kind, uint64_t size)
{
	x->op = (struct goal_plain_op){ .kind = (uint8_t)kind, .size = size };
}

static void option(struct goal_lex *x, unsigned bit, const char *word, struct goal_loc at)
{
	if (x->op.given & bit)
		goal_diag(x->diags, GOAL_ERROR, at, "syntax", "%s is given twice", word);
	if (x->op.kind == GOAL_CALC && bit == 1)
		goal_diag(x->diags, GOAL_ERROR, at, "syntax", "a calc has no tag");
	x->op.given = (uint8_t)(x->op.given | bit);
}

/* Returns v as a number of 32 bits. A number that is too large is reported and becomes GOAL_ANY; GOAL_ANY itself is too
 * large, because it would mean the wildcard. */
static uint32_t u32(struct goal_lex *x, const char *what, uint64_t v, struct goal_loc at)
{
	if (v < GOAL_ANY)
		return (uint32_t)v;
	if (v != UINT64_MAX)
		goal_diag(x->diags, GOAL_ERROR, at, "overflow", "%s %llu is larger than %u", what,
			  (unsigned long long)v, GOAL_ANY - 1);
	return GOAL_ANY;
}

static int end_op(struct goal_lex *x, uint32_t label, struct goal_loc at)
{
	x->op.label = label;
	x->op.loc = at;
	return x->sink->op(x->sink->arg, &x->op);
}
