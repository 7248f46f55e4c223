/* SPDX-License-Identifier: BSD-3-Clause
 * The interpreter of parametric programs: it has each instruction of insn.def once. A file that includes it gets its own
 * interpret(), and defines the functions declared here. They decide what a register may hold besides a number, what EMIT
 * makes, and how the size of a buffer is stored. In program.c all values are numbers, and the compiler removes the tests
 * for anything else. In lower_concrete.c a register may also hold a term: a value that depends on count, which is not
 * known yet; in backends/sim/alike.c also a value that is not the same on all ranks. Freestanding. */
#ifndef FORMAT_INTERP_H
#define FORMAT_INTERP_H

#include "format/arith.h"
#include "format/machine.h"

/* is_number: true if register r holds a number and not a term; BIN_NOREG counts as the number 0. mark_number: records
 * whether the register holds a number or a term from now on. */
ARITH_INLINE bool is_number(const struct machine *m, uint16_t r);
ARITH_INLINE void mark_number(struct machine *m, uint16_t r, bool number);
/* Carries out an ARITH instruction, which sets register a. reg is m->reg, which interpret() reads only once. */
ARITH_INLINE int compute(struct machine *m, int64_t *reg, int op, const struct bin_word *w);
/* Sets the size of a buffer to the value of register r. */
ARITH_INLINE int set_size(struct machine *m, uint32_t buffer, uint16_t r);
/* Makes an op for the instruction EMIT, GETS, EMITIN or COPYIN. */
ARITH_INLINE int emit(struct machine *m, const struct bin_tmpl *t, enum bin_insn insn, uint32_t line);
/* Carries out INPLACE: in all ops so far, ranges of the template's first buffer become ranges of its second buffer. In the
 * program of a result it only makes the copy, which says that the buffer is in place. */
static int put_in_place(struct machine *m, const struct bin_tmpl *t, bool result);

/* An error inside the interpreter, not one of util/err.h: a register holds a term where a number is needed. */
#define NEEDS_NUMBER (-1000)

/* ---- counting ---- */

static inline int count_op(struct machine *m)
{
	return m->sp->nops++ < m->most ? 0 : -ERR_SPACE;
}

static inline int count_dep(struct machine *m)
{
	return m->sp->ndeps++ < (uint64_t)m->most * BIN_USUAL_DEPS ? 0 : -ERR_SPACE;
}

/* A program may have at most half as many calls with labels as ops; most_ranges() of call.c has the same limit. */
static inline int count_call(struct machine *m, const struct bin_call *c)
{
	return c->label == BIN_NONE || m->nranges++ < m->most / 2 ? 0 : -ERR_SPACE;
}

/* ---- instructions ---- */

static inline int load_param(struct machine *m, const struct bin_word *w, bool result)
{
	const bool of = w->op == BIN_PARAM_OF || w->op == BIN_ELEM_OF, elem = w->op == BIN_ELEM || w->op == BIN_ELEM_OF;

	if (of && !result)
		return -ERR_CORRUPT;
	if ((of && !is_number(m, w->a)) || (elem && !is_number(m, w->c)))
		return NEEDS_NUMBER;
	mark_number(m, w->a, true);
	return machine_param(m, w);
}

static inline int check_length(struct machine *m, const struct bin_word *w)
{
	return is_number(m, w->a) ? machine_param(m, w) : NEEDS_NUMBER;
}

static inline int check_condition(struct machine *m, const int64_t *reg, const struct bin_word *w, int fault)
{
	m->sp->what = (uint32_t)w->imm;
	return !is_number(m, w->a) ? NEEDS_NUMBER : reg[w->a] ? 0 : fault;
}

static inline int check_key(const struct machine *m, const uint16_t index[2])
{
	return is_number(m, index[0]) && is_number(m, index[1]) ? 0 : NEEDS_NUMBER;
}

static inline int depend(struct machine *m, const struct bin_dep_tmpl *t, bool in_call, uint32_t line)
{
	int err = check_key(m, t->op_index);

	err = err ? err : check_key(m, t->on_index);
	return err ? err : in_call ? machine_depend_in_call(m, t, line) : machine_depend(m, t);
}

static inline int enter(struct machine *m, const struct bin_call *c, uint16_t r, bool inside)
{
	int err = c->label == BIN_NONE ? 0 : check_key(m, c->index);

	mark_number(m, r, true);
	return err ? err : inside ? machine_inside(m, c, &m->reg[r]) : machine_enter(m, c, &m->reg[r]);
}

static inline int find_side(struct machine *m, const struct bin_word *w, uint64_t *steps, uint64_t fuel)
{
	int err;

	if (!is_number(m, w->b) || !is_number(m, w->c))
		return NEEDS_NUMBER;
	err = bin_side(m->reg[w->b], m->reg[w->c], &m->reg[w->a], steps);
	mark_number(m, w->a, true);
	return err ? err : *steps > fuel ? -ERR_FUEL : 0;
}

static inline int check_peer(struct machine *m, const int64_t *reg, const struct bin_word *w)
{
	const int64_t peer = m->sp->value[0] = reg[w->a];

	if (!is_number(m, w->a) || !is_number(m, w->b))
		return NEEDS_NUMBER;
	return peer < 0 || peer >= reg[w->b] ? -ERR_PEER : 0;
}

