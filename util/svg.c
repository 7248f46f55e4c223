/* SPDX-License-Identifier: BSD-3-Clause
 * Plots as SVG. */
#include "util/svg.h"

#include "util/text.h"

#include <float.h>
/* For macros only, such as NAN and isfinite. No function of libm is called: libm is as large as all the rest of goalc. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 60, LEFT = 60, SIDE = 430, GAP = 70, DEEP = 340, BELOW = 70, LEGEND = 235, ROW = 20, TICKS = 8 };

/* A plot and its position in the picture. */
struct panel {
	struct text *t;
	const struct svg_plot *p;
	double left;
	double x[2], y[2]; /* range of each axis; y as its logarithm if log_y */
};

/* ---- numbers ---- */

static double round_up(double v)
{
	const double whole = v > -1e15 && v < 1e15 ? (double)(long long)v : v;

	return whole < v ? whole + 1 : whole;
}

static double round_down(double v)
{
	return -round_up(-v);
}

static double ten_to(double e)
{
	double v = 1;

	for (; e > 0; e--)
		v *= 10;
	for (; e < 0; e++)
		v /= 10;
	return v;
}

/* Returns the decimal logarithm of v, or NAN if it has none. Computes it bit by bit, by squaring, to more digits than a
 * picture can show. */
static double log10_of(double v)
{
	double e = 0;

	if (!(v > 0 && v <= DBL_MAX))
		return NAN;
	for (; v >= 10; v /= 10)
		e++;
	for (; v < 1; v *= 10)
		e--;
	for (double digit = 0.5; digit > 1e-8; digit /= 2) {
		v *= v;
		if (v >= 10) {
			v /= 10;
			e += digit;
		}
	}
	return e;
}

/* ---- texts ---- */

/* Adds a text and escapes the characters that have a meaning in XML. */
static void add_text(struct text *t, const char *s)
{
	for (; *s; s++)
		if (*s == '<')
			text_add(t, "&lt;");
		else if (*s == '>')
			text_add(t, "&gt;");
		else if (*s == '&')
			text_add(t, "&amp;");
		else
			text_add(t, "%c", *s);
}

static void add_label(struct text *t, double x, double y, const char *how, const char *s)
{
	text_add(t, "<text x='%.1f' y='%.1f'%s>", x, y, how);
	add_text(t, s);
	text_add(t, "</text>\n");
}

/* ---- axes ---- */

static double scaled_y(const struct svg_plot *p, double y)
{
	return p->log_y ? log10_of(y) : y;
}

static bool is_drawn(const struct svg_plot *p, const struct svg_point *at)
{
	return isfinite(at->x) && isfinite(scaled_y(p, at->y));
}

static double at_x(const struct panel *a, double x)
{
	return a->left + (x - a->x[0]) * SIDE / (a->x[1] - a->x[0]);
}

static double at_y(const struct panel *a, double y)
{
	return TOP + DEEP - (scaled_y(a->p, y) - a->y[0]) * DEEP / (a->y[1] - a->y[0]);
}

static void widen_range(double axis[2], double v)
{
	axis[0] = v < axis[0] ? v : axis[0];
	axis[1] = v > axis[1] ? v : axis[1];
}

static void set_axes(struct panel *a)
{
	const struct svg_plot *p = a->p;
	double x[2] = { INFINITY, -INFINITY }, y[2] = { p->log_y ? INFINITY : 0, p->log_y ? -INFINITY : 0 };

	for (size_t s = 0; s < p->nseries; s++)
		for (size_t i = 0; i < p->series[s].n; i++)
			if (is_drawn(p, &p->series[s].at[i])) {
				widen_range(x, p->series[s].at[i].x);
				widen_range(y, scaled_y(p, p->series[s].at[i].y));
			}
	if (p->y[0] < p->y[1]) {
		y[0] = scaled_y(p, p->y[0]);
		y[1] = scaled_y(p, p->y[1]);
	} else if (p->log_y) {
		y[0] = round_down(y[0]);
		y[1] = round_up(y[1]);
	} else {
		y[1] *= 1.05;
	}
	if (p->x[0] < p->x[1])
		memcpy(x, p->x, sizeof x);
	if (p->names) {
		x[0] = -0.5;
		x[1] = (double)p->nnames - 0.5;
	}
	/* With no points, or only one, an axis still needs a length. */
	a->x[0] = isfinite(x[0]) ? x[0] : 0;
	a->x[1] = isfinite(x[0]) && x[1] > x[0] ? x[1] : a->x[0] + 1;
	a->y[0] = isfinite(y[0]) ? y[0] : 0;
	a->y[1] = isfinite(y[0]) && y[1] > y[0] ? y[1] : a->y[0] + 1;
}

