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

/* A case that is verified besides the usual ones. */
struct case_asked {
	uint32_t size;
	int64_t root; /* of a schedule that has one */
	int64_t count; /* 0: those that are tried for this size */
};

/* True if the schedule fails in this case. The verifier has then reported how. */
static bool fails_in(struct goalc *c, const struct bin *b, const struct verify_asked *some, const struct case_asked *x)
{
	const struct define given[] = { { .name = "root", .rank = -1, .value = &x->root, .n = 1 },
					{ .name = "count", .rank = -1, .value = &x->count, .n = 1 } };
	const bool root = b->meta->root != BIN_NONE, count = x->count != 0;
	struct verify_asked asked = *some;
	struct verify_result out = { 0 };
	int err;

	asked.first = asked.last = x->size;
	asked.defines = root ? given : given + 1;
	asked.ndefines = (size_t)root + count;
	err = verify_cases(c->diags, b, &asked, &out);
	verify_result_fini(&out);
	return err == -ERR_SYNTAX;
}

/* Prints the line of the text that an instruction comes from. */
static void print_line(const struct goalc *c, const struct bin *b, uint32_t insn)
{
	FILE *to = goalc_words(c);

	if (insn && c->locs.v.n > insn && c->locs.v.at[insn].line)
		fprintf(to, "%s:%" PRIu32 ": ", goal_diags_name(c->diags, c->locs.v.at[insn].file), c->locs.v.at[insn].line);
	else if (insn && b->lines && b->lines[insn])
		fprintf(to, "line %" PRIu32 ": ", b->lines[insn]);
}

/* Looks for a counterexample where the solvers have none: at sizes beyond those that are usually tried, with a high root, and with
 * many elements. */
static void search_counterexample(struct goalc *c, const struct bin *b, const struct verify_asked *some)
{
	static const struct case_asked cases[] = { { 100, 98, 0 }, { 130, 97, 0 }, { 100, 99, 1 << 20 } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (fails_in(c, b, some, &cases[i])) {
			fprintf(goalc_words(c), "  the schedule fails for %" PRIu32 " ranks\n", cases[i].size);
			return;
		}
}

static void print_counterexample(struct goalc *c, const struct bin *b, const struct verify_asked *some,
				 const struct allranks_result *r)
{
	const struct case_asked found = { r->size, r->root, 0 };
	FILE *to = goalc_words(c);

	if (!r->size) {
		search_counterexample(c, b, some);
		return;
	}
	fprintf(to, "  the obligation fails for %" PRIu32 " ranks", r->size);
	if (r->root_matters)
		fprintf(to, " and root %" PRId64, r->root);
	if (r->size > MOST_CONFIRMED)
		fprintf(to, ", which are too many to verify here\n");
	else if (fails_in(c, b, some, &found))
		fprintf(to, ", and so does the schedule\n");
	else
		fprintf(to, ", but the schedule is right there: the obligation asks for more than is needed\n");
}

/* Prints the parameters for whose values the proof holds. The root can be any rank, and a buffer can be in place or not. */
static void print_params(const struct bin *b, FILE *to)
{
	const char *before = "; ";

	for (uint32_t i = 0; i < b->nparams; i++) {
		const struct bin_param *p = &b->params[i];

		if (i == b->meta->root || !p->has_default || !strcmp(bin_str(b, p->name), "inplace"))
			continue;
		fprintf(to, "%s%s", before, bin_str(b, p->name));
		if (p->has_default == BIN_NUMBER)
			fprintf(to, " = %" PRId64, p->value);
		else
			fprintf(to, " by default");
		before = ", ";
	}
}

int goalc_verify_every(struct goalc *c, const struct bin *b, const struct verify_asked *some, struct bin_proof *proof)
{
	const struct allranks_asked asked = { .solver = c->solver,
					      .seconds = c->solver_time ? (unsigned)c->solver_time : SOLVER_TIME,
					      .dir = c->smt };
	const char *name = bin_str(b, b->meta->name);
	FILE *to = goalc_words(c);
	struct allranks_result r;

	progress_begin_thread(&c->progress, "goalc");
	progress_set(&c->progress, "%s: every number of ranks", option_source(c->input));
	if (allranks_prove(b, &asked, &r)) {
		progress_end(&c->progress);
		return no_memory();
	}
	progress_end(&c->progress);
	if (r.proved) {
		fprintf(to, "%s: proved for every number of ranks below 2^31%s (%u obligations, %u by a solver)", name,
			r.asserts ? " that its assertions allow" : "", r.obligations, r.asked);
		print_params(b, to);
		fprintf(to, "\n");
		*proof = (struct bin_proof){ .obligations = r.hash, .n = r.obligations };
		return option_flush("goalc");
	}
	fprintf(to, "%s: not proved for every number of ranks: ", name);
	print_line(c, b, r.insn);
	fprintf(to, "%s\n", r.why);
	print_counterexample(c, b, some, &r);
	option_flush("goalc");
	return EXIT_FAULT;
}
