/* SPDX-License-Identifier: BSD-3-Clause
 * Plots as SVG. */
#include "util/svg.h"

#include "util/text.h"

#include <assert.h>
#include <float.h>
/* For macros only, such as NAN and isfinite. No function of libm is called: libm is as large as all the rest of goalc. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Lengths in pixels. A plot is SIDE wide and DEEP high, and has margins. */
enum { LEFT = 92, SIDE = 430, RIGHT = 34, ABOVE = 34, DEEP = 300, BELOW = 64, ACROSS = 2 /* plots side by side */ };
enum { FONT = 12, TITLE = 16, LINE = 17, SWATCH = 30, TICKS = 8 };

/* A plot and its position in the picture. */
struct panel {
	struct text *t;
	const struct svg_plot *p;
	double left, top, bottom;
	double x[2], y[2]; /* range of each axis; of a logarithmic one, the logarithms */
};

/* ---- numbers ---- */

static double round_up(double v)
{
	const double whole = v > -1e15 && v < 1e15 ? (double)(long long)v : v;

	return whole < v ? whole + 1 : whole;
}

static double round_down(double v)
{
	return 0 - round_up(-v); /* 0, not -0 */
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

/* Returns a coordinate on a scale. */
static double scaled(enum svg_scale scale, double v)
{
	return scale == SVG_LINEAR ? v : log10_of(v) / (scale == SVG_LOG2 ? log10_of(2) : 1);
}

/* ---- texts ---- */

static void add_label(struct text *t, double x, double y, const char *how, const char *s)
{
	text_add(t, "<text x='%.1f' y='%.1f'%s>", x, y, how);
	text_add_xml(t, s, strlen(s));
	text_add(t, "</text>\n");
}

/* Widths of the characters from ' ' to '~' in DejaVu Sans, in hundredths of its size. No usual sans-serif font is wider. */
static const unsigned char widths[] = {
	32, 41, 46, 84, 64, 95, 78, 28, 39, 39, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 54,
	100, 69, 69, 70, 77, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79, 61, 79, 70, 64, 62, 74, 69, 99, 69, 62, 69, 39, 34, 39, 84, 50,
	50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
};
static_assert(sizeof widths == '~' - ' ' + 1, "a width for each character");
#define OTHER_WIDTH 64 /* of characters that are not in ASCII, such as µ */
#define BOLD 1.15      /* how much wider bold characters are */

/* Returns the width of a text. */
static double width_of(const char *s, size_t len, double size)
{
	unsigned sum = 0;

	for (size_t i = 0; i < len; i++)
		if (s[i] >= ' ' && s[i] <= '~')
			sum += widths[s[i] - ' '];
		else if (((unsigned char)s[i] & 0xc0) != 0x80)
			sum += OTHER_WIDTH;
	return sum * size / 100;
}

/* Returns the number of bytes of s that fit into the width, up to a blank. A longer word is not divided. */
static size_t fitting(const char *s, double width, double size)
{
	size_t fit = strcspn(s, " ");

	for (size_t next = fit; s[next]; fit = next) {
		next += 1 + strcspn(s + next + 1, " ");
		if (width_of(s, next, size) > width)
			break;
	}
	return fit;
}

/* Adds a text in lines that are at most so wide. Returns how many lines. */
static unsigned add_lines(struct text *t, double x, double y, double width, double size, const char *how, const char *s)
{
	unsigned lines = 0;

	for (; *s; lines++) {
		const size_t len = fitting(s, width, size);

		text_add(t, "<text x='%.1f' y='%.1f' font-size='%.0f'%s>", x, y + lines * size * LINE / FONT, size, how);
		text_add_xml(t, s, len);
		text_add(t, "</text>\n");
		s += len + (s[len] == ' ');
	}
	return lines;
}

/* Adds a number with its unit. All numbers of a linear axis have the prefix of the largest, `like`. */
static void add_number(struct text *t, enum svg_unit unit, double v, double like)
{
	static const struct {
		enum svg_unit unit;
		double is;
		const char *name;
	} prefixes[] = { { SVG_BYTES, 1 << 30, " GiB" }, { SVG_BYTES, 1 << 20, " MiB" }, { SVG_BYTES, 1 << 10, " KiB" },
			 { SVG_BYTES, 1, " B" },	 { SVG_SECONDS, 1, " s" },	 { SVG_SECONDS, 1e-3, " ms" },
			 { SVG_SECONDS, 1e-6, " µs" },	 { SVG_SECONDS, 1e-9, " ns" },	 { SVG_RATE, 1e9, " GB/s" },
			 { SVG_RATE, 1e6, " MB/s" },	 { SVG_RATE, 1e3, " kB/s" },	 { SVG_RATE, 1, " B/s" } };
	double is = 1;
	const char *name = "";

	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && v != 0; i++)
		if (prefixes[i].unit == unit) {
			is = prefixes[i].is;
			name = prefixes[i].name;
			if (like >= is * (1 - 1e-9))
				break;
		}
	text_add(t, "%.9g%s", round_down(v / is * 1e4 + 0.5) / 1e4, name);
}

