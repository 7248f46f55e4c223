/* SPDX-License-Identifier: BSD-3-Clause
 * Lowers plain GOAL to the graph of a whole file, with the locations and labels that diagnostics show. stream.c needs no
 * graph. */
#include "compiler/lower/lower.h"

#include "util/err.h"

#include <stdlib.h>
#include <string.h>

struct lower {
	struct goal_diags *d;
	struct ir_graph *g;
	unsigned file;
	struct goal_loc num_at;
	bool *seen;
	size_t len; /* length of the text */
	uint64_t want, given; /* number of ranks that num_ranks says, and number of ranks read so far */
	/* The fields below are the state of the rank being read. */
	uint32_t rank;
	struct goal_loc rank_at;
	VEC(struct goal_plain_op) ops;
	VEC(struct goal_plain_dep) deps;
	const struct goal_labels *labels;
	VEC(uint32_t) op_of; /* for each label, 1 + number of its op, or 0 */
	VEC(struct bin_dep) edges;
};

static int on_num_ranks(void *arg, uint64_t n, struct goal_loc at)
{
	struct lower *l = arg;

	l->num_at = at;
	if (n == 0 || n > LOWER_MAX_RANKS) {
		goal_diag(l->d, GOAL_ERROR, at, "overflow", "num_ranks is 1 to %u", LOWER_MAX_RANKS);
		return 0;
	}
	l->want = n;
	if (lower_too_short(n, l->len)) /* most ranks are missing: this is reported, and the others need no check */
		return 0;
	l->g->ranks = mem_calloc(n, sizeof *l->g->ranks);
	l->seen = mem_calloc(n, sizeof *l->seen);
	if (!l->g->ranks || !l->seen)
		return -ERR_NOMEM;
	l->g->nranks = (uint32_t)n;
	return 0;
}

static int on_rank(void *arg, uint32_t rank, struct goal_loc at)
{
	struct lower *l = arg;

	l->rank = rank;
	l->rank_at = at;
	l->ops.n = l->deps.n = 0;
	return 0;
}

static int on_op(void *arg, const struct goal_plain_op *op)
{
	struct lower *l = arg;

	return VEC_PUSH(&l->ops, *op);
}

static int on_dep(void *arg, const struct goal_plain_dep *dep)
{
	struct lower *l = arg;

	return VEC_PUSH(&l->deps, *dep);
}

static int define_labels(struct lower *l)
{
	if (VEC_RESERVE(&l->op_of, l->labels->end.n + 1))
		return -ERR_NOMEM;
	memset(l->op_of.at, 0, (l->labels->end.n + 1) * sizeof *l->op_of.at);
	for (uint32_t i = 0; i < l->ops.n; i++) {
		const struct goal_plain_op *op = &l->ops.at[i];
		size_t len;
		const char *s;

		if (op->label == GOAL_ANY)
			continue;
		if (!l->op_of.at[op->label]) {
			l->op_of.at[op->label] = i + 1;
			continue;
		}
		s = goal_label_text(l->labels, op->label, &len);
		goal_diag(l->d, GOAL_ERROR, op->loc, "duplicate-label", "the label %.*s is already on line %u",
			  (int)len, s, l->ops.at[l->op_of.at[op->label] - 1].loc.line);
	}
	return 0;
}

/* Returns 1 + the number of a label's op, or 0 after reporting that there is none. */
static uint32_t op_of(struct lower *l, uint32_t label, struct goal_loc at)
{
	size_t len;
	const char *s = goal_label_text(l->labels, label, &len);

	if (!l->op_of.at[label])
		goal_diag(l->d, GOAL_ERROR, at, "unknown-label", "rank %u has no label %.*s", l->rank, (int)len, s);
	return l->op_of.at[label];
}

static int resolve_deps(struct lower *l)
{
	for (size_t i = 0; i < l->deps.n; i++) {
		const struct goal_plain_dep *dep = &l->deps.at[i];
		uint32_t op = op_of(l, dep->op, dep->op_loc), on = op_of(l, dep->on, dep->on_loc);

		if (op && on &&
		    VEC_PUSH(&l->edges,
			     (struct bin_dep){ op - 1, (on - 1) | (dep->start ? BIN_START : 0) }))
			return -ERR_NOMEM;
	}
	return 0;
}

static int keep_name(struct lower *l, uint32_t label)
{
	struct ir_graph *g = l->g;
	size_t len = 0;
	const char *s = label == GOAL_ANY ? "" : goal_label_text(l->labels, label, &len);

	if (VEC_PUSH(&g->name_at, g->names.n) || VEC_RESERVE(&g->names, g->names.n + len + 1))
		return -ERR_NOMEM;
	memcpy(g->names.at + g->names.n, s, len);
	g->names.n += len;
	g->names.at[g->names.n++] = '\0';
	return 0;
}

