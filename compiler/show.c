/* SPDX-License-Identifier: BSD-3-Clause
 * Prints lists, schedules, rows of selection tables, and the cost model, for goalc. */
#include "compiler/collectives/collective.h"
#include "compiler/collectives/names.h"
#include "compiler/goalc.h"
#include "compiler/ir/loggopsim.h"
#include "compiler/passes/passes.h"
#include "compiler/print/print.h"
#include "compiler/print/print_promela.h"
#include "compiler/print/print_queues.h"
#include "util/env.h"
#include "util/err.h"
#include "util/report.h"
#include "util/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int goalc_system_error(const char *path)
{
	fprintf(stderr, "goalc: %s: %s\n", path, file_why(errno));
	return EXIT_FAULT;
}

/* ---- lists ---- */

static const char *const levels[] = { "off", "warning", "error" };

static int list_checks_json(void)
{
	json_object *j = report_new("goalc", NULL);

	for (unsigned i = 0; i < nchecks; i++) {
		json_object *e = report_case(j);

		report_text(e, "name", checks[i].name);
		report_text(e, "plain", levels[checks[i].level[CHECK_PLAIN]]);
		report_text(e, "parametric", levels[checks[i].level[CHECK_PARAMETRIC]]);
		report_text(e, "help", checks[i].help);
	}
	return report_print("goalc", j);
}

int goalc_list_checks(const struct goalc *c)
{
	if (c->json)
		return list_checks_json();

	printf("%-16s %-8s %-10s %s\n", "check", "plain", "parametric", "what it makes sure of");
	for (unsigned i = 0; i < nchecks; i++)
		printf("%-16s %-8s %-10s %s\n", checks[i].name, levels[checks[i].level[CHECK_PLAIN]],
		       levels[checks[i].level[CHECK_PARAMETRIC]], checks[i].help);
	return option_flush("goalc");
}

static const char *pass_kind(const struct pass *p)
{
	return p->local ? "local" : p->text ? "text" : "global";
}

static void add_key(json_object *keys, const struct pass_key *k)
{
	json_object *e = report_element(keys);

	report_text(e, "name", k->name);
	report_text(e, "help", k->help);
	report_text(e, "words", k->words ? k->words : k->word);
	report_add(e, "several", json_object_new_boolean(k->several));
	if (k->words)
		report_add(e, "default", json_object_new_string_len(k->words, (int)strcspn(k->words, "|")));
	else
		report_add(e, "default", k->value == PASS_NEEDED ? NULL : json_object_new_int64(k->value));
}

static int list_passes_json(void)
{
	json_object *j = report_new("goalc", NULL);

	for (unsigned i = 0; i < npasses; i++) {
		json_object *e = report_case(j), *keys = json_object_new_array();

		report_text(e, "name", passes[i].name);
		report_text(e, "kind", pass_kind(&passes[i]));
		report_text(e, "help", passes[i].help);
		for (const struct pass_key *k = passes[i].keys; k->name; k++)
			add_key(keys, k);
		report_add(e, "keys", keys);
	}
	return report_print("goalc", j);
}

int goalc_list_passes(const struct goalc *c)
{
	if (c->json)
		return list_passes_json();
	for (unsigned i = 0; i < npasses; i++) {
		printf("%-16s %-7s %s\n", passes[i].name, pass_kind(&passes[i]), passes[i].help);
		for (const struct pass_key *k = passes[i].keys; k->name; k++) {
			char form[32];

			snprintf(form, sizeof form, "%s=%s%s%s", k->name, k->words ? "WORD" : "N", k->word ? "|" : "",
				 k->word ? k->word : "");
			if (k->several) {
				printf("  %s=%-*s %s\n", k->name, 21 - (int)strlen(k->name), "N[.N...]", k->help);
				continue;
			}
			printf("  %-22s %s; ", form, k->help);
			if (k->value == PASS_NEEDED)
				printf("always needed\n");
			else if (k->words) /* the first word is the default */
				printf("default %.*s\n", (int)strcspn(k->words, "|"), k->words);
			else
				printf("default %" PRId64 "\n", k->value);
		}
	}
	return option_flush("goalc");
}

/* ---- schedules ---- */

static int write_bytes(const struct goalc *c, const void *data, size_t len)
{
	if (c->output)
		return option_write(c->output, data, len) ? goalc_system_error(c->output) : EXIT_OK;
	fwrite(data, 1, len, stdout);
	return option_flush("goalc");
}

static int write_text(const struct goalc *c, const char *text)
{
	return write_bytes(c, text, strlen(text));
}

struct stats_row {
	const char *key;
	uint64_t value;
};

