/* SPDX-License-Identifier: BSD-3-Clause
 * The split-tree model as a picture: to the left what communication costs (Figures 13 and 15 of the paper), to the
 * right what it costs together with the computation (Figures 14 and 16). */
#include "compiler/print_model.h"

#include "util/text.h"

#include <inttypes.h>

enum { WIDTH = 1180, HEIGHT = 470, TOP = 60, LEFT = 60, SIDE = 430, GAP = 70, DEEP = 340, LEGEND = 1005,
       POINTS = 1024, /* of a curve: more cannot be told apart */
       TICKS = 8 };

struct plot {
	struct text *t;
	const struct model *m;
	uint32_t first, last;
	double high; /* the top of the vertical axis */
	double x;    /* the left edge of the panel */
};

/* A curve over the number of ranks; those without an S ignore it. */
typedef double curve(const struct model *m, uint32_t ranks, unsigned s);

static double compute(const struct model *m, uint32_t ranks, unsigned s)
{
	(void)s;
	return model_compute(m, ranks);
}

static double blocking(const struct model *m, uint32_t ranks, unsigned s)
{
	(void)s;
	return model_blocking(m, ranks);
}

static double in_sequence(const struct model *m, uint32_t ranks, unsigned s)
{
	return compute(m, ranks, s) + blocking(m, ranks, s);
}

static const char compute_style[] = "stroke='#777' stroke-width='1.5' stroke-dasharray='2 3'";
static const char blocking_style[] = "stroke='black' stroke-width='1.5' stroke-dasharray='8 4'";

/* Colours that people with any kind of sight can tell apart; behind the last they come again with gaps. */
static void add_style(struct text *t, unsigned s)
{
	static const char *const colours[] = { "#0072b2", "#e69f00", "#009e73", "#cc79a7",
					       "#d55e00", "#56b4e9", "#b8a800" };
	const unsigned n = sizeof colours / sizeof *colours;

	text_add(t, "stroke='%s' stroke-width='2'%s", colours[s % n], s < n ? "" : " stroke-dasharray='1 3'");
}

/* Of the horizontal axis; a single size has one too. */
static uint32_t span(const struct plot *p)
{
	return p->last > p->first ? p->last - p->first : 1;
}

static double at_x(const struct plot *p, uint32_t ranks)
{
	return p->x + (double)(ranks - p->first) * SIDE / span(p);
}

static double at_y(const struct plot *p, double time)
{
	return TOP + DEEP - time * DEEP / p->high;
}

/* 1, 2 or 5 times a power of ten, such that at most TICKS of them fit. */
static double tick(double length)
{
	static const double factors[] = { 2, 2.5, 2 };
	double step = 1;

	for (unsigned i = 0; length / step > TICKS; i++)
		step *= factors[i % 3];
	for (unsigned i = 0; length / step * 2 < TICKS / 2; i++)
		step /= factors[i % 3];
	return step;
}

/* The curve where the tree has s levels; it leaves the panel at the top. */
static void add_curve(const struct plot *p, curve *f, unsigned s)
{
	const uint32_t step = (p->last - p->first) / POINTS + 1;

	text_add(p->t, " points='");
	for (uint32_t n = p->first; n <= p->last; n += step)
		if (model_height(p->m, n) >= s)
			text_add(p->t, "%.1f,%.1f ", at_x(p, n), at_y(p, f(p->m, n, s)));
	text_add(p->t, "'/>\n");
}

static void add_axes(const struct plot *p, const char *title)
{
	const double bottom = TOP + DEEP, across = tick(span(p)), up = tick(p->high);
	const double middle = p->x + SIDE / 2.0;
	struct text *t = p->t;

	text_add(t, "<text x='%.0f' y='%d' text-anchor='middle' font-size='14'>%s</text>\n", middle, TOP - 18, title);
	for (double v = 0; v <= p->high; v += up)
		text_add(t,
			 "<path d='M%.1f %.1fh%d' stroke='#ddd'/>"
			 "<text x='%.1f' y='%.1f' text-anchor='end'>%g</text>\n",
			 p->x, at_y(p, v), SIDE, p->x - 6, at_y(p, v) + 4, v);
	for (uint32_t n = p->first; n <= p->last; n++)
		if (across < 1 || n % (uint32_t)across == 0)
			text_add(t,
				 "<path d='M%.1f %.1fv5' stroke='black'/>"
				 "<text x='%.1f' y='%.1f' text-anchor='middle'>%" PRIu32 "</text>\n",
				 at_x(p, n), bottom, at_x(p, n), bottom + 18, n);
	text_add(t, "<path d='M%.1f %dV%.1fh%d' fill='none' stroke='black'/>\n", p->x, TOP, bottom, SIDE);
	text_add(t, "<text x='%.0f' y='%.0f' text-anchor='middle'>ranks, of %" PRIu32 " cores</text>\n", middle,
		 bottom + 38, p->m->cores);
	text_add(t, "<text transform='translate(%.0f %.0f) rotate(-90)' text-anchor='middle'>time, in copies</text>\n",
		 p->x - 38, TOP + DEEP / 2.0);
}

