/* SPDX-License-Identifier: BSD-3-Clause
 * Connecting. All ranks exchange with which peers they have messages, a few peers per round. Hashes show whether the two ends
 * of all messages are there and have the same sizes. */
#include "backends/mpi/mp.h"
#include "backends/transport.h"
#include "util/err.h"
#include "util/mem.h"
#include "util/order.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN 64u

static int no_memory(const struct mp_bound *m)
{
	return group_error(m->sm.b.group, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
}

/* ---- this rank's messages ---- */

static int by_peer(const void *a, const void *b)
{
	const struct mp_msg *x = a, *y = b;

	ORDER_BY(x->peer, y->peer);
	ORDER_BY(x->send, y->send);
	ORDER_BY(x->tag, y->tag);
	return (x->k > y->k) - (x->k < y->k);
}

static bool same_channel(const struct mp_msg *a, const struct mp_msg *b)
{
	return a->peer == b->peer && a->send == b->send && a->tag == b->tag;
}

static uint32_t add_hash(uint32_t hash, uint64_t value)
{
	const uint64_t x = (hash ^ value) * 0x9e3779b97f4a7c15u;

	return (uint32_t)(x >> 32) + hash * 31;
}

static int list_messages(struct mp_bound *m)
{
	const struct be_bind *b = &m->sm.b;
	uint32_t n = 0;

	m->msgs = mem_calloc(m->nmsgs, sizeof *m->msgs);
	m->links = mem_calloc(m->nmsgs, sizeof *m->links); /* as many as needed at most */
	if (!m->msgs || !m->links)
		return no_memory(m);
	for (uint32_t i = 0; i < b->nops; i++)
		if (m->sm.msgs[i].network)
			m->msgs[n++] = (struct mp_msg){ .peer = b->ops[i].peer,
							.tag = b->ops[i].tag,
							.k = i, /* in program order; numbered below */
							.op = i,
							.bytes = b->ops[i].len * b->layout->basic,
							.send = bin_sends(b->ops[i].kind) };
	qsort(m->msgs, n, sizeof *m->msgs, by_peer);
	for (uint32_t i = 0; i < n; i++) {
		struct mp_msg *x = &m->msgs[i];
		struct mp_link *l;

		x->k = i && same_channel(x - 1, x) ? x[-1].k + 1 : 0;
		if (!i || x[-1].peer != x->peer)
			m->links[m->nlinks++] = (struct mp_link){ .mine.peer = x->peer, .first = i };
		x->link = m->nlinks - 1;
		l = &m->links[x->link];
		l->mine.nsends += x->send;
		l->mine.nrecvs += !x->send;
		l->mine.channels[x->send] = add_hash(l->mine.channels[x->send], (uint64_t)x->tag << 32 | x->k);
		l->mine.sizes[x->send] = add_hash(l->mine.sizes[x->send], x->bytes);
		m->nrecvs += !x->send;
	}
	return 0;
}

/* True if a message's bytes go through a slot: they are scattered, or an operand of a reduction. */
static bool needs_slot(const struct mp_bound *m, const struct mp_msg *x)
{
	return x->bytes && (!m->sm.b.layout->contiguous || bin_reduces(m->sm.b.ops[x->op].kind));
}

/* Allocates the slots, and counts the handles. */
static int make_slots(struct mp_bound *m)
{
	const size_t most = m->transport->most_bytes;
	size_t size = 0, at = 0;

	for (uint32_t i = 0; i < m->nmsgs; i++)
		size += needs_slot(m, &m->msgs[i]) ? (m->msgs[i].bytes + ALIGN - 1) / ALIGN * ALIGN : 0;
	m->slots = size ? aligned_alloc(ALIGN, size) : NULL;
	if (size && !m->slots)
		return no_memory(m);
	for (uint32_t i = 0; i < m->nmsgs; i++) {
		struct mp_msg *x = &m->msgs[i];

		if (x->bytes / most >= UINT32_MAX / 2)
			return group_error(m->sm.b.group, -ERR_RANGE, "op %u moves too many bytes", x->op);
		x->nparts = x->bytes ? (uint32_t)((x->bytes - 1) / most + 1) : 1;
		x->odd = x->send && !m->links[x->link].mine.nrecvs ? x->nparts : 0;
		x->handle = m->nhandles;
		m->nhandles += x->nparts + x->odd;
		if (needs_slot(m, x)) {
			x->slot = m->slots + at;
			at += (x->bytes + ALIGN - 1) / ALIGN * ALIGN;
		}
	}
	m->handles = mem_calloc(m->nhandles, sizeof *m->handles);
	return m->handles ? 0 : no_memory(m);
}

int mp_prepare(struct mp_bound *m)
{
	const struct be_bind *b = &m->sm.b;
	int err;

	for (uint32_t i = 0; i < b->nops; i++) {
		m->nmsgs += m->sm.msgs[i].network;
		m->nmemory += bin_sends(b->ops[i].kind) && b->ops[i].peer != b->rank && !m->sm.msgs[i].network;
	}
	if (!m->nmsgs)
		return 0;
	if (!group_transport(b->group))
		return group_error(b->group, -ERR_UNSUPPORTED,
				   "the backend mpi needs a transport, which programs of MPI set: MPIX_Sched_group_set_transport");
	m->transport = &group_transport(b->group)->of;
	err = list_messages(m);
	err = err ? err : make_slots(m);
	if (err || !m->nrecvs)
		return err;
	err = mp_take_tags(b->group, m->nrecvs, &m->tag);
	m->tagged = !err;
	for (uint32_t l = 0, tag = m->tag; l < m->nlinks; tag += m->links[l++].mine.nrecvs)
		m->links[l].mine.tag = tag;
	return err;
}

/* ---- the peers ---- */

#define MOST (GROUP_RECORD / sizeof(struct mp_pair) - 1) /* pairs in a round */

struct round {
	uint32_t n, zero; /* n: pairs of the rank, in all rounds */
	struct mp_pair pairs[MOST];
};

/* Takes what a peer has sent in a round that begins with pair `from`. */
static void hear_round(const struct mp_bound *m, struct mp_link *l, const struct round *r, uint32_t from)
{
	for (uint32_t i = 0; i < MOST && from + i < r->n; i++)
		if (r->pairs[i].peer == m->sm.b.rank) {
			l->theirs = r->pairs[i];
			l->known = true;
		}
}

static int exchange_pairs(struct mp_bound *m)
{
	struct be_group *g = m->sm.b.group;
	const struct round *all = group_room(g);
	uint32_t most = 1;
	int rc = 0;

	for (uint32_t from = 0; from < most && !rc; from += MOST) {
		struct round mine = { .n = m->nlinks };

		for (uint32_t i = 0; i < MOST && from + i < m->nlinks; i++)
			mine.pairs[i] = m->links[from + i].mine;
		rc = group_allgather(g, &mine, sizeof mine, group_room(g));
		for (uint32_t r = 0; r < m->sm.b.size && !rc; r++)
			most = all[r].n > most ? all[r].n : most;
		for (uint32_t i = 0; i < m->nlinks && !rc; i++)
			hear_round(m, &m->links[i], &all[m->links[i].mine.peer], from);
	}
	return rc;
}

static int check_link(const struct mp_bound *m, const struct mp_link *l)
{
	const struct mp_pair *a = &l->mine, *b = &l->theirs;
	struct be_group *g = m->sm.b.group;

	if (a->nsends != b->nrecvs || a->nrecvs != b->nsends)
		return group_error(g, -ERR_UNMATCHED, "%u sends to rank %u and %u recvs from it have %u and %u partners",
				   a->nsends, a->peer, a->nrecvs, b->nrecvs, b->nsends);
	if (a->channels[0] != b->channels[1] || a->channels[1] != b->channels[0])
		return group_error(g, -ERR_UNMATCHED, "a message %s rank %u has no partner with its tag",
				   a->channels[1] != b->channels[0] ? "to" : "from", a->peer);
	if (a->sizes[0] != b->sizes[1] || a->sizes[1] != b->sizes[0])
		return group_error(g, -ERR_MISMATCH, "a message %s rank %u has another size there",
				   a->sizes[1] != b->sizes[0] ? "to" : "from", a->peer);
	return 0;
}

/* ---- the transport's messages ---- */

/* Makes the handles of one message, and stores them from *out on. */
static int make_message(const struct mp_bound *m, const struct mp_msg *x, char *at, uint32_t tag, void **out)
{
	const struct MPIX_Sched_transport *t = m->transport;
	const int peer = group_transport_rank(m->sm.b.group, x->peer);
	int err = 0;

	for (uint32_t i = 0; i < x->nparts + x->odd && !err; i++) {
		const uint64_t from = (uint64_t)(i % x->nparts) * t->most_bytes;
		const size_t n = x->bytes - from < t->most_bytes ? x->bytes - from : t->most_bytes;
		char *part = x->bytes ? at + from : NULL;

		err = x->send ? t->send_init(t->state, part, n, peer, tag, i >= x->nparts, &out[i]) :
				t->recv_init(t->state, part, n, peer, tag, &out[i]);
	}
	return err ? group_error(m->sm.b.group, -ERR_SYS, "the transport reports error %d for op %u", err, x->op) : 0;
}

/* Makes the handles of all messages for these buffers; `all`: also of those that use slots. */
static int make_messages(const struct mp_bound *m, const struct be_buffer *buffers, bool all, void **out)
{
	int err = 0;

	for (uint32_t i = 0; i < m->nmsgs && !err; i++) {
		const struct mp_msg *x = &m->msgs[i];
		const struct mp_link *l = &m->links[x->link];
		const struct bin_op *o = &m->sm.b.ops[x->op];
		const uint32_t nth = i - l->first;
		const uint32_t tag = x->send ? l->theirs.tag + (nth - l->mine.nrecvs) : l->mine.tag + nth;
		char *at = x->slot ? x->slot : buffers[o->buf[0]].ptr + o->off[0] * m->sm.b.layout->basic;

		if (all || !x->slot)
			err = make_message(m, x, at, tag, out + x->handle);
	}
	return err;
}

static void free_messages(const struct mp_bound *m, void **handles)
{
	for (size_t i = 0; handles && i < m->nhandles; i++)
		if (handles[i])
			m->transport->free(m->transport->state, handles[i]);
}

int mp_connect(struct mp_bound *m)
{
	struct be_group *g = m->sm.b.group;
	int rc = exchange_pairs(m), err = 0;

	if (rc)
		return rc;
	for (uint32_t i = 0; i < m->nlinks && !err; i++)
		err = check_link(m, &m->links[i]);
	if (!err && m->nmsgs)
		err = make_messages(m, m->sm.b.buffers, true, m->handles);
	for (uint32_t i = 0; i < m->nmsgs; i++)
		m->sm.dispatcher.todo[m->msgs[i].op] = (struct dispatch_do){ mp_how, &m->msgs[i] };
	m->counted[BE_LINKS] = m->nlinks;
	return group_agree(g, err);
}

void mp_disconnect(struct mp_bound *m)
{
	bool open = false;

	for (uint32_t i = 0; m->msgs && i < m->nmsgs; i++)
		open |= m->msgs[i].begun;
	free_messages(m, m->handles);
	/* The transport may still use the slots if the request has failed. So they stay allocated then, and so do the tags. */
	if (!open)
		free(m->slots);
	if (m->tagged && !open)
		mp_give_tags(m->sm.b.group, m->tag);
	free(m->handles);
	free(m->links);
	free(m->msgs);
}

int mp_rebind(struct be_bound *bound, const struct be_buffer *buffers)
{
	struct mp_bound *m = (struct mp_bound *)bound;
	void **next;
	int err;

	if (!m->nmsgs)
		return sm_rebind(&m->sm, buffers);
	next = mem_calloc(m->nhandles, sizeof *next);
	if (!next)
		return no_memory(m);
	err = make_messages(m, buffers, false, next);
	err = err ? err : sm_rebind(&m->sm, buffers);
	for (uint32_t i = 0; i < m->nmsgs && !err; i++)
		if (m->msgs[i].slot) { /* they stay */
			const struct mp_msg *x = &m->msgs[i];

			memcpy(next + x->handle, m->handles + x->handle, (x->nparts + x->odd) * sizeof *next);
			memset(m->handles + x->handle, 0, (x->nparts + x->odd) * sizeof *next);
		}
	free_messages(m, err ? next : m->handles);
	free(err ? next : m->handles);
	m->handles = err ? m->handles : next;
	return err;
}
