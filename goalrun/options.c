/* SPDX-License-Identifier: BSD-3-Clause
 * The table of the options of goalrun(1), functions that check and store their arguments, and checks of combinations that the
 * table cannot express. */
#include "backends/smcq/emulator.h"
#include "backends/smcq/smcq.h"
#include "compiler/passes/passes.h"
#include "goalrun/goalrun.h"
#include "trace/trace.h"
#include "util/env.h"
#include "util/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 4096
#define DEFAULT_ITERS 1000
#define DEFAULT_OVERLAP_ITERS 50 /* fewer, because with --overlap each start is checked */

int run_fault(const char *fmt, const char *what)
{
	fputs("goalrun: ", stderr);
	fprintf(stderr, fmt, what);
	fputc('\n', stderr);
	return EXIT_FAULT;
}

const char *run_backend_name(const struct run_options *o)
{
	const char *name = o->backend ? o->backend->name : env_get(ENV_GOAL_BACKEND);

	return strcmp(name, BE_AUTO) ? name : be_near()->name;
}

bool run_lowers(const struct run_options *o)
{
	return !strcmp(run_backend_name(o), smcq_ops.name);
}

bool run_pins(const struct run_options *o)
{
	return o->placed || o->placement.comm_cores >= 0 || (o->progress && !strcmp(o->progress, "thread"));
}

bool run_emulates_nic(const struct run_options *o)
{
	const char *engine = o->engine ? o->engine : env_get(ENV_GOAL_ENGINE);

	return run_lowers(o) && !strcmp(engine, smcq_emulator.name);
}

/* ---- arguments ---- */

static int check_parts(const struct option_use *u)
{
	const char *list = u->arg;
	const size_t len = strlen(list);

	return len && *list != ',' && list[len - 1] != ',' && !strstr(list, ",,") ?
		       0 :
		       usage("%s cannot be empty, nor have an empty part", u->name);
}

/* Marks: the option applies to a schedule, and not to a program; it has amounts; it says how ranks run, or how they are simulated. */
enum { OF_SCHEDULE = 1, AMOUNTS = 2, OF_RANKS = 4, OF_SIMULATION = 8 };

/* Refuses a word that is none of the row's names. */
static int refuse_name(const struct option_row *r, const char *word)
{
	struct nearest n = { .word = word };

	for (int i = 0; i < r->max; i++)
		nearest_name(&n, r->names[i]);
	return usage("--%s %s: there is no such %s%s", r->name, word, r->name, nearest_choices(&n));
}

/* Takes a number of at least 0, or an amount if the row has amounts. */
static bool take_part(const struct option_row *r, const char *part, int64_t *out)
{
	return r->marks & AMOUNTS ? option_amount(part, strlen(part), 0, INT64_MAX / 4, out) :
				    option_number(part, 0, INT64_MAX / 4, out);
}

/* Takes a list of numbers of at least 0, or, if the row has names, of words among its `max` names. */
static int take_list(const struct option_use *u)
{
	const struct option_row *r = u->row;
	struct list *l = u->field;
	int err = check_parts(u);
	char *rest = u->arg, *p;

	l->n = 0;
	while (!err && (p = strsep(&rest, ",")) != NULL) {
		int64_t v = r->names ? option_name_index(r->names, (size_t)r->max, p, strlen(p)) : -1;

		if (r->names && v < 0)
			return refuse_name(r, p);
		if (!r->names && !take_part(r, p, &v))
			return usage("%s takes numbers of at least 0, not %s", u->name, p);
		if (VEC_PUSH(l, v))
			return no_memory();
	}
	return err;
}

static int take_ops(const struct option_use *u)
{
	const struct list *ops = u->field;
	const int err = take_list(u);

	for (size_t i = 0; i < ops->n && !err; i++)
		if (ops->at[i] == MPIX_SCHED_NO_OP)
			return usage("--op cannot be no_op");
	return err;
}

