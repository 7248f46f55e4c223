/* SPDX-License-Identifier: BSD-3-Clause
 * Parametric GOAL to a program: one pass over the tree that emits instructions for a register
 * machine (insn.def). Variables own registers for as long as their block lasts; temporaries live above
 * them until the end of a statement. */
#include "compiler/lower.h"

#include "compiler/bin_check.h"
#include "util/err.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REGS 4096
#define CONSTS 16 /* registers that hold constants, from FIRST_CONST on */
#define FIRST_CONST 3
#define FIRST_VAR (FIRST_CONST + CONSTS)

struct var {
	const char *name;
	uint16_t reg;
};

struct label {
	const char *name;
	struct goal_loc loc;
	unsigned dims;
};

struct gen {
	struct goal_diags *d;
	const struct goal_schedule *s;
	struct ir_image *im;
	VEC(struct var) vars;
	VEC(struct label) labels;
	uint16_t *bufreg; /* the register with the size of each buffer */
	int64_t constant[CONSTS];
	unsigned nconsts;
	unsigned top; /* first free register */
	unsigned most;
	struct goal_loc at; /* of what is being emitted */
	jmp_buf nomem;
};

static void error(struct gen *g, struct goal_loc at, const char *check, const char *fmt, const char *name)
{
	goal_diag(g->d, GOAL_ERROR, at, check, fmt, name);
}

static void no_memory(struct gen *g)
{
	longjmp(g->nomem, 1);
}

static uint32_t emit(struct gen *g, struct bin_word w)
{
	if (g->im->code.n >= INT32_MAX || VEC_PUSH(&g->im->code, w) || VEC_PUSH(&g->im->locs, g->at))
		no_memory(g);
	return (uint32_t)g->im->code.n - 1;
}

static uint32_t emit_imm(struct gen *g, enum bin_insn op, unsigned a, int64_t imm)
{
	return emit(g, (struct bin_word){ .op = (uint8_t)op, .a = (uint16_t)a, .imm = (int32_t)imm });
}

static void emit_abc(struct gen *g, int op, unsigned a, unsigned b, unsigned c)
{
	emit(g, (struct bin_word){ .op = (uint8_t)op, .a = (uint16_t)a, .b = (uint16_t)b, .c = (uint16_t)c });
}

static void jump_here(struct gen *g, uint32_t from)
{
	g->im->code.at[from].imm = (int32_t)g->im->code.n;
}

static uint16_t new_reg(struct gen *g)
{
	if (g->top >= MAX_REGS - 1) {
		error(g, g->at, "syntax", "%s", "the schedule has too many variables");
		g->top = FIRST_VAR;
	}
	if (g->top + 1 > g->most)
		g->most = g->top + 1;
	return (uint16_t)g->top++;
}

static uint32_t string(struct gen *g, const char *s)
{
	int64_t at = ir_image_string(g->im, s);

	if (at < 0)
		no_memory(g);
	return (uint32_t)at;
}

/* ---- names ---- */

static struct var *find_var(struct gen *g, const char *name)
{
	for (size_t i = g->vars.n; i-- > 0;)
		if (!strcmp(g->vars.at[i].name, name))
			return &g->vars.at[i];
	return NULL;
}

static void add_var(struct gen *g, const char *name, uint16_t reg)
{
	if (VEC_PUSH(&g->vars, (struct var){ name, reg }))
		no_memory(g);
}

static const struct goal_param *find_param(struct gen *g, const char *name, unsigned *index)
{
	unsigned i = 0;

	for (const struct goal_param *p = g->s->params; p; p = p->next, i++)
		if (!strcmp(p->name, name)) {
			*index = i;
			return p;
		}
	return NULL;
}

static int find_buffer(struct gen *g, const char *name, enum goal_mode *mode)
{
	int i = 0;

	for (const struct goal_buffer *b = g->s->buffers; b; b = b->next, i++)
		if (!strcmp(b->name, name)) {
			*mode = b->mode;
			return i;
		}
	return -1;
}

