/* SPDX-License-Identifier: BSD-3-Clause
 * The backend mpi: sends messages between nodes through the transport of the group, functions that the program provides
 * (MPIX_Sched_group_set_transport). Programs of MPI provide MPI's persistent messages. Messages within a node go through
 * shared memory. */
#ifndef BACKENDS_MPI_MPI_H
#define BACKENDS_MPI_MPI_H

#include "backends/backend.h"

extern const struct be_ops mp_ops;

#endif
