/* SPDX-License-Identifier: BSD-3-Clause
 * Prints a lowered schedule as a Promela program of queues, packets and ranks. Its assertions are derived from the ops
 * alone. It shares nothing with the verifier but the order of the ops.
 *
 * Memory is divided into cells: elements of one rank that all entries treat alike. A cell has a tag: the op that wrote
 * it last in this start, or is writing it now. For each read, and for each completion of a rank, the tag that must be there
 * is known. All accesses to a rank's memory must happen between its start and its completion, in the same start of
 * both ranks, so tags need no number of the start. ARMWs to one element commute, so they leave its tag as it is and are
 * counted. Cells that nothing writes are left out.
 *
 * Events that are harmless when early, and that could also happen later, happen at once: an entry that has its credit is
 * issued, and a rank that has its notices completes. The other events happen in any order: packets arrive, and ranks
 * start. For a route in strong order only the number of packets is kept. */
#include "compiler/print/print_promela.h"

#include "compiler/analysis/checks.h"
#include "compiler/analysis/events.h"
#include "compiler/analysis/symbolic.h"
#include "compiler/ir/smcq.h"
#include "format/check.h"
#include "util/order.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define AS_STARTED 0u /* tag of initial contents; the tag of op i is i + 1 */
#define GARBAGE (UINT32_MAX - 1)
#define ANY_TAG UINT32_MAX

/* Contents of a span: the op that wrote the span, and how many ARMWs have updated it since. */
struct content {
	uint32_t tag, updates;
};

enum access_kind { READS, UPDATES, WRITES };
struct access {
	uint32_t entry;
	enum access_kind kind;
	struct content value; /* value that is read or written; an update must find this tag */
};

/* A span: the elements from lo up to the next span of the buffer. */
struct span {
	uint32_t buf;
	uint64_t lo;
	struct content last; /* contents after the ops so far */
	VEC(struct access) v;
};

/* A cell stands for all spans of its rank that are treated alike. */
struct cell {
	uint32_t rank;
	const struct span *p;
	struct content final; /* contents at completion; its tag may be ANY_TAG */
	VEC(uint32_t) tags; /* all tags that occur, except the tag of initial contents */
	bool updated;
};

struct route {
	uint32_t queue; /* number of the queue over all ranks */
	VEC(uint32_t) entries;
};

struct promela {
	struct text t;
	const struct ir_graph *g;
	const struct smcq *s;
	struct ir_events ev;
	/* spans of each rank, ascending; for each buffer, the last one begins at the highest end of a range */
	VEC(struct span) *spans;
	VEC(struct content) expected; /* contents that ops must read */
	size_t *expected_at; /* for ranges 0 and 1 of each op, the first index into expected */
	bool *armw; /* true for ops that ARMWs carry out */
	uint8_t operation; /* operation of all ARMWs */
	VEC(struct cell) cells;
	uint32_t *ebase, *qbase; /* numbers of each rank's first entry and queue over all ranks */
	VEC(struct route) routes;
	uint32_t *route_of; /* for each entry, its route */
	struct ir_query *waits; /* [a * nranks + b]: the answer is yes if b must not complete before a has started */
};

static const struct bin_op *op_at(const struct promela *m, uint32_t rank, uint32_t op)
{
	return &m->g->ranks[rank].ops[op];
}

static const struct bin_entry *entry_at(const struct promela *m, uint32_t rank, uint32_t e)
{
	return &m->s->ranks[rank].entries.at[e - m->ebase[rank]];
}

static bool carries_data(const struct bin_entry *e)
{
	return bin_entry_facts(e->kind).ranges;
}

static bool moves_data(const struct bin_entry *e)
{
	return carries_data(e) || e->kind == BIN_E_CPU;
}

static bool same_value(struct content a, struct content b)
{
	return a.tag == b.tag && a.updates == b.updates;
}

/* ---- spans ---- */

static int add_cuts(struct promela *m, uint32_t rank, uint32_t buf, uint64_t off, uint64_t len)
{
	int err = 0;

	for (unsigned end = 0; end < 2 && len && !err; end++)
		err = VEC_PUSH(&m->spans[rank], (struct span){ .buf = buf, .lo = off + (end ? len : 0) });
	return err;
}

static int by_position(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->buf != y->buf ? (x->buf > y->buf) - (x->buf < y->buf) : (x->lo > y->lo) - (x->lo < y->lo);
}