static struct label *find_label(struct gen *g, const char *name)
{
	for (size_t i = 0; i < g->labels.n; i++)
		if (!strcmp(g->labels.at[i].name, name))
			return &g->labels.at[i];
	return NULL;
}

static unsigned dims(const struct goal_labelref *l)
{
	return (l->index[0] != NULL) + (l->index[1] != NULL);
}

static void collect_labels(struct gen *g, const struct goal_stmt *s, bool loop)
{
	for (; s; s = s->next) {
		collect_labels(g, s->body, loop || s->kind == GOAL_S_FOR);
		collect_labels(g, s->other, loop);
		if (s->kind != GOAL_S_OP || !s->label)
			continue;
		struct label *old = find_label(g, s->label->name);

		if (loop && !dims(s->label))
			error(g, s->label->loc, "duplicate-label",
			      "the label %s stands in a loop: give it an index", s->label->name);
		if (old && old->dims != dims(s->label))
			error(g, s->label->loc, "duplicate-label",
			      "the label %s has another number of indices elsewhere", s->label->name);
		if (!old && VEC_PUSH(&g->labels,
				     (struct label){ s->label->name, s->label->loc, dims(s->label) }))
			no_memory(g);
	}
}

/* Whether statements give a variable another value. */
static bool assigns(const struct goal_stmt *s, const char *name)
{
	for (; s; s = s->next)
		if ((s->kind == GOAL_S_LET && !strcmp(s->name, name)) || assigns(s->body, name) ||
		    assigns(s->other, name))
			return true;
	return false;
}

/* ---- expressions ---- */

/* Generators of expressions take the register that the value shall be in, or ANY, and return the one where it is.
 * It is written last, when all operands have been read. */
#define ANY BIN_NOREG

static uint16_t gen_expr(struct gen *g, const struct goal_expr *e, uint16_t into);

static uint16_t result(struct gen *g, uint16_t into)
{
	return into == ANY ? new_reg(g) : into;
}

static void gen_into(struct gen *g, const struct goal_expr *e, uint16_t into)
{
	unsigned top = g->top;

	gen_expr(g, e, into);
	g->top = top;
}

static void load_num(struct gen *g, int64_t v, uint16_t into)
{
	if (v == (int32_t)v) {
		emit_imm(g, BIN_IMM, into, v);
		return;
	}
	if (VEC_PUSH(&g->im->consts, v))
		no_memory(g);
	emit_imm(g, BIN_CONST, into, (int64_t)g->im->consts.n - 1);
}

/* The first constants that occur have registers of their own, which are loaded once. */
static uint16_t gen_num(struct gen *g, int64_t v, uint16_t into)
{
	unsigned i = 0;

	while (i < g->nconsts && g->constant[i] != v)
		i++;
	if (into != ANY || i == CONSTS) {
		into = result(g, into);
		load_num(g, v, into);
		return into;
	}
	if (i == g->nconsts)
		g->constant[g->nconsts++] = v;
	return (uint16_t)(FIRST_CONST + i);
}

static uint16_t gen_name(struct gen *g, const struct goal_expr *e, uint16_t into)
{
	const struct var *v = find_var(g, e->name);
	const struct goal_param *p;
	unsigned index;

	if (v && into == ANY)
		return v->reg;
	if (v) {
		if (v->reg != into)
			emit_abc(g, BIN_MOV, into, v->reg, 0);
		return into;
	}
	p = find_param(g, e->name, &index);
	if (!p)
		error(g, e->loc, "name", "%s is not declared", e->name);
	else if (p->length)
		error(g, e->loc, "name", "%s is a vector: give it an index", e->name);
	into = result(g, into);
	if (p && !p->length)
		emit(g, (struct bin_word){ .op = BIN_PARAM, .a = into, .b = (uint16_t)index });
	return into;
}