/* ---- axes ---- */

static bool is_drawn(const struct svg_plot *p, const struct svg_point *at)
{
	return isfinite(scaled(p->x.scale, at->x)) && isfinite(scaled(p->y.scale, at->y));
}

static bool has_spread(const struct svg_point *at)
{
	return at->low < at->high;
}

static double at_x(const struct panel *a, double x)
{
	return a->left + (scaled(a->p->x.scale, x) - a->x[0]) * SIDE / (a->x[1] - a->x[0]);
}

static double at_y(const struct panel *a, double y)
{
	return a->bottom - (scaled(a->p->y.scale, y) - a->y[0]) * DEEP / (a->y[1] - a->y[0]);
}

static void widen_range(double axis[2], double v)
{
	axis[0] = v < axis[0] ? v : axis[0];
	axis[1] = v > axis[1] ? v : axis[1];
}

/* Ticks of a logarithmic axis within a decade. */
static const double in_decade[] = { 1, 2, 5, 10 };

/* Widens the range of a decimal logarithm to the nearest ticks. */
static void widen_to_ticks(double axis[2])
{
	const double low = round_down(axis[0]), high = round_down(axis[1]);
	double to[2] = { low, high };

	for (unsigned i = 0; i < 4; i++) {
		if (low + log10_of(in_decade[i]) <= axis[0] + 1e-6)
			to[0] = low + log10_of(in_decade[i]);
		if (to[1] < axis[1] - 1e-6)
			to[1] = high + log10_of(in_decade[i]);
	}
	memcpy(axis, to, sizeof to);
}

/* Stores the range of an axis, given the range of its points. With no points, or only one, an axis still needs a length. */
static void set_range(const struct svg_axis *axis, double seen[2], double out[2])
{
	if (axis->limits[0] < axis->limits[1]) {
		seen[0] = scaled(axis->scale, axis->limits[0]);
		seen[1] = scaled(axis->scale, axis->limits[1]);
	}
	out[0] = isfinite(seen[0]) ? seen[0] : 0;
	out[1] = isfinite(seen[0]) && seen[1] > seen[0] ? seen[1] : out[0] + 1;
}

static void set_axes(struct panel *a)
{
	const struct svg_plot *p = a->p;
	const bool zero = p->y.scale == SVG_LINEAR;
	double x[2] = { INFINITY, -INFINITY }, y[2] = { zero ? 0 : INFINITY, zero ? 0 : -INFINITY };

	for (size_t s = 0; s < p->nseries; s++)
		for (size_t i = 0; i < p->series[s].n; i++) {
			const struct svg_point *at = &p->series[s].at[i];

			if (!is_drawn(p, at))
				continue;
			widen_range(x, scaled(p->x.scale, at->x));
			widen_range(y, scaled(p->y.scale, at->y));
			if (has_spread(at) && isfinite(scaled(p->y.scale, at->low))) {
				widen_range(y, scaled(p->y.scale, at->low));
				widen_range(y, scaled(p->y.scale, at->high));
			}
		}
	if (zero)
		y[1] *= 1.05;
	else if (isfinite(y[0]) && p->y.scale == SVG_LOG10)
		widen_to_ticks(y);
	if (isfinite(x[0])) { /* points do not lie on the axis, and a single one lies in the middle */
		const double edge = x[0] < x[1] ? (x[1] - x[0]) * 0.03 : x[0] == round_down(x[0]) ? 0.5 : x[0] / 2;

		x[0] -= edge;
		x[1] += edge;
	}
	if (p->names) {
		x[0] = -0.5;
		x[1] = (double)p->nnames - 0.5;
	}
	set_range(&p->x, x, a->x);
	set_range(&p->y, y, a->y);
}

