/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps the boards of several nodes alike. */
#include "runtime/board/mirror.h"

#include <string.h>

enum { LEFT = 1, DIED = 2, CLOSED = 4 }; /* bits of rt_slot.forwarded: events that were forwarded to the other nodes */

static bool is_home(const struct rt_board *b, uint32_t rank)
{
	return b->slots[rank].home == b->home;
}

/* Emits a record, if it is new or `all` is true. The rank may overwrite the record meanwhile, but only when all ranks have
 * read it. In that case nobody needs this frame, and receivers ignore it. */
static void emit_record(struct rt_board *b, uint32_t rank, unsigned parity, bool all, rt_emit *emit, void *arg)
{
	struct rt_slot *s = &b->slots[rank];
	struct rt_frame f = { .what = RT_FRAME_RECORD, .rank = rank, .key = b->key };

	f.seq = atomic_load_explicit(&s->record[parity].seq, memory_order_acquire);
	if (!f.seq || (!all && f.seq == s->sent[parity]))
		return;
	memcpy(f.data, s->record[parity].data, sizeof f.data);
	emit(arg, &f);
	if (!all)
		s->sent[parity] = f.seq;
}

/* Emits an event of a rank, which has a bit in `forwarded`, if it is new or `all` is true. */
static void emit_once(struct rt_board *b, uint32_t rank, uint32_t bit, uint32_t what, bool all, rt_emit *emit, void *arg)
{
	struct rt_slot *s = &b->slots[rank];

	if (!all && s->forwarded & bit)
		return;
	emit(arg, &(struct rt_frame){ .what = what, .rank = rank, .key = b->key });
	if (!all)
		s->forwarded |= bit;
}

void rt_mirror_scan(struct rt_board *b, bool all, rt_emit *emit, void *arg)
{
	const uint64_t failed = atomic_load(&b->failed);

	for (uint32_t r = 0; r < b->size; r++) {
		bool leaves, closes;

		if (!is_home(b, r))
			continue;
		leaves = atomic_load(&b->slots[r].left);
		closes = atomic_load(&b->slots[r].closed); /* read before the records: a rank that has closed has written all of them */
		emit_record(b, r, 0, all, emit, arg);
		emit_record(b, r, 1, all, emit, arg);
		if (closes)
			emit_once(b, r, CLOSED, RT_FRAME_CLOSED, all, emit, arg);
		if (leaves)
			emit_once(b, r, LEFT, RT_FRAME_LEFT, all, emit, arg);
	}
	if (failed && (all || !b->forwarded)) {
		emit(arg, &(struct rt_frame){ .what = RT_FRAME_FAILED, .seq = failed, .key = b->key });
		b->forwarded |= !all;
	}
}

void rt_mirror_deaths(struct rt_board *b, bool all, rt_emit *emit, void *arg)
{
	for (uint32_t r = 0; r < b->size; r++)
		if (is_home(b, r) && atomic_load(&b->slots[r].died))
			emit_once(b, r, DIED, RT_FRAME_DIED, all, emit, arg);
}

bool rt_mirror_over(const struct rt_board *b)
{
	for (uint32_t r = 0; r < b->size; r++)
		if (is_home(b, r) && !(b->slots[r].forwarded & LEFT))
			return false;
	return true;
}

bool rt_mirror_forwarded(const struct rt_board *b)
{
	for (uint32_t r = 0; r < b->size; r++)
		if (is_home(b, r) && atomic_load(&b->slots[r].left) && !(b->slots[r].forwarded & LEFT))
			return false;
	return true;
}

bool rt_mirror_cares(const struct rt_board *b, uint32_t home)
{
	for (uint32_t r = 0; r < b->size; r++)
		if (b->slots[r].home == home && !atomic_load(&b->slots[r].left))
			return true;
	return false;
}

void rt_mirror_apply(struct rt_board *b, const struct rt_frame *f)
{
	struct rt_slot *s = f->rank < b->size ? &b->slots[f->rank] : NULL;
	const uint32_t lost = rt_failed(f->seq), by = rt_failed_by(f->seq);
	uint64_t none = 0;

	if (f->what == RT_FRAME_FAILED && lost < b->size && (by == RT_NOBODY || by < b->size))
		atomic_compare_exchange_strong(&b->failed, &none, f->seq);
	if (!s || is_home(b, f->rank))
		return;
	if (f->what == RT_FRAME_RECORD && rt_round(f->seq) > rt_round(atomic_load(&s->record[f->seq & 1].seq)))
		rt_board_post(b, f->rank, f->seq, f->data, sizeof f->data);
	else if (f->what == RT_FRAME_CLOSED)
		atomic_store(&s->closed, 1);
	else if (f->what == RT_FRAME_LEFT)
		atomic_store(&s->left, 1);
	else if (f->what == RT_FRAME_DIED)
		atomic_store(&s->died, RT_DIED);
}