static uint16_t gen_index(struct gen *g, const struct goal_expr *e, uint16_t into)
{
	unsigned index;
	const struct goal_param *p = find_param(g, e->name, &index);
	uint16_t i = gen_expr(g, e->arg[0], ANY);

	into = result(g, into);
	if (!p || find_var(g, e->name))
		error(g, e->loc, "name", "%s is no vector", e->name);
	else if (!p->length)
		error(g, e->loc, "name", "%s is no vector", e->name);
	else
		emit(g, (struct bin_word){ .op = BIN_ELEM, .a = into, .b = (uint16_t)index, .c = i });
	return into;
}

/* blockoff(n, k, i) and blocklen(n, k, i): the i-th of k parts of n elements; the first n mod k parts
 * have one element more. */
static uint16_t gen_block(struct gen *g, const struct goal_expr *e, bool off, uint16_t into)
{
	uint16_t n = gen_expr(g, e->arg[0], ANY), k = gen_expr(g, e->arg[1], ANY), i = gen_expr(g, e->arg[2], ANY);
	uint16_t quot = new_reg(g), rest = new_reg(g);

	emit_abc(g, BIN_DIV, quot, n, k);
	emit_abc(g, BIN_MOD, rest, n, k);
	if (off) {
		emit_abc(g, BIN_MUL, quot, quot, i);
		emit_abc(g, BIN_MIN, rest, rest, i);
	} else {
		emit_abc(g, BIN_LT, rest, i, rest);
	}
	into = result(g, into);
	emit_abc(g, BIN_ADD, into, quot, rest);
	return into;
}

static uint16_t gen_call(struct gen *g, const struct goal_expr *e, uint16_t into)
{
	static const struct {
		const char *name;
		unsigned nargs;
		int op;
	} fns[] = {
		{ "log2", 1, BIN_LOG2 },	 { "ceillog2", 1, BIN_CEILLOG2 },
		{ "lowbit", 1, BIN_LOWBIT },	 { "popcount", 1, BIN_POPCOUNT },
		{ "abs", 1, BIN_ABS },		 { "min", 2, BIN_MIN },
		{ "max", 2, BIN_MAX },		 { "blockoff", 3, BIN_END },
		{ "blocklen", 3, BIN_END },
	};

	for (size_t i = 0; i < sizeof fns / sizeof *fns; i++) {
		if (strcmp(fns[i].name, e->name))
			continue;
		if (fns[i].nargs != e->nargs) {
			goal_diag(g->d, GOAL_ERROR, e->loc, "name", "%s takes %u argument%s, not %u", e->name,
				  fns[i].nargs, fns[i].nargs == 1 ? "" : "s", e->nargs);
			return result(g, into);
		}
		if (fns[i].op == BIN_END)
			return gen_block(g, e, !strcmp(e->name, "blockoff"), into);
		uint16_t a = gen_expr(g, e->arg[0], ANY), b = e->nargs > 1 ? gen_expr(g, e->arg[1], ANY) : 0;

		into = result(g, into);
		emit_abc(g, fns[i].op, into, a, b);
		return into;
	}
	error(g, e->loc, "name", "there is no function %s", e->name);
	return result(g, into);
}

/* and, or: evaluate only what they need. The value is 0 or 1. */
static uint16_t gen_logic(struct gen *g, const struct goal_expr *e, uint16_t into)
{
	uint16_t r = new_reg(g); /* not into, which arg 1 may read */
	uint32_t skip;

	gen_into(g, e->arg[0], r);
	skip = emit_imm(g, e->kind == GOAL_E_AND ? BIN_JZ : BIN_JNZ, r, 0);
	gen_into(g, e->arg[1], r);
	jump_here(g, skip);
	emit_abc(g, BIN_NOT, r, r, 0);
	into = into == ANY ? r : into;
	emit_abc(g, BIN_NOT, into, r, 0);
	return into;
}

/* ?: evaluates only what it needs. */
static uint16_t gen_choice(struct gen *g, const struct goal_expr *e, uint16_t into)
{
	uint32_t skip = emit_imm(g, BIN_JZ, gen_expr(g, e->arg[0], ANY), 0), end;

	into = result(g, into);
	gen_into(g, e->arg[1], into);
	end = emit_imm(g, BIN_JMP, 0, 0);
	jump_here(g, skip);
	gen_into(g, e->arg[2], into);
	jump_here(g, end);
	return into;
}

