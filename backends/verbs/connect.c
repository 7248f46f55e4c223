/* SPDX-License-Identifier: BSD-3-Clause
 * Connecting. All ranks exchange which pairs of ranks have links, a few pairs per round. Then the two ends of each link
 * are connected, and each reads the other's table of message descriptors by RDMA. */
#include "backends/services.h"
#include "backends/verbs/vb.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/mem.h"
#include "util/order.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define LINE 64u

/* Description of a link on a lane, which a rank sends to the peer. */
struct vb_pair {
	uint32_t peer;
	uint32_t qpn : 24, lane : 8;
	uint32_t first, n; /* range of the link's messages in the rank's table */
};

/* Descriptor of one message, which the peer reads at bind. Descriptors are sorted by (peer, lane, send, tag, k). */
struct vb_desc {
	uint32_t peer, tag, k; /* k: number of the message in its channel */
	uint32_t number; /* the message's number in immediates */
	uint32_t op;
	uint32_t rkey;
	uint64_t bytes;
	uint64_t address; /* recv: address of its buffer or slots; send: address of its struct vb_target */
	uint8_t send;
	uint8_t ready; /* recv: enum vb_ready */
	uint8_t lane;
	uint8_t zero[5];
};

/* Data needed only while a request is bound. */
struct exchange {
	/* descriptors of this rank's messages, and of the peers' ends of them; equally many */
	struct vb_desc *table, *theirs;
	struct vb_contact mine;
	struct peer {
		struct vb_contact host;
		struct vb_pair pair;
		bool known;
	} *peers; /* the peer of each link */
};

static size_t round_to_line(size_t n)
{
	return (n + LINE - 1) / LINE * LINE;
}

/* ---- the messages ---- */

static int by_peer(const void *a, const void *b)
{
	const struct vb_desc *x = a, *y = b;

	ORDER_BY(x->peer, y->peer);
	ORDER_BY(x->lane, y->lane);
	ORDER_BY(x->send, y->send);
	ORDER_BY(x->tag, y->tag);
	return (x->k > y->k) - (x->k < y->k);
}

static int no_memory(const struct vb_bound *v)
{
	return group_error(v->sm.b.group, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
}

/* Returns the condition under which the peer may send a recv's message. A signal is needed unless the schedule alone
 * ensures the order. */
static enum vb_ready ready_of(const struct vb_bound *v, const struct vb_desc *e)
{
	if (v->sm.b.safe && v->sm.b.safe[e->op])
		return VB_FREE;
	return e->bytes > VB_FEW ? VB_NOW : VB_LATE;
}

static bool same_channel(const struct vb_desc *a, const struct vb_desc *b)
{
	return a->peer == b->peer && a->send == b->send && a->tag == b->tag;
}

/* Numbers the messages of each channel, and assigns each a lane. If the schedule names nics, the message's op names the
 * lane. Otherwise the messages from one rank to another take the lanes in turn, in the order of tag and number. In most
 * trees a rank has one message for each peer, and the numbers of the two ranks differ by powers of two. The first lane
 * therefore depends on that difference, so that different peers use different lanes. */
static void set_lanes(const struct vb_bound *v, struct vb_desc *table, uint32_t n)
{
	const bool named = v->nlanes > 1 && bin_names_nics(v->sm.b.bin);
	uint32_t nth = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct vb_desc *e = &table[i];

		e->k = i && same_channel(e - 1, e) ? e[-1].k + 1 : 0;
		nth = i && e[-1].peer == e->peer && e[-1].send == e->send ? nth + 1 :
										  31 - (uint32_t)__builtin_clz(v->sm.b.rank ^ e->peer);
		e->lane = (uint8_t)((named ? v->sm.b.ops[e->op].nic : nth) % v->nlanes);
	}
}

