/* SPDX-License-Identifier: BSD-3-Clause
 * A parametric program at a fixed size, to one section of ops for each rank (goalc -n). The program is
 * run with values that may depend on count: such a value is a row of EXPRS. What must be known to go on
 * (conditions, peers, tags, labels) may not depend on it. */
#include "compiler/lower/lower.h"

#include "format/call.h"
#include "format/check.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

struct value {
	bool sym;
	int64_t v; /* or a row of EXPRS */
};

struct key {
	uint32_t label;
	int64_t index[2];
};

struct inst {
	struct key key;
	uint32_t value; /* as in bin_call.h */
};

struct pend {
	struct key op, on;
	bool start;
	uint32_t line;
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
	VEC(struct bin_range) ranges;
	VEC(struct bin_far_dep) fars;
	uint32_t next_label;
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

static int eval_arith(struct conc *c, int op, struct value x, struct value y, bool binary, struct value *out)
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

static int get_known(struct conc *c, uint16_t reg, int64_t *out)
{
	*out = 0;
	if (reg == BIN_NOREG)
		return 0;
	*out = c->reg[reg].v;
	return c->reg[reg].sym ? NEEDS_COUNT : 0;
}

/* Where an instance is in the table, or the empty slot where it would go. */
static uint32_t *instance_slot(struct conc *c, const struct key *k)
{
	const int64_t key[3] = { k->label, k->index[0], k->index[1] };
	size_t at = bin_sum(key, sizeof key) & (c->slots - 1);

	for (; c->table[at]; at = (at + 1) & (c->slots - 1)) {
		const struct inst *in = &c->insts.at[c->table[at] - 1];

		if (in->key.label == k->label && in->key.index[0] == k->index[0] && in->key.index[1] == k->index[1])
			break;
	}
	return &c->table[at];
}

/* What a label stands for, or 0. */
static uint32_t get_instance(struct conc *c, const struct key *k)
{
	uint32_t *s = c->slots ? instance_slot(c, k) : NULL;

	return s && *s ? c->insts.at[*s - 1].value : 0;
}

static bool only_expected(const struct conc *c, uint32_t value)
{
	return (value & BIN_CALL) && c->ranges.at[value & ~BIN_CALL].first == BIN_NOT_YET;
}

static int set_instance(struct conc *c, struct inst in)
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
			*instance_slot(c, &c->insts.at[i].key) = (uint32_t)i + 1;
	}
	uint32_t *s = instance_slot(c, &in.key);

	if (*s) {
		struct inst *old = &c->insts.at[*s - 1];

		if (old->value && !only_expected(c, old->value))
			return -ERR_LABEL;
		*old = in;
		return 0;
	}
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
		err = get_known(c, reg[k], &out[k]);
		if (!err && out[k] != (int32_t)out[k]) {
			c->fault.what = BIN_FIELD_INDEX;
			c->fault.value[0] = out[k];
			err = -ERR_RANGE;
		}
	}
	return err;
}

/* A buffer, as the image numbers it. */
static uint16_t buffer_number(const struct conc *c, uint32_t i)
{
	return (uint16_t)(c->buf ? c->buf[i] : i);
}

static int get_key(struct conc *c, uint32_t label, uint16_t instance, const uint16_t index[2], struct key *k)
{
	k->label = label + (instance ? (uint32_t)c->reg[instance].v : 0);
	return get_index(c, index, k->index);
}

/* The first label of a new instance. */
static int new_labels(struct conc *c, uint32_t n, uint32_t *first)
{
	*first = c->next_label;
	return __builtin_add_overflow(c->next_label, n, &c->next_label) ? -ERR_OVERFLOW : 0;
}

