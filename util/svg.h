/* SPDX-License-Identifier: BSD-3-Clause
 * Draws plots side by side into one SVG picture, with one legend for all of them. */
#ifndef UTIL_SVG_H
#define UTIL_SVG_H

#include <stdbool.h>
#include <stddef.h>

enum svg_kind { SVG_LINE, SVG_DASHES, SVG_DOTS, SVG_POINTS /* a line with a dot at each point */, SVG_BARS };
enum { SVG_BLACK = -1, SVG_GREY = -2 };

struct svg_point {
	double x, y;
};

struct svg_series {
	const char *name; /* name in the legend; series of the same name in several plots share a row */
	enum svg_kind kind;
	int colour; /* SVG_x, or the number of a colour, from 0 */
	const struct svg_point *at; /* points by ascending x; those that are not finite are omitted */
	size_t n;
};

struct svg_plot {
	const char *title, *x_name, *y_name;
	double x[2], y[2]; /* limits of the axes; if both are 0, they show all points, y from 0 */
	bool log_y;	   /* y axis is logarithmic, from one power of ten to another; only points above 0 are drawn */
	const char *const *names; /* labels of x = 0, 1, ... below the groups of bars, or NULL */
	size_t nnames;
	const struct svg_series *series; /* series, drawn in this order, the last one on top */
	size_t nseries;
	struct svg_point mark; /* position of a ring, drawn if mark_text is not NULL */
	const char *mark_text;
};

/* Draws n plots and stores the SVG text, owned and NUL-terminated, in *out. Names and titles may hold any characters.
 * Returns 0 or -ERR_NOMEM. */
int svg_make(const char *title, const struct svg_plot *plots, size_t n, char **out);

#endif
