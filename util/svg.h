/* SPDX-License-Identifier: BSD-3-Clause
 * Draws plots, two side by side, into one SVG picture. The title and the notes stand above them, and a legend below each. */
#ifndef UTIL_SVG_H
#define UTIL_SVG_H

#include <stddef.h>

enum svg_kind { SVG_LINE, SVG_DASHES, SVG_DOTS, SVG_POINTS /* a line with a dot at each point */, SVG_BARS, SVG_KINDS };
enum { SVG_BLACK = -1, SVG_GREY = -2, SVG_COLOURS = 16 /* colours that differ */ };
/* Ticks on an axis have a prefix: 16 KiB, 200 µs, 5 MB/s. */
enum svg_unit { SVG_NUMBER, SVG_BYTES, SVG_SECONDS, SVG_RATE /* bytes per second */ };
enum svg_scale { SVG_LINEAR, SVG_LOG10, SVG_LOG2 };

struct svg_point {
	double x, y;
	double low, high; /* spread of y, drawn if low < high */
};

struct svg_series {
	const char *name, *meaning; /* meaning: explains the name in the legend; may be NULL */
	enum svg_kind kind;
	int colour; /* SVG_x, or the number of a colour, below SVG_COLOURS */
	const struct svg_point *at; /* points by ascending x; those that are not finite are omitted */
	size_t n;
};

struct svg_axis {
	const char *name;
	enum svg_unit unit;
	enum svg_scale scale; /* with a logarithmic one, only points above 0 are drawn */
	double limits[2]; /* if both are 0, the axis shows all points, and a linear y axis also 0 */
};

struct svg_plot {
	const char *title;
	struct svg_axis x, y;
	const char *const *names; /* labels of x = 0, 1, ... below the groups of bars, or NULL */
	size_t nnames;
	const struct svg_series *series; /* series, drawn in this order, the last one on top */
	size_t nseries;
	struct svg_point mark; /* position of a ring, drawn if mark_text is not NULL */
	const char *mark_text;
};

struct svg_picture {
	const char *title;
	const char *const *notes; /* lines under the title: what was measured, where, and how often */
	size_t nnotes;
	const struct svg_plot *plots;
	size_t nplots;
};

/* Draws a picture and stores the SVG text, owned and NUL-terminated, in *out. Names and titles may hold any characters.
 * Returns 0 or -ERR_NOMEM. */
int svg_make(const struct svg_picture *p, char **out);

#endif
