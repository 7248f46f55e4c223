/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun --select: finds the row of the selection table for a call, and applies it as if its values and passes had
 * been given as options. */
#include "compiler/passes/passes.h"
#include "goalrun/run.h"
#include "util/env.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes the row's values, except for names that have been given as options. */
static int take_defines(struct run_options *o, const struct select_row *row)
{
	size_t given = o->defines.v.n;
	int err = 0;

	for (size_t i = 0; i < row->defines.v.n && !err; i++) {
		const struct define *d = &row->defines.v.at[i];
		struct text t = { 0 };
		size_t k = 0;
		char *arg;

		while (k < given && strcmp(o->defines.v.at[k].name, d->name) != 0)
			k++;
		if (k < given)
			continue;
		text_add(&t, "%s=%" PRId64, d->name, d->value[0]);
		err = text_take(&t, &arg);
		err = err ? err : option_define(&o->defines, arg, false);
		free(arg);
	}
	return err;
}

/* Puts the row's passes before those that have been given as options. */
static int take_passes(struct run_options *o, const struct select_row *row)
{
	char *own = o->passes;
	int err = 0;

	o->passes = NULL;
	if (row->passes)
		err = passes_add(&o->passes, row->passes, NULL);
	if (!err && own)
		err = passes_add(&o->passes, own, NULL);
	free(own);
	return err;
}

int run_row_words(const struct select_row *row, char **out)
{
	const char *const end = row->text + row->len;
	const char *words = memmem(row->text, row->len, "->", 2);
	struct text t = { 0 };

	words = words ? words + 2 : row->text; /* each row has an arrow */
	while (words < end && (*words == ' ' || *words == '\t'))
		words++;
	text_add(&t, "%.*s", (int)(end - words), words);
	return text_take(&t, out);
}

bool run_choose(struct run_options *o, struct select_call call, const int64_t *counts, size_t n, size_t size, const char *table,
		struct run_chosen *out)
{
	struct goal_diags *d = goal_diags_new();
	const struct select_row *row = NULL;
	struct select s = { 0 };
	int err = d ? select_load(d, table ? table : env_get(ENV_GOAL_SELECT), &s) : -ERR_NOMEM;

	*out = (struct run_chosen){ 0 };
	for (size_t i = 0; i < n && !err; i++) {
		const struct select_row *other;

		call.bytes = (uint64_t)counts[i] * size;
		other = select_find(&s, &call);
		row = i ? row : other;
		if (other != row || !row)
			break;
		out->served = i + 1;
	}
	if (!err && !row)
		fprintf(stderr, "goalrun: no row of the selection table is for this call of %s\n", call.collective);
	if (row) {
		err = take_defines(o, row);
		err = err ? err : take_passes(o, row);
		err = err ? err : select_path(&s, row, &out->path);
		err = err ? err : run_row_words(row, &out->row);
	}
	if (d && goal_diags_errors(d))
		fputs(goal_diags_text(d), stderr);
	else if (err)
		fprintf(stderr, "goalrun: %s\n", err_text(err));
	goal_diags_free(d);
	select_free(&s);
	return row && !err;
}
