/* SPDX-License-Identifier: BSD-3-Clause
 * goalsim --params: reads the parameters of a machine from a file, as goalrun --calibrate prints it. A line is a name and a value;
 * "#" begins a comment. */
#include "goalsim/goalsim.h"

#include "util/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NS ((int64_t)1 << 40)

static const struct param {
	const char *name;
	size_t field;
	int64_t most; /* of an int64_t; 0: it is a double */
} params[] = {
#define PARAM(f, most) { #f, offsetof(struct goalsim, f), most }
	PARAM(L, MOST_NS),
	PARAM(o, MOST_NS),
	PARAM(g, MOST_NS),
	PARAM(G, 0),
	PARAM(O, 0),
	PARAM(S, INT64_MAX),
	PARAM(copy, 0),
	PARAM(reduce, 0),
#undef PARAM
	{ "start", offsetof(struct goalsim, start.ns_all), MOST_NS },
};

static int refuse_line(const char *file, unsigned line, const char *what, const char *word, const char *hint)
{
	fprintf(stderr, "%s:%u: error: %s %.40s%s\n", option_source(file), line, what, word, hint);
	return EXIT_FAULT;
}

static bool take_value(struct goalsim *s, const struct param *p, const char *value)
{
	char *field = (char *)s + p->field;

	return p->most ? option_number(value, 0, p->most, (int64_t *)(void *)field) :
			 option_decimal(value, 0, 1e9, (double *)(void *)field);
}

/* Takes the words of a line, which it separates. */
static int take_line(struct goalsim *s, const char *file, unsigned line, char *text)
{
	char *rest = NULL, *name, *value, *more;
	struct nearest near = { 0 };

	text[strcspn(text, "#\r")] = '\0';
	name = strtok_r(text, " \t", &rest);
	if (!name)
		return EXIT_OK;
	value = strtok_r(NULL, " \t", &rest);
	more = strtok_r(NULL, " \t", &rest);
	near.word = name;
	for (size_t i = 0; i < sizeof params / sizeof *params; i++) {
		nearest_name(&near, params[i].name);
		if (strcmp(params[i].name, name) != 0)
			continue;
		if (!value)
			return refuse_line(file, line, "no value of", name, "");
		if (more)
			return refuse_line(file, line, "one value is expected, and then there is", more, "");
		return take_value(s, &params[i], value) ? EXIT_OK : refuse_line(file, line, "this is no value of the parameter:", value, "");
	}
	return refuse_line(file, line, "there is no parameter", name, nearest_choices(&near));
}

int params_take(const struct option_use *u)
{
	struct file f;
	int err = option_open(u->arg, &f), rc = EXIT_OK;
	char *rest = NULL, *line;

	err = err ? err : file_load(&f);
	if (err) {
		if (err == -ERR_NOMEM)
			rc = no_memory();
		else
			fprintf(stderr, "goalsim: %s: %s\n", option_source(u->arg), file_why(errno));
		file_close(&f);
		return rc ? rc : EXIT_FAULT;
	}
	rest = f.data;
	for (unsigned n = 1; !rc && (line = strsep(&rest, "\n")); n++)
		rc = take_line(u->fields, u->arg, n, line);
	file_close(&f);
	return rc;
}
