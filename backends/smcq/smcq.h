/* SPDX-License-Identifier: BSD-3-Clause
 * The smcq backend: runs schedules that are lowered to command queues in session mode, without the ranks' CPUs between
 * start and wait. */
#ifndef BACKENDS_SMCQ_SMCQ_H
#define BACKENDS_SMCQ_SMCQ_H

#include "backends/smcq/engine.h"
#include "util/nearest.h"

extern const struct be_ops smcq_ops;

struct smcq_row {
	const char *name;
	const struct smcq_engine *engine; /* NULL if not built */
};
/* Returns the engine of that name, or NULL. */
extern const struct smcq_row smcq_engines[];
extern const unsigned smcq_nengines;
const struct smcq_row *smcq_find(const char *name);
/* Searches the names of the engines that are built for the nearest one to an unknown name. */
struct nearest smcq_nearest(const char *name);

#endif
