/* SPDX-License-Identifier: BSD-3-Clause
 * Named checks. Checks look; they change nothing. */
#ifndef COMPILER_CHECKS_H
#define COMPILER_CHECKS_H

#include "compiler/ir.h"

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

extern const struct check checks[];
extern const unsigned nchecks;

/* The index of a check, or -1. */
int check_find(const char *name);
/* Runs all checks on a graph; off has a bit set for each check that the user turned off;
 * fixed ones run all the same. Findings are
 * diagnostics; 0 or -ERR_NOMEM. */
int checks_run(struct goal_diags *d, const struct ir_graph *g, enum check_for what, uint64_t off);

/* Whether the order of the text on each channel agrees with the dependencies of a rank, which have no cycle:
 * 0, -ERR_CYCLE with an op in *bad, or -ERR_NOMEM. */
int ir_rank_order(const struct ir_rank *r, uint32_t *bad);

/* A message: send op of rank src matched with recv op of rank dst. */
struct ir_match {
	uint32_t src, send, dst, recv;
};

/* Matches the k-th send with the k-th recv of each channel, in program order. Ops without a partner,
 * wildcards and what shares a rank with a wildcard are left out. *out is the caller's to free. */
int ir_graph_match(const struct ir_graph *g, struct ir_match **out, size_t *n);

/* The order of all starts and completions: event 2·op starts and 2·op + 1 completes, ops numbered through
 * the ranks from base[rank]. */
struct ir_events {
	uint32_t *base; /* nranks + 1 */
	uint32_t *pred_at, *pred; /* what must come before event e */
};
/* rendezvous: also the start of a recv before the completion of its send. A send may complete only then, as far
 * as deadlocks are concerned; but it may as well complete at once, as far as races are. */
int ir_events_init(struct ir_events *ev, const struct ir_graph *g, const struct ir_match *m, size_t nm,
		   bool rendezvous);
void ir_events_fini(struct ir_events *ev);

#endif
