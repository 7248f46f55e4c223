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
	size_t table; /* of a double: costs by size */
} params[] = {
#define PARAM(f, most) { #f, offsetof(struct sim_machine, f), most, 0 }
#define COST(f) { #f, offsetof(struct sim_machine, f), 0, offsetof(struct sim_machine, f##_table) }
	PARAM(L, MOST_NS),
	PARAM(o, MOST_NS),
	PARAM(g, MOST_NS),
	COST(G),
	COST(O),
	PARAM(S, INT64_MAX),
	COST(copy),
	COST(reduce),
	PARAM(start, MOST_NS),
#undef PARAM
#undef COST
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

/* Takes a word "bytes:ns", the next point of a table. */
static int take_point(struct sim_rate *table, const char *file, unsigned line, char *word)
{
	char *colon = strchr(word, ':');
	int64_t bytes, ns;
	bool right;

	if (!colon)
		return refuse_line(file, line, "no size is before the cost", word, "; bytes:ns is expected");
	*colon = '\0';
	right = option_number(word, 1, INT64_MAX, &bytes) && option_number(colon + 1, 0, MOST_NS, &ns);
	*colon = ':';
	if (!right)
		return refuse_line(file, line, "this is no size with its cost, bytes:ns:", word, "");
	if (table->npoints && table->point[table->npoints - 1].bytes >= (uint64_t)bytes)
		return refuse_line(file, line, "the sizes do not ascend at", word, "");
	if (table->npoints == SIM_MOST_POINTS)
		return refuse_line(file, line, "a table has at most 24 sizes, and then there is", word, "");
	table->point[table->npoints++] = (struct sim_point){ (uint64_t)bytes, (uint64_t)ns };
	return EXIT_OK;
}

/* Takes costs by size, whose first one is `word`. */
static int take_table(struct sim_machine *m, const struct param *p, const char *file, unsigned line, char *word, char **rest)
{
	struct sim_rate table = { .whole = SIM_BY_SIZE };
	int rc = EXIT_OK;

	for (; word && !rc; word = strtok_r(NULL, " \t", rest))
		rc = take_point(&table, file, line, word);
	*(struct sim_rate *)(void *)((char *)m + p->table) = table;
	*(double *)(void *)((char *)m + p->field) = -1;
	return rc;
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
	near.word = name;
	for (const struct param *p = params; p < params + sizeof params / sizeof *params; p++) {
		nearest_name(&near, p->name);
		if (strcmp(p->name, name) != 0)
			continue;
		if (!value)
			return refuse_line(file, line, "no value of", name, "");
		if (p->table && strchr(value, ':'))
			return take_table(m, p, file, line, value, &rest);
		more = strtok_r(NULL, " \t", &rest);
		if (more)
			return refuse_line(file, line, "one value is expected, and then there is", more, "");
		return take_value(m, p, value) ? EXIT_OK : refuse_line(file, line, "this is no value of the parameter:", value, "");
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
	for (unsigned n = 1; !rc && (line = strsep(&rest, "\n")); n++) {
		const bool whole = rest || line + strlen(line) == f.data + f.len;

		rc = whole ? take_line(u->field, u->arg, n, line) : refuse_line(u->arg, n, "there is a zero byte behind", line, "");
	}
	file_close(&f);
	return rc;
}

int sim_topology_take(const struct option_use *u)
{
	const char *form = sim_topology_parse(u->arg, u->field);

	return form ? option_usage(u->program, "%s %s: %s is expected, with at most 2^28 hosts", u->name, u->arg, form) : EXIT_OK;
}

/* ---- costs ---- */

uint64_t sim_cost_by_size(const struct sim_rate *r, uint64_t bytes)
{
	static const struct sim_point none = { 0 };
	uint32_t i = 0;
	const struct sim_point *a, *b;
	__int128 ns;

	while (i + 1 < r->npoints && r->point[i].bytes < bytes)
		i++;
	a = i ? &r->point[i - 1] : &none;
	b = &r->point[i];
	ns = a->ns + ((__int128)b->ns - a->ns) * (__int128)(bytes - a->bytes) / (__int128)(b->bytes - a->bytes);
	return ns < 0 ? 0 : ns > SIM_TOO_LONG ? SIM_TOO_LONG : (uint64_t)ns;
}

/* Returns the cost of so many ns per byte, or that of the table. */
static struct sim_rate rate_of(double ns, const struct sim_rate *table)
{
	if (ns < 0)
		return *table;
	return (struct sim_rate){ .whole = (uint64_t)ns, .millionths = (uint64_t)((ns - (double)(uint64_t)ns) * 1e6 + 0.5) };
}

void sim_machine_apply(const struct sim_machine *m, struct sim_params *p, struct sim_binary *x)
{
	p->L = (uint64_t)m->L;
	p->o = (uint64_t)m->o;
	p->g = (uint64_t)m->g;
	p->S = (uint64_t)m->S;
	p->topology = m->topology;
	p->hop = (uint64_t)m->hop;
	p->link = rate_of(m->link, NULL);
	p->G = rate_of(m->G, &m->G_table);
	p->O = rate_of(m->O, &m->O_table);
	x->copy = rate_of(m->copy, &m->copy_table);
	x->reduce = rate_of(m->reduce, &m->reduce_table);
}

/* Says the cost of a byte. */
static void add_rate(struct machine_text *t, const char *what, double ns)
{
	const size_t n = strlen(t->s);

	if (ns < 0)
		snprintf(t->s + n, sizeof t->s - n, "%s by size", what);
	else
		snprintf(t->s + n, sizeof t->s - n, "%s %g ns a byte", what, ns);
}

struct machine_text sim_machine_text(const struct sim_machine *m)
{
	struct machine_text text;
	size_t n;

	snprintf(text.s, sizeof text.s,
		 "simulated in the LogGOPS model: latency L %" PRId64 ", overhead o %" PRId64 ", gap g %" PRId64 " ns; ", m->L, m->o, m->g);
	add_rate(&text, "gap G", m->G);
	add_rate(&text, ", overhead O", m->O);
	n = strlen(text.s);
	snprintf(text.s + n, sizeof text.s - n, "; eager up to S %" PRId64 " bytes", m->S);
	if (m->copy != 0 || m->reduce != 0) {
		add_rate(&text, "; copy", m->copy);
		add_rate(&text, ", reduction", m->reduce);
	}
	n = strlen(text.s);
	if (m->start > 0)
		snprintf(text.s + n, sizeof text.s - n, "; all ranks start after %" PRId64 " ns", m->start);
	n = strlen(text.s);
	if (m->topology.kind)
		snprintf(text.s + n, sizeof text.s - n, "; %.60s, a link %" PRId64 " ns and %g ns a byte", m->topology.text, m->hop,
			 m->link);
	return text;
}
