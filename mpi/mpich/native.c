/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the functions that come after ours. They are looked up by name, so that this library can be preloaded into programs
 * that do not use MPI, such as the launcher. If a tool is preloaded after this library, it gets the calls that are not for us;
 * else the MPI library does. Tools call some functions before MPI_Init. */
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

/* A variable of Open MPI */
extern char other_mpi __asm__("ompi_mpi_comm_world");
#pragma weak other_mpi

/* Handles of Open MPI are pointers, and these wrappers would pass half of each on. Python finds its MPI library only now, and
 * functions of that are called by name. */
void gm_native_begin(void)
{
	mpi_library();
	if (!&other_mpi)
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

void *gm_native_next(const char *name)
{
	return find(mpi_library(), name);
}
