/* SPDX-License-Identifier: BSD-3-Clause
 * Wrappers of the functions that make persistent collectives. One macro for each shape of their parameters makes a function
 * with int counts and one with MPI_Count. */
#include "mpi/mpich/front.h"
#include "mpi/mpich/native.h"
#include "mpi/mpich/table.h"

/* The last arguments set fields of struct gm_call. */
#define INIT(NAME, name, params, args, ...) \
	GM_EXPORT int MPI_##name params \
	{ \
		const struct gm_call call = { .coll = GM_##NAME, .comm = comm, .info = info, __VA_ARGS__ }; \
		int rc; \
\
		return gm_serve(gm_init, &call, request, &rc) ? rc : NATIVE_SELDOM(name) args; \
	}

#define COMMON MPI_Comm comm, MPI_Info info, MPI_Request *request

#define VECTOR(BUF, COUNTS, DISPLS, TYPE, WIDE) \
	{ .buf = (void *)(BUF), .counts = { COUNTS, WIDE }, .displs = { DISPLS, WIDE }, .type = (TYPE) }
#define SEPARATE(BUF, COUNTS, DISPLS, TYPES, WIDE, WIDE_DISPLS) \
	{ .buf = (void *)(BUF), .counts = { COUNTS, WIDE }, .displs = { DISPLS, WIDE_DISPLS }, .types = (TYPES) }

/* In each shape, C is the type of counts, D that of displacements; W: they are wide. */
#define BCAST(NAME, name, C, D, W) \
	INIT(NAME, name, (void *buffer, C count, MPI_Datatype datatype, int root, COMMON), \
	     (buffer, count, datatype, root, comm, info, request), .root = root, .send = GM_BLOCK(buffer, count, datatype))

#define BLOCKS(NAME, name, C, D, W, ROOT) \
	INIT(NAME, name, \
	     (const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf, C recvcount, MPI_Datatype recvtype, \
	      ROOT##_PARAM COMMON), \
	     (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, ROOT##_ARG comm, info, request), \
	     ROOT##_FIELD .send = GM_BLOCK(sendbuf, sendcount, sendtype), .recv = GM_BLOCK(recvbuf, recvcount, recvtype))

#define BLOCK_TO_VECTOR(NAME, name, C, D, W, ROOT) \
	INIT(NAME, name, \
	     (const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf, const C recvcounts[], const D displs[], \
	      MPI_Datatype recvtype, ROOT##_PARAM COMMON), \
	     (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, ROOT##_ARG comm, info, request), \
	     ROOT##_FIELD .send = GM_BLOCK(sendbuf, sendcount, sendtype), \
	     .recv = VECTOR(recvbuf, recvcounts, displs, recvtype, W))

#define VECTOR_TO_BLOCK(NAME, name, C, D, W, ROOT) \
	INIT(NAME, name, \
	     (const void *sendbuf, const C sendcounts[], const D displs[], MPI_Datatype sendtype, void *recvbuf, C recvcount, \
	      MPI_Datatype recvtype, ROOT##_PARAM COMMON), \
	     (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, ROOT##_ARG comm, info, request), \
	     ROOT##_FIELD .send = VECTOR(sendbuf, sendcounts, displs, sendtype, W), \
	     .recv = GM_BLOCK(recvbuf, recvcount, recvtype))

#define VECTORS(NAME, name, C, D, W) \
	INIT(NAME, name, \
	     (const void *sendbuf, const C sendcounts[], const D sdispls[], MPI_Datatype sendtype, void *recvbuf, \
	      const C recvcounts[], const D rdispls[], MPI_Datatype recvtype, COMMON), \
	     (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, info, request), \
	     .send = VECTOR(sendbuf, sendcounts, sdispls, sendtype, W), \
	     .recv = VECTOR(recvbuf, recvcounts, rdispls, recvtype, W))

#define WITH_TYPES(NAME, name, C, D, W, WD) \
	INIT(NAME, name, \
	     (const void *sendbuf, const C sendcounts[], const D sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, \
	      const C recvcounts[], const D rdispls[], const MPI_Datatype recvtypes[], COMMON), \
	     (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, info, request), \
	     .send = SEPARATE(sendbuf, sendcounts, sdispls, sendtypes, W, WD), \
	     .recv = SEPARATE(recvbuf, recvcounts, rdispls, recvtypes, W, WD))

#define REDUCTION(NAME, name, C, D, W, ROOT) \
	INIT(NAME, name, \
	     (const void *sendbuf, void *recvbuf, C count, MPI_Datatype datatype, MPI_Op op, ROOT##_PARAM COMMON), \
	     (sendbuf, recvbuf, count, datatype, op, ROOT##_ARG comm, info, request), ROOT##_FIELD .op = op, \
	     .send = GM_BLOCK(sendbuf, count, datatype), .recv = GM_BLOCK(recvbuf, count, datatype))

#define REDUCE_SCATTER(NAME, name, C, D, W) \
	INIT(NAME, name, \
	     (const void *sendbuf, void *recvbuf, const C recvcounts[], MPI_Datatype datatype, MPI_Op op, COMMON), \
	     (sendbuf, recvbuf, recvcounts, datatype, op, comm, info, request), .op = op, \
	     .send = GM_BLOCK(sendbuf, 0, datatype), .recv = VECTOR(recvbuf, recvcounts, NULL, datatype, W))

#define BOTH(SHAPE, NAME, name, ...) \
	SHAPE(NAME, name##_init, int, int, false, ##__VA_ARGS__) \
	SHAPE(NAME, name##_init_c, MPI_Count, MPI_Aint, true, ##__VA_ARGS__)

INIT(BARRIER, Barrier_init, (COMMON), (comm, info, request))
BOTH(BCAST, BCAST, Bcast)
BOTH(BLOCKS, GATHER, Gather, ROOT)
BOTH(BLOCKS, SCATTER, Scatter, ROOT)
BOTH(BLOCKS, ALLGATHER, Allgather, NONE)
BOTH(BLOCKS, ALLTOALL, Alltoall, NONE)
BOTH(BLOCKS, NEIGHBOR_ALLGATHER, Neighbor_allgather, NONE)
BOTH(BLOCKS, NEIGHBOR_ALLTOALL, Neighbor_alltoall, NONE)
BOTH(BLOCK_TO_VECTOR, GATHERV, Gatherv, ROOT)
BOTH(BLOCK_TO_VECTOR, ALLGATHERV, Allgatherv, NONE)
BOTH(BLOCK_TO_VECTOR, NEIGHBOR_ALLGATHERV, Neighbor_allgatherv, NONE)
BOTH(VECTOR_TO_BLOCK, SCATTERV, Scatterv, ROOT)
BOTH(VECTORS, ALLTOALLV, Alltoallv)
BOTH(VECTORS, NEIGHBOR_ALLTOALLV, Neighbor_alltoallv)
/* Displacements of MPI_Neighbor_alltoallw_init are wide, though its counts are not. */
WITH_TYPES(ALLTOALLW, Alltoallw_init, int, int, false, false)
WITH_TYPES(ALLTOALLW, Alltoallw_init_c, MPI_Count, MPI_Aint, true, true)
WITH_TYPES(NEIGHBOR_ALLTOALLW, Neighbor_alltoallw_init, int, MPI_Aint, false, true)
WITH_TYPES(NEIGHBOR_ALLTOALLW, Neighbor_alltoallw_init_c, MPI_Count, MPI_Aint, true, true)
BOTH(REDUCTION, REDUCE, Reduce, ROOT)
BOTH(REDUCTION, ALLREDUCE, Allreduce, NONE)
BOTH(REDUCTION, REDUCE_SCATTER_BLOCK, Reduce_scatter_block, NONE)
BOTH(REDUCTION, SCAN, Scan, NONE)
BOTH(REDUCTION, EXSCAN, Exscan, NONE)
BOTH(REDUCE_SCATTER, REDUCE_SCATTER, Reduce_scatter)
