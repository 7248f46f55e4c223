/* SPDX-License-Identifier: BSD-3-Clause
 * Lowers parametric GOAL to a program: one pass over the syntax tree emits instructions for a register machine
 * (format/insn.def). A variable owns a register until its block ends. Temporary values are in the registers above those of
 * the variables, until the statement ends. */
#include "compiler/lower/gen.h"

#include "compiler/collectives/names.h"
#include "format/check.h"
#include "util/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- statements ---- */

void gen_range(struct gen *g, const struct goal_range *range, bool write, struct bin_tmpl *t, unsigned k, uint16_t *len)
{
	const struct gen_buffer *buf = gen_find_buffer(g, range, write);

	*len = 0;
	if (!buf)
		return;
	t->buf[k] = g->scope->up ? buf->window : buf->buf;
	t->off[k] = BIN_NOREG;
	*len = buf->size;
	if (range->off) {
		t->off[k] = gen_expr(g, range->off, GEN_ANY);
		*len = range->len ? gen_expr(g, range->len, GEN_ANY) : gen_num(g, 1, GEN_ANY);
	}
}

/* For "reduce b with a into b", generates the check that both b are the same range. */
static void gen_again(struct gen *g, const struct goal_range *again, const struct bin_tmpl *t)
{
	struct bin_tmpl second = *t;
	uint16_t zero = gen_num(g, 0, GEN_ANY), len, same = gen_reg(g);

	gen_range(g, again, true, &second, 1, &len);
	gen_emit_abc(g, BIN_EQ, same, t->off[1] == BIN_NOREG ? zero : t->off[1],
		 second.off[1] == BIN_NOREG ? zero : second.off[1]);
	gen_emit_imm(g, BIN_CHECK, same, gen_string(g, "the range that is written is not the one that is reduced"));
	gen_emit_abc(g, BIN_EQ, same, t->len, len);
	gen_emit_imm(g, BIN_CHECK, same, gen_string(g, "the range that is written is not the one that is reduced"));
}

/* In a call, converts the peer to a rank of the outermost schedule, and adds the tag of the call. */
static void gen_message(struct gen *g, struct bin_tmpl *t)
{
	uint16_t tag = g->scope->tag;

	t->peer = gen_peer(g, t->peer);
	if (tag != BIN_NOREG && t->tag != BIN_NOREG) {
		tag = gen_reg(g);
		gen_emit_abc(g, BIN_ADD, tag, t->tag, g->scope->tag);
	}
	if (tag != BIN_NOREG)
		t->tag = tag;
}

/* Returns the instruction that emits an op. In a call, a copy of a range onto itself becomes a nop (EMITIN) if one of the
 * called schedules can have a buffer in place; otherwise it is a mistake (COPYIN). */
static enum bin_insn emits(const struct gen *g, unsigned op)
{
	if (!g->scope->up)
		return BIN_EMIT;
	for (const struct gen_scope *s = g->scope; s->up; s = s->up)
		if (gen_can_be_in_place(s->s))
			return BIN_EMITIN;
	return op == BIN_OP_COPY ? BIN_COPYIN : BIN_EMITIN;
}

