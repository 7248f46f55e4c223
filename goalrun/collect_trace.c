/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun --trace: merges what the contexts of all ranks have traced, and writes it (write_trace.c). */
#include "goalrun/collect_trace.h"

#include "format/check.h"
#include "goalrun/run.h"
#include "util/file.h"
#include "util/order.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

int run_trace_open(const char *path)
{
	int fd = memfd_create("goal-trace", 0); /* inherited by exec */
	char text[16];

	if (fd < 0 || fcntl(fd, F_SETFL, O_APPEND)) {
		fprintf(stderr, "goalrun: no memory for %s: %s\n", path, run_errno_text());
		return -1;
	}
	snprintf(text, sizeof text, "%d", fd);
	return setenv(env_table[ENV_GOAL_TRACE_FD].name, text, 1) ? -1 : fd;
}

/* ---- threads ---- */

/* Returns the thread of an event. A thread counts as a rank's own once it does something as that rank's own thread;
 * before, it may have helped other ranks. */
static struct trace_thread *thread_of(struct trace *t, int pid, const struct be_event *e)
{
	const struct trace_thread new = { .pid = pid, .id = e->thread, .rank = e->by, .cpu = e->cpu };
	struct trace_thread *on = NULL;

	for (size_t i = 0; i < t->threads.n && !on; i++)
		if (t->threads.at[i].id == e->thread && t->threads.at[i].pid == pid)
			on = &t->threads.at[i];
	if (!on) {
		if (VEC_PUSH(&t->threads, new))
			return NULL;
		on = &t->threads.at[t->threads.n - 1];
	}
	on->moves |= on->cpu != e->cpu;
	if (e->own && !on->app) {
		on->app = true;
		on->rank = e->rank;
	}
	return on;
}

_Static_assert(BE_EVENTS == BE_EVENT_SLEEP + 1, "event_word and part_name in write_trace.c need words for a new event");
static int take_chunk(struct trace *t, const struct trace_chunk *c)
{
	const struct be_event *e = (const struct be_event *)(const void *)(c + 1);

	t->contexts++;
	t->dropped += c->dropped;
	for (uint64_t i = 0; i < c->nevents; i++) {
		const struct trace_thread *on;

		if (e[i].what >= BE_EVENTS)
			return -ERR_TRUNCATED;
		on = thread_of(t, c->pid, &e[i]);
		if (!on || VEC_PUSH(&t->slices, (struct trace_slice){ .e = e[i], .thread = (uint32_t)(on - t->threads.at) }))
			return -ERR_NOMEM;
	}
	return 0;
}

static int take_chunks(struct trace *t, const char *data, size_t size)
{
	int err = 0;

	for (size_t at = 0; at < size && !err;) {
		const struct trace_chunk *c = (const struct trace_chunk *)(const void *)(data + at);

		if (size - at < sizeof *c || c->magic != TRACE_MAGIC || c->size != sizeof(struct be_event) ||
		    c->nevents > (size - at - sizeof *c) / c->size)
			return -ERR_TRUNCATED;
		at += sizeof *c + c->nevents * c->size;
		err = take_chunk(t, c);
	}
	return err;
}

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
	for (size_t i = 0; i < n; i++)
		if (v[i]->e.what == BE_EVENT_DONE && v[i]->e.peer != BE_NOBODY)
			v[ends++] = v[i];
	find_sends(v, ends);
	free(v);
	return 0;
}

/* ---- merging ---- */

static int merge_chunks(struct trace *t, const char *data, size_t size)
{
	int err = take_chunks(t, data, size);

	err = err ? err : make_rows(t);
	if (err || !t->slices.n)
		return err;
	qsort(t->slices.at, t->slices.n, sizeof *t->slices.at, by_time);
	t->begin = t->slices.at[0].e.begin;
	return find_messages(t);
}

static int write_file(const char *path, const struct trace *t)
{
	struct text out = { 0 };
	int err;

	err = trace_format(path)(&out, t);
	err = err ? err : out.err ? -ERR_NOMEM : file_write(path, out.at, out.n);
	free(out.at);
	return err;
}

static int read_trace(struct trace *t, int fd)
{
	struct stat st;
	void *data;
	int err;

	if (fstat(fd, &st))
		return -ERR_SYS;
	if (!st.st_size)
		return 0;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return -ERR_SYS;
	err = merge_chunks(t, data, (size_t)st.st_size);
	munmap(data, (size_t)st.st_size);
	return err;
}

int run_trace_write(int fd, const char *path)
{
	struct trace t = { 0 };
	int err = read_trace(&t, fd);

	if (!err && !t.contexts) {
		fprintf(stderr, "goalrun: %s: nothing was traced: a context that has bound something tells when it is freed\n", path);
		return EXIT_FAULT;
	}
	err = err ? err : write_file(path, &t);
	if (!err && t.dropped)
		fprintf(stderr, "goalrun: %s lacks %" PRIu64 " events: GOAL_TRACE_EVENTS is %s\n", path, t.dropped,
			env_get(ENV_GOAL_TRACE_EVENTS));
	VEC_FREE(&t.threads);
	VEC_FREE(&t.rows);
	VEC_FREE(&t.slices);
	if (err)
		fprintf(stderr, "goalrun: %s: %s\n", path,
			err == -ERR_SYS	      ? run_errno_text() :
			err == -ERR_TRUNCATED ? "what a rank has traced is cut short" :
						err_text(err));
	return err ? EXIT_FAULT : EXIT_OK;
}
