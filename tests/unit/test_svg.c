/* SPDX-License-Identifier: BSD-3-Clause
 * Pictures: where points come to lie, what is left out, and which texts they bear. tests/compiler/model.sh draws another one. */
#include "tests/unit/unit.h"

#include "util/svg.h"
#include "util/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has(const char *s, const char *part)
{
	return strstr(s, part) != NULL;
}

/* How often part is in s. */
static unsigned times(const char *s, const char *part)
{
	unsigned n = 0;

	while ((s = strstr(s, part))) {
		n++;
		s++;
	}
	return n;
}

/* Draws plots without a word about them. */
static void draw(const char *title, const struct svg_plot *plots, size_t n, char **out)
{
	const struct svg_picture p = { .title = title, .plots = plots, .nplots = n };

	CU_ASSERT_EQUAL_FATAL(svg_make(&p, out), 0);
}

static void test_lines(void)
{
	static const struct svg_point ours[] = { { .x = 0, .y = 1 }, { .x = 5, .y = 10 }, { .x = 6, .y = INFINITY },
						 { .x = 7, .y = 0 }, { .x = 10, .y = 100 } };
	static const struct svg_point others[] = { { .x = 0, .y = 2 }, { .x = 10, .y = 30 } };
	static const struct svg_series series[] = { { "ours <1>", NULL, SVG_POINTS, 0, ours, 5 },
						    { "others", "they", SVG_DASHES, 1, others, 2 } };
	static const struct svg_plot plots[] = {
		{ .title = "log", .x = { .name = "x", .limits = { 0, 10 } }, .y = { .name = "us", .scale = SVG_LOG10 }, .series = series, .nseries = 2 },
		{ .title = "linear", .x = { .name = "x", .limits = { 0, 20 } }, .y = { .name = "us", .limits = { 0, 200 } }, .series = series,
		  .nseries = 1, .mark = { .x = 20, .y = 200 }, .mark_text = "corner" },
	};
	char *s;

	draw("a & b", plots, 2, &s);
	CU_ASSERT(has(s, "<title>a &amp; b</title>") && has(s, "font-weight='bold'>a &amp; b</text>"));
	/* The left panel is 92 to 522 and 384 to 84, from 1 to 100; what has no logarithm is not there. */
	CU_ASSERT(has(s, " points='92.0,384.0 307.0,234.0 522.0,84.0 '"));
	/* The right one is 648 to 1078. */
	CU_ASSERT(has(s, " points='648.0,382.5 755.5,369.0 798.5,384.0 863.0,234.0 '"));
	CU_ASSERT(has(s, "<circle cx='1078.0' cy='84.0' r='5'"));
	CU_ASSERT(has(s, ">corner</text>"));
	CU_ASSERT_EQUAL(times(s, "<polyline "), 3);
	CU_ASSERT_EQUAL(times(s, "class='dot'"), 3 + 4 + 2);
	CU_ASSERT_EQUAL(times(s, "<g class='legend'>"), 2);
	CU_ASSERT_EQUAL(times(s, ">ours &lt;1&gt;</text>"), 2); /* in both legends */
	CU_ASSERT_EQUAL(times(s, ">others: they</text>"), 1);
	CU_ASSERT(has(s, ">50</text>") && has(s, ">150</text>") && !has(s, "inf") && !has(s, "nan") && !has(s, ">-0<"));
	free(s);
}

static void test_bars(void)
{
	static const char *const names[] = { "bind", "numa" };
	static const struct svg_point first[] = { { .x = 0, .y = 10 }, { 1, 20, 17, 34 } };
	static const struct svg_point second[] = { { .x = 0, .y = 5 }, { .x = 1, .y = NAN } };
	static const struct svg_series series[] = { { "first", NULL, SVG_BARS, 0, first, 2 },
						    { "second", NULL, SVG_BARS, 1, second, 2 } };
	static const struct svg_plot plot = { .title = "bars", .x = { .name = "" }, .y = { .name = "us", .limits = { 0, 40 } }, .names = names,
					      .nnames = 2, .series = series, .nseries = 2 };
	char *s;

	draw("bars", &plot, 1, &s);
	/* 215 for each place, 86 for a bar. */
	CU_ASSERT(has(s, "<rect x='113.5' y='309.0' width='86.0' height='75.0' fill='#0072b2'/>"));
	CU_ASSERT(has(s, "<rect x='328.5' y='234.0' width='86.0' height='150.0' fill='#0072b2'/>"));
	CU_ASSERT(has(s, "<rect x='199.5' y='346.5' width='86.0' height='37.5' fill='#e69f00'/>"));
	CU_ASSERT(has(s, "<path class='spread' d='M368.5 256.5h6m-3 0V129.0m-3 0h6' stroke='black'/>"));
	CU_ASSERT_EQUAL(times(s, "class='spread'"), 1);
	CU_ASSERT_EQUAL(times(s, "width='86.0'"), 3);
	CU_ASSERT(has(s, ">bind</text>") && has(s, ">numa</text>"));
	free(s);
}

