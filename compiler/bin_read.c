/* SPDX-License-Identifier: BSD-3-Clause
 * Reader of binary schedules (man/goal-bin.5): validates an image and specialises it for one rank.
 * Builds with -ffreestanding and without malloc, so that firmware can carry it. */
#include "compiler/bin.h"
#include "compiler/bin_check.h"

#include "util/err.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is used in place");

/* ---- arithmetic ---- */

static int floor_div(int64_t x, int64_t y, int64_t *q, int64_t *m)
{
	if (y == 0)
		return -ERR_DIVZERO;
	if (y == -1) { /* INT64_MIN / -1 traps */
		*m = 0;
		return __builtin_sub_overflow((int64_t)0, x, q) ? -ERR_OVERFLOW : 0;
	}
	*q = x / y;
	*m = x % y;
	if (*m != 0 && (*m < 0) != (y < 0)) {
		*m += y;
		*q -= 1;
	}
	return 0;
}

static int power(int64_t x, int64_t y, int64_t *out)
{
	int64_t r = 1;

	if (y < 0)
		return -ERR_DOMAIN;
	while (y) {
		if ((y & 1) && __builtin_mul_overflow(r, x, &r))
			return -ERR_OVERFLOW;
		y >>= 1;
		if (y && __builtin_mul_overflow(x, x, &x))
			return -ERR_OVERFLOW;
	}
	*out = r;
	return 0;
}

static int shift(int64_t x, int64_t y, bool left, int64_t *out)
{
	if (y < 0 || y > 63)
		return -ERR_DOMAIN;
	if (!left) {
		*out = x >> y;
		return 0;
	}
	int64_t r = (int64_t)((uint64_t)x << y);

	if (r >> y != x)
		return -ERR_OVERFLOW;
	*out = r;
	return 0;
}

int bin_arith(int op, int64_t x, int64_t y, int64_t *out)
{
	int64_t other;

	switch (op) {
	case BIN_ADD:
		return __builtin_add_overflow(x, y, out) ? -ERR_OVERFLOW : 0;
	case BIN_SUB:
		return __builtin_sub_overflow(x, y, out) ? -ERR_OVERFLOW : 0;
	case BIN_MUL:
		return __builtin_mul_overflow(x, y, out) ? -ERR_OVERFLOW : 0;
	case BIN_DIV:
		return floor_div(x, y, out, &other);
	case BIN_MOD:
		return y == -1 ? (*out = 0, 0) : floor_div(x, y, &other, out);
	case BIN_POW:
		return power(x, y, out);
	case BIN_SHL:
		return shift(x, y, true, out);
	case BIN_SHR:
		return shift(x, y, false, out);
	case BIN_BAND:
		*out = x & y;
		return 0;
	case BIN_BOR:
		*out = x | y;
		return 0;
	case BIN_XOR:
		*out = x ^ y;
		return 0;
	case BIN_MIN:
		*out = x < y ? x : y;
		return 0;
	case BIN_MAX:
		*out = x > y ? x : y;
		return 0;
	case BIN_EQ:
		*out = x == y;
		return 0;
	case BIN_NE:
		*out = x != y;
		return 0;
	case BIN_LT:
		*out = x < y;
		return 0;
	case BIN_LE:
		*out = x <= y;
		return 0;
	case BIN_NEG:
		return __builtin_sub_overflow((int64_t)0, x, out) ? -ERR_OVERFLOW : 0;
	case BIN_NOT:
		*out = !x;
		return 0;
	case BIN_BNOT:
		*out = ~x;
		return 0;
	case BIN_ABS:
		if (x == INT64_MIN)
			return -ERR_OVERFLOW;
		*out = x < 0 ? -x : x;
		return 0;
	case BIN_LOG2:
	case BIN_CEILLOG2:
		if (x < 1)
			return -ERR_DOMAIN;
		*out = 63 - __builtin_clzll((unsigned long long)x);
		if (op == BIN_CEILLOG2 && (x & (x - 1)))
			*out += 1;
		return 0;
	case BIN_LOWBIT:
		if (x == INT64_MIN)
			return -ERR_OVERFLOW;
		*out = x & -x;
		return 0;
	case BIN_POPCOUNT:
		*out = 0;
		for (uint64_t rest = (uint64_t)x; rest; rest &= rest - 1)
			*out += 1;
		return 0;
	}
	return -ERR_CORRUPT;
}

