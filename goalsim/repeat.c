/* SPDX-License-Identifier: BSD-3-Clause
 * The error of benchmarks that repeat an operation in a loop: ranks that are done begin the next operation while others are still
 * in the one before, so that a repetition seems to take less than one operation does. */
#include "goalsim/goalsim.h"

#include "util/report.h"
#include "util/svg.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SIZES 32 /* numbers of ranks of a sweep: they double */

/* ---- simulations ---- */

int repeat_once(struct goalsim *s, uint64_t *once)
{
	const int64_t repeat = s->repeat;
	struct sim_result r;
	int rc;

	s->repeat = 0; /* messages are about ops of one operation */
	rc = simulate_source(s, &s->binary.source, &r);
	s->repeat = repeat;
	*once = r.end;
	sim_result_fini(&r);
	return rc;
}

int repeat_loop(struct goalsim *s, bool rotate, struct sim_result *r)
{
	struct sim_repeat *p = &s->repeated;
	int err;

	*r = (struct sim_result){ 0 };
	sim_repeat_close(p);
	*p = (struct sim_repeat){ .binary = &s->binary, .times = (uint32_t)s->repeat, .rotate = rotate };
	err = sim_repeat_open(p);
	if (err == -ERR_STATE) {
		progress_end(s->progress);
		fprintf(stderr, "%s: error: its root cannot rotate: it has no parameter root, or was compiled for one, or a pass "
				"has been applied\n",
			option_source(s->input));
		return EXIT_FAULT;
	}
	return err ? no_memory() : simulate_source(s, &p->source, r);
}

static int simulate_loop(struct goalsim *s, bool rotate, double *loop)
{
	struct sim_result r;
	int rc = repeat_loop(s, rotate, &r);

	*loop = (double)r.end / (double)s->repeat;
	sim_result_fini(&r);
	return rc;
}

/* Simulates one schedule for one number of ranks, with a copy of the options. */
static int simulate_size(struct goalsim s, const char *input, uint32_t nranks, struct repeat_times *t)
{
	int rc;

	s.input = input;
	s.nranks = nranks;
	progress_set(s.progress, "%s, %u ranks", option_source(input), nranks);
	rc = schedule_open(&s) ? EXIT_FAULT : repeat_once(&s, &t->once);
	rc = rc ? rc : simulate_loop(&s, false, &t->loop);
	rc = rc ? rc : simulate_loop(&s, true, &t->rotated);
	schedule_close(&s);
	return rc;
}

/* ---- the table ---- */

struct sweep {
	const struct goalsim *s;
	char **names; /* of the schedules, without folder and suffix */
	uint32_t sizes[MOST_SIZES];
	size_t nsizes;
	struct repeat_times times[MOST_COMPARED][MOST_SIZES];
};

static int print_table(const struct sweep *w)
{
	printf("%-28s %10s %14s %14s %8s %14s %8s\n", "schedule", "ranks", "once ns", "fixed root ns", "less %", "rotating ns",
	       "less %");
	for (int i = 0; i < w->s->ninputs; i++)
		for (size_t k = 0; k < w->nsizes; k++) {
			const struct repeat_times *t = &w->times[i][k];

			printf("%-28s %10u %14" PRIu64 " %14.0f %8.1f %14.0f %8.1f\n", w->names[i], w->sizes[k], t->once, t->loop,
			       100 * repeat_error(t->once, t->loop), t->rotated, 100 * repeat_error(t->once, t->rotated));
		}
	return option_flush("goalsim");
}

static int print_report(const struct sweep *w)
{
	json_object *report = report_new("goalsim", NULL);

	for (int i = 0; i < w->s->ninputs; i++)
		for (size_t k = 0; k < w->nsizes; k++) {
			const struct repeat_times *t = &w->times[i][k];
			json_object *e = report_case(report);

			report_text(e, "schedule", option_source(w->s->inputs[i]));
			report_int(e, "ranks", w->sizes[k]);
			report_int(e, "repeat", w->s->repeat);
			report_int(e, "once", (int64_t)t->once);
			report_add(e, "loop", json_object_new_double(t->loop));
			report_add(e, "error", json_object_new_double(repeat_error(t->once, t->loop)));
			report_add(e, "loop_rotated", json_object_new_double(t->rotated));
			report_add(e, "error_rotated", json_object_new_double(repeat_error(t->once, t->rotated)));
		}
	return report_print("goalsim", report);
}

/* ---- the picture ---- */

enum curve { ONCE, FIXED, ROTATED, CURVES };
#define MOST_CURVES (CURVES * MOST_COMPARED)

struct drawing {
	struct svg_plot plots[2]; /* times and errors */
	struct svg_series series[2][MOST_CURVES];
	struct svg_point at[2][MOST_CURVES][MOST_SIZES];
	char *names[MOST_CURVES];
};

static double loop_of(const struct repeat_times *t, enum curve c)
{
	return c == ONCE ? (double)t->once : c == FIXED ? t->loop : t->rotated;
}

