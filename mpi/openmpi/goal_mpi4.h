/* SPDX-License-Identifier: BSD-3-Clause
 * MPI-4's names of persistent collectives for Open MPI 4.1, which has them as MPIX_*_init. Include this after <mpi.h> and link
 * libgoalmpi-openmpi. With an MPI library that has the names, this does nothing. */
#ifndef GOAL_MPI4_H
#define GOAL_MPI4_H

#include <mpi.h>

#if defined(OPEN_MPI) && MPI_VERSION < 4 && OMPI_MAJOR_VERSION < 5
#ifdef __cplusplus
extern "C" {
#endif

/* C is int, or MPI_Count in the functions whose names end in _c; D is int or MPI_Aint. */
#define GOAL_MPI4_TAIL MPI_Comm comm, MPI_Info info, MPI_Request *request
#define GOAL_MPI4_ONE(NAME, C) \
	int NAME(const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf, C recvcount, MPI_Datatype recvtype, \
		 GOAL_MPI4_TAIL);
#define GOAL_MPI4_ONE_ROOT(NAME, C) \
	int NAME(const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf, C recvcount, MPI_Datatype recvtype, \
		 int root, GOAL_MPI4_TAIL);
#define GOAL_MPI4_RECVS(NAME, C, D) \
	int NAME(const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf, const C recvcounts[], \
		 const D displs[], MPI_Datatype recvtype, GOAL_MPI4_TAIL);
#define GOAL_MPI4_ALL(NAME, C, D) \
	int NAME(const void *sendbuf, const C sendcounts[], const D sdispls[], MPI_Datatype sendtype, void *recvbuf, \
		 const C recvcounts[], const D rdispls[], MPI_Datatype recvtype, GOAL_MPI4_TAIL);
#define GOAL_MPI4_TYPES(NAME, C, D) \
	int NAME(const void *sendbuf, const C sendcounts[], const D sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, \
		 const C recvcounts[], const D rdispls[], const MPI_Datatype recvtypes[], GOAL_MPI4_TAIL);
#define GOAL_MPI4_REDUCTION(NAME, C) \
	int NAME(const void *sendbuf, void *recvbuf, C count, MPI_Datatype datatype, MPI_Op op, GOAL_MPI4_TAIL);

#define GOAL_MPI4_BOTH(X, NAME) X(MPI_##NAME##_init, int) X(MPI_##NAME##_init_c, MPI_Count)
#define GOAL_MPI4_DISPLS(X, NAME) X(MPI_##NAME##_init, int, int) X(MPI_##NAME##_init_c, MPI_Count, MPI_Aint)

int MPI_Barrier_init(GOAL_MPI4_TAIL);
int MPI_Bcast_init(void *buffer, int count, MPI_Datatype datatype, int root, GOAL_MPI4_TAIL);
int MPI_Bcast_init_c(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, GOAL_MPI4_TAIL);
GOAL_MPI4_BOTH(GOAL_MPI4_ONE_ROOT, Gather)
GOAL_MPI4_BOTH(GOAL_MPI4_ONE_ROOT, Scatter)
int MPI_Gatherv_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
		     const int displs[], MPI_Datatype recvtype, int root, GOAL_MPI4_TAIL);
int MPI_Gatherv_init_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
		       const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,
		       GOAL_MPI4_TAIL);
int MPI_Scatterv_init(const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void *recvbuf,
		      int recvcount, MPI_Datatype recvtype, int root, GOAL_MPI4_TAIL);
int MPI_Scatterv_init_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[], MPI_Datatype sendtype,
			void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, GOAL_MPI4_TAIL);
GOAL_MPI4_BOTH(GOAL_MPI4_ONE, Allgather)
GOAL_MPI4_DISPLS(GOAL_MPI4_RECVS, Allgatherv)
GOAL_MPI4_BOTH(GOAL_MPI4_ONE, Alltoall)
GOAL_MPI4_DISPLS(GOAL_MPI4_ALL, Alltoallv)
GOAL_MPI4_DISPLS(GOAL_MPI4_TYPES, Alltoallw)
int MPI_Reduce_init(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
		    GOAL_MPI4_TAIL);
int MPI_Reduce_init_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
		      GOAL_MPI4_TAIL);
GOAL_MPI4_BOTH(GOAL_MPI4_REDUCTION, Allreduce)
int MPI_Reduce_scatter_init(const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op,
			    GOAL_MPI4_TAIL);
int MPI_Reduce_scatter_init_c(const void *sendbuf, void *recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype,
			      MPI_Op op, GOAL_MPI4_TAIL);
GOAL_MPI4_BOTH(GOAL_MPI4_REDUCTION, Reduce_scatter_block)
GOAL_MPI4_BOTH(GOAL_MPI4_REDUCTION, Scan)
GOAL_MPI4_BOTH(GOAL_MPI4_REDUCTION, Exscan)
GOAL_MPI4_BOTH(GOAL_MPI4_ONE, Neighbor_allgather)
GOAL_MPI4_DISPLS(GOAL_MPI4_RECVS, Neighbor_allgatherv)
GOAL_MPI4_BOTH(GOAL_MPI4_ONE, Neighbor_alltoall)
GOAL_MPI4_DISPLS(GOAL_MPI4_ALL, Neighbor_alltoallv)
GOAL_MPI4_TYPES(MPI_Neighbor_alltoallw_init, int, MPI_Aint)
GOAL_MPI4_TYPES(MPI_Neighbor_alltoallw_init_c, MPI_Count, MPI_Aint)

#ifdef __cplusplus
}
#endif
#endif
#endif
