/* SPDX-License-Identifier: BSD-3-Clause
 * The reader of binary schedules (man/goal-bin.5): it specialises an image for one rank. This file unpacks concrete binaries;
 * program.c runs the programs of parametric ones. The reader builds with -ffreestanding and without malloc, so that
 * firmware can include it. */
#include "format/machine.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is used in place");

/* ---- concrete sections ---- */

static size_t op_size(bool wide)
{
	return wide ? sizeof(struct bin_op32) : sizeof(struct bin_op16);
}

/* Sets all fields of v except `bytes`, without checks: bin_check_rank has passed, or bin_opened_at checks them next. */
static void open_section(const struct bin *b, uint32_t dir_row, struct bin_opened *v)
{
	const unsigned char *p = b->ranks + (uint64_t)b->dir[dir_row].off * 4;
	const struct bin_rank *h = (const struct bin_rank *)(const void *)p;

	*v = (struct bin_opened){ .nops = h->nops,
				  .ndeps = h->ndeps & BIN_R_NDEPS,
				  .wide = (h->ndeps & BIN_R_WIDE) != 0,
				  .pos = (h->ndeps & BIN_R_POS) != 0,
				  .sizes = (h->ndeps & BIN_R_SIZES) ? b->nbuffers : 0 };
	v->size_rows = p + sizeof *h;
	v->ops = v->size_rows + (size_t)v->sizes * 4;
	v->deps = v->ops + v->nops * op_size(v->wide);
	v->positions = v->deps + (size_t)v->ndeps * (v->wide ? 4 : 2);
}

int bin_opened_at(const struct bin *b, uint32_t dir_row, struct bin_opened *v)
{
	uint64_t off, room, need;

	if (dir_row >= b->ndir)
		return -ERR_ARG;
	off = (uint64_t)b->dir[dir_row].off * 4;
	if (off > b->ranks_len || b->ranks_len - off < sizeof(struct bin_rank))
		return -ERR_CORRUPT;
	room = b->ranks_len - off;
	open_section(b, dir_row, v);
	if (v->nops > BIN_MAX_OPS || (!v->wide && v->nops > BIN_START16))
		return -ERR_CORRUPT;
	need = sizeof(struct bin_rank) + (uint64_t)v->sizes * 4 + (uint64_t)v->nops * op_size(v->wide) +
	       (uint64_t)v->ndeps * (v->wide ? 4 : 2) +
	       (v->pos ? (uint64_t)v->nops * (v->wide ? 4 : 2) : 0);
	v->bytes = (need + 3) & ~(uint64_t)3;
	return v->bytes > room ? -ERR_CORRUPT : 0;
}

static inline int eval_exprs(const struct bin *b, const struct bin_args *args, int64_t *val)
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

/* Checks that the binary was made for this number of ranks, this count and this root. */
static int check_args(const struct bin *b, const struct bin_args *args, int64_t root, struct bin_space *sp)
{
	if (args->size != b->meta->nranks)
		return -ERR_SIZE;
	if (args->rank >= args->size || args->count < 0)
		return -ERR_ARG;
	if (b->meta->count != BIN_ANY_COUNT && args->count != b->meta->count)
		return -ERR_COUNT;
	if (b->meta->root != BIN_NONE &&
	    (root < 0 || root >= args->size ||
	     (!(b->meta->flags & BIN_F_ROOTS) && root != b->params[b->meta->root].value))) {
		sp->what = b->meta->root;
		return -ERR_PARAM;
	}
	return 0;
}

static inline int set_values(const struct bin *b, const struct bin_args *args, int64_t root, struct bin_space *sp)
{
	int err = check_args(b, args, root, sp);

	return err ? err : eval_exprs(b, args, sp->scratch);
}

int bin_values(const struct bin *b, const struct bin_args *args, struct bin_space *sp)
{
	return set_values(b, args, bin_root(b, args->args), sp);
}

/* State while a rank's part of RANKS is unpacked into ops. */
struct unpacking {
	const struct bin *b;
	struct bin_space *sp;
	const int64_t *val; /* values of the rows of EXPRS */
	bool plain, inplace; /* the binary is plain GOAL; some buffer may be in place */
};

static inline int set_sizes(struct unpacking *u, const struct bin_opened *v)
{
	struct bin_space *sp = u->sp;

	for (uint32_t i = 0; i < u->b->nbuffers; i++) {
		int64_t size = i < v->sizes ? u->val[bin_read_u32(v->size_rows, i)] : 0;

		if (size < 0)
			return out_of_bounds(sp, i, 0, 0, (uint64_t)size);
		sp->bufsize[i] = (uint64_t)size;
		u->inplace |= u->b->buffers[i].inplace != 0;
	}
	return 0;
}

static inline int set_length(const struct unpacking *u, const struct bin_class *c, uint32_t arg, struct bin_op *op)
{
	if (c->len != BIN_NONE) {
		if (u->val[c->len] < 0)
			return out_of_bounds(u->sp, c->buf[0], 0, (uint64_t)u->val[c->len], 0);
		op->len = (uint64_t)u->val[c->len];
	} else if (c->kind == BIN_OP_CALC) {
		op->len = arg;
	}
	return 0;
}

