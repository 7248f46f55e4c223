/* SPDX-License-Identifier: BSD-3-Clause
 * The table of named checks. */
#ifndef COMPILER_ANALYSIS_CHECKS_H
#define COMPILER_ANALYSIS_CHECKS_H

#include "compiler/analysis/finding.h"

extern const struct check checks[];
extern const unsigned nchecks;

/* Returns the index of a check, or -1. */
int check_find(const char *name);
/* Runs the checks on a graph. `off` has one bit for each of checks[], set if the check is turned off. Fixed checks run even
 * so, and if a fixed check finds an error, no other check follows. Findings are reported as diagnostics. Returns 0 or
 * -ERR_NOMEM. */
int checks_run(struct goal_diags *d, const struct ir_graph *g, enum check_for what, uint64_t off);

#endif