static int take_roots(const struct option_use *u)
{
	struct goalrun *g = u->fields;

	g->all_roots = !strcmp(u->arg, "all");
	return g->all_roots ? 0 : take_list(u);
}

static int take_samples(const struct option_use *u)
{
	*(char **)u->field = u->arg;
	return check_parts(u);
}

int run_add_pass(struct goalrun *g, const char *arg)
{
	struct text why = { 0 };

	return option_result("goalrun", passes_add(&g->o.passes, arg, &why), &why);
}

static int take_pass(const struct option_use *u)
{
	return run_add_pass(u->fields, u->arg);
}

static int take_seed(const struct option_use *u)
{
	((struct goalrun *)u->fields)->seeded = true;
	return take_number(u);
}

static int take_backend(const struct option_use *u)
{
	const struct be_row *backend = be_find(u->arg);

	*(const struct be_row **)u->field = backend;
	if (!backend) {
		struct nearest n = be_nearest(u->arg);

		return usage("there is no backend %s%s", u->arg, nearest_choices(&n));
	}
	if (backend->ops && backend->ops->transports)
		return usage("the backend %s is for programs of MPI%s", u->arg, ", whose messages carry those between nodes");
	return backend->ops || backend->simulated ? 0 : option_not_built(u->program, u->arg);
}

static int take_engine(const struct option_use *u)
{
	const struct smcq_row *engine = smcq_find(u->arg);

	*(const char **)u->field = u->arg;
	if (!engine) {
		struct nearest n = smcq_nearest(u->arg);

		return usage("there is no engine %s%s", u->arg, nearest_choices(&n));
	}
	return engine->engine ? 0 : option_not_built(u->program, u->arg);
}

/* Takes the argument of --dump-after. Only the ranks use it, so it goes into their environment. */
static int take_dump_after(const struct option_use *u)
{
	const int err = take_number(u);

	return err ? err : setenv(env_table[ENV_GOAL_DUMP_AFTER].name, u->arg, 1) ? no_memory() : 0;
}

static int take_placement(const struct option_use *u)
{
	struct goalrun *g = u->fields;

	g->o.placed = u->arg;
	return placement_parse(u->arg, &g->o.placement) ?
		       usage("--placement is bind, numa, odd-even or a list of cores, not %s", u->arg) :
		       0;
}

static int take_hosts(const struct option_use *u)
{
	struct run_hosts **hosts = u->field;
	const char *why;

	((struct goalrun *)u->fields)->o.asked_hosts = u->arg;
	hosts_finish(*hosts);
	*hosts = hosts_parse(u->arg, &why);
	if (*hosts)
		return 0;
	return why ? usage("--hosts cannot be %s: %s", u->arg, why) : no_memory();
}

/* ---- the table ---- */

#define FIELD(f) .field = offsetof(struct goalrun, f)
#define NUMBER(f, from, to) .take = take_number, FIELD(f), .min = from, .max = to
#define LIST(f) .take = take_list, FIELD(f)

