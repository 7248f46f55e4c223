/* SPDX-License-Identifier: BSD-3-Clause
 * goalsim --cores: simulates ranks that share a node, with the placements of goalrun(1). */
#include "goalsim/goalsim.h"

#include "backends/sim/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- options ---- */

int node_take_placement(const struct option_use *u)
{
	int err = placement_parse(u->arg, u->field);

	if (err == -ERR_NOMEM)
		return no_memory();
	return err ? usage("%s takes bind, numa, odd-even, or a list of cores such as 3,7-9, not %s", u->name, u->arg) : EXIT_OK;
}

int node_check(struct goalsim *s)
{
	const struct node_options *o = &s->node;

	if (o->numa > o->cores)
		return usage("--numa has more NUMA nodes than there are cores");
	if (o->asked.kind == PLACEMENT_LIST && o->asked.comm_cores >= 0)
		return usage("--comm-cores does not go with a list of cores");
	if (s->sweep.last >= o->cores && s->sweep.last)
		return usage("--sweep has to leave a core of %" PRId64 " for communication", o->cores);
	if (s->sweep.last && o->split.first < 0 && o->asked.kind != PLACEMENT_NUMA)
		return usage("--sweep without --split compares the placements, so --placement names none");
	return EXIT_OK;
}

/* ---- placement ---- */

/* Returns which placement gives the cores that communicate. With --level-barrier these need not be near the ranks, but all of them
 * are needed. */
static struct placement_asked asked_for(const struct goalsim *s, const struct placement_asked *asked)
{
	struct placement_asked a = *asked;

	if (s->node.barrier && a.kind == PLACEMENT_NUMA && a.comm_cores && s->binary.source.nranks < s->node.cores)
		a.kind = PLACEMENT_ODD_EVEN;
	return a;
}

static int place_ranks(struct goalsim *s, const struct placement_asked *asked)
{
	const struct placement_asked a = asked_for(s, asked);
	const uint32_t cores = (uint32_t)s->node.cores;
	struct topology t = { .cores = mem_calloc(cores, sizeof *t.cores), .ncores = cores };
	struct text why = { 0 };
	int err = -ERR_NOMEM;

	for (uint32_t c = 0; t.cores && c < cores; c++)
		t.cores[c] = (struct topology_core){ .numa = (uint32_t)(c * (uint64_t)s->node.numa / cores), .usable = true };
	placement_free(&s->node.placed);
	if (t.cores)
		err = placement_make(&s->node.placed, &t, &a, s->binary.source.nranks, &why);
	free(t.cores);
	if (err == -ERR_NOMEM)
		no_memory();
	else if (err)
		fprintf(stderr, "goalsim: error: %s\n", why.err ? "the ranks cannot be placed" : why.at);
	free(why.at);
	return err;
}

/* ---- simulation ---- */

uint64_t node_compute(const struct goalsim *s, uint64_t ns, uint32_t n)
{
	return ((uint64_t)s->node.cores * ns + n / 2) / n;
}

static int run_node(struct goalsim *s, const struct node_case *c, struct sim_result *r, bool *growing)
{
	const struct placement *p = &s->node.placed;
	uint32_t *comms = mem_alloc((p->ncomms + (size_t)1) * sizeof *comms);
	struct sim_node n = { .binary = &s->binary, .core = p->core, .comm = p->comm, .comms = comms, .ncomms = p->ncomms,
			      .compute = c->compute, .own = c->own || s->node.progress == PROGRESS_APP,
			      .collab = s->node.progress == PROGRESS_COLLAB, .barrier = s->node.barrier };
	int err = -ERR_NOMEM;

	for (uint32_t k = 0; comms && k < p->ncomms; k++)
		comms[k] = p->comms[k].core;
	if (comms)
		err = sim_node_run(&n, &s->params, r);
	if (growing)
		*growing = n.most > n.least;
	sim_node_fini(&n);
	free(comms);
	return err;
}

int node_simulate(struct goalsim *s, const struct node_case *c, struct sim_result *r, bool *growing)
{
	int err;

	*r = (struct sim_result){ 0 };
	if (s->binary.b.meta->flags & BIN_F_PLAIN) {
		progress_end(s->progress);
		fprintf(stderr, "%s: error: --cores: the ops of plain GOAL name cpus of their rank, not cores of a node\n",
			option_source(s->input));
		return EXIT_FAULT;
	}
	if (place_ranks(s, c->asked))
		return EXIT_FAULT;
	err = run_node(s, c, r, growing);
	if (err == -ERR_LEVELS) {
		progress_end(s->progress);
		fprintf(stderr, "%s: error: --level-barrier: the levels of the ops are not those of a tree towards its root or from it\n",
			option_source(s->input));
		return EXIT_FAULT;
	}
	return simulate_report(s, err, r);
}

int node_once(struct goalsim *s, struct sim_result *r)
{
	const uint64_t compute = s->node.compute > 0 ? (uint64_t)s->node.compute : 0;

	if (!s->node.cores)
		return simulate_source(s, &s->binary.source, r);
	return node_simulate(s, &(struct node_case){ &s->node.asked, node_compute(s, compute, s->binary.source.nranks), false }, r, NULL);
}
