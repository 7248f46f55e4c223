/* SPDX-License-Identifier: BSD-3-Clause
 * The instructions that only programs with calls have (ENTER, LEAVE, INSIDE, EMITIN, COPYIN, DEPIN, WITHIN, FITS), and the
 * dependencies between calls that they leave for the end of the program. Freestanding. */
#include "format/machine.h"
#include "util/align.h"

/* A dependency that was deferred: when DEPIN ran, its two ends were not yet both ops. */
struct deferred_deps {
	uint64_t op_index, on_index;
	uint32_t op, on; /* labels; machine_connect_calls replaces them by the ops or calls that they stand for, see BIN_CALL */
	uint32_t flags, line;
};
#define START 1u
#define OP_SCALAR 2u
#define ON_SCALAR 4u

/* Returns the maximum number of calls with labels. Calls and ops share the table of instances, which has room for both if
 * there are at most half as many calls as ops. */
static uint32_t most_ranges(uint32_t ops_cap)
{
	return ops_cap / 2;
}

size_t machine_calls_size(const struct bin *b, uint32_t ops_cap, uint32_t deps_cap)
{
	if (!b->ncalls)
		return 0;
	return align_up(most_ranges(ops_cap) * sizeof(struct bin_range), 8) + deps_cap * sizeof(struct deferred_deps) +
	       (size_t)ops_cap * BIN_NEIGHBOURS * sizeof(struct bin_neighbours);
}

void machine_calls_init(struct machine *m, void *scratch)
{
	unsigned char *p = scratch;

	m->ranges = scratch;
	m->most_ranges = most_ranges(m->sp->ops_cap);
	p += align_up(m->most_ranges * sizeof(struct bin_range), 8);
	m->deferred_deps = (struct deferred_deps *)(void *)p;
	p += m->sp->deps_cap * sizeof(struct deferred_deps);
	m->neighbours = (struct bin_neighbours *)(void *)p;
	m->next_label = m->b->meta->nlabels;
}

/* ---- labels ---- */

struct key {
	uint64_t index;
	uint32_t label;
	bool scalar;
};

static int get_key(const struct machine *m, uint32_t label, uint16_t instance, const uint16_t index[2], struct key *k)
{
	int err = full_label(m, label, instance, &k->label);

	k->scalar = !instance && index[0] == BIN_NOREG;
	return err ? err : get_index(m, index, &k->index);
}

static uint32_t get_label_value(struct machine *m, const struct key *k)
{
	return k->scalar ? m->scalar[k->label] : find_instance(m, k->label, k->index)->value;
}

static void set_label_value(struct machine *m, const struct key *k, uint32_t value)
{
	if (k->scalar)
		m->scalar[k->label] = value;
	else
		set_instance(m, find_instance(m, k->label, k->index), k->label, k->index, value);
}

/* Reserves n labels for a new instance of a call. */
static int new_labels(struct machine *m, uint32_t n, uint32_t *first)
{
	*first = m->next_label;
	return __builtin_add_overflow(m->next_label, n, &m->next_label) ? -ERR_OVERFLOW : 0;
}

/* Makes the range of a call whose label was not used before. The call has no ops so far. */
static int new_range(struct machine *m, const struct bin_call *c, const struct key *k, struct bin_range **out)
{
	struct bin_range *r = *out = &m->ranges[m->nranges];

	if (m->nranges == m->most_ranges)
		return -ERR_SPACE;
	*r = (struct bin_range){ .first = BIN_NOT_YET, .end = BIN_NOT_YET };
	set_label_value(m, k, BIN_CALL | m->nranges++);
	return new_labels(m, c->nlabels, &r->labels);
}

static struct bin_range *range_of(const struct machine *m, uint32_t value)
{
	return &m->ranges[value & ~BIN_CALL];
}

bool machine_only_expected(const struct machine *m, uint32_t value)
{
	return (value & BIN_CALL) && range_of(m, value)->first == BIN_NOT_YET;
}

/* ---- instructions ---- */

int machine_enter(struct machine *m, const struct bin_call *c, int64_t *first)
{
	struct bin_range *r;
	struct key k;
	uint32_t v, labels;
	int err;

	if (c->label == BIN_NONE) {
		err = new_labels(m, c->nlabels, &labels);
		*first = labels;
		return err;
	}
	err = get_key(m, c->label, c->instance, c->index, &k);
	if (err)
		return err;
	v = get_label_value(m, &k);
	if (v && !machine_only_expected(m, v))
		return -ERR_LABEL;
	if (v)
		r = range_of(m, v);
	else
		err = new_range(m, c, &k, &r);
	if (err)
		return err;
	r->first = r->end = m->sp->nops;
	*first = r->labels;
	return 0;
}

int machine_leave(struct machine *m, const struct bin_call *c)
{
	struct key k;
	int err = get_key(m, c->label, c->instance, c->index, &k);
	uint32_t v = err ? 0 : get_label_value(m, &k);

	if (v & BIN_CALL)
		range_of(m, v)->end = m->sp->nops;
	return err;
}

