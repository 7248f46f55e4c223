/* SPDX-License-Identifier: BSD-3-Clause
 * Runs the simulator, and reports what went wrong. */
#include "goalsim/goalsim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_SHOWN 16 /* ops of a cycle */

/* ---- ranks that do not finish ---- */

static const char *waits_for(const struct sim_waiting *w)
{
	switch (w->waits) {
	case SIM_FOR_OP:
		return "requires the next one";
	case SIM_FOR_START:
		return "waits for the start of the next one";
	case SIM_FOR_MESSAGE:
		return "waits for the message of the next one";
	case SIM_FOR_RECV:
		return "waits for the next one, as a rendezvous";
	default:
		return "has no partner";
	}
}

static int describe_cycle(struct goalsim *s, const struct sim_result *r, struct text *out)
{
	const size_t n = r->cycle.n, shown = n < MOST_SHOWN ? n : MOST_SHOWN;
	int err = 0;

	for (size_t i = 0; i < shown && !err; i++) {
		const struct sim_waiting *w = &r->cycle.at[i];

		text_add(out, "  ");
		err = schedule_describe(s, w->rank, w->op, out);
		text_add(out, ", %s\n", waits_for(w));
	}
	if (n > shown)
		text_add(out, "  and %zu more\n", n - shown);
	else if (n && r->cycle.at[n - 1].waits != SIM_FOR_NOBODY)
		text_add(out, "  which is the first one again\n");
	return err;
}

static int report_blocked(struct goalsim *s, const struct sim_result *r)
{
	const bool cycle = r->cycle.n && r->cycle.at[r->cycle.n - 1].waits != SIM_FOR_NOBODY;
	struct text t = { 0 };
	char *text = NULL;
	int err = describe_cycle(s, r, &t);

	progress_end(s->progress);
	err = text_take(&t, &text) || err == -ERR_NOMEM ? -ERR_NOMEM : 0;
	if (err)
		return no_memory();
	fprintf(stderr, "%s: error: %s: %u of %u ranks do not finish\n%s", option_source(s->input),
		cycle ? "deadlock" : "an op waits for ever", r->blocked, s->binary.source.nranks, text);
	free(text);
	return EXIT_FAULT;
}

int simulate_report(struct goalsim *s, int err, const struct sim_result *r)
{
	if (err) {
		progress_end(s->progress);
		schedule_report(s, err);
		return EXIT_FAULT;
	}
	if (r->unmatched) {
		progress_end(s->progress);
		fprintf(stderr, "%s: warning: %" PRIu64 " messages match no recv\n", option_source(s->input), r->unmatched);
	}
	return r->blocked ? report_blocked(s, r) : EXIT_OK;
}

int simulate_source(struct goalsim *s, const struct sim_source *src, struct sim_result *r)
{
	const struct sim_topology *t = &s->params.topology;

	*r = (struct sim_result){ 0 };
	if (t->kind && src->nranks > sim_topology_hosts(t)) {
		progress_end(s->progress);
		return usage("%s has %" PRIu64 " hosts, and there are %u ranks", t->text, sim_topology_hosts(t), src->nranks);
	}
	return simulate_report(s, sim_run(src, &s->params, r), r);
}
