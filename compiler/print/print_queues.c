/* SPDX-License-Identifier: BSD-3-Clause
 * Prints queues and entries as text and as JSON. */
#include "compiler/print/print_queues.h"

#include "compiler/ir/smcq.h"
#include "format/check.h"

#include <inttypes.h>

static const char *const modes[BIN_Q_MODES] = { "normal", "session", "cpu", "posted" };
static const char *const armws[BIN_ARMWS] = {
#define ARMW(NAME, number, word, op, bytes) [number] = word,
#include "format/armw.def"
#undef ARMW
};

static const struct {
	uint8_t flag;
	const char *word;
} flags[] = { { BIN_E_STRONG, "strong" }, { BIN_E_LOCAL, "local" }, { BIN_E_REMOTE, "remote" } };
#define FLAGS (sizeof flags / sizeof *flags)

static bool has_ranges(const struct bin_entry *e)
{
	return bin_entry_facts(e->kind).ranges;
}

static const char *name_of_buffer(const struct bin *b, uint32_t buf)
{
	return bin_str(b, b->buffers[buf].name);
}

static uint32_t line_of(const struct ir_graph *g, uint32_t rank, uint32_t op)
{
	return ir_graph_loc(g, &g->ranks[rank].ops[op]).line;
}

/* ---- text ---- */

static void add_entry(struct text *t, const struct bin *b, const struct ir_graph *g, uint32_t rank,
		      const struct bin_entry *e)
{
	text_add(t, "%s", smcq_entry_word(e->kind));
	if (e->kind == BIN_E_ARMW)
		text_add(t, " %s", armws[e->armw]);
	if (has_ranges(e))
		text_add(t, " %s[%" PRIu64 " +: %u]", name_of_buffer(b, e->buf[0]), e->off[0], e->len);
	if (bin_entry_facts(e->kind).sends)
		text_add(t, " %s %u", smcq_entry_preposition(e->kind), e->peer);
	if (has_ranges(e))
		text_add(t, " %s[%" PRIu64 " +: %u]", name_of_buffer(b, e->buf[1]), e->off[1], e->len);
	if (e->kind == BIN_E_CPU)
		text_add(t, " %s", ir_op_word(g->ranks[rank].ops[e->op].kind));
	if (e->queue != BIN_NONE)
		text_add(t, " queue %u sps %u", e->queue, e->sps);
	for (size_t i = 0; i < FLAGS; i++)
		if (e->flags & flags[i].flag)
			text_add(t, " %s", flags[i].word);
	if (e->op != BIN_NONE)
		text_add(t, "  for op %u", e->op);
	if (e->at != BIN_NONE)
		text_add(t, " and op %u of %u", e->at, e->peer);
	if (e->op != BIN_NONE && line_of(g, rank, e->op))
		text_add(t, "  ; line %u", line_of(g, rank, e->op));
	text_add(t, "\n");
}

void print_rank_queues(struct text *t, const struct bin *b, const struct ir_graph *g, uint32_t rank)
{
	const struct smcq_rank *r = &g->queues->ranks[rank];

	text_add(t, "rank %u: %zu queues, %zu entries, done when told of %u of its own and %u of others\n", rank, r->queues.n,
		 r->entries.n, r->locals, r->remotes);
	for (size_t i = 0; i < r->queues.n; i++) {
		const struct bin_queue *q = &r->queues.at[i];

		text_add(t, "  queue %zu %s", i, modes[q->mode]);
		if (q->mode != BIN_Q_CPU)
			text_add(t, " tni %u cq %u", q->tni, q->cq);
		if (q->mode == BIN_Q_POSTED)
			text_add(t, " when told %u", q->needs);
		text_add(t, "\n");
		for (uint32_t k = 0; k < q->n; k++) {
			text_add(t, "%5u  ", k);
			add_entry(t, b, g, rank, &r->entries.at[q->first + k]);
		}
	}
}

void print_queue_needs(struct text *t, const struct ir_graph *g)
{
	for (uint32_t i = 0; i < g->queues->nranks; i++) {
		const struct smcq_rank *r = &g->queues->ranks[i];
		const struct smcq_needs n = smcq_rank_needs(r);
		const char *before = "; needs the CPU for";

		text_add(t, "rank %u: %u command queues, %u entries", i, n.queues, n.entries);
		for (size_t q = 0; q < r->queues.n; q++)
			if (r->queues.at[q].mode == BIN_Q_POSTED)
				text_add(t, "; posts queue %zu itself", q);
		for (size_t k = 0; k < r->entries.n; k++) {
			const struct bin_entry *e = &r->entries.at[k];

			if (e->kind != BIN_E_CPU)
				continue;
			text_add(t, "%s op %u (%s", before, e->op, ir_op_word(g->ranks[i].ops[e->op].kind));
			if (line_of(g, i, e->op))
				text_add(t, " in line %u", line_of(g, i, e->op));
			text_add(t, ")");
			before = ",";
		}
		text_add(t, "\n");
	}
}

