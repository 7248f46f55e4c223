/* SPDX-License-Identifier: BSD-3-Clause
 * One rank of goalrun: binds each case, then starts it and waits for it, with new data each time. */
#include "goalrun/rank.h"

#include "runtime/context.h"
#include "runtime/placement/cpus.h"
#include "runtime/sched.h"
#include "util/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Allocates one of the caller's buffers, with guard bytes around it. */
static int get_buffer(struct rank *r, uint32_t i, uint64_t elements)
{
	void *p = NULL;
	int err = 0;

	r->bytes[i] = elements * r->elem;
	if (r->c->memory == RUN_HEAP)
		err = rank_library(r, "MPIX_Sched_alloc", MPIX_Sched_alloc(r->ctx, r->bytes[i] + 2 * RANK_GUARD, &p));
	else if (!(p = mem_calloc(1, r->bytes[i] + 2 * RANK_GUARD)))
		err = rank_failed(r, "out of memory");
	if (err)
		return err;
	r->given[i] = r->buffers[i] = (char *)p + RANK_GUARD;
	rank_guard(r, i);
	return 0;
}

/* Sets the values of all parameters on all ranks, for the case. */
static int get_args(struct rank *r)
{
	const struct run_options *o = r->o;
	const struct bin *b = &r->sched->image->bin;
	struct goal_diags *d = goal_diags_new();
	int64_t count = 0;
	int err = d ? arg_rows_init(&r->rows, b, o->nranks) : -ERR_NOMEM;

	/* Errors in the values have been reported before. */
	err = err ? err : arg_rows_define(&r->rows, d, 0, b, o->defines.v.at, o->defines.v.n, &count);
	err = err ? err : collective_sample(b, r->c->count, r->c->sample, &r->rows);
	if (!err && b->meta->root != BIN_NONE && r->c->root >= 0)
		arg_rows_set(&r->rows, b->meta->root, (struct bin_arg){ .known = true, .value = r->c->root });
	goal_diags_free(d);
	return err ? rank_failed(r, "%s", err_text(err)) : 0;
}

/* True if this rank has to give the value of a parameter. */
static bool gives_param(const struct rank *r, uint32_t i)
{
	const struct bin *b = &r->sched->image->bin;

	return arg_row(&r->rows, r->rank)[i].known &&
	       (b->params[i].scope != BIN_ROOTONLY || r->c->root < 0 || r->c->root == r->rank);
}

static int get_buffers(struct rank *r)
{
	const struct bin *b = &r->sched->image->bin;
	struct bin_args a = { .rank = r->rank, .size = r->o->nranks, .count = r->c->count };
	struct ir_fault fault = { 0 };
	struct ir_rank ops = { 0 };
	struct ir_rows rows = { 0 };
	long most;
	int err = get_args(r);

	if (err || rt_env(r->ctx, ENV_GOAL_MAX_OPS, &most))
		return err; /* bind will report the error */
	a.most_ops = ir_most_ops(most);
	r->oracle = (struct oracle){ .seed = (uint64_t)r->o->seed, .type = r->c->type, .op = r->c->op };
	a.by_rank = r->rows.by_rank;
	err = ir_rows_init(&rows, b, &a);
	if (!err) {
		a.args = rows.by_rank[r->rank];
		err = ir_rank_specialise(b, &a, &ops, NULL);
		if (err && err != -ERR_NOMEM) { /* bind will report the error */
			ir_rows_fini(&rows);
			return 0;
		}
	}
	if (!err && !r->o->plain && r->o->claim->any)
		err = oracle_open(&r->oracle, r->o->claim, &a, ops.bufsize, &fault);
	if (err)
		err = rank_failed(r, "%s", *fault.text ? fault.text : err_text(err));
	r->elem = r->o->plain ? 1 : rt_basic_size(r->c->type);
	for (uint32_t i = 0; i < b->nbuffers && !err; i++) {
		/* false if only other ranks have this buffer */
		const bool has = !r->oracle.expected.size.n || r->oracle.expected.size.at[i];

		if (b->buffers[i].inplace && !ops.bufsize[i] && has && r->c->sample * 2 >= collective_samples(b))
			r->given[i] = MPIX_SCHED_IN_PLACE;
		else if (b->buffers[i].mode != BIN_SCRATCH && (has || !ops.bufsize[i]))
			err = get_buffer(r, i, ops.bufsize[i]);
	}
	ir_rank_fini(&ops);
	ir_rows_fini(&rows);
	return err;
}

