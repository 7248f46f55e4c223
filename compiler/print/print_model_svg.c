/* SPDX-License-Identifier: BSD-3-Clause
 * The cost model of split-tree as a picture. The left part shows the time of communication (Figures 13 and 15 of the
 * paper), the right part the time of communication and computation together (Figures 14 and 16). */
#include "compiler/print/print_model.h"

#include "util/err.h"
#include "util/mem.h"
#include "util/svg.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define POINTS 1024u /* most points of a curve; more could not be distinguished */
#define LEVELS 33u   /* number of values of S for 2^32 ranks */
#define SERIES (LEVELS + 2)

/* A curve over the number of ranks. A curve that does not depend on S ignores s. */
typedef double curve(const struct model *m, uint32_t ranks, unsigned s);

static double compute_time(const struct model *m, uint32_t ranks, unsigned s)
{
	(void)s;
	return model_compute(m, ranks);
}

static double blocking_time(const struct model *m, uint32_t ranks, unsigned s)
{
	(void)s;
	return model_blocking(m, ranks);
}

static double in_sequence(const struct model *m, uint32_t ranks, unsigned s)
{
	return compute_time(m, ranks, s) + blocking_time(m, ranks, s);
}

/* The picture, and the memory for it. */
struct drawing {
	const struct model *m;
	uint32_t first, last;
	struct svg_plot plots[2];
	struct svg_series series[2][SERIES];
	char names[LEVELS][16];
	struct svg_point *next; /* unused memory, for further points */
};

/* Adds a curve to a plot, for the numbers of ranks whose tree has at least s levels. */
static void add_curve(struct drawing *d, unsigned plot, struct svg_series style, curve *f, unsigned s)
{
	const uint32_t step = (d->last - d->first) / POINTS + 1;

	style.at = d->next;
	for (uint32_t n = d->first; n <= d->last; n += step)
		if (model_height(d->m, n) >= s)
			*d->next++ = (struct svg_point){ .x = n, .y = f(d->m, n, s) };
	style.n = (size_t)(d->next - style.at);
	d->series[plot][d->plots[plot].nseries++] = style;
}

/* Adds the curves of all values of S, and the curve of the blocking collective, which equals that of the highest S. */
static void add_splits(struct drawing *d, unsigned plot, curve *f, const char *name, curve *all_on_ranks)
{
	for (unsigned s = 0; s <= model_height(d->m, d->last); s++) {
		snprintf(d->names[s], sizeof d->names[s], "S = %u", s);
		add_curve(d, plot, (struct svg_series){ .name = d->names[s], .colour = (int)s }, f, s);
	}
	add_curve(d, plot, (struct svg_series){ .name = name, .kind = SVG_DASHES, .colour = SVG_BLACK }, all_on_ranks,
		  0);
}

static int draw_model(struct drawing *d, char **out)
{
	const struct model *m = d->m;
	const uint32_t least = model_best_ranks(m, d->first, d->last);
	const unsigned s = model_best(m, least);
	/* Times far above the time of the blocking collective on all cores are not shown. */
	const double high = 2.5 * (model_blocking(m, m->cores) + model_compute(m, m->cores));
	char unit[200], shown[80];
	const char *const notes[] = {
		"modelled, not measured: goalc computes the times.",
		unit,
		shown,
		"S: the S levels of the tree next to the leaves run on the cores of the ranks, all others on the cores that are left.",
		"blocking: all levels run on the cores of the ranks, which compute before or after that.",
	};
	char ranks[64], mark[64], title[128], tree[32] = "binomial";

	snprintf(shown, sizeof shown, "Times above %g are not shown: curves end at the top.", high);
	snprintf(unit, sizeof unit, "Unit: one copy of the message of a leaf. A transfer of that message takes %g, the computation on all cores %g.",
		 m->ratio, model_compute(m, m->cores));
	if (m->k > 2)
		snprintf(tree, sizeof tree, "%" PRIu32 "-nomial", m->k);
	snprintf(title, sizeof title, "Cost model of split-tree on %" PRIu32 " cores: %s tree, %s size", m->cores, tree,
		 m->growing ? "growing" : "constant");
	snprintf(ranks, sizeof ranks, "ranks, which compute on as many of the %" PRIu32 " cores", m->cores);
	snprintf(mark, sizeof mark, "least: %" PRIu32 " ranks, S = %u", least, s);
	for (unsigned k = 0; k < 2; k++)
		d->plots[k] = (struct svg_plot){ .x = { .name = ranks, .limits = { d->first, d->last } },
						 .y = { .name = "time, in copies", .limits = { 0, high } },
						 .series = d->series[k] };
	d->plots[0].title = "communication alone";
	d->plots[1].title = "communication and computation together";
	d->plots[1].mark = (struct svg_point){ .x = least, .y = model_overlapped(m, least, s) };
	d->plots[1].mark_text = mark;
	add_curve(d, 0, (struct svg_series){ .name = "computation", .kind = SVG_DOTS, .colour = SVG_GREY },
		  compute_time, 0);
	add_splits(d, 0, model_nonblocking, "blocking", blocking_time);
	add_splits(d, 1, model_overlapped, "computation, then blocking", in_sequence);
	return svg_make(&(struct svg_picture){ title, notes, sizeof notes / sizeof *notes, d->plots, 2 }, out);
}

int print_model_svg(const struct model *m, uint32_t first, uint32_t last, char **out)
{
	struct drawing d = { .m = m, .first = first, .last = last };
	struct svg_point *points = mem_alloc(2 * SERIES * POINTS * sizeof *points);
	int err = -ERR_NOMEM;

	d.next = points;
	if (points)
		err = draw_model(&d, out);
	free(points);
	return err;
}
