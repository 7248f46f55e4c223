/* SPDX-License-Identifier: BSD-3-Clause
 * The shm backend: connects the processes and threads of one node over shared memory. */
#ifndef BACKENDS_SHM_SHM_H
#define BACKENDS_SHM_SHM_H

#include "backends/backend.h"

extern const struct be_ops sm_ops;

#endif
