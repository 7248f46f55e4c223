/* SPDX-License-Identifier: BSD-3-Clause
 * Values that a program computes first, before the sizes of buffers: defaults of parameters that are no numbers, on ranks
 * whose caller gives no value, and the definitions of a schedule. */
#include "compiler/lower/gen.h"

#include <string.h>

/* Reports why the default of p cannot depend on parameter q, which is declared at this position. */
static void check_order(struct gen *g, const struct goal_param *p, unsigned index, const struct goal_param *q, unsigned at,
			struct goal_loc loc)
{
	const char *why = at == index					? "is this parameter itself" :
			  at > index					? "is declared after it" :
			  q->scope == GOAL_ROOTONLY			? "only the root knows" :
			  p->scope == GOAL_GLOBAL && q->scope == GOAL_LOCAL ? "may differ between ranks" :
									  NULL;

	if (why)
		goal_diag(g->d, GOAL_ERROR, loc, "name", "the default of %s depends on %s, which %s", p->name, q->name, why);
}

/* Checks that the default of parameter p depends only on what is known before it, and if p is global, only on what is the same
 * on all ranks. */
static void check_names(struct gen *g, const struct goal_param *p, unsigned index, const struct goal_expr *e)
{
	const struct goal_schedule *s = g->scope->s;
	const bool names = e->kind == GOAL_E_NAME || e->kind == GOAL_E_INDEX;
	const struct goal_param *q;
	unsigned at;

	q = names ? gen_find_param(g, s, e->name, &at) : NULL;
	if (q)
		check_order(g, p, index, q, at, e->loc);
	else if (names && p->scope == GOAL_GLOBAL && !strcmp(e->name, s->rank))
		goal_diag(g->d, GOAL_ERROR, e->loc, "name",
			  "the default of %s depends on the rank, but only local parameters may differ between ranks", p->name);
	for (unsigned i = 0; i < 3 && e->arg[i]; i++)
		check_names(g, p, index, e->arg[i]);
}

void gen_default(struct gen *g, const struct goal_param *p, unsigned index, struct bin_param *out)
{
	const bool number = goal_number(p->value, &out->value);

	out->has_default = BIN_NUMBER;
	if (p->length && (p->length->kind != GOAL_E_NUM || p->length->num < 1 || p->length->num > UINT8_MAX))
		gen_error(g, p->length->loc, "name",
			  "the length of the vector %s is no number from 1 to 255, so it cannot have a default", p->name);
	else if (p->length)
		out->elements = (uint8_t)p->length->num;
	if (number)
		return;
	if (p->length) {
		gen_error(g, p->value->loc, "name", "the default of a vector is a number, not that of %s", p->name);
	} else if (p->scope == GOAL_ROOTONLY || !strcmp(p->name, "root")) {
		gen_error(g, p->value->loc, "name", "the default of %s is not a number", p->name);
	} else {
		out->has_default = BIN_COMPUTED;
		out->value = 0;
		check_names(g, p, index, p->value);
	}
}

void gen_defaults(struct gen *g)
{
	unsigned index = 0;

	for (const struct goal_param *p = g->scope->s->params; p; p = p->next, index++) {
		uint32_t other, end;
		uint16_t r;

		if (g->im->params.at[index].has_default != BIN_COMPUTED)
			continue;
		r = gen_reg(g);
		g->at = p->loc;
		gen_emit(g, (struct bin_word){ .op = BIN_GIVEN, .a = r, .b = (uint16_t)index });
		other = gen_emit_imm(g, BIN_JZ, r, 0);
		gen_emit(g, (struct bin_word){ .op = BIN_PARAM, .a = r, .b = (uint16_t)index });
		end = gen_emit_imm(g, BIN_JMP, 0, 0);
		gen_jump_here(g, other);
		gen_into(g, p->value, r);
		gen_jump_here(g, end);
		gen_add_var(g, p->name, r, true);
	}
}

void gen_definitions(struct gen *g)
{
	unsigned index;

	for (const struct goal_named *d = g->scope->s->defines; d; d = d->next) {
		g->at = d->loc;
		if (gen_find_param(g, g->scope->s, d->name, &index) || gen_find_var(g, d->name))
			gen_error(g, d->loc, "name", "%s is declared twice", d->name);
		gen_add_var(g, d->name, gen_kept(g, d->expr, NULL), true);
	}
}