static int cut_buffers(struct promela *m)
{
	int err = 0;

	for (uint32_t r = 0; r < m->g->nranks; r++) {
		for (uint32_t i = 0; i < m->g->ranks[r].nops; i++) {
			const struct bin_op *o = op_at(m, r, i);

			for (unsigned k = 0; k < bin_nranges(o->kind) && !err; k++)
				err = add_cuts(m, r, o->buf[k], o->off[k], o->len);
		}
		for (size_t i = 0; i < m->s->ranks[r].entries.n && !err; i++) {
			const struct bin_entry *e = &m->s->ranks[r].entries.at[i];

			if (carries_data(e))
				err = add_cuts(m, r, e->buf[0], e->off[0], e->len);
			if (carries_data(e) && !err)
				err = add_cuts(m, e->peer, e->buf[1], e->off[1], e->len);
		}
	}
	for (uint32_t r = 0; r < m->g->nranks && !err; r++) {
		size_t n = 0;

		ORDER_VEC(&m->spans[r], by_position);
		for (size_t i = 0; i < m->spans[r].n; i++)
			if (!n || by_position(&m->spans[r].at[n - 1], &m->spans[r].at[i]))
				m->spans[r].at[n++] = m->spans[r].at[i];
		m->spans[r].n = n;
	}
	return err;
}

/* Returns the first span of a range. The others follow it, up to the first that is not in the range. */
static size_t span_at(const struct promela *m, uint32_t rank, uint32_t buf, uint64_t off)
{
	const struct span key = { .buf = buf, .lo = off };

	return order_find(&key, m->spans[rank].at, m->spans[rank].n, sizeof key, by_position);
}

static bool span_in_range(const struct promela *m, uint32_t rank, size_t p, uint32_t buf, uint64_t off, uint64_t len)
{
	const struct span *x = p < m->spans[rank].n ? &m->spans[rank].at[p] : NULL;

	return x && x->buf == buf && x->lo >= off && x->lo - off < len;
}

/* ---- effects of ops ---- */

static int find_armws(struct promela *m)
{
	m->armw = mem_calloc(m->ev.nops, sizeof *m->armw);
	if (!m->armw)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < m->g->nranks; r++)
		for (size_t i = 0; i < m->s->ranks[r].entries.n; i++) {
			const struct bin_entry *e = &m->s->ranks[r].entries.at[i];

			if (e->kind == BIN_E_ARMW && !m->operation)
				m->operation = e->armw;
			if (e->kind == BIN_E_ARMW && e->at != BIN_NONE)
				m->armw[m->ev.base[e->peer] + e->at] = true;
			else if (e->kind == BIN_E_ARMW && e->op != BIN_NONE)
				m->armw[m->ev.base[r] + e->op] = true;
		}
	return 0;
}

static int read_op(struct promela *m, uint32_t rank, uint32_t i)
{
	const struct bin_op *o = op_at(m, rank, i);
	int err = 0;

	for (unsigned k = 0; k < bin_nranges(o->kind); k++) {
		m->expected_at[2 * (m->ev.base[rank] + i) + k] = m->expected.n;
		for (size_t p = span_at(m, rank, o->buf[k], o->off[k]);
		     bin_reads(o->kind, k) && span_in_range(m, rank, p, o->buf[k], o->off[k], o->len) && !err; p++)
			err = VEC_PUSH(&m->expected, m->spans[rank].at[p].last);
	}
	return err;
}

static void write_op(struct promela *m, uint32_t rank, uint32_t i)
{
	const struct bin_op *o = op_at(m, rank, i);
	const bool armw = m->armw[m->ev.base[rank] + i];

	for (unsigned k = 0; k < bin_nranges(o->kind); k++)
		for (size_t p = span_at(m, rank, o->buf[k], o->off[k]);
		     bin_writes(o->kind, k) && span_in_range(m, rank, p, o->buf[k], o->off[k], o->len); p++) {
			struct content *v = &m->spans[rank].at[p].last;

			*v = armw ? (struct content){ v->tag, v->updates + 1 } : (struct content){ i + 1, 0 };
		}
}

/* Runs the ops in some order. There is no race, so every order gives the same contents. */
static int carry_out(struct promela *m)
{
	int err = find_armws(m);

	if (err)
		return err;
	m->expected_at = mem_calloc(2 * (size_t)m->ev.nops, sizeof *m->expected_at);
	if (!m->expected_at)
		return -ERR_NOMEM;
	for (uint32_t at = 0; at < m->ev.n && !err; at++) {
		const uint32_t e = m->ev.order[at], op = e / 2;
		uint32_t rank;

		if (op >= m->ev.nops)
			continue;
		rank = ir_events_rank(&m->ev, op);
		if (e % 2)
			write_op(m, rank, op - m->ev.base[rank]);
		else
			err = read_op(m, rank, op - m->ev.base[rank]);
	}
	return err;
}