/* What all curves of a panel are cut to. */
static void open_curves(const struct plot *p, const char *id)
{
	text_add(p->t,
		 "<clipPath id='%s'><rect x='%.1f' y='%d' width='%d' height='%d'/></clipPath>\n"
		 "<g clip-path='url(#%s)' fill='none' stroke-linejoin='round'>\n",
		 id, p->x, TOP, SIDE, DEEP, id);
}

/* All S, and over them the blocking collective, which is what the highest S comes to. */
static void add_splits(const struct plot *p, curve *f, curve *all_on_ranks)
{
	for (unsigned s = 0; s <= model_height(p->m, p->last); s++) {
		text_add(p->t, "<polyline ");
		add_style(p->t, s);
		add_curve(p, f, s);
	}
	text_add(p->t, "<polyline %s", blocking_style);
	add_curve(p, all_on_ranks, 0);
	text_add(p->t, "</g>\n");
}

static void add_least(const struct plot *p)
{
	const uint32_t n = model_best_ranks(p->m, p->first, p->last);
	const unsigned s = model_best(p->m, n);
	const double x = at_x(p, n), y = at_y(p, model_overlapped(p->m, n, s));
	const char *anchor = x < p->x + SIDE / 2.0 ? "start" : "end";

	text_add(p->t, "<circle cx='%.1f' cy='%.1f' r='5' fill='none' stroke='black' stroke-width='1.5'/>\n", x, y);
	text_add(p->t, "<text x='%.1f' y='%.1f' text-anchor='%s'>least: %" PRIu32 " ranks, S = %u</text>\n", x, y + 22,
		 anchor, n, s);
}

static void add_legend(const struct plot *p)
{
	struct text *t = p->t;
	const unsigned h = model_height(p->m, p->last);
	int y = TOP + 10;

	for (unsigned s = 0; s <= h; s++, y += 20) {
		text_add(t, "<path d='M%d %dh30' fill='none' ", LEGEND, y - 4);
		add_style(t, s);
		text_add(t, "/><text x='%d' y='%d'>S = %u</text>\n", LEGEND + 38, y, s);
	}
	text_add(t, "<path d='M%d %dh30' %s/><text x='%d' y='%d'>computation</text>\n", LEGEND, y + 4, compute_style,
		 LEGEND + 38, y + 8);
	text_add(t, "<path d='M%d %dh30' %s/><text x='%d' y='%d'>blocking,</text>\n", LEGEND, y + 24, blocking_style,
		 LEGEND + 38, y + 28);
	text_add(t, "<text x='%d' y='%d'>right: after computation</text>\n", LEGEND + 10, y + 46);
}

int print_model_svg(const struct model *m, uint32_t first, uint32_t last, char **out)
{
	struct text t = { 0 };
	struct plot p = { .t = &t, .m = m, .first = first, .last = last, .x = LEFT };

	/* All that is of interest is near the blocking collective with all cores. */
	p.high = 2.5 * (model_blocking(m, m->cores) + model_compute(m, m->cores));
	text_add(&t,
		 "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d' "
		 "font-family='sans-serif' font-size='12'>\n<rect width='100%%' height='100%%' fill='white'/>\n",
		 WIDTH, HEIGHT, WIDTH, HEIGHT);
	text_add(&t, "<title>split-tree on %" PRIu32 " cores, %" PRIu32 "-nomial tree, %s size</title>\n", m->cores,
		 m->k, m->growing ? "growing" : "constant");
	add_axes(&p, m->growing ? "communication, growing size" : "communication, constant size");
	open_curves(&p, "left");
	text_add(&t, "<polyline %s", compute_style);
	add_curve(&p, compute, 0);
	add_splits(&p, model_nonblocking, blocking);
	p.x += SIDE + GAP;
	add_axes(&p, "overlapped with computation");
	open_curves(&p, "right");
	add_splits(&p, model_overlapped, in_sequence);
	add_least(&p);
	add_legend(&p);
	text_add(&t, "</svg>\n");
	return text_take(&t, out);
}
