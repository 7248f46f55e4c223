/* SPDX-License-Identifier: BSD-3-Clause
 * What goalrun has been asked for, and how it goes on from there: options.c, schedule.c, the launches (main.c), results.c. */
#ifndef GOALRUN_GOALRUN_H
#define GOALRUN_GOALRUN_H

#include "goalrun/hosts.h"
#include "include/mpix_sched.h"

#define DEFAULT_COUNT 1000

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

extern const char run_usage_text[];
#define usage(...) option_usage("goalrun", run_usage_text, __VA_ARGS__)

/* On stderr; EXIT_FAULT. */
int run_fault(const char *fmt, const char *what);

static inline int no_memory(void)
{
	return option_no_memory("goalrun");
}

/* No blocks of elements: messages of a plain file have bytes of their own. */
static inline bool is_dataless(const struct run_options *o)
{
	return o->plain || o->barrier;
}

/* Whether it is known what the result has to be. */
static inline bool result_is_known(const struct run_options *o)
{
	return o->plain || o->claim->any;
}

/* ---- options.c ---- */

/* Takes the options; strings of argv are cut up. An exit status. */
int run_parse_options(struct goalrun *g, int argc, char **argv);
int run_add_pass(struct goalrun *g, const char *arg);
/* That which is asked for, or the environment's. */
const char *run_backend_name(const struct run_options *o);
/* Whether schedules run on command queues. */
bool run_lowers(const struct run_options *o);
/* Whether ranks are pinned. */
bool run_pins(const struct run_options *o);
/* Whether there is an interface to be played. */
bool run_plays_nic(const struct run_options *o);

/* ---- schedule.c ---- */

/* Chooses the schedule if that was asked for, reads it, finds the cases to be run, and checks it for all ranks. An exit
 * status. */
int run_prepare_schedule(struct goalrun *g);

/* ---- results.c ---- */

/* Prints what the launches have measured. An exit status. */
int run_report(struct goalrun *g);

#endif
