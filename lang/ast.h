/* SPDX-License-Identifier: BSD-3-Clause
 * Syntax trees of the two dialects of GOAL (man/goal.5), and the entry points of the parsers. Labels, variables, buffers and
 * parameters are kept as names; the compiler resolves them. */
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

/* ---- plain GOAL: passed to a sink op by op, so that neither a file nor a rank has to fit into memory ---- */

struct goal_plain_op {
	uint8_t kind; /* GOAL_SEND, GOAL_RECV or GOAL_CALC */
	uint8_t given; /* bit mask of the options that the text gives; used by the parser only */
	struct goal_loc loc;
	uint32_t label; /* number of the op's label, or GOAL_ANY if it has none */
	uint32_t peer, tag, cpu, nic;
	uint64_t size; /* bytes of a message, ns of a calc */
};

struct goal_plain_dep {
	uint32_t op, on; /* numbers of labels, whose ops may stand later in the text */
	struct goal_loc op_loc, on_loc;
	bool start; /* true: irequires; false: requires */
};

/* Functions that the parser of plain GOAL calls, in the order of the text. Each returns 0, or -ERR_x to stop the parser. */
struct goal_plain_sink {
	void *arg;
	int (*num_ranks)(void *arg, uint64_t n, struct goal_loc at);
	/* A rank begins. If the text of a rank is broken, `end` may not be called for that rank, whose ops are then void. */
	int (*rank)(void *arg, uint32_t rank, struct goal_loc at);
	int (*op)(void *arg, const struct goal_plain_op *op);
	int (*dep)(void *arg, const struct goal_plain_dep *dep);
	/* The rank is complete. If `broken` is true, errors in the rank were reported, and some labels may have no op. */
	int (*end)(void *arg, const struct goal_labels *labels, bool broken);
};

/* ---- parametric GOAL: one tree for each file, in an arena ---- */

enum goal_expr_kind {
	GOAL_E_NUM,
	GOAL_E_NAME, /* a variable or scalar parameter */
	GOAL_E_INDEX, /* name[arg 0]: an element of a vector parameter */
	GOAL_E_OF, /* "arg 0 of arg 1": the parameter arg 0 (a NAME or INDEX) as rank arg 1 has it */
	GOAL_E_CALL, /* name(args): a function */
	GOAL_E_UNARY, /* the unary operator `fn` applied to arg 0 */
	GOAL_E_BINARY, /* the binary operator `fn` applied to args 0 and 1 */
	GOAL_E_AND, /* evaluates arg 1 only if arg 0 is not 0 */
	GOAL_E_OR, /* evaluates arg 1 only if arg 0 is 0 */
	GOAL_E_COND /* arg 0 ? arg 1 : arg 2 */
};

struct goal_expr {
	enum goal_expr_kind kind;
	struct goal_loc loc;
	int fn; /* enum bin_insn of the operator */
	int64_t num;
	const char *name;
	unsigned nargs, depth; /* number of arguments (of a function possibly more than 3); height of the tree */
	bool parens; /* the expression stands in parentheses */
	struct goal_expr *arg[3];
	struct goal_expr *next; /* next expression of an argument list */
};

/* A label: name, name[i] or name[i, j]. "call.label" names a label inside a call; `inside` is then the part after the dot. */
struct goal_labelref {
	const char *name;
	struct goal_loc loc;
	struct goal_expr *index[2];
	struct goal_labelref *inside;
	struct goal_labelref *next;
};

/* A range of a buffer: name, name[off] or name[off +: len]. */
struct goal_range {
	const char *name;
	struct goal_loc loc;
	struct goal_expr *off, *len; /* both NULL: the whole buffer; only len NULL: one element */
	struct goal_range *next; /* next range among the arguments of a call */
};

/* An argument "name = expr" of a call, or a definition of a schedule. */
struct goal_named {
	struct goal_named *next;
	const char *name;
	struct goal_loc loc;
	struct goal_expr *expr;
};