/* Checks WITHIN or FITS if its values are numbers. Values that depend on count are checked when count is known. */
static inline int check_window(struct machine *m, const struct bin_word *w)
{
	if (!is_number(m, w->a) || !is_number(m, m->b->windows[w->c].size))
		return 0;
	if (w->op == BIN_FITS)
		return machine_fits(m, w);
	return is_number(m, w->b) ? machine_within(m, w) : 0;
}

/* ---- the loop ---- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* computed goto is 5 to 15 % faster than a switch */

#define RUN goto *label[w->op]
/* The empty asm keeps compilers from merging the indirect jumps: the processor predicts many jumps better than one. */
#define NEXT do { w++; __asm__ volatile("" : : "i"(__COUNTER__)); RUN; } while (0)
#define CHECK(what) do { err = (what); if (__builtin_expect(err, 0)) goto out; NEXT; } while (0)
#define SET(value, number) do { reg[w->a] = (value); mark_number(m, w->a, number); NEXT; } while (0)
/* If the condition is false, goes on to the next instruction. If it is true, the statement after the macro jumps. */
#define BRANCH(condition) do { if (!is_number(m, w->a)) CHECK(NEEDS_NUMBER); if (!(condition)) NEXT; } while (0)
#define COUNT_OR(counted, done) CHECK(counts ? (counted) : (done))
#define EMIT(insn) COUNT_OR(count_op(m), emit(m, &b->tmpls[w->imm], insn, LINE))
#define LINE (b->lines ? b->lines[w - b->code] : 0)

/* Runs the program from instruction `from` to END. 0 selects the program of the ops, any other value the program of the
 * result. Each row of insn.def has its label here. Instructions are counted at each jump: all those of the straight
 * line that ends there. */
static int interpret(struct machine *m, uint32_t from)
{
	static const void *const label[BIN_INSNS] = {
#define INSN(NAME, number, text, form) [number] = &&L_##NAME,
#include "format/insn.def"
#undef INSN
	};
	const struct bin *b = m->b;
	const struct bin_word *w = b->code + from, *line = w; /* line: where the current straight line began */
	const uint64_t fuel = m->args->fuel ? m->args->fuel : (uint64_t)1 << 28;
	const bool counts = m->most;
	uint64_t steps = 0;
	int64_t *reg = m->reg;
	int err;

	RUN;
L_JZ:
	BRANCH(!reg[w->a]);
	goto L_JMP;
L_JNZ:
	BRANCH(reg[w->a]);
L_JMP:
	steps += (uint64_t)(w - line) + 1;
	if (steps > fuel) {
		err = -ERR_FUEL;
		goto out;
	}
	w = line = b->code + w->imm;
	RUN;
L_IMM: SET(w->imm, true);
L_CONST: SET(b->consts[w->imm], true);
L_MOV: SET(reg[w->b], is_number(m, w->b));
L_PARAM:
L_ELEM:
L_VECLEN:
L_GIVEN:
L_PARAM_OF:
L_ELEM_OF: CHECK(load_param(m, w, from));
L_LENGTH: CHECK(check_length(m, w));
L_BUFSIZE: CHECK(set_size(m, w->a, w->b));
L_CHECK: CHECK(check_condition(m, reg, w, -ERR_FAULT));
L_ASSERT: CHECK(check_condition(m, reg, w, -ERR_ASSERT));
L_EMIT: EMIT(BIN_EMIT);
L_GETS:
	if (!from)
		CHECK(-ERR_CORRUPT);
	EMIT(BIN_GETS);
L_EMITIN: EMIT(BIN_EMITIN);
L_COPYIN: EMIT(BIN_COPYIN);
L_INPLACE: COUNT_OR(count_op(m), put_in_place(m, &b->tmpls[w->imm], from));
L_DEP: COUNT_OR(count_dep(m), depend(m, &b->deps[w->imm], false, 0));
L_DEPIN: COUNT_OR(count_dep(m), depend(m, &b->deps[w->imm], true, LINE));
L_ENTER: COUNT_OR(count_call(m, &b->calls[w->imm]), enter(m, &b->calls[w->imm], w->a, false));
L_INSIDE: COUNT_OR(count_call(m, &b->calls[w->imm]), enter(m, &b->calls[w->imm], w->a, true));
L_LEAVE: COUNT_OR(0, machine_leave(m, &b->calls[w->imm]));
L_SIDE: CHECK(find_side(m, w, &steps, fuel));
L_PEER: CHECK(check_peer(m, reg, w));
L_WITHIN:
L_FITS: CHECK(check_window(m, w));
#define INSN(NAME, number, text, form)
#define ARITH(NAME, number, text, form) L_##NAME: CHECK(compute(m, reg, number, w)); /* field c is 0 in a unary instruction */
#include "format/insn.def"
#undef INSN
L_END:
	err = 0; /* set here, so that no instruction has to keep err for the end */
out:
	m->sp->where = (uint32_t)(w - b->code);
	m->sp->steps = steps + (uint64_t)(w - line) + 1;
	return err ? err : m->sp->steps > fuel ? -ERR_FUEL : 0;
}

#undef LINE
#undef EMIT
#undef COUNT_OR
#undef BRANCH
#undef SET
#undef CHECK
#undef NEXT
#undef RUN
#pragma GCC diagnostic pop

#endif