static inline int set_range(const struct unpacking *u, const struct bin_class *c, unsigned k, struct bin_op *op)
{
	uint64_t *size = &u->sp->bufsize[c->buf[k]];

	if (u->plain) { /* the op has bytes of its own, by which the buffer grows */
		op->off[k] = *size;
		if (op->len > INT64_MAX - *size)
			return -ERR_OVERFLOW;
		*size += op->len;
	} else if (c->off[k] != BIN_NONE) {
		op->off[k] = (uint64_t)u->val[c->off[k]];
	}
	if (is_outside(op->off[k], op->len, *size)) {
		if (op->len)
			return out_of_bounds(u->sp, c->buf[k], op->off[k], op->len, *size);
		op->off[k] = 0;
	}
	return 0;
}

/* Sets range 1 of a gets. The range lies in a buffer of another rank, whose size is not known here. */
static inline int set_got_range(const struct unpacking *u, const struct bin_class *c, struct bin_op *op)
{
	if (c->off[1] == BIN_NONE)
		return 0;
	op->off[1] = (uint64_t)u->val[c->off[1]];
	return u->val[c->off[1]] < 0 && op->len ? out_of_bounds(u->sp, c->buf[1], op->off[1], op->len, 0) : 0;
}

static inline int unpack_op(const struct unpacking *u, const struct bin_op32 *raw, uint32_t line, struct bin_op *op)
{
	const struct bin_class *c = &u->b->classes[raw->cls];
	int err;

	*op = (struct bin_op){ .kind = c->kind,
			       .exec = c->exec,
			       .level = c->level,
			       .peer = raw->arg,
			       .tag = c->tag,
			       .cpu = c->cpu,
			       .nic = c->nic,
			       .line = line,
			       .buf = { c->buf[0], c->buf[1] } };
	err = set_length(u, c, raw->arg, op);
	if (err)
		return err;
	for (unsigned k = 0; k < bin_nranges(c->kind); k++) {
		err = set_range(u, c, k, op);
		if (err)
			return err;
	}
	if (u->inplace)
		onto_itself(op);
	return c->kind == BIN_OP_GETS ? set_got_range(u, c, op) : 0;
}

static int section_ops(const struct bin *b, const struct bin_args *args, struct bin_space *sp, bool result)
{
	struct unpacking u = { .b = b, .sp = sp, .val = sp->scratch, .plain = b->meta->flags & BIN_F_PLAIN };
	const int64_t root = bin_root(b, args->args);
	const struct bin_op_debug *debug;
	struct bin_opened v;
	uint32_t dir_row, d = 0;
	int err = set_values(b, args, root, sp);

	if (err)
		return err;
	dir_row = bin_dir_row(b, args->rank, root) + (result ? b->ndir / 2 : 0);
	open_section(b, dir_row, &v);
	sp->nops = v.nops;
	sp->ndeps = v.ndeps;
	if (v.nops > sp->ops_cap || v.ndeps > sp->deps_cap)
		return -ERR_SPACE;
	err = set_sizes(&u, &v);
	if (err)
		return err;
	debug = b->debug_base ? b->debug + b->debug_base[dir_row] : NULL;
	for (uint32_t i = 0; i < v.nops; i++) {
		struct bin_op32 raw;

		sp->where = i;
		bin_opened_op(&v, i, &raw);
		err = unpack_op(&u, &raw, debug ? debug[i].line : 0, &sp->ops[i]);
		if (err)
			return err;
		for (uint32_t n = 0; n < raw.ndeps; n++, d++)
			sp->deps[d] = (struct bin_dep){ i, bin_opened_dep(&v, d) };
	}
	return 0;
}

/* ---- both kinds of binaries ---- */

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
	return b->meta->flags & BIN_F_PARAMETRIC ? machine_ops(b, args, sp, 0, 0) : section_ops(b, args, sp, false);
}

int bin_result_ops(const struct bin *b, const struct bin_args *args, struct bin_space *sp)
{
	reset_space(sp);
	if (!b->meta->result)
		return 0;
	return b->meta->flags & BIN_F_PARAMETRIC ? machine_ops(b, args, sp, b->meta->result, 0) :
						   section_ops(b, args, sp, true);
}

int bin_count_ops(const struct bin *b, const struct bin_args *args, bool result, struct bin_space *sp)
{
	reset_space(sp);
	sp->ops_cap = sp->deps_cap = 0;
	return machine_ops(b, args, sp, result ? b->meta->result : 0, args->most_ops ? args->most_ops : BIN_USUAL_OPS);
}

int64_t bin_root(const struct bin *b, const struct bin_arg *args)
{
	uint32_t i = b->meta->root;

	if (i == BIN_NONE)
		return -1;
	return args && args[i].known ? args[i].value : b->params[i].value;
}

uint32_t bin_dir_row(const struct bin *b, uint32_t rank, int64_t root)
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