static uint16_t gen_expr(struct gen *g, const struct goal_expr *e, uint16_t into)
{
	uint16_t a, b;
	struct goal_loc old = g->at;

	g->at = e->loc;
	switch (e->kind) {
	case GOAL_E_NUM:
		into = gen_num(g, e->num, into);
		break;
	case GOAL_E_NAME:
		into = gen_name(g, e, into);
		break;
	case GOAL_E_INDEX:
		into = gen_index(g, e, into);
		break;
	case GOAL_E_CALL:
		into = gen_call(g, e, into);
		break;
	case GOAL_E_UNARY:
	case GOAL_E_BINARY:
		a = gen_expr(g, e->arg[0], ANY);
		b = e->kind == GOAL_E_BINARY ? gen_expr(g, e->arg[1], ANY) : 0;
		into = result(g, into);
		g->at = e->loc;
		emit_abc(g, e->fn, into, a, b);
		break;
	case GOAL_E_COND:
		into = gen_choice(g, e, into);
		break;
	default:
		into = gen_logic(g, e, into);
	}
	g->at = old;
	return into;
}

/* A register that holds the value for as long as these statements run. */
static uint16_t gen_kept(struct gen *g, const struct goal_expr *e, const struct goal_stmt *during)
{
	uint16_t r;

	if (e->kind == GOAL_E_NUM || (e->kind == GOAL_E_NAME && find_var(g, e->name) && !assigns(during, e->name)))
		return gen_expr(g, e, ANY);
	r = new_reg(g);
	gen_into(g, e, r);
	return r;
}

/* ---- statements ---- */

static void gen_block_of(struct gen *g, const struct goal_stmt *s);

static void gen_range(struct gen *g, const struct goal_range *range, bool write, struct bin_tmpl *t,
		      unsigned k, uint16_t *len)
{
	enum goal_mode mode = GOAL_INOUT;
	int buf = find_buffer(g, range->name, &mode);

	*len = 0;
	if (buf < 0) {
		error(g, range->loc, "name", "there is no buffer %s", range->name);
		return;
	}
	if (write && mode == GOAL_IN)
		error(g, range->loc, "bounds", "the buffer %s is only read", range->name);
	t->buf[k] = (uint16_t)buf;
	t->off[k] = BIN_NOREG;
	*len = g->bufreg[buf];
	if (range->off) {
		t->off[k] = gen_expr(g, range->off, ANY);
		*len = range->len ? gen_expr(g, range->len, ANY) : gen_num(g, 1, ANY);
	}
}

static void gen_labelref(struct gen *g, const struct goal_labelref *l, bool declares, uint32_t *label,
			 uint16_t index[2])
{
	const struct label *known = find_label(g, l->name);

	*label = 0;
	index[0] = index[1] = BIN_NOREG;
	if (!known) {
		error(g, l->loc, "unknown-label", "there is no label %s", l->name);
		return;
	}
	if (known->dims != dims(l)) {
		if (!declares) /* else it has been reported */
			error(g, l->loc, "unknown-label", "the label %s has another number of indices", l->name);
		return;
	}
	*label = (uint32_t)(known - g->labels.at);
	for (int k = 0; k < 2; k++)
		if (l->index[k])
			index[k] = gen_expr(g, l->index[k], ANY);
}

/* "reduce b with a into b": the second b has to be the first. */
static void gen_again(struct gen *g, const struct goal_range *again, const struct bin_tmpl *t)
{
	struct bin_tmpl second = *t;
	uint16_t zero = gen_num(g, 0, ANY), len, same = new_reg(g);

	gen_range(g, again, true, &second, 1, &len);
	emit_abc(g, BIN_EQ, same, t->off[1] == BIN_NOREG ? zero : t->off[1],
		 second.off[1] == BIN_NOREG ? zero : second.off[1]);
	emit_imm(g, BIN_ASSERT, same, string(g, "the range that is written is not the one that is reduced"));
	emit_abc(g, BIN_EQ, same, t->len, len);
	emit_imm(g, BIN_ASSERT, same, string(g, "the range that is written is not the one that is reduced"));
}

