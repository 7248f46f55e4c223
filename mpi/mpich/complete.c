/* SPDX-License-Identifier: BSD-3-Clause
 * Wrappers of the functions for one request, and of those that start or free requests. */
#include "mpi/mpich/complete.h"

int gm_fail(struct gm_request *r, int code)
{
	PMPI_Comm_call_errhandler(gm_comm(r), code);
	return code;
}

/* ---- start ---- */

static int start(struct gm_request *r)
{
	int rc = gm_start(r);

	return rc == MPI_SUCCESS ? rc : gm_fail(r, rc);
}

GM_EXPORT int MPI_Start(MPI_Request *request)
{
	struct gm_request *r = gm_find(request);

	return r ? start(r) : NATIVE(Start)(request);
}

/* The handle of a request of ours must not be started, so what is native is started in parts, each as long as can be. */
GM_EXPORT int MPI_Startall(int count, MPI_Request requests[])
{
	int rc = MPI_SUCCESS, from = 0;

	if (!gm_may_have(count, requests))
		return NATIVE(Startall)(count, requests);
	for (int i = 0; i < count && rc == MPI_SUCCESS; i++) {
		struct gm_request *r = gm_find(&requests[i]);

		if (!r)
			continue;
		if (from < i)
			rc = NATIVE(Startall)(i - from, &requests[from]);
		if (rc == MPI_SUCCESS)
			rc = start(r);
		from = i + 1;
	}
	return rc == MPI_SUCCESS && from < count ? NATIVE(Startall)(count - from, &requests[from]) : rc;
}

/* ---- completion ---- */

static __attribute__((noinline)) int wait_here(MPI_Request *request, MPI_Status *status)
{
	struct gm_request *r = gm_find(request);
	int rc;

	if (!r)
		return NATIVE(Wait)(request, status);
	rc = gm_wait(r);
	gm_set_empty(status);
	if (rc != MPI_SUCCESS)
		gm_fail(r, rc);
	gm_release(request, r);
	return rc;
}

GM_EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	PASS_ON(Wait, request, status);
	return wait_here(request, status);
}

static __attribute__((noinline)) int test_here(MPI_Request *request, int *flag, MPI_Status *status)
{
	struct gm_request *r = gm_find(request);
	bool done = false;
	int rc;

	if (!r)
		return NATIVE(Test)(request, flag, status);
	rc = gm_test(r, &done);
	*flag = done;
	if (done)
		gm_set_empty(status);
	else
		gm_native_progress();
	if (rc != MPI_SUCCESS)
		gm_fail(r, rc);
	gm_release(request, r);
	return rc;
}

GM_EXPORT int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	PASS_ON(Test, request, flag, status);
	return test_here(request, flag, status);
}

GM_EXPORT int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	struct gm_request *r = gm_find(&request);
	bool done = false;
	int rc;

	if (!r)
		return NATIVE(Request_get_status)(request, flag, status);
	rc = gm_peek(r, &done);
	*flag = done;
	if (done)
		gm_set_empty(status);
	else
		gm_native_progress();
	return rc == MPI_SUCCESS ? rc : gm_fail(r, rc);
}

/* ---- the rest ---- */

GM_EXPORT int MPI_Request_free(MPI_Request *request)
{
	struct gm_request *r = gm_find(request);

	if (!r)
		return NATIVE(Request_free)(request);
	gm_handle_free(request);
	gm_free(r);
	return MPI_SUCCESS;
}

/* MPI does not allow to cancel a collective. */
GM_EXPORT int MPI_Cancel(MPI_Request *request)
{
	struct gm_request *r = gm_find(request);

	return r ? gm_fail(r, MPI_ERR_REQUEST) : NATIVE(Cancel)(request);
}