/* Lists the network messages in the order in which peers will read them. */
static int list_messages(struct vb_bound *v, struct exchange *m)
{
	const struct be_bind *b = &v->sm.b;
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->nops; i++)
		v->nmsgs += v->sm.msgs[i].network;
	if (v->nmsgs >= VB_MESSAGES)
		return group_error(b->group, -ERR_RANGE, "%u messages are too many", v->nmsgs);
	v->msgs = mem_calloc(v->nmsgs, sizeof *v->msgs);
	m->table = mem_calloc(2 * (size_t)v->nmsgs, sizeof *m->table);
	if (!v->msgs || !m->table)
		return no_memory(v);
	m->theirs = m->table + v->nmsgs;
	for (uint32_t i = 0; i < b->nops; i++)
		if (v->sm.msgs[i].network)
			m->table[n++] = (struct vb_desc){ .peer = b->ops[i].peer,
							  .tag = b->ops[i].tag,
							  .k = i, /* in program order; set_lanes numbers it */
							  .op = i,
							  .bytes = b->ops[i].len * b->layout->basic,
							  .send = bin_sends(b->ops[i].kind) };
	qsort(m->table, n, sizeof *m->table, by_peer);
	set_lanes(v, m->table, n);
	if (v->nlanes > 1)
		qsort(m->table, n, sizeof *m->table, by_peer);
	for (uint32_t i = 0; i < n; i++) {
		struct vb_desc *e = &m->table[i];

		e->number = i;
		v->nlinks += !i || e[-1].peer != e->peer || e[-1].lane != e->lane;
		v->msgs[i].op = e->op;
		v->msgs[i].send = e->send;
		v->msgs[i].bytes = e->bytes;
		v->msgs[i].stride = e->bytes <= VB_FEW ? (uint32_t)round_to_line(e->bytes) : 0;
		if (!e->send)
			v->msgs[i].ready = e->ready = ready_of(v, e);
	}
	return 0;
}

static uint32_t count_requests(const struct vb_dev *d, uint64_t bytes)
{
	const uint64_t most = d->port.max_msg_sz;

	return bytes ? (uint32_t)((bytes + most - 1) / most) : 1;
}

/* Makes the link for the messages from number *at on, and advances *at to those of the next link. */
static int make_link(struct vb_bound *v, const struct exchange *m, uint32_t *at, struct vb_link *l)
{
	const struct vb_desc *e = &m->table[*at];
	struct vb_dev *d = v->nics->dev[e->lane];
	uint64_t wrs = 0, signalled = 0, arrivals = 0;

	v->lanes[e->lane].dev = d;
	l->of = v;
	l->first_msg = *at;
	l->peer = e->peer;
	l->lane = e->lane;
	for (; *at < v->nmsgs && e->peer == l->peer && e->lane == l->lane; ++*at, e++) {
		struct vb_msg *x = &v->msgs[*at];

		if (x->bytes / d->port.max_msg_sz > UINT32_MAX / 4)
			return group_error(v->sm.b.group, -ERR_RANGE, "op %u moves too many bytes", x->op);
		x->link = l;
		x->nwrs = x->send ? count_requests(d, x->bytes) : x->ready != VB_FREE;
		v->nwrs += x->nwrs;
		wrs += x->nwrs;
		signalled += x->send;
		/* arrivals of the message itself, or of ready signals for it */
		arrivals += !x->send && x->ready == VB_LATE ? VB_SLOTS : VB_COMING;
	}
	l->nmsgs = *at - l->first_msg;
	return vb_link_make(v, l, d, wrs, signalled, arrivals);
}

static int make_links(struct vb_bound *v, struct exchange *m)
{
	uint32_t at = 0;
	int err = 0;

	v->links = mem_calloc(v->nlinks, sizeof *v->links);
	m->peers = mem_calloc(v->nlinks, sizeof *m->peers);
	if (!v->links || !m->peers)
		return no_memory(v);
	for (uint32_t i = 0; i < v->nlinks && !err; i++) {
		v->links[i] = mem_calloc(1, sizeof *v->links[i]);
		err = v->links[i] ? make_link(v, m, &at, v->links[i]) : no_memory(v);
	}
	return err;
}

/* ---- memory ---- */

/* True if the device reads or writes a message's bytes in the user's buffer. */
static bool in_place(const struct vb_msg *x)
{
	return x->bytes && !x->inlines && !x->slot;
}

