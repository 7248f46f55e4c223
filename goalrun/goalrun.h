/* SPDX-License-Identifier: BSD-3-Clause
 * The state of goalrun, and its steps: options.c parses the command line, schedule.c prepares the schedule, runs.c
 * launches it, results.c prints the results. */
#ifndef GOALRUN_GOALRUN_H
#define GOALRUN_GOALRUN_H

#include "backends/sim/machine.h"
#include "goalrun/hosts.h"
#include "include/mpix_sched.h"

#define DEFAULT_COUNT 1000

struct list { /* same members as a VEC */
	int64_t *at;
	size_t n, cap;
};

/* Forms of the table of results: goalrun's own, and those of OSU's micro-benchmarks. The option lists them in this order. */
enum run_format { FORMAT_TABLE, FORMAT_OSU, FORMAT_OSU_BW };

/* The run of one schedule. With --select, several counts may have several runs. */
struct goalrun {
	struct run_options o;
	int64_t nranks, dump_after;
	int argc;
	char **argv, **words; /* the command line; a copy of it, whose words the options point to */
	const struct agent_setup *sent; /* orders of an agent, with the schedule; NULL if this is not an agent */
	const char *input;
	const char *tune; /* argument of --tune */
	const char *collective, *table; /* arguments of --select */
	enum select_topology topology;
	char *selected; /* path of the schedule that --select has found; input points to it */
	char *row; /* the row's schedule with its options, as the table has them */
	size_t later; /* number of counts, behind those of `counts`, for which the table has other rows */
	enum run_format format;
	struct list counts, roots, types, ops, memories, samples;
	bool all_roots, show_placement, show_stats, calibrate;
	char *sample; /* argument of --sample */
	struct goal_diags *diags;
	struct bin bin;
	struct claim claim;
	struct ir_graph graph;
	struct run_pinning pinning; /* cores of the ranks; o.pinning points to it */
	int trace_fd;
	bool seeded; /* true if a seed was given */
	struct run_nic nic;
	struct sim_machine machine; /* that is simulated */
	void *measured; /* shared memory with all that follows but the results */
	size_t measured_size;
	double *total, *start, *init, *cpu, *joules;
	struct work_spans *spans;
	struct MPIX_Sched_stats *stats; /* counters, by rank */
	struct run_result *results;
};

#define usage(...) option_usage("goalrun", __VA_ARGS__)

/* Prints an error on stderr. Returns EXIT_FAULT. */
int run_fault(const char *fmt, const char *what);

static inline int no_memory(void)
{
	return option_no_memory("goalrun");
}

/* True if the ranks are simulated. */
static inline bool run_simulates(const struct run_options *o)
{
	return o->backend && o->backend->simulated;
}

/* True if the schedule has no blocks of elements, as a barrier has none. In a plain file each message has bytes of its
 * own. */
static inline bool is_dataless(const struct run_options *o)
{
	return o->plain || o->barrier;
}

static inline bool has_reduction(const struct run_options *o)
{
	return o->cases[0].op != MPIX_SCHED_NO_OP;
}

/* True if goalrun knows what the result has to be. */
static inline bool result_is_known(const struct run_options *o)
{
	return !run_simulates(o) && (o->plain || o->claim->any);
}

/* ---- options.c ---- */

/* Parses the options. Changes the strings of argv. Returns an exit status; sets *done if nothing else has to be done. */
int run_parse_options(struct goalrun *g, int argc, char **argv, bool *done);
int run_add_pass(struct goalrun *g, const char *arg);
/* Returns the name of the backend for schedules: that of the options, or else of the environment, where BE_AUTO stands for the
 * backend of one node's ranks. */
const char *run_backend_name(const struct run_options *o);
/* True if schedules run on command queues. */
bool run_lowers(const struct run_options *o);
/* True if ranks are pinned to cores. */
bool run_pins(const struct run_options *o);
/* True if goalrun has to emulate a network interface. */
bool run_emulates_nic(const struct run_options *o);

/* ---- schedule.c ---- */

/* Makes the arguments of all ranks for a case; *rows is to be freed, also after an error, and `args` points into it. Returns 0 or
 * -ERR_x. */
int run_case_args(struct goalrun *g, const struct run_case *c, struct bin_args *args, struct arg_rows *rows);
/* Prints the diagnostics and, if there are none, an error. Returns EXIT_FAULT. */
int run_report_diags(const struct goalrun *g, int err);

/* Chooses the schedule if --select is given, reads it, lists the cases to run, and checks the schedule for all ranks.
 * Returns an exit status. */
int run_prepare_schedule(struct goalrun *g);

/* ---- runs.c: these functions return exit statuses ---- */

/* Makes a run by parsing a command line. Sets *done if nothing else has to be done. Even after an error, it is to be closed. */
int run_open(struct goalrun *g, int argc, char **argv, const struct agent_setup *sent, bool *done);
void run_close(struct goalrun *g);
/* Makes another run of the same command line. Even after an error, *out is to be freed, unless it is NULL. */
int run_open_again(const struct goalrun *before, struct goalrun **out);
void run_free(struct goalrun *g);
/* Prepares for the start of ranks: sets their environment, starts the emulator or the trace, and chooses their cores. On
 * several hosts it starts the agents instead, which do this on their hosts. */
int run_prepare_ranks(struct goalrun *g);
/* Writes the trace, if one was asked for. To be called after all ranks have ended without error. */
int run_write_collected(const struct goalrun *g);
/* Runs a prepared schedule, with all of its counts, and computes the results. */
int run_prepared(struct goalrun *g);

/* ---- simulate.c ---- */

/* Simulates all cases of a prepared schedule. Returns an exit status. */
int run_simulated(struct goalrun *g);

/* ---- tune.c ---- */

/* Measures the schedules of a collective, and prints rows of a selection table. Returns an exit status. */
int run_tune(struct goalrun *g);

/* ---- calibrate.c ---- */

/* Measures two ranks, and prints parameters for goalsim. Returns an exit status. */
int run_calibrate(struct goalrun *g);

/* ---- results.c ---- */

/* Computes medians of what the launches have measured. Returns an exit status. */
int run_summarise(struct goalrun *g);
/* Prints the results of n runs. Returns an exit status. */
int run_report(struct goalrun *const *runs, size_t n);
/* Prints them as OSU's micro-benchmarks do (osu.c). Returns an exit status. */
int run_report_osu(struct goalrun *const *runs, size_t n);

#endif
