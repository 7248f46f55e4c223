/* SPDX-License-Identifier: BSD-3-Clause
 * MPI-4's names of persistent collectives for Open MPI 4.1, which has them as MPIX_*_init: for C (goal_mpi4.h), and for Fortran
 * programs that call them as external procedures. Counts of MPI_*_init_c must fit an int. */
#include "mpi/openmpi/goal_mpi4.h"

#include <mpi-ext.h>

#include <stdbool.h>
#include <stdlib.h>

/* With Open MPI 5, which has the names, there is nothing here. */
#if MPI_VERSION < 4 && OMPI_MAJOR_VERSION < 5

/* Where no library of MPI is loaded, as in Open MPI's launcher, this library must load too. */
#pragma weak ompi_mpi_comm_null

#define EXPORT __attribute__((visibility("default")))
#define TAIL MPI_Comm comm, MPI_Info info, MPI_Request *request
#define REST comm, info, request

/* ---- counts that are made narrower ---- */

struct narrow {
	MPI_Comm comm;
	int sends, recvs; /* how many ranks or neighbours data goes to and comes from */
	int rank; /* MPI_ROOT and MPI_PROC_NULL are those of intercommunicators, where only MPI_ROOT uses the root's arguments */
	int err;
	int narrays;
	int *arrays[4];
};

static void count_neighbours(struct narrow *w)
{
	int kind, rank, n, weighted;

	PMPI_Topo_test(w->comm, &kind);
	PMPI_Comm_rank(w->comm, &rank);
	if (kind == MPI_CART) {
		PMPI_Cartdim_get(w->comm, &n);
		w->sends = w->recvs = 2 * n;
	} else if (kind == MPI_GRAPH) {
		PMPI_Graph_neighbors_count(w->comm, rank, &n);
		w->sends = w->recvs = n;
	} else if (kind == MPI_DIST_GRAPH) {
		PMPI_Dist_graph_neighbors_count(w->comm, &w->recvs, &w->sends, &weighted);
	}
}

static struct narrow narrow_begin(MPI_Comm comm, bool near)
{
	struct narrow w = { .comm = comm };
	int inter;

	/* Open MPI tells what is wrong with a handle. */
	if (comm == MPI_COMM_NULL)
		return w;
	PMPI_Comm_test_inter(comm, &inter);
	if (inter)
		PMPI_Comm_remote_size(comm, &w.sends);
	else
		PMPI_Comm_size(comm, &w.sends);
	w.recvs = w.sends;
	w.rank = MPI_ROOT;
	if (!inter)
		PMPI_Comm_rank(comm, &w.rank);
	if (near)
		count_neighbours(&w);
	return w;
}

/* A count that is not used may be anything. */
static int count_of(struct narrow *w, MPI_Count n, bool used)
{
	if (!used)
		return 0;
	if ((int)n != n)
		w->err = MPI_ERR_COUNT;
	return (int)n;
}

static int *array_new(struct narrow *w, int n)
{
	int *array = malloc(n ? n * sizeof(int) : 1);

	if (!array)
		w->err = MPI_ERR_NO_MEM;
	else
		w->arrays[w->narrays++] = array;
	return array;
}

#define ARRAY_OF(NAME, type) \
	static int *NAME(struct narrow *w, const type *from, int n, bool used) \
	{ \
		int *to = used && from ? array_new(w, n) : NULL; \
\
		for (int i = 0; to && i < n; i++) \
			to[i] = count_of(w, from[i], true); \
		return to; \
	}
ARRAY_OF(counts_of, MPI_Count)
ARRAY_OF(displs_of, MPI_Aint)

static int narrow_end(struct narrow *w, int err)
{
	while (w->narrays)
		free(w->arrays[--w->narrays]);
	if (w->err)
		PMPI_Comm_call_errhandler(w->comm, w->err);
	return w->err ? w->err : err;
}

/* Makes the call unless a count is too large. */
#define CALL(call) return narrow_end(&w, w.err ? w.err : (call))

/* ---- collectives with a count for each side ---- */

EXPORT int MPI_Barrier_init(TAIL)
{
	return MPIX_Barrier_init(REST);
}

EXPORT int MPI_Bcast_init(void *buf, int n, MPI_Datatype type, int root, TAIL)
{
	return MPIX_Bcast_init(buf, n, type, root, REST);
}

EXPORT int MPI_Bcast_init_c(void *buf, MPI_Count n, MPI_Datatype type, int root, TAIL)
{
	struct narrow w = narrow_begin(comm, false);
	int m = count_of(&w, n, true);

	CALL(MPIX_Bcast_init(buf, m, type, root, REST));
}

