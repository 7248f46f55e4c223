/* SPDX-License-Identifier: BSD-3-Clause
 * The component of Open MPI: a module for each communicator, which makes requests of ours in the place of the library's own. */
#ifndef MPI_OPENMPI_FRONT_H
#define MPI_OPENMPI_FRONT_H

#include "mpi/goalmpi.h"

#include "ompi_config.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/request/request.h"

/* The interface of collectives has a version of its own, which changes with releases of Open MPI. */
#if defined(MCA_COLL_BASE_VERSION_2_4_0)
#define GM_COLL_VERSION MCA_COLL_BASE_VERSION_2_4_0
#elif defined(MCA_COLL_BASE_VERSION_2_0_0)
#define GM_COLL_VERSION MCA_COLL_BASE_VERSION_2_0_0
#else
#error "Open MPI's headers have a version of the interface of collectives that the component does not know: 2.0.0 and 2.4.0"
#endif

/* The functions of a module that we serve: coll_NAME. */
#define GM_SLOTS(X) \
	X(barrier_init) \
	X(bcast_init) \
	X(gather_init) \
	X(gatherv_init) \
	X(scatter_init) \
	X(scatterv_init) \
	X(allgather_init) \
	X(allgatherv_init) \
	X(alltoall_init) \
	X(alltoallv_init) \
	X(alltoallw_init) \
	X(reduce_init) \
	X(allreduce_init) \
	X(reduce_scatter_init) \
	X(reduce_scatter_block_init) \
	X(scan_init) \
	X(exscan_init) \
	X(neighbor_allgather_init) \
	X(neighbor_allgatherv_init) \
	X(neighbor_alltoall_init) \
	X(neighbor_alltoallv_init) \
	X(neighbor_alltoallw_init)

/* With GOAL_MPI_NBC=1: those that do not block, and some that do. These may wait for other ranks, so they make their
 * communicator known. */
#define GM_NBC_SLOTS(X) \
	X(ibarrier) \
	X(ibcast) \
	X(igather) \
	X(iscatter) \
	X(iallgather) \
	X(ialltoall) \
	X(ireduce) \
	X(iallreduce) \
	X(ireduce_scatter_block) \
	X(iscan) \
	X(iexscan) \
	X(barrier) \
	X(bcast) \
	X(allgather) \
	X(reduce) \
	X(allreduce)

/* The functions that would serve the communicator without us, each with its module. They get the calls that are not for us. */
struct gm_next {
#define X(name) \
	__typeof__(((mca_coll_base_module_t *)0)->coll_##name) name; \
	mca_coll_base_module_t *name##_module;
	GM_SLOTS(X)
	GM_NBC_SLOTS(X)
#undef X
};

struct gm_module {
	mca_coll_base_module_t base; /* first: the library knows only this */
	bool enabled;
	bool known; /* gm_nbc_comm has been called for the communicator, or need not be */
	struct gm_next next;
};

typedef struct gm_module gm_module;

/* Sets the functions of a new module. */
void gm_module_fill(mca_coll_base_module_t *base);
void gm_module_fill_nbc(mca_coll_base_module_t *base);
/* True between the begin and the end of MPI. */
bool gm_requests_usable(void);
/* Makes what requests need, and has it ended with MPI. */
void gm_requests_begin(void);
/* Ends what requests have made, if there were any. MPI must still be usable. */
void gm_requests_end(void);
/* True if the library's requests have room in ours. */
bool gm_request_fits(void);
/* Makes a request for a call. Returns MPI_SUCCESS with *out, or with *out == NULL if the call is not for us. */
int gm_request_new(const struct gm_call *call, ompi_request_t **out);
/* The same for a call that does not block. */
int gm_once_new(const struct gm_call *call, ompi_request_t **out);
/* Makes a communicator known for such calls, collectively. */
void gm_comm_meet(gm_module *module, MPI_Comm comm);

#endif
