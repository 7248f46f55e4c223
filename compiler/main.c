/* SPDX-License-Identifier: BSD-3-Clause
 * goalc: options, and the pipeline as straight-line calls. See goalc(1). */
#include "compiler/collectives/collective.h"
#include "compiler/collectives/names.h"
#include "compiler/compile.h"
#include "compiler/passes/passes.h"
#include "compiler/print/print.h"
#include "compiler/print/print_model.h"
#include "compiler/print/print_promela.h"
#include "compiler/print/print_queues.h"
#include "compiler/select.h"
#include "compiler/verify_cases.h"
#include "util/env.h"
#include "util/err.h"
#include "util/file.h"
#include "util/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum action { COMPILE, VERIFY, STATS, DUMP, EMIT_GOAL, EMIT_DOT, EMIT_JSON, EMIT_PROMELA, SELECT, MODEL,
	      LIST_CHECKS, LIST_PASSES, HELP, VERSION };

enum model_option { MODEL_NAME, MODEL_NODE, MODEL_SHAPE, MODEL_RANKS, MODEL_TREE, MODEL_RATIO, MODEL_COMPUTE };

struct goalc {
	enum action action;
	const char *asked; /* the option that asks for it, or NULL */
	const char *of_select, *of_model; /* an option that goes with these alone, or NULL */
	const char *input, *output;
	const char *collective, *table; /* --select */
	enum select_topology topology;
	struct model model; /* --model */
	int64_t model_ranks, model_last; /* 0: all */
	const char *svg;
	int64_t nranks, last; /* last: of a range of sizes */
	uint32_t most_ops; /* of a rank */
	bool json, debug;
	struct defines defines;
	char *passes;
	uint64_t checks_off;
	/* working state */
	bool fixed; /* what -D gives is in the image already */
	struct goal_diags *diags;
	struct ir_locs locs;
	bool binary;
	struct file in;
	void *image;
	size_t size;
};

static const char usage_text[] =
	"usage: goalc SRC.goal -o OUT.bin [-n RANKS] [-g] [-D name=value[,value...]]... [-T pass[:key=value,...]]... "
	"[-W[no-]check]...\n"
	"       goalc --stats [--json] | --dump | --emit=goal|dot|json|promela  SRC|BIN [-n RANKS] [-o FILE]\n"
	"       goalc --verify  SRC|BIN [-n A|A-B] [-D name=value[,value...]]... [-T pass]... [-o OUT.bin]\n"
	"       goalc --select COLLECTIVE -n RANKS [-D bytes=N] [-D commutative=0|1] [--topology cart|graph] "
	"[--table FILE]\n"
	"       goalc --model split-tree --cores P [--shape constant|growing] [--ranks A-B] [--tree k=K]\n"
	"             [--ratio R] [--compute T] [--json] [--svg FILE] [-o FILE]\n"
	"       goalc --list-passes | --list-checks\n";

#define usage(...) option_usage("goalc", usage_text, __VA_ARGS__)
#define not_built(what) option_not_built("goalc", what)

static int no_memory(void)
{
	return option_no_memory("goalc");
}

static int add_pass(struct goalc *c, const char *arg)
{
	struct text why = { 0 };

	return option_result("goalc", usage_text, passes_add(&c->passes, arg, &why), &why);
}

static int set_check(struct goalc *c, const char *arg)
{
	bool off = !strncmp(arg, "no-", 3);
	int i = check_find(off ? arg + 3 : arg);

	if (i < 0)
		return usage("there is no check %s", off ? arg + 3 : arg);
	if (off && checks[i].fixed)
		return usage("the check %s cannot be turned off", checks[i].name);
	if (off)
		c->checks_off |= (uint64_t)1 << i;
	else
		c->checks_off &= ~((uint64_t)1 << i);
	return 0;
}

#define MODEL_CORES 4096 /* as many as goalrun has ranks */

/* One command does one thing. */
static int set_action(struct goalc *c, enum action action, const char *option)
{
	if (c->asked && c->action != action)
		return usage("--%s does not go with --%s", option, c->asked);
	c->action = action;
	c->asked = option;
	return 0;
}