/* ENTER and INSIDE: the instance that a call has, or gets. */
static int call_instance(struct conc *c, const struct bin_call *t, bool enter, struct value *out)
{
	uint32_t labels = 0, v;
	struct bin_range *r;
	struct key k;
	int err = t->label == BIN_NONE ? 0 : get_key(c, t->label, t->instance, t->index, &k);

	if (err)
		return err;
	v = t->label == BIN_NONE ? 0 : get_instance(c, &k);
	if (enter && v && !only_expected(c, v))
		return -ERR_LABEL;
	if (t->label == BIN_NONE || (v && !(v & BIN_CALL))) { /* no label, or an op, in which there is nothing */
		err = new_labels(c, t->nlabels, &labels);
	} else if (!v) {
		v = BIN_CALL | (uint32_t)c->ranges.n;
		err = new_labels(c, t->nlabels, &labels);
		err = err ? err : VEC_PUSH(&c->ranges, (struct bin_range){ .labels = labels, .first = BIN_NOT_YET,
									  .end = BIN_NOT_YET });
		err = err ? err : set_instance(c, (struct inst){ k, v });
	}
	if (!err && (v & BIN_CALL)) {
		r = &c->ranges.at[v & ~BIN_CALL];
		labels = r->labels;
		if (enter)
			r->first = r->end = (uint32_t)c->ops.n;
	}
	*out = (struct value){ false, labels };
	return err;
}

static int leave_call(struct conc *c, const struct bin_call *t)
{
	struct key k;
	int err = get_key(c, t->label, t->instance, t->index, &k);

	if (!err)
		c->ranges.at[get_instance(c, &k) & ~BIN_CALL].end = (uint32_t)c->ops.n;
	return err;
}

/* What depends on count is checked when count is known. */
static bool range_is_outside(struct value off, struct value len, struct value size)
{
	return !off.sym && !len.sym && !size.sym && len.v &&
	       (off.v < 0 || len.v < 0 || len.v > size.v || off.v > size.v - len.v);
}

/* A copy of a range onto itself does nothing. */
static void onto_itself(struct bin_class *k)
{
	if (k->kind != BIN_OP_COPY || k->buf[0] != k->buf[1] || k->off[0] != k->off[1])
		return;
	k->kind = BIN_OP_NOP;
	k->buf[0] = k->buf[1] = 0;
	k->off[0] = k->off[1] = k->len = BIN_NONE;
}

static int emit_template(struct conc *c, const struct bin_tmpl *t, uint32_t line, enum bin_insn insn)
{
	const bool in_call = insn == BIN_EMITIN || insn == BIN_COPYIN;
	struct bin_class k = { .kind = t->kind,
			       .exec = t->exec,
			       .off = { BIN_NONE, BIN_NONE },
			       .len = BIN_NONE };
	int64_t peer, tag, level, cpu, nic, cls;
	const uint32_t most = c->args->most_ops ? c->args->most_ops : BIN_USUAL_OPS;
	struct key key;
	struct value len = { 0 };
	int err = get_known(c, t->peer, &peer);

	err = err ? err : get_known(c, t->tag, &tag);
	err = err ? err : get_known(c, t->level, &level);
	err = err ? err : get_known(c, t->cpu, &cpu);
	err = err ? err : get_known(c, t->nic, &nic);
	if (err)
		return err;
	if (bin_is_message(t->kind) && (peer < 0 || peer >= c->args->size)) {
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
		k.buf[i] = buffer_number(c, t->buf[i]);
	k.tag = (uint32_t)tag;
	k.level = (uint16_t)level;
	k.cpu = (uint32_t)cpu;
	k.nic = (uint32_t)nic;
	if (t->len != BIN_NOREG) {
		len = c->reg[t->len];
		err = row_of(c, len, &k.len);
	}
	for (unsigned i = 0; i < bin_nranges(t->kind) && !err; i++) {
		const struct bin_window *w = in_call ? &c->b->windows[t->buf[i]] : NULL;
		struct value off = { 0 }, size = w ? c->reg[w->size] : c->bufsize[t->buf[i]];
		bool zero = t->off[i] == BIN_NOREG;

		if (!zero)
			off = c->reg[t->off[i]];
		if (range_is_outside(off, len, size))
			return out_of_bounds(c, t->buf[i], off.v, len.v, size.v);
		if (w) {
			k.buf[i] = w->buf;
			if (w->base != BIN_NOREG) {
				if (zero)
					off = c->reg[w->base];
				else
					err = eval_arith(c, BIN_ADD, off, c->reg[w->base], true, &off);
				zero = false;
			}
		}
		if (!zero && !err)
			err = row_of(c, off, &k.off[i]);
	}
	if (!err && t->kind == BIN_OP_GETS && t->off[1] != BIN_NOREG) { /* in a buffer of another rank */
		const struct value off = c->reg[t->off[1]];

		err = !off.sym && off.v < 0 && (len.sym || len.v) ? out_of_bounds(c, t->buf[1], off.v, len.v, 0) : row_of(c, off, &k.off[1]);
	}
	if (!err && t->label != BIN_NONE) {
		err = get_key(c, t->label, t->instance, t->index, &key);
		if (!err)
			err = set_instance(c, (struct inst){ key, (uint32_t)c->ops.n + 1 });
	}
	if (err)
		return err;
	if (insn == BIN_EMITIN)
		onto_itself(&k);
	cls = ir_image_class(c->im, &k);
	struct bin_op op = { .kind = k.kind, .peer = (uint32_t)peer, .line = line };

	if (c->ops.n == most) {
		c->fault.value[0] = most;
		return -ERR_SPACE;
	}
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
		err = eval_arith(c, BIN_ADD, value_of(c, k.off[n]), base, true, &off);
		err = err ? err : row_of(c, off, &k.off[n]);
	}
	if (err || !moved)
		return err;
	onto_itself(&k);
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
		return emit_template(c, t, 0, false);
	for (uint32_t i = 0; i < c->ops.n && !err; i++)
		err = move_op(c, i, t, base);
	c->bufsize[t->buf[0]] = (struct value){ 0 };
	return err;
}

