/* SPDX-License-Identifier: BSD-3-Clause
 * Labels, and the dependencies between the ops and calls that they stand for. */
#include "compiler/lower/gen.h"

static struct gen_label *find_label(struct gen *g, const struct gen_labels *of, const char *name)
{
	const struct gen_name *n = gen_named(g, of, name);

	return n ? (struct gen_label *)(uintptr_t)n->node : NULL;
}

static unsigned count_dims(const struct goal_labelref *l)
{
	return (l->index[0] != NULL) + (l->index[1] != NULL);
}

/* Declares the label of a statement, or checks that it agrees with other statements of the same label. */
static void declare_label(struct gen *g, struct gen_labels *of, const struct goal_stmt *s, bool loop)
{
	const struct goal_labelref *ref = s->label;
	struct gen_label *l = find_label(g, of, ref->name);
	const struct goal_schedule *inside = NULL;
	bool several;

	if (s->kind == GOAL_S_CALL)
		inside = gen_callee(g, of->s, s->call->name, &several);
	if (loop && !count_dims(ref))
		goal_diag(g->d, GOAL_ERROR, ref->loc, "duplicate-label",
			  "the label %s stands in a loop: give it an index", ref->name);
	if (l && l->dims != count_dims(ref))
		goal_diag(g->d, GOAL_ERROR, ref->loc, "duplicate-label",
			  "the label %s has another number of indices elsewhere", ref->name);
	if (l) {
		l->mixed |= l->inside != inside;
		l->inside = l->inside ? l->inside : inside;
		return;
	}
	l = gen_alloc(g, sizeof *l);
	*l = (struct gen_label){ .number = of->n++, .dims = count_dims(ref), .inside = inside };
	gen_declare(g, of, ref->name, l, l->number);
}

static void collect_labels(struct gen *g, struct gen_labels *of, const struct goal_stmt *s, bool loop)
{
	for (; s; s = s->next) {
		collect_labels(g, of, s->body, loop || s->kind == GOAL_S_FOR);
		collect_labels(g, of, s->other, loop);
		if ((s->kind == GOAL_S_OP || s->kind == GOAL_S_CALL) && s->label)
			declare_label(g, of, s, loop);
	}
}

const struct gen_labels *gen_labels_of(struct gen *g, const struct goal_schedule *s)
{
	const struct gen_name *n = gen_named(g, &s->body, "");
	struct gen_labels *l;

	if (n)
		return n->node;
	l = gen_alloc(g, sizeof *l);
	*l = (struct gen_labels){ .s = s };
	gen_declare(g, &s->body, "", l, 0);
	collect_labels(g, l, s->body, false);
	return l;
}

static void gen_indices(struct gen *g, const struct goal_labelref *l, uint16_t index[2])
{
	for (int k = 0; k < 2; k++)
		index[k] = l->index[k] ? gen_expr(g, l->index[k], GEN_ANY) : BIN_NOREG;
}

void gen_label(struct gen *g, const struct goal_labelref *l, uint32_t *label, uint16_t index[2])
{
	*label = find_label(g, g->scope->labels, l->name)->number;
	gen_indices(g, l, index);
}

/* Stores the label that a dependency names, its indices, and the register with the label's instance. Returns true if the
 * dependency needs DEPIN, because the label is in a call or stands for a call. */
static bool resolve_label(struct gen *g, const struct goal_labelref *l, uint32_t *label, uint16_t index[2],
			  uint16_t *instance)
{
	const struct gen_labels *of = g->scope->labels;
	bool in_call = g->scope->up != NULL;

	*label = 0;
	*instance = g->scope->instance;
	for (;; l = l->inside) {
		const struct gen_label *known = find_label(g, of, l->name);

		index[0] = index[1] = BIN_NOREG;
		if (!known) {
			gen_error(g, l->loc, "unknown-label", "there is no label %s", l->name);
			return false;
		}
		if (known->dims != count_dims(l)) {
			gen_error(g, l->loc, "unknown-label", "the label %s has another number of indices", l->name);
			return false;
		}
		*label = known->number;
		gen_indices(g, l, index);
		in_call |= known->inside != NULL;
		if (!l->inside)
			return in_call;
		if (!known->inside || known->mixed) {
			gen_error(g, l->loc, "unknown-label",
				  known->inside ? "the label %s is not only that of calls of one schedule" :
						  "the label %s is not that of a call",
				  l->name);
			return false;
		}
		of = gen_labels_of(g, known->inside);
		struct bin_call c = { .label = *label,
				      .nlabels = of->n,
				      .index = { index[0], index[1] },
				      .instance = *instance };

		if (VEC_PUSH(&g->im->calls, c))
			gen_no_memory(g);
		g->at = l->loc;
		*instance = gen_reg(g);
		gen_emit_imm(g, BIN_INSIDE, *instance, (int64_t)g->im->calls.n - 1);
	}
}

void gen_dep(struct gen *g, const struct goal_stmt *s)
{
	struct bin_dep_tmpl t = { .start = s->start };
	bool in_call = resolve_label(g, s->label, &t.op, t.op_index, &t.op_instance);

	for (const struct goal_labelref *on = s->on; on; on = on->next) {
		bool both = resolve_label(g, on, &t.on, t.on_index, &t.on_instance) || in_call;

		g->at = on->loc;
		if (VEC_PUSH(&g->im->deps, t))
			gen_no_memory(g);
		gen_emit_imm(g, both ? BIN_DEPIN : BIN_DEP, 0, (int64_t)g->im->deps.n - 1);
	}
}
