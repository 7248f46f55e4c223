/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun: runs a schedule with generated data and checks the result, or a program. See goalrun(1). */
#include "runtime/run/hosts.h"
#include "runtime/run/trace.h"

#include "backends/smcq/model.h"
#include "backends/smcq/smcq.h"
#include "compiler/armw.h"
#include "compiler/bin_check.h"
#include "compiler/lower.h"
#include "compiler/passes.h"
#include "compiler/select.h"
#include "compiler/verify.h"
#include "util/file.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
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

static const char usage_text[] =
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

#define DEFAULT_COUNT 1000
#define DEFAULT_ITERS 1000
#define DEFAULT_OVERLAP_ITERS 50 /* whose starts are all checked */

struct list { /* as VEC makes it */
	int64_t *at;
	size_t n, cap;
};

struct goalrun {
	struct run_options o;
	int64_t nranks;
	int argc;
	char **argv;
	const struct agent_setup *sent; /* an agent's: it has the schedule; else NULL */
	const char *input;
	const char *collective, *table; /* --select */
	enum select_topology topology;
	char *selected; /* the path of the schedule, which is then the input */
	struct list counts, roots, types, ops, memories, samples;
	bool all_roots, show_placement, show_stats;
	char *sample; /* the argument of --sample */
	struct goal_diags *diags;
	struct bin bin;
	struct claim claim;
	struct ir_graph graph;
	struct run_places places; /* the options' */
	int trace_fd;
	bool seeded; /* the seed was asked for */
	struct run_nic nic;
	double *total, *start, *init, *cpu, *joules;
	struct work_spans *spans;
	struct MPIX_Sched_stats *stats; /* by rank */
	struct run_result *results;
};

#define usage(...) option_usage("goalrun", usage_text, __VA_ARGS__)
#define not_built(what) option_not_built("goalrun", what)

static int fault(const char *fmt, const char *what)
{
	fputs("goalrun: ", stderr);
	fprintf(stderr, fmt, what);
	fputc('\n', stderr);
	return EXIT_FAULT;
}

static int no_memory(void)
{
	return option_no_memory("goalrun");
}

/* Says what was found in the schedule. */
static int refuse(const struct goalrun *g, int err)
{
	fputs(goal_diags_text(g->diags), stderr);
	return err == -ERR_NOMEM ? no_memory() : EXIT_FAULT;
}

/* ---- options ---- */

static const char *backend_name(const struct run_options *o)
{
	return o->backend ? o->backend->name : env_get(ENV_GOAL_BACKEND);
}

/* Whether schedules run on command queues. */
static bool lowers(const struct run_options *o)
{
	return !strcmp(backend_name(o), smcq_ops.name);
}

/* Whether there is an interface to be played. */
static bool plays_nic(const struct run_options *o)
{
	const char *engine = o->engine ? o->engine : env_get(ENV_GOAL_ENGINE);

	return lowers(o) && !strcmp(engine, smcq_model.name);
}

static int find_name(const char *const *names, int n, const char *s)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], s))
			return i;
	return -1;
}

