/* SPDX-License-Identifier: BSD-3-Clause
 * Labels and the dependencies between what they stand for. */
#include "compiler/gen.h"

#include <string.h>

static struct gen_label *find_label(struct gen *g, const char *name)
{
	for (size_t i = 0; i < g->labels.n; i++)
		if (!strcmp(g->labels.at[i].name, name))
			return &g->labels.at[i];
	return NULL;
}

static unsigned dims(const struct goal_labelref *l)
{
	return (l->index[0] != NULL) + (l->index[1] != NULL);
}

void gen_collect_labels(struct gen *g, const struct goal_stmt *s, bool loop)
{
	for (; s; s = s->next) {
		gen_collect_labels(g, s->body, loop || s->kind == GOAL_S_FOR);
		gen_collect_labels(g, s->other, loop);
		if (s->kind != GOAL_S_OP || !s->label)
			continue;
		struct gen_label *old = find_label(g, s->label->name);

		if (loop && !dims(s->label))
			gen_error(g, s->label->loc, "duplicate-label",
			      "the label %s stands in a loop: give it an index", s->label->name);
		if (old && old->dims != dims(s->label))
			gen_error(g, s->label->loc, "duplicate-label",
			      "the label %s has another number of indices elsewhere", s->label->name);
		if (!old && VEC_PUSH(&g->labels,
				     (struct gen_label){ s->label->name, s->label->loc, dims(s->label) }))
			gen_no_memory(g);
	}
}

void gen_labelref(struct gen *g, const struct goal_labelref *l, bool declares, uint32_t *label,
			 uint16_t index[2])
{
	const struct gen_label *known = find_label(g, l->name);

	*label = 0;
	index[0] = index[1] = BIN_NOREG;
	if (!known) {
		gen_error(g, l->loc, "unknown-label", "there is no label %s", l->name);
		return;
	}
	if (known->dims != dims(l)) {
		if (!declares) /* else it has been reported */
			gen_error(g, l->loc, "unknown-label", "the label %s has another number of indices", l->name);
		return;
	}
	*label = (uint32_t)(known - g->labels.at);
	for (int k = 0; k < 2; k++)
		if (l->index[k])
			index[k] = gen_expr(g, l->index[k], GEN_ANY);
}

void gen_dep(struct gen *g, const struct goal_stmt *s)
{
	struct bin_dep_tmpl t = { .start = s->start };

	gen_labelref(g, s->label, false, &t.op, t.op_index);
	for (const struct goal_labelref *on = s->on; on; on = on->next) {
		gen_labelref(g, on, false, &t.on, t.on_index);
		g->at = on->loc;
		if (VEC_PUSH(&g->im->deps, t))
			gen_no_memory(g);
		gen_emit_imm(g, BIN_DEP, 0, (int64_t)g->im->deps.n - 1);
	}
}
