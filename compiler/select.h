/* SPDX-License-Identifier: BSD-3-Clause
 * Selection tables: which schedule serves a call of a collective, see select.table(5). The selection depends on the
 * call and the tables alone, so that all ranks select the same schedule. */
#ifndef COMPILER_SELECT_H
#define COMPILER_SELECT_H

#include "compiler/collectives/collective.h"
#include "lang/loc.h"
#include "util/mem.h"
#include "util/options.h"
#include "util/text.h"

#include <stdbool.h>

/* Topology of the communicator. Most collectives do not depend on it. The options --topology list the words in this order. */
enum select_topology { SELECT_NONE, SELECT_CART, SELECT_GRAPH, SELECT_TOPOLOGIES };

/* Classes of operations, each a subset of the previous one. Built-in operations are commutative and may also be applied to
 * any part of an element. A collective without an operation counts as built-in. */
enum select_op { SELECT_ANY_OP, SELECT_COMMUTATIVE, SELECT_BUILTIN, SELECT_OPS };

/* Restriction on the ranks in a row: on their number, or on what they share. */
enum select_shape { SELECT_ALL, SELECT_POW2, SELECT_EVEN, SELECT_NODE, SELECT_CACHE, SELECT_CORE, SELECT_SHAPES };

/* What the ranks of a call share: cores, on which they take turns, a cache of the last level, a node, or nothing. A row for ranks that
 * share less takes calls of ranks that share more as well. */
enum select_sharing { SELECT_SHARE_CORE, SELECT_SHARE_CACHE, SELECT_SHARE_NODE, SELECT_SHARE_NOTHING, SELECT_SHARINGS };

struct select_call {
	const char *collective;
	uint64_t ranks, bytes; /* number of ranks; bytes of one block */
	enum select_op op;
	enum select_topology topology;
	bool reproducible; /* true if the result may depend on nothing but the data, the number of ranks and the root */
	enum select_sharing sharing;
};

#define SELECT_MOST_RANKS INT32_MAX /* MPI has no larger communicators */

struct select_range {
	uint64_t min, max;
};

struct select_row {
	unsigned table; /* index into tables */
	struct goal_loc at;
	const char *text; /* text of the row without the comment, not NUL-terminated */
	size_t len;
	const char *collective; /* a name of collective_name() */
	struct select_range ranks, bytes;
	enum select_shape shape;
	enum select_op op; /* the row takes this class of operations and all classes after it */
	bool reproducible; /* the row takes calls that ask for this, and no others */
	enum select_topology topology; /* SELECT_NONE: any topology */
	char *file;
	struct defines defines; /* definitions -D of the row, each a single number */
	char *passes; /* list of passes as in passes.h, or NULL */
};

/* True if two rows take calls of the same collective, which all ask for reproducible results or all do not. */
static inline bool select_alike(const struct select_row *a, const struct select_row *b)
{
	return a->collective == b->collective && a->reproducible == b->reproducible;
}

struct select_table {
	char *path, *text;
};

/* All rows. The rows of the user's table come first. */
struct select {
	VEC(struct select_table) tables;
	VEC(struct select_row) rows;
};

/* Reads the user's table, unless path is empty, and then the installed one, if it exists. A row that no call reaches is an error.
 * Errors are reported as diagnostics, which borrow from s. Returns 0, -ERR_SYNTAX, -ERR_NOMEM, or -ERR_SYS if no table can be
 * read. */
int select_load(struct goal_diags *d, const char *path, struct select *s);
/* Reads one table and no other, and returns as select_load(). */
int select_load_one(struct goal_diags *d, const char *path, struct select *s);
void select_free(struct select *s);

/* Returns the least that ranks share whose calls the row takes. */
static inline enum select_sharing select_sharing_of(const struct select_row *row)
{
	switch (row->shape) {
	case SELECT_CORE:
		return SELECT_SHARE_CORE;
	case SELECT_CACHE:
		return SELECT_SHARE_CACHE;
	case SELECT_NODE:
		return SELECT_SHARE_NODE;
	default:
		return SELECT_SHARE_NOTHING;
	}
}

/* True if a number of ranks is in the row's range and has its shape. */
bool select_takes_ranks(const struct select_row *row, uint64_t ranks);
/* Returns the first part of a row that does not match a call: "collective", "ranks", "bytes", "op" or "topology"; NULL
 * if the row takes the call. */
const char *select_misfit(const struct select_row *row, const struct select_call *call);
/* True if the environment variable GOAL_REPRODUCIBLE makes calls of this collective ask for reproducible results. */
bool select_asks(const char *collective);
/* Returns the first row that takes the call, or NULL if none does. */
const struct select_row *select_find(const struct select *s, const struct select_call *call);
/* Stores the path of a row's schedule, owned by the caller: the file beside the table or, if there is none, the
 * installed file. */
int select_path(const struct select *s, const struct select_row *row, char **path);

/* ---- calls and rows (select_cover.c) ---- */

/* Rows that no call reaches, because rows above take all their calls; and for each collective the call with the fewest ranks
 * that no row takes, if there is one. */
struct select_cover {
	VEC(const struct select_row *) unreached;
	VEC(struct select_call) gaps;
};
/* Compares all calls of the collectives that the rows `first` to end - 1 name with these rows. Rows for reproducible calls are
 * compared with such calls, as far as the operation is of a class that one of these rows takes. Returns 0 or -ERR_NOMEM; the
 * caller frees *out with select_cover_free() in any case. */
int select_cover(const struct select *s, size_t first, size_t end, struct select_cover *out);
void select_cover_free(struct select_cover *c);

/* ---- rows and schedules (select_fit.c) ---- */

/* True if the schedule fits its row, by what the binary says without being run: the collective, the operation, the number of
 * ranks, the count, and the parameters. claim is that of claim_open_named(). Otherwise adds the reason to *why. */
bool select_fits(const struct select_row *row, const struct bin *b, const struct claim *claim, struct text *why);

#endif