static int set_emit(struct goalc *c, const char *what)
{
	static const struct {
		const char *word, *option;
		enum action action;
	} forms[] = {
		{ "goal", "emit=goal", EMIT_GOAL },
		{ "dot", "emit=dot", EMIT_DOT },
		{ "json", "emit=json", EMIT_JSON },
		{ "promela", "emit=promela", EMIT_PROMELA },
	};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (!strcmp(what, forms[i].word))
			return set_action(c, forms[i].action, forms[i].option);
	if (!strcmp(what, "loggopsim"))
		return not_built(what);
	return usage("--emit makes goal, dot, json or promela, not %s", what);
}

/* An option of the model; its struct is the paper's until then. */
static int set_model(struct goalc *c, enum model_option which, const char *arg)
{
	struct model *m = &c->model;
	int64_t n;

	switch (which) {
	case MODEL_NAME:
		return strcmp(arg, "split-tree") ? usage("there is no model %s, but split-tree", arg) :
						   set_action(c, MODEL, "model");
	case MODEL_NODE:
		if (!option_number(arg, 3, MODEL_CORES, &n))
			return usage("--cores takes a number from 3 to %d, not %s", MODEL_CORES, arg);
		m->cores = (uint32_t)n;
		return 0;
	case MODEL_SHAPE:
		m->growing = !strcmp(arg, "growing");
		return m->growing || !strcmp(arg, "constant") ? 0 : usage("--shape is constant or growing, not %s", arg);
	case MODEL_RANKS:
		return option_range(arg, 2, MODEL_CORES, &c->model_ranks, &c->model_last) ?
			       0 :
			       usage("--ranks takes A or A-B, from 2 on, not %s", arg);
	case MODEL_TREE:
		if (strncmp(arg, "k=", 2) != 0 || !option_number(arg + 2, 2, MODEL_CORES, &n))
			return usage("--tree takes k=K, with K from 2 to %d, not %s", MODEL_CORES, arg);
		m->k = (uint32_t)n;
		return 0;
	case MODEL_RATIO:
		return option_decimal(arg, 1e-6, 1e6, &m->ratio) ? 0 : usage("--ratio takes a factor, not %s", arg);
	default:
		return option_decimal(arg, 0, 1e12, &m->compute) ? 0 : usage("--compute takes a time, not %s", arg);
	}
}

static int check_model(struct goalc *c)
{
	if (!c->model.cores)
		return usage("--model needs the cores of the node: --cores");
	if (!c->model_ranks) {
		c->model_ranks = 2;
		c->model_last = c->model.cores - 1;
	}
	if (c->model_last >= c->model.cores)
		return usage("--ranks has to leave a core of %u for communication", c->model.cores);
	return 0;
}

/* What goes with what; rest: what is no option. */
static int check_options(struct goalc *c, int nrest, char **rest)
{
	const char *file = c->action == SELECT ? "--select" : c->action == MODEL ? "--model" : NULL;

	if (c->of_select && c->action != SELECT)
		return usage("--%s goes with --select", c->of_select);
	if (c->of_model && c->action != MODEL)
		return usage("--%s goes with --model", c->of_model);
	if (c->json && c->action != STATS && c->action != MODEL)
		return usage("--json goes with --stats or --model");
	if (c->action == LIST_CHECKS || c->action == LIST_PASSES)
		return nrest ? usage("--%s takes no input file", c->asked) : 0;
	if (c->last != c->nranks && c->action != VERIFY)
		return usage("-n takes a number of ranks; a range is for --verify");
	if (file && nrest)
		return usage("%s takes no input file", file);
	if (file && (c->passes || c->debug || c->checks_off))
		return usage("%s takes none of -T, -g and -W", file);
	if (c->action == SELECT)
		return c->output ? usage("--select prints a row: -o does not go with it") : 0;
	if (c->action == MODEL)
		return c->nranks || c->defines.v.n ? usage("--model takes neither -n nor -D") : check_model(c);
	if (c->svg)
		return not_built("svg");
	if (nrest != 1)
		return usage(nrest ? "more than one input file" : "no input file");
	c->input = rest[0];
	if (c->action == VERIFY && c->output && (c->defines.v.n || (c->passes && passes_global(c->passes))))
		return usage("what --verify writes is for all values: -D and global passes do not go with -o");
	if (c->action == COMPILE && !c->output)
		return usage("no output file: use -o");
	return 0;
}

