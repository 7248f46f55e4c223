/* SPDX-License-Identifier: BSD-3-Clause
 * The board: one slot per rank, which that rank alone writes. Two records per slot suffice: a rank writes round n + 1 only
 * when all ranks have written round n, so all have read round n - 1.
 *
 * A rank that waits for records spins, then yields its CPU, then sleeps (util/patience.h). It sleeps at once where yielding is in
 * vain and a rank that it waits for was on its own CPU last: that one needs the CPU. To wake each sleeper only once, the ranks count
 * their records, and the one that completes a round wakes all. */
#include "runtime/board/board.h"

#include "include/mpix_sched.h"
#include "runtime/heap/bell.h"
#include "runtime/placement/cpus.h"
#include "util/futex.h"
#include "util/patience.h"

#include <errno.h>
#include <limits.h>
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

/* Returns what b->posted is when a round is complete. Until then no rank writes a record of the next one. */
static uint32_t count_until(const struct rt_board *b, uint64_t seq)
{
	return (uint32_t)(rt_round(seq) * b->size);
}

uint32_t rt_board_cpu(void)
{
	return (uint32_t)sched_getcpu() + 1;
}

void rt_board_here(struct rt_board *b, uint32_t rank)
{
	_Atomic uint32_t *at = &b->slots[rank].cpu;
	const uint32_t cpu = rt_board_cpu();

	if (atomic_load_explicit(at, memory_order_relaxed) != cpu)
		atomic_store_explicit(at, cpu, memory_order_relaxed);
}

void rt_board_post(struct rt_board *b, uint32_t rank, uint64_t seq, const void *in, size_t size)
{
	struct rt_record *mine = &b->slots[rank].record[seq & 1];

	memcpy(mine->data, in, size);
	/* Pairs with the load in rt_board_collect: a reader that sees the number sees the record. */
	atomic_store_explicit(&mine->seq, seq, memory_order_release);
	/* In one order with the operations of sleep_for_round: either the sleeper sees this number, or this rank sees the sleeper. */
	if (atomic_fetch_add(&b->posted, 1) + 1 == count_until(b, seq) && atomic_load(&b->asleep))
		futex_wake(&b->posted, INT_MAX);
}

static bool has_come(const struct rt_record *r, uint64_t seq)
{
	return rt_round(atomic_load_explicit(&r->seq, memory_order_acquire)) >= rt_round(seq);
}

/* True if a rank that has not written its record of a round, of those from `first` on, was on the caller's CPU last. */
static bool awaits_here(const struct rt_board *b, uint32_t first, uint64_t seq)
{
	const uint32_t cpu = rt_board_cpu();
	uint32_t r = first;

	while (r < b->size && (atomic_load_explicit(&b->slots[r].cpu, memory_order_relaxed) != cpu ||
			       has_come(&b->slots[r].record[seq & 1], seq)))
		r++;
	return r < b->size;
}

/* How long a rank yields in vain if it has a core of its own: nobody needs its CPU, so it waits longer. */
#define OWN_CORE_NS 200000u
#define SLEEP_NS 10000000u

static void sleep_for_round(struct rt_board *b, uint64_t seq)
{
	const uint32_t until = count_until(b, seq);
	uint32_t seen;

	atomic_fetch_add(&b->asleep, 1);
	seen = atomic_load(&b->posted);
	while ((int32_t)(seen - until) < 0 && futex_wait(&b->posted, seen, SLEEP_NS) && errno == EAGAIN)
		seen = atomic_load(&b->posted);
	atomic_fetch_sub(&b->asleep, 1);
}

int rt_board_collect(struct rt_board *b, uint64_t seq, size_t size, void *out, unsigned spins,
		     int (*idle)(void *arg), void *arg)
{
	struct patience p = { 0 };

	for (uint32_t r = 0; r < b->size; r++) {
		const struct rt_record *theirs = &b->slots[r].record[seq & 1];

		for (unsigned spun = 0; !has_come(theirs, seq); spun++) {
			/* Calls idle in each 64th iteration that spins, and in each that yields, because a yield may take long. */
			int err = spun < spins && ~spun & 63 ? 0 : idle(arg);

			/* The rank may have written its record and ended since the last check. */
			if (err && !has_come(theirs, seq))
				return err;
			if (spun < spins)
				be_pause();
			else if (patience_over(&p, awaits_here(b, r, seq) ? 0 : spins ? OWN_CORE_NS : PATIENCE_NS))
				sleep_for_round(b, seq);
			else
				patience_yield(&p, clock_now_ns());
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
