/* SPDX-License-Identifier: BSD-3-Clause
 * From a text to what the executor needs. */
#include "tests/mutants/load.h"

#include "util/file.h"

#include <stdlib.h>

int subject_open(struct subject *s, const char *file, uint32_t nranks)
{
	struct compile_options o = { .nranks = nranks, .debug = true, .checks_off = UINT64_MAX };
	size_t len = 0, size;
	int err;

	*s = (struct subject){ .diags = goal_diags_new() };
	err = s->diags ? file_read(file, &s->text, &len) : -ERR_NOMEM;
	err = err ? err : compile_text(s->diags, file, s->text, len, &o, &s->image, &size);
	return err ? err : bin_open(&s->bin, s->image, size);
}

void subject_close(struct subject *s)
{
	goal_diags_free(s->diags);
	free(s->image);
	free(s->text);
}

/* What each rank wants, and the world made of it. */
static int define(struct sized *z, const struct subject *s, const struct bin_args *args)
{
	struct ir_fault fault;
	uint32_t rank;
	int err = claim_open(&z->claim, &s->bin, &fault);

	z->wants = mem_calloc(args->size, sizeof *z->wants);
	if (!err && !z->wants)
		err = -ERR_NOMEM;
	if (!err && z->claim.any)
		err = claim_all_expected(&z->claim, args, z->wants, &rank, &fault);
	if (err)
		return err;
	z->world = world_new(&z->graph, &s->bin, z->wants);
	return z->world ? 0 : -ERR_NOMEM;
}

/* The values of all ranks: those of a sample, and the root. */
static int arguments(struct arg_rows *rows, const struct bin *b, int64_t count, unsigned which, int64_t root)
{
	int err = collective_sample(b, count, which, rows);

	if (!err && b->meta->root != BIN_NONE)
		arg_rows_set(rows, b->meta->root, (struct bin_arg){ .known = true, .value = root });
	return err;
}

int sized_open(struct sized *z, const struct subject *s, uint32_t nranks, int64_t count, unsigned which, int64_t root)
{
	struct bin_args args = { .size = nranks, .count = count };
	struct arg_rows rows = { 0 };
	struct ir_fault fault;
	uint32_t rank;
	int err = arg_rows_init(&rows, &s->bin, nranks);

	*z = (struct sized){ 0 };
	err = err ? err : arguments(&rows, &s->bin, count, which, root);
	args.by_rank = rows.by_rank;
	err = err ? err : ir_graph_specialise(&s->bin, &args, &z->graph, &rank, &fault);
	err = err ? err : define(z, s, &args);
	arg_rows_fini(&rows);
	if (err)
		sized_close(z);
	return err;
}

void sized_close(struct sized *z)
{
	for (uint32_t r = 0; z->wants && r < z->graph.nranks; r++)
		expected_fini(&z->wants[r]);
	free(z->wants);
	claim_close(&z->claim);
	world_free(z->world);
	ir_graph_fini(&z->graph);
	*z = (struct sized){ 0 };
}