/* Returns the bytes of a message's slots on this rank. */
static size_t slot_bytes(const struct vb_bound *v, const struct vb_msg *x)
{
	if (!x->send && x->stride)
		return VB_SLOTS * (size_t)x->stride;
	return !v->sm.b.layout->contiguous || bin_reduces(v->sm.b.ops[x->op].kind) ? round_to_line(x->bytes) : 0;
}

/* Allocates and registers the targets of all messages, and their slots. */
static int make_arena(struct vb_bound *v)
{
	size_t at = round_to_line(v->nmsgs * sizeof(struct vb_target));

	v->narena = at;
	for (uint32_t i = 0; i < v->nmsgs; i++)
		v->narena += slot_bytes(v, &v->msgs[i]);
	v->arena = aligned_alloc(LINE, v->narena);
	if (!v->arena)
		return no_memory(v);
	memset(v->arena, 0, v->narena);
	for (uint32_t i = 0; i < v->nmsgs; i++) {
		struct vb_msg *x = &v->msgs[i];
		const size_t bytes = slot_bytes(v, x);

		x->target = (struct vb_target *)(void *)v->arena + i;
		x->slot = bytes ? v->arena + at : NULL;
		at += bytes;
	}
	for (uint32_t i = 0; i < v->nlanes; i++) {
		struct vb_lane *lane = &v->lanes[i];

		if (!lane->dev)
			continue;
		lane->arena = vb_dev_register(v->sm.b.group, lane->dev, v->arena, v->narena,
					      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, "slots for messages");
		if (!lane->arena)
			return -ERR_NOMEM;
	}
	return 0;
}

/* Returns a lane's region of a buffer. */
static struct vb_region *lane_region(const struct vb_bound *v, struct vb_region *regions, uint32_t lane, uint32_t buf)
{
	return &regions[lane * v->nbufs + buf];
}

/* Finds the ranges of the buffers that have to be registered. */
static int find_regions(struct vb_bound *v)
{
	for (uint32_t i = 0; i < v->nmsgs; i++) {
		const uint32_t buf = v->sm.b.ops[v->msgs[i].op].buf[0];

		v->nbufs = buf >= v->nbufs ? buf + 1 : v->nbufs;
	}
	v->nregions = v->nlanes * v->nbufs;
	v->regions = mem_calloc(v->nregions, sizeof *v->regions);
	if (!v->regions)
		return no_memory(v);
	for (uint32_t i = 0; i < v->nmsgs; i++) {
		struct vb_msg *x = &v->msgs[i];
		const struct bin_op *o = &v->sm.b.ops[x->op];
		struct vb_region *r = lane_region(v, v->regions, x->link->lane, o->buf[0]);
		const uint64_t at = o->off[0] * v->sm.b.layout->basic;

		x->inlines = x->send && x->bytes <= x->link->inlines;
		if (!in_place(x))
			continue;
		r->low = r->high && r->low < at ? r->low : at;
		r->high = r->high > at + x->bytes ? r->high : at + x->bytes;
		r->written |= !x->send;
	}
	return 0;
}

static void drop_regions(struct vb_bound *v, struct vb_region *r)
{
	for (uint32_t i = 0; r && i < v->nregions; i++)
		if (r[i].mr)
			v->nics->lib.dereg_mr(r[i].mr);
}

/* Registers the parts of the buffers that the regions describe. On an error none stays registered. */
static int register_regions(struct vb_bound *v, const struct be_buffer *buffers, struct vb_region *to)
{
	int err = 0;

	for (uint32_t i = 0; i < v->nregions; i++)
		to[i].mr = NULL;
	for (uint32_t i = 0; i < v->nregions && !err; i++) {
		const int access = to[i].written ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0;

		if (to[i].high == to[i].low)
			continue;
		to[i].mr = vb_dev_register(v->sm.b.group, v->lanes[i / v->nbufs].dev, buffers[i % v->nbufs].ptr + to[i].low,
					   to[i].high - to[i].low, access, "a buffer");
		err = to[i].mr ? 0 : -ERR_NOMEM;
	}
	if (err) {
		drop_regions(v, to);
		for (uint32_t i = 0; i < v->nregions; i++)
			to[i].mr = NULL;
	}
	return err;
}