/* ---- effects of entries ---- */

/* Adds the accesses of an entry that reads, or updates, its part of range k of an op. */
static int add_reads(struct promela *m, enum access_kind kind, uint32_t rank, uint32_t e, uint32_t op, unsigned k,
		     uint32_t buf, uint64_t off, uint64_t len)
{
	const struct bin_op *o = op_at(m, rank, op);
	const size_t from = span_at(m, rank, o->buf[k], o->off[k]);
	int err = 0;

	for (size_t p = span_at(m, rank, buf, off); span_in_range(m, rank, p, buf, off, len) && !err; p++) {
		const struct content *v = &m->expected.at[m->expected_at[2 * (m->ev.base[rank] + op) + k] + (p - from)];

		if (span_in_range(m, rank, p, o->buf[k], o->off[k], o->len)) /* other elements would give garbage */
			err = VEC_PUSH(&m->spans[rank].at[p].v, (struct access){ e, kind, *v });
	}
	return err;
}

/* Adds the accesses of an entry that writes range k of `op`. If `op` is BIN_NONE, no op expects the written contents. */
static int add_writes(struct promela *m, uint32_t rank, uint32_t e, uint32_t op, unsigned k, uint32_t buf, uint64_t off,
		      uint64_t len)
{
	int err = 0;

	for (size_t p = span_at(m, rank, buf, off); span_in_range(m, rank, p, buf, off, len) && !err; p++) {
		const struct bin_op *o = op == BIN_NONE ? NULL : op_at(m, rank, op);
		const bool wanted = o && span_in_range(m, rank, p, o->buf[k], o->off[k], o->len);

		err = VEC_PUSH(&m->spans[rank].at[p].v, (struct access){ e, WRITES, { wanted ? op + 1 : GARBAGE, 0 } });
	}
	return err;
}

/* Source and destination of an entry's elements: for both, the rank, its op or BIN_NONE, and the range of the entry. If the
 * entry has no op at the peer, its own op has both ranges. */
struct taken {
	uint32_t rank[2], op[2];
	unsigned range[2];
};

static struct taken taken_by(uint32_t rank, const struct bin_entry *e)
{
	const unsigned from = bin_entry_source(e);
	struct taken t = { { rank, e->peer }, { e->op, e->at == BIN_NONE ? e->op : e->at }, { from, !from } };

	if (from)
		t = (struct taken){ { t.rank[1], t.rank[0] }, { t.op[1], t.op[0] }, { from, !from } };
	return t;
}

/* True if an entry takes elements of its op to the right position in the range of its peer's op, or in its own op's
 * second range. */
static bool takes_right(const struct promela *m, const struct taken *t, const struct bin_entry *e)
{
	const unsigned side = e->at == BIN_NONE, from = t->range[0], into = t->range[1];
	const struct bin_op *o, *to;

	if (e->op == BIN_NONE || (e->kind == BIN_E_ARMW && e->armw != m->operation) || (side && t->rank[0] != t->rank[1]))
		return false;
	o = op_at(m, t->rank[0], t->op[0]);
	to = op_at(m, t->rank[1], t->op[1]);
	if (side ? bin_nranges(o->kind) < 2 :
		   m->ev.partner[m->ev.base[t->rank[0]] + t->op[0]] != m->ev.base[t->rank[1]] + t->op[1] + 1)
		return false;
	return bin_reads(o->kind, 0) && bin_writes(to->kind, side) && bin_reads(to->kind, side) == (e->kind == BIN_E_ARMW) &&
	       e->buf[from] == o->buf[0] && e->buf[into] == to->buf[side] &&
	       e->off[from] - o->off[0] == e->off[into] - to->off[side];
}

static int add_taken(struct promela *m, uint32_t rank, uint32_t id, const struct bin_entry *e)
{
	const struct taken t = taken_by(rank, e);
	const bool right = takes_right(m, &t, e);
	const unsigned side = e->at == BIN_NONE, from = t.range[0], into = t.range[1];
	int err = right ? add_reads(m, READS, t.rank[0], id, t.op[0], 0, e->buf[from], e->off[from], e->len) : 0;

	if (err)
		return err;
	if (right && e->kind == BIN_E_ARMW)
		return add_reads(m, UPDATES, t.rank[1], id, t.op[1], side, e->buf[into], e->off[into], e->len);
	return add_writes(m, t.rank[1], id, right ? t.op[1] : BIN_NONE, side, e->buf[into], e->off[into], e->len);
}

