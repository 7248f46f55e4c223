/* SPDX-License-Identifier: BSD-3-Clause
 * Messages by pull: the receiver copies or reduces them, and of long ones the sender does a share. */
#include "backends/shm/answer.h"
#include "backends/shm/move.h"

#include "backends/services.h"
#include "backends/shm/copy.h"
#include "util/err.h"

#include <errno.h>
#include <sys/uio.h>

#define CMA_MAX ((size_t)1 << 30) /* bytes per call, below the kernel's limit */
/* Most chunks that the receiver reduces alone, as it may reduce those of other messages with them; and that it copies alone if it has
 * nothing else to do. Otherwise SM_COPIED_ALONE. */
#define ALONE 8u

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

/* Reduces chunks with the receiver's operand `from`, into its buffer: past the caches by way of a part that stays in the nearest one. */
static void reduce_as_sender(struct sm_bound *s, struct sm_msg *m, uint64_t skip, size_t bytes, bool with, const char *from)
{
	const bool past = !s->sh->past && (m->fill.past || sm_tries_peer(s, m));
	_Alignas(SM_LINE) char part[SM_FILL_TRIED];

	for (size_t n; bytes; skip += n, bytes -= n) {
		n = past && bytes > sizeof part ? sizeof part : bytes;
		s->b.reduce_packed(s->b.reduce_arg, m->mine + skip, from + skip, past ? part : m->at + skip, 0, n / s->b.layout->basic, with);
		if (past)
			sm_fill_peer(s, m, skip, part, n);
	}
}

/* Stores chunks in the receiver's buffer, at m->at or in its private memory, or reduces them. `from`: the operand at the
 * receiver that replaces those in the buffer, or NULL */
static int move_as_sender(struct sm_bound *s, struct sm_msg *m, uint64_t skip, size_t bytes, uint64_t how, const char *from)
{
	if (!m->at)
		return copy_remote(s, m, skip, m->mine + skip, bytes, true);
	if (how)
		reduce_as_sender(s, m, skip, bytes, how == BIN_OP_RECV_REDUCE_WITH, from ? from : m->at);
	else
		sm_fill_peer(s, m, skip, m->mine + skip, bytes);
	return 0;
}

/* True if the sender reaches the receiver's buffers. The first message finds out whether the kernel lets it write private memory:
 * what it may read there it may also write. */
static bool sender_reaches(struct sm_bound *s, struct sm_msg *m, const struct sm_location *to)
{
	if (!sm_find_bytes(s, m, to))
		return false;
	if (m->at)
		return true;
	if (!m->asked && !s->view) {
		m->asked = true;
		m->writes = m->mine && sm_can_read(s, m->peer);
	}
	return m->writes;
}

/* Returns an error if the group has lost a rank. A peer's epoch may have failed then, and its buffers be its program's again. */
static int find_loss(const struct sm_bound *s)
{
	atomic_thread_fence(memory_order_acquire); /* bytes that were read before are those of before */
	return __builtin_expect(group_lost(s->b.group), 0) ? group_check(s->b.group) : 0;
}

/* Copies the sender's share of a message that both ends copy, or reduces it, if the receiver's buffers can be reached. */
static int copy_as_sender(struct sm_bound *s, struct sm_msg *m)
{
	const struct sm_location to = sm_invitation(m->out, s->epoch)->to, with = sm_invitation(m->out, s->epoch)->operand;
	const bool operand = with.address || with.heap;
	const uint64_t how = sm_invitation(m->out, s->epoch)->reduces;
	bool fails = false;
	const char *from = operand ? sm_find(s, m, &with, &fails) : NULL;
	uint32_t n;

	if (!sender_reaches(s, m, &to) || (operand && !from) || (how && (!s->b.reduce_packed || !m->at)))
		return 0;
	while ((n = take_chunks(s, m, !m->at)) > 0) {
		const uint64_t first = m->chunks - m->now->moved - n;
		int err = find_loss(s);

		err = err ? err : move_as_sender(s, m, first * m->chunk, sm_chunks_bytes(m, first, n), how, from);
		if (err)
			return err;
		m->now->moved += n;
		/* Makes the chunks' bytes visible before they are counted; pairs with the load in copy_as_receiver. */
		atomic_store_explicit(&m->in->helped,
				      atomic_load_explicit(&m->in->helped, memory_order_relaxed) + n,
				      memory_order_release);
		sm_ring_peer(s, m->bells);
	}
	return 0;
}

