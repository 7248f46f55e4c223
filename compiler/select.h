/* SPDX-License-Identifier: BSD-3-Clause
 * Selection tables: which schedule serves a call of a collective, see select.table(5). What is selected follows from
 * the call and the tables alone, so that all ranks select alike. */
#ifndef COMPILER_SELECT_H
#define COMPILER_SELECT_H

#include "lang/loc.h"
#include "util/mem.h"
#include "util/options.h"

#include <stdbool.h>

/* What the ranks are arranged as; that of most collectives does not matter. */
enum select_topology { SELECT_NONE, SELECT_CART, SELECT_GRAPH, SELECT_TOPOLOGIES };
/* The one of a name: any, cart or graph. */
bool select_topology(const char *name, enum select_topology *out);

/* Operations by what may be done with them. Those of the library may work on any part of an element, too; a
 * collective without one counts among them. */
enum select_op { SELECT_ANY_OP, SELECT_COMMUTATIVE, SELECT_BUILTIN, SELECT_OPS };

/* Numbers of ranks that a row takes. */
enum select_shape { SELECT_ALL, SELECT_POW2, SELECT_EVEN };

struct select_call {
	const char *collective;
	uint64_t ranks, bytes; /* bytes: of a block */
	enum select_op op;
	enum select_topology topology;
};

struct select_range {
	uint64_t min, max;
};

struct select_row {
	unsigned table; /* in tables */
	struct goal_loc at;
	const char *text; /* its line, without comment */
	size_t len;
	char *collective;
	struct select_range ranks, bytes;
	enum select_shape shape;
	enum select_op op; /* takes those from here on */
	enum select_topology topology; /* SELECT_NONE: any */
	char *file;
	struct defines defines; /* a value each */
	char *passes; /* as in passes.h, or NULL */
};

struct select_table {
	char *path, *text;
};

/* All rows, those of the user's table first. */
struct select {
	VEC(struct select_table) tables;
	VEC(struct select_row) rows;
};

/* Reads the user's table, unless path is empty, and the installed one behind it, if there is one. Mistakes are
 * diagnostics; 0, -ERR_SYNTAX, -ERR_NOMEM, or -ERR_SYS when there is none that can be read, which is a diagnostic
 * as well. The diagnostics borrow from s. */
int select_load(struct goal_diags *d, const char *path, struct select *s);
void select_free(struct select *s);

/* The first row for a call, or NULL. */
const struct select_row *select_find(const struct select *s, const struct select_call *call);
/* The path of a row's schedule, owned by the caller: beside its table, else among the installed ones. */
int select_path(const struct select *s, const struct select_row *row, char **path);

#endif
