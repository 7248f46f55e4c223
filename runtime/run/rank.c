/* SPDX-License-Identifier: BSD-3-Clause
 * What one rank of goalrun does: bind each case, then start and wait with new data each time. */
#include "runtime/run/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A rank and its case at hand. */
struct rank {
	struct run_launch *l;
	const struct run_options *o;
	uint32_t rank;
	uint64_t seq; /* rounds on the launcher's board */
	unsigned spins;
	MPIX_Sched_ctx ctx;
	MPIX_Sched_group group;
	MPIX_Sched sched;
	struct MPIX_Sched_info info;
	uint64_t random;
	/* the case */
	const struct run_case *c;
	size_t index;
	MPIX_Sched_request req;
	char **buffers;
	uint64_t *bytes;
};

__attribute__((format(printf, 2, 3))) static int failed(struct rank *r, const char *fmt, ...)
{
	char *text = r->l->error[r->rank];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof *r->l->error, fmt, ap);
	va_end(ap);
	atomic_store(&r->l->shared->bad, 1);
	return 1;
}

static int library(struct rank *r, const char *call, int rc)
{
	char detail[400];

	if (!rc)
		return 0;
	MPIX_Sched_error_detail(r->ctx, detail, sizeof detail);
	return failed(r, "%s: %s", call, *detail ? detail : MPIX_Sched_error_string(rc));
}

/* Somebody else failed: what this rank waits for will not come. */
static int given_up(void *arg)
{
	const struct rank *r = arg;

	return atomic_load(&r->l->shared->bad) || atomic_load(&r->l->board->failed) ? -ERR_STATE : 0;
}

static int allgather(const void *in, void *out, size_t size, void *arg)
{
	struct rank *r = arg;

	return size > HOST_RECORD ||
	       rt_board_allgather(r->l->board, r->rank, ++r->seq, in, size, out, r->spins, given_up, r);
}

static int meet(struct rank *r)
{
	char nothing = 0, *all = mem_alloc(r->o->nranks);
	int err = all ? allgather(&nothing, all, 1, r) : 1;

	free(all);
	if (err && atomic_load(&r->l->board->failed))
		return failed(r, "rank %u died", atomic_load(&r->l->board->failed) - 1);
	return err ? failed(r, "another rank failed") : 0;
}

/* ---- data ---- */

static struct oracle_call call_of(const struct rank *r, uint64_t epoch)
{
	return (struct oracle_call){ .rank = r->rank,
				     .size = r->o->nranks,
				     .root = (uint64_t)(r->c->root < 0 ? 0 : r->c->root),
				     .count = (uint64_t)r->c->count,
				     .epoch = epoch,
				     .seed = (uint64_t)r->o->seed,
				     .elem = rt_basic_size(r->c->type),
				     .buffers = r->buffers,
				     .bytes = r->bytes };
}

/* Plain GOAL: each message has a pattern of its own. It is the k-th of its channel. */
static uint64_t message_key(const struct rank *r, uint32_t op, uint64_t epoch)
{
	const struct ir_rank *mine = &r->o->graph->ranks[r->rank];
	const struct bin_op *o = &mine->ops[op];
	bool send = o->kind == BIN_OP_SEND;
	uint64_t k = 0;

	for (uint32_t i = 0; i < op; i++)
		k += mine->ops[i].kind == o->kind && mine->ops[i].peer == o->peer && mine->ops[i].tag == o->tag;
	return oracle_key((uint64_t)r->o->seed + epoch, (uint64_t)(send ? r->rank : o->peer) << 32 | o->tag,
			  send ? o->peer : r->rank, k);
}

static void fill_plain(const struct rank *r, uint64_t epoch)
{
	const struct ir_rank *mine = &r->o->graph->ranks[r->rank];

	for (uint32_t i = 0; i < mine->nops; i++) {
		const struct bin_op *o = &mine->ops[i];

		if (o->kind == BIN_OP_SEND)
			oracle_pattern(r->buffers[0] + o->off[0], o->len, message_key(r, i, epoch));
	}
	if (r->bytes[1])
		memset(r->buffers[1], (int)(epoch & 0xff) ^ 0x5a, r->bytes[1]);
}

