/* SPDX-License-Identifier: BSD-3-Clause
 * Reader of binary schedules (man/goal-bin.5): validates an image and specialises it for one rank.
 * Builds with -ffreestanding and without malloc, so that firmware can carry it. */
#include "format/machine.h"
#include "util/align.h"

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

/* Inlined, so that a known op leaves only its own case. */
static inline __attribute__((always_inline)) int apply_arith(int op, int64_t x, int64_t y, int64_t *out)
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
		if (y > 0 && x < y && x >= -y) { /* a neighbour's number: no need to divide */
			*out = x < 0 ? x + y : x;
			return 0;
		}
		return y == -1 ? (*out = 0, 0) : floor_div(x, y, &other, out);
	case BIN_POW:
		if (x == 2 && y >= 0 && y < 63) {
			*out = (int64_t)1 << y;
			return 0;
		}
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

int bin_arith(int op, int64_t x, int64_t y, int64_t *out)
{
	return apply_arith(op, x, y, out);
}

/* a^n < p; p of at most 32 bits */
static bool power_below(uint64_t a, unsigned n, uint32_t p)
{
	uint64_t x = 1;

	while (n-- && x < p)
		x *= a;
	return x < p;
}

/* The least largest side, if it is at most `most`, else 0. Divisors are tried in ascending order, from the root of
 * degree n on; those beyond the square root are p / f. */
static uint32_t least_side(uint32_t p, unsigned n, uint32_t most, uint64_t *steps)
{
	uint32_t a = 0;

	if (p == 1 || n == 1)
		return p <= most ? p : 0;
	for (uint32_t bit = 1u << 31; bit; bit >>= 1)
		a += power_below((uint64_t)a + bit, n, p) ? bit : 0;
	for (a++; a <= most && (uint64_t)a * a <= p; a++, ++*steps)
		if (p % a == 0 && least_side(p / a, n - 1, a, steps))
			return a;
	for (uint32_t f = p / a; f && p / f <= most; f--, ++*steps)
		if (p % f == 0 && least_side(f, n - 1, p / f, steps))
			return p / f;
	return 0;
}

int bin_side(int64_t places, int64_t dims, int64_t *out, uint64_t *steps)
{
	if (places < 1 || places > UINT32_MAX || dims < 1)
		return -ERR_DOMAIN;
	/* There are no more than 31 prime factors. */
	*out = least_side((uint32_t)places, dims < 32 ? (unsigned)dims : 32, (uint32_t)places, steps);
	return 0;
}

/* ---- programs ---- */

static uint32_t table_size(uint32_t ops_cap)
{
	uint32_t n = 16;

	while (n < 2 * (uint64_t)ops_cap && n < 0x80000000u)
		n *= 2;
	return n;
}

size_t bin_scratch_size(const struct bin *b, uint32_t ops_cap, uint32_t deps_cap)
{
	if (!(b->meta->flags & BIN_F_PARAMETRIC))
		return b->nexprs * sizeof(int64_t) + 8;
	return (b->meta->nregs + 1) * sizeof(int64_t) + align_up(b->meta->nlabels * sizeof(uint32_t), 8) +
	       table_size(ops_cap) * sizeof(struct instance) + align_up(deps_cap * sizeof(struct pending), 8) +
	       machine_calls_size(b, ops_cap, deps_cap);
}

static int emit_outside_call(struct machine *m, const struct bin_tmpl *t, const struct bin_args *args, uint32_t line)
{
	return emit_op(m, t, args, line, false);
}

/* The range that is got lies in a buffer of another rank, whose size is not known here. */
static int emit_gets(struct machine *m, const struct bin_tmpl *t, const struct bin_args *args, uint32_t line)
{
	const uint64_t off = reg_or_0(m, t->off[1]);
	int err = emit_outside_call(m, t, args, line);

	if (err)
		return err;
	m->sp->ops[m->sp->nops - 1].off[1] = off;
	return off > INT64_MAX && m->sp->ops[m->sp->nops - 1].len ?
		       out_of_bounds(m->sp, t->buf[1], off, m->sp->ops[m->sp->nops - 1].len, 0) :
		       0;
}

/* The op of a label instance + 1, or 0. */
static inline uint32_t op_of_label(struct machine *m, uint32_t label, bool scalar, uint64_t index)
{
	if (scalar)
		return m->scalar[label];
	return find_instance(m, label, index)->value;
}