/* Among bars the points of a line are as wide as the groups, so that a single one is seen too. */
static void test_line_among_bars(void)
{
	static const char *const names[] = { "none", "all" };
	static const struct svg_point bars[] = { { .x = 0, .y = 10 }, { .x = 1, .y = 20 } };
	static const struct svg_point limit[] = { { .x = 0, .y = 20 }, { .x = 1, .y = 10 } };
	static const struct svg_series series[] = { { "bars", NULL, SVG_BARS, 0, bars, 2 }, { "limit", NULL, SVG_LINE, SVG_BLACK, limit, 2 } };
	static const struct svg_plot plot = { .title = "", .x = { .name = "" }, .y = { .name = "", .limits = { 0, 40 } }, .names = names,
					      .nnames = 2, .series = series, .nseries = 2 };
	char *s;

	draw("bars", &plot, 1, &s);
	CU_ASSERT(has(s, " points='92.0,234.0 307.0,234.0 307.0,309.0 522.0,309.0 '"));
	free(s);
}

/* A series that others cover is so thick that its colour is seen beside them; dashes do not cover a line. */
static void test_covered(void)
{
	static const struct svg_point at[] = { { .x = 0, .y = 10 }, { .x = 1, .y = 20 } }, other[] = { { .x = 0, .y = 10 }, { .x = 1, .y = 30 } };
	static const struct svg_series series[] = { { "a", NULL, SVG_LINE, 0, at, 2 }, { "b", NULL, SVG_POINTS, 1, at, 2 },
						    { "c", NULL, SVG_LINE, 2, at, 2 }, { "d", NULL, SVG_LINE, 3, other, 2 },
						    { "e", NULL, SVG_DASHES, 4, at, 2 } };
	static const struct svg_plot plot = { .title = "", .x = { .name = "" }, .y = { .name = "" }, .series = series, .nseries = 5 };
	char *s;

	draw("", &plot, 1, &s);
	CU_ASSERT(has(s, "<polyline stroke='#0072b2' stroke-width='8'") && has(s, "<polyline stroke='#e69f00' stroke-width='5'"));
	CU_ASSERT(has(s, "<polyline stroke='#009e73' stroke-width='2'") && has(s, "<polyline stroke='#cc79a7' stroke-width='2'"));
	CU_ASSERT_EQUAL(times(s, "stroke='#e69f00' stroke-width='3'/>"), 2); /* its dots */
	free(s);
}

/* Plots that have the same series share a legend, which is above them. */
static void test_one_legend(void)
{
	static const struct svg_point at[] = { { .x = 0, .y = 10 }, { .x = 1, .y = 20 } };
	static const struct svg_series series[] = { { "a", "first", SVG_LINE, 0, at, 2 }, { "b", NULL, SVG_POINTS, 1, at, 2 } };
	static const struct svg_series others[] = { { "a", "first", SVG_LINE, 0, at, 1 }, { "b", NULL, SVG_POINTS, 2, at, 2 } };
	const struct svg_plot plot = { .title = "plot", .x = { .name = "" }, .y = { .name = "" }, .series = series, .nseries = 2 };
	struct svg_plot plots[] = { plot, plot };
	char *s;

	draw("", plots, 2, &s);
	CU_ASSERT_EQUAL(times(s, "<g class='legend'>"), 1);
	CU_ASSERT(has(s, "class='legend'") && has(strstr(s, "class='legend'"), ">plot</text>"));
	free(s);
	plots[1].series = others;
	draw("", plots, 2, &s);
	CU_ASSERT_EQUAL(times(s, "<g class='legend'>"), 2);
	free(s);
}

/* No points, and a single one, are a picture too. The single one is a dot in the middle. */
static void test_few(void)
{
	static const struct svg_point one[] = { { .x = 3, .y = 7 } };

	for (size_t n = 0; n <= 1; n++)
		for (int scale = SVG_LINEAR; scale <= SVG_LOG2; scale++) {
			const struct svg_series series = { "s", NULL, SVG_LINE, 0, one, n };
			const struct svg_plot plot = { .title = "", .x = { .name = "", .scale = scale }, .y = { .name = "", .scale = scale },
						       .series = &series, .nseries = 1 };
			char *s;

			draw("", &plot, 1, &s);
			CU_ASSERT(!has(s, "nan") && !has(s, "inf") && has(s, "</svg>\n"));
			CU_ASSERT_EQUAL(times(s, "class='dot' d='M307.0 "), n);
			free(s);
		}
}