static int check_plain(struct rank *r, uint64_t epoch)
{
	const struct ir_rank *mine = &r->o->graph->ranks[r->rank];

	for (uint32_t i = 0; i < mine->nops; i++) {
		const struct bin_op *o = &mine->ops[i];
		int64_t at;

		if (o->kind != BIN_OP_RECV)
			continue;
		at = oracle_compare(r->buffers[1] + o->off[0], o->len, message_key(r, i, epoch));
		if (at >= 0)
			return failed(r, "epoch %llu: byte %lld of the message from rank %u (op %u) is wrong",
				      (unsigned long long)epoch, (long long)at, o->peer, i);
	}
	return 0;
}

/* Before a start everything is overwritten, also what the last epoch received. */
static void fill(const struct rank *r, uint64_t epoch)
{
	struct oracle_call call = call_of(r, epoch);

	if (r->o->plain)
		fill_plain(r, epoch);
	else if (r->o->oracle)
		r->o->oracle->fill(&call);
}

static int check(struct rank *r, uint64_t epoch)
{
	struct oracle_call call = call_of(r, epoch);
	uint32_t buffer = 0;
	int64_t at;

	if (r->o->plain)
		return check_plain(r, epoch);
	at = r->o->oracle ? r->o->oracle->check(&call, &buffer) : -1;
	return at < 0 ? 0 :
			failed(r, "epoch %llu: byte %lld of buffer %u is wrong", (unsigned long long)epoch,
			       (long long)at, buffer);
}

/* ---- a case ---- */

static int get_buffers(struct rank *r)
{
	struct bin_arg *args = mem_calloc(r->sched->bin.nparams, sizeof *args);
	struct bin_args a = { .rank = r->rank, .size = r->o->nranks, .count = r->c->count, .args = args };
	size_t elem = r->o->plain ? 1 : rt_basic_size(r->c->type);
	const struct bin *b = &r->sched->bin;
	struct ir_rank ops = { 0 };
	int err = args ? 0 : 1;

	for (uint32_t i = 0; i < b->nparams && !err; i++) {
		if (b->meta->root == i && r->c->root >= 0)
			args[i] = (struct bin_arg){ .known = true, .value = r->c->root };
		for (size_t k = 0; k < r->o->defines.v.n; k++)
			if (!strcmp(r->o->defines.v.at[k].name, bin_str(b, b->params[i].name)))
				args[i] = (struct bin_arg){ .known = true,
							    .value = r->o->defines.v.at[k].value[0],
							    .elem = r->o->defines.v.at[k].value,
							    .n = r->o->defines.v.at[k].n };
	}
	err = err ? err : ir_rank_specialise(b, &a, &ops, NULL);
	free(args);
	if (err)
		return 0; /* bind will say what is wrong */
	for (uint32_t i = 0; i < b->nbuffers && !err; i++) {
		void *p = NULL;

		r->bytes[i] = ops.bufsize[i] * elem;
		if (b->buffers[i].mode == BIN_SCRATCH)
			continue;
		if (r->c->memory == RUN_HEAP)
			err = library(r, "MPIX_Sched_alloc", MPIX_Sched_alloc(r->ctx, r->bytes[i], &p));
		else if (!(p = mem_calloc(1, r->bytes[i])))
			err = failed(r, "out of memory");
		r->buffers[i] = p;
	}
	ir_rank_fini(&ops);
	return err;
}

static void free_buffers(struct rank *r)
{
	for (uint32_t i = 0; i < r->info.nbuffers; i++) {
		if (r->c->memory == RUN_HEAP)
			MPIX_Sched_dealloc(r->ctx, r->buffers[i]);
		else
			free(r->buffers[i]);
		r->buffers[i] = NULL;
		r->bytes[i] = 0;
	}
}

static int bind_case(struct rank *r)
{
	struct MPIX_Sched_param *params = mem_calloc(r->o->defines.v.n + 1, sizeof *params);
	struct MPIX_Sched_bind bind = { .struct_size = sizeof bind,
					.buffers = (void *const *)r->buffers,
					.nbuffers = r->info.nbuffers,
					.count = (size_t)r->c->count,
					.basic = r->c->type,
					.builtin = MPIX_SCHED_SUM,
					.params = params };
	uint64_t t = rt_now_ns();
	int err;

	if (!params)
		return failed(r, "out of memory");
	for (size_t i = 0; i < r->o->defines.v.n; i++) {
		const struct define *d = &r->o->defines.v.at[i];

		params[bind.nparams++] = (struct MPIX_Sched_param){ d->name, d->value, d->n };
	}
	if (r->c->root >= 0)
		params[bind.nparams++] = (struct MPIX_Sched_param){ "root", &r->c->root, 1 };
	err = library(r, "MPIX_Sched_init", MPIX_Sched_init(r->sched, r->group, &bind, &r->req));
	r->l->init[r->index * r->o->nranks + r->rank] = (double)(rt_now_ns() - t) / 1e3;
	free(params);
	return err;
}

