/* SPDX-License-Identifier: BSD-3-Clause
 * Buffers in place (MPI_IN_PLACE): the caller gives no memory for the buffer, and a range of another buffer is used
 * instead. */
#include "compiler/lower/gen.h"

#include <string.h>

static const char word[] = "inplace";

void gen_inplace_param(struct gen *g)
{
	struct bin_param p = { .scope = BIN_LOCAL, .has_default = BIN_NUMBER };
	unsigned index;

	for (const struct goal_buffer *b = g->scope->s->buffers; b; b = b->next) {
		if (!b->inplace)
			continue;
		if (g->inplace)
			gen_error(g, b->loc, "name", "only one buffer can be in place, not %s too", b->name);
		if (b->mode == GOAL_SCRATCH)
			gen_error(g, b->loc, "name", "the scratch buffer %s is not the caller's", b->name);
		g->inplace = b;
	}
	if (!g->inplace)
		return;
	if (gen_find_param(g, g->scope->s, word, &index) || gen_find_var(g, word))
		gen_error(g, g->scope->s->loc, "name", "%s is declared twice", word);
	p.name = gen_string(g, word);
	if (VEC_PUSH(&g->im->params, p))
		gen_no_memory(g);
}

void gen_inplace_value(struct gen *g)
{
	uint32_t skip;

	if (!g->inplace)
		return;
	g->at = g->inplace->loc;
	g->is_inplace = gen_reg(g);
	gen_emit(g, (struct bin_word){ .op = BIN_PARAM, .a = g->is_inplace, .b = (uint16_t)(g->im->params.n - 1) });
	if (g->inplace->when) {
		skip = gen_emit_imm(g, BIN_JZ, g->is_inplace, 0);
		gen_into(g, g->inplace->when, g->is_inplace);
		gen_jump_here(g, skip);
	}
	gen_emit_abc(g, BIN_NE, g->is_inplace, g->is_inplace, gen_num(g, 0, GEN_ANY));
	gen_add_var(g, word, g->is_inplace, true);
}

static void emit_inplace(struct gen *g)
{
	if (VEC_PUSH(&g->im->tmpls, g->in_place))
		gen_no_memory(g);
	gen_emit_imm(g, BIN_INPLACE, 0, (int64_t)g->im->tmpls.n - 1);
}

void gen_inplace_range(struct gen *g)
{
	const struct goal_buffer *b = g->inplace;
	const struct goal_buffer *other;
	const struct gen_buffer *from, *to;
	uint16_t same, len, base;
	unsigned index;
	uint32_t skip;

	if (!b)
		return;
	g->at = b->inplace->loc;
	gen_declared(g, b->name, &index);
	from = &g->scope->buffers[index];
	other = gen_declared(g, b->inplace->name, &index);
	to = &g->scope->buffers[index];
	if (!other || other == b || other->mode == GOAL_SCRATCH) {
		gen_error(g, b->inplace->loc, "name", "there is no other buffer %s of the caller", b->inplace->name);
		return;
	}
	g->im->buffers.at[from->buf].inplace = (uint16_t)(to->buf + 1);
	/* `base` needs a register that stays reserved, because INPLACE reads it after all ops. */
	base = b->inplace->off ? gen_reg(g) : BIN_NOREG;
	same = gen_reg(g);
	skip = gen_emit_imm(g, BIN_JZ, g->is_inplace, 0);
	if (b->inplace->off)
		gen_into(g, b->inplace->off, base);
	len = !b->inplace->off ? to->size :
	      b->inplace->len  ? gen_expr(g, b->inplace->len, GEN_ANY) :
				 gen_num(g, 1, GEN_ANY);
	gen_emit_abc(g, BIN_EQ, same, len, from->size);
	gen_emit_imm(g, BIN_CHECK, same, gen_string(g, "the range in place is not as long as the buffer"));
	g->in_place = ir_tmpl(BIN_OP_COPY);
	g->in_place.buf[0] = from->buf;
	g->in_place.buf[1] = to->buf;
	g->in_place.off[1] = base;
	g->in_place.len = from->size;
	if (g->result)
		emit_inplace(g);
	gen_jump_here(g, skip);
}

void gen_inplace_ops(struct gen *g)
{
	uint32_t skip;

	if (!g->inplace || g->result)
		return;
	g->at = g->inplace->loc;
	skip = gen_emit_imm(g, BIN_JZ, g->is_inplace, 0);
	emit_inplace(g);
	gen_jump_here(g, skip);
}
