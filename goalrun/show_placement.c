/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun --show-placement: prints which cores the ranks and their communication would use. */
#include "goalrun/run.h"
#include "util/report.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const names[] = {
	[PLACEMENT_BIND] = "bind",
	[PLACEMENT_NUMA] = "numa",
	[PLACEMENT_ODD_EVEN] = "odd-even",
	[PLACEMENT_LIST] = "list",
};

/* Prints ascending numbers as ranges, such as "0,2,4-7"; with equal steps as "0-60:2". */
static void print_numbers(const uint32_t *v, uint32_t n)
{
	for (uint32_t i = 0, end; i < n; i = end + 1) {
		const uint32_t step = i + 1 < n ? v[i + 1] - v[i] : 1;

		for (end = i; end + 1 < n && v[end + 1] - v[end] == step; end++)
			;
		if (step > 1 && end < i + 2)
			end = i;
		printf("%s%" PRIu32, i ? "," : "", v[i]);
		if (end > i)
			printf("-%" PRIu32, v[end]);
		if (end > i && step > 1)
			printf(":%" PRIu32, step);
	}
}

static int show_text(const struct run_options *o, const struct topology *t, const struct placement *p)
{
	uint32_t usable = 0;

	for (uint32_t c = 0; c < t->ncores; c++)
		usable += t->cores[c].usable;
	printf("%" PRIu32 " rank%s on %" PRIu32 " core%s, placement %s\n", p->nranks, p->nranks == 1 ? "" : "s", usable,
	       usable == 1 ? "" : "s", names[o->placement.kind]);
	printf("%5s %5s %5s %5s\n", "rank", "numa", "core", "comm");
	for (uint32_t r = 0; r < p->nranks; r++)
		printf("%5" PRIu32 " %5" PRIu32 " %5" PRIu32 " %5" PRIu32 "\n", r, t->cores[p->core[r]].numa,
		       p->core[r], p->comm[r]);
	for (uint32_t i = 0; i < p->ncomms; i++) {
		printf("core %" PRIu32 " communicates for rank%s ", p->comms[i].core, p->comms[i].n == 1 ? "" : "s");
		print_numbers(p->served + p->comms[i].first, p->comms[i].n);
		printf("\n");
	}
	return option_flush("goalrun");
}

static int show_json(const struct run_options *o, const struct topology *t, const struct placement *p)
{
	json_object *j = report_new("goalrun", NULL), *comms = json_object_new_array();

	report_int(j, "ranks", p->nranks);
	report_text(j, "placement", names[o->placement.kind]);
	for (uint32_t r = 0; r < p->nranks; r++) {
		json_object *e = report_case(j);

		report_int(e, "rank", r);
		report_int(e, "numa", t->cores[p->core[r]].numa);
		report_int(e, "core", p->core[r]);
		report_int(e, "comm", p->comm[r]);
	}
	for (uint32_t i = 0; i < p->ncomms; i++) {
		json_object *e = report_element(comms), *served = json_object_new_array();

		for (uint32_t k = 0; k < p->comms[i].n; k++)
			json_object_array_add(served, json_object_new_int64(p->served[p->comms[i].first + k]));
		report_int(e, "core", p->comms[i].core);
		report_add(e, "ranks", served);
	}
	report_add(j, "comms", comms);
	return report_print("goalrun", j);
}

int run_show_placement(const struct run_options *o)
{
	struct run_pinning w;
	int rc = run_place_ranks(o, &w);

	if (rc)
		return rc;
	rc = (o->json ? show_json : show_text)(o, &w.topology, &w.placement);
	run_unplace_ranks(&w);
	return rc;
}
