/* SPDX-License-Identifier: BSD-3-Clause
 * Plots as SVG. */
#include "util/svg.h"

#include "util/text.h"

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

/* Adds len bytes of a text and escapes the characters that have a meaning in XML. */
static void add_some(struct text *t, const char *s, size_t len)
{
	for (const char *end = s + len; s < end; s++)
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
	add_some(t, s, strlen(s));
	text_add(t, "</text>\n");
}

/* Returns the width of a text. No font is known here; 0.62 of its size is wider than the mean letter of usual ones. */
static double width_of(const char *s, size_t len, double size)
{
	size_t letters = 0;

	for (size_t i = 0; i < len; i++)
		letters += ((unsigned char)s[i] & 0xc0) != 0x80;
	return (double)letters * size * 0.62;
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
		add_some(t, s, len);
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
	if (isfinite(x[0]) && x[0] < x[1]) { /* points do not lie on the axis */
		const double edge = (x[1] - x[0]) * 0.03;

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

static void add_height(const struct panel *a, double v, double like)
{
	const double y = at_y(a, v);

	text_add(a->t, "<path d='M%.1f %.1fh%d' stroke='#ddd'/><text x='%.1f' y='%.1f' text-anchor='end'>", a->left, y, SIDE,
		 a->left - 6, y + 4);
	add_number(a->t, a->p->y.unit, v, like);
	text_add(a->t, "</text>\n");
}

static void add_heights(const struct panel *a)
{
	const double step = tick_step(a->y[1] - a->y[0]);
	const unsigned some = a->y[1] - a->y[0] > 3 ? 1 : 3;

	if (a->p->y.scale == SVG_LINEAR)
		for (double k = round_up(a->y[0] / step); k * step <= a->y[1]; k++)
			add_height(a, k * step, a->y[1]);
	else
		for (double e = round_down(a->y[0]); e <= a->y[1] + 1e-6; e++)
			for (unsigned i = 0; i < some; i++) {
				const double at = e + log10_of(in_decade[i]), v = in_decade[i] * ten_to(e);

				if (at >= a->y[0] - 1e-6 && at <= a->y[1] + 1e-6)
					add_height(a, v, v);
			}
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

	for (size_t i = 0; i < a->p->nnames; i++) {
		const double w = width_of(a->p->names[i], strlen(a->p->names[i]), FONT) + 4;

		widest = w > widest ? w : widest;
	}
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

	add_label(t, middle, a->top - 12, " text-anchor='middle' font-size='14'", a->p->title);
	add_heights(a);
	if (a->p->names)
		add_names(a);
	else
		add_places(a);
	text_add(t, "<path d='M%.1f %.1fV%.1fh%d' fill='none' stroke='black'/>\n", a->left, a->top, a->bottom, SIDE);
	add_label(t, middle, a->bottom + 38, " text-anchor='middle'", a->p->x.name);
	text_add(t, "<text transform='translate(%.1f %.1f) rotate(-90)' text-anchor='middle'>", a->left - 76,
		 (a->top + a->bottom) / 2);
	add_some(t, a->p->y.name, strlen(a->p->y.name));
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

static void add_stroke(struct text *t, const struct svg_series *s)
{
	const char *gaps = s->kind == SVG_DASHES ? " stroke-dasharray='8 4'"
			   : s->kind == SVG_DOTS ? " stroke-dasharray='2 3'"
						 : "";

	text_add(t, "stroke='%s' stroke-width='%s'%s", colour_name(s->colour), s->colour < 0 ? "1.5" : "2", gaps);
}

/* Adds the dot of a series, whose shape also tells series apart. */
static void add_dot(struct text *t, const struct svg_series *s, double x, double y)
{
	static const char *const shapes[] = { "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0", "m-3 -3h6v6h-6z", "m-4 3h8l-4 -7z",
					      "m0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z" };

	text_add(t, "<path class='dot' d='M%.1f %.1f%s' fill='%s'/>\n", x, y, shapes[s->colour < 0 ? 0 : s->colour % 4],
		 colour_name(s->colour));
}

/* Adds the spread of a point, if it has one. */
static void add_spread(const struct panel *a, const struct svg_point *at, double x, const char *colour)
{
	const double low = at_y(a, at->low), high = at_y(a, at->high);

	if (has_spread(at) && isfinite(low))
		text_add(a->t, "<path class='spread' d='M%.1f %.1fh6m-3 0V%.1fm-3 0h6' stroke='%s'/>\n", x - 3, low, high, colour);
}

/* Adds a series. With spreads it is moved by `aside` pixels, because spreads of several series would cover each other. */
static void add_line(const struct panel *a, const struct svg_series *s, double aside)
{
	bool spreads = false;

	for (size_t i = 0; i < s->n; i++)
		spreads |= has_spread(&s->at[i]);
	aside = spreads ? aside : 0;
	text_add(a->t, "<polyline ");
	add_stroke(a->t, s);
	text_add(a->t, " points='");
	for (size_t i = 0; i < s->n; i++)
		if (is_drawn(a->p, &s->at[i]))
			text_add(a->t, "%.1f,%.1f ", at_x(a, s->at[i].x) + aside, at_y(a, s->at[i].y));
	text_add(a->t, "'/>\n");
	for (size_t i = 0; i < s->n; i++)
		if (is_drawn(a->p, &s->at[i])) {
			const double x = at_x(a, s->at[i].x) + aside;

			add_spread(a, &s->at[i], x, colour_name(s->colour));
			if (s->kind == SVG_POINTS)
				add_dot(a->t, s, x, at_y(a, s->at[i].y));
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
	add_some(a->t, a->p->mark_text, strlen(a->p->mark_text));
	text_add(a->t, "</text>\n");
}

/* Adds all series of a plot and its mark. The panel clips them, but not half a dot at its edge. */
static void add_series(const struct panel *a, size_t id)
{
	const struct svg_plot *p = a->p;
	size_t bars = 0, k = 0;

	text_add(a->t,
		 "<clipPath id='panel%zu'><rect x='%.1f' y='%.1f' width='%d' height='%d'/></clipPath>\n"
		 "<g clip-path='url(#panel%zu)' fill='none' stroke-linejoin='round'>\n",
		 id, a->left - 5, a->top - 5, SIDE + 10, DEEP + 10, id);
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
	add_stroke(t, s);
	text_add(t, "/>");
	if (s->kind == SVG_POINTS)
		add_dot(t, s, x + SWATCH / 2.0, y);
}

/* Adds the legend of a plot, in rows: an entry follows the one before if it fits. Returns its height. */
static double add_legend(struct text *t, const struct svg_plot *p, double left, double top)
{
	const double text_at = SWATCH + 8, room = SIDE + RIGHT - text_at - 10;
	double x = 0, y = 0;

	text_add(t, "<g class='legend'>\n");
	for (size_t i = 0; i < p->nseries; i++) {
		const struct svg_series *s = &p->series[i];
		struct text entry = { 0 };
		double w;

		text_add(&entry, s->meaning ? "%s: %s" : "%s", s->name, s->meaning);
		if (entry.err) {
			t->err = entry.err;
			free(entry.at);
			break;
		}
		w = width_of(entry.at, entry.n, FONT);
		if (x > 0 && x + w > room) {
			x = 0;
			y += LINE;
		}
		add_swatch(t, s, left + x, top + y - 4);
		y += LINE * (add_lines(t, left + x + text_at, top + y, room, FONT, "", entry.at) - 1.0);
		x += w > room ? room : w + text_at + 16;
		free(entry.at);
	}
	text_add(t, "</g>\n");
	return y + LINE;
}

/* ---- the picture ---- */

/* Adds the title and the notes, and returns the height that they take. */
static double add_head(struct text *t, const struct svg_picture *p, double width)
{
	double y = 28;

	y += TITLE * LINE / FONT * add_lines(t, 20, y, width - 40, TITLE, " font-weight='bold'", p->title);
	for (size_t i = 0; i < p->nnotes; i++)
		y += LINE * add_lines(t, 20, y, width - 40, FONT, " fill='#444'", p->notes[i]);
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
		double legends = 0;

		for (size_t i = k; i < k + ACROSS && i < p->nplots; i++) {
			struct panel a = { .t = &body, .p = &p->plots[i], .left = LEFT + (double)(i - k) * (LEFT + SIDE + RIGHT),
					   .top = y + ABOVE, .bottom = y + ABOVE + DEEP };
			double deep;

			set_axes(&a);
			add_axes(&a);
			add_series(&a, i);
			deep = add_legend(&body, a.p, a.left, a.bottom + BELOW);
			legends = deep > legends ? deep : legends;
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
	add_some(&t, p->title, strlen(p->title));
	text_add(&t, "</title>\n%s</svg>\n", inside);
	free(inside);
	return text_take(&t, out);
}