/* "call name(ranges, args) as rank of size at peer -> at tag tag". Parts that the text leaves out are NULL. */
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
	/* fields of GOAL_S_OP */
	enum goal_kind op;
	struct goal_labelref *label; /* label of an op or call, or the left side of a dependency */
	struct goal_range *range[2];
	struct goal_range *again; /* the second b of "reduce b with a into b" */
	struct goal_expr *clause[GOAL_NCLAUSES];
	enum goal_exec exec; /* 0 if not given */
	/* field of GOAL_S_CALL */
	struct goal_call *call;
	/* fields of GOAL_S_DEP */
	struct goal_labelref *on;
	bool start;
	/* The fields below are used by
	 *   GOAL_S_LET     name = expr
	 *   GOAL_S_IF      expr is the condition; body, other
	 *   GOAL_S_ASSERT  expr is the condition, name the message
	 *   GOAL_S_FOR     for name = expr to `to` by `by`, or downto if down is set; body
	 *   GOAL_S_OP      expr is the time of a calc
	 *   GOAL_S_GETS    expr is the rank from which range 0 gets range 1 */
	const char *name;
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
	struct goal_expr *length; /* length of a vector; NULL for a scalar */
	struct goal_expr *value; /* default, or NULL */
};

/* Stores the number that an expression stands for. Returns false if it is no number with or without a minus. */
bool goal_number(const struct goal_expr *e, int64_t *out);
/* True if the default of a parameter is an expression, not a number. */
bool goal_computed(const struct goal_param *p);

enum goal_mode { GOAL_IN, GOAL_OUT, GOAL_INOUT, GOAL_SCRATCH };

struct goal_buffer {
	struct goal_buffer *next;
	const char *name;
	struct goal_loc loc;
	enum goal_mode mode;
	struct goal_expr *length;
	struct goal_range *inplace; /* range of another buffer in which this buffer may be in place, or NULL */
	struct goal_expr *when; /* condition under which it may be in place; NULL: always */
};

struct goal_schedule {
	struct goal_schedule *next; /* next schedule of the file */
	const struct goal_text *text;
	const char *name, *implements; /* implements may be NULL */
	bool commutative, reproducible;
	struct goal_loc loc;
	struct goal_param *params;
	struct goal_named *defines; /* definitions, which the sizes of buffers, the result and the body share */
	struct goal_buffer *buffers;
	const char *rank, *size; /* names r and p of "rank r of p" */
	struct goal_loc rank_loc;
	struct goal_stmt *result; /* statements of the result */
	struct goal_loc implements_loc; /* position of the name of the collective */
	struct goal_loc result_loc; /* line 0 if the schedule has no result */
	struct goal_stmt *body;
};

/* A statement import "path". */
struct goal_import {
	struct goal_import *next;
	const char *path;
	struct goal_loc loc;
	struct goal_text *text;
};

/* A file of parametric GOAL. */
struct goal_text {
	struct goal_text *next; /* list of all files: first the one that is compiled, then those that are imported */
	struct arena arena;
	struct goal_import *imports;
	struct goal_schedule *schedules;
	struct goal_schedule *last; /* the last schedule, which the file exports; earlier schedules are helpers */
	bool open; /* the file, or one that it imports, is being read: an import of it now would be a cycle */
	uint64_t id[2]; /* device and inode number of the file */
};

/* ---- parsing ---- */

/* True if a text is in the plain dialect: its first word is num_ranks, or rank with a number. */
bool goal_text_is_plain(const struct file *f);
/* True if a text is in the parametric dialect: its first word is schedule or import. */
bool goal_text_is_parametric(const struct file *f);

/* Parses source number `file` of d and passes it to the sink. Errors in the text become diagnostics. Returns 0 if the text
 * could be read to its end, with or without diagnostics; else -ERR_x: out of memory, a failed read, a text that cannot be
 * read on (a byte 0, a token too long), or an error of the sink. */
int goal_parse_plain(struct goal_diags *d, unsigned file, const struct goal_plain_sink *sink);

/* Parses source number `file` of d and all files that it imports. Stores their texts in *out, which the caller frees, or NULL
 * if there were errors. Returns as goal_parse_plain. */
int goal_parse_parametric(struct goal_diags *d, unsigned file, struct goal_text **out);
void goal_text_free(struct goal_text *t);
/* Parses one file into t, without the files that it imports. */
int goal_parse_text(struct goal_diags *d, unsigned file, struct goal_text *t);

#endif
