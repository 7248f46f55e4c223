/* SPDX-License-Identifier: BSD-3-Clause
 * plot: draws the tables of a result as SVG, one plot for each. A result is a text of
 *
 *	# anything
 *	title: of the picture
 *	plot: title of a plot, which begins here
 *	x: name of an axis		y: name of the other	or	log y: with a logarithmic scale
 *	series: kind name, kind name, ...	kinds: line, dashes, dots, points, bars
 *	names: of x = 0, 1, ..., where there are bars
 *	numbers: x, and a value of each series; "-" is none
 */
#include "util/mem.h"
#include "util/svg.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 16 /* most series of a plot, and most plots */
#define NAMES 64

struct table {
	struct svg_plot plot;
	struct svg_series series[MOST];
	VEC(struct svg_point) points[MOST];
	const char *names[NAMES];
};

struct input {
	const char *path, *title;
	unsigned line;
	struct table *tables;
	size_t n;
};

static const char *const kinds[] = { [SVG_LINE] = "line",
				     [SVG_DASHES] = "dashes",
				     [SVG_DOTS] = "dots",
				     [SVG_POINTS] = "points",
				     [SVG_BARS] = "bars" };

static _Noreturn void fault(const struct input *in, const char *what)
{
	fprintf(stderr, "%s:%u: error: %s\n", in->path, in->line, what);
	exit(1);
}

static _Noreturn void failed(const char *what)
{
	fprintf(stderr, "plot: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Returns the part of a line after a key, or NULL if the line does not begin with the key. */
static char *value_of(char *line, const char *key)
{
	const size_t n = strlen(key);

	return strncmp(line, key, n) ? NULL : line + n;
}

/* Returns the next item of a list with commas, without blanks around it, and advances *rest. */
static char *next(char **rest)
{
	char *p = strsep(rest, ",");

	while (p && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

static struct table *begin(struct input *in, const char *title)
{
	if (in->n == MOST)
		fault(in, "too many plots");
	in->tables[in->n].plot.title = title;
	return &in->tables[in->n++];
}

/* Returns the colour of a series. Series of the same name have the same colour in all plots. */
static int colour_of(const struct input *in, const char *name)
{
	int next_one = 0;

	for (size_t t = 0; t < in->n; t++)
		for (size_t s = 0; s < in->tables[t].plot.nseries; s++) {
			const struct svg_series *o = &in->tables[t].series[s];

			if (!strcmp(o->name, name))
				return o->colour;
			next_one = o->colour >= next_one ? o->colour + 1 : next_one;
		}
	return next_one;
}

static void add_series(struct input *in, struct table *t, char *list)
{
	for (char *one; (one = next(&list));) {
		struct svg_series *s = &t->series[t->plot.nseries];
		const size_t len = strcspn(one, " ");
		unsigned k = 0;

		while (k <= SVG_BARS && (strlen(kinds[k]) != len || strncmp(kinds[k], one, len) != 0))
			k++;
		if (k > SVG_BARS || !one[len])
			fault(in, "a series is a kind (line, dashes, dots, points, bars) and a name");
		if (t->plot.nseries == MOST)
			fault(in, "too many series");
		s->kind = (enum svg_kind)k;
		s->name = one + len + 1;
		s->colour = colour_of(in, s->name);
		t->plot.nseries++;
	}
}

static void add_names(struct input *in, struct table *t, char *list)
{
	for (char *one; (one = next(&list)); t->names[t->plot.nnames++] = one)
		if (t->plot.nnames == NAMES)
			fault(in, "too many names");
	t->plot.names = t->names;
}

static double number(const struct input *in, const char *word)
{
	char *end;
	double v;

	if (!word)
		fault(in, "a value is missing");
	if (!strcmp(word, "-"))
		return NAN;
	v = strtod(word, &end);
	if (*end || end == word)
		fault(in, "this is neither a number nor a key");
	return v;
}

static void add_row(struct input *in, struct table *t, char *line)
{
	char *save = NULL;
	const double x = number(in, strtok_r(line, " \t", &save));

	if (!t->plot.nseries)
		fault(in, "numbers before their series");
	for (size_t s = 0; s < t->plot.nseries; s++) {
		const double y = number(in, strtok_r(NULL, " \t", &save));

		if (VEC_PUSH(&t->points[s], (struct svg_point){ x, y }))
			failed("memory");
	}
	if (strtok_r(NULL, " \t", &save))
		fault(in, "more values than series");
}

static void parse(struct input *in, char *line)
{
	struct table *t = in->n ? &in->tables[in->n - 1] : NULL;
	char *v;

	if (*line == '#' || !*line)
		return;
	if ((v = value_of(line, "title: "))) {
		in->title = v;
		return;
	}
	if ((v = value_of(line, "plot: "))) {
		begin(in, v);
		return;
	}
	if (!t)
		fault(in, "no plot has begun");
	if ((v = value_of(line, "x: "))) {
		t->plot.x_name = v;
	} else if ((v = value_of(line, "y: "))) {
		t->plot.y_name = v;
	} else if ((v = value_of(line, "log y: "))) {
		t->plot.y_name = v;
		t->plot.log_y = true;
	} else if ((v = value_of(line, "series: "))) {
		add_series(in, t, v);
	} else if ((v = value_of(line, "names: "))) {
		add_names(in, t, v);
	} else {
		add_row(in, t, line);
	}
}

/* Reads the input. Its lines stay in place, because the parsed plots point to them. */
static void read_all(struct input *in)
{
	FILE *f = fopen(in->path, "r");
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	if (!f)
		failed(in->path);
	for (in->line = 1; (len = getline(&line, &cap, f)) >= 0; in->line++) {
		char *kept;

		if (len && line[len - 1] == '\n')
			line[len - 1] = '\0';
		kept = strdup(line);
		if (!kept)
			failed("memory");
		parse(in, kept);
	}
	free(line);
	fclose(f);
}

int main(int argc, char **argv)
{
	static struct table tables[MOST];
	static struct svg_plot plots[MOST];
	struct input in = { .tables = tables, .title = "" };
	char *svg;

	if (argc != 2) {
		fputs("usage: plot RESULT >FILE.svg\n", stderr);
		return 2;
	}
	in.path = argv[1];
	read_all(&in);
	if (!in.n)
		fault(&in, "no plot");
	for (size_t t = 0; t < in.n; t++) {
		for (size_t s = 0; s < tables[t].plot.nseries; s++) {
			tables[t].series[s].at = tables[t].points[s].at;
			tables[t].series[s].n = tables[t].points[s].n;
		}
		tables[t].plot.series = tables[t].series;
		plots[t] = tables[t].plot;
		if (!plots[t].x_name || !plots[t].y_name)
			fault(&in, "a plot has no x: or y:");
	}
	if (svg_make(in.title, plots, in.n, &svg)) {
		errno = ENOMEM;
		failed("memory");
	}
	if (fputs(svg, stdout) < 0 || fflush(stdout))
		failed("standard output");
	return 0;
}