static int add_pending(struct conc *c, const struct bin_dep_tmpl *t, uint32_t line)
{
	struct pend p = { .start = t->start, .line = line };
	int err = get_key(c, t->op, t->op_instance, t->op_index, &p.op);

	err = err ? err : get_key(c, t->on, t->on_instance, t->on_index, &p.on);
	return err ? err : VEC_PUSH(&c->pends, p);
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
		*out = bin_default(p);
	else
		return -ERR_PARAM;
	return 0;
}

/* The rank whose parameter an instruction takes. */
static int rank_of(struct conc *c, const struct bin_word *w, int64_t *rank)
{
	*rank = c->args->rank;
	return w->op == BIN_PARAM_OF || w->op == BIN_ELEM_OF ? get_known(c, w->a, rank) : 0;
}

static int execute_insn(struct conc *c, const struct bin_word *w, uint32_t *pc)
{
	const uint32_t line = c->b->lines ? c->b->lines[*pc] : 0;
	struct value *reg = c->reg;
	struct bin_arg arg;
	int64_t i, n;
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
		err = get_known(c, w->a, &i);
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
		err = err ? err : get_known(c, w->c, &i);
		if (!err && (i < 0 || (uint64_t)i >= arg.n))
			err = out_of_bounds(c, w->b, i, 1, (int64_t)arg.n);
		if (!err)
			reg[w->a] = (struct value){ false, arg.elem ? arg.elem[i] : arg.value };
		return err;
	case BIN_BUFSIZE:
		c->bufsize[w->a] = reg[w->b];
		return !reg[w->b].sym && reg[w->b].v < 0 ? out_of_bounds(c, w->a, 0, 0, reg[w->b].v) : 0;
	case BIN_LENGTH:
		c->fault.what = w->b;
		err = get_param(c, c->args->rank, w->b, &arg);
		err = err ? err : get_known(c, w->a, &i);
		return err ? err : i == (int64_t)arg.n ? 0 : -ERR_PARAM;
	case BIN_CHECK:
	case BIN_ASSERT:
		c->fault.what = (uint32_t)w->imm;
		err = get_known(c, w->a, &i);
		return err ? err : i ? 0 : w->op == BIN_ASSERT ? -ERR_ASSERT : -ERR_FAULT;
	case BIN_EMIT:
	case BIN_GETS:
	case BIN_EMITIN:
	case BIN_COPYIN:
		return emit_template(c, &c->b->tmpls[w->imm], line, (enum bin_insn)w->op);
	case BIN_INPLACE:
		return in_place(c, &c->b->tmpls[w->imm]);
	case BIN_DEP:
	case BIN_DEPIN:
		return add_pending(c, &c->b->deps[w->imm], line);
	case BIN_ENTER:
	case BIN_INSIDE:
		return call_instance(c, &c->b->calls[w->imm], w->op == BIN_ENTER, &reg[w->a]);
	case BIN_LEAVE:
		return leave_call(c, &c->b->calls[w->imm]);
	case BIN_SIDE: {
		uint64_t steps = 0;

		err = get_known(c, w->b, &i);
		err = err ? err : get_known(c, w->c, &n);
		err = err ? err : bin_side(i, n, &i, &steps);
		if (!err && steps > c->fuel)
			return -ERR_FUEL;
		c->fuel -= steps;
		reg[w->a] = (struct value){ false, i };
		return err;
	}
	case BIN_PEER:
		err = get_known(c, w->a, &i);
		err = err ? err : get_known(c, w->b, &n);
		c->fault.value[0] = i;
		return err ? err : i < 0 || i >= n ? -ERR_PEER : 0;
	case BIN_WITHIN: {
		struct value size = reg[c->b->windows[w->c].size];

		return range_is_outside(reg[w->a], reg[w->b], size) ?
			       out_of_bounds(c, w->c, reg[w->a].v, reg[w->b].v, size.v) :
			       0;
	}
	case BIN_FITS: {
		struct value size = reg[c->b->windows[w->c].size];

		return range_is_outside((struct value){ 0 }, size, reg[w->a]) ?
		       out_of_bounds(c, w->c, 0, reg[w->a].v, size.v) : 0;
	}
	}
	return eval_arith(c, w->op, reg[w->b], reg[w->c], w->op < BIN_NEG, &reg[w->a]);
}

