/* SPDX-License-Identifier: BSD-3-Clause
 * Evaluates claims: runs the result for a rank, and resolves what it gets to ranges of the ranks' own buffers. */
#include "compiler/collectives/collective.h"

#include "compiler/collectives/definition.h"
#include "util/err.h"
#include "util/order.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 3, 4))) static int wrong(const struct claim *c, struct ir_fault *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->text, sizeof f->text, fmt, ap);
	va_end(ap);
	if (c->name)
		f->where = 0; /* the location is in the definition, not in the schedule */
	return -ERR_CLAIM;
}

/* ---- a schedule and its definition ---- */

static uint32_t find_param(const struct bin *b, const char *name)
{
	uint32_t i = 0;

	while (i < b->nparams && strcmp(bin_str(b, b->params[i].name), name) != 0)
		i++;
	return i;
}

/* Maps parameters by name. */
static int map_params(struct claim *c, struct ir_fault *fault)
{
	for (uint32_t i = 0; i < c->def.nparams; i++) {
		const struct bin_param *p = &c->def.params[i];
		const char *name = bin_str(&c->def, p->name);
		uint32_t k = find_param(c->b, name);

		c->param[i] = k;
		if (k == c->b->nparams && !p->has_default && !(c->b->meta->flags & BIN_F_PARAMETRIC))
			c->lost = true;
		else if (k == c->b->nparams && (!p->has_default || i == c->def.meta->root))
			return wrong(c, fault, "%s has a parameter %s, the schedule has none", c->name, name);
		if (k < c->b->nparams && c->b->params[k].vector != p->vector)
			return wrong(c, fault, "the parameter %s is %s in %s", name, p->vector ? "a vector" : "one number",
				     c->name);
		if (k < c->b->nparams && c->b->params[k].has_default == BIN_COMPUTED)
			return wrong(c, fault, "the parameter %s belongs to %s, so that its default cannot be computed", name,
				     c->name);
	}
	return 0;
}

/* Maps the buffers that the caller gives by mode, in order. */
static int map_buffers(struct claim *c, struct ir_fault *fault)
{
	static const char *const modes[BIN_MODES] = { "in", "out", "inout", "scratch" };

	for (unsigned mode = 0; mode < BIN_SCRATCH; mode++) {
		unsigned has = 0, due = 0;

		for (uint32_t i = 0; i < c->b->nbuffers; i++)
			has += c->b->buffers[i].mode == mode;
		for (uint32_t i = 0, k = 0; i < c->def.nbuffers; i++) {
			if (c->def.buffers[i].mode != mode)
				continue;
			due++;
			while (k < c->b->nbuffers && c->b->buffers[k].mode != mode)
				k++;
			c->buf[i] = k++;
		}
		if (has != due)
			return wrong(c, fault, "%s has %u %s buffer%s, the schedule has %u", c->name, due, modes[mode],
				     due == 1 ? "" : "s", has);
	}
	return 0;
}

/* Opens the first definition with this name that the schedule fits. If it fits none, reports why it does not fit the first. */
static int open_definition(struct claim *c, const char *name, struct ir_fault *fault)
{
	struct ir_fault first = { 0 };
	int err = 0, found = 0;

	for (unsigned n = 0;; n++) {
		err = definition_open(name, n, &c->def);
		if (err <= 0)
			break;
		c->name = name;
		c->buf = mem_calloc(c->def.nbuffers, sizeof *c->buf);
		c->param = mem_calloc(c->def.nparams, sizeof *c->param);
		err = c->buf && c->param ? map_params(c, fault) : -ERR_NOMEM;
		err = err ? err : map_buffers(c, fault);
		if (!err) {
			c->any = true;
			return 0;
		}
		claim_close(c);
		if (err != -ERR_CLAIM)
			return err;
		if (!found++)
			first = *fault;
	}
	*fault = first;
	return err ? err : found ? -ERR_CLAIM : 0;
}

int claim_open(struct claim *c, const struct bin *b, struct ir_fault *fault)
{
	const char *name = bin_str(b, b->meta->implements);
	int err;

	*c = (struct claim){ .b = b, .def = *b, .any = b->meta->result != 0 };
	*fault = (struct ir_fault){ 0 };
	if (c->any || !*name)
		return 0;
	err = open_definition(c, name, fault);
	if (err || !c->lost)
		return err;
	err = wrong(c, fault, "the binary has neither the parameters of %s nor its result", name);
	claim_close(c);
	return err;
}

