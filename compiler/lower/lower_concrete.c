/* SPDX-License-Identifier: BSD-3-Clause
 * Lowers a parametric program at a fixed size to one section of ops for each rank (goalc -n). The interpreter of
 * format/interp.h runs the program. If count is not known, values that depend on it are terms; a term is a row of EXPRS.
 * Conditions, peers, tags and labels must be known while the program runs, so they must not depend on count. */
#include "format/interp.h"

#include "compiler/lower/lower.h"

#include <stdlib.h>
#include <string.h>

struct value {
	bool term;
	int64_t v; /* the number, or the row of EXPRS if it is a term */
};

struct conc {
	struct machine m; /* first member, see conc_of(); a register or size that is a term holds its row here */
	bool *term; /* for each register, from -1 (BIN_NOREG) on, true if it is a term */
	bool *term_size; /* for each buffer, true if its size is a term */
	struct bin_space sp;
	uint32_t *cls; /* class of each op */
	/* number of ops for which there is memory; number of ops of the previous rank, as an estimate for the next one */
	uint32_t room, used;
	struct bin_args args;
	struct ir_image *im;
	bool debug; /* true if lines are kept */
	const uint32_t *buf; /* for each buffer of the program, its number in the image; NULL if they are equal */
};

static struct conc *conc_of(struct machine *m)
{
	return (struct conc *)(void *)m;
}

/* ---- values ---- */

static bool is_number(const struct machine *m, uint16_t r)
{
	return !((const struct conc *)(const void *)m)->term[(int16_t)r];
}

static void mark_number(struct machine *m, uint16_t r, bool number)
{
	conc_of(m)->term[r] = !number;
}

/* Returns the value of a register. BIN_NOREG has the value 0. */
static struct value get_value(const struct machine *m, uint16_t r)
{
	return (struct value){ !is_number(m, r), (int64_t)reg_or_0(m, r) };
}

static int row_of(struct conc *c, struct value v, uint32_t *row)
{
	int64_t r = v.v;

	if (!v.term)
		r = ir_image_expr(c->im, (struct bin_expr){ .op = BIN_CONST, .imm = v.v });
	*row = (uint32_t)r;
	return r < 0 ? (int)r : 0;
}

static struct value value_of_row(const struct conc *c, uint32_t row)
{
	const struct bin_expr *e = row == BIN_NONE ? NULL : &c->im->exprs.at[row];

	if (!e || e->op == BIN_CONST)
		return (struct value){ false, e ? e->imm : 0 };
	return (struct value){ true, row };
}

static int eval_arith(struct conc *c, int op, struct value x, struct value y, struct value *out)
{
	const bool binary = op < BIN_NEG;
	uint32_t a, b = 0;
	int err;
	int64_t row;

	if (!x.term && !(binary && y.term)) {
		out->term = false;
		return bin_arith(op, x.v, y.v, &out->v);
	}
	err = row_of(c, x, &a);
	if (x.term && binary && y.term && x.v == y.v && op >= BIN_EQ && op <= BIN_LE) {
		*out = (struct value){ false, op == BIN_EQ || op == BIN_LE }; /* operands with the same row of EXPRS are equal */
		return 0;
	}
	if (!err && binary)
		err = row_of(c, y, &b);
	if (err)
		return err;
	row = ir_image_expr(c->im, (struct bin_expr){ .op = (uint8_t)op, .a = a, .b = b });
	*out = (struct value){ true, row };
	return row < 0 ? (int)row : 0;
}

static int compute(struct machine *m, int64_t *reg, int op, const struct bin_word *w)
{
	struct value v = { 0 };
	int err = eval_arith(conc_of(m), op, get_value(m, w->b), get_value(m, w->c), &v);

	reg[w->a] = v.v;
	mark_number(m, w->a, !v.term);
	return err;
}

/* ---- buffers ---- */

/* Returns the image's number of a buffer of the program. */
static uint16_t buffer_number(const struct conc *c, uint32_t i)
{
	return (uint16_t)(c->buf ? c->buf[i] : i);
}

static int set_size(struct machine *m, uint32_t buffer, uint16_t r)
{
	struct conc *c = conc_of(m);

	c->term_size[buffer] = !is_number(m, r);
	if (is_number(m, r))
		return machine_set_size(m, buffer, m->reg[r]);
	c->sp.bufsize[buffer] = (uint64_t)m->reg[r];
	return 0;
}

static struct value get_size(const struct conc *c, uint32_t buffer)
{
	return (struct value){ c->term_size[buffer], (int64_t)c->sp.bufsize[buffer] };
}