static int add_cpu(struct promela *m, uint32_t rank, uint32_t id, const struct bin_entry *e)
{
	const struct bin_op *o = op_at(m, rank, e->op);
	int err = 0;

	for (unsigned k = 0; k < bin_nranges(o->kind) && !err; k++) {
		if (bin_reads(o->kind, k))
			err = add_reads(m, READS, rank, id, e->op, k, o->buf[k], o->off[k], o->len);
		if (bin_writes(o->kind, k) && !err)
			err = add_writes(m, rank, id, e->op, k, o->buf[k], o->off[k], o->len);
	}
	return err;
}

static int add_accesses(struct promela *m)
{
	int err = 0;

	for (uint32_t r = 0; r < m->g->nranks; r++)
		for (uint32_t id = m->ebase[r]; id < m->ebase[r + 1] && !err; id++) {
			const struct bin_entry *e = entry_at(m, r, id);

			if (carries_data(e))
				err = add_taken(m, r, id, e);
			else if (e->kind == BIN_E_CPU)
				err = add_cpu(m, r, id, e);
		}
	return err;
}

/* ---- cells ---- */

static bool same_accesses(const struct span *a, const struct span *b)
{
	bool same = a->v.n == b->v.n;

	for (size_t i = 0; i < a->v.n && same; i++)
		same = a->v.at[i].entry == b->v.at[i].entry && a->v.at[i].kind == b->v.at[i].kind &&
		       same_value(a->v.at[i].value, b->v.at[i].value);
	return same;
}

static int add_tag(struct cell *c, uint32_t tag)
{
	for (size_t i = 0; i < c->tags.n; i++)
		if (c->tags.at[i] == tag)
			return 0;
	return tag == AS_STARTED || tag == ANY_TAG ? 0 : VEC_PUSH(&c->tags, tag);
}

static int add_cell(struct promela *m, uint32_t rank, const struct span *p)
{
	const bool scratch = ir_graph_mode(m->g, p->buf) == BIN_SCRATCH;
	struct cell c = { .rank = rank, .p = p, .final = scratch ? (struct content){ ANY_TAG, 0 } : p->last };
	int err = add_tag(&c, c.final.tag);

	for (size_t i = 0; i < m->cells.n; i++)
		if (m->cells.at[i].rank == rank && same_value(m->cells.at[i].final, c.final) &&
		    same_accesses(m->cells.at[i].p, p)) {
			VEC_FREE(&c.tags);
			return err;
		}
	c.updated = c.final.updates > 0;
	for (size_t i = 0; i < p->v.n && !err; i++) {
		err = add_tag(&c, p->v.at[i].value.tag);
		c.updated |= p->v.at[i].kind == UPDATES || p->v.at[i].value.updates;
	}
	const bool changes = c.tags.n || c.updated;

	err = err || !changes ? err : VEC_PUSH(&m->cells, c);
	if (err || !changes)
		VEC_FREE(&c.tags);
	return err;
}

static int find_cells(struct promela *m)
{
	int err = 0;

	for (uint32_t r = 0; r < m->g->nranks; r++)
		for (size_t p = 0; p < m->spans[r].n && !err; p++)
			err = add_cell(m, r, &m->spans[r].at[p]);
	return err;
}

/* Returns the number of a tag in the program. Initial contents have the number 0. Every other tag has two
 * numbers; the lower number is used until the writer is complete. */
static uint32_t number_of(const struct cell *c, uint32_t tag, bool through)
{
	for (size_t i = 0; i < c->tags.n; i++)
		if (c->tags.at[i] == tag)
			return 2 * (uint32_t)i + 1 + through;
	return 0;
}

/* ---- routes ---- */

static int find_routes(struct promela *m, uint32_t rank, uint32_t q)
{
	const struct bin_queue *b = &m->s->ranks[rank].queues.at[q];
	const size_t first = m->routes.n;
	int err = 0;

	for (uint32_t id = m->ebase[rank] + b->first; id < m->ebase[rank] + b->first + b->n && !err; id++) {
		const struct bin_entry *e = entry_at(m, rank, id);
		size_t w = e->flags & BIN_E_STRONG ? first : m->routes.n;

		if (e->kind == BIN_E_NOP)
			continue;
		for (; w < m->routes.n; w++) {
			const struct bin_entry *x = entry_at(m, rank, m->routes.at[w].entries.at[0]);

			if (x->flags & BIN_E_STRONG && bin_entry_same_route(x, e))
				break;
		}
		if (w == m->routes.n)
			err = VEC_PUSH(&m->routes, (struct route){ .queue = m->qbase[rank] + q });
		if (err)
			break;
		m->route_of[id] = (uint32_t)w;
		err = VEC_PUSH(&m->routes.at[w].entries, id);
	}
	return err;
}

