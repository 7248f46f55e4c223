/* SPDX-License-Identifier: BSD-3-Clause
 * Races. */
#include "compiler/bin_check.h"
#include "compiler/checks.h"
#include "compiler/events.h"
#include "util/err.h"

#include <stdlib.h>

struct access {
	uint64_t lo, hi;
	uint32_t op;
	uint16_t buf;
	bool write;
};

static int by_range(const void *a, const void *b)
{
	const struct access *x = a, *y = b;

	if (x->buf != y->buf)
		return x->buf < y->buf ? -1 : 1;
	return (x->lo > y->lo) - (x->lo < y->lo);
}

struct races {
	const struct ir_graph *g;
	struct ir_events ev;
	uint32_t *stamp, *stack, round;
	uint64_t work; /* left */
	unsigned found;
	uint32_t last[2]; /* that were found */
};

/* Past so many steps, or findings, the search ends. */
#define RACE_WORK ((uint64_t)1 << 26)
#define RACES 20u

/* Whether event from comes before event to, walking back from to. */
static bool before(struct races *x, uint32_t from, uint32_t to)
{
	uint32_t n = 0;

	x->round++;
	x->stack[n++] = to;
	x->stamp[to] = x->round;
	while (n) {
		uint32_t e = x->stack[--n];

		if (e == from)
			return true;
		x->work -= x->work > 0;
		for (uint32_t p = x->ev.pred_at[e]; p < x->ev.pred_at[e + 1]; p++) {
			uint32_t pred = x->ev.pred[p];

			/* What comes earlier in the order than from does not come after it. */
			if (x->stamp[pred] != x->round && x->ev.pos[pred] >= x->ev.pos[from]) {
				x->stamp[pred] = x->round;
				x->stack[n++] = pred;
			}
		}
	}
	return false;
}

/* Whether op a (numbered through) is through with its bytes before op b touches them. The bytes of a send
 * are also read when its recv is complete; those of a recv are not written before its send starts. */
static bool ordered(struct races *x, uint32_t a, bool a_sends, uint32_t b, bool b_recvs)
{
	uint32_t from[2] = { 2 * a + 1, 0 }, to[2] = { 2 * b, 0 };
	int nf = 1, nt = 1;

	if (a_sends && x->ev.partner[a])
		from[nf++] = 2 * (x->ev.partner[a] - 1) + 1;
	if (b_recvs && x->ev.partner[b])
		to[nt++] = 2 * (x->ev.partner[b] - 1);
	for (int i = 0; i < nf; i++)
		for (int k = 0; k < nt; k++)
			if (before(x, from[i], to[k]))
				return true;
	return false;
}

static void race(struct goal_diags *d, struct races *x, const struct check *self, enum goal_severity s,
		 uint32_t r, const struct access *a, const struct access *b)
{
	const struct ir_rank *rank = &x->g->ranks[r];
	uint32_t base = x->ev.base[r];
	uint8_t ka = rank->ops[a->op].kind, kb = rank->ops[b->op].kind;

	if (x->found && x->last[0] == base + a->op && x->last[1] == base + b->op)
		return; /* it is known by another range */
	if (a->op == b->op || (!a->write && !b->write) ||
	    ordered(x, base + a->op, ka == BIN_OP_SEND, base + b->op, kb == BIN_OP_RECV) ||
	    ordered(x, base + b->op, kb == BIN_OP_SEND, base + a->op, ka == BIN_OP_RECV))
		return;
	uint32_t first = a->op < b->op ? a->op : b->op, second = a->op < b->op ? b->op : a->op;
	struct goal_loc at = ir_graph_loc(x->g, &rank->ops[first]);

	x->found++;
	x->last[0] = base + a->op;
	x->last[1] = base + b->op;
	check_found(d, x->g, self->name, s, r, second,
		    "rank %u: this op and op %u (line %u) touch the same bytes, one writes, and nothing orders them",
	      r, first, at.line);
}

static int race_of_rank(struct goal_diags *d, struct races *x, const struct check *self,
			enum goal_severity s, uint32_t r)
{
	const struct ir_rank *rank = &x->g->ranks[r];
	VEC(struct access) v = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < rank->nops && !err; i++) {
		const struct bin_op *op = &rank->ops[i];
		const char *operands = bin_operands(op->kind);

		for (unsigned k = 0; k < bin_nranges(op->kind) && op->len && !err; k++) {
			bool write = operands[0] == 'P' ? operands[1] == 'R' : k == 1;

			err = VEC_PUSH(&v, (struct access){ op->off[k], op->off[k] + op->len, i, op->buf[k],
							    write });
		}
	}
	if (v.n > 1)
		qsort(v.at, v.n, sizeof *v.at, by_range);
	for (size_t i = 0; i < v.n && !err; i++)
		for (size_t k = i + 1; k < v.n && v.at[k].buf == v.at[i].buf && v.at[k].lo < v.at[i].hi &&
				       x->work && x->found < RACES;
		     k++, x->work -= x->work > 0)
			race(d, x, self, s, r, &v.at[i], &v.at[k]);
	/* An op of its own that reads and writes one range is at fault as well. */
	for (uint32_t i = 0; i < rank->nops && !err; i++) {
		const struct bin_op *op = &rank->ops[i];

		if (bin_nranges(op->kind) == 2 && op->buf[0] == op->buf[1] && op->len &&
		    op->off[0] < op->off[1] + op->len && op->off[1] < op->off[0] + op->len &&
		    (op->kind == BIN_OP_COPY || op->off[0] != op->off[1]))
			check_found(d, x->g, self->name, s, r, i, "rank %u: the two ranges of this op overlap", r);
	}
	VEC_FREE(&v);
	return err;
}

CHECK(race)
{
	struct races x = { .g = g, .work = RACE_WORK };
	struct ir_match *m = NULL;
	size_t nm = 0;
	int err = g->plain ? 0 : ir_graph_match(g, &m, &nm);

	if (g->plain) /* every op has bytes of its own */
		return 0;
	err = err ? err : ir_events_init(&x.ev, g, m, nm, false);
	if (!err) {
		uint32_t n = x.ev.base[g->nranks];

		x.stamp = mem_calloc(2 * (size_t)n, sizeof *x.stamp);
		x.stack = mem_alloc(2 * (size_t)n * sizeof *x.stack);
		err = x.stamp && x.stack ? ir_events_sort(&x.ev) : -ERR_NOMEM;
	}
	for (uint32_t r = 0; r < g->nranks && !err && x.found < RACES; r++) {
		err = race_of_rank(d, &x, self, s, r);
		if (!x.work) {
			goal_diag(d, GOAL_WARNING, (struct goal_loc){ .file = (uint16_t)g->file }, self->name,
				  "%sthe schedule is too long to look for races beyond rank %u", g->sample, r);
			break;
		}
	}
	free(m);
	free(x.stamp);
	free(x.stack);
	ir_events_fini(&x.ev);
	return err;
}
