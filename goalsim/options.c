/* SPDX-License-Identifier: BSD-3-Clause
 * Parses the options of goalsim(1). */
#include "goalsim/goalsim.h"

#include "compiler/ir/ir.h"
#include "compiler/passes/passes.h"
#include "mpix_sched_basic.h"
#include "trace/trace.h"
#include "util/env.h"
#include "util/nearest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST_CORES 4096

static const struct {
	const char *name;
	uint32_t bytes;
} types[] = {
#define MPIX_SCHED_X(NAME, name, kind, type) { #name, sizeof(type) },
	MPIX_SCHED_BASIC_LIST(MPIX_SCHED_X)
#undef MPIX_SCHED_X
};

static int take_type(const struct option_use *u)
{
	struct nearest n = { .word = u->arg };

	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		if (!strcmp(types[i].name, u->arg)) {
			*(uint32_t *)u->field = types[i].bytes;
			return 0;
		}
		nearest_name(&n, types[i].name);
	}
	return usage("--type: no such type %s%s", u->arg, nearest_choices(&n));
}

static int take_pass(const struct option_use *u)
{
	struct text why = { 0 };

	return option_result(u->program, passes_add(u->field, u->arg, &why), &why);
}

#define FIELD(f) .field = offsetof(struct goalsim, f)
#define TIME(f) .arg = "NS", .take = take_number, FIELD(f), .min = 0, .max = (int64_t)1 << 40
#define RATE(f) .arg = "NS", .take = take_decimal, FIELD(f), .least = 0, .most = 1e9

static const struct option_row rows[] = {
	{ .letter = 'n', .arg = "RANKS", .help = "the number of ranks of a parametric schedule", .take = take_number,
	  FIELD(nranks), .min = 1, .max = 1 << 28 },
	{ .letter = 'D', .arg = "NAME[@RANK]=VALUE[,VALUE...]", .help = "the value of a parameter", .take = take_define,
	  FIELD(defines) },
	{ .letter = 'T', .arg = "PASS[:KEY=VALUE[,KEY=VALUE...]]", .help = "apply a pass to a text", .take = take_pass,
	  FIELD(passes) },
	{ .name = "count", .arg = "N", .help = "elements of a block", .take = take_amount, FIELD(count), .min = 0,
	  .max = INT64_MAX },
	{ .name = "type", .arg = "T", .help = "the datatype of the elements", .take = take_type, FIELD(element) },

	{ .help = "The machine, in the LogGOPS model:" },
	{ .letter = 'L', .help = "the latency", TIME(machine.L) },
	{ .letter = 'o', .help = "the overhead of a message on a cpu", TIME(machine.o) },
	{ .letter = 'g', .help = "the gap between messages on a nic", TIME(machine.g) },
	{ .letter = 'G', .help = "the gap per byte", RATE(machine.G) },
	{ .letter = 'O', .help = "the overhead per byte", RATE(machine.O) },
	{ .letter = 'S', .arg = "BYTES", .help = "the most bytes of an eager message", .take = take_amount, FIELD(machine.S), .min = 0,
	  .max = INT64_MAX },
	{ .name = "params", .arg = "FILE", .help = "values of these options, as goalrun --calibrate prints them", .take = sim_machine_take,
	  FIELD(machine) },
	{ .name = "copy", .help = "the time of a copy, per byte", RATE(machine.copy) },
	{ .name = "reduce", .help = "the time of a reduction, per byte", RATE(machine.reduce) },
	{ .name = "rules", .arg = "corrected|compatible", .help = "whether the faults of LogGOPSim are corrected",
	  .take = take_index, FIELD(rules), .without = "cores" },

	{ .help = "The network:" },
	{ .name = "topology", .arg = "torus:N[xN...]|fat-tree:N[xN...][/TAPER]|dragonfly:HOSTSxSWITCHESxLINKS",
	  .help = "switches and the links between them", .take = sim_topology_take, FIELD(machine.topology), .without = "cores" },
	{ .name = "hop", .help = "the latency of a link", TIME(machine.hop), .with = "topology" },
	{ .name = "link", .help = "for how long a byte keeps a link busy", RATE(machine.link), .with = "topology" },

	{ .help = "Inside a node:" },
	{ .name = "cores", .arg = "CORES", .help = "all ranks share a node with so many cores", .take = take_number,
	  FIELD(node.cores), .min = 1, .max = MOST_CORES, .without = "repeat" },
	{ .name = "numa", .arg = "NODES", .help = "the NUMA nodes of the node", .take = take_number, FIELD(node.numa), .min = 1,
	  .max = MOST_CORES, .with = "cores" },
	{ .name = "placement", .arg = "bind|numa|odd-even|LIST", .help = "which cores communicate for which ranks",
	  .take = node_take_placement, FIELD(node.asked), .with = "cores" },
	{ .name = "comm-cores", .arg = "K", .help = "cores set aside for communication", .take = take_number,
	  FIELD(node.asked.comm_cores), .min = 0, .max = MOST_CORES, .with = "cores" },
	{ .name = "progress", .arg = "thread|app|collab", .help = "who carries out the ops: cores that communicate, or ranks, or ranks that wait",
	  .take = take_index, FIELD(node.progress), .with = "cores", .without = "level-barrier|sweep" },
	{ .name = "compute", .help = "the time of a computation on all cores, which the ranks share", TIME(node.compute),
	  .with = "cores" },
	{ .name = "level-barrier", .help = "the levels of a tree run one after the other", FIELD(node.barrier), .with = "cores" },
	{ .name = "split", .arg = "S[-S]", .help = "with --sweep: apply split-tree with each S", .take = take_range, FIELD(node.split),
	  .min = 0, .max = 32, .with = "sweep", .without = "repeat" },

	{ .help = "Imbalance:" },
	{ .name = "start", .arg = "FILE|uniform:NS|exponential:NS", .help = "when the ranks start", .take = noise_take_start,
	  FIELD(start) },
	{ .name = "noise", .arg = "uniform:NS|exponential:NS", .help = "by how much longer an op or message occupies a cpu",
	  .take = noise_take, FIELD(noise) },
	{ .name = "seed", .arg = "N", .help = "the seed of the random times", .take = take_number, FIELD(seed), .min = 0,
	  .max = INT64_MAX, .with = "start|noise" },

	{ .help = "Repeated operation:" },
	{ .name = "repeat", .arg = "K", .help = "each rank runs the schedule K times in a row", .take = take_amount, FIELD(repeat),
	  .min = 1, .max = 1 << 20 },
	{ .name = "root", .arg = "fixed|rotate", .help = "whether each repetition has the next root", .take = take_either,
	  FIELD(rotate), .with = "repeat", .without = "sweep" },
	{ .name = "sweep", .arg = "RANKS-RANKS", .help = "compare schedules, or placements, for these numbers of ranks",
	  .take = take_range, FIELD(sweep), .min = 2, .max = 1 << 28, .with = "repeat|cores", .without = "n|finish" },

	{ .help = "What is printed:" },
	{ .name = "finish", .help = "when each rank finishes", FIELD(finish) },
	{ .name = "svg", .arg = "FILE", .help = "draw what each rank does; with --sweep, the times", .take = take_text, FIELD(svg) },
	{ .name = "trace", .arg = "FILE.json|FILE.paje|FILE.svg|FILE.txt", .help = "write what each rank does, and when", .take = trace_take_name,
	  FIELD(trace), .without = "repeat|sweep" },
	{ .name = "measured", .arg = "FILE", .help = "compare with a trace of goalrun, and say where they part", .take = take_text,
	  FIELD(measured), .without = "repeat|sweep" },
	{ .name = "json", .help = "JSON instead of text", FIELD(json) },
};

