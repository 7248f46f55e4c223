/* SPDX-License-Identifier: BSD-3-Clause
 * A parametric program at a fixed size, to one section of ops for each rank (goalc -n). The program is
 * run with values that may depend on count: such a value is a row of EXPRS. What must be known to go on
 * (conditions, peers, tags, labels) may not depend on it. */
#include "compiler/lower.h"

#include "compiler/bin_check.h"
#include "util/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct value {
	bool sym;
	int64_t v; /* or a row of EXPRS */
};

struct inst {
	uint32_t label, op;
	int64_t index[2];
};

struct pend {
	uint32_t op, on;
	int64_t op_index[2], on_index[2];
	bool start;
};

struct conc {
	const struct bin *b;
	const struct bin_args *args;
	struct ir_image *im;
	struct value *reg;
	struct value *bufsize;
	struct ir_fault fault;
	VEC(struct inst) insts;
	uint32_t *table; /* hash of insts, index + 1 */
	size_t slots;
	VEC(struct pend) pends;
	VEC(struct bin_op) ops;
	VEC(struct bin_op32) encoded;
	VEC(struct bin_dep) edges;
	uint64_t fuel;
	bool result; /* it is the result that runs */
	bool debug; /* lines are kept */
	const uint32_t *buf; /* the image's buffers for those of b; NULL: the same */
	uint32_t rank; /* at fault */
};

/* Not an error number of the library: says that a structural value depends on count. */
#define NEEDS_COUNT (-1000)

static int row_of(struct conc *c, struct value v, uint32_t *row)
{
	int64_t r = v.v;

	if (!v.sym)
		r = ir_image_expr(c->im, (struct bin_expr){ .op = BIN_CONST, .imm = v.v });
	*row = (uint32_t)r;
	return r < 0 ? (int)r : 0;
}