/* ---- programs ---- */

/* Instances of labels: the scalar ones in an array, indexed ones in a hash. */
struct instance {
	uint32_t label; /* + 1; 0: empty */
	int32_t i, j;
	uint32_t op;
};

struct pending {
	uint32_t tmpl;
	int32_t index[4];
};

struct machine {
	const struct bin *b;
	struct bin_space *sp;
	int64_t *reg;
	uint32_t *scalar; /* op + 1 */
	struct instance *table;
	uint32_t mask;
	struct pending *pending;
	uint32_t npending;
};

static uint32_t table_size(uint32_t ops_cap)
{
	uint32_t n = 16;

	while (n < 2 * (uint64_t)ops_cap && n < 0x80000000u)
		n *= 2;
	return n;
}

static size_t up8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

size_t bin_scratch_size(const struct bin *b, uint32_t ops_cap, uint32_t deps_cap)
{
	if (!(b->meta->flags & BIN_F_PARAMETRIC))
		return b->nexprs * sizeof(int64_t) + 8;
	return b->meta->nregs * sizeof(int64_t) + up8(b->meta->nlabels * sizeof(uint32_t)) +
	       table_size(ops_cap) * sizeof(struct instance) + up8(deps_cap * sizeof(struct pending));
}

static struct instance *find(const struct machine *m, uint32_t label, int32_t i, int32_t j)
{
	uint64_t h = (uint64_t)label * 0x9e3779b97f4a7c15u ^ (uint64_t)(uint32_t)i * 0xc2b2ae3d27d4eb4fu ^
		     (uint64_t)(uint32_t)j * 0x165667b19e3779f9u;
	uint32_t at = (uint32_t)(h >> 32 ^ h) & m->mask;

	while (m->table[at].label &&
	       (m->table[at].label != label + 1 || m->table[at].i != i || m->table[at].j != j))
		at = (at + 1) & m->mask;
	return &m->table[at];
}

static int get_index(const struct machine *m, const uint16_t reg[2], int32_t out[2])
{
	for (int k = 0; k < 2; k++) {
		int64_t v = reg[k] == BIN_NOREG ? 0 : m->reg[reg[k]];

		if (v != (int32_t)v) {
			m->sp->what = BIN_FIELD_INDEX;
			m->sp->value[0] = v;
			return -ERR_RANGE;
		}
		out[k] = (int32_t)v;
	}
	return 0;
}

/* The op of a label instance + 1, or 0. */
static uint32_t lookup(const struct machine *m, uint32_t label, const uint16_t reg[2], const int32_t idx[2])
{
	if (reg[0] == BIN_NOREG)
		return m->scalar[label];
	struct instance *in = find(m, label, idx[0], idx[1]);

	return in->label ? in->op + 1 : 0;
}

static uint64_t reg_or_0(const struct machine *m, uint16_t r)
{
	return r == BIN_NOREG ? 0 : (uint64_t)m->reg[r];
}

static bool outside(uint64_t off, uint64_t len, uint64_t size)
{
	return len > size || off > size - len;
}

static int out_of_bounds(struct bin_space *sp, uint32_t what, uint64_t off, uint64_t len, uint64_t size)
{
	sp->what = what;
	sp->value[0] = (int64_t)off;
	sp->value[1] = (int64_t)len;
	sp->value[2] = (int64_t)size;
	return -ERR_BOUNDS;
}