/* Adds an edge; 1 when one of its instances does not exist (yet). */
static inline int add_label_dep(struct machine *m, const struct bin_dep_tmpl *t, uint64_t op_index, uint64_t on_index)
{
	uint32_t op = op_of_label(m, t->op, t->op_index[0] == BIN_NOREG, op_index);
	uint32_t on = op_of_label(m, t->on, t->on_index[0] == BIN_NOREG, on_index);
	struct bin_space *sp = m->sp;

	if (!op || !on)
		return 1;
	if (sp->ndeps == sp->deps_cap)
		return -ERR_SPACE;
	sp->deps[sp->ndeps++] = (struct bin_dep){ op - 1, (on - 1) | (t->start ? BIN_START : 0) };
	return 0;
}

static int add_dependency(struct machine *m, const struct bin_dep_tmpl *t)
{
	uint64_t op_index, on_index;
	int err = get_index(m, t->op_index, &op_index);

	if (!err)
		err = get_index(m, t->on_index, &on_index);
	if (!err)
		err = add_label_dep(m, t, op_index, on_index);
	if (err <= 0)
		return err;
	if (m->npending == m->sp->deps_cap)
		return -ERR_SPACE;
	m->pending[m->npending++] = (struct pending){ op_index, on_index, t };
	return 0;
}

/* Edges to instances that never came are dropped. */
static int connect_pending(struct machine *m)
{
	int err = 0;

	for (uint32_t i = 0; i < m->npending && err >= 0; i++)
		err = add_label_dep(m, m->pending[i].tmpl, m->pending[i].op_index, m->pending[i].on_index);
	return err < 0 ? err : 0;
}

/* The argument of a parameter, or its default; *out is borrowed. */
static int param_value(struct machine *m, const struct bin_args *args, uint32_t i, struct bin_arg *out)
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
		    !param_value(m, args, m->b->meta->root, &root) && root.value != args->rank) {
			m->sp->what = i;
			return -ERR_UNKNOWN;
		}
		m->sp->what = i;
	}
	if (p->has_default) {
		*out = bin_default(p);
		return 0;
	}
	return -ERR_PARAM;
}

static int load_param(struct machine *m, const struct bin_args *args, const struct bin_word *w)
{
	struct bin_arg arg;
	int err = param_value(m, args, w->b, &arg);
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
	case BIN_LENGTH:
		m->sp->what = w->b;
		return m->reg[w->a] == (int64_t)arg.n ? 0 : -ERR_PARAM;
	default:
		i = m->reg[w->c];
		if (i < 0 || (uint64_t)i >= arg.n)
			return out_of_bounds(m->sp, w->b, (uint64_t)i, 1, arg.n);
		m->reg[w->a] = arg.elem ? arg.elem[i] : arg.value;
		return 0;
	}
}

/* A buffer is in place: what the ops so far do with it they do with a range of another one. A result only says so, in
 * a copy. */
static int in_place(struct machine *m, const struct bin_tmpl *t, bool result)
{
	struct bin_space *sp = m->sp;
	const uint64_t len = reg_or_0(m, t->len), base = len ? reg_or_0(m, t->off[1]) : 0;
	const uint16_t from = t->buf[0], to = t->buf[1];

	if (is_outside(base, len, sp->bufsize[to]))
		return out_of_bounds(sp, to, base, len, sp->bufsize[to]);
	if (result) {
		if (sp->nops == sp->ops_cap)
			return -ERR_SPACE;
		sp->ops[sp->nops++] =
			(struct bin_op){ .kind = BIN_OP_COPY, .buf = { from, to }, .off = { 0, base }, .len = len };
		return 0;
	}
	for (uint32_t i = 0; i < sp->nops; i++) {
		struct bin_op *op = &sp->ops[i];

		for (unsigned k = 0; k < bin_nranges(op->kind); k++)
			if (op->buf[k] == from) {
				op->buf[k] = to;
				op->off[k] += base;
			}
		onto_itself(op);
	}
	sp->bufsize[from] = 0;
	return 0;
}

/* A parameter of the rank that register a names. */
static int load_of(struct machine *m, const struct bin_args *args, const struct bin_word *w)
{
	const int64_t rank = m->reg[w->a];
	struct bin_args of = *args;
	struct bin_word own = *w;

	if (rank < 0 || rank >= args->size) {
		m->sp->value[0] = rank;
		return -ERR_PEER;
	}
	of.rank = (uint32_t)rank;
	if (args->by_rank)
		of.args = args->by_rank[rank];
	own.op = w->op == BIN_PARAM_OF ? BIN_PARAM : BIN_ELEM;
	return load_param(m, &of, &own);
}

