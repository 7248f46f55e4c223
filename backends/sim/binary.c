/* SPDX-License-Identifier: BSD-3-Clause
 * Binaries as sources of the simulator, see binary.h. */
#include "backends/sim/binary.h"

#include "backends/sim/alike.h"
#include "format/check.h"

#include <stdlib.h>
#include <string.h>

/* ---- ops ---- */

BIN_LAST_OP(GETS);
/* Makes the simulator's op of an op. What a recv-reduce reduces is not counted. Returns 0, -ERR_NOMEM, -ERR_SPACE or
 * -ERR_OVERFLOW. */
static int make_op(struct sim_binary *x, const struct bin_op *op, struct sim_op *out)
{
	enum sim_kind kind = SIM_CALC;
	uint64_t bytes;
	int64_t cls;

	*out = (struct sim_op){ .peer = op->peer };
	if (op->kind != BIN_OP_CALC && __builtin_mul_overflow(op->len, (uint64_t)x->element, &bytes))
		return -ERR_OVERFLOW;
	if (bin_is_message(op->kind)) {
		kind = bin_sends(op->kind) ? SIM_SEND : SIM_RECV;
		out->size = bytes;
	} else if (op->kind == BIN_OP_CALC) {
		out->size = op->len;
	} else if (bin_reduces(op->kind)) {
		out->size = sim_cost(&x->reduce, bytes);
	} else if (op->kind == BIN_OP_COPY) {
		out->size = sim_cost(&x->copy, bytes);
	}
	cls = sim_class(&x->classes, kind, kind == SIM_CALC ? 0 : op->tag, op->cpu, kind == SIM_CALC ? 0 : op->nic,
			(uint32_t)(out->size >> 32));
	out->cls = cls < 0 ? 0 : (uint32_t)cls;
	return cls < 0 ? (int)cls : 0;
}

static int grow(struct sim_binary *x, uint32_t ops, uint32_t deps)
{
	struct bin_space *sp = &x->space;
	const bool program = x->b.meta->flags & BIN_F_PARAMETRIC;

	sim_row_fini(&x->row);
	free(x->ops);
	free(sp->deps);
	free(sp->ops);
	x->ops = mem_alloc((ops + (size_t)1) * sizeof *x->ops);
	sp->deps = mem_alloc((deps + (size_t)1) * sizeof *sp->deps);
	sp->ops = program ? mem_alloc((ops + (size_t)1) * sizeof *sp->ops) : NULL; /* concrete: see sim_binary_ops */
	x->ops_cap = ops;
	x->deps_cap = deps;
	if (program) {
		free(sp->scratch);
		sp->scratch = mem_alloc(bin_scratch_size(&x->b, ops, deps));
		sp->ops_cap = ops;
		sp->deps_cap = deps;
	}
	return x->ops && sp->deps && sp->scratch && (sp->ops || !program) ? 0 : -ERR_NOMEM;
}

static void use_rank(struct sim_binary *x, uint32_t rank)
{
	const uint32_t root = x->b.meta->root;

	x->args.rank = rank;
	x->args.args = x->args.by_rank ? x->args.by_rank[rank] : x->common;
	if (!x->turn)
		return;
	for (uint32_t i = 0; i < x->b.nparams; i++)
		x->turned[i] = x->args.args ? x->args.args[i] : bin_default(&x->b.params[i]);
	x->turned[root] = (struct bin_arg){ .known = true,
					    .value = (bin_root(&x->b, x->args.args) + x->turn) % x->args.size };
	x->args.args = x->turned;
}

/* Returns what sim_order_ops does for ops that have been made. */
static int order_ops(struct sim_binary *x, uint32_t nops)
{
	return x->posted || x->b.meta->flags & BIN_F_PLAIN ? 0 : sim_order_ops(&x->order, &x->classes, x->ops, nops);
}

/* ---- parametric binaries ---- */

/* Makes memory for more ops. Returns -ERR_SPACE if a rank may not have more. */
static int grow_more(struct sim_binary *x)
{
	const uint32_t most = x->args.most_ops ? x->args.most_ops : BIN_USUAL_OPS;
	const uint32_t ops = x->ops_cap > most / 2 ? most : 2 * x->ops_cap;

	if (x->ops_cap < most)
		return grow(x, ops, BIN_USUAL_DEPS * ops);
	x->space.value[0] = most;
	return -ERR_SPACE;
}

static int run_program(struct sim_binary *x)
{
	int err = bin_rank_ops(&x->b, &x->args, &x->space);

	while (err == -ERR_SPACE) {
		err = grow_more(x);
		if (err)
			return err;
		err = bin_rank_ops(&x->b, &x->args, &x->space);
	}
	return err;
}

