/* SPDX-License-Identifier: BSD-3-Clause
 * The program goalsim, see goalsim(1): simulates a schedule and prints when its ranks finish. */
#include "goalsim/goalsim.h"

#include "util/clock.h"
#include "util/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- results ---- */

static json_object *parting_json(const struct parting *p)
{
	json_object *j = p->found ? json_object_new_object() : NULL;

	if (!j)
		return NULL;
	report_int(j, "rank", p->rank);
	report_int(j, "op", p->op);
	report_int(j, "simulated", (int64_t)p->simulated);
	report_int(j, "measured", (int64_t)p->measured);
	return j;
}

static int print_json(const struct goalsim *s, const struct sim_result *r, const struct repeat_times *t, double seconds)
{
	json_object *report = report_new("goalsim", option_source(s->input)), *e = report_case(report);
	json_object *finish = json_object_new_array();

	report_int(e, "ranks", s->binary.source.nranks);
	report_int(e, "events", (int64_t)r->events);
	report_int(e, "end", (int64_t)r->end);
	report_int(e, "unmatched", (int64_t)r->unmatched);
	report_add(e, "seconds", json_object_new_double(seconds));
	if (s->repeat) {
		report_int(e, "repeat", s->repeat);
		report_int(e, "once", (int64_t)t->once);
		report_add(e, "loop", json_object_new_double(t->loop));
		report_add(e, "error", json_object_new_double(repeat_error(t->once, t->loop)));
	}
	if (s->measured) {
		report_int(e, "measured", (int64_t)s->parting.lasts);
		report_int(e, "epoch", (int64_t)s->parting.epoch);
		report_add(e, "parting", parting_json(&s->parting));
	}
	for (uint32_t i = 0; finish && i < s->binary.source.nranks; i++)
		json_object_array_add(finish, json_object_new_int64((int64_t)r->finish[i]));
	report_add(e, "finish", finish);
	return report_print("goalsim", report);
}

static int print_text(struct goalsim *s, const struct sim_result *r, const struct repeat_times *t, double seconds)
{
	printf("ranks   %u\nevents  %" PRIu64 " in %.3f s", s->binary.source.nranks, r->events, seconds);
	if (seconds > 0)
		printf(", %.1f million a second", (double)r->events / seconds / 1e6);
	printf("\nend     %" PRIu64 " ns\n", r->end);
	if (s->repeat)
		printf("once    %" PRIu64 " ns, one operation alone\nloop    %.0f ns for each of %" PRId64 " repetitions, %.1f %% less\n",
		       t->once, t->loop, s->repeat, 100 * repeat_error(t->once, t->loop));
	for (uint32_t i = 0; s->finish && i < s->binary.source.nranks; i++)
		printf("rank %u: %" PRIu64 "\n", i, r->finish[i]);
	if (s->measured && measured_print(s))
		return no_memory();
	return option_flush("goalsim");
}

/* ---- the program ---- */

/* Simulates a schedule and prints the result. */
static int simulate_schedule(struct goalsim *s)
{
	struct repeat_times t = { 0 };
	struct sim_result r;
	const uint64_t begun = clock_now_ns();
	int rc = s->repeat ? repeat_loop(s, s->rotate, &r) :
		 s->trace || s->svg || s->measured ? trace_simulation(s, &r) :
				     node_once(s, &r);
	const double seconds = (double)(clock_now_ns() - begun) * 1e-9;

	if (!rc && s->repeat) {
		t.loop = (double)r.end / (double)s->repeat;
		rc = repeat_once(s, &t.once);
	}
	progress_end(s->progress);
	if (!rc)
		rc = s->json ? print_json(s, &r, &t, seconds) : print_text(s, &r, &t, seconds);
	sim_result_fini(&r);
	return rc;
}

static int run_one(struct goalsim *s)
{
	int rc;

	progress_set(s->progress, "%s", option_source(s->input));
	rc = schedule_open(s) ? EXIT_FAULT : simulate_schedule(s);
	progress_end(s->progress);
	schedule_close(s);
	return rc;
}

int main(int argc, char **argv)
{
	struct goalsim s = { .in.fd = -1, .count = -1, .element = 1, .machine = sim_machine_default(),
			     .node = { .compute = -1, .numa = 1, .split = { -1, -1 },
				       .asked = { .kind = PLACEMENT_NUMA, .comm_cores = -1 } } };
	struct progress progress = { 0 };
	bool done;
	int rc;

	s.progress = &progress;
	option_catch_interrupt();
	option_check_environment("goalsim");
	rc = goalsim_options(&s, argc, argv, &done);
	if (!rc && !done) {
		progress_begin_thread(s.progress, "goalsim");
		rc = !s.sweep.last ? run_one(&s) : s.repeat ? repeat_sweep(&s) : node_sweep(&s);
	}
	defines_free(&s.defines);
	VEC_FREE(&s.node.asked.list);
	free(s.passes);
	return rc;
}