/* Returns the distance between ticks: 1, 2 or 5 times a power of ten, such that at most TICKS of them fit. */
static double tick_step(double length)
{
	static const double factors[] = { 2, 2.5, 2 };
	double step = 1;

	for (unsigned i = 0; length / step > TICKS; i++)
		step *= factors[i % 3];
	for (unsigned i = 0; length / step * 2 < TICKS / 2; i++)
		step /= factors[i % 3];
	return step;
}

static bool has_whole_x(const struct svg_plot *p)
{
	for (size_t s = 0; s < p->nseries; s++)
		for (size_t i = 0; i < p->series[s].n; i++)
			if (p->series[s].at[i].x != round_down(p->series[s].at[i].x))
				return false;
	return true;
}

static void add_height(const struct panel *a, double v)
{
	const double y = at_y(a, v);

	text_add(a->t,
		 "<path d='M%.1f %.1fh%d' stroke='#ddd'/>"
		 "<text x='%.1f' y='%.1f' text-anchor='end'>%.4g</text>\n",
		 a->left, y, SIDE, a->left - 6, y + 4, v);
}

static void add_heights(const struct panel *a)
{
	static const double in_decade[] = { 1, 2, 5 };
	const double step = tick_step(a->y[1] - a->y[0]);
	const unsigned some = a->y[1] - a->y[0] > 3 ? 1 : 3;

	if (!a->p->log_y)
		for (double k = round_up(a->y[0] / step); k * step <= a->y[1]; k++)
			add_height(a, k * step);
	else
		for (double e = round_up(a->y[0]); e <= a->y[1]; e++)
			for (unsigned i = 0; i < some && e + log10_of(in_decade[i]) <= a->y[1]; i++)
				add_height(a, in_decade[i] * ten_to(e));
}

static void add_places(const struct panel *a)
{
	const double bottom = TOP + DEEP;
	double step = tick_step(a->x[1] - a->x[0]);

	for (size_t i = 0; a->p->names && i < a->p->nnames; i++)
		add_label(a->t, at_x(a, (double)i), bottom + 18, " text-anchor='middle'", a->p->names[i]);
	if (a->p->names)
		return;
	if (step < 1 && has_whole_x(a->p))
		step = 1;
	for (double k = round_up(a->x[0] / step); k * step <= a->x[1]; k++)
		text_add(a->t,
			 "<path d='M%.1f %.1fv5' stroke='black'/>"
			 "<text x='%.1f' y='%.1f' text-anchor='middle'>%.8g</text>\n",
			 at_x(a, k * step), bottom, at_x(a, k * step), bottom + 18, k * step);
}

static void add_axes(const struct panel *a)
{
	const double bottom = TOP + DEEP, middle = a->left + SIDE / 2.0;
	struct text *t = a->t;

	add_label(t, middle, TOP - 18, " text-anchor='middle' font-size='14'", a->p->title);
	add_heights(a);
	add_places(a);
	text_add(t, "<path d='M%.1f %dV%.1fh%d' fill='none' stroke='black'/>\n", a->left, TOP, bottom, SIDE);
	add_label(t, middle, bottom + 38, " text-anchor='middle'", a->p->x_name);
	text_add(t, "<text transform='translate(%.1f %.1f) rotate(-90)' text-anchor='middle'>", a->left - 42,
		 TOP + DEEP / 2.0);
	add_text(t, a->p->y_name);
	text_add(t, "</text>\n");
}

/* ---- series ---- */

/* Colours that people with any colour vision can tell apart. Further series reuse them, with dashed lines. */
static const char *const colours[] = { "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#b8a800" };
#define COLOURS ((int)(sizeof colours / sizeof *colours))

static const char *colour_name(int c)
{
	return c == SVG_BLACK ? "black" : c == SVG_GREY ? "#777" : colours[c % COLOURS];
}

static void add_stroke(struct text *t, const struct svg_series *s)
{
	const char *gaps = s->kind == SVG_DASHES   ? " stroke-dasharray='8 4'"
			   : s->kind == SVG_DOTS   ? " stroke-dasharray='2 3'"
			   : s->colour >= COLOURS  ? " stroke-dasharray='1 3'"
						   : "";

	text_add(t, "stroke='%s' stroke-width='%s'%s", colour_name(s->colour), s->colour < 0 ? "1.5" : "2", gaps);
}

static void add_line(const struct panel *a, const struct svg_series *s)
{
	text_add(a->t, "<polyline ");
	add_stroke(a->t, s);
	text_add(a->t, " points='");
	for (size_t i = 0; i < s->n; i++)
		if (is_drawn(a->p, &s->at[i]))
			text_add(a->t, "%.1f,%.1f ", at_x(a, s->at[i].x), at_y(a, s->at[i].y));
	text_add(a->t, "'/>\n");
	for (size_t i = 0; i < s->n && s->kind == SVG_POINTS; i++)
		if (is_drawn(a->p, &s->at[i]))
			text_add(a->t, "<circle cx='%.1f' cy='%.1f' r='3' fill='%s'/>\n", at_x(a, s->at[i].x),
				 at_y(a, s->at[i].y), colour_name(s->colour));
}