static int on_end(void *arg, const struct goal_labels *labels, bool broken)
{
	struct lower *l = arg;
	struct ir_graph *g = l->g;
	uint32_t r = l->rank;
	int err;

	l->given++;
	if (!g->ranks)
		return 0;
	if (r >= g->nranks) {
		goal_diag(l->d, GOAL_ERROR, l->rank_at, "peer", "rank %u is out of range: num_ranks is %u", r,
			  g->nranks);
		return 0;
	}
	if (l->seen[r]) {
		goal_diag(l->d, GOAL_ERROR, l->rank_at, "duplicate-rank", "rank %u is given twice", r);
		return 0;
	}
	l->seen[r] = true;
	if (l->ops.n > BIN_MAX_OPS)
		return -ERR_RANGE;
	struct ir_rank *out = &g->ranks[r];

	l->labels = labels;
	out->nops = (uint32_t)l->ops.n;
	out->ops = mem_calloc(l->ops.n, sizeof *out->ops);
	err = out->ops ? define_labels(l) : -ERR_NOMEM;
	uint64_t bytes[2] = { 0, 0 };

	for (size_t i = 0; !err && i < l->ops.n; i++) {
		const struct goal_plain_op *p = &l->ops.at[i];
		struct bin_op *op = &out->ops[i];

		*op = (struct bin_op){ .kind = p->kind,
				       .peer = p->peer,
				       .tag = p->tag,
				       .cpu = p->cpu,
				       .nic = p->nic,
				       .len = p->size,
				       .line = (uint32_t)g->locs.n + 1 };
		if (p->kind != GOAL_CALC) {
			unsigned buf = p->kind == GOAL_RECV;

			op->buf[0] = (uint16_t)buf;
			op->off[0] = bytes[buf];
			if (p->size > (uint64_t)INT64_MAX - bytes[buf]) {
				if (p->size != UINT64_MAX) /* otherwise the parser has reported the size */
					goal_diag(l->d, GOAL_ERROR, p->loc, "overflow",
						  "with this op the bytes of rank %u exceed %lld", r,
						  (long long)INT64_MAX);
				op->len = 0;
			}
			bytes[buf] += op->len;
			if (p->peer >= g->nranks && p->peer != GOAL_ANY)
				goal_diag(l->d, GOAL_ERROR, p->loc, "peer",
					  "peer %u is out of range: num_ranks is %u", p->peer, g->nranks);
		}
		if (VEC_PUSH(&g->locs, p->loc) || keep_name(l, p->label))
			err = -ERR_NOMEM;
	}
	l->edges.n = 0;
	if (!err && !broken)
		err = resolve_deps(l);
	return err ? err : ir_rank_set_deps(out, l->edges.at, (uint32_t)l->edges.n);
}

static void report_missing(const struct lower *l)
{
	uint64_t more = l->want - l->given - 1;
	uint32_t i = 0;

	while (l->seen && l->seen[i])
		i++;
	if (!l->seen)
		goal_diag(l->d, GOAL_ERROR, l->num_at, "missing-rank",
			  "num_ranks is %llu, but the file has %llu", (unsigned long long)l->want,
			  (unsigned long long)l->given);
	else if (more)
		goal_diag(l->d, GOAL_ERROR, l->num_at, "missing-rank",
			  "rank %u and %llu more are missing: num_ranks is %u", i, (unsigned long long)more,
			  l->g->nranks);
	else
		goal_diag(l->d, GOAL_ERROR, l->num_at, "missing-rank", "rank %u is missing: num_ranks is %u", i,
			  l->g->nranks);
}

int lower_plain(struct goal_diags *d, unsigned file, struct ir_graph *g)
{
	struct lower l = { .d = d, .g = g, .file = file, .len = goal_diags_len(d, file) };
	const struct goal_plain_sink sink = { &l, on_num_ranks, on_rank, on_op, on_dep, on_end };
	unsigned errors = goal_diags_errors(d);
	int err;

	*g = (struct ir_graph){ .nbuffers = 2, .plain = true, .file = file };
	err = goal_parse_plain(d, file, &sink);
	/* After a syntax error, a rank may be missing only because of that error. */
	if (!err && goal_diags_errors(d) == errors && l.given < l.want)
		report_missing(&l);
	free(l.seen);
	VEC_FREE(&l.ops);
	VEC_FREE(&l.deps);
	VEC_FREE(&l.op_of);
	VEC_FREE(&l.edges);
	return err;
}

int lower_plain_begin(struct ir_image *im, uint32_t nranks)
{
	im->meta.flags = BIN_F_PLAIN;
	im->meta.nranks = nranks;
	for (unsigned i = 0; i < 2; i++) {
		int64_t x = ir_image_string(im, i ? "recv" : "send");

		if (x < 0 ||
		    VEC_PUSH(&im->buffers, (struct bin_buffer){ (uint32_t)x, i ? BIN_OUT : BIN_IN, 0, 0 }))
			return -ERR_NOMEM;
	}
	return ir_image_begin(im, nranks);
}

int64_t lower_plain_class(struct ir_image *im, const struct bin_op *op)
{
	struct bin_class c = { .kind = op->kind,
			       .tag = op->tag,
			       .cpu = op->cpu,
			       .nic = op->nic,
			       .buf = { op->buf[0], 0 },
			       .off = { BIN_NONE, BIN_NONE },
			       .len = BIN_NONE };

	if (op->kind != BIN_OP_CALC || op->len > UINT32_MAX) {
		int64_t row = ir_image_expr(im, (struct bin_expr){ .op = BIN_CONST, .imm = (int64_t)op->len });

		if (row < 0)
			return row;
		c.len = (uint32_t)row;
	}
	return ir_image_class(im, &c);
}
