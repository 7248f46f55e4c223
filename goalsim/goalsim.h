/* SPDX-License-Identifier: BSD-3-Clause
 * The program goalsim, see goalsim(1): options.c parses the options, schedule.c makes a schedule from the input, main.c prints,
 * simulate.c runs the simulator, node.c does for ranks that share a node, node_sweep.c compares what those can do, repeat.c repeats
 * operations, trace.c writes traces, measured.c compares them with measured ones, noise.c makes random times, and picture.c has what
 * pictures say about themselves. */
#ifndef GOALSIM_GOALSIM_H
#define GOALSIM_GOALSIM_H

#include "backends/sim/machine.h"
#include "backends/sim/repeat.h"
#include "compiler/ir/args.h"
#include "runtime/placement/placement.h"
#include "util/command_line.h"
#include "util/file.h"
#include "util/progress.h"

struct goal_diags;

/* When the ranks start. */
struct start_times {
	struct sim_random random;
	const char *file; /* or NULL */
	uint64_t *ns; /* of each rank, while a schedule is open (owned) */
};

/* The node that all ranks share. */
struct node_options {
	int64_t cores, numa; /* cores: 0 if the ranks have a node each; numa: number of NUMA nodes */
	int64_t compute; /* ns of a computation on all cores; -1: not given */
	struct placement_asked asked;
	bool barrier;
	enum { PROGRESS_THREAD, PROGRESS_APP, PROGRESS_COLLAB } progress;
	struct option_range split; /* values of S; first is -1 if not given */
	struct placement placed; /* of an open schedule, once it is simulated */
};

/* Where a measured trace and the simulated one part. Times in ns since the first op begins. */
struct parting {
	uint64_t epoch, lasts; /* of the measured trace: the epoch, and how long that lasts */
	uint32_t ops; /* measured ops */
	bool found; /* they part; the fields below are of the first op that does */
	uint32_t rank, op;
	uint64_t simulated, measured; /* when it is done */
};

struct goalsim {
	/* The fields below are values of options. */
	int64_t nranks, count; /* nranks: 0 if not given */
	struct sim_machine machine;
	enum { RULES_CORRECTED, RULES_COMPATIBLE } rules;
	struct start_times start;
	struct sim_random noise;
	int64_t seed;
	uint32_t element; /* bytes of the datatype */
	struct defines defines;
	char *passes;
	bool json, finish;
	int64_t repeat; /* 0: not given */
	bool rotate;
	struct option_range sweep; /* numbers of ranks */
	struct node_options node;
	const char *svg, *trace, *measured;
	uint32_t most_ops;
	const char *input; /* the schedule */
	char **inputs; /* all schedules, for a sweep */
	int ninputs;
	/* The fields below describe the schedule. */
	struct progress *progress;
	struct goal_diags *diags;
	struct file in;
	void *image;
	size_t size;
	bool defined; /* the image was compiled with the values of -D */
	struct arg_rows rows;
	struct sim_binary binary;
	struct sim_params params;
	struct sim_repeat repeated;
	struct parting parting; /* with a measured trace, after the simulation */
};

struct trace;

/* Two lines of a picture: the machine that is simulated, and what runs on it. */
struct picture_notes {
	struct machine_text machine;
	char *what; /* owned */
};

#define MOST_COMPARED 5 /* schedules of a sweep: a picture has three curves of each */

#define usage(...) option_usage("goalsim", __VA_ARGS__)

static inline int no_memory(void)
{
	return option_no_memory("goalsim");
}

/* ---- options.c ---- */

/* Parses the command line and returns an exit status. Sets *done if there is nothing more to do, as after --help. */
int goalsim_options(struct goalsim *s, int argc, char **argv, bool *done);

/* ---- simulate.c ---- */

/* Simulates a source, reports an error or ranks that do not finish, and returns an exit status. *r is zeroed before, and has to be
 * freed after. */
int simulate_source(struct goalsim *s, const struct sim_source *src, struct sim_result *r);
/* Reports what a simulation returned, or ranks that do not finish, and returns an exit status. */
int simulate_report(struct goalsim *s, int err, const struct sim_result *r);

