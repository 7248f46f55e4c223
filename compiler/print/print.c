/* SPDX-License-Identifier: BSD-3-Clause
 * Prints schedules: statistics, plain GOAL, JSON and a dump. */
#include "compiler/print/print.h"

#include "compiler/analysis/events.h"
#include "compiler/print/print_queues.h"
#include "compiler/verify/verify.h"
#include "format/check.h"
#include "util/err.h"
#include "util/text.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/* ---- statistics ---- */

/* Finds the largest number of ops on a path through dependencies and messages. If there is a cycle, has_depth is false. */
static int find_depth(const struct ir_graph *g, struct ir_stats *st)
{
	struct ir_events ev;
	uint32_t *deep = NULL; /* for each event, the largest number of ops on a path to it */
	int err = ir_events_of(&ev, g);

	if (!err) {
		deep = mem_calloc(ev.n, sizeof *deep);
		err = deep ? 0 : -ERR_NOMEM;
	}
	for (uint32_t at = 0; at < ev.sorted && !err; at++) {
		const uint32_t e = ev.order[at], op = e / 2;

		for (uint32_t p = ev.pred_at[e]; p < ev.pred_at[e + 1]; p++) {
			const uint32_t ops = deep[ev.pred[p]] + (ev.pred[p] / 2 != op);

			deep[e] = ops > deep[e] ? ops : deep[e];
		}
		if (op < ev.nops && deep[e] > st->depth)
			st->depth = deep[e];
	}
	st->has_depth = ev.sorted == ev.n;
	ir_events_fini(&ev);
	free(deep);
	return err;
}

/* Counts the safe messages, and the messages that need a ready signal (struct verify_report). */
static int find_ready(const struct ir_graph *g, struct ir_stats *st)
{
	struct verify_report r;
	int err = verify_messages(g, &r, &st->has_ready);

	st->safe = r.safe;
	st->ready = r.ready;
	return err;
}

BIN_LAST_OP(GETS);
int print_stats(const struct ir_graph *g, struct ir_stats *st)
{
	bool wild = false;
	int err;

	*st = (struct ir_stats){ .ranks = g->nranks };
	for (uint32_t r = 0; r < g->nranks; r++) {
		const struct ir_rank *rank = &g->ranks[r];

		st->edges += rank->dep_at[rank->nops];
		for (uint32_t i = 0; i < rank->nops; i++) {
			const struct bin_op *op = &rank->ops[i];

			wild |= op->peer == BIN_ANY || op->tag == BIN_ANY;
			st->sends += bin_sends(op->kind);
			if (bin_sends(op->kind) && (__builtin_add_overflow(st->bytes, op->len, &st->bytes) || st->bytes > INT64_MAX))
				return -ERR_OVERFLOW;
			st->recvs += bin_recvs(op->kind);
			st->reduces += bin_reduces(op->kind); /* some ops count both as a recv and as a reduce */
			st->calcs += op->kind == BIN_OP_CALC;
			st->copies += op->kind == BIN_OP_COPY;
			st->nops += op->kind == BIN_OP_NOP;
		}
	}
	if (wild)
		return 0;
	err = find_depth(g, st);
	return err || g->plain ? err : find_ready(g, st);
}

/* ---- plain GOAL, in exactly the form that line-by-line readers of other programs expect ---- */

static void add_number(struct text *t, const char *before, uint32_t v)
{
	if (v == BIN_ANY)
		text_add(t, "%s-1", before);
	else
		text_add(t, "%s%u", before, v);
}