static json_object *stats_json(const struct goalc *c, const struct ir_graph *g, const struct ir_stats *st,
			       const struct stats_row *rows, size_t n)
{
	json_object *report = report_new("goalc", option_source(c->input)), *j = report_case(report);

	for (size_t i = 0; i < n; i++)
		report_int(j, rows[i].key, (int64_t)rows[i].value);
	report_add(j, "depth", st->has_depth ? json_object_new_int64((int64_t)st->depth) : NULL);
	if (st->has_ready) {
		report_int(j, "safe", (int64_t)st->safe);
		report_int(j, "ready", (int64_t)st->ready);
	}
	if (g->queues)
		report_add(j, "queues", print_json_queue_needs(g));
	return report;
}

static void stats_lines(struct text *out, const struct ir_graph *g, const struct ir_stats *st, const struct stats_row *rows,
			size_t n)
{
	for (size_t i = 0; i < n; i++)
		text_add(out, "%-8s %" PRIu64 "\n", rows[i].key, rows[i].value);
	if (st->has_depth)
		text_add(out, "%-8s %" PRIu64 "\n", "depth", st->depth);
	else
		text_add(out, "%-8s none: there are wildcards or a deadlock\n", "depth");
	if (st->has_ready)
		text_add(out, "%-8s %" PRIu64 "\n%-8s %" PRIu64 "\n", "safe", st->safe, "ready", st->ready);
	if (g->queues)
		print_queue_needs(out, g);
}

static int stats_text(const struct goalc *c, const struct ir_graph *g, char **out)
{
	struct ir_stats st;
	int err = print_stats(g, &st);
	const struct stats_row rows[] = {
		{ "ranks", st.ranks },	 { "sends", st.sends },	    { "recvs", st.recvs }, { "calcs", st.calcs },
		{ "copies", st.copies }, { "reduces", st.reduces }, { "nops", st.nops },   { "bytes", st.bytes },
		{ "edges", st.edges },
	};
	const size_t n = sizeof rows / sizeof *rows;
	struct text text = { 0 };

	if (err == -ERR_OVERFLOW) {
		goal_diag(c->diags, GOAL_ERROR, (struct goal_loc){ .file = 0 }, NULL, "all sends together have more than %" PRId64 " bytes", INT64_MAX);
		return -ERR_SYNTAX;
	}
	if (err)
		return err;
	if (c->json)
		return report_take(stats_json(c, g, &st, rows, n), out);
	stats_lines(&text, g, &st, rows, n);
	return text_take(&text, out);
}

/* Makes the Promela program of a schedule's command queues. A schedule without queues is an error. */
static int promela_text(struct goalc *c, const struct ir_graph *g, char **out)
{
	int err = checks_run(c->diags, g, CHECK_RUN, 0);

	if (!err && !g->queues)
		goal_diag(c->diags, GOAL_ERROR, (struct goal_loc){ .file = 0 }, NULL,
			  "the schedule has no command queues, which a model in Promela is made of: apply -T lower-smcq");
	if (err || goal_diags_errors(c->diags))
		return err ? err : -ERR_SYNTAX;
	return print_promela(g, out);
}

static int schedule_text(struct goalc *c, const struct bin *b, const struct ir_graph *g, char **out)
{
	switch (c->action) {
	case STATS:
		return stats_text(c, g, out);
	case EMIT_GOAL:
		return print_goal(g, out);
	case EMIT_DOT:
		return print_dot(b, g, out);
	case EMIT_JSON:
		return print_json(b, g, out);
	case EMIT_PROMELA:
		return promela_text(c, g, out);
	default:
		return print_dump(b, g->ranks ? g : NULL, out);
	}
}

/* Makes what LogGOPSim reads, in *out, and its length. */
static int loggopsim_bytes(struct goalc *c, const struct ir_graph *g, char **out, size_t *len)
{
	struct text why = { 0 };
	void *image = NULL;
	int err = loggopsim_write(g, &image, len, &why);

	if (err == -ERR_RANGE) {
		goal_diag(c->diags, GOAL_ERROR, (struct goal_loc){ .file = 0 }, NULL, "%s", why.at ? why.at : err_text(err));
		err = -ERR_SYNTAX;
	}
	free(why.at);
	*out = image;
	return err;
}

/* Makes what the action prints, in *out, and its length. */
static int schedule_bytes(struct goalc *c, const struct bin *b, const struct ir_graph *g, char **out, size_t *len)
{
	int err;

	if (c->action == EMIT_LOGGOPSIM)
		return loggopsim_bytes(c, g, out, len);
	err = schedule_text(c, b, g, out);
	*len = err ? 0 : strlen(*out);
	return err;
}