static int set_size(struct bin_space *sp, uint32_t buffer, int64_t size)
{
	if (size < 0)
		return out_of_bounds(sp, buffer, 0, 0, (uint64_t)size);
	if (sp->nops && (uint64_t)size < sp->bufsize[buffer]) /* ops were held against the other size */
		return -ERR_CORRUPT;
	sp->bufsize[buffer] = (uint64_t)size;
	return 0;
}

/* ---- counting ---- */

static int count_op(struct machine *m)
{
	return m->sp->nops++ < m->most ? 0 : -ERR_SPACE;
}

static int count_dep(struct machine *m)
{
	return m->sp->ndeps++ < (uint64_t)m->most * BIN_USUAL_DEPS ? 0 : -ERR_SPACE;
}

/* There is room for half as many calls with labels as ops. */
static int count_call(struct machine *m, const struct bin_call *c)
{
	return c->label == BIN_NONE || m->nranges++ < m->most / 2 ? 0 : -ERR_SPACE;
}

#pragma GCC diagnostic ignored "-Wpedantic" /* computed goto is 5 to 15 % faster than a switch */

/* From an instruction on; 0 is where ops begin. Every row of insn.def has its label in here. Instructions are
 * counted where they leave the straight line. */
static int execute_program(struct machine *m, const struct bin_args *args, uint32_t from)
{
	static const void *const label[BIN_INSNS] = {
#define INSN(NAME, number, text, form) [number] = &&L_##NAME,
#include "format/insn.def"
#undef INSN
	};
	const struct bin *b = m->b;
	const struct bin_word *w = b->code + from, *line = w; /* the straight line began there */
	struct bin_space *sp = m->sp;
	const uint64_t fuel = args->fuel ? args->fuel : (uint64_t)1 << 28;
	const bool counts = m->most;
	uint64_t steps = 0;
	int64_t *reg = m->reg;
	int err = 0;

#define RUN goto *label[w->op]
#define NEXT      \
	do {      \
		w++; \
		RUN; \
	} while (0)
#define CHECK(what)               \
	do {                      \
		err = (what);     \
		if (err)          \
			goto out; \
		NEXT;             \
	} while (0)
	RUN;
L_JZ:
	if (reg[w->a])
		NEXT;
	goto L_JMP;
L_JNZ:
	if (!reg[w->a])
		NEXT;
L_JMP:
	steps += (uint64_t)(w - line) + 1;
	if (steps > fuel) {
		err = -ERR_FUEL;
		goto out;
	}
	w = line = b->code + w->imm;
	RUN;
L_IMM:
	reg[w->a] = w->imm;
	NEXT;
L_CONST:
	reg[w->a] = b->consts[w->imm];
	NEXT;
L_MOV:
	reg[w->a] = reg[w->b];
	NEXT;
L_PARAM:
L_ELEM:
L_VECLEN:
L_LENGTH:
	CHECK(load_param(m, args, w));
L_BUFSIZE:
	CHECK(set_size(sp, w->a, reg[w->b]));
L_CHECK:
	sp->what = (uint32_t)w->imm;
	CHECK(reg[w->a] ? 0 : -ERR_FAULT);
L_ASSERT:
	sp->what = (uint32_t)w->imm;
	CHECK(reg[w->a] ? 0 : -ERR_ASSERT);
L_EMIT:
	CHECK(counts ? count_op(m) :
	      emit_outside_call(m, &b->tmpls[w->imm], args, b->lines ? b->lines[w - b->code] : 0));
L_DEP:
	CHECK(counts ? count_dep(m) : add_dependency(m, &b->deps[w->imm]));
L_GETS:
	CHECK(counts ? count_op(m) :
	      from ? emit_gets(m, &b->tmpls[w->imm], args, b->lines ? b->lines[w - b->code] : 0) : -ERR_CORRUPT);
L_INPLACE:
	CHECK(counts ? count_op(m) : in_place(m, &b->tmpls[w->imm], from));
L_PARAM_OF:
L_ELEM_OF:
	CHECK(from ? load_of(m, args, w) : -ERR_CORRUPT);
L_ENTER:
	CHECK(counts ? count_call(m, &b->calls[w->imm]) : machine_enter(m, &b->calls[w->imm], &reg[w->a]));
L_LEAVE:
	CHECK(counts ? 0 : machine_leave(m, &b->calls[w->imm]));
L_INSIDE:
	CHECK(counts ? count_call(m, &b->calls[w->imm]) : machine_inside(m, &b->calls[w->imm], &reg[w->a]));
L_EMITIN:
L_COPYIN:
	CHECK(counts ? count_op(m) :
		       machine_emit(m, &b->tmpls[w->imm], args, b->lines ? b->lines[w - b->code] : 0, w->op == BIN_EMITIN));
L_DEPIN:
	CHECK(counts ? count_dep(m) : machine_depend(m, &b->deps[w->imm], b->lines ? b->lines[w - b->code] : 0));
L_SIDE:
	err = bin_side(reg[w->b], reg[w->c], &reg[w->a], &steps);
	CHECK(err ? err : steps > fuel ? -ERR_FUEL : 0);
L_PEER:
	sp->value[0] = reg[w->a];
	CHECK(reg[w->a] < 0 || reg[w->a] >= reg[w->b] ? -ERR_PEER : 0);
L_WITHIN:
	CHECK(machine_within(m, w));
L_FITS:
	CHECK(machine_fits(m, w));
#define INSN(NAME, number, text, form)
#define ARITH(NAME, number, text, form) /* unary ones have c = 0 */ \
	L_##NAME: CHECK(apply_arith(number, reg[w->b], reg[w->c], &reg[w->a]));
#include "format/insn.def"
#undef INSN
#undef CHECK
#undef NEXT
#undef RUN
L_END:
out:
	sp->where = (uint32_t)(w - b->code);
	sp->steps = steps + (uint64_t)(w - line) + 1;
	return err ? err : sp->steps > fuel ? -ERR_FUEL : 0;
}

