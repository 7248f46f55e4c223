/* SPDX-License-Identifier: BSD-3-Clause
 * The table of named checks, at the bottom, and the functions that find and run them. */
#include "compiler/analysis/checks.h"

#include "util/err.h"

#include <stdlib.h>
#include <string.h>

static int check_cycle(struct goal_diags *d, const struct ir_graph *g, const struct check *self,
		       enum goal_severity s)
{
	for (uint32_t r = 0; r < g->nranks; r++) {
		uint32_t bad = 0, *pos = mem_alloc((size_t)g->ranks[r].nops * sizeof *pos);
		int err = pos ? ir_rank_positions(&g->ranks[r], pos, &bad) : -ERR_NOMEM;

		free(pos);
		if (err == -ERR_CYCLE)
			check_found(d, g, self->name, s, r, bad,
				    "this op of rank %u waits for itself: its dependencies form a cycle", r);
		else if (err)
			return err;
	}
	return 0;
}

/* ---- the table ---- */

#define ALWAYS { CHECK_FAIL, CHECK_FAIL, CHECK_FAIL }, true

const struct check checks[] = {
	{ "syntax", "the text follows the grammar", ALWAYS, NULL },
	{ "overflow", "numbers fit their fields", ALWAYS, NULL },
	{ "name", "variables, functions, buffers and parameters are declared", ALWAYS, NULL },
	{ "unknown-label", "a dependency names labels of its rank", ALWAYS, NULL },
	{ "duplicate-label", "a label stands for one op", ALWAYS, NULL },
	{ "missing-rank", "every rank of a plain file is there", ALWAYS, NULL },
	{ "duplicate-rank", "no rank of a plain file is there twice", ALWAYS, NULL },
	{ "peer", "peers are ranks of the schedule", ALWAYS, NULL },
	{ "bounds", "ranges lie within their buffers, and in buffers are not written", ALWAYS, NULL },
	{ "unknown-param", "ops use only parameters that their rank knows", ALWAYS, NULL },
	{ "cycle", "no op of a rank waits for itself", ALWAYS, check_cycle },
	{ "order", "on a channel the text order agrees with the dependencies", ALWAYS, checks_order },
	{ "long", "a text that is written was checked for all sizes that are tried",
	  { CHECK_OFF, CHECK_FAIL, CHECK_OFF }, false, NULL },
	{ "unmatched", "every send has a recv and every recv a send",
	  { CHECK_WARN, CHECK_FAIL, CHECK_FAIL }, false, checks_unmatched },
	{ "size", "a send and its recv have the same size",
	  { CHECK_WARN, CHECK_FAIL, CHECK_FAIL }, false, checks_size },
	{ "deadlock", "no op waits for itself by way of messages",
	  { CHECK_OFF, CHECK_FAIL, CHECK_FAIL }, false, checks_deadlock },
	{ "race", "ops that touch the same bytes, one writing, are ordered",
	  { CHECK_FAIL, CHECK_FAIL, CHECK_FAIL }, false, checks_race },
};
const unsigned nchecks = sizeof checks / sizeof *checks;

int check_find(const char *name)
{
	for (unsigned i = 0; i < nchecks; i++)
		if (!strcmp(checks[i].name, name))
			return (int)i;
	return -1;
}

int checks_run(struct goal_diags *d, const struct ir_graph *g, enum check_for what, uint64_t off)
{
	for (unsigned i = 0; i < nchecks; i++) {
		const struct check *c = &checks[i];
		enum goal_severity s = c->level[what] == CHECK_FAIL ? GOAL_ERROR : GOAL_WARNING;
		unsigned before = goal_diags_errors(d);
		int err;

		if (!c->run || c->level[what] == CHECK_OFF || (!c->fixed && (off >> i & 1)))
			continue;
		err = c->run(d, g, c, s);
		if (err)
			return err;
		if (c->fixed && goal_diags_errors(d) != before)
			return 0;
	}
	return 0;
}
