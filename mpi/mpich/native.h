/* SPDX-License-Identifier: BSD-3-Clause
 * The functions that our wrappers call when a call is not for us: those of the next library in the chain. */
#ifndef MPI_MPICH_NATIVE_H
#define MPI_MPICH_NATIVE_H

#include <mpi.h>

#include <stdatomic.h>

/* Each is found at its first call: a program that never calls it does not pay for the search. */
struct gm_native {
#define X(name) _Atomic(__typeof__(PMPI_##name) *) name;
#include "mpi/mpich/natives.def"
#undef X
	/* New in MPI 4.1. Headers differ in whether these requests are const, and older ones do not have the functions. */
	int (*_Atomic Request_get_status_any)(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status);
	int (*_Atomic Request_get_status_some)(int incount, MPI_Request requests[], int *outcount, int indices[],
					       MPI_Status statuses[]);
	int (*_Atomic Request_get_status_all)(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]);
};
extern struct gm_native gm_native;

/* Called first of all by the functions that begin MPI. Ends the program if it uses Open MPI. */
void gm_native_begin(void);

/* Finds one function; `name` begins with PMPI_. */
void *gm_native_next(const char *name);

#define NATIVE(name) \
	({ \
		if (!gm_native.name) \
			gm_native.name = gm_native_next("PMPI_" #name); \
		atomic_load(&gm_native.name); \
	})

/* For those that are called seldom */
#define NATIVE_SELDOM(name) ((__typeof__(PMPI_##name) *)gm_native_next("PMPI_" #name))

/* For those that are not in the table, and may be called often */
#define NATIVE_KEPT(name) \
	({ \
		static _Atomic(__typeof__(PMPI_##name) *) kept; \
		if (!kept) \
			kept = NATIVE_SELDOM(name); \
		atomic_load(&kept); \
	})

#endif