/* most: of a count; 0: the ops are made. */
static int program_ops(const struct bin *b, const struct bin_args *args, struct bin_space *sp, uint32_t from, uint32_t most)
{
	struct machine m = { .b = b, .sp = sp, .most = most };
	unsigned char *p = sp->scratch;
	int err;

	if (args->size == 0 || args->rank >= args->size || args->count < 0)
		return -ERR_ARG;
	m.reg = (int64_t *)(void *)p + 1;
	p += (b->meta->nregs + 1) * sizeof(int64_t);
	m.scalar = (uint32_t *)(void *)p;
	p += align_up(b->meta->nlabels * sizeof(uint32_t), 8);
	m.table = (struct instance *)(void *)p;
	m.mask = table_size(sp->ops_cap) - 1;
	p += ((size_t)m.mask + 1) * sizeof(struct instance);
	m.pending = (struct pending *)(void *)p;
	if (b->ncalls)
		machine_calls_init(&m, p + align_up(sp->deps_cap * sizeof(struct pending), 8));
	for (int32_t i = -1; i < (int32_t)b->meta->nregs; i++)
		m.reg[i] = 0;
	for (uint32_t i = 0; i < b->meta->nlabels; i++)
		m.scalar[i] = 0;
	for (uint32_t i = 0; i < b->nbuffers; i++)
		sp->bufsize[i] = 0;
	m.reg[0] = args->rank;
	m.reg[1] = args->size;
	m.reg[2] = args->count;
	err = execute_program(&m, args, from);
	if (most) {
		sp->nops = sp->nops < 2 * m.nranges ? 2 * m.nranges : sp->nops;
		return err;
	}
	err = err ? err : connect_pending(&m);
	return err || !b->ncalls ? err : machine_connect(&m);
}

/* ---- concrete sections ---- */

static size_t op_size(bool wide)
{
	return wide ? sizeof(struct bin_op32) : sizeof(struct bin_op16);
}

/* One rank's section, taken apart; valid after bin_check_rank. */
static void open_section(const struct bin *b, uint32_t entry, struct bin_view *v)
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
	v->deps = v->ops + v->nops * op_size(v->wide);
	v->positions = v->deps + (size_t)v->ndeps * (v->wide ? 4 : 2);
}

static uint32_t read_u32(const unsigned char *p, uint32_t i)
{
	const unsigned char *q = p + (size_t)i * 4;

	return (uint32_t)q[0] | (uint32_t)q[1] << 8 | (uint32_t)q[2] << 16 | (uint32_t)q[3] << 24;
}

