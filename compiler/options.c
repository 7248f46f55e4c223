/* SPDX-License-Identifier: BSD-3-Clause
 * Parses the options of goalc(1). */
#include "compiler/collectives/names.h"
#include "compiler/goalc.h"
#include "compiler/passes/passes.h"
#include "util/env.h"
#include "util/nearest.h"

#include <string.h>
#include <unistd.h>

/* ---- arguments ---- */

static int set_action(struct goalc *c, enum action action, const char *option)
{
	if (c->asked && c->action != action)
		return usage("--%s does not go with --%s", option, c->asked);
	c->action = action;
	c->asked = option;
	return 0;
}

/* Takes an option that selects an action. The row's `min` is the action; an argument of the option goes to the row's field. */
static int take_action(const struct option_use *u)
{
	int rc = u->arg ? take_text(u) : 0;

	return rc ? rc : set_action(u->fields, (enum action)u->row->min, u->row->name);
}

static int take_emit(const struct option_use *u)
{
	static const struct {
		const char *word, *option;
		enum action action;
	} forms[] = {
		{ "goal", "emit=goal", EMIT_GOAL },
		{ "dot", "emit=dot", EMIT_DOT },
		{ "json", "emit=json", EMIT_JSON },
		{ "promela", "emit=promela", EMIT_PROMELA },
		{ "loggopsim", "emit=loggopsim", EMIT_LOGGOPSIM },
	};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (!strcmp(u->arg, forms[i].word))
			return set_action(u->fields, forms[i].action, forms[i].option);
	return option_refuse_word(u);
}

static int take_pass(const struct option_use *u)
{
	struct text why = { 0 };

	return option_result(u->program, passes_add(u->field, u->arg, &why), &why);
}

static int take_check(const struct option_use *u)
{
	const bool off = !strncmp(u->arg, "no-", 3);
	const int i = check_find(off ? u->arg + 3 : u->arg);
	uint64_t *checks_off = u->field;

	if (i < 0) {
		struct nearest n = { .word = off ? u->arg + 3 : u->arg };

		for (unsigned k = 0; k < nchecks; k++)
			nearest_name(&n, checks[k].name);
		return usage("there is no check %s%s", n.word, nearest_choices(&n));
	}
	if (off && checks[i].fixed)
		return usage("the check %s cannot be turned off", checks[i].name);
	if (off)
		*checks_off |= (uint64_t)1 << i;
	else
		*checks_off &= ~((uint64_t)1 << i);
	return 0;
}

/* Takes the argument of -n: a range, or the word all. */
static int take_sizes(const struct option_use *u)
{
	struct goalc *c = u->fields;

	c->every = !strcmp(u->arg, "all");
	if (!c->every)
		return take_range(u);
	c->sizes = (struct option_range){ 0 };
	return 0;
}

static int take_model(const struct option_use *u)
{
	return strcmp(u->arg, "split-tree") ? usage("there is no model %s, but split-tree", u->arg) :
						   set_action(u->fields, MODEL, u->row->name);
}

static int take_tree(const struct option_use *u)
{
	const struct option_row *r = u->row;
	int64_t k;

	if (strncmp(u->arg, "k=", 2) != 0 || !option_number(u->arg + 2, r->min, r->max, &k))
		return usage("--tree takes k=K, with K from %d to %d, not %s", (int)r->min, (int)r->max, u->arg);
	*(uint32_t *)u->field = (uint32_t)k;
	return 0;
}

/* ---- the table ---- */

#define MODEL_CORES 4096 /* the largest number of ranks of goalrun */
#define FIELD(f) .field = offsetof(struct goalc, f)
#define ACTION(what) .take = take_action, .min = what