static int goal_rank(struct text *t, const struct ir_rank *rank)
{
	/* A dependency is printed after the later of its two ops, so that no reader needs forward references. The rows
	 * at[i] … at[i + 1] - 1 are printed after op i. */
	uint32_t *at = mem_calloc((size_t)rank->nops + 2, sizeof *at);
	struct bin_dep *rows = mem_alloc((size_t)rank->dep_at[rank->nops] * sizeof *rows);

	if (at)
		for (uint32_t i = 0; i < rank->nops; i++)
			for (uint32_t k = rank->dep_at[i]; k < rank->dep_at[i + 1]; k++)
				at[(rank->deps[k] & ~BIN_START) > i ? (rank->deps[k] & ~BIN_START) + 2 : i + 2]++;
	if (!at || !rows) {
		free(at);
		free(rows);
		return -ERR_NOMEM;
	}
	for (uint32_t i = 2; i < rank->nops + 2; i++)
		at[i] += at[i - 1];
	for (uint32_t i = 0; i < rank->nops; i++)
		for (uint32_t k = rank->dep_at[i]; k < rank->dep_at[i + 1]; k++) {
			uint32_t on = rank->deps[k] & ~BIN_START, to = on > i ? on : i;

			rows[at[to + 1]++] = (struct bin_dep){ i, rank->deps[k] };
		}
	for (uint32_t i = 0; i < rank->nops; i++) {
		const struct bin_op *o = &rank->ops[i];

		text_add(t, "l%u: ", i + 1);
		if (ir_op_sends(o) || ir_op_recvs(o)) {
			text_add(t, ir_op_sends(o) ? "send %" PRIu64 "b to" : "recv %" PRIu64 "b from", o->len);
			add_number(t, " ", o->peer);
			add_number(t, " tag ", o->tag);
		} else {
			text_add(t, "calc %" PRIu64, o->kind == BIN_OP_CALC ? o->len : 0);
		}
		if (o->cpu)
			text_add(t, " cpu %u", o->cpu);
		if (o->nic)
			text_add(t, " nic %u", o->nic);
		text_add(t, "\n");
		for (uint32_t k = at[i]; k < at[i + 1]; k++)
			text_add(t, "l%u %s l%u\n", rows[k].op + 1, rows[k].on & BIN_START ? "irequires" : "requires",
				 (rows[k].on & ~BIN_START) + 1);
	}
	free(at);
	free(rows);
	return 0;
}

int print_goal(const struct ir_graph *g, char **out)
{
	struct text t = { 0 };
	int err = 0;

	text_add(&t, "num_ranks %u\n", g->nranks);
	for (uint32_t r = 0; r < g->nranks && !err; r++) {
		text_add(&t, "\nrank %u {\n", r);
		err = goal_rank(&t, &g->ranks[r]);
		text_add(&t, "}\n");
	}
	if (err)
		t.err = err;
	return text_take(&t, out);
}

/* ---- JSON ---- */

static const char *const exec_names[BIN_EXECS] = { "default",
#define EXEC(NAME, number, word) [number] = word,
#include "format/execs.def"
#undef EXEC
};
static const char *const mode_names[BIN_MODES] = { "in", "out", "inout", "scratch" };

static json_object *json_number(uint32_t v)
{
	return v == BIN_ANY ? json_object_new_int64(-1) : json_object_new_int64(v);
}

static json_object *json_op(const struct bin *b, const struct ir_rank *rank, uint32_t i)
{
	static const char *const keys[2] = { "buffer", "into" };
	const struct bin_op *o = &rank->ops[i];
	json_object *j = json_object_new_object(), *req = json_object_new_array();
	json_object *ireq = json_object_new_array();

	json_object_object_add(j, "op", json_object_new_string(ir_op_word(o->kind)));
	if (ir_op_sends(o) || ir_op_recvs(o)) {
		json_object_object_add(j, "peer", json_number(o->peer));
		json_object_object_add(j, "tag", json_number(o->tag));
	}
	for (unsigned k = 0; k < bin_nranges(o->kind); k++) {
		json_object *range = json_object_new_object();

		json_object_object_add(range, "name",
				       json_object_new_string(bin_str(b, b->buffers[o->buf[k]].name)));
		json_object_object_add(range, "off", json_object_new_int64((int64_t)o->off[k]));
		json_object_object_add(j, keys[k], range);
	}
	json_object_object_add(j, o->kind == BIN_OP_CALC ? "ns" : "len", json_object_new_int64((int64_t)o->len));
	if (o->kind == BIN_OP_REDUCE_WITH)
		json_object_object_add(j, "with", json_object_new_boolean(1));
	if (o->level)
		json_object_object_add(j, "level", json_object_new_int(o->level));
	if (o->exec)
		json_object_object_add(j, "on", json_object_new_string(exec_names[o->exec]));
	if (o->cpu)
		json_object_object_add(j, "cpu", json_number(o->cpu));
	if (o->nic)
		json_object_object_add(j, "nic", json_number(o->nic));
	for (uint32_t k = rank->dep_at[i]; k < rank->dep_at[i + 1]; k++)
		json_object_array_add(rank->deps[k] & BIN_START ? ireq : req,
				      json_object_new_int64(rank->deps[k] & ~BIN_START));
	json_object_object_add(j, "requires", req);
	json_object_object_add(j, "irequires", ireq);
	return j;
}

