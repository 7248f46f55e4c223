/* SPDX-License-Identifier: BSD-3-Clause
 * The functions of mpix_sched.h that need MPI. They are inline, so the library itself is linked with no MPI and works with all
 * of them. Include this header in programs that are compiled with mpi.h, in C or in C++. */
#ifndef MPIX_SCHED_MPI_H
#define MPIX_SCHED_MPI_H

#include <mpi.h>

#include "mpix_sched.h"

#include <limits.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The MPIX_Sched_allgather_fn of MPIX_Sched_group_from_comm; arg points to the communicator. */
static inline int mpix_sched_mpi_allgather(const void *in, void *out, size_t size, void *arg)
{
	const int n = (int)size;

	return size > INT_MAX || MPI_Allgather(in, n, MPI_BYTE, out, n, MPI_BYTE, *(MPI_Comm *)arg) != MPI_SUCCESS;
}

/* Creates a group of the ranks of an intracommunicator, collectively, with the same ranks. Returns the errors of
 * MPIX_Sched_group_create. The communicator may be freed afterwards. Cost: that of MPIX_Sched_group_create, with two to four
 * calls of MPI_Allgather. */
static inline int MPIX_Sched_group_from_comm(MPIX_Sched_ctx ctx, MPI_Comm comm, MPIX_Sched_group *group)
{
	/* MPIX_Sched_group_create refuses these: a null communicator has no rank, and an intercommunicator has two groups. */
	int rank = -1, size = 0, inter = 1;

	if (comm != MPI_COMM_NULL && MPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && !inter &&
	    (MPI_Comm_rank(comm, &rank) != MPI_SUCCESS || MPI_Comm_size(comm, &size) != MPI_SUCCESS))
		rank = -1;
	return MPIX_Sched_group_create(ctx, rank, size, mpix_sched_mpi_allgather, &comm, group);
}

#ifdef __cplusplus
}
#endif

#endif
