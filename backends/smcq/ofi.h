/* SPDX-License-Identifier: BSD-3-Clause
 * The engine "ofi": command queues on libfabric. */
#ifndef BACKENDS_SMCQ_OFI_H
#define BACKENDS_SMCQ_OFI_H

#include "backends/smcq/engine.h"

extern const struct smcq_engine smcq_ofi;

#endif
