/* SPDX-License-Identifier: BSD-3-Clause
 * Syntax trees of the two dialects (man/goal.5). Still by name: labels, variables, buffers and
 * parameters are resolved by the compiler. */
#ifndef LANG_AST_H
#define LANG_AST_H

#include "lang/labels.h"
#include "lang/loc.h"
#include "util/arena.h"
#include "util/mem.h"

#define GOAL_ANY UINT32_MAX /* the wildcard -1 of a peer or tag */

enum goal_kind {
#define OP(NAME, number, text, operands) GOAL_##NAME = number,
#include "format/ops.def"
#undef OP
};

enum goal_exec {
#define EXEC(NAME, number, word) GOAL_##NAME = number,
#include "format/execs.def"
#undef EXEC
};

/* ---- plain GOAL: delivered op by op, so that neither a file nor a rank has to fit into memory ---- */

struct goal_plain_op {
	uint8_t kind; /* GOAL_SEND, GOAL_RECV or GOAL_CALC */
	uint8_t given; /* options seen, bit by bit; the parser's own */
	struct goal_loc loc;
	uint32_t label; /* of the rank's labels, or GOAL_ANY: none */
	uint32_t peer, tag, cpu, nic;
	uint64_t size; /* bytes, or ns of a calc */
};

struct goal_plain_dep {
	uint32_t op, on; /* labels, which may come later */
	struct goal_loc op_loc, on_loc;
	bool start; /* irequires */
};

/* What the parser of plain GOAL calls, in the order of the text; each returns 0, or -ERR_x to stop. */
struct goal_plain_sink {
	void *arg;
	int (*num_ranks)(void *arg, uint64_t n, struct goal_loc at);
	/* A rank begins; it is none if there is no end before the next one begins. */
	int (*rank)(void *arg, uint32_t rank, struct goal_loc at);
	int (*op)(void *arg, const struct goal_plain_op *op);
	int (*dep)(void *arg, const struct goal_plain_dep *dep);
	/* The rank is complete. Broken: mistakes have been reported, so that labels may be missing. */
	int (*end)(void *arg, const struct goal_labels *labels, bool broken);
};

/* ---- parametric GOAL: one tree, in an arena ---- */

enum goal_expr_kind {
	GOAL_E_NUM,
	GOAL_E_NAME, /* a variable, a scalar parameter */
	GOAL_E_INDEX, /* name[arg 0], a vector parameter */
	GOAL_E_OF, /* arg 0, a name or name[...], of rank arg 1 */
	GOAL_E_CALL, /* name(args) */
	GOAL_E_UNARY, /* fn, arg 0 */
	GOAL_E_BINARY, /* fn, args 0 and 1 */
	GOAL_E_AND, /* evaluates arg 1 only if arg 0 holds */
	GOAL_E_OR,
	GOAL_E_COND /* arg 0 ? arg 1 : arg 2 */
};

struct goal_expr {
	enum goal_expr_kind kind;
	struct goal_loc loc;
	int fn; /* enum bin_insn of the operator */
	int64_t num;
	const char *name;
	unsigned nargs, depth;
	bool parens; /* around it */
	struct goal_expr *arg[3];
	struct goal_expr *next; /* in an argument list */
};

/* name, name[i] or name[i, j]; with "." and the same again, a label inside of a call */
struct goal_labelref {
	const char *name;
	struct goal_loc loc;
	struct goal_expr *index[2];
	struct goal_labelref *inside;
	struct goal_labelref *next;
};

/* name, name[at] or name[off +: len] */
struct goal_range {
	const char *name;
	struct goal_loc loc;
	struct goal_expr *off, *len; /* NULL: from 0; all, or one element when off is given */
	struct goal_range *next; /* of a call */
};

/* name = expr, in a call */
struct goal_named {
	struct goal_named *next;
	const char *name;
	struct goal_loc loc;
	struct goal_expr *expr;
};

/* call name(ranges, args) as rank of size at peer -> at tag tag; what is left out is NULL */
struct goal_call {
	const char *name;
	struct goal_loc loc;
	struct goal_range *ranges;
	struct goal_named *args;
	struct goal_expr *rank, *size, *at, *tag;
	const char *peer;
};