static const struct command_line goalsim = {
	.program = "goalsim",
	.forms = "goalsim [options] SCHEDULE\n"
		 "       goalsim [options] --repeat K --sweep RANKS-RANKS SCHEDULE...\n"
		 "       goalsim [options] --cores CORES --sweep RANKS-RANKS [--split S-S] SCHEDULE\n\n",
	.rows = rows,
	.nrows = sizeof rows / sizeof *rows,
};

int goalsim_options(struct goalsim *s, int argc, char **argv, bool *done)
{
	struct command_words w;
	long most;
	int rc = command_line_parse(&goalsim, argc, argv, s, &w);

	*done = w.done;
	if (rc || *done)
		return rc;
	if (!w.nrest || (w.nrest > 1 && !(s->sweep.last && s->repeat)))
		return usage(w.nrest ? "more than one input file" : "no input file");
	if (w.nrest > MOST_COMPARED)
		return usage("--sweep compares at most %d schedules", MOST_COMPARED);
	if (s->svg && option_is_dash(s->svg))
		return usage("the results and --svg - would both be on standard output");
	for (int i = 0; s->sweep.last && i < w.nrest; i++)
		if (option_is_dash(w.rest[i]))
			return usage("--sweep reads a schedule for each number of ranks, so it cannot be -");
	if (s->svg && s->repeat && !s->sweep.last)
		return usage("with --repeat, --svg needs --sweep");
	if (s->node.cores && node_check(s))
		return EXIT_USAGE;
	if (env_number(ENV_GOAL_MAX_OPS, &most))
		return usage("the environment variable GOAL_MAX_OPS cannot be \"%s\"", env_get(ENV_GOAL_MAX_OPS));
	s->most_ops = ir_most_ops(most);
	s->input = w.rest[0];
	s->inputs = w.rest;
	s->ninputs = w.nrest;
	s->params = (struct sim_params){ .compatible = s->rules == RULES_COMPATIBLE, .noise = s->noise, .seed = (uint64_t)s->seed };
	sim_machine_apply(&s->machine, &s->params, &s->binary);
	return 0;
}
