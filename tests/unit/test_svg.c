/* SPDX-License-Identifier: BSD-3-Clause
 * Pictures: where points come to lie, what is left out, and which texts they bear. tests/compiler/model.sh draws another one. */
#include "tests/unit/unit.h"

#include "util/svg.h"

#include <math.h>
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

	for (s = strstr(s, part); s; s = strstr(s + 1, part))
		n++;
	return n;
}

static void test_lines(void)
{
	static const struct svg_point ours[] = { { 0, 1 }, { 5, 10 }, { 6, INFINITY }, { 7, 0 }, { 10, 100 } };
	static const struct svg_point others[] = { { 0, 2 }, { 10, 30 } };
	static const struct svg_series series[] = { { "ours <1>", SVG_POINTS, 0, ours, 5 },
						    { "others", SVG_DASHES, 1, others, 2 } };
	static const struct svg_plot plots[] = {
		{ .title = "log", .x_name = "x", .y_name = "us", .log_y = true, .series = series, .nseries = 2 },
		{ .title = "linear", .x_name = "x", .y_name = "us", .x = { 0, 20 }, .y = { 0, 200 }, .series = series,
		  .nseries = 1, .mark = { 20, 200 }, .mark_text = "corner" },
	};
	char *s;

	CU_ASSERT_EQUAL_FATAL(svg_make("a & b", plots, 2, &s), 0);
	CU_ASSERT(has(s, "<title>a &amp; b</title>"));
	/* The left panel is 60 to 490 and 400 to 60, from 1 to 100; what has no logarithm is not there. */
	CU_ASSERT(has(s, " points='60.0,400.0 275.0,230.0 490.0,60.0 '"));
	/* The right one is 560 to 990. */
	CU_ASSERT(has(s, " points='560.0,398.3 667.5,383.0 710.5,400.0 775.0,230.0 '"));
	CU_ASSERT(has(s, "<circle cx='990.0' cy='60.0' r='5'"));
	CU_ASSERT(has(s, ">corner</text>"));
	CU_ASSERT_EQUAL(times(s, "<polyline "), 3);
	CU_ASSERT_EQUAL(times(s, "r='3'"), 3 + 4);
	CU_ASSERT_EQUAL(times(s, ">ours &lt;1&gt;</text>"), 1); /* once in the legend, though in two plots */
	CU_ASSERT(has(s, ">50</text>") && has(s, ">150</text>") && !has(s, "inf") && !has(s, "nan"));
	free(s);
}

static void test_bars(void)
{
	static const char *const names[] = { "bind", "numa" };
	static const struct svg_point first[] = { { 0, 10 }, { 1, 20 } }, second[] = { { 0, 5 }, { 1, NAN } };
	static const struct svg_series series[] = { { "first", SVG_BARS, 0, first, 2 }, { "second", SVG_BARS, 1, second, 2 } };
	static const struct svg_plot plot = { .title = "bars", .x_name = "", .y_name = "us", .y = { 0, 34 }, .names = names,
					      .nnames = 2, .series = series, .nseries = 2 };
	char *s;

	CU_ASSERT_EQUAL_FATAL(svg_make("bars", &plot, 1, &s), 0);
	/* 215 for each place, 86 for a bar. */
	CU_ASSERT(has(s, "<rect x='81.5' y='300.0' width='86.0' height='100.0' fill='#0072b2'/>"));
	CU_ASSERT(has(s, "<rect x='296.5' y='200.0' width='86.0' height='200.0' fill='#0072b2'/>"));
	CU_ASSERT(has(s, "<rect x='167.5' y='350.0' width='86.0' height='50.0' fill='#e69f00'/>"));
	CU_ASSERT_EQUAL(times(s, "width='86.0'"), 3);
	CU_ASSERT(has(s, ">bind</text>") && has(s, ">numa</text>"));
	free(s);
}

/* No points, and a single one, are a picture too. */
static void test_few(void)
{
	static const struct svg_point one[] = { { 3, 7 } };

	for (size_t n = 0; n <= 1; n++)
		for (int log_y = 0; log_y <= 1; log_y++) {
			const struct svg_series series = { "s", SVG_LINE, 0, one, n };
			const struct svg_plot plot = { .title = "", .x_name = "", .y_name = "", .log_y = log_y,
						       .series = &series, .nseries = 1 };
			char *s;

			CU_ASSERT_EQUAL_FATAL(svg_make("", &plot, 1, &s), 0);
			CU_ASSERT(!has(s, "nan") && !has(s, "inf") && has(s, "</svg>\n"));
			free(s);
		}
}

const struct unit_suite suite_svg = { "svg", (const struct unit_test[]){ { "lines", test_lines },
									 { "bars", test_bars },
									 { "few", test_few },
									 { NULL, NULL } } };
