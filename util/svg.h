/* SPDX-License-Identifier: BSD-3-Clause
 * Plots as a picture, side by side, with one legend for all of them. */
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
	const char *name; /* in the legend; what has the same name in several plots stands there once */
	enum svg_kind kind;
	int colour; /* SVG_x, or a number from 0 on */
	const struct svg_point *at; /* ascending x; what is not finite is left out */
	size_t n;
};

struct svg_plot {
	const char *title, *x_name, *y_name;
	double x[2], y[2]; /* the ends of the axes; where both are 0: so that all points are seen, y from 0 on */
	bool log_y;	   /* powers of ten at the ends; only points above 0 are drawn */
	const char *const *names; /* of x = 0, 1, ...: what stands below the groups of bars; else NULL */
	size_t nnames;
	const struct svg_series *series; /* in this order, the last one on top */
	size_t nseries;
	struct svg_point mark; /* a ring there, with mark_text beside it; NULL: none */
	const char *mark_text;
};

/* The picture as an owned, NUL-terminated text in *out; 0 or -ERR_NOMEM. Texts may hold any characters. */
int svg_make(const char *title, const struct svg_plot *plots, size_t n, char **out);

#endif
