/* SPDX-License-Identifier: BSD-3-Clause
 * Prints what pending ops wait for: when the application asks, on SIGUSR1, and after GOAL_DUMP_AFTER seconds of waiting. */
#include "runtime/dump.h"

#include "format/check.h"
#include "runtime/comm.h"
#include "util/clock.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool rt_dump_due(struct mpix_sched_request *req)
{
	uint32_t came = rt_usr1_count(), seen = atomic_load_explicit(&req->ctx->usr1_seen, memory_order_relaxed);
	uint64_t now, last;

	if (came != seen && atomic_compare_exchange_strong(&req->ctx->usr1_seen, &seen, came))
		return true;
	if (!req->dump_after)
		return false;
	last = atomic_load(&req->ctx->dumped);
	now = clock_now_ns(); /* read after `last`, so that `now` is never less */
	if (req->watched != req->epoch) {
		req->watched = req->epoch;
		req->since = now;
	}
	/* One dump prints all requests, even if several have waited for long. */
	return now - (last > req->since ? last : req->since) >= req->dump_after &&
	       atomic_compare_exchange_strong(&req->ctx->dumped, &last, now);
}

/* ---- output ---- */

/* Collects whole lines, and writes at most PIPE_BUF bytes at once, so that a pipe does not mix them with other output. */
struct out {
	int fd, err;
	size_t n;
	char text[4096]; /* PIPE_BUF bytes */
};

static void flush_out(struct out *o)
{
	for (size_t done = 0; done < o->n && !o->err;) {
		ssize_t n = write(o->fd, o->text + done, o->n - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			o->err = errno;
	}
	o->n = 0;
}

/* A line of output; what does not fit is dropped. */
struct line {
	size_t n;
	char text[1024];
};

__attribute__((format(printf, 2, 3))) static void add(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->n, sizeof l->text - l->n, fmt, ap);
	va_end(ap);
	if (n > 0)
		l->n += (size_t)n < sizeof l->text - l->n ? (size_t)n : sizeof l->text - l->n - 1;
}

static void end_line(struct out *o, struct line *l)
{
	l->text[l->n++] = '\n'; /* overwrites the NUL */
	if (o->n + l->n > sizeof o->text)
		flush_out(o);
	memcpy(o->text + o->n, l->text, l->n);
	o->n += l->n;
	l->n = 0;
}

/* ---- ops ---- */

static void add_peer(struct line *l, const struct bin_op *o)
{
	if (bin_is_message(o->kind))
		add(l, " %s rank %u", bin_sends(o->kind) ? "to" : "from", o->peer);
}

static void add_range(struct line *l, const struct bin *b, const struct bin_op *o, unsigned k)
{
	add(l, " %s[%llu..%llu)", bin_str(b, b->buffers[o->buf[k]].name), (unsigned long long)o->off[k],
	    (unsigned long long)(o->off[k] + o->len));
}

BIN_LAST_OP(GETS);
static void add_op(struct line *l, const struct bin *b, uint32_t i, const struct bin_op *o)
{
	add(l, "op %u, %s", i, ir_op_word(o->kind));
	if (bin_is_message(o->kind)) {
		if (b->meta->flags & BIN_F_PLAIN)
			add(l, " %llub", (unsigned long long)o->len);
		else
			add_range(l, b, o, 0);
		add_peer(l, o);
		add(l, " tag %u", o->tag);
	} else if (bin_nranges(o->kind)) {
		add_range(l, b, o, o->kind == BIN_OP_REDUCE_WITH);
		if (o->kind == BIN_OP_REDUCE_WITH) {
			add(l, " with");
			add_range(l, b, o, 0);
		}
		add(l, " into");
		add_range(l, b, o, 1);
	} else if (o->kind == BIN_OP_CALC) {
		add(l, " %llu", (unsigned long long)o->len);
	}
	if (o->line)
		add(l, " (%s:%u)", bin_str(b, b->meta->source), o->line);
}

