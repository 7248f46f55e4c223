/* SPDX-License-Identifier: BSD-3-Clause
 * goalsim --cores --sweep: a schedule on a node, for many numbers of ranks: with split-tree for each S, as in Figures 17 to 19 of
 * Denis et al. (IJHPCA 33(6), 2019), or with each placement, as in Figure 7. */
#include "goalsim/goalsim.h"

#include "compiler/passes/model.h"
#include "compiler/passes/passes.h"
#include "util/report.h"
#include "util/svg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_S 33 /* values of S, from 0 on */
#define MOST_BARS 8 /* numbers of ranks that are drawn as bars */

enum { BIND, NUMA, ODD_EVEN, PLACEMENTS };
static const char *const placements[] = { "bind", "numa", "odd-even" };
static const struct placement_asked asked_bind = { .kind = PLACEMENT_BIND, .comm_cores = -1 };

/* Times in ns for a number of ranks. */
struct row {
	uint32_t ranks;
	unsigned height; /* levels of a binomial tree, or the lowest S if that is higher */
	uint64_t compute, blocking; /* of the computation, and of the schedule on the cores of the ranks, alone */
	uint64_t alone[MOST_S], together[MOST_S]; /* of the schedule with each S, alone and with the computation */
	uint64_t placed[PLACEMENTS];
};

struct sweep {
	const struct goalsim *s;
	VEC(struct row) rows;
	uint64_t all; /* time of the computation on all cores */
	struct model model;
	unsigned first, last; /* values of S */
};

/* ---- simulations ---- */

/* Simulates some cases of one size, with a copy of the options, and stores their times. S below 0: no split-tree. */
static int simulate_size(struct goalsim s, uint32_t n, int64_t split, const struct node_case *c, size_t ncases, uint64_t *end, bool *growing)
{
	char pass[40];
	struct text why = { 0 };
	int rc;

	snprintf(pass, sizeof pass, "split-tree:S=%" PRId64, split);
	if (s.passes) {
		s.passes = strdup(s.passes);
		if (!s.passes)
			return no_memory();
	}
	rc = split < 0 ? EXIT_OK : option_result("goalsim", passes_add(&s.passes, pass, &why), &why);
	if (!rc) {
		s.nranks = n;
		progress_set(s.progress, "%s, %" PRIu32 " ranks", option_source(s.input), n);
		rc = schedule_open(&s) ? EXIT_FAULT : EXIT_OK;
		for (size_t i = 0; i < ncases && !rc; i++) {
			struct sim_result r;

			rc = node_simulate(&s, &c[i], &r, growing);
			end[i] = r.end;
			sim_result_fini(&r);
		}
		schedule_close(&s);
	}
	free(s.passes);
	return rc;
}

/* Simulates the schedule on all cores, without split-tree, from which the computation and the model have their unit. */
static int simulate_all(struct sweep *w)
{
	const struct goalsim *s = w->s;
	const struct node_case blocking = { &asked_bind, 0, true };
	uint64_t all = 0;
	bool growing = false;
	int rc = simulate_size(*s, (uint32_t)s->node.cores, -1, &blocking, 1, &all, &growing);

	w->all = s->node.compute < 0 ? all : (uint64_t)s->node.compute;
	w->model = model_paper((uint32_t)s->node.cores);
	w->model.growing = growing;
	if (s->node.compute >= 0 && all)
		w->model.compute = (double)s->node.compute * model_blocking(&w->model, w->model.cores) / (double)all;
	return rc;
}

static int simulate_splits(struct sweep *w, struct row *row)
{
	const struct goalsim *s = w->s;
	const struct node_case blocking = { &asked_bind, 0, true };
	int rc;

	row->height = model_height(&w->model, row->ranks);
	row->height = row->height > w->first ? row->height : w->first;
	row->compute = node_compute(s, w->all, row->ranks);
	rc = simulate_size(*s, row->ranks, -1, &blocking, 1, &row->blocking, NULL);
	for (unsigned k = w->first; k <= w->last && k <= row->height && !rc; k++) {
		const struct node_case c[] = { { &s->node.asked, 0, false }, { &s->node.asked, row->compute, false } };
		uint64_t end[2] = { 0 };

		rc = simulate_size(*s, row->ranks, k, c, 2, end, NULL);
		row->alone[k] = end[0];
		row->together[k] = end[1];
	}
	return rc;
}