/* Returns the address of a message's bytes on this rank, and the memory region that contains it. */
static char *message_address(const struct vb_bound *v, const struct vb_msg *x, const struct be_buffer *buffers,
			     struct ibv_mr **mr)
{
	const struct bin_op *o = &v->sm.b.ops[x->op];

	*mr = x->slot ? v->lanes[x->link->lane].arena :
	      x->bytes ? lane_region(v, v->regions, x->link->lane, o->buf[0])->mr : NULL;
	if (x->slot || !x->bytes)
		return x->slot;
	return buffers[o->buf[0]].ptr + o->off[0] * v->sm.b.layout->basic;
}

/* Sets the addresses of all messages to the addresses in `buffers`. */
static void set_addresses(struct vb_bound *v, const struct be_buffer *buffers)
{
	for (uint32_t i = 0; i < v->nmsgs; i++) {
		struct vb_msg *x = &v->msgs[i];
		struct ibv_mr *mr;
		char *at = message_address(v, x, buffers, &mr);
		uint64_t left = x->bytes;

		if (!x->send)
			*x->target = (struct vb_target){ .address = (uint64_t)(uintptr_t)at, .rkey = mr ? mr->rkey : 0 };
		for (uint32_t k = 0; k < x->nwrs && x->send && x->bytes; k++) {
			const uint64_t n = left < x->link->dev->port.max_msg_sz ? left : x->link->dev->port.max_msg_sz;

			x->sges[k] = (struct ibv_sge){ (uint64_t)(uintptr_t)at + (x->bytes - left), (uint32_t)n, mr ? mr->lkey : 0 };
			left -= n;
		}
	}
}

/* ---- the exchange ---- */

#define FIRST ((GROUP_RECORD - sizeof(struct vb_contact)) / sizeof(struct vb_pair)) /* pairs in the first round */
#define MORE (GROUP_RECORD / sizeof(struct vb_pair)) /* pairs in each further round */

struct first {
	struct vb_contact host;
	struct vb_pair pairs[FIRST];
};

/* Fills in the pairs that this rank sends in one round of the exchange. */
static void send_pairs(const struct vb_bound *v, uint32_t from, uint32_t most, struct vb_pair *out)
{
	for (uint32_t i = 0; i < most && from + i < v->nlinks; i++) {
		const struct vb_link *l = v->links[from + i];

		out[i] = (struct vb_pair){ l->peer, l->qp->qp_num & 0xffffff, l->lane & 0xff, l->first_msg, l->nmsgs };
	}
}

/* Looks for the link to this rank among the pairs that a peer has sent. */
static void hear_pairs(const struct vb_bound *v, struct peer *p, uint32_t lane, const struct vb_pair *pairs, uint32_t n)
{
	for (uint32_t i = 0; i < n && !p->known; i++)
		if (pairs[i].peer == v->sm.b.rank && pairs[i].lane == lane) {
			p->pair = pairs[i];
			p->known = true;
		}
}

static int exchange_pairs(struct vb_bound *v, struct exchange *m, int err, uint32_t *most)
{
	struct be_group *g = v->sm.b.group;
	struct first mine = { .host = m->mine }, *all = group_room(g);
	int rc;

	mine.host.err = err;
	if (!err) {
		mine.host.npairs = v->nlinks;
		send_pairs(v, 0, FIRST, mine.pairs);
	}
	rc = group_allgather(g, &mine, sizeof mine, all);
	*most = 0;
	for (uint32_t r = 0; r < v->sm.b.size && !rc; r++) {
		if (all[r].host.err)
			return group_agree(g, err);
		*most = all[r].host.npairs > *most ? all[r].host.npairs : *most;
	}
	for (uint32_t i = 0; i < v->nlinks && !rc; i++) {
		const struct first *f = &all[v->links[i]->peer];

		m->peers[i].host = f->host;
		hear_pairs(v, &m->peers[i], v->links[i]->lane, f->pairs, f->host.npairs < FIRST ? f->host.npairs : FIRST);
	}
	for (uint32_t at = FIRST; at < *most && !rc; at += MORE) {
		struct vb_pair pairs[MORE] = { 0 }, (*room)[MORE] = group_room(g);

		send_pairs(v, at, MORE, pairs);
		rc = group_allgather(g, pairs, sizeof pairs, room);
		for (uint32_t i = 0; i < v->nlinks && !rc; i++) {
			const uint32_t n = m->peers[i].host.npairs;

			if (n > at)
				hear_pairs(v, &m->peers[i], v->links[i]->lane, room[v->links[i]->peer],
					   n - at < MORE ? n - at : MORE);
		}
	}
	return rc;
}

