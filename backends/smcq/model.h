/* SPDX-License-Identifier: BSD-3-Clause
 * The engine "model": a network interface that another process of the node plays (nic.h). */
#ifndef BACKENDS_SMCQ_MODEL_H
#define BACKENDS_SMCQ_MODEL_H

#include "backends/smcq/engine.h"

extern const struct smcq_engine smcq_model;

#endif
