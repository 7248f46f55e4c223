/* SPDX-License-Identifier: BSD-3-Clause
 * Finds definitions in the text of collectives.goal, which the build has put into collectives.inc, and compiles them. */
#include "compiler/collectives/definition.h"

#include "compiler/lower/lower.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

static const char text[] =
#include "compiler/collectives/collectives.inc"
	;

/* Those that count in bytes what the others count in elements. */
static const char *const same[][2] = {
	{ "MPI_Alltoallw", "MPI_Alltoallv" },
	{ "MPI_Neighbor_alltoallw", "MPI_Neighbor_alltoallv" },
};

/* The n-th "schedule NAME" at the start of a line, up to the next one; NULL when there is none. */
static const char *find(const char *name, unsigned n, size_t *len)
{
	static const char head[] = "\nschedule ";
	const size_t skip = sizeof head - 1;
	size_t name_len;

	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		if (!strcmp(same[i][0], name))
			name = same[i][1];
	name_len = strlen(name);
	for (const char *p = strstr(text, head), *next; p; p = next) {
		next = strstr(p + skip, head);
		if (strncmp(p + skip, name, name_len) || !strchr("(\n ", p[skip + name_len]) || n--)
			continue;
		*len = next ? (size_t)(next - p) : strlen(p);
		return p;
	}
	return NULL;
}

bool definition_known(const char *name)
{
	size_t len;

	return find(name, 0, &len);
}

static int compile(struct goal_diags *d, const char *at, size_t len, void **image, size_t *size)
{
	struct goal_text *tree = NULL;
	struct ir_image im = { 0 };
	int file = goal_diags_source(d, "collectives.goal", at, len), err = file < 0 ? file : 0;

	err = err ? err : goal_parse_parametric(d, (unsigned)file, &tree);
	if (!err && !tree)
		err = -ERR_SYNTAX;
	err = err ? err : ir_image_init(&im);
	err = err ? err : lower_program(d, tree, tree->last, &im);
	if (!err && goal_diags_errors(d))
		err = -ERR_SYNTAX;
	err = err ? err : ir_image_finish(&im, false, image, size);
	goal_text_free(tree);
	ir_image_fini(&im);
	return err;
}

int definition_open(const char *name, unsigned n, void **image, struct bin *b)
{
	size_t len, size;
	const char *at = find(name, n, &len);
	struct goal_diags *d;
	int err;

	*image = NULL;
	if (!at)
		return 0;
	d = goal_diags_new();
	err = d ? compile(d, at, len, image, &size) : -ERR_NOMEM;
	goal_diags_free(d);
	err = err ? err : bin_open(b, *image, size);
	if (err) {
		free(*image);
		*image = NULL;
	}
	return err;
}