/* Checks a range. If the range or the size is a term, the check happens at bind, when count is known. */
static int check_range(struct conc *c, uint32_t what, struct value off, struct value len, struct value size)
{
	if (off.term || len.term || size.term || !is_outside((uint64_t)off.v, (uint64_t)len.v, (uint64_t)size.v))
		return 0;
	return out_of_bounds(&c->sp, what, (uint64_t)off.v, (uint64_t)len.v, (uint64_t)size.v);
}

/* ---- ops ---- */

/* Turns a copy of a range onto itself into a nop. */
static void class_onto_itself(struct bin_class *k)
{
	if (k->kind != BIN_OP_COPY || k->buf[0] != k->buf[1] || k->off[0] != k->off[1])
		return;
	k->kind = BIN_OP_NOP;
	k->buf[0] = k->buf[1] = 0;
	k->off[0] = k->off[1] = k->len = BIN_NONE;
}

/* Sets range i of a class from a template. The template's range is relative to its window or buffer, the class's range
 * to the buffer. */
static int class_range(struct conc *c, const struct bin_tmpl *t, unsigned i, bool in_call, struct bin_class *k)
{
	const struct bin_window *w = in_call ? &c->m.b->windows[t->buf[i]] : NULL;
	const struct value size = w ? get_value(&c->m, w->size) : get_size(c, t->buf[i]), len = get_value(&c->m, t->len);
	struct value off = get_value(&c->m, t->off[i]);
	bool zero = t->off[i] == BIN_NOREG;
	int err = len.term || len.v ? check_range(c, t->buf[i], off, len, size) : 0;

	k->buf[i] = w ? w->buf : buffer_number(c, t->buf[i]);
	if (!err && w && w->base != BIN_NOREG) {
		err = zero ? 0 : eval_arith(c, BIN_ADD, off, get_value(&c->m, w->base), &off);
		off = zero ? get_value(&c->m, w->base) : off;
		zero = false;
	}
	return err || zero ? err : row_of(c, off, &k->off[i]);
}

/* Sets the source range of a GETS. The range is in a buffer of another rank, whose size is not known here. */
static int class_got_range(struct conc *c, const struct bin_tmpl *t, struct bin_class *k)
{
	const struct value off = get_value(&c->m, t->off[1]), len = get_value(&c->m, t->len);

	k->buf[1] = buffer_number(c, t->buf[1]);
	if (t->off[1] == BIN_NOREG)
		return 0;
	if (!off.term && off.v < 0 && (len.term || len.v))
		return out_of_bounds(&c->sp, t->buf[1], (uint64_t)off.v, (uint64_t)len.v, 0);
	return row_of(c, off, &k->off[1]);
}

static int class_of_template(struct conc *c, const struct bin_tmpl *t, bool in_call, struct bin_class *k)
{
	const struct bin_op *op = &c->sp.ops[c->sp.nops];
	int err = 0;

	*k = (struct bin_class){ .kind = op->kind,
				 .exec = op->exec,
				 .level = op->level,
				 .tag = op->tag,
				 .cpu = op->cpu,
				 .nic = op->nic,
				 .off = { BIN_NONE, BIN_NONE },
				 .len = BIN_NONE };
	if (t->len != BIN_NOREG)
		err = row_of(c, get_value(&c->m, t->len), &k->len);
	for (unsigned i = 0; i < bin_nranges(t->kind) && !err; i++)
		err = class_range(c, t, i, in_call, k);
	return err || t->kind != BIN_OP_GETS ? err : class_got_range(c, t, k);
}

/* Sets the class of op i. */
static int set_class(struct conc *c, uint32_t i, const struct bin_class *k)
{
	int64_t cls = ir_image_class(c->im, k);

	c->sp.ops[i].kind = k->kind;
	c->cls[i] = (uint32_t)cls;
	return cls < 0 ? (int)cls : 0;
}

static int emit_template(struct conc *c, const struct bin_tmpl *t, enum bin_insn insn, uint32_t line)
{
	const bool in_call = insn == BIN_EMITIN || insn == BIN_COPYIN;
	const uint16_t fields[] = { t->peer, t->tag, t->level, t->cpu, t->nic, t->index[0], t->index[1] };
	struct bin_class k;
	int err = 0;

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (!is_number(&c->m, fields[i]))
			return NEEDS_NUMBER;
	err = begin_op(&c->m, t, line);
	err = err ? err : class_of_template(c, t, in_call, &k);
	err = err ? err : name_op(&c->m, t, in_call);
	if (err)
		return err;
	if (insn == BIN_EMITIN)
		class_onto_itself(&k);
	err = set_class(c, c->sp.nops, &k);
	c->sp.nops += !err;
	return err;
}

