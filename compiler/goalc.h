/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of the program goalc: options.c parses the options, main.c leads a schedule through the compiler, every.c proves
 * for every number of ranks, and show.c prints. */
#ifndef COMPILER_GOALC_H
#define COMPILER_GOALC_H

#include "compiler/compile.h"
#include "compiler/print/print_model.h"
#include "compiler/select.h"
#include "compiler/verify_cases.h"
#include "util/command_line.h"
#include "util/file.h"
#include "util/progress.h"

#include <stdio.h>

/* Each run of goalc does one of these. */
enum action { COMPILE, VERIFY, STATS, DUMP, EMIT_GOAL, EMIT_DOT, EMIT_JSON, EMIT_PROMELA, EMIT_LOGGOPSIM, SELECT, CHECK_TABLE, MODEL, LIST_CHECKS, LIST_PASSES };

struct goalc {
	/* The fields below are values of options. */
	enum action action;
	const char *asked; /* name of the option that selected the action, or NULL */
	const char *input, *output;
	struct option_range sizes; /* numbers of ranks (-n); both 0 if not given */
	bool every; /* -n all */
	const char *solver, *smt; /* arguments of --solver and --smt, or NULL */
	int64_t solver_time; /* argument of --solver-time, in seconds; 0 if not given */
	bool debug, json;
	struct defines defines;
	char *passes;
	uint64_t checks_off; /* one bit for each of checks[], set if it is turned off */
	uint32_t most_ops; /* limit of the ops of a rank */
	const char *collective; /* argument of --select */
	const char *table; /* argument of --table or --check-table */
	bool partial; /* --partial */
	enum select_topology topology; /* argument of --topology */
	struct model model; /* cost model of --model */
	int64_t cores; /* argument of --cores, or 0 */
	struct option_range model_sizes; /* numbers of ranks for --model (--ranks); both 0 if not given */
	const char *svg; /* file for the drawing of the cost model, or NULL */
	/* The fields below describe the schedule. */
	bool fixed; /* true if the values of -D are compiled into the image */
	bool binary; /* true if the input is a binary, not a text */
	struct progress progress;
	struct goal_diags *diags;
	struct ir_locs locs;
	struct file in;
	void *image;
	size_t size;
};

#define usage(...) option_usage("goalc", __VA_ARGS__)

static inline int no_memory(void)
{
	return option_no_memory("goalc");
}

/* Where words are printed. A binary on standard output is alone there. */
static inline FILE *goalc_words(const struct goalc *c)
{
	return c->output && option_is_dash(c->output) ? stderr : stdout;
}

/* ---- options.c ---- */

/* Parses the command line and returns an exit status. Sets *done if goalc has nothing more to do, as after --help. */
int goalc_options(struct goalc *c, int argc, char **argv, bool *done);
/* Returns the options in the form that the compiler takes. */
struct compile_options goalc_compile_options(const struct goalc *c);

/* ---- every.c ---- */

/* Proves the schedule for every number of ranks, after it has been verified for some, and prints the outcome. Returns an exit
 * status. If that is 0, *proof is what the binary is to record. */
int goalc_verify_every(struct goalc *c, const struct bin *b, const struct verify_asked *some, struct bin_proof *proof);

/* ---- check_table.c ---- */

/* Checks the selection table, and prints the outcome. Returns an exit status. */
int goalc_check_table(struct goalc *c);

/* ---- show.c: these functions return exit statuses ---- */

int goalc_list_checks(const struct goalc *c);
int goalc_list_passes(const struct goalc *c);
int goalc_show_selected(struct goalc *c);
int goalc_show_model(const struct goalc *c);
/* Prints the image in the form that the action names. */
int goalc_show_schedule(struct goalc *c);
/* Makes the JSON of --verify. `said` is the text about what is proved, or NULL if the proof has failed; b may then be NULL. */
int goalc_verified_json(const struct goalc *c, const struct bin *b, const struct verify_proofs *all, const char *said, char **out);
/* Reports why a file cannot be read or written, from errno, and returns EXIT_FAULT. */
int goalc_system_error(const char *path);

#endif
