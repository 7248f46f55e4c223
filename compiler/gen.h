/* SPDX-License-Identifier: BSD-3-Clause
 * What the parts of the generator of programs share (lower_program.c). */
#ifndef COMPILER_GEN_H
#define COMPILER_GEN_H

#include "compiler/lower.h"

#include <setjmp.h>

#define GEN_MAX_REGS 4096
#define GEN_CONSTS 16 /* registers that hold constants, from GEN_FIRST_CONST on */
#define GEN_FIRST_CONST 3
#define GEN_FIRST_VAR (GEN_FIRST_CONST + GEN_CONSTS)

struct gen_var {
	const char *name;
	uint16_t reg;
};

struct gen_label {
	const char *name;
	struct goal_loc loc;
	unsigned dims;
};

struct gen {
	struct goal_diags *d;
	const struct goal_schedule *s;
	struct ir_image *im;
	VEC(struct gen_var) vars;
	VEC(struct gen_label) labels;
	uint16_t *bufreg; /* the register with the size of each buffer */
	int64_t constant[GEN_CONSTS];
	unsigned nconsts;
	unsigned top; /* first free register */
	unsigned most;
	const struct goal_buffer *inplace; /* the buffer that may be in place, or NULL */
	uint16_t is_inplace; /* whether it is */
	struct bin_tmpl place; /* and where */
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
/* A template without any operand. */
struct bin_tmpl gen_tmpl(unsigned kind);

struct gen_var *gen_find_var(struct gen *g, const char *name);
void gen_add_var(struct gen *g, const char *name, uint16_t reg);
const struct goal_param *gen_find_param(struct gen *g, const char *name, unsigned *index);
/* The number of a buffer, or -1. */
int gen_find_buffer(struct gen *g, const char *name, enum goal_mode *mode);

/* ---- gen_expr.c ---- */

/* Generators of expressions take the register that the value shall be in, or GEN_ANY, and return the one where it
 * is. It is written last, when all operands have been read. */
#define GEN_ANY BIN_NOREG
uint16_t gen_expr(struct gen *g, const struct goal_expr *e, uint16_t into);
uint16_t gen_num(struct gen *g, int64_t v, uint16_t into);
/* Temporaries do not stay. */
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

/* Makes the labels of a body known. */
void gen_collect_labels(struct gen *g, const struct goal_stmt *s, bool loop);
void gen_labelref(struct gen *g, const struct goal_labelref *l, bool declares, uint32_t *label, uint16_t index[2]);
void gen_dep(struct gen *g, const struct goal_stmt *s);

#endif
