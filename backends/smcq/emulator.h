/* SPDX-License-Identifier: BSD-3-Clause
 * The engine "model": another process of the node emulates the network interface (nic.h). */
#ifndef BACKENDS_SMCQ_EMULATOR_H
#define BACKENDS_SMCQ_EMULATOR_H

#include "backends/smcq/engine.h"

extern const struct smcq_engine smcq_emulator;

#endif
