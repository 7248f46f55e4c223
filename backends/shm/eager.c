/* SPDX-License-Identifier: BSD-3-Clause
 * Eager messages, multicast too, and loans. */
#include "backends/shm/move.h"
#include "util/clock.h"

/* ---- eager ----
 *
 * Sends and receives of no bytes need no registers saved. Those with bytes are therefore in separate functions. */

static inline char *payload_of(const struct sm_bound *s, const struct sm_msg *m)
{
	return (char *)sm_slot_of(m, s->slot) + sm_payload(m->bytes);
}

static int await_credit(const struct sm_bound *s, struct sm_msg *m)
{
	m->now->asking = !sm_has_credit(s, m);
	return !m->now->asking;
}

/* Completes a send if it has credit. The slot was free without: the send of the last epoch had credit when it completed. So no start has
 * to wait for the line that the receiver writes when it starts: a poll reads it, unless that is left to helpers. */
static inline int end_send(const struct sm_bound *s, struct sm_msg *m)
{
	sm_ring_peer(s, m->bells);
	if (*m->known + 1 >= s->epoch)
		return 1;
	m->now->asking = true;
	__builtin_prefetch(m->started);
	return s->b.helped ? await_credit(s, m) : 0;
}

/* Says that a slot is filled, and owns the lines of the next one. bytes: of the payload, 0 if they are lent */
static inline int announce_slot(const struct sm_bound *s, struct sm_msg *m, uint64_t seq, uint64_t bytes)
{
	const char *next = (const char *)sm_slot_of(m, s->next_slot);

	/* Makes the payload visible before its number; pairs with the loads in sm_recv_eager and sm_recv_loan. */
	atomic_store_explicit(&sm_slot_of(m, s->slot)->seq, seq, memory_order_release);
	for (size_t at = 0; at < sm_eager_bytes(bytes); at += SM_LINE)
		be_own(next + at);
	return end_send(s, m);
}

static __attribute__((noinline)) int send_bytes(const struct sm_bound *s, struct sm_msg *m)
{
	sm_pack(s, m, 0, m->bytes, payload_of(s, m));
	return announce_slot(s, m, s->epoch, m->bytes);
}

int sm_send_eager(struct dispatcher *e, void *what)
{
	const struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;

	return m->bytes ? send_bytes(s, m) : announce_slot(s, m, s->epoch, 0);
}

/* Polls a send that is in its slot. */
int sm_end_eager(struct dispatcher *e, void *what)
{
	return await_credit(sm_of(e), what);
}

/* Of the sends that share slots, the first to come here copies the bytes. */
int sm_send_eager_multicast(struct dispatcher *e, void *what)
{
	const struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;

	if (atomic_load_explicit(&sm_slot_of(m, s->slot)->seq, memory_order_relaxed) == s->epoch)
		return end_send(s, m);
	return send_bytes(s, m);
}

static inline int take_credit(const struct sm_bound *s, const struct sm_msg *m)
{
	*m->known = s->epoch; /* the peer has sent in this epoch, so it has started the epoch */
	return 1;
}

static __attribute__((noinline)) int recv_bytes(const struct sm_bound *s, struct sm_msg *m)
{
	sm_unpack(s, m, 0, m->bytes, payload_of(s, m));
	return take_credit(s, m);
}

int sm_recv_eager(struct dispatcher *e, void *what)
{
	const struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;

	if (atomic_load_explicit(&sm_slot_of(m, s->slot)->seq, memory_order_acquire) != s->epoch)
		return 0;
	return m->bytes ? recv_bytes(s, m) : take_credit(s, m);
}

int sm_recv_eager_issue(struct dispatcher *e, void *what)
{
	const struct sm_msg *m = what;

	return m->leaves ? 0 : sm_recv_eager(e, what);
}

/* ---- loan ---- */

/* A receiver that the sender has waited for so long is late, and the sender copies in the next epoch. Each time in a row that it is late
 * the sender copies in twice as many epochs before it lends again, so a receiver that is late by habit seldom delays it. */
#define LATE_NS 50000u
#define COPIES_MOST 64u
#define CLOCK_POLLS 16u /* who is on time needs no clock */

static int await_return(const struct sm_bound *s, struct sm_msg *m)
{
	struct sm_moved *now = m->now;

	if (atomic_load_explicit(m->done, memory_order_acquire) != s->epoch) {
		if (++now->moved == CLOCK_POLLS)
			now->since = clock_now_ns();
		return 0;
	}
	if (now->moved < CLOCK_POLLS || clock_now_ns() - now->since < LATE_NS)
		now->copies = 0;
	else if (now->copies < COPIES_MOST)
		now->copies = now->copies ? 2 * now->copies : 1;
	now->lends_from = s->epoch + 1 + now->copies;
	now->begun = false;
	*m->known = s->epoch;
	return 1;
}

int sm_send_loan(struct dispatcher *e, void *what)
{
	const struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;
	const bool lent = m->lends && s->epoch >= m->now->lends_from;
	int done;

	if (lent)
		memcpy(sm_slot_of(m, s->slot)->rest, &m->now->location, sizeof m->now->location);
	else
		sm_pack(s, m, 0, m->bytes, payload_of(s, m));
	m->now->begun = lent;
	m->now->moved = 0;
	done = announce_slot(s, m, 2 * s->epoch + lent, lent ? 0 : m->bytes);
	m->now->asking &= !lent; /* the return says more */
	return done && !lent;
}

int sm_end_loan(struct dispatcher *e, void *what)
{
	const struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;

	return m->now->asking ? await_credit(s, m) : await_return(s, m);
}

/* Copies the bytes that the sender has lent. */
static __attribute__((noinline)) int take_loan(struct sm_bound *s, struct sm_msg *m)
{
	struct sm_location from;

	memcpy(&from, sm_slot_of(m, s->slot)->rest, sizeof from);
	if (!sm_find_bytes(s, m, &from))
		return sm_unreachable(s, m);
	for (size_t at = 0; at < m->bytes; at += SM_LINE)
		__builtin_prefetch(m->at + at);
	sm_unpack(s, m, 0, m->bytes, m->at);
	/* The bytes have been read before the sender may overwrite them; pairs with the load in await_return. */
	atomic_store_explicit(m->done, s->epoch, memory_order_release);
	sm_ring_peer(s, m->bells);
	return take_credit(s, m);
}

int sm_recv_loan(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;
	const uint64_t seq = atomic_load_explicit(&sm_slot_of(m, s->slot)->seq, memory_order_acquire);

	if (seq / 2 != s->epoch)
		return 0;
	return seq & 1 ? take_loan(s, m) : recv_bytes(s, m);
}

int sm_recv_loan_issue(struct dispatcher *e, void *what)
{
	const struct sm_msg *m = what;

	return m->leaves ? 0 : sm_recv_loan(e, what);
}
