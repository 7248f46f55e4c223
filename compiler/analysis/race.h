/* SPDX-License-Identifier: BSD-3-Clause
 * Races: conflicting accesses that are not ordered. */
#ifndef COMPILER_ANALYSIS_RACE_H
#define COMPILER_ANALYSIS_RACE_H

#include "compiler/analysis/finding.h"
#include "compiler/analysis/symbolic.h"

/* Reports the unordered conflicts of a run, and the ops whose two ranges overlap. */
int race_report(struct goal_diags *d, const struct symbolic *s, const char *tag, enum goal_severity severity);

/* Returns the text of a range, as "tmp[4 +: 3]". */
struct check_text check_range_text(const struct ir_graph *g, uint32_t buf, uint64_t lo, uint64_t hi);

#endif
