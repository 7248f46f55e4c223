/* SPDX-License-Identifier: BSD-3-Clause
 * Staged messages, multicast too: in chunks through a ring. */
#include "backends/services.h"
#include "backends/shm/copy.h"
#include "backends/shm/move.h"

/* Chunks that one poll moves at most, of ranks that send to each other what exceeds the caches: what each stores is to be in its nearest
 * caches, and in those of the other one when that reads it. */
#define BURST 2u

/* Returns the number of chunks at which a poll ends. */
static uint32_t end_of_poll(const struct sm_bound *s, const struct sm_msg *m)
{
	return s->fills == s->epoch && m->two_way && s->sh->past && m->chunks - m->now->moved > BURST ? m->now->moved + BURST : m->chunks;
}

/* Returns the next of the sends that share slots with this one, itself included; after NULL the first, and NULL after the last. */
static const struct sm_msg *next_sharer(const struct sm_bound *s, const struct sm_msg *m, const struct sm_desc **at)
{
	for (*at = *at ? *at : s->head->descs + s->head->ndescs; (*at)-- > s->head->descs && (*at)->send;)
		if (s->msgs[(*at)->op].cell == m->cell)
			return &s->msgs[(*at)->op];
	return NULL;
}

/* True if the sends that share slots all have credit. */
static bool all_have_credit(const struct sm_bound *s, const struct sm_msg *m)
{
	const struct sm_desc *at = NULL;

	for (const struct sm_msg *x; (x = next_sharer(s, m, &at));)
		if (!sm_has_credit(s, &s->msgs[x->op]))
			return false;
	return true;
}

/* Returns how many chunks in the ring that sends share all receivers have read. */
static uint64_t all_consumed(const struct sm_bound *s, const struct sm_msg *m)
{
	const struct sm_desc *at = NULL;
	uint64_t least = UINT64_MAX;

	for (const struct sm_msg *x; (x = next_sharer(s, m, &at));) {
		const uint64_t n = atomic_load_explicit(&x->out->consumed, memory_order_acquire);

		least = n < least ? n : least;
	}
	return least;
}

/* True if there is room in the ring for the chunks of all epochs before chunk number n. */
static bool has_room(const struct sm_bound *s, const struct sm_msg *m, uint64_t n)
{
	if (m->now->room < n)
		m->now->room = (m->now->narrow ? SM_NARROW : sm_ring_window(&m->ring, m->now->staged)) +
			       (m->shares ? all_consumed(s, m) : atomic_load_explicit(&m->out->consumed, memory_order_acquire));
	return n <= m->now->room;
}

/* Looks up credit and room for the next epoch, when nobody waits for that. */
static void renew_credit(const struct sm_bound *s, const struct sm_msg *m)
{
	if (*m->known < s->epoch)
		*m->known = atomic_load_explicit(m->started, memory_order_acquire);
	(void)has_room(s, m, m->now->staged + m->chunks);
}

static char *slot_of(const struct sm_msg *m, uint64_t n, bool narrow)
{
	return narrow ? m->ring.at + n % SM_NARROW * m->ring.slot : sm_ring_slot(&m->ring, n);
}

/* Returns how many chunks, of `most`, from chunk number n on are moved at once: those in slots that follow each other. */
static uint32_t run_at(const struct sm_msg *m, uint64_t n, uint64_t most, bool narrow)
{
	const uint32_t once = m->chunk < SM_CHUNK_SHORT ? SM_CHUNK_SHORT / m->chunk : 1;
	uint32_t run = 1;

	while (run < once && run < most && slot_of(m, n + run, narrow) == slot_of(m, n, narrow) + run * m->ring.slot)
		run++;
	return run;
}

/* Returns how many of them this end stores at once: through a narrow ring one, unless it is a trial. */
static uint32_t stored_at(const struct sm_bound *s, const struct sm_msg *m, uint64_t n, uint64_t most)
{
	return m->now->narrow && sm_fill_way(s, m, n) == SM_FILL_AS_CHOSEN ? 1 : run_at(m, n, most, m->now->narrow);
}

/* Makes the chunks before number n visible before that number is; pairs with the load in sm_recv_staged. */
static void produce(const struct sm_msg *m, uint64_t n)
{
	atomic_store_explicit(m->produced, 2 * n + m->now->narrow, memory_order_release);
}

/* Makes the ring narrow, or as wide as it is, once all that was stored has been read. Where stores go past the caches the other core is
 * far, and few slots are slow. */
