/* SPDX-License-Identifier: BSD-3-Clause
 * The state of the machine that runs parametric programs, and the functions on it that program.c, call.c and the compiler's
 * machine with terms (lower_concrete.c) share. Its interpreter is interp.h. Freestanding. */
#ifndef FORMAT_MACHINE_H
#define FORMAT_MACHINE_H

#include "format/call.h"
#include "format/check.h"
#include "util/err.h"

/* A slot of the hash of indexed labels. Labels without index are in the array `scalar` of the machine. */
struct instance {
	uint64_t index; /* the first index in the low, the second in the high 32 bits */
	uint32_t label; /* label + 1; 0 in an empty slot */
	uint32_t value; /* what the label stands for, see BIN_CALL */
};

/* A dependency that waits for the end of the program: one of its labels did not exist when DEP ran. */
struct pending {
	uint64_t op_index, on_index;
	const struct bin_dep_tmpl *tmpl;
};

struct machine {
	const struct bin *b;
	const struct bin_args *args;
	struct bin_space *sp;
	int64_t *reg; /* registers; reg[-1], which BIN_NOREG selects, is always 0 */
	uint32_t *scalar; /* what each label without index stands for, see BIN_CALL */
	struct instance *tables; /* room for the hash of the labels with an index at each size that it may have, see grow_table */
	struct instance *table; /* the hash at its present size; it has no slots in use if !cleared */
	uint32_t mask, last_mask; /* number of slots in the table, now and at its largest size, minus 1 */
	uint32_t instances; /* number of slots in use */
	bool cleared; /* the table has been cleared, which happens at its first use, because many programs have no such labels */
	struct pending *pending;
	uint32_t npending;
	uint32_t most; /* 0: the run makes ops; otherwise it only counts them, and this is the maximum allowed */
	/* The fields below are used only by programs with calls. */
	struct bin_range *ranges; /* ranges of the calls that have labels */
	struct deferred_deps *deferred_deps;
	struct bin_neighbours *neighbours;
	uint32_t nranges, most_ranges, ndeferred;
	uint32_t next_label; /* first label of the next instance of a call */
};

/* ---- program.c ---- */

/* Prepares a run: divides the scratch of sp, and sets the registers and labels to their first values. */
void machine_init(struct machine *m, const struct bin *b, const struct bin_args *args, struct bin_space *sp);
/* Ends a run: adds the dependencies that had to wait until all ops exist. */
int machine_connect(struct machine *m);
/* These functions carry out the instructions that need numbers. machine_param handles all that take a parameter. */
int machine_param(struct machine *m, const struct bin_word *w);
int machine_depend(struct machine *m, const struct bin_dep_tmpl *t);
int machine_set_size(struct machine *m, uint32_t buffer, int64_t size);
/* Runs the program that begins at instruction `from`. If most is 0, it makes the ops; otherwise it only counts them, and
 * returns -ERR_SPACE if there are more than `most`. */
int machine_ops(const struct bin *b, const struct bin_args *args, struct bin_space *sp, uint32_t from, uint32_t most);

/* ---- call.c: programs with calls ---- */

/* machine_calls_size returns the bytes of scratch that calls need; machine_calls_init divides them. */
size_t machine_calls_size(const struct bin *b, uint32_t ops_cap, uint32_t deps_cap);
void machine_calls_init(struct machine *m, void *scratch);
/* These functions carry out the instructions that only programs with calls have. */
int machine_enter(struct machine *m, const struct bin_call *c, int64_t *first);
int machine_leave(struct machine *m, const struct bin_call *c);
int machine_inside(struct machine *m, const struct bin_call *c, int64_t *first);
int machine_emit_in_call(struct machine *m, const struct bin_tmpl *t, uint32_t line, bool in_place);
int machine_depend_in_call(struct machine *m, const struct bin_dep_tmpl *t, uint32_t line);
int machine_within(struct machine *m, const struct bin_word *w);
int machine_fits(struct machine *m, const struct bin_word *w);
/* Adds the dependencies that machine_depend_in_call deferred. machine_connect calls this for programs with calls. */
int machine_connect_calls(struct machine *m);
/* True if the value of a label is a call that has been named but not entered, so that the label is still free. */
bool machine_only_expected(const struct machine *m, uint32_t value);

/* ---- all programs ---- */

/* The table of instances begins with this many slots, which are enough for most programs. To clear all slots that a program may
 * need would take longer than most programs run. */
#define FIRST_INSTANCES 128u

/* Returns the number of slots of the table after it has grown from n slots; `last` is the largest number. */
static inline uint32_t grown_slots(uint32_t n, uint32_t last)
{
	return n < last / 4 ? 4 * n : last;
}