static int emit(struct machine *m, const struct bin_tmpl *t, enum bin_insn insn, uint32_t line)
{
	return emit_template(conc_of(m), t, insn, line);
}

/* Moves the ranges of an op from buffer t->buf[0] to buffer t->buf[1], from offset `base` on. */
static int move_op(struct conc *c, uint32_t i, const struct bin_tmpl *t, struct value base)
{
	struct bin_class k = c->im->classes.at[c->cls[i]];
	bool moved = false;
	int err = 0;

	for (unsigned n = 0; n < bin_nranges(k.kind) && !err; n++) {
		struct value off;

		if (k.buf[n] != t->buf[0])
			continue;
		moved = true;
		k.buf[n] = t->buf[1];
		err = eval_arith(c, BIN_ADD, value_of_row(c, k.off[n]), base, &off);
		err = err ? err : row_of(c, off, &k.off[n]);
	}
	if (err || !moved)
		return err;
	class_onto_itself(&k);
	return set_class(c, i, &k);
}

static int put_in_place(struct machine *m, const struct bin_tmpl *t, bool result)
{
	struct conc *c = conc_of(m);
	const struct value len = get_value(m, t->len);
	const struct value base = len.term || len.v ? get_value(m, t->off[1]) : (struct value){ 0 };
	int err = check_range(c, t->buf[1], base, len, get_size(c, t->buf[1]));

	if (!err && result)
		return emit_template(c, t, BIN_INPLACE, 0);
	for (uint32_t i = 0; i < c->sp.nops && !err; i++)
		err = move_op(c, i, t, base);
	c->sp.bufsize[t->buf[0]] = 0;
	c->term_size[t->buf[0]] = false;
	return err;
}

/* ---- ranks ---- */

/* Provides memory for a rank with at most `ops` ops, which have at most BIN_USUAL_DEPS dependencies on average. */
static int take_room(struct conc *c, uint32_t ops)
{
	const struct bin *b = c->m.b;
	const uint32_t deps = ops * BIN_USUAL_DEPS;
	uint64_t *sizes = c->sp.bufsize;

	if (ops > c->room) {
		free(c->sp.ops);
		free(c->sp.deps);
		free(c->sp.scratch);
		free(c->cls);
		c->sp = (struct bin_space){ .ops = mem_alloc(ops * sizeof *c->sp.ops),
					    .deps = mem_alloc(deps * sizeof *c->sp.deps),
					    .scratch = mem_alloc(bin_scratch_size(b, ops, deps)) };
		c->cls = mem_alloc(ops * sizeof *c->cls);
		c->room = c->sp.ops && c->sp.deps && c->sp.scratch && c->cls ? ops : 0;
	}
	c->sp = (struct bin_space){ .ops = c->sp.ops, .deps = c->sp.deps, .scratch = c->sp.scratch, .bufsize = sizes,
				    .ops_cap = ops, .deps_cap = deps };
	return c->room ? 0 : -ERR_NOMEM;
}

static int run_once(struct conc *c, uint32_t from)
{
	const struct bin *b = c->m.b;
	const struct bin_class nop = { .kind = BIN_OP_NOP, .off = { BIN_NONE, BIN_NONE }, .len = BIN_NONE };
	uint32_t emitted;
	int64_t count = 0;
	int err;

	machine_init(&c->m, b, &c->args, &c->sp);
	memset(c->term - 1, 0, (b->meta->nregs + 1) * sizeof *c->term);
	memset(c->term_size, 0, b->nbuffers * sizeof *c->term_size);
	if (c->args.count < 0) {
		count = ir_image_expr(c->im, (struct bin_expr){ .op = BIN_PARAM });
		c->m.reg[2] = count;
		c->term[2] = true;
	}
	err = count < 0 ? (int)count : interpret(&c->m, from);
	emitted = c->sp.nops;
	err = err ? err : machine_connect(&c->m);
	for (uint32_t i = emitted; i < c->sp.nops && !err; i++) /* nops that stand for ends of calls */
		err = set_class(c, i, &nop);
	return err;
}

/* Generates the ops of a rank. If it has more ops than there is memory for, the program is run again with more memory. */
static int run_rank(struct conc *c, uint32_t from)
{
	const uint32_t most = c->args.most_ops ? c->args.most_ops : BIN_USUAL_OPS;
	uint64_t ops = c->used + c->used / 4 + 256;
	int err;

	do {
		err = take_room(c, ops < most ? (uint32_t)ops : most);
		err = err ? err : run_once(c, from);
		ops *= 4;
	} while (err == -ERR_SPACE && c->sp.ops_cap < most);
	if (err == -ERR_SPACE)
		c->sp.value[0] = most;
	c->used = c->sp.nops;
	if (c->args.fuel) /* stays at least 1, because 0 means the default */
		c->args.fuel = c->args.fuel > c->sp.steps ? c->args.fuel - c->sp.steps : 1;
	return err;
}

