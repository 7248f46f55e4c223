/* SPDX-License-Identifier: BSD-3-Clause
 * The functions that our wrappers call when a call is not for us: those of the next library in the chain. */
#ifndef MPI_MPICH_NATIVE_H
#define MPI_MPICH_NATIVE_H

#include <mpi.h>

struct gm_native {
#define X(name) __typeof__(PMPI_##name) *name;
#include "mpi/mpich/natives.def"
#undef X
	/* New in MPI 4.1. Headers differ in whether these requests are const, and older ones do not have the functions. */
	int (*Request_get_status_any)(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status);
	int (*Request_get_status_some)(int incount, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]);
	int (*Request_get_status_all)(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]);
};
extern struct gm_native gm_native;

/* Finds the functions, if they have not been found yet. */
void gm_native_find(void);

#define NATIVE(name) gm_native.name

/* Finds one function; `name` begins with PMPI_. For those that are called seldom. */
void *gm_native_next(const char *name);

#define NATIVE_SELDOM(name) ((__typeof__(PMPI_##name) *)gm_native_next("PMPI_" #name))

/* The same for those that may be called often: a function that finds `name` once. */
#define NATIVE_KEPT(name) \
	({ \
		static _Atomic(__typeof__(PMPI_##name) *) kept; \
		if (!kept) \
			kept = NATIVE_SELDOM(name); \
		kept; \
	})

#endif