static int parse_options(struct goalc *c, int argc, char **argv)
{
	enum { O_STATS = 256, O_DUMP, O_EMIT, O_JSON, O_CHECKS, O_PASSES, O_VERIFY, O_SELECT, O_TABLE, O_TOPOLOGY,
	       O_SVG, O_HELP, O_VERSION, O_MODEL /* and those of enum model_option */ };
	static const struct option longs[] = {
		{ "stats", no_argument, NULL, O_STATS },
		{ "dump", no_argument, NULL, O_DUMP },
		{ "emit", required_argument, NULL, O_EMIT },
		{ "json", no_argument, NULL, O_JSON },
		{ "list-checks", no_argument, NULL, O_CHECKS },
		{ "list-passes", no_argument, NULL, O_PASSES },
		{ "verify", no_argument, NULL, O_VERIFY },
		{ "select", required_argument, NULL, O_SELECT },
		{ "table", required_argument, NULL, O_TABLE },
		{ "topology", required_argument, NULL, O_TOPOLOGY },
		{ "svg", required_argument, NULL, O_SVG },
		{ "model", required_argument, NULL, O_MODEL + MODEL_NAME },
		{ "cores", required_argument, NULL, O_MODEL + MODEL_NODE },
		{ "shape", required_argument, NULL, O_MODEL + MODEL_SHAPE },
		{ "ranks", required_argument, NULL, O_MODEL + MODEL_RANKS },
		{ "tree", required_argument, NULL, O_MODEL + MODEL_TREE },
		{ "ratio", required_argument, NULL, O_MODEL + MODEL_RATIO },
		{ "compute", required_argument, NULL, O_MODEL + MODEL_COMPUTE },
		{ "help", no_argument, NULL, O_HELP },
		{ "version", no_argument, NULL, O_VERSION },
		{ NULL, 0, NULL, 0 },
	};
	int opt, at, err = 0;

	opterr = 0;
	while (!err && (opt = getopt_long(argc, argv, "o:n:gD:T:W:", longs, &at)) != -1) {
		switch (opt) {
		case 'o':
			c->output = optarg;
			break;
		case 'n':
			if (!option_range(optarg, 1, 1 << 28, &c->nranks, &c->last))
				err = usage("-n takes a number of ranks, not %s", optarg);
			break;
		case 'g':
			c->debug = true;
			break;
		case 'D':
			if (!option_define(&c->defines, optarg))
				err = usage("-D takes name=value[,value...], not %s", optarg);
			break;
		case 'T':
			err = add_pass(c, optarg);
			break;
		case 'W':
			err = set_check(c, optarg);
			break;
		case O_STATS:
			err = set_action(c, STATS, "stats");
			break;
		case O_DUMP:
			err = set_action(c, DUMP, "dump");
			break;
		case O_EMIT:
			err = set_emit(c, optarg);
			break;
		case O_JSON:
			c->json = true;
			break;
		case O_CHECKS:
			err = set_action(c, LIST_CHECKS, "list-checks");
			break;
		case O_PASSES:
			err = set_action(c, LIST_PASSES, "list-passes");
			break;
		case O_VERIFY:
			err = set_action(c, VERIFY, "verify");
			break;
		case O_SELECT:
			err = set_action(c, SELECT, "select");
			c->collective = optarg;
			break;
		case O_TABLE:
			c->of_select = "table";
			c->table = optarg;
			if (!*optarg)
				err = usage("--table takes the path of a table");
			break;
		case O_TOPOLOGY:
			c->of_select = "topology";
			if (!select_topology(optarg, &c->topology))
				err = usage("--topology is any, cart or graph, not %s", optarg);
			break;
		case O_SVG:
			c->svg = optarg;
			break;
		case O_HELP:
			c->action = HELP;
			return 0;
		case O_VERSION:
			c->action = VERSION;
			return 0;
		default:
			if (opt < O_MODEL)
				return usage("unknown option or missing argument: %s", argv[optind - 1]);
			if (opt > O_MODEL)
				c->of_model = longs[at].name;
			err = set_model(c, (enum model_option)(opt - O_MODEL), optarg);
		}
	}
	return err || c->action == HELP || c->action == VERSION ? err : check_options(c, argc - optind, argv + optind);
}

