/* SPDX-License-Identifier: BSD-3-Clause
 * Properties of op kinds and of queue entries, conflicts between ops, and the sections of ranks taken apart. The reader and
 * the checker of binaries share them, and the compiler and the runtime use them too. */
#ifndef FORMAT_CHECK_H
#define FORMAT_CHECK_H

#include "format/read.h"

static const char bin_letters[BIN_OP_KINDS][4] = {
#define OP(NAME, number, text, operands) [number] = operands,
#include "format/ops.def"
#undef OP
};

/* Marks code that has a case for every kind of op. NAME is the last row of ops.def. After a new kind is added, no such
 * code compiles until somebody has checked it and changed NAME. */
#define BIN_LAST_OP(NAME) \
	_Static_assert(BIN_OP_KINDS == BIN_OP_##NAME + 1, "what follows may need a line for the kinds of ops after " #NAME)

/* Returns the operand letters of an op kind (ops.def); "" if it has no operands or is unknown. */
static inline const char *bin_operands(unsigned kind)
{
	return bin_letters[kind < BIN_OP_KINDS ? kind : 0];
}

/* Returns the number of buffer ranges that an op of this kind has in its own rank: 0, 1 or 2. */
static inline unsigned bin_nranges(unsigned kind)
{
	char first = *bin_operands(kind);

	return first == 'P' ? 1 : first == 'A' ? 2 : 0;
}

static inline char bin_letter(unsigned kind, unsigned range)
{
	const char *s = bin_operands(kind);

	return s[s[0] == 'P' ? 1 : range];
}

/* bin_reads: true if an op of this kind reads its range 0 or 1, as given. bin_writes: true if the op writes this range. */
static inline bool bin_reads(unsigned kind, unsigned range)
{
	char c = bin_letter(kind, range);

	return c == 'S' || c == 'A' || c == 'U';
}

static inline bool bin_writes(unsigned kind, unsigned range)
{
	char c = bin_letter(kind, range);

	return c == 'R' || c == 'W' || c == 'U';
}

BIN_LAST_OP(GETS);
/* The next four functions are true if an op of this kind sends; receives; is one end of a message; or applies the operation
 * of the collective. */
static inline bool bin_sends(unsigned kind)
{
	return kind == BIN_OP_SEND;
}

static inline bool bin_recvs(unsigned kind)
{
	return kind == BIN_OP_RECV || kind == BIN_OP_RECV_REDUCE || kind == BIN_OP_RECV_REDUCE_WITH;
}

static inline bool bin_is_message(unsigned kind)
{
	return *bin_operands(kind) == 'P';
}

static inline bool bin_reduces(unsigned kind)
{
	return kind == BIN_OP_REDUCE || kind == BIN_OP_REDUCE_WITH || kind == BIN_OP_RECV_REDUCE ||
	       kind == BIN_OP_RECV_REDUCE_WITH;
}

/* Properties of a kind of queue entries (entry.def). */
struct bin_entry_facts {
	bool is, sends, ranges; /* the kind exists; the interface sends something for the entry; the entry has ranges */
};

static inline struct bin_entry_facts bin_entry_facts(unsigned kind)
{
	static const struct bin_entry_facts facts[BIN_E_KINDS] = {
#define ENTRY(NAME, number, word, sends, ranges) [number] = { true, sends, ranges },
#include "format/entry.def"
#undef ENTRY
	};

	return facts[kind < BIN_E_KINDS ? kind : 0];
}

/* Returns which range an entry reads, 0 or 1; it writes the other one. */
static inline unsigned bin_entry_source(const struct bin_entry *e)
{
	return e->kind == BIN_E_GET;
}

/* Returns the rank where an entry of `rank` arrives, and to whose queue it brings credit. */
static inline uint32_t bin_entry_lands(const struct bin_entry *e, uint32_t rank)
{
	return e->kind == BIN_E_GET ? rank : e->peer;
}

/* True if two entries of one queue have the same route: they then arrive in their order if both have strong order. */
static inline bool bin_entry_same_route(const struct bin_entry *a, const struct bin_entry *b)
{
	return (a->kind == BIN_E_GET) == (b->kind == BIN_E_GET) && a->peer == b->peer && a->queue == b->queue;
}

/* Returns the bytes of an element of this kind of ARMW; 0 if the kind does not exist. */
static inline unsigned bin_armw_bytes(unsigned armw)
{
	static const uint8_t bytes[BIN_ARMWS] = {
#define ARMW(NAME, number, word, op, length) [number] = length,
#include "format/armw.def"
#undef ARMW
	};

	return armw < BIN_ARMWS ? bytes[armw] : 0;
}

/* True if two ops of a rank conflict: both access the same element, and at least one writes it. If `commute` is set, two
 * updates of the same element do not conflict. */
static inline bool bin_conflict_of(const struct bin_op *a, const struct bin_op *b, bool commute)
{
	for (unsigned i = 0; i < bin_nranges(a->kind) && a->len && b->len; i++)
		for (unsigned k = 0; k < bin_nranges(b->kind); k++)
			if (a->buf[i] == b->buf[k] && (bin_writes(a->kind, i) || bin_writes(b->kind, k)) &&
			    !(commute && bin_letter(a->kind, i) == 'U' && bin_letter(b->kind, k) == 'U') &&
			    a->off[i] < b->off[k] + b->len && b->off[k] < a->off[i] + a->len)
				return true;
	return false;
}

static inline bool bin_conflict(const struct bin_op *a, const struct bin_op *b)
{
	return bin_conflict_of(a, b, false);
}

/* Returns a copy of a reducing op that accesses only its updated range, so that bin_conflict() considers this range alone. */
static inline struct bin_op bin_update(const struct bin_op *op)
{
	const unsigned k = bin_nranges(op->kind) - 1;

	return (struct bin_op){ .kind = BIN_OP_RECV_REDUCE, .buf = { op->buf[k] }, .off = { op->off[k] }, .len = op->len };
}

/* True if each part of the section has its own checksum, and the section as a whole has none. */
static inline bool bin_in_parts(uint32_t type)
{
	return type == BIN_S_RANKS || type == BIN_S_QUEUES;
}

/* Checks the sections of command queues and fills in their fields of b (check_queues.c). at and n have, for each type of
 * section, the address and the number of records; NULL and 0 if it is absent. */
int bin_open_queues(struct bin *b, const void *const at[BIN_S_TYPES], const uint64_t n[BIN_S_TYPES]);

/* A rank's part of RANKS, opened: its numbers, and pointers to its arrays. */
struct bin_opened {
	uint32_t nops, ndeps, sizes; /* numbers of ops, dependencies and buffer sizes */
	bool wide, pos; /* the part is wide; it has positions */
	uint64_t bytes; /* length of the part, padding included */
	const unsigned char *size_rows, *ops, *deps, *positions;
};

/* Opens the part of a row of DIR; -ERR_CORRUPT if it does not lie within RANKS. The other functions read op i, dependency i
 * (with BIN_START) and the position of op i. */
int bin_opened_at(const struct bin *b, uint32_t dir_row, struct bin_opened *v);

static inline uint32_t bin_read_u32(const unsigned char *p, uint32_t i)
{
	const unsigned char *q = p + (size_t)i * 4;

	return (uint32_t)q[0] | (uint32_t)q[1] << 8 | (uint32_t)q[2] << 16 | (uint32_t)q[3] << 24;
}

static inline uint32_t bin_read_u16(const unsigned char *p, uint32_t i)
{
	const unsigned char *q = p + (size_t)i * 2;

	return (uint32_t)q[0] | (uint32_t)q[1] << 8;
}

static inline void bin_opened_op(const struct bin_opened *v, uint32_t i, struct bin_op32 *out)
{
	if (v->wide) {
		const struct bin_op32 *o = (const struct bin_op32 *)(const void *)v->ops + i;

		*out = *o;
	} else {
		const struct bin_op16 *o = (const struct bin_op16 *)(const void *)v->ops + i;

		*out = (struct bin_op32){ o->arg, o->cls, o->ndeps };
	}
}

static inline uint32_t bin_opened_dep(const struct bin_opened *v, uint32_t i)
{
	uint32_t d;

	if (v->wide)
		return bin_read_u32(v->deps, i);
	d = bin_read_u16(v->deps, i);
	return (d & (BIN_START16 - 1)) | (d & BIN_START16 ? BIN_START : 0);
}

static inline uint32_t bin_opened_position(const struct bin_opened *v, uint32_t i)
{
	if (!v->pos)
		return i;
	return v->wide ? bin_read_u32(v->positions, i) : bin_read_u16(v->positions, i);
}

#endif
