/* SPDX-License-Identifier: BSD-3-Clause
 * Wrappers of the functions that complete requests of an array, in which ours, native ones and MPI_REQUEST_NULL may be mixed.
 * Native functions are called with the whole array, so that its indices hold: to them, ours are inactive. */
#include "mpi/mpich/complete.h"

#include <stdlib.h>

static bool has_ours(int count, const MPI_Request requests[])
{
	if (!gm_may_have(count, requests))
		return false;
	for (int i = 0; i < count; i++)
		if (gm_find(&requests[i]))
			return true;
	return false;
}

static bool has_active(int count, const MPI_Request requests[])
{
	for (int i = 0; i < count; i++) {
		struct gm_request *r = gm_find(&requests[i]);

		if (r && gm_active(r))
			return true;
	}
	return false;
}

static bool in_status(int rc)
{
	int class = MPI_SUCCESS;

	if (rc != MPI_SUCCESS)
		PMPI_Error_class(rc, &class);
	return class == MPI_ERR_IN_STATUS;
}

/* Tests a request of ours that may be active; it stays active if `keeps`. The functions below that have this parameter are
 * those of MPI_Test*, and of MPI_Request_get_status_*. */
static int take(struct gm_request *r, bool *done, bool keeps)
{
	return keeps ? gm_peek(r, done) : gm_test(r, done);
}

/* Frees a request that is complete, if it is of ours and cannot be started again. */
static void release(MPI_Request *request)
{
	struct gm_request *r = gm_find(request);

	if (r)
		gm_release(request, r);
}

/* ---- all ---- */

/* Requests that have failed. They are few, if any, so a list is made only then. */
struct failures {
	struct gm_request *first; /* NULL if there are none */
	int *codes; /* of each request of the array; NULL if there are none or no memory */
};

static void failures_add(struct failures *f, struct gm_request *r, int code, int index, int count)
{
	if (!f->first) {
		f->first = r;
		f->codes = calloc((size_t)count, sizeof *f->codes);
	}
	if (f->codes)
		f->codes[index] = code;
}

/* Writes the statuses of ours after a native function has written all. `native` is what that one returned: MPI_SUCCESS, or an
 * error in statuses. Native functions that succeed set no errors in statuses. */
static int all_done(int count, MPI_Request requests[], MPI_Status statuses[], struct failures *f, int native)
{
	for (int i = 0; statuses != MPI_STATUSES_IGNORE && i < count; i++) {
		if (gm_find(&requests[i]))
			statuses[i] = gm_empty_status;
		if (f->first && native == MPI_SUCCESS)
			statuses[i].MPI_ERROR = MPI_SUCCESS;
		if (f->codes && f->codes[i] != MPI_SUCCESS)
			statuses[i].MPI_ERROR = f->codes[i];
	}
	free(f->codes);
	if (f->first && native == MPI_SUCCESS)
		native = gm_fail(f->first, MPI_ERR_IN_STATUS);
	for (int i = 0; i < count; i++)
		release(&requests[i]);
	return native;
}

/* Waits for ours first: meanwhile native requests make progress. */
static __attribute__((noinline)) int waitall_here(int count, MPI_Request requests[], MPI_Status statuses[])
{
	struct failures failures = { 0 };
	int ours = 0, rc;

	for (int i = 0; gm_may_have(count, requests) && i < count; i++) {
		struct gm_request *r = gm_find(&requests[i]);

		if (!r)
			continue;
		ours++;
		rc = gm_wait(r);
		if (rc != MPI_SUCCESS)
			failures_add(&failures, r, rc, i, count);
	}
	if (ours == count && count > 0)
		return all_done(count, requests, statuses, &failures, MPI_SUCCESS);
	rc = NATIVE(Waitall)(count, requests, statuses);
	return ours ? all_done(count, requests, statuses, &failures, rc) : rc;
}

GM_EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
	PASS_ON(Waitall, count, requests, statuses);
	return waitall_here(count, requests, statuses);
}

static bool all_complete(int count, const MPI_Request requests[])
{
	bool done = true;

	for (int i = 0; done && i < count; i++) {
		struct gm_request *r = gm_find(&requests[i]);

		if (r && gm_active(r))
			gm_peek(r, &done);
	}
	return done;
}

/* Native requests are completed only if all of ours are complete. Those are left active until all native ones are, too. */
static int test_all(int count, MPI_Request requests[], int *flag, MPI_Status statuses[], bool keeps)
{
	struct failures failures = { 0 };
	int rc;

	*flag = 0;
	if (!all_complete(count, requests)) {
		gm_native_progress();
		return MPI_SUCCESS;
	}
	rc = keeps ? NATIVE(Request_get_status_all)(count, requests, flag, statuses) :
		     NATIVE(Testall)(count, requests, flag, statuses);
	if (rc == MPI_SUCCESS ? !*flag : !in_status(rc))
		return rc;
	for (int i = 0; i < count; i++) {
		struct gm_request *r = gm_find(&requests[i]);
		bool done;
		int code = r ? take(r, &done, keeps) : MPI_SUCCESS;

		if (code != MPI_SUCCESS)
			failures_add(&failures, r, code, i, count);
	}
	return all_done(count, requests, statuses, &failures, rc);
}

static __attribute__((noinline)) int testall_here(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	if (!has_ours(count, requests))
		return NATIVE(Testall)(count, requests, flag, statuses);
	return test_all(count, requests, flag, statuses, false);
}

