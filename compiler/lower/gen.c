/* SPDX-License-Identifier: BSD-3-Clause
 * The basis of the generator of programs: it emits instructions, hands out registers, and finds what names stand for. */
#include "compiler/lower/gen.h"

#include "util/hash64.h"

#include <string.h>

void gen_error(struct gen *g, struct goal_loc at, const char *check, const char *fmt, const char *name)
{
	if (g->again)
		return;
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

static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261u;

	while (*s)
		h = (h ^ (unsigned char)*s++) * 16777619u;
	return h;
}

static uint64_t hash_name(const struct gen_name *n)
{
	return hash64((uintptr_t)n->list ^ (uint64_t)hash(n->name) << 32);
}

static bool same_name(const void *names, uint32_t i, const void *key)
{
	const struct gen_name *x = (const struct gen_name *)names + i, *y = key;

	return x->list == y->list && !strcmp(x->name, y->name);
}

struct gen_name *gen_named(struct gen *g, const void *list, const char *name)
{
	const struct gen_name key = { .list = list, .name = name };
	const int64_t i = index_find(&g->by_name, hash_name(&key), same_name, g->names.at, &key);

	return i < 0 ? NULL : &g->names.at[i];
}

struct gen_name *gen_declare(struct gen *g, const void *list, const char *name, const void *node, uint32_t number)
{
	struct gen_name *known = gen_named(g, list, name), n = { list, name, node, number };

	if (known)
		return known;
	if (VEC_PUSH(&g->names, n) || index_add(&g->by_name, hash_name(&n), g->names.n - 1))
		gen_no_memory(g);
	return &g->names.at[g->names.n - 1];
}

bool gen_first_use(struct gen *g, const void *list)
{
	size_t n = g->names.n;

	gen_declare(g, list, "", NULL, 0); /* marks the list as used: no name of a text is empty */
	return g->names.n > n;
}

struct gen_var *gen_find_var(struct gen *g, const char *name)
{
	size_t i = g->bucket[hash(name) % GEN_BUCKETS];

	if (g->peer.name && !strcmp(g->peer.name, name))
		return &g->peer;
	for (; i > g->scope->vars; i = g->vars.at[i - 1].below)
		if (i <= g->scope->end && !strcmp(g->vars.at[i - 1].name, name))
			return &g->vars.at[i - 1];
	return NULL;
}

void gen_add_var(struct gen *g, const char *name, uint16_t reg, bool given)
{
	uint32_t bucket = hash(name) % GEN_BUCKETS;

	if (VEC_PUSH(&g->vars, (struct gen_var){ name, reg, given, bucket, g->bucket[bucket] }))
		gen_no_memory(g);
	g->bucket[bucket] = g->vars.n;
}

void gen_drop_vars(struct gen *g, size_t n)
{
	while (g->vars.n > n) {
		const struct gen_var *v = &g->vars.at[--g->vars.n];

		g->bucket[v->bucket] = v->below;
	}
}

const struct goal_param *gen_find_param(struct gen *g, const struct goal_schedule *s, const char *name, unsigned *index)
{
	const struct gen_name *n;
	unsigned i = 0;

	if (gen_first_use(g, &s->params))
		for (const struct goal_param *p = s->params; p; p = p->next)
			gen_declare(g, &s->params, p->name, p, i++);
	n = gen_named(g, &s->params, name);
	if (n)
		*index = n->number;
	return n ? n->node : NULL;
}

const struct goal_buffer *gen_declared(struct gen *g, const char *name, unsigned *index)
{
	const struct goal_schedule *s = g->scope->s;
	const struct gen_name *n;
	unsigned i = 0;

	if (gen_first_use(g, &s->buffers))
		for (const struct goal_buffer *b = s->buffers; b; b = b->next)
			gen_declare(g, &s->buffers, b->name, b, i++);
	n = gen_named(g, &s->buffers, name);
	*index = n ? n->number : 0;
	return n ? n->node : NULL;
}

struct gen_buffer *gen_find_buffer(struct gen *g, const struct goal_range *range, bool write)
{
	unsigned index;
	const struct goal_buffer *b = gen_declared(g, range->name, &index);

	if (!b)
		gen_error(g, range->loc, "name", "there is no buffer %s", range->name);
	else if (write && b->mode == GOAL_IN)
		gen_error(g, range->loc, "bounds", "the buffer %s is only read", range->name);
	return b ? &g->scope->buffers[index] : NULL;
}
