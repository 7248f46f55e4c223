/* SPDX-License-Identifier: BSD-3-Clause
 * The table of passes and their runner. */
#include "compiler/passes.h"

#include "util/err.h"

#include <string.h>

const struct pass passes[] = {
	{ .name = "reduce-deps", .help = "drop dependencies that others imply", .local = pass_reduce_deps },
};
const unsigned npasses = sizeof passes / sizeof *passes;

const struct pass *pass_find(const char *name, size_t len)
{
	for (unsigned i = 0; i < npasses; i++)
		if (strlen(passes[i].name) == len && !memcmp(passes[i].name, name, len))
			return &passes[i];
	return NULL;
}

static const char *next_pass(const char *list, const struct pass **pass)
{
	size_t len = strcspn(list, ",");

	*pass = pass_find(list, len);
	return list[len] ? list + len + 1 : list + len;
}

int passes_run_rank(const char *list, struct ir_rank *r)
{
	const struct pass *p;
	int err = 0;

	while (*list && !err) {
		list = next_pass(list, &p);
		err = p && p->local ? p->local(r) : -ERR_VERSION;
	}
	return err;
}

int passes_run_graph(const char *list, struct ir_graph *g)
{
	const struct pass *p;
	int err = 0;

	while (*list && !err) {
		list = next_pass(list, &p);
		if (!p)
			return -ERR_VERSION;
		if (p->global)
			err = p->global(g);
		for (uint32_t r = 0; p->local && r < g->nranks && !err; r++)
			err = p->local(&g->ranks[r]);
	}
	return err;
}