static int system_error(const char *path)
{
	fprintf(stderr, "goalc: %s: %s\n", path, file_why(errno));
	return EXIT_FAULT;
}

/* After the last printf: what the shell is told also depends on whether all of it arrived. */
static int flush_stdout(void)
{
	return fflush(stdout) || ferror(stdout) ? system_error("standard output") : EXIT_OK;
}

static int list_checks(void)
{
	static const char *const levels[] = { "off", "warning", "error" };

	printf("%-16s %-8s %-10s %s\n", "check", "plain", "parametric", "what it makes sure of");
	for (unsigned i = 0; i < nchecks; i++)
		printf("%-16s %-8s %-10s %s\n", checks[i].name, levels[checks[i].level[CHECK_PLAIN]],
		       levels[checks[i].level[CHECK_PARAMETRIC]], checks[i].help);
	return flush_stdout();
}

static int list_passes(void)
{
	for (unsigned i = 0; i < npasses; i++) {
		printf("%-16s %-7s %s\n", passes[i].name, passes[i].local ? "local" : passes[i].text ? "text" : "global",
		       passes[i].help);
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
			else if (k->words) /* the first one */
				printf("default %.*s\n", (int)strcspn(k->words, "|"), k->words);
			else
				printf("default %" PRId64 "\n", k->value);
		}
	}
	return flush_stdout();
}

static int print_text(const char *text)
{
	fputs(text, stdout);
	return flush_stdout();
}

static struct compile_options to_options(const struct goalc *c)
{
	return (struct compile_options){ .nranks = (uint32_t)c->nranks,
					 .debug = c->debug,
					 .defines = c->defines.v.at,
					 .ndefines = c->defines.v.n,
					 .passes = c->passes,
					 .checks_off = c->checks_off,
					 .writes = c->action == COMPILE,
					 .most_ops = c->most_ops };
}

static bool is_binary(const struct goalc *c)
{
	unsigned char first;

	return file_at(&c->in, 0, &first, 1) == 1 && first == 0x89;
}

/* Makes c->image from the input: a binary is checked, a text compiled. */
static int load_input(struct goalc *c)
{
	struct compile_options o = to_options(c);
	int err;

	c->binary = is_binary(c);
	if (c->binary) {
		if (c->action == COMPILE) {
			goal_diag(c->diags, GOAL_ERROR, (struct goal_loc){ .file = 0 }, NULL,
				  "this is a binary already");
			return -ERR_SYNTAX;
		}
		err = file_load(&c->in);
		if (err)
			return err;
		err = bin_check(c->in.data, c->in.len);
		c->image = c->in.data;
		c->size = c->in.len;
		c->in.data = NULL;
		if (err)
			goal_diag(c->diags, GOAL_ERROR, (struct goal_loc){ .file = 0 }, NULL, "%s",
				  err_text(err));
		return err;
	}
	o.prove = c->action == COMPILE;
	if (c->action != COMPILE) { /* sizes and values come in when it is printed */
		o.debug = true;
		c->fixed = c->action != VERIFY && c->passes && passes_global(c->passes);
		if (c->action == VERIFY) { /* which checks more than checks do */
			o.unchecked = true;
			o.checks_off = UINT64_MAX;
			o.locs = &c->locs;
			o.only_text = !c->output && !goal_text_is_plain(&c->in);
		}
		o.parametric = !c->fixed && c->nranks;
		o.count = 1; /* is shown where none is given */
		if (!c->fixed && (c->action == VERIFY || !c->nranks) && !goal_text_is_plain(&c->in)) {
			o.nranks = 0;
			o.ndefines = 0;
		}
	}
	return compile_file(c->diags, c->input, &c->in, &o, &c->image, &c->size);
}

static int write_text(const struct goalc *c, const char *text)
{
	size_t len = strlen(text);

	if (c->output)
		return file_write(c->output, text, len) ? system_error(c->output) : EXIT_OK;
	fwrite(text, 1, len, stdout);
	return flush_stdout();
}

