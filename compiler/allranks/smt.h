/* SPDX-License-Identifier: BSD-3-Clause
 * What the texts of obligations in bit-vectors (smt.c) and in integers (smt_int.c) have in common. */
#ifndef COMPILER_ALLRANKS_SMT_H
#define COMPILER_ALLRANKS_SMT_H

#include "compiler/allranks/proof.h"

struct writer {
	const struct terms *t;
	struct text *out;
	unsigned width; /* of the vectors, in bits; 0 if the text is in integers */
	bool *used; /* for each node, true if it occurs */
	bool wide; /* true if a value may need more than 64 bits */
};

/* Marks what occurs in an obligation. Returns false if memory ran out. */
bool smt_begin(struct writer *w, const struct terms *t, const struct obligation *o, const term *vars, unsigned nvars, struct text *out);
/* True if the node is written as a Bool. */
bool smt_is_bool(const struct writer *w, term x);
void smt_bool(struct writer *w, term x);
/* Writes a form in which %i stands for an integer term, %b for a Bool, %n for a number, %z for 0 and %u for the undefined
 * constant of term `self`. Arguments follow in an array. */
void smt_form(struct writer *w, term self, const char *form, const int64_t *arg);
#define FORM(self, form, ...) smt_form(w, self, form, (const int64_t[]){ __VA_ARGS__, 0 })
/* Defines a term. What is about Bools or is a choice has the same form in both texts. For all else `form` is that of the operation,
 * with the operands a, b, a, b. */
void smt_define(struct writer *w, term x, const char *form);
/* Writes the hypotheses and the negated goal, after all definitions. */
void smt_end(struct writer *w, const struct obligation *o);

#endif