static int number_queues(struct promela *m)
{
	const uint32_t n = m->g->nranks;
	int err = 0;

	m->ebase = mem_calloc((size_t)n + 1, sizeof *m->ebase);
	m->qbase = mem_calloc((size_t)n + 1, sizeof *m->qbase);
	if (!m->ebase || !m->qbase)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < n; r++) {
		m->ebase[r + 1] = m->ebase[r] + (uint32_t)m->s->ranks[r].entries.n;
		m->qbase[r + 1] = m->qbase[r] + (uint32_t)m->s->ranks[r].queues.n;
	}
	m->route_of = mem_calloc(m->ebase[n], sizeof *m->route_of);
	if (!m->route_of)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < n; r++)
		for (uint32_t q = 0; q < m->s->ranks[r].queues.n && !err; q++)
			err = find_routes(m, r, q);
	return err;
}

/* Finds for each rank the ranks that must have started before it completes. */
static int find_waits(struct promela *m)
{
	const uint32_t n = m->g->nranks;

	m->waits = mem_alloc((size_t)n * n * sizeof *m->waits);
	return m->waits ? ir_ranks_reach(&m->ev, 0, n, m->waits) : -ERR_NOMEM;
}

/* ---- output ---- */

static void write_head(struct promela *m)
{
	const char *name = m->g->bin ? bin_str(m->g->bin, m->g->bin->meta->name) : "";
	uint32_t most = 1;

	for (uint32_t r = 0; r < m->g->nranks; r++) {
		most = m->s->ranks[r].entries.n > most ? (uint32_t)m->s->ranks[r].entries.n : most;
		most = m->s->ranks[r].locals > most ? m->s->ranks[r].locals : most;
		most = m->s->ranks[r].remotes > most ? m->s->ranks[r].remotes : most;
	}
	for (size_t i = 0; i < m->cells.n; i++)
		most = 2 * m->cells.at[i].tags.n + 1 > most ? 2 * (uint32_t)m->cells.at[i].tags.n + 1 : most;
	text_add(&m->t,
		 "/* %s: what %u ranks post to command queues, EPOCHS times, and all that can come of it.\n"
		 " *     spin -a FILE && gcc -O2 -DSAFETY -o pan pan.c && ./pan -m1000000\n"
		 " * What is asserted, by name:\n"
		 " *   OPEN     what an entry touches belongs to the same start of its rank and its peer\n"
		 " *   DATA     it reads what the op has to read, nobody else writes meanwhile, and a rank finds what it has to\n"
		 " *   THROUGH  what touches a rank's memory is through when the rank completes\n"
		 " *   EARLY    a rank completes after those that it waits for in the schedule have started\n"
		 " *   POSTED   a rank completes after it has posted what it posts itself\n"
		 " *   CREDIT   each entry has used up one credit, and none is left\n"
		 " *   NOTICES  a rank has been told of as much as it waits for\n"
		 " * and that all ranks complete is that there is no invalid end state. */\n",
		 *name ? name : "a schedule", m->g->nranks);
	text_add(&m->t, "#ifndef EPOCHS\n#define EPOCHS 3\n#endif\n");
	text_add(&m->t, "#define CHECK(property, condition)  assert(property && (condition))\n");
	text_add(&m->t, "#define number %s\n", most > 60 ? "short" : "byte");
	text_add(&m->t, "hidden byte OPEN = 1, DATA = 1, THROUGH = 1, EARLY = 1, POSTED = 1, CREDIT = 1, NOTICES = 1;\n\n");
}

static void write_array(struct promela *m, const char *type, const char *name, size_t n)
{
	text_add(&m->t, "%s %s[%zu];\n", type, name, n ? n : 1);
}

static void write_variables(struct promela *m)
{
	const uint32_t n = m->g->nranks, queues = m->qbase[n];

	text_add(&m->t, "/* ranks */\n");
	write_array(m, "byte", "starts", n);
	write_array(m, "bit", "open", n);
	write_array(m, "number", "busy", n);
	write_array(m, "number", "locals", n);
	write_array(m, "number", "remotes", n);
	text_add(&m->t, "byte left = %u * EPOCHS; /* completions */\n", n);
	text_add(&m->t, "/* queues: how often they are through, where they are, and credit that is not used */\n");
	write_array(m, "byte", "passes", queues);
	write_array(m, "number", "next", queues);
	write_array(m, "number", "credit", queues);
	text_add(&m->t, "/* routes: packets, and the position of that which arrives next */\n");
	write_array(m, "number", "flying", m->routes.n);
	write_array(m, "number", "at", m->routes.n);
	text_add(&m->t, "short packets;\n/* cells */\n");
	write_array(m, "number", "tag", m->cells.n);
	write_array(m, "number", "updates", m->cells.n);
	for (size_t i = 0; i < m->cells.n; i++) {
		const struct span *p = m->cells.at[i].p;

		text_add(&m->t, "/* %zu: buffer %u of rank %u, from %" PRIu64 " */\n", i, p->buf, m->cells.at[i].rank, p->lo);
	}
	text_add(&m->t, "\n");
}

