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

/* The functions of a module that we serve: coll_NAME_init. */
#define GM_SLOTS(X) \
	X(barrier) \
	X(bcast) \
	X(gather) \
	X(gatherv) \
	X(scatter) \
	X(scatterv) \
	X(allgather) \
	X(allgatherv) \
	X(alltoall) \
	X(alltoallv) \
	X(alltoallw) \
	X(reduce) \
	X(allreduce) \
	X(reduce_scatter) \
	X(reduce_scatter_block) \
	X(scan) \
	X(exscan) \
	X(neighbor_allgather) \
	X(neighbor_allgatherv) \
	X(neighbor_alltoall) \
	X(neighbor_alltoallv) \
	X(neighbor_alltoallw)

/* The functions that would serve the communicator without us, each with its module. They get the calls that are not for us. */
struct gm_next {
#define X(name) \
	__typeof__(((mca_coll_base_module_t *)0)->coll_##name##_init) name; \
	mca_coll_base_module_t *name##_module;
	GM_SLOTS(X)
#undef X
};

struct gm_module {
	mca_coll_base_module_t base; /* first: the library knows only this */
	bool enabled;
	struct gm_next next;
};

typedef struct gm_module gm_module;

/* Sets the functions of a new module. */
void gm_module_fill(mca_coll_base_module_t *base);
/* Ends what requests have made, if there were any. MPI must still be usable. */
void gm_requests_end(void);
/* True if the library's requests have room in ours. */
bool gm_request_fits(void);
/* Makes a request for a call. Returns MPI_SUCCESS with *out, or with *out == NULL if the call is not for us. */
int gm_request_new(const struct gm_call *call, ompi_request_t **out);

#endif