/* Ticks have units that people read. */
static void test_units(void)
{
	static const struct svg_point at[] = { { .x = 8192, .y = 3e-6 }, { .x = 1 << 27, .y = 2 } };
	static const struct svg_point rates[] = { { .x = 0, .y = 4e6 }, { .x = 0.004, .y = 5e9 } };
	static const struct svg_series series[] = { { "s", NULL, SVG_POINTS, 0, at, 2 }, { "r", NULL, SVG_POINTS, 0, rates, 2 } };
	static const struct svg_plot plots[] = {
		{ .title = "", .x = { .name = "", .unit = SVG_BYTES, .scale = SVG_LOG2 },
		  .y = { .name = "", .unit = SVG_SECONDS, .scale = SVG_LOG10 }, .series = series, .nseries = 1 },
		{ .title = "", .x = { .name = "", .unit = SVG_SECONDS },
		  .y = { .name = "", .unit = SVG_RATE, .scale = SVG_LOG10 }, .series = series + 1, .nseries = 1 },
	};
	static const char *const labels[] = { "16 KiB", "1 MiB", "64 MiB", "10 µs", "1 ms", "100 ms", "1 s",
					      "1 ms", "2 ms", "3 ms", "4 ms", "10 MB/s", "1 GB/s" };
	char *s, want[32];

	draw("", plots, 2, &s);
	for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
		snprintf(want, sizeof want, ">%s</text>", labels[i]);
		CU_ASSERT(has(s, want));
	}
	CU_ASSERT(!has(s, "e+") && !has(s, "e-0"));
	free(s);
}

/* A scale to the base 2 has its ticks at powers of 2, below 1 too. */
static void test_below_one(void)
{
	static const struct svg_point at[] = { { .x = 0.25, .y = 1 }, { .x = 2, .y = 2 } };
	static const struct svg_series series = { "s", NULL, SVG_POINTS, 0, at, 2 };
	static const struct svg_plot plot = { .title = "", .x = { .name = "", .scale = SVG_LOG2 }, .y = { .name = "" },
					      .series = &series, .nseries = 1 };
	char *s;

	draw("", &plot, 1, &s);
	CU_ASSERT(has(s, ">0.5</text>") && has(s, ">1</text>") && has(s, ">2</text>"));
	free(s);
}

struct box {
	double left, right, top, bottom;
};

/* Returns about how wide the letters of a text are, up to a tag: at most as in usual fonts. */
static double width_of(const char *s, double size)
{
	const size_t len = strcspn(s, "<");
	double w = 0;

	for (size_t i = 0; i < len; i++)
		w += strchr(" ijlt.,:;'|!()fr", s[i]) ? 0.3 : 0.57;
	return w * size;
}

/* Stores the boxes of the texts that are not rotated. Returns how many there are. */
static size_t boxes(const char *svg, struct box *out, size_t most)
{
	size_t n = 0;

	for (const char *p = svg; n < most && (p = strstr(p, "<text x='"));) {
		const char *body = strchr(p, '>') + 1, *size_at = strstr(p, "font-size='"), *anchor = strstr(p, "text-anchor='");
		const double x = strtod(p + 9, NULL), y = strtod(strstr(p, "y='") + 3, NULL);
		const double size = size_at && size_at < body ? strtod(size_at + 11, NULL) : 12;
		const double w = width_of(body, size);
		const char side = anchor && anchor < body ? anchor[13] : 's';
		const double left = x - (side == 'm' ? w / 2 : side == 'e' ? w : 0);

		out[n++] = (struct box){ left, left + w, y - size * 0.75, y + size * 0.2 };
		p = body;
	}
	return n;
}

/* Four plots with long texts and as many series as there are colours: no text lies on another or leaves the picture, and no
 * legend has a colour twice. */