static void gen_op(struct gen *g, const struct goal_stmt *s)
{
	struct bin_tmpl t = { .kind = (uint8_t)s->op,
			      .off = { BIN_NOREG, BIN_NOREG },
			      .len = BIN_NOREG,
			      .index = { BIN_NOREG, BIN_NOREG },
			      .label = BIN_NONE };
	uint16_t *const fields[GOAL_NCLAUSES] = { &t.peer, &t.tag, &t.level, &t.cpu, &t.nic };
	const char *operands = bin_operands(s->op);
	uint16_t len[2];

	if (s->exec)
		t.exec = !strcmp(s->exec, "app") ? BIN_APP : !strcmp(s->exec, "comm") ? BIN_COMM : BIN_NIC;
	for (unsigned k = 0; k < bin_nranges(s->op); k++) {
		bool write = operands[0] == 'P' ? operands[1] == 'R' : k == 1;

		gen_range(g, s->range[k], write, &t, k, &len[k]);
		t.len = len[k];
	}
	if (bin_nranges(s->op) == 2 && len[0] != len[1]) {
		uint16_t same = new_reg(g);

		emit_abc(g, BIN_EQ, same, len[0], len[1]);
		emit_imm(g, BIN_ASSERT, same, string(g, "the two ranges differ in length"));
	}
	if (s->again)
		gen_again(g, s->again, &t);
	if (s->op == GOAL_CALC)
		t.len = gen_expr(g, s->expr, ANY);
	for (unsigned c = 0; c < GOAL_NCLAUSES; c++)
		*fields[c] = s->clause[c] ? gen_expr(g, s->clause[c], ANY) : BIN_NOREG;
	if (s->label)
		gen_labelref(g, s->label, true, &t.label, t.index);
	g->at = s->loc;
	if (VEC_PUSH(&g->im->tmpls, t))
		no_memory(g);
	emit_imm(g, BIN_EMIT, 0, (int64_t)g->im->tmpls.n - 1);
}

static void gen_dep(struct gen *g, const struct goal_stmt *s)
{
	struct bin_dep_tmpl t = { .start = s->start };

	gen_labelref(g, s->label, false, &t.op, t.op_index);
	for (const struct goal_labelref *on = s->on; on; on = on->next) {
		gen_labelref(g, on, false, &t.on, t.on_index);
		g->at = on->loc;
		if (VEC_PUSH(&g->im->deps, t))
			no_memory(g);
		emit_imm(g, BIN_DEP, 0, (int64_t)g->im->deps.n - 1);
	}
}

static void gen_let(struct gen *g, const struct goal_stmt *s)
{
	struct var *v = find_var(g, s->name);
	unsigned index;

	if (find_param(g, s->name, &index) || (v && v->reg < 3)) {
		error(g, s->loc, "name", "%s is given and cannot be changed", s->name);
		return;
	}
	if (!v) {
		uint16_t r = new_reg(g);

		gen_into(g, s->expr, r);
		add_var(g, s->name, r);
		g->top = r + 1u;
		return;
	}
	gen_into(g, s->expr, v->reg);
}

static void gen_if(struct gen *g, const struct goal_stmt *s)
{
	uint16_t c = gen_expr(g, s->expr, ANY);
	uint32_t skip = emit_imm(g, BIN_JZ, c, 0);

	gen_block_of(g, s->body);
	if (s->other) {
		uint32_t end = emit_imm(g, BIN_JMP, 0, 0);

		jump_here(g, skip);
		gen_block_of(g, s->other);
		jump_here(g, end);
	} else {
		jump_here(g, skip);
	}
}

