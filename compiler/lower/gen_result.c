/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of the language that only results have: "gets", and parameters of other ranks. */
#include "compiler/lower/gen.h"

/* The second range is in a buffer of another rank, whose size is not known here. A whole buffer
 * is taken to be as long as the first range. A range with a length must be as long as the first range. */
void gen_gets(struct gen *g, const struct goal_stmt *s)
{
	struct bin_tmpl t = ir_tmpl(BIN_OP_GETS);
	const struct goal_buffer *to, *from;
	unsigned index;
	uint16_t len;

	gen_range(g, s->range[0], true, &t, 0, &t.len);
	gen_range(g, s->range[1], false, &t, 1, &len);
	to = gen_declared(g, s->range[0]->name, &index);
	from = gen_declared(g, s->range[1]->name, &index);
	if (to && to->mode == GOAL_SCRATCH)
		gen_error(g, s->range[0]->loc, "bounds", "nobody sees the scratch buffer %s", s->range[0]->name);
	if (from && (from->mode == GOAL_OUT || from->mode == GOAL_SCRATCH))
		gen_error(g, s->range[1]->loc, "bounds", "nothing is known of what %s holds at the start",
			  s->range[1]->name);
	if (s->range[1]->off && len != t.len) {
		uint16_t same = gen_reg(g);

		gen_emit_abc(g, BIN_EQ, same, t.len, len);
		gen_emit_imm(g, BIN_CHECK, same, gen_string(g, "the two ranges differ in length"));
	}
	t.peer = gen_expr(g, s->expr, GEN_ANY);
	g->at = s->loc;
	if (VEC_PUSH(&g->im->tmpls, t))
		gen_no_memory(g);
	gen_emit_imm(g, BIN_GETS, 0, (int64_t)g->im->tmpls.n - 1);
}

uint16_t gen_of(struct gen *g, const struct goal_expr *e, uint16_t into)
{
	const struct goal_expr *what = e->arg[0];
	unsigned index = 0;
	const struct goal_param *p = gen_find_param(g, g->scope->s, what->name, &index);
	uint16_t r = gen_reg(g), i = 0; /* r differs from `into`, because arg 1 may read the variable in register `into` */

	if (!g->result)
		gen_error(g, e->loc, "unknown-param", "no rank knows %s of another: this belongs into the result", what->name);
	else if (!p || !p->length != (what->kind == GOAL_E_NAME))
		gen_error(g, what->loc, "name", "there is no such parameter %s", what->name);
	else if (goal_computed(p))
		gen_error(g, what->loc, "name", "the default of %s is computed, so that no rank knows the value of another", p->name);
	if (what->kind == GOAL_E_INDEX)
		i = gen_expr(g, what->arg[0], GEN_ANY);
	gen_into(g, e->arg[1], r);
	g->at = what->loc;
	if (p)
		gen_emit(g, (struct bin_word){ .op = what->kind == GOAL_E_INDEX ? BIN_ELEM_OF : BIN_PARAM_OF,
					       .a = r, .b = (uint16_t)index, .c = i });
	if (into == GEN_ANY)
		return r;
	gen_emit_abc(g, BIN_MOV, into, r, 0);
	return into;
}
