/* SPDX-License-Identifier: BSD-3-Clause
 * What the wrappers that complete requests share. */
#ifndef MPI_MPICH_COMPLETE_H
#define MPI_MPICH_COMPLETE_H

#include "mpi/mpich/front.h"
#include "mpi/mpich/table.h"

/* False if no request of an array can be ours. */
static inline bool gm_may_have(int count, const MPI_Request requests[])
{
	return atomic_load_explicit(&gm_table, memory_order_relaxed) && count > 0 && requests;
}

static inline void gm_set_empty(MPI_Status *status)
{
	if (status != MPI_STATUS_IGNORE)
		*status = gm_empty_status;
}

/* Calls the error handler of a request's communicator, and returns the error. */
int gm_fail(struct gm_request *r, int code);

#endif
