/* SPDX-License-Identifier: BSD-3-Clause
 * Plain GOAL to the IR: labels become op numbers, rank by rank as the parser delivers them. */
#include "compiler/lower.h"

#include "util/err.h"

#include <stdlib.h>
#include <string.h>

struct lower {
	struct goal_diags *d;
	struct ir_graph *g;
	unsigned file;
	struct goal_loc num_at;
	bool *seen;
	VEC(uint32_t) table; /* hash of labels, op + 1 */
	VEC(struct bin_dep) edges;
	size_t len; /* of the text */
	uint64_t want, given; /* ranks */
};

#define MAX_RANKS (1u << 28)
/* The shortest text of a rank is "rank0{}". */
#define MIN_RANK_LEN 7u

static int on_num_ranks(void *arg, uint64_t n, struct goal_loc at)
{
	struct lower *l = arg;

	l->num_at = at;
	if (n == 0 || n > MAX_RANKS) {
		goal_diag(l->d, GOAL_ERROR, at, "overflow", "num_ranks is 1 to %u", MAX_RANKS);
		return 0;
	}
	l->want = n;
	if (n > 1000 && n > l->len / MIN_RANK_LEN) /* so many are missing that it is no use to look at the others */
		return 0;
	l->g->ranks = mem_calloc(n, sizeof *l->g->ranks);
	l->seen = mem_calloc(n, sizeof *l->seen);
	if (!l->g->ranks || !l->seen)
		return -ERR_NOMEM;
	l->g->nranks = (uint32_t)n;
	return 0;
}

static uint32_t hash(const char *s, uint32_t len)
{
	uint32_t h = 2166136261u;

	for (uint32_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h;
}

/* The slot of a label: holds an op + 1, or 0 where the label would go. */
static uint32_t *find(struct lower *l, const struct goal_plain_rank *r, struct goal_name name)
{
	const char *s = r->names.at + name.off;
	size_t mask = l->table.n - 1, at = hash(s, name.len) & mask;

	while (l->table.at[at]) {
		struct goal_name other = r->ops.at[l->table.at[at] - 1].label;

		if (other.len == name.len && !memcmp(r->names.at + other.off, s, name.len))
			break;
		at = (at + 1) & mask;
	}
	return &l->table.at[at];
}

static int clear_table(struct lower *l, size_t ops)
{
	size_t want = 16;

	while (want < ops * 2)
		want *= 2;
	if (VEC_RESERVE(&l->table, want))
		return -ERR_NOMEM;
	l->table.n = want;
	memset(l->table.at, 0, want * sizeof *l->table.at);
	return 0;
}

static int define_labels(struct lower *l, const struct goal_plain_rank *r)
{
	int err = clear_table(l, r->ops.n);

	for (uint32_t i = 0; !err && i < r->ops.n; i++) {
		const struct goal_plain_op *op = &r->ops.at[i];
		uint32_t *s;

		if (!op->label.len)
			continue;
		s = find(l, r, op->label);
		if (*s) {
			struct goal_loc at = r->ops.at[*s - 1].loc;

			goal_diag(l->d, GOAL_ERROR, op->loc, "duplicate-label",
				  "the label %.*s is already on line %u", (int)op->label.len,
				  r->names.at + op->label.off, at.line);
		} else {
			*s = i + 1;
		}
	}
	return err;
}

static int resolve(struct lower *l, const struct goal_plain_rank *r)
{
	for (size_t i = 0; i < r->deps.n; i++) {
		const struct goal_plain_dep *dep = &r->deps.at[i];
		uint32_t op = *find(l, r, dep->op), on = *find(l, r, dep->on);

		if (!op)
			goal_diag(l->d, GOAL_ERROR, dep->op_loc, "unknown-label",
				  "rank %u has no label %.*s", r->rank, (int)dep->op.len,
				  r->names.at + dep->op.off);
		if (!on)
			goal_diag(l->d, GOAL_ERROR, dep->on_loc, "unknown-label",
				  "rank %u has no label %.*s", r->rank, (int)dep->on.len,
				  r->names.at + dep->on.off);
		if (op && on &&
		    VEC_PUSH(&l->edges,
			     (struct bin_dep){ op - 1, (on - 1) | (dep->start ? BIN_START : 0) }))
			return -ERR_NOMEM;
	}
	return 0;
}

static int keep_name(struct ir_graph *g, const struct goal_plain_rank *r, struct goal_name name)
{
	if (VEC_PUSH(&g->name_at, g->names.n) || VEC_RESERVE(&g->names, g->names.n + name.len + 1))
		return -ERR_NOMEM;
	if (name.len)
		memcpy(g->names.at + g->names.n, r->names.at + name.off, name.len);
	g->names.n += name.len;
	g->names.at[g->names.n++] = '\0';
	return 0;
}

static int on_rank(void *arg, const struct goal_plain_rank *r)
{
	struct lower *l = arg;
	struct ir_graph *g = l->g;
	int err;

	l->given++;
	if (!g->ranks)
		return 0;
	if (r->rank >= g->nranks) {
		goal_diag(l->d, GOAL_ERROR, r->loc, "peer", "rank %u is out of range: num_ranks is %u",
			  r->rank, g->nranks);
		return 0;
	}
	if (l->seen[r->rank]) {
		goal_diag(l->d, GOAL_ERROR, r->loc, "duplicate-rank", "rank %u is given twice", r->rank);
		return 0;
	}
	l->seen[r->rank] = true;
	if (r->ops.n > BIN_MAX_OPS)
		return -ERR_RANGE;
	struct ir_rank *out = &g->ranks[r->rank];

	out->nops = (uint32_t)r->ops.n;
	out->ops = mem_calloc(r->ops.n, sizeof *out->ops);
	err = out->ops ? define_labels(l, r) : -ERR_NOMEM;
	uint64_t bytes[2] = { 0, 0 };

	for (size_t i = 0; !err && i < r->ops.n; i++) {
		const struct goal_plain_op *p = &r->ops.at[i];
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
				if (p->size != UINT64_MAX) /* else it has been reported */
					goal_diag(l->d, GOAL_ERROR, p->loc, "overflow",
						  "with this op the bytes of rank %u exceed %lld", r->rank,
						  (long long)INT64_MAX);
				op->len = 0;
			}
			bytes[buf] += op->len;
			if (p->peer >= g->nranks && p->peer != GOAL_ANY)
				goal_diag(l->d, GOAL_ERROR, p->loc, "peer",
					  "peer %u is out of range: num_ranks is %u", p->peer, g->nranks);
		}
		if (VEC_PUSH(&g->locs, p->loc) || keep_name(g, r, p->label))
			err = -ERR_NOMEM;
	}
	l->edges.n = 0;
	if (!err && !r->broken)
		err = resolve(l, r);
	return err ? err : ir_rank_set_deps(out, l->edges.at, (uint32_t)l->edges.n);
}