/* Adds the bars of series number k of n. The bars of all series at the same x stand side by side. */
static void add_bars(const struct panel *a, const struct svg_series *s, size_t k, size_t n)
{
	const double wide = 0.8 / (double)n, bottom = TOP + DEEP;

	for (size_t i = 0; i < s->n; i++)
		if (is_drawn(a->p, &s->at[i])) {
			const double x = at_x(a, s->at[i].x - 0.4 + (double)k * wide), y = at_y(a, s->at[i].y);

			text_add(a->t, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'/>\n", x, y,
				 at_x(a, wide) - at_x(a, 0), bottom > y ? bottom - y : 0, colour_name(s->colour));
		}
}

/* Adds all series of a plot, clipped to its panel, and its mark. */
static void add_series(const struct panel *a, size_t id)
{
	const struct svg_plot *p = a->p;
	size_t bars = 0, k = 0;

	text_add(a->t,
		 "<clipPath id='panel%zu'><rect x='%.1f' y='%d' width='%d' height='%d'/></clipPath>\n"
		 "<g clip-path='url(#panel%zu)' fill='none' stroke-linejoin='round'>\n",
		 id, a->left, TOP, SIDE, DEEP, id);
	for (size_t s = 0; s < p->nseries; s++)
		bars += p->series[s].kind == SVG_BARS;
	for (size_t s = 0; s < p->nseries; s++)
		if (p->series[s].kind == SVG_BARS)
			add_bars(a, &p->series[s], k++, bars);
		else
			add_line(a, &p->series[s]);
	text_add(a->t, "</g>\n");
	if (p->mark_text) {
		const double x = at_x(a, p->mark.x), y = at_y(a, p->mark.y);

		text_add(a->t, "<circle cx='%.1f' cy='%.1f' r='5' fill='none' stroke='black' stroke-width='1.5'/>\n", x, y);
		add_label(a->t, x, y + 22, x < a->left + SIDE / 2.0 ? " text-anchor='start'" : " text-anchor='end'",
			  p->mark_text);
	}
}

/* ---- the picture ---- */

/* True if an earlier series has the same name, and thus already stands in the legend. */
static bool legend_has_name(const struct svg_plot *plots, size_t plot, size_t series)
{
	for (size_t k = 0; k <= plot; k++)
		for (size_t s = 0; s < (k < plot ? plots[k].nseries : series); s++)
			if (!strcmp(plots[k].series[s].name, plots[plot].series[series].name))
				return true;
	return false;
}

static size_t add_legend(struct text *t, const struct svg_plot *plots, size_t n, double left)
{
	size_t rows = 0;

	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < plots[k].nseries; i++) {
			const struct svg_series *s = &plots[k].series[i];
			const double y = TOP + 6 + (double)(rows * ROW);

			if (legend_has_name(plots, k, i))
				continue;
			rows++;
			if (s->kind == SVG_BARS) {
				text_add(t, "<rect x='%.1f' y='%.1f' width='30' height='10' fill='%s'/>", left, y - 5,
					 colour_name(s->colour));
			} else {
				text_add(t, "<path d='M%.1f %.1fh30' fill='none' ", left, y);
				add_stroke(t, s);
				text_add(t, "/>");
			}
			add_label(t, left + 38, y + 4, "", s->name);
		}
	return rows;
}

int svg_make(const char *title, const struct svg_plot *plots, size_t n, char **out)
{
	const double legend = LEFT + (double)n * (SIDE + GAP) - GAP / 2.0, width = legend + LEGEND;
	struct text body = { 0 }, t = { 0 };
	size_t rows;
	double deep;
	char *inside;
	int err;

	for (size_t k = 0; k < n; k++) {
		struct panel a = { .t = &body, .p = &plots[k], .left = LEFT + (double)k * (SIDE + GAP) };

		set_axes(&a);
		add_axes(&a);
		add_series(&a, k);
	}
	rows = add_legend(&body, plots, n, legend);
	err = text_take(&body, &inside);
	if (err)
		return err;
	deep = TOP + (double)(rows * ROW > DEEP ? rows * ROW : DEEP) + BELOW;
	text_add(&t,
		 "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' viewBox='0 0 %.0f %.0f' "
		 "font-family='sans-serif' font-size='12'>\n<rect width='100%%' height='100%%' fill='white'/>\n<title>",
		 width, deep, width, deep);
	add_text(&t, title);
	text_add(&t, "</title>\n%s</svg>\n", inside);
	free(inside);
	return text_take(&t, out);
}
