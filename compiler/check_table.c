/* SPDX-License-Identifier: BSD-3-Clause
 * goalc --check-table: checks that each row of a selection table is right for all its calls, and that the rows take all calls of
 * the collectives that they name. */
#include "compiler/check_table.h"

#include "compiler/goalc.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns the last row of table 0 for calls of this collective and kind, or NULL. */
static const struct select_row *last_row(const struct select *s, const struct select_call *call)
{
	const struct select_row *last = NULL;

	for (size_t i = 0; i < s->rows.n; i++)
		if (!s->rows.at[i].table && s->rows.at[i].collective == call->collective &&
		    s->rows.at[i].reproducible == call->reproducible)
			last = &s->rows.at[i];
	return last;
}

/* Reports calls that no row takes, at the last row of the collective. */
static int check_gaps(struct check_table *t, bool partial)
{
	static const char *const ops[SELECT_OPS] = { ", with an operation that does not commute", ", with a user's operation", "" };
	static const char *const topologies[SELECT_TOPOLOGIES] = { "", ", in a grid", ", in a graph" };
	static const char *const sharings[SELECT_SHARINGS] = { "", ", with a core each", ", without a common cache", ", on several nodes" };
	struct select_cover cover;
	int err = select_cover(&t->s, 0, t->s.rows.n, &cover);

	for (size_t i = 0; i < cover.gaps.n && !err; i++) {
		const struct select_call *gap = &cover.gaps.at[i];
		const struct select_row *row = last_row(&t->s, gap);

		if (row)
			goal_diag(t->d, GOAL_ERROR, row->at, NULL,
				  "no row takes %s with %" PRIu64 " rank%s and %" PRIu64 " bytes%s%s%s%s%s", gap->collective, gap->ranks,
				  gap->ranks == 1 ? "" : "s", gap->bytes, ops[gap->op], topologies[gap->topology],
				  sharings[gap->sharing], gap->reproducible ? ", reproducibly" : "",
				  partial ? "" : "; --partial leaves such calls to the installed table");
	}
	select_cover_free(&cover);
	return err;
}

/* Checks the rows of table 0. */
static int check_rows(struct goalc *c, struct check_table *t)
{
	int err = 0;

	progress_begin_thread(&c->progress, "goalc");
	for (size_t i = 0; i < t->s.rows.n && !err; i++) {
		const struct select_row *row = &t->s.rows.at[i];

		if (row->table)
			continue;
		progress_set(&c->progress, "%s:%u: %s", c->table, row->at.line, row->file);
		err = check_row(t, row);
	}
	progress_end(&c->progress);
	return err;
}

/* Prints how many rows there are, and for how many schedules and numbers of ranks there are proofs. */
static int print_checked(const struct goalc *c, const struct check_table *t)
{
	size_t rows = 0;

	while (rows < t->s.rows.n && !t->s.rows.at[rows].table)
		rows++;
	printf("%s: %zu row%s right; %zu proofs of schedules\n", c->table, rows, rows == 1 ? " is" : "s are", t->proofs.n);
	return option_flush("goalc");
}

int goalc_check_table(struct goalc *c)
{
	struct check_table t = { .sizes = c->sizes, .most_ops = c->most_ops };
	int err, rc = EXIT_FAULT;

	t.d = c->diags = goal_diags_new();
	err = !t.d ? -ERR_NOMEM : c->partial ? select_load(t.d, c->table, &t.s) : select_load_one(t.d, c->table, &t.s);
	err = err ? err : check_rows(c, &t);
	err = err ? err : check_gaps(&t, c->partial);
	if (err == -ERR_NOMEM)
		no_memory();
	else if (goal_diags_errors(t.d))
		fputs(goal_diags_text(t.d), stderr);
	else
		rc = print_checked(c, &t);
	for (size_t i = 0; i < t.proofs.n; i++)
		free(t.proofs.at[i].schedule);
	VEC_FREE(&t.proofs);
	select_free(&t.s);
	return rc;
}
