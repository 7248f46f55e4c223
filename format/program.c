/* SPDX-License-Identifier: BSD-3-Clause
 * Runs parametric programs in which all values are numbers. It specialises them for one rank, or counts their ops and
 * dependencies. Freestanding. */
#include "format/interp.h"
#include "util/align.h"

/* ---- memory ---- */

static uint32_t table_size(uint32_t ops_cap)
{
	uint32_t n = 16;

	while (n < 2 * (uint64_t)ops_cap && n < 0x80000000u)
		n *= 2;
	return n;
}

/* Returns the number of slots of all tables that a run may use one after the other. */
static size_t all_slots(uint32_t last)
{
	uint32_t slots = last < FIRST_INSTANCES ? last : FIRST_INSTANCES;
	size_t all = slots;

	while (slots < last) {
		slots = grown_slots(slots, last);
		all += slots;
	}
	return all;
}

size_t bin_scratch_size(const struct bin *b, uint32_t ops_cap, uint32_t deps_cap)
{
	if (!(b->meta->flags & BIN_F_PARAMETRIC))
		return b->nexprs * sizeof(int64_t) + 8;
	return (b->meta->nregs + 1) * sizeof(int64_t) + align_up(b->meta->nlabels * sizeof(uint32_t), 8) +
	       all_slots(table_size(ops_cap)) * sizeof(struct instance) + align_up(deps_cap * sizeof(struct pending), 8) +
	       machine_calls_size(b, ops_cap, deps_cap);
}

void machine_init(struct machine *m, const struct bin *b, const struct bin_args *args, struct bin_space *sp)
{
	unsigned char *p = sp->scratch;

	*m = (struct machine){ .b = b, .args = args, .sp = sp };
	m->reg = (int64_t *)(void *)p + 1;
	p += (b->meta->nregs + 1) * sizeof(int64_t);
	m->scalar = (uint32_t *)(void *)p;
	p += align_up(b->meta->nlabels * sizeof(uint32_t), 8);
	m->tables = m->table = (struct instance *)(void *)p;
	m->last_mask = table_size(sp->ops_cap) - 1;
	m->mask = m->last_mask < FIRST_INSTANCES ? m->last_mask : FIRST_INSTANCES - 1;
	p += all_slots(m->last_mask + 1) * sizeof(struct instance);
	m->pending = (struct pending *)(void *)p;
	if (b->ncalls)
		machine_calls_init(m, p + align_up(sp->deps_cap * sizeof(struct pending), 8));
	for (int32_t i = -1; i < (int32_t)b->meta->nregs; i++)
		m->reg[i] = 0;
	for (uint32_t i = 0; i < b->meta->nlabels; i++)
		m->scalar[i] = 0;
	for (uint32_t i = 0; i < b->nbuffers; i++)
		sp->bufsize[i] = 0;
	m->reg[0] = args->rank;
	m->reg[1] = args->size;
	m->reg[2] = args->count;
}

/* ---- dependencies ---- */

/* Returns the number + 1 of the op that a label stands for, or 0. */
static inline uint32_t op_of_label(struct machine *m, uint32_t label, bool scalar, uint64_t index)
{
	if (scalar)
		return m->scalar[label];
	return find_instance(m, label, index)->value;
}

/* Adds a dependency between two labels; returns 1 if one of them has no op so far. */
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

int machine_depend(struct machine *m, const struct bin_dep_tmpl *t)
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

/* Dependencies with a label that no op has are dropped. */
int machine_connect(struct machine *m)
{
	int err = 0;

	for (uint32_t i = 0; i < m->npending && err >= 0; i++)
		err = add_label_dep(m, m->pending[i].tmpl, m->pending[i].op_index, m->pending[i].on_index);
	return err < 0 ? err : m->b->ncalls ? machine_connect_calls(m) : 0;
}

/* ---- parameters and sizes ---- */

/* Stores the argument for a parameter, or its default, in *out. The elements of a vector are not copied. */
static int param_value(struct machine *m, const struct bin_args *args, uint32_t i, struct bin_arg *out)
{
	const struct bin_param *p = &m->b->params[i];

	m->sp->what = i;
	if (args->args && args->args[i].known) {
		*out = args->args[i];
		return 0;
	}
	/* A parameter that only the root knows: other ranks must not use the default, as the root may have another value. */
	if (p->scope == BIN_ROOTONLY) {
		struct bin_arg root;

		if (m->b->meta->root != BIN_NONE && m->b->meta->root != i &&
		    !param_value(m, args, m->b->meta->root, &root) && root.value != args->rank) {
			m->sp->what = i;
			return -ERR_UNKNOWN;
		}
		m->sp->what = i;
	}
	if (p->has_default == BIN_NUMBER) {
		const struct bin_arg v = bin_default(p);

		/* field by field: a copy of a structure whose fields have just been stored takes many times as long */
		out->known = true;
		out->value = v.value;
		out->elem = v.elem;
		out->n = v.n;
		return 0;
	}
	return -ERR_PARAM;
}

