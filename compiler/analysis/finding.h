/* SPDX-License-Identifier: BSD-3-Clause
 * The type of a check, and functions by which it reports its findings. A check does not change the graph. */
#ifndef COMPILER_ANALYSIS_FINDING_H
#define COMPILER_ANALYSIS_FINDING_H

#include "compiler/ir/ir.h"

enum check_level { CHECK_OFF, CHECK_WARN, CHECK_FAIL };

/* Kind of input, on which the level of a check depends: plain GOAL that is compiled, a parametric text that is compiled, or a
 * schedule that is verified or run. */
enum check_for { CHECK_PLAIN, CHECK_PARAMETRIC, CHECK_RUN, CHECK_FORS };

struct check {
	const char *name;
	const char *help;
	enum check_level level[CHECK_FORS];
	bool fixed; /* true if it cannot be turned off, because a schedule that fails it cannot be compiled */
	/* Runs the check; not called after a fixed check has failed. NULL if the check happens while the text is read. */
	int (*run)(struct goal_diags *d, const struct ir_graph *g, const struct check *self,
		   enum goal_severity s);
};

/* Reports a finding at an op, and the instance of its label if that has indices. `tag` is the name of the check. Findings with
 * the same fmt at one line of the text, or at ops of one number if there is no text, are reported once (goal_diag_again). */
__attribute__((format(printf, 7, 8))) void check_found(struct goal_diags *d, const struct ir_graph *g,
						       const char *tag, enum goal_severity s, uint32_t rank,
						       uint32_t op, const char *fmt, ...);
/* Returns the position to which check_found() assigns a finding. */
struct goal_loc check_loc(const struct ir_graph *g, uint32_t rank, uint32_t op);
/* Returns the name of an op in messages, like "the send of rank 3 in line 7". */
struct check_text {
	char s[80];
};
struct check_text check_op_text(const struct ir_graph *g, uint32_t rank, uint32_t op);

#define CHECK(name)                                                                                        \
	int checks_##name(struct goal_diags *d, const struct ir_graph *g, const struct check *self, \
			 enum goal_severity s)
CHECK(unmatched); /* match.c */
CHECK(size);
CHECK(order);
CHECK(deadlock); /* events.c */
CHECK(race); /* race.c */

#endif
