/* SPDX-License-Identifier: BSD-3-Clause
 * Reports the findings of checks as diagnostics. */
#include "compiler/analysis/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Stores the label of an op with its indices, as in "out[0,1]: ", or "" if the label has none. */
static void name_instance(struct goal_diags *d, const struct ir_graph *g, uint32_t rank, uint32_t op, struct goal_loc at,
			  char *out, size_t size)
{
	char name[64];
	int32_t index[2];
	unsigned n = at.line ? ir_graph_index(g, rank, op, index) : 0;

	*out = '\0';
	goal_diags_peek(d, at, name, sizeof name); /* an op with a label is where the label is */
	name[strcspn(name, " \t[")] = '\0';
	if (n == 1)
		snprintf(out, size, "%s[%d]: ", name, index[0]);
	else if (n)
		snprintf(out, size, "%s[%d,%d]: ", name, index[0], index[1]);
}

struct goal_loc check_loc(const struct ir_graph *g, uint32_t rank, uint32_t op)
{
	struct goal_loc at = ir_graph_loc(g, &g->ranks[rank].ops[op]);

	if (!at.line)
		at.col = (uint16_t)op;
	return at;
}

void check_found(struct goal_diags *d, const struct ir_graph *g, const char *tag, enum goal_severity s,
		 uint32_t rank, uint32_t op, const char *fmt, ...)
{
	struct goal_loc at = check_loc(g, rank, op);
	char text[768], instance[96];
	va_list ap;

	if (goal_diag_again(d, s, at, fmt, rank))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	name_instance(d, g, rank, op, at, instance, sizeof instance);
	if (at.line)
		goal_diag(d, s, at, tag, "%s%s%s", g->sample, instance, text);
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