static int emit(struct machine *m, const struct bin_tmpl *t, const struct bin_args *args, uint32_t pc)
{
	static const uint64_t most[] = { [BIN_FIELD_LEVEL] = UINT16_MAX,  [BIN_FIELD_TAG] = BIN_ANY - 1,
					 [BIN_FIELD_CPU] = BIN_ANY - 1, [BIN_FIELD_NIC] = BIN_ANY - 1,
					 [BIN_FIELD_LEN] = INT64_MAX };
	const uint64_t field[] = { [BIN_FIELD_LEVEL] = reg_or_0(m, t->level), [BIN_FIELD_TAG] = reg_or_0(m, t->tag),
				   [BIN_FIELD_CPU] = reg_or_0(m, t->cpu), [BIN_FIELD_NIC] = reg_or_0(m, t->nic),
				   [BIN_FIELD_LEN] = reg_or_0(m, t->len) };
	struct bin_space *sp = m->sp;
	uint64_t peer = reg_or_0(m, t->peer);

	if (sp->nops == sp->ops_cap)
		return -ERR_SPACE;
	struct bin_op *op = &sp->ops[sp->nops];

	*op = (struct bin_op){ .kind = t->kind, .exec = t->exec, .buf = { t->buf[0], t->buf[1] } };
	op->line = m->b->lines ? m->b->lines[pc] : 0;
	if (bin_operands(t->kind)[0] == 'P' && peer >= args->size) {
		sp->value[0] = (int64_t)peer;
		return -ERR_PEER;
	}
	for (uint32_t i = 0; i < BIN_FIELD_INDEX; i++)
		if (field[i] > most[i]) {
			sp->what = i;
			sp->value[0] = (int64_t)field[i];
			return -ERR_RANGE;
		}
	op->peer = (uint32_t)peer;
	op->tag = (uint32_t)field[BIN_FIELD_TAG];
	op->level = (uint16_t)field[BIN_FIELD_LEVEL];
	op->cpu = (uint32_t)field[BIN_FIELD_CPU];
	op->nic = (uint32_t)field[BIN_FIELD_NIC];
	op->len = field[BIN_FIELD_LEN];
	for (unsigned k = 0; k < bin_nranges(t->kind); k++) {
		op->off[k] = reg_or_0(m, t->off[k]);
		if (outside(op->off[k], op->len, sp->bufsize[t->buf[k]]))
			return out_of_bounds(sp, t->buf[k], op->off[k], op->len, sp->bufsize[t->buf[k]]);
	}
	if (t->label != BIN_NONE) {
		if (t->index[0] == BIN_NOREG) {
			if (m->scalar[t->label])
				return -ERR_LABEL;
			m->scalar[t->label] = sp->nops + 1;
		} else {
			int32_t idx[2];
			int err = get_index(m, t->index, idx);

			if (err)
				return err;
			struct instance *in = find(m, t->label, idx[0], idx[1]);

			if (in->label)
				return -ERR_LABEL;
			*in = (struct instance){ t->label + 1, idx[0], idx[1], sp->nops };
		}
	}
	sp->nops++;
	return 0;
}

/* Resolves an edge; an instance that does not exist (yet) leaves it pending, or drops it at the end. */
static int resolve(struct machine *m, const struct pending *p, bool last)
{
	const struct bin_dep_tmpl *t = &m->b->deps[p->tmpl];
	uint32_t op = lookup(m, t->op, t->op_index, p->index);
	uint32_t on = lookup(m, t->on, t->on_index, p->index + 2);
	struct bin_space *sp = m->sp;

	if (op && on) {
		if (sp->ndeps == sp->deps_cap)
			return -ERR_SPACE;
		sp->deps[sp->ndeps++] = (struct bin_dep){ op - 1, (on - 1) | (t->start ? BIN_START : 0) };
	} else if (!last) {
		if (m->npending == sp->deps_cap)
			return -ERR_SPACE;
		m->pending[m->npending++] = *p;
	}
	return 0;
}

static int depend(struct machine *m, uint32_t tmpl)
{
	const struct bin_dep_tmpl *t = &m->b->deps[tmpl];
	struct pending p = { .tmpl = tmpl };
	int err = get_index(m, t->op_index, p.index);

	if (!err)
		err = get_index(m, t->on_index, p.index + 2);
	return err ? err : resolve(m, &p, false);
}

/* The argument of a parameter, or its default; *out is borrowed. */
static int param(struct machine *m, const struct bin_args *args, uint32_t i, struct bin_arg *out)
{
	const struct bin_param *p = &m->b->params[i];

	m->sp->what = i;
	if (args->args && args->args[i].known) {
		*out = args->args[i];
		return 0;
	}
	/* Not even a default will do: the root may have been given another value. */
	if (p->scope == BIN_ROOTONLY) {
		struct bin_arg root;

		if (m->b->meta->root != BIN_NONE && m->b->meta->root != i &&
		    !param(m, args, m->b->meta->root, &root) && root.value != args->rank) {
			m->sp->what = i;
			return -ERR_UNKNOWN;
		}
		m->sp->what = i;
	}
	if (p->has_default) {
		*out = (struct bin_arg){ .known = true, .value = p->value };
		return 0;
	}
	return -ERR_PARAM;
}

