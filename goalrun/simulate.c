/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun --backend sim: simulates the ranks of each case instead of starting them, with the engine of goalsim(1). */
#include "backends/sim/machine.h"
#include "compiler/lower/lower.h"
#include "goalrun/goalrun.h"
#include "runtime/sched.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Simulates an image with all ranks, and stores the time at which the last one finishes. */
static int simulate_image(struct goalrun *g, const struct bin_args *args, uint32_t element, const void *image, size_t size, uint64_t *end)
{
	struct sim_binary x = { .args = *args, .element = element };
	struct sim_params params = { .seed = (uint64_t)g->o.seed };
	struct sim_result r = { 0 };
	int err = bin_open(&x.b, image, size), rc = EXIT_OK;

	if (err)
		return run_fault("%s", err_text(err));
	sim_machine_apply(&g->machine, &params, &x);
	err = sim_binary_open(&x);
	err = err ? err : sim_run(&x.source, &params, &r);
	if (err)
		rc = run_fault("the simulation failed: %s", err_text(err));
	else if (r.blocked)
		rc = run_fault("%s does not finish in the simulation; goalsim says why", g->o.name);
	*end = r.end + (uint64_t)g->machine.start;
	sim_result_fini(&r);
	sim_binary_close(&x);
	return rc;
}

static int simulate_case(struct goalrun *g, size_t i)
{
	const struct run_case *c = &g->o.cases[i];
	struct ir_graph graph = { 0 };
	struct arg_rows rows = { 0 };
	struct bin_args args;
	void *image = NULL;
	size_t size = 0;
	uint64_t end = 0;
	int err = run_case_args(g, c, &args, &rows), rc;

	err = err ? err : compile_graph(g->diags, 0, &g->bin, &args, &graph);
	err = err ? err : lower_image(&graph, g->o.plain ? NULL : &g->bin, &args, &image, &size);
	ir_graph_fini(&graph);
	if (err)
		rc = run_report_diags(g, err);
	else
		rc = simulate_image(g, &args, g->o.plain ? 1 : (uint32_t)rt_basic_size(c->type), image, size, &end);
	g->results[i].median_us = g->results[i].min_us = (double)end / 1e3;
	for (enum run_mean k = 0; k < RUN_MEANS; k++)
		g->results[i].mean_us[k] = (double)end / 1e3;
	free(image);
	arg_rows_fini(&rows);
	return rc;
}

int run_simulated(struct goalrun *g)
{
	int rc = EXIT_OK;

	g->results = mem_calloc(g->o.ncases, sizeof *g->results);
	if (!g->results)
		return no_memory();
	for (size_t i = 0; i < g->o.ncases && !rc; i++)
		rc = simulate_case(g, i);
	return rc;
}
