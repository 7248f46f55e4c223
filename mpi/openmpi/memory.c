/* SPDX-License-Identifier: BSD-3-Clause
 * MPI_Alloc_mem: a component of Open MPI's memory pools, with one pool in the shared heap. Open MPI finds it as
 * mca_mpool_goal.so, an empty library that depends on the one with this file. */
#include "mpi/openmpi/front.h"

#include "ompi/constants.h"
#include "opal/mca/mpool/base/base.h"

/* Alignment of the shared heap's memory */
#define ALIGNED 64
/* More than those of Open MPI's own pools */
#define PRIORITY 100

/* Open MPI 5 has a newer version of the interface, with the same functions. */
#ifdef MCA_MPOOL_BASE_VERSION_3_1_0
#define POOL_VERSION MCA_MPOOL_BASE_VERSION_3_1_0
#else
#define POOL_VERSION MCA_MPOOL_BASE_VERSION_3_0_0
#endif

extern __attribute__((visibility("default"))) const mca_mpool_base_component_t mca_mpool_goal_component;

/* If there is no such memory, Open MPI takes other memory. */
static void *pool_alloc(mca_mpool_base_module_t *pool, size_t size, size_t align, uint32_t flags)
{
	(void)pool, (void)flags;
	if (!size || align > ALIGNED)
		return NULL;
	gm_requests_begin();
	return gm_memory_alloc(size);
}

static void pool_free(mca_mpool_base_module_t *pool, void *mem)
{
	(void)pool;
	gm_memory_free(mem);
}

static mca_mpool_base_module_t pool = {
	.mpool_alloc = pool_alloc,
	.mpool_free = pool_free,
	.flags = MCA_MPOOL_FLAGS_MPI_ALLOC_MEM,
};

/* Open MPI also asks while it begins and ends, and for other purposes, which it names in the hints. */
static int query(const char *hints, int *priority, mca_mpool_base_module_t **module)
{
	if ((hints && *hints) || !gm_requests_usable() || !gm_memory_wanted())
		return OMPI_ERR_NOT_AVAILABLE;
	*priority = PRIORITY;
	*module = &pool;
	return OMPI_SUCCESS;
}

const mca_mpool_base_component_t mca_mpool_goal_component = {
	.mpool_version = {
		POOL_VERSION,
		.mca_component_name = "goal",
		MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION),
	},
	.mpool_data = { .param_field = MCA_BASE_METADATA_PARAM_NONE },
	.mpool_query = query,
};
