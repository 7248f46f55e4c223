/* SPDX-License-Identifier: BSD-3-Clause
 * Programs whose ranks are alike up to a shift, see alike.h. The interpreter of format/interp.h runs the program for rank 0. Beside
 * the value of a register it keeps what is known of its values on all ranks: that they are equal; or in an interval, and perhaps
 * congruent to the rank plus a constant, modulo the number of ranks. A condition, a length or a label whose value is not
 * equal on all ranks ends the run: then the ranks are specialised one by one. */
#include "format/interp.h"

#include "backends/sim/alike.h"
#include "util/mem.h"

#include <stdlib.h>

/* What is known of the values of a register. */
struct shape {
	bool same; /* they are equal on all ranks; then the other fields mean nothing */
	bool shifts; /* congruent to the rank plus a constant */
	int64_t least, most;
};

struct run {
	struct machine m; /* first member, see run_of(); registers have the values of rank 0 */
	struct shape *shape; /* of each register, from -1 (BIN_NOREG) on */
	bool *shifted;
};

static const struct shape same = { .same = true };

static struct run *run_of(struct machine *m)
{
	return (struct run *)(void *)m;
}

static const struct shape *shape_of(const struct machine *m, uint16_t r)
{
	return &((const struct run *)(const void *)m)->shape[(int16_t)r];
}

static bool is_number(const struct machine *m, uint16_t r)
{
	return shape_of(m, r)->same;
}

/* A copy of a register that is not the same on all ranks may have any value. */
static void mark_number(struct machine *m, uint16_t r, bool number)
{
	run_of(m)->shape[r] = number ? same : (struct shape){ .least = INT64_MIN, .most = INT64_MAX };
}

/* ---- arithmetic ---- */

/* Moves an interval by a number. Returns false if it overflows. */
static bool add_number(struct shape *x, int64_t n)
{
	return !__builtin_add_overflow(x->least, n, &x->least) && !__builtin_add_overflow(x->most, n, &x->most);
}

static bool multiply_by_number(struct shape *x, int64_t n)
{
	x->shifts = false;
	return n >= 0 && !__builtin_mul_overflow(x->least, n, &x->least) && !__builtin_mul_overflow(x->most, n, &x->most);
}

static bool take_modulo(struct shape *x, int64_t n, uint32_t nranks)
{
	x->shifts &= n == nranks;
	x->least = 0;
	x->most = n - 1;
	return n > 0;
}

/* Sets *x, the shape of the first operand, to that of the result. Returns false if it is not known. */
static bool combine_shapes(int op, struct shape *x, int64_t a, const struct shape *y, int64_t b, uint32_t nranks)
{
	const bool first = x->same; /* the second operand is the one that differs */

	if (first == y->same || (first && op != BIN_ADD && op != BIN_MUL))
		return false;
	*x = first ? *y : *x;
	switch (op) {
	case BIN_ADD:
		return add_number(x, first ? a : b);
	case BIN_SUB:
		return b != INT64_MIN && add_number(x, -b);
	case BIN_MUL:
		return multiply_by_number(x, first ? a : b);
	case BIN_MOD:
		return take_modulo(x, b, nranks);
	default:
		return false;
	}
}

static int compute(struct machine *m, int64_t *reg, int op, const struct bin_word *w)
{
	const bool binary = op < BIN_NEG;
	struct shape x = *shape_of(m, w->b), y = binary ? *shape_of(m, w->c) : same;

	if (!(x.same && y.same) && !(binary && combine_shapes(op, &x, reg[w->b], &y, reg[w->c], m->args->size)))
		return NEEDS_NUMBER;
	run_of(m)->shape[w->a] = x;
	return apply_arith(op, reg[w->b], reg[w->c], &reg[w->a]);
}

/* ---- ops ---- */

static int set_size(struct machine *m, uint32_t buffer, uint16_t r)
{
	return is_number(m, r) ? machine_set_size(m, buffer, m->reg[r]) : NEEDS_NUMBER;
}

/* True if a range of a template lies in its buffer on all ranks, if it does on rank 0. */
static bool is_inside(const struct machine *m, const struct bin_tmpl *t, unsigned k)
{
	const struct shape *off = shape_of(m, t->off[k]);
	const uint64_t len = reg_or_0(m, t->len), size = m->sp->bufsize[t->buf[k]];

	return off->same || !len || (off->least >= 0 && !is_outside((uint64_t)off->most, len, size));
}

static int emit(struct machine *m, const struct bin_tmpl *t, enum bin_insn insn, uint32_t line)
{
	const uint16_t fields[] = { t->tag, t->level, t->cpu, t->nic, t->len, t->index[0], t->index[1] };
	const struct shape *peer = shape_of(m, t->peer);
	const bool shifts = bin_is_message(t->kind) && !peer->same;

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (!is_number(m, fields[i]))
			return NEEDS_NUMBER;
	for (unsigned k = 0; k < bin_nranges(t->kind); k++)
		if (!is_inside(m, t, k))
			return NEEDS_NUMBER;
	if (insn != BIN_EMIT || (shifts && (!peer->shifts || peer->least < 0 || peer->most >= m->args->size)))
		return NEEDS_NUMBER;
	if (m->sp->nops < m->sp->ops_cap)
		run_of(m)->shifted[m->sp->nops] = shifts;
	return emit_op(m, t, line, false);
}

/* Copies onto themselves are no ops then, perhaps on some ranks only. */
static int put_in_place(struct machine *m, const struct bin_tmpl *t, bool result)
{
	(void)m;
	(void)t;
	(void)result;
	return NEEDS_NUMBER;
}

/* ---- runs ---- */

/* True if ranks may differ in more than the program shows: in arguments, or in parts of calls, whose checks interpret() leaves out
 * where a value is no number. */
static bool may_differ(const struct bin *b, const struct bin_args *args)
{
	for (uint32_t i = 0; i < b->nparams; i++)
		if (b->params[i].scope == BIN_ROOTONLY)
			return true;
	return args->by_rank || b->ncalls || b->nwindows;
}

int sim_alike(const struct bin *b, const struct bin_args *args, struct bin_space *sp, bool *shifted)
{
	struct bin_args zero = *args;
	struct run r = { .shifted = shifted };
	struct shape *shapes;
	int err;

	if (may_differ(b, args) || !args->size || args->count < 0)
		return 0;
	shapes = mem_alloc((b->meta->nregs + (size_t)1) * sizeof *shapes);
	if (!shapes)
		return -ERR_NOMEM;
	for (uint32_t i = 0; i <= b->meta->nregs; i++)
		shapes[i] = same;
	shapes[1] = (struct shape){ .shifts = true, .most = args->size - (int64_t)1 };
	zero.rank = 0;
	sp->nops = sp->ndeps = 0;
	machine_init(&r.m, b, &zero, sp);
	r.shape = shapes + 1;
	err = interpret(&r.m, 0);
	err = err ? err : machine_connect(&r.m);
	free(shapes);
	return err == -ERR_SPACE ? err : !err;
}