static void gen_op(struct gen *g, const struct goal_stmt *s)
{
	struct bin_tmpl t = ir_tmpl(s->op);
	uint16_t *const fields[GOAL_NCLAUSES] = { &t.peer, &t.tag, &t.level, &t.cpu, &t.nic };
	const char *operands = bin_operands(s->op);
	uint16_t len[2];

	t.exec = (uint8_t)s->exec;
	for (unsigned k = 0; k < bin_nranges(s->op); k++) {
		bool write = operands[0] == 'P' ? operands[1] == 'R' : k == 1;

		gen_range(g, s->range[k], write, &t, k, &len[k]);
		t.len = len[k];
	}
	if (bin_nranges(s->op) == 2 && len[0] != len[1]) {
		uint16_t same = gen_reg(g);

		gen_emit_abc(g, BIN_EQ, same, len[0], len[1]);
		gen_emit_imm(g, BIN_CHECK, same, gen_string(g, "the two ranges differ in length"));
	}
	if (s->again)
		gen_again(g, s->again, &t);
	if (s->op == GOAL_CALC)
		t.len = gen_expr(g, s->expr, GEN_ANY);
	for (unsigned c = 0; c < GOAL_NCLAUSES; c++)
		*fields[c] = s->clause[c] ? gen_expr(g, s->clause[c], GEN_ANY) : BIN_NOREG;
	if (g->scope->up && operands[0] == 'P')
		gen_message(g, &t);
	if (s->label)
		gen_label(g, s->label, &t.label, t.index);
	t.instance = g->scope->instance;
	g->at = s->loc;
	if (VEC_PUSH(&g->im->tmpls, t))
		gen_no_memory(g);
	gen_emit_imm(g, emits(g, s->op), 0, (int64_t)g->im->tmpls.n - 1);
}

static void gen_let(struct gen *g, const struct goal_stmt *s)
{
	struct gen_var *v = gen_find_var(g, s->name);
	unsigned index;

	if (gen_find_param(g, g->scope->s, s->name, &index) || (v && v->given)) {
		gen_error(g, s->loc, "name", "%s is given and cannot be changed", s->name);
		return;
	}
	if (!v) {
		uint16_t r = gen_reg(g);

		gen_into(g, s->expr, r);
		gen_add_var(g, s->name, r, false);
		g->top = r + 1u;
		return;
	}
	gen_into(g, s->expr, v->reg);
}

static void gen_if(struct gen *g, const struct goal_stmt *s)
{
	uint16_t c = gen_expr(g, s->expr, GEN_ANY);
	uint32_t skip = gen_emit_imm(g, BIN_JZ, c, 0);

	gen_block_of(g, s->body);
	if (s->other) {
		uint32_t end = gen_emit_imm(g, BIN_JMP, 0, 0);

		gen_jump_here(g, skip);
		gen_block_of(g, s->other);
		gen_jump_here(g, end);
	} else {
		gen_jump_here(g, skip);
	}
}

/* Generates a loop, with the condition at the end. If the body assigns to the variable, the loop counts in a separate
 * register. */
static void gen_for(struct gen *g, const struct goal_stmt *s)
{
	size_t vars = g->vars.n;
	uint16_t k = gen_reg(g), var = gen_assigns(s->body, s->name) ? gen_reg(g) : k, to, by, go;
	uint32_t test, top;

	gen_into(g, s->expr, k);
	to = gen_kept(g, s->to, s->body);
	go = gen_reg(g);
	if (s->by) {
		by = gen_kept(g, s->by, s->body);
		gen_emit_abc(g, BIN_LT, go, gen_num(g, 0, GEN_ANY), by);
		gen_emit_imm(g, BIN_CHECK, go, gen_string(g, "the step of a loop is not positive"));
	} else {
		by = gen_num(g, 1, GEN_ANY);
	}
	test = gen_emit_imm(g, BIN_JMP, 0, 0);
	gen_add_var(g, s->name, var, false);
	top = (uint32_t)g->im->code.n;
	if (var != k)
		gen_emit_abc(g, BIN_MOV, var, k, 0);
	gen_block_of(g, s->body);
	g->at = s->loc;
	gen_emit_abc(g, s->down ? BIN_SUB : BIN_ADD, k, k, by);
	gen_jump_here(g, test);
	gen_emit_abc(g, BIN_LE, go, s->down ? to : k, s->down ? k : to);
	gen_emit_imm(g, BIN_JNZ, go, top);
	gen_drop_vars(g, vars);
}

