/* SPDX-License-Identifier: BSD-3-Clause
 * shm: messages over shared memory. Read from the bottom up.
 *
 * Each rank has one block (struct sm_head) per request in its heap. It publishes its messages there, so that
 * the two ends of a channel find each other at bind time; and it holds the words that others write:
 *
 *   eager    the sender stores payload and sequence number into slot epoch & 1 of the receiver; it may do
 *            so once the receiver has started epoch - 1 (credit), for then the slot is free
 *   pull     the sender announces the epoch; the receiver copies from the sender's buffer, by load or by
 *            process_vm_readv, and announces that it is done, which completes the send
 *   staged   where neither works: chunks through a ring in the receiver's heap
 *
 * Every word has one writer and only grows, so nothing is re-armed and no arrival of the next epoch is
 * lost. tests/spin/epoch.pml is the model of these protocols. */
#include "backends/shm/shm.h"

#include "backends/engine.h"
#include "util/err.h"
#include "util/mem.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#ifndef SM_EAGER_MAX
#define SM_EAGER_MAX 2048u /* bytes; above, one copy beats two */
#endif
#ifndef SM_CHUNK
#define SM_CHUNK 32768u /* bytes of a staged slot */
#endif
#define SM_RING 4u /* staged slots of a message */
#define SM_CMA_MAX ((size_t)1 << 30) /* bytes a call, below the kernel's limit */
#define LINE 64u

enum sm_mode { SM_EAGER, SM_PULL, SM_CMA, SM_STAGED };

/* One message as its rank sees it. Sorted by (send, peer, tag, k). */
struct sm_entry {
	uint32_t peer, tag, k; /* the k-th of its channel */
	uint8_t send, contiguous, heap, zero;
	uint64_t bytes;
	uint64_t addr; /* of a send's bytes: an offset in the heap, or an address of the process */
	uint64_t cell; /* offset in this rank's heap of what the peer writes */
	uint32_t op, pad;
};

struct sm_head {
	_Alignas(LINE) _Atomic uint64_t started; /* writer: this rank; readers: those who send to it */
	_Alignas(LINE) _Atomic uint32_t users; /* ranks that may still touch this block */
	uint32_t nentries;
	uint64_t token; /* tells whether a foreign address really is this block */
	struct sm_entry entries[];
};

/* A word that a peer writes, in the heap of the rank that reads it. */
struct sm_cell {
	_Alignas(LINE) _Atomic uint64_t word; /* avail, produced, done or consumed */
};

struct sm_slot { /* eager; the payload shares the line of its number */
	_Alignas(8) _Atomic uint64_t seq;
	char payload[];
};

struct sm_msg {
	enum sm_mode mode;
	uint32_t peer, chunks; /* chunks per epoch, staged */
	uint32_t moved; /* chunks moved in this epoch */
	uint64_t bytes;
	size_t stride; /* of eager slots */
	_Atomic uint64_t *started; /* of the peer; send */
	char *slots; /* in the receiver's heap: eager slots, or the ring behind the cell */
	_Atomic uint64_t *there; /* avail or produced, in the receiver's heap; writer: the sender */
	_Atomic uint64_t *back; /* done or consumed, in the sender's heap; writer: the receiver */
	char *from; /* pull: the sender's bytes; CMA: their address there */
	int pid;
};

struct sm_bound {
	struct be_bound base;
	struct engine engine;
	struct be_bind b;
	struct sm_head *head;
	char *cells; /* what peers write: cells and slots */
	struct sm_msg *msgs; /* by op */
	struct sm_entry *entries; /* a private copy, by op */
	uint64_t *deadline; /* of calcs, by op, ns; NULL without calcs */
	uint64_t busy; /* until when a calc of this rank runs, ns */
	uint64_t epoch;
	struct sm_head **peers; /* by rank; NULL where there is no message */
	char *bounce; /* SM_CHUNK bytes for noncontiguous CMA */
};

static struct sm_bound *to_sm(struct be_bound *b)
{
	return (struct sm_bound *)b;
}

static struct sm_bound *of_engine(struct engine *e)
{
	return (struct sm_bound *)((char *)e - offsetof(struct sm_bound, engine));
}

/* ---- ops ---- */