static const struct option_row rows[] = {
	{ .letter = 'n', .arg = "RANKS", .help = "the number of ranks", NUMBER(nranks, 1, MOST_RANKS) },
	{ .name = "hosts", .arg = "NAME[:RANKS][,...]", .help = "the hosts on which they run", .take = take_hosts, FIELD(o.hosts), .marks = OF_RANKS },
	{ .name = "ranks", .arg = "processes|threads", .help = "what a rank is", .take = take_either, FIELD(o.threads), .marks = OF_RANKS },

	{ .help = "What is run, with which values; of several, all combinations:" },
	{ .name = "count", .arg = "N[,N...]", .help = "elements of a block", LIST(counts), .marks = OF_SCHEDULE | AMOUNTS },
	{ .name = "type", .arg = "T[,T...]", .help = "the datatype", LIST(types), .names = run_type_names,
	  .max = MPIX_SCHED_BASICS, .marks = OF_SCHEDULE },
	{ .name = "op", .arg = "O[,O...]", .help = "the operation of a schedule that reduces", .take = take_ops, FIELD(ops),
	  .names = run_op_names, .max = RUN_USER + 1, .marks = OF_SCHEDULE },
	{ .name = "root", .arg = "R[,R...]|all", .help = "the root", .take = take_roots, FIELD(roots), .marks = OF_SCHEDULE },
	{ .name = "memory", .arg = "heap|private|staged|moved[,...]", .help = "where the buffers are", LIST(memories),
	  .names = run_memory_names, .max = RUN_MEMORIES, .marks = OF_SCHEDULE | OF_RANKS },
	{ .name = "sample", .arg = "NAME[,NAME...]|all", .help = "samples of arguments for the parameters", .take = take_samples,
	  FIELD(sample), .marks = OF_SCHEDULE },
	{ .name = "sweep", .arg = "all|pairs", .help = "all combinations, or each pair of values once", .take = take_either,
	  FIELD(o.pairs), .marks = OF_SCHEDULE },
	{ .letter = 'D', .arg = "NAME[@RANK]=VALUE[,VALUE...]", .help = "the value of a parameter", .take = take_define,
	  FIELD(o.defines), .marks = OF_SCHEDULE },
	{ .letter = 'T', .arg = "PASS", .help = "apply a pass of goalc(1)", .take = take_pass, .marks = OF_SCHEDULE },
	{ .name = "select", .arg = "COLLECTIVE", .help = "run the schedule of the selection table", .take = take_text,
	  FIELD(collective), .without = "hosts", .marks = OF_SCHEDULE },
	{ .name = "topology", .arg = "any|cart|graph", .help = "with --select: what the ranks are arranged as",
	  .take = take_index, FIELD(topology), .with = "select" },
	{ .name = "table", .arg = "FILE", .help = "with --select: a table before the installed one", .take = take_text,
	  FIELD(table), .with = "select" },

	{ .help = "What is measured and checked:" },
	{ .name = "iters", .arg = "N", .help = "starts that are timed", NUMBER(o.iters, 1, 100000000), .marks = OF_SCHEDULE | OF_RANKS },
	{ .name = "warmup", .arg = "N", .help = "starts before them", NUMBER(o.warmup, 0, 100000000), .marks = OF_SCHEDULE | OF_RANKS },
	{ .name = "seed", .arg = "N", .help = "the seed of data and delays", .take = take_seed, FIELD(o.seed), .min = 0,
	  .max = INT64_MAX },
	{ .name = "delay", .arg = "USEC", .help = "pauses at random places, for tests", NUMBER(o.delay, 0, 1000000),
	  .marks = OF_SCHEDULE | OF_RANKS },
	{ .name = "verify", .help = "check every byte of the result of every start", FIELD(o.verify), .marks = OF_SCHEDULE | OF_RANKS },
	{ .name = "overlap", .help = "measure how much of the communication computing hides", FIELD(o.overlap),
	  .without = "delay|hosts", .marks = OF_SCHEDULE | OF_RANKS },
	{ .name = "tests", .arg = "N", .help = "with --overlap: calls of test in the work", NUMBER(o.tests, 0, 1000000),
	  .with = "overlap" },
	{ .name = "work", .arg = "USEC", .help = "with --overlap: a fixed amount of work", NUMBER(o.work_us, 1, 1000000000),
	  .with = "overlap" },
	{ .name = "stats", .help = "print what each rank sends and allocates", FIELD(show_stats), .marks = OF_RANKS },
	{ .name = "json", .help = "print JSON instead of a table", FIELD(o.json) },
	{ .name = "format", .arg = "table|osu|osu-bw", .help = "the form of the table: that of OSU's benchmarks", .take = take_index,
	  FIELD(format), .without = "json|overlap", .marks = OF_SCHEDULE },
	{ .name = "trace", .arg = "FILE.json|FILE.paje|FILE.svg|FILE.txt", .help = "write what each thread did, and when",
	  .take = trace_take_name, FIELD(o.trace), .without = "hosts", .marks = OF_RANKS },
	{ .name = "dump-after", .arg = "SECONDS", .help = "ranks that wait so long print for what", .take = take_dump_after,
	  FIELD(dump_after), .min = 0, .max = 1000000000, .marks = OF_RANKS },

	{ .help = "How it is run:" },
	{ .name = "backend", .arg = "shm|verbs|smcq|sim", .help = "what carries the schedule out", .take = take_backend,
	  FIELD(o.backend) },
	{ .name = "params", .arg = "FILE", .help = "with --backend sim: the machine, as --calibrate prints it", .take = sim_machine_take,
	  FIELD(machine), .marks = OF_SCHEDULE | OF_SIMULATION },
	{ .name = "engine", .arg = "model|ofi", .help = "what is behind command queues", .take = take_engine, FIELD(o.engine), .marks = OF_RANKS },
	{ .name = "no-shm", .help = "ranks of a node do not use its memory", FIELD(o.no_shm), .marks = OF_RANKS },
	{ .name = "progress", .arg = "app|thread|collab", .help = "which threads make progress", .take = take_word,
	  FIELD(o.progress), .marks = OF_RANKS },
	{ .name = "wait", .arg = "spin|yield|block|learn", .help = "how ranks wait", .take = take_word, FIELD(o.wait), .marks = OF_RANKS },
	{ .name = "placement", .arg = "bind|numa|odd-even|LIST", .help = "which cores communicate for which ranks",
	  .take = take_placement, .marks = OF_RANKS },
	{ .name = "comm-cores", .arg = "K", .help = "cores set aside for communication",
	  NUMBER(o.placement.comm_cores, 0, 1 << 20), .marks = OF_RANKS },
	{ .name = "show-placement", .help = "run nothing, print where ranks would be", FIELD(show_placement),
	  .without = "select", .marks = OF_RANKS },
	{ .name = "calibrate", .help = "measure 2 ranks, and print parameters for goalsim", FIELD(calibrate),
	  .without = "select|tune|hosts|overlap|iters|json|format|stats|trace|verify|count|type|op|root|memory|sample|D|T",
	  .marks = OF_SCHEDULE | OF_RANKS },
	{ .name = "tune", .arg = "COLLECTIVE", .help = "measure its schedules, and print rows of a selection table", .take = take_text,
	  FIELD(tune), .without = "select|hosts|overlap|iters|warmup|json|format|stats|trace", .marks = OF_SCHEDULE | OF_RANKS },
};

