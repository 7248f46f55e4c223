/* SPDX-License-Identifier: BSD-3-Clause
 * goalc: its options (options.c), the way of a schedule through it (main.c), and what it prints (show.c). */
#ifndef COMPILER_GOALC_H
#define COMPILER_GOALC_H

#include "compiler/compile.h"
#include "compiler/print/print_model.h"
#include "compiler/select.h"
#include "util/command_line.h"
#include "util/file.h"

/* One command does one of these things. */
enum action { COMPILE, VERIFY, STATS, DUMP, EMIT_GOAL, EMIT_DOT, EMIT_JSON, EMIT_PROMELA, SELECT, MODEL, LIST_CHECKS, LIST_PASSES };

struct goalc {
	/* the options */
	enum action action;
	const char *asked; /* the option that asks for it, or NULL */
	const char *input, *output;
	struct option_range sizes; /* -n; 0: not given */
	bool debug, json;
	struct defines defines;
	char *passes;
	uint64_t checks_off;
	uint32_t most_ops; /* of a rank */
	const char *collective, *table; /* --select */
	enum select_topology topology;
	struct model model; /* --model */
	int64_t cores;
	struct option_range model_sizes;
	const char *svg;
	/* the schedule */
	bool fixed; /* what -D gives is in the image already */
	bool binary;
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

/* ---- options.c ---- */

/* An exit status; done: there is nothing else to do. */
int goalc_options(struct goalc *c, int argc, char **argv, bool *done);
/* For the compiler. */
struct compile_options goalc_compile_options(const struct goalc *c);

/* ---- show.c: exit statuses ---- */

int goalc_list_checks(void);
int goalc_list_passes(void);
int goalc_show_selected(struct goalc *c);
int goalc_show_model(const struct goalc *c);
/* Prints the image as the action says. */
int goalc_show_schedule(struct goalc *c);
/* Says why a file cannot be read or written; EXIT_FAULT. */
int goalc_system_error(const char *path);

#endif