static char *buffer_of(const struct sm_bound *s, uint32_t op, uint64_t *first)
{
	*first = s->b.ops[op].off[0];
	return s->b.buffers[s->b.ops[op].buf[0]].ptr;
}

static void pack(const struct sm_bound *s, uint32_t op, uint64_t skip, size_t bytes, char *out)
{
	uint64_t first;
	char *base = buffer_of(s, op, &first);
	size_t basic = s->b.layout->basic;

	be_pack(s->b.layout, base, first + skip / basic, bytes / basic, out);
}

static void unpack(const struct sm_bound *s, uint32_t op, uint64_t skip, size_t bytes, const char *in)
{
	uint64_t first;
	char *base = buffer_of(s, op, &first);
	size_t basic = s->b.layout->basic;

	be_unpack(s->b.layout, base, first + skip / basic, bytes / basic, in);
}

/* The credit: once the receiver has started epoch - 1, it has consumed epoch - 2, whose slot is the one to
 * write now. Pairs with the store in start. */
static bool has_credit(const struct sm_bound *s, const struct sm_msg *m)
{
	return atomic_load_explicit(m->started, memory_order_acquire) + 1 >= s->epoch;
}

static size_t chunk_bytes(const struct sm_msg *m)
{
	uint64_t left = m->bytes - (uint64_t)m->moved * SM_CHUNK;

	return left < SM_CHUNK ? (size_t)left : SM_CHUNK;
}

static int send_staged(struct sm_bound *s, uint32_t op, struct sm_msg *m)
{
	uint64_t base = (s->epoch - 1) * m->chunks;

	while (m->moved < m->chunks) {
		uint64_t n = base + m->moved; /* chunks before this one, ever */

		if (n >= atomic_load_explicit(m->back, memory_order_acquire) + SM_RING)
			return 0;
		pack(s, op, (uint64_t)m->moved * SM_CHUNK, chunk_bytes(m), m->slots + n % SM_RING * SM_CHUNK);
		m->moved++;
		/* The chunk is visible before its number; pairs with the load in recv_staged. */
		atomic_store_explicit(m->there, n + 1, memory_order_release);
	}
	return 1;
}

static int recv_staged(struct sm_bound *s, uint32_t op, struct sm_msg *m)
{
	uint64_t base = (s->epoch - 1) * m->chunks;

	while (m->moved < m->chunks) {
		uint64_t n = base + m->moved;

		if (atomic_load_explicit(m->there, memory_order_acquire) <= n)
			return 0;
		unpack(s, op, (uint64_t)m->moved * SM_CHUNK, chunk_bytes(m),
		       m->slots + n % SM_RING * SM_CHUNK);
		m->moved++;
		/* The slot has been read before it is given back; pairs with the load in send_staged. */
		atomic_store_explicit(m->back, n + 1, memory_order_release);
	}
	return 1;
}

static int send_poll(struct engine *e, uint32_t op)
{
	struct sm_bound *s = of_engine(e);
	struct sm_msg *m = &s->msgs[op];
	struct sm_slot *slot;

	switch (m->mode) {
	case SM_EAGER:
		if (!has_credit(s, m))
			return 0;
		slot = (struct sm_slot *)(void *)(m->slots + (s->epoch & 1) * m->stride);
		pack(s, op, 0, m->bytes, slot->payload);
		/* The payload is visible before its number; pairs with the load in recv_poll. */
		atomic_store_explicit(&slot->seq, s->epoch, memory_order_release);
		return 1;
	case SM_STAGED:
		return has_credit(s, m) ? send_staged(s, op, m) : 0;
	default: /* announced when it was issued */
		return atomic_load_explicit(m->back, memory_order_acquire) == s->epoch;
	}
}

static int send_issue(struct engine *e, uint32_t op)
{
	struct sm_bound *s = of_engine(e);
	struct sm_msg *m = &s->msgs[op];

	m->moved = 0;
	if (m->mode == SM_PULL || m->mode == SM_CMA) {
		/* What the user wrote is visible before the announcement; pairs with the load in recv_poll. */
		atomic_store_explicit(m->there, s->epoch, memory_order_release);
		return 0;
	}
	return send_poll(e, op);
}

