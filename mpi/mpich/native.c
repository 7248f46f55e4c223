/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the functions that come after ours. They are looked up by name, so that this library can be preloaded into programs
 * that do not use MPI, such as the launcher. A tool that is preloaded after this library, or that GOAL_MPI_NEXT names, gets
 * the calls that are not for us; else the MPI library does. */
#include "mpi/mpich/native.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

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

/* The library that GOAL_MPI_NEXT names, else whatever comes after this one. */
static void *next_library(void)
{
	const char *path = secure_getenv("GOAL_MPI_NEXT");
	void *next;

	if (!path || !*path)
		return RTLD_NEXT;
	next = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!next)
		fprintf(stderr, "goalmpi: GOAL_MPI_NEXT is not used: %s\n", dlerror());
	return next ? next : RTLD_NEXT;
}

/* `name` begins with PMPI_. */
static void *find(void *next, void *mpi, const char *name)
{
	void *f = dlsym(next, name + 1);

	return f ? f : dlsym(mpi ? mpi : RTLD_DEFAULT, name);
}

/* A constructor too: tools call functions before they call MPI_Init. Then MPI may not be there yet. */
__attribute__((constructor)) void gm_native_find(void)
{
	void *mpi, *next;

	if (gm_native.Init)
		return;
	mpi = mpi_library();
	if (!mpi && !dlsym(RTLD_DEFAULT, "PMPI_Init"))
		return;
	next = next_library();
#define X(NAME, name, send, recv, flags) gm_native.name##_init = find(next, mpi, "PMPI_" #name "_init");
#include "mpi/collectives.def"
#undef X
#define X(NAME, name, send, recv, flags) gm_native.name##_init_c = find(next, mpi, "PMPI_" #name "_init_c");
#include "mpi/collectives.def"
#undef X
#define X(name) gm_native.name = find(next, mpi, "PMPI_" #name);
#include "mpi/mpich/natives.def"
#undef X
	gm_native.Request_get_status_any = find(next, mpi, "PMPI_Request_get_status_any");
	gm_native.Request_get_status_some = find(next, mpi, "PMPI_Request_get_status_some");
	gm_native.Request_get_status_all = find(next, mpi, "PMPI_Request_get_status_all");
}