static void gen_stmt(struct gen *g, const struct goal_stmt *s)
{
	g->at = s->loc;
	if (g->result ? s->kind == GOAL_S_OP || s->kind == GOAL_S_CALL || s->kind == GOAL_S_DEP : s->kind == GOAL_S_GETS) {
		gen_error(g, s->loc, "syntax", "%s", g->result ? "a result has no ops" : "\"gets\" belongs into the result");
		return;
	}
	switch (s->kind) {
	case GOAL_S_GETS:
		gen_gets(g, s);
		break;
	case GOAL_S_OP:
		gen_op(g, s);
		break;
	case GOAL_S_CALL:
		gen_call(g, s);
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
		gen_emit_imm(g, BIN_ASSERT, gen_expr(g, s->expr, GEN_ANY), gen_string(g, s->name));
		break;
	}
}

/* Limit of the nesting of blocks. The blocks of a called schedule count as nested in the blocks of its callers. */
#define DEEPEST 2000u

void gen_block_of(struct gen *g, const struct goal_stmt *s)
{
	size_t vars = g->vars.n;
	unsigned top = g->top;

	if (++g->depth > DEEPEST && s) {
		gen_error(g, s->loc, "syntax", "%s", "the text is nested too deeply");
		s = NULL;
	}
	for (; s; s = s->next) {
		size_t before = g->vars.n;
		unsigned low = g->top;

		gen_stmt(g, s);
		if (g->vars.n == before) /* if the statement declared no variable, all registers that it took are free again */
			g->top = low;
	}
	gen_drop_vars(g, vars);
	g->top = top;
	g->depth--;
}

/* ---- declarations ---- */

static void gen_params(struct gen *g)
{
	unsigned index = 0, first = 0;

	for (const struct goal_param *p = g->scope->s->params; p; p = p->next, index++) {
		struct bin_param out = { .name = gen_string(g, p->name),
					 .scope = (uint8_t)p->scope,
					 .vector = p->length != NULL };

		gen_find_param(g, g->scope->s, p->name, &first);
		if (first != index || !strcmp(p->name, "count") || gen_find_var(g, p->name))
			gen_error(g, p->loc, "name", "%s is declared twice", p->name);
		if (p->value)
			gen_default(g, p, index, &out);
		if (!strcmp(p->name, "root")) {
			g->im->meta.root = index;
			if (p->length || p->scope != GOAL_GLOBAL)
				gen_error(g, p->loc, "name", "%s is one global number", p->name);
		}
		if (VEC_PUSH(&g->im->params, out))
			gen_no_memory(g);
	}
}

/* Generates the check of the length of a vector that a caller gives. It is a CHECK and not a LENGTH, because a wrong
 * length is then a fault of the text, not of the arguments. */
static void gen_given_length(struct gen *g, const struct goal_param *p, uint16_t vector)
{
	const uint16_t len = gen_reg(g), same = gen_reg(g);
	char text[128];

	gen_emit(g, (struct bin_word){ .op = BIN_VECLEN, .a = len, .b = vector });
	gen_emit_abc(g, BIN_EQ, same, len, gen_expr(g, p->length, GEN_ANY));
	snprintf(text, sizeof text, "the vector %.64s has the wrong length", p->name);
	gen_emit_imm(g, BIN_CHECK, same, gen_string(g, text));
}

void gen_check_params(struct gen *g)
{
	const struct gen_var *root = gen_find_var(g, "root");
	unsigned index = 0, top;

	if (root && gen_find_param(g, g->scope->s, "root", &index)) {
		uint16_t ok = gen_reg(g), reg = root->reg;

		gen_emit_abc(g, BIN_LT, ok, reg, g->scope->size);
		gen_emit_imm(g, BIN_CHECK, ok, gen_string(g, "the root is out of range"));
		gen_emit_abc(g, BIN_LE, ok, gen_num(g, 0, GEN_ANY), reg);
		gen_emit_imm(g, BIN_CHECK, ok, gen_string(g, "the root is out of range"));
		g->top--;
	}
	top = g->top;
	for (const struct goal_param *p = g->scope->s->params; p; p = p->next) {
		int vector = gen_vector(g, g->scope, p->name);

		/* The length of a rootonly vector cannot be checked here, because only the root knows it. */
		if (vector < 0 || p->scope == GOAL_ROOTONLY)
			continue;
		g->at = p->loc;
		if (g->scope->up)
			gen_given_length(g, p, (uint16_t)vector);
		else
			gen_emit(g, (struct bin_word){ .op = BIN_LENGTH,
						       .a = gen_expr(g, p->length, GEN_ANY),
						       .b = (uint16_t)vector });
		g->top = top;
	}
}

