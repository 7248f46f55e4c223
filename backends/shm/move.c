/* SPDX-License-Identifier: BSD-3-Clause
 * Moving messages through shared memory; sm.h describes the protocols. */
#include "backends/shm/sm.h"

#include "backends/shm/copy.h"
#include "backends/services.h"
#include "util/clock.h"
#include "util/err.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#define CMA_MAX ((size_t)1 << 30) /* bytes per call, below the kernel's limit */

/* Rings the bells of a rank that may wait for what was just stored. */
static inline void ring_peer(const struct sm_bound *s, const struct be_bells *bells)
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

/* Packs bytes of this rank's message, from offset `skip` on, into `out`. */
static inline void pack_message(const struct sm_bound *s, const struct sm_msg *m, uint64_t skip, size_t bytes,
				char *out)
{
	const struct bin_op *o = &s->b.ops[m->op];
	size_t basic = s->b.layout->basic;

	if (m->mine)
		copy_bytes(out, m->mine + skip, bytes);
	else
		be_pack(s->b.layout, s->b.buffers[o->buf[0]].ptr, o->off[0] + skip / basic, bytes / basic, out);
}

/* Reduces a part of a message into the buffer: b = b op a for BIN_OP_RECV_REDUCE_WITH, else b = a op b. If a part may split an
 * element, the parts arrive in ascending order and are gathered in m->whole first. */
static void reduce_message(const struct sm_bound *s, const struct sm_msg *m, uint64_t skip, size_t bytes,
			   const char *in)
{
	const struct bin_op *o = &s->b.ops[m->op];
	const size_t basic = s->b.layout->basic;
	uint64_t first = o->off[0], n = o->len;

	if (m->whole && bytes < m->bytes) {
		memcpy(m->whole + skip, in, bytes);
		if (skip + bytes < m->bytes)
			return;
		in = m->whole;
		skip = 0;
		bytes = m->bytes;
	}
	if (bytes < m->bytes) {
		first += skip / basic;
		n = bytes / basic;
	}
	s->b.reduce_packed(s->b.reduce_arg, in, m->operand ? m->operand + skip : NULL, s->b.buffers[o->buf[0]].ptr, first, n,
			   o->kind == BIN_OP_RECV_REDUCE_WITH);
}

static inline void unpack_message(const struct sm_bound *s, const struct sm_msg *m, uint64_t skip, size_t bytes,
				  const char *in)
{
	const struct bin_op *o = &s->b.ops[m->op];
	size_t basic = s->b.layout->basic;

	if (m->mine)
		copy_bytes(m->mine + skip, in, bytes);
	else if (m->into && bytes == m->bytes)
		s->b.combine(in, m->operand ? m->operand : m->into, m->into, s->b.ops[m->op].len);
	else if (m->reduces)
		reduce_message(s, m, skip, bytes, in);
	else
		be_unpack(s->b.layout, s->b.buffers[o->buf[0]].ptr, o->off[0] + skip / basic, bytes / basic, in);
}

/* Returns the bytes of n chunks of a message, from chunk number `first` on. */
static size_t chunks_bytes(const struct sm_msg *m, uint64_t first, uint32_t n)
{
	const uint64_t left = m->bytes - first * m->chunk, most = n * (uint64_t)m->chunk;

	return (size_t)(left < most ? left : most);
}

static size_t chunk_bytes(const struct sm_msg *m, uint64_t chunk)
{
	return chunks_bytes(m, chunk, 1);
}

/* Sets m->at to the address in this process of the peer's bytes, or to NULL if they are out of reach. Returns false if
 * the peer's heap cannot be mapped. */
static bool find_bytes(struct sm_bound *s, struct sm_msg *m, const struct sm_location *p)
{
	bool fails = false;

	if (!m->same && m->seen.heap == p->heap && m->seen.address == p->address)
		return true;
	m->at = sm_find(s, m, p, &fails);
	if (!fails)
		m->seen = *p;
	return !fails;
}