/* Clears the table of instances before its first use. It is not in line, because the interpreter would grow by it. */
static __attribute__((noinline)) void clear_table(struct machine *m)
{
	__builtin_memset(m->table, 0, ((size_t)m->mask + 1) * sizeof *m->table);
	m->cleared = true;
}

/* Returns the slot of a label with its index, or the empty slot where it belongs. */
static inline struct instance *find_instance(struct machine *m, uint32_t label, uint64_t index)
{
	uint64_t at = ((index + label * 0xc2b2ae3d27d4eb4fu) * 0x9e3779b97f4a7c15u) >> 32;

	if (__builtin_expect(!m->cleared, 0))
		clear_table(m);
	for (;; at++) {
		struct instance *in = &m->table[at & m->mask];

		if ((in->index == index && in->label == label + 1) || !in->label)
			return in;
	}
}

/* Moves the table to the room behind it, which is larger. */
static __attribute__((noinline)) void grow_table(struct machine *m)
{
	const struct instance *old = m->table;
	const uint32_t n = m->mask + 1;

	m->table += n;
	m->mask = grown_slots(n, m->last_mask + 1) - 1;
	clear_table(m);
	for (uint32_t i = 0; i < n; i++)
		if (old[i].label)
			*find_instance(m, old[i].label - 1, old[i].index) = old[i];
}

/* Stores a value in the slot that find_instance() returned. The slot may be elsewhere afterwards. */
static inline void set_instance(struct machine *m, struct instance *in, uint32_t label, uint64_t index, uint32_t value)
{
	const bool added = !in->label;

	*in = (struct instance){ index, label + 1, value };
	m->instances += added;
	if (__builtin_expect(m->instances > m->mask / 2 && m->mask != m->last_mask, 0))
		grow_table(m);
}

/* Returns the value of a register; 0 for BIN_NOREG, which as a signed index is -1: reg[-1] is always 0. */
static inline uint64_t reg_or_0(const struct machine *m, uint16_t r)
{
	return (uint64_t)m->reg[(int16_t)r];
}

static inline int get_index(const struct machine *m, const uint16_t reg[2], uint64_t *index)
{
	int64_t i = (int64_t)reg_or_0(m, reg[0]), j = (int64_t)reg_or_0(m, reg[1]);

	if (i != (int32_t)i || j != (int32_t)j) {
		m->sp->what = BIN_FIELD_INDEX;
		m->sp->value[0] = i != (int32_t)i ? i : j;
		return -ERR_RANGE;
	}
	*index = (uint32_t)i | (uint64_t)j << 32;
	return 0;
}

static inline bool is_outside(uint64_t off, uint64_t len, uint64_t size)
{
	return len > size || off > size - len;
}

static inline int out_of_bounds(struct bin_space *sp, uint32_t what, uint64_t off, uint64_t len, uint64_t size)
{
	sp->what = what;
	sp->value[0] = (int64_t)off;
	sp->value[1] = (int64_t)len;
	sp->value[2] = (int64_t)size;
	return -ERR_BOUNDS;
}

/* Stores in sp which field of an op is out of range, and its value. Returns -ERR_RANGE. */
static inline int out_of_range(const struct machine *m, const struct bin_tmpl *t)
{
	const struct {
		uint16_t reg;
		uint64_t most;
	} fields[] = { [BIN_FIELD_LEVEL] = { t->level, UINT16_MAX },
		       [BIN_FIELD_TAG] = { t->tag, BIN_ANY - 1 },
		       [BIN_FIELD_CPU] = { t->cpu, BIN_ANY - 1 },
		       [BIN_FIELD_NIC] = { t->nic, BIN_ANY - 1 },
		       [BIN_FIELD_LEN] = { t->len, INT64_MAX } };
	uint32_t i = 0;

	while (i < BIN_FIELD_LEN && reg_or_0(m, fields[i].reg) <= fields[i].most)
		i++;
	m->sp->what = i;
	m->sp->value[0] = (int64_t)reg_or_0(m, fields[i].reg);
	return -ERR_RANGE;
}

/* Returns the value of a register, and sets *bad if it is negative or greater than `most`. */
static inline uint64_t reg_field(const struct machine *m, uint16_t r, uint64_t most, bool *bad)
{
	uint64_t v = reg_or_0(m, r);

	*bad |= v > most;
	return v;
}

/* Computes the label that a template names: counted from the first label of its instance, if it has one. */
static inline int full_label(const struct machine *m, uint32_t label, uint16_t instance, uint32_t *out)
{
	uint64_t all = label + (instance ? (uint64_t)m->reg[instance] : 0);

	*out = (uint32_t)all;
	return all < BIN_NONE ? 0 : -ERR_CORRUPT;
}