#define ONE_COUNT(NAME, near) \
	EXPORT int MPI_##NAME##_init(const void *sbuf, int sn, MPI_Datatype stype, void *rbuf, int rn, MPI_Datatype rtype, \
				     TAIL) \
	{ \
		return MPIX_##NAME##_init(sbuf, sn, stype, rbuf, rn, rtype, REST); \
	} \
	EXPORT int MPI_##NAME##_init_c(const void *sbuf, MPI_Count sn, MPI_Datatype stype, void *rbuf, MPI_Count rn, \
				       MPI_Datatype rtype, TAIL) \
	{ \
		struct narrow w = narrow_begin(comm, near); \
		int s = count_of(&w, sn, sbuf != MPI_IN_PLACE), r = count_of(&w, rn, true); \
\
		CALL(MPIX_##NAME##_init(sbuf, s, stype, rbuf, r, rtype, REST)); \
	}
ONE_COUNT(Allgather, false)
ONE_COUNT(Alltoall, false)
ONE_COUNT(Neighbor_allgather, true)
ONE_COUNT(Neighbor_alltoall, true)

#define ONE_COUNT_ROOT(NAME, sends, recvs) \
	EXPORT int MPI_##NAME##_init(const void *sbuf, int sn, MPI_Datatype stype, void *rbuf, int rn, MPI_Datatype rtype, \
				     int root, TAIL) \
	{ \
		return MPIX_##NAME##_init(sbuf, sn, stype, rbuf, rn, rtype, root, REST); \
	} \
	EXPORT int MPI_##NAME##_init_c(const void *sbuf, MPI_Count sn, MPI_Datatype stype, void *rbuf, MPI_Count rn, \
				       MPI_Datatype rtype, int root, TAIL) \
	{ \
		struct narrow w = narrow_begin(comm, false); \
		int s = count_of(&w, sn, sends), r = count_of(&w, rn, recvs); \
\
		CALL(MPIX_##NAME##_init(sbuf, s, stype, rbuf, r, rtype, root, REST)); \
	}
ONE_COUNT_ROOT(Gather, sbuf != MPI_IN_PLACE, w.rank == root)
ONE_COUNT_ROOT(Scatter, w.rank == root, rbuf != MPI_IN_PLACE)

#define REDUCTION(NAME) \
	EXPORT int MPI_##NAME##_init(const void *sbuf, void *rbuf, int n, MPI_Datatype type, MPI_Op op, TAIL) \
	{ \
		return MPIX_##NAME##_init(sbuf, rbuf, n, type, op, REST); \
	} \
	EXPORT int MPI_##NAME##_init_c(const void *sbuf, void *rbuf, MPI_Count n, MPI_Datatype type, MPI_Op op, TAIL) \
	{ \
		struct narrow w = narrow_begin(comm, false); \
		int m = count_of(&w, n, true); \
\
		CALL(MPIX_##NAME##_init(sbuf, rbuf, m, type, op, REST)); \
	}
REDUCTION(Allreduce)
REDUCTION(Reduce_scatter_block)
REDUCTION(Scan)
REDUCTION(Exscan)

EXPORT int MPI_Reduce_init(const void *sbuf, void *rbuf, int n, MPI_Datatype type, MPI_Op op, int root, TAIL)
{
	return MPIX_Reduce_init(sbuf, rbuf, n, type, op, root, REST);
}

EXPORT int MPI_Reduce_init_c(const void *sbuf, void *rbuf, MPI_Count n, MPI_Datatype type, MPI_Op op, int root, TAIL)
{
	struct narrow w = narrow_begin(comm, false);
	int m = count_of(&w, n, true);

	CALL(MPIX_Reduce_init(sbuf, rbuf, m, type, op, root, REST));
}

/* ---- collectives with counts for each rank or neighbour ---- */

EXPORT int MPI_Gatherv_init(const void *sbuf, int sn, MPI_Datatype stype, void *rbuf, const int rns[], const int displs[],
			    MPI_Datatype rtype, int root, TAIL)
{
	return MPIX_Gatherv_init(sbuf, sn, stype, rbuf, rns, displs, rtype, root, REST);
}

EXPORT int MPI_Gatherv_init_c(const void *sbuf, MPI_Count sn, MPI_Datatype stype, void *rbuf, const MPI_Count rns[],
			      const MPI_Aint displs[], MPI_Datatype rtype, int root, TAIL)
{
	struct narrow w = narrow_begin(comm, false);
	int s = count_of(&w, sn, sbuf != MPI_IN_PLACE), *r = counts_of(&w, rns, w.recvs, w.rank == root),
	    *d = displs_of(&w, displs, w.recvs, w.rank == root);

	CALL(MPIX_Gatherv_init(sbuf, s, stype, rbuf, r, d, rtype, root, REST));
}

EXPORT int MPI_Scatterv_init(const void *sbuf, const int sns[], const int displs[], MPI_Datatype stype, void *rbuf, int rn,
			     MPI_Datatype rtype, int root, TAIL)
{
	return MPIX_Scatterv_init(sbuf, sns, displs, stype, rbuf, rn, rtype, root, REST);
}

EXPORT int MPI_Scatterv_init_c(const void *sbuf, const MPI_Count sns[], const MPI_Aint displs[], MPI_Datatype stype,
			       void *rbuf, MPI_Count rn, MPI_Datatype rtype, int root, TAIL)
{
	struct narrow w = narrow_begin(comm, false);
	int *s = counts_of(&w, sns, w.sends, w.rank == root), *d = displs_of(&w, displs, w.sends, w.rank == root),
	    r = count_of(&w, rn, rbuf != MPI_IN_PLACE);

	CALL(MPIX_Scatterv_init(sbuf, s, d, stype, rbuf, r, rtype, root, REST));
}

#define RECV_COUNTS(NAME, near) \
	EXPORT int MPI_##NAME##_init(const void *sbuf, int sn, MPI_Datatype stype, void *rbuf, const int rns[], \
				     const int displs[], MPI_Datatype rtype, TAIL) \
	{ \
		return MPIX_##NAME##_init(sbuf, sn, stype, rbuf, rns, displs, rtype, REST); \
	} \
	EXPORT int MPI_##NAME##_init_c(const void *sbuf, MPI_Count sn, MPI_Datatype stype, void *rbuf, \
				       const MPI_Count rns[], const MPI_Aint displs[], MPI_Datatype rtype, TAIL) \
	{ \
		struct narrow w = narrow_begin(comm, near); \
		int s = count_of(&w, sn, sbuf != MPI_IN_PLACE), *r = counts_of(&w, rns, w.recvs, true), \
		    *d = displs_of(&w, displs, w.recvs, true); \
\
		CALL(MPIX_##NAME##_init(sbuf, s, stype, rbuf, r, d, rtype, REST)); \
	}
RECV_COUNTS(Allgatherv, false)
RECV_COUNTS(Neighbor_allgatherv, true)

#define ALL_COUNTS(NAME, near) \
	EXPORT int MPI_##NAME##_init(const void *sbuf, const int sns[], const int sdispls[], MPI_Datatype stype, void *rbuf, \
				     const int rns[], const int rdispls[], MPI_Datatype rtype, TAIL) \
	{ \
		return MPIX_##NAME##_init(sbuf, sns, sdispls, stype, rbuf, rns, rdispls, rtype, REST); \
	} \
	EXPORT int MPI_##NAME##_init_c(const void *sbuf, const MPI_Count sns[], const MPI_Aint sdispls[], MPI_Datatype stype, \
				       void *rbuf, const MPI_Count rns[], const MPI_Aint rdispls[], MPI_Datatype rtype, TAIL) \
	{ \
		struct narrow w = narrow_begin(comm, near); \
		bool sends = sbuf != MPI_IN_PLACE; \
		int *s = counts_of(&w, sns, w.sends, sends), *sd = displs_of(&w, sdispls, w.sends, sends), \
		    *r = counts_of(&w, rns, w.recvs, true), *rd = displs_of(&w, rdispls, w.recvs, true); \
\
		CALL(MPIX_##NAME##_init(sbuf, s, sd, stype, rbuf, r, rd, rtype, REST)); \
	}
ALL_COUNTS(Alltoallv, false)
ALL_COUNTS(Neighbor_alltoallv, true)

EXPORT int MPI_Alltoallw_init(const void *sbuf, const int sns[], const int sdispls[], const MPI_Datatype stypes[], void *rbuf,
			      const int rns[], const int rdispls[], const MPI_Datatype rtypes[], TAIL)
{
	return MPIX_Alltoallw_init(sbuf, sns, sdispls, stypes, rbuf, rns, rdispls, rtypes, REST);
}

EXPORT int MPI_Alltoallw_init_c(const void *sbuf, const MPI_Count sns[], const MPI_Aint sdispls[], const MPI_Datatype stypes[],
				void *rbuf, const MPI_Count rns[], const MPI_Aint rdispls[], const MPI_Datatype rtypes[], TAIL)
{
	struct narrow w = narrow_begin(comm, false);
	bool sends = sbuf != MPI_IN_PLACE;
	int *s = counts_of(&w, sns, w.sends, sends), *sd = displs_of(&w, sdispls, w.sends, sends),
	    *r = counts_of(&w, rns, w.recvs, true), *rd = displs_of(&w, rdispls, w.recvs, true);

	CALL(MPIX_Alltoallw_init(sbuf, s, sd, stypes, rbuf, r, rd, rtypes, REST));
}

EXPORT int MPI_Neighbor_alltoallw_init(const void *sbuf, const int sns[], const MPI_Aint sdispls[],
				       const MPI_Datatype stypes[], void *rbuf, const int rns[], const MPI_Aint rdispls[],
				       const MPI_Datatype rtypes[], TAIL)
{
	return MPIX_Neighbor_alltoallw_init(sbuf, sns, sdispls, stypes, rbuf, rns, rdispls, rtypes, REST);
}

EXPORT int MPI_Neighbor_alltoallw_init_c(const void *sbuf, const MPI_Count sns[], const MPI_Aint sdispls[],
					 const MPI_Datatype stypes[], void *rbuf, const MPI_Count rns[],
					 const MPI_Aint rdispls[], const MPI_Datatype rtypes[], TAIL)
{
	struct narrow w = narrow_begin(comm, true);
	int *s = counts_of(&w, sns, w.sends, true), *r = counts_of(&w, rns, w.recvs, true);

	CALL(MPIX_Neighbor_alltoallw_init(sbuf, s, sdispls, stypes, rbuf, r, rdispls, rtypes, REST));
}

EXPORT int MPI_Reduce_scatter_init(const void *sbuf, void *rbuf, const int rns[], MPI_Datatype type, MPI_Op op, TAIL)
{
	return MPIX_Reduce_scatter_init(sbuf, rbuf, rns, type, op, REST);
}

EXPORT int MPI_Reduce_scatter_init_c(const void *sbuf, void *rbuf, const MPI_Count rns[], MPI_Datatype type, MPI_Op op, TAIL)
{
	struct narrow w = narrow_begin(comm, false);
	int size = 0, *r;

	/* In an intercommunicator, the counts are those of the ranks on this side. */
	if (comm != MPI_COMM_NULL)
		PMPI_Comm_size(comm, &size);
	r = counts_of(&w, rns, size, true);
	CALL(MPIX_Reduce_scatter_init(sbuf, rbuf, r, type, op, REST));
}

/* ---- Fortran ---- */

/* All arguments are addresses. The procedures are in the library for Fortran, which programs in C do not have. */
#define ARGS_4 void *a, void *b, void *c, void *d
#define PASS_4 a, b, c, d
#define ARGS_8 ARGS_4, void *e, void *f, void *g, void *h
#define PASS_8 PASS_4, e, f, g, h
#define ARGS_9 ARGS_8, void *i
#define PASS_9 PASS_8, i
#define ARGS_10 ARGS_9, void *j
#define PASS_10 PASS_9, j
#define ARGS_11 ARGS_10, void *k
#define PASS_11 PASS_10, k
#define ARGS_12 ARGS_11, void *l
#define PASS_12 PASS_11, l
#define FORTRAN(name, n) \
	__attribute__((weak)) void mpix_##name##_init_(ARGS_##n); \
	void mpi_##name##_init_(ARGS_##n); \
	EXPORT void mpi_##name##_init_(ARGS_##n) \
	{ \
		mpix_##name##_init_(PASS_##n); \
	}
FORTRAN(barrier, 4)
FORTRAN(bcast, 8)
FORTRAN(gather, 11)
FORTRAN(gatherv, 12)
FORTRAN(scatter, 11)
FORTRAN(scatterv, 12)
FORTRAN(allgather, 10)
FORTRAN(allgatherv, 11)
FORTRAN(alltoall, 10)
FORTRAN(alltoallv, 12)
FORTRAN(alltoallw, 12)
FORTRAN(reduce, 10)
FORTRAN(allreduce, 9)
FORTRAN(reduce_scatter, 9)
FORTRAN(reduce_scatter_block, 9)
FORTRAN(scan, 9)
FORTRAN(exscan, 9)
FORTRAN(neighbor_allgather, 10)
FORTRAN(neighbor_allgatherv, 11)
FORTRAN(neighbor_alltoall, 10)
FORTRAN(neighbor_alltoallv, 12)
FORTRAN(neighbor_alltoallw, 12)

#endif