int claim_open_named(struct claim *c, const struct bin *b, struct ir_fault *fault)
{
	const char *name = bin_str(b, b->meta->implements);
	int err;

	*c = (struct claim){ .b = b, .def = *b };
	*fault = (struct ir_fault){ 0 };
	err = *name ? open_definition(c, name, fault) : 0;
	if (!err && c->lost)
		claim_close(c);
	return err;
}

void claim_close(struct claim *c)
{
	free(c->buf);
	free(c->param);
	*c = (struct claim){ .b = c->b };
}

/* ---- values ---- */

/* Sizes of a rank's buffers, and which buffer is in place. */
struct rank_buffers {
	uint64_t *size; /* elements of each buffer of the definition; NULL if not computed yet */
	struct bin_op inplace; /* len is 0 if nothing is in place; otherwise buffer 0 of the op is within buffer 1 */
};

/* A claim with values of the parameters. */
struct eval {
	const struct claim *c;
	struct bin_args args; /* arguments of the definition */
	struct bin_args own; /* arguments of the schedule */
	struct ir_rows rows; /* rows of the schedule's arguments */
	const struct bin_arg **by_rank; /* rows of the definition's arguments */
	struct bin_arg *values;
	struct rank_buffers *buffers;
};

static void eval_close(struct eval *e)
{
	for (uint32_t r = 0; e->buffers && r < e->args.size; r++)
		free(e->buffers[r].size);
	free(e->buffers);
	free(e->by_rank);
	free(e->values);
	ir_rows_fini(&e->rows);
}

bool claim_values(const struct claim *c, const struct bin_arg *row, struct bin_arg *out)
{
	bool others = false;

	for (uint32_t i = 0; i < c->def.nparams; i++) {
		const struct bin_param *d = &c->def.params[i];
		const uint32_t k = c->name ? c->param[i] : i;
		const struct bin_param *p = k < c->b->nparams ? &c->b->params[k] : NULL;

		out[i] = p && row ? row[k] : (struct bin_arg){ 0 };
		if (p && !out[i].known && p->has_default == BIN_NUMBER)
			out[i] = bin_default(p);
		others |= out[i].known && i != c->def.meta->root &&
			  (d->vector || !d->has_default || d->value != out[i].value);
	}
	return others;
}

/* Clears the rootonly parameters of a rank that is not the root. Such a rank does not use their defaults either. */
static void clear_root_params(const struct claim *c, struct bin_arg *row)
{
	for (uint32_t i = 0; i < c->def.nparams; i++)
		if (c->param[i] < c->b->nparams && c->b->params[c->param[i]].scope == BIN_ROOTONLY)
			row[i] = (struct bin_arg){ 0 };
}

static int eval_open(struct eval *e, const struct claim *c, const struct bin_args *args)
{
	const size_t n = c->def.nparams;
	int64_t root;
	int err;

	*e = (struct eval){ .c = c, .args = *args, .own = *args };
	err = ir_rows_init(&e->rows, c->b, args);
	if (err)
		return err;
	e->args.by_rank = e->own.by_rank = e->rows.by_rank;
	e->buffers = mem_calloc(args->size, sizeof *e->buffers);
	if (e->buffers && !c->name)
		return 0;
	e->by_rank = mem_alloc(args->size * sizeof *e->by_rank);
	e->values = mem_alloc(args->size * n * sizeof *e->values);
	if (!e->buffers || !e->by_rank || !e->values) {
		eval_close(e);
		return -ERR_NOMEM;
	}
	root = bin_root(c->b, e->rows.by_rank[0]);
	for (uint32_t r = 0; r < args->size; r++) {
		claim_values(c, e->rows.by_rank[r], e->values + r * n);
		if (root >= 0 && r != root)
			clear_root_params(c, e->values + r * n);
		e->by_rank[r] = e->values + r * n;
	}
	e->args.by_rank = e->by_rank;
	return 0;
}

/* Reports an error in the definition as text, because it has no location in the schedule. */
static int report_definition_fault(const struct claim *c, int err, struct ir_fault *f)
{
	const struct bin *b = &c->def;

	if (!err || !c->name || err == -ERR_NOMEM || err == -ERR_CLAIM)
		return err;
	if (err == -ERR_ASSERT || err == -ERR_FAULT)
		return wrong(c, f, "%s: %s", c->name, bin_str(b, f->what));
	if (err == -ERR_PARAM || err == -ERR_UNKNOWN)
		return wrong(c, f, "%s: %s: %s", c->name, err_text(err), bin_str(b, b->params[f->what].name));
	if (err == -ERR_BOUNDS && b->code[f->where].op == BIN_GETS)
		return wrong(c, f, "%s: [%" PRId64 " +: %" PRId64 "] is outside of the %s buffer, which has %" PRId64
			     " elements", c->name, f->value[0], f->value[1], bin_str(b, b->buffers[f->what].name),
			     f->value[2]);
	return wrong(c, f, "%s: %s", c->name, err_text(err));
}

