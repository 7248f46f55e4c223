/* SPDX-License-Identifier: BSD-3-Clause
 * Grammar of parametric GOAL (man/goal.5); each action builds one node. */
%define api.pure full
%define api.prefix {goal_param_}
%define api.location.type {struct goal_loc}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param { void *scanner }
%parse-param { struct goal_lex *x }

%code requires {
#include "format/read.h"
#include "lang/lex.h"
}
%code {
#include <stdlib.h>
#include <string.h>

#define YYLLOC_DEFAULT(cur, rhs, n) ((cur) = YYRHSLOC(rhs, (n) ? 1 : 0))
#define YYMALLOC mem_alloc
#define YYFREE free
/* Limits of the parser's stack and of the depth of an expression. Both bound the recursion of functions that walk the tree. */
#define YYMAXDEPTH 9000
#define DEEPEST 2000u

char *goal_param_get_text(void *scanner);
int goal_param_get_leng(void *scanner);
int goal_param_lex(GOAL_PARAM_STYPE *v, GOAL_PARAM_LTYPE *l, void *scanner);
static void goal_param_error(GOAL_PARAM_LTYPE *l, void *scanner, struct goal_lex *x, const char *msg);
static struct goal_expr *expr(struct goal_lex *x, enum goal_expr_kind kind, struct goal_loc at, int fn,
			      struct goal_expr *a, struct goal_expr *b, struct goal_expr *c);
static struct goal_expr *call(struct goal_lex *x, struct goal_loc at, const char *name,
			      struct goal_expr *args);
static struct goal_stmt *stmt(struct goal_lex *x, enum goal_stmt_kind kind, struct goal_loc at);
static void clause(struct goal_lex *x, struct goal_stmt *s, enum goal_clause c, struct goal_expr *e,
		   struct goal_loc at);
static enum goal_mode mode(struct goal_lex *x, const char *word, struct goal_loc at);
static enum goal_scope scope(struct goal_lex *x, const char *word, struct goal_loc at);
static enum goal_exec executor(struct goal_lex *x, const char *word, struct goal_loc at);
static void begin(struct goal_lex *x, struct goal_loc at);
static void import(struct goal_lex *x, const char *path, struct goal_loc at);
static void once(struct goal_lex *x, bool again, const char *what, struct goal_loc at);
static void add_buffer(struct goal_lex *x, struct goal_buffer *b);

/* Allocates a node from the arena, with the fields that are given; the others are 0. If memory runs out, the parse ends. */
#define NEW(type, ...)                                                           \
	__extension__({                                                          \
		type *new_ = arena_alloc(&x->text->arena, sizeof(type));         \
		if (!new_)                                                       \
			longjmp(x->fatal, 1);                                    \
		*new_ = (type){ __VA_ARGS__ };                                   \
		new_;                                                            \
	})
#define NUM(at, v) NEW(struct goal_expr, .kind = GOAL_E_NUM, .loc = (at), .num = (v))
#define UN(at, fn, a) expr(x, GOAL_E_UNARY, at, BIN_##fn, a, NULL, NULL)
#define BINOP(at, fn, a, b) expr(x, GOAL_E_BINARY, at, BIN_##fn, a, b, NULL)
}
%union {
	int64_t num;
	char *text;
	struct goal_expr *expr;
	struct goal_labelref *label;
	struct goal_range *range;
	struct goal_stmt *stmt;
	struct { struct goal_stmt *first, **last; } list;
	struct goal_param *param;
}
%token T_IMPORT "import" T_CALL "call" T_AS "as" T_AT "at" T_SIZE "an \"of\"" T_ARROW "->"
%token T_SCHEDULE "schedule" T_IMPLEMENTS "implements" T_COMMUTATIVE "commutative" T_REPRODUCIBLE "reproducible"
%token T_BUFFER "buffer" T_INPLACE "inplace"
%token T_RESULT "result" T_GETS "gets" T_RANK "rank" T_OF "of"
%token T_IF "if" T_ELSE "else" T_FOR "for" T_TO "to" T_DOWNTO "downto" T_BY "by" T_ASSERT "assert"
%token T_SEND "send" T_RECV "recv" T_COPY "copy" T_REDUCE "reduce" T_CALC "calc" T_NOP "nop"
%token T_FROM "from" T_INTO "into" T_WITH "with" T_TAG "tag" T_LEVEL "level" T_CPU "cpu" T_NIC "nic"
%token T_ON "on" T_REQUIRES "requires" T_IREQUIRES "irequires" T_MOD "mod" T_XOR "xor" T_AND "and"
%token T_OR "or" T_NOT "not" T_EQ "==" T_NE "!=" T_LE "<=" T_GE ">=" T_SHL "<<" T_SHR ">>"
%token T_SPAN "+:" T_NL "the end of the line" T_WORD
%token <num> T_INT "a number"
%token <text> T_IDENT "a name" T_STRING "a string"
%token YYEOF 0 "the end of the file"

