/* SPDX-License-Identifier: BSD-3-Clause
 * goalc --check-table: check_table.c goes through the rows of a selection table, check_row.c checks one of them. */
#ifndef COMPILER_CHECK_TABLE_H
#define COMPILER_CHECK_TABLE_H

#include "compiler/select.h"

/* A number of ranks for which a schedule, with the options of a row, is proved. */
struct checked_proof {
	char *schedule; /* the words of the row after the arrow; owned */
	uint32_t ranks;
};

struct check_table {
	struct select s;
	struct goal_diags *d;
	struct option_range sizes; /* numbers of ranks for which schedules are proved; both 0: the usual ones */
	uint32_t most_ops; /* limit of the ops of a rank, as in struct bin_args */
	VEC(struct checked_proof) proofs;
};

/* Checks that the schedule of a row is right for all calls that the row takes. What is wrong is reported as an error at the row.
 * Returns 0 or -ERR_NOMEM. */
int check_row(struct check_table *t, const struct select_row *row);

#endif
