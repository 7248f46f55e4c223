/* SPDX-License-Identifier: BSD-3-Clause
 * plot: draws the tables of a result as SVG, one plot for each. A result is a text of
 *
 *	# anything
 *	title: of the picture
 *	machine: on which it was measured	runs: how many, what a point and its spread are	note: anything else
 *	plot: title of a plot, which begins here
 *	x: name of an axis, y: of the other	log2 x:, log x: and log y: have a logarithmic scale. The name may end in [unit].
 *	series: kind name, kind name, ...	kinds: line, dashes, dots, points, bars
 *	meaning: name of a series: what the legend says about it
 *	names: of x = 0, 1, ..., where there are bars
 *	numbers: x, and a value of each series, as 5 or, with a spread, as 5:4.5:6; "-" is none
 *
 * The title, the machine, the runs and the notes stand on the picture.
 */
#include "util/mem.h"
#include "util/svg.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 16 /* most series of a plot, most plots, and most notes */
#define NAMES 64

struct table {
	struct svg_plot plot;
	struct svg_series series[MOST];
	VEC(struct svg_point) points[MOST];
	const char *names[NAMES];
	double is[2]; /* what 1 is on the axes x and y, in the units of svg.h */
};

struct input {
	const char *path, *title, *notes[MOST];
	bool has_machine, has_runs;
	unsigned line;
	struct table *tables;
	size_t n, nnotes;
};

static const struct {
	const char *name;
	enum svg_unit unit;
	double is;
} units[] = { { "bytes", SVG_BYTES, 1 }, { "s", SVG_SECONDS, 1 },     { "ms", SVG_SECONDS, 1e-3 },
	      { "us", SVG_SECONDS, 1e-6 }, { "GB/s", SVG_RATE, 1e9 } };

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
	in->tables[in->n].is[0] = in->tables[in->n].is[1] = 1;
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
	if (next_one == SVG_COLOURS)
		fault(in, "there are more names of series than colours");
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

/* Sets what an axis shows. Its name ends in a unit in brackets, if it has one. */
static void set_axis(struct input *in, struct table *t, unsigned which, enum svg_scale scale, char *name)
{
	struct svg_axis *a = which ? &t->plot.y : &t->plot.x;
	char *unit = strrchr(name, '[');
	size_t k = 0;

	*a = (struct svg_axis){ .name = name, .scale = scale };
	if (!unit)
		return;
	*unit++ = '\0';
	unit[strcspn(unit, "]")] = '\0';
	while (k < sizeof units / sizeof *units && strcmp(units[k].name, unit) != 0)
		k++;
	if (k == sizeof units / sizeof *units)
		fault(in, "a unit is [bytes], [s], [ms], [us] or [GB/s]");
	a->unit = units[k].unit;
	t->is[which] = units[k].is;
}

static void add_meaning(struct input *in, struct table *t, char *v)
{
	char *text = strstr(v, ": ");

	if (!text)
		fault(in, "a meaning is the name of a series, a colon, and a text");
	*text = '\0';
	for (size_t s = 0; s < t->plot.nseries; s++)
		if (!strcmp(t->series[s].name, v)) {
			t->series[s].meaning = text + 2;
			return;
		}
	fault(in, "there is no such series");
}

/* Reads a number at *p and advances behind it. */
static double number(const struct input *in, char **p)
{
	char *end;
	const double v = strtod(*p, &end);

	if (end == *p)
		fault(in, "this is neither a number nor a key");
	*p = end;
	return v;
}

/* Reads a value, which may have a spread. */
static struct svg_point value(const struct input *in, char *word)
{
	struct svg_point v = { .y = NAN };

	if (!word)
		fault(in, "a value is missing");
	if (!strcmp(word, "-"))
		return v;
	v.y = number(in, &word);
	if (*word == ':') {
		word++;
		v.low = number(in, &word);
		if (*word++ != ':')
			fault(in, "a spread is value:low:high");
		v.high = number(in, &word);
	}
	if (*word)
		fault(in, "this is neither a number nor a key");
	return v;
}