static void free_buffers(struct rank *r)
{
	for (uint32_t i = 0; i < r->info.nbuffers; i++) {
		void *p = r->buffers[i] ? r->buffers[i] - RANK_GUARD : NULL;

		if (r->c->memory == RUN_HEAP)
			MPIX_Sched_dealloc(r->ctx, p);
		else
			free(p);
		r->given[i] = r->buffers[i] = NULL;
		r->bytes[i] = 0;
	}
	oracle_close(&r->oracle);
	arg_rows_fini(&r->rows);
}

static int bind_case(struct rank *r)
{
	const struct bin *b = &r->sched->image->bin;
	struct MPIX_Sched_param *params = mem_calloc(b->nparams, sizeof *params);
	struct MPIX_Sched_bind bind = { .struct_size = sizeof bind,
					.buffers = r->given,
					.nbuffers = r->info.nbuffers,
					.count = (size_t)r->c->count,
					.basic = r->c->type,
					.builtin = r->c->op < RUN_USER ? (enum MPIX_Sched_builtin)r->c->op :
									 MPIX_SCHED_NO_OP,
					.op = r->c->op == RUN_USER ? r->user : NULL,
					.params = params };
	uint64_t t = clock_now_ns();
	int err;

	if (!params)
		return rank_failed(r, "out of memory");
	for (uint32_t i = 0; i < b->nparams; i++) {
		const struct bin_arg *a = &arg_row(&r->rows, r->rank)[i];

		if (gives_param(r, i))
			params[bind.nparams++] = (struct MPIX_Sched_param){ bin_str(b, b->params[i].name),
									    b->params[i].vector ? a->elem : &a->value,
									    b->params[i].vector ? a->n : 1 };
	}
	err = rank_library(r, "MPIX_Sched_init", MPIX_Sched_init(r->sched, r->group, &bind, &r->req));
	r->l->init[r->index * r->o->nranks + r->rank] = (double)(clock_now_ns() - t) / 1e3;
	free(params);
	return err;
}

/* Marks that this rank enters a barrier. In the warm-up starts one rank after the other enters late, so that a barrier
 * that does not hold the others back is found out. */
static void come_to_barrier(struct rank *r, bool late)
{
	const struct timespec pause = { 0, 200000 };

	if (late && r->starts % r->o->nranks == r->rank)
		nanosleep(&pause, NULL);
	atomic_store(&r->l->entered[r->rank].word, r->starts);
}

/* Delays the rank for a random time, in one call of 16. */
static void delay_at_random(struct rank *r)
{
	if (r->o->delay == 0)
		return;
	r->random = r->random * 6364136223846793005u + 1442695040888963407u;
	if ((r->random >> 40) % 16 == 0) {
		uint64_t until = clock_now_ns() + (r->random >> 33) % (uint64_t)r->o->delay * 1000;

		while (clock_now_ns() < until)
			rt_relax(0, 0);
	}
}

/* Returns the CPU time of this rank in seconds: with ranks as processes, including its communication core; with ranks
 * as threads, without. */
