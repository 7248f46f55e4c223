/* SPDX-License-Identifier: BSD-3-Clause
 * The ring of slots through which the chunks of a staged message go. To touch a page for the first time takes several times as long
 * as to move what it holds: on a virtual EPYC 2 to 5 us, and a deep ring of 1 MiB saves up to 0.2 us a page once it has been touched.
 * So such a ring begins with a few of its slots and grows, where its memory is new: until it is whole, to have few slots costs about
 * half as much as its pages do.
 * Between cores that are near each other a short message is faster in pieces through slots so few that both cores have them in their
 * nearest cache: on that EPYC (32 KiB) a broadcast of 8 KiB in 0.7 us, and in 1.2 by one slot after the other. Between cores that are
 * far from each other it is slower. So the ring of such a message may be narrow in some epochs, as the sender says. */
#ifndef BACKENDS_SHM_RING_H
#define BACKENDS_SHM_RING_H

#include <stddef.h>
#include <stdint.h>

#define SM_RING 4u /* number of slots of a ring, unless it is to be deeper */
#define SM_NARROW 4u /* slots in use of a ring that is narrow */
#define SM_RING_ROUNDS 8u /* a growing ring has twice the slots once chunks have gone through as many of them so many times */

struct sm_ring {
	char *at; /* its first slot, in the receiver's heap; of a multicast in the sender's */
	uint32_t slots; /* number of them */
	uint32_t first; /* how many of them it begins with; `slots` is that times a power of two */
	size_t slot; /* bytes of a slot */
};

/* Returns the highest power of two that is at most n, which is not 0. */
static inline uint64_t sm_power_below(uint64_t n)
{
	return UINT64_C(1) << (63 - __builtin_clzll(n));
}

/* Makes a ring of n slots, or a few less if it begins with part of them: with SM_RING or `least` at least. */
static inline void sm_ring_size(struct sm_ring *r, uint32_t n, uint32_t least)
{
	const uint32_t few = least < SM_RING ? SM_RING : least, times = few < n ? (uint32_t)sm_power_below(n / few) : 1;

	r->first = n / times;
	r->slots = r->first * times;
}

/* Returns how many slots are in use when chunk number n of all epochs is stored. Chunk n is in slot n modulo that. */
static inline uint64_t sm_ring_used(const struct sm_ring *r, uint64_t n)
{
	const uint64_t rounds = r->first * (uint64_t)SM_RING_ROUNDS;
	uint64_t used;

	if (r->first == r->slots || n < 2 * rounds)
		return r->first;
	used = r->first * sm_power_below(n / rounds);
	return used < r->slots ? used : r->slots;
}

static inline char *sm_ring_slot(const struct sm_ring *r, uint64_t n)
{
	return r->at + n % sm_ring_used(r, n) * r->slot;
}

/* Returns how many chunks the sender may be ahead of the receiver when chunk n or a later one is stored: in a ring that has grown no
 * more than before, until each of its old slots has been stored to once more. By then the receiver has read all that was stored before
 * it grew. */
static inline uint64_t sm_ring_window(const struct sm_ring *r, uint64_t n)
{
	const uint64_t half = sm_ring_used(r, n) / 2;

	return n < half ? r->first : sm_ring_used(r, n - half);
}

#endif
