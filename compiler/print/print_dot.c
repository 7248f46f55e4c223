/* SPDX-License-Identifier: BSD-3-Clause
 * Prints schedules as graphs for Graphviz. Each rank is a row, in order, and an op is to the right of those that it
 * waits for. Every node has its position here, because a layout by Graphviz itself puts ranks in any order, and 64 of them side by
 * side. */
#include "compiler/print/print.h"

#include "compiler/analysis/events.h"
#include "compiler/ir/smcq.h"
#include "util/err.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The picture in preparation. Ops are numbered as in ir_events. */
struct dot {
	const struct bin *b;
	const struct ir_graph *g;
	struct ir_events ev;
	uint32_t *column, *last; /* column of each op; 1 + the last column of each rank */
	uint32_t *queue; /* for each op, the queue that carries it out, or BIN_NONE */
	size_t letters, lines; /* the longest line, and the most lines, of a node */
};

/* ---- columns ---- */

/* Places an op behind the last op of its rank, and behind all ops that it waits for and that have a column. */
static void place(struct dot *d, uint32_t rank, uint32_t op)
{
	uint32_t column = d->last[rank];

	for (uint32_t e = 2 * op; e <= 2 * op + 1; e++)
		for (uint32_t p = d->ev.pred_at[e]; p < d->ev.pred_at[e + 1]; p++) {
			const uint32_t on = d->ev.pred[p] / 2;

			if (on < d->ev.nops && d->column[on] != BIN_NONE && d->column[on] >= column)
				column = d->column[on] + 1;
		}
	d->column[op] = column;
	d->last[rank] = column + 1;
}

/* Places all ops in the order of their events, and then those of a cycle. A send is placed when it starts, because its recv
 * may complete before the send does; any other op when it completes. */
static void place_all(struct dot *d)
{
	uint32_t rank = 0;

	memset(d->column, 0xff, d->ev.nops * sizeof *d->column);
	for (uint32_t at = 0; at < d->ev.sorted; at++) {
		const uint32_t op = d->ev.order[at] / 2;

		if (op >= d->ev.nops)
			continue;
		rank = ir_events_rank_after(&d->ev, op, rank);
		if (d->ev.order[at] % 2 != ir_op_sends(&d->g->ranks[rank].ops[op - d->ev.base[rank]]))
			place(d, rank, op);
	}
	for (uint32_t r = 0; r < d->ev.nranks; r++)
		for (uint32_t op = d->ev.base[r]; op < d->ev.base[r + 1]; op++)
			if (d->column[op] == BIN_NONE)
				place(d, r, op);
}

static void find_queues(struct dot *d)
{
	memset(d->queue, 0xff, d->ev.nops * sizeof *d->queue);
	for (uint32_t r = 0; d->g->queues && r < d->g->nranks; r++) {
		const struct smcq_rank *rank = &d->g->queues->ranks[r];

		for (uint32_t q = 0; q < rank->queues.n; q++)
			for (uint32_t k = 0; k < rank->queues.at[q].n; k++) {
				const uint32_t op = rank->entries.at[rank->queues.at[q].first + k].op;

				if (op < d->g->ranks[r].nops && d->queue[d->ev.base[r] + op] == BIN_NONE)
					d->queue[d->ev.base[r] + op] = q;
			}
	}
}

/* ---- nodes ---- */

