/* SPDX-License-Identifier: BSD-3-Clause
 * Integer terms over variables: the rank, the size, the root, the variables of loops. A term is the number of a node in a
 * table in which equal nodes are stored once. Its operators are the ARITH instructions of format/insn.def, with their meaning.
 * A term is true if it is not 0. */
#ifndef COMPILER_ALLRANKS_TERM_H
#define COMPILER_ALLRANKS_TERM_H

#include "format/bin.h"
#include "util/index.h"
#include "util/mem.h"

#include <setjmp.h>
#include <stdbool.h>

typedef uint32_t term;
#define TERM_NONE UINT32_MAX

/* Operators beside the ARITH instructions. */
enum term_op {
	TERM_NUM = 200, /* the number num */
	TERM_VAR, /* variable number num */
	TERM_ITE, /* b if a is true, else c */
	TERM_KEY /* a value that is only compared: the triple a, b, c */
};

/* Intervals of terms are cut at these ends, which stand for "not known". */
#define TERM_MOST ((int64_t)1 << 61)

struct term_node {
	uint8_t op; /* enum bin_insn or enum term_op */
	term a, b, c; /* TERM_NONE if the operator takes fewer */
	int64_t num;
	int64_t lo, hi; /* every value of the term lies between lo and hi, if its evaluation does not fail */
};

struct term_var {
	char name[20];
	term below; /* the variable is known to be less than this term; or TERM_NONE */
};

struct terms {
	VEC(struct term_node) v;
	VEC(struct term_var) vars;
	struct index by_node;
	jmp_buf *nomem; /* where constructors jump to when memory runs out */
};

void terms_fini(struct terms *t);

static inline const struct term_node *term_at(const struct terms *t, term x)
{
	return &t->v.at[x];
}

/* Constructors. They simplify, and may return a node that exists. */
term term_num(struct terms *t, int64_t x);
/* Makes a new variable with values from lo to hi. The name is cut to 19 characters. */
term term_var(struct terms *t, const char *name, int64_t lo, int64_t hi);
/* Applies an ARITH instruction; b is ignored if it is unary. */
term term_apply(struct terms *t, int op, term a, term b);
term term_ite(struct terms *t, term c, term a, term b);
term term_key(struct terms *t, term a, term b, term c);
/* Returns 1 if the two terms, which may be keys, are equal, else 0. */
term term_same(struct terms *t, term a, term b);

static inline term term_not(struct terms *t, term a)
{
	return term_apply(t, BIN_NOT, a, TERM_NONE);
}
/* The next two take terms with the values 0 and 1. */
static inline term term_and(struct terms *t, term a, term b)
{
	return term_apply(t, BIN_BAND, a, b);
}
static inline term term_or(struct terms *t, term a, term b)
{
	return term_apply(t, BIN_BOR, a, b);
}
static inline term term_add(struct terms *t, term a, term b)
{
	return term_apply(t, BIN_ADD, a, b);
}
static inline term term_sub(struct terms *t, term a, term b)
{
	return term_apply(t, BIN_SUB, a, b);
}
static inline term term_le(struct terms *t, term a, term b)
{
	return term_apply(t, BIN_LE, a, b);
}
static inline term term_lt(struct terms *t, term a, term b)
{
	return term_apply(t, BIN_LT, a, b);
}
static inline term term_eq(struct terms *t, term a, term b)
{
	return term_apply(t, BIN_EQ, a, b);
}

/* True if the operator of a node is an ARITH instruction with one operand. */
static inline bool term_unary(int op)
{
	return op >= BIN_NEG && op < TERM_NUM;
}
/* True if all values of the term are 0 or 1. */
static inline bool term_boolean(const struct terms *t, term x)
{
	return term_at(t, x)->lo >= 0 && term_at(t, x)->hi <= 1;
}
static inline bool term_is_num(const struct terms *t, term x, int64_t *value)
{
	const struct term_node *n = term_at(t, x);

	*value = n->num;
	return n->op == TERM_NUM;
}
/* True if the term is 2^k, where k is known not to be negative; *exponent is then k. */
bool term_power_of_two(const struct terms *t, term x, term *exponent);
/* Returns a power of two as it stands in sums: 2^(k + n), where n is a number, as 2^n times 2^k. Returns other terms as they are. */
term term_spread(struct terms *t, term x);
/* True if the variable occurs in the term. */
bool term_has(const struct terms *t, term x, term var);

/* A substitution of variables by terms. */
#define TERM_MAP 48u
struct term_map {
	term from[TERM_MAP], to[TERM_MAP];
	unsigned n;
};
void term_map_add(struct term_map *m, term from, term to);
term term_subst(struct terms *t, term x, const struct term_map *m);

/* Solves x = value for the variable var, if x is made of var by sums, choices, remainders, products with and quotients by numbers,
 * exclusive ors, and as an exponent of 2. The results are candidates, which must be checked: x may have no solution, or others. */
#define TERM_SOLUTIONS 8u
struct term_solutions {
	term at[TERM_SOLUTIONS];
	unsigned n;
};
void term_solve(struct terms *t, term x, term var, term value, struct term_solutions *out);

/* A term as a sum: a number, and atoms, which are no sums, with factors. */
#define TERM_SUM 12u
struct term_sum {
	term atom[TERM_SUM];
	int64_t factor[TERM_SUM], num;
	unsigned n;
	bool full; /* only inside term.c: the sum has too many atoms, or numbers that are too large */
};
/* Stores the atoms in the order of their numbers, with factors that are not 0. A sum with more than TERM_SUM is one atom itself. */
void term_sum_of(const struct terms *t, term x, struct term_sum *out);
/* Returns the number in a sum, and in *rest the term without it. */
int64_t term_number(struct terms *t, term x, term *rest);
/* Returns the equation x = 0, with all factors positive. */
term term_equation(struct terms *t, term x);
/* Solves x = 0 for a variable that is not among `keep`. Returns the variable, and its value in *value, or TERM_NONE. */
term term_isolate(struct terms *t, term x, const term *keep, unsigned nkeep, term *value);

/* Evaluates a term. value[i] is the value of variable number i. Returns 0 or the -ERR_x of the arithmetic. */
int term_eval(const struct terms *t, term x, const int64_t *value, int64_t *out);

#endif
