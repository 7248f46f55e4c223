/* SPDX-License-Identifier: BSD-3-Clause
 * Makes a trace of its threads and slices: the rows, the order of the slices, and the links between the slices of an op and of a
 * message. */
#include "trace/trace.h"

#include "format/check.h"
#include "util/order.h"

#include <stdlib.h>

/* ---- rows ---- */

static int by_row(const void *a, const void *b)
{
	const struct trace_row *x = a, *y = b;

	return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind) : (x->number > y->number) - (x->number < y->number);
}

/* Returns the row of a thread. A communication thread is shown in the row of its CPU, unless it ran on several CPUs. */
static struct trace_row row_of(const struct trace_thread *t)
{
	if (t->app)
		return (struct trace_row){ TRACE_RANK, t->rank };
	return t->moves ? (struct trace_row){ TRACE_HELPER, t->rank } : (struct trace_row){ TRACE_CPU, (uint32_t)t->cpu };
}

static int make_rows(struct trace *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->threads.n; i++)
		if (VEC_PUSH(&t->rows, row_of(&t->threads.at[i])))
			return -ERR_NOMEM;
	ORDER_VEC(&t->rows, by_row);
	for (size_t i = 0; i < t->rows.n; i++)
		if (!n || by_row(&t->rows.at[n - 1], &t->rows.at[i]))
			t->rows.at[n++] = t->rows.at[i];
	t->rows.n = n;
	for (size_t i = 0; i < t->threads.n; i++) {
		struct trace_row key = row_of(&t->threads.at[i]), *row = bsearch(&key, t->rows.at, n, sizeof key, by_row);

		t->threads.at[i].row = (uint32_t)(row - t->rows.at);
	}
	return 0;
}

/* ---- ops and messages ---- */

static int by_time(const void *a, const void *b)
{
	const struct be_event *x = &((const struct trace_slice *)a)->e, *y = &((const struct trace_slice *)b)->e;

	ORDER_BY(x->begin, y->begin);
	ORDER_BY(y->end, x->end); /* an enclosing event comes first */
	ORDER_BY(y->what, x->what);
	return 0;
}

static int op_order(const struct be_event *x, const struct be_event *y)
{
	ORDER_BY(x->request, y->request);
	ORDER_BY(x->epoch, y->epoch);
	ORDER_BY(x->rank, y->rank);
	ORDER_BY(x->op, y->op);
	return 0;
}

static int by_op(const void *a, const void *b)
{
	const struct trace_slice *x = *(struct trace_slice *const *)a, *y = *(struct trace_slice *const *)b;
	int order = op_order(&x->e, &y->e);

	return order ? order : (x > y) - (x < y); /* then by time, in which the slices are sorted already */
}

static int by_number(const void *a, const void *b)
{
	return op_order(&(*(struct trace_slice *const *)a)->e, &(*(struct trace_slice *const *)b)->e);
}

static int channel_order(const struct be_event *x, const struct be_event *y)
{
	const bool in[2] = { bin_recvs(x->kind), bin_recvs(y->kind) };

	ORDER_BY(x->request, y->request);
	ORDER_BY(x->epoch, y->epoch);
	ORDER_BY(in[0] ? x->peer : x->rank, in[1] ? y->peer : y->rank);
	ORDER_BY(in[0] ? x->rank : x->peer, in[1] ? y->rank : y->peer);
	ORDER_BY(x->tag, y->tag);
	return 0;
}

/* Orders the events of a channel: sends first, then recvs, each in program order. */
static int by_channel(const void *a, const void *b)
{
	const struct be_event *x = &(*(struct trace_slice *const *)a)->e, *y = &(*(struct trace_slice *const *)b)->e;
	int order = channel_order(x, y);

	if (order)
		return order;
	ORDER_BY(bin_recvs(x->kind), bin_recvs(y->kind));
	ORDER_BY(x->op, y->op);
	return 0;
}

/* Links each part of an op to the first one. */
static void find_first(struct trace_slice **parts, size_t n)
{
	if (n)
		qsort(parts, n, sizeof(struct trace_slice *), by_op);
	for (size_t i = 0; i < n; i++)
		parts[i]->first = i && !op_order(&parts[i - 1]->e, &parts[i]->e) ? parts[i - 1]->first : parts[i];
}

/* Links each recv to its send: the k-th send of a channel goes to the k-th recv. */
static void find_sends(struct trace_slice **ends, size_t n)
{
	if (n)
		qsort(ends, n, sizeof(struct trace_slice *), by_channel);
	for (size_t i = 0, k; i < n; i = k) {
		size_t sends = 0;

		for (k = i; k < n && !channel_order(&ends[i]->e, &ends[k]->e); k++)
			sends += bin_sends(ends[k]->e.kind);
		for (size_t r = i + sends; r < k && k - i == 2 * sends; r++)
			ends[r]->send = ends[r - sends]->first;
	}
}

/* Links each recv to the send that it names; the slices of ops are in the order of by_op. */
static void find_named(struct trace_slice *const *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct trace_slice key, *send = &key, **found;

		if (!bin_recvs(parts[i]->e.kind) || parts[i]->e.what != BE_EVENT_DONE)
			continue;
		key.e = parts[i]->e;
		key.e.rank = parts[i]->e.peer;
		key.e.op = parts[i]->sent;
		found = bsearch(&send, parts, n, sizeof *parts, by_number);
		parts[i]->send = found ? (*found)->first : NULL;
	}
}

static int find_messages(struct trace *t)
{
	struct trace_slice **v = mem_alloc(t->slices.n * sizeof(struct trace_slice *));
	size_t n = 0, ends = 0;

	if (!v)
		return -ERR_NOMEM;
	for (size_t i = 0; i < t->slices.n; i++)
		if (t->slices.at[i].e.what <= BE_EVENT_DONE)
			v[n++] = &t->slices.at[i];
	find_first(v, n);
	if (t->matched)
		find_named(v, n);
	for (size_t i = 0; i < n && !t->matched; i++)
		if (v[i]->e.what == BE_EVENT_DONE && v[i]->e.peer != BE_NOBODY)
			v[ends++] = v[i];
	find_sends(v, ends);
	free(v);
	return 0;
}

int trace_link(struct trace *t)
{
	int err = make_rows(t);

	if (err || !t->slices.n)
		return err;
	qsort(t->slices.at, t->slices.n, sizeof *t->slices.at, by_time);
	return find_messages(t);
}

void trace_fini(struct trace *t)
{
	VEC_FREE(&t->threads);
	VEC_FREE(&t->rows);
	VEC_FREE(&t->slices);
}
