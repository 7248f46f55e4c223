/* SPDX-License-Identifier: BSD-3-Clause
 * Validates the command queues of a binary. Each rank's part is checked on its own: ranges of the rank against its own
 * buffers, ranges at a peer against the peer's buffers. Freestanding. */
#include "format/check.h"

#include "util/err.h"

static const struct {
	uint32_t least, most;
} limits[BIN_LIMITS] = {
#define LIMIT(NAME, key, least, most, usual, help) { least, most },
#include "format/smcq.def"
#undef LIMIT
};

int bin_open_queues(struct bin *b, const void *const at[BIN_S_TYPES], const uint64_t n[BIN_S_TYPES])
{
	const struct bin_meta *m = b->meta;

	if (n[BIN_S_TARGET] != 1 || !at[BIN_S_QDIR] || !at[BIN_S_QUEUES] ||
	    n[BIN_S_QDIR] != b->ndir / (1 + m->result) || m->count == BIN_ANY_COUNT || m->flags & BIN_F_PLAIN ||
	    *bin_str(b, m->passes))
		return -ERR_CORRUPT;
	b->target = at[BIN_S_TARGET];
	b->qdir = at[BIN_S_QDIR];
	b->queues = at[BIN_S_QUEUES];
	b->queues_len = n[BIN_S_QUEUES] * 8;
	for (unsigned i = 0; i < BIN_LIMITS; i++)
		if (b->target->limit[i] < limits[i].least || b->target->limit[i] > limits[i].most)
			return -ERR_CORRUPT;
	return 0;
}

struct bin_posts bin_posts(const struct bin *b, uint32_t dir_row)
{
	struct bin_posts p;

	p.head = (const struct bin_queues *)(const void *)(b->queues + (uint64_t)b->qdir[dir_row].off * 8);
	p.queues = (const struct bin_queue *)(const void *)(p.head + 1);
	p.entries = (const struct bin_entry *)(const void *)(p.queues + p.head->nqueues);
	return p;
}

/* True if the part of a row of QDIR lies within QUEUES. Sets *bytes to the length of the part. */
static bool queues_in_section(const struct bin *b, uint32_t dir_row, uint64_t *bytes)
{
	const uint64_t off = (uint64_t)b->qdir[dir_row].off * 8;
	const struct bin_queues *h;

	if (off > b->queues_len || b->queues_len - off < sizeof *h)
		return false;
	h = (const struct bin_queues *)(const void *)(b->queues + off);
	*bytes = sizeof *h + (uint64_t)h->nqueues * sizeof(struct bin_queue) +
		 (uint64_t)h->nentries * sizeof(struct bin_entry);
	return *bytes <= b->queues_len - off;
}

/* Reads the size of a buffer from a rank's part of RANKS. In a binary with queues it must be a constant of EXPRS. */
static int size_of(const struct bin *b, uint32_t dir_row, uint32_t buf, uint64_t *size)
{
	struct bin_opened v;
	uint32_t row;

	if (bin_opened_at(b, dir_row, &v) || buf >= v.sizes)
		return -ERR_CORRUPT;
	row = ((const uint32_t *)(const void *)v.size_rows)[buf];
	if (row >= b->nexprs || b->exprs[row].op != BIN_CONST || b->exprs[row].imm < 0)
		return -ERR_CORRUPT;
	*size = (uint64_t)b->exprs[row].imm;
	return 0;
}

static bool range_in_buffer(const struct bin *b, uint32_t dir_row, const struct bin_entry *e, unsigned side)
{
	uint64_t size;

	return !size_of(b, dir_row, e->buf[side], &size) && e->len <= size && e->off[side] <= size - e->len;
}

static uint32_t op_count(const struct bin *b, uint32_t dir_row)
{
	struct bin_opened v;

	return bin_opened_at(b, dir_row, &v) ? 0 : v.nops;
}

static bool entry_ok(const struct bin *b, uint32_t dir_row, const struct bin_queue *q, const struct bin_entry *e)
{
	const uint32_t nranks = b->meta->nranks, base = dir_row - dir_row % nranks,
		       lands = base + bin_entry_lands(e, dir_row % nranks);
	const struct bin_entry_facts f = bin_entry_facts(e->kind);
	const bool armw = e->kind == BIN_E_ARMW;
	uint64_t bytes;

	if (!f.is || e->zero2 || e->flags & ~BIN_E_FLAGS || e->peer >= nranks || (!f.sends && e->peer != dir_row % nranks))
		return false;
	if (armw ? !bin_armw_bytes(e->armw) || bin_armw_bytes(e->armw) != b->target->limit[BIN_LIMIT_BYTES] || e->len != 1 :
		   e->armw)
		return false;
	if ((e->kind == BIN_E_CPU && (q->mode != BIN_Q_CPU || e->op == BIN_NONE)) || (f.sends && q->mode == BIN_Q_CPU))
		return false;
	if (e->sps > b->target->limit[BIN_LIMIT_SPS] || (e->sps && e->queue == BIN_NONE) ||
	    (e->kind == BIN_E_NOP &&
	     (e->sps || e->flags || e->queue != BIN_NONE || e->op != BIN_NONE || q->mode == BIN_Q_POSTED)))
		return false;
	if (e->queue != BIN_NONE &&
	    (!queues_in_section(b, lands, &bytes) || e->queue >= bin_posts(b, lands).head->nqueues))
		return false;
	if ((e->op != BIN_NONE && e->op >= op_count(b, dir_row)) ||
	    (e->at != BIN_NONE && e->at >= op_count(b, base + e->peer)))
		return false;
	if (f.ranges)
		return range_in_buffer(b, dir_row, e, 0) && range_in_buffer(b, base + e->peer, e, 1) &&
		       (uint64_t)e->len * b->target->limit[BIN_LIMIT_BYTES] >> b->target->limit[BIN_LIMIT_LENGTH] == 0;
	return !e->len && !e->buf[0] && !e->buf[1] && !e->off[0] && !e->off[1];
}

int bin_check_queues(const struct bin *b, uint32_t dir_row)
{
	struct bin_posts p;
	uint64_t bytes;
	uint32_t at = 0;

	if (!b->target)
		return 0;
	if (dir_row >= b->ndir / (1 + b->meta->result) || !queues_in_section(b, dir_row, &bytes))
		return -ERR_CORRUPT;
	p = bin_posts(b, dir_row);
	if (bin_sum(p.head, (size_t)bytes) != b->qdir[dir_row].check)
		return -ERR_CHECKSUM;
	for (uint32_t i = 0; i < p.head->nqueues; i++) {
		const struct bin_queue *q = &p.queues[i];

		if (q->mode >= BIN_Q_MODES || q->zero || (q->needs != 0) != (q->mode == BIN_Q_POSTED) ||
		    q->tni >= b->target->limit[BIN_LIMIT_TNIS] || q->cq >= b->target->limit[BIN_LIMIT_CQS] ||
		    q->first != at || q->n > p.head->nentries - at)
			return -ERR_CORRUPT;
		for (uint32_t k = 0; k < q->n; k++)
			if (!entry_ok(b, dir_row, q, &p.entries[at + k]))
				return -ERR_CORRUPT;
		at += q->n;
	}
	return at == p.head->nentries ? 0 : -ERR_CORRUPT;
}