/* Where the body changes the variable, the loop counts in a register of its own. The condition stands at the end. */
static void gen_for(struct gen *g, const struct goal_stmt *s)
{
	size_t vars = g->vars.n;
	uint16_t k = new_reg(g), var = assigns(s->body, s->name) ? new_reg(g) : k, to, by, go;
	uint32_t test, top;

	gen_into(g, s->expr, k);
	to = gen_kept(g, s->to, s->body);
	go = new_reg(g);
	if (s->by) {
		by = gen_kept(g, s->by, s->body);
		emit_abc(g, BIN_LT, go, gen_num(g, 0, ANY), by);
		emit_imm(g, BIN_ASSERT, go, string(g, "the step of a loop is not positive"));
	} else {
		by = gen_num(g, 1, ANY);
	}
	test = emit_imm(g, BIN_JMP, 0, 0);
	add_var(g, s->name, var);
	top = (uint32_t)g->im->code.n;
	if (var != k)
		emit_abc(g, BIN_MOV, var, k, 0);
	gen_block_of(g, s->body);
	g->at = s->loc;
	emit_abc(g, s->down ? BIN_SUB : BIN_ADD, k, k, by);
	jump_here(g, test);
	emit_abc(g, BIN_LE, go, s->down ? to : k, s->down ? k : to);
	emit_imm(g, BIN_JNZ, go, top);
	g->vars.n = vars;
}

static void gen_stmt(struct gen *g, const struct goal_stmt *s)
{
	g->at = s->loc;
	switch (s->kind) {
	case GOAL_S_OP:
		gen_op(g, s);
		break;
	case GOAL_S_DEP:
		gen_dep(g, s);
		break;
	case GOAL_S_LET:
		gen_let(g, s);
		break;
	case GOAL_S_IF:
		gen_if(g, s);
		break;
	case GOAL_S_FOR:
		gen_for(g, s);
		break;
	case GOAL_S_ASSERT:
		if (VEC_PUSH(&g->im->asserts,
			     emit_imm(g, BIN_ASSERT, gen_expr(g, s->expr, ANY), string(g, s->name))))
			no_memory(g);
		break;
	}
}

static void gen_block_of(struct gen *g, const struct goal_stmt *s)
{
	size_t vars = g->vars.n;
	unsigned top = g->top;

	for (; s; s = s->next) {
		size_t before = g->vars.n;
		unsigned low = g->top;

		gen_stmt(g, s);
		if (g->vars.n == before) /* no new variable: temporaries go */
			g->top = low;
	}
	g->vars.n = vars;
	g->top = top;
}

/* ---- declarations ---- */

static void gen_params(struct gen *g)
{
	unsigned index = 0, first = 0;

	for (const struct goal_param *p = g->s->params; p; p = p->next, index++) {
		struct bin_param out = { .name = string(g, p->name),
					 .scope = (uint8_t)p->scope,
					 .vector = p->length != NULL };

		find_param(g, p->name, &first);
		if (first != index || !strcmp(p->name, "count") || find_var(g, p->name))
			error(g, p->loc, "name", "%s is declared twice", p->name);
		if (p->value) {
			bool minus = p->value->kind == GOAL_E_UNARY && p->value->fn == BIN_NEG;
			const struct goal_expr *v = minus ? p->value->arg[0] : p->value;

			out.has_default = 1;
			out.value = minus ? -v->num : v->num;
			if (p->length)
				error(g, p->value->loc, "name", "the vector %s cannot have a default", p->name);
			else if (v->kind != GOAL_E_NUM)
				error(g, p->value->loc, "name", "the default of %s is not a number", p->name);
		}
		if (!strcmp(p->name, "root")) {
			g->im->meta.root = index;
			if (p->length || p->scope != GOAL_GLOBAL)
				error(g, p->loc, "name", "%s is one global number", p->name);
		}
		if (VEC_PUSH(&g->im->params, out))
			no_memory(g);
	}
}