static int arith(struct conc *c, int op, struct value x, struct value y, bool binary, struct value *out)
{
	uint32_t a, b = 0;
	int err;
	int64_t row;

	if (!x.sym && !(binary && y.sym)) {
		out->sym = false;
		return bin_arith(op, x.v, y.v, &out->v);
	}
	err = row_of(c, x, &a);
	if (x.sym && binary && y.sym && x.v == y.v && op >= BIN_EQ && op <= BIN_LE) {
		*out = (struct value){ false, op == BIN_EQ || op == BIN_LE }; /* the same row */
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

static int known(struct conc *c, uint16_t reg, int64_t *out)
{
	*out = 0;
	if (reg == BIN_NOREG)
		return 0;
	*out = c->reg[reg].v;
	return c->reg[reg].sym ? NEEDS_COUNT : 0;
}

/* Where an instance is in the table, or the empty slot where it would go. */
static uint32_t *slot(struct conc *c, uint32_t label, const int64_t index[2])
{
	const int64_t key[3] = { label, index[0], index[1] };
	size_t at = bin_sum(key, sizeof key) & (c->slots - 1);

	for (; c->table[at]; at = (at + 1) & (c->slots - 1)) {
		const struct inst *in = &c->insts.at[c->table[at] - 1];

		if (in->label == label && in->index[0] == index[0] && in->index[1] == index[1])
			break;
	}
	return &c->table[at];
}

static const struct inst *find(struct conc *c, uint32_t label, const int64_t index[2])
{
	uint32_t *s = c->slots ? slot(c, label, index) : NULL;

	return s && *s ? &c->insts.at[*s - 1] : NULL;
}

static int add_inst(struct conc *c, struct inst in)
{
	if (c->slots < 2 * (c->insts.n + 1)) {
		size_t more = c->slots ? 2 * c->slots : 64;
		uint32_t *t = mem_calloc(more, sizeof *t);

		if (!t)
			return -ERR_NOMEM;
		free(c->table);
		c->table = t;
		c->slots = more;
		for (size_t i = 0; i < c->insts.n; i++)
			*slot(c, c->insts.at[i].label, c->insts.at[i].index) = (uint32_t)i + 1;
	}
	uint32_t *s = slot(c, in.label, in.index);

	if (*s)
		return -ERR_LABEL;
	*s = (uint32_t)c->insts.n + 1;
	return VEC_PUSH(&c->insts, in);
}

static int in_range(struct conc *c, enum bin_field field, int64_t v, int64_t most)
{
	if (v >= 0 && v <= most)
		return 0;
	c->fault.what = field;
	c->fault.value[0] = v;
	return -ERR_RANGE;
}

static int out_of_bounds(struct conc *c, uint32_t what, int64_t off, int64_t len, int64_t size)
{
	c->fault.what = what;
	c->fault.value[0] = off;
	c->fault.value[1] = len;
	c->fault.value[2] = size;
	return -ERR_BOUNDS;
}

static int get_index(struct conc *c, const uint16_t reg[2], int64_t out[2])
{
	int err = 0;

	for (int k = 0; k < 2 && !err; k++) {
		err = known(c, reg[k], &out[k]);
		if (!err && out[k] != (int32_t)out[k]) {
			c->fault.what = BIN_FIELD_INDEX;
			c->fault.value[0] = out[k];
			err = -ERR_RANGE;
		}
	}
	return err;
}

/* A buffer, as the image numbers it. */
static uint16_t buffer(const struct conc *c, uint32_t i)
{
	return (uint16_t)(c->buf ? c->buf[i] : i);
}

static int emit(struct conc *c, const struct bin_tmpl *t, uint32_t line)
{
	struct bin_class k = { .kind = t->kind,
			       .exec = t->exec,
			       .off = { BIN_NONE, BIN_NONE },
			       .len = BIN_NONE };
	int64_t peer, tag, level, cpu, nic, cls, index[2];
	struct value len = { 0 };
	int err = known(c, t->peer, &peer);

	err = err ? err : known(c, t->tag, &tag);
	err = err ? err : known(c, t->level, &level);
	err = err ? err : known(c, t->cpu, &cpu);
	err = err ? err : known(c, t->nic, &nic);
	if (err)
		return err;
	if (bin_operands(t->kind)[0] == 'P' && (peer < 0 || peer >= c->args->size)) {
		c->fault.value[0] = peer;
		return -ERR_PEER;
	}
	err = in_range(c, BIN_FIELD_LEVEL, level, UINT16_MAX);
	err = err ? err : in_range(c, BIN_FIELD_TAG, tag, BIN_ANY - 1);
	err = err ? err : in_range(c, BIN_FIELD_CPU, cpu, BIN_ANY - 1);
	err = err ? err : in_range(c, BIN_FIELD_NIC, nic, BIN_ANY - 1);
	if (!err && t->len != BIN_NOREG && !c->reg[t->len].sym)
		err = in_range(c, BIN_FIELD_LEN, c->reg[t->len].v, INT64_MAX);
	if (err)
		return err;
	for (unsigned i = 0; i < (t->kind == BIN_OP_GETS ? 2 : bin_nranges(t->kind)); i++)
		k.buf[i] = buffer(c, t->buf[i]);
	k.tag = (uint32_t)tag;
	k.level = (uint16_t)level;
	k.cpu = (uint32_t)cpu;
	k.nic = (uint32_t)nic;
	if (t->len != BIN_NOREG) {
		len = c->reg[t->len];
		err = row_of(c, len, &k.len);
	}
	for (unsigned i = 0; i < bin_nranges(t->kind) && !err; i++) {
		struct value off = { 0 }, size = c->bufsize[t->buf[i]];

		if (t->off[i] != BIN_NOREG) {
			off = c->reg[t->off[i]];
			err = row_of(c, off, &k.off[i]);
		}
		/* What depends on count is checked when count is known. */
		if (!off.sym && !len.sym && !size.sym && len.v &&
		    (off.v < 0 || len.v < 0 || len.v > size.v || off.v > size.v - len.v))
			return out_of_bounds(c, t->buf[i], off.v, len.v, size.v);
	}
	if (!err && t->kind == BIN_OP_GETS && t->off[1] != BIN_NOREG) { /* in a buffer of another rank */
		const struct value off = c->reg[t->off[1]];

		err = !off.sym && off.v < 0 && (len.sym || len.v) ? out_of_bounds(c, t->buf[1], off.v, len.v, 0) : row_of(c, off, &k.off[1]);
	}
	if (!err && t->label != BIN_NONE) {
		err = get_index(c, t->index, index);
		if (!err)
			err = add_inst(c, (struct inst){ t->label, (uint32_t)c->ops.n, { index[0], index[1] } });
	}
	if (err)
		return err;
	cls = ir_image_class(c->im, &k);
	struct bin_op op = { .kind = t->kind, .peer = (uint32_t)peer, .line = line };

	if (cls < 0 || VEC_PUSH(&c->encoded, ir_image_op(c->im, &op, (uint32_t)cls)))
		return -ERR_NOMEM;
	return VEC_PUSH(&c->ops, op);
}

static struct value value_of(const struct conc *c, uint32_t row)
{
	const struct bin_expr *e = row == BIN_NONE ? NULL : &c->im->exprs.at[row];

	if (!e || e->op == BIN_CONST)
		return (struct value){ false, e ? e->imm : 0 };
	return (struct value){ true, row };
}

/* An op that takes a range of another buffer instead. */
static int move_op(struct conc *c, uint32_t i, const struct bin_tmpl *t, struct value base)
{
	struct bin_class k = c->im->classes.at[c->encoded.at[i].cls];
	bool moved = false;
	int64_t cls;
	int err = 0;

	for (unsigned n = 0; n < bin_nranges(k.kind) && !err; n++) {
		struct value off;

		if (k.buf[n] != t->buf[0])
			continue;
		moved = true;
		k.buf[n] = t->buf[1];
		err = arith(c, BIN_ADD, value_of(c, k.off[n]), base, true, &off);
		err = err ? err : row_of(c, off, &k.off[n]);
	}
	if (err || !moved)
		return err;
	if (k.kind == BIN_OP_COPY && k.buf[0] == k.buf[1] && k.off[0] == k.off[1]) { /* onto itself */
		k.kind = BIN_OP_NOP;
		k.buf[0] = k.buf[1] = 0;
		k.off[0] = k.off[1] = k.len = BIN_NONE;
	}
	cls = ir_image_class(c->im, &k);
	if (cls < 0)
		return (int)cls;
	c->encoded.at[i].cls = (uint32_t)cls;
	return 0;
}

/* As in_place in bin_read.c does it. */
static int in_place(struct conc *c, const struct bin_tmpl *t)
{
	struct value base = { 0 };
	const struct value len = c->reg[t->len], size = c->bufsize[t->buf[1]];
	int err = 0;

	if (t->off[1] != BIN_NOREG && (len.sym || len.v))
		base = c->reg[t->off[1]];
	if (!base.sym && !len.sym && !size.sym && (base.v < 0 || len.v > size.v || base.v > size.v - len.v))
		return out_of_bounds(c, t->buf[1], base.v, len.v, size.v);
	if (c->result)
		return emit(c, t, 0);
	for (uint32_t i = 0; i < c->ops.n && !err; i++)
		err = move_op(c, i, t, base);
	c->bufsize[t->buf[0]] = (struct value){ 0 };
	return err;
}

/* A parameter, as a rank knows it. */
static int get_param(struct conc *c, int64_t rank, uint32_t i, struct bin_arg *out)
{
	const struct bin_param *p = &c->b->params[i];
	const int64_t root = bin_root(c->b, c->args->args);

	if (rank < 0 || rank >= c->args->size) {
		c->fault.value[0] = rank;
		return -ERR_PEER;
	}
	c->fault.what = i;
	if (p->scope == BIN_ROOTONLY && root >= 0 && root != rank)
		return -ERR_UNKNOWN;
	if (c->args->by_rank[rank][i].known)
		*out = c->args->by_rank[rank][i];
	else if (p->has_default)
		*out = (struct bin_arg){ .known = true, .value = p->value };
	else
		return -ERR_PARAM;
	return 0;
}

/* The rank whose parameter an instruction takes. */
static int rank_of(struct conc *c, const struct bin_word *w, int64_t *rank)
{
	*rank = c->args->rank;
	return w->op == BIN_PARAM_OF || w->op == BIN_ELEM_OF ? known(c, w->a, rank) : 0;
}

static int step(struct conc *c, const struct bin_word *w, uint32_t *pc)
{
	struct value *reg = c->reg;
	struct bin_arg arg;
	struct pend p;
	int64_t i;
	int err = 0;

	switch (w->op) {
	case BIN_IMM:
		reg[w->a] = (struct value){ false, w->imm };
		return 0;
	case BIN_CONST:
		reg[w->a] = (struct value){ false, c->b->consts[w->imm] };
		return 0;
	case BIN_MOV:
		reg[w->a] = reg[w->b];
		return 0;
	case BIN_JMP:
		*pc = (uint32_t)w->imm - 1;
		return 0;
	case BIN_JZ:
	case BIN_JNZ:
		err = known(c, w->a, &i);
		if (!err && (i != 0) == (w->op == BIN_JNZ))
			*pc = (uint32_t)w->imm - 1;
		return err;
	case BIN_PARAM:
	case BIN_PARAM_OF:
		err = rank_of(c, w, &i);
		err = err ? err : get_param(c, i, w->b, &arg);
		reg[w->a] = (struct value){ false, err ? 0 : arg.value };
		return err;
	case BIN_VECLEN:
		err = get_param(c, c->args->rank, w->b, &arg);
		reg[w->a] = (struct value){ false, err ? 0 : (int64_t)arg.n };
		return err;
	case BIN_ELEM:
	case BIN_ELEM_OF:
		err = rank_of(c, w, &i);
		err = err ? err : get_param(c, i, w->b, &arg);
		err = err ? err : known(c, w->c, &i);
		if (!err && (i < 0 || (uint64_t)i >= arg.n))
			err = out_of_bounds(c, w->b, i, 1, (int64_t)arg.n);
		if (!err)
			reg[w->a] = (struct value){ false, arg.elem[i] };
		return err;
	case BIN_BUFSIZE:
		c->bufsize[w->a] = reg[w->b];
		return !reg[w->b].sym && reg[w->b].v < 0 ? out_of_bounds(c, w->a, 0, 0, reg[w->b].v) : 0;
	case BIN_ASSERT:
		c->fault.what = (uint32_t)w->imm;
		err = known(c, w->a, &i);
		return err ? err : i ? 0 : -ERR_ASSERT;
	case BIN_EMIT:
	case BIN_GETS:
		return emit(c, &c->b->tmpls[w->imm], c->b->lines ? c->b->lines[*pc] : 0);
	case BIN_INPLACE:
		return in_place(c, &c->b->tmpls[w->imm]);
	case BIN_DEP: {
		const struct bin_dep_tmpl *t = &c->b->deps[w->imm];

		p = (struct pend){ .op = t->op, .on = t->on, .start = t->start };
		err = get_index(c, t->op_index, p.op_index);
		err = err ? err : get_index(c, t->on_index, p.on_index);
		return err ? err : VEC_PUSH(&c->pends, p);
	}
	}
	return arith(c, w->op, reg[w->b], reg[w->c], w->op < BIN_NEG, &reg[w->a]);
}

static int run(struct conc *c, uint32_t from)
{
	int err = 0;

	for (uint32_t pc = from; !err; pc++) {
		const struct bin_word *w = &c->b->code[pc];

		c->fault.where = pc;
		if (w->op == BIN_END)
			break;
		err = c->fuel-- ? step(c, w, &pc) : -ERR_FUEL;
	}
	for (size_t i = 0; i < c->pends.n && !err; i++) {
		const struct pend *p = &c->pends.at[i];
		const struct inst *op = find(c, p->op, p->op_index), *on = find(c, p->on, p->on_index);

		if (op && on)
			err = VEC_PUSH(&c->edges,
				       (struct bin_dep){ op->op, on->op | (p->start ? BIN_START : 0) });
	}
	return err;
}

/* The ops of a rank, or its result, whose program begins elsewhere. */
static int one_rank(struct conc *c, uint32_t from)
{
	const struct bin *b = c->b;
	struct ir_rank r = { 0 };
	uint32_t *rows = mem_calloc(c->im->buffers.n, sizeof *rows);
	int64_t count = 0;
	int err = rows ? 0 : -ERR_NOMEM;

	c->insts.n = c->pends.n = c->ops.n = c->encoded.n = c->edges.n = 0;
	if (c->slots)
		memset(c->table, 0, c->slots * sizeof *c->table);
	memset(c->reg, 0, b->meta->nregs * sizeof *c->reg);
	c->reg[0].v = c->args->rank;
	c->reg[1].v = c->args->size;
	c->reg[2].v = c->args->count;
	if (!err && c->args->count < 0) {
		count = ir_image_expr(c->im, (struct bin_expr){ .op = BIN_PARAM });
		c->reg[2] = (struct value){ true, count };
		err = count < 0 ? (int)count : 0;
	}
	c->result = from != 0;
	err = err ? err : run(c, from);
	for (uint32_t i = 0; i < c->im->buffers.n && !err; i++) /* there may be more than b has */
		err = row_of(c, (struct value){ 0 }, &rows[i]);
	for (uint32_t i = 0; i < b->nbuffers && !err; i++)
		err = row_of(c, c->bufsize[i], &rows[buffer(c, i)]);
	r.ops = c->ops.at;
	r.nops = (uint32_t)c->ops.n;
	if (!err)
		err = ir_rank_set_deps(&r, c->edges.at, (uint32_t)c->edges.n);
	if (!err)
		err = ir_image_rank(c->im, &r, c->encoded.at, rows);
	for (uint32_t i = 0; c->debug && i < r.nops && !err; i++)
		err = VEC_PUSH(&c->im->debug, (struct bin_op_debug){ r.ops[i].line, 0 });
	if (c->debug && !err)
		err = VEC_PUSH(&c->im->debug_base, (uint32_t)c->im->debug.n);
	r.ops = NULL; /* lent */
	ir_rank_fini(&r);
	free(rows);
	return err;
}

/* The concrete binary keeps buffers and the parameter root. */
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
	out->meta.flags = (roots ? BIN_F_ROOTS : 0) | (b->meta->flags & BIN_F_COMMUTATIVE);
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
				       .has_default = 1,
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

static void conc_fini(struct conc *c)
{
	VEC_FREE(&c->insts);
	free(c->table);
	VEC_FREE(&c->pends);
	VEC_FREE(&c->ops);
	VEC_FREE(&c->encoded);
	VEC_FREE(&c->edges);
	free(c->reg);
	free(c->bufsize);
}

/* The program of c->b from an instruction on, of all ranks, for each root if roots is set. */
static int lower(struct conc *c, const struct bin_args *args, struct arg_rows *rows, bool roots, uint32_t from)
{
	const uint32_t root = c->b->meta->root;
	struct bin_args a = *args;
	int err;

	c->reg = mem_calloc(c->b->meta->nregs, sizeof *c->reg);
	c->bufsize = mem_calloc(c->b->nbuffers, sizeof *c->bufsize);
	err = c->reg && c->bufsize ? 0 : -ERR_NOMEM;
	a.by_rank = rows->by_rank;
	c->args = &a;
	for (uint32_t v = 0; v < (roots ? a.size : 1) && !err; v++) {
		c->fuel = a.fuel;
		if (roots && root != BIN_NONE)
			arg_rows_set(rows, root, (struct bin_arg){ .known = true, .value = v });
		for (a.rank = 0; a.rank < a.size && !err; a.rank++) {
			a.args = a.by_rank[a.rank];
			c->rank = a.rank;
			err = one_rank(c, from);
		}
	}
	conc_fini(c);
	return err;
}

static int report(struct goal_diags *d, unsigned file, const struct bin *b, const struct bin_args *args,
		  const struct conc *c, int err)
{
	struct bin_args a = *args;

	a.rank = c->rank;
	if (err == NEEDS_COUNT)
		goal_diag(d, GOAL_ERROR,
			  (struct goal_loc){ b->lines ? b->lines[c->fault.where] : 0, 1, (uint16_t)file },
			  "unknown-param",
			  "what the ranks do depends on count here: fix it with -D count=N");
	else if (err && err != -ERR_NOMEM)
		lower_fault(d, file, b, NULL, &a, err, &c->fault);
	return err && err != -ERR_NOMEM ? -ERR_SYNTAX : err;
}

int lower_concrete(struct goal_diags *d, unsigned file, const struct bin *b, const struct bin_args *args,
		   bool roots, struct ir_image *out)
{
	struct conc c = { .b = b, .im = out, .debug = b->lines != NULL };
	struct arg_rows rows;
	int err = arg_rows_init(&rows, b, args->size);

	err = err ? err : lower_concrete_begin(b, args, roots, out);
	if (!err) {
		arg_rows_copy(&rows, args);
		err = lower(&c, args, &rows, roots, 0);
	}
	arg_rows_fini(&rows);
	return report(d, file, b, args, &c, err);
}

int lower_concrete_result(struct goal_diags *d, unsigned file, const struct claim *claim, const struct bin_args *args,
			  bool roots, struct ir_image *out)
{
	const struct bin *b = &claim->def;
	struct conc c = { .b = b, .im = out, .buf = claim->buf, .debug = out->debug_base.n == out->done + 1 };
	struct arg_rows rows;
	bool kept = !claim->name;
	int err;

	if (!claim->any)
		return 0;
	err = arg_rows_init(&rows, b, args->size);
	for (uint32_t r = 0; !err && r < args->size; r++)
		kept |= claim_values(claim, args->by_rank ? args->by_rank[r] : args->args, arg_row(&rows, r));
	if (!err && kept) {
		err = ir_image_more(out, out->entries);
		out->meta.result = 1;
		err = err ? err : lower(&c, args, &rows, roots, b->meta->result);
	}
	arg_rows_fini(&rows);
	if (!claim->name || !err || err == -ERR_NOMEM)
		return report(d, file, b, args, &c, err);
	goal_diag(d, GOAL_ERROR, (struct goal_loc){ .file = (uint16_t)file }, NULL,
		  err == NEEDS_COUNT ? "the result of %s depends on count here: fix it with -D count=N" :
				       "the result of %s cannot be kept", claim->name);
	return -ERR_SYNTAX;
}

/* ---- graphs ---- */

/* A row for a value; -ERR_x. */
static int64_t row(struct ir_image *im, uint64_t v)
{
	return ir_image_expr(im, (struct bin_expr){ .op = BIN_CONST, .imm = (int64_t)v });
}

static int64_t class_of(struct ir_image *im, const struct bin_op *op)
{
	struct bin_class c = { .kind = op->kind,
			       .exec = op->exec,
			       .level = op->level,
			       .tag = op->tag,
			       .cpu = op->cpu,
			       .nic = op->nic,
			       .off = { BIN_NONE, BIN_NONE } };
	int64_t r = row(im, op->len);

	c.len = (uint32_t)r;
	for (unsigned k = 0; k < bin_nranges(op->kind) && r >= 0; k++) {
		c.buf[k] = op->buf[k];
		r = row(im, op->off[k]);
		c.off[k] = (uint32_t)r;
	}
	return r < 0 ? r : ir_image_class(im, &c);
}

/* Buffers that passes added, which are scratch. */
static int add_buffers(const struct ir_graph *g, struct ir_image *im)
{
	while (im->buffers.n < g->nbuffers) {
		char name[24];
		int64_t s;

		snprintf(name, sizeof name, "pass%zu", im->buffers.n);
		s = ir_image_string(im, name);
		if (s < 0 || VEC_PUSH(&im->buffers, (struct bin_buffer){ (uint32_t)s, BIN_SCRATCH, 0, 0 }))
			return -ERR_NOMEM;
	}
	return 0;
}

int lower_concrete_graph(const struct ir_graph *g, bool debug, struct ir_image *out)
{
	VEC(struct bin_op32) ops = { 0 };
	VEC(uint32_t) rows = { 0 };
	int err = out->done ? 0 : add_buffers(g, out);

	if (!err && out->buffers.n != g->nbuffers)
		err = -ERR_SIZE;
	for (uint32_t r = 0; r < g->nranks && !err; r++) {
		const struct ir_rank *rank = &g->ranks[r];

		ops.n = rows.n = 0;
		for (uint32_t i = 0; i < rank->nops && !err; i++) {
			int64_t cls = class_of(out, &rank->ops[i]);
			struct bin_op_debug at = { ir_graph_loc(g, &rank->ops[i]).line, 0 };

			err = cls < 0 ? (int)cls : VEC_PUSH(&ops, ir_image_op(out, &rank->ops[i], (uint32_t)cls));
			if (!err && debug)
				err = VEC_PUSH(&out->debug, at);
		}
		for (uint32_t i = 0; i < g->nbuffers && !err; i++) {
			int64_t size = row(out, rank->bufsize[i]);

			err = size < 0 ? (int)size : VEC_PUSH(&rows, (uint32_t)size);
		}
		err = err ? err : ir_image_rank(out, rank, ops.at, rows.at);
		if (debug && !err)
			err = VEC_PUSH(&out->debug_base, (uint32_t)out->debug.n);
	}
	VEC_FREE(&ops);
	VEC_FREE(&rows);
	return err;
}