static void announce_bytes(struct sm_bound *s, struct sm_msg *m)
{
	struct sm_msg *answer = sm_answer_to(s, m);

	if (answer) {
		answer->ahead = s->epoch;
		sm_invite(answer->out, &answer->now->location, (struct sm_location){ 0, 0 }, 0, answer->chunks, s->epoch);
	}
	if (m->bounces)
		memcpy(m->bounce, m->mine, m->bytes);
	m->now->begun = true;
	sm_announce(m->in, &m->now->location, s->epoch);
	sm_ring_peer(s, m->bells);
}

int sm_send_pull_issue(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;

	if (m->ahead == s->epoch) /* an answer that is stored already */
		return 1;
	m->now->moved = 0;
	m->now->begun = m->stands;
	if (!m->now->begun && (!m->bounces || !m->leaves))
		announce_bytes(s, m);
	return 0;
}

/* Completes a send once the receiver has read all bytes, and owns the line of the next announcement, or of `started` if that stands. Of a
 * single chunk the receiver often looks for it so early that it would only take the line back. */
static int end_send_pull(const struct sm_bound *s, const struct sm_msg *m)
{
	const bool done = atomic_load_explicit(&m->out->done, memory_order_acquire) == s->epoch;

	if (done && m->chunks > 1)
		be_own(m->stands ? &s->head->started : &m->in->avail);
	return done;
}

int sm_send_pull(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;
	int err;

	if (!m->now->begun)
		announce_bytes(s, m);
	if (end_send_pull(s, m))
		return 1;
	if (m->chunks <= SM_COPIED_ALONE || !sm_is_invited(s, m))
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
		sm_unpack(s, m, skip, bytes, m->at + skip);
		return 0;
	}
	if (m->mine)
		return copy_remote(s, m, skip, m->mine + skip, bytes, false);
	while (bytes) {
		size_t n = bytes < SM_CHUNK ? bytes : SM_CHUNK;
		int err = copy_remote(s, m, skip, s->stage, n, false);

		if (err)
			return err;
		sm_unpack(s, m, skip, n, s->stage);
		skip += n;
		bytes -= n;
	}
	return 0;
}

/* True if the sender is to store chunks of a message, or reduce them, and can: the message is long enough, and the sender can access the
 * receiver's buffers. */
static bool sender_helps(const struct sm_bound *s, const struct sm_msg *m)
{
	const bool near = m->same && m->direct;
	const bool alone = m->reduces ? m->mode == SM_PULL : s->lone; /* a reduction that is tried has no others with it */

	if (m->two_way || m->chunks <= (alone ? ALONE : SM_COPIED_ALONE))
		return false;
	if (m->reduces && (s->b.user || SM_CHUNK % s->b.layout->basic || (m->operand && !m->now->operand.heap && !near)))
		return false;
	return s->b.layout->contiguous && (m->now->location.heap || near || (m->direct && !m->reduces));
}

/* Invites the sender to copy, or to reduce, if it is to help. */
static void invite_sender(struct sm_bound *s, struct sm_msg *m)
{
	m->now->both = sender_helps(s, m);
	if (!m->now->both)
		return;
	sm_invite(m->out, &m->now->location, m->now->operand, m->reduces ? s->b.ops[m->op].kind : 0, m->chunks, s->epoch);
	sm_ring_peer(s, m->bells);
}

/* True if the sender may copy before this rank has seen its announcement. */
static bool invites_early(const struct sm_bound *s, const struct sm_msg *m)
{
	return !m->reduces && !s->queue;
}

