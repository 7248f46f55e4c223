/* SPDX-License-Identifier: BSD-3-Clause
 * The list of named checks. */
#ifndef COMPILER_ANALYSIS_CHECKS_H
#define COMPILER_ANALYSIS_CHECKS_H

#include "compiler/analysis/finding.h"

extern const struct check checks[];
extern const unsigned nchecks;

/* The index of a check, or -1. */
int check_find(const char *name);
/* Runs all checks on a graph; off has a bit set for each check that the user turned off;
 * fixed ones run all the same. Findings are
 * diagnostics; 0 or -ERR_NOMEM. */
int checks_run(struct goal_diags *d, const struct ir_graph *g, enum check_for what, uint64_t off);

#endif
