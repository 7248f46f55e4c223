/* SPDX-License-Identifier: BSD-3-Clause
 * What the parts of the generator of programs share (lower_program.c). */
#ifndef COMPILER_LOWER_GEN_H
#define COMPILER_LOWER_GEN_H

#include "compiler/lower/lower.h"

#include <setjmp.h>

#define GEN_MAX_REGS 4096
#define GEN_CONSTS 16 /* registers that hold constants, from GEN_FIRST_CONST on */
#define GEN_FIRST_CONST 3
#define GEN_FIRST_VAR (GEN_FIRST_CONST + GEN_CONSTS)

struct gen_var {
	const char *name;
	uint16_t reg;
	bool given; /* cannot be assigned to */
	uint32_t bucket;
	size_t below; /* the variable before it in the bucket, plus 1, or 0 */
};

/* What a list of the tree has under a name: the first node of that name, and its number. */
struct gen_name {
	const void *list; /* the address of the list's head */
	const char *name;
	const void *node;
	uint32_t number;
};
#define GEN_BUCKETS 1024u

struct gen_label {
	uint32_t number;
	unsigned dims;
	const struct goal_schedule *inside; /* the schedule that calls with this label call */
	bool mixed; /* it also labels ops, or calls of other schedules */
};

/* The labels of a schedule. */
struct gen_labels {
	const struct goal_schedule *s;
	uint32_t n;
};

/* A buffer as a schedule sees it; in a call it is a window on one of the binary's. */
struct gen_buffer {
	uint16_t buf; /* of the binary */
	uint16_t base, size; /* registers; no base: it is the buffer itself */
	uint16_t window; /* or GEN_NO_WINDOW */
};
#define GEN_NO_WINDOW UINT16_MAX

/* A schedule while its body is generated: the one that is compiled, or one that is called. */
struct gen_scope {
	struct gen_scope *up; /* the caller */
	const struct goal_schedule *s;
	const struct goal_call *call; /* NULL: not called */
	const struct gen_labels *labels;
	struct gen_buffer *buffers;
	size_t vars, end; /* its variables: from vars on, up to end when it calls */
	unsigned source; /* of the diagnostics */
	uint32_t line; /* of the call that leads to another file; 0: in the file that is compiled */
	unsigned depth;
	uint16_t rank, size, count; /* registers */
	uint16_t tag; /* what is added to tags, or BIN_NOREG */
	uint16_t instance; /* of its labels, or 0 */
	bool mapped; /* peers are not those of the caller */
};

struct gen {
	struct goal_diags *d;
	struct gen_scope *scope;
	struct ir_image *im;
	struct arena arena;
	bool several; /* there are schedules to call */
	bool interface; /* of calls only what the caller sees is looked at */
	VEC(struct gen_var) vars;
	size_t bucket[GEN_BUCKETS]; /* of names: its last variable, plus 1, or 0 */
	VEC(struct gen_name) names; /* of the lists that have been looked at */
	VEC(uint32_t) slots; /* open hash of them, number + 1; as many as a power of two */
	struct gen_var peer; /* the variable of "at"; no name: not visible */
	uint32_t hidden; /* the buffer with the scratch of calls, or BIN_NONE */
	uint16_t hidden_size; /* register */
	unsigned calls, depth;
	bool full; /* there are too many calls: that has been said */
	int64_t constant[GEN_CONSTS];
	unsigned nconsts;
	unsigned top; /* first free register */
	unsigned most;
	const struct goal_buffer *inplace; /* the buffer that may be in place, or NULL */
	uint16_t is_inplace; /* whether it is */
	struct bin_tmpl in_place; /* and where */
	bool result; /* it is the result that is being generated */
	struct goal_loc at; /* of what is being emitted */
	jmp_buf nomem;
};

/* ---- gen.c ---- */

/* An error; fmt has one %s, for name. */
void gen_error(struct gen *g, struct goal_loc at, const char *check, const char *fmt, const char *name);
_Noreturn void gen_no_memory(struct gen *g);

/* Each returns the number of the instruction or nothing. */
uint32_t gen_emit(struct gen *g, struct bin_word w);
uint32_t gen_emit_imm(struct gen *g, enum bin_insn op, unsigned a, int64_t imm);
void gen_emit_abc(struct gen *g, int op, unsigned a, unsigned b, unsigned c);
/* A jump that was emitted leads to what comes next. */
void gen_jump_here(struct gen *g, uint32_t from);
uint16_t gen_reg(struct gen *g);
uint32_t gen_string(struct gen *g, const char *s);

/* Memory for as long as g. */
void *gen_alloc(struct gen *g, size_t size);

