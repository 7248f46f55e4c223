/* SPDX-License-Identifier: BSD-3-Clause
 * goalsim --measured: lays a trace that goalrun has measured over the simulated one, and finds the op at which they part. */
#include "goalsim/goalsim.h"

#include "compiler/ir/ir.h"
#include "trace/read.h"
#include "util/order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART_OF 10 /* ends part if they differ by more than this part of the longer trace */

static int refuse(const struct goalsim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int refuse(const struct goalsim *s, const char *fmt, ...)
{
	va_list args;

	progress_end(s->progress);
	fprintf(stderr, "%s: error: ", option_source(s->measured));
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	return -ERR_SYS;
}

/* ---- the epoch ---- */

static int by_epoch(const void *a, const void *b)
{
	const struct trace_line *x = a, *y = b;

	ORDER_BY(x->epoch, y->epoch);
	ORDER_BY(x->rank, y->rank);
	ORDER_BY(x->op, y->op);
	ORDER_BY(x->begin, y->begin);
	return 0;
}

/* The lines of an epoch. */
struct epoch {
	size_t first, n;
	uint64_t begin, end;
};

static int by_length(const void *a, const void *b)
{
	const struct epoch *x = a, *y = b;

	ORDER_BY(x->end - x->begin, y->end - y->begin);
	ORDER_BY(x->first, y->first);
	return 0;
}

/* Finds the epoch of median length. */
static int find_epoch(struct trace_lines *l, struct epoch *out)
{
	VEC(struct epoch) epochs = { 0 };
	struct epoch e;

	ORDER_VEC(&l->v, by_epoch);
	for (size_t i = 0; i < l->v.n; i += e.n) {
		e = (struct epoch){ .first = i, .begin = UINT64_MAX };
		for (; i + e.n < l->v.n && l->v.at[i + e.n].epoch == l->v.at[i].epoch; e.n++) {
			e.begin = l->v.at[i + e.n].issued < e.begin ? l->v.at[i + e.n].issued : e.begin;
			e.end = l->v.at[i + e.n].end > e.end ? l->v.at[i + e.n].end : e.end;
		}
		if (VEC_PUSH(&epochs, e)) {
			VEC_FREE(&epochs);
			return -ERR_NOMEM;
		}
	}
	ORDER_VEC(&epochs, by_length);
	*out = epochs.at[epochs.n / 2];
	VEC_FREE(&epochs);
	return 0;
}

/* Reads the trace, and keeps the lines of the epoch. */
static int read_epoch(struct goalsim *s, struct trace_lines *l, struct epoch *e)
{
	unsigned bad = 0;
	struct file f;
	int err = option_open(s->measured, &f);

	err = err ? err : file_load(&f);
	if (err == -ERR_SYS)
		refuse(s, "%s", file_why(errno));
	err = err ? err : trace_read(f.data, l, &bad);
	file_close(&f);
	if (err == -ERR_SYNTAX)
		return refuse(s, "line %u is none of a trace that goalrun --trace FILE.txt writes", bad);
	if (!err && !l->v.n)
		return refuse(s, "the trace has no ops");
	for (size_t i = 1; !err && i < l->v.n; i++)
		if (l->v.at[i].request != l->v.at[0].request)
			return refuse(s, "the trace has several requests, and one is compared: goalrun with one count makes one");
	return err ? err : find_epoch(l, e);
}

/* ---- where they part ---- */

static int by_op(const void *a, const void *b)
{
	const struct be_event *x = &(*(const struct trace_slice *const *)a)->e, *y = &(*(const struct trace_slice *const *)b)->e;

	ORDER_BY(x->rank, y->rank);
	ORDER_BY(x->op, y->op);
	return 0;
}

/* The simulated trace: its ops that are done. */
struct simulated {
	const struct trace_slice **done; /* by rank and op */
	size_t n;
	uint64_t begin, end;
};

static int list_simulated(const struct trace *t, struct simulated *x)
{
	x->begin = UINT64_MAX;
	x->done = mem_alloc((t->slices.n + 1) * sizeof *x->done);
	if (!x->done)
		return -ERR_NOMEM;
	for (size_t i = 0; i < t->slices.n; i++) {
		const struct be_event *e = &t->slices.at[i].e;

		x->begin = e->begin < x->begin ? e->begin : x->begin;
		x->end = e->end > x->end ? e->end : x->end;
		if (e->what == BE_EVENT_DONE)
			x->done[x->n++] = &t->slices.at[i];
	}
	qsort(x->done, x->n, sizeof *x->done, by_op);
	return 0;
}

/* Returns the simulated op of a line, or NULL if there is none. */
static const struct trace_slice *find_simulated(const struct simulated *x, const struct trace_line *l)
{
	const struct trace_slice key = { .e = { .rank = l->rank, .op = l->op } }, *k = &key, **found;

	found = x->n ? bsearch(&k, x->done, x->n, sizeof *x->done, by_op) : NULL;
	return found && !strcmp(ir_op_word((*found)->e.kind), l->kind) ? *found : NULL;
}

/* Finds the op that ends first in the simulation of those whose ends part. */
static int find_parting(struct goalsim *s, const struct simulated *x, const struct trace_lines *l, const struct epoch *e)
{
	const uint64_t lasts[] = { x->end - x->begin, e->end - e->begin };
	const uint64_t most = (lasts[0] > lasts[1] ? lasts[0] : lasts[1]) / PART_OF;
	struct parting *p = &s->parting;

	*p = (struct parting){ .epoch = l->v.at[e->first].epoch, .lasts = lasts[1] };
	for (size_t i = e->first; i < e->first + e->n; i++) {
		const struct trace_line *line = &l->v.at[i];
		const struct trace_slice *is = find_simulated(x, line);
		uint64_t simulated, measured;

		if (!is)
			return refuse(s, "the trace is of another schedule: rank %" PRIu32 " has no op %" PRIu32 " that is a %s", line->rank, line->op,
				      line->kind);
		if (line->what != BE_EVENT_DONE)
			continue;
		p->ops++;
		simulated = is->e.end - x->begin;
		measured = line->end - e->begin;
		if ((simulated > measured ? simulated - measured : measured - simulated) <= most ||
		    (p->found && simulated >= p->simulated))
			continue;
		p->found = true;
		p->rank = line->rank;
		p->op = line->op;
		p->simulated = simulated;
		p->measured = measured;
	}
	return 0;
}

/* ---- the picture ---- */

static int by_begin(const void *a, const void *b)
{
	const struct trace_slice *x = a, *y = b;

	ORDER_BY(x->e.rank, y->e.rank);
	ORDER_BY(x->e.begin, y->e.begin);
	return 0;
}

/* Adds a thread for each rank, with what it was measured to do. */
static int add_measured(struct trace *t, const struct simulated *x, const struct trace_lines *l, const struct epoch *e)
{
	VEC(struct trace_slice) slices = { 0 };
	int err = 0;

	for (size_t i = 0; i < t->threads.n; i++)
		t->threads.at[i].what = " simulated";
	for (size_t i = e->first; i < e->first + e->n && !err; i++) {
		const struct trace_line *line = &l->v.at[i];
		const struct trace_slice *is = find_simulated(x, line);
		struct trace_slice m = *is;

		m.e.begin = line->begin - e->begin + x->begin;
		m.e.end = line->end - e->begin + x->begin;
		m.e.request++; /* its messages are apart from the simulated ones */
		m.e.epoch = line->epoch;
		m.e.what = (uint8_t)line->what;
		m.e.cpu = line->cpu;
		err = VEC_PUSH(&slices, m);
	}
	ORDER_VEC(&slices, by_begin);
	for (size_t i = 0; i < slices.n && !err; i++) {
		const struct be_event *b = &slices.at[i].e;

		if (!i || slices.at[i - 1].e.rank != b->rank)
			err = VEC_PUSH(&t->threads, (struct trace_thread){ .id = UINT64_MAX - b->rank, .app = true, .rank = b->rank,
									  .cpu = INT32_MAX, .what = " measured" });
		slices.at[i].thread = (uint32_t)t->threads.n - 1;
	}
	err = err ? err : VEC_APPEND(&t->slices, slices.at, slices.n);
	VEC_FREE(&slices);
	return err;
}

int measured_lay(struct goalsim *s, struct trace *t)
{
	struct trace_lines l = { 0 };
	struct simulated x = { 0 };
	struct epoch e = { 0 };
	int err = read_epoch(s, &l, &e);

	err = err ? err : list_simulated(t, &x);
	err = err ? err : find_parting(s, &x, &l, &e);
	err = err ? err : add_measured(t, &x, &l, &e);
	free(x.done);
	VEC_FREE(&l.v);
	return err;
}

int measured_print(struct goalsim *s)
{
	const struct parting *p = &s->parting;
	struct text op = { 0 };
	char *text = NULL;
	int err = 0;

	printf("measured %" PRIu64 " ns in epoch %" PRIu64 ", which is of median length; %" PRIu32 " ops\n", p->lasts, p->epoch, p->ops);
	if (!p->found) {
		printf("part     nowhere: the ends of all ops differ by less than a tenth\n");
		return 0;
	}
	err = schedule_describe(s, p->rank, p->op, &op);
	err = text_take(&op, &text) ? -ERR_NOMEM : err;
	if (!err)
		printf("part     at %s: done at %" PRIu64 " ns, and %" PRIu64 " ns measured\n", text, p->simulated, p->measured);
	free(text);
	return err;
}