/* Adds the rows of the buffers. The programs of the ops and of the result share them, so this comes before both. */
static void gen_buffers(struct gen *g)
{
	const struct goal_schedule *s = g->scope->s;
	unsigned first;

	for (const struct goal_buffer *b = s->buffers; b; b = b->next) {
		struct bin_buffer row = { .name = gen_string(g, b->name), .mode = (uint8_t)b->mode };

		if (gen_declared(g, b->name, &first) != b)
			gen_error(g, b->loc, "name", "the buffer %s is declared twice", b->name);
		if (VEC_PUSH(&g->im->buffers, row))
			gen_no_memory(g);
	}
}

/* Generates the checks of parameters and the sizes of buffers, which a program evaluates once, before the body. */
static void gen_prologue(struct gen *g)
{
	struct gen_buffer *out = g->scope->buffers;
	uint16_t n = 0;

	if (g->im->meta.root != BIN_NONE) {
		uint16_t root = gen_reg(g);

		gen_emit(g, (struct bin_word){ .op = BIN_PARAM, .a = root, .b = (uint16_t)g->im->meta.root });
		gen_add_var(g, "root", root, true);
	}
	gen_defaults(g);
	gen_definitions(g);
	gen_inplace_value(g);
	gen_check_params(g);
	for (const struct goal_buffer *b = g->scope->s->buffers; b; b = b->next, out++, n++) {
		g->at = b->loc;
		*out = (struct gen_buffer){ n, BIN_NOREG, gen_kept(g, b->length, NULL), GEN_NO_WINDOW };
		gen_emit_abc(g, BIN_BUFSIZE, n, out->size, 0);
	}
	gen_inplace_range(g);
}

/* Generates a program with its own prologue, and returns the number of its first instruction. */
static uint32_t gen_code(struct gen *g, const struct goal_stmt *body)
{
	uint32_t jump = gen_emit_imm(g, BIN_JMP, 0, 0), start = (uint32_t)g->im->code.n;
	size_t vars = g->vars.n;

	g->nconsts = 0;
	g->top = GEN_FIRST_VAR;
	g->again = g->result;
	gen_prologue(g);
	g->again = false;
	if (g->several)
		g->hidden_size = gen_num(g, 0, gen_reg(g));
	gen_block_of(g, body);
	gen_inplace_ops(g);
	gen_emit_abc(g, BIN_END, 0, 0, 0);
	/* The instructions that load the constants can only be generated now, when all constants are known. So the program
	 * begins with a jump to them, and they jump back. */
	gen_jump_here(g, jump);
	g->at = g->scope->s->loc;
	for (unsigned i = 0; i < g->nconsts; i++)
		gen_load_num(g, g->constant[i], (uint16_t)(GEN_FIRST_CONST + i));
	gen_emit_imm(g, BIN_JMP, 0, start);
	gen_emit_abc(g, BIN_END, 0, 0, 0);
	gen_drop_vars(g, vars);
	return jump;
}

static size_t count_buffers(const struct goal_schedule *s)
{
	size_t n = 0;

	for (const struct goal_buffer *b = s->buffers; b; b = b->next)
		n++;
	return n;
}

/* Warns that nothing says what a collective does, so that --verify cannot prove it. */
static void warn_undefined(struct gen *g, const struct goal_schedule *s)
{
	struct nearest n = collective_nearest(s->implements);
	const char *hint = nearest_hint(&n);

	goal_diag(g->d, GOAL_WARNING, s->implements_loc, "name", "there is no definition of %s%s", s->implements,
		  *hint ? hint : ": a result would say what it does");
}

