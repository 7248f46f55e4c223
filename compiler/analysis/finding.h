/* SPDX-License-Identifier: BSD-3-Clause
 * What a check is, and how it records what it finds. Checks look; they change nothing. */
#ifndef COMPILER_ANALYSIS_FINDING_H
#define COMPILER_ANALYSIS_FINDING_H

#include "compiler/ir/ir.h"

enum check_level { CHECK_OFF, CHECK_WARN, CHECK_FAIL };

/* The strictness depends on where a schedule comes from. */
enum check_for { CHECK_PLAIN, CHECK_PARAMETRIC, CHECK_RUN, CHECK_FORS };

struct check {
	const char *name;
	const char *help;
	enum check_level level[CHECK_FORS];
	bool fixed; /* cannot be turned off: nothing sensible could be made of such a schedule */
	/* NULL: found while the text is read. Only called when no fixed check failed before it. */
	int (*run)(struct goal_diags *d, const struct ir_graph *g, const struct check *self,
		   enum goal_severity s);
};

/* A finding at an op. */
__attribute__((format(printf, 7, 8))) void check_found(struct goal_diags *d, const struct ir_graph *g,
						       const char *tag, enum goal_severity s, uint32_t rank,
						       uint32_t op, const char *fmt, ...);
/* "the send of rank 3 in line 7". */
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