GM_EXPORT int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	PASS_ON(Testall, count, requests, flag, statuses);
	return testall_here(count, requests, flag, statuses);
}

int gm_get_status_all(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	if (!has_ours(count, requests))
		return NATIVE(Request_get_status_all)(count, requests, flag, statuses);
	return test_all(count, requests, flag, statuses, true);
}

/* ---- any ---- */

/* *flag is true with *index == MPI_UNDEFINED if nothing is active. */
static int test_any(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status, bool keeps)
{
	bool active = false;
	int rc;

	for (int i = 0; i < count; i++) {
		struct gm_request *r = gm_find(&requests[i]);
		bool done = false;

		if (!r || !gm_active(r))
			continue;
		active = true;
		rc = take(r, &done, keeps);
		if (!done && rc == MPI_SUCCESS)
			continue;
		*index = i;
		*flag = 1;
		gm_set_empty(status);
		if (rc != MPI_SUCCESS)
			gm_fail(r, rc);
		gm_release(&requests[i], r);
		return rc;
	}
	rc = keeps ? NATIVE(Request_get_status_any)(count, requests, index, flag, status) :
		     NATIVE(Testany)(count, requests, index, flag, status);
	if (rc != MPI_SUCCESS || !*flag || *index != MPI_UNDEFINED)
		return rc;
	if (active) {
		*flag = 0;
		gm_native_progress();
	} else {
		gm_set_empty(status); /* which MPICH 4.0 leaves as it was */
	}
	return rc;
}

GM_EXPORT int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	if (!has_ours(count, requests))
		return NATIVE(Testany)(count, requests, index, flag, status);
	return test_any(count, requests, index, flag, status, false);
}

int gm_get_status_any(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	if (!has_ours(count, requests))
		return NATIVE(Request_get_status_any)(count, requests, index, flag, status);
	return test_any(count, requests, index, flag, status, true);
}

struct any_wait {
	int count, *index;
	MPI_Request *requests;
	MPI_Status *status;
	int rc;
};

/* True if a request is complete, or has failed. */
static int any_ended(void *arg)
{
	struct any_wait *w = arg;
	int flag = 0;

	w->rc = test_any(w->count, w->requests, w->index, &flag, w->status, false);
	return flag || w->rc != MPI_SUCCESS;
}

GM_EXPORT int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
	struct any_wait w = { .count = count, .index = index, .requests = requests, .status = status };

	if (!gm_may_have(count, requests) || !has_active(count, requests))
		return NATIVE(Waitany)(count, requests, index, status);
	gm_wait_until(any_ended, &w);
	return w.rc;
}

/* ---- some ---- */

/* Native requests come first in the outputs, because a native function writes those. */
static int test_some(int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[], bool keeps)
{
	int n, natives, out, rc;
	struct gm_request *failed = NULL;
	bool active = false;

	rc = keeps ? NATIVE(Request_get_status_some)(count, requests, &n, indices, statuses) :
		     NATIVE(Testsome)(count, requests, &n, indices, statuses);
	if (rc != MPI_SUCCESS && !in_status(rc))
		return rc;
	out = natives = n == MPI_UNDEFINED ? 0 : n;
	for (int i = 0; i < count; i++) {
		struct gm_request *r = gm_find(&requests[i]);
		bool done = false;
		int code;

		if (!r || !gm_active(r))
			continue;
		active = true;
		code = take(r, &done, keeps);
		if (!done && code == MPI_SUCCESS)
			continue;
		if (code != MPI_SUCCESS && !failed)
			failed = r;
		if (statuses != MPI_STATUSES_IGNORE) {
			statuses[out] = gm_empty_status;
			statuses[out].MPI_ERROR = code;
		}
		indices[out++] = i;
	}
	*outcount = n == MPI_UNDEFINED && !active ? MPI_UNDEFINED : out;
	if (!out)
		gm_native_progress();
	if (failed && rc == MPI_SUCCESS) {
		for (int i = 0; statuses != MPI_STATUSES_IGNORE && i < natives; i++)
			statuses[i].MPI_ERROR = MPI_SUCCESS;
		rc = gm_fail(failed, MPI_ERR_IN_STATUS);
	}
	for (int i = natives; i < out; i++)
		release(&requests[indices[i]]);
	return rc;
}

GM_EXPORT int MPI_Testsome(int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
	if (!has_ours(count, requests))
		return NATIVE(Testsome)(count, requests, outcount, indices, statuses);
	return test_some(count, requests, outcount, indices, statuses, false);
}

int gm_get_status_some(int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
	if (!has_ours(count, requests))
		return NATIVE(Request_get_status_some)(count, requests, outcount, indices, statuses);
	return test_some(count, requests, outcount, indices, statuses, true);
}

struct some_wait {
	int count, *outcount, *indices;
	MPI_Request *requests;
	MPI_Status *statuses;
	int rc;
};

/* True if a request is complete, or has failed. */
static int some_ended(void *arg)
{
	struct some_wait *w = arg;

	w->rc = test_some(w->count, w->requests, w->outcount, w->indices, w->statuses, false);
	return *w->outcount || w->rc != MPI_SUCCESS;
}

GM_EXPORT int MPI_Waitsome(int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
	struct some_wait w = {
		.count = count, .outcount = outcount, .indices = indices, .requests = requests, .statuses = statuses
	};

	if (!gm_may_have(count, requests) || !has_active(count, requests))
		return NATIVE(Waitsome)(count, requests, outcount, indices, statuses);
	gm_wait_until(some_ended, &w);
	return w.rc;
}