/* Makes the graph of all ranks, unless their number is unknown. Returns -ERR_SYNTAX after reporting an error. */
static int make_graph(struct goalc *c, const struct bin *b, struct arg_rows *rows, struct ir_graph *g)
{
	const struct compile_options o = goalc_compile_options(c);
	const int64_t nranks = c->sizes.first;
	const bool parametric = b->meta->flags & BIN_F_PARAMETRIC;
	struct bin_args args = { .size = parametric ? (uint32_t)nranks : b->meta->nranks, .count = -1, .most_ops = c->most_ops };
	int err = arg_rows_init(rows, b, args.size ? args.size : 1);

	err = err ? err : arg_rows_define(rows, c->diags, 0, b, o.defines, c->fixed ? 0 : o.ndefines, &args.count);
	if (err)
		return err;
	if (nranks && !parametric && nranks != b->meta->nranks) {
		goal_diag(c->diags, GOAL_ERROR, (struct goal_loc){ .file = 0 }, NULL,
			  "the schedule is for %u ranks, not for %" PRId64, b->meta->nranks, nranks);
		return -ERR_SYNTAX;
	}
	if (args.count < 0)
		args.count = b->meta->count >= 0 ? b->meta->count : 1;
	args.args = rows->by_rank[0];
	args.by_rank = rows->by_rank;
	return nranks || !parametric ? compile_graph(c->diags, 0, b, &args, g) : 0;
}

int goalc_show_schedule(struct goalc *c)
{
	struct arg_rows rows = { 0 };
	struct ir_graph g = { 0 };
	struct bin b;
	char *bytes = NULL;
	size_t len;
	int err = bin_open(&b, c->image, c->size), rc = EXIT_FAULT;

	if (!err && b.meta->flags & BIN_F_PARAMETRIC && !c->sizes.first && c->action != DUMP)
		return usage("the schedule is parametric: give the number of ranks with -n");
	err = err ? err : make_graph(c, &b, &rows, &g);
	err = err ? err : schedule_bytes(c, &b, &g, &bytes, &len);
	if (!err)
		rc = write_bytes(c, bytes, len);
	if (err == -ERR_NOMEM)
		no_memory();
	free(bytes);
	arg_rows_fini(&rows);
	ir_graph_fini(&g);
	return rc;
}

/* ---- proofs ---- */

/* Adds the case of one size, with the values that -D gives as a range. */
static void add_size(json_object *j, const struct verify_proof *p, uint32_t ranks, const char *why)
{
	json_object *e = report_case(j), *values = NULL;

	report_int(e, "ranks", ranks);
	report_add(e, "verified", json_object_new_boolean(!why));
	report_text(e, "why", why);
	if (!p->r.varied)
		return;
	report_text(e, "parameter", p->r.varied);
	values = json_object_new_array();
	for (size_t i = 0; values && i < p->values.n; i++)
		json_object_array_add(values, json_object_new_int64(p->values.at[i]));
	report_add(e, "values", values);
}

static void add_sizes(json_object *j, const struct verify_proof *p)
{
	for (size_t i = 0; i < p->r.sizes.n; i++)
		add_size(j, p, p->r.sizes.at[i], NULL);
	for (size_t i = 0; i < p->r.ruled_out.n; i++)
		add_size(j, p, p->r.ruled_out.at[i], "assertions of the schedule");
	for (size_t i = 0; i < p->r.unsuited.n; i++)
		add_size(j, p, p->r.unsuited.at[i], "no sample has vectors of its lengths");
}

int goalc_verified_json(const struct goalc *c, const struct bin *b, const struct verify_proofs *all, const char *said, char **out)
{
	const char *name = b ? bin_str(b, b->meta->implements) : "";
	json_object *j = report_new("goalc", option_source(c->input));
	const struct verify_result *most = NULL;
	uint64_t cases = 0;
	bool differ = false;

	for (size_t i = 0; i < all->v.n; i++) {
		const struct verify_result *r = &all->v.at[i].r;

		cases += r->cases;
		differ |= r->brackets.differ;
		most = most && most->report.messages >= r->report.messages ? most : r;
	}
	report_add(j, "verified", json_object_new_boolean(said != NULL));
	report_text(j, "collective", *name ? name : NULL);
	report_add(j, "claim", json_object_new_boolean(most && most->claims));
	report_int(j, "proved", (int64_t)cases);
	if (most && most->brackets.any)
		report_add(j, "reproducible", json_object_new_boolean(!differ));
	report_int(j, "messages", most ? (int64_t)most->report.messages : 0);
	report_int(j, "safe", most ? (int64_t)most->report.safe : 0);
	report_int(j, "ready", most ? (int64_t)most->report.ready : 0);
	for (size_t i = 0; i < all->v.n; i++)
		add_sizes(j, &all->v.at[i]);
	report_text(j, "text", said);
	return report_take(j, out);
}

