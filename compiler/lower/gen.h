/* SPDX-License-Identifier: BSD-3-Clause
 * The state and functions that the parts of the generator of programs share (lower_program.c and gen*.c). */
#ifndef COMPILER_LOWER_GEN_H
#define COMPILER_LOWER_GEN_H

#include "compiler/lower/lower.h"
#include "util/index.h"

#include <setjmp.h>

#define GEN_MAX_REGS 4096
#define GEN_CONSTS 16 /* number of registers that hold constants, from GEN_FIRST_CONST on */
#define GEN_FIRST_CONST 3
#define GEN_FIRST_VAR (GEN_FIRST_CONST + GEN_CONSTS)

struct gen_var {
	const char *name;
	uint16_t reg;
	bool given; /* true if statements cannot assign to the variable */
	uint32_t bucket;
	size_t below; /* 1 + index of the previous variable in the bucket, or 0 */
};

/* Entry of the table of names: the first node with this name in a list of the syntax tree, and the node's number. */
struct gen_name {
	const void *list; /* address of the list's head */
	const char *name;
	const void *node;
	uint32_t number;
};
#define GEN_BUCKETS 1024u

struct gen_label {
	uint32_t number;
	unsigned dims;
	const struct goal_schedule *inside; /* schedule that the calls with this label call, or NULL */
	bool mixed; /* true if ops, or calls of other schedules, have this label too */
};

/* The labels of a schedule, which gen_named() finds under the address of this struct. */
struct gen_labels {
	const struct goal_schedule *s;
	uint32_t n; /* number of labels */
};

/* A buffer as a schedule sees it. In a call, it is a window on a buffer of the binary. */
struct gen_buffer {
	uint16_t buf; /* buffer of the binary */
	uint16_t base, size; /* registers with offset and size of the window; base is BIN_NOREG if the offset is 0 */
	uint16_t window; /* index of the window, or GEN_NO_WINDOW */
};
#define GEN_NO_WINDOW UINT16_MAX

/* A schedule whose body is being generated: the compiled schedule, or a called one. */
struct gen_scope {
	struct gen_scope *up; /* scope of the caller, or NULL */
	const struct goal_schedule *s;
	const struct goal_call *call; /* the call that entered the schedule; NULL in the schedule that is compiled */
	const struct gen_labels *labels;
	struct gen_buffer *buffers;
	size_t vars, end; /* range of its variables in gen.vars; end is SIZE_MAX, except while this schedule calls another one */
	unsigned source; /* source to which its diagnostics belong */
	uint32_t line; /* line, in the compiled file, of the call that led to another file; 0 while in the compiled file */
	unsigned depth; /* number of calls around this scope */
	uint16_t rank, size, count; /* registers with rank, size and count */
	uint16_t tag; /* register with the number that is added to all tags, or BIN_NOREG */
	uint16_t instance; /* register with the first label of the call's instance, or 0 if it has none */
	bool mapped; /* true if its ranks have other numbers than in the caller */
};

struct gen {
	struct goal_diags *d;
	struct gen_scope *scope;
	struct ir_image *im;
	struct arena arena;
	bool several; /* true if the texts have more than one schedule, so that there may be calls */
	bool interface; /* true if only the arguments of a call are checked, and its body is not generated */
	VEC(struct gen_var) vars;
	size_t bucket[GEN_BUCKETS]; /* for each hash of a name, 1 + index of the last variable with that hash, or 0 */
	VEC(struct gen_name) names; /* all names that gen_declare() has stored */
	struct index by_name;
	struct gen_var peer; /* variable of the clause "at" of a call; its name is NULL while it is not visible */
	uint32_t hidden; /* buffer that holds the scratch buffers of all calls, or BIN_NONE */
	uint16_t hidden_size; /* register with the size of that buffer so far */
	unsigned calls, depth; /* number of calls generated; current nesting of blocks */
	bool full; /* true if there are too many calls, and this has been reported */
	int64_t constant[GEN_CONSTS]; /* values of the registers from GEN_FIRST_CONST on */
	unsigned nconsts;
	unsigned top; /* first free register */
	unsigned most; /* number of registers needed so far */
	const struct goal_buffer *inplace; /* the buffer that may be in place, or NULL */
	uint16_t is_inplace; /* register that is 1 if that buffer is in place, otherwise 0 */
	struct bin_tmpl in_place; /* operand of INPLACE: the buffer, and the range that replaces it */
	bool result; /* true while the result is generated, false while the ops are */
	bool again; /* true while what precedes the body is generated again for the result: its errors are reported already */
	struct goal_loc at; /* source location of the instructions being emitted */
	jmp_buf nomem; /* where gen_no_memory() jumps to */
};

/* ---- gen.c ---- */

/* Reports an error. fmt contains one %s, which `name` replaces. */
void gen_error(struct gen *g, struct goal_loc at, const char *check, const char *fmt, const char *name);
_Noreturn void gen_no_memory(struct gen *g);

/* These functions append an instruction. gen_emit() and gen_emit_imm() return its number. */
uint32_t gen_emit(struct gen *g, struct bin_word w);
uint32_t gen_emit_imm(struct gen *g, enum bin_insn op, unsigned a, int64_t imm);
void gen_emit_abc(struct gen *g, int op, unsigned a, unsigned b, unsigned c);
/* Sets the target of the jump that is instruction number `from` to the next instruction. */
void gen_jump_here(struct gen *g, uint32_t from);
uint16_t gen_reg(struct gen *g);
uint32_t gen_string(struct gen *g, const char *s);

/* Allocates memory that lives as long as g. */
void *gen_alloc(struct gen *g, size_t size);

