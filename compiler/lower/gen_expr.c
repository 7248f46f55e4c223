/* SPDX-License-Identifier: BSD-3-Clause
 * Generates the instructions of expressions. */
#include "compiler/lower/gen.h"

#include <stdio.h>
#include <string.h>

static uint16_t result_reg(struct gen *g, uint16_t into)
{
	return into == GEN_ANY ? gen_reg(g) : into;
}

void gen_into(struct gen *g, const struct goal_expr *e, uint16_t into)
{
	unsigned top = g->top;

	gen_expr(g, e, into);
	g->top = top;
}

void gen_load_num(struct gen *g, int64_t v, uint16_t into)
{
	if (v == (int32_t)v) {
		gen_emit_imm(g, BIN_IMM, into, v);
		return;
	}
	if (VEC_PUSH(&g->im->consts, v))
		gen_no_memory(g);
	gen_emit_imm(g, BIN_CONST, into, (int64_t)g->im->consts.n - 1);
}

/* The first GEN_CONSTS different constants have registers of their own, which the program loads once. */
uint16_t gen_num(struct gen *g, int64_t v, uint16_t into)
{
	unsigned i = 0;

	while (i < g->nconsts && g->constant[i] != v)
		i++;
	if (into != GEN_ANY || i == GEN_CONSTS) {
		into = result_reg(g, into);
		gen_load_num(g, v, into);
		return into;
	}
	if (i == g->nconsts)
		g->constant[g->nconsts++] = v;
	return (uint16_t)(GEN_FIRST_CONST + i);
}

/* In a call, generates the check that no rank but the root reads a rootonly parameter. */
static void gen_at_root(struct gen *g, const struct goal_param *p)
{
	const struct gen_var *root = gen_find_var(g, "root");
	char text[128];
	uint16_t same;

	if (!g->scope->up || p->scope != GOAL_ROOTONLY || !root)
		return;
	same = gen_reg(g);
	snprintf(text, sizeof text, "an op uses a parameter that its rank does not know: %.64s", p->name);
	gen_emit_abc(g, BIN_EQ, same, g->scope->rank, root->reg);
	gen_emit_imm(g, BIN_CHECK, same, gen_string(g, text));
}

/* Generates a rootonly parameter of a call. Only the root can evaluate the argument, so it is evaluated at each use and
 * not where the schedule is entered. */
static uint16_t gen_rootonly(struct gen *g, const struct goal_param *p, uint16_t into)
{
	const struct goal_expr *e = gen_argument(g, g->scope, p->name);

	gen_at_root(g, p);
	into = result_reg(g, into);
	return e ? gen_expr_up(g, e, into) : gen_expr(g, p->value, into);
}

static uint16_t gen_name(struct gen *g, const struct goal_expr *e, uint16_t into)
{
	const struct gen_var *v = gen_find_var(g, e->name);
	const struct goal_param *p;
	unsigned index;

	if (v && into == GEN_ANY)
		return v->reg;
	if (v) {
		if (v->reg != into)
			gen_emit_abc(g, BIN_MOV, into, v->reg, 0);
		return into;
	}
	p = gen_find_param(g, g->scope->s, e->name, &index);
	if (p && !p->length && g->scope->up) /* p is rootonly, because in a call all other scalar parameters are variables */
		return gen_rootonly(g, p, into);
	if (!p)
		gen_error(g, e->loc, "name", "%s is not declared", e->name);
	else if (p->length)
		gen_error(g, e->loc, "name", "%s is a vector: give it an index", e->name);
	into = result_reg(g, into);
	if (p && !p->length)
		gen_emit(g, (struct bin_word){ .op = BIN_PARAM, .a = into, .b = (uint16_t)index });
	return into;
}

/* Follows a vector from a called schedule to its callers, and returns the same as gen_vector(). The search ends
 * at a parameter of the outermost schedule, or at a parameter that a call left out, whose default is then used. Stores that
 * parameter in *p. */
static int find_vector(struct gen *g, const struct gen_scope *s, const char *name, const struct goal_param **p)
{
	for (;; s = s->up) {
		const struct goal_expr *e;
		unsigned index;

		*p = gen_find_param(g, s->s, name, &index);
		if (!*p || !(*p)->length)
			return GEN_NO_VECTOR;
		if (!s->up)
			return (int)index;
		e = gen_argument(g, s, name);
		if (!e)
			return GEN_NOT_GIVEN;
		if (e->kind != GOAL_E_NAME)
			return GEN_NO_VECTOR;
		name = e->name;
	}
}

int gen_vector(struct gen *g, const struct gen_scope *s, const char *name)
{
	const struct goal_param *p;

	return find_vector(g, s, name, &p);
}

/* A vector that an expression reads. */
struct vector {
	int v; /* value of gen_vector() for this vector */
	const struct goal_param *left_out; /* parameter whose default is used because a call left it out, or NULL */
};

/* Finds the vector that an expression reads. A call may leave out a vector that has a default. It may also leave out a
 * vector without a default, if the program then executes no instruction that reads this vector. */
