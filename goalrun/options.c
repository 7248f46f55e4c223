/* SPDX-License-Identifier: BSD-3-Clause
 * The options of goalrun(1). */
#include "backends/smcq/model.h"
#include "backends/smcq/smcq.h"
#include "compiler/passes/passes.h"
#include "goalrun/goalrun.h"
#include "goalrun/trace.h"
#include "runtime/comm.h"
#include "runtime/wait.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const run_memory_names[RUN_MEMORIES] = { "heap", "private", "staged" };
const char *const run_type_names[MPIX_SCHED_BASICS] = {
#define X(NAME, name, kind, T) #name,
	MPIX_SCHED_BASIC_LIST(X)
#undef X
};
const char *const run_op_names[RUN_USER + 1] = {
#define X(NAME, name) #name,
	MPIX_SCHED_BUILTIN_LIST(X)
#undef X
	"user",
};

const char run_usage_text[] =
	"usage: goalrun -n RANKS [options] SCHEDULE\n"
	"       goalrun -n RANKS -- PROGRAM [ARG...]\n"
	"options: --count N[,N...] --type T[,T...] --op O[,O...] --root R[,R...]|all\n"
	"         --memory heap|private|staged[,...] --sample NAME[,NAME...]|all --sweep all|pairs\n"
	"         -D name[@RANK]=value[,value...] -T pass --iters N --warmup N --seed N --delay USEC\n"
	"         --ranks processes|threads --backend shm|verbs|smcq --engine model|ofi --no-shm --stats --verify\n"
	"         --json --dump-after SECONDS --progress app|thread|collab --comm-cores K\n"
	"         --placement bind|numa|odd-even|LIST\n"
	"         --wait spin|yield|block|learn --trace FILE.json|FILE.paje|FILE.txt\n"
	"         --overlap [--tests N] [--work USEC] --hosts NAME[:RANKS][,NAME[:RANKS]...]\n"
	"       goalrun -n RANKS --select COLLECTIVE [--topology cart|graph] [--table FILE] [options]\n"
	"       goalrun -n RANKS --show-placement [--placement bind|numa|odd-even|LIST] [--comm-cores K] [--json]\n";

#define DEFAULT_ITERS 1000
#define DEFAULT_OVERLAP_ITERS 50 /* whose starts are all checked */
#define not_built(what) option_not_built("goalrun", what)

int run_fault(const char *fmt, const char *what)
{
	fputs("goalrun: ", stderr);
	fprintf(stderr, fmt, what);
	fputc('\n', stderr);
	return EXIT_FAULT;
}

const char *run_backend_name(const struct run_options *o)
{
	return o->backend ? o->backend->name : env_get(ENV_GOAL_BACKEND);
}

bool run_lowers(const struct run_options *o)
{
	return !strcmp(run_backend_name(o), smcq_ops.name);
}

bool run_pins(const struct run_options *o)
{
	return o->placed || o->placement.comm_cores >= 0 || (o->progress && !strcmp(o->progress, "thread"));
}

bool run_plays_nic(const struct run_options *o)
{
	const char *engine = o->engine ? o->engine : env_get(ENV_GOAL_ENGINE);

	return run_lowers(o) && !strcmp(engine, smcq_model.name);
}

static int find_name(const char *const *names, int n, const char *s)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], s))
			return i;
	return -1;
}

static int check_parts(const char *option, const char *list)
{
	size_t len = strlen(list);

	return len && *list != ',' && list[len - 1] != ',' && !strstr(list, ",,") ?
		       0 :
		       usage("%s cannot be empty, nor have an empty part", option);
}

/* A list of numbers of at least 0, or of names when there are any. */
static int parse_list(struct list *l, const char *option, char *arg, const char *const *names, int nnames)
{
	int err = check_parts(option, arg);
	char *p;

	l->n = 0;
	while (!err && (p = strsep(&arg, ",")) != NULL) {
		int64_t v = names ? find_name(names, nnames, p) : -1;

		if (names ? v < 0 : !option_number(p, 0, INT64_MAX / 4, &v))
			return usage("%s cannot be %s", option, p);
		if (VEC_PUSH(l, v))
			return no_memory();
	}
	return err;
}