static int read_remote(struct sm_bound *s, struct sm_msg *m, uint64_t skip, char *to, size_t bytes)
{
	while (bytes) {
		struct iovec local = { to, bytes < SM_CMA_MAX ? bytes : SM_CMA_MAX };
		struct iovec remote = { m->from + skip, local.iov_len };
		ssize_t n = process_vm_readv(m->pid, &local, 1, &remote, 1, 0);

		if (n <= 0) {
			if (n < 0 && errno == ESRCH)
				return host_died(s->b.group, m->peer);
			return host_error(s->b.group, -ERR_SYS, "process_vm_readv from rank %u: %s", m->peer,
					  n ? strerror(errno) : "no bytes");
		}
		to += n;
		skip += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int recv_cma(struct sm_bound *s, uint32_t op, struct sm_msg *m)
{
	uint64_t first;
	char *base = buffer_of(s, op, &first);
	int err = 0;

	if (s->b.layout->contiguous)
		return read_remote(s, m, 0, base + first * s->b.layout->basic, m->bytes);
	for (m->moved = 0; m->moved < m->chunks && !err; m->moved++) {
		size_t n = chunk_bytes(m);

		err = read_remote(s, m, (uint64_t)m->moved * SM_CHUNK, s->bounce, n);
		if (!err)
			unpack(s, op, (uint64_t)m->moved * SM_CHUNK, n, s->bounce);
	}
	return err;
}

static int recv_poll(struct engine *e, uint32_t op)
{
	struct sm_bound *s = of_engine(e);
	struct sm_msg *m = &s->msgs[op];
	struct sm_slot *slot;
	int err = 0;

	switch (m->mode) {
	case SM_EAGER:
		slot = (struct sm_slot *)(void *)(m->slots + (s->epoch & 1) * m->stride);
		if (atomic_load_explicit(&slot->seq, memory_order_acquire) != s->epoch)
			return 0;
		unpack(s, op, 0, m->bytes, slot->payload);
		return 1;
	case SM_STAGED:
		return recv_staged(s, op, m);
	default:
		if (atomic_load_explicit(m->there, memory_order_acquire) != s->epoch)
			return 0;
		if (m->mode == SM_PULL)
			unpack(s, op, 0, m->bytes, m->from);
		else
			err = recv_cma(s, op, m);
		if (err)
			return err;
		/* All reads are done before the sender may write; pairs with the load in send_poll. */
		atomic_store_explicit(m->back, s->epoch, memory_order_release);
		return 1;
	}
}

static int recv_issue(struct engine *e, uint32_t op)
{
	of_engine(e)->msgs[op].moved = 0;
	return recv_poll(e, op);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A calc keeps the rank busy, one after the other, but not the progress of its messages. */
static int calc_issue(struct engine *e, uint32_t op)
{
	struct sm_bound *s = of_engine(e);
	uint64_t now = now_ns(), ns = s->b.ops[op].len;

	if (!ns)
		return 1;
	s->busy = (s->busy > now ? s->busy : now) + ns;
	s->deadline[op] = s->busy;
	return 0;
}

static int calc_poll(struct engine *e, uint32_t op)
{
	return now_ns() >= of_engine(e)->deadline[op];
}

static int copy_issue(struct engine *e, uint32_t op)
{
	struct sm_bound *s = of_engine(e);
	const struct bin_op *o = &s->b.ops[op];

	be_copy(s->b.layout, s->b.buffers[o->buf[1]].ptr, o->off[1], s->b.buffers[o->buf[0]].ptr, o->off[0], o->len);
	return 1;
}

static int reduce_issue(struct engine *e, uint32_t op)
{
	struct sm_bound *s = of_engine(e);
	const struct bin_op *o = &s->b.ops[op];

	s->b.reduce(s->b.reduce_arg, s->b.buffers[o->buf[0]].ptr, o->off[0], s->b.buffers[o->buf[1]].ptr,
		    o->off[1], o->len, o->kind == BIN_OP_REDUCE_WITH);
	return 1;
}

static int nop_issue(struct engine *e, uint32_t op)
{
	(void)e;
	(void)op;
	return 1;
}

static const struct engine_kind kinds[BIN_OP_KINDS] = {
	[BIN_OP_SEND] = { send_issue, send_poll },   [BIN_OP_RECV] = { recv_issue, recv_poll },
	[BIN_OP_CALC] = { calc_issue, calc_poll },   [BIN_OP_COPY] = { copy_issue, NULL },
	[BIN_OP_REDUCE] = { reduce_issue, NULL },    [BIN_OP_REDUCE_WITH] = { reduce_issue, NULL },
	[BIN_OP_NOP] = { nop_issue, NULL },
};

/* ---- bind ---- */

static int by_channel(const void *a, const void *b)
{
	const struct sm_entry *x = a, *y = b;

	if (x->send != y->send)
		return x->send < y->send ? -1 : 1;
	if (x->peer != y->peer)
		return x->peer < y->peer ? -1 : 1;
	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return (x->k > y->k) - (x->k < y->k);
}

static bool is_message(const struct bin_op *op)
{
	return op->kind == BIN_OP_SEND || op->kind == BIN_OP_RECV;
}

/* Makes this rank's block with its messages in order. */
static int publish(struct sm_bound *s, uint64_t token, uint64_t *off)
{
	const struct be_bind *b = &s->b;
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->nops; i++) {
		if (is_message(&b->ops[i]) && (b->ops[i].peer == BIN_ANY || b->ops[i].tag == BIN_ANY))
			return host_error(b->group, -ERR_UNSUPPORTED,
					  "op %u has a wildcard: messages are matched before they run", i);
		n += is_message(&b->ops[i]);
	}
	s->head = host_alloc(b->group, sizeof *s->head + n * sizeof *s->head->entries, off);
	if (!s->head)
		return host_error(b->group, -ERR_NOMEM, "no shared memory for %u messages", n);
	s->head->token = token;
	s->head->nentries = n;
	n = 0;
	for (uint32_t i = 0; i < b->nops; i++) {
		const struct bin_op *op = &b->ops[i];
		const struct be_buffer *buf = &b->buffers[op->buf[0]];
		uint64_t at;

		if (!is_message(op))
			continue;
		at = op->off[0] * b->layout->basic;
		s->head->entries[n++] = (struct sm_entry){
			.peer = op->peer,
			.tag = op->tag,
			.k = i, /* until it is counted */
			.send = op->kind == BIN_OP_SEND,
			.contiguous = b->layout->contiguous,
			.heap = buf->heap,
			.bytes = op->len * b->layout->basic,
			.addr = buf->heap ? buf->heap_off + at : (uint64_t)(uintptr_t)buf->ptr + at,
			.op = i,
		};
	}
	if (n)
		qsort(s->head->entries, n, sizeof *s->head->entries, by_channel);
	for (uint32_t i = 0; i < n; i++) {
		struct sm_entry *e = &s->head->entries[i];
		const struct sm_entry *last = i ? e - 1 : NULL;

		e->k = last && last->send == e->send && last->peer == e->peer && last->tag == e->tag ?
			       last->k + 1 :
			       0;
	}
	return 0;
}

/* Which private memory may be read: all that ranks have in common counts. */
#define SM_ALLOWED 1u /* by the user */
#define SM_PROBED 2u /* the kernel lets this rank read what it has to */

struct record {
	int err;
	unsigned reach; /* SM_ALLOWED, SM_PROBED */
	uint64_t off, address, token;
};

/* Maps the blocks of all peers. */
static int reach_peers(struct sm_bound *s, const struct record *all)
{
	struct be_group *g = s->b.group;

	for (uint32_t i = 0; i < s->head->nentries; i++) {
		uint32_t p = s->head->entries[i].peer;
		struct sm_head *h;

		if (s->peers[p])
			continue;
		if (host_same_process(g, p)) {
			s->peers[p] = (struct sm_head *)(uintptr_t)all[p].address;
			continue;
		}
		h = host_peer(g, p, all[p].off, sizeof *h);
		if (h)
			h = host_peer(g, p, all[p].off, sizeof *h + h->nentries * sizeof *h->entries);
		if (!h)
			return host_error(g, -ERR_SYS, "the heap of rank %u cannot be mapped", p);
		s->peers[p] = h;
	}
	return 0;
}

static struct sm_entry *partner(const struct sm_bound *s, const struct sm_entry *mine)
{
	struct sm_head *h = s->peers[mine->peer];
	struct sm_entry key = { .send = !mine->send, .peer = s->b.rank, .tag = mine->tag, .k = mine->k };

	return h->nentries ? bsearch(&key, h->entries, h->nentries, sizeof key, by_channel) : NULL;
}

static int match(struct sm_bound *s)
{
	for (uint32_t i = 0; i < s->head->nentries; i++) {
		const struct sm_entry *e = &s->head->entries[i], *other = partner(s, e);
		const char *verb = e->send ? "send to" : "recv from";

		if (!other)
			return host_error(s->b.group, -ERR_UNMATCHED, "op %u, a %s rank %u with tag %u, has no partner",
					  e->op, verb, e->peer, e->tag);
		if (other->bytes != e->bytes)
			return host_error(s->b.group, -ERR_MISMATCH,
					  "op %u, a %s rank %u, has %llu bytes, its partner %llu", e->op, verb,
					  e->peer, (unsigned long long)e->bytes,
					  (unsigned long long)other->bytes);
	}
	return 0;
}

/* Whether a message would be read from the memory of another process. */
static bool wants_cma(const struct sm_entry *send)
{
	return send->bytes > SM_EAGER_MAX && send->contiguous && !send->heap;
}

static bool probe(struct sm_bound *s, const struct record *all, uint32_t peer)
{
	uint64_t token = 0, address = all[peer].address + offsetof(struct sm_head, token);
	struct iovec local = { &token, sizeof token };
	struct iovec remote = { (void *)(uintptr_t)address, sizeof token };

	return process_vm_readv(host_pid(s->b.group, peer), &local, 1, &remote, 1, 0) == sizeof token &&
	       token == all[peer].token;
}

static bool probe_all(struct sm_bound *s, const struct record *all)
{
	uint32_t last = UINT32_MAX;

	for (uint32_t i = 0; i < s->head->nentries; i++) {
		const struct sm_entry *e = &s->head->entries[i];

		if (e->send || e->peer == last || host_same_process(s->b.group, e->peer) ||
		    !wants_cma(partner(s, e)))
			continue;
		if (!probe(s, all, e->peer))
			return false;
		last = e->peer;
	}
	return true;
}

/* A rule over the two ends: both come to the same. */
static enum sm_mode mode_of(const struct sm_bound *s, const struct sm_entry *send, uint32_t peer,
			    unsigned reach)
{
	if (send->bytes <= SM_EAGER_MAX)
		return SM_EAGER;
	if (!send->contiguous)
		return SM_STAGED;
	if (send->heap)
		return SM_PULL;
	if (!(reach & SM_ALLOWED))
		return SM_STAGED;
	if (host_same_process(s->b.group, peer))
		return SM_PULL;
	return reach & SM_PROBED ? SM_CMA : SM_STAGED;
}

static size_t up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

static size_t slot_size(uint64_t bytes)
{
	return up(sizeof(struct sm_slot) + bytes, LINE);
}

/* What the peer writes for a message, in this rank's heap. */
static size_t cell_size(const struct sm_entry *e, enum sm_mode mode)
{
	if (mode == SM_EAGER)
		return e->send ? 0 : 2 * slot_size(e->bytes);
	return sizeof(struct sm_cell) + (mode == SM_STAGED && !e->send ? SM_RING * SM_CHUNK : 0);
}

static uint32_t count_peers(const struct sm_bound *s)
{
	uint32_t n = 0;

	for (uint32_t p = 0; p < s->b.size; p++)
		n += s->peers[p] != NULL && p != s->b.rank;
	return n;
}

static int make_cells(struct sm_bound *s, unsigned reach, uint64_t *start)
{
	size_t total = 0;
	uint64_t off;

	for (uint32_t i = 0; i < s->head->nentries; i++) {
		const struct sm_entry *e = &s->head->entries[i];

		total += cell_size(e, mode_of(s, e->send ? e : partner(s, e), e->peer, reach));
	}
	s->cells = host_alloc(s->b.group, total, &off);
	if (!s->cells)
		return host_error(s->b.group, -ERR_NOMEM, "no shared memory for %zu bytes of slots", total);
	*start = off;
	for (uint32_t i = 0; i < s->head->nentries; i++) {
		struct sm_entry *e = &s->head->entries[i];

		e->cell = off;
		off += cell_size(e, mode_of(s, e->send ? e : partner(s, e), e->peer, reach));
	}
	return 0;
}

/* The place of a cell of this rank or of a peer. base: the offset of this rank's first cell. */
static char *cell_at(struct sm_bound *s, uint32_t rank, const struct sm_entry *e, size_t size,
		     const struct record *all)
{
	if (host_same_process(s->b.group, rank))
		return (char *)(uintptr_t)all[rank].address + (e->cell - all[rank].off);
	return host_peer(s->b.group, rank, e->cell, size);
}

static int connect_message(struct sm_bound *s, const struct sm_entry *mine, unsigned reach,
			   const struct record *heads, const struct record *cells)
{
	const struct sm_entry *other = partner(s, mine), *send = mine->send ? mine : other;
	const struct sm_entry *recv = mine->send ? other : mine;
	uint32_t sender = mine->send ? s->b.rank : mine->peer, receiver = mine->send ? mine->peer : s->b.rank;
	enum sm_mode mode = mode_of(s, send, mine->peer, reach);
	struct sm_msg *m = &s->msgs[mine->op];
	char *in = cell_at(s, receiver, recv, cell_size(recv, mode), cells);
	char *back = cell_at(s, sender, send, cell_size(send, mode), cells);

	if (!in || (!back && mode != SM_EAGER))
		return host_error(s->b.group, -ERR_SYS, "the heap of rank %u cannot be mapped", mine->peer);
	*m = (struct sm_msg){ .mode = mode, .peer = mine->peer, .bytes = mine->bytes };
	m->started = &s->peers[mine->peer]->started;
	m->chunks = (uint32_t)((mine->bytes + SM_CHUNK - 1) / SM_CHUNK);
	if (mode == SM_EAGER) {
		m->slots = in;
		m->stride = slot_size(mine->bytes);
		return 0;
	}
	m->there = &((struct sm_cell *)(void *)in)->word;
	m->back = &((struct sm_cell *)(void *)back)->word;
	m->slots = in + sizeof(struct sm_cell);
	m->from = (char *)(uintptr_t)send->addr;
	m->pid = host_pid(s->b.group, mine->peer);
	if (mode == SM_PULL && !mine->send && send->heap) {
		if (host_same_process(s->b.group, mine->peer))
			m->from = (char *)(uintptr_t)heads[mine->peer].address +
				  ((int64_t)send->addr - (int64_t)heads[mine->peer].off);
		else
			m->from = host_peer(s->b.group, mine->peer, send->addr, mine->bytes);
		if (!m->from)
			return host_error(s->b.group, -ERR_SYS, "the heap of rank %u cannot be mapped", mine->peer);
	}
	return 0;
}

static int connect_all(struct sm_bound *s, unsigned reach, const struct record *heads, const struct record *cells)
{
	int err = 0;

	for (uint32_t i = 0; i < s->head->nentries && !err; i++)
		err = connect_message(s, &s->head->entries[i], reach, heads, cells);
	return err;
}

static int allocate(struct sm_bound *s)
{
	bool calcs = false;

	for (uint32_t i = 0; i < s->b.nops; i++)
		calcs |= s->b.ops[i].kind == BIN_OP_CALC;
	s->msgs = mem_calloc(s->b.nops, sizeof *s->msgs);
	s->peers = mem_calloc(s->b.size, sizeof *s->peers);
	s->deadline = calcs ? mem_calloc(s->b.nops, sizeof *s->deadline) : NULL;
	s->bounce = s->b.layout->contiguous ? NULL : mem_alloc(SM_CHUNK);
	if (!s->msgs || !s->peers || (calcs && !s->deadline) || (!s->b.layout->contiguous && !s->bounce))
		return host_error(s->b.group, -ERR_NOMEM, "%s", err_text(-ERR_NOMEM));
	return engine_init(&s->engine, &s->b, kinds);
}

static void release_all(struct sm_bound *s)
{
	engine_fini(&s->engine);
	free(s->msgs);
	free(s->peers);
	free(s->deadline);
	free(s->bounce);
	free(s);
}

static int sm_bind(const struct be_bind *b, struct be_bound **out)
{
	struct be_group *g = b->group;
	struct record *heads = mem_calloc(b->size, sizeof *heads), *cells = mem_calloc(b->size, sizeof *cells);
	struct sm_bound *s = mem_calloc(1, sizeof *s);
	struct record mine = { 0 };
	unsigned reach = SM_ALLOWED | SM_PROBED;
	int allowed;
	int err = heads && cells && s ? 0 : host_error(g, -ERR_NOMEM, "%s", err_text(-ERR_NOMEM));

	/* Every step ends with an exchange, so that all ranks take the same way out. */
	if (!err) {
		s->base.ops = &sm_ops;
		s->b = *b;
		err = allocate(s);
	}
	if (!err)
		err = publish(s, (uint64_t)(uintptr_t)s ^ now_ns(), &mine.off);
	err = host_agree(g, err);
	if (err)
		goto out;
	mine.address = (uint64_t)(uintptr_t)s->head;
	mine.token = s->head->token;
	err = host_allgather(g, &mine, sizeof mine, heads);
	if (err)
		goto out;
	err = reach_peers(s, heads);
	err = err ? err : match(s);
	allowed = host_direct_allowed(g);
	err = host_agree(g, err ? err : allowed < 0 ? allowed : 0);
	if (err)
		goto out;
	mine.reach = (allowed ? SM_ALLOWED : 0) | (probe_all(s, heads) ? SM_PROBED : 0);
	err = host_allgather(g, &mine, sizeof mine, cells);
	if (err)
		goto out;
	for (uint32_t r = 0; r < b->size; r++)
		reach &= cells[r].reach;
	err = make_cells(s, reach, &mine.off);
	err = host_agree(g, err);
	if (err)
		goto out;
	mine.address = (uint64_t)(uintptr_t)s->cells;
	err = host_allgather(g, &mine, sizeof mine, cells);
	if (err)
		goto out;
	err = connect_all(s, reach, heads, cells);
	if (!err)
		atomic_store(&s->head->users, 1 + count_peers(s));
	err = host_agree(g, err);
	if (!err)
		*out = &s->base;
out:
	if (err && s) { /* nobody looks at the blocks any more */
		if (s->head) {
			atomic_store(&s->head->users, 0);
			host_free_later(g, s->head, s->cells, &s->head->users);
		}
		release_all(s);
	}
	free(heads);
	free(cells);
	return err;
}

static void sm_unbind(struct be_bound *bound)
{
	struct sm_bound *s = to_sm(bound);

	if (!s)
		return;
	/* From here on this rank touches no block: peers' first, its own last. */
	for (uint32_t i = 0; i < s->head->nentries; i++) {
		const struct sm_entry *e = &s->head->entries[i];

		if (e->peer == s->b.rank || !s->peers[e->peer])
			continue;
		atomic_fetch_sub(&s->peers[e->peer]->users, 1);
		s->peers[e->peer] = NULL;
	}
	atomic_fetch_sub(&s->head->users, 1);
	host_free_later(s->b.group, s->head, s->cells, &s->head->users);
	release_all(s);
}

/* ---- running ---- */

static int sm_start(struct be_bound *bound, uint64_t epoch)
{
	struct sm_bound *s = to_sm(bound);

	s->epoch = epoch;
	s->busy = 0;
	engine_start(&s->engine);
	/* What was read of the last epoch has been read before this; pairs with the load in has_credit. */
	atomic_store_explicit(&s->head->started, epoch, memory_order_release);
	return engine_progress(&s->engine);
}

static int sm_progress(struct be_bound *bound)
{
	return engine_progress(&to_sm(bound)->engine);
}

static bool sm_waits_for(const struct be_bound *bound, uint32_t rank)
{
	const struct sm_bound *s = (const struct sm_bound *)bound;

	for (uint32_t i = 0; i < s->engine.nactive; i++) {
		uint32_t op = s->engine.active[i];

		if (is_message(&s->b.ops[op]) && s->msgs[op].peer == rank)
			return true;
	}
	return false;
}

const struct be_ops sm_ops = {
	.name = "shm",
	.bind = sm_bind,
	.unbind = sm_unbind,
	.start = sm_start,
	.progress = sm_progress,
	.waits_for = sm_waits_for,
};