static int load_param(struct machine *m, const struct bin_args *args, const struct bin_word *w)
{
	struct bin_arg arg;
	int err = param(m, args, w->b, &arg);
	int64_t i;

	if (err)
		return err;
	switch (w->op) {
	case BIN_PARAM:
		m->reg[w->a] = arg.value;
		return 0;
	case BIN_VECLEN:
		m->reg[w->a] = (int64_t)arg.n;
		return 0;
	default:
		i = m->reg[w->c];
		if (i < 0 || (uint64_t)i >= arg.n)
			return out_of_bounds(m->sp, w->b, (uint64_t)i, 1, arg.n);
		m->reg[w->a] = arg.elem[i];
		return 0;
	}
}

static int run(struct machine *m, const struct bin_args *args)
{
	const struct bin *b = m->b;
	uint64_t fuel = args->fuel ? args->fuel : (uint64_t)1 << 28;
	int64_t *reg = m->reg;
	int err = 0;

	for (uint32_t pc = 0;; pc++) {
		const struct bin_word *w = &b->code[pc];

		m->sp->where = pc;
		if (!fuel--)
			return -ERR_FUEL;
		m->sp->steps++;
		switch (w->op) {
		case BIN_END:
			return 0;
		case BIN_IMM:
			reg[w->a] = w->imm;
			continue;
		case BIN_CONST:
			reg[w->a] = b->consts[w->imm];
			continue;
		case BIN_MOV:
			reg[w->a] = reg[w->b];
			continue;
		case BIN_JMP:
			pc = (uint32_t)w->imm - 1;
			continue;
		case BIN_JZ:
			if (!reg[w->a])
				pc = (uint32_t)w->imm - 1;
			continue;
		case BIN_JNZ:
			if (reg[w->a])
				pc = (uint32_t)w->imm - 1;
			continue;
		case BIN_PARAM:
		case BIN_ELEM:
		case BIN_VECLEN:
			err = load_param(m, args, w);
			break;
		case BIN_BUFSIZE:
			if (reg[w->b] < 0)
				return out_of_bounds(m->sp, w->a, 0, 0, (uint64_t)reg[w->b]);
			if (m->sp->nops) /* ops were held against other sizes */
				return -ERR_CORRUPT;
			m->sp->bufsize[w->a] = (uint64_t)reg[w->b];
			continue;
		case BIN_ASSERT:
			m->sp->what = (uint32_t)w->imm;
			if (!reg[w->a])
				return -ERR_ASSERT;
			continue;
		case BIN_EMIT:
			err = emit(m, &b->tmpls[w->imm], args, pc);
			break;
		case BIN_DEP:
			err = depend(m, (uint32_t)w->imm);
			break;
		default: /* unary ones have c = 0 */
			err = bin_arith(w->op, reg[w->b], reg[w->c], &reg[w->a]);
		}
		if (err)
			return err;
	}
}

static int program_ops(const struct bin *b, const struct bin_args *args, struct bin_space *sp)
{
	struct machine m = { .b = b, .sp = sp };
	unsigned char *p = sp->scratch;
	int err;

	if (args->size == 0 || args->rank >= args->size || args->count < 0)
		return -ERR_ARG;
	m.reg = (int64_t *)(void *)p;
	p += b->meta->nregs * sizeof(int64_t);
	m.scalar = (uint32_t *)(void *)p;
	p += up8(b->meta->nlabels * sizeof(uint32_t));
	m.table = (struct instance *)(void *)p;
	m.mask = table_size(sp->ops_cap) - 1;
	p += ((size_t)m.mask + 1) * sizeof(struct instance);
	m.pending = (struct pending *)(void *)p;
	for (uint32_t i = 0; i < b->meta->nregs; i++)
		m.reg[i] = 0;
	for (uint32_t i = 0; i < b->meta->nlabels; i++)
		m.scalar[i] = 0;
	for (uint32_t i = 0; i <= m.mask; i++)
		m.table[i].label = 0;
	for (uint32_t i = 0; i < b->nbuffers; i++)
		sp->bufsize[i] = 0;
	m.reg[0] = args->rank;
	m.reg[1] = args->size;
	m.reg[2] = args->count;
	err = run(&m, args);
	for (uint32_t i = 0; !err && i < m.npending; i++)
		err = resolve(&m, &m.pending[i], true);
	return err;
}

/* ---- concrete sections ---- */

