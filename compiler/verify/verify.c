/* SPDX-License-Identifier: BSD-3-Clause
 * The verifier calls its parts in order. Each part relies on what the parts before it have proved. */
#include "compiler/verify/verify.h"

#include "compiler/analysis/checks.h"
#include "compiler/analysis/race.h"
#include "compiler/ir/smcq.h"
#include "compiler/queues/verify_queues.h"
#include "compiler/verify/brackets.h"
#include "compiler/verify/verify_parts.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

bool verify_is_barrier(const struct bin *b)
{
	return !strcmp(bin_str(b, b->meta->implements), "MPI_Barrier");
}

/* Reports the first op with a wildcard: the checks do not match its messages, so nothing can be proved. */
static bool report_wildcard(struct goal_diags *d, const struct ir_graph *g)
{
	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++) {
			const struct bin_op *op = &g->ranks[r].ops[i];

			if ((ir_op_sends(op) || ir_op_recvs(op)) && (op->tag == BIN_ANY || op->peer == BIN_ANY)) {
				check_found(d, g, "unmatched", GOAL_ERROR, r, i,
					    "with this wildcard it is not decided which messages meet");
				return true;
			}
		}
	return false;
}

/* Verifies the command queues against a symbolic run of the ops. */
static int verify_lowered(struct goal_diags *d, const struct ir_graph *g, const struct symbolic *run, uint64_t most,
			  struct verify_report *out)
{
	const struct smcq_needs n = smcq_needs(g->queues);

	out->lowered = true;
	out->queues = n.queues;
	out->entries = n.entries;
	out->cpu = n.cpu;
	return verify_queues(d, run, g->queues, most, &out->partly);
}

/* Verifies races and data, and counts the messages that need ready signals. Earlier checks have shown that all messages
 * are matched and that there is no deadlock. */
static int verify_run(struct goal_diags *d, const struct ir_graph *g, const struct expected *by_rank, bool commutative,
		      struct ir_left *left, const struct verify_options *o, struct verify_report *out)
{
	const unsigned errors = goal_diags_errors(d);
	struct terms *terms = verify_terms(g, by_rank, commutative);
	struct ir_events *ev = &left->ev;
	struct symbolic run = { 0 };
	int err = terms ? 0 : -ERR_NOMEM;

	ir_events_relax(ev, left->m, left->nm);
	free(left->m); /* frees memory for the run; the matches are found again below */
	left->m = NULL;
	err = err ? err : symbolic_run(&run, g, ev, terms, g->queues);
	err = err ? err : race_report(d, &run, "race", GOAL_ERROR);
	if (!err && by_rank && goal_diags_errors(d) == errors)
		err = verify_data(d, &run, by_rank, out->differ);
	if (!err && by_rank && o->brackets && goal_diags_errors(d) == errors)
		err = brackets_compare(o->brackets, d, &run, by_rank);
	if (!err && verify_is_barrier(g->bin))
		err = verify_barrier(d, g, ev);
	if (!err && g->queues && goal_diags_errors(d) == errors)
		err = verify_lowered(d, g, &run, o->most, out);
	symbolic_fini(&run);
	terms_free(terms);
	if (err || goal_diags_errors(d) != errors)
		return err;
	left->m = ir_events_messages(ev, g, left->nm);
	return left->m ? verify_count_ready(g, ev, left->m, left->nm, out) : -ERR_NOMEM;
}

int verify_graph(struct goal_diags *d, const struct bin *b, const struct ir_graph *g, const struct expected *by_rank,
		 struct verify_report *out)
{
	return verify_graph_with(d, b, g, by_rank, &(struct verify_options){ 0 }, out);
}

int verify_graph_with(struct goal_diags *d, const struct bin *b, const struct ir_graph *graph, const struct expected *by_rank,
		      const struct verify_options *o, struct verify_report *out)
{
	const unsigned errors = goal_diags_errors(d);
	/* The check for races is left out here, because verify_run() finds races in the same run as wrong data. */
	const uint64_t races = (uint64_t)1 << check_find("race");
	struct ir_left left = { 0 };
	struct ir_graph view = *graph, *g = &view;
	int err;

	*out = (struct verify_report){ 0 };
	g->bin = b;
	g->left = &left;
	verify_shape(d, g);
	if (goal_diags_errors(d) != errors)
		return 0;
	err = checks_run(d, g, CHECK_RUN, races);
	if (!err && goal_diags_errors(d) == errors && !report_wildcard(d, g)) {
		out->messages = left.nm;
		if (!g->plain)
			err = verify_run(d, g, by_rank, b->meta->flags & BIN_F_COMMUTATIVE, &left, o, out);
		out->proved = !err && goal_diags_errors(d) == errors;
	}
	ir_left_fini(&left);
	return err;
}
