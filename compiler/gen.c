/* SPDX-License-Identifier: BSD-3-Clause
 * Generating programs: instructions, registers, and what names stand for. */
#include "compiler/gen.h"

#include <string.h>

void gen_error(struct gen *g, struct goal_loc at, const char *check, const char *fmt, const char *name)
{
	at.file = (uint16_t)g->scope->source;
	goal_diag(g->d, GOAL_ERROR, at, check, fmt, name);
}

void gen_no_memory(struct gen *g)
{
	longjmp(g->nomem, 1);
}

uint32_t gen_emit(struct gen *g, struct bin_word w)
{
	struct goal_loc at = g->at;

	at.file = (uint16_t)g->scope->source;
	if (g->im->code.n >= INT32_MAX || VEC_PUSH(&g->im->code, w) || VEC_PUSH(&g->im->locs, at) ||
	    VEC_PUSH(&g->im->lines, g->scope->line ? g->scope->line : at.line))
		gen_no_memory(g);
	return (uint32_t)g->im->code.n - 1;
}

uint32_t gen_emit_imm(struct gen *g, enum bin_insn op, unsigned a, int64_t imm)
{
	return gen_emit(g, (struct bin_word){ .op = (uint8_t)op, .a = (uint16_t)a, .imm = (int32_t)imm });
}

void gen_emit_abc(struct gen *g, int op, unsigned a, unsigned b, unsigned c)
{
	gen_emit(g, (struct bin_word){ .op = (uint8_t)op, .a = (uint16_t)a, .b = (uint16_t)b, .c = (uint16_t)c });
}

void gen_jump_here(struct gen *g, uint32_t from)
{
	g->im->code.at[from].imm = (int32_t)g->im->code.n;
}

uint16_t gen_reg(struct gen *g)
{
	if (g->top >= GEN_MAX_REGS - 1) {
		gen_error(g, g->at, "syntax", "%s", "the schedule has too many variables");
		g->top = GEN_FIRST_VAR;
	}
	if (g->top + 1 > g->most)
		g->most = g->top + 1;
	return (uint16_t)g->top++;
}

uint32_t gen_string(struct gen *g, const char *s)
{
	int64_t at = ir_image_string(g->im, s);

	if (at < 0)
		gen_no_memory(g);
	return (uint32_t)at;
}

void *gen_alloc(struct gen *g, size_t size)
{
	void *p = arena_alloc(&g->arena, size);

	if (!p)
		gen_no_memory(g);
	return p;
}

/* ---- names ---- */

struct gen_var *gen_find_var(struct gen *g, const char *name)
{
	size_t i = g->vars.n < g->scope->end ? g->vars.n : g->scope->end;

	if (g->peer.name && !strcmp(g->peer.name, name))
		return &g->peer;
	while (i-- > g->scope->vars)
		if (!strcmp(g->vars.at[i].name, name))
			return &g->vars.at[i];
	return NULL;
}

void gen_add_var(struct gen *g, const char *name, uint16_t reg, bool given)
{
	if (VEC_PUSH(&g->vars, (struct gen_var){ name, reg, given }))
		gen_no_memory(g);
}

const struct goal_param *gen_find_param(const struct gen_scope *s, const char *name, unsigned *index)
{
	unsigned i = 0;

	for (const struct goal_param *p = s->s->params; p; p = p->next, i++)
		if (!strcmp(p->name, name)) {
			*index = i;
			return p;
		}
	return NULL;
}

const struct goal_buffer *gen_declared(const struct gen_scope *s, const char *name, unsigned *index)
{
	const struct goal_buffer *b = s->s->buffers;

	for (*index = 0; b && strcmp(b->name, name) != 0; b = b->next)
		++*index;
	return b;
}

struct gen_buffer *gen_find_buffer(struct gen *g, const struct goal_range *range, bool write)
{
	unsigned index;
	const struct goal_buffer *b = gen_declared(g->scope, range->name, &index);

	if (!b)
		gen_error(g, range->loc, "name", "there is no buffer %s", range->name);
	else if (write && b->mode == GOAL_IN)
		gen_error(g, range->loc, "bounds", "the buffer %s is only read", range->name);
	return b ? &g->scope->buffers[index] : NULL;
}