/* Returns the distance between ticks: the smallest of 1, 2 and 5 times a power of ten for which at most TICKS of them fit. */
static double tick_step(double length)
{
	static const double factors[] = { 2, 2.5, 2 };
	double step = 1;

	if (length > TICKS)
		for (unsigned i = 0; length / step > TICKS; i++)
			step *= factors[i % 3];
	else
		for (unsigned i = 0; length / step * factors[i % 3] <= TICKS; i++)
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

/* Returns the width of the label. */
static double add_height(const struct panel *a, double v, double like)
{
	const double y = at_y(a, v);
	double wide;
	size_t from;

	text_add(a->t, "<path d='M%.1f %.1fh%d' stroke='#ddd'/><text x='%.1f' y='%.1f' text-anchor='end'>", a->left, y, SIDE,
		 a->left - 6, y + 4);
	from = a->t->n;
	add_number(a->t, a->p->y.unit, v, like);
	wide = a->t->err ? 0 : width_of(a->t->at + from, a->t->n - from, FONT);
	text_add(a->t, "</text>\n");
	return wide;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Adds the ticks of the y axis, and returns the width of the widest label. */
static double add_heights(const struct panel *a)
{
	const double step = tick_step(a->y[1] - a->y[0]);
	const unsigned some = a->y[1] - a->y[0] > 3 ? 1 : 3;
	double widest = 0;

	if (a->p->y.scale == SVG_LINEAR)
		for (double k = round_up(a->y[0] / step); k * step <= a->y[1]; k++)
			widest = larger(widest, add_height(a, k * step, a->y[1]));
	else
		for (double e = round_down(a->y[0]); e <= a->y[1] + 1e-6; e++)
			for (unsigned i = 0; i < some; i++) {
				const double at = e + log10_of(in_decade[i]), v = in_decade[i] * ten_to(e);

				if (at >= a->y[0] - 1e-6 && at <= a->y[1] + 1e-6)
					widest = larger(widest, add_height(a, v, v));
			}
	return widest;
}

static void add_place(const struct panel *a, double v, double like)
{
	const double x = at_x(a, v);

	text_add(a->t, "<path d='M%.1f %.1fv5' stroke='black'/><text x='%.1f' y='%.1f' text-anchor='middle'>", x, a->bottom, x,
		 a->bottom + 18);
	add_number(a->t, a->p->x.unit, v, like);
	text_add(a->t, "</text>\n");
}

/* Adds the labels of groups of bars. If not all of them have room, only every second one is there, or every third, ... */
static void add_names(const struct panel *a)
{
	double widest = 0;
	size_t each = 1;

	for (size_t i = 0; i < a->p->nnames; i++)
		widest = larger(widest, width_of(a->p->names[i], strlen(a->p->names[i]), FONT) + 4);
	while ((double)each * SIDE < widest * (double)a->p->nnames && each < a->p->nnames)
		each++;
	for (size_t i = 0; i < a->p->nnames; i += each)
		add_label(a->t, at_x(a, (double)i), a->bottom + 18, " text-anchor='middle'", a->p->names[i]);
}

static void add_places(const struct panel *a)
{
	const enum svg_scale scale = a->p->x.scale;
	double step = tick_step(a->x[1] - a->x[0]);

	if (step < 1 && (scale != SVG_LINEAR || has_whole_x(a->p)))
		step = 1;
	for (double k = round_up(a->x[0] / step); k * step <= a->x[1]; k++) {
		double v = scale == SVG_LOG10 ? ten_to(k * step) : 1;

		for (double e = 0; scale == SVG_LOG2 && e < k * step; e++)
			v *= 2;
		for (double e = 0; scale == SVG_LOG2 && e > k * step; e--)
			v /= 2;
		add_place(a, scale == SVG_LINEAR ? k * step : v, scale == SVG_LINEAR ? a->x[1] : v);
	}
}

static void add_axes(const struct panel *a)
{
	const double middle = a->left + SIDE / 2.0;
	struct text *t = a->t;
	double labels;

	add_label(t, middle, a->top - 12, " text-anchor='middle' font-size='14'", a->p->title);
	labels = add_heights(a);
	if (a->p->names)
		add_names(a);
	else
		add_places(a);
	text_add(t, "<path d='M%.1f %.1fV%.1fh%d' fill='none' stroke='black'/>\n", a->left, a->top, a->bottom, SIDE);
	add_label(t, middle, a->bottom + 38, " text-anchor='middle'", a->p->x.name);
	text_add(t, "<text transform='translate(%.1f %.1f) rotate(-90)' text-anchor='middle'>", a->left - 18 - labels,
		 (a->top + a->bottom) / 2);
	text_add_xml(t, a->p->y.name, strlen(a->p->y.name));
	text_add(t, "</text>\n");
}

/* ---- series ---- */

/* The first seven can be told apart with any colour vision. */
static const char *const colours[SVG_COLOURS] = { "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#b8a800", "#7b3294",
						  "#8c510a", "#00441b", "#e7298a", "#1b1464", "#66c2a5", "#a50026", "#b2df8a", "#fb9a99" };

static const char *colour_name(int c)
{
	return c == SVG_BLACK ? "black" : c == SVG_GREY ? "#777" : colours[c % SVG_COLOURS];
}

/* Adds how the line of a series is drawn, by `more` pixels thicker than usual. */
static void add_stroke(struct text *t, const struct svg_series *s, unsigned more)
{
	const char *gaps = s->kind == SVG_DASHES ? " stroke-dasharray='8 4'"
			   : s->kind == SVG_DOTS ? " stroke-dasharray='2 3'"
						 : "";

	text_add(t, "stroke='%s' stroke-width='%.3g'%s", colour_name(s->colour), more + (s->colour < 0 ? 1.5 : 2), gaps);
}

/* Adds the dot of a series, whose shape also tells series apart, with an edge of its colour if it is thicker than usual. */
static void add_dot(struct text *t, const struct svg_series *s, double x, double y, unsigned more)
{
	static const char *const shapes[] = { "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0", "m-3 -3h6v6h-6z", "m-4 3h8l-4 -7z",
					      "m0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z" };

	text_add(t, "<path class='dot' d='M%.1f %.1f%s' fill='%s'", x, y, shapes[s->colour < 0 ? 0 : s->colour % 4],
		 colour_name(s->colour));
	if (more)
		text_add(t, " stroke='%s' stroke-width='%u'", colour_name(s->colour), more);
	text_add(t, "/>\n");
}

/* Adds the spread of a point, if it has one. */
static void add_spread(const struct panel *a, const struct svg_point *at, double x, const char *colour)
{
	const double low = at_y(a, at->low), high = at_y(a, at->high);

	if (has_spread(at) && isfinite(low))
		text_add(a->t, "<path class='spread' d='M%.1f %.1fh6m-3 0V%.1fm-3 0h6' stroke='%s'/>\n", x - 3, low, high, colour);
}

static bool has_spreads(const struct svg_series *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (has_spread(&s->at[i]))
			return true;
	return false;
}

/* True if all of a series lies below a later one: it could not be seen. */
static bool is_covered(const struct panel *a, const struct svg_series *s, const struct svg_series *by)
{
	if (s->n != by->n || has_spreads(s) || by->kind == SVG_BARS || (by->kind != s->kind && (by->kind == SVG_DASHES || by->kind == SVG_DOTS)))
		return false;
	for (size_t i = 0; i < s->n; i++) {
		const bool drawn = is_drawn(a->p, &s->at[i]);
		const double aside = drawn ? at_x(a, s->at[i].x) - at_x(a, by->at[i].x) : 0;
		const double above = drawn ? at_y(a, s->at[i].y) - at_y(a, by->at[i].y) : 0;

		if (drawn != is_drawn(a->p, &by->at[i]) || aside < -1 || aside > 1 || above < -1 || above > 1)
			return false;
	}
	return true;
}

/* Returns by how many pixels a series is thicker than usual: so much that it is seen on both sides of those that cover it. */
static unsigned thickening(const struct panel *a, const struct svg_series *s)
{
	unsigned more = 0;

	for (const struct svg_series *by = s + 1; by < a->p->series + a->p->nseries; by++)
		more += is_covered(a, s, by) ? 3 : 0;
	return more;
}

/* Adds a series. With spreads it is moved by `aside` pixels, because spreads of several series would cover each other. Among bars
 * its points are as wide as the groups of bars. A single point without a dot of its own gets one. */
static void add_line(const struct panel *a, const struct svg_series *s, double aside)
{
	const unsigned more = thickening(a, s);
	const double half = a->p->names ? (at_x(a, 1) - at_x(a, 0)) / 2 : 0;
	size_t drawn = 0;

	aside = has_spreads(s) ? aside : 0;
	text_add(a->t, "<polyline ");
	add_stroke(a->t, s, more);
	text_add(a->t, " points='");
	for (size_t i = 0; i < s->n; i++)
		if (is_drawn(a->p, &s->at[i])) {
			const double x = at_x(a, s->at[i].x) + aside, y = at_y(a, s->at[i].y);

			drawn++;
			if (half > 0)
				text_add(a->t, "%.1f,%.1f ", x - half, y);
			text_add(a->t, "%.1f,%.1f ", x + half, y);
		}
	text_add(a->t, "'/>\n");
	for (size_t i = 0; i < s->n; i++)
		if (is_drawn(a->p, &s->at[i])) {
			const double x = at_x(a, s->at[i].x) + aside;

			add_spread(a, &s->at[i], x, colour_name(s->colour));
			if (s->kind == SVG_POINTS || (drawn == 1 && half == 0))
				add_dot(a->t, s, x, at_y(a, s->at[i].y), more);
		}
}

/* Adds the bars of series number k of n. The bars of all series at the same x stand side by side. */
static void add_bars(const struct panel *a, const struct svg_series *s, size_t k, size_t n)
{
	const double wide = 0.8 / (double)n;

	for (size_t i = 0; i < s->n; i++)
		if (is_drawn(a->p, &s->at[i])) {
			const double x = at_x(a, s->at[i].x - 0.4 + (double)k * wide), y = at_y(a, s->at[i].y);
			const double w = at_x(a, wide) - at_x(a, 0);

			text_add(a->t, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'/>\n", x, y, w,
				 a->bottom > y ? a->bottom - y : 0, colour_name(s->colour));
			add_spread(a, &s->at[i], x + w / 2, "black");
		}
}

/* Adds the ring and its text, on the side of it that has room. The text is legible above curves. */
static void add_mark(const struct panel *a)
{
	const double x = at_x(a, a->p->mark.x), y = at_y(a, a->p->mark.y);
	const double w = width_of(a->p->mark_text, strlen(a->p->mark_text), FONT);
	const char *anchor = x + w > a->left + SIDE ? "end" : "start";

	text_add(a->t, "<circle cx='%.1f' cy='%.1f' r='5' fill='none' stroke='black' stroke-width='1.5'/>\n", x, y);
	text_add(a->t, "<text x='%.1f' y='%.1f' text-anchor='%s' stroke='white' stroke-width='4' paint-order='stroke'>", x,
		 y + 22 < a->bottom ? y + 22 : y - 12, anchor);
	text_add_xml(a->t, a->p->mark_text, strlen(a->p->mark_text));
	text_add(a->t, "</text>\n");
}

/* Adds all series of a plot and its mark. The panel clips them, but not half a dot at its edge. Where its limits cut curves off, they
 * end at its top. */
static void add_series(const struct panel *a, size_t id)
{
	const struct svg_plot *p = a->p;
	const int above = p->y.limits[0] < p->y.limits[1] ? 0 : 5;
	size_t bars = 0, k = 0;

	text_add(a->t,
		 "<clipPath id='panel%zu'><rect x='%.1f' y='%.1f' width='%d' height='%d'/></clipPath>\n"
		 "<g clip-path='url(#panel%zu)' fill='none' stroke-linejoin='round'>\n",
		 id, a->left - 5, a->top - above, SIDE + 10, DEEP + 5 + above, id);
	for (size_t s = 0; s < p->nseries; s++)
		bars += p->series[s].kind == SVG_BARS;
	for (size_t s = 0; s < p->nseries; s++)
		if (p->series[s].kind == SVG_BARS)
			add_bars(a, &p->series[s], k++, bars);
		else
			add_line(a, &p->series[s], 3 * ((double)s - (double)(p->nseries - 1) / 2));
	text_add(a->t, "</g>\n");
	if (p->mark_text)
		add_mark(a);
}

/* ---- legends ---- */

static void add_swatch(struct text *t, const struct svg_series *s, double x, double y)
{
	if (s->kind == SVG_BARS) {
		text_add(t, "<rect x='%.1f' y='%.1f' width='%d' height='10' fill='%s'/>", x, y - 5, SWATCH, colour_name(s->colour));
		return;
	}
	text_add(t, "<path d='M%.1f %.1fh%d' fill='none' ", x, y, SWATCH);
	add_stroke(t, s, 0);
	text_add(t, "/>");
	if (s->kind == SVG_POINTS)
		add_dot(t, s, x + SWATCH / 2.0, y, 0);
}

static double width_of_entry(const struct svg_series *s)
{
	const double name = width_of(s->name, strlen(s->name), FONT);

	return s->meaning ? name + width_of(": ", 2, FONT) + width_of(s->meaning, strlen(s->meaning), FONT) : name;
}

/* Adds the text of an entry, and returns how many lines it has. */
static unsigned add_entry(struct text *t, const struct svg_series *s, double x, double y, double width)
{
	struct text entry = { 0 };
	unsigned lines = 1;

	text_add(&entry, s->meaning ? "%s: %s" : "%s", s->name, s->meaning);
	if (entry.err)
		t->err = entry.err;
	else
		lines = add_lines(t, x, y, width, FONT, "", entry.at);
	free(entry.at);
	return lines;
}

/* Adds the legend of a plot, in as many columns as its width has room for, and returns its height. */
static double add_legend(struct text *t, const struct svg_plot *p, double left, double top, double width)
{
	const double text_at = SWATCH + 8, gap = 16;
	double widest = 0, y = 0;
	unsigned columns = 1, lines = 0;

	for (size_t i = 0; i < p->nseries; i++)
		widest = larger(widest, text_at + width_of_entry(&p->series[i]));
	while ((columns + 1) * (widest + gap) <= width + gap && columns < p->nseries)
		columns++;
	text_add(t, "<g class='legend'>\n");
	for (size_t i = 0; i < p->nseries; i++) {
		const double x = (double)(i % columns) * (widest + gap);

		if (i && i % columns == 0) {
			y += lines * LINE;
			lines = 0;
		}
		add_swatch(t, &p->series[i], left + x, top + y - 4);
		lines = (unsigned)larger(lines, add_entry(t, &p->series[i], left + x + text_at, top + y, width - text_at));
	}
	text_add(t, "</g>\n");
	return y + lines * LINE;
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* True if one legend can stand for those of all plots. */
static bool has_one_legend(const struct svg_picture *p)
{
	const struct svg_plot *first = p->plots;

	for (size_t k = 1; k < p->nplots; k++) {
		if (p->plots[k].nseries != first->nseries)
			return false;
		for (size_t i = 0; i < first->nseries; i++) {
			const struct svg_series *a = &first->series[i], *b = &p->plots[k].series[i];

			if (a->kind != b->kind || a->colour != b->colour || !is_same_text(a->name, b->name) ||
			    !is_same_text(a->meaning, b->meaning))
				return false;
		}
	}
	return p->nplots > 1;
}

/* ---- the picture ---- */

/* Adds the title, the notes and a legend of all plots, and returns the height that they take. */
static double add_head(struct text *t, const struct svg_picture *p, double width)
{
	double y = 28;

	y += TITLE * LINE / FONT * add_lines(t, 20, y, (width - 40) / BOLD, TITLE, " font-weight='bold'", p->title);
	for (size_t i = 0; i < p->nnotes; i++)
		y += LINE * add_lines(t, 20, y, width - 40, FONT, " fill='#444'", p->notes[i]);
	if (has_one_legend(p))
		y += LINE + add_legend(t, p->plots, 20, y + LINE, width - 40);
	return y;
}

int svg_make(const struct svg_picture *p, char **out)
{
	const double width = (LEFT + SIDE + RIGHT) * (p->nplots < ACROSS ? 1 : ACROSS);
	struct text body = { 0 }, t = { 0 };
	double y = add_head(&body, p, width);
	char *inside;
	int err;

	for (size_t k = 0; k < p->nplots; k += ACROSS) {
		double legends = 0 - LINE;

		for (size_t i = k; i < k + ACROSS && i < p->nplots; i++) {
			struct panel a = { .t = &body, .p = &p->plots[i], .left = LEFT + (double)(i - k) * (LEFT + SIDE + RIGHT),
					   .top = y + ABOVE, .bottom = y + ABOVE + DEEP };

			set_axes(&a);
			add_axes(&a);
			add_series(&a, i);
			if (!has_one_legend(p))
				legends = larger(legends, add_legend(&body, a.p, a.left, a.bottom + BELOW, SIDE + RIGHT - 10));
		}
		y += ABOVE + DEEP + BELOW + legends;
	}
	err = text_take(&body, &inside);
	if (err)
		return err;
	text_add(&t,
		 "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' viewBox='0 0 %.0f %.0f' "
		 "font-family='sans-serif' font-size='%d'>\n<rect width='100%%' height='100%%' fill='white'/>\n<title>",
		 width, y + 8, width, y + 8, FONT);
	text_add_xml(&t, p->title, strlen(p->title));
	text_add(&t, "</title>\n%s</svg>\n", inside);
	free(inside);
	return text_take(&t, out);
}