/* ---- selection and model ---- */

/* Sets the properties of the call that -D gives. */
static int define_call(const struct goalc *c, struct select_call *call)
{
	bool core = false, cache = false, nodes = false;

	for (size_t i = 0; i < c->defines.v.n; i++) {
		const struct define *d = &c->defines.v.at[i];

		if (d->n != 1 || d->value[0] < 0 || d->rank >= 0)
			return usage("-D %s is one number of at least 0 here", d->name);
		if (!strcmp(d->name, "bytes"))
			call->bytes = (uint64_t)d->value[0];
		else if (!strcmp(d->name, "commutative") && d->value[0] <= 1)
			call->op = d->value[0] ? SELECT_COMMUTATIVE : SELECT_ANY_OP;
		else if (!strcmp(d->name, "commutative"))
			return usage("-D commutative is 0 or 1");
		else if (!strcmp(d->name, "nodes"))
			nodes = d->value[0] > 1;
		else if (!strcmp(d->name, "cache") && d->value[0] <= 1)
			cache = d->value[0];
		else if (!strcmp(d->name, "core") && d->value[0] <= 1)
			core = d->value[0];
		else if (!strcmp(d->name, "cache") || !strcmp(d->name, "core"))
			return usage("-D %s is 0 or 1", d->name);
		else if (!strcmp(d->name, "reproducible") && d->value[0] <= 1)
			call->reproducible = d->value[0] && collective_reduces(c->collective);
		else if (!strcmp(d->name, "reproducible"))
			return usage("-D reproducible is 0 or 1");
		else
			return usage("with --select, -D is bytes, commutative, reproducible, nodes, cache or core, not %s", d->name);
	}
	call->sharing = nodes ? SELECT_SHARE_NOTHING : core ? SELECT_SHARE_CORE : cache ? SELECT_SHARE_CACHE : SELECT_SHARE_NODE;
	return 0;
}

static void print_row(const struct select *s, const struct select_row *row)
{
	printf("%s:%u: %.*s\n", s->tables.at[row->table].path, row->at.line, (int)row->len, row->text);
}

/* Prints the call, and the row that serves it. */
static int print_row_json(const struct select *s, const struct select_row *row, const struct select_call *call)
{
	json_object *j, *e;
	char *path;

	if (select_path(s, row, &path))
		return no_memory();
	j = report_new("goalc", path);
	e = report_case(j);
	report_text(e, "collective", call->collective);
	report_int(e, "ranks", (int64_t)call->ranks);
	report_int(e, "bytes", (int64_t)call->bytes);
	report_text(e, "table", s->tables.at[row->table].path);
	report_int(e, "line", row->at.line);
	report_text_part(e, "row", row->text, row->len);
	free(path);
	return report_print("goalc", j);
}

/* Prints the row that is selected for a call, as it is written in its table. */
int goalc_show_selected(struct goalc *c)
{
	struct select_call call = { .collective = c->collective, .ranks = (uint64_t)c->sizes.first, .op = SELECT_BUILTIN,
				    .topology = c->topology, .reproducible = select_asks(c->collective) };
	const struct select_row *row;
	struct select s;
	int err, rc = define_call(c, &call);

	if (rc)
		return rc;
	c->diags = goal_diags_new();
	err = c->diags ? select_load(c->diags, c->table ? c->table : env_get(ENV_GOAL_SELECT), &s) : -ERR_NOMEM;
	if (err) {
		if (c->diags)
			fputs(goal_diags_text(c->diags), stderr);
		return err == -ERR_NOMEM ? no_memory() : EXIT_FAULT;
	}
	row = select_find(&s, &call);
	if (row && c->json)
		rc = print_row_json(&s, row, &call);
	else if (row)
		print_row(&s, row);
	else
		fprintf(stderr, "goalc: no row of %s is for this call\n", s.tables.at[s.tables.n - 1].path);
	select_free(&s);
	return !row ? EXIT_FAULT : rc ? rc : option_flush("goalc");
}

int goalc_show_model(const struct goalc *c)
{
	const struct model *m = &c->model;
	const uint32_t first = (uint32_t)c->model_sizes.first, last = (uint32_t)c->model_sizes.last;
	char *text = NULL, *svg = NULL;
	int err = c->json ? print_model_json(m, first, last, &text) : print_model_text(m, first, last, &text);
	int rc;

	err = err || !c->svg ? err : print_model_svg(m, first, last, &svg);
	rc = err ? no_memory() : EXIT_OK;
	if (!rc && svg && option_write(c->svg, svg, strlen(svg)))
		rc = goalc_system_error(c->svg);
	rc = rc ? rc : write_text(c, text);
	free(svg);
	free(text);
	return rc;
}