%type <expr> expr args length default when
%type <label> label label_path label_paths
%type <range> range
%type <stmt> stmt op call block else_part
%type <list> stmts
%type <param> param param_list

%right '?'
%left T_OR
%left T_AND
%precedence T_NOT
%nonassoc T_EQ T_NE '<' T_LE '>' T_GE
%left '|' T_XOR
%left '&'
%left T_SHL T_SHR
%left '+' '-'
%left '*' '/' T_MOD
%precedence UNARY '~'
%right '^'
%nonassoc T_OF
%%
file:	nls imports schedules
	;
imports: %empty
	| imports T_IMPORT T_STRING T_NL nls { import(x, $3, @3); }
	;
schedules: schedule nls
	| schedules schedule nls
	;
schedule: head decls body
	;
nls:	%empty
	| nls T_NL
	;
head:	T_SCHEDULE T_IDENT { begin(x, @2); x->schedule->name = $2; } params implements commutative reproducible T_NL
	;
params:	%empty
	| '(' ')'
	| '(' param_list ')'
	;
param_list: param { x->schedule->params = $1; $$ = $1; }
	| param_list ',' param { $1->next = $3; $$ = $3; }
	;
param:	T_IDENT length default {
		$$ = NEW(struct goal_param, .name = $1, .loc = @1, .length = $2, .value = $3);
	}
	| T_IDENT T_IDENT length default {
		$$ = NEW(struct goal_param, .name = $2, .loc = @2, .scope = scope(x, $1, @1), .length = $3,
			 .value = $4);
	}
	;
length:	%empty { $$ = NULL; }
	| '[' expr ']' { $$ = $2; }
	;
default: %empty { $$ = NULL; }
	| '=' expr { $$ = $2; }
	;
implements: %empty
	| T_IMPLEMENTS T_IDENT {
		x->schedule->implements = $2;
		x->schedule->implements_loc = @2;
	}
	;
commutative: %empty
	| T_COMMUTATIVE { x->schedule->commutative = true; }
	;

reproducible: %empty
	| T_REPRODUCIBLE { x->schedule->reproducible = true; }
	;
decls:	%empty
	| decl_list
	;
decl_list: decl
	| decl_list decl
	;
decl:	T_NL
	| T_BUFFER T_IDENT T_IDENT '[' expr ']' T_NL {
		add_buffer(x, NEW(struct goal_buffer, .name = $3, .loc = @3, .mode = mode(x, $2, @2), .length = $5));
	}
	| T_BUFFER T_IDENT T_IDENT '[' expr ']' T_INPLACE range when T_NL {
		add_buffer(x, NEW(struct goal_buffer, .name = $3, .loc = @3, .mode = mode(x, $2, @2), .length = $5,
				  .inplace = $8, .when = $9));
	}
	| T_IDENT '=' expr T_NL {
		*x->last_define = NEW(struct goal_named, .name = $1, .loc = @1, .expr = $3);
		x->last_define = &(*x->last_define)->next;
	}
	| T_IDENT T_IDENT { /* no definition, but a misspelt keyword */
		goal_diag(x->diags, GOAL_ERROR, @1, "syntax", "expected \"buffer\", \"result\" or \"rank\", not \"%s\"", $1);
		YYERROR;
	}
	| T_RESULT block T_NL {
		once(x, x->schedule->result_loc.line, "result", @1);
		x->schedule->result = $2;
		x->schedule->result_loc = @1;
	}
	| error T_NL { yyerrok; }
	;
when:	%empty { $$ = NULL; }
	| T_IF expr { $$ = $2; }
	;
body:	T_RANK T_IDENT T_OF T_IDENT block {
		x->schedule->rank = $2;
		x->schedule->rank_loc = @2;
		x->schedule->size = $4;
		x->schedule->body = $5;
	}
	| T_RANK error block
	;
block:	'{' stmts '}' { $$ = $2.first; }
	;