int print_json(const struct bin *b, const struct ir_graph *g, char **out)
{
	json_object *j = json_object_new_object(), *bufs = json_object_new_array();
	json_object *ranks = json_object_new_array();
	struct text t = { 0 };

	json_object_object_add(j, "name", json_object_new_string(bin_str(b, b->meta->name)));
	json_object_object_add(j, "implements", json_object_new_string(bin_str(b, b->meta->implements)));
	json_object_object_add(j, "ranks", json_object_new_int64(g->nranks));
	for (uint32_t i = 0; i < b->nbuffers; i++) {
		json_object *f = json_object_new_object();

		json_object_object_add(f, "name", json_object_new_string(bin_str(b, b->buffers[i].name)));
		json_object_object_add(f, "mode", json_object_new_string(mode_names[b->buffers[i].mode]));
		json_object_array_add(bufs, f);
	}
	json_object_object_add(j, "buffers", bufs);
	for (uint32_t r = 0; r < g->nranks; r++) {
		json_object *ops = json_object_new_array();

		for (uint32_t i = 0; i < g->ranks[r].nops; i++)
			json_object_array_add(ops, json_op(b, &g->ranks[r], i));
		json_object_array_add(ranks, ops);
	}
	json_object_object_add(j, "ops", ranks);
	if (g->queues)
		json_object_object_add(j, "queues", print_json_queues(b, g));
	text_add(&t, "%s\n", json_object_to_json_string_ext(j, JSON_C_TO_STRING_PRETTY));
	json_object_put(j);
	return text_take(&t, out);
}

/* ---- dump ---- */

/* Prints the ranges of an op in the words of the language. `part` prints one range. */
static void dump_ranges(struct text *t, const char *const name[2], unsigned kind,
			void (*part)(struct text *t, const void *op, unsigned k), const void *op)
{
	if (kind == BIN_OP_REDUCE_WITH) {
		text_add(t, " %s", name[1]);
		part(t, op, 1);
		text_add(t, " with");
	}
	for (unsigned k = 0; k < bin_nranges(kind); k++) {
		text_add(t, "%s %s", k ? " into" : "", name[k]);
		part(t, op, k);
	}
}

static void tmpl_range(struct text *t, const void *op, unsigned k)
{
	const struct bin_tmpl *p = op;

	if (p->off[k] == BIN_NOREG)
		text_add(t, "[0 +: r%u]", p->len);
	else
		text_add(t, "[r%u +: r%u]", p->off[k], p->len);
}

static void op_range(struct text *t, const void *op, unsigned k)
{
	const struct bin_op *o = op;

	text_add(t, "[%" PRIu64 " +: %" PRIu64 "]", o->off[k], o->len);
}

static void dump_label(struct text *t, uint32_t label, uint16_t instance, const uint16_t *index)
{
	text_add(t, " label ");
	if (instance)
		text_add(t, "r%u + ", instance);
	text_add(t, "%u", label);
	if (index[0] != BIN_NOREG)
		text_add(t, "[r%u", index[0]);
	if (index[1] != BIN_NOREG)
		text_add(t, ", r%u", index[1]);
	if (index[0] != BIN_NOREG)
		text_add(t, "]");
}