static int stats_text(const struct goalc *c, const struct ir_graph *g, char **out)
{
	struct ir_stats st;
	int err = print_stats(g, &st);
	const struct {
		const char *key;
		uint64_t value;
	} rows[] = {
		{ "ranks", st.ranks },	 { "sends", st.sends },	    { "recvs", st.recvs }, { "calcs", st.calcs },
		{ "copies", st.copies }, { "reduces", st.reduces }, { "nops", st.nops },   { "bytes", st.bytes },
		{ "edges", st.edges },
	};
	struct text needs = { 0 };
	json_object *j;
	char *p, *more = NULL;
	size_t len;
	FILE *f;

	if (err)
		return err;
	f = open_memstream(&p, &len);
	if (!f)
		return -ERR_NOMEM;
	if (c->json) {
		j = json_object_new_object();
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			json_object_object_add(j, rows[i].key, json_object_new_int64((int64_t)rows[i].value));
		json_object_object_add(j, "depth",
				       st.has_depth ? json_object_new_int64((int64_t)st.depth) : NULL);
		if (st.has_ready) {
			json_object_object_add(j, "safe", json_object_new_int64((int64_t)st.safe));
			json_object_object_add(j, "ready", json_object_new_int64((int64_t)st.ready));
		}
		if (g->queues)
			json_object_object_add(j, "queues", print_json_queue_needs(g));
		fprintf(f, "%s\n", json_object_to_json_string_ext(j, JSON_C_TO_STRING_SPACED));
		json_object_put(j);
	} else {
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			fprintf(f, "%-8s %" PRIu64 "\n", rows[i].key, rows[i].value);
		if (st.has_depth)
			fprintf(f, "%-8s %" PRIu64 "\n", "depth", st.depth);
		else
			fprintf(f, "%-8s none: there are wildcards or a deadlock\n", "depth");
		if (st.has_ready)
			fprintf(f, "%-8s %" PRIu64 "\n%-8s %" PRIu64 "\n", "safe", st.safe, "ready", st.ready);
		if (g->queues) {
			print_queue_needs(&needs, g);
			err = text_take(&needs, &more);
			fputs(err ? "" : more, f);
			free(more);
		}
	}
	if (fclose(f) && !err)
		err = -ERR_NOMEM;
	if (err)
		free(p);
	else
		*out = p;
	return err;
}

/* A model of a lowered schedule; of any other there is nothing to be said. */
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

/* Prints what was asked for, for all ranks. */
static int print_output(struct goalc *c)
{
	struct compile_options o = to_options(c);
	struct arg_rows rows = { 0 };
	struct bin_args args = { .size = (uint32_t)c->nranks, .count = -1, .most_ops = c->most_ops };
	struct ir_graph g = { 0 };
	struct bin b;
	char *text = NULL;
	int err = bin_open(&b, c->image, c->size), rc = EXIT_FAULT;
	bool parametric = !err && (b.meta->flags & BIN_F_PARAMETRIC);

	if (err)
		goto out;
	if (c->fixed)
		o.ndefines = 0;
	if (parametric && !c->nranks && c->action != DUMP) {
		rc = usage("the schedule is parametric: give the number of ranks with -n");
		goto out;
	}
	if (!parametric)
		args.size = b.meta->nranks;
	err = arg_rows_init(&rows, &b, args.size ? args.size : 1);
	err = err ? err : arg_rows_define(&rows, c->diags, 0, &b, o.defines, o.ndefines, &args.count);
	if (!err && c->nranks && !parametric && c->nranks != b.meta->nranks) {
		goal_diag(c->diags, GOAL_ERROR, (struct goal_loc){ .file = 0 }, NULL,
			  "the schedule is for %u ranks, not for %" PRId64, b.meta->nranks, c->nranks);
		goto out;
	}
	if (args.count < 0)
		args.count = b.meta->count >= 0 ? b.meta->count : 1;
	args.args = err ? NULL : rows.by_rank[0];
	args.by_rank = rows.by_rank;
	if (!err && (c->nranks || !parametric))
		err = compile_graph(c->diags, 0, &b, &args, &g);
	if (err)
		goto out;
	switch (c->action) {
	case STATS:
		err = stats_text(c, &g, &text);
		break;
	case EMIT_GOAL:
		err = print_goal(&g, &text);
		break;
	case EMIT_DOT:
		err = print_dot(&g, &text);
		break;
	case EMIT_JSON:
		err = print_json(&b, &g, &text);
		break;
	case EMIT_PROMELA:
		err = promela_text(c, &g, &text);
		break;
	default:
		err = print_dump(&b, g.ranks ? &g : NULL, &text);
	}
	if (!err)
		rc = write_text(c, text);
out:
	if (err == -ERR_NOMEM)
		fprintf(stderr, "goalc: %s\n", err_text(err));
	free(text);
	arg_rows_fini(&rows);
	ir_graph_fini(&g);
	return rc;
}