static const struct command_line goalrun = {
	.program = "goalrun",
	.forms = "goalrun -n RANKS [options] SCHEDULE\n"
		 "       goalrun -n RANKS --select COLLECTIVE [options]\n"
		 "       goalrun -n RANKS --tune COLLECTIVE [options]\n"
		 "       goalrun -n 2 --calibrate [options]\n"
		 "       goalrun -n RANKS [options] -- PROGRAM [ARG...]\n"
		 "       goalrun -n RANKS --show-placement [options]\n\n",
	.rows = rows,
	.nrows = sizeof rows / sizeof *rows,
};

/* ---- checks that a row cannot express ---- */

/* Checks that --NAME and -D NAME=VALUE agree. Both may be given: the command that repeats one case has both. */
static int check_value(const struct goalrun *g, const char *name, const struct list *l, bool all)
{
	for (size_t i = 0; i < g->o.defines.v.n; i++) {
		const struct define *d = &g->o.defines.v.at[i];

		if (strcmp(d->name, name) != 0 || d->n != 1 || (!l->n && !all))
			continue;
		if (all || l->n != 1 || l->at[0] != d->value[0])
			return usage("--%s and -D %s differ", name, name);
	}
	return 0;
}

/* Checks combinations that depend on the values of options. */
static int check_values(const struct goalrun *g)
{
	const struct run_options *o = &g->o;
	int err = check_value(g, "count", &g->counts, false);

	err = err ? err : check_value(g, "root", &g->roots, g->all_roots);
	if (err)
		return err;
	if (o->trace && run_emulates_nic(o) && trace_format(o->trace) != trace_format("x.txt"))
		return usage("with --backend smcq --trace takes a name that ends with .txt, not %s", o->trace);
	if (o->placement.kind == PLACEMENT_LIST && o->placement.comm_cores >= 0)
		return usage("--comm-cores does not go with a list of cores");
	return 0;
}