/* One rank's section, taken apart; valid after bin_check_rank. */
static void view(const struct bin *b, uint32_t entry, struct bin_view *v)
{
	const unsigned char *p = b->ranks + (uint64_t)b->dir[entry].off * 4;
	const struct bin_rank *h = (const struct bin_rank *)(const void *)p;

	*v = (struct bin_view){ .nops = h->nops,
				.ndeps = h->ndeps & BIN_R_NDEPS,
				.wide = (h->ndeps & BIN_R_WIDE) != 0,
				.pos = (h->ndeps & BIN_R_POS) != 0,
				.sizes = (h->ndeps & BIN_R_SIZES) ? b->nbuffers : 0 };
	v->size_rows = p + sizeof *h;
	v->ops = v->size_rows + (size_t)v->sizes * 4;
	v->deps = v->ops + (size_t)v->nops * (v->wide ? 16 : 8);
	v->positions = v->deps + (size_t)v->ndeps * (v->wide ? 4 : 2);
}

static uint32_t get32(const unsigned char *p, uint32_t i)
{
	const unsigned char *q = p + (size_t)i * 4;

	return (uint32_t)q[0] | (uint32_t)q[1] << 8 | (uint32_t)q[2] << 16 | (uint32_t)q[3] << 24;
}

static uint32_t get16(const unsigned char *p, uint32_t i)
{
	const unsigned char *q = p + (size_t)i * 2;

	return (uint32_t)q[0] | (uint32_t)q[1] << 8;
}

void bin_view_op(const struct bin_view *v, uint32_t i, struct bin_op32 *out)
{
	if (v->wide) {
		const struct bin_op32 *o = (const struct bin_op32 *)(const void *)v->ops + i;

		*out = *o;
	} else {
		const struct bin_op16 *o = (const struct bin_op16 *)(const void *)v->ops + i;

		*out = (struct bin_op32){ o->arg, o->cls, o->ndeps, 0 };
	}
}

uint32_t bin_view_dep(const struct bin_view *v, uint32_t i)
{
	uint32_t d;

	if (v->wide)
		return get32(v->deps, i);
	d = get16(v->deps, i);
	return (d & (BIN_START16 - 1)) | (d & BIN_START16 ? BIN_START : 0);
}

uint32_t bin_view_position(const struct bin_view *v, uint32_t i)
{
	if (!v->pos)
		return i;
	return v->wide ? get32(v->positions, i) : get16(v->positions, i);
}

int bin_view_open(const struct bin *b, uint32_t entry, struct bin_view *v)
{
	uint64_t off, room, need;

	if (entry >= b->ndir)
		return -ERR_ARG;
	off = (uint64_t)b->dir[entry].off * 4;
	if (off > b->ranks_len || b->ranks_len - off < sizeof(struct bin_rank))
		return -ERR_CORRUPT;
	room = b->ranks_len - off;
	view(b, entry, v);
	if (v->nops > BIN_MAX_OPS || (!v->wide && v->nops > BIN_START16))
		return -ERR_CORRUPT;
	need = sizeof(struct bin_rank) + (uint64_t)v->sizes * 4 + (uint64_t)v->nops * (v->wide ? 16 : 8) +
	       (uint64_t)v->ndeps * (v->wide ? 4 : 2) +
	       (v->pos ? (uint64_t)v->nops * (v->wide ? 4 : 2) : 0);
	v->bytes = (need + 3) & ~(uint64_t)3;
	return v->bytes > room ? -ERR_CORRUPT : 0;
}

static int eval_exprs(const struct bin *b, const struct bin_args *args, int64_t *val)
{
	for (uint32_t i = 0; i < b->nexprs; i++) {
		const struct bin_expr *e = &b->exprs[i];
		int err = 0;

		if (e->op == BIN_CONST)
			val[i] = e->imm;
		else if (e->op == BIN_PARAM)
			val[i] = args->count;
		else
			err = bin_arith(e->op, val[e->a], val[e->b], &val[i]);
		if (err)
			return err;
	}
	return 0;
}