/* Returns an addition to an error message, for the case that the two ends of a message name different nics. */
static const char *same_nic(const struct vb_bound *v)
{
	return v->nlanes > 1 ? " on the same nic" : "";
}

static int connect_links(struct vb_bound *v, const struct exchange *m)
{
	int err = 0;

	for (uint32_t i = 0; i < v->nlinks && !err; i++) {
		const struct peer *p = &m->peers[i];
		struct vb_link *l = v->links[i];

		if (!p->known || p->pair.n != l->nmsgs)
			err = group_error(v->sm.b.group, -ERR_UNMATCHED, "%u messages with rank %u have %u partners%s", l->nmsgs,
					  l->peer, p->known ? p->pair.n : 0, same_nic(v));
		else
			err = vb_link_connect(v, l, &m->mine, &p->host, p->pair.qpn);
	}
	return err;
}

/* Reads the tables of all peers at the same time. */
static int read_tables(struct vb_bound *v, const struct exchange *m)
{
	struct be_group *g = v->sm.b.group;
	int err = 0;

	for (uint32_t i = 0; i < v->nlinks && !err; i++) {
		struct vb_link *l = v->links[i];
		const struct peer *p = &m->peers[i];
		struct ibv_sge to = { (uint64_t)(uintptr_t)&m->theirs[l->first_msg], l->nmsgs * sizeof(struct vb_desc),
				      v->lanes[l->lane].table->lkey };
		struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ, .sg_list = &to, .num_sge = 1 };

		if (l->nmsgs > l->dev->port.max_msg_sz / sizeof(struct vb_desc))
			return group_error(g, -ERR_RANGE, "%u messages with rank %u are too many", l->nmsgs, l->peer);
		wr.wr.rdma.remote_addr = p->host.table + p->pair.first * sizeof(struct vb_desc);
		wr.wr.rdma.rkey = p->host.port[l->lane].rkey;
		vb_link_add(l, &wr, VB_LINK);
		err = vb_link_flush(g, l);
	}
	for (uint32_t i = 0; i < v->nlinks && !err; i++)
		err = vb_link_drain(g, v->links[i]);
	return err;
}

/* ---- matching ---- */

/* Builds the work requests of a message whose other end is known. */
static void build_requests(struct vb_msg *x, const struct vb_desc *other)
{
	const uint32_t imm = x->send ? other->number : VB_READY | other->number;

	for (uint32_t k = 0; k < x->nwrs; k++)
		x->wrs[k] = (struct ibv_send_wr){
			.opcode = k + 1 < x->nwrs ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM,
			.imm_data = htonl(imm),
			.sg_list = &x->sges[k],
			.num_sge = x->send && x->bytes,
			.send_flags = x->inlines ? IBV_SEND_INLINE : 0,
		};
}

