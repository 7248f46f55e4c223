/* SPDX-License-Identifier: BSD-3-Clause
 * Rows of arguments, one for each rank, set from -D options. */
#include "compiler/ir/args.h"

#include "lang/loc.h"
#include "util/err.h"
#include "util/nearest.h"

#include <stdlib.h>
#include <string.h>

int arg_rows_init(struct arg_rows *a, const struct bin *b, uint32_t size)
{
	*a = (struct arg_rows){ .size = size, .nparams = b->nparams };
	a->common = mem_calloc(b->nparams, sizeof *a->common);
	a->own = mem_calloc(size, sizeof *a->own);
	a->by_rank = mem_alloc(size * sizeof *a->by_rank);
	if (!a->common || !a->own || !a->by_rank) {
		arg_rows_fini(a);
		return -ERR_NOMEM;
	}
	for (uint32_t r = 0; r < size; r++)
		a->by_rank[r] = a->common;
	return 0;
}

void arg_rows_fini(struct arg_rows *a)
{
	free(a->common);
	free(a->own);
	free(a->by_rank);
	arena_fini(&a->store);
	*a = (struct arg_rows){ 0 };
}

struct bin_arg *arg_row_own(struct arg_rows *a, uint32_t rank)
{
	const size_t size = a->nparams * sizeof *a->common;
	struct bin_arg *row = a->own[rank];

	if (row)
		return row;
	row = arena_alloc(&a->store, size);
	if (!row)
		return NULL;
	if (size)
		memcpy(row, a->common, size);
	a->by_rank[rank] = a->own[rank] = row;
	return row;
}

int arg_rows_copy(struct arg_rows *a, const struct bin_args *args)
{
	const struct bin_arg *first = args->by_rank ? args->by_rank[0] : args->args;

	if (!a->nparams || !first)
		return 0;
	memcpy(a->common, first, a->nparams * sizeof *first);
	for (uint32_t r = 1; args->by_rank && r < a->size; r++) {
		struct bin_arg *row = args->by_rank[r] == first ? a->common : arg_row_own(a, r);

		if (!row)
			return -ERR_NOMEM;
		if (row != a->common)
			memcpy(row, args->by_rank[r], a->nparams * sizeof *row);
	}
	return 0;
}

void arg_rows_set(struct arg_rows *a, uint32_t param, struct bin_arg v)
{
	a->common[param] = v;
	for (uint32_t r = 0; r < a->size; r++)
		if (a->own[r])
			a->own[r][param] = v;
}

/* Returns the index of the parameter that a -D option other than count sets. After a diagnostic, returns nparams. */
static uint32_t param_of_define(struct goal_diags *d, unsigned file, const struct bin *b, const struct define *def,
				uint32_t size)
{
	const struct goal_loc at = { .file = (uint16_t)file };
	uint32_t i = 0;

	while (i < b->nparams && strcmp(bin_str(b, b->params[i].name), def->name) != 0)
		i++;
	if (i == b->nparams) {
		struct nearest n = { .word = def->name };

		for (i = 0; i < b->nparams; i++)
			nearest_name(&n, bin_str(b, b->params[i].name));
		nearest_name(&n, "count");
		goal_diag(d, GOAL_ERROR, at, NULL, "the schedule has no parameter %s%s", def->name, nearest_choices(&n));
		return b->nparams;
	}
	if (!b->params[i].vector && def->n != 1)
		goal_diag(d, GOAL_ERROR, at, NULL, "the parameter %s is one number", def->name);
	else if (def->rank >= 0 && b->params[i].scope != BIN_LOCAL)
		goal_diag(d, GOAL_ERROR, at, NULL, "the parameter %s is not local: no rank has a value of its own",
			  def->name);
	else if (def->rank >= size)
		goal_diag(d, GOAL_ERROR, at, NULL, "there is no rank %lld to have a %s", (long long)def->rank, def->name);
	else
		return i;
	return b->nparams;
}

int arg_rows_define(struct arg_rows *a, struct goal_diags *d, unsigned file, const struct bin *b,
		    const struct define *defines, size_t n, int64_t *count)
{
	unsigned errors = goal_diags_errors(d);

	for (size_t k = 0; k < 2 * n; k++) { /* values for all ranks first, then values for one rank, which override the former */
		const struct define *def = &defines[k % n];
		const struct bin_arg v = { true, def->n ? def->value[0] : 0, def->value, def->n };
		uint32_t i;

		if ((k >= n) != (def->rank >= 0))
			continue;
		if (!strcmp(def->name, "count") && !(b->meta->flags & BIN_F_PLAIN)) {
			if (def->n != 1 || def->value[0] < 0 || def->rank >= 0)
				goal_diag(d, GOAL_ERROR, (struct goal_loc){ .file = (uint16_t)file }, NULL,
					  "count is one number of at least 0");
			else
				*count = def->value[0];
			continue;
		}
		i = param_of_define(d, file, b, def, a->size);
		if (i < b->nparams && def->rank >= 0) {
			struct bin_arg *row = arg_row_own(a, (uint32_t)def->rank);

			if (!row)
				return -ERR_NOMEM;
			row[i] = v;
		} else if (i < b->nparams) {
			arg_rows_set(a, i, v);
		}
	}
	return goal_diags_errors(d) == errors ? 0 : -ERR_SYNTAX;
}