static const struct option_row rows[] = {
	{ .letter = 'o', .arg = "FILE", .help = "write to this file", .take = take_text, FIELD(output), .without = "select|check-table|list-passes|list-checks" },
	{ .letter = 'n', .arg = "RANKS[-RANKS]|all", .help = "for this number of ranks; a range or all with --verify", .take = take_sizes,
	  FIELD(sizes), .min = 1, .max = 1 << 28, .without = "model|list-passes|list-checks" },
	{ .letter = 'g', .help = "keep names and source lines", FIELD(debug), .without = "select|check-table|model|list-passes|list-checks" },
	{ .letter = 'D', .arg = "NAME[@RANK]=VALUE[,VALUE...]", .help = "the value of a parameter; with --verify also a range A-B",
	  .take = take_define, FIELD(defines), .max = 1, .without = "check-table|model|list-passes|list-checks" },
	{ .letter = 'T', .arg = "PASS[:KEY=VALUE[,KEY=VALUE...]]", .help = "apply a pass", .take = take_pass, FIELD(passes),
	  .without = "select|check-table|model|list-passes|list-checks" },
	{ .letter = 'W', .arg = "[no-]CHECK", .help = "turn a check on, or off", .take = take_check, FIELD(checks_off),
	  .without = "select|check-table|model|list-passes|list-checks" },

	{ .help = "What is done instead of writing a binary:" },
	{ .name = "stats", .help = "print numbers about the schedule", ACTION(STATS) },
	{ .name = "dump", .help = "print what is in the binary", ACTION(DUMP) },
	{ .name = "emit", .arg = "goal|dot|json|promela|loggopsim", .help = "print the ops of all ranks in a form of other tools",
	  .take = take_emit },
	{ .name = "verify", .help = "prove that the schedule does what it says", ACTION(VERIFY) },
	{ .name = "select", .arg = "COLLECTIVE", .help = "print the row of the selection table for a call", ACTION(SELECT),
	  FIELD(collective) },
	{ .name = "check-table", .arg = "FILE", .help = "check that a selection table is right for all calls", ACTION(CHECK_TABLE),
	  FIELD(table) },
	{ .name = "model", .arg = "split-tree", .help = "print what the model of trees split between cores says",
	  .take = take_model },
	{ .name = "list-passes", .help = "print the passes and their keys", ACTION(LIST_PASSES) },
	{ .name = "list-checks", .help = "print the checks and their levels", ACTION(LIST_CHECKS) },

	{ .help = "With some of these:" },
	{ .name = "json", .help = "print JSON instead of text", FIELD(json),
	  .with = "stats|verify|select|model|list-passes|list-checks" },
	{ .name = "solver", .arg = "cvc5|z3", .help = "with -n all: ask only this solver", .take = take_word, FIELD(solver),
	  .with = "verify" },
	{ .name = "solver-time", .arg = "SECONDS", .help = "with -n all: the limit for each obligation", .take = take_number,
	  FIELD(solver_time), .min = 1, .max = 86400, .with = "verify" },
	{ .name = "smt", .arg = "DIR", .help = "with -n all: keep the obligations in this directory", .take = take_text, FIELD(smt),
	  .with = "verify" },
	{ .name = "topology", .arg = "any|cart|graph", .help = "with --select: what the ranks are arranged as",
	  .take = take_index, FIELD(topology), .with = "select" },
	{ .name = "table", .arg = "FILE", .help = "with --select: a table before the installed one", .take = take_text,
	  FIELD(table), .with = "select" },
	{ .name = "partial", .help = "with --check-table: the installed table takes the calls that no row takes", FIELD(partial),
	  .with = "check-table" },
	{ .name = "cores", .arg = "CORES", .help = "with --model: the cores of the node", .take = take_number, FIELD(cores),
	  .min = 3, .max = MODEL_CORES, .with = "model" },
	{ .name = "shape", .arg = "constant|growing", .help = "with --model: the size of the messages by level",
	  .take = take_either, FIELD(model.growing), .with = "model" },
	{ .name = "ranks", .arg = "RANKS[-RANKS]", .help = "with --model: only these numbers of ranks", .take = take_range,
	  FIELD(model_sizes), .min = 2, .max = MODEL_CORES, .with = "model" },
	{ .name = "tree", .arg = "k=K", .help = "with --model: a K-nomial tree", .take = take_tree, FIELD(model.k), .min = 2,
	  .max = MODEL_CORES, .with = "model" },
	{ .name = "ratio", .arg = "R", .help = "with --model: a transfer takes R times as long as a copy", .take = take_decimal,
	  FIELD(model.ratio), .least = 1e-6, .most = 1e6, .with = "model" },
	{ .name = "compute", .arg = "TIME", .help = "with --model: the time of the computation, in copies", .take = take_decimal,
	  FIELD(model.compute), .least = 0, .most = 1e12, .with = "model" },
	{ .name = "svg", .arg = "FILE", .help = "with --model: draw it as well", .take = take_text, FIELD(svg) },
};

static const struct command_line goalc = {
	.program = "goalc",
	.forms = "goalc [options] SOURCE -o BINARY\n"
		 "       goalc --stats | --dump | --emit=FORM | --verify [options] SOURCE|BINARY\n"
		 "       goalc --select COLLECTIVE -n RANKS [options]\n"
		 "       goalc --check-table FILE [options]\n"
		 "       goalc --model split-tree --cores CORES [options]\n"
		 "       goalc --list-passes | --list-checks\n\n",
	.rows = rows,
	.nrows = sizeof rows / sizeof *rows,
};

/* ---- rules that the table cannot express ---- */