/* A view leaves a message to processes that can map the peer's heap. */
static int unreachable(const struct sm_bound *s, const struct sm_msg *m)
{
	return s->view ? 0 : group_error(s->b.group, -ERR_SYS, "the heap of rank %u cannot be mapped", m->peer);
}

/* Asks the receiver to ring when it starts. Other senders may have asked for another epoch: the highest one stays. */
static __attribute__((noinline, cold)) void want_credit(const struct sm_bound *s, const struct sm_msg *m)
{
	_Atomic uint64_t *wanted = &s->peers[m->peer]->wanted;
	uint64_t now = atomic_load_explicit(wanted, memory_order_relaxed);

	while (now < s->epoch && !atomic_compare_exchange_weak_explicit(wanted, &now, s->epoch, memory_order_relaxed,
									memory_order_relaxed))
		;
}

/* True if the sender has credit in this epoch: the receiver has started the one before, so it has consumed those before that. The load
 * pairs with the store in sm_start. */
static inline bool has_credit(const struct sm_bound *s, struct sm_msg *m)
{
	if (*m->known + 1 < s->epoch) {
		*m->known = atomic_load_explicit(m->started, memory_order_acquire);
		if (*m->known + 1 < s->epoch)
			want_credit(s, m);
	}
	return *m->known + 1 >= s->epoch;
}

/* ---- eager ----
 *
 * Sends and receives of no bytes need no registers saved. Those with bytes are therefore in separate functions. */

static inline struct sm_slot *slot_of(const struct sm_msg *m, uint32_t number)
{
	return (struct sm_slot *)(void *)(m->first + number * m->plane);
}

static inline char *payload_of(const struct sm_bound *s, const struct sm_msg *m)
{
	return (char *)slot_of(m, s->slot) + sm_payload(m->bytes);
}

static int await_credit(const struct sm_bound *s, struct sm_msg *m)
{
	m->now->asking = !has_credit(s, m);
	return !m->now->asking;
}

/* Completes a send if it has credit. The slot was free without: the send of the last epoch had credit when it completed. So no start has
 * to wait for the line that the receiver writes when it starts: a poll reads it, unless that is left to helpers. */
static inline int end_send(const struct sm_bound *s, struct sm_msg *m)
{
	ring_peer(s, m->bells);
	if (*m->known + 1 >= s->epoch)
		return 1;
	m->now->asking = true;
	__builtin_prefetch(m->started);
	return s->b.helped ? await_credit(s, m) : 0;
}

/* Says that a slot is filled, and owns the lines of the next one. bytes: of the payload, 0 if they are lent */
static inline int announce_slot(const struct sm_bound *s, struct sm_msg *m, uint64_t seq, uint64_t bytes)
{
	const char *next = (const char *)slot_of(m, s->next_slot);

	/* Makes the payload visible before its number; pairs with the loads in recv_eager and recv_loan. */
	atomic_store_explicit(&slot_of(m, s->slot)->seq, seq, memory_order_release);
	for (size_t at = 0; at < sm_eager_bytes(bytes); at += SM_LINE)
		be_own(next + at);
	return end_send(s, m);
}

static __attribute__((noinline)) int send_bytes(const struct sm_bound *s, struct sm_msg *m)
{
	pack_message(s, m, 0, m->bytes, payload_of(s, m));
	return announce_slot(s, m, s->epoch, m->bytes);
}

static int send_eager(struct dispatcher *e, void *what)
{
	const struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;

	return m->bytes ? send_bytes(s, m) : announce_slot(s, m, s->epoch, 0);
}

/* Polls a send that is in its slot. */
static int end_eager(struct dispatcher *e, void *what)
{
	return await_credit(sm_of(e), what);
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
		if (!has_credit(s, &s->msgs[x->op]))
			return false;
	return true;
}

/* Of the sends that share slots, the first to come here copies the bytes. */
static int send_eager_multicast(struct dispatcher *e, void *what)
{
	const struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;

	if (atomic_load_explicit(&slot_of(m, s->slot)->seq, memory_order_relaxed) == s->epoch)
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
	unpack_message(s, m, 0, m->bytes, payload_of(s, m));
	return take_credit(s, m);
}