static int push_edge(void *arg, uint32_t op, uint32_t on)
{
	struct conc *c = arg;

	return VEC_PUSH(&c->edges, (struct bin_dep){ op, on });
}

static int64_t emit_nop(void *arg, uint32_t line)
{
	struct conc *c = arg;
	const struct bin_tmpl t = ir_tmpl(BIN_OP_NOP);
	int err = emit_template(c, &t, line, false);

	return err ? err : (int64_t)c->ops.n - 1;
}

/* Dependencies that have a call at an end. */
static int connect_calls(struct conc *c)
{
	struct bin_far f = { .ranges = c->ranges.at, .nops = (uint32_t)c->ops.n, .edge = push_edge, .nop = emit_nop,
			     .arg = c };
	int err;

	if (!c->fars.n)
		return 0;
	f.near = mem_alloc((c->ops.n + 1) * BIN_NEARS * sizeof *f.near);
	err = f.near ? 0 : -ERR_NOMEM;
	if (!err)
		bin_far_begin(&f);
	for (size_t i = 0; i < c->edges.n && !err; i++)
		bin_far_edge(&f, c->edges.at[i].op, c->edges.at[i].on);
	for (size_t i = 0; i < c->fars.n && !err; i++)
		err = bin_far_connect(&f, &c->fars.at[i]);
	free(f.near);
	return err;
}

