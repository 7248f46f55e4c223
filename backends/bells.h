/* SPDX-License-Identifier: BSD-3-Clause
 * Bells. A rank may sleep while it waits. A thread that has stored a word that others wait for therefore rings their bells.
 * Where nobody sleeps this costs one load. runtime/heap/bell.c explains why no fence is needed. */
#ifndef BACKENDS_BELLS_H
#define BACKENDS_BELLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct be_bell {
	_Alignas(64) _Atomic uint32_t count; /* futex word; odd while some thread is about to sleep on it, or sleeps */
	_Atomic uint32_t sleepers;
};

/* The bells to ring after storing a word that one rank waits for. */
struct be_bells {
	struct be_bell *at[2]; /* [0] of the rank's own threads, [1] of its communication core; NULL if it has none */
	int event; /* eventfd that wakes one of the rank's own threads as well; -1 if it needs none */
	/* The rank calls no membarrier, or its membarrier does not reach this process. A thread that rings then needs a be_fence. */
	bool fences;
};

/* Wakes the threads that sleep on the bell, or are about to. `event` is as in struct be_bells. The slow path of be_ring. */
void be_ring_sleepers(struct be_bell *bell, int event);

static inline void be_ring_one(struct be_bell *bell, int event)
{
	if (__builtin_expect(atomic_load_explicit(&bell->sleepers, memory_order_relaxed) != 0, 0))
		be_ring_sleepers(bell, event);
}

/* Has the stores before it visible to all before the loads behind it. */
static inline void be_fence(void)
{
#if defined(__x86_64__)
	__asm__ volatile("lock; orl $0, (%%rsp)" ::: "memory", "cc"); /* takes less time than mfence, and no tool has to know of it */
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Rings a rank's bells. Called right after the store, or after a be_fence behind it: then `fences` is false. */
static inline void be_ring_if(const struct be_bells *bells, bool fences)
{
	if (fences)
		be_fence();
	else
		atomic_signal_fence(memory_order_seq_cst); /* keeps the compiler from moving the loads before the store */
	be_ring_one(bells->at[0], bells->event);
	if (bells->at[1])
		be_ring_one(bells->at[1], -1);
}

static inline void be_ring(const struct be_bells *bells)
{
	be_ring_if(bells, bells->fences);
}

#endif