/* Checks the lengths of vectors and evaluates the sizes of buffers, once, before the body. */
static void gen_prologue(struct gen *g)
{
	unsigned index = 0;
	enum goal_mode mode;

	if (g->im->meta.root != BIN_NONE) {
		uint16_t root = new_reg(g), ok = new_reg(g);

		emit(g, (struct bin_word){ .op = BIN_PARAM, .a = root, .b = (uint16_t)g->im->meta.root });
		emit_abc(g, BIN_LT, ok, root, 1);
		emit_imm(g, BIN_ASSERT, ok, string(g, "the root is out of range"));
		emit_abc(g, BIN_LE, ok, gen_num(g, 0, ANY), root);
		emit_imm(g, BIN_ASSERT, ok, string(g, "the root is out of range"));
		g->top--;
		add_var(g, "root", root);
	}
	for (const struct goal_param *p = g->s->params; p; p = p->next, index++) {
		uint16_t len, want, same;
		char text[128];

		/* Only its root knows a rootonly vector. */
		if (!p->length || p->scope == GOAL_ROOTONLY)
			continue;
		g->at = p->loc;
		len = new_reg(g);
		same = new_reg(g);
		emit(g, (struct bin_word){ .op = BIN_VECLEN, .a = len, .b = (uint16_t)index });
		want = gen_expr(g, p->length, ANY);
		emit_abc(g, BIN_EQ, same, len, want);
		snprintf(text, sizeof text, "the vector %.64s has the wrong length", p->name);
		emit_imm(g, BIN_ASSERT, same, string(g, text));
		g->top = len;
	}
	index = 0;
	for (const struct goal_buffer *b = g->s->buffers; b; b = b->next, index++) {
		struct bin_buffer out = { .name = string(g, b->name), .mode = (uint8_t)b->mode };
		uint16_t r;

		if (find_buffer(g, b->name, &mode) != (int)index)
			error(g, b->loc, "name", "the buffer %s is declared twice", b->name);
		g->at = b->loc;
		r = gen_kept(g, b->length, NULL);
		g->bufreg[index] = r;
		if (VEC_PUSH(&g->im->buffers, out))
			no_memory(g);
		emit_abc(g, BIN_BUFSIZE, index, r, 0);
	}
}

static __attribute__((noinline)) void gen_schedule(struct gen *g)
{
	const struct goal_schedule *s = g->s;
	struct ir_image *im = g->im;
	uint32_t consts, start;

	im->meta.flags = BIN_F_PARAMETRIC;
	im->meta.name = string(g, s->name);
	im->meta.implements = string(g, s->implements ? s->implements : "");
	add_var(g, s->rank, 0);
	if (!strcmp(s->rank, s->size))
		error(g, s->rank_loc, "name", "rank and size have the same name %s", s->rank);
	add_var(g, s->size, 1);
	add_var(g, "count", 2);
	collect_labels(g, s->body, false);
	gen_params(g);
	consts = emit_imm(g, BIN_JMP, 0, 0);
	start = (uint32_t)g->im->code.n;
	gen_prologue(g);
	gen_block_of(g, s->body);
	emit_abc(g, BIN_END, 0, 0, 0);
	/* The program begins with what stands at its end: by now it is known which constants there are. */
	jump_here(g, consts);
	g->at = s->loc;
	for (unsigned i = 0; i < g->nconsts; i++)
		load_num(g, g->constant[i], (uint16_t)(FIRST_CONST + i));
	emit_imm(g, BIN_JMP, 0, start);
	emit_abc(g, BIN_END, 0, 0, 0);
	im->meta.nregs = g->most;
	im->meta.nlabels = (uint32_t)g->labels.n;
}

int lower_program(struct goal_diags *d, const struct goal_schedule *s, struct ir_image *im)
{
	struct gen g = { .d = d, .s = s, .im = im, .top = FIRST_VAR, .most = FIRST_VAR, .at = s->loc };
	size_t nbuf = 1;
	volatile int err = 0;

	for (const struct goal_buffer *b = s->buffers; b; b = b->next)
		nbuf++;
	g.bufreg = mem_calloc(nbuf, sizeof *g.bufreg);
	if (!g.bufreg)
		return -ERR_NOMEM;
	if (setjmp(g.nomem))
		err = -ERR_NOMEM;
	else
		gen_schedule(&g);
	VEC_FREE(&g.vars);
	VEC_FREE(&g.labels);
	free(g.bufreg);
	return err;
}