stmts:	stmt {
		$$.first = $1;
		$$.last = NULL;
		for (struct goal_stmt *s = $1; s; s = s->next)
			$$.last = &s->next;
	}
	| stmts eol stmt {
		$$ = $1;
		if (!$$.first)
			$$.first = $3;
		else if ($3)
			*$$.last = $3;
		for (struct goal_stmt *s = $3; s; s = s->next)
			$$.last = &s->next;
	}
	;
eol:	T_NL { yyerrok; }
	;
stmt:	%empty { $$ = NULL; }
	| error { $$ = NULL; }
	| error block { $$ = NULL; }
	| T_IDENT '=' expr { $$ = stmt(x, GOAL_S_LET, @1); $$->name = $1; $$->expr = $3; }
	| T_ASSERT expr ',' T_STRING { $$ = stmt(x, GOAL_S_ASSERT, @1); $$->expr = $2; $$->name = $4; }
	| T_IF expr block else_part {
		$$ = stmt(x, GOAL_S_IF, @1);
		$$->expr = $2;
		$$->body = $3;
		$$->other = $4;
	}
	| T_FOR T_IDENT '=' expr T_TO expr block {
		$$ = stmt(x, GOAL_S_FOR, @1);
		$$->name = $2;
		$$->expr = $4;
		$$->to = $6;
		$$->body = $7;
	}
	| T_FOR T_IDENT '=' expr T_TO expr T_BY expr block {
		$$ = stmt(x, GOAL_S_FOR, @1);
		$$->name = $2;
		$$->expr = $4;
		$$->to = $6;
		$$->by = $8;
		$$->body = $9;
	}
	| T_FOR T_IDENT '=' expr T_DOWNTO expr block {
		$$ = stmt(x, GOAL_S_FOR, @1);
		$$->name = $2;
		$$->expr = $4;
		$$->to = $6;
		$$->down = true;
		$$->body = $7;
	}
	| T_FOR T_IDENT '=' expr T_DOWNTO expr T_BY expr block {
		$$ = stmt(x, GOAL_S_FOR, @1);
		$$->name = $2;
		$$->expr = $4;
		$$->to = $6;
		$$->by = $8;
		$$->down = true;
		$$->body = $9;
	}
	| range T_GETS range T_OF expr {
		$$ = stmt(x, GOAL_S_GETS, @1);
		$$->range[0] = $1;
		$$->range[1] = $3;
		$$->expr = $5;
	}
	| op { $$ = $1; }
	| label ':' op { $$ = $3; $$->label = $1; $$->loc = @1; }
	| call { $$ = $1; }
	| label ':' call { $$ = $3; $$->label = $1; }
	| label_path T_REQUIRES label_paths { $$ = stmt(x, GOAL_S_DEP, @1); $$->label = $1; $$->on = $3; }
	| label_path T_IREQUIRES label_paths {
		$$ = stmt(x, GOAL_S_DEP, @1);
		$$->label = $1;
		$$->on = $3;
		$$->start = true;
	}
	;
else_part: %empty { $$ = NULL; }
	| T_ELSE block { $$ = $2; }
	| T_ELSE T_IF expr block else_part {
		$$ = stmt(x, GOAL_S_IF, @2);
		$$->expr = $3;
		$$->body = $4;
		$$->other = $5;
	}
	;
label:	T_IDENT { $$ = NEW(struct goal_labelref, .name = $1, .loc = @1); }
	| T_IDENT '[' expr ']' { $$ = NEW(struct goal_labelref, .name = $1, .loc = @1, .index = { $3 }); }
	| T_IDENT '[' expr ',' expr ']' {
		$$ = NEW(struct goal_labelref, .name = $1, .loc = @1, .index = { $3, $5 });
	}
	;
label_path:	label
	| label '.' label_path { $1->inside = $3; $$ = $1; }
	;
label_paths:	label_path
	| label_path ',' label_paths { $1->next = $3; $$ = $1; }
	;
call:	T_CALL T_IDENT '(' {
		x->call = NEW(struct goal_call, .name = $2, .loc = @2);
		x->last_range = &x->call->ranges;
		$<stmt>$ = stmt(x, GOAL_S_CALL, @1);
		$<stmt>$->call = x->call;
	} call_args ')' call_clauses { $$ = $<stmt>4; }
	;
call_args: %empty
	| call_list
	;
call_list: call_arg
	| call_list ',' call_arg
	;
call_arg: range {
		*x->last_range = $1;
		x->last_range = &$1->next;
		if (x->call->args)
			goal_diag(x->diags, GOAL_ERROR, @1, "syntax",
				  "buffers stand before the arguments with a name");
	}
	| T_IDENT '=' expr {
		x->call->args = NEW(struct goal_named, .next = x->call->args, .name = $1, .loc = @1, .expr = $3);
	}
	;
