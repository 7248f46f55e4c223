/* SPDX-License-Identifier: BSD-3-Clause
 * The functions of a module that are set only with GOAL_MPI_NBC=1: collectives that do not block, which are served, and some
 * that block, at whose first call a communicator gets what the others need. */
#include "mpi/openmpi/front.h"

/* ---- collectives that do not block ---- */

/* What all functions get after their own arguments. */
#define TAIL struct ompi_communicator_t *comm, ompi_request_t **out, mca_coll_base_module_t *module
#define CALL(COLL, ...) (&(struct gm_call){ .coll = GM_##COLL, .comm = comm, __VA_ARGS__ })
#define SERVE(slot, call, ...) \
	do { \
		const struct gm_next *next = &((struct gm_module *)module)->next; \
		int err = gm_once_new((call), out); \
\
		if (err || *out) \
			return err; \
		return next->slot(__VA_ARGS__, out, next->slot##_module); \
	} while (0)

static int ibarrier(TAIL)
{
	SERVE(ibarrier, CALL(BARRIER), comm);
}

static int ibcast(void *buf, int n, MPI_Datatype type, int root, TAIL)
{
	SERVE(ibcast, CALL(BCAST, .send = GM_BLOCK(buf, n, type), .root = root), buf, n, type, root, comm);
}

#define BLOCKS(slot, COLL) \
	static int slot(const void *sbuf, int sn, MPI_Datatype stype, void *rbuf, int rn, MPI_Datatype rtype, TAIL) \
	{ \
		SERVE(slot, CALL(COLL, .send = GM_BLOCK(sbuf, sn, stype), .recv = GM_BLOCK(rbuf, rn, rtype)), sbuf, sn, stype, \
		      rbuf, rn, rtype, comm); \
	}
#define BLOCKS_ROOT(slot, COLL) \
	static int slot(const void *sbuf, int sn, MPI_Datatype stype, void *rbuf, int rn, MPI_Datatype rtype, int root, \
			TAIL) \
	{ \
		SERVE(slot, CALL(COLL, .send = GM_BLOCK(sbuf, sn, stype), .recv = GM_BLOCK(rbuf, rn, rtype), .root = root), sbuf, \
		      sn, stype, rbuf, rn, rtype, root, comm); \
	}
#define REDUCTION(slot, COLL) \
	static int slot(const void *sbuf, void *rbuf, int n, MPI_Datatype type, MPI_Op op, TAIL) \
	{ \
		SERVE(slot, CALL(COLL, .send = GM_BLOCK(sbuf, n, type), .recv = GM_BLOCK(rbuf, n, type), .op = op), sbuf, rbuf, n, \
		      type, op, comm); \
	}

BLOCKS_ROOT(igather, GATHER)
BLOCKS_ROOT(iscatter, SCATTER)
BLOCKS(iallgather, ALLGATHER)
BLOCKS(ialltoall, ALLTOALL)
REDUCTION(iallreduce, ALLREDUCE)
REDUCTION(ireduce_scatter_block, REDUCE_SCATTER_BLOCK)
REDUCTION(iscan, SCAN)
REDUCTION(iexscan, EXSCAN)

static int ireduce(const void *sbuf, void *rbuf, int n, MPI_Datatype type, MPI_Op op, int root, TAIL)
{
	SERVE(ireduce, CALL(REDUCE, .send = GM_BLOCK(sbuf, n, type), .recv = GM_BLOCK(rbuf, n, type), .op = op, .root = root), sbuf,
	      rbuf, n, type, op, root, comm);
}

/* ---- collectives that block ---- */

#define MEET(slot, params, args) \
	static int slot params \
	{ \
		gm_module *m = (gm_module *)module; \
\
		if (!m->known) \
			gm_comm_meet(m, comm); \
		return m->next.slot args; \
	}
#define END struct ompi_communicator_t *comm, mca_coll_base_module_t *module

MEET(barrier, (END), (comm, m->next.barrier_module))
MEET(bcast, (void *buf, int n, MPI_Datatype type, int root, END), (buf, n, type, root, comm, m->next.bcast_module))
MEET(allgather, (const void *sbuf, int sn, MPI_Datatype stype, void *rbuf, int rn, MPI_Datatype rtype, END),
     (sbuf, sn, stype, rbuf, rn, rtype, comm, m->next.allgather_module))
MEET(reduce, (const void *sbuf, void *rbuf, int n, MPI_Datatype type, MPI_Op op, int root, END),
     (sbuf, rbuf, n, type, op, root, comm, m->next.reduce_module))
MEET(allreduce, (const void *sbuf, void *rbuf, int n, MPI_Datatype type, MPI_Op op, END),
     (sbuf, rbuf, n, type, op, comm, m->next.allreduce_module))

void gm_module_fill_nbc(mca_coll_base_module_t *base)
{
#define X(slot) base->coll_##slot = slot;
	GM_NBC_SLOTS(X)
#undef X
}