void lower_fault(struct goal_diags *d, unsigned file, const struct bin *b, const struct goal_loc *locs,
		 const struct bin_args *args, int err, const struct ir_fault *fault)
{
	static const struct {
		int err;
		const char *check;
	} checks[] = {
		{ ERR_PEER, "peer" },	       { ERR_BOUNDS, "bounds" },   { ERR_LABEL, "duplicate-label" },
		{ ERR_UNKNOWN, "unknown-param" }, { ERR_OVERFLOW, "overflow" }, { ERR_RANGE, "overflow" },
		{ ERR_CYCLE, "cycle" },
	};
	static const char *const fields[BIN_FIELDS] = { "level", "tag", "cpu", "nic", "length", "index" };
	struct goal_loc at = { .file = (uint16_t)file };
	const bool parametric = b->meta->flags & BIN_F_PARAMETRIC;
	const int64_t *v = fault->value;
	const char *check = NULL;
	char where[128], what[256];
	int op = 0;

	if (parametric) {
		op = b->code[fault->where].op;
		if (locs)
			at = locs[fault->where];
		else if (b->lines)
			at = (struct goal_loc){ b->lines[fault->where], 1, (uint16_t)file };
	}
	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
		if (checks[i].err == -err)
			check = checks[i].check;
	if (err == -ERR_ASSERT && *bin_str(b, fault->what))
		snprintf(what, sizeof what, "%s", bin_str(b, fault->what));
	else if (err == -ERR_PARAM || err == -ERR_UNKNOWN)
		snprintf(what, sizeof what, "%s: %s", err_text(err), bin_str(b, b->params[fault->what].name));
	else if (err == -ERR_PEER)
		snprintf(what, sizeof what, "the peer %" PRId64 " is out of range", v[0]);
	else if (err == -ERR_RANGE)
		snprintf(what, sizeof what, "the %s %" PRId64 " is out of range", fields[fault->what], v[0]);
	else if (err == -ERR_BOUNDS && op == BIN_ELEM)
		snprintf(what, sizeof what, "the index %" PRId64 " is outside of the vector %s, which has %" PRId64,
			 v[0], bin_str(b, b->params[fault->what].name), v[2]);
	else if (err == -ERR_BOUNDS && v[2] < 0)
		snprintf(what, sizeof what, "the size of the buffer %s is %" PRId64,
			 bin_str(b, b->buffers[fault->what].name), v[2]);
	else if (err == -ERR_BOUNDS)
		snprintf(what, sizeof what,
			 "[%" PRId64 " +: %" PRId64 "] is outside of the buffer %s, which has %" PRId64 " elements",
			 v[0],
			 v[1], bin_str(b, b->buffers[fault->what].name), v[2]);
	else if (err == -ERR_FUEL)
		snprintf(what, sizeof what, "the schedule takes too many steps");
	else
		snprintf(what, sizeof what, "%s", err_text(err));
	lower_sample(where, sizeof where, b, args);
	goal_diag(d, GOAL_ERROR, at, check, "%srank %u: %s", where, args->rank, what);
}

uint64_t lower_fuel(uint32_t size)
{
	return ((uint64_t)1 << 24) + ((uint64_t)size << 18);
}

void lower_sample(char *out, size_t size, const struct bin *b, const struct bin_args *args)
{
	char count[32] = "", root[32] = "";

	if (args->count >= 0 && !(b->meta->flags & BIN_F_PLAIN))
		snprintf(count, sizeof count, ", count %" PRId64, args->count);
	if (bin_root(b, args->args) >= 0)
		snprintf(root, sizeof root, ", root %" PRId64, bin_root(b, args->args));
	snprintf(out, size, "size %u%s%s: ", args->size, count, root);
}
