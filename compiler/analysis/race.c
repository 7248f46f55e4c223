/* SPDX-License-Identifier: BSD-3-Clause
 * The check for races. The symbolic run finds the pairs of ops of which one accesses an element right after the other.
 * For each pair, the check proves that the first access is over before the second one begins. Accesses further apart
 * are then ordered too. */
#include "compiler/analysis/race.h"

#include "compiler/analysis/conflicts.h"
#include "format/check.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct check_text check_range_text(const struct ir_graph *g, uint32_t buf, uint64_t lo, uint64_t hi)
{
	const char *name = g->bin && buf < g->bin->nbuffers ? bin_str(g->bin, g->bin->buffers[buf].name) : "";
	struct check_text t;

	if (*name)
		snprintf(t.s, sizeof t.s, "%.40s[%" PRIu64 " +: %" PRIu64 "]", name, lo, hi - lo);
	else
		snprintf(t.s, sizeof t.s, "buffer %u[%" PRIu64 " +: %" PRIu64 "]", buf, lo, hi - lo);
	return t;
}

static void report_race(struct goal_diags *d, const struct symbolic *s, const char *tag, enum goal_severity severity,
			const struct sym_conflict *c)
{
	uint32_t one = c->first < c->second ? c->first : c->second, other = c->first < c->second ? c->second : c->first;

	check_found(d, s->g, tag, severity, c->rank, other,
		    "this op of rank %u and %s touch %s, one writes, and nothing orders them", c->rank,
		    check_op_text(s->g, c->rank, one).s, check_range_text(s->g, c->buf, c->lo, c->hi).s);
}

/* Reports an op whose two ranges overlap. */
static void report_overlap(struct goal_diags *d, const struct ir_graph *g, const char *tag, enum goal_severity severity,
			   uint32_t r, uint32_t i)
{
	const struct bin_op *op = &g->ranks[r].ops[i];

	if (bin_nranges(op->kind) == 2 && op->buf[0] == op->buf[1] && op->len && op->off[0] < op->off[1] + op->len &&
	    op->off[1] < op->off[0] + op->len && (op->kind == BIN_OP_COPY || op->off[0] != op->off[1]))
		check_found(d, g, tag, severity, r, i, "rank %u: the two ranges of this op overlap", r);
}

int race_report(struct goal_diags *d, const struct symbolic *s, const char *tag, enum goal_severity severity)
{
	size_t n = s->conflicts.n;
	struct ir_query *q = mem_alloc(n * sizeof *q);
	int err = q ? 0 : -ERR_NOMEM;

	for (size_t i = 0; i < n && !err; i++) {
		const struct sym_conflict *c = &s->conflicts.at[i];

		q[i] = conflict_query(s->g, s->ev, c->rank, c->first, c->second);
	}
	err = err ? err : ir_events_reach(s->ev, q, n);
	for (size_t i = 0; i < n && !err; i++)
		if (!q[i].yes)
			report_race(d, s, tag, severity, &s->conflicts.at[i]);
	free(q);
	for (uint32_t r = 0; r < s->g->nranks && !err; r++)
		for (uint32_t i = 0; i < s->g->ranks[r].nops; i++)
			report_overlap(d, s->g, tag, severity, r, i);
	return err;
}

CHECK(race)
{
	struct symbolic run = { 0 };
	struct ir_events ev = { 0 };
	struct terms *terms;
	int err;

	if (g->plain) /* in plain GOAL every op has bytes of its own */
		return 0;
	terms = terms_new(g->nranks, g->nbuffers, false, 0);
	err = terms ? ir_events_of(&ev, g) : -ERR_NOMEM;
	if (!err && ev.sorted == ev.n) {
		err = symbolic_run(&run, g, &ev, terms, false);
		err = err ? err : race_report(d, &run, self->name, s);
	}
	symbolic_fini(&run);
	ir_events_fini(&ev);
	terms_free(terms);
	return err;
}