enum goal_clause { GOAL_C_PEER, GOAL_C_TAG, GOAL_C_LEVEL, GOAL_C_CPU, GOAL_C_NIC, GOAL_NCLAUSES };

enum goal_stmt_kind { GOAL_S_OP, GOAL_S_CALL, GOAL_S_DEP, GOAL_S_LET, GOAL_S_IF, GOAL_S_FOR, GOAL_S_ASSERT, GOAL_S_GETS };

struct goal_stmt {
	enum goal_stmt_kind kind;
	struct goal_loc loc;
	struct goal_stmt *next;
	/* GOAL_S_OP */
	enum goal_kind op;
	struct goal_labelref *label; /* of an op or call, or the left side of a dependency */
	struct goal_range *range[2];
	struct goal_range *again; /* the second b of "reduce b with a into b" */
	struct goal_expr *clause[GOAL_NCLAUSES];
	enum goal_exec exec; /* 0: not given */
	/* GOAL_S_CALL */
	struct goal_call *call;
	/* GOAL_S_DEP */
	struct goal_labelref *on;
	bool start;
	/* GOAL_S_LET: name = expr. GOAL_S_IF, GOAL_S_ASSERT: expr. GOAL_S_FOR: name, expr, to, by;
	 * GOAL_S_OP of kind calc: expr. GOAL_S_GETS: range 0 gets range 1 of expr. */
	const char *name; /* or the message of an assertion */
	struct goal_expr *expr, *to, *by;
	bool down;
	struct goal_stmt *body, *other;
};

enum goal_scope { GOAL_GLOBAL, GOAL_ROOTONLY, GOAL_LOCAL };

struct goal_param {
	struct goal_param *next;
	const char *name;
	struct goal_loc loc;
	enum goal_scope scope;
	struct goal_expr *length; /* of a vector; NULL: scalar */
	struct goal_expr *value; /* the default, or NULL */
};

enum goal_mode { GOAL_IN, GOAL_OUT, GOAL_INOUT, GOAL_SCRATCH };

struct goal_buffer {
	struct goal_buffer *next;
	const char *name;
	struct goal_loc loc;
	enum goal_mode mode;
	struct goal_expr *length;
	struct goal_range *inplace; /* the range of another buffer that may take its place, or NULL */
	struct goal_expr *when; /* and when; NULL: always */
};

struct goal_schedule {
	struct goal_schedule *next; /* of the text */
	const struct goal_text *text;
	const char *name, *implements; /* implements may be NULL */
	bool commutative;
	struct goal_loc loc;
	struct goal_param *params;
	struct goal_buffer *buffers;
	const char *rank, *size; /* the names in "rank r of p" */
	struct goal_loc rank_loc;
	struct goal_stmt *result; /* its statements */
	struct goal_loc result_loc; /* line 0: there is none */
	struct goal_stmt *body;
};

/* import "path" */
struct goal_import {
	struct goal_import *next;
	const char *path;
	struct goal_loc loc;
	struct goal_text *text;
};

/* A file of parametric GOAL. */
struct goal_text {
	struct goal_text *next; /* first the text that is compiled, then what is imported */
	struct arena arena;
	struct goal_import *imports;
	struct goal_schedule *schedules;
	struct goal_schedule *last; /* the one that the file is about */
	bool open; /* it is being read: who imports it now closes a cycle */
	uint64_t id[2]; /* device and number of the file */
};

/* ---- parsing ---- */

/* Whether a text is in the plain dialect: its first word is num_ranks (or rank with a number). */
bool goal_text_is_plain(const struct file *f);
/* The same for the parametric one: schedule or import. */
bool goal_text_is_parametric(const struct file *f);

/* Parses source number file of d. Mistakes are diagnostics; returns 0 when the text could
 * be read to its end (with or without diagnostics), or -ERR_NOMEM, -ERR_SYS or what the sink returned. */
int goal_parse_plain(struct goal_diags *d, unsigned file, const struct goal_plain_sink *sink);

/* Returns the owned text, and all that it imports, in *out, or NULL there when there were errors. */
int goal_parse_parametric(struct goal_diags *d, unsigned file, struct goal_text **out);
void goal_text_free(struct goal_text *t);
/* One file, without what it imports. */
int goal_parse_text(struct goal_diags *d, unsigned file, struct goal_text *t);

#endif
