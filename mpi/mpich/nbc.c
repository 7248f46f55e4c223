/* SPDX-License-Identifier: BSD-3-Clause
 * With GOAL_MPI_NBC=1: wrappers of the collectives that do not block, with int counts and with MPI_Count, and of the functions
 * that make communicators. Those may wait for other ranks, so there a communicator gets what the calls on it need. */
#include "mpi/mpich/front.h"
#include "mpi/mpich/native.h"
#include "mpi/mpich/table.h"

/* ---- communicators ---- */

#define MAKER(name, params, args, out) \
	GM_EXPORT int MPI_##name params \
	{ \
		const int rc = NATIVE_SELDOM(name) args; \
\
		if (rc == MPI_SUCCESS && gm_running()) \
			gm_nbc_comm(*(out)); \
		return rc; \
	}

MAKER(Comm_dup, (MPI_Comm comm, MPI_Comm *out), (comm, out), out)
MAKER(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *out), (comm, info, out), out)
MAKER(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *out), (comm, color, key, out), out)
MAKER(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out), (comm, type, key, info, out), out)
MAKER(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *out), (comm, group, out), out)
MAKER(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *out), (comm, group, tag, out), out)
MAKER(Comm_create_from_group, (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm *out),
      (group, tag, info, handler, out), out)
MAKER(Intercomm_merge, (MPI_Comm inter, int high, MPI_Comm *out), (inter, high, out), out)
MAKER(Cart_create, (MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *out),
      (comm, ndims, dims, periods, reorder, out), out)
MAKER(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *out), (comm, remain, out), out)
MAKER(Graph_create, (MPI_Comm comm, int n, const int index[], const int edges[], int reorder, MPI_Comm *out),
      (comm, n, index, edges, reorder, out), out)
MAKER(Dist_graph_create,
      (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[], const int weights[],
       MPI_Info info, int reorder, MPI_Comm *out),
      (comm, n, sources, degrees, destinations, weights, info, reorder, out), out)
MAKER(Dist_graph_create_adjacent,
      (MPI_Comm comm, int indegree, const int sources[], const int sourceweights[], int outdegree, const int destinations[],
       const int destweights[], MPI_Info info, int reorder, MPI_Comm *out),
      (comm, indegree, sources, sourceweights, outdegree, destinations, destweights, info, reorder, out), out)

/* ---- collectives ---- */

/* The last arguments set fields of struct gm_call. */
#define CALL(NAME, name, params, args, ...) \
	GM_EXPORT int MPI_##name params \
	{ \
		int rc; \
\
		if (gm_nbc_on() && gm_serve(gm_once_start, &(struct gm_call){ .coll = GM_##NAME, .comm = comm, __VA_ARGS__ }, \
					    request, &rc)) \
			return rc; \
		return NATIVE_KEPT(name) args; \
	}

#define TAIL MPI_Comm comm, MPI_Request *request

#define BCAST(NAME, name, C) \
	CALL(NAME, name, (void *buffer, C count, MPI_Datatype datatype, int root, TAIL), \
	     (buffer, count, datatype, root, comm, request), .root = root, .send = GM_BLOCK(buffer, count, datatype))

#define BLOCKS(NAME, name, C, ROOT) \
	CALL(NAME, name, \
	     (const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf, C recvcount, MPI_Datatype recvtype, \
	      ROOT##_PARAM TAIL), \
	     (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, ROOT##_ARG comm, request), \
	     ROOT##_FIELD .send = GM_BLOCK(sendbuf, sendcount, sendtype), .recv = GM_BLOCK(recvbuf, recvcount, recvtype))

#define REDUCTION(NAME, name, C, ROOT) \
	CALL(NAME, name, \
	     (const void *sendbuf, void *recvbuf, C count, MPI_Datatype datatype, MPI_Op op, ROOT##_PARAM TAIL), \
	     (sendbuf, recvbuf, count, datatype, op, ROOT##_ARG comm, request), ROOT##_FIELD .op = op, \
	     .send = GM_BLOCK(sendbuf, count, datatype), .recv = GM_BLOCK(recvbuf, count, datatype))

#define BOTH(SHAPE, NAME, name, ...) \
	SHAPE(NAME, name, int, ##__VA_ARGS__) \
	SHAPE(NAME, name##_c, MPI_Count, ##__VA_ARGS__)

CALL(BARRIER, Ibarrier, (TAIL), (comm, request))
BOTH(BCAST, BCAST, Ibcast)
BOTH(BLOCKS, GATHER, Igather, ROOT)
BOTH(BLOCKS, SCATTER, Iscatter, ROOT)
BOTH(BLOCKS, ALLGATHER, Iallgather, NONE)
BOTH(BLOCKS, ALLTOALL, Ialltoall, NONE)
BOTH(REDUCTION, REDUCE, Ireduce, ROOT)
BOTH(REDUCTION, ALLREDUCE, Iallreduce, NONE)
BOTH(REDUCTION, REDUCE_SCATTER_BLOCK, Ireduce_scatter_block, NONE)
BOTH(REDUCTION, SCAN, Iscan, NONE)
BOTH(REDUCTION, EXSCAN, Iexscan, NONE)
