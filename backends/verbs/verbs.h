/* SPDX-License-Identifier: BSD-3-Clause
 * The verbs backend: connects ranks of several nodes by RDMA devices. Messages within a node go through shared memory. */
#ifndef BACKENDS_VERBS_VERBS_H
#define BACKENDS_VERBS_VERBS_H

#include "backends/backend.h"

extern const struct be_ops vb_ops;

#endif