call_clauses: %empty
	| call_clauses T_AS expr T_SIZE expr {
		once(x, x->call->rank, "as", @2);
		x->call->rank = $3;
		x->call->size = $5;
	}
	| call_clauses T_AT T_IDENT T_ARROW expr {
		once(x, x->call->at, "at", @2);
		x->call->peer = $3;
		x->call->at = $5;
	}
	| call_clauses T_TAG expr {
		once(x, x->call->tag, "tag", @2);
		x->call->tag = $3;
	}
	;
range:	T_IDENT { $$ = NEW(struct goal_range, .name = $1, .loc = @1); }
	| T_IDENT '[' expr ']' { $$ = NEW(struct goal_range, .name = $1, .loc = @1, .off = $3); }
	| T_IDENT '[' expr T_SPAN expr ']' {
		$$ = NEW(struct goal_range, .name = $1, .loc = @1, .off = $3, .len = $5);
	}
	;
op:	T_SEND range T_TO expr {
		$<stmt>$ = stmt(x, GOAL_S_OP, @1);
		$<stmt>$->op = GOAL_SEND;
		$<stmt>$->range[0] = $2;
		clause(x, $<stmt>$, GOAL_C_PEER, $4, @4);
	} clauses { $$ = $<stmt>5; }
	| T_RECV range T_FROM expr {
		$<stmt>$ = stmt(x, GOAL_S_OP, @1);
		$<stmt>$->op = GOAL_RECV;
		$<stmt>$->range[0] = $2;
		clause(x, $<stmt>$, GOAL_C_PEER, $4, @4);
	} clauses { $$ = $<stmt>5; }
	| T_COPY range T_INTO range {
		$<stmt>$ = stmt(x, GOAL_S_OP, @1);
		$<stmt>$->op = GOAL_COPY;
		$<stmt>$->range[0] = $2;
		$<stmt>$->range[1] = $4;
	} clauses { $$ = $<stmt>5; }
	| T_REDUCE range T_INTO range {
		$<stmt>$ = stmt(x, GOAL_S_OP, @1);
		$<stmt>$->op = GOAL_REDUCE;
		$<stmt>$->range[0] = $2;
		$<stmt>$->range[1] = $4;
	} clauses { $$ = $<stmt>5; }
	| T_REDUCE range T_WITH range T_INTO range {
		$<stmt>$ = stmt(x, GOAL_S_OP, @1);
		$<stmt>$->op = GOAL_REDUCE_WITH;
		$<stmt>$->range[0] = $4;
		$<stmt>$->range[1] = $2;
		$<stmt>$->again = $6;
		if (strcmp($2->name, $6->name))
			goal_diag(x->diags, GOAL_ERROR, @6, "syntax",
				  "\"reduce b with a into b\" writes to b itself, not to %s", $6->name);
	} clauses { $$ = $<stmt>7; }
	| T_CALC expr {
		$<stmt>$ = stmt(x, GOAL_S_OP, @1);
		$<stmt>$->op = GOAL_CALC;
		$<stmt>$->expr = $2;
	} clauses { $$ = $<stmt>3; }
	| T_NOP {
		$<stmt>$ = stmt(x, GOAL_S_OP, @1);
		$<stmt>$->op = GOAL_NOP;
	} clauses { $$ = $<stmt>2; }
	;
clauses: %empty
	| clauses T_TAG expr { clause(x, $<stmt>0, GOAL_C_TAG, $3, @2); }
	| clauses T_LEVEL expr { clause(x, $<stmt>0, GOAL_C_LEVEL, $3, @2); }
	| clauses T_CPU expr { clause(x, $<stmt>0, GOAL_C_CPU, $3, @2); }
	| clauses T_NIC expr { clause(x, $<stmt>0, GOAL_C_NIC, $3, @2); }
	| clauses T_ON T_IDENT {
		once(x, $<stmt>0->exec, "on", @2);
		$<stmt>0->exec = executor(x, $3, @3);
	}
	;
args:	expr
	| args ',' expr { $3->next = $1; $$ = $3; }
	;
