/* SPDX-License-Identifier: BSD-3-Clause
 * The modes of messages (sm.h): their functions, and what they have in common. */
#ifndef BACKENDS_SHM_MOVE_H
#define BACKENDS_SHM_MOVE_H

#include "backends/shm/sm.h"

#include <string.h>

/* Most chunks of a message by pull that the receiver copies alone: what the sender copies, the receiver then reads from the sender's
 * caches. */
#define SM_COPIED_ALONE 4u

/* ---- eager.c, staged.c, pull.c: the functions of a mode, as in struct dispatch_how; the table is in modes.c ---- */

int sm_send_eager(struct dispatcher *e, void *what);
int sm_end_eager(struct dispatcher *e, void *what);
int sm_send_eager_multicast(struct dispatcher *e, void *what);
int sm_recv_eager(struct dispatcher *e, void *what);
int sm_recv_eager_issue(struct dispatcher *e, void *what);
int sm_send_loan(struct dispatcher *e, void *what);
int sm_end_loan(struct dispatcher *e, void *what);
int sm_recv_loan(struct dispatcher *e, void *what);
int sm_recv_loan_issue(struct dispatcher *e, void *what);

int sm_send_staged_issue(struct dispatcher *e, void *what);
int sm_send_staged(struct dispatcher *e, void *what);
int sm_send_staged_multicast_issue(struct dispatcher *e, void *what);
int sm_send_staged_multicast(struct dispatcher *e, void *what);
int sm_recv_staged_issue(struct dispatcher *e, void *what);
int sm_recv_staged(struct dispatcher *e, void *what);

int sm_send_pull_issue(struct dispatcher *e, void *what);
int sm_send_pull(struct dispatcher *e, void *what);
int sm_recv_pull_issue(struct dispatcher *e, void *what);
int sm_recv_pull(struct dispatcher *e, void *what);
/* Begins a recv by pull without moving bytes. */
void sm_begin_pull(struct sm_bound *s, struct sm_msg *m);

/* ---- move.c ---- */

/* Reduces a part of a message into the buffer: b = b op a for BIN_OP_RECV_REDUCE_WITH, else b = a op b. If a part may split an
 * element, the parts arrive in ascending order and are gathered in m->whole first. */
void sm_reduce_part(const struct sm_bound *s, const struct sm_msg *m, uint64_t skip, size_t bytes, const char *in);
/* A view leaves a message to processes that can map the peer's heap. */
int sm_unreachable(const struct sm_bound *s, const struct sm_msg *m);
/* Asks the receiver to ring when it starts. Other senders may have asked for another epoch: the highest one stays. */
void sm_want_credit(const struct sm_bound *s, const struct sm_msg *m);

/* ---- inline ---- */

/* Rings the bells of a rank that may wait for what was just stored. */
static inline void sm_ring_peer(const struct sm_bound *s, const struct be_bells *bells)
{
	if (!s->quiet)
		be_ring(bells);
}

/* The data of many collectives is one number, which takes no call. */
static inline void copy_bytes(char *to, const char *from, size_t n)
{
	if (n == 8)
		memcpy(to, from, 8);
	else
		memcpy(to, from, n);
}

/* Announces the sender's bytes in an epoch, and where they are. */
static inline void sm_announce(struct sm_in *in, const struct sm_location *at, uint64_t epoch)
{
	in->from = *at;
	/* Makes the user's bytes visible before the announcement; pairs with the load in sm_recv_pull. */
	atomic_store_explicit(&in->avail, epoch, memory_order_release);
}

static inline struct sm_invitation *sm_invitation(struct sm_out *out, uint64_t epoch)
{
	return &out->invited[epoch & 1];
}

/* Invites the sender to store chunks of a message at `to`, or as `operand` and `reduces` say to reduce them there. */
static inline void sm_invite(struct sm_out *out, const struct sm_location *to, struct sm_location operand, uint64_t reduces,
			     uint32_t chunks, uint64_t epoch)
{
	struct sm_invitation *i = sm_invitation(out, epoch);

	i->to = *to;
	i->operand = operand;
	i->reduces = reduces;
	atomic_store_explicit(&out->taken, (epoch - 1) * chunks, memory_order_relaxed);
	/* Makes the location and the count visible before the invitation; pairs with the load in sm_send_pull. */
	atomic_store_explicit(&i->epoch, epoch, memory_order_release);
}

