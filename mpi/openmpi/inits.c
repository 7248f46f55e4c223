/* SPDX-License-Identifier: BSD-3-Clause
 * The functions of a module: each makes a struct gm_call of its arguments, and passes on the call if it is not for us. */
#include "mpi/openmpi/front.h"

/* What all functions get after their own arguments. */
#define TAIL \
	struct ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **out, mca_coll_base_module_t *module
#define CALL(COLL, ...) \
	(&(struct gm_call){ .coll = GM_##COLL, .comm = comm, .info = info, __VA_ARGS__ })
/* Sides. The buffers that are only sent from are const. */
#define BLOCKS(b, n, d, t) \
	{ .buf = (void *)(uintptr_t)(b), .counts = { (n), false }, .displs = { (d), false }, .type = (t) }
#define TYPED(b, n, d, wide, t) \
	{ .buf = (void *)(uintptr_t)(b), .counts = { (n), false }, .displs = { (d), (wide) }, .types = (t) }
#define SERVE(slot, call, ...) \
	do { \
		const struct gm_next *next = &((struct gm_module *)module)->next; \
		int err; \
\
		((struct gm_module *)module)->known = true; \
		err = gm_request_new((call), out); \
\
		if (err || *out) \
			return err; \
		return next->slot ? next->slot(__VA_ARGS__, info, out, next->slot##_module) : \
				    MPI_ERR_UNSUPPORTED_OPERATION; \
	} while (0)

static int barrier_init(TAIL)
{
	SERVE(barrier_init, CALL(BARRIER), comm);
}

static int bcast_init(void *buf, int n, MPI_Datatype type, int root, TAIL)
{
	SERVE(bcast_init, CALL(BCAST, .send = GM_BLOCK(buf, n, type), .root = root), buf, n, type, root, comm);
}

/* The eight collectives with one count for each side, those with counts and displacements on one side or both, and those
 * with types of their own differ only in the root. */
#define ONE_COUNT(slot, COLL) \
	static int slot(const void *sbuf, int sn, MPI_Datatype stype, void *rbuf, int rn, MPI_Datatype rtype, TAIL) \
	{ \
		SERVE(slot, CALL(COLL, .send = GM_BLOCK(sbuf, sn, stype), .recv = GM_BLOCK(rbuf, rn, rtype)), sbuf, sn, stype, \
		      rbuf, rn, rtype, comm); \
	}
#define ONE_COUNT_ROOT(slot, COLL) \
	static int slot(const void *sbuf, int sn, MPI_Datatype stype, void *rbuf, int rn, MPI_Datatype rtype, int root, \
			TAIL) \
	{ \
		SERVE(slot, CALL(COLL, .send = GM_BLOCK(sbuf, sn, stype), .recv = GM_BLOCK(rbuf, rn, rtype), .root = root), sbuf, \
		      sn, stype, rbuf, rn, rtype, root, comm); \
	}
#define RECV_COUNTS(slot, COLL) \
	static int slot(const void *sbuf, int sn, MPI_Datatype stype, void *rbuf, const int *rns, const int *rdispls, \
			MPI_Datatype rtype, TAIL) \
	{ \
		SERVE(slot, CALL(COLL, .send = GM_BLOCK(sbuf, sn, stype), .recv = BLOCKS(rbuf, rns, rdispls, rtype)), sbuf, sn, \
		      stype, rbuf, rns, rdispls, rtype, comm); \
	}
#define ALL_COUNTS(slot, COLL) \
	static int slot(const void *sbuf, const int *sns, const int *sdispls, MPI_Datatype stype, void *rbuf, const int *rns, \
			const int *rdispls, MPI_Datatype rtype, TAIL) \
	{ \
		SERVE(slot, CALL(COLL, .send = BLOCKS(sbuf, sns, sdispls, stype), .recv = BLOCKS(rbuf, rns, rdispls, rtype)), \
		      sbuf, sns, sdispls, stype, rbuf, rns, rdispls, rtype, comm); \
	}
#define ALL_TYPES(slot, COLL, displ, wide) \
	static int slot(const void *sbuf, const int *sns, const displ *sdispls, const MPI_Datatype *stypes, void *rbuf, \
			const int *rns, const displ *rdispls, const MPI_Datatype *rtypes, TAIL) \
	{ \
		SERVE(slot, \
		      CALL(COLL, .send = TYPED(sbuf, sns, sdispls, wide, stypes), \
			   .recv = TYPED(rbuf, rns, rdispls, wide, rtypes)), \
		      sbuf, sns, sdispls, stypes, rbuf, rns, rdispls, rtypes, comm); \
	}
#define REDUCTION(slot, COLL) \
	static int slot(const void *sbuf, void *rbuf, int n, MPI_Datatype type, MPI_Op op, TAIL) \
	{ \
		SERVE(slot, CALL(COLL, .send = GM_BLOCK(sbuf, n, type), .recv = GM_BLOCK(rbuf, n, type), .op = op), sbuf, rbuf, n, \
		      type, op, comm); \
	}

ONE_COUNT_ROOT(gather_init, GATHER)
ONE_COUNT_ROOT(scatter_init, SCATTER)
ONE_COUNT(allgather_init, ALLGATHER)
ONE_COUNT(alltoall_init, ALLTOALL)
ONE_COUNT(neighbor_allgather_init, NEIGHBOR_ALLGATHER)
ONE_COUNT(neighbor_alltoall_init, NEIGHBOR_ALLTOALL)
RECV_COUNTS(allgatherv_init, ALLGATHERV)
RECV_COUNTS(neighbor_allgatherv_init, NEIGHBOR_ALLGATHERV)
ALL_COUNTS(alltoallv_init, ALLTOALLV)
ALL_COUNTS(neighbor_alltoallv_init, NEIGHBOR_ALLTOALLV)
ALL_TYPES(alltoallw_init, ALLTOALLW, int, false)
ALL_TYPES(neighbor_alltoallw_init, NEIGHBOR_ALLTOALLW, MPI_Aint, true)
REDUCTION(allreduce_init, ALLREDUCE)
REDUCTION(reduce_scatter_block_init, REDUCE_SCATTER_BLOCK)
REDUCTION(scan_init, SCAN)
REDUCTION(exscan_init, EXSCAN)

static int gatherv_init(const void *sbuf, int sn, MPI_Datatype stype, void *rbuf, const int *rns, const int *rdispls,
		   MPI_Datatype rtype, int root, TAIL)
{
	SERVE(gatherv_init, CALL(GATHERV, .send = GM_BLOCK(sbuf, sn, stype), .recv = BLOCKS(rbuf, rns, rdispls, rtype), .root = root),
	      sbuf, sn, stype, rbuf, rns, rdispls, rtype, root, comm);
}

static int scatterv_init(const void *sbuf, const int *sns, const int *sdispls, MPI_Datatype stype, void *rbuf, int rn,
		    MPI_Datatype rtype, int root, TAIL)
{
	SERVE(scatterv_init, CALL(SCATTERV, .send = BLOCKS(sbuf, sns, sdispls, stype), .recv = GM_BLOCK(rbuf, rn, rtype), .root = root),
	      sbuf, sns, sdispls, stype, rbuf, rn, rtype, root, comm);
}

static int reduce_init(const void *sbuf, void *rbuf, int n, MPI_Datatype type, MPI_Op op, int root, TAIL)
{
	SERVE(reduce_init, CALL(REDUCE, .send = GM_BLOCK(sbuf, n, type), .recv = GM_BLOCK(rbuf, n, type), .op = op, .root = root), sbuf,
	      rbuf, n, type, op, root, comm);
}

static int reduce_scatter_init(const void *sbuf, void *rbuf, const int *rns, MPI_Datatype type, MPI_Op op, TAIL)
{
	SERVE(reduce_scatter_init,
	      CALL(REDUCE_SCATTER, .send = GM_BLOCK(sbuf, 0, type), .recv = BLOCKS(rbuf, rns, NULL, type), .op = op), sbuf, rbuf,
	      rns, type, op, comm);
}

void gm_module_fill(mca_coll_base_module_t *base)
{
#define X(slot) base->coll_##slot = slot;
	GM_SLOTS(X)
#undef X
}