static void test_crowded(void)
{
	static const char *const notes[] = { "machine: a name that is long enough for two lines, with caches of any size, and its load "
					     "when it began, which was high, so that nobody believes the figures, as is right",
					     "runs: 5" };
	static const struct svg_point at[] = { { 8192, 1e-6, 1e-7, 1e-5 }, { 1 << 30, 100, 10, 1000 } };
	static const char *names[40];
	static char text[40][16];
	static struct box box[400];
	struct svg_series series[SVG_COLOURS];
	struct svg_plot plots[4];
	const struct svg_picture p = { "A title that needs more than a single line, because it says what is shown here, and "
				       "how it was measured", notes, 2, plots, 4 };
	char *s, *legend, *width;
	size_t n;

	for (int i = 0; i < 40; i++) {
		snprintf(text[i], sizeof text[i], "name%d", i);
		names[i] = text[i];
	}
	for (int i = 0; i < SVG_COLOURS; i++)
		series[i] = (struct svg_series){ names[i], i % 3 ? NULL : "a meaning that is longer than a row of the legend has room for",
						 i % 2 ? SVG_POINTS : SVG_LINE, i, at, 2 };
	for (int i = 0; i < 4; i++)
		plots[i] = (struct svg_plot){ .title = "plot", .x = { .name = "message", .unit = SVG_BYTES,
						     .scale = i == 3 ? SVG_LINEAR : SVG_LOG2 },
					      .y = { .name = "time", .unit = SVG_SECONDS, .scale = SVG_LOG10 }, .names = i == 3 ? names : NULL,
					      .nnames = 40, .series = series, .nseries = SVG_COLOURS - (size_t)(i == 3) };
	CU_ASSERT_EQUAL_FATAL(svg_make(&p, &s), 0);
	n = boxes(s, box, 400);
	CU_ASSERT(n >= 4 * SVG_COLOURS && n < 400);
	width = strstr(s, "width='") + 7;
	for (size_t i = 0; i < n; i++) {
		unsigned over = 0;

		for (size_t k = 0; k < i; k++)
			over += box[i].left < box[k].right && box[k].left < box[i].right && box[i].top < box[k].bottom &&
				box[k].top < box[i].bottom;
		CU_ASSERT_EQUAL(over, 0);
		CU_ASSERT(box[i].left >= 0 && box[i].right <= strtod(width, NULL));
	}
	legend = strstr(s, "<g class='legend'>");
	*strstr(legend, "</g>") = '\0';
	for (int i = 0; i < SVG_COLOURS; i++) {
		char *stroke = strstr(legend, "stroke='#");

		CU_ASSERT_FATAL(stroke != NULL);
		stroke[16] = '\0'; /* the colour ends here, and the search for it begins behind it */
		CU_ASSERT(!has(stroke + 17, stroke));
		legend = stroke + 17;
	}
	free(s);
}

/* Names of files may be any bytes. */
static void test_characters(void)
{
	static const struct {
		const char *bytes;
		size_t len; /* 0: it is none */
	} chars[] = { { "a", 1 }, { "\xc2\xb5", 2 }, { "\xe2\x82\xac", 3 }, { "\xf0\x9f\x98\x80", 4 }, { "\xf4\x8f\xbf\xbf", 4 },
		      { "\xff", 0 }, { "\x80", 0 }, { "\xc0\xaf", 0 }, { "\xc2", 0 }, { "\xe2\x82", 0 }, { "\xe2" "aa", 0 },
		      { "\xe0\x9f\xbf", 0 }, { "\xed\xa0\x80", 0 }, { "\xf0\x8f\xbf\xbf", 0 }, { "\xf4\x90\x80\x80", 0 },
		      { "\xf5\x80\x80\x80", 0 } };
	struct text t = { 0 };
	char *s;

	for (size_t i = 0; i < sizeof chars / sizeof *chars; i++) {
		CU_ASSERT_EQUAL(text_add_char(&t, chars[i].bytes, strlen(chars[i].bytes)), chars[i].len ? chars[i].len : 1);
		CU_ASSERT_EQUAL_FATAL(text_take(&t, &s), 0);
		CU_ASSERT_STRING_EQUAL(s, chars[i].len ? chars[i].bytes : TEXT_NO_CHAR);
		free(s);
		t = (struct text){ 0 };
	}
	text_add_xml(&t, "a<\xc2\xb5&\xff>", SIZE_MAX);
	text_add_xml(&t, "\xc2\xb5", 1);
	CU_ASSERT_EQUAL_FATAL(text_take(&t, &s), 0);
	CU_ASSERT_STRING_EQUAL(s, "a&lt;\xc2\xb5&amp;" TEXT_NO_CHAR "&gt;" TEXT_NO_CHAR);
	free(s);
}

const struct unit_suite suite_svg = { "svg", (const struct unit_test[]){ { "lines", test_lines },
									 { "bars", test_bars },
									 { "line_among_bars", test_line_among_bars },
									 { "covered", test_covered },
									 { "one_legend", test_one_legend },
									 { "few", test_few },
									 { "units", test_units },
									 { "below_one", test_below_one },
									 { "crowded", test_crowded },
									 { "characters", test_characters },
									 { NULL, NULL } } };