/* Adds a curve to the plot of times, and, unless it is of one operation, to the plot of errors. */
static void add_curve(struct drawing *d, const struct sweep *w, int i, enum curve c)
{
	static const enum svg_kind kinds[] = { [ONCE] = SVG_POINTS, [FIXED] = SVG_DASHES, [ROTATED] = SVG_DOTS };

	for (unsigned p = 0; p < (c == ONCE ? 1 : 2); p++) {
		const size_t n = d->plots[p].nseries++;
		struct svg_point *at = d->at[p][n];

		for (size_t k = 0; k < w->nsizes; k++) {
			const double loop = loop_of(&w->times[i][k], c);

			at[k] = (struct svg_point){ .x = w->sizes[k],
						    .y = p ? 100 * repeat_error(w->times[i][k].once, loop) : loop * 1e-9 };
		}
		d->series[p][n] = (struct svg_series){ .name = d->names[CURVES * i + (int)c], .kind = kinds[c], .colour = i,
						       .at = at, .n = w->nsizes };
	}
}

static int name_curves(struct drawing *d, const struct sweep *w)
{
	static const char *const what[] = { [ONCE] = "one operation", [FIXED] = "loop, fixed root",
					    [ROTATED] = "loop, rotating root" };

	for (int i = 0; i < w->s->ninputs; i++)
		for (enum curve c = ONCE; c < CURVES; c++) {
			struct text t = { 0 };

			text_add(&t, "%s, %s", w->names[i], what[c]);
			if (text_take(&t, &d->names[CURVES * i + (int)c]))
				return -ERR_NOMEM;
		}
	return 0;
}

static int make_svg(struct drawing *d, const struct sweep *w, char **svg)
{
	const struct goalsim *s = w->s;
	struct picture_notes about = { 0 };
	char loop[160];
	int err = name_curves(d, w);

	snprintf(loop, sizeof loop, "loop: %" PRId64 " repetitions; the time is that of all, divided by their number", s->repeat);
	for (unsigned p = 0; p < 2; p++)
		d->plots[p] = (struct svg_plot){ .title = p ? "What a loop hides of an operation" : "Time of an operation",
						 .x = { .name = "ranks", .scale = SVG_LOG2 }, .series = d->series[p] };
	d->plots[0].y = (struct svg_axis){ .name = "time", .unit = SVG_SECONDS, .scale = SVG_LOG10 };
	d->plots[1].y = (struct svg_axis){ .name = "% of the time of one operation" };
	for (int i = 0; i < s->ninputs; i++)
		for (enum curve c = ONCE; c < CURVES; c++)
			add_curve(d, w, i, c);
	err = err ? err : picture_notes(s, &about);
	if (!err)
		err = svg_make(&(struct svg_picture){ "Operations in a loop and alone", (const char *[]){ about.machine.s, about.what, loop }, 3,
						      d->plots, 2 }, svg);
	free(about.what);
	return err;
}

static int write_svg(const struct sweep *w, const char *file)
{
	struct drawing *d = mem_calloc(1, sizeof *d);
	char *svg = NULL;
	int err = d ? make_svg(d, w, &svg) : -ERR_NOMEM;

	if (!err && option_write(file, svg, strlen(svg))) {
		fprintf(stderr, "goalsim: %s: %s\n", file, file_why(errno));
		err = -ERR_SYS;
	}
	for (size_t i = 0; d && i < MOST_CURVES; i++)
		free(d->names[i]);
	free(d);
	free(svg);
	return err == -ERR_NOMEM ? no_memory() : err ? EXIT_FAULT : EXIT_OK;
}

/* ---- a sweep ---- */

/* Returns the name of a schedule: that of its file without folder and suffix. NULL: out of memory. */
static char *name_of(const char *input)
{
	const char *slash = strrchr(input, '/'), *from = slash ? slash + 1 : input, *dot = strrchr(from, '.');

	return strndup(from, dot && dot > from ? (size_t)(dot - from) : strlen(from));
}

static int run_sweep(struct goalsim *s, struct sweep *w)
{
	int rc = EXIT_OK;

	for (uint64_t n = (uint64_t)s->sweep.first; n <= (uint64_t)s->sweep.last && w->nsizes < MOST_SIZES; n *= 2)
		w->sizes[w->nsizes++] = (uint32_t)n;
	for (int i = 0; i < s->ninputs && !rc; i++) {
		w->names[i] = name_of(s->inputs[i]);
		if (!w->names[i])
			return no_memory();
		for (size_t k = 0; k < w->nsizes && !rc; k++)
			rc = simulate_size(*s, s->inputs[i], w->sizes[k], &w->times[i][k]);
	}
	progress_end(s->progress);
	return rc;
}

int repeat_sweep(struct goalsim *s)
{
	char *names[MOST_COMPARED] = { 0 };
	struct sweep *w = mem_calloc(1, sizeof *w);
	int rc;

	if (!w)
		return no_memory();
	w->s = s;
	w->names = names;
	rc = run_sweep(s, w);
	if (!rc && s->svg)
		rc = write_svg(w, s->svg);
	if (!rc)
		rc = s->json ? print_report(w) : print_table(w);
	for (int i = 0; i < s->ninputs; i++)
		free(names[i]);
	free(w);
	return rc;
}