/* Refuses options that say how ranks run, if they do not, and options of the simulation, if they do. */
static int check_simulated(struct goalrun *g, uint64_t given)
{
	const struct option_row *r = option_marked(&goalrun, given, run_simulates(&g->o) ? OF_RANKS : OF_SIMULATION);

	if (!run_simulates(&g->o))
		return r ? usage("%s goes with --backend sim", option_name(r).s) : 0;
	g->o.iters = 1;
	if (r)
		return usage("%s does not go with --backend sim, which runs no ranks", option_name(r).s);
	return g->o.program ? usage("--backend sim takes a schedule, no program") : 0;
}

static void settle_defaults(struct run_options *o)
{
	if (!o->iters)
		o->iters = o->overlap ? DEFAULT_OVERLAP_ITERS : DEFAULT_ITERS;
	if (o->overlap && o->warmup < RUN_OVERLAP_WARMUP)
		o->warmup = RUN_OVERLAP_WARMUP;
}

/* Takes the program behind "--". */
static int take_program(struct goalrun *g, const struct command_words *w)
{
	const struct option_row *of_schedule = option_marked(&goalrun, w->given, OF_SCHEDULE);

	if (!w->nrest)
		return usage("no program behind --");
	if (of_schedule)
		return usage("%s takes a schedule, no program", option_name(of_schedule).s);
	if (g->o.threads)
		return usage("--ranks threads takes a schedule, no program");
	g->o.program = w->rest;
	return 0;
}

/* Takes what is to run from the words that are not options: a program, or a schedule; none if --select names one. */
static int take_rest(struct goalrun *g, const struct command_words *w)
{
	if (g->show_placement)
		return w->nrest ? usage("--show-placement runs nothing") : 0;
	if (w->dashes)
		return take_program(g, w);
	if (g->tune)
		return w->nrest ? usage("--tune takes no schedule") : 0;
	if (g->calibrate && g->o.nranks && g->o.nranks != 2)
		return usage("--calibrate measures 2 ranks");
	if (g->calibrate)
		return w->nrest ? usage("--calibrate takes no schedule") : 0;
	if (g->collective)
		return w->nrest ? usage("--select takes no schedule") : 0;
	if (w->nrest != 1)
		return usage(w->nrest ? "more than one schedule" : "no schedule");
	g->input = w->rest[0];
	return 0;
}

static int check_hosts(struct goalrun *g)
{
	struct run_options *o = &g->o;

	if (!o->hosts || g->show_placement)
		return 0;
	if (o->threads)
		return usage("--ranks threads does not go with --hosts");
	if (run_emulates_nic(o))
		return usage("--engine model does not go with --hosts");
	if (!o->nranks && o->program)
		o->nranks = hosts_room(o->hosts);
	if (o->nranks > MOST_RANKS)
		return usage("--hosts gives %u ranks; there are at most %d", o->nranks, MOST_RANKS);
	return 0;
}

int run_parse_options(struct goalrun *g, int argc, char **argv, bool *done)
{
	struct command_words w;
	int err = command_line_parse(&goalrun, argc, argv, g, &w);

	*done = w.done;
	if (err || *done)
		return err;
	g->o.nranks = (uint32_t)g->nranks;
	settle_defaults(&g->o);
	err = check_values(g);
	err = err ? err : take_rest(g, &w);
	err = err ? err : check_hosts(g);
	err = err ? err : check_simulated(g, w.given);
	if (!err && !g->o.nranks && (g->o.program || g->show_placement))
		return usage("the number of ranks is missing: -n");
	return err;
}
