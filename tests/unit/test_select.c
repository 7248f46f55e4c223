/* SPDX-License-Identifier: BSD-3-Clause
 * select_cover() on random tables: the rows that no call reaches, and the first call that no row takes, are those that trying
 * every call finds. */
#include "compiler/collectives/names.h"
#include "compiler/select.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

#define TABLES 40
#define ROWS 9
#define RANKS 130u /* larger than twice every number in a table, so that each shape has a number above it */
#define BYTES 12u

static struct select_range random_range(uint64_t most)
{
	const uint64_t a = (uint64_t)rand() % most, b = (uint64_t)rand() % most;

	switch (rand() % 3) {
	case 0:
		return (struct select_range){ 0, UINT64_MAX };
	case 1:
		return (struct select_range){ a, UINT64_MAX };
	default:
		return (struct select_range){ a < b ? a : b, a < b ? b : a };
	}
}

static void make_table(struct select *s, struct select_row rows[ROWS])
{
	static const char *const names[] = { "MPI_Bcast", "MPI_Reduce", "MPI_Neighbor_alltoall" };

	*s = (struct select){ .rows = { .at = rows, .n = ROWS, .cap = ROWS } };
	for (unsigned i = 0; i < ROWS; i++) {
		rows[i] = (struct select_row){ .collective = collective_name(names[rand() % 4 / 2 + rand() % 2]),
					       .ranks = random_range(RANKS / 2 - 1),
					       .bytes = random_range(BYTES - 2),
					       .shape = rand() % 2 ? SELECT_ALL : (enum select_shape)(rand() % SELECT_SHAPES),
					       .op = (enum select_op)(rand() % SELECT_OPS),
					       .topology = rand() % 2 ? SELECT_NONE : (enum select_topology)(rand() % 3) };
		rows[i].reproducible = collective_reduces(rows[i].collective) && rand() % 2;
	}
}

static bool are_alike(const struct select_row *row, const struct select_call *call)
{
	return row->collective == call->collective && row->reproducible == call->reproducible;
}

/* Tries all calls that are like those of a row: of its collective, reproducible or not. Stores which rows are reached, and the
 * first gap in the order of ranks and bytes. */
static void try_calls(const struct select *s, const struct select_row *like, bool reached[ROWS], struct select_call *gap)
{
	struct select_call c = { .collective = like->collective, .reproducible = like->reproducible };
	enum select_op least = collective_reduces(c.collective) && !c.reproducible ? SELECT_ANY_OP : SELECT_BUILTIN;

	for (unsigned i = 0; i < ROWS && c.reproducible; i++)
		if (are_alike(&s->rows.at[i], &c) && s->rows.at[i].op < least)
			least = s->rows.at[i].op;

	for (c.ranks = 1; c.ranks <= RANKS; c.ranks++)
		for (c.bytes = 0; c.bytes <= BYTES; c.bytes++)
			for (unsigned k = 0; k < SELECT_SHARINGS * SELECT_OPS * SELECT_TOPOLOGIES; k++) {
				const struct select_row *row;

				c.sharing = (enum select_sharing)(k % SELECT_SHARINGS);
				c.op = (enum select_op)(k / SELECT_SHARINGS % SELECT_OPS);
				c.topology = (enum select_topology)(k / SELECT_SHARINGS / SELECT_OPS);
				if (c.op < least || (c.topology == SELECT_NONE && collective_near(c.collective)))
					continue;
				row = select_find(s, &c);
				if (row)
					reached[row - s->rows.at] = true;
				else if (!gap->ranks)
					*gap = c;
			}
}

static bool is_listed(const struct select_cover *cover, const struct select_row *row)
{
	for (size_t i = 0; i < cover->unreached.n; i++)
		if (cover->unreached.at[i] == row)
			return true;
	return false;
}

static void cover_as_found(void)
{
	struct select_row rows[ROWS];
	unsigned wrong = 0, unreached = 0, gaps = 0;
	struct select s;

	srand(1);
	for (unsigned t = 0; t < TABLES; t++) {
		bool reached[ROWS] = { false };
		struct select_cover cover;

		make_table(&s, rows);
		CU_ASSERT_EQUAL_FATAL(select_cover(&s, 0, ROWS, &cover), 0);
		for (unsigned i = 0; i < ROWS; i++) {
			const struct select_call *told = NULL;
			struct select_call gap = { 0 };

			try_calls(&s, &rows[i], reached, &gap);
			for (size_t k = 0; k < cover.gaps.n; k++)
				told = are_alike(&rows[i], &cover.gaps.at[k]) ? &cover.gaps.at[k] : told;
			wrong += told ? gap.ranks != told->ranks || gap.bytes != told->bytes || select_find(&s, told) : gap.ranks != 0;
			wrong += is_listed(&cover, &rows[i]) == reached[i];
			unreached += !reached[i];
			gaps += told != NULL;
		}
		select_cover_free(&cover);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(unreached > TABLES / 10 && gaps > TABLES / 10 && gaps < TABLES * ROWS);
}

const struct unit_suite suite_select = { "select", (const struct unit_test[]){ { "cover_as_found", cover_as_found }, { NULL, NULL } } };