/* Makes the ops of a rank of those of rank 0. */
static void shift_ops(struct sim_binary *x, uint32_t rank)
{
	const uint32_t size = x->args.size;

	for (uint32_t i = 0; i < x->first.nops; i++) {
		const uint64_t peer = (uint64_t)x->first.ops[i].peer + rank;

		x->ops[i] = x->first.ops[i];
		if (x->shifted[i])
			x->ops[i].peer = (uint32_t)(peer < size ? peer : peer - size);
	}
}

static int make_by_program(void *arg, uint32_t rank, struct sim_rank *out)
{
	struct sim_binary *x = arg;
	int err;

	use_rank(x, rank);
	if (x->alike && !x->turn) {
		shift_ops(x, rank);
		*out = x->first;
		out->ops = x->ops;
		err = order_ops(x, out->nops);
		out->like = err ? 0 : out->like;
		return err < 0 ? err : 0;
	}
	err = run_program(x);
	for (uint32_t i = 0; i < x->space.nops && !err; i++)
		err = make_op(x, &x->space.ops[i], &x->ops[i]);
	err = err ? err : order_ops(x, x->space.nops);
	*out = (struct sim_rank){ x->ops, x->space.deps, x->space.nops, x->space.ndeps, 0 };
	return err < 0 ? err : 0;
}

/* Keeps rank 0, whose ops have just been made, as the one that all are like. */
static int keep_first(struct sim_binary *x)
{
	const uint32_t nops = x->space.nops, ndeps = x->space.ndeps;
	struct sim_op *ops = mem_alloc((nops + (size_t)1) * sizeof *ops);
	struct bin_dep *deps = mem_alloc((ndeps + (size_t)1) * sizeof *deps);
	int err = ops && deps ? 0 : -ERR_NOMEM;

	x->first = (struct sim_rank){ ops, deps, nops, ndeps, 1 };
	for (uint32_t i = 0; i < nops && !err; i++)
		err = make_op(x, &x->space.ops[i], &x->ops[i]);
	err = err ? err : order_ops(x, nops);
	if (err < 0)
		return err;
	memcpy(ops, x->ops, nops * sizeof *ops);
	memcpy(deps, x->space.deps, ndeps * sizeof *deps);
	x->alike = true;
	return 0;
}

/* Finds out whether the ranks are alike. A repetition with another root is not: it has ops of its own. */
static int find_alike(struct sim_binary *x)
{
	int found;

	use_rank(x, 0);
	do {
		free(x->shifted);
		x->shifted = mem_calloc(x->ops_cap, sizeof *x->shifted);
		if (!x->shifted)
			return -ERR_NOMEM;
		found = sim_alike(&x->b, &x->args, &x->space, x->shifted);
		if (found == -ERR_SPACE)
			found = grow_more(x);
		else if (found >= 0)
			return found ? keep_first(x) : 0;
	} while (!found);
	return found == -ERR_SPACE ? 0 : found;
}

/* Makes all ranks once, if they name cpus or nics: the simulator has to know these at the start. */
static int find_lanes(struct sim_binary *x)
{
	struct sim_rank r;
	bool any = false;
	int err = 0;

	if (x->alike)
		return 0;
	for (uint32_t i = 0; i < x->b.ntmpls; i++)
		any |= x->b.tmpls[i].cpu != BIN_NOREG || x->b.tmpls[i].nic != BIN_NOREG;
	for (uint32_t rank = 0; any && rank < x->source.nranks && !err; rank++)
		err = make_by_program(x, rank, &r);
	return err;
}

/* ---- concrete binaries ---- */

/* Copies the ops of a section. The class has all of an op but its peer, and the time of a short calc. */
static void copy_ops(struct sim_binary *x, const struct bin_opened *v)
{
	uint32_t d = 0;

	for (uint32_t i = 0; i < v->nops; i++) {
		struct sim_op *op = &x->ops[i];
		struct bin_op32 raw;

		bin_opened_op(v, i, &raw);
		*op = x->of_class[raw.cls];
		if (x->b.classes[raw.cls].kind == BIN_OP_CALC && x->b.classes[raw.cls].len == BIN_NONE)
			op->size = raw.arg;
		op->peer = raw.arg;
		for (uint32_t n = 0; n < raw.ndeps; n++, d++)
			x->space.deps[d] = (struct bin_dep){ i, bin_opened_dep(v, d) };
	}
}

static void set_peers(struct sim_binary *x, const struct bin_opened *v)
{
	for (uint32_t i = 0; i < v->nops; i++) {
		struct bin_op32 raw;

		bin_opened_op(v, i, &raw);
		x->ops[i].peer = raw.arg;
	}
}