static struct vector gen_read(struct gen *g, const char *name)
{
	struct vector r = { .v = GEN_NO_VECTOR };
	unsigned index;
	char text[128];

	if (!gen_find_var(g, name))
		r.v = find_vector(g, g->scope, name, &r.left_out);
	if (r.v != GEN_NOT_GIVEN || !r.left_out->value)
		r.left_out = NULL;
	if (r.v >= 0) {
		gen_at_root(g, gen_find_param(g, g->scope->s, name, &index));
	} else if (r.v == GEN_NOT_GIVEN && !r.left_out) {
		snprintf(text, sizeof text, "the vector %.64s is not given", name);
		gen_emit_imm(g, BIN_CHECK, gen_num(g, 0, GEN_ANY), gen_string(g, text));
	}
	return r;
}

/* Generates element i of a vector into the register `into`. */
static void gen_elem(struct gen *g, struct vector r, uint16_t i, uint16_t into)
{
	char text[128];
	uint16_t ok;

	if (r.v >= 0)
		gen_emit(g, (struct bin_word){ .op = BIN_ELEM, .a = into, .b = (uint16_t)r.v, .c = i });
	if (!r.left_out)
		return;
	ok = gen_reg(g);
	snprintf(text, sizeof text, "there is no such element of the vector %.64s", r.left_out->name);
	gen_emit_abc(g, BIN_LE, ok, gen_num(g, 0, GEN_ANY), i);
	gen_emit_imm(g, BIN_CHECK, ok, gen_string(g, text));
	gen_emit_abc(g, BIN_LT, ok, i, gen_expr(g, r.left_out->length, GEN_ANY));
	gen_emit_imm(g, BIN_CHECK, ok, gen_string(g, text));
	gen_expr(g, r.left_out->value, into);
}

static uint16_t gen_index(struct gen *g, const struct goal_expr *e, uint16_t into)
{
	uint16_t i = gen_expr(g, e->arg[0], GEN_ANY);
	struct vector r;

	into = result_reg(g, into);
	r = gen_read(g, e->name);
	if (r.v == GEN_NO_VECTOR)
		gen_error(g, e->loc, "name", "%s is no vector", e->name);
	gen_elem(g, r, i, into);
	return into;
}

/* Generates blockoff(n, k, i) or blocklen(n, k, i): offset or length of the i-th of k parts of n elements. The first
 * n mod k parts have one element more than the others. */
static uint16_t gen_block(struct gen *g, const struct goal_expr *e, bool off, uint16_t into)
{
	uint16_t n = gen_expr(g, e->arg[0], GEN_ANY), k = gen_expr(g, e->arg[1], GEN_ANY), i = gen_expr(g, e->arg[2], GEN_ANY);
	uint16_t quot = gen_reg(g), rest = gen_reg(g);

	gen_emit_abc(g, BIN_DIV, quot, n, k);
	gen_emit_abc(g, BIN_MOD, rest, n, k);
	if (off) {
		gen_emit_abc(g, BIN_MUL, quot, quot, i);
		gen_emit_abc(g, BIN_MIN, rest, rest, i);
	} else {
		gen_emit_abc(g, BIN_LT, rest, i, rest);
	}
	into = result_reg(g, into);
	gen_emit_abc(g, BIN_ADD, into, quot, rest);
	return into;
}

/* Finds the vector whose name is the argument of a function. */
static struct vector gen_whole(struct gen *g, const struct goal_expr *e)
{
	struct vector r = { .v = GEN_NO_VECTOR };

	if (e->kind == GOAL_E_NAME)
		r = gen_read(g, e->name);
	if (r.v == GEN_NO_VECTOR)
		gen_error(g, e->loc, "name", "%s", "this argument is the name of a vector");
	return r;
}

/* Generates a loop for sum(v, i, n), the sum of n elements of v from i on, or for extent(counts, displs), the largest end
 * of a block that has elements. */
static uint16_t gen_loop(struct gen *g, const struct goal_expr *e, bool sum, uint16_t into)
{
	struct vector a = gen_whole(g, e->arg[0]), b = sum ? a : gen_whole(g, e->arg[1]);
	uint16_t k = gen_reg(g), end = gen_reg(g), acc = gen_reg(g), t = gen_reg(g), u = gen_reg(g);
	uint16_t zero = gen_num(g, 0, GEN_ANY), one = gen_num(g, 1, GEN_ANY);
	uint32_t test, top;

	if ((a.v < 0 && !a.left_out) || (b.v < 0 && !b.left_out))
		return gen_num(g, 0, into);
	gen_emit_abc(g, BIN_MOV, k, zero, 0);
	if (sum) {
		gen_into(g, e->arg[1], k);
		gen_emit_abc(g, BIN_ADD, end, k, gen_expr(g, e->arg[2], GEN_ANY));
	} else if (a.left_out) {
		gen_expr(g, a.left_out->length, end);
	} else {
		gen_emit(g, (struct bin_word){ .op = BIN_VECLEN, .a = end, .b = (uint16_t)a.v });
	}
	gen_emit_abc(g, BIN_MOV, acc, zero, 0);
	test = gen_emit_imm(g, BIN_JMP, 0, 0);
	top = (uint32_t)g->im->code.n;
	gen_elem(g, a, k, t);
	if (!sum) {
		gen_elem(g, b, k, u);
		gen_emit_abc(g, BIN_ADD, u, u, t);
		gen_emit_abc(g, BIN_NE, t, t, zero);
		gen_emit_abc(g, BIN_MUL, t, t, u);
	}
	gen_emit_abc(g, sum ? BIN_ADD : BIN_MAX, acc, acc, t);
	gen_emit_abc(g, BIN_ADD, k, k, one);
	gen_jump_here(g, test);
	gen_emit_abc(g, BIN_LT, t, k, end);
	gen_emit_imm(g, BIN_JNZ, t, (int64_t)top);
	if (into == GEN_ANY)
		return acc;
	gen_emit_abc(g, BIN_MOV, into, acc, 0);
	return into;
}

