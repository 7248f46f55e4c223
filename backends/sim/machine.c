/* SPDX-License-Identifier: BSD-3-Clause
 * The parameters of a simulated machine, see machine.h. */
#include "backends/sim/machine.h"

#include "util/nearest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NS ((int64_t)1 << 40)

static const struct param {
	const char *name;
	size_t field;
	int64_t most; /* of an int64_t; 0: it is a double */
} params[] = {
#define PARAM(f, most) { #f, offsetof(struct sim_machine, f), most }
	PARAM(L, MOST_NS),
	PARAM(o, MOST_NS),
	PARAM(g, MOST_NS),
	PARAM(G, 0),
	PARAM(O, 0),
	PARAM(S, INT64_MAX),
	PARAM(copy, 0),
	PARAM(reduce, 0),
	PARAM(start, MOST_NS),
#undef PARAM
};

static int refuse_line(const char *file, unsigned line, const char *what, const char *word, const char *hint)
{
	fprintf(stderr, "%s:%u: error: %s %.40s%s\n", option_source(file), line, what, word, hint);
	return EXIT_FAULT;
}

static bool take_value(struct sim_machine *m, const struct param *p, const char *value)
{
	char *field = (char *)m + p->field;

	return p->most ? option_number(value, 0, p->most, (int64_t *)(void *)field) :
			 option_decimal(value, 0, 1e9, (double *)(void *)field);
}

/* Takes the words of a line, which it separates. */
static int take_line(struct sim_machine *m, const char *file, unsigned line, char *text)
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
		return take_value(m, &params[i], value) ? EXIT_OK : refuse_line(file, line, "this is no value of the parameter:", value, "");
	}
	return refuse_line(file, line, "there is no parameter", name, nearest_choices(&near));
}

int sim_machine_take(const struct option_use *u)
{
	struct file f;
	int err = option_open(u->arg, &f), rc = EXIT_OK;
	char *rest = NULL, *line;

	err = err ? err : file_load(&f);
	if (err) {
		if (err == -ERR_NOMEM)
			rc = option_no_memory(u->program);
		else
			fprintf(stderr, "%s: %s: %s\n", u->program, option_source(u->arg), file_why(errno));
		file_close(&f);
		return rc ? rc : EXIT_FAULT;
	}
	rest = f.data;
	for (unsigned n = 1; !rc && (line = strsep(&rest, "\n")); n++)
		rc = take_line(u->field, u->arg, n, line);
	file_close(&f);
	return rc;
}

static struct sim_rate rate_of(double ns)
{
	const double whole = (double)(uint64_t)ns;

	return (struct sim_rate){ (uint64_t)ns, (uint64_t)((ns - whole) * 1e6 + 0.5) };
}

void sim_machine_apply(const struct sim_machine *m, struct sim_params *p, struct sim_binary *x)
{
	p->L = (uint64_t)m->L;
	p->o = (uint64_t)m->o;
	p->g = (uint64_t)m->g;
	p->S = (uint64_t)m->S;
	p->G = rate_of(m->G);
	p->O = rate_of(m->O);
	x->copy = rate_of(m->copy);
	x->reduce = rate_of(m->reduce);
}

struct machine_text sim_machine_text(const struct sim_machine *m)
{
	struct machine_text text;

	int n = snprintf(text.s, sizeof text.s, "simulated in the LogGOPS model: latency L %" PRId64 ", overhead o %" PRId64 ", gap g %" PRId64
			 " ns; gap G %g, overhead O %g ns a byte; eager up to S %" PRId64 " bytes", m->L, m->o, m->g, m->G, m->O, m->S);

	if (m->copy > 0 || m->reduce > 0)
		n += snprintf(text.s + n, sizeof text.s - (size_t)n, "; copy %g, reduction %g ns a byte", m->copy, m->reduce);
	if (m->start > 0)
		snprintf(text.s + n, sizeof text.s - (size_t)n, "; all ranks start after %" PRId64 " ns", m->start);
	return text;
}
