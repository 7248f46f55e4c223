/* SPDX-License-Identifier: BSD-3-Clause
 * shm: ranks of one node, as processes or threads, over shared memory. */
#ifndef BACKENDS_SHM_SHM_H
#define BACKENDS_SHM_SHM_H

#include "backends/backend.h"

extern const struct be_ops sm_ops;

#endif