/* Names are found by hash, because a text may have any number of them. gen_first_use() returns true at the first use of a
 * list; the caller then declares all nodes of the list. If several nodes have the same name, the first node stays. A returned
 * pointer is valid until the next gen_declare() or gen_first_use(). */
bool gen_first_use(struct gen *g, const void *list);
struct gen_name *gen_declare(struct gen *g, const void *list, const char *name, const void *node, uint32_t number);
struct gen_name *gen_named(struct gen *g, const void *list, const char *name);

struct gen_var *gen_find_var(struct gen *g, const char *name);
void gen_add_var(struct gen *g, const char *name, uint16_t reg, bool given);
/* Removes the variables from index n on, because their block ends. */
void gen_drop_vars(struct gen *g, size_t n);
const struct goal_param *gen_find_param(struct gen *g, const struct goal_schedule *s, const char *name, unsigned *index);
const struct goal_buffer *gen_declared(struct gen *g, const char *name, unsigned *index);
/* Returns the buffer of a range in the current scope, or NULL after reporting an error. `write` is true if the range is
 * written. */
struct gen_buffer *gen_find_buffer(struct gen *g, const struct goal_range *range, bool write);

/* ---- gen_expr.c ---- */

/* Generators of expressions take the register for the value, or GEN_ANY, and return the register that has the value. They
 * write this register last, when all operands have been read. */
#define GEN_ANY BIN_NOREG
uint16_t gen_expr(struct gen *g, const struct goal_expr *e, uint16_t into);
uint16_t gen_num(struct gen *g, int64_t v, uint16_t into);
/* Returns the index of the outermost schedule's parameter that the vector `name` of scope s stands for, or GEN_NO_VECTOR
 * or GEN_NOT_GIVEN. */
#define GEN_NO_VECTOR (-1) /* `name` is no vector in s */
#define GEN_NOT_GIVEN (-2) /* a call left the vector out */
int gen_vector(struct gen *g, const struct gen_scope *s, const char *name);
/* Generates e into the register `into`, and frees the temporary registers of e. */
void gen_into(struct gen *g, const struct goal_expr *e, uint16_t into);
void gen_load_num(struct gen *g, int64_t v, uint16_t into);
/* True if one of the statements s assigns to the variable. */
bool gen_assigns(const struct goal_stmt *s, const char *name);
/* Returns a register that keeps the value of e while the statements `during` run. */
uint16_t gen_kept(struct gen *g, const struct goal_expr *e, const struct goal_stmt *during);

/* ---- lower_program.c ---- */

/* Generates the statements of a block. Its variables end with the block. */
void gen_block_of(struct gen *g, const struct goal_stmt *s);
/* Sets buffer and offset of range k of template t, and stores the register that holds the length in *len. */
void gen_range(struct gen *g, const struct goal_range *range, bool write, struct bin_tmpl *t, unsigned k, uint16_t *len);

/* ---- gen_default.c ---- */

/* Fills in the default of parameter number `index` of the schedule that is compiled, and reports a default that cannot be. */
void gen_default(struct gen *g, const struct goal_param *p, unsigned index, struct bin_param *out);
/* Makes variables of the parameters of the schedule that is compiled whose defaults are computed. */
void gen_defaults(struct gen *g);
/* Makes variables of the definitions of the schedule in g->scope. */
void gen_definitions(struct gen *g);

/* ---- gen_inplace.c ---- */

/* Finds the buffer that may be in place, and adds its parameter. */
void gen_inplace_param(struct gen *g);
/* Generates the value "inplace". It is generated before the sizes of buffers, because these may depend on it. */
void gen_inplace_value(struct gen *g);
/* Generates the range in which the buffer is in place. It is generated after the sizes of buffers. */
void gen_inplace_range(struct gen *g);
/* Generates INPLACE, after all ops: it moves the accesses of the ops from the buffer that is in place to this range. */
void gen_inplace_ops(struct gen *g);

/* ---- gen_result.c ---- */

/* Generates the statement "RANGE gets RANGE of EXPR". */
void gen_gets(struct gen *g, const struct goal_stmt *s);
/* Generates the expression "NAME of EXPR" or "NAME[EXPR] of EXPR". */
uint16_t gen_of(struct gen *g, const struct goal_expr *e, uint16_t into);

/* ---- gen_label.c ---- */

const struct gen_labels *gen_labels_of(struct gen *g, const struct goal_schedule *s);
/* Stores number and index registers of the label that a statement declares. */
void gen_label(struct gen *g, const struct goal_labelref *l, uint32_t *label, uint16_t index[2]);
void gen_dep(struct gen *g, const struct goal_stmt *s);

/* ---- gen_call.c ---- */

/* Returns the schedule that a name stands for in a call. Returns NULL if there is no such schedule, or if there
 * are several; *several is then true. */
const struct goal_schedule *gen_callee(struct gen *g, const struct goal_schedule *caller, const char *name, bool *several);
void gen_call(struct gen *g, const struct goal_stmt *s);
/* Returns the buffer of a schedule that may be in place, or NULL. */
const struct goal_buffer *gen_can_be_in_place(const struct goal_schedule *s);
/* Returns the argument that the call of a scope gives for a parameter, or NULL if it gives none. */
const struct goal_expr *gen_argument(struct gen *g, const struct gen_scope *scope, const char *name);
/* Generates an expression in the scope of the caller. */
uint16_t gen_expr_up(struct gen *g, const struct goal_expr *e, uint16_t into);
/* Generates the outermost schedule's number of a rank, given the register with its number in the current scope. */
uint16_t gen_peer(struct gen *g, uint16_t peer);

/* ---- lower_program.c ---- */

void gen_block_of(struct gen *g, const struct goal_stmt *s);
/* Generates the checks that the root is a rank and that vectors have the declared lengths. */
void gen_check_params(struct gen *g);

#endif