static uint32_t read_u16(const unsigned char *p, uint32_t i)
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

		*out = (struct bin_op32){ o->arg, o->cls, o->ndeps };
	}
}

uint32_t bin_view_dep(const struct bin_view *v, uint32_t i)
{
	uint32_t d;

	if (v->wide)
		return read_u32(v->deps, i);
	d = read_u16(v->deps, i);
	return (d & (BIN_START16 - 1)) | (d & BIN_START16 ? BIN_START : 0);
}

uint32_t bin_view_position(const struct bin_view *v, uint32_t i)
{
	if (!v->pos)
		return i;
	return v->wide ? read_u32(v->positions, i) : read_u16(v->positions, i);
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
	open_section(b, entry, v);
	if (v->nops > BIN_MAX_OPS || (!v->wide && v->nops > BIN_START16))
		return -ERR_CORRUPT;
	need = sizeof(struct bin_rank) + (uint64_t)v->sizes * 4 + (uint64_t)v->nops * op_size(v->wide) +
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

static int section_ops(const struct bin *b, const struct bin_args *args, struct bin_space *sp, bool result)
{
	const bool plain = b->meta->flags & BIN_F_PLAIN;
	int64_t *val = sp->scratch, root = bin_root(b, args->args);
	bool inplace = false;
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
	entry = bin_entry(b, args->rank, root) + (result ? b->ndir / 2 : 0);
	err = eval_exprs(b, args, val);
	if (err)
		return err;
	open_section(b, entry, &v);
	if (v.nops > sp->ops_cap || v.ndeps > sp->deps_cap) {
		sp->nops = v.nops;
		sp->ndeps = v.ndeps;
		return -ERR_SPACE;
	}
	for (uint32_t i = 0; i < b->nbuffers; i++) {
		int64_t size = i < v.sizes ? val[read_u32(v.size_rows, i)] : 0;

		if (size < 0)
			return out_of_bounds(sp, i, 0, 0, (uint64_t)size);
		sp->bufsize[i] = (uint64_t)size;
		inplace |= b->buffers[i].inplace != 0;
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
			if (is_outside(op->off[k], op->len, *size)) {
				if (op->len)
					return out_of_bounds(sp, c->buf[k], op->off[k], op->len, *size);
				op->off[k] = 0;
			}
		}
		if (inplace)
			onto_itself(op);
		if (c->kind == BIN_OP_GETS && c->off[1] != BIN_NONE) {
			op->off[1] = (uint64_t)val[c->off[1]];
			if (val[c->off[1]] < 0 && op->len)
				return out_of_bounds(sp, c->buf[1], op->off[1], op->len, 0);
		}
		for (uint32_t n = 0; n < raw.ndeps; n++, d++)
			sp->deps[d] = (struct bin_dep){ i, bin_view_dep(&v, d) };
	}
	sp->nops = v.nops;
	sp->ndeps = v.ndeps;
	return 0;
}

static void reset_space(struct bin_space *sp)
{
	sp->nops = sp->ndeps = 0;
	sp->where = sp->what = 0;
	sp->value[0] = sp->value[1] = sp->value[2] = 0;
	sp->steps = 0;
}

int bin_rank_ops(const struct bin *b, const struct bin_args *args, struct bin_space *sp)
{
	reset_space(sp);
	return b->meta->flags & BIN_F_PARAMETRIC ? program_ops(b, args, sp, 0, 0) : section_ops(b, args, sp, false);
}

int bin_result_ops(const struct bin *b, const struct bin_args *args, struct bin_space *sp)
{
	reset_space(sp);
	if (!b->meta->result)
		return 0;
	return b->meta->flags & BIN_F_PARAMETRIC ? program_ops(b, args, sp, b->meta->result, 0) :
						   section_ops(b, args, sp, true);
}

int bin_count_ops(const struct bin *b, const struct bin_args *args, bool result, struct bin_space *sp)
{
	reset_space(sp);
	sp->ops_cap = sp->deps_cap = 0;
	return program_ops(b, args, sp, result ? b->meta->result : 0, args->most_ops ? args->most_ops : BIN_USUAL_OPS);
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

bool bin_names_nics(const struct bin *b)
{
	for (uint32_t i = 0; i < b->ntmpls; i++)
		if (b->tmpls[i].nic != BIN_NOREG)
			return true;
	for (uint32_t i = 0; i < b->nclasses; i++)
		if (b->classes[i].nic)
			return true;
	return false;
}