/* A line on the terminal, while it takes. */
static void show_size(uint32_t size)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, size ? "\rgoalc: %u ranks\033[K" : "\r\033[K", size);
}

/* Writes the binary, with what is proved of it. */
static int write_proved(const struct goalc *c, const struct verify_result *r)
{
	size_t size;
	void *image;
	int err = bin_record(c->image, c->size, r->sizes.at, r->sizes.n, &image, &size), rc = EXIT_OK;

	if (err)
		return no_memory();
	if (file_write(c->output, image, size))
		rc = system_error(c->output);
	free(image);
	return rc;
}

/* The verifier goes by all checks. */
static void tell_ignored(const struct goalc *c)
{
	for (unsigned i = 0; i < nchecks; i++)
		if (c->checks_off >> i & 1)
			goal_diag(c->diags, GOAL_WARNING, (struct goal_loc){ .file = 0 }, NULL,
				  "-Wno-%s has no effect: --verify proves a schedule by all checks", checks[i].name);
}

/* Each case takes the memory of the one before, which the system would have to clear again if it got it back between. */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	mallopt(M_TOP_PAD, 4 << 20);
}

static int verify_input(struct goalc *c)
{
	struct verify_asked asked = { .file = !c->binary, /* whose lines are there to be shown */
				      .first = (uint32_t)c->nranks,
				      .last = (uint32_t)c->last,
				      .most_ops = c->most_ops,
				      .defines = c->defines.v.at,
				      .ndefines = c->defines.v.n,
				      .locs = c->locs.v.at,
				      .progress = show_size };
	struct verify_result result = { 0 };
	char *text = NULL;
	struct bin b;
	int err = bin_open(&b, c->image, c->size), rc = EXIT_FAULT;

	keep_memory();
	tell_ignored(c);
	if (!err && b.meta->nranks && c->nranks && (c->nranks != b.meta->nranks || c->last != c->nranks)) {
		goal_diag(c->diags, GOAL_ERROR, (struct goal_loc){ .file = 0 }, NULL, "the schedule is for %u ranks",
			  b.meta->nranks);
		err = -ERR_SYNTAX;
	}
	asked.passes = c->locs.v.n && !c->output && c->passes ? passes_on_ops(c->passes) : NULL;
	err = err ? err : verify_cases(c->diags, &b, &asked, &result);
	show_size(0);
	err = err ? err : verify_text(&b, c->input, &result, &text);
	if (!err)
		rc = c->output ? write_proved(c, &result) : EXIT_OK;
	if (!err && !rc) {
		fputs(text, stdout);
		rc = flush_stdout();
	}
	if (err == -ERR_NOMEM)
		no_memory();
	verify_result_fini(&result);
	free(text);
	return rc;
}

static int run_action(struct goalc *c)
{
	int err, rc = EXIT_FAULT;
	long most;

	if (env_number(ENV_GOAL_MAX_OPS, &most))
		return usage("the environment variable GOAL_MAX_OPS cannot be \"%s\"", env_get(ENV_GOAL_MAX_OPS));
	c->most_ops = ir_most_ops(most);
	c->diags = goal_diags_new();
	if (!c->diags)
		return no_memory();
	err = file_open(c->input, &c->in);
	if (err)
		return err == -ERR_NOMEM ? no_memory() : system_error(c->input);
	if (goal_diags_source(c->diags, c->input, NULL, 0) < 0)
		return no_memory();
	err = load_input(c);
	if (!err && c->action == COMPILE)
		rc = file_write(c->output, c->image, c->size) ? system_error(c->output) : EXIT_OK;
	else if (!err)
		rc = c->action == VERIFY ? verify_input(c) : print_output(c);
	else if (err == -ERR_SYS)
		system_error(c->input);
	else if (!goal_diags_errors(c->diags))
		fprintf(stderr, "goalc: %s: %s\n", c->input, err_text(err));
	fputs(goal_diags_text(c->diags), stderr);
	return rc;
}

