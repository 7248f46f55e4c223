/* SPDX-License-Identifier: BSD-3-Clause
 * verbs: ranks of several nodes, over RDMA devices; what is on one node goes through shared memory. */
#ifndef BACKENDS_VERBS_VERBS_H
#define BACKENDS_VERBS_VERBS_H

#include "backends/backend.h"

extern const struct be_ops vb_ops;

#endif