static int simulate_placements(const struct goalsim *s, struct row *row)
{
	const uint64_t compute = s->node.compute > 0 ? node_compute(s, (uint64_t)s->node.compute, row->ranks) : 0;
	struct placement_asked asked[PLACEMENTS];
	struct node_case c[PLACEMENTS];

	for (unsigned k = 0; k < PLACEMENTS; k++) {
		asked[k] = (struct placement_asked){ .kind = k == BIND ? PLACEMENT_BIND : k == NUMA ? PLACEMENT_NUMA : PLACEMENT_ODD_EVEN,
						     .comm_cores = s->node.asked.comm_cores };
		c[k] = (struct node_case){ &asked[k], compute, false };
	}
	return simulate_size(*s, row->ranks, -1, c, PLACEMENTS, row->placed, NULL);
}

/* ---- the best S ---- */

/* Returns the S of the row with the least time, the lowest one if several have it. */
static unsigned best_of(const struct sweep *w, const struct row *row)
{
	unsigned best = w->first;

	for (unsigned k = w->first; k <= w->last && k <= row->height; k++)
		if (row->together[k] < row->together[best])
			best = k;
	return best;
}

/* Returns the same by the cost model. */
static unsigned best_of_model(const struct sweep *w, const struct row *row)
{
	unsigned best = w->first;

	for (unsigned k = w->first; k <= w->last && k <= row->height; k++)
		if (model_overlapped(&w->model, row->ranks, k) < model_overlapped(&w->model, row->ranks, best))
			best = k;
	return best;
}

/* ---- tables ---- */

static void print_differences(const struct sweep *w)
{
	unsigned differ = 0;

	for (size_t i = 0; i < w->rows.n; i++) {
		const struct row *row = &w->rows.at[i];

		if (best_of(w, row) == best_of_model(w, row))
			continue;
		printf("%s%" PRIu32 " ranks: S = %u, model %u", differ++ ? "; " : "other best S than the cost model's: ", row->ranks,
		       best_of(w, row), best_of_model(w, row));
	}
	if (differ)
		printf("\n");
	else
		printf("best S: the cost model's for all %zu numbers of ranks\n", w->rows.n);
}

static void print_splits(const struct sweep *w)
{
	printf("%5s %5s %14s %14s", "ranks", "comm", "compute ns", "blocking ns");
	for (unsigned k = w->first; k <= w->last; k++)
		printf("  both, S = %-4u", k);
	printf("\n");
	for (size_t i = 0; i < w->rows.n; i++) {
		const struct row *row = &w->rows.at[i];

		printf("%5" PRIu32 " %5" PRIu32 " %14" PRIu64 " %14" PRIu64, row->ranks, w->model.cores - row->ranks, row->compute,
		       row->blocking);
		for (unsigned k = w->first; k <= w->last && k <= row->height; k++)
			printf(" %13" PRIu64 "%c", row->together[k], k == best_of(w, row) ? '*' : ' ');
		printf("\n");
	}
	print_differences(w);
}

static void print_placements(const struct sweep *w)
{
	printf("%5s %14s %14s %14s %15s\n", "ranks", "bind ns", "numa ns", "odd-even ns", "numa / odd-even");
	for (size_t i = 0; i < w->rows.n; i++) {
		const struct row *row = &w->rows.at[i];
		const uint64_t *t = row->placed;

		printf("%5" PRIu32 " %14" PRIu64 " %14" PRIu64 " %14" PRIu64 " %15.2f\n", row->ranks, t[BIND], t[NUMA], t[ODD_EVEN],
		       t[ODD_EVEN] ? (double)t[NUMA] / (double)t[ODD_EVEN] : 1.0);
	}
}

static void report_splits(const struct sweep *w, json_object *report)
{
	json_object *best = json_object_new_array();

	for (size_t i = 0; i < w->rows.n; i++) {
		const struct row *row = &w->rows.at[i];
		json_object *b = report_element(best);

		for (unsigned k = w->first; k <= w->last && k <= row->height; k++) {
			json_object *e = report_case(report);

			report_int(e, "ranks", row->ranks);
			report_int(e, "S", k);
			report_int(e, "t_compute", (int64_t)row->compute);
			report_int(e, "t_blocking", (int64_t)row->blocking);
			report_int(e, "t_nonblocking", (int64_t)row->alone[k]);
			report_int(e, "t_overlapped", (int64_t)row->together[k]);
		}
		report_int(b, "ranks", row->ranks);
		report_int(b, "S", best_of(w, row));
		report_int(b, "model", best_of_model(w, row));
	}
	report_add(report, "best", best);
}