/* Adds the dependencies for which op i still waits. */
static void add_deps(struct line *l, const struct ir_rank *r, const uint8_t *state, uint32_t i)
{
	enum { SHOWN = 8 };
	uint32_t n = 0;

	for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++) {
		uint32_t on = r->deps[d] & ~BIN_START;
		bool start = r->deps[d] & BIN_START;

		if (state[on] == BE_DONE || (start && state[on] == BE_ISSUED) || n++ >= SHOWN)
			continue;
		add(l, "%s%sop %u (%s", n > 1 ? ", " : "", start ? "the start of " : "", on, ir_op_word(r->ops[on].kind));
		add_peer(l, &r->ops[on]);
		add(l, ")");
	}
	if (n > SHOWN)
		add(l, " and %u more", n - SHOWN);
}

/* ---- requests ---- */

/* Adds "rank 3: bcast epoch 17: ". For a subgroup, also adds its size, and the rank and size in the group of all ranks. */
static void begin_line(struct line *l, const struct mpix_sched_request *req)
{
	const struct be_group *g = req->group;

	add(l, "rank %u", g->rank);
	if (g->root)
		add(l, " of %u (%u of %u)", g->size, g->root[g->rank], g->process->size);
	add(l, ": %s epoch %llu: ", bin_str(&req->sched->image->bin, req->sched->image->bin.meta->name),
	    (unsigned long long)req->epoch);
}

static void one_line(struct out *o, const struct mpix_sched_request *req, const char *what)
{
	struct line l = { 0 };

	begin_line(&l, req);
	add(&l, "%s", what);
	end_line(o, &l);
}

/* Prints the pending ops of a request. The caller holds its turn. */
static void dump_request(struct out *o, struct mpix_sched_request *req)
{
	const struct ir_rank *r = &req->rank;
	const char **what;
	uint8_t *state;
	struct line l = { 0 };

	if (rt_state(req) == RT_DONE) {
		one_line(o, req,
			 atomic_load(&req->turn->err) ? "has failed, but was not tested or waited for" :
						     "is complete, but was not tested or waited for");
		return;
	}
	what = mem_calloc(r->nops, sizeof *what);
	state = mem_calloc(r->nops, 1);
	if (what && state)
		req->be->states(req->bound, state, what);
	else
		one_line(o, req, "no memory to look at its ops");
	for (uint32_t i = 0; i < r->nops && what && state; i++) {
		if (state[i] == BE_DONE)
			continue;
		begin_line(&l, req);
		add_op(&l, &req->sched->image->bin, i, &r->ops[i]);
		if (state[i] == BE_READY) {
			add(&l, ": is ready, waits for this rank to test or wait");
		} else {
			add(&l, ": waits for ");
			if (state[i] == BE_WAITS)
				add_deps(&l, r, state, i);
			else
				add(&l, "%s", what[i] ? what[i] : "its completion");
		}
		end_line(o, &l);
	}
	free(what);
	free(state);
}

static bool is_active(const struct mpix_sched_request *req)
{
	return rt_state(req) >= RT_ACTIVE;
}

#define MOST_NS 1000000000u /* longest wait for another thread, which may be in a user's operation */

int MPIX_Sched_dump(MPIX_Sched_ctx ctx, int fd)
{
	struct out o = { .fd = fd };
	uint64_t until = clock_now_ns() + MOST_NS;

	if (!ctx)
		return MPIX_SCHED_ERR_ARG;
	while (pthread_mutex_trylock(&ctx->lock)) {
		if (clock_now_ns() > until)
			return -rt_error(ctx, -ERR_STATE, "another thread uses the context");
		sched_yield();
	}
	for (size_t i = 0; i < ctx->requests.n; i++) {
		struct mpix_sched_request *req = ctx->requests.at[i];
		bool taken = false;

		atomic_fetch_add(&req->turn->wanted, 1);
		while (is_active(req) && !(taken = rt_take(req)) && clock_now_ns() < until)
			sched_yield();
		atomic_fetch_sub(&req->turn->wanted, 1);
		/* Runs the ready ops. Otherwise ops that only wait for a communication core would be printed as ready. */
		if (taken && req->helped)
			rt_advance(req, BE_ALL & ~(unsigned)BE_CALLS);
		if (taken && is_active(req))
			dump_request(&o, req);
		else if (is_active(req))
			one_line(&o, req, "a thread is at work on it");
		if (taken)
			rt_give(req);
	}
	pthread_mutex_unlock(&ctx->lock);
	flush_out(&o);
	return o.err ? -rt_error(ctx, -ERR_SYS, "write: %s", strerror(o.err)) : 0;
}