/* Computes the sizes of a rank's buffers, and the first op of the result, which says which buffer is in place. */
static int sizes_of(const struct bin *b, int (*get)(const struct bin *, const struct bin_args *, struct bin_space *),
		    const struct bin_args *args, uint64_t *size, struct bin_op *first, struct ir_fault *fault)
{
	const bool whole = !(b->meta->flags & BIN_F_PARAMETRIC);
	struct bin_space sp = { .bufsize = size, .ops_cap = 1 };
	int err;

	for (;;) { /* a program sets the sizes before it emits ops */
		sp.ops = mem_alloc(sp.ops_cap * sizeof *sp.ops);
		sp.deps = mem_alloc(sp.deps_cap * sizeof *sp.deps);
		sp.scratch = mem_alloc(bin_scratch_size(b, sp.ops_cap, sp.deps_cap));
		err = sp.ops && sp.deps && sp.scratch ? get(b, args, &sp) : -ERR_NOMEM;
		*first = !err || err == -ERR_SPACE ? sp.ops[0] : (struct bin_op){ 0 };
		if (!sp.nops)
			*first = (struct bin_op){ 0 };
		free(sp.ops);
		free(sp.deps);
		free(sp.scratch);
		if (err != -ERR_SPACE || !whole)
			break;
		sp.ops_cap = sp.nops;
		sp.deps_cap = sp.ndeps;
	}
	*fault = (struct ir_fault){ sp.where, sp.what, { sp.value[0], sp.value[1], sp.value[2] }, sp.steps, "" };
	return err == -ERR_SPACE ? 0 : err;
}

/* Checks that the schedule's buffers have the sizes that the definition gives. A definition may give no sizes. */
static int compare_sizes(struct eval *e, uint32_t rank, const uint64_t *due, struct ir_fault *fault)
{
	const struct claim *c = e->c;
	uint64_t *has = mem_calloc(c->b->nbuffers, sizeof *has);
	struct bin_args a = e->own;
	struct bin_op ignored;
	int err = has ? 0 : -ERR_NOMEM;

	a.rank = rank;
	a.args = e->rows.by_rank[rank];
	err = err ? err : sizes_of(c->b, bin_rank_ops, &a, has, &ignored, fault);
	for (uint32_t i = 0; i < c->def.nbuffers && !err; i++) {
		uint32_t k = c->buf[i];

		if (due[i] && has[k] != due[i] && !(e->buffers[rank].inplace.len && e->buffers[rank].inplace.buf[0] == i))
			err = wrong(c, fault, "the buffer %s has %" PRIu64 " elements, in %s it has %" PRIu64,
				    bin_str(c->b, c->b->buffers[k].name), has[k], c->name, due[i]);
	}
	free(has);
	return err;
}

static int find_buffers(struct eval *e, uint32_t rank, struct rank_buffers **out, struct ir_fault *fault)
{
	struct rank_buffers *p = *out = &e->buffers[rank];
	struct bin_args a = e->args;
	struct bin_op first;
	int err;

	if (p->size)
		return 0;
	p->size = mem_calloc(e->c->def.nbuffers, sizeof *p->size);
	if (!p->size)
		return -ERR_NOMEM;
	a.rank = rank;
	a.args = e->args.by_rank[rank];
	err = report_definition_fault(e->c, sizes_of(&e->c->def, bin_result_ops, &a, p->size, &first, fault), fault);
	if (err)
		return err;
	if (first.kind == BIN_OP_COPY)
		p->inplace = first;
	return e->c->name ? compare_sizes(e, rank, p->size, fault) : 0;
}

int claim_sizes(const struct claim *c, const struct bin_args *args, bool inplace, uint64_t *size, struct ir_fault *fault)
{
	const struct bin *b = &c->def;
	const size_t scratch = bin_scratch_size(b, 0, 0), sizes = b->nbuffers * sizeof *size;
	char *room = mem_alloc(scratch + sizes + b->nparams * sizeof(struct bin_arg));
	struct bin_space sp = { .scratch = room, .bufsize = (uint64_t *)(void *)(room + scratch) };
	struct bin_arg *values = (struct bin_arg *)(void *)(room + scratch + sizes);
	const uint32_t at = find_param(b, "inplace");
	struct bin_args a = *args;
	int err;

	if (!room)
		return -ERR_NOMEM;
	claim_values(c, args->args, values);
	if (at < b->nparams)
		values[at] = (struct bin_arg){ .known = true, .value = inplace };
	a.args = values;
	a.fuel = 0;
	err = bin_rank_ops(b, &a, &sp); /* the definition emits no ops here */
	*fault = (struct ir_fault){ sp.where, sp.what, { sp.value[0], sp.value[1], sp.value[2] }, sp.steps, "" };
	for (uint32_t i = 0; i < b->nbuffers && !err; i++)
		size[c->buf[i]] = sp.bufsize[i];
	free(room);
	return report_definition_fault(c, err, fault);
}