static void write_comment(struct promela *m, uint32_t rank, uint32_t e)
{
	const struct bin_entry *b = entry_at(m, rank, e);

	text_add(&m->t, "/* %s %s %u", smcq_entry_word(b->kind), smcq_entry_preposition(b->kind), b->peer);
	if (b->op != BIN_NONE)
		text_add(&m->t, " for %s", check_op_text(m->g, rank, b->op).s);
	text_add(&m->t, " */");
}

static void check_value(struct promela *m, size_t i, struct content v)
{
	text_add(&m->t, " CHECK(DATA, tag[%zu] == %u", i, number_of(&m->cells.at[i], v.tag, true));
	if (m->cells.at[i].updated)
		text_add(&m->t, " && updates[%zu] == %u", i, v.updates);
	text_add(&m->t, ");");
}

/* Writes the statements for an access to a cell, when the entry is issued or when it arrives. */
static void write_access(struct promela *m, size_t i, const struct access *a, bool arrives)
{
	const struct cell *c = &m->cells.at[i];

	if (a->kind == READS) {
		check_value(m, i, a->value);
	} else if (a->kind == UPDATES) {
		text_add(&m->t, " CHECK(DATA, tag[%zu] == %u);", i, number_of(c, a->value.tag, true));
		if (arrives)
			text_add(&m->t, " updates[%zu]++;", i);
	} else {
		if (arrives)
			text_add(&m->t, " CHECK(DATA, tag[%zu] == %u);", i, number_of(c, a->value.tag, false));
		text_add(&m->t, " tag[%zu] = %u;", i, number_of(c, a->value.tag, arrives));
		if (c->updated && !arrives)
			text_add(&m->t, " updates[%zu] = 0;", i);
	}
}

/* Writes the statements for the reads of an entry, and then for its writes. On arrival, a read of contents that the entry
 * itself has written is not checked, because the write has replaced the old contents. */
static void write_accesses(struct promela *m, uint32_t e, bool arrives)
{
	for (unsigned writes = 0; writes < 2; writes++)
		for (size_t i = 0; i < m->cells.n; i++) {
			const struct span *p = m->cells.at[i].p;
			bool own = false;

			for (size_t k = 0; k < p->v.n; k++)
				own |= p->v.at[k].entry == e && p->v.at[k].kind == WRITES;
			for (size_t k = 0; k < p->v.n; k++)
				if (p->v.at[k].entry == e && (p->v.at[k].kind == WRITES) == writes && (writes || !own || !arrives))
					write_access(m, i, &p->v.at[k], arrives);
		}
}

/* Writes the condition on credit. In a posted queue, the credit that the rank's CPU has counted is enough for all entries. */
static void write_condition(struct promela *m, const struct bin_queue *b, uint32_t id)
{
	if (b->mode == BIN_Q_POSTED)
		text_add(&m->t, " && (next[%u] > 0 || credit[%u] >= %u)", id, id, b->needs);
	else if (b->mode != BIN_Q_NORMAL)
		text_add(&m->t, " && credit[%u] > 0", id);
}

static void use_up(struct promela *m, const struct bin_queue *b, uint32_t id)
{
	if (b->mode == BIN_Q_POSTED)
		text_add(&m->t, "credit[%u] = credit[%u] - (next[%u] == 0 -> %u : 0); ", id, id, id, b->needs);
	else if (b->mode != BIN_Q_NORMAL)
		text_add(&m->t, "credit[%u]--; ", id);
}