static int check_select(const struct goalc *c)
{
	struct nearest n = collective_nearest(c->collective);

	if (!collective_known(c->collective))
		return usage("there is no collective %s%s", c->collective, nearest_choices(&n));
	return c->sizes.first ? 0 : usage("--select needs the number of ranks: -n");
}

static int check_model(struct goalc *c)
{
	if (!c->cores)
		return usage("--model needs the cores of the node: --cores");
	c->model.cores = (uint32_t)c->cores;
	if (!c->model_sizes.first)
		c->model_sizes = (struct option_range){ 2, c->cores - 1 };
	if (c->svg && option_is_dash(c->svg) && (!c->output || option_is_dash(c->output)))
		return usage("the table and --svg - would both be on standard output: use -o FILE");
	if (c->model_sizes.last >= c->cores)
		return usage("--ranks has to leave a core of %u for communication", c->model.cores);
	return 0;
}

static int read_most_ops(struct goalc *c)
{
	long most;

	if (env_number(ENV_GOAL_MAX_OPS, &most))
		return usage("the environment variable GOAL_MAX_OPS cannot be \"%s\"", env_get(ENV_GOAL_MAX_OPS));
	c->most_ops = ir_most_ops(most);
	return 0;
}

static int check_schedule(struct goalc *c, const struct command_words *w)
{
	if (c->svg)
		return usage("--svg of a schedule is not built yet: --emit=dot and goalsim --svg draw schedules");
	if (w->nrest != 1)
		return usage(w->nrest ? "more than one input file" : "no input file");
	c->input = w->rest[0];
	if (c->action == VERIFY && c->output && (c->defines.v.n || (c->passes && passes_global(c->passes))))
		return usage("what --verify writes is for all values: -D and global passes do not go with -o");
	if (c->action == COMPILE && !c->output)
		return usage("no output file: use -o");
	if (c->action == EMIT_LOGGOPSIM && isatty(STDOUT_FILENO) && (!c->output || option_is_dash(c->output)))
		return usage("a binary is not for a terminal: redirect standard output, or use -o FILE");
	if ((c->action == COMPILE || c->action == VERIFY) && c->output && option_is_dash(c->output) && isatty(STDOUT_FILENO))
		return usage("a binary is not for a terminal: redirect standard output, or use -o FILE");
	return read_most_ops(c);
}

/* Checks what goes with -n all. */
static int check_every(const struct goalc *c)
{
	if (c->every && c->action != VERIFY)
		return usage("-n takes a number of ranks; all is for --verify");
	if (c->every && (c->json || c->passes || c->defines.v.n))
		return usage("-n all does not go with -D, -T and --json");
	if (!c->every && (c->solver || c->solver_time || c->smt))
		return usage("--solver, --solver-time and --smt go with -n all");
	return 0;
}

/* Checks the ranges of -D: at most one, and only with --verify. */
static int check_ranges(const struct goalc *c)
{
	const char *first = NULL;

	for (size_t i = 0; i < c->defines.v.n; i++) {
		const struct define *d = &c->defines.v.at[i];

		if (d->range && c->action != VERIFY)
			return usage("-D %s takes a value; a range is for --verify", d->name);
		if (d->range && first)
			return usage("one option -D can have a range, not both %s and %s", first, d->name);
		first = d->range ? d->name : first;
	}
	return 0;
}

int goalc_options(struct goalc *c, int argc, char **argv, bool *done)
{
	struct command_words w;
	int rc = command_line_parse(&goalc, argc, argv, c, &w);

	*done = w.done;
	if (rc || *done)
		return rc;
	if (c->action >= SELECT && w.nrest) /* these actions need no schedule */
		return usage("--%s takes no input file", c->asked);
	if (c->sizes.last != c->sizes.first && c->action != VERIFY && c->action != CHECK_TABLE)
		return usage("-n takes a number of ranks; a range is for --verify and --check-table");
	rc = check_ranges(c);
	rc = rc ? rc : check_every(c);
	if (rc)
		return rc;
	if (c->action >= LIST_CHECKS)
		return 0;
	if (c->action == CHECK_TABLE)
		return read_most_ops(c);
	return c->action == SELECT ? check_select(c) : c->action == MODEL ? check_model(c) : check_schedule(c, &w);
}

struct compile_options goalc_compile_options(const struct goalc *c)
{
	return (struct compile_options){ .nranks = (uint32_t)c->sizes.first,
					 .debug = c->debug,
					 .defines = c->defines.v.at,
					 .ndefines = c->defines.v.n,
					 .passes = c->passes,
					 .checks_off = c->checks_off,
					 .writes = c->action == COMPILE,
					 .most_ops = c->most_ops };
}