/* True if the size of a buffer is always count: its program sets it from register 2 only and never writes that register. */
static bool has_count(const struct bin *b, uint32_t buffer)
{
	static const char forms[BIN_INSNS][4] = {
#define INSN(NAME, number, text, form) [number] = form,
#include "format/insn.def"
#undef INSN
	};

	for (uint32_t i = 0; i < b->ncode; i++) {
		const struct bin_word *w = &b->code[i];

		if (w->op == BIN_BUFSIZE ? w->a == buffer && w->b != 2 : *forms[w->op] == 'a' && w->a == 2)
			return false;
	}
	return b->meta->flags & BIN_F_PARAMETRIC;
}

bool claim_counts(const struct claim *c)
{
	for (uint32_t i = 0; i < c->def.nbuffers; i++)
		if (!has_count(&c->def, i) || !has_count(c->b, c->buf[i]))
			return false;
	return true;
}

/* ---- expectations ---- */

struct get {
	uint32_t buf, seq;
	uint64_t off, len;
	struct expected_src src;
};

struct gets {
	VEC(struct get) v;
};

/* Resolves a range of a rank to the buffer that holds it, in the numbering of the schedule. */
static int locate_range(struct eval *e, const struct rank_buffers *p, unsigned buf, uint64_t off, uint64_t len, uint32_t rank,
			uint32_t *out, uint64_t *at, struct ir_fault *fault)
{
	const struct claim *c = e->c;

	if (len > p->size[buf] || off > p->size[buf] - len)
		return wrong(c, fault, "[%" PRIu64 " +: %" PRIu64 "] is outside of the buffer %s of rank %u, which has %" PRIu64
			     " elements", off, len, bin_str(&c->def, c->def.buffers[buf].name), rank, p->size[buf]);
	if (p->inplace.len && p->inplace.buf[0] == buf) {
		buf = p->inplace.buf[1];
		off += p->inplace.off[1];
	}
	*out = c->name ? c->buf[buf] : buf;
	*at = off;
	return 0;
}

/* Returns the instruction that emitted an op of the schedule's own result. */
static uint32_t gets_instruction(const struct bin *b, const struct bin_op *op)
{
	for (uint32_t pc = 0; b->lines && pc < b->ncode; pc++)
		if (b->code[pc].op == BIN_GETS && b->lines[pc] == op->line)
			return pc;
	return 0;
}

static int add_get(struct eval *e, uint32_t rank, const struct bin_op *op, struct gets *out, struct ir_fault *fault)
{
	struct get g = { .seq = (uint32_t)out->v.n, .len = op->len, .src.rank = op->peer };
	struct rank_buffers *p;
	int err;

	if (op->kind != BIN_OP_GETS)
		return op->kind == BIN_OP_COPY && !g.seq ? 0 : -ERR_CORRUPT;
	if (!op->len)
		return 0;
	*fault = (struct ir_fault){ 0 };
	err = find_buffers(e, rank, &p, fault);
	err = err ? err : locate_range(e, p, op->buf[0], op->off[0], op->len, rank, &g.buf, &g.off, fault);
	err = err ? err : find_buffers(e, op->peer, &p, fault);
	err = err ? err : locate_range(e, p, op->buf[1], op->off[1], op->len, op->peer, &g.src.buf, &g.src.off, fault);
	if (err && !e->c->name && !fault->where)
		fault->where = gets_instruction(&e->c->def, op);
	return err ? err : VEC_PUSH(&out->v, g);
}