static void write_issue(struct promela *m, uint32_t rank, uint32_t q, uint32_t e)
{
	const struct bin_entry *b = entry_at(m, rank, e);
	const uint32_t id = m->qbase[rank] + q;

	if (moves_data(b)) {
		text_add(&m->t, " CHECK(OPEN, open[%u] && starts[%u] == passes[%u] + 1", rank, rank, id);
		if (b->peer != rank)
			text_add(&m->t, " && open[%u] && starts[%u] == starts[%u]", b->peer, b->peer, rank);
		text_add(&m->t, "); busy[%u]++;", rank);
		if (b->peer != rank)
			text_add(&m->t, " busy[%u]++;", b->peer);
		write_accesses(m, e, false);
	}
	if (b->kind != BIN_E_NOP)
		text_add(&m->t, " flying[%u]++; packets++;", m->route_of[e]);
	else
		text_add(&m->t, " skip;");
}

static void write_arrival(struct promela *m, uint32_t rank, uint32_t e)
{
	const struct bin_entry *b = entry_at(m, rank, e);

	if (moves_data(b)) {
		write_accesses(m, e, true);
		text_add(&m->t, " busy[%u]--;", rank);
		if (b->peer != rank)
			text_add(&m->t, " busy[%u]--;", b->peer);
	}
	if (b->sps) {
		const uint32_t q = m->qbase[bin_entry_lands(b, rank)] + b->queue;

		text_add(&m->t, " credit[%u] = credit[%u] + %u;", q, q, b->sps);
	}
	if (b->flags & BIN_E_LOCAL)
		text_add(&m->t, " locals[%u]++;", rank);
	if (b->flags & BIN_E_REMOTE)
		text_add(&m->t, " remotes[%u]++;", b->peer);
}

static void next_of(struct promela *m, const char *what, uint32_t id, size_t n)
{
	text_add(&m->t, "%s[%u] = (%s[%u] == %zu -> 0 : %s[%u] + 1)", what, id, what, id, n - 1, what, id);
}

static void write_queue(struct promela *m, uint32_t rank, uint32_t q)
{
	const struct bin_queue *b = &m->s->ranks[rank].queues.at[q];
	const uint32_t id = m->qbase[rank] + q;

	if (!b->n)
		return;
	text_add(&m->t, "\t\t:: passes[%u] < starts[%u]", id, rank);
	write_condition(m, b, id);
	text_add(&m->t, " -> /* queue %u of rank %u */\n\t\t\tif\n", q, rank);
	for (uint32_t k = 0; k < b->n; k++) {
		text_add(&m->t, "\t\t\t:: next[%u] == %u -> ", id, k);
		write_comment(m, rank, m->ebase[rank] + b->first + k);
		write_issue(m, rank, q, m->ebase[rank] + b->first + k);
		text_add(&m->t, "\n");
	}
	text_add(&m->t, "\t\t\tfi;\n\t\t\t");
	use_up(m, b, id);
	text_add(&m->t, "passes[%u] = passes[%u] + (next[%u] == %u -> 1 : 0); ", id, id, id, b->n - 1);
	next_of(m, "next", id, b->n);
	text_add(&m->t, "\n");
}

static void write_completion(struct promela *m, uint32_t r)
{
	const uint32_t l = m->s->ranks[r].locals, n = m->s->ranks[r].remotes;

	text_add(&m->t, "\t\tif\n\t\t:: open[%u]", r);
	if (l)
		text_add(&m->t, " && locals[%u] >= %u", r, l);
	if (n)
		text_add(&m->t, " && remotes[%u] >= %u", r, n);
	text_add(&m->t, " ->\n\t\t\tCHECK(THROUGH, busy[%u] == 0);", r);
	for (uint32_t q = m->qbase[r]; q < m->qbase[r + 1]; q++)
		if (m->s->ranks[r].queues.at[q - m->qbase[r]].mode == BIN_Q_POSTED)
			text_add(&m->t, " CHECK(POSTED, passes[%u] == starts[%u]);", q, r);
	for (uint32_t a = 0; a < m->g->nranks; a++)
		if (a != r && m->waits[(size_t)a * m->g->nranks + r].yes)
			text_add(&m->t, " CHECK(EARLY, starts[%u] >= starts[%u]);", a, r);
	for (size_t i = 0; i < m->cells.n; i++)
		if (m->cells.at[i].rank == r && m->cells.at[i].final.tag != ANY_TAG)
			check_value(m, i, m->cells.at[i].final);
	for (size_t i = 0; i < m->cells.n; i++)
		if (m->cells.at[i].rank == r)
			text_add(&m->t, m->cells.at[i].updated ? " tag[%zu] = 0; updates[%zu] = 0;" : " tag[%zu] = 0;", i, i);
	text_add(&m->t, "\n\t\t\tlocals[%u] = locals[%u] - %u; remotes[%u] = remotes[%u] - %u; open[%u] = 0; left--\n", r, r, l, r,
		 r, n, r);
	text_add(&m->t, "\t\t:: else\n\t\tfi;\n");
}