static int recv_eager(struct dispatcher *e, void *what)
{
	const struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;

	if (atomic_load_explicit(&slot_of(m, s->slot)->seq, memory_order_acquire) != s->epoch)
		return 0;
	return m->bytes ? recv_bytes(s, m) : take_credit(s, m);
}

static int recv_eager_issue(struct dispatcher *e, void *what)
{
	const struct sm_msg *m = what;

	return m->leaves ? 0 : recv_eager(e, what);
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

static int send_loan(struct dispatcher *e, void *what)
{
	const struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;
	const bool lent = m->lends && s->epoch >= m->now->lends_from;
	int done;

	if (lent)
		memcpy(slot_of(m, s->slot)->rest, &m->now->location, sizeof m->now->location);
	else
		pack_message(s, m, 0, m->bytes, payload_of(s, m));
	m->now->begun = lent;
	m->now->moved = 0;
	done = announce_slot(s, m, 2 * s->epoch + lent, lent ? 0 : m->bytes);
	m->now->asking &= !lent; /* the return says more */
	return done && !lent;
}

static int end_loan(struct dispatcher *e, void *what)
{
	const struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;

	return m->now->asking ? await_credit(s, m) : await_return(s, m);
}

/* Copies the bytes that the sender has lent. */
static __attribute__((noinline)) int take_loan(struct sm_bound *s, struct sm_msg *m)
{
	struct sm_location from;

	memcpy(&from, slot_of(m, s->slot)->rest, sizeof from);
	if (!find_bytes(s, m, &from))
		return unreachable(s, m);
	for (size_t at = 0; at < m->bytes; at += SM_LINE)
		__builtin_prefetch(m->at + at);
	unpack_message(s, m, 0, m->bytes, m->at);
	/* The bytes have been read before the sender may overwrite them; pairs with the load in await_return. */
	atomic_store_explicit(m->done, s->epoch, memory_order_release);
	ring_peer(s, m->bells);
	return take_credit(s, m);
}

static int recv_loan(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;
	const uint64_t seq = atomic_load_explicit(&slot_of(m, s->slot)->seq, memory_order_acquire);

	if (seq / 2 != s->epoch)
		return 0;
	return seq & 1 ? take_loan(s, m) : recv_bytes(s, m);
}

static int recv_loan_issue(struct dispatcher *e, void *what)
{
	const struct sm_msg *m = what;

	return m->leaves ? 0 : recv_loan(e, what);
}

/* ---- staged ---- */

static int send_staged(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;
	const size_t slot = sm_slot_bytes(m->bytes, m->chunk);

	if (!has_credit(s, m))
		return 0;
	while (m->now->moved < m->chunks) {
		uint64_t n = m->now->staged + m->now->moved; /* chunks before this one, in all epochs */

		if (n >= atomic_load_explicit(&m->out->consumed, memory_order_acquire) + m->slots)
			return 0;
		pack_message(s, m, (uint64_t)m->now->moved * m->chunk, chunk_bytes(m, m->now->moved),
			     m->ring + n % m->slots * slot);
		m->now->moved++;
		/* Makes the chunk visible before its number; pairs with the load in recv_staged. */
		atomic_store_explicit(m->produced, n + 1, memory_order_release);
		ring_peer(s, m->bells);
	}
	m->now->staged += m->chunks;
	return 1;
}

static int recv_staged(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;
	const size_t slot = sm_slot_bytes(m->bytes, m->chunk);

	while (m->now->moved < m->chunks) {
		uint64_t n = m->now->staged + m->now->moved;

		if (atomic_load_explicit(m->produced, memory_order_acquire) <= n)
			return 0;
		unpack_message(s, m, (uint64_t)m->now->moved * m->chunk, chunk_bytes(m, m->now->moved),
			       m->ring + n % m->slots * slot);
		m->now->moved++;
		/* The slot has been read before the sender may reuse it; pairs with the load in send_staged. */
		atomic_store_explicit(&m->out->consumed, n + 1, memory_order_release);
		ring_peer(s, m->bells);
	}
	m->now->staged += m->chunks;
	return 1;
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

/* Any of the sends puts chunks into the ring, for all of them. */
static int send_staged_multicast(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = &s->msgs[((const struct sm_msg *)what)->shares - 1];
	const size_t slot = sm_slot_bytes(m->bytes, m->chunk);
	const uint64_t before = (s->epoch - 1) * m->chunks; /* chunks of earlier epochs */
	uint64_t consumed = 0;

	if (!all_have_credit(s, m))
		return 0;
	for (uint64_t n; (n = m->now->staged) < before + m->chunks; m->now->staged++) {
		const struct sm_desc *at = NULL;

		if (n >= consumed + m->slots && n >= (consumed = all_consumed(s, m)) + m->slots)
			return 0;
		pack_message(s, m, (n - before) * m->chunk, chunk_bytes(m, n - before), m->ring + n % m->slots * slot);
		/* Makes the chunk visible before its number; pairs with the load in recv_staged. */
		atomic_store_explicit(m->produced, n + 1, memory_order_release);
		for (const struct sm_msg *x; (x = next_sharer(s, m, &at));)
			ring_peer(s, x->bells);
	}
	return 1;
}

/* ---- pull ---- */

/* Chunks of a message that the receiver copies, or reduces, alone: what the sender does of it, the receiver reads from the sender's
 * caches. */
#define COPIED_ALONE 4u
#define REDUCED_ALONE 8u

/* Bytes that a call of the kernel copies at least, of long messages: the call itself takes as long as some 32 KiB */
#define CALL_BYTES ((uint64_t)512 << 10)

/* Returns how many of `left` chunks one call of the kernel copies: many, but both ends are to be done at the same time. */
static uint32_t chunks_of_call(const struct sm_msg *m, uint64_t left)
{
	const uint64_t half = (m->chunks + 1) / 2, least = CALL_BYTES / m->chunk, quarter = (left + 3) / 4;
	uint64_t part = least < half ? least : half;

	part = part < quarter ? quarter : part;
	return (uint32_t)(part < left ? part : left);
}

/* Claims some of the epoch's chunks, which the caller then copies, and returns how many: one, or those of a call of the kernel.
 * Returns 0 if none is left. The receiver copies chunks from the first on and the sender from the last backwards. So in each
 * epoch each CPU core copies mostly the same bytes, which it has in its caches. */
static uint32_t take_chunks(const struct sm_bound *s, const struct sm_msg *m, bool calls)
{
	uint64_t end = s->epoch * m->chunks, n = atomic_load_explicit(&m->out->taken, memory_order_relaxed);

	while (n < end) {
		const uint32_t part = calls ? chunks_of_call(m, end - n) : 1;

		if (atomic_compare_exchange_weak_explicit(&m->out->taken, &n, n + part, memory_order_relaxed,
							  memory_order_relaxed))
			return part;
	}
	return 0;
}

/* Copies between this rank's memory and the peer's private memory at m->seen, from offset `skip` of the message on: reads the
 * peer's bytes, or stores `at` there. */
static int copy_remote(struct sm_bound *s, struct sm_msg *m, uint64_t skip, char *at, size_t bytes, bool store)
{
	while (bytes) {
		struct iovec local = { at, bytes < CMA_MAX ? bytes : CMA_MAX };
		struct iovec remote = { (char *)(uintptr_t)m->seen.address + skip, local.iov_len };
		ssize_t n = store ? process_vm_writev(m->pid, &local, 1, &remote, 1, 0) :
				    process_vm_readv(m->pid, &local, 1, &remote, 1, 0);

		if (n <= 0) {
			if (n < 0 && errno == ESRCH)
				return group_died(s->b.group, m->peer);
			return group_error(s->b.group, -ERR_SYS, "%s rank %u: %s",
					   store ? "process_vm_writev to" : "process_vm_readv from", m->peer,
					   n ? strerror(errno) : "no bytes");
		}
		at += n;
		skip += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* Stores chunks in the receiver's buffer, at m->at or in its private memory, or reduces them. `from`: the operand at the
 * receiver that replaces those in the buffer, or NULL */
static int move_as_sender(struct sm_bound *s, struct sm_msg *m, uint64_t skip, size_t bytes, uint64_t how, const char *from)
{
	if (!m->at)
		return copy_remote(s, m, skip, m->mine + skip, bytes, true);
	if (how)
		s->b.reduce_packed(s->b.reduce_arg, m->mine + skip, from ? from + skip : NULL, m->at + skip, 0,
				   bytes / s->b.layout->basic, how == BIN_OP_RECV_REDUCE_WITH);
	else
		copy_long(m->at + skip, m->mine + skip, bytes, s->sh->past);
	return 0;
}

/* True if the sender reaches the receiver's buffers. The first message finds out whether the kernel lets it write private memory:
 * what it may read there it may also write. */
static bool sender_reaches(struct sm_bound *s, struct sm_msg *m, const struct sm_location *to)
{
	if (!find_bytes(s, m, to))
		return false;
	if (m->at)
		return true;
	if (!m->asked && !s->view) {
		m->asked = true;
		m->writes = m->mine && sm_can_read(s, m->peer);
	}
	return m->writes;
}

static struct sm_invitation *invitation(const struct sm_msg *m, uint64_t epoch)
{
	return &m->out->invited[epoch & 1];
}

/* Copies the sender's share of a message that both ends copy, or reduces it, if the receiver's buffers can be reached. */
static int copy_as_sender(struct sm_bound *s, struct sm_msg *m)
{
	const struct sm_location to = invitation(m, s->epoch)->to, with = invitation(m, s->epoch)->operand;
	const bool operand = with.address || with.heap;
	const uint64_t how = invitation(m, s->epoch)->reduces;
	bool fails = false;
	const char *from = operand ? sm_find(s, m, &with, &fails) : NULL;
	uint32_t n;

	if (!sender_reaches(s, m, &to) || (operand && !from) || (how && (!s->b.reduce_packed || !m->at)))
		return 0;
	while ((n = take_chunks(s, m, !m->at)) > 0) {
		const uint64_t first = m->chunks - m->now->moved - n;
		const int err = move_as_sender(s, m, first * m->chunk, chunks_bytes(m, first, n), how, from);

		if (err)
			return err;
		m->now->moved += n;
		/* Makes the chunks' bytes visible before they are counted; pairs with the load in copy_as_receiver. */
		atomic_store_explicit(&m->in->helped,
				      atomic_load_explicit(&m->in->helped, memory_order_relaxed) + n,
				      memory_order_release);
		ring_peer(s, m->bells);
	}
	return 0;
}

static void announce_bytes(struct sm_bound *s, struct sm_msg *m)
{
	if (m->bounces)
		memcpy(m->bounce, m->mine, m->bytes);
	m->now->begun = true;
	m->in->from = m->now->location;
	/* Makes the user's bytes visible before the announcement; pairs with the load in recv_pull. */
	atomic_store_explicit(&m->in->avail, s->epoch, memory_order_release);
	ring_peer(s, m->bells);
}

static int send_pull_issue(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;

	m->now->moved = 0;
	m->now->begun = false;
	if (!m->bounces || !m->leaves)
		announce_bytes(s, m);
	return 0;
}

/* Completes a send once the receiver has read all bytes, and owns the line of the next announcement. Of a single chunk the receiver
 * often looks for that so early that it would only take the line back. */
static int end_send_pull(const struct sm_bound *s, const struct sm_msg *m)
{
	const bool done = atomic_load_explicit(&m->out->done, memory_order_acquire) == s->epoch;

	if (done && m->chunks > 1)
		be_own(&m->in->avail);
	return done;
}

static int send_pull(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;
	int err;

	if (!m->now->begun)
		announce_bytes(s, m);
	if (end_send_pull(s, m))
		return 1;
	if (m->chunks <= COPIED_ALONE || atomic_load_explicit(&invitation(m, s->epoch)->epoch, memory_order_acquire) != s->epoch)
		return 0;
	err = copy_as_sender(s, m);
	return err ? err : end_send_pull(s, m);
}

/* Copies a range of the sender's bytes into the receiver's buffer. */
static int fetch_bytes(struct sm_bound *s, struct sm_msg *m, uint64_t skip, size_t bytes)
{
	if (m->at && m->mine) {
		copy_long(m->mine + skip, m->at + skip, bytes, s->sh->past);
		return 0;
	}
	if (m->at) {
		unpack_message(s, m, skip, bytes, m->at + skip);
		return 0;
	}
	if (m->mine)
		return copy_remote(s, m, skip, m->mine + skip, bytes, false);
	while (bytes) {
		size_t n = bytes < SM_CHUNK ? bytes : SM_CHUNK;
		int err = copy_remote(s, m, skip, s->stage, n, false);

		if (err)
			return err;
		unpack_message(s, m, skip, n, s->stage);
		skip += n;
		bytes -= n;
	}
	return 0;
}

/* True if the sender is to store chunks of a message, or reduce them, and can. */
static bool sender_helps(const struct sm_bound *s, const struct sm_msg *m)
{
	const bool near = m->same && m->direct;

	if (m->two_way)
		return false;
	if (m->reduces && (s->b.user || SM_CHUNK % s->b.layout->basic || (m->operand && !m->now->operand.heap && !near)))
		return false;
	return s->b.layout->contiguous && (m->now->location.heap || near || (m->direct && !m->reduces));
}

/* Invites the sender to copy, or to reduce, if the message is long enough and the sender can access the receiver's buffers. */
static void invite_sender(struct sm_bound *s, struct sm_msg *m)
{
	struct sm_invitation *out = invitation(m, s->epoch);

	m->now->both = m->chunks > (m->reduces ? REDUCED_ALONE : COPIED_ALONE) && sender_helps(s, m);
	if (!m->now->both)
		return;
	out->to = m->now->location;
	out->operand = m->now->operand;
	out->reduces = m->reduces ? s->b.ops[m->op].kind : 0;
	atomic_store_explicit(&m->out->taken, (s->epoch - 1) * m->chunks, memory_order_relaxed);
	/* Makes the location and the count visible before the invitation; pairs with the load in send_pull. */
	atomic_store_explicit(&out->epoch, s->epoch, memory_order_release);
	ring_peer(s, m->bells);
}

/* True if the sender may copy before this rank has seen its announcement. */
static bool invites_early(const struct sm_bound *s, const struct sm_msg *m)
{
	return !m->reduces && !s->queue;
}

/* Handles the sender's announcement. */
static void begin_pull(struct sm_bound *s, struct sm_msg *m)
{
	m->now->begun = true;
	m->now->parted = m->mine && m->at && sm_parts(s, m->bytes);
	if (!invites_early(s, m) && !m->now->parted)
		invite_sender(s, m);
}

/* Copies the receiver's share of a message that both ends copy. */
static int copy_as_receiver(struct sm_bound *s, struct sm_msg *m)
{
	uint32_t n;

	while ((n = take_chunks(s, m, !m->at && m->mine)) > 0) {
		int err = fetch_bytes(s, m, (uint64_t)m->now->moved * m->chunk, chunks_bytes(m, m->now->moved, n));

		if (err)
			return err;
		m->now->moved += n;
	}
	if (atomic_load_explicit(&m->in->helped, memory_order_acquire) < m->now->theirs + m->chunks - m->now->moved)
		return 0;
	m->now->theirs += m->chunks - m->now->moved;
	return 1;
}

/* Most operands that are reduced together, and bytes of each at a time: the sums stay in the nearest cache */
#define TOGETHER 16u
#define TOGETHER_BYTES ((size_t)8192)

/* Returns the recv-reduce that continues this one, if its operand can be loaded now, and this rank reduces it alone. */
static struct sm_msg *next_operand(struct sm_bound *s, const struct sm_msg *m)
{
	struct sm_msg *next = m->next ? &s->msgs[m->next - 1] : NULL;
	struct sm_location from;

	if (!next || next->mode != SM_PULL || next->whole || (next->chunks > REDUCED_ALONE && sender_helps(s, next)) ||
	    atomic_load_explicit(&next->in->avail, memory_order_acquire) != s->epoch)
		return NULL;
	from = next->in->from;
	return find_bytes(s, next, &from) && next->at ? next : NULL;
}

/* Reduces a message, and with it those that continue it and have arrived: so the sums need not leave the caches between them. */
static int reduce_together(struct sm_bound *s, struct sm_msg *m)
{
	struct sm_msg *of[TOGETHER] = { m }, *next;
	uint32_t n = 1;
	int err = 0;

	while (n < TOGETHER && (next = next_operand(s, of[n - 1])))
		of[n++] = next;
	if (n == 1)
		return fetch_bytes(s, m, 0, m->bytes);
	for (uint64_t at = 0; at < m->bytes && !err; at += TOGETHER_BYTES)
		for (uint32_t i = 0; i < n && !err; i++)
			err = fetch_bytes(s, of[i], at, m->bytes - at < TOGETHER_BYTES ? m->bytes - at : TOGETHER_BYTES);
	for (uint32_t i = 1; i < n && !err; i++)
		of[i]->ahead = s->epoch;
	return err;
}

/* The receiver has read all bytes. */
static int end_pull(struct sm_bound *s, struct sm_msg *m)
{
	s->received = s->epoch;
	/* All reads are done before the sender may overwrite its bytes; pairs with the load in send_pull. */
	atomic_store_explicit(&m->out->done, s->epoch, memory_order_release);
	if (m->now->both)
		be_own(invitation(m, s->epoch + 1));
	ring_peer(s, m->bells);
	return 1;
}

static int recv_pull(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;
	struct sm_location from;
	int rc;

	if (m->ahead == s->epoch)
		return end_pull(s, m);
	if (!m->now->begun && atomic_load_explicit(&m->in->avail, memory_order_acquire) != s->epoch)
		return 0;
	from = m->in->from;
	if (!find_bytes(s, m, &from))
		return unreachable(s, m);
	if (!m->now->begun)
		begin_pull(s, m);
	if (m->now->parted)
		rc = sm_copy_parts(s, m->now, m->op, &from, m->mine, m->at, m->bytes);
	else if (m->now->both)
		rc = copy_as_receiver(s, m);
	else if (m->next && m->at && !m->whole)
		rc = reduce_together(s, m);
	else
		rc = fetch_bytes(s, m, 0, m->bytes);
	if (rc < 0 || (!rc && (m->now->parted || m->now->both)))
		return rc;
	return end_pull(s, m);
}

/* ---- learned (learn.c) ---- */

static int send_learned(struct dispatcher *e, void *what)
{
	const struct sm_msg *m = what;

	return m->way == SM_PULL ? send_pull(e, what) : send_staged(e, what);
}

static int recv_learned(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;

	if (sm_chooses(s, m)) {
		if (atomic_load_explicit(&m->in->avail, memory_order_acquire) != s->epoch)
			return 0;
		sm_choose(s, m);
	}
	return m->way == SM_PULL ? recv_pull(e, m) : recv_staged(e, m);
}

/* ---- the table ---- */

static int send_staged_multicast_issue(struct dispatcher *e, void *what)
{
	const struct sm_msg *m = what;

	return m->leaves ? 0 : send_staged_multicast(e, what);
}

static int send_staged_issue(struct dispatcher *e, void *what)
{
	struct sm_msg *m = what;

	m->now->moved = 0;
	return m->leaves ? 0 : send_staged(e, m);
}

static void begin_recv(struct sm_bound *s, struct sm_msg *m)
{
	m->now->moved = 0;
	m->now->begun = m->now->both = false;
	if (m->way == SM_PULL && invites_early(s, m))
		invite_sender(s, m);
	else if (m->way == SM_STAGED && m->two_way && !s->b.helped && !group_crowded(s->b.group))
		s->exchanged = s->epoch;
}

static int recv_staged_issue(struct dispatcher *e, void *what)
{
	struct sm_msg *m = what;

	begin_recv(sm_of(e), m);
	return m->leaves ? 0 : recv_staged(e, m);
}

static int recv_pull_issue(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;

	begin_recv(s, m);
	return m->leaves ? 0 : recv_pull(e, m);
}

static int send_learned_issue(struct dispatcher *e, void *what)
{
	struct sm_msg *m = what;

	sm_find_way(sm_of(e), m);
	return m->way == SM_PULL ? send_pull_issue(e, m) : send_staged_issue(e, m);
}

static int recv_learned_issue(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;

	sm_find_way(s, m);
	begin_recv(s, m);
	return m->leaves ? 0 : recv_learned(e, m);
}

const struct dispatch_how sm_how_send[SM_MODES] = {
	[SM_EAGER] = { send_eager, end_eager },
	[SM_LOAN] = { send_loan, end_loan },
	[SM_EAGER_MULTICAST] = { send_eager_multicast, end_eager },
	[SM_PULL] = { send_pull_issue, send_pull },
	[SM_STAGED] = { send_staged_issue, send_staged },
	[SM_STAGED_MULTICAST] = { send_staged_multicast_issue, send_staged_multicast },
	[SM_LEARNED] = { send_learned_issue, send_learned },
};
const struct dispatch_how sm_how_recv[SM_MODES] = {
	[SM_EAGER] = { recv_eager_issue, recv_eager },
	[SM_LOAN] = { recv_loan_issue, recv_loan },
	[SM_EAGER_MULTICAST] = { recv_eager_issue, recv_eager },
	[SM_PULL] = { recv_pull_issue, recv_pull },
	[SM_STAGED] = { recv_staged_issue, recv_staged },
	[SM_STAGED_MULTICAST] = { recv_staged_issue, recv_staged },
	[SM_LEARNED] = { recv_learned_issue, recv_learned },
};

const _Atomic uint64_t *sm_watch(const struct sm_bound *s, uint32_t op, uint64_t *least)
{
	const struct sm_msg *m = &s->msgs[op];
	const bool recv = m->end == SM_RECV;

	*least = m->way == SM_LOAN && recv ? 2 * s->epoch : s->epoch;
	if (m->way <= SM_EAGER_MULTICAST && recv)
		return &slot_of(m, s->slot)->seq;
	if (m->way == SM_LOAN && m->now->begun)
		return m->done;
	if (m->way == SM_PULL && recv && !m->now->begun)
		return &m->in->avail;
	if (m->way == SM_PULL && !recv && m->chunks <= COPIED_ALONE)
		return &m->out->done;
	return NULL;
}

const char *sm_message_waits(const struct sm_bound *s, uint32_t op)
{
	struct sm_msg *m = &s->msgs[op];
	bool read; /* a multicast's receiver: true if it has read what came before */

	if (bin_recvs(s->b.ops[op].kind))
		return m->way == SM_PULL && m->now->begun ? "the sender to finish its part of the copy" : "the message";
	if (m->way == SM_PULL || (m->way == SM_LOAN && m->now->begun))
		return "the receiver to copy it";
	if (!has_credit(s, m))
		return "the receiver to start its last epoch";
	if (m->now->asking)
		return "this rank to see how far the receiver is";
	read = m->way != SM_STAGED_MULTICAST || atomic_load_explicit(&m->out->consumed, memory_order_relaxed) >= (s->epoch - 1) * m->chunks;
	return m->shares && read ? "another rank, to which the same bytes go" : "the receiver to make room";
}
