/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun --backend smcq: lowers a text to command queues, for the number of ranks, the count and the sample of
 * arguments with which it runs. */
#include "goalrun/run.h"

#include "compiler/passes/passes.h"

#include <stdlib.h>
#include <string.h>

/* Values to be given by name; for a parameter that differs by rank, one for each rank. */
struct given {
	VEC(struct define) v;
};

static int add_given(struct given *out, const struct bin *b, uint32_t param, int64_t rank, const struct bin_arg *a)
{
	const struct define d = { .name = bin_str(b, b->params[param].name),
				  .rank = rank,
				  .value = b->params[param].vector ? a->elem : &a->value,
				  .n = b->params[param].vector ? a->n : 1 };

	return a->known && d.value && VEC_PUSH(&out->v, d) ? -ERR_NOMEM : 0;
}

/* Adds all parameters but the root: the lowered schedule has a variant for each root. */
static int give_all(struct given *out, const struct bin *b, const struct arg_rows *rows)
{
	int err = 0;

	for (uint32_t i = 0; i < b->nparams; i++) {
		if (i == b->meta->root)
			continue;
		for (uint32_t r = 0; r < rows->size && !err; r++)
			if (b->params[i].scope == BIN_LOCAL || !r)
				err = add_given(out, b, i, b->params[i].scope == BIN_LOCAL ? (int64_t)r : -1,
						&arg_row(rows, r)[i]);
	}
	return err;
}

int run_lower(struct goal_diags *d, const struct run_options *o, const struct run_lowering *l, void **image, size_t *size)
{
	struct arg_rows rows;
	struct given given = { 0 };
	int64_t ignored;
	int err = arg_rows_init(&rows, l->bin, o->nranks);

	err = err ? err : arg_rows_define(&rows, d, 0, l->bin, o->defines.v.at, o->defines.v.n, &ignored);
	err = err ? err : collective_sample(l->bin, l->count, l->sample, &rows);
	err = err ? err : give_all(&given, l->bin, &rows);
	if (!err && VEC_PUSH(&given.v, ((struct define){ .name = "count", .rank = -1, .value = &l->count, .n = 1 })))
		err = -ERR_NOMEM;
	if (!err) {
		const struct compile_options c = { .nranks = o->nranks,
						   .debug = true,
						   .passes = l->passes,
						   .defines = given.v.at,
						   .ndefines = given.v.n };

		err = compile_text(d, o->name, l->text, l->len, &c, image, size);
	}
	VEC_FREE(&given.v);
	arg_rows_fini(&rows);
	return err;
}
