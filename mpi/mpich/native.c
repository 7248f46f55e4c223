/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the functions that come after ours. They are looked up by name, so that this library can be preloaded into programs
 * that do not use MPI, such as the launcher. If a tool is preloaded after this library, it gets the calls that are not for us;
 * else the MPI library does. */
#include "mpi/mpich/native.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

struct gm_native gm_native;

/* Returns a handle of the MPI library, for a program that has loaded it where we do not see it, as Python loads modules. It
 * is then seen by all, because this library and its common part call functions of it by name. NULL: it is seen already, or
 * is not there. */
static void *mpi_library(void)
{
	static const char *const names[] = { "libmpich.so.12", "libmpi.so.12" };
	void *mpi = NULL;

	if (dlsym(RTLD_DEFAULT, "PMPI_Init"))
		return NULL;
	for (size_t i = 0; !mpi && i < sizeof names / sizeof *names; i++)
		mpi = dlopen(names[i], RTLD_LAZY | RTLD_GLOBAL | RTLD_NOLOAD);
	return mpi;
}

/* Handles of Open MPI are pointers, and these wrappers would pass half of each on. */
static void refuse_open_mpi(void)
{
	if (!dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"))
		return;
	fputs("goalmpi: this program uses Open MPI, but libgoalmpi-mpich.so is for MPICH; goalmpi-run finds the right library\n",
	      stderr);
	_exit(1);
}

/* `name` begins with PMPI_. */
static void *find(void *mpi, const char *name)
{
	void *f = dlsym(RTLD_NEXT, name + 1);

	return f ? f : dlsym(mpi ? mpi : RTLD_DEFAULT, name);
}

/* A constructor too: tools call functions before they call MPI_Init. Then MPI may not be there yet. */
__attribute__((constructor)) void gm_native_find(void)
{
	void *mpi;

	if (gm_native.Init)
		return;
	refuse_open_mpi();
	mpi = mpi_library();
	if (!mpi && !dlsym(RTLD_DEFAULT, "PMPI_Init"))
		return;
#define X(name) gm_native.name = find(mpi, "PMPI_" #name);
#include "mpi/mpich/natives.def"
#undef X
	gm_native.Request_get_status_any = find(mpi, "PMPI_Request_get_status_any");
	gm_native.Request_get_status_some = find(mpi, "PMPI_Request_get_status_some");
	gm_native.Request_get_status_all = find(mpi, "PMPI_Request_get_status_all");
}

void *gm_native_next(const char *name)
{
	return find(mpi_library(), name);
}