static uint16_t gen_function(struct gen *g, const struct goal_expr *e, uint16_t into)
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
		{ "blocklen", 3, BIN_END },	 { "sum", 3, BIN_END },
		{ "extent", 2, BIN_END },	 { "side", 2, BIN_SIDE },
		{ "reverse", 2, BIN_REVERSE },
	};

	for (size_t i = 0; i < sizeof fns / sizeof *fns; i++) {
		if (strcmp(fns[i].name, e->name))
			continue;
		if (fns[i].nargs != e->nargs) {
			goal_diag(g->d, GOAL_ERROR, e->loc, "name", "%s takes %u argument%s, not %u", e->name,
				  fns[i].nargs, fns[i].nargs == 1 ? "" : "s", e->nargs);
			return result_reg(g, into);
		}
		if (!strcmp(e->name, "sum") || !strcmp(e->name, "extent"))
			return gen_loop(g, e, *e->name == 's', into);
		if (fns[i].op == BIN_END)
			return gen_block(g, e, !strcmp(e->name, "blockoff"), into);
		uint16_t a = gen_expr(g, e->arg[0], GEN_ANY), b = e->nargs > 1 ? gen_expr(g, e->arg[1], GEN_ANY) : 0;

		into = result_reg(g, into);
		gen_emit_abc(g, fns[i].op, into, a, b);
		return into;
	}
	gen_error(g, e->loc, "name", "there is no function %s", e->name);
	return result_reg(g, into);
}

/* Generates "and" or "or", which evaluates its second operand only if needed. The value is 0 or 1. */
static uint16_t gen_logic(struct gen *g, const struct goal_expr *e, uint16_t into)
{
	uint16_t r = gen_reg(g); /* a separate register, because arg 1 may read the variable in register `into` */
	uint32_t skip;

	gen_into(g, e->arg[0], r);
	skip = gen_emit_imm(g, e->kind == GOAL_E_AND ? BIN_JZ : BIN_JNZ, r, 0);
	gen_into(g, e->arg[1], r);
	gen_jump_here(g, skip);
	gen_emit_abc(g, BIN_NOT, r, r, 0);
	into = into == GEN_ANY ? r : into;
	gen_emit_abc(g, BIN_NOT, into, r, 0);
	return into;
}

/* Generates "?:", which evaluates only the operand that is chosen. */
static uint16_t gen_choice(struct gen *g, const struct goal_expr *e, uint16_t into)
{
	uint32_t skip = gen_emit_imm(g, BIN_JZ, gen_expr(g, e->arg[0], GEN_ANY), 0), end;

	into = result_reg(g, into);
	gen_into(g, e->arg[1], into);
	end = gen_emit_imm(g, BIN_JMP, 0, 0);
	gen_jump_here(g, skip);
	gen_into(g, e->arg[2], into);
	gen_jump_here(g, end);
	return into;
}

uint16_t gen_expr(struct gen *g, const struct goal_expr *e, uint16_t into)
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
	case GOAL_E_OF:
		into = gen_of(g, e, into);
		break;
	case GOAL_E_CALL:
		into = gen_function(g, e, into);
		break;
	case GOAL_E_UNARY:
	case GOAL_E_BINARY:
		a = gen_expr(g, e->arg[0], GEN_ANY);
		b = e->kind == GOAL_E_BINARY ? gen_expr(g, e->arg[1], GEN_ANY) : 0;
		into = result_reg(g, into);
		g->at = e->loc;
		gen_emit_abc(g, e->fn, into, a, b);
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

bool gen_assigns(const struct goal_stmt *s, const char *name)
{
	for (; s; s = s->next)
		if ((s->kind == GOAL_S_LET && !strcmp(s->name, name)) || gen_assigns(s->body, name) ||
		    gen_assigns(s->other, name))
			return true;
	return false;
}

uint16_t gen_kept(struct gen *g, const struct goal_expr *e, const struct goal_stmt *during)
{
	uint16_t r;

	if (e->kind == GOAL_E_NUM ||
	    (e->kind == GOAL_E_NAME && gen_find_var(g, e->name) && !gen_assigns(during, e->name)))
		return gen_expr(g, e, GEN_ANY);
	r = gen_reg(g);
	gen_into(g, e, r);
	return r;
}