/* Appends the rank whose ops have just been generated to the image. */
static int append_rank(struct conc *c)
{
	struct ir_rank r = { .ops = c->sp.ops, .nops = c->sp.nops };
	struct bin_op32 *encoded = mem_alloc(r.nops * sizeof *encoded);
	uint32_t *rows = mem_calloc(c->im->buffers.n, sizeof *rows);
	int err = rows && encoded ? 0 : -ERR_NOMEM;

	for (uint32_t i = 0; i < r.nops && !err; i++)
		encoded[i] = ir_image_op(c->im, &r.ops[i], c->cls[i]);
	for (uint32_t i = 0; i < c->im->buffers.n && !err; i++) /* passes may have added buffers, whose size is 0 here */
		err = row_of(c, (struct value){ 0 }, &rows[i]);
	for (uint32_t i = 0; i < c->m.b->nbuffers && !err; i++)
		err = row_of(c, get_size(c, i), &rows[buffer_number(c, i)]);
	err = err ? err : ir_rank_set_deps(&r, c->sp.deps, c->sp.ndeps);
	err = err ? err : ir_image_rank(c->im, &r, encoded, rows);
	for (uint32_t i = 0; c->debug && i < r.nops && !err; i++)
		err = VEC_PUSH(&c->im->debug, (struct bin_op_debug){ r.ops[i].line, 0 });
	if (c->debug && !err)
		err = VEC_PUSH(&c->im->debug_base, (uint32_t)c->im->debug.n);
	r.ops = NULL; /* the ops belong to c->sp */
	ir_rank_fini(&r);
	free(encoded);
	free(rows);
	return err;
}

/* A concrete binary keeps the buffers and, of the parameters, only root. */
int lower_concrete_begin(const struct bin *b, const struct bin_args *args, bool roots, struct ir_image *out)
{
	int64_t name = ir_image_string(out, bin_str(b, b->meta->name));
	int64_t implements = ir_image_string(out, bin_str(b, b->meta->implements));
	int64_t s;

	if (name < 0 || implements < 0)
		return -ERR_NOMEM;
	out->meta.name = (uint32_t)name;
	out->meta.implements = (uint32_t)implements;
	out->meta.nranks = args->size;
	out->meta.flags = (roots ? BIN_F_ROOTS : 0) | (b->meta->flags & (BIN_F_COMMUTATIVE | BIN_F_REPRODUCIBLE));
	out->meta.count = args->count < 0 ? BIN_ANY_COUNT : args->count;
	for (uint32_t i = 0; i < b->nbuffers; i++) {
		s = ir_image_string(out, bin_str(b, b->buffers[i].name));
		if (s < 0 || VEC_PUSH(&out->buffers, (struct bin_buffer){ (uint32_t)s, b->buffers[i].mode, 0,
									  b->buffers[i].inplace }))
			return -ERR_NOMEM;
	}
	if (b->meta->root != BIN_NONE) {
		const struct bin_arg *row = args->by_rank ? args->by_rank[0] : args->args;
		const struct bin_arg *a = row ? &row[b->meta->root] : NULL;
		struct bin_param p = { .scope = BIN_GLOBAL,
				       .has_default = BIN_NUMBER,
				       .value = a && a->known ? a->value : b->params[b->meta->root].value };

		s = ir_image_string(out, "root");
		p.name = (uint32_t)s;
		out->meta.root = 0;
		if (s < 0 || VEC_PUSH(&out->params, p))
			return -ERR_NOMEM;
	}
	if (ir_image_begin(out, roots ? (uint64_t)args->size * args->size : args->size))
		return -ERR_NOMEM;
	return VEC_PUSH(&out->debug_base, 0);
}

static int conc_init(struct conc *c)
{
	const struct bin *b = c->m.b;

	c->term_size = mem_calloc(b->nbuffers + b->meta->nregs + 1, sizeof *c->term_size);
	c->term = c->term_size ? c->term_size + b->nbuffers + 1 : NULL;
	c->sp.bufsize = mem_calloc(b->nbuffers, sizeof *c->sp.bufsize);
	return c->term_size && c->sp.bufsize ? 0 : -ERR_NOMEM;
}

