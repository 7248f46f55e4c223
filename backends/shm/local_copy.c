/* SPDX-License-Identifier: BSD-3-Clause
 * Copies within a rank. A short one is made when it is issued. How a long one is made depends on the messages under way:
 *
 * - in pieces while this rank sends through a ring;
 * - after the block that the rank receives, if two ranks exchange blocks;
 * - by a send of the same bytes through a ring, its twin, if they are not in the caches: both need them at the same moment then, so that
 *   they are loaded once. */
#include "backends/shm/local_copy.h"

#include "backends/shm/copy.h"
#include "backends/shm/sm.h"

/* While this rank sends through a ring, a long copy is made in pieces of so many bytes, between which messages move. */
#define PIECE ((size_t)128 << 10)

static size_t bytes_of(const struct sm_bound *s, const struct bin_op *o)
{
	return o->len * s->b.layout->basic;
}

/* Returns the address of range k of an op on contiguous elements. */
static char *range_of(const struct sm_bound *s, const struct bin_op *o, unsigned k)
{
	return (char *)s->b.buffers[o->buf[k]].ptr + o->off[k] * s->b.layout->basic;
}

/* Makes the next piece, of `most` bytes at most. Returns 1 when all are made. */
static int copy_piece(const struct sm_bound *s, struct sm_moved *now, const struct bin_op *o, size_t most)
{
	const size_t left = bytes_of(s, o) - now->staged, n = left < most ? left : most;

	copy_long(range_of(s, o, 1) + now->staged, range_of(s, o, 0) + now->staged, n, s->sh->past);
	now->staged = n < left ? now->staged + n : 0;
	now->begun = n < left;
	return n == left;
}

static int copy_between(const struct sm_bound *s, struct sm_moved *now, const struct bin_op *o)
{
	/* The receiver waits for what this rank sends, so the first poll leaves the core to the sends. */
	if (!now->begun && bytes_of(s, o) > DISPATCH_ISSUE_MAX) {
		now->begun = true;
		return 0;
	}
	return copy_piece(s, now, o, PIECE);
}

int sm_copy(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	const struct bin_op *o = what;
	const uint32_t i = (uint32_t)(o - s->b.ops);
	struct sm_moved *now = s->msgs[i].now;

	if (!s->b.layout->contiguous) {
		be_copy(s->b.layout, s->b.buffers[o->buf[1]].ptr, o->off[1], s->b.buffers[o->buf[0]].ptr, o->off[0], o->len);
		return 1;
	}
	if (now->queued || sm_parts(s, bytes_of(s, o)))
		return sm_copy_parts(s, now, i, NULL, range_of(s, o, 1), range_of(s, o, 0), bytes_of(s, o));
	if (s->fills == s->epoch)
		return copy_between(s, now, o);
	copy_long(range_of(s, o, 1), range_of(s, o, 0), bytes_of(s, o), s->sh->past);
	return 1;
}

int sm_leave_op(struct dispatcher *e, void *what)
{
	(void)e;
	(void)what;
	return 0;
}

/* Polls in which a copy of the rank's own block waits for the message that is to be received first: some 10 us */
#define FIRST_POLLS 16u
#define FIRST_BYTES ((uint64_t)512 << 10) /* least bytes of a copy that waits */

static int late_copy_issue(struct dispatcher *e, void *what)
{
	const struct sm_bound *s = sm_of(e);

	s->msgs[(const struct bin_op *)what - s->b.ops].now->moved = 0;
	return 0;
}

static int late_copy_poll(struct dispatcher *e, void *what)
{
	const struct sm_bound *s = sm_of(e);
	struct sm_moved *now = s->msgs[(const struct bin_op *)what - s->b.ops].now;

	return s->received == s->epoch || now->moved++ >= FIRST_POLLS ? sm_copy(e, what) : 0;
}

/* True if this rank receives before it carries out a long copy. Two ranks that exchange blocks would else both copy their own first,
 * and then both receive; if one of them begins with the other's block, one at a time loads what the other has in its caches. A block
 * that is sent as well would be loaded by both. */
static bool receives_first(const struct sm_bound *s, uint32_t copy)
{
	const struct bin_op *c = &s->b.ops[copy];

	if (bytes_of(s, c) < FIRST_BYTES || s->b.rank % 2 == 0 || sm_twin_of(s, copy) != BIN_NONE)
		return false;
	for (uint32_t i = 0; i < s->b.nops; i++)
		if (bin_recvs(s->b.ops[i].kind) && s->b.ops[i].len == c->len)
			return true;
	return false;
}

#define TWIN_POLLS 16u /* polls in which a copy waits for its twin to go on */

uint32_t sm_twin_of(const struct sm_bound *s, uint32_t copy)
{
	const struct bin_op *c = &s->b.ops[copy];

	for (uint32_t i = 0; i < s->b.nops; i++) {
		const struct bin_op *o = &s->b.ops[i];

		if (bin_sends(o->kind) && o->buf[0] == c->buf[0] && o->off[0] == c->off[0] && o->len == c->len)
			return i;
	}
	return BIN_NONE;
}

void sm_link_twins(struct sm_bound *s)
{
	if (s->b.helped || s->queue || !s->b.layout->contiguous)
		return;
	for (uint32_t i = 0; i < s->b.nops; i++) {
		const uint32_t twin = s->b.ops[i].kind == BIN_OP_COPY && sm_is_long(s, i) ? sm_twin_of(s, i) : BIN_NONE;

		if (twin == BIN_NONE || s->msgs[twin].network || s->msgs[twin].twin)
			continue;
		s->msgs[i].twin = twin + 1;
		s->msgs[twin].twin = i + 1;
	}
}

char *sm_twin_takes(const struct sm_bound *s, const struct sm_msg *m, uint64_t skip, size_t bytes)
{
	const uint32_t copy = m->twin - 1;
	struct sm_moved *now = s->msgs[copy].now;

	if (!now->begun)
		return NULL;
	now->moved = 0;
	if (now->staged != skip)
		return NULL;
	now->staged += bytes;
	return range_of(s, &s->b.ops[copy], 1) + skip;
}

static int twin_copy_issue(struct dispatcher *e, void *what)
{
	const struct sm_bound *s = sm_of(e);
	struct sm_moved *now = s->msgs[(const struct bin_op *)what - s->b.ops].now;

	now->begun = s->sh->past;
	now->staged = now->moved = 0;
	return 0;
}

static int twin_copy_poll(struct dispatcher *e, void *what)
{
	const struct sm_bound *s = sm_of(e);
	const struct bin_op *o = what;
	const struct sm_msg *c = &s->msgs[o - s->b.ops], *m = &s->msgs[c->twin - 1];
	const bool sends = s->fills == s->epoch && m->way == SM_STAGED && m->now->moved < m->chunks;

	if (!s->sh->past)
		return sm_copy(e, what);
	if (sends && c->now->moved++ < TWIN_POLLS)
		return 0;
	return copy_piece(s, c->now, o, sends ? PIECE : SIZE_MAX);
}

struct dispatch_how sm_how_long_copy(const struct sm_bound *s, uint32_t copy)
{
	if (s->msgs[copy].twin)
		return (struct dispatch_how){ twin_copy_issue, twin_copy_poll };
	if (receives_first(s, copy))
		return (struct dispatch_how){ late_copy_issue, late_copy_poll };
	return (struct dispatch_how){ sm_leave_op, sm_copy };
}