/* A list of numbers of at least 0, or of names when there are any. */
static int parse_list(struct list *l, const char *option, char *arg, const char *const *names, int nnames)
{
	char *save = NULL;

	l->n = 0;
	for (char *p = strtok_r(arg, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		int64_t v = names ? find_name(names, nnames, p) : -1;

		if (names ? v < 0 : !option_number(p, 0, INT64_MAX / 4, &v))
			return usage("%s cannot be %s", option, p);
		if (VEC_PUSH(l, v))
			return no_memory();
	}
	return 0;
}

static int number(const char *option, const char *s, int64_t min, int64_t max, int64_t *out)
{
	return option_number(s, min, max, out) ? 0 :
						 usage("%s takes a number from %" PRId64 " to %" PRId64 ", not %s",
						       option, min, max, s);
}

static int add_pass(struct goalrun *g, const char *arg)
{
	struct text why = { 0 };

	return option_result("goalrun", usage_text, passes_add(&g->o.passes, arg, &why), &why);
}

/* What goes with several hosts. */
static int check_hosts(struct goalrun *g)
{
	struct run_options *o = &g->o;
	const char *not = o->threads   ? "--ranks threads" :
			  o->overlap   ? "--overlap" :
			  o->trace     ? "--trace" :
			  plays_nic(o) ? "--engine model" :
			  g->collective ? "--select" :
					  NULL;

	if (not)
		return usage("%s does not go with --hosts", not);
	if (!o->nranks && o->program)
		o->nranks = hosts_room(o->hosts);
	return 0;
}

static int parse_options(struct goalrun *g, int argc, char **argv)
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
	const char *why;
	const struct smcq_row *engine;

	opterr = 0;
	while (!err && (opt = getopt_long(argc, argv, "n:D:T:", longs, &at)) != -1) {
		switch (opt) {
		case 'n':
			err = number("-n", optarg, 1, 4096, &g->nranks);
			break;
		case 'D':
			if (!option_define(&o->defines, optarg))
				err = usage("-D takes name=value[,value...], not %s", optarg);
			break;
		case 'T':
			err = add_pass(g, optarg);
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
			break;
		case MEMORY:
			err = parse_list(&g->memories, "--memory", optarg, run_memory_names, RUN_MEMORIES);
			break;
		case ITERS:
			err = number("--iters", optarg, 1, 100000000, &o->iters);
			break;
		case WARMUP:
			err = number("--warmup", optarg, 0, 100000000, &o->warmup);
			break;
		case SEED:
			g->seeded = true;
			err = number("--seed", optarg, 0, INT64_MAX, &o->seed);
			break;
		case DELAY:
			err = number("--delay", optarg, 0, 1000000, &o->delay);
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
			err = number("--dump-after", optarg, 0, 1000000000, &after);
			if (!err && setenv(env_table[ENV_GOAL_DUMP_AFTER].name, optarg, 1))
				return no_memory();
			break;
		case SELECT:
			g->collective = optarg;
			break;
		case TABLE:
			g->table = optarg;
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
			err = number("--comm-cores", optarg, 0, 1 << 20, &o->placement.comm_cores);
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
			err = number("--tests", optarg, 0, 1000000, &o->tests);
			break;
		case WORK:
			with = "--work";
			err = number("--work", optarg, 1, 1000000000, &o->work_us);
			break;
		case LATER:
			return not_built(longs[at].name);
		case HELP:
			fputs(usage_text, stdout);
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
	if (o->trace && plays_nic(o) && trace_format(o->trace) != trace_format("x.txt"))
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
		if (o->overlap)
			return usage("--overlap takes a schedule, no program");
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

/* ---- the schedule ---- */

/* The schedule of a call, which is the one case that there is. */
static int choose(struct goalrun *g)
{
	struct run_options *o = &g->o;
	struct select_call call = { .collective = g->collective, .ranks = o->nranks, .topology = g->topology };
	int64_t count = g->counts.n ? g->counts.at[0] : DEFAULT_COUNT;
	size_t size = rt_basic_size(g->types.n ? (enum MPIX_Sched_basic)g->types.at[0] : MPIX_SCHED_DOUBLE);

	if (!collective_known(g->collective))
		return usage("there is no collective %s", g->collective);
	if (!o->nranks)
		return usage("--select needs the number of ranks: -n");
	if (g->counts.n > 1 || g->types.n > 1 || g->ops.n > 1)
		return usage("--select takes one count, one type and one operation");
	for (size_t i = 0; i < o->defines.v.n; i++)
		if (!strcmp(o->defines.v.at[i].name, "count") && o->defines.v.at[i].n == 1)
			count = o->defines.v.at[i].value[0];
	call.bytes = (uint64_t)count * size;
	call.op = g->ops.n && g->ops.at[0] == RUN_USER ? SELECT_ANY_OP : SELECT_BUILTIN;
	g->input = g->selected = run_choose(o, &call, g->table);
	return g->input ? 0 : EXIT_FAULT;
}

static int choose_samples(struct goalrun *g);

/* Whether the schedule has an op that reduces. */
static bool reduces_any(const struct bin *b)
{
	bool any = false;

	for (uint32_t i = 0; i < b->ntmpls; i++)
		any |= strchr(bin_operands(b->tmpls[i].kind), 'U') != NULL;
	for (uint32_t i = 0; i < b->nclasses; i++)
		any |= strchr(bin_operands(b->classes[i].kind), 'U') != NULL;
	return any;
}

/* The count that a text is lowered for. */
static int64_t only_count(const struct goalrun *g)
{
	const struct defines *d = &g->o.defines;

	for (size_t i = 0; i < d->v.n; i++)
		if (!strcmp(d->v.at[i].name, "count") && d->v.at[i].n == 1)
			return d->v.at[i].value[0];
	return g->counts.n ? g->counts.at[0] : DEFAULT_COUNT;
}

/* What a text was lowered with is no parameter of what came out. */
static int forget_defines(struct run_options *o)
{
	for (size_t i = 0; i < o->defines.v.n;) {
		const struct define d = o->defines.v.at[i];

		if (!strcmp(d.name, "count") || !strcmp(d.name, "root")) {
			i++;
			continue;
		}
		if (VEC_PUSH(&o->lowered.v, d))
			return -ERR_NOMEM;
		o->defines.v.at[i] = o->defines.v.at[--o->defines.v.n];
	}
	return 0;
}

/* The pass, which is told of the one operation and type that there are, where an interface can reduce so. */
static int add_lowering(struct goalrun *g)
{
	const enum MPIX_Sched_builtin op = g->ops.n ? (enum MPIX_Sched_builtin)g->ops.at[0] : MPIX_SCHED_SUM;
	const enum MPIX_Sched_basic type = g->types.n ? (enum MPIX_Sched_basic)g->types.at[0] : MPIX_SCHED_DOUBLE;
	char pass[96] = "lower-smcq";

	if (reduces_any(&g->bin) && g->ops.n <= 1 && g->types.n <= 1 && (unsigned)op < MPIX_SCHED_BUILTINS &&
	    armw_of(op, type, NULL, 0))
		snprintf(pass, sizeof pass, "lower-smcq:op=%s,type=%s", run_op_names[op], run_type_names[type]);
	return add_pass(g, pass);
}

/* Puts what the text in o->image is lowered to in its place. */
static int lower(struct goalrun *g, const char *text, size_t len)
{
	struct run_options *o = &g->o;
	struct run_lowering l = { .bin = &g->bin, .text = text, .len = len, .count = only_count(g) };
	void *plain = o->image;
	int err;

	if (!o->nranks)
		return usage("the number of ranks is missing: -n");
	if (g->counts.n > 1)
		return usage("--backend smcq takes one count: queues are made for one");
	err = choose_samples(g);
	if (err)
		return err;
	if (g->samples.n > 1)
		return usage("--backend smcq takes one sample: queues are made for one");
	if ((!o->passes || !strstr(o->passes, "lower-smcq")) && (err = add_lowering(g)))
		return err;
	l.passes = o->passes;
	l.sample = (unsigned)g->samples.at[0];
	o->image = NULL;
	err = run_lower(g->diags, o, &l, &o->image, &o->size);
	free(plain);
	err = err ? err : forget_defines(o);
	o->sample = g->sample;
	g->sample = NULL;
	g->samples.n = 0;
	return err ? refuse(g, err) : 0;
}

static int load_text(struct goalrun *g, const char *data, size_t len)
{
	struct run_options *o = &g->o;
	const bool queues = lowers(o);
	const char *global = o->passes && !queues ? passes_global(o->passes) : NULL;
	struct compile_options c = { .debug = true, .passes = queues ? NULL : o->passes };
	int err;

	if (global && !goal_text_is_plain(&(struct file){ -1, (void *)(uintptr_t)data, len }))
		return usage("-T %s needs the ops of all ranks: make a binary of them with goalc -n", global);
	err = compile_text(g->diags, g->input, data, len, &c, &o->image, &o->size);
	err = err || !queues ? err : bin_open(&g->bin, o->image, o->size);
	return err ? refuse(g, err) : queues ? lower(g, data, len) : 0;
}

static int load_binary(struct goalrun *g, char *data, size_t len)
{
	struct run_options *o = &g->o;
	int err;

	o->image = data;
	o->size = len;
	if (o->passes && !g->sent) /* else they were run on it before */
		return usage("-T works on a schedule's text: give it to goalc for this binary");
	err = bin_check(data, len);
	if (err)
		goal_diag(g->diags, GOAL_ERROR, (struct goal_loc){ 0 }, NULL, "%s", err_text(err));
	return err ? refuse(g, err) : 0;
}

static int load(struct goalrun *g)
{
	struct run_options *o = &g->o;
	char *data = NULL;
	size_t len;
	int err;

	if (g->sent) {
		data = mem_alloc(g->sent->size + 1);
		len = g->sent->size;
		if (data) {
			memcpy(data, g->sent->image, len);
			data[len] = '\0';
		}
		err = data ? 0 : -ERR_NOMEM;
	} else {
		err = file_read(g->input, &data, &len);
	}
	if (err == -ERR_NOMEM)
		return no_memory();
	if (err) {
		fprintf(stderr, "goalrun: %s: %s\n", g->input, strerror(errno));
		return EXIT_FAULT;
	}
	g->diags = goal_diags_new();
	if (!g->diags || goal_diags_source(g->diags, g->input, NULL, 0) < 0) {
		free(data);
		return no_memory();
	}
	o->name = g->input;
	if (len && (unsigned char)data[0] == 0x89) {
		err = load_binary(g, data, len);
	} else {
		err = load_text(g, data, len);
		free(data);
	}
	if (err)
		return err;
	err = bin_open(&g->bin, o->image, o->size);
	if (err)
		return refuse(g, err);
	if (!o->nranks)
		o->nranks = g->bin.meta->nranks;
	if (!o->nranks)
		return usage("the schedule is parametric: give the number of ranks with -n");
	if (g->bin.meta->nranks && g->bin.meta->nranks != o->nranks) {
		fprintf(stderr, "goalrun: %s is for %u ranks, not for %u\n", g->input, g->bin.meta->nranks, o->nranks);
		return EXIT_FAULT;
	}
	return 0;
}

/* Whether a type has an operation; what is not reduced has all, and so has goalrun's own operation. */
static bool defined(int64_t type, int64_t op)
{
	return op == MPIX_SCHED_NO_OP || op == RUN_USER || rt_kernels_base.of[type][op];
}

/* The digit of a number whose digits count through lists; rest is what the others are. */
static int64_t value_of(const struct list *l, size_t *rest)
{
	int64_t v = l->at[*rest % l->n];

	*rest /= l->n;
	return v;
}

/* Every combination, but for types that do not have the operation, as long as others remain. */
static int add_cases(struct goalrun *g)
{
	VEC(struct run_case) v = { 0 };
	bool any = false;
	int err = 0;

	for (size_t t = 0; t < g->types.n; t++)
		for (size_t k = 0; k < g->ops.n; k++)
			any |= defined(g->types.at[t], g->ops.at[k]);
	const size_t all = g->samples.n * g->memories.n * g->types.n * g->ops.n * g->roots.n * g->counts.n;

	for (size_t i = 0; i < all && !err; i++) {
		size_t rest = i;
		struct run_case c = { .count = value_of(&g->counts, &rest), .root = value_of(&g->roots, &rest) };

		c.op = (unsigned)value_of(&g->ops, &rest);
		c.type = (enum MPIX_Sched_basic)value_of(&g->types, &rest);
		c.memory = (enum run_memory)value_of(&g->memories, &rest);
		c.sample = (unsigned)value_of(&g->samples, &rest);
		if (!any || defined(c.type, c.op))
			err = VEC_PUSH(&v, c);
	}
	g->o.cases = v.at;
	g->o.ncases = v.n;
	if (!err && g->o.pairs) {
		g->o.ncases = sweep_pairs(v.at, v.n);
		err = !g->o.ncases;
	}
	return err ? fault("%s", "out of memory: fewer combinations") : 0;
}

/* No blocks of elements: messages of a plain file have bytes of their own. */
static bool dataless(const struct run_options *o)
{
	return o->plain || o->barrier;
}

/* The samples that --sample names, or the first one. */
static int choose_samples(struct goalrun *g)
{
	const unsigned n = g->o.plain ? 1 : collective_samples(&g->bin);
	const bool all = g->sample && !strcmp(g->sample, "all");
	char *save = NULL, name[32];
	int err = 0;

	for (unsigned i = 0; i < (all ? n : g->sample ? 0 : 1) && !err; i++)
		err = VEC_PUSH(&g->samples, i);
	for (char *p = all || !g->sample ? NULL : strtok_r(g->sample, ",", &save); p && !err; p = strtok_r(NULL, ",", &save)) {
		unsigned i = 0;

		for (; i < n; i++) {
			collective_sample_name(&g->bin, i, name, sizeof name);
			if (*name && !strcmp(name, p))
				break;
		}
		if (i == n)
			return fault("the schedule has no sample of arguments called %s", p);
		err = VEC_PUSH(&g->samples, i);
	}
	return err ? no_memory() : 0;
}

static int set_defaults(struct goalrun *g)
{
	struct run_options *o = &g->o;
	struct ir_fault why;
	int err;

	o->plain = g->bin.meta->flags & BIN_F_PLAIN;
	err = claim_open(&g->claim, &g->bin, &why);
	if (err)
		return fault("%s", err == -ERR_CLAIM ? why.text : err_text(err));
	o->claim = &g->claim;
	o->barrier = verify_is_barrier(&g->bin);
	err = choose_samples(g);
	if (err)
		return err;
	o->has_root = g->bin.meta->root != BIN_NONE;
	for (size_t i = 0; i < o->defines.v.n;) { /* count and root have options of their own */
		struct define *d = &o->defines.v.at[i];
		bool count = !strcmp(d->name, "count"), root = !strcmp(d->name, "root");

		if ((!count && !root) || d->n != 1 || d->rank >= 0) {
			i++;
			continue;
		}
		if (count) {
			g->counts.n = 0;
			err |= VEC_PUSH(&g->counts, d->value[0]);
		} else {
			g->roots.n = 0;
			err |= VEC_PUSH(&g->roots, d->value[0]);
		}
		define_drop(d);
		*d = o->defines.v.at[--o->defines.v.n];
	}
	if (!g->counts.n)
		err |= VEC_PUSH(&g->counts, g->bin.meta->count >= 0 ? g->bin.meta->count : DEFAULT_COUNT);
	if (!g->types.n)
		err |= VEC_PUSH(&g->types, MPIX_SCHED_DOUBLE);
	if (!g->memories.n)
		err |= VEC_PUSH(&g->memories, RUN_HEAP);
	if ((g->roots.n || g->all_roots) && !o->has_root)
		return fault("%s has no root", g->input);
	if (g->all_roots)
		for (uint32_t r = 0; r < o->nranks; r++)
			err |= VEC_PUSH(&g->roots, r);
	else if (!g->roots.n)
		err |= VEC_PUSH(&g->roots, o->has_root ? g->bin.params[g->bin.meta->root].value : -1);
	if (o->plain || (o->claim->any && !reduces_any(&g->bin))) {
		g->ops.n = 0;
		err |= VEC_PUSH(&g->ops, MPIX_SCHED_NO_OP);
	} else if (!g->ops.n) {
		err |= VEC_PUSH(&g->ops, MPIX_SCHED_SUM);
	}
	if (dataless(o)) { /* nothing to choose but the memory */
		g->counts.n = g->types.n = 1;
		g->types.at[0] = MPIX_SCHED_BYTE;
	}
	if (o->plain)
		g->counts.at[0] = 1;
	return err ? no_memory() : add_cases(g);
}

/* Messages with wildcards are not run. */
static int check_wildcards(struct goalrun *g, const struct ir_graph *graph)
{
	int err = 0;

	for (uint32_t r = 0; r < graph->nranks; r++)
		for (uint32_t i = 0; i < graph->ranks[r].nops; i++) {
			const struct bin_op *op = &graph->ranks[r].ops[i];

			if ((op->kind == BIN_OP_SEND || op->kind == BIN_OP_RECV) &&
			    (op->peer == BIN_ANY || op->tag == BIN_ANY)) {
				goal_diag(g->diags, GOAL_ERROR, ir_graph_loc(graph, op), NULL,
					  "rank %u op %u has a wildcard: messages are matched before they run", r,
					  i);
				err = -ERR_UNSUPPORTED;
			}
		}
	return err;
}

/* What is claimed has to fit the schedule's buffers. */
static int check_claim(struct goalrun *g, struct bin_args *args)
{
	struct wants *wants = mem_calloc(args->size, sizeof *wants);
	struct ir_fault why = { 0 };
	int err = wants ? claim_all_wants(&g->claim, args, wants, &args->rank, &why) : -ERR_NOMEM;

	if (err && err != -ERR_NOMEM)
		lower_fault(g->diags, 0, &g->bin, NULL, args, err, &why);
	for (uint32_t r = 0; r < args->size && !err; r++)
		wants_fini(&wants[r]);
	free(wants);
	return err;
}

/* One sample of arguments, for the first count and root. */
static int check_sample(struct goalrun *g, unsigned sample, struct ir_graph *graph)
{
	const struct run_options *o = &g->o;
	struct bin_args args = { .size = o->nranks, .count = o->cases[0].count };
	struct arg_rows rows;
	int64_t ignored;
	int err = arg_rows_init(&rows, &g->bin, o->nranks);

	err = err ? err : arg_rows_define(&rows, g->diags, 0, &g->bin, o->defines.v.at, o->defines.v.n, &ignored);
	err = err ? err : collective_sample(&g->bin, args.count, sample, &rows);
	if (!err) {
		if (o->has_root)
			arg_rows_set(&rows, g->bin.meta->root,
				     (struct bin_arg){ .known = true, .value = o->cases[0].root });
		args.by_rank = rows.by_rank;
		args.args = args.by_rank[0];
		args.sample = rows.name;
		err = compile_graph(g->diags, 0, &g->bin, &args, graph);
	}
	err = err ? err : check_wildcards(g, graph);
	err = err ? err : checks_run(g->diags, graph, CHECK_RUN, 0);
	err = err ? err : check_claim(g, &args);
	arg_rows_fini(&rows);
	return err;
}

/* What goalrun asks of a schedule before it runs: all of it, over all ranks. */
static int check_schedule(struct goalrun *g)
{
	int err = 0;

	for (size_t i = 0; i < g->samples.n && !err && !goal_diags_errors(g->diags); i++) {
		ir_graph_fini(&g->graph);
		err = check_sample(g, (unsigned)g->samples.at[i], &g->graph);
	}
	return goal_diags_errors(g->diags) || err ? refuse(g, err) : 0;
}

/* ---- results ---- */

static int by_time(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Per iteration the slowest rank counts; of these the median. */
static double median(const double *times, uint32_t ranks, size_t iters, double *scratch, double *min)
{
	for (size_t i = 0; i < iters; i++) {
		scratch[i] = 0;
		for (uint32_t r = 0; r < ranks; r++)
			if (times[r * iters + i] > scratch[i])
				scratch[i] = times[r * iters + i];
	}
	qsort(scratch, iters, sizeof *scratch, by_time);
	*min = scratch[0];
	return scratch[iters / 2];
}

static int summarise(struct goalrun *g)
{
	const struct run_options *o = &g->o;
	size_t iters = (size_t)o->iters, per = o->nranks * iters;
	double *scratch = mem_alloc(iters * sizeof *scratch), ignored;

	g->results = mem_calloc(o->ncases, sizeof *g->results);
	if (!scratch || !g->results) {
		free(scratch);
		return no_memory();
	}
	for (size_t c = 0; c < o->ncases; c++) {
		struct run_result *r = &g->results[c];

		r->median_us = median(g->total + c * per, o->nranks, iters, scratch, &r->min_us);
		r->start_us = median(g->start + c * per, o->nranks, iters, scratch, &ignored);
		for (size_t i = c * per; i < (c + 1) * per; i++) /* what is left is waiting */
			g->total[i] -= g->start[i];
		r->wait_us = median(g->total + c * per, o->nranks, iters, scratch, &ignored);
		for (uint32_t k = 0; k < o->nranks; k++)
			if (g->init[c * o->nranks + k] > r->init_us)
				r->init_us = g->init[c * o->nranks + k];
		for (uint32_t k = 0; k < o->nranks; k++)
			r->cpu_s += g->cpu[c * o->nranks + k];
		if (o->overlap)
			r->overlap = work_overlap(g->spans + c * per, o->nranks, iters, scratch, r->part_us);
	}
	free(scratch);
	return EXIT_OK;
}

static bool checked(const struct run_options *o)
{
	return o->plain || o->claim->any;
}

static bool reduces(const struct run_options *o)
{
	return o->cases[0].op != MPIX_SCHED_NO_OP;
}

/* Whether CPU seconds and joules are measured. */
static bool measures(const struct run_options *o)
{
	return o->wait && !o->overlap;
}

/* Ranks that wait make progress for others. */
static bool helps(const struct run_options *o)
{
	return o->progress && !strcmp(o->progress, rt_progress_names[RT_COLLAB]);
}

static void print_steals(const struct goalrun *g)
{
	puts(" rank   steals on its NUMA node   on others");
	for (uint32_t r = 0; r < g->o.nranks; r++)
		printf("%5" PRIu32 " %25" PRIu64 " %11" PRIu64 "\n", r, g->stats[r].steals_local,
		       g->stats[r].steals_remote);
}

static void print_rank_stats(const struct goalrun *g)
{
	puts(" rank    links   link bytes     posted       sent     sent bytes");
	for (uint32_t r = 0; r < g->o.nranks; r++)
		printf("%5" PRIu32 " %8" PRIu64 " %12" PRIu64 " %10" PRIu64 " %10" PRIu64 " %14" PRIu64 "\n", r, g->stats[r].links,
		       g->stats[r].link_bytes, g->stats[r].posted, g->stats[r].sent, g->stats[r].sent_bytes);
}

static json_object *rank_stats(const struct goalrun *g)
{
	json_object *all = json_object_new_array();

	for (uint32_t r = 0; r < g->o.nranks; r++) {
		const struct MPIX_Sched_stats *s = &g->stats[r];
		const struct {
			const char *name;
			uint64_t value;
		} rows[] = { { "rank", r },	     { "links", s->links }, { "link_bytes", s->link_bytes },
			     { "posted", s->posted }, { "sent", s->sent },   { "sent_bytes", s->sent_bytes } };
		json_object *one = json_object_new_object();

		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			json_object_object_add(one, rows[i].name, json_object_new_int64((int64_t)rows[i].value));
		json_object_array_add(all, one);
	}
	return all;
}

/* What is posted in a start of the first case, by all ranks. */
struct posted {
	uint64_t queues, entries; /* queues: of the rank that has most */
	double packets, bytes; /* that the interface has moved in a start, on the average */
};

static struct posted posted(const struct goalrun *g)
{
	const double starts = (double)g->o.ncases * (double)(g->o.warmup + (g->o.overlap ? 2 : 1) * g->o.iters);
	struct posted p = { 0 };

	for (uint32_t r = 0; r < g->o.nranks; r++) {
		const struct bin_queues *h = bin_posts(&g->bin, bin_entry(&g->bin, r, g->o.cases[0].root)).head;

		p.queues = h->nqueues > p.queues ? h->nqueues : p.queues;
		p.entries += h->nentries;
	}
	if (g->nic.stats) {
		p.packets = (double)g->nic.stats->packets / starts;
		p.bytes = (double)g->nic.stats->bytes / starts;
	}
	return p;
}

static void print_posted(const struct goalrun *g)
{
	const struct posted p = posted(g);

	printf("a start: %" PRIu64 " entries in all, in at most %" PRIu64 " queues of a rank", p.entries, p.queues);
	if (g->nic.stats)
		printf("; %.1f packets, %.0f bytes", p.packets, p.bytes);
	putchar('\n');
}

static void print_table(const struct goalrun *g)
{
	const struct run_options *o = &g->o;
	int width = 7; /* of the types */

	printf("%s: %u ranks (%s), backend %s, %s%s%" PRId64 " starts each%s\n", o->name, o->nranks,
	       o->threads ? "threads" : "processes", backend_name(o), o->progress ? o->progress : "", o->progress ? " progress, " : "",
	       o->warmup + (o->overlap ? 2 : 1) * o->iters,
	       !checked(o)  ? ", result not checked" :
	       o->verify || o->plain || o->overlap ? ", every byte of every start checked" :
				       ", first and last start checked");
	for (size_t i = 0; i < o->ncases; i++)
		if ((int)strlen(run_type_names[o->cases[i].type]) > width)
			width = (int)strlen(run_type_names[o->cases[i].type]);
	printf("%10s %-*s %s%5s %-8s %s", "count", width, "type", reduces(o) ? "op      " : "", "root", "memory",
	       g->sample ? "sample            " : "");
	if (o->overlap)
		printf("%11s %11s %11s %11s\n", "comm us", "compute us", "total us", "overlap");
	else
		printf("%11s %11s %11s %11s%s%s\n", "median us", "min us", "start us", "init us",
		       lowers(o) ? "     wait us" : "", measures(o) ? "       cpu s      joules" : "");
	for (size_t i = 0; i < o->ncases; i++) {
		const struct run_case *c = &o->cases[i];
		const struct run_result *r = &g->results[i];
		char root[24] = "-", count[24] = "-", op[24] = "", sample[32] = "", joules[24] = "-";

		if (c->root >= 0)
			snprintf(root, sizeof root, "%" PRId64, c->root);
		if (!dataless(o))
			snprintf(count, sizeof count, "%" PRId64, c->count);
		if (measures(o) && !isnan(g->joules[i]))
			snprintf(joules, sizeof joules, "%.3f", g->joules[i]);
		if (reduces(o))
			snprintf(op, sizeof op, "%-8s", run_op_names[c->op]);
		if (g->sample)
			collective_sample_name(&g->bin, c->sample, sample, sizeof sample);
		printf("%10s %-*s %s%5s %-8s %-*s", count, width, run_type_names[c->type], op, root,
		       run_memory_names[c->memory], g->sample ? 18 : 0, sample);
		if (o->overlap)
			printf("%11.2f %11.2f %11.2f %9.1f %%\n", r->part_us[WORK_COMM], r->part_us[WORK_COMPUTE],
			       r->part_us[WORK_BOTH], 100 * r->overlap);
		else
			printf("%11.2f %11.2f %11.2f %11.1f", r->median_us, r->min_us, r->start_us, r->init_us);
		if (lowers(o) && !o->overlap)
			printf(" %11.2f", r->wait_us);
		if (measures(o))
			printf(" %11.4f %11s", r->cpu_s, joules);
		if (!o->overlap)
			putchar('\n');
	}
	if (helps(o))
		print_steals(g);
	if (lowers(o))
		print_posted(g);
	if (g->show_stats)
		print_rank_stats(g);
	if (checked(o))
		printf("verified: all %zu case%s right\n", o->ncases, o->ncases == 1 ? "" : "s");
}

/* Of case i, when they are measured. */
static void add_cost(json_object *j, const struct goalrun *g, size_t i)
{
	json_object *all = json_object_new_array();

	for (uint32_t k = 0; k < g->o.nranks; k++)
		json_object_array_add(all, json_object_new_double(g->cpu[i * g->o.nranks + k]));
	json_object_object_add(j, "cpu_s", all);
	json_object_object_add(j, "joules", isnan(g->joules[i]) ? NULL : json_object_new_double(g->joules[i]));
}

static void add_times(json_object *j, const struct goalrun *g, size_t i)
{
	const struct run_options *o = &g->o;
	const struct run_result *r = &g->results[i];

	json_object_object_add(j, "median_us", json_object_new_double(r->median_us));
	json_object_object_add(j, "min_us", json_object_new_double(r->min_us));
	json_object_object_add(j, "start_us", json_object_new_double(r->start_us));
	json_object_object_add(j, "init_us", json_object_new_double(r->init_us));
	if (lowers(o))
		json_object_object_add(j, "wait_us", json_object_new_double(r->wait_us));
	if (measures(o))
		add_cost(j, g, i);
	if (!o->overlap)
		return;
	json_object_object_add(j, "comm_us", json_object_new_double(r->part_us[WORK_COMM]));
	json_object_object_add(j, "compute_us", json_object_new_double(r->part_us[WORK_COMPUTE]));
	json_object_object_add(j, "total_us", json_object_new_double(r->part_us[WORK_BOTH]));
	json_object_object_add(j, "overlap", json_object_new_double(r->overlap));
}

static void add_posted(json_object *j, const struct goalrun *g)
{
	const struct posted p = posted(g);

	json_object_object_add(j, "queues", json_object_new_int64((int64_t)p.queues));
	json_object_object_add(j, "entries", json_object_new_int64((int64_t)p.entries));
	json_object_object_add(j, "packets", g->nic.stats ? json_object_new_double(p.packets) : NULL);
	json_object_object_add(j, "bytes", g->nic.stats ? json_object_new_double(p.bytes) : NULL);
}

static json_object *steals(const struct goalrun *g)
{
	json_object *all = json_object_new_array();

	for (uint32_t r = 0; r < g->o.nranks; r++) {
		json_object *one = json_object_new_object();

		json_object_object_add(one, "rank", json_object_new_int64(r));
		json_object_object_add(one, "local", json_object_new_int64((int64_t)g->stats[r].steals_local));
		json_object_object_add(one, "remote", json_object_new_int64((int64_t)g->stats[r].steals_remote));
		json_object_array_add(all, one);
	}
	return all;
}

static void print_json_result(const struct goalrun *g)
{
	const struct run_options *o = &g->o;
	json_object *j = json_object_new_object();

	json_object_object_add(j, "ranks", json_object_new_int64(o->nranks));
	json_object_object_add(j, "backend", json_object_new_string(backend_name(o)));
	json_object_object_add(j, "verified", json_object_new_boolean(checked(o)));
	json_object_object_add(j, "iters", json_object_new_int64(o->iters));
	if (o->ncases == 1) {
		add_times(j, g, 0);
	} else {
		json_object *all = json_object_new_array();

		for (size_t i = 0; i < o->ncases; i++) {
			const struct run_case *c = &o->cases[i];
			json_object *e = json_object_new_object();

			json_object_object_add(e, "count", json_object_new_int64(c->count));
			json_object_object_add(e, "type", json_object_new_string(run_type_names[c->type]));
			json_object_object_add(e, "op",
					       reduces(o) ? json_object_new_string(run_op_names[c->op]) : NULL);
			json_object_object_add(e, "root", json_object_new_int64(c->root));
			json_object_object_add(e, "memory", json_object_new_string(run_memory_names[c->memory]));
			add_times(e, g, i);
			json_object_array_add(all, e);
		}
		json_object_object_add(j, "cases", all);
	}
	if (helps(o))
		json_object_object_add(j, "steals", steals(g));
	if (lowers(o))
		add_posted(j, g);
	if (g->show_stats)
		json_object_object_add(j, "stats", rank_stats(g));
	printf("%s\n", json_object_to_json_string_ext(j, JSON_C_TO_STRING_SPACED));
	json_object_put(j);
}

static void print_defines(const struct defines *defines)
{
	for (size_t i = 0; i < defines->v.n; i++) {
		const struct define *d = &defines->v.at[i];

		fprintf(stderr, " -D %s", d->name);
		if (d->rank >= 0)
			fprintf(stderr, "@%" PRId64, d->rank);
		for (size_t k = 0; k < d->n; k++)
			fprintf(stderr, "%c%" PRId64, k ? ',' : '=', d->value[k]);
	}
}

void run_reproduce(const struct run_options *o, size_t index)
{
	const struct run_case *c = &o->cases[index];
	char name[32];

	collective_sample_name(o->claim->b, c->sample, name, sizeof name);
	fprintf(stderr, "goalrun: this case alone: goalrun -n %u", o->nranks);
	if (o->threads)
		fputs(" --ranks threads", stderr);
	if (o->verify)
		fputs(" --verify", stderr);
	if (!dataless(o))
		fprintf(stderr, " --count %" PRId64 " --type %s", c->count, run_type_names[c->type]);
	if (reduces(o))
		fprintf(stderr, " --op %s", run_op_names[c->op]);
	if (c->root >= 0)
		fprintf(stderr, " --root %" PRId64, c->root);
	fprintf(stderr, " --memory %s --warmup %" PRId64 " --iters %" PRId64 " --seed %" PRId64,
		run_memory_names[c->memory], o->warmup, o->iters, o->seed);
	if (*name || o->sample)
		fprintf(stderr, " --sample %s", *name ? name : o->sample);
	if (o->delay)
		fprintf(stderr, " --delay %" PRId64, o->delay);
	if (o->overlap)
		fprintf(stderr, " --overlap --tests %" PRId64, o->tests);
	if (o->work_us)
		fprintf(stderr, " --work %" PRId64, o->work_us);
	if (o->backend)
		fprintf(stderr, " --backend %s", o->backend->name);
	if (o->engine)
		fprintf(stderr, " --engine %s", o->engine);
	if (o->no_shm)
		fprintf(stderr, " --no-shm");
	if (o->progress)
		fprintf(stderr, " --progress %s", o->progress);
	if (o->placed)
		fprintf(stderr, " --placement %s", o->placed);
	if (o->placement.comm_cores >= 0)
		fprintf(stderr, " --comm-cores %" PRId64, o->placement.comm_cores);
	if (o->wait)
		fprintf(stderr, " --wait %s", o->wait);
	if (o->trace)
		fprintf(stderr, " --trace %s", o->trace);
	if (o->passes)
		fprintf(stderr, " -T %s", o->passes);
	print_defines(&o->lowered);
	print_defines(&o->defines);
	fprintf(stderr, " %s\n", o->name);
}

static int run_launches(struct goalrun *g)
{
	struct run_options *o = &g->o;
	size_t times = o->ncases * o->nranks * (size_t)o->iters * sizeof(double);
	size_t inits = o->ncases * o->nranks * sizeof(double);
	size_t spans = o->overlap ? o->ncases * o->nranks * (size_t)o->iters * sizeof *g->spans : 0;
	int rc = EXIT_OK;

	g->total = run_shared_memory(times);
	g->start = run_shared_memory(times);
	g->init = run_shared_memory(inits);
	g->cpu = run_shared_memory(inits);
	g->joules = run_shared_memory(o->ncases * sizeof(double));
	g->spans = run_shared_memory(spans);
	g->stats = run_shared_memory(o->nranks * sizeof *g->stats);
	if (!g->total || !g->start || !g->init || !g->cpu || !g->joules || !g->spans || !g->stats)
		return fault("%s", "out of memory: fewer --iters or cases");
	for (size_t m = 0; m < g->memories.n && !rc; m++) {
		struct run_launch l = { .o = o,
					.memory = (enum run_memory)g->memories.at[m],
					.total = g->total,
					.start = g->start,
					.init = g->init,
					.cpu = g->cpu,
					.joules = g->joules,
					.spans = g->spans,
					.stats = g->stats };

		rc = launch_schedule(&l);
	}
	return rc;
}

/* Whether ranks are pinned. */
static bool pins(const struct run_options *o)
{
	return o->placed || o->placement.comm_cores >= 0 || (o->progress && !strcmp(o->progress, "thread"));
}

/* What ranks find in their environment, and where they go. On several hosts their agents see to it. */
static int prepare_ranks(struct goalrun *g)
{
	struct run_options *o = &g->o;
	int rc = EXIT_OK;

	o->first = g->sent ? g->sent->first : 0;
	o->here = g->sent ? g->sent->here : o->nranks;
	if (o->hosts)
		return hosts_begin(o->hosts, o, g->argc, g->argv);
	if ((o->backend && setenv(env_table[ENV_GOAL_BACKEND].name, o->backend->name, 1)) ||
	    (o->no_shm && setenv(env_table[ENV_GOAL_SHM].name, "0", 1)) ||
	    (o->engine && setenv(env_table[ENV_GOAL_ENGINE].name, o->engine, 1)) ||
	    (o->progress && setenv(env_table[ENV_GOAL_PROGRESS].name, o->progress, 1)) ||
	    (o->wait && setenv(env_table[ENV_GOAL_WAIT].name, o->wait, 1)))
		return no_memory();
	if (plays_nic(o))
		rc = run_nic_start(&g->nic, g->seeded ? (uint64_t)o->seed : 0, o->trace);
	else if (o->trace && (g->trace_fd = run_trace_open(o->trace)) < 0)
		rc = EXIT_FAULT;
	if (rc)
		return rc;
	if (!pins(o))
		return EXIT_OK;
	rc = run_place(o, &g->places);
	if (rc)
		return rc;
	o->places = &g->places;
	return run_tell_placement(o->places);
}

/* What they leave, when they have ended well. */
static int collect(const struct goalrun *g)
{
	return g->o.trace && !plays_nic(&g->o) ? run_trace_write(g->trace_fd, g->o.trace) : EXIT_OK;
}

static int run_schedule(struct goalrun *g)
{
	struct run_options *o = &g->o;
	int rc = g->collective ? choose(g) : 0;

	rc = rc ? rc : load(g);
	rc = rc ? rc : set_defaults(g);
	rc = rc ? rc : check_schedule(g);
	if (rc)
		return rc;
	o->graph = &g->graph;
	if (o->verify && !checked(o))
		return fault("--verify: %s does not say what it implements, or something not known here", g->input);
	rc = prepare_ranks(g);
	rc = rc ? rc : run_launches(g);
	rc |= run_nic_stop(&g->nic);
	if (g->sent)
		return rc;
	rc = rc ? rc : collect(g);
	rc = rc ? rc : summarise(g);
	if (!rc && o->json)
		print_json_result(g);
	else if (!rc)
		print_table(g);
	if (!rc && (fflush(stdout) || ferror(stdout)))
		rc = fault("%s", "standard output cannot be written");
	return rc;
}

static int run_program(struct goalrun *g)
{
	int rc = prepare_ranks(g);

	rc = rc ? rc : launch_program(&g->o);
	rc |= run_nic_stop(&g->nic);
	return rc ? rc : collect(g);
}

/* Options are taken apart where they stand; this is for other hosts. One block. */
static char **copy_words(int argc, char **argv)
{
	size_t size = ((size_t)argc + 1) * sizeof *argv;
	char **copy, *at;

	for (int i = 0; i < argc; i++)
		size += strlen(argv[i]) + 1;
	copy = mem_calloc(1, size);
	at = (char *)(copy ? copy + argc + 1 : NULL);
	for (int i = 0; i < argc && copy; i++) {
		copy[i] = at;
		at = stpcpy(at, argv[i]) + 1;
	}
	return copy;
}

/* Runs what the options ask for. sent: as one of several hosts, told so by goalrun; or NULL. */
static int run(int argc, char **argv, const struct agent_setup *sent, struct run_agent *agent)
{
	struct goalrun g = { .argc = argc,
			     .argv = copy_words(argc, argv),
			     .sent = sent,
			     .o = { .warmup = 10,
				    .seed = 1,
				    .placement = { .kind = PLACEMENT_NUMA, .comm_cores = -1 } } };
	int rc = g.argv ? parse_options(&g, argc, argv) : no_memory();

	if (sent) {
		hosts_end(g.o.hosts);
		g.o.hosts = NULL;
		g.o.agent = agent;
		g.o.nranks = sent->nranks;
	}
	g.o.here = g.o.nranks;
	if (!rc && g.show_placement)
		rc = run_show_placement(&g.o);
	else if (!rc)
		rc = g.o.program ? run_program(&g) : run_schedule(&g);
	hosts_end(g.o.hosts);
	free(g.argv);
	VEC_FREE(&g.counts);
	VEC_FREE(&g.roots);
	VEC_FREE(&g.types);
	VEC_FREE(&g.ops);
	VEC_FREE(&g.memories);
	VEC_FREE(&g.samples);
	goal_diags_free(g.diags);
	ir_graph_fini(&g.graph);
	defines_free(&g.o.defines);
	defines_free(&g.o.lowered);
	free(g.o.passes);
	VEC_FREE(&g.o.placement.list);
	if (g.o.places)
		run_unplace(&g.places);
	claim_close(&g.claim);
	free(g.selected);
	free(g.o.cases);
	free(g.o.image);
	free(g.results);
	return rc;
}

/* The ranks of one of several hosts. */
static int be_agent(void)
{
	struct agent_setup setup = { 0 };
	struct run_agent *agent;
	int rc = agent_open(&agent, &setup);

	rc = rc ? rc : run((int)setup.argc, setup.argv, &setup, agent);
	agent_close(agent, &setup);
	return rc;
}

int main(int argc, char **argv)
{
	return argc == 2 && !strcmp(argv[1], "--agent") ? be_agent() : run(argc, argv, NULL, NULL);
}