static void missing(const struct lower *l)
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
	const struct goal_plain_sink sink = { &l, on_num_ranks, on_rank };
	unsigned errors = goal_diags_errors(d);
	int err;

	*g = (struct ir_graph){ .nbuffers = 2, .plain = true, .file = file };
	err = goal_parse_plain(d, file, &sink);
	/* A rank with a syntax error may be missing because of that. */
	if (!err && goal_diags_errors(d) == errors && l.given < l.want)
		missing(&l);
	free(l.seen);
	VEC_FREE(&l.table);
	VEC_FREE(&l.edges);
	return err;
}

int lower_graph(const struct ir_graph *g, bool debug, struct ir_image *out)
{
	VEC(uint32_t) cls = { 0 };
	int64_t x = 0;
	int err = 0;

	out->meta.flags = BIN_F_PLAIN;
	out->meta.nranks = g->nranks;
	for (unsigned i = 0; i < 2 && x >= 0; i++) {
		x = ir_image_string(out, i ? "recv" : "send");
		if (x < 0 || VEC_PUSH(&out->buffers, (struct bin_buffer){ (uint32_t)x, i ? BIN_OUT : BIN_IN,
									  { 0 } }))
			return -ERR_NOMEM;
	}
	if (debug && VEC_PUSH(&out->debug_base, 0))
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < g->nranks && !err; r++) {
		const struct ir_rank *rank = &g->ranks[r];

		cls.n = 0;
		for (uint32_t i = 0; i < rank->nops && !err; i++) {
			const struct bin_op *op = &rank->ops[i];
			bool inlined = op->kind == BIN_OP_CALC && op->len <= UINT32_MAX;
			struct bin_class c = { .kind = op->kind,
					       .tag = op->tag,
					       .cpu = op->cpu,
					       .nic = op->nic,
					       .buf = { op->buf[0], 0 },
					       .off = { BIN_NONE, BIN_NONE },
					       .len = BIN_NONE };

			if (!inlined) {
				x = ir_image_expr(out, (struct bin_expr){ .op = BIN_CONST,
									  .imm = (int64_t)op->len });
				if (x < 0)
					err = (int)x;
				c.len = (uint32_t)x;
			}
			x = ir_image_class(out, &c);
			if (x < 0 || VEC_PUSH(&cls, (uint32_t)x))
				err = -ERR_NOMEM;
			if (!err && debug) {
				struct goal_loc at = ir_graph_loc(g, op);
				int64_t s = ir_image_string(out, ir_graph_name(g, op));

				if (s < 0 || VEC_PUSH(&out->debug, (struct bin_op_debug){ at.line, (uint32_t)s }))
					err = -ERR_NOMEM;
			}
		}
		if (!err)
			err = ir_image_rank(out, rank, cls.at, NULL);
		if (!err && debug && VEC_PUSH(&out->debug_base, (uint32_t)out->debug.n))
			err = -ERR_NOMEM;
	}
	VEC_FREE(&cls);
	return err;
}
