/* SPDX-License-Identifier: BSD-3-Clause
 * smcq: schedules that are lowered to command queues in session mode, and run without the ranks' CPUs from start to
 * wait. */
#ifndef BACKENDS_SMCQ_SMCQ_H
#define BACKENDS_SMCQ_SMCQ_H

#include "backends/smcq/engine.h"

extern const struct be_ops smcq_ops;

struct smcq_row {
	const char *name;
	const struct smcq_engine *engine; /* NULL: not built */
};
extern const struct smcq_row smcq_engines[];
extern const unsigned smcq_nengines;
/* The engine of that name; NULL: there is none. */
const struct smcq_row *smcq_find(const char *name);

#endif