static void dump_tmpl(struct text *t, const struct bin *b, const struct bin_tmpl *p, bool in_call)
{
	const struct {
		const char *word;
		uint16_t reg;
	} fields[] = { { "peer", p->peer }, { "tag", p->tag }, { "level", p->level }, { "cpu", p->cpu }, { "nic", p->nic } };

	const char *name[2] = { "", "" };

	if (p->kind == BIN_OP_GETS) { /* the word of the instruction already says the kind */
		text_add(t, " %s", bin_str(b, b->buffers[p->buf[0]].name));
		tmpl_range(t, p, 0);
		text_add(t, " from %s", bin_str(b, b->buffers[p->buf[1]].name));
		tmpl_range(t, p, 1);
		text_add(t, " of r%u", p->peer);
		return;
	}
	for (unsigned k = 0; k < bin_nranges(p->kind); k++)
		name[k] = bin_str(b, in_call ? b->windows[p->buf[k]].name : b->buffers[p->buf[k]].name);
	text_add(t, " %s", ir_op_word(p->kind));
	dump_ranges(t, name, p->kind, tmpl_range, p);
	if (p->kind == BIN_OP_CALC)
		text_add(t, " r%u ns", p->len);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (fields[i].reg != BIN_NOREG)
			text_add(t, " %s r%u", fields[i].word, fields[i].reg);
	if (p->exec)
		text_add(t, " on %s", exec_names[p->exec]);
	if (p->label != BIN_NONE)
		dump_label(t, p->label, p->instance, p->index);
}

static void dump_dep(struct text *t, const struct bin_dep_tmpl *d)
{
	dump_label(t, d->op, d->op_instance, d->op_index);
	text_add(t, d->start ? " irequires" : " requires");
	dump_label(t, d->on, d->on_instance, d->on_index);
}

static void dump_window(struct text *t, const struct bin *b, const struct bin_window *w)
{
	text_add(t, " %s = %s[", bin_str(b, w->name), bin_str(b, b->buffers[w->buf].name));
	if (w->base != BIN_NOREG)
		text_add(t, "r%u", w->base);
	else
		text_add(t, "0");
	text_add(t, " +: r%u]", w->size);
}

static void dump_word(struct text *t, const struct bin *b, uint32_t pc)
{
	static const struct {
		const char *word, *form;
	} insns[BIN_INSNS] = {
#define INSN(NAME, number, text, form) [number] = { text, form },
#include "format/insn.def"
#undef INSN
	};
	const struct bin_word *w = &b->code[pc];
	const char *f = insns[w->op].form;

	text_add(t, "%5u  %-9s", pc, insns[w->op].word);
	for (; *f; f++)
		switch (*f) {
		case 'a':
			text_add(t, " r%u", w->op == BIN_BUFSIZE ? w->b : w->a);
			break;
		case 'b':
			text_add(t, " r%u", w->b);
			break;
		case 'c':
			text_add(t, " r%u", w->c);
			break;
		case 'B':
			text_add(t, " %s", bin_str(b, b->buffers[w->a].name));
			break;
		case 'p':
			text_add(t, " %s", bin_str(b, b->params[w->b].name));
			break;
		case 'n':
			text_add(t, " %" PRId64, b->consts[w->imm]);
			break;
		case 's':
			text_add(t, " \"%s\"", bin_str(b, (uint32_t)w->imm));
			break;
		case 't':
		case 'T':
			dump_tmpl(t, b, &b->tmpls[w->imm], *f == 'T');
			break;
		case 'd':
		case 'D':
			dump_dep(t, &b->deps[w->imm]);
			break;
		case 'k':
			if (b->calls[w->imm].label != BIN_NONE)
				dump_label(t, b->calls[w->imm].label, b->calls[w->imm].instance, b->calls[w->imm].index);
			break;
		case 'w':
			dump_window(t, b, &b->windows[w->c]);
			break;
		default: /* operands of the forms i and j */
			text_add(t, " %d", w->imm);
		}
	if (b->lines)
		text_add(t, "  ; line %u", b->lines[pc]);
	text_add(t, "\n");
}

