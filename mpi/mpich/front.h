/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of this folder share: the state of MPI in this process. */
#ifndef MPI_MPICH_FRONT_H
#define MPI_MPICH_FRONT_H

#include "mpi/goalmpi.h"

/* For the functions that programs call. */
#define GM_EXPORT __attribute__((visibility("default")))

/* True between MPI_Init, or the first session's begin, and the last one's end: only then are calls for us. */
bool gm_running(void);
/* True between MPI_Init and MPI_Finalize. */
bool gm_has_world(void);

/* A macro that makes wrappers pastes these to ROOT or NONE, as its collective has a root or not. */
#define ROOT_PARAM int root,
#define ROOT_ARG root,
#define ROOT_FIELD .root = root,
#define NONE_PARAM
#define NONE_ARG
#define NONE_FIELD

#endif