static void report_placements(const struct sweep *w, json_object *report)
{
	for (size_t i = 0; i < w->rows.n; i++)
		for (unsigned k = 0; k < PLACEMENTS; k++) {
			json_object *e = report_case(report);

			report_int(e, "ranks", w->rows.at[i].ranks);
			report_text(e, "placement", placements[k]);
			report_int(e, "end", (int64_t)w->rows.at[i].placed[k]);
		}
}

/* ---- pictures ---- */

#define MOST_CURVES (MOST_S + 2)

struct drawing {
	struct svg_plot plots[2];
	struct svg_series series[2][MOST_CURVES];
	char names[MOST_S][16];
	VEC(struct svg_point) points; /* of all curves, with room for them */
};

/* A time of a row in ns; k is an S or a placement. */
typedef uint64_t curve(const struct row *row, unsigned k);

static uint64_t compute_of(const struct row *row, unsigned k)
{
	(void)k;
	return row->compute;
}

static uint64_t blocking_of(const struct row *row, unsigned k)
{
	(void)k;
	return row->blocking;
}

static uint64_t in_sequence(const struct row *row, unsigned k)
{
	(void)k;
	return row->compute + row->blocking;
}

static uint64_t alone_of(const struct row *row, unsigned k)
{
	return row->alone[k];
}

static uint64_t together_of(const struct row *row, unsigned k)
{
	return row->together[k];
}

static uint64_t placed_of(const struct row *row, unsigned k)
{
	return row->placed[k];
}

/* Adds a curve to a plot, for the numbers of ranks whose tree has at least S levels. */
static void add_curve(struct drawing *d, const struct sweep *w, unsigned plot, struct svg_series style, curve *f, unsigned k)
{
	const bool splits = f == alone_of || f == together_of;

	style.at = d->points.at + d->points.n;
	for (size_t i = 0; i < w->rows.n; i++) {
		const struct row *row = &w->rows.at[i];

		if (splits && k > row->height)
			continue;
		d->points.at[d->points.n++] = (struct svg_point){ .x = style.kind == SVG_BARS ? (double)i : row->ranks,
								  .y = (double)f(row, k) * 1e-9 };
		style.n++;
	}
	d->series[plot][d->plots[plot].nseries++] = style;
}

static void add_splits(struct drawing *d, const struct sweep *w, unsigned plot, curve *f)
{
	for (unsigned k = w->first; k <= w->last; k++) {
		snprintf(d->names[k], sizeof d->names[k], "S = %u", k);
		add_curve(d, w, plot, (struct svg_series){ .name = d->names[k], .kind = SVG_POINTS, .colour = (int)k }, f, k);
	}
}

static int draw_splits(struct drawing *d, const struct sweep *w, const struct picture_notes *about, char **svg)
{
	const double high = 2.5e-9 * (double)(w->rows.at[0].blocking + w->all);
	char shown[80];
	const char *const notes[] = {
		about->machine.s,
		about->what,
		w->s->node.barrier ? "The levels of the tree run one after the other, each transfer on the core that has least to do." :
				     "Each op runs as soon as it can, on the core that communicates for its rank.",
		"S: the S levels of the tree next to the leaves run on the cores of the ranks, all others on the cores that are left.",
		"blocking: all levels run on the cores of the ranks, which compute before or after that.",
		shown,
	};
	char ranks[64], title[200];

	snprintf(shown, sizeof shown, "Times above %.3g ms are not shown: curves end at the top.", high * 1e3);
	snprintf(ranks, sizeof ranks, "ranks, which compute on as many of the %" PRIu32 " cores", w->model.cores);
	snprintf(title, sizeof title, "split-tree on %" PRIu32 " cores: %s", w->model.cores, option_source(w->s->input));
	for (unsigned k = 0; k < 2; k++)
		d->plots[k] = (struct svg_plot){ .title = k ? "communication and computation together" : "communication alone",
						 .x = { .name = ranks },
						 .y = { .name = "time", .unit = SVG_SECONDS, .limits = { 0, high } },
						 .series = d->series[k] };
	add_curve(d, w, 0, (struct svg_series){ .name = "computation", .kind = SVG_DOTS, .colour = SVG_GREY }, compute_of, 0);
	add_splits(d, w, 0, alone_of);
	add_curve(d, w, 0, (struct svg_series){ .name = "blocking", .kind = SVG_DASHES, .colour = SVG_BLACK }, blocking_of, 0);
	add_splits(d, w, 1, together_of);
	add_curve(d, w, 1, (struct svg_series){ .name = "computation, then blocking", .kind = SVG_DASHES, .colour = SVG_BLACK },
		  in_sequence, 0);
	return svg_make(&(struct svg_picture){ title, notes, sizeof notes / sizeof *notes, d->plots, 2 }, svg);
}