static int run_insns(struct conc *c, uint32_t from)
{
	int err = 0;

	for (uint32_t pc = from; !err; pc++) {
		const struct bin_word *w = &c->b->code[pc];

		c->fault.where = pc;
		if (w->op == BIN_END)
			break;
		err = c->fuel-- ? execute_insn(c, w, &pc) : -ERR_FUEL;
	}
	for (size_t i = 0; i < c->pends.n && !err; i++) {
		const struct pend *p = &c->pends.at[i];
		const uint32_t op = get_instance(c, &p->op), on = get_instance(c, &p->on);

		if (op && on && ((op | on) & BIN_CALL))
			err = VEC_PUSH(&c->fars, (struct bin_far_dep){ op, on, p->start, p->line });
		else if (op && on)
			err = push_edge(c, op - 1, (on - 1) | (p->start ? BIN_START : 0));
	}
	return err ? err : connect_calls(c);
}

/* The ops of a rank, or its result, whose program begins elsewhere. */
static int one_rank(struct conc *c, uint32_t from)
{
	const struct bin *b = c->b;
	struct ir_rank r = { 0 };
	uint32_t *rows = mem_calloc(c->im->buffers.n, sizeof *rows);
	int64_t count = 0;
	int err = rows ? 0 : -ERR_NOMEM;

	c->insts.n = c->pends.n = c->ops.n = c->encoded.n = c->edges.n = c->ranges.n = c->fars.n = 0;
	c->next_label = b->meta->nlabels;
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
	err = err ? err : run_insns(c, from);
	for (uint32_t i = 0; i < c->im->buffers.n && !err; i++) /* there may be more than b has */
		err = row_of(c, (struct value){ 0 }, &rows[i]);
	for (uint32_t i = 0; i < b->nbuffers && !err; i++)
		err = row_of(c, c->bufsize[i], &rows[buffer_number(c, i)]);
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
	VEC_FREE(&c->ranges);
	VEC_FREE(&c->fars);
	VEC_FREE(&c->ops);
	VEC_FREE(&c->encoded);
	VEC_FREE(&c->edges);
	free(c->reg);
	free(c->bufsize);
}

/* The program of c->b from an instruction on, of all ranks, for each root if roots is set. */
static int lower_all_ranks(struct conc *c, const struct bin_args *args, struct arg_rows *rows, bool roots,
			   uint32_t from)
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

static int report_fault(struct goal_diags *d, unsigned file, const struct bin *b, const struct goal_loc *locs,
			const struct bin_args *args, const struct conc *c, int err)
{
	struct bin_args a = *args;
	struct goal_loc at = { b->lines ? b->lines[c->fault.where] : 0, 1, (uint16_t)file };

	a.rank = c->rank;
	if (err == NEEDS_COUNT)
		goal_diag(d, GOAL_ERROR, locs ? locs[c->fault.where] : at, "unknown-param",
			  "what the ranks do depends on count here: fix it with -D count=N");
	else if (err && err != -ERR_NOMEM)
		lower_fault(d, file, b, locs, &a, err, &c->fault);
	return err && err != -ERR_NOMEM ? -ERR_SYNTAX : err;
}

int lower_concrete(struct goal_diags *d, unsigned file, const struct bin *b, const struct goal_loc *locs,
		   const struct bin_args *args, bool roots, struct ir_image *out)
{
	struct conc c = { .b = b, .im = out, .debug = b->lines != NULL };
	struct arg_rows rows;
	int err = arg_rows_init(&rows, b, args->size);

	err = err ? err : lower_concrete_begin(b, args, roots, out);
	if (!err) {
		arg_rows_copy(&rows, args);
		err = lower_all_ranks(&c, args, &rows, roots, 0);
	}
	arg_rows_fini(&rows);
	return report_fault(d, file, b, locs, args, &c, err);
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
		err = err ? err : lower_all_ranks(&c, args, &rows, roots, b->meta->result);
	}
	arg_rows_fini(&rows);
	if (!claim->name || !err || err == -ERR_NOMEM)
		return report_fault(d, file, b, NULL, args, &c, err);
	goal_diag(d, GOAL_ERROR, (struct goal_loc){ .file = (uint16_t)file }, NULL,
		  err == NEEDS_COUNT ? "the result of %s depends on count here: fix it with -D count=N" :
				       "the result of %s cannot be kept", claim->name);
	return -ERR_SYNTAX;
}