static void choose_width(struct sm_msg *m)
{
	const bool narrow = m->chunk < SM_CHUNK_SHORT && !m->fill.past;

	if (narrow == m->now->narrow || atomic_load_explicit(&m->out->consumed, memory_order_acquire) != m->now->staged)
		return;
	m->now->narrow = narrow;
	m->now->room = 0;
}

int sm_send_staged(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;
	const uint32_t end = end_of_poll(s, m);

	if (!sm_has_credit(s, m))
		return 0;
	while (m->now->moved < end) {
		uint64_t n = m->now->staged + m->now->moved; /* chunks before this one, in all epochs */
		uint32_t run;

		if (!has_room(s, m, n + 1))
			return 0;
		run = stored_at(s, m, n, m->now->room - n < end - m->now->moved ? m->now->room - n : end - m->now->moved);
		sm_fill_slot(s, m, n, (uint64_t)m->now->moved * m->chunk, sm_chunks_bytes(m, m->now->moved, run),
			     slot_of(m, n, m->now->narrow));
		m->now->moved += run;
		produce(m, n + run);
		sm_ring_peer(s, m->bells);
	}
	if (end < m->chunks) {
		s->cut = true;
		return 0;
	}
	m->now->staged += m->chunks;
	renew_credit(s, m);
	return 1;
}

/* Takes the bytes of a message from offset `skip` on out of a slot. */
static void take_bytes(const struct sm_bound *s, const struct sm_msg *m, uint64_t skip, size_t bytes, const char *slot)
{
	if (m->mine && s->sh->past && m->way == SM_STAGED)
		copy_past(m->mine + skip, slot, bytes);
	else
		sm_unpack(s, m, skip, bytes, slot);
}

int sm_recv_staged(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;
	const uint32_t end = end_of_poll(s, m);

	while (m->now->moved < end) {
		const uint64_t n = m->now->staged + m->now->moved, produced = atomic_load_explicit(m->produced, memory_order_acquire);
		/* The bit is that of chunk n, too: while the ring changes, all that was produced has been read. */
		const bool narrow = produced % 2;
		uint32_t run;

		if (produced / 2 <= n)
			return 0;
		run = produced / 2 - n < end - m->now->moved ? (uint32_t)(produced / 2 - n) : end - m->now->moved;
		run = narrow ? 1 : run_at(m, n, run, false);
		take_bytes(s, m, (uint64_t)m->now->moved * m->chunk, sm_chunks_bytes(m, m->now->moved, run), slot_of(m, n, narrow));
		m->now->moved += run;
		/* The slots have been read before the sender may reuse them; pairs with the load in sm_send_staged. */
		atomic_store_explicit(&m->out->consumed, n + run, memory_order_release);
		sm_ring_peer(s, m->bells);
	}
	if (end < m->chunks) {
		s->cut = true;
		return 0;
	}
	m->now->staged += m->chunks;
	return 1;
}

/* Any of the sends puts chunks into the ring, for all of them. */
int sm_send_staged_multicast(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = &s->msgs[((const struct sm_msg *)what)->shares - 1];
	const uint64_t before = (s->epoch - 1) * m->chunks; /* chunks of earlier epochs */

	if (!all_have_credit(s, m))
		return 0;
	for (uint64_t n; (n = m->now->staged) < before + m->chunks; m->now->staged++) {
		const struct sm_desc *at = NULL;

		if (!has_room(s, m, n + 1))
			return 0;
		sm_fill_slot(s, m, n, (n - before) * m->chunk, sm_chunk_bytes(m, n - before), slot_of(m, n, false));
		produce(m, n + 1);
		for (const struct sm_msg *x; (x = next_sharer(s, m, &at));)
			sm_ring_peer(s, x->bells);
	}
	return 1;
}

int sm_send_staged_multicast_issue(struct dispatcher *e, void *what)
{
	const struct sm_msg *m = what;

	return m->leaves ? 0 : sm_send_staged_multicast(e, what);
}

int sm_send_staged_issue(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;

	m->now->moved = 0;
	choose_width(m);
	if (!s->b.helped && !group_crowded(s->b.group))
		s->fills = s->epoch;
	return m->leaves ? 0 : sm_send_staged(e, m);
}

int sm_recv_staged_issue(struct dispatcher *e, void *what)
{
	struct sm_msg *m = what;

	m->now->moved = 0;
	return m->leaves ? 0 : sm_recv_staged(e, m);
}