static int section_ops(const struct bin *b, const struct bin_args *args, struct bin_space *sp)
{
	const bool plain = b->meta->flags & BIN_F_PLAIN;
	int64_t *val = sp->scratch, root = bin_root(b, args->args);
	struct bin_view v;
	uint32_t entry, d = 0;
	int err;

	if (args->size != b->meta->nranks)
		return -ERR_SIZE;
	if (args->rank >= args->size || args->count < 0)
		return -ERR_ARG;
	if (b->meta->count != BIN_ANY_COUNT && args->count != b->meta->count)
		return -ERR_COUNT;
	if (b->meta->root != BIN_NONE) {
		if (root < 0 || root >= args->size ||
		    (!(b->meta->flags & BIN_F_ROOTS) && root != b->params[b->meta->root].value)) {
			sp->what = b->meta->root;
			return -ERR_PARAM;
		}
	}
	entry = bin_entry(b, args->rank, root);
	err = eval_exprs(b, args, val);
	if (err)
		return err;
	view(b, entry, &v);
	if (v.nops > sp->ops_cap || v.ndeps > sp->deps_cap) {
		sp->nops = v.nops;
		sp->ndeps = v.ndeps;
		return -ERR_SPACE;
	}
	for (uint32_t i = 0; i < b->nbuffers; i++) {
		int64_t size = i < v.sizes ? val[get32(v.size_rows, i)] : 0;

		if (size < 0)
			return out_of_bounds(sp, i, 0, 0, (uint64_t)size);
		sp->bufsize[i] = (uint64_t)size;
	}
	for (uint32_t i = 0; i < v.nops; i++) {
		struct bin_op32 raw;
		struct bin_op *op = &sp->ops[i];

		sp->where = i;
		bin_view_op(&v, i, &raw);
		const struct bin_class *c = &b->classes[raw.cls];

		*op = (struct bin_op){ .kind = c->kind,
				       .exec = c->exec,
				       .level = c->level,
				       .peer = raw.arg,
				       .tag = c->tag,
				       .cpu = c->cpu,
				       .nic = c->nic,
				       .buf = { c->buf[0], c->buf[1] } };
		if (b->debug_base)
			op->line = b->debug[b->debug_base[entry] + i].line;
		if (c->len != BIN_NONE) {
			if (val[c->len] < 0)
				return out_of_bounds(sp, c->buf[0], 0, (uint64_t)val[c->len], 0);
			op->len = (uint64_t)val[c->len];
		} else if (c->kind == BIN_OP_CALC) {
			op->len = raw.arg;
		}
		for (unsigned k = 0; k < bin_nranges(c->kind); k++) {
			uint64_t *size = &sp->bufsize[c->buf[k]];

			if (plain) { /* grows by the op's own bytes */
				op->off[k] = *size;
				if (op->len > INT64_MAX - *size)
					return -ERR_OVERFLOW;
				*size += op->len;
			} else if (c->off[k] != BIN_NONE) {
				op->off[k] = (uint64_t)val[c->off[k]];
			}
			if (outside(op->off[k], op->len, *size))
				return out_of_bounds(sp, c->buf[k], op->off[k], op->len, *size);
		}
		for (uint32_t n = 0; n < raw.ndeps; n++, d++)
			sp->deps[d] = (struct bin_dep){ i, bin_view_dep(&v, d) };
	}
	sp->nops = v.nops;
	sp->ndeps = v.ndeps;
	return 0;
}

int bin_rank_ops(const struct bin *b, const struct bin_args *args, struct bin_space *sp)
{
	sp->nops = sp->ndeps = 0;
	sp->where = sp->what = 0;
	sp->value[0] = sp->value[1] = sp->value[2] = 0;
	sp->steps = 0;
	return b->meta->flags & BIN_F_PARAMETRIC ? program_ops(b, args, sp) : section_ops(b, args, sp);
}

int64_t bin_root(const struct bin *b, const struct bin_arg *args)
{
	uint32_t i = b->meta->root;

	if (i == BIN_NONE)
		return -1;
	return args && args[i].known ? args[i].value : b->params[i].value;
}

uint32_t bin_entry(const struct bin *b, uint32_t rank, int64_t root)
{
	return (b->meta->flags & BIN_F_ROOTS ? (uint32_t)root * b->meta->nranks : 0) + rank;
}

const char *bin_str(const struct bin *b, uint32_t off)
{
	return off < b->strings_len ? b->strings + off : "";
}

const char *bin_operands(unsigned kind)
{
	switch (kind) {
#define OP(NAME, number, text, operands) \
	case number:                     \
		return operands;
#include "compiler/ops.def"
#undef OP
	}
	return "";
}

unsigned bin_nranges(unsigned kind)
{
	switch (bin_operands(kind)[0]) {
	case 'P':
		return 1;
	case 'A':
		return 2;
	}
	return 0;
}