/* Generates the program of a schedule in an empty image. The schedule stands by itself: no other schedule calls it. */
static __attribute__((noinline)) void gen_schedule(struct gen *g, const struct goal_schedule *s)
{
	struct gen_scope scope = { .s = s,
				   .buffers = gen_alloc(g, (count_buffers(s) + 1) * sizeof *scope.buffers),
				   .end = SIZE_MAX,
				   .source = s->loc.file,
				   .rank = 0,
				   .size = 1,
				   .count = 2,
				   .tag = BIN_NOREG };
	struct ir_image *im = g->im;
	bool several;

	g->scope = &scope;
	gen_drop_vars(g, 0);
	if (gen_callee(g, s, s->name, &several) != s)
		gen_error(g, s->loc, "name", "the schedule %s is declared twice", s->name);
	g->most = GEN_FIRST_VAR;
	g->at = s->loc;
	g->hidden = BIN_NONE;
	g->inplace = NULL;
	g->result = false;
	im->meta.flags = BIN_F_PARAMETRIC | (s->commutative ? BIN_F_COMMUTATIVE : 0) | (s->reproducible ? BIN_F_REPRODUCIBLE : 0);
	im->meta.name = gen_string(g, s->name);
	im->meta.implements = gen_string(g, s->implements ? s->implements : "");
	gen_add_var(g, s->rank, 0, true);
	if (!strcmp(s->rank, s->size))
		gen_error(g, s->rank_loc, "name", "rank and size have the same name %s", s->rank);
	gen_add_var(g, s->size, 1, true);
	gen_add_var(g, "count", 2, true);
	scope.labels = gen_labels_of(g, s);
	gen_params(g);
	gen_inplace_param(g);
	gen_buffers(g);
	gen_code(g, s->body);
	if (!s->result_loc.line && s->implements && !collective_known(s->implements))
		warn_undefined(g, s);
	if (s->result_loc.line && s->implements && collective_known(s->implements))
		gen_error(g, s->result_loc, "syntax", "what %s does is defined: leave out the result", s->implements);
	if (s->result_loc.line) {
		g->result = true;
		im->meta.result = gen_code(g, s->result);
	}
	if (im->params.n >= BIN_NOREG)
		gen_error(g, s->loc, "syntax", "%s has more than 65534 parameters", s->name);
	if (im->buffers.n >= BIN_NOREG)
		gen_error(g, s->loc, "syntax", "%s has more than 65534 buffers, with those of its calls", s->name);
	im->meta.nregs = g->most;
	im->meta.nlabels = scope.labels->n;
	g->scope = NULL;
}

/* Generates the program of a schedule. Returns 0 or -ERR_NOMEM. */
static int try_schedule(struct gen *g, const struct goal_schedule *s)
{
	if (setjmp(g->nomem))
		return -ERR_NOMEM;
	gen_schedule(g, s);
	return 0;
}

/* Checks each schedule by itself, so that a mistake in it is reported exactly once, however often it is called. */
static int check_all(struct gen *g, const struct goal_text *texts)
{
	struct ir_image *im = g->im, each;
	int err = 0;

	for (const struct goal_text *t = texts; t; t = t->next)
		for (const struct goal_schedule *s = t->schedules; s && !err; s = s->next) {
			err = ir_image_init(&each);
			g->im = &each;
			err = err ? err : try_schedule(g, s);
			ir_image_fini(&each);
		}
	g->im = im;
	return err;
}

int lower_program(struct goal_diags *d, const struct goal_text *texts, const struct goal_schedule *s,
		  struct ir_image *im)
{
	unsigned errors = goal_diags_errors(d);
	struct gen g = { .d = d, .im = im, .several = texts->next || texts->schedules->next };
	int err = 0;

	if (g.several) {
		g.interface = true;
		err = check_all(&g, texts);
		g.interface = false;
	}
	if (!err && goal_diags_errors(d) == errors)
		err = try_schedule(&g, s);
	VEC_FREE(&g.vars);
	VEC_FREE(&g.names);
	index_free(&g.by_name);
	arena_fini(&g.arena);
	return err;
}
