/* SPDX-License-Identifier: BSD-3-Clause
 * Shared by the reader and the checker of binaries; same terms as bin.h. */
#ifndef FORMAT_CHECK_H
#define FORMAT_CHECK_H

#include "format/read.h"

static const char bin_letters[BIN_OP_KINDS][4] = {
#define OP(NAME, number, text, operands) [number] = operands,
#include "format/ops.def"
#undef OP
};

/* The operand letters of an op kind (ops.def); "" for none or an unknown kind. */
static inline const char *bin_operands(unsigned kind)
{
	return bin_letters[kind < BIN_OP_KINDS ? kind : 0];
}

/* How many buffer ranges an op of this kind has: 0, 1 or 2. */
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

/* Whether an op of this kind reads, or writes, its range 0 or 1. */
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

/* Whether an op of this kind is an end of a message, or needs the operation. */
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

/* Whether there are entries of a kind, the interface sends something for them, and they have ranges. */
struct bin_entry_facts {
	bool is, sends, ranges;
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

/* Which of its ranges an entry reads; the other one it writes. */
static inline unsigned bin_entry_source(const struct bin_entry *e)
{
	return e->kind == BIN_E_GET;
}

/* Where an entry of a rank arrives, and brings credit to. */
static inline uint32_t bin_entry_lands(const struct bin_entry *e, uint32_t rank)
{
	return e->kind == BIN_E_GET ? rank : e->peer;
}

/* Whether two entries of a queue arrive in their order, if both have strong order. */
static inline bool bin_entry_same_route(const struct bin_entry *a, const struct bin_entry *b)
{
	return (a->kind == BIN_E_GET) == (b->kind == BIN_E_GET) && a->peer == b->peer && a->queue == b->queue;
}

/* How long an element of an ARMW is; 0: there is no such. */
static inline unsigned bin_armw_bytes(unsigned armw)
{
	static const uint8_t bytes[BIN_ARMWS] = {
#define ARMW(NAME, number, word, op, length) [number] = length,
#include "format/armw.def"
#undef ARMW
	};

	return armw < BIN_ARMWS ? bytes[armw] : 0;
}

/* Whether two ops touch the same elements, and one of them writes; where both update them that does not count if updates
 * commute. */
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

/* Of an op that reduces, what it does to what it updates, and nothing else. */
static inline struct bin_op bin_update(const struct bin_op *op)
{
	const unsigned k = bin_nranges(op->kind) - 1;

	return (struct bin_op){ .kind = BIN_OP_RECV_REDUCE, .buf = { op->buf[k] }, .off = { op->off[k] }, .len = op->len };
}

/* Whether a section has checks of its parts in place of one of its own. */
static inline bool bin_in_parts(uint32_t type)
{
	return type == BIN_S_RANKS || type == BIN_S_QUEUES;
}

/* bin_queues.c: fills in the part of b; at and n: of each section that is there. */
int bin_open_queues(struct bin *b, const void *const at[BIN_S_TYPES], const uint64_t n[BIN_S_TYPES]);

/* A rank's section, taken apart. */
struct bin_opened {
	uint32_t nops, ndeps, sizes;
	bool wide, pos;
	uint64_t bytes;
	const unsigned char *size_rows, *ops, *deps, *positions;
};

/* -ERR_CORRUPT when the section does not lie within RANKS. */
int bin_opened_at(const struct bin *b, uint32_t dir_row, struct bin_opened *v);
void bin_opened_op(const struct bin_opened *v, uint32_t i, struct bin_op32 *out);
uint32_t bin_opened_dep(const struct bin_opened *v, uint32_t i);
uint32_t bin_opened_position(const struct bin_opened *v, uint32_t i);

#endif