int machine_inside(struct machine *m, const struct bin_call *c, int64_t *first)
{
	struct bin_range *r;
	struct key k;
	uint32_t v, labels;
	int err = get_key(m, c->label, c->instance, c->index, &k);

	if (err)
		return err;
	v = get_label_value(m, &k);
	if (v && !(v & BIN_CALL)) { /* an op has no labels inside: reserve labels that no op will get */
		err = new_labels(m, c->nlabels, &labels);
		*first = labels;
		return err;
	}
	if (v)
		r = range_of(m, v);
	else
		err = new_range(m, c, &k, &r);
	if (!err)
		*first = r->labels;
	return err;
}

int machine_emit_in_call(struct machine *m, const struct bin_tmpl *t, uint32_t line, bool in_place)
{
	int err = emit_op(m, t, line, true);

	if (!err && in_place)
		onto_itself(&m->sp->ops[m->sp->nops - 1]);
	return err;
}

int machine_within(struct machine *m, const struct bin_word *w)
{
	uint64_t off = (uint64_t)m->reg[w->a], len = (uint64_t)m->reg[w->b];
	uint64_t size = (uint64_t)m->reg[m->b->windows[w->c].size];

	return len && is_outside(off, len, size) ? out_of_bounds(m->sp, w->c, off, len, size) : 0;
}

int machine_fits(struct machine *m, const struct bin_word *w)
{
	int64_t size = m->reg[m->b->windows[w->c].size];

	return size < 0 || m->reg[w->a] < size ?
		       out_of_bounds(m->sp, w->c, 0, (uint64_t)m->reg[w->a], (uint64_t)size) :
		       0;
}

static int append_dep(void *arg, uint32_t op, uint32_t on)
{
	struct bin_space *sp = arg;

	if (sp->ndeps == sp->deps_cap)
		return -ERR_SPACE;
	sp->deps[sp->ndeps++] = (struct bin_dep){ op, on };
	return 0;
}

/* Adds the dependency at once if both of its ends are ops that exist; defers it to the end of the program otherwise. */
int machine_depend_in_call(struct machine *m, const struct bin_dep_tmpl *t, uint32_t line)
{
	struct key op, on;
	uint32_t v, w;
	int err = get_key(m, t->op, t->op_instance, t->op_index, &op);

	err = err ? err : get_key(m, t->on, t->on_instance, t->on_index, &on);
	if (err)
		return err;
	v = get_label_value(m, &op);
	w = get_label_value(m, &on);
	if (v && w && !((v | w) & BIN_CALL))
		return append_dep(m->sp, v - 1, (w - 1) | (t->start ? BIN_START : 0));
	if (m->ndeferred == m->sp->deps_cap)
		return -ERR_SPACE;
	m->deferred_deps[m->ndeferred++] = (struct deferred_deps){ op.index, on.index, op.label, on.label,
								   (t->start ? START : 0) | (op.scalar ? OP_SCALAR : 0) |
						  (on.scalar ? ON_SCALAR : 0),
								   line };
	return 0;
}

static int64_t append_nop(void *arg, uint32_t line)
{
	struct bin_space *sp = arg;

	if (sp->nops == sp->ops_cap)
		return -ERR_SPACE;
	sp->ops[sp->nops] = (struct bin_op){ .kind = BIN_OP_NOP, .line = line };
	return sp->nops++;
}

int machine_connect_calls(struct machine *m)
{
	struct bin_space *sp = m->sp;
	struct bin_call_edges f = { .ranges = m->ranges, .neighbours = m->neighbours, .nops = sp->nops, .edge = append_dep,
				    .nop = append_nop, .arg = sp };
	uint32_t n = 0;
	int err = 0;

	for (uint32_t i = 0; i < m->ndeferred && !err; i++) {
		struct deferred_deps *d = &m->deferred_deps[i];
		struct key op = { d->op_index, d->op, d->flags & OP_SCALAR };
		struct key on = { d->on_index, d->on, d->flags & ON_SCALAR };

		d->op = get_label_value(m, &op);
		d->on = get_label_value(m, &on);
		if (!d->op || !d->on)
			continue;
		if ((d->op | d->on) & BIN_CALL)
			m->deferred_deps[n++] = *d;
		else
			err = append_dep(sp, d->op - 1, (d->on - 1) | (d->flags & START ? BIN_START : 0));
	}
	if (!n || err)
		return err;
	bin_call_edges_begin(&f);
	for (uint32_t i = 0; i < sp->ndeps; i++)
		bin_call_edges_note(&f, sp->deps[i].op, sp->deps[i].on);
	for (uint32_t i = 0; i < n && !err; i++) {
		const struct deferred_deps *d = &m->deferred_deps[i];

		err = bin_call_edges_connect(&f, &(struct bin_call_dep){ d->op, d->on, d->flags & START, d->line });
	}
	return err;
}
