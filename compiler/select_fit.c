/* SPDX-License-Identifier: BSD-3-Clause
 * Compares a row of a selection table with its schedule, by what the binary says about itself. goalc --check-table does more
 * (check_row.c); this is quick enough for each program that selects the row. */
#include "compiler/select.h"

#include "compiler/passes/passes.h"

#include <inttypes.h>
#include <string.h>

static const struct bin_param *find_param(const struct bin *b, const char *name)
{
	for (uint32_t i = 0; i < b->nparams; i++)
		if (!strcmp(bin_str(b, b->params[i].name), name))
			return &b->params[i];
	return NULL;
}

/* True if the caller of the collective gives the parameter its value. */
static bool is_given(const struct claim *claim, const char *name)
{
	return !strcmp(name, "inplace") || (claim->any && find_param(&claim->def, name));
}

/* A binary keeps the values and the passes that it was made with. */
static bool fits_options(const struct select_row *row, const struct bin *b, const struct claim *claim, struct text *why)
{
	for (size_t i = 0; i < row->defines.v.n; i++) {
		const struct define *d = &row->defines.v.at[i];
		const struct bin_param *p = find_param(b, d->name);

		if (is_given(claim, d->name))
			text_add(why, "-D %s: the caller of %s gives %s its value", d->name, row->collective, d->name);
		else if (!p && b->meta->flags & BIN_F_PARAMETRIC)
			text_add(why, "-D %s: %s has no parameter of that name", d->name, row->file);
		else if (!p || p->has_default != BIN_NUMBER || p->value != d->value[0])
			text_add(why, "-D %s: %s is a binary, and keeps the values that it was made with", d->name, row->file);
		if (why->n)
			return false;
	}
	if (row->passes && strcmp(bin_str(b, b->meta->passes), passes_on_ops(row->passes)) != 0)
		text_add(why, "-T %s: %s is a binary, and keeps the passes that it was made with", row->passes, row->file);
	return !why->n;
}

/* The parameters that callers give depend on the arrangement of the ranks. */
static bool fits_params(const struct select_row *row, const struct bin *b, const struct claim *claim, struct text *why)
{
	const bool cart = claim->any && find_param(&claim->def, "dims"), graph = claim->any && find_param(&claim->def, "sources");

	if (cart && row->topology != SELECT_CART)
		text_add(why, "%s is for ranks in a grid, and the row for other calls, too: its topology has to be cart", row->file);
	else if (graph && row->topology != SELECT_GRAPH)
		text_add(why, "%s is for ranks in a graph, and the row for other calls, too: its topology has to be graph", row->file);
	for (uint32_t i = 0; i < b->nparams && b->meta->flags & BIN_F_PARAMETRIC && !why->n; i++) {
		const char *name = bin_str(b, b->params[i].name);

		if (!b->params[i].has_default && !is_given(claim, name))
			text_add(why, "the parameter %s of %s has no default: the row has to give it with -D", name, row->file);
	}
	return !why->n;
}

bool select_fits(const struct select_row *row, const struct bin *b, const struct claim *claim, struct text *why)
{
	const char *implements = bin_str(b, b->meta->implements);

	if (strcmp(implements, row->collective) != 0)
		text_add(why, "%s implements %s, not %s", row->file, *implements ? implements : "no collective", row->collective);
	else if (row->op == SELECT_ANY_OP && b->meta->flags & BIN_F_COMMUTATIVE)
		text_add(why, "%s is for operations that commute, and the row for any operation: it has to say commutative or builtin",
			 row->file);
	else if (row->reproducible && !(b->meta->flags & BIN_F_REPRODUCIBLE))
		text_add(why, "%s is not marked as reproducible, and the row is for calls that ask for it", row->file);
	else if (b->meta->nranks && (row->ranks.min != b->meta->nranks || row->ranks.max != b->meta->nranks))
		text_add(why, "%s is a binary for %u ranks, and the row for other numbers of ranks, too", row->file, b->meta->nranks);
	else if (b->meta->count != BIN_ANY_COUNT)
		text_add(why, "%s is a binary for the count %" PRId64 ", and the row for other counts, too", row->file, b->meta->count);
	else
		return fits_options(row, b, claim, why) && fits_params(row, b, claim, why);
	return false;
}
