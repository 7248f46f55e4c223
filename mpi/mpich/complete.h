/* SPDX-License-Identifier: BSD-3-Clause
 * What the wrappers that complete requests share. */
#ifndef MPI_MPICH_COMPLETE_H
#define MPI_MPICH_COMPLETE_H

#include "mpi/mpich/front.h"
#include "mpi/mpich/native.h"
#include "mpi/mpich/table.h"

/* False if no request of an array can be ours. */
static inline bool gm_may_have(int count, const MPI_Request requests[])
{
	return atomic_load_explicit(&gm_table, memory_order_relaxed) && count > 0 && requests;
}

/* At the begin of a function of the program's most frequent ones: as long as there has been no request of ours, the call goes on to the
 * MPI library at once. */
#define PASS_ON(name, ...) \
	do { \
		const __typeof__(gm_native.name) *at = &gm_native.name; \
		__typeof__(PMPI_##name) *native = atomic_load_explicit(at, memory_order_relaxed); \
\
		if (__builtin_expect(native && !atomic_load_explicit(&gm_table, memory_order_relaxed), 1)) \
			return native(__VA_ARGS__); \
	} while (0)

static inline void gm_set_empty(MPI_Status *status)
{
	if (status != MPI_STATUS_IGNORE)
		*status = gm_empty_status;
}

/* Frees a request of ours that is complete, if it cannot be started again, and sets its handle to MPI_REQUEST_NULL. */
static inline void gm_release(MPI_Request *request, struct gm_request *r)
{
	if (!gm_is_once(r) || gm_active(r))
		return;
	gm_handle_free(request);
	gm_free(r);
}

/* Calls the error handler of a request's communicator, and returns the error. */
int gm_fail(struct gm_request *r, int code);

/* MPI_Request_get_status_any, _some and _all. They have other names here because headers differ in their types. */
GM_EXPORT int gm_get_status_any(int count, MPI_Request requests[], int *index, int *flag,
				MPI_Status *status) __asm__("MPI_Request_get_status_any");
GM_EXPORT int gm_get_status_some(int count, MPI_Request requests[], int *outcount, int indices[],
				 MPI_Status statuses[]) __asm__("MPI_Request_get_status_some");
GM_EXPORT int gm_get_status_all(int count, MPI_Request requests[], int *flag,
				MPI_Status statuses[]) __asm__("MPI_Request_get_status_all");

#endif
