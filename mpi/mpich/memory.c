/* SPDX-License-Identifier: BSD-3-Clause
 * MPI_Alloc_mem: memory of the shared heap, for programs that have persistent collectives. */
#include "mpi/mpich/front.h"
#include "mpi/mpich/native.h"

#include <stdlib.h>

/* Alignment of the shared heap's memory */
#define ALIGNED 64
/* The key of MPI_Info for more */
#define ALIGNMENT "mpi_minimum_memory_alignment"

/* True if the program asks for nothing that we do not give. */
static bool gives(MPI_Info info)
{
	char value[32];
	int keys = 0, there = 0;

	if (info == MPI_INFO_NULL)
		return true;
	if (PMPI_Info_get_nkeys(info, &keys) || !keys)
		return !keys;
	if (PMPI_Info_get(info, ALIGNMENT, sizeof value - 1, value, &there) || !there || keys > 1)
		return false;
	return strtoul(value, NULL, 10) <= ALIGNED;
}

GM_EXPORT int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
	void *mem = NULL;

	if (gm_running() && size > 0 && baseptr && gm_memory_wanted() && gives(info))
		mem = gm_memory_alloc((size_t)size);
	if (!mem)
		return NATIVE_SELDOM(Alloc_mem)(size, info, baseptr);
	*(void **)baseptr = mem;
	return MPI_SUCCESS;
}

GM_EXPORT int MPI_Free_mem(void *base)
{
	return gm_memory_free(base) ? MPI_SUCCESS : NATIVE_SELDOM(Free_mem)(base);
}
