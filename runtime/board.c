/* SPDX-License-Identifier: BSD-3-Clause
 * The board: one slot per rank, which that rank alone writes. Two records per slot suffice: a rank writes round n + 1 only
 * when all ranks have written round n, so all have read round n - 1. */
#include "runtime/board.h"

#include "include/mpix_sched.h"
#include "runtime/bell.h"
#include "runtime/cpus.h"

#include <sched.h>
#include <string.h>

void rt_relax(unsigned spun, unsigned spins)
{
	if (spun >= spins)
		sched_yield();
	else
		be_pause();
}

size_t rt_board_size(uint32_t ranks)
{
	return sizeof(struct rt_board) + ranks * sizeof(struct rt_slot);
}

const char *const rt_step_names[RT_STEPS] = { "the making of a group", "MPIX_Sched_group_split", "MPIX_Sched_init" };

uint64_t rt_board_round(const struct rt_board *b, uint32_t rank)
{
	const struct rt_record *r = b->slots[rank].record;
	uint64_t even = rt_round(atomic_load(&r[0].seq)), odd = rt_round(atomic_load(&r[1].seq));

	return even > odd ? even : odd;
}

int64_t rt_board_missing(const struct rt_board *b, uint64_t round)
{
	/* A rank writes all its records before it sets `closed`. */
	for (uint32_t r = 0; r < b->size; r++)
		if (atomic_load(&b->slots[r].closed) && rt_board_round(b, r) < round)
			return r;
	return -1;
}

void rt_board_post(struct rt_board *b, uint32_t rank, uint64_t seq, const void *in, size_t size)
{
	struct rt_record *mine = &b->slots[rank].record[seq & 1];

	memcpy(mine->data, in, size);
	/* Pairs with the load in rt_board_collect: a reader that sees the number sees the record. */
	atomic_store_explicit(&mine->seq, seq, memory_order_release);
}

static bool has_come(const struct rt_record *r, uint64_t seq)
{
	return rt_round(atomic_load_explicit(&r->seq, memory_order_acquire)) >= rt_round(seq);
}

int rt_board_collect(struct rt_board *b, uint64_t seq, size_t size, void *out, unsigned spins,
		     int (*idle)(void *arg), void *arg)
{
	for (uint32_t r = 0; r < b->size; r++) {
		const struct rt_record *theirs = &b->slots[r].record[seq & 1];

		for (unsigned spun = 0; !has_come(theirs, seq); spun++) {
			/* Calls idle in each 64th iteration that spins, and in each that yields, because a yield may take long. */
			int err = spun < spins && ~spun & 63 ? 0 : idle(arg);

			/* The rank may have written its record and ended since the last check. */
			if (err && !has_come(theirs, seq))
				return err;
			rt_relax(spun, spins);
		}
		memcpy((char *)out + r * size, theirs->data, size);
	}
	return 0;
}

int rt_board_allgather(struct rt_board *b, uint32_t rank, uint64_t seq, const void *in, size_t size,
		       void *out, unsigned spins, int (*idle)(void *arg), void *arg)
{
	rt_board_post(b, rank, seq, in, size);
	/* Wakes the agent of goalrun, which forwards records to other nodes. Only goalrun's board has such a bell. */
	rt_event_ring((int)atomic_load_explicit(&b->bell, memory_order_relaxed) - 1);
	return rt_board_collect(b, seq, size, out, spins, idle, arg);
}
