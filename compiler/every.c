/* SPDX-License-Identifier: BSD-3-Clause
 * goalc --verify -n all (goal-proof(7)). */
#include "compiler/allranks/allranks.h"
#include "compiler/goalc.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seconds for each obligation, if --solver-time does not say otherwise. */
#define SOLVER_TIME 60

/* Numbers of ranks up to this one are verified to confirm a counterexample. */
#define MOST_CONFIRMED 1024u

/* True if the schedule fails at the size and root of a counterexample. The verifier has then reported how. */
static bool is_confirmed(struct goalc *c, const struct bin *b, const struct verify_asked *some, const struct allranks_result *r)
{
	const struct define root = { .name = "root", .rank = -1, .value = &r->root, .n = 1 };
	struct verify_asked asked = *some;
	struct verify_result out = { 0 };
	int err;

	asked.first = asked.last = r->size;
	asked.defines = &root;
	asked.ndefines = r->root_matters;
	err = verify_cases(c->diags, b, &asked, &out);
	verify_result_fini(&out);
	return err == -ERR_SYNTAX;
}

/* Prints the line of the text that an instruction comes from. */
static void print_line(const struct goalc *c, const struct bin *b, uint32_t insn)
{
	if (insn && c->locs.v.n > insn && c->locs.v.at[insn].line)
		printf("%s:%" PRIu32 ": ", goal_diags_name(c->diags, c->locs.v.at[insn].file), c->locs.v.at[insn].line);
	else if (insn && b->lines && b->lines[insn])
		printf("line %" PRIu32 ": ", b->lines[insn]);
}

static void print_counterexample(struct goalc *c, const struct bin *b, const struct verify_asked *some,
				 const struct allranks_result *r)
{
	if (!r->size)
		return;
	printf("  the obligation fails for %" PRIu32 " ranks", r->size);
	if (r->root_matters)
		printf(" and root %" PRId64, r->root);
	if (r->size > MOST_CONFIRMED)
		printf(", which are too many to verify here\n");
	else if (is_confirmed(c, b, some, r))
		printf(", and so does the schedule\n");
	else
		printf(", but the schedule is right there: the obligation asks for more than is needed\n");
}

/* Prints the parameters for whose values the proof holds. The root can be any rank, and a buffer can be in place or not. */
static void print_params(const struct bin *b)
{
	const char *before = "; ";

	for (uint32_t i = 0; i < b->nparams; i++) {
		const struct bin_param *p = &b->params[i];

		if (i == b->meta->root || !p->has_default || !strcmp(bin_str(b, p->name), "inplace"))
			continue;
		printf("%s%s", before, bin_str(b, p->name));
		if (p->has_default == BIN_NUMBER)
			printf(" = %" PRId64, p->value);
		else
			printf(" by default");
		before = ", ";
	}
}

int goalc_verify_every(struct goalc *c, const struct bin *b, const struct verify_asked *some)
{
	const struct allranks_asked asked = { .solver = c->solver,
					      .seconds = c->solver_time ? (unsigned)c->solver_time : SOLVER_TIME,
					      .dir = c->smt };
	const char *name = bin_str(b, b->meta->name);
	struct allranks_result r;

	progress_begin_thread(&c->progress, "goalc");
	progress_set(&c->progress, "%s: every number of ranks", option_source(c->input));
	if (allranks_prove(b, &asked, &r)) {
		progress_end(&c->progress);
		return no_memory();
	}
	progress_end(&c->progress);
	if (r.proved) {
		printf("%s: proved for every number of ranks below 2^31%s (%u obligations, %u by a solver)", name,
		       r.asserts ? " that its assertions allow" : "", r.obligations, r.asked);
		print_params(b);
		printf("\n");
		return option_flush("goalc");
	}
	printf("%s: not proved for every number of ranks: ", name);
	print_line(c, b, r.insn);
	printf("%s\n", r.why);
	print_counterexample(c, b, some, &r);
	option_flush("goalc");
	return EXIT_FAULT;
}