static double cpu_seconds(const struct rank *r)
{
	struct timespec t;

	clock_gettime(r->o->threads ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int run_starts(struct rank *r)
{
	const struct run_options *o = r->o;
	double *total = r->l->total + (r->index * o->nranks + r->rank) * (size_t)o->iters;
	double *start = r->l->start + (r->index * o->nranks + r->rank) * (size_t)o->iters;
	double cpu = 0;
	int err = 0;

	for (int64_t i = -o->warmup; i < o->iters && !err; i++) {
		uint64_t epoch = (uint64_t)(i + o->warmup + 1), t0, t1, t2;
		bool measures = o->wait && i >= 0; /* with --wait, after the warm-up: reading the CPU time takes system calls */
		bool is_checked = o->verify || o->plain || i == -o->warmup || i == o->iters - 1;

		if (is_checked)
			rank_fill(r, epoch);
		rank_touch(r);
		delay_at_random(r);
		/* Without delays the ranks start together, so that the measured time is that of the collective alone. */
		if (!o->delay && rank_begin(r))
			return 1;
		r->starts++;
		if (o->barrier)
			come_to_barrier(r, i < 0);
		cpu -= measures ? cpu_seconds(r) : 0;
		t0 = clock_now_ns();
		err = rank_library(r, "MPIX_Sched_start", MPIX_Sched_start(r->req));
		t1 = clock_now_ns();
		if (!err && o->delay) {
			cpu += measures ? cpu_seconds(r) : 0;
			delay_at_random(r);
			cpu -= measures ? cpu_seconds(r) : 0;
		}
		err = err ? err : rank_library(r, "MPIX_Sched_wait", MPIX_Sched_wait(r->req));
		t2 = clock_now_ns();
		cpu += measures ? cpu_seconds(r) : 0;
		if (!err && is_checked)
			err = rank_check(r, epoch);
		if (i >= 0) {
			total[i] = (double)(t2 - t0) / 1e3;
			start[i] = (double)(t1 - t0) / 1e3;
		}
	}
	r->l->cpu[r->index * o->nranks + r->rank] = cpu;
	return err;
}

/* Runs the starts of a case. Rank 0 also measures the energy that the machine uses meanwhile. */
static int run_measured(struct rank *r)
{
	struct energy from, to;
	int err;

	if (r->rank || !r->o->wait)
		return run_starts(r);
	energy_read(ENERGY_DIR, &from);
	err = run_starts(r);
	energy_read(ENERGY_DIR, &to);
	r->l->joules[r->index] = energy_between(&from, &to);
	return err;
}

static int run_case(struct rank *r)
{
	int err = bind_case(r);

	err = err ? err : r->o->overlap ? rank_overlap(r) : run_measured(r);
	return err ? err : rank_library(r, "MPIX_Sched_free", MPIX_Sched_free(&r->req));
}

static int run_all(struct rank *r)
{
	int err = rank_library(r, "MPIX_Sched_group_create",
			  MPIX_Sched_group_create(r->ctx, (int)r->rank, (int)r->o->nranks, rank_allgather, r, &r->group));

	err = err ? err :
		    rank_library(r, "MPIX_Sched_op_create",
			    MPIX_Sched_op_create(r->ctx, values_user, &r->elem, false, &r->user));
	err = err ? err :
		    rank_library(r, "MPIX_Sched_load_mem",
			    MPIX_Sched_load_mem(r->ctx, r->o->name, r->o->image, r->o->size, &r->sched));
	if (err)
		return err;
	r->info.struct_size = sizeof r->info;
	MPIX_Sched_get_info(r->sched, &r->info);
	r->buffers = mem_calloc(r->info.nbuffers, sizeof *r->buffers);
	r->bytes = mem_calloc(r->info.nbuffers, sizeof *r->bytes);
	r->given = mem_calloc(r->info.nbuffers, sizeof *r->given);
	r->came = mem_calloc(r->o->nranks, sizeof *r->came);
	if (!r->buffers || !r->bytes || !r->given || !r->came)
		return rank_failed(r, "out of memory");
	for (r->index = 0; r->index < r->o->ncases && !err; r->index++) {
		r->c = &r->o->cases[r->index];
		if (r->c->memory != r->l->memory)
			continue;
		if (r->rank == 0)
			atomic_store(&r->l->shared->at_case, r->index);
		err = get_buffers(r);
		err = err ? err : run_case(r);
		if (err) /* a rank that fails keeps its memory bound; the process ends soon */
			return err;
		free_buffers(r);
		if (r->rank == 0)
			atomic_fetch_add(&r->l->shared->cases_done, 1);
	}
	return err;
}

/* Adds this launch's counters to those of earlier launches. */
static void add_stats(const struct rank *r)
{
	struct MPIX_Sched_stats mine = { .struct_size = sizeof mine }, *all = &r->l->stats[r->rank];
	const size_t first = offsetof(struct MPIX_Sched_stats, steals_local) / sizeof(uint64_t);

	MPIX_Sched_stats(r->ctx, &mine);
	for (size_t i = first; i < sizeof mine / sizeof(uint64_t); i++)
		((uint64_t *)all)[i] += ((const uint64_t *)&mine)[i];
}

int run_rank(struct run_launch *l, uint32_t rank)
{
	/* The CPUs that all ranks share are counted before this one is pinned. */
	struct rank r = { .l = l, .o = l->o, .rank = rank, .spins = rt_spins(l->o->here) };
	int err;

	if (l->o->pinning && !run_pin(l->o->pinning, rank))
		return rank_failed(&r, "it cannot be pinned: %s", strerror(errno));
	err = MPIX_Sched_ctx_create(&r.ctx);
	r.random = values_key((uint64_t)l->o->seed, rank, 77, 0);
	if (err)
		return rank_failed(&r, "MPIX_Sched_ctx_create: %s", MPIX_Sched_error_string(err));
	err = run_all(&r);
	add_stats(&r);
	if (r.req) /* still bound after a failure; the buffers must live as long as the request */
		MPIX_Sched_free(&r.req);
	if (r.c && r.buffers && !r.req)
		free_buffers(&r);
	free(r.buffers);
	free(r.bytes);
	free(r.given);
	free(r.came);
	MPIX_Sched_op_free(&r.user);
	MPIX_Sched_unload(&r.sched);
	MPIX_Sched_group_free(&r.group);
	MPIX_Sched_ctx_free(&r.ctx);
	return err;
}
