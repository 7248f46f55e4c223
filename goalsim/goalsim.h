/* SPDX-License-Identifier: BSD-3-Clause
 * The program goalsim, see goalsim(1): options.c parses the options, schedule.c makes a schedule from the input, and main.c
 * simulates it and prints. */
#ifndef GOALSIM_GOALSIM_H
#define GOALSIM_GOALSIM_H

#include "backends/sim/binary.h"
#include "compiler/ir/args.h"
#include "util/command_line.h"
#include "util/file.h"
#include "util/progress.h"

struct goal_diags;

struct goalsim {
	/* The fields below are values of options. */
	int64_t nranks, count; /* nranks: 0 if not given */
	int64_t L, o, g, S;
	double G, O, copy, reduce; /* ns per byte */
	enum { RULES_CORRECTED, RULES_COMPATIBLE } rules;
	uint32_t element; /* bytes of the datatype */
	struct defines defines;
	char *passes;
	bool json, finish;
	uint32_t most_ops;
	const char *input;
	/* The fields below describe the schedule. */
	struct progress progress;
	struct goal_diags *diags;
	struct file in;
	void *image;
	size_t size;
	struct arg_rows rows;
	struct sim_binary binary;
	struct sim_params params;
};

#define usage(...) option_usage("goalsim", __VA_ARGS__)

static inline int no_memory(void)
{
	return option_no_memory("goalsim");
}

/* ---- options.c ---- */

/* Parses the command line and returns an exit status. Sets *done if there is nothing more to do, as after --help. */
int goalsim_options(struct goalsim *s, int argc, char **argv, bool *done);

/* ---- schedule.c ---- */

/* Makes the binary of the input, and opens it as a source of the simulator. Returns 0, or -ERR_x after it is reported. */
int schedule_open(struct goalsim *s);
/* Reports an error of the source, after which a simulation ended. */
void schedule_report(struct goalsim *s, int err);
void schedule_close(struct goalsim *s);
/* Describes an op for messages: "rank 0, op 1 (line 4): recv 10b from 1 tag 0". Returns 0 or -ERR_x. */
int schedule_describe(struct goalsim *s, uint32_t rank, uint32_t op, struct text *out);

#endif