/* Makes the ops of a row of DIR that is not like the one before. */
static int make_row(struct sim_binary *x, uint32_t row, const struct bin_opened *v)
{
	int err = bin_check_rank(&x->b, row);

	if (!err && (v->nops > x->ops_cap || v->ndeps > x->deps_cap))
		err = grow(x, v->nops + v->nops / 2, v->ndeps + v->ndeps / 2);
	if (err)
		return err;
	copy_ops(x, v);
	x->like++;
	return sim_row_keep(&x->row, &x->b, v);
}

static int make_from_section(void *arg, uint32_t rank, struct sim_rank *out)
{
	struct sim_binary *x = arg;
	struct bin_opened v;
	uint32_t row;
	int err;

	use_rank(x, rank);
	row = bin_dir_row(&x->b, rank, bin_root(&x->b, x->args.args));
	err = x->window.image ? window_read(&x->window, &x->b, row) : 0;
	err = err ? err : bin_opened_at(&x->b, row, &v);
	if (err)
		return err;
	if (sim_row_is_like(&x->row, &x->b, row, &v))
		set_peers(x, &v);
	else
		err = make_row(x, row, &v);
	err = err ? err : order_ops(x, v.nops);
	if (err < 0)
		return err;
	x->like += err > 0;
	*out = (struct sim_rank){ x->ops, x->space.deps, v.nops, v.ndeps, x->like };
	return 0;
}

/* Makes an op of each class. The exact range of a copy is only of interest if it copies onto itself. */
static int make_classes(struct sim_binary *x)
{
	const int64_t *values = x->space.scratch;
	int err = 0;

	x->of_class = mem_alloc((x->b.nclasses + (size_t)1) * sizeof *x->of_class);
	if (!x->of_class)
		return -ERR_NOMEM;
	for (uint32_t i = 0; i < x->b.nclasses && !err; i++) {
		const struct bin_class *c = &x->b.classes[i];
		const int64_t len = c->len == BIN_NONE ? 0 : values[c->len];
		struct bin_op op = { .kind = c->kind, .tag = c->tag, .cpu = c->cpu, .nic = c->nic, .len = (uint64_t)len };
		const bool itself = c->buf[0] == c->buf[1] && (c->off[0] == BIN_NONE ? 0 : values[c->off[0]]) ==
								      (c->off[1] == BIN_NONE ? 0 : values[c->off[1]]);

		if (op.kind == BIN_OP_COPY && itself)
			op.kind = BIN_OP_NOP;
		err = len < 0 ? -ERR_BOUNDS : make_op(x, &op, &x->of_class[i]);
	}
	return err;
}

/* ---- both ---- */

int sim_binary_open(struct sim_binary *x)
{
	const bool program = x->b.meta->flags & BIN_F_PARAMETRIC;
	int err;

	x->source = (struct sim_source){ .nranks = x->args.size, .classes = &x->classes, .again = program, .arg = x,
					 .make = program ? make_by_program : make_from_section };
	x->common = x->args.args;
	x->turned = mem_alloc((x->b.nparams + (size_t)1) * sizeof *x->turned);
	x->space.bufsize = mem_alloc((x->b.nbuffers + (size_t)1) * sizeof *x->space.bufsize);
	if (!program)
		x->space.scratch = mem_alloc(bin_scratch_size(&x->b, 0, 0));
	err = x->space.bufsize && x->turned ? grow(x, 64, 64 * BIN_USUAL_DEPS) : -ERR_NOMEM;
	if (!err && program)
		err = find_alike(x);
	if (err || program)
		return err ? err : find_lanes(x);
	use_rank(x, 0);
	err = bin_values(&x->b, &x->args, &x->space);
	return err ? err : make_classes(x);
}

void sim_binary_close(struct sim_binary *x)
{
	sim_classes_fini(&x->classes);
	free(x->turned);
	free((void *)(uintptr_t)x->first.ops);
	free((void *)(uintptr_t)x->first.deps);
	free(x->shifted);
	free(x->space.bufsize);
	free(x->space.scratch);
	free(x->space.ops);
	free(x->space.deps);
	free(x->ops);
	free(x->of_class);
	sim_row_fini(&x->row);
	sim_order_fini(&x->order);
}

int sim_binary_ops(struct sim_binary *x, uint32_t rank, const struct bin_op **out)
{
	struct bin_space *sp = &x->space;
	struct sim_rank r;
	int err = x->source.make(x, rank, &r);

	if (err)
		return err;
	if (!sp->ops)
		sp->ops = mem_alloc((x->ops_cap + (size_t)1) * sizeof *sp->ops);
	if (!sp->ops)
		return -ERR_NOMEM;
	sp->ops_cap = x->ops_cap;
	sp->deps_cap = x->deps_cap;
	*out = sp->ops;
	return bin_rank_ops(&x->b, &x->args, sp);
}