static void conc_fini(struct conc *c)
{
	free(c->term_size);
	free(c->sp.bufsize);
	free(c->sp.ops);
	free(c->sp.deps);
	free(c->sp.scratch);
	free(c->cls);
}

/* Lowers the program that begins at instruction `from`, for all ranks. args->by_rank has the arguments of each rank. */
static int lower_ranks(struct conc *c, const struct bin_args *args, uint32_t from)
{
	struct ir_rows rows;
	int err = ir_rows_init(&rows, c->m.b, args);

	c->args = *args;
	c->args.by_rank = rows.by_rank;
	for (uint32_t r = 0; r < args->size && !err; r++) {
		c->args.rank = r;
		c->args.args = rows.by_rank[r];
		err = run_rank(c, from);
		err = err ? err : append_rank(c);
	}
	ir_rows_fini(&rows);
	return err;
}

/* Lowers the program that begins at instruction `from`, for all ranks, and for each root if `roots` is set. */
static int lower_all_ranks(struct conc *c, const struct bin_args *args, struct arg_rows *rows, bool roots,
			   uint32_t from)
{
	const uint32_t root = c->m.b->meta->root;
	struct bin_args a = *args;
	int err = conc_init(c);

	a.by_rank = rows->by_rank;
	for (uint32_t v = 0; v < (roots ? a.size : 1) && !err; v++) {
		if (roots && root != BIN_NONE)
			arg_rows_set(rows, root, (struct bin_arg){ .known = true, .value = v });
		err = lower_ranks(c, &a, from);
	}
	conc_fini(c);
	return err;
}

static int report_fault(struct goal_diags *d, unsigned file, const struct bin *b, const struct goal_loc *locs,
			const struct bin_args *args, const struct conc *c, int err)
{
	struct bin_args a = *args;
	const struct bin_space *sp = &c->sp;
	const struct ir_fault fault = { sp->where, sp->what, { sp->value[0], sp->value[1], sp->value[2] }, sp->steps, "" };
	struct goal_loc at = { b->lines ? b->lines[sp->where] : 0, 1, (uint16_t)file };

	a.rank = c->args.rank;
	if (err == NEEDS_NUMBER)
		goal_diag(d, GOAL_ERROR, locs ? locs[sp->where] : at, "unknown-param",
			  "what the ranks do depends on count here: fix it with -D count=N");
	else if (err && err != -ERR_NOMEM)
		lower_fault(d, file, b, locs, &a, err, &fault);
	return err && err != -ERR_NOMEM ? -ERR_SYNTAX : err;
}

int lower_concrete(struct goal_diags *d, unsigned file, const struct bin *b, const struct goal_loc *locs,
		   const struct bin_args *args, bool roots, struct ir_image *out)
{
	struct conc c = { .m.b = b, .im = out, .debug = b->lines != NULL };
	struct arg_rows rows;
	int err = arg_rows_init(&rows, b, args->size);

	err = err ? err : lower_concrete_begin(b, args, roots, out);
	err = err ? err : arg_rows_copy(&rows, args);
	err = err ? err : lower_all_ranks(&c, args, &rows, roots, 0);
	arg_rows_fini(&rows);
	return report_fault(d, file, b, locs, args, &c, err);
}

int lower_concrete_result(struct goal_diags *d, unsigned file, const struct claim *claim, const struct bin_args *args,
			  bool roots, struct ir_image *out)
{
	const struct bin *b = &claim->def;
	struct conc c = { .m.b = b, .im = out, .buf = claim->buf, .debug = out->debug_base.n == out->done + 1 };
	struct arg_rows rows;
	bool kept = !claim->name;
	int err;

	if (!claim->any)
		return 0;
	err = arg_rows_init(&rows, b, args->size);
	for (uint32_t r = 0; !err && r < args->size; r++) {
		struct bin_arg *row = arg_row_own(&rows, r);

		err = row ? 0 : -ERR_NOMEM;
		kept |= row && claim_values(claim, args->by_rank ? args->by_rank[r] : args->args, row);
	}
	if (!err && kept) {
		err = ir_image_more(out, out->dir_rows);
		out->meta.result = 1;
		err = err ? err : lower_all_ranks(&c, args, &rows, roots, b->meta->result);
	}
	arg_rows_fini(&rows);
	if (!claim->name || !err || err == -ERR_NOMEM)
		return report_fault(d, file, b, NULL, args, &c, err);
	goal_diag(d, GOAL_ERROR, (struct goal_loc){ .file = (uint16_t)file }, NULL,
		  err == NEEDS_NUMBER ? "the result of %s depends on count here: fix it with -D count=N" :
				       "the result of %s cannot be kept", claim->name);
	return -ERR_SYNTAX;
}
