/* SPDX-License-Identifier: BSD-3-Clause
 * The verifier: its parts in order. Each relies on what those before it have proved. */
#include "compiler/verify.h"

#include "compiler/checks.h"
#include "compiler/race.h"
#include "compiler/smcq.h"
#include "compiler/verify_parts.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

enum bin_mode verify_mode(const struct ir_graph *g, uint32_t buf)
{
	return buf < g->bin->nbuffers ? (enum bin_mode)g->bin->buffers[buf].mode : BIN_SCRATCH;
}

bool verify_is_barrier(const struct bin *b)
{
	return !strcmp(bin_str(b, b->meta->implements), "MPI_Barrier");
}

/* Messages whose recv or send has a wildcard are not matched by the checks. */
static bool undecided(struct goal_diags *d, const struct ir_graph *g)
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

/* Races, data, and who has to say when it is ready: on a schedule whose messages meet and that ends. */
static int verify_run(struct goal_diags *d, const struct ir_graph *g, const struct wants *by_rank, bool commutative,
		      const struct ir_match *m, size_t nm, uint64_t most, struct verify_report *out)
{
	const unsigned errors = goal_diags_errors(d);
	struct terms *terms = verify_terms(g, by_rank, commutative);
	struct symbolic run = { 0 };
	struct ir_events ev = { 0 };
	int err = terms ? ir_events_init(&ev, g, m, nm, false) : -ERR_NOMEM;

	err = err ? err : ir_events_sort_deep(&ev);
	err = err ? err : symbolic_run(&run, g, &ev, terms, g->queues);
	err = err ? err : race_tell(d, &run, "race", GOAL_ERROR);
	if (!err && by_rank && goal_diags_errors(d) == errors)
		err = verify_data(d, &run, by_rank, out->differ);
	if (!err && verify_is_barrier(g->bin))
		err = verify_barrier(d, g, &ev);
	if (!err && g->queues && goal_diags_errors(d) == errors) {
		const struct smcq_needs n = smcq_needs(g->queues);

		out->lowered = true;
		out->queues = n.queues;
		out->entries = n.entries;
		out->cpu = n.cpu;
		err = verify_queues(d, &run, g->queues, most, &out->partly);
	}
	if (!err && goal_diags_errors(d) == errors)
		err = verify_count_ready(g, &ev, m, nm, out);
	symbolic_fini(&run);
	ir_events_fini(&ev);
	terms_free(terms);
	return err;
}

int verify_graph(struct goal_diags *d, const struct bin *b, const struct ir_graph *g, const struct wants *by_rank,
		 struct verify_report *out)
{
	return verify_graph_within(d, b, g, by_rank, 0, out);
}

int verify_graph_within(struct goal_diags *d, const struct bin *b, const struct ir_graph *graph, const struct wants *by_rank,
			uint64_t most, struct verify_report *out)
{
	const unsigned errors = goal_diags_errors(d);
	const uint64_t races = (uint64_t)1 << check_find("race"); /* come later, on the run that has the data */
	struct ir_graph view = *graph, *g = &view;
	struct ir_match *m = NULL;
	size_t nm = 0;
	int err;

	*out = (struct verify_report){ 0 };
	g->bin = b;
	verify_shape(d, g);
	if (goal_diags_errors(d) != errors)
		return 0;
	err = checks_run(d, g, CHECK_RUN, races);
	if (err || goal_diags_errors(d) != errors || undecided(d, g))
		return err;
	err = ir_graph_match(g, &m, &nm);
	out->messages = nm;
	if (!err && !g->plain)
		err = verify_run(d, g, by_rank, b->meta->flags & BIN_F_COMMUTATIVE, m, nm, most, out);
	free(m);
	out->proved = !err && goal_diags_errors(d) == errors;
	return err;
}