static int parse_int_option(const char *option, const char *s, int64_t min, int64_t max, int64_t *out)
{
	return option_number(s, min, max, out) ? 0 :
						 usage("%s takes a number from %" PRId64 " to %" PRId64 ", not %s",
						       option, min, max, s);
}

int run_add_pass(struct goalrun *g, const char *arg)
{
	struct text why = { 0 };

	return option_result("goalrun", run_usage_text, passes_add(&g->o.passes, arg, &why), &why);
}

/* A value can be given in two ways, which have to agree: a case that is to be repeated has both. */
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

/* What goes with several hosts. */
static int check_hosts(struct goalrun *g)
{
	struct run_options *o = &g->o;
	const char *not = o->threads   ? "--ranks threads" :
			  o->overlap   ? "--overlap" :
			  o->trace     ? "--trace" :
			  run_plays_nic(o) ? "--engine model" :
			  g->collective ? "--select" :
					  NULL;

	if (not)
		return usage("%s does not go with --hosts", not);
	if (!o->nranks && o->program)
		o->nranks = hosts_room(o->hosts);
	return 0;
}

int run_parse_options(struct goalrun *g, int argc, char **argv)
{
	enum { COUNT = 256, TYPE, OP, ROOT, MEMORY, SAMPLE, SWEEP, ITERS, WARMUP, SEED, DELAY, RANKS, BACKEND, PROGRESS,
	       VERIFY, JSON, DUMP_AFTER, SELECT, TABLE, TOPOLOGY, PLACEMENT, COMM_CORES, SHOW_PLACEMENT, WAIT, TRACE, OVERLAP,
	       TESTS, WORK, ENGINE, NO_SHM, STATS, HOSTS, LATER, HELP, VERSION };
	static const struct option longs[] = {
		{ "count", 1, NULL, COUNT },	{ "type", 1, NULL, TYPE },	{ "op", 1, NULL, OP },
		{ "root", 1, NULL, ROOT },	{ "memory", 1, NULL, MEMORY },	{ "sweep", 1, NULL, SWEEP },
		{ "sample", 1, NULL, SAMPLE },
		{ "iters", 1, NULL, ITERS },	{ "warmup", 1, NULL, WARMUP },	{ "seed", 1, NULL, SEED },
		{ "delay", 1, NULL, DELAY },	{ "ranks", 1, NULL, RANKS },	{ "backend", 1, NULL, BACKEND },
		{ "progress", 1, NULL, PROGRESS }, { "verify", 0, NULL, VERIFY }, { "json", 0, NULL, JSON },
		{ "dump-after", 1, NULL, DUMP_AFTER }, { "help", 0, NULL, HELP }, { "version", 0, NULL, VERSION },
		{ "select", 1, NULL, SELECT },	{ "table", 1, NULL, TABLE },	{ "topology", 1, NULL, TOPOLOGY },
		{ "placement", 1, NULL, PLACEMENT }, { "comm-cores", 1, NULL, COMM_CORES },
		{ "show-placement", 0, NULL, SHOW_PLACEMENT }, { "engine", 1, NULL, ENGINE },
		{ "wait", 1, NULL, WAIT },	{ "hosts", 1, NULL, HOSTS },	{ "stats", 0, NULL, STATS },
		{ "no-shm", 0, NULL, NO_SHM },	{ "overlap", 0, NULL, OVERLAP }, { "tests", 1, NULL, TESTS },
		{ "work", 1, NULL, WORK },
		{ "calibrate", 0, NULL, LATER }, { "tune", 0, NULL, LATER },	{ "trace", 1, NULL, TRACE },
		{ NULL, 0, NULL, 0 },
	};
	struct run_options *o = &g->o;
	int opt, at, err = 0;
	int64_t after;
	const char *with = NULL; /* an option that goes with --overlap */
	const char *of_schedule = NULL; /* an option that says nothing of a program */
	const char *why;
	const struct smcq_row *engine;

	opterr = 0;
	while (!err && (opt = getopt_long(argc, argv, "n:D:T:", longs, &at)) != -1) {
		if (opt == 'D' || opt == 'T')
			of_schedule = opt == 'D' ? "D" : "T";
		else if ((opt >= COUNT && opt <= DELAY && opt != SEED) || opt == VERIFY || opt == SELECT || opt == OVERLAP)
			of_schedule = longs[at].name;
		switch (opt) {
		case 'n':
			err = parse_int_option("-n", optarg, 1, 4096, &g->nranks);
			break;
		case 'D':
			if (!option_define(&o->defines, optarg))
				err = usage("-D takes name=value[,value...], not %s", optarg);
			break;
		case 'T':
			err = run_add_pass(g, optarg);
			break;
		case COUNT:
			err = parse_list(&g->counts, "--count", optarg, NULL, 0);
			break;
		case TYPE:
			err = parse_list(&g->types, "--type", optarg, run_type_names, MPIX_SCHED_BASICS);
			break;
		case OP: /* no_op is none */
			err = parse_list(&g->ops, "--op", optarg, run_op_names, RUN_USER + 1);
			for (size_t i = 0; i < g->ops.n && !err; i++)
				if (g->ops.at[i] == MPIX_SCHED_NO_OP)
					err = usage("--op cannot be no_op");
			break;
		case SWEEP:
			o->pairs = !strcmp(optarg, "pairs");
			if (!o->pairs && strcmp(optarg, "all") != 0)
				err = usage("--sweep is all or pairs, not %s", optarg);
			break;
		case ROOT:
			g->all_roots = !strcmp(optarg, "all");
			if (!g->all_roots)
				err = parse_list(&g->roots, "--root", optarg, NULL, 0);
			break;
		case SAMPLE:
			g->sample = optarg;
			err = check_parts("--sample", optarg);
			break;
		case MEMORY:
			err = parse_list(&g->memories, "--memory", optarg, run_memory_names, RUN_MEMORIES);
			break;
		case ITERS:
			err = parse_int_option("--iters", optarg, 1, 100000000, &o->iters);
			break;
		case WARMUP:
			err = parse_int_option("--warmup", optarg, 0, 100000000, &o->warmup);
			break;
		case SEED:
			g->seeded = true;
			err = parse_int_option("--seed", optarg, 0, INT64_MAX, &o->seed);
			break;
		case DELAY:
			err = parse_int_option("--delay", optarg, 0, 1000000, &o->delay);
			break;
		case RANKS:
			o->threads = !strcmp(optarg, "threads");
			if (!o->threads && strcmp(optarg, "processes") != 0)
				err = usage("--ranks is processes or threads, not %s", optarg);
			break;
		case BACKEND:
			o->backend = be_find(optarg);
			if (!o->backend)
				return usage("there is no backend %s", optarg);
			if (!o->backend->ops)
				return not_built(optarg);
			break;
		case STATS:
			g->show_stats = true;
			break;
		case NO_SHM:
			o->no_shm = true;
			break;
		case ENGINE:
			engine = smcq_find(optarg);
			if (!engine)
				return usage("there is no engine %s", optarg);
			if (!engine->engine)
				return not_built(optarg);
			o->engine = optarg;
			break;
		case PROGRESS:
			o->progress = optarg;
			if (find_name(rt_progress_names, RT_PROGRESSES, optarg) < 0)
				err = usage("--progress is app, thread or collab, not %s", optarg);
			break;
		case WAIT:
			o->wait = optarg;
			if (find_name(rt_wait_names, RT_WAITS, optarg) < 0)
				err = usage("--wait is spin, yield, block or learn, not %s", optarg);
			break;
		case VERIFY:
			o->verify = true;
			break;
		case JSON:
			o->json = true;
			break;
		case DUMP_AFTER:
			err = parse_int_option("--dump-after", optarg, 0, 1000000000, &after);
			if (!err && setenv(env_table[ENV_GOAL_DUMP_AFTER].name, optarg, 1))
				return no_memory();
			break;
		case SELECT:
			g->collective = optarg;
			break;
		case TABLE:
			g->table = optarg;
			if (!*optarg)
				err = usage("--table takes the path of a table");
			break;
		case TOPOLOGY:
			if (!select_topology(optarg, &g->topology))
				err = usage("--topology is any, cart or graph, not %s", optarg);
			break;
		case PLACEMENT:
			o->placed = optarg;
			if (placement_parse(optarg, &o->placement))
				err = usage("--placement is bind, numa, odd-even or a list of cores, not %s", optarg);
			break;
		case COMM_CORES:
			err = parse_int_option("--comm-cores", optarg, 0, 1 << 20, &o->placement.comm_cores);
			break;
		case SHOW_PLACEMENT:
			g->show_placement = true;
			break;
		case HOSTS:
			hosts_end(o->hosts);
			o->hosts = hosts_parse(optarg, &why);
			if (!o->hosts)
				return why ? usage("--hosts cannot be %s: %s", optarg, why) : no_memory();
			break;
		case TRACE:
			o->trace = optarg;
			if (!trace_format(optarg))
				err = usage("--trace takes a name that ends with .json, .paje or .txt, not %s", optarg);
			break;
		case OVERLAP:
			o->overlap = true;
			break;
		case TESTS:
			with = "--tests";
			err = parse_int_option("--tests", optarg, 0, 1000000, &o->tests);
			break;
		case WORK:
			with = "--work";
			err = parse_int_option("--work", optarg, 1, 1000000000, &o->work_us);
			break;
		case LATER:
			return not_built(longs[at].name);
		case HELP:
			fputs(run_usage_text, stdout);
			exit(EXIT_OK);
		case VERSION:
			printf("goalrun %s\n", GOAL_VERSION);
			exit(EXIT_OK);
		default:
			return usage("unknown option or missing argument: %s", argv[optind - 1]);
		}
	}
	if (err)
		return err;
	o->nranks = (uint32_t)g->nranks;
	if (!o->iters)
		o->iters = o->overlap ? DEFAULT_OVERLAP_ITERS : DEFAULT_ITERS;
	if (o->overlap && o->warmup < RUN_OVERLAP_WARMUP)
		o->warmup = RUN_OVERLAP_WARMUP;
	if (with && !o->overlap)
		return usage("%s goes with --overlap", with);
	if (o->overlap && o->delay)
		return usage("--overlap does not go with --delay: all ranks begin together");
	if ((g->table || g->topology != SELECT_NONE) && !g->collective)
		return usage("%s goes with --select", g->table ? "--table" : "--topology");
	err = check_value(g, "count", &g->counts, false);
	err = err ? err : check_value(g, "root", &g->roots, g->all_roots);
	if (err)
		return err;
	if (o->trace && run_plays_nic(o) && trace_format(o->trace) != trace_format("x.txt"))
		return usage("with --backend smcq --trace takes a name that ends with .txt, not %s", o->trace);
	if (o->placement.kind == PLACEMENT_LIST && o->placement.comm_cores >= 0)
		return usage("--comm-cores does not go with a list of cores");
	if (g->show_placement && (optind < argc || g->collective))
		return usage("--show-placement runs nothing");
	if (g->show_placement)
		return o->nranks ? 0 : usage("the number of ranks is missing: -n");
	if (optind > 0 && !strcmp(argv[optind - 1], "--")) {
		if (optind == argc)
			return usage("no program behind --");
		if (of_schedule)
			return usage("%s%s takes a schedule, no program", of_schedule[1] ? "--" : "-", of_schedule);
		if (o->threads)
			return usage("--ranks threads takes a schedule, no program");
		o->program = argv + optind;
	} else if (g->collective) {
		if (optind < argc)
			return usage("--select takes no schedule");
	} else if (optind != argc - 1) {
		return usage(optind == argc ? "no schedule" : "more than one schedule");
	} else {
		g->input = argv[optind];
	}
	if (o->hosts)
		err = check_hosts(g);
	if (!err && !o->nranks && o->program)
		return usage("the number of ranks is missing: -n");
	return err;
}
