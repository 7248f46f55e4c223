/* SPDX-License-Identifier: BSD-3-Clause
 * The trace of a context. Keeps all events until the context is freed and then writes them at once, so that tracing
 * disturbs ranks as little as possible. */
#include "runtime/trace.h"

#include "util/clock.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct rt_trace {
	pthread_mutex_t lock;
	int fd;
	dev_t dev; /* device of fd's file when the trace was opened */
	ino_t ino; /* inode of that file: the program may close fd and open another file */
	uint64_t most, dropped;
	VEC(struct be_event) events;
};

static bool same_file(const struct rt_trace *t)
{
	struct stat st;

	return !fstat(t->fd, &st) && st.st_dev == t->dev && st.st_ino == t->ino;
}

/* Makes the context's trace. The caller holds the context's lock. */
static int open_trace(struct mpix_sched_ctx *ctx, long fd, long most)
{
	struct rt_trace *t;
	struct stat st;

	if (fd > INT32_MAX || fstat((int)fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink)
		return rt_error(ctx, -ERR_ARG, "GOAL_TRACE_FD cannot be \"%ld\": that is not goalrun's", fd);
	t = mem_calloc(1, sizeof *t);
	if (!t)
		return rt_fail(ctx, -ERR_NOMEM);
	t->fd = (int)fd;
	t->most = (uint64_t)most;
	t->dev = st.st_dev;
	t->ino = st.st_ino;
	pthread_mutex_init(&t->lock, NULL);
	ctx->trace = t;
	return 0;
}

int rt_trace_open(struct mpix_sched_ctx *ctx)
{
	long fd, most;
	int err = rt_env(ctx, ENV_GOAL_TRACE_FD, &fd);

	err = err ? err : rt_env(ctx, ENV_GOAL_TRACE_EVENTS, &most);
	if (err || fd < 0)
		return err;
	pthread_mutex_lock(&ctx->lock);
	if (!ctx->trace)
		err = open_trace(ctx, fd, most);
	pthread_mutex_unlock(&ctx->lock);
	return err;
}

/* Writes all events. The file is in append mode, so that one write stays together. */
static void write_events(const struct rt_trace *t)
{
	struct trace_chunk c = { .magic = TRACE_MAGIC,
				 .size = sizeof(struct be_event),
				 .pid = getpid(),
				 .nevents = t->events.n,
				 .dropped = t->dropped };
	const struct iovec v[2] = { { &c, sizeof c }, { t->events.at, t->events.n * sizeof *t->events.at } };

	if (same_file(t))
		while (writev(t->fd, v, 2) < 0 && errno == EINTR)
			;
}

void rt_trace_wait(const struct mpix_sched_request *req, uint64_t since)
{
	group_trace(req->group, (struct be_event){ .begin = since,
						   .end = clock_now_ns(),
						   .request = req->id,
						   .epoch = req->epoch,
						   .rank = req->group->rank,
						   .peer = BE_NOBODY,
						   .what = BE_EVENT_WAIT,
						   .own = true });
}

void rt_trace_close(struct mpix_sched_ctx *ctx)
{
	struct rt_trace *t = ctx->trace;

	if (!t)
		return;
	write_events(t);
	pthread_mutex_destroy(&t->lock);
	VEC_FREE(&t->events);
	free(t);
}

/* ---- functions for backends ---- */

bool group_traces(const struct be_group *g)
{
	return g->ctx->trace;
}

void group_trace(struct be_group *g, struct be_event e)
{
	struct rt_trace *t = g->ctx->trace;

	e.rank = rt_root_rank(g, e.rank);
	e.by = rt_root_rank(g, g->rank);
	if (e.peer != BE_NOBODY)
		e.peer = rt_root_rank(g, e.peer);
	e.thread = (uint64_t)pthread_self();
	e.cpu = sched_getcpu();
	pthread_mutex_lock(&t->lock);
	if (t->events.n >= t->most || VEC_PUSH(&t->events, e))
		t->dropped++;
	pthread_mutex_unlock(&t->lock);
}