/* ---- node.c ---- */

/* How the ranks of a node run. */
struct node_case {
	const struct placement_asked *asked;
	uint64_t compute; /* ns of the computation of each rank */
	bool own; /* all ops run on the cores of their ranks */
};

option_taker node_take_placement; /* struct placement_asked */
/* Checks the options of the node, and returns an exit status. */
int node_check(struct goalsim *s);
/* Returns how long each of n ranks computes what takes `ns` on all cores, by Eq. 4 of Denis et al. (see compiler/passes/model.h). */
uint64_t node_compute(const struct goalsim *s, uint64_t ns, uint32_t n);
/* Simulates the open schedule on the node, as simulate_source does. `growing` may be NULL, or is set to whether its messages have
 * several sizes. */
int node_simulate(struct goalsim *s, const struct node_case *c, struct sim_result *r, bool *growing);
/* The same as the options say: on the node of --cores, or else on a node for each rank. */
int node_once(struct goalsim *s, struct sim_result *r);

/* ---- node_sweep.c ---- */

/* Simulates the schedule for each number of ranks of --sweep, with each S of --split, or with each placement, prints the times and
 * draws them. Returns an exit status. */
int node_sweep(struct goalsim *s);

/* ---- picture.c ---- */

/* Describes the simulations that the options ask for, with the count of the schedule if it is open. Returns 0 or -ERR_NOMEM; n->what
 * has to be freed in any case, and is NULL after an error. */
int picture_notes(const struct goalsim *s, struct picture_notes *n);

/* ---- trace.c ---- */

/* Simulates the open schedule as simulate_source does, and writes the trace and the picture that the options ask for. */
int trace_simulation(struct goalsim *s, struct sim_result *r);

/* ---- measured.c ---- */

/* Adds the measured trace to the simulated one, and sets s->parting. The kinds of the simulated ops are known, and their slices
 * have no links yet. Returns 0, -ERR_NOMEM, or -ERR_SYS after it is reported. */
int measured_lay(struct goalsim *s, struct trace *t);
/* Prints s->parting. Returns 0 or -ERR_x. */
int measured_print(struct goalsim *s);

/* ---- repeat.c ---- */

/* Times of a schedule in ns. */
struct repeat_times {
	uint64_t once; /* of one operation */
	double loop; /* of a repetition, on average, in a loop with a fixed root or as the options say */
	double rotated; /* the same with a root that rotates; 0: not simulated */
};

/* Returns by which part of the time of one operation a loop shows too little. */
static inline double repeat_error(uint64_t once, double loop)
{
	return once ? 1 - loop / (double)once : 0;
}

/* Simulates one operation of an open schedule, stores its time, and returns an exit status. */
int repeat_once(struct goalsim *s, uint64_t *once);
/* Simulates the repetitions. *r is as for simulate_source. */
int repeat_loop(struct goalsim *s, bool rotate, struct sim_result *r);
/* Simulates all schedules for all numbers of ranks of --sweep, and prints the times and draws them. Returns an exit status. */
int repeat_sweep(struct goalsim *s);

/* ---- noise.c ---- */

option_taker noise_take; /* struct sim_random */
option_taker noise_take_start; /* struct start_times */
/* Finds the start times of the ranks of an open schedule. Returns 0, or -ERR_x after it is reported. */
int noise_start(struct goalsim *s);
void noise_end(struct goalsim *s);

/* ---- schedule.c ---- */

/* Makes the binary of the input, and opens it as a source of the simulator. Returns 0, or -ERR_x after it is reported. */
int schedule_open(struct goalsim *s);
/* Reports an error of the source, after which a simulation ended. */
void schedule_report(struct goalsim *s, int err);
/* Prints the diagnostics, and frees the schedule but not the options. */
void schedule_close(struct goalsim *s);
/* Describes an op for messages: "rank 0, op 1 (line 4): recv 10b from 1 tag 0"; with --repeat, also its repetition. Returns 0 or
 * -ERR_x. */
int schedule_describe(struct goalsim *s, uint32_t rank, uint32_t op, struct text *out);

#endif