static void dump_rank(struct text *t, const struct bin *b, const struct ir_rank *rank, uint32_t r)
{
	text_add(t, "rank %u: %u ops, %u dependencies\n", r, rank->nops, rank->dep_at[rank->nops]);
	for (uint32_t i = 0; i < rank->nops; i++) {
		const struct bin_op *o = &rank->ops[i];

		text_add(t, "%5u  waits %u  %s", i, rank->dep_at[i + 1] - rank->dep_at[i], ir_op_word(o->kind));
		const char *name[2] = { "", "" };

		for (unsigned k = 0; k < bin_nranges(o->kind); k++)
			name[k] = bin_str(b, b->buffers[o->buf[k]].name);
		dump_ranges(t, name, o->kind, op_range, o);
		if (o->kind == BIN_OP_CALC)
			text_add(t, " %" PRIu64 " ns", o->len);
		if (bin_is_message(o->kind)) {
			add_number(t, o->kind == BIN_OP_SEND ? " to " : " from ", o->peer);
			add_number(t, " tag ", o->tag);
		}
		if (o->level)
			text_add(t, " level %u", o->level);
		if (o->cpu)
			text_add(t, " cpu %u", o->cpu);
		if (o->nic)
			text_add(t, " nic %u", o->nic);
		if (o->exec)
			text_add(t, " on %s", exec_names[o->exec]);
		for (uint32_t k = rank->dep_at[i]; k < rank->dep_at[i + 1]; k++)
			text_add(t, "%s %s%u", k == rank->dep_at[i] ? "  after" : ",",
				 rank->deps[k] & BIN_START ? "start of " : "", rank->deps[k] & ~BIN_START);
		if (o->line)
			text_add(t, "  ; line %u", o->line);
		text_add(t, "\n");
	}
}

int print_dump(const struct bin *b, const struct ir_graph *g, char **out)
{
	const struct bin_header *h = (const struct bin_header *)(const void *)b->base;
	const struct bin_meta *m = b->meta;
	struct text t = { 0 };

	text_add(&t, "schedule %s%s%s%s%s\n", *bin_str(b, m->name) ? bin_str(b, m->name) : "(plain)",
		 *bin_str(b, m->implements) ? " implements " : "", bin_str(b, m->implements),
		 m->flags & BIN_F_COMMUTATIVE ? " commutative" : "", m->flags & BIN_F_REPRODUCIBLE ? " reproducible" : "");
	text_add(&t, "version %u, %zu bytes, checksum %08x, %s", h->version, b->size, h->check,
		 m->flags & BIN_F_PARAMETRIC ? "parametric" : "concrete");
	if (m->nranks)
		text_add(&t, " for %u ranks%s", m->nranks, m->flags & BIN_F_ROOTS ? " and any root" : "");
	if (m->count != BIN_ANY_COUNT)
		text_add(&t, " and count %" PRId64, m->count);
	text_add(&t, "\n");
	for (uint32_t i = 0; i < b->nproved; i++) {
		text_add(&t, "%s%u", i ? ", " : "proved for ", b->proved[i].first);
		if (b->proved[i].last > b->proved[i].first)
			text_add(&t, "-%u", b->proved[i].last);
	}
	if (b->nproved)
		text_add(&t, " ranks");
	if (b->proof)
		text_add(&t, ", by %" PRIu32 " obligations with the sum %016" PRIx64, b->proof->n, b->proof->obligations);
	if (b->nproved)
		text_add(&t, "\n");
	if (*bin_str(b, m->passes))
		text_add(&t, "passes at bind: %s\n", bin_str(b, m->passes));
	for (uint32_t i = 0; i < b->nbuffers; i++)
		text_add(&t, "buffer %s %s\n", mode_names[b->buffers[i].mode], bin_str(b, b->buffers[i].name));
	for (uint32_t i = 0; i < b->nparams; i++) {
		static const char *const scopes[BIN_SCOPES] = { "global", "rootonly", "local" };
		const struct bin_param *p = &b->params[i];

		text_add(&t, "parameter %s %s", scopes[p->scope], bin_str(b, p->name));
		if (p->vector && p->has_default)
			text_add(&t, "[%u]", p->elements);
		else if (p->vector)
			text_add(&t, "[]");
		if (p->has_default == BIN_NUMBER)
			text_add(&t, " = %" PRId64, p->value);
		else if (p->has_default)
			text_add(&t, " = computed");
		text_add(&t, "\n");
	}
	for (uint32_t pc = 0; !g && pc < b->ncode; pc++)
		dump_word(&t, b, pc);
	for (uint32_t r = 0; g && r < g->nranks; r++)
		dump_rank(&t, b, &g->ranks[r], r);
	for (uint32_t r = 0; g && g->queues && r < g->nranks; r++)
		print_rank_queues(&t, b, g, r);
	return text_take(&t, out);
}