/* emit_op calls the next three functions and increments sp->nops. All four are inlined, so that the version for programs
 * without calls contains no code for calls. */
#define EMIT_INLINE static inline __attribute__((always_inline))

/* Sets all fields of a new op but its ranges. */
EMIT_INLINE int begin_op(struct machine *m, const struct bin_tmpl *t, uint32_t line)
{
	struct bin_space *sp = m->sp;
	const uint64_t peer = reg_or_0(m, t->peer);
	bool bad = false;

	if (sp->nops == sp->ops_cap)
		return -ERR_SPACE;
	if (bin_is_message(t->kind) && peer >= m->args->size) {
		sp->value[0] = (int64_t)peer;
		return -ERR_PEER;
	}
	struct bin_op *op = &sp->ops[sp->nops];

	op->kind = t->kind;
	op->exec = t->exec;
	op->level = (uint16_t)reg_field(m, t->level, UINT16_MAX, &bad);
	op->peer = (uint32_t)peer;
	op->tag = (uint32_t)reg_field(m, t->tag, BIN_ANY - 1, &bad);
	op->cpu = (uint32_t)reg_field(m, t->cpu, BIN_ANY - 1, &bad);
	op->nic = (uint32_t)reg_field(m, t->nic, BIN_ANY - 1, &bad);
	op->len = reg_field(m, t->len, INT64_MAX, &bad);
	op->line = line;
	return bad ? out_of_range(m, t) : 0;
}

/* Sets range k of the new op, and checks that it lies in its window and buffer. */
EMIT_INLINE int place_range(struct machine *m, const struct bin_tmpl *t, unsigned k, bool in_call)
{
	struct bin_space *sp = m->sp;
	struct bin_op *op = &sp->ops[sp->nops];

	op->buf[k] = t->buf[k];
	op->off[k] = 0;
	if (k >= bin_nranges(t->kind))
		return 0;
	op->off[k] = reg_or_0(m, t->off[k]);
	if (in_call) {
		const struct bin_window *w = &m->b->windows[t->buf[k]];
		uint64_t size = (uint64_t)m->reg[w->size];

		if (op->len && is_outside(op->off[k], op->len, size))
			return out_of_bounds(sp, t->buf[k], op->off[k], op->len, size);
		op->buf[k] = w->buf;
		op->off[k] += reg_or_0(m, w->base);
	}
	if (is_outside(op->off[k], op->len, sp->bufsize[op->buf[k]])) {
		if (op->len)
			return out_of_bounds(sp, op->buf[k], op->off[k], op->len, sp->bufsize[op->buf[k]]);
		op->off[k] = 0; /* an empty range is allowed anywhere */
	}
	return 0;
}

/* Gives the new op its label, if it has one. */
EMIT_INLINE int name_op(struct machine *m, const struct bin_tmpl *t, bool in_call)
{
	uint32_t label = t->label;
	uint64_t index;
	int err;

	if (label == BIN_NONE)
		return 0;
	if (t->index[0] == BIN_NOREG && !(in_call && t->instance)) {
		if (m->scalar[label] && !machine_only_expected(m, m->scalar[label]))
			return -ERR_LABEL;
		m->scalar[label] = m->sp->nops + 1;
		return 0;
	}
	err = get_index(m, t->index, &index);
	if (in_call && !err)
		err = full_label(m, t->label, t->instance, &label);
	if (err)
		return err;
	struct instance *in = find_instance(m, label, index);

	if (in->label && !machine_only_expected(m, in->value))
		return -ERR_LABEL;
	set_instance(m, in, label, index, m->sp->nops + 1);
	return 0;
}

EMIT_INLINE int emit_op(struct machine *m, const struct bin_tmpl *t, uint32_t line, bool in_call)
{
	int err = begin_op(m, t, line);

	for (unsigned k = 0; k < 2 && !err; k++)
		err = place_range(m, t, k, in_call);
	err = err ? err : name_op(m, t, in_call);
	m->sp->nops += !err;
	return err;
}

/* Turns a copy of a range onto itself into a nop. Such copies arise when a buffer is in place. */
static inline void onto_itself(struct bin_op *op)
{
	if (op->kind != BIN_OP_COPY || op->buf[0] != op->buf[1] || op->off[0] != op->off[1])
		return;
	op->kind = BIN_OP_NOP;
	op->buf[0] = op->buf[1] = 0;
	op->off[0] = op->off[1] = op->len = 0;
}

#endif