/* ---- JSON ---- */

static void add_int(json_object *j, const char *key, uint64_t v)
{
	json_object_object_add(j, key, json_object_new_int64((int64_t)v));
}

static void add_range(json_object *j, const char *key, const struct bin *b, const struct bin_entry *e, unsigned side)
{
	json_object *range = json_object_new_object();

	json_object_object_add(range, "name", json_object_new_string(name_of_buffer(b, e->buf[side])));
	add_int(range, "off", e->off[side]);
	json_object_object_add(j, key, range);
}

static json_object *json_entry(const struct bin *b, const struct bin_entry *e)
{
	json_object *j = json_object_new_object(), *words = json_object_new_array();

	json_object_object_add(j, "entry", json_object_new_string(smcq_entry_word(e->kind)));
	if (e->kind == BIN_E_ARMW)
		json_object_object_add(j, "armw", json_object_new_string(armws[e->armw]));
	if (bin_entry_facts(e->kind).sends)
		add_int(j, "peer", e->peer);
	if (has_ranges(e)) {
		add_range(j, "from", b, e, bin_entry_source(e));
		add_range(j, "to", b, e, !bin_entry_source(e));
		add_int(j, "len", e->len);
	}
	if (e->queue != BIN_NONE) {
		add_int(j, "queue", e->queue);
		add_int(j, "sps", e->sps);
	}
	if (e->op != BIN_NONE)
		add_int(j, "op", e->op);
	if (e->at != BIN_NONE)
		add_int(j, "at", e->at);
	for (size_t i = 0; i < FLAGS; i++)
		if (e->flags & flags[i].flag)
			json_object_array_add(words, json_object_new_string(flags[i].word));
	json_object_object_add(j, "flags", words);
	return j;
}

static json_object *json_queue(const struct bin *b, const struct smcq_rank *r, const struct bin_queue *q)
{
	json_object *j = json_object_new_object(), *entries = json_object_new_array();

	json_object_object_add(j, "mode", json_object_new_string(modes[q->mode]));
	if (q->mode != BIN_Q_CPU) {
		add_int(j, "tni", q->tni);
		add_int(j, "cq", q->cq);
	}
	if (q->mode == BIN_Q_POSTED)
		add_int(j, "told", q->needs);
	for (uint32_t k = 0; k < q->n; k++)
		json_object_array_add(entries, json_entry(b, &r->entries.at[q->first + k]));
	json_object_object_add(j, "entries", entries);
	return j;
}

json_object *print_json_queues(const struct bin *b, const struct ir_graph *g)
{
	json_object *all = json_object_new_array();

	for (uint32_t i = 0; i < g->queues->nranks; i++) {
		const struct smcq_rank *r = &g->queues->ranks[i];
		json_object *queues = json_object_new_array();

		for (size_t q = 0; q < r->queues.n; q++)
			json_object_array_add(queues, json_queue(b, r, &r->queues.at[q]));
		json_object_array_add(all, queues);
	}
	return all;
}

json_object *print_json_queue_needs(const struct ir_graph *g)
{
	json_object *all = json_object_new_array();

	for (uint32_t i = 0; i < g->queues->nranks; i++) {
		const struct smcq_rank *r = &g->queues->ranks[i];
		const struct smcq_needs n = smcq_rank_needs(r);
		json_object *j = json_object_new_object(), *cpu = json_object_new_array(), *posted = json_object_new_array();

		add_int(j, "rank", i);
		add_int(j, "cqs", n.queues);
		add_int(j, "entries", n.entries);
		for (size_t k = 0; k < r->entries.n; k++)
			if (r->entries.at[k].kind == BIN_E_CPU)
				json_object_array_add(cpu, json_object_new_int64(r->entries.at[k].op));
		for (size_t q = 0; q < r->queues.n; q++)
			if (r->queues.at[q].mode == BIN_Q_POSTED)
				json_object_array_add(posted, json_object_new_int64((int64_t)q));
		json_object_object_add(j, "cpu", cpu);
		json_object_object_add(j, "posted", posted);
		json_object_array_add(all, j);
	}
	return all;
}
