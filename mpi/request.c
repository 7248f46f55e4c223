/* SPDX-License-Identifier: BSD-3-Clause
 * Requests: start, test, wait, free. */
#include "mpi/inner.h"

#include <stdlib.h>
#include <time.h>

/* Requests that were active when the user freed them. */
static struct {
	pthread_mutex_t lock;
	struct gm_request *first;
	_Atomic bool any;
} orphans = { .lock = PTHREAD_MUTEX_INITIALIZER };

uint64_t gm_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void count(_Atomic uint64_t *counter, uint64_t by)
{
	atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

static bool is_staged(const struct gm_request *r)
{
	return r->stage[GM_SEND].mem || r->stage[GM_RECV].mem;
}

/* Packs or unpacks the sides that are staged. */
static __attribute__((noinline)) int move_staged(struct gm_request *r, int (*move)(const struct gm_stage *s))
{
	int err = MPI_SUCCESS;

	for (int side = GM_SEND; side <= GM_RECV && !err; side++)
		if (r->stage[side].mem)
			err = move(&r->stage[side]);
	return err;
}

static inline int start(struct gm_request *r)
{
	int err = r->active ? MPI_ERR_REQUEST : is_staged(r) ? move_staged(r, gm_stage_pack) : MPI_SUCCESS;

	if (err)
		return err;
	if (r->calls)
		gm_helper_stays_out(1);
	if (gm_lib.start(r->req)) {
		if (r->calls)
			gm_helper_stays_out(-1);
		return MPI_ERR_OTHER;
	}
	r->active = true;
	gm_helper_started();
	return MPI_SUCCESS;
}

static __attribute__((noinline)) int start_counted(struct gm_request *r)
{
	const uint64_t begin = gm_now_ns();
	int err = start(r);

	if (err)
		return err;
	r->started = gm_now_ns();
	count(&r->record->starts, 1);
	count(&r->record->start_ns, r->started - begin);
	return MPI_SUCCESS;
}

static __attribute__((noinline)) int start_other(struct gm_request *r)
{
	return r->record ? start_counted(r) : start(r);
}

int gm_start(struct gm_request *r)
{
	if (__builtin_expect(!r->plain || r->active, 0))
		return start_other(r);
	if (gm_lib.start(r->req))
		return MPI_ERR_OTHER;
	r->active = true;
	gm_helper_started();
	return MPI_SUCCESS;
}

int gm_unpack(struct gm_request *r)
{
	if (!r->unpacked && is_staged(r)) {
		r->unpack_err = move_staged(r, gm_stage_unpack);
		r->unpacked = true;
	}
	return r->unpack_err;
}

/* Ends an epoch, whose result was `rc` of the library. */
static int finish(struct gm_request *r, int rc)
{
	const int err = rc ? MPI_ERR_OTHER : gm_unpack(r);

	r->active = r->unpacked = false;
	if (r->calls)
		gm_helper_stays_out(-1);
	return err;
}

int gm_test(struct gm_request *r, bool *flag)
{
	int done = 1, rc;

	*flag = true;
	if (!r->active)
		return MPI_SUCCESS;
	if (r->once)
		return gm_once_test(r, flag, false);
	rc = gm_lib.test(r->req, &done);
	*flag = done;
	if (!done)
		return MPI_SUCCESS;
	if (r->record)
		count(&r->record->apart_ns, gm_now_ns() - r->started);
	return finish(r, rc);
}

static int wait_counted(struct gm_request *r)
{
	const uint64_t begin = gm_now_ns();
	int rc = gm_lib.wait(r->req);

	count(&r->record->wait_ns, gm_now_ns() - begin);
	count(&r->record->apart_ns, begin - r->started);
	return finish(r, rc);
}

static __attribute__((noinline)) int wait_other(struct gm_request *r)
{
	if (!r->active)
		return MPI_SUCCESS;
	if (r->once)
		return gm_once_wait(r);
	return r->record ? wait_counted(r) : finish(r, gm_lib.wait(r->req));
}

int gm_wait(struct gm_request *r)
{
	int rc;

	if (__builtin_expect(!r->plain || !r->active, 0))
		return wait_other(r);
	rc = gm_lib.wait(r->req);
	r->active = false;
	return rc ? MPI_ERR_OTHER : MPI_SUCCESS;
}

void gm_wait_until(int (*done)(void *arg), void *arg)
{
	if (!done(arg))
		gm_lib.wait_until(gm_ctx(), done, arg);
}

int gm_peek(struct gm_request *r, bool *flag)
{
	int done = 1, err = 0;

	if (r->active && r->once)
		return gm_once_test(r, flag, true);
	if (r->active)
		gm_lib.request_get_status(r->req, &done, &err);
	*flag = done;
	if (err)
		return MPI_ERR_OTHER;
	return r->active && done ? gm_unpack(r) : MPI_SUCCESS;
}

bool gm_active(const struct gm_request *r)
{
	return r->active;
}

bool gm_is_once(const struct gm_request *r)
{
	return r->once;
}

MPI_Comm gm_comm(const struct gm_request *r)
{
	return atomic_load(&r->comm->freed) ? gm_local_comm(r->comm->comm) : r->comm->comm;
}

void gm_request_free(struct gm_request *r)
{
	if (r->req)
		gm_lib.free(&r->req);
	for (int side = GM_SEND; side <= GM_RECV; side++)
		gm_stage_free(&r->stage[side]);
	if (r->op != MPI_OP_NULL)
		gm_op_release(r->op);
	if (r->type != MPI_DATATYPE_NULL) {
		int ni, na, nt, combiner;

		if (!PMPI_Type_get_envelope(r->type, &ni, &na, &nt, &combiner) && combiner != MPI_COMBINER_NAMED)
			PMPI_Type_free(&r->type);
	}
	free(r->once);
	gm_comm_unref(r->comm);
	free(r);
}

void gm_free(struct gm_request *r)
{
	gm_reap();
	if (!r->active) {
		gm_request_free(r);
		return;
	}
	pthread_mutex_lock(&orphans.lock);
	r->next = orphans.first;
	orphans.first = r;
	atomic_store(&orphans.any, true);
	pthread_mutex_unlock(&orphans.lock);
}

void gm_reap(void)
{
	if (!atomic_load_explicit(&orphans.any, memory_order_relaxed))
		return;
	pthread_mutex_lock(&orphans.lock);
	for (struct gm_request **at = &orphans.first; *at;) {
		struct gm_request *r = *at;
		bool done;

		gm_test(r, &done);
		if (done) {
			*at = r->next;
			gm_request_free(r);
		} else {
			at = &r->next;
		}
	}
	atomic_store(&orphans.any, orphans.first != NULL);
	pthread_mutex_unlock(&orphans.lock);
}
