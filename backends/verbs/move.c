/* SPDX-License-Identifier: BSD-3-Clause
 * Moves network messages; vb.h describes the protocol. */
#include "backends/verbs/vb.h"

#include <string.h>

/* Adds a link to the list of links with work requests to post in this turn. `empty`: the link had none before. */
static void queue_link(struct vb_bound *v, struct vb_link *l, bool empty)
{
	if (empty) {
		l->next_full = v->full;
		v->full = l;
	}
}

void vb_probe(struct vb_bound *v)
{
	for (uint32_t i = 0; i < v->nlinks; i++) {
		const bool empty = !v->links[i]->first;

		if (vb_link_probe(v->links[i]))
			queue_link(v, v->links[i], empty);
	}
}

int vb_flush(struct vb_bound *v)
{
	int rc = 0;

	for (struct vb_link *l = v->full; l; l = l->next_full) {
		int err = vb_link_flush(v->sm.b.group, l);

		rc = rc ? rc : err;
	}
	v->full = NULL;
	sm_show_counts(&v->sm, v->counted);
	return rc;
}

/* True if nothing more can arrive from a peer. Read before the message's counters: a bye is the last to arrive, so that what
 * they do not show afterwards will never come. */
static bool is_gone(const struct vb_link *l)
{
	return atomic_load_explicit(&l->broken, memory_order_acquire) || atomic_load_explicit(&l->heard_bye, memory_order_acquire);
}

/* Returns the result for a message that has to wait: 0, or an error if the peer was gone before. */
static int not_yet(struct vb_bound *v, const struct vb_link *l, bool gone)
{
	if (!gone)
		return 0;
	v->failed = true;
	return vb_link_error(v->sm.b.group, l);
}

/* Returns the offset of this epoch's slot from the first one. */
static uint64_t slot_of(const struct vb_bound *v, const struct vb_msg *m)
{
	return v->sm.epoch % VB_SLOTS * m->stride;
}

/* Queues the remaining work requests of a message as far as they fit. Returns true if none remains. */
static bool post_message(struct vb_bound *v, struct vb_msg *m)
{
	const uint64_t part = m->link->dev->port.max_msg_sz;

	for (; m->put < m->nwrs && vb_link_fits(m->link); m->put++) {
		struct ibv_send_wr *wr = &m->wrs[m->put];
		const bool last = m->put + 1 == m->nwrs;

		if (m->send) { /* read anew each time: a rebound receiver has changed it */
			wr->wr.rdma.remote_addr = m->target->address + m->put * part + slot_of(v, m);
			wr->wr.rdma.rkey = m->target->rkey;
		}
		queue_link(v, m->link, !m->link->first);
		v->counted[BE_POSTED]++;
		v->counted[BE_SENT] += m->send && last;
		v->counted[BE_SENT_BYTES] += m->send && last ? m->bytes : 0;
		vb_link_add(m->link, wr, m->send && last && m->bytes && !m->inlines ? (uint32_t)(m - v->msgs) : VB_NOBODY);
	}
	return m->put == m->nwrs;
}

/* True if the ready signals that have arrived allow the message to be sent. */
static bool may_put(const struct vb_bound *v, const struct vb_msg *m)
{
	const uint64_t came = m->ready == VB_FREE ? 0 : atomic_load_explicit(&m->came, memory_order_acquire);

	return m->ready == VB_FREE || (m->ready == VB_NOW ? came : came * VB_TELL + VB_SLOTS - 1) >= v->sm.epoch;
}

static int send_poll(struct dispatcher *e, void *what)
{
	struct vb_bound *v = vb_of(e);
	struct vb_msg *m = what;
	const struct bin_op *o = &v->sm.b.ops[m->op];
	const bool gone = is_gone(m->link);

	if (m->put < m->nwrs) {
		if (!may_put(v, m))
			return not_yet(v, m->link, gone);
		if (!m->put && m->slot)
			be_pack(v->sm.b.layout, v->sm.b.buffers[o->buf[0]].ptr, o->off[0], o->len, m->slot);
		if (!post_message(v, m))
			return not_yet(v, m->link, gone);
		/* Ops that wait for this one may overwrite the bytes at once. Posting the work request now copies them
		 * before. */
		if (m->inlines && e->ops[m->op].ndone) {
			int err = vb_flush(v);

			if (err)
				return err;
		}
	}
	if (m->inlines || !m->bytes || atomic_load_explicit(&m->left, memory_order_acquire) >= v->sm.epoch)
		return 1;
	/* A peer that has left has received everything, even if the acknowledgement has not arrived here. */
	if (atomic_load_explicit(&m->link->heard_bye, memory_order_relaxed))
		return 1;
	return not_yet(v, m->link, gone);
}

static int send_issue(struct dispatcher *e, void *what)
{
	const struct vb_bound *v = vb_of(e);
	struct vb_msg *m = what;

	m->put = 0;
	if (!may_put(v, m)) /* the signal may have arrived since the last poll */
		vb_dev_poll(m->link->dev);
	return send_poll(e, what);
}

static int recv_poll(struct dispatcher *e, void *what)
{
	struct vb_bound *v = vb_of(e);
	struct vb_msg *m = what;
	const struct bin_op *o = &v->sm.b.ops[m->op];
	const char *from = m->slot ? m->slot + slot_of(v, m) : NULL;
	char *to = v->sm.b.buffers[o->buf[0]].ptr;
	const bool gone = is_gone(m->link);

	if (!post_message(v, m) || atomic_load_explicit(&m->came, memory_order_acquire) < v->sm.epoch)
		return not_yet(v, m->link, gone);
	if (m->slot && bin_reduces(o->kind))
		v->sm.b.reduce_packed(v->sm.b.reduce_arg, from, NULL, to, o->off[0], o->len, o->kind == BIN_OP_RECV_REDUCE_WITH);
	else if (m->slot)
		be_unpack(v->sm.b.layout, to, o->off[0], o->len, from);
	return 1;
}

static int recv_issue(struct dispatcher *e, void *what)
{
	struct vb_msg *m = what;

	m->put = m->ready == VB_LATE && vb_of(e)->sm.epoch % VB_TELL ? m->nwrs : 0; /* no ready signal is due in this epoch */
	return recv_poll(e, what);
}

const struct dispatch_how vb_how_send = { send_issue, send_poll };
const struct dispatch_how vb_how_recv = { recv_issue, recv_poll };

const char *vb_message_waits(const struct vb_bound *v, const struct vb_msg *m)
{
	if (m->put < m->nwrs)
		return m->send && !may_put(v, m) ? "the receiver to be ready" : "room in the send queue";
	return m->send ? "the device to send it" : "the message";
}