/* Prints the row of the table for a call, as it stands there. */
static int show_selected(struct goalc *c)
{
	struct select_call call = { c->collective, (uint64_t)c->nranks, 0, SELECT_BUILTIN, c->topology };
	const struct select_row *row;
	struct select s;
	int err;

	if (!collective_known(c->collective))
		return usage("there is no collective %s", c->collective);
	if (!c->nranks)
		return usage("--select needs the number of ranks: -n");
	for (size_t i = 0; i < c->defines.v.n; i++) {
		const struct define *d = &c->defines.v.at[i];

		if (d->n != 1 || d->value[0] < 0 || d->rank >= 0)
			return usage("-D %s is one number of at least 0 here", d->name);
		if (!strcmp(d->name, "bytes"))
			call.bytes = (uint64_t)d->value[0];
		else if (!strcmp(d->name, "commutative") && d->value[0] <= 1)
			call.op = d->value[0] ? SELECT_COMMUTATIVE : SELECT_ANY_OP;
		else if (!strcmp(d->name, "commutative"))
			return usage("-D commutative is 0 or 1");
		else
			return usage("with --select, -D is bytes or commutative, not %s", d->name);
	}
	c->diags = goal_diags_new();
	err = c->diags ? select_load(c->diags, c->table ? c->table : env_get(ENV_GOAL_SELECT), &s) : -ERR_NOMEM;
	if (err) {
		if (c->diags)
			fputs(goal_diags_text(c->diags), stderr);
		return err == -ERR_NOMEM ? no_memory() : EXIT_FAULT;
	}
	row = select_find(&s, &call);
	if (row)
		printf("%s:%u: %.*s\n", s.tables.at[row->table].path, row->at.line, (int)row->len, row->text);
	else
		fprintf(stderr, "goalc: no row of %s is for this call\n", s.tables.at[s.tables.n - 1].path);
	select_free(&s);
	return row ? flush_stdout() : EXIT_FAULT;
}

static int show_model(const struct goalc *c)
{
	const struct model *m = &c->model;
	const uint32_t first = (uint32_t)c->model_ranks, last = (uint32_t)c->model_last;
	char *text = NULL, *svg = NULL;
	int err = c->json ? print_model_json(m, first, last, &text) : print_model_text(m, first, last, &text);
	int rc;

	err = err || !c->svg ? err : print_model_svg(m, first, last, &svg);
	rc = err ? no_memory() : EXIT_OK;
	if (!rc && svg && file_write(c->svg, svg, strlen(svg)))
		rc = system_error(c->svg);
	rc = rc ? rc : write_text(c, text);
	free(svg);
	free(text);
	return rc;
}

int main(int argc, char **argv)
{
	struct goalc c = { .in.fd = -1, .model = model_paper(0) };
	int rc = parse_options(&c, argc, argv);

	if (!rc && c.action == LIST_CHECKS)
		rc = list_checks();
	else if (!rc && c.action == LIST_PASSES)
		rc = list_passes();
	else if (!rc && c.action == SELECT)
		rc = show_selected(&c);
	else if (!rc && c.action == MODEL)
		rc = show_model(&c);
	else if (!rc && c.action == HELP)
		rc = print_text(usage_text);
	else if (!rc && c.action == VERSION)
		rc = print_text("goalc " GOAL_VERSION "\n");
	else if (!rc)
		rc = run_action(&c);
	goal_diags_free(c.diags);
	defines_free(&c.defines);
	free(c.passes);
	VEC_FREE(&c.locs.v);
	file_close(&c.in);
	free(c.image);
	return rc;
}
