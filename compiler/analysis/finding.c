/* SPDX-License-Identifier: BSD-3-Clause
 * Reports the findings of checks as diagnostics. */
#include "compiler/analysis/finding.h"

#include <stdarg.h>
#include <stdio.h>

void check_found(struct goal_diags *d, const struct ir_graph *g, const char *tag, enum goal_severity s,
		 uint32_t rank, uint32_t op, const char *fmt, ...)
{
	struct goal_loc at = ir_graph_loc(g, &g->ranks[rank].ops[op]);
	char text[768];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (at.line)
		goal_diag(d, s, at, tag, "%s%s", g->sample, text);
	else
		goal_diag(d, s, at, tag, "%srank %u op %u: %s", g->sample, rank, op, text);
}

struct check_text check_op_text(const struct ir_graph *g, uint32_t rank, uint32_t op)
{
	const struct bin_op *o = &g->ranks[rank].ops[op];
	struct goal_loc at = ir_graph_loc(g, o);
	struct check_text t;

	if (at.line)
		snprintf(t.s, sizeof t.s, "the %s of rank %u in line %u", ir_op_word(o->kind), rank, at.line);
	else
		snprintf(t.s, sizeof t.s, "the %s of rank %u (op %u)", ir_op_word(o->kind), rank, op);
	return t;
}
