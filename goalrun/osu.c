/* SPDX-License-Identifier: BSD-3-Clause
 * Prints results as OSU's micro-benchmarks do: `osu_bcast -f`, and osu_bw. What reads those tables can read these. */
#include "goalrun/goalrun.h"
#include "runtime/sched.h"

#include <inttypes.h>
#include <stdio.h>

/* True if two cases belong to one table, whose rows differ in the count. */
static bool same_table(const struct run_case *a, const struct run_case *b)
{
	return a->root == b->root && a->type == b->type && a->op == b->op && a->memory == b->memory && a->sample == b->sample;
}

static void print_heading(const struct goalrun *g, const struct run_case *c)
{
	const struct run_options *o = &g->o;
	const bool bandwidth = g->format == FORMAT_OSU_BW;

	printf("\n# goalrun %s %s Test v%s\n", g->collective ? g->collective : o->name, bandwidth ? "Bandwidth" : "Latency",
	       GOAL_VERSION);
	printf("# %u ranks, backend %s, %s memory", o->nranks, run_backend_name(o), run_memory_names[c->memory]);
	if (!is_dataless(o))
		printf(", type %s", run_type_names[c->type]);
	if (has_reduction(o))
		printf(", op %s", run_op_names[c->op]);
	if (c->root >= 0)
		printf(", root %" PRId64, c->root);
	printf("\n%-10s", is_dataless(o) ? "#" : "# Size");
	if (bandwidth)
		printf("%18s\n", "Bandwidth (MB/s)");
	else
		printf("%18s%18s%18s%12s\n", "Avg Latency(us)", "Min Latency(us)", "Max Latency(us)", "Iterations");
}

static void print_row(const struct goalrun *g, const struct run_case *c, const struct run_result *r)
{
	const double bytes = (double)c->count * (double)rt_basic_size(c->type);

	if (is_dataless(&g->o))
		printf("%-10s", "");
	else
		printf("%-10.0f", bytes);
	if (g->format == FORMAT_OSU_BW)
		/* Bytes in a microsecond are MB in a second. A simulated start may take no time. */
		printf("%18.2f\n", bytes > 0 ? bytes / r->mean_us[RUN_AVG] : 0);
	else
		printf("%18.2f%18.2f%18.2f%12" PRId64 "\n", r->mean_us[RUN_AVG], r->mean_us[RUN_MIN], r->mean_us[RUN_MAX], g->o.iters);
}

/* Prints the table that a case belongs to, if the case is the first one of it. */
static void print_table_of(struct goalrun *const *runs, size_t n, const struct goalrun *g, const struct run_case *first)
{
	bool begun = false;

	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < runs[k]->o.ncases; i++) {
			const struct run_case *c = &runs[k]->o.cases[i];

			if (!same_table(c, first))
				continue;
			if (!begun && c != first)
				return;
			if (!begun)
				print_heading(g, c);
			begun = true;
			print_row(runs[k], c, &runs[k]->results[i]);
		}
}

int run_report_osu(struct goalrun *const *runs, size_t n)
{
	if (runs[0]->format == FORMAT_OSU_BW && is_dataless(&runs[0]->o))
		return run_fault("%s moves no blocks of data, which --format osu-bw is about", runs[0]->o.name);
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < runs[k]->o.ncases; i++)
			print_table_of(runs, n, runs[k], &runs[k]->o.cases[i]);
	return EXIT_OK;
}