static void write_route(struct promela *m, uint32_t w)
{
	const struct route *x = &m->routes.at[w];
	uint32_t rank = 0;

	while (x->queue >= m->qbase[rank + 1])
		rank++;
	text_add(&m->t, "\t\t:: d_step { flying[%u] > 0 -> flying[%u]--; packets--;\n", w, w);
	for (size_t i = 0; i < x->entries.n; i++) {
		text_add(&m->t, !i && x->entries.n > 1 ? "\t\t\tif\n\t\t\t" : "\t\t\t");
		if (x->entries.n > 1)
			text_add(&m->t, ":: at[%u] == %zu -> ", w, i);
		write_comment(m, rank, x->entries.at[i]);
		text_add(&m->t, " skip;");
		write_arrival(m, rank, x->entries.at[i]);
		text_add(&m->t, "\n");
	}
	if (x->entries.n > 1) {
		text_add(&m->t, "\t\t\tfi; ");
		next_of(m, "at", w, x->entries.n);
	}
	text_add(&m->t, "\t\t}\n");
}

static void write_end(struct promela *m)
{
	text_add(&m->t, "\t:: d_step { left == 0 && packets == 0 ->\n");
	for (uint32_t r = 0; r < m->g->nranks; r++) {
		text_add(&m->t, "\t\tCHECK(NOTICES, locals[%u] == 0 && remotes[%u] == 0);\n", r, r);
		for (uint32_t q = m->qbase[r]; q < m->qbase[r + 1]; q++)
			text_add(&m->t, "\t\tCHECK(CREDIT, credit[%u] == 0 && passes[%u] == %s);\n", q, q,
				 m->s->ranks[r].queues.at[q - m->qbase[r]].n ? "EPOCHS" : "0");
	}
	text_add(&m->t, "\t\t} break\n");
}

static void text_of(struct promela *m)
{
	write_head(m);
	write_variables(m);
	text_add(&m->t, "active proctype network()\n{\n\tdo\n\t:: atomic {\n\t\tif\n");
	for (uint32_t r = 0; r < m->g->nranks; r++)
		text_add(&m->t, "\t\t:: d_step { !open[%u] && starts[%u] < EPOCHS -> open[%u] = 1; starts[%u]++ }\n", r, r, r, r);
	for (uint32_t w = 0; w < m->routes.n; w++)
		write_route(m, w);
	text_add(&m->t, "\t\tfi;\n\t\td_step {\n\t\tdo\n");
	for (uint32_t r = 0; r < m->g->nranks; r++)
		for (uint32_t q = 0; q < m->s->ranks[r].queues.n; q++)
			write_queue(m, r, q);
	text_add(&m->t, "\t\t:: else -> break\n\t\tod;\n");
	for (uint32_t r = 0; r < m->g->nranks; r++)
		write_completion(m, r);
	text_add(&m->t, "\t\t}\n\t   }\n");
	write_end(m);
	text_add(&m->t, "\tod\n}\n");
}

/* ---- the whole program ---- */

static void free_promela(struct promela *m)
{
	for (uint32_t r = 0; m->spans && r < m->g->nranks; r++) {
		for (size_t p = 0; p < m->spans[r].n; p++)
			VEC_FREE(&m->spans[r].at[p].v);
		VEC_FREE(&m->spans[r]);
	}
	for (size_t i = 0; i < m->cells.n; i++)
		VEC_FREE(&m->cells.at[i].tags);
	for (size_t i = 0; i < m->routes.n; i++)
		VEC_FREE(&m->routes.at[i].entries);
	ir_events_fini(&m->ev);
	VEC_FREE(&m->expected);
	VEC_FREE(&m->cells);
	VEC_FREE(&m->routes);
	free(m->spans);
	free(m->expected_at);
	free(m->armw);
	free(m->ebase);
	free(m->qbase);
	free(m->route_of);
	free(m->waits);
}

int print_promela(const struct ir_graph *g, char **out)
{
	struct promela m = { .g = g, .s = g->queues, .spans = mem_calloc(g->nranks, sizeof *m.spans) };
	int err = m.spans ? ir_events_of(&m.ev, g) : -ERR_NOMEM;

	err = err ? err : number_queues(&m);
	err = err ? err : find_waits(&m);
	err = err ? err : cut_buffers(&m);
	err = err ? err : carry_out(&m);
	err = err ? err : add_accesses(&m);
	err = err ? err : find_cells(&m);
	if (!err) {
		text_of(&m);
		err = text_take(&m.t, out);
	}
	free_promela(&m);
	return err;
}
