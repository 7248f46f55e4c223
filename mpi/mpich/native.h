/* SPDX-License-Identifier: BSD-3-Clause
 * The functions that our wrappers call when a call is not for us: those of the next library in the chain. */
#ifndef MPI_MPICH_NATIVE_H
#define MPI_MPICH_NATIVE_H

#include <mpi.h>

/* There is no MPI_Barrier_init_c: a barrier has no counts. So its pointer stays NULL. */
#define PMPI_Barrier_init_c PMPI_Barrier_init

struct gm_native {
#define X(NAME, name, send, recv, flags) __typeof__(PMPI_##name##_init) *name##_init;
#include "mpi/collectives.def"
#undef X
#define X(NAME, name, send, recv, flags) __typeof__(PMPI_##name##_init_c) *name##_init_c;
#include "mpi/collectives.def"
#undef X
#define X(name) __typeof__(PMPI_##name) *name;
#include "mpi/mpich/natives.def"
#undef X
};
extern struct gm_native gm_native;

/* Finds the functions, if they have not been found yet. */
void gm_native_find(void);

#define NATIVE(name) gm_native.name

#endif