/* Stores the parameter that an instruction names in *out. PARAM_OF and ELEM_OF read the parameter as the rank in
 * register a has it; all other instructions read this rank's own parameter. */
static int param_of(struct machine *m, const struct bin_word *w, struct bin_arg *out)
{
	const struct bin_args *args = m->args;
	const int64_t rank = m->reg[w->a];
	struct bin_args of = *args;

	if (w->op != BIN_PARAM_OF && w->op != BIN_ELEM_OF)
		return param_value(m, args, w->b, out);
	if (rank < 0 || rank >= args->size) {
		m->sp->value[0] = rank;
		return -ERR_PEER;
	}
	of.rank = (uint32_t)rank;
	if (args->by_rank)
		of.args = args->by_rank[rank];
	return param_value(m, &of, w->b, out);
}

int machine_param(struct machine *m, const struct bin_word *w)
{
	struct bin_arg arg;
	int err = param_of(m, w, &arg);
	int64_t i;

	if (w->op == BIN_GIVEN && (!err || err == -ERR_PARAM)) {
		m->reg[w->a] = !err;
		return 0;
	}
	if (err)
		return err;
	switch (w->op) {
	case BIN_PARAM:
	case BIN_PARAM_OF:
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

int machine_set_size(struct machine *m, uint32_t buffer, int64_t size)
{
	struct bin_space *sp = m->sp;

	if (size < 0)
		return out_of_bounds(sp, buffer, 0, 0, (uint64_t)size);
	if (sp->nops && (uint64_t)size < sp->bufsize[buffer]) /* earlier ops were checked against the larger size */
		return -ERR_CORRUPT;
	sp->bufsize[buffer] = (uint64_t)size;
	return 0;
}

/* ---- the functions that interp.h needs, for numbers ---- */

static bool is_number(const struct machine *m, uint16_t r)
{
	(void)m;
	(void)r;
	return true;
}

static void mark_number(struct machine *m, uint16_t r, bool number)
{
	(void)m;
	(void)r;
	(void)number;
}

static int compute(struct machine *m, int64_t *reg, int op, const struct bin_word *w)
{
	(void)m;
	return apply_arith(op, reg[w->b], reg[w->c], &reg[w->a]);
}

static int set_size(struct machine *m, uint32_t buffer, uint16_t r)
{
	return machine_set_size(m, buffer, m->reg[r]);
}

/* Makes a gets. Its range 1 lies in a buffer of another rank, whose size is not known here, so the range is not checked. */
static int emit_gets(struct machine *m, const struct bin_tmpl *t, uint32_t line)
{
	const uint64_t off = reg_or_0(m, t->off[1]);
	int err = emit_op(m, t, line, false);

	if (err)
		return err;
	m->sp->ops[m->sp->nops - 1].off[1] = off;
	return off > INT64_MAX && m->sp->ops[m->sp->nops - 1].len ?
		       out_of_bounds(m->sp, t->buf[1], off, m->sp->ops[m->sp->nops - 1].len, 0) :
		       0;
}

static int emit(struct machine *m, const struct bin_tmpl *t, enum bin_insn insn, uint32_t line)
{
	switch (insn) {
	case BIN_EMIT:
		return emit_op(m, t, line, false);
	case BIN_GETS:
		return emit_gets(m, t, line);
	default:
		return machine_emit_in_call(m, t, line, insn == BIN_EMITIN);
	}
}

static int put_in_place(struct machine *m, const struct bin_tmpl *t, bool result)
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

int machine_ops(const struct bin *b, const struct bin_args *args, struct bin_space *sp, uint32_t from, uint32_t most)
{
	struct machine m;
	int err;

	if (args->size == 0 || args->rank >= args->size || args->count < 0)
		return -ERR_ARG;
	machine_init(&m, b, args, sp);
	m.most = most;
	err = interpret(&m, from);
	if (most)
		sp->nops = sp->nops < 2 * m.nranges ? 2 * m.nranges : sp->nops;
	else
		err = err ? err : machine_connect(&m);
	sp->first_slot = (uint32_t)(m.table - m.tables);
	sp->slots = m.cleared ? m.mask + 1 : 0;
	return err;
}