static void add_row(struct input *in, struct table *t, char *line)
{
	char *save = NULL;
	const double x = value(in, strtok_r(line, " \t", &save)).y * t->is[0];

	if (!t->plot.nseries)
		fault(in, "numbers before their series");
	for (size_t s = 0; s < t->plot.nseries; s++) {
		struct svg_point v = value(in, strtok_r(NULL, " \t", &save));

		v = (struct svg_point){ x, v.y * t->is[1], v.low * t->is[1], v.high * t->is[1] };
		if (VEC_PUSH(&t->points[s], v))
			failed("memory");
	}
	if (strtok_r(NULL, " \t", &save))
		fault(in, "more values than series");
}

/* Parses a line about the whole picture. Returns false if it is none. */
static bool parse_head(struct input *in, char *line)
{
	char *v;

	if ((v = value_of(line, "title: "))) {
		in->title = v;
		return true;
	}
	in->has_machine |= value_of(line, "machine: ") != NULL;
	in->has_runs |= value_of(line, "runs: ") != NULL;
	if (!value_of(line, "machine: ") && !value_of(line, "runs: ") && !value_of(line, "note: "))
		return false;
	if (in->nnotes == MOST)
		fault(in, "too many notes");
	v = value_of(line, "note: ");
	in->notes[in->nnotes++] = v ? v : line;
	return true;
}

static void parse(struct input *in, char *line)
{
	struct table *t = in->n ? &in->tables[in->n - 1] : NULL;
	char *v;

	if (*line == '#' || !*line || parse_head(in, line))
		return;
	if ((v = value_of(line, "plot: "))) {
		begin(in, v);
		return;
	}
	if (!t)
		fault(in, "no plot has begun");
	if ((v = value_of(line, "x: ")))
		set_axis(in, t, 0, SVG_LINEAR, v);
	else if ((v = value_of(line, "log2 x: ")))
		set_axis(in, t, 0, SVG_LOG2, v);
	else if ((v = value_of(line, "log x: ")))
		set_axis(in, t, 0, SVG_LOG10, v);
	else if ((v = value_of(line, "y: ")))
		set_axis(in, t, 1, SVG_LINEAR, v);
	else if ((v = value_of(line, "log y: ")))
		set_axis(in, t, 1, SVG_LOG10, v);
	else if ((v = value_of(line, "series: ")))
		add_series(in, t, v);
	else if ((v = value_of(line, "meaning: ")))
		add_meaning(in, t, v);
	else if ((v = value_of(line, "names: ")))
		add_names(in, t, v);
	else
		add_row(in, t, line);
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
	struct input in = { .tables = tables };
	struct svg_picture picture;
	char *svg;

	if (argc != 2) {
		fputs("usage: plot RESULT >FILE.svg\n", stderr);
		return 2;
	}
	in.path = argv[1];
	read_all(&in);
	if (!in.n)
		fault(&in, "no plot");
	if (!in.title || !in.has_machine || !in.has_runs)
		fault(&in, "a picture says what it shows, where, and from how many runs: title:, machine: and runs:");
	for (size_t t = 0; t < in.n; t++) {
		for (size_t s = 0; s < tables[t].plot.nseries; s++) {
			tables[t].series[s].at = tables[t].points[s].at;
			tables[t].series[s].n = tables[t].points[s].n;
		}
		tables[t].plot.series = tables[t].series;
		plots[t] = tables[t].plot;
		if (!plots[t].x.name || !plots[t].y.name)
			fault(&in, "a plot has no x: or y:");
	}
	picture = (struct svg_picture){ in.title, in.notes, in.nnotes, plots, in.n };
	if (svg_make(&picture, &svg)) {
		errno = ENOMEM;
		failed("memory");
	}
	if (fputs(svg, stdout) < 0 || fflush(stdout))
		failed("standard output");
	return 0;
}