static int draw_placements(struct drawing *d, const struct sweep *w, const struct picture_notes *about, char **svg)
{
	static const char *const meaning[] = { "on the core of the rank", "on the next core that is set aside",
					       "ranks in turn on the cores that are set aside" };
	const char *const notes[] = { about->machine.s, about->what };
	const bool bars = w->rows.n <= MOST_BARS;
	char numbers[MOST_BARS][24], title[200];
	const char *names[MOST_BARS];

	for (size_t i = 0; bars && i < w->rows.n; i++) {
		snprintf(numbers[i], sizeof numbers[i], "%" PRIu32 " ranks", w->rows.at[i].ranks);
		names[i] = numbers[i];
	}
	snprintf(title, sizeof title, "Placements on %" PRId64 " cores: %s", w->s->node.cores, option_source(w->s->input));
	d->plots[0] = (struct svg_plot){ .title = "time of the operation, by where the ranks communicate", .x = { .name = bars ? "" : "ranks" },
					 .y = { .name = "time", .unit = SVG_SECONDS }, .series = d->series[0],
					 .names = bars ? names : NULL, .nnames = bars ? w->rows.n : 0 };
	for (unsigned k = 0; k < PLACEMENTS; k++)
		add_curve(d, w, 0, (struct svg_series){ .name = placements[k], .meaning = meaning[k], .kind = bars ? SVG_BARS : SVG_POINTS,
							.colour = (int)k }, placed_of, k);
	return svg_make(&(struct svg_picture){ title, notes, 2, d->plots, 1 }, svg);
}

static int write_svg(const struct sweep *w)
{
	struct drawing *d = mem_calloc(1, sizeof *d);
	struct picture_notes about = { 0 };
	const char *file = w->s->svg;
	char *svg = NULL;
	int err = d && !VEC_RESERVE(&d->points, 2 * MOST_CURVES * w->rows.n) ? picture_notes(w->s, &about) : -ERR_NOMEM;

	if (!err)
		err = w->s->node.split.first >= 0 ? draw_splits(d, w, &about, &svg) : draw_placements(d, w, &about, &svg);
	if (!err && option_write(file, svg, strlen(svg))) {
		fprintf(stderr, "goalsim: %s: %s\n", file, file_why(errno));
		err = -ERR_SYS;
	}
	if (d)
		VEC_FREE(&d->points);
	free(d);
	free(svg);
	free(about.what);
	return err == -ERR_NOMEM ? no_memory() : err ? EXIT_FAULT : EXIT_OK;
}

/* ---- a sweep ---- */

static int simulate_rows(struct sweep *w)
{
	const struct goalsim *s = w->s;
	const bool splits = s->node.split.first >= 0;
	int rc = splits ? simulate_all(w) : EXIT_OK;

	for (uint32_t n = (uint32_t)s->sweep.first; n <= (uint64_t)s->sweep.last && !rc; n++) {
		struct row row = { .ranks = n };

		rc = splits ? simulate_splits(w, &row) : simulate_placements(s, &row);
		if (!rc && VEC_PUSH(&w->rows, row))
			rc = no_memory();
	}
	progress_end(s->progress);
	return rc;
}

static int print_report(const struct sweep *w)
{
	json_object *report = report_new("goalsim", option_source(w->s->input));

	report_int(report, "cores", w->s->node.cores);
	if (w->s->node.split.first >= 0)
		report_splits(w, report);
	else
		report_placements(w, report);
	return report_print("goalsim", report);
}

int node_sweep(struct goalsim *s)
{
	struct sweep w = { .s = s };
	int rc;

	if (s->node.split.first >= 0) {
		w.first = (unsigned)s->node.split.first;
		w.last = (unsigned)s->node.split.last;
	}
	rc = simulate_rows(&w);
	if (!rc && s->svg)
		rc = write_svg(&w);
	if (!rc && s->json) {
		rc = print_report(&w);
	} else if (!rc) {
		if (s->node.split.first >= 0)
			print_splits(&w);
		else
			print_placements(&w);
		rc = option_flush("goalsim");
	}
	VEC_FREE(&w.rows);
	return rc;
}