/* Names are looked up by hash, since texts may have any number of them. gen_first_use says that a list has not been
 * looked at; then all that it has is declared, and the first of a name stays. What is returned is valid until then. */
bool gen_first_use(struct gen *g, const void *list);
struct gen_name *gen_declare(struct gen *g, const void *list, const char *name, const void *node, uint32_t number);
struct gen_name *gen_named(struct gen *g, const void *list, const char *name);

struct gen_var *gen_find_var(struct gen *g, const char *name);
void gen_add_var(struct gen *g, const char *name, uint16_t reg, bool given);
/* Variables from number n on end. */
void gen_drop_vars(struct gen *g, size_t n);
const struct goal_param *gen_find_param(struct gen *g, const struct goal_schedule *s, const char *name, unsigned *index);
const struct goal_buffer *gen_declared(struct gen *g, const char *name, unsigned *index);
/* NULL after a message. */
struct gen_buffer *gen_find_buffer(struct gen *g, const struct goal_range *range, bool write);

/* ---- gen_expr.c ---- */

/* Generators of expressions take the register that the value shall be in, or GEN_ANY, and return the one where it
 * is. It is written last, when all operands have been read. */
#define GEN_ANY BIN_NOREG
uint16_t gen_expr(struct gen *g, const struct goal_expr *e, uint16_t into);
uint16_t gen_num(struct gen *g, int64_t v, uint16_t into);
/* Temporaries do not stay. */
/* The vector of the outermost schedule that a vector is here, or one of these. */
#define GEN_NO_VECTOR (-1)
#define GEN_NOT_GIVEN (-2) /* a call left it out */
int gen_vector(struct gen *g, const struct gen_scope *s, const char *name);
void gen_into(struct gen *g, const struct goal_expr *e, uint16_t into);
void gen_load_num(struct gen *g, int64_t v, uint16_t into);
/* Whether statements give a variable another value. */
bool gen_assigns(const struct goal_stmt *s, const char *name);
/* A register that holds the value for as long as these statements run. */
uint16_t gen_kept(struct gen *g, const struct goal_expr *e, const struct goal_stmt *during);

/* ---- lower_program.c ---- */

/* The statements of a block; its variables end with it. */
void gen_block_of(struct gen *g, const struct goal_stmt *s);
/* Buffer and offset of range k of an op; *len is the register of its length. */
void gen_range(struct gen *g, const struct goal_range *range, bool write, struct bin_tmpl *t, unsigned k, uint16_t *len);

/* ---- gen_inplace.c ---- */

/* Finds the buffer that may be in place, and adds its parameter. */
void gen_inplace_param(struct gen *g);
/* The value "inplace", before the sizes of buffers; then where the buffer is. */
void gen_inplace_value(struct gen *g);
void gen_inplace_range(struct gen *g);
/* Behind the ops: they are done in place. */
void gen_inplace_ops(struct gen *g);

/* ---- gen_result.c ---- */

/* RANGE gets RANGE of EXPR */
void gen_gets(struct gen *g, const struct goal_stmt *s);
/* NAME of EXPR, NAME[EXPR] of EXPR */
uint16_t gen_of(struct gen *g, const struct goal_expr *e, uint16_t into);

/* ---- gen_label.c ---- */

const struct gen_labels *gen_labels_of(struct gen *g, const struct goal_schedule *s);
/* What a statement declares. */
void gen_label(struct gen *g, const struct goal_labelref *l, uint32_t *label, uint16_t index[2]);
void gen_dep(struct gen *g, const struct goal_stmt *s);

/* ---- gen_call.c ---- */

/* The schedule that a name stands for in a call; NULL where there is none, or several. */
const struct goal_schedule *gen_callee(struct gen *g, const struct goal_schedule *caller, const char *name, bool *several);
void gen_call(struct gen *g, const struct goal_stmt *s);
/* The buffer of a schedule that may be in place, or NULL. */
const struct goal_buffer *gen_can_be_in_place(const struct goal_schedule *s);
/* The argument of a call for a parameter of the schedule; NULL when it has none. */
const struct goal_expr *gen_argument(struct gen *g, const struct gen_scope *scope, const char *name);
/* What an expression is where the schedule was called. */
uint16_t gen_expr_up(struct gen *g, const struct goal_expr *e, uint16_t into);
/* The rank of the outermost schedule that is a peer here. */
uint16_t gen_peer(struct gen *g, uint16_t peer);

/* ---- lower_program.c ---- */

void gen_block_of(struct gen *g, const struct goal_stmt *s);
/* The root is a rank, and vectors have their lengths. */
void gen_check_params(struct gen *g);

#endif