static int by_target(const void *a, const void *b)
{
	const struct get *x = a, *y = b;

	ORDER_BY(x->buf, y->buf);
	ORDER_BY(x->off, y->off);
	ORDER_BY(x->len, y->len);
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int collect_expected(const struct claim *c, struct gets *g, struct expected *out, struct ir_fault *fault)
{
	bool sorted = true;

	if (VEC_RESERVE(&out->src, g->v.n)) /* exactly one for each gets: all ranks together may have nranks^2 sources */
		return -ERR_NOMEM;
	for (size_t i = 1; i < g->v.n && sorted; i++)
		sorted = by_target(&g->v.at[i - 1], &g->v.at[i]) < 0;
	if (!sorted)
		qsort(g->v.at, g->v.n, sizeof *g->v.at, by_target);
	for (size_t i = 0; i < g->v.n; i++) {
		const struct get *x = &g->v.at[i];
		struct expected_range *w = out->v.n ? &out->v.at[out->v.n - 1] : NULL;

		if (w && w->buf == x->buf && w->off == x->off && w->len == x->len)
			w->nsrc++;
		else if (w && w->buf == x->buf && x->off < w->off + w->len)
			return wrong(c, fault, "the result of [%" PRIu64 " +: %" PRIu64 "] of %s overlaps that of [%" PRIu64
				     " +: %" PRIu64 "]", x->off, x->len, bin_str(c->b, c->b->buffers[x->buf].name), w->off,
				     w->len);
		else if (VEC_PUSH(&out->v, (struct expected_range){ x->buf, (uint32_t)out->src.n, 1, x->off, x->len }))
			return -ERR_NOMEM;
		out->src.at[out->src.n++] = x->src;
	}
	return 0;
}

/* Stores the sizes of a rank's buffers, and which buffer is in place. */
static int describe_buffers(const struct eval *e, const struct rank_buffers *p, struct expected *out)
{
	const struct claim *c = e->c;
	out->size.at = mem_calloc(c->b->nbuffers, sizeof *out->size.at);
	if (!out->size.at)
		return -ERR_NOMEM;
	out->size.n = out->size.cap = c->b->nbuffers;
	for (uint32_t i = 0; i < c->def.nbuffers; i++)
		if (c->def.buffers[i].mode != BIN_SCRATCH)
			out->size.at[c->name ? c->buf[i] : i] = p->size[i];
	if (p->inplace.len) {
		out->inplace.buf = c->name ? c->buf[p->inplace.buf[1]] : p->inplace.buf[1];
		out->inplace.off = p->inplace.off[1];
		out->inplace.len = p->inplace.len;
	}
	return 0;
}

static int expected_of(struct eval *e, uint32_t rank, struct expected *out, struct ir_fault *fault)
{
	struct bin_args a = e->args;
	struct ir_rank r = { 0 };
	struct gets g = { 0 };
	struct rank_buffers *own;
	int err;

	*out = (struct expected){ 0 };
	a.rank = rank;
	a.args = e->args.by_rank[rank];
	err = find_buffers(e, rank, &own, fault);
	err = err ? err : report_definition_fault(e->c, ir_rank_result(&e->c->def, &a, &r, fault), fault);
	for (uint32_t i = 0; i < r.nops && !err; i++)
		err = add_get(e, rank, &r.ops[i], &g, fault);
	if (!err) {
		err = collect_expected(e->c, &g, out, fault);
		if (err && r.nops && !e->c->name)
			fault->where = gets_instruction(&e->c->def, &r.ops[r.nops - 1]);
	}
	if (err)
		expected_fini(out);
	VEC_FREE(&g.v);
	ir_rank_fini(&r);
	return err;
}

void expected_fini(struct expected *w)
{
	VEC_FREE(&w->v);
	VEC_FREE(&w->src);
	VEC_FREE(&w->size);
}

int claim_expected(const struct claim *c, const struct bin_args *args, struct expected *out, struct ir_fault *fault)
{
	struct eval e;
	int err;

	*out = (struct expected){ 0 };
	*fault = (struct ir_fault){ 0 };
	if (!c->any)
		return 0;
	err = eval_open(&e, c, args);
	if (err)
		return err;
	err = expected_of(&e, args->rank, out, fault);
	if (!err && describe_buffers(&e, &e.buffers[args->rank], out)) {
		expected_fini(out);
		err = -ERR_NOMEM;
	}
	eval_close(&e);
	return err;
}

int claim_all_expected(const struct claim *c, const struct bin_args *args, struct expected *out, uint32_t *rank,
		       struct ir_fault *fault)
{
	struct eval e;
	int err;

	memset(out, 0, args->size * sizeof *out);
	*fault = (struct ir_fault){ 0 };
	*rank = 0;
	if (!c->any)
		return 0;
	err = eval_open(&e, c, args);
	if (err)
		return err;
	for (uint32_t r = 0; r < args->size && !err; r++) {
		*rank = r;
		err = expected_of(&e, r, &out[r], fault);
	}
	eval_close(&e);
	for (uint32_t r = 0; r < args->size && err; r++)
		expected_fini(&out[r]);
	return err;
}