static int match_partners(struct vb_bound *v, const struct exchange *m)
{
	for (uint32_t i = 0; i < v->nmsgs; i++) {
		const struct vb_desc *e = &m->table[i], *other;
		struct vb_msg *x = &v->msgs[i];
		const struct vb_desc key = { .peer = v->sm.b.rank, .lane = e->lane, .send = !e->send, .tag = e->tag, .k = e->k };
		const char *verb = e->send ? "send to" : "recv from";

		other = bsearch(&key, m->theirs + x->link->first_msg, x->link->nmsgs, sizeof key, by_peer);
		if (!other)
			return group_error(v->sm.b.group, -ERR_UNMATCHED, "op %u, a %s rank %u with tag %u, has no partner%s",
					   e->op, verb, e->peer, e->tag, same_nic(v));
		if (other->bytes != e->bytes)
			return group_error(v->sm.b.group, -ERR_MISMATCH, "op %u, a %s rank %u, has %llu bytes, its partner %llu",
					   e->op, verb, e->peer, (unsigned long long)e->bytes, (unsigned long long)other->bytes);
		if (e->send) {
			*x->target = (struct vb_target){ .address = other->address, .rkey = other->rkey };
			x->ready = other->ready;
		} else {
			x->cell = (struct vb_target){ .address = other->address, .rkey = other->rkey };
		}
		build_requests(x, other);
	}
	return 0;
}

/* Registers the table for reading by peers, and fills in the data that they need for reading. */
static int open_table(struct vb_bound *v, struct exchange *m)
{
	m->mine = (struct vb_contact){ .table = (uint64_t)(uintptr_t)m->table, .salt = (uint32_t)clock_now_ns() & 0xffffff };
	for (uint32_t i = 0; i < v->nlanes; i++) {
		struct vb_lane *lane = &v->lanes[i];

		if (!lane->dev)
			continue;
		lane->table = vb_dev_register(v->sm.b.group, lane->dev, m->table, 2 * v->nmsgs * sizeof *m->table,
					      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, "the table of messages");
		if (!lane->table)
			return -ERR_NOMEM;
		m->mine.port[i] = (struct vb_port){ .gid = lane->dev->gid,
						    .rkey = lane->table->rkey,
						    .lid = lane->dev->port.lid,
						    .mtu = (uint8_t)lane->dev->port.active_mtu,
						    .lids = lane->dev->gid_index < 0 };
	}
	return 0;
}

static void close_table(struct vb_bound *v, struct exchange *m)
{
	for (uint32_t i = 0; i < v->nlanes; i++)
		if (v->lanes[i].table)
			v->nics->lib.dereg_mr(v->lanes[i].table);
	free(m->table);
}

/* Does the part of binding for which this rank needs only the number of lanes from the others. */
static int prepare_own(struct vb_bound *v, struct exchange *m)
{
	uint64_t at = 0;
	int err;

	if (!v->nics)
		return 0;
	err = list_messages(v, m);
	err = err ? err : make_links(v, m);
	err = err ? err : make_arena(v);
	err = err ? err : find_regions(v);
	err = err ? err : register_regions(v, v->sm.b.buffers, v->regions);
	if (err)
		return err;
	v->wrs = mem_calloc(v->nwrs, sizeof *v->wrs);
	v->sges = mem_calloc(v->nwrs, sizeof *v->sges);
	if (!v->wrs || !v->sges)
		return no_memory(v);
	for (uint32_t i = 0; i < v->nmsgs; at += v->msgs[i++].nwrs) {
		v->msgs[i].wrs = v->wrs + at;
		v->msgs[i].sges = v->sges + at;
	}
	set_addresses(v, v->sm.b.buffers);
	for (uint32_t i = 0; i < v->nmsgs; i++) {
		const struct vb_msg *x = &v->msgs[i];

		m->table[i].address = x->send ? (uint64_t)(uintptr_t)x->target : x->target->address;
		m->table[i].rkey = x->send ? v->lanes[x->link->lane].arena->rkey : x->target->rkey;
	}
	return open_table(v, m);
}

/* Counts the memory of the links. The size of a work request in the device's queue is unknown; that of our own is used
 * instead. */
static void count_memory(struct vb_bound *v)
{
	uint64_t bytes = v->narena + v->nmsgs * sizeof *v->msgs + v->nwrs * (sizeof *v->wrs + sizeof *v->sges);

	for (uint32_t i = 0; i < v->nlinks; i++)
		bytes += sizeof *v->links[i] +
			 v->links[i]->depth * (sizeof *v->wrs + sizeof *v->sges + v->links[i]->inlines) +
			 v->links[i]->cqes * sizeof(struct ibv_wc) + v->links[i]->recvs * sizeof(struct ibv_recv_wr);
	v->counted[BE_LINKS] = v->nlinks;
	v->counted[BE_LINK_BYTES] = bytes;
	vb_flush(v);
}