/* Packs bytes of this rank's message, from offset `skip` on, into `out`. */
static inline void sm_pack(const struct sm_bound *s, const struct sm_msg *m, uint64_t skip, size_t bytes, char *out)
{
	const struct bin_op *o = &s->b.ops[m->op];
	size_t basic = s->b.layout->basic;

	if (m->mine)
		copy_bytes(out, m->mine + skip, bytes);
	else
		be_pack(s->b.layout, s->b.buffers[o->buf[0]].ptr, o->off[0] + skip / basic, bytes / basic, out);
}

static inline void sm_unpack(const struct sm_bound *s, const struct sm_msg *m, uint64_t skip, size_t bytes, const char *in)
{
	const struct bin_op *o = &s->b.ops[m->op];
	size_t basic = s->b.layout->basic;

	if (m->mine)
		copy_bytes(m->mine + skip, in, bytes);
	else if (m->into && bytes == m->bytes)
		s->b.combine(in, m->operand ? m->operand : m->into, m->into, s->b.ops[m->op].len);
	else if (m->reduces)
		sm_reduce_part(s, m, skip, bytes, in);
	else
		be_unpack(s->b.layout, s->b.buffers[o->buf[0]].ptr, o->off[0] + skip / basic, bytes / basic, in);
}

/* Returns the bytes of n chunks of a message, from chunk number `first` on. */
static inline size_t sm_chunks_bytes(const struct sm_msg *m, uint64_t first, uint32_t n)
{
	const uint64_t left = m->bytes - first * m->chunk, most = n * (uint64_t)m->chunk;

	return (size_t)(left < most ? left : most);
}

static inline size_t sm_chunk_bytes(const struct sm_msg *m, uint64_t chunk)
{
	return sm_chunks_bytes(m, chunk, 1);
}

/* Sets m->at to the address in this process of the peer's bytes, or to NULL if they are out of reach. Returns false if
 * the peer's heap cannot be mapped. */
static inline bool sm_find_bytes(struct sm_bound *s, struct sm_msg *m, const struct sm_location *p)
{
	bool fails = false;

	if (!m->same && m->seen.heap == p->heap && m->seen.address == p->address)
		return true;
	m->at = sm_find(s, m, p, &fails);
	if (!fails)
		m->seen = *p;
	return !fails;
}

/* True if the sender has credit in this epoch: the receiver has started the one before, so it has consumed those before that. The load
 * pairs with the store in say_started. */
static inline bool sm_has_credit(const struct sm_bound *s, struct sm_msg *m)
{
	if (*m->known + 1 < s->epoch) {
		*m->known = atomic_load_explicit(m->started, memory_order_acquire);
		if (*m->known + 1 < s->epoch)
			sm_want_credit(s, m);
	}
	return *m->known + 1 >= s->epoch;
}

/* True if what the peer has said of a message stands for this epoch, which the peer has started. `stands` is loaded once more behind
 * `started`: a start that takes back what stood does so before it says that it has started (start.c). */
static inline bool sm_holds(const struct sm_bound *s, const struct sm_msg *m, const _Atomic uint64_t *stands)
{
	uint64_t from;

	if (!atomic_load_explicit(stands, memory_order_relaxed))
		return false;
	if (*m->known < s->epoch)
		*m->known = atomic_load_explicit(m->started, memory_order_acquire);
	from = atomic_load_explicit(stands, memory_order_relaxed);
	return *m->known >= s->epoch && from && from <= s->epoch;
}

/* True if the sender has announced the bytes of a message by pull in this epoch. */
static inline bool sm_is_announced(const struct sm_bound *s, const struct sm_msg *m)
{
	return atomic_load_explicit(&m->in->avail, memory_order_acquire) == s->epoch || sm_holds(s, m, &m->in->stands);
}

/* True if the receiver has invited the sender in this epoch. */
static inline bool sm_is_invited(const struct sm_bound *s, const struct sm_msg *m)
{
	return atomic_load_explicit(&sm_invitation(m->out, s->epoch)->epoch, memory_order_acquire) == s->epoch ||
	       sm_holds(s, m, &m->out->stands);
}

static inline struct sm_slot *sm_slot_of(const struct sm_msg *m, uint32_t number)
{
	return (struct sm_slot *)(void *)(m->first + number * m->plane);
}

#endif