/* Handles the sender's announcement. */
static void take_announcement(struct sm_bound *s, struct sm_msg *m)
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
		int err = fetch_bytes(s, m, (uint64_t)m->now->moved * m->chunk, sm_chunks_bytes(m, m->now->moved, n));

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

	if (!next || next->mode != SM_PULL || next->whole || sender_helps(s, next) || !sm_is_announced(s, next))
		return NULL;
	from = next->in->from;
	return sm_find_bytes(s, next, &from) && next->at ? next : NULL;
}

/* Reduces n messages, part by part, and stores the answers if there are any. */
static int reduce_parts(struct sm_bound *s, struct sm_msg *const of[], uint32_t n, bool answers)
{
	const struct sm_msg *last = of[n - 1];
	const size_t alone = last->bytes > SM_ANSWERED_MAX ? SM_ANSWERED_LONG : sm_tries_peer(s, last) ? SM_FILL_TRIED : SM_ANSWERED;
	const size_t most = n == 1 ? alone : TOGETHER_BYTES;

	for (uint64_t at = 0; at < last->bytes; at += most) {
		const size_t bytes = last->bytes - at < most ? last->bytes - at : most;

		for (uint32_t i = 0; i < n; i++) {
			const int err = fetch_bytes(s, of[i], at, bytes);

			if (err)
				return err;
		}
		if (answers)
			sm_store_answers(s, last, at, bytes);
	}
	return 0;
}

/* Reduces a message, and with it those that continue it and have arrived: so the sums need not leave the caches between them, nor before
 * they are stored as answers. */
static int reduce_together(struct sm_bound *s, struct sm_msg *m)
{
	struct sm_msg *of[TOGETHER] = { m }, *next;
	uint32_t n = 1;
	bool answers;
	int err;

	while (n < TOGETHER && (next = next_operand(s, of[n - 1])))
		of[n++] = next;
	answers = sm_begin_answers(s, of[n - 1]);
	if (n == 1 && !answers)
		return fetch_bytes(s, m, 0, m->bytes);
	err = reduce_parts(s, of, n, answers);
	for (uint32_t i = 1; i < n && !err; i++)
		of[i]->ahead = s->epoch;
	if (!err && answers)
		sm_end_answers(s, of[n - 1]);
	return err;
}

/* The receiver has read all bytes. */
static int end_pull(struct sm_bound *s, struct sm_msg *m)
{
	s->received = s->epoch;
	/* All reads are done before the sender may overwrite its bytes; pairs with the load in sm_send_pull. */
	atomic_store_explicit(&m->out->done, s->epoch, memory_order_release);
	if (m->now->both)
		be_own(m->stands ? (void *)&s->head->started : sm_invitation(m->out, s->epoch + 1));
	sm_ring_peer(s, m->bells);
	return 1;
}

int sm_recv_pull(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;
	struct sm_location from;
	int rc;

	if (m->reduces && m->ahead == s->epoch)
		return end_pull(s, m);
	if (!m->now->begun && !sm_is_announced(s, m))
		return 0;
	from = m->in->from;
	if (!sm_find_bytes(s, m, &from))
		return sm_unreachable(s, m);
	if (!m->now->begun)
		take_announcement(s, m);
	if (m->now->parted)
		rc = sm_copy_parts(s, m->now, m->op, &from, m->mine, m->at, m->bytes);
	else if (m->now->both)
		rc = copy_as_receiver(s, m);
	else if (m->reduces && (m->next || m->answers) && m->at && !m->whole)
		rc = reduce_together(s, m);
	else
		rc = fetch_bytes(s, m, 0, m->bytes);
	if (rc < 0 || (!rc && (m->now->parted || m->now->both)))
		return rc;
	rc = find_loss(s);
	return rc ? rc : end_pull(s, m);
}

void sm_begin_pull(struct sm_bound *s, struct sm_msg *m)
{
	m->now->moved = 0;
	m->now->begun = false;
	/* an answer's sender has been invited before */
	m->now->both = m->stands || (!m->reduces && m->ahead == s->epoch);
	if (!m->now->both && invites_early(s, m))
		invite_sender(s, m);
}

int sm_recv_pull_issue(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;

	sm_begin_pull(s, m);
	return m->leaves ? 0 : sm_recv_pull(e, m);
}
