/* SPDX-License-Identifier: BSD-3-Clause
 * The modes of messages: the table of their functions, those of learned messages, and what an issued message waits for. */
#include "backends/services.h"
#include "backends/shm/move.h"

static int send_learned(struct dispatcher *e, void *what)
{
	const struct sm_msg *m = what;

	return m->way == SM_PULL ? sm_send_pull(e, what) : sm_send_staged(e, what);
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
	return m->way == SM_PULL ? sm_recv_pull(e, m) : sm_recv_staged(e, m);
}

static int send_learned_issue(struct dispatcher *e, void *what)
{
	struct sm_msg *m = what;

	sm_find_way(sm_of(e), m);
	return m->way == SM_PULL ? sm_send_pull_issue(e, m) : sm_send_staged_issue(e, m);
}

static int recv_learned_issue(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	struct sm_msg *m = what;

	sm_find_way(s, m);
	if (m->way == SM_PULL)
		sm_begin_pull(s, m);
	else
		m->now->moved = 0;
	return m->leaves ? 0 : recv_learned(e, m);
}

const struct dispatch_how sm_how_send[SM_MODES] = {
	[SM_EAGER] = { sm_send_eager, sm_end_eager },
	[SM_LOAN] = { sm_send_loan, sm_end_loan },
	[SM_EAGER_MULTICAST] = { sm_send_eager_multicast, sm_end_eager },
	[SM_PULL] = { sm_send_pull_issue, sm_send_pull },
	[SM_STAGED] = { sm_send_staged_issue, sm_send_staged },
	[SM_STAGED_MULTICAST] = { sm_send_staged_multicast_issue, sm_send_staged_multicast },
	[SM_LEARNED] = { send_learned_issue, send_learned },
};
const struct dispatch_how sm_how_recv[SM_MODES] = {
	[SM_EAGER] = { sm_recv_eager_issue, sm_recv_eager },
	[SM_LOAN] = { sm_recv_loan_issue, sm_recv_loan },
	[SM_EAGER_MULTICAST] = { sm_recv_eager_issue, sm_recv_eager },
	[SM_PULL] = { sm_recv_pull_issue, sm_recv_pull },
	[SM_STAGED] = { sm_recv_staged_issue, sm_recv_staged },
	[SM_STAGED_MULTICAST] = { sm_recv_staged_issue, sm_recv_staged },
	[SM_LEARNED] = { recv_learned_issue, recv_learned },
};

const _Atomic uint64_t *sm_watch(const struct sm_bound *s, uint32_t op, uint64_t *least)
{
	const struct sm_msg *m = &s->msgs[op];
	const bool recv = m->end == SM_RECV;

	*least = m->way == SM_LOAN && recv ? 2 * s->epoch : s->epoch;
	if (m->way <= SM_EAGER_MULTICAST && recv)
		return &sm_slot_of(m, s->slot)->seq;
	if (m->way == SM_LOAN && m->now->begun)
		return m->done;
	if (m->way == SM_PULL && recv && !m->now->begun)
		return atomic_load_explicit(&m->in->stands, memory_order_relaxed) ? m->started : &m->in->avail;
	if (m->way == SM_PULL && !recv && m->chunks <= SM_COPIED_ALONE && m->now->begun) /* else a poll has yet to announce the bytes */
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
	if (!sm_has_credit(s, m))
		return "the receiver to start its last epoch";
	if (m->now->asking)
		return "this rank to see how far the receiver is";
	read = m->way != SM_STAGED_MULTICAST || atomic_load_explicit(&m->out->consumed, memory_order_relaxed) >= (s->epoch - 1) * m->chunks;
	return m->shares && read ? "another rank, to which the same bytes go" : "the receiver to make room";
}