/* Adds a name. Names in a binary may hold any characters. */
static void add_name(struct text *t, const char *s)
{
	for (; *s; s++)
		text_add(t, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
}

static void add_rank_or_tag(struct text *t, const char *before, uint32_t v)
{
	if (v == BIN_ANY)
		text_add(t, "%s any", before);
	else
		text_add(t, "%s %u", before, v);
}

static void add_ranges(struct text *t, const struct dot *d, const struct bin_op *o)
{
	if (o->kind == BIN_OP_CALC)
		text_add(t, "\\n%" PRIu64 " ns", o->len);
	else if (d->g->plain && (ir_op_sends(o) || ir_op_recvs(o)))
		text_add(t, "\\n%" PRIu64 " B", o->len);
	for (unsigned k = 0; !d->g->plain && k < bin_nranges(o->kind); k++) {
		text_add(t, k ? "\\ninto " : o->kind == BIN_OP_REDUCE_WITH ? "\\nwith " : "\\n");
		add_name(t, bin_str(d->b, d->b->buffers[o->buf[k]].name));
		text_add(t, "[%" PRIu64 " +: %" PRIu64 "]", o->off[k], o->len);
	}
}

/* Adds the lines of a node: the op, the ranges of its buffers, and where they apply the tag and the queue. */
static void add_lines(struct text *t, const struct dot *d, uint32_t rank, uint32_t i)
{
	const struct bin_op *o = &d->g->ranks[rank].ops[i];
	const uint32_t queue = d->queue[d->ev.base[rank] + i];
	const char *name = ir_graph_name(d->g, o);

	if (*name)
		add_name(t, name);
	else
		text_add(t, "%u", i);
	text_add(t, ": %s", ir_op_word(o->kind));
	if (ir_op_sends(o) || ir_op_recvs(o))
		add_rank_or_tag(t, ir_op_sends(o) ? " to" : " from", o->peer);
	add_ranges(t, d, o);
	if (ir_op_sends(o) || ir_op_recvs(o))
		add_rank_or_tag(t, "\\ntag", o->tag);
	if (queue != BIN_NONE && d->g->queues->ranks[rank].queues.at[queue].mode == BIN_Q_CPU)
		text_add(t, "\\non the CPU");
	else if (queue != BIN_NONE)
		text_add(t, "\\nqueue %u", queue);
}

/* Finds how large a node has to be. */
static int measure(struct dot *d)
{
	struct text t = { 0 };
	char *all;
	int err;

	for (uint32_t r = 0; r < d->g->nranks; r++)
		for (uint32_t i = 0; i < d->g->ranks[r].nops && !t.err; i++) {
			size_t lines = 1, from = 0;

			t.n = 0;
			add_lines(&t, d, r, i);
			for (size_t k = 0; k < t.n; k++)
				if (k + 1 == t.n || (t.at[k] == '\\' && t.at[k + 1] == 'n')) {
					d->letters = k + 1 - from > d->letters ? k + 1 - from : d->letters;
					lines += k + 1 < t.n;
					from = k + 2;
				}
			d->lines = lines > d->lines ? lines : d->lines;
		}
	err = text_take(&t, &all);
	free(all);
	return err;
}

/* ---- the graph ---- */

/* The distance of columns and of rows, in inches, and the height of a node. */
static double wide(const struct dot *d)
{
	return 0.5 + 0.08 * (double)d->letters;
}

static double high(const struct dot *d)
{
	return 0.1 + 0.16 * (double)d->lines;
}

static double row(const struct dot *d, uint32_t rank)
{
	return 0 - (high(d) + 0.55) * rank;
}

/* Adds a dependency. An arrow that is longer than from node to node bends in a point above the nodes between them. */
static void add_dependency(struct text *t, const struct dot *d, uint32_t r, uint32_t op, uint32_t dep)
{
	const uint32_t on = dep & ~BIN_START, *column = d->column + d->ev.base[r];
	const char *dashed = dep & BIN_START ? " [style=dashed]" : "";

	if (column[op] == column[on] + 1) {
		text_add(t, "  r%u_%u -> r%u_%u%s;\n", r, on, r, op, dashed);
		return;
	}
	text_add(t, "  w%u_%u_%u [pos=\"%.2f,%.2f!\", shape=point, width=0.01];\n", r, on, op,
		 wide(d) * (1 + (column[op] + (double)column[on]) / 2), row(d, r) + high(d) / 2 + 0.35);
	text_add(t, "  r%u_%u:n -> w%u_%u_%u [arrowhead=none]%s;\n", r, on, r, on, op, dashed);
	text_add(t, "  w%u_%u_%u -> r%u_%u:n%s;\n", r, on, op, r, op, dashed);
}

static void add_rank(struct text *t, const struct dot *d, uint32_t r)
{
	const struct ir_rank *rank = &d->g->ranks[r];

	text_add(t, "  rank_%u [label=\"rank %u\", pos=\"0,%.2f!\", shape=plaintext, fontsize=14];\n", r, r, row(d, r));
	for (uint32_t i = 0; i < rank->nops; i++) {
		text_add(t, "  r%u_%u [label=\"", r, i);
		add_lines(t, d, r, i);
		text_add(t, "\", pos=\"%.2f,%.2f!\"];\n", wide(d) * (d->column[d->ev.base[r] + i] + 1), row(d, r));
	}
	for (uint32_t i = 0; i < rank->nops; i++)
		for (uint32_t k = rank->dep_at[i]; k < rank->dep_at[i + 1]; k++)
			add_dependency(t, d, r, i, rank->deps[k]);
}

static int add_all(struct text *t, struct dot *d, const struct ir_match *m, size_t nm)
{
	const char *name = bin_str(d->b, d->b->meta->name);
	int err;

	place_all(d);
	find_queues(d);
	err = measure(d);
	text_add(t, "digraph schedule {\n  graph [layout=neato, splines=line, outputorder=edgesfirst, labelloc=t, "
		    "labeljust=l, fontname=\"sans-serif\",\n    label=\"");
	add_name(t, *name ? name : "schedule");
	text_add(t, " on %u rank%s\\la row is a rank; an op stands to the right of the ops that it waits for\\larrows: black from an op to the one that "
		    "requires it (dashed: irequires), blue messages\\l \\l\"];\n",
		 d->g->nranks, d->g->nranks == 1 ? "" : "s");
	text_add(t, "  node [shape=box, style=filled, fillcolor=white, fontname=\"sans-serif\", fontsize=10, fixedsize=true, "
		    "width=%.2f, height=%.2f];\n",
		 wide(d) - 0.35, high(d));
	for (uint32_t r = 0; r < d->g->nranks; r++)
		add_rank(t, d, r);
	for (size_t i = 0; i < nm; i++)
		text_add(t, "  r%u_%u -> r%u_%u [color=blue];\n", m[i].src, m[i].send, m[i].dst, m[i].recv);
	text_add(t, "}\n");
	return err;
}

int print_dot(const struct bin *b, const struct ir_graph *g, char **out)
{
	struct dot d = { .b = b, .g = g };
	struct ir_match *m = NULL;
	struct text t = { 0 };
	size_t nm = 0;
	int err = ir_graph_match(g, &m, &nm), late;

	err = err ? err : ir_events_init(&d.ev, g, m, nm, false);
	err = err ? err : ir_events_sort(&d.ev);
	if (!err) {
		d.column = mem_alloc(d.ev.nops * sizeof *d.column);
		d.queue = mem_alloc(d.ev.nops * sizeof *d.queue);
		d.last = mem_calloc(g->nranks, sizeof *d.last);
		err = d.column && d.queue && d.last ? add_all(&t, &d, m, nm) : -ERR_NOMEM;
	}
	ir_events_fini(&d.ev);
	free(d.column);
	free(d.queue);
	free(d.last);
	free(m);
	t.err = t.err ? t.err : err;
	late = text_take(&t, out);
	return err ? err : late;
}