int vb_connect(struct vb_bound *v)
{
	struct be_group *g = v->sm.b.group;
	struct exchange m = { 0 };
	uint32_t most;
	int rc = exchange_pairs(v, &m, prepare_own(v, &m), &most);

	if (!rc && most) {
		rc = group_agree(g, connect_links(v, &m));
		if (!rc) {
			int err = read_tables(v, &m);

			rc = group_agree(g, err ? err : match_partners(v, &m));
		}
	}
	for (uint32_t i = 0; i < v->nmsgs && !rc; i++)
		v->sm.dispatcher.todo[v->msgs[i].op] =
			(struct dispatch_do){ v->msgs[i].send ? vb_how_send : vb_how_recv, &v->msgs[i] };
	v->connected = !rc;
	if (!rc)
		count_memory(v);
	close_table(v, &m);
	free(m.peers);
	return rc;
}

void vb_disconnect(struct vb_bound *v)
{
	uint32_t at = 0;
	bool failed;

	if (!v->nics)
		return;
	failed = !v->connected || v->failed || group_lost(v->sm.b.group) ||
		 dispatch_next_active(&v->sm.dispatcher, &at) != UINT32_MAX;
	for (uint32_t i = 0; v->links && i < v->nlinks; i++) {
		struct vb_link *l = v->links[i];

		if (l && l->qp)
			vb_link_leave(l, failed);
		else
			free(l);
	}
	drop_regions(v, v->regions);
	for (uint32_t i = 0; i < v->nlanes; i++)
		if (v->lanes[i].arena)
			v->nics->lib.dereg_mr(v->lanes[i].arena);
	free(v->arena);
	free(v->regions);
	free(v->links);
	free(v->msgs);
	free(v->wrs);
	free(v->sges);
}

/* ---- rebinding ---- */

/* Sends the new destinations of a peer's sends to that peer. They arrive after everything posted before. */
static int send_targets(struct vb_bound *v, struct vb_link *l)
{
	struct be_group *g = v->sm.b.group;
	int err = 0;

	for (uint32_t i = l->first_msg; i < l->first_msg + l->nmsgs && !err; i++) {
		const struct vb_msg *x = &v->msgs[i];
		struct ibv_sge from = { (uint64_t)(uintptr_t)x->target, sizeof *x->target, v->lanes[l->lane].arena->lkey };
		struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &from, .num_sge = 1 };

		if (x->send || x->slot || !x->bytes)
			continue;
		if (!vb_link_fits(l))
			err = vb_link_drain(g, l);
		if (err)
			break;
		wr.wr.rdma.remote_addr = x->cell.address;
		wr.wr.rdma.rkey = x->cell.rkey;
		vb_link_add(l, &wr, VB_LINK);
		err = vb_link_flush(g, l);
	}
	return err;
}

int vb_rebind(struct be_bound *bound, const struct be_buffer *buffers)
{
	struct vb_bound *v = (struct vb_bound *)bound;
	struct vb_region *next = mem_calloc(v->nregions, sizeof *next);
	int err;

	if (!next)
		return no_memory(v);
	if (v->nregions)
		memcpy(next, v->regions, v->nregions * sizeof *next);
	err = register_regions(v, buffers, next);
	err = err ? err : sm_rebind(&v->sm, buffers);
	if (err) {
		drop_regions(v, next);
		free(next);
		return err;
	}
	drop_regions(v, v->regions);
	free(v->regions);
	v->regions = next;
	set_addresses(v, buffers);
	for (uint32_t i = 0; i < v->nlinks && !err; i++)
		err = send_targets(v, v->links[i]);
	for (uint32_t i = 0; i < v->nlinks && !err; i++)
		err = vb_link_drain(v->sm.b.group, v->links[i]);
	v->failed |= err != 0;
	return err;
}