/* Now and then a rank dawdles. */
static void dawdle(struct rank *r)
{
	if (r->o->delay == 0)
		return;
	r->random = r->random * 6364136223846793005u + 1442695040888963407u;
	if ((r->random >> 40) % 16 == 0) {
		uint64_t until = rt_now_ns() + (r->random >> 33) % (uint64_t)r->o->delay * 1000;

		while (rt_now_ns() < until)
			rt_relax(0, 0);
	}
}

static int run_case(struct rank *r)
{
	const struct run_options *o = r->o;
	double *total = r->l->total + (r->index * o->nranks + r->rank) * (size_t)o->iters;
	double *start = r->l->start + (r->index * o->nranks + r->rank) * (size_t)o->iters;
	int err = bind_case(r);

	for (int64_t i = -o->warmup; i < o->iters && !err; i++) {
		uint64_t epoch = (uint64_t)(i + o->warmup + 1), t0, t1, t2;
		bool look = o->verify || o->plain || i == -o->warmup || i == o->iters - 1;

		if (look)
			fill(r, epoch);
		dawdle(r);
		/* Without delays the ranks start together, so that the time is the collective's. */
		if (!o->delay && meet(r))
			return 1;
		t0 = rt_now_ns();
		err = library(r, "MPIX_Sched_start", MPIX_Sched_start(r->req));
		t1 = rt_now_ns();
		if (!err && o->delay)
			dawdle(r);
		err = err ? err : library(r, "MPIX_Sched_wait", MPIX_Sched_wait(r->req));
		t2 = rt_now_ns();
		if (!err && look)
			err = check(r, epoch);
		if (i >= 0) {
			total[i] = (double)(t2 - t0) / 1e3;
			start[i] = (double)(t1 - t0) / 1e3;
		}
	}
	if (!err)
		err = library(r, "MPIX_Sched_free", MPIX_Sched_free(&r->req));
	return err;
}

static int run_all(struct rank *r)
{
	int err = library(r, "MPIX_Sched_group_create",
			  MPIX_Sched_group_create(r->ctx, (int)r->rank, (int)r->o->nranks, allgather, r, &r->group));

	err = err ? err :
		    library(r, "MPIX_Sched_load_mem",
			    MPIX_Sched_load_mem(r->ctx, r->o->name, r->o->image, r->o->size, &r->sched));
	if (err)
		return err;
	r->info.struct_size = sizeof r->info;
	MPIX_Sched_get_info(r->sched, &r->info);
	r->buffers = mem_calloc(r->info.nbuffers, sizeof *r->buffers);
	r->bytes = mem_calloc(r->info.nbuffers, sizeof *r->bytes);
	if (!r->buffers || !r->bytes)
		return failed(r, "out of memory");
	for (r->index = 0; r->index < r->o->ncases && !err; r->index++) {
		r->c = &r->o->cases[r->index];
		if (r->c->memory != r->l->memory)
			continue;
		err = get_buffers(r);
		err = err ? err : run_case(r);
		if (err) /* a rank that fails leaves its memory bound; the process ends */
			return err;
		free_buffers(r);
		if (r->rank == 0)
			atomic_fetch_add(&r->l->shared->cases_done, 1);
	}
	return err;
}

int run_rank(struct run_launch *l, uint32_t rank)
{
	struct rank r = { .l = l, .o = l->o, .rank = rank };
	int err = MPIX_Sched_ctx_create(&r.ctx);

	r.spins = rt_spins(l->o->nranks);
	r.random = oracle_key((uint64_t)l->o->seed, rank, 77, 0);
	if (err)
		return failed(&r, "MPIX_Sched_ctx_create: %s", MPIX_Sched_error_string(err));
	err = run_all(&r);
	if (r.req) /* its group has failed, or this run: bound memory must outlive it */
		MPIX_Sched_free(&r.req);
	if (r.c && r.buffers && !r.req)
		free_buffers(&r);
	free(r.buffers);
	free(r.bytes);
	MPIX_Sched_unload(&r.sched);
	MPIX_Sched_group_free(&r.group);
	MPIX_Sched_ctx_free(&r.ctx);
	return err;
}
