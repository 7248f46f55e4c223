/* SPDX-License-Identifier: BSD-3-Clause
 * The program goalsim, see goalsim(1): simulates a schedule and prints when its ranks finish. */
#include "goalsim/goalsim.h"

#include "lang/loc.h"
#include "util/clock.h"
#include "util/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_SHOWN 16 /* ops of a cycle */

/* ---- results ---- */

static int print_json(const struct goalsim *s, const struct sim_result *r, double seconds)
{
	json_object *report = report_new("goalsim", option_source(s->input)), *e = report_case(report);
	json_object *finish = json_object_new_array();

	report_int(e, "ranks", s->binary.source.nranks);
	report_int(e, "events", (int64_t)r->events);
	report_int(e, "end", (int64_t)r->end);
	report_int(e, "unmatched", (int64_t)r->unmatched);
	report_add(e, "seconds", json_object_new_double(seconds));
	for (uint32_t i = 0; finish && i < s->binary.source.nranks; i++)
		json_object_array_add(finish, json_object_new_int64((int64_t)r->finish[i]));
	report_add(e, "finish", finish);
	return report_print("goalsim", report);
}

static int print_text(const struct goalsim *s, const struct sim_result *r, double seconds)
{
	printf("ranks   %u\nevents  %" PRIu64 " in %.3f s", s->binary.source.nranks, r->events, seconds);
	if (seconds > 0)
		printf(", %.1f million a second", (double)r->events / seconds / 1e6);
	printf("\nend     %" PRIu64 " ns\n", r->end);
	for (uint32_t i = 0; s->finish && i < s->binary.source.nranks; i++)
		printf("rank %u: %" PRIu64 "\n", i, r->finish[i]);
	return option_flush("goalsim");
}

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

	err = text_take(&t, &text) || err == -ERR_NOMEM ? -ERR_NOMEM : 0;
	if (err)
		return no_memory();
	fprintf(stderr, "%s: error: %s: %u of %u ranks do not finish\n%s", option_source(s->input),
		cycle ? "deadlock" : "an op waits for ever", r->blocked, s->binary.source.nranks, text);
	free(text);
	return EXIT_FAULT;
}

/* ---- the program ---- */

static int simulate(struct goalsim *s)
{
	struct sim_result r = { 0 };
	const uint64_t begun = clock_now_ns();
	int err = sim_run(&s->binary.source, &s->params, &r), rc = EXIT_FAULT;
	const double seconds = (double)(clock_now_ns() - begun) * 1e-9;

	progress_end(&s->progress);
	if (err)
		schedule_report(s, err);
	else if (r.blocked)
		rc = report_blocked(s, &r);
	else
		rc = s->json ? print_json(s, &r, seconds) : print_text(s, &r, seconds);
	if (!err && r.unmatched)
		fprintf(stderr, "%s: warning: %" PRIu64 " messages match no recv\n", option_source(s->input), r.unmatched);
	sim_result_fini(&r);
	return rc;
}

int main(int argc, char **argv)
{
	struct goalsim s = { .in.fd = -1, .count = -1, .element = 1, .L = 2500, .o = 1500, .g = 1000, .G = 6, .S = 65535 };
	bool done;
	int rc;

	option_catch_interrupt();
	option_check_environment("goalsim");
	rc = goalsim_options(&s, argc, argv, &done);
	if (!rc && !done) {
		progress_begin_thread(&s.progress, "goalsim");
		progress_set(&s.progress, "%s", option_source(s.input));
		rc = schedule_open(&s) ? EXIT_FAULT : simulate(&s);
		progress_end(&s.progress);
		if (s.diags)
			fputs(goal_diags_text(s.diags), stderr);
	}
	schedule_close(&s);
	return rc;
}