expr:	T_INT { $$ = NUM(@1, $1); }
	| T_IDENT { $$ = NEW(struct goal_expr, .kind = GOAL_E_NAME, .loc = @1, .name = $1); }
	| T_IDENT '[' expr ']' {
		$$ = expr(x, GOAL_E_INDEX, @1, 0, $3, NULL, NULL);
		$$->name = $1;
	}
	| T_IDENT '(' args ')' { $$ = call(x, @1, $1, $3); }
	| expr T_OF expr {
		if ($1->kind != GOAL_E_NAME && $1->kind != GOAL_E_INDEX)
			goal_diag(x->diags, GOAL_ERROR, @1, "syntax", "only a parameter is \"of\" a rank");
		$$ = expr(x, GOAL_E_OF, @2, 0, $1, $3, NULL);
	}
	| '(' expr ')' {
		$$ = $2;
		$$->parens = true;
	}
	| '-' expr %prec UNARY { $$ = UN(@1, NEG, $2); }
	| '~' expr { $$ = UN(@1, BNOT, $2); }
	| T_NOT expr { $$ = UN(@1, NOT, $2); }
	| expr '+' expr { $$ = BINOP(@2, ADD, $1, $3); }
	| expr '-' expr { $$ = BINOP(@2, SUB, $1, $3); }
	| expr '*' expr { $$ = BINOP(@2, MUL, $1, $3); }
	| expr '/' expr { $$ = BINOP(@2, DIV, $1, $3); }
	| expr T_MOD expr {
		if ($1->kind == GOAL_E_OF && !$1->parens && $1->arg[1]->kind == GOAL_E_BINARY)
			goal_diag(x->diags, GOAL_WARNING, $1->loc, "syntax",
				  "this is the remainder of a value, not the value of a remainder: write \"of ((...) mod ...)\", "
				  "or put what is left of \"mod\" in parentheses");
		$$ = BINOP(@2, MOD, $1, $3);
	}
	| expr '^' expr { $$ = BINOP(@2, POW, $1, $3); }
	| expr T_SHL expr { $$ = BINOP(@2, SHL, $1, $3); }
	| expr T_SHR expr { $$ = BINOP(@2, SHR, $1, $3); }
	| expr '&' expr { $$ = BINOP(@2, BAND, $1, $3); }
	| expr '|' expr { $$ = BINOP(@2, BOR, $1, $3); }
	| expr T_XOR expr { $$ = BINOP(@2, XOR, $1, $3); }
	| expr T_EQ expr { $$ = BINOP(@2, EQ, $1, $3); }
	| expr T_NE expr { $$ = BINOP(@2, NE, $1, $3); }
	| expr '<' expr { $$ = BINOP(@2, LT, $1, $3); }
	| expr T_LE expr { $$ = BINOP(@2, LE, $1, $3); }
	| expr '>' expr { $$ = BINOP(@2, LT, $3, $1); }
	| expr T_GE expr { $$ = BINOP(@2, LE, $3, $1); }
	| expr T_AND expr { $$ = expr(x, GOAL_E_AND, @2, 0, $1, $3, NULL); }
	| expr T_OR expr { $$ = expr(x, GOAL_E_OR, @2, 0, $1, $3, NULL); }
	| expr '?' expr ':' expr %prec '?' { $$ = expr(x, GOAL_E_COND, @2, 0, $1, $3, $5); }
	;
%%
static int yyreport_syntax_error(const yypcontext_t *c, void *scanner, struct goal_lex *x)
{
	yysymbol_kind_t kinds[YYNTOKENS];
	const char *names[YYNTOKENS + 1];
	int n = yypcontext_expected_tokens(c, kinds, YYNTOKENS), operand = 0;

	for (int i = 0; i < n; i++) {
		names[i] = yysymbol_name(kinds[i]);
		operand |= !strcmp(names[i], "'~'");
	}
	if (operand) {
		names[0] = "an expression";
		n = 1;
	} else if (n > 0 && kinds[0] == YYSYMBOL_T_IMPORT && !x->text->imports) {
		names[n++] = "num_ranks"; /* at the start of a file, plain GOAL would be right too */
	}
	goal_lex_unexpected(x, *yypcontext_location(c), yysymbol_name(yypcontext_token(c)),
			    goal_param_get_text(scanner), (size_t)goal_param_get_leng(scanner), names, n);
	x->depth = x->ternary = 0; /* parsing goes on behind this line, outside of all brackets */
	return 0;
}

/* Bison calls this only if the parser's stack is full. */
static void goal_param_error(GOAL_PARAM_LTYPE *l, void *scanner, struct goal_lex *x, const char *msg)
{
	(void)scanner;
	(void)msg;
	goal_diag(x->diags, GOAL_ERROR, *l, "syntax", "the text is nested too deeply");
}

/* Sets the depth of an expression, and limits it: a long chain of operators of one precedence nests to the left, and does
 * so without growing the parser's stack. */
static void deepen(struct goal_lex *x, struct goal_expr *e)
{
	for (int i = 0; i < 3; i++)
		if (e->arg[i] && e->arg[i]->depth >= e->depth)
			e->depth = e->arg[i]->depth + 1;
	if (e->depth == DEEPEST)
		goal_diag(x->diags, GOAL_ERROR, e->loc, "syntax", "the expression is too long");
}

static struct goal_expr *expr(struct goal_lex *x, enum goal_expr_kind kind, struct goal_loc at, int fn,
			      struct goal_expr *a, struct goal_expr *b, struct goal_expr *c)
{
	struct goal_expr *e = NEW(struct goal_expr, .kind = kind, .loc = at, .fn = fn, .arg = { a, b, c },
				  .nargs = 1u + (b != NULL) + (c != NULL));

	deepen(x, e);
	return e;
}

static struct goal_expr *call(struct goal_lex *x, struct goal_loc at, const char *name,
			      struct goal_expr *args)
{
	struct goal_expr *e = NEW(struct goal_expr, .kind = GOAL_E_CALL, .loc = at, .name = name);

	for (struct goal_expr *a = args; a; a = a->next)
		e->nargs++;
	unsigned i = e->nargs;

	for (struct goal_expr *a = args; a; a = a->next) /* the list begins with the last argument */
		if (--i < 3)
			e->arg[i] = a;
	deepen(x, e);
	return e;
}

static struct goal_stmt *stmt(struct goal_lex *x, enum goal_stmt_kind kind, struct goal_loc at)
{
	return NEW(struct goal_stmt, .kind = kind, .loc = at);
}

/* Begins a schedule, and appends it to the schedules of the text. */
static void begin(struct goal_lex *x, struct goal_loc at)
{
	struct goal_schedule *s = NEW(struct goal_schedule, .text = x->text, .loc = at);

	if (x->text->last)
		x->text->last->next = s;
	else
		x->text->schedules = s;
	x->text->last = x->schedule = s;
	x->last_buffer = &s->buffers;
	x->last_define = &s->defines;
}

static void import(struct goal_lex *x, const char *path, struct goal_loc at)
{
	struct goal_import *i;

	if (!path) /* the string is not closed, which the lexer has reported */
		return;
	*x->last_import = i = NEW(struct goal_import, .path = path, .loc = at);
	x->last_import = &i->next;
}

static void once(struct goal_lex *x, bool again, const char *what, struct goal_loc at)
{
	if (again)
		goal_diag(x->diags, GOAL_ERROR, at, "syntax", "%s is given twice", what);
}

static void add_buffer(struct goal_lex *x, struct goal_buffer *b)
{
	*x->last_buffer = b;
	x->last_buffer = &b->next;
}

static void clause(struct goal_lex *x, struct goal_stmt *s, enum goal_clause c, struct goal_expr *e,
		   struct goal_loc at)
{
	static const char *const words[] = { "peer", "tag", "level", "cpu", "nic" };

	once(x, s->clause[c], words[c], at);
	s->clause[c] = e;
}

static enum goal_mode mode(struct goal_lex *x, const char *word, struct goal_loc at)
{
	static const char *const words[] = { "in", "out", "inout", "scratch" };

	for (int i = 0; i < 4; i++)
		if (!strcmp(words[i], word))
			return (enum goal_mode)i;
	goal_diag(x->diags, GOAL_ERROR, at, "syntax", "a buffer is in, out, inout or scratch, not %s", word);
	return GOAL_IN;
}

static enum goal_exec executor(struct goal_lex *x, const char *word, struct goal_loc at)
{
#define EXEC(NAME, number, name) \
	if (!strcmp(word, name)) \
		return GOAL_##NAME;
#include "format/execs.def"
#undef EXEC
	goal_diag(x->diags, GOAL_ERROR, at, "syntax", "an op runs on app, comm, nic or start, not on %s", word);
	return GOAL_APP;
}

static enum goal_scope scope(struct goal_lex *x, const char *word, struct goal_loc at)
{
	if (!strcmp(word, "rootonly"))
		return GOAL_ROOTONLY;
	if (!strcmp(word, "local"))
		return GOAL_LOCAL;
	if (strcmp(word, "global"))
		goal_diag(x->diags, GOAL_ERROR, at, "syntax",
			  "a parameter is global, rootonly or local, not %s", word);
	return GOAL_GLOBAL;
}
