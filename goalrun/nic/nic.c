/* SPDX-License-Identifier: BSD-3-Clause
 * The emulator of the network interfaces of a node: interfaces (TNI, Tofu network interface), command queues, packets,
 * and what packets do when they arrive.
 *
 * The emulator processes events in the order of a clock of its own, which counts bytes on a wire. There are two kinds
 * of events: a packet has left its interface, or a packet arrives. An interface sends one packet at a time, in the
 * order in which its queues offer them. A queue sends one entry after the other; the consumer pointer advances when
 * the last packet of an entry has left. Without a seed a packet arrives as soon as it has left. With a seed each
 * packet is delayed, by a time that depends only on the seed and on the packet's identity, so that packets overtake
 * each other. Packets of an entry with strong order arrive after all earlier packets of their route, which leads from
 * a queue to a queue. A packet's bytes are read when it leaves or when it arrives, and written when it arrives. A GET
 * sends a request packet. When that has arrived, the bytes come back in further packets, which are read and written
 * like those of a put.
 *
 * These properties are not public, and therefore assumptions of the emulator:
 * - An entry releases other entries (SPS, session progress steps) when its last packet has arrived.
 * - NOPs have no SPS.
 * - A session whose scheduling pointer is 2^offset or more ahead of the consumer pointer is dead.
 * - The packets that a GET brings back leave by the peer's interface of the same number, carry SPS for a queue of the
 *   rank that sent the GET, and obey strong order like other packets. */
#include "format/check.h"
#include "goalrun/nic/device.h"
#include "util/err.h"
#include "util/hash64.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PACKET 131072u /* most bytes of a packet */
#define HEADER 64u /* bytes that a packet takes on the wire besides its payload */
#define PACKETS 4u /* most packets into which a short put is split when packets overtake each other */

struct queue {
	struct nic_bound *of;
	const struct nic_entry *toq;
	struct nic_pointers *shown;
	uint64_t producer, scheduling, consumer;
	struct flight *sending; /* entry at the consumer pointer, while it is sent */
	uint16_t tni;
	uint8_t mode, depth;
};

struct route {
	struct nic_bound *to; /* block of the peer */
	uint32_t queue;
	bool gets;
	uint64_t last[2]; /* time at which everything sent so far has arrived: [0] on this route, [1] answers to GETs */
};

/* A block that a rank has bound. */
struct nic_bound {
	uint64_t name, id;
	uint32_t rank;
	struct nic_port *port; /* NULL if unbound */
	struct nic_block *block;
	struct queue *queues;
	struct nic_region *regions;
	struct route *routes;
	uint32_t nqueues, nregions, nroutes, tcq_depth, mrq_depth, offset;
	uint64_t queues_off, regions_off, routes_off, bytes;
	struct nic_local *tcq_ring;
	struct nic_remote *mrq_ring;
	uint64_t tcq, mrq; /* notices written */
	uint64_t posts, starts; /* the rank's posts and starts that the emulator has seen */
	uint64_t most; /* number of starts after which a rank of the same request has left; UINT64_MAX if none has */
	uint32_t left; /* rank that has left after `most` starts */
	uint32_t flying; /* entries that have begun to leave and have not completed */
	uint32_t routes_here; /* routes of other blocks to this one */
	bool connected;
	bool dead; /* true after a fault, or when a peer has died */
};

/* An entry under way. */
struct flight {
	struct nic_bound *from;
	struct queue *queue;
	struct route *route;
	struct nic_entry e;
	uint64_t number; /* number of the entry in its queue */
	uint32_t packet; /* most bytes of a packet of this entry */
	uint32_t sent; /* bytes for which packets have been made */
	uint32_t left; /* bytes that have not arrived */
	bool back; /* true for a GET whose request has arrived at the peer */
};

struct nic_packet {
	uint64_t time, seq; /* time of the event; seq orders events of the same time */
	struct flight *of;
	uint32_t off, len;
	bool left; /* false: the event is the packet's departure; true: its arrival */
	char *bytes; /* payload, if it was read when the packet left; else NULL */
	struct nic_packet *next; /* next in the list of spare packets */
};

/* Return the block that an entry's bytes come from, and the block that they go to. */
static struct nic_bound *source_of(const struct flight *f)
{
	return f->route->gets ? f->route->to : f->from;
}

static struct nic_bound *lands_at(const struct flight *f)
{
	return f->route->gets ? f->from : f->route->to;
}

/* True for a GET whose request packet has not arrived yet. */
static bool must_ask(const struct flight *f)
{
	return f->route->gets && !f->back;
}

/* ---- random numbers ---- */

#define ASKS (UINT64_MAX - 1)

/* Returns a random number for a part of an entry. It is the same in every run with the same seed. */
static uint64_t draw_number(const struct nic *n, const struct flight *f, uint64_t part)
{
	const struct nic_bound *b = f->from;

	return hash64(hash64(hash64(n->seed ^ b->id) + b->rank * 4096u + (uint64_t)(f->queue - b->queues)) + f->number * 65537 +
		      part);
}

/* Returns the delay of a packet. It is mostly the time that a few other packets take to leave, sometimes much longer,
 * and on some routes always longer. */
static uint64_t packet_delay(const struct nic *n, const struct nic_packet *p)
{
	const uint64_t r = draw_number(n, p->of, must_ask(p->of) ? ASKS : p->off + 1);
	const uint64_t slow = hash64(n->seed + p->of->from->rank * 64u + (uint64_t)(p->of->route - p->of->from->routes)) % 4 ? 0 :
			      3;

	return 1 + ((r & 0xffff) >> (r >> 16) % 16 << slow);
}

/* ---- memory ---- */

static bool in_heap(struct nic_port *p, uint64_t off, uint64_t len)
{
	struct stat st;

	if (off > p->reserved || len > p->reserved - off)
		return false;
	if (off + len > p->size && !fstat(p->heap, &st))
		p->size = (uint64_t)st.st_size;
	return off + len <= p->size;
}

/* Returns the address of a range in this process, or NULL if the range is in private memory of the rank. */
static char *mapped_address(const struct nic_bound *b, const struct nic_region *r, uint64_t off)
{
	return r->heap ? b->port->base + r->base + off : NULL;
}

static bool read_private(const struct nic_bound *b, const struct nic_region *r, uint64_t off, char *to, size_t len)
{
	const struct iovec here = { to, len }, there = { (void *)(uintptr_t)(r->base + off), len };

	return process_vm_readv(b->port->pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}

static bool write_private(const struct nic_bound *b, const struct nic_region *r, uint64_t off, const char *from, size_t len)
{
	const struct iovec here = { (void *)(uintptr_t)from, len }, there = { (void *)(uintptr_t)(r->base + off), len };

	return process_vm_writev(b->port->pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}

static bool in_region(const struct nic_bound *b, uint16_t region, uint64_t off, uint32_t len)
{
	return region < b->nregions && len <= b->regions[region].len && off <= b->regions[region].len - len;
}

static bool read_range(const struct nic_bound *b, uint16_t region, uint64_t off, char *to, size_t len)
{
	const struct nic_region *r = &b->regions[region];
	const char *here = mapped_address(b, r, off);

	if (!here)
		return read_private(b, r, off, to, len);
	memcpy(to, here, len);
	return true;
}

static bool write_range(const struct nic_bound *b, uint16_t region, uint64_t off, const char *from, size_t len)
{
	const struct nic_region *r = &b->regions[region];
	char *there = mapped_address(b, r, off);

	if (!there)
		return write_private(b, r, off, from, len);
	memcpy(there, from, len);
	return true;
}

/* Returns the result of an atomic read-modify-write (ARMW). The caller ignores the bytes beyond the element. */
static uint64_t apply_armw(uint8_t armw, uint64_t a, uint64_t b)
{
	switch (armw) {
	case BIN_ARMW_ADD4: case BIN_ARMW_ADD8: return a + b;
	case BIN_ARMW_XOR4: case BIN_ARMW_XOR8: return a ^ b;
	case BIN_ARMW_AND4: case BIN_ARMW_AND8: return a & b;
	default: return a | b;
	}
}

/* Carries out an ARMW. The emulator does so one at a time, so that each is atomic. */
static bool update_element(const struct nic_packet *p)
{
	const struct flight *f = p->of;
	const struct nic_bound *to = f->route->to;
	uint64_t a = 0, b = 0; /* all machines concerned are little-endian */

	if (p->bytes)
		memcpy(&a, p->bytes, p->len);
	else if (!read_range(f->from, f->e.region[0], f->e.off[0], (char *)&a, p->len))
		return false;
	if (!read_range(to, f->e.region[1], f->e.off[1], (char *)&b, p->len))
		return false;
	a = apply_armw(f->e.armw, a, b);
	return write_range(to, f->e.region[1], f->e.off[1], (const char *)&a, p->len);
}

/* Copies the bytes of a packet to their destination. */
static bool move_packet(struct nic *n, const struct nic_packet *p)
{
	const struct flight *f = p->of;
	const struct nic_bound *source = source_of(f), *to = lands_at(f);
	const unsigned k = f->route->gets;
	const struct nic_region *in = &source->regions[f->e.region[k]], *out = &to->regions[f->e.region[!k]];
	const uint64_t from_off = f->e.off[k] + p->off, to_off = f->e.off[!k] + p->off;
	const char *from = p->bytes ? p->bytes : mapped_address(source, in, from_off);
	char *there = mapped_address(to, out, to_off);

	if (f->e.command == BIN_E_ARMW)
		return update_element(p);
	if (there && from)
		copier_move(&n->copier, there, from, p->len);
	else if (there)
		return read_private(source, in, from_off, there, p->len);
	else if (from)
		return write_private(to, out, to_off, from, p->len);
	else
		return read_private(source, in, from_off, n->bounce, p->len) && write_private(to, out, to_off, n->bounce, p->len);
	return true;
}

/* ---- events ---- */

static bool packet_is_before(const struct nic_packet *a, const struct nic_packet *b)
{
	return a->time != b->time ? a->time < b->time : a->seq < b->seq;
}

static bool push_packet(struct nic *n, struct nic_packet *p)
{
	size_t i = n->heap.n;

	p->seq = n->seq++;
	if (VEC_PUSH(&n->heap, p))
		return false;
	for (; i && packet_is_before(p, n->heap.at[(i - 1) / 2]); i = (i - 1) / 2)
		n->heap.at[i] = n->heap.at[(i - 1) / 2];
	n->heap.at[i] = p;
	return true;
}

static struct nic_packet *pop_packet(struct nic *n)
{
	struct nic_packet *first = n->heap.n ? n->heap.at[0] : NULL, *last;
	size_t i = 0;

	if (!first)
		return NULL;
	last = n->heap.at[--n->heap.n];
	for (size_t k; (k = 2 * i + 1) < n->heap.n; i = k) {
		k += k + 1 < n->heap.n && packet_is_before(n->heap.at[k + 1], n->heap.at[k]);
		if (!packet_is_before(n->heap.at[k], last))
			break;
		n->heap.at[i] = n->heap.at[k];
	}
	if (n->heap.n)
		n->heap.at[i] = last;
	return first;
}

static struct nic_packet *new_packet(struct nic *n)
{
	struct nic_packet *p = n->spare;

	if (p)
		n->spare = p->next;
	else
		p = mem_alloc(sizeof *p);
	return p;
}

static void free_packet(struct nic *n, struct nic_packet *p)
{
	free(p->bytes);
	p->next = n->spare;
	n->spare = p;
}

/* ---- reports to ranks ---- */

/* Writes a step of a queue to the trace. */
__attribute__((format(printf, 3, 4))) static void note(struct nic *n, const struct queue *q, const char *fmt, ...)
{
	va_list ap;

	if (!n->trace || n->steps++ >= n->most)
		return;
	fprintf(n->trace, "%" PRIu64 " rank %u queue %u ", n->steps, q->of->rank, (unsigned)(q - q->of->queues));
	va_start(ap, fmt);
	vfprintf(n->trace, fmt, ap);
	va_end(ap);
	fprintf(n->trace, ": producer %" PRIu64, q->producer);
	if (q->mode == BIN_Q_SESSION)
		fprintf(n->trace, " scheduling %" PRIu64, q->scheduling);
	fprintf(n->trace, " consumer %" PRIu64 "\n", q->consumer);
}

static void ring_port(const struct nic_bound *b)
{
	be_fence();
	be_ring_one(b->port->bell, -1);
}

static void report_fault(struct nic_bound *b, enum nic_fault what, uint32_t rank, uint32_t queue)
{
	b->dead = true;
	b->block->fault_rank = rank;
	b->block->fault_queue = queue;
	atomic_store_explicit(&b->block->fault, what, memory_order_release);
	ring_port(b);
}

/* Reports a fault to all blocks of the request that block `b` belongs to, and marks them dead. */
static void report_nic_fault(struct nic *n, const struct nic_bound *b, enum nic_fault what, const struct queue *q)
{
	for (size_t i = 0; i < n->bound.n; i++)
		if (n->bound.at[i]->id == b->id && !n->bound.at[i]->dead)
			report_fault(n->bound.at[i], what, q->of->rank, (uint32_t)(q - q->of->queues));
}

/* Reports a start that can never complete, because a rank that has left would have to take part. */
static void check_left(struct nic_bound *b)
{
	if (b->starts > b->most && !b->dead)
		report_fault(b, NIC_LEFT, b->left, 0);
}

static void notify_local(struct nic *n, struct nic_bound *b, const struct flight *f)
{
	const uint64_t depth = UINT64_C(1) << b->tcq_depth;

	if (b->tcq - atomic_load_explicit(&b->block->tcq_seen, memory_order_acquire) >= depth) {
		report_nic_fault(n, b, NIC_NOTICES, f->queue);
		return;
	}
	b->tcq_ring[b->tcq++ & (depth - 1)] =
		(struct nic_local){ (uint32_t)(f->queue - b->queues), (uint32_t)f->number };
	atomic_store_explicit(&b->block->tcq, b->tcq, memory_order_release);
	ring_port(b);
}

static void notify_remote(struct nic *n, struct nic_bound *b, const struct flight *f, enum nic_notice what)
{
	const uint64_t depth = UINT64_C(1) << b->mrq_depth;

	if (b->mrq - atomic_load_explicit(&b->block->mrq_seen, memory_order_acquire) >= depth) {
		report_nic_fault(n, b, NIC_NOTICES, f->queue);
		return;
	}
	b->mrq_ring[b->mrq++ & (depth - 1)] =
		(struct nic_remote){ .what = what, .rank = f->from->rank, .queue = f->route->queue, .sps = f->e.sps };
	atomic_store_explicit(&b->block->mrq, b->mrq, memory_order_release);
	ring_port(b);
}

/* ---- packets and queues ---- */

static void send_entries(struct nic *n, struct queue *q);

static bool is_usable(const struct nic_bound *b)
{
	return b->port && !b->dead;
}

static void free_bound(struct nic_bound *b)
{
	if (b->port || b->flying || b->routes_here)
		return;
	free(b->queues);
	free(b->regions);
	free(b);
}

static void forget_routes(struct nic_bound *b)
{
	struct route *routes = b->routes;

	b->routes = NULL;
	for (uint32_t i = 0; i < b->nroutes && routes; i++)
		if (routes[i].to) {
			routes[i].to->routes_here--;
			if (routes[i].to != b)
				free_bound(routes[i].to);
		}
	free(routes);
}

/* Releases the routes of a block that is unbound and has nothing under way, and the block. */
static void drop_routes(struct nic_bound *b)
{
	forget_routes(b);
	free_bound(b);
}

/* Frees an entry that has completed. */
static void free_flight(struct flight *f)
{
	struct nic_bound *b = f->from;

	free(f);
	if (!--b->flying && !b->port)
		drop_routes(b);
}

static void give_credit(struct nic *n, struct nic_bound *to, const struct flight *f)
{
	struct queue *q = &to->queues[f->route->queue];

	if (!f->e.sps)
		return;
	if (q->mode == BIN_Q_CPU || q->mode == BIN_Q_POSTED) {
		notify_remote(n, to, f, NIC_CREDIT);
		return;
	}
	q->scheduling += f->e.sps;
	if ((q->scheduling - q->consumer) >> to->offset) {
		report_nic_fault(n, to, NIC_DEAD_SESSION, q);
		return;
	}
	atomic_store_explicit(&q->shown->scheduling, q->scheduling, memory_order_release);
	note(n, q, "credit %u from rank %u queue %u", f->e.sps, f->from->rank, (unsigned)(f->queue - f->from->queues));
	send_entries(n, q);
}

/* Handles the arrival of all packets of an entry: writes the notices and gives the credit. */
static void complete_flight(struct nic *n, struct flight *f)
{
	struct nic_bound *lands = lands_at(f);

	if (f->e.flags & BIN_E_REMOTE)
		notify_remote(n, f->route->to, f, NIC_ARRIVED);
	if (f->e.flags & BIN_E_LOCAL)
		notify_local(n, f->from, f);
	if (f->route->queue != BIN_NONE && is_usable(lands))
		give_credit(n, lands, f);
}

/* Sends the next packet of an entry. The packet has left when the interface has sent it and all packets before it. The
 * request packet of a GET has no bytes. */
static bool send_packet(struct nic *n, struct flight *f)
{
	struct nic_packet *p = new_packet(n);
	uint64_t *interface = &(f->back ? f->route->to : f->from)->port->free[f->queue->tni];
	const uint32_t left = must_ask(f) ? 0 : f->e.len - f->sent;

	if (p) {
		*p = (struct nic_packet){ .of = f, .off = f->sent, .len = left < f->packet ? left : f->packet };
		*interface = (*interface > n->now ? *interface : n->now) + HEADER + p->len;
		p->time = *interface;
		f->sent += p->len;
		if (push_packet(n, p))
			return true;
		f->sent -= p->len;
		free_packet(n, p);
	}
	report_nic_fault(n, f->from, NIC_NO_MEMORY, f->queue);
	return false;
}

/* Drops a packet, and whatever was to be sent after it. */
static void lose_packet(struct nic *n, struct nic_packet *p)
{
	struct flight *f = p->of;

	if (!p->left && f->queue->sending == f)
		f->queue->sending = NULL;
	f->left -= p->len + (f->e.len - f->sent);
	f->sent = f->e.len;
	free_packet(n, p);
	if (!f->left)
		free_flight(f);
}

/* Sends the answer to a GET whose request has arrived. All its packets are queued at once, so that no other packet of
 * the interface comes between them. */
static void answer_get(struct nic *n, struct nic_packet *p)
{
	struct flight *f = p->of;
	bool sent = true;

	f->back = true;
	do
		sent = send_packet(n, f);
	while (sent && f->sent < f->e.len);
	if (sent)
		free_packet(n, p);
	else
		lose_packet(n, p);
}

static void deliver_packet(struct nic *n, struct nic_packet *p)
{
	struct flight *f = p->of;
	const bool works = is_usable(f->from) && is_usable(f->route->to);

	n->stats->packets++;
	n->stats->bytes += p->len;
	if (must_ask(f)) {
		works ? answer_get(n, p) : lose_packet(n, p);
		return;
	}
	if (works && p->len && !move_packet(n, p))
		report_nic_fault(n, f->from, NIC_NO_MEMORY, f->queue);
	f->left -= p->len;
	free_packet(n, p);
	if (f->left)
		return;
	if (works && is_usable(f->from))
		complete_flight(n, f);
	free_flight(f);
}

static void advance_consumer(struct nic *n, struct queue *q)
{
	q->consumer++;
	n->stats->entries++;
	atomic_store_explicit(&q->shown->consumer, q->consumer, memory_order_release);
}

/* Puts a packet that has left on the wire, to arrive later. */
static void launch_packet(struct nic *n, struct nic_packet *p)
{
	struct flight *f = p->of;
	struct nic_bound *source = source_of(f);
	const unsigned k = f->route->gets;
	uint64_t *last = &f->route->last[f->back];

	p->left = true;
	if (!n->seed) {
		deliver_packet(n, p);
		return;
	}
	p->time = n->now + packet_delay(n, p);
	if (f->e.flags & BIN_E_STRONG && p->time < *last)
		p->time = *last;
	if (p->time > *last)
		*last = p->time;
	if (p->len && is_usable(source) && draw_number(n, f, p->off) % 2) {
		p->bytes = mem_alloc(p->len);
		if (!p->bytes || !read_range(source, f->e.region[k], f->e.off[k] + p->off, p->bytes, p->len))
			report_nic_fault(n, f->from, NIC_NO_MEMORY, f->queue);
	}
	if (!push_packet(n, p))
		deliver_packet(n, p);
}

/* Traces that the last packet of an entry, or the request of a GET, has left. */
static void note_entry(struct nic *n, const struct flight *f)
{
	static const char *const words[BIN_E_KINDS] = {
#define ENTRY(NAME, number, word, sends, ranges) [number] = word,
#include "format/entry.def"
#undef ENTRY
	};
	const char *word = words[f->e.command];
	const uint32_t rank = f->route->to->rank;

	if (bin_entry_facts(f->e.command).ranges)
		note(n, f->queue, "%s %u bytes %s rank %u", word, f->e.len, f->route->gets ? "from" : "to", rank);
	else
		note(n, f->queue, "%s to rank %u", word, rank);
}

/* Handles the event that a packet has left. */
static void packet_left(struct nic *n, struct nic_packet *p)
{
	struct flight *f = p->of;
	struct queue *q = f->queue;

	if (!is_usable(f->from) || !is_usable(source_of(f))) { /* the rest of the entry will never leave either */
		lose_packet(n, p);
		return;
	}
	if (q->sending == f && !must_ask(f) && f->sent < f->e.len) {
		send_packet(n, f);
	} else if (q->sending == f) {
		q->sending = NULL;
		advance_consumer(n, q);
		note_entry(n, f);
		send_entries(n, q);
	}
	launch_packet(n, p);
}

bool nic_step(struct nic *n)
{
	struct nic_packet *p = pop_packet(n);

	if (!p)
		return false;
	n->now = p->time;
	if (p->left)
		deliver_packet(n, p);
	else
		packet_left(n, p);
	return true;
}

/* True if the interface can carry out an entry. */
static bool makes_sense(const struct nic_bound *b, const struct nic_entry *e)
{
	const struct bin_entry_facts f = bin_entry_facts(e->command);

	if (e->command == BIN_E_NOP)
		return true;
	if (!f.sends || e->route >= b->nroutes || b->routes[e->route].gets != (e->command == BIN_E_GET) ||
	    (e->command == BIN_E_ARMW && (!e->len || e->len != bin_armw_bytes(e->armw))))
		return false;
	if (!f.ranges)
		return !e->len;
	return in_region(b, e->region[0], e->off[0], e->len) &&
	       in_region(b->routes[e->route].to, e->region[1], e->off[1], e->len);
}

/* Begins to send the entry at the consumer pointer. */
static bool begin_entry(struct nic *n, struct queue *q, const struct nic_entry *e)
{
	struct flight *f = mem_alloc(sizeof *f);

	if (!f)
		return false;
	*f = (struct flight){ .from = q->of,
			      .queue = q,
			      .route = &q->of->routes[e->route],
			      .e = *e,
			      .number = q->consumer,
			      .packet = PACKET,
			      .left = e->len };
	if (n->seed && e->len && e->command != BIN_E_ARMW) {
		const uint32_t packets = 1 + (uint32_t)(draw_number(n, f, UINT64_MAX) % PACKETS),
			       one = (e->len + packets - 1) / packets;

		f->packet = one < PACKET ? one : PACKET;
	}
	q->of->flying++;
	q->sending = f;
	send_packet(n, f);
	return true;
}

/* Sends the entries of a queue that may be sent. */
static void send_entries(struct nic *n, struct queue *q)
{
	while (is_usable(q->of) && q->of->connected && !q->sending && q->consumer < q->producer &&
	       (q->mode != BIN_Q_SESSION || q->consumer < q->scheduling)) {
		const struct nic_entry e = q->toq[q->consumer & ((UINT64_C(1) << q->depth) - 1)];

		if (!makes_sense(q->of, &e)) {
			report_nic_fault(n, q->of, NIC_BAD_ENTRY, q);
		} else if (e.command == BIN_E_NOP) {
			advance_consumer(n, q);
			note(n, q, "nop");
		} else if (!begin_entry(n, q, &e)) {
			report_nic_fault(n, q->of, NIC_NO_MEMORY, q);
		}
	}
}

static bool poll_block(struct nic *n, struct nic_bound *b)
{
	/* sequentially consistent; sleep_until_bell in nic_serve.c explains it */
	const uint64_t posts = atomic_load(&b->block->doorbell);

	if (posts == b->posts)
		return false;
	b->posts = posts;
	b->starts = atomic_load_explicit(&b->block->starts, memory_order_relaxed);
	check_left(b);
	for (uint32_t i = 0; i < b->nqueues; i++) {
		struct queue *q = &b->queues[i];
		const uint64_t old = q->producer;

		if (!q->depth)
			continue;
		q->producer = atomic_load_explicit(&q->shown->producer, memory_order_acquire);
		if (q->producer == old)
			continue;
		note(n, q, "post %" PRIu64, q->producer - old);
		send_entries(n, q);
	}
	return true;
}

bool nic_poll(struct nic *n)
{
	bool any = false;

	for (size_t i = 0; i < n->bound.n; i++)
		any |= poll_block(n, n->bound.at[i]);
	return any;
}

/* ---- binding and unbinding ---- */

__attribute__((format(printf, 4, 5))) static int refuse(char *text, size_t size, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, size, fmt, ap);
	va_end(ap);
	return err;
}

int nic_open(struct nic_port *p, uint64_t bell, char *text, size_t size)
{
	const int seals = fcntl(p->heap, F_GET_SEALS);
	void *base = MAP_FAILED;

	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return refuse(text, size, -ERR_ARG, "the heap of a rank could shrink");
	for (p->reserved = UINT64_C(1) << 38; p->reserved >= UINT64_C(1) << 28 && base == MAP_FAILED; p->reserved >>= 2)
		base = mmap(NULL, p->reserved, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, p->heap, 0);
	if (base == MAP_FAILED)
		return refuse(text, size, -ERR_SYS, "the heap of a rank cannot be mapped: %s", strerror(errno));
	p->reserved <<= 2; /* undoes the loop's last step */
	p->base = base;
	if (bell % _Alignof(struct be_bell) || !in_heap(p, bell, sizeof *p->bell))
		return refuse(text, size, -ERR_ARG, "a bell is not in its heap");
	p->bell = (struct be_bell *)(void *)(p->base + bell);
	return 0;
}

static struct nic_bound *find_bound(const struct nic *n, uint64_t name)
{
	for (size_t i = 0; i < n->bound.n; i++)
		if (n->bound.at[i]->name == name)
			return n->bound.at[i];
	return NULL;
}

static bool table_fits(uint64_t bytes, uint64_t off, uint64_t n, size_t each)
{
	return off % 8 == 0 && off <= bytes && n <= (bytes - off) / each;
}

static bool block_fits(const struct nic_block *b, uint64_t bytes)
{
	return b->offset <= 32 && b->tcq_depth <= 32 && b->mrq_depth <= 32 && b->tnis <= NIC_TNIS &&
	       table_fits(bytes, b->queues, b->nqueues, sizeof(struct nic_queue)) &&
	       table_fits(bytes, b->regions, b->nregions, sizeof(struct nic_region)) &&
	       table_fits(bytes, b->routes, b->nroutes, sizeof(struct nic_route)) && b->pointers % 64 == 0 &&
	       table_fits(bytes, b->pointers, b->nqueues, sizeof(struct nic_pointers)) &&
	       table_fits(bytes, b->tcq_ring, UINT64_C(1) << b->tcq_depth, sizeof(struct nic_local)) &&
	       table_fits(bytes, b->mrq_ring, UINT64_C(1) << b->mrq_depth, sizeof(struct nic_remote));
}

/* Copies the descriptions of the regions as the rank has them now, and checks them. */
static int take_regions(struct nic_bound *b, char *text, size_t size)
{
	const struct nic_region *given = (const void *)((const char *)b->block + b->regions_off);
	struct nic_region *mine = mem_alloc(b->nregions * sizeof *mine + 1);

	if (!mine)
		return refuse(text, size, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	memcpy(mine, given, b->nregions * sizeof *mine);
	for (uint32_t i = 0; i < b->nregions; i++) {
		struct nic_bound probe = { .port = b->port };
		char byte;

		if (!mine[i].len)
			continue;
		if (mine[i].heap ? !in_heap(b->port, mine[i].base, mine[i].len) :
				   !read_private(&probe, &mine[i], 0, &byte, 1) ||
					   !read_private(&probe, &mine[i], mine[i].len - 1, &byte, 1)) {
			free(mine);
			return refuse(text, size, -ERR_SYS, "it cannot reach buffer %u of rank %u: use memory of MPIX_Sched_alloc",
				      i, b->rank);
		}
	}
	free(b->regions);
	b->regions = mine;
	return 0;
}

/* Finds an interface with a free command queue: the one that q names, or any. */
static int take_queue(struct nic_port *p, const struct nic_block *head, const struct nic_queue *q, uint16_t *tni)
{
	const uint32_t first = q->tni == NIC_ANY ? 0 : q->tni, last = q->tni == NIC_ANY ? head->tnis : q->tni + 1u;

	for (uint32_t t = first; t < last && t < head->tnis; t++)
		if (p->queues[t] < head->cqs) {
			p->queues[t]++;
			*tni = (uint16_t)t;
			return 0;
		}
	return -ERR_RANGE;
}

static void free_queues(struct nic_bound *b)
{
	for (uint32_t i = 0; i < b->nqueues; i++)
		if (b->queues[i].depth)
			b->port->queues[b->queues[i].tni]--;
}

static int take_queues(struct nic_bound *b, const struct nic_block *head, char *text, size_t size)
{
	const struct nic_queue *given = (const void *)((const char *)b->block + b->queues_off);
	struct nic_pointers *shown = (void *)((char *)b->block + head->pointers);
	const uint32_t n = head->nqueues;

	b->queues = mem_calloc(n, sizeof *b->queues);
	if (!b->queues)
		return refuse(text, size, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	for (b->nqueues = 0; b->nqueues < n; b->nqueues++) {
		struct queue *q = &b->queues[b->nqueues];
		const struct nic_queue t = given[b->nqueues];

		*q = (struct queue){ .of = b, .mode = t.mode, .shown = &shown[b->nqueues] };
		if (t.mode == BIN_Q_CPU)
			continue;
		if (t.mode >= BIN_Q_MODES || t.depth < 11 || t.depth > 21 ||
		    !table_fits(b->bytes, t.toq, UINT64_C(1) << t.depth, sizeof *q->toq))
			return refuse(text, size, -ERR_ARG, "queue %u of rank %u makes no sense", b->nqueues, b->rank);
		if (take_queue(b->port, head, &t, &q->tni))
			return refuse(text, size, -ERR_RANGE,
				      "no command queue of %u is left on interface %u of rank %u: free what is bound and not needed",
				      head->cqs, t.tni == NIC_ANY ? 0u : t.tni, b->rank);
		q->depth = t.depth;
		q->toq = (const void *)((const char *)b->block + t.toq);
	}
	return 0;
}

int nic_bind(struct nic *n, struct nic_port *p, uint64_t off, uint64_t bytes, uint64_t *name, char *text, size_t size)
{
	struct nic_bound *b = mem_calloc(1, sizeof *b);
	struct nic_block head;
	int err = 0;

	if (!b)
		return refuse(text, size, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	if (off % 64 || bytes < sizeof head || !in_heap(p, off, bytes))
		err = refuse(text, size, -ERR_ARG, "a block is not in its heap");
	b->port = p;
	b->block = (struct nic_block *)(void *)(p->base + off);
	if (!err)
		memcpy(&head, b->block, sizeof head);
	if (!err && !block_fits(&head, bytes))
		err = refuse(text, size, -ERR_ARG, "a block makes no sense");
	if (err) {
		free(b);
		return err;
	}
	b->id = head.id;
	b->rank = head.rank;
	b->bytes = bytes;
	b->offset = head.offset;
	b->nregions = head.nregions;
	b->tcq_depth = head.tcq_depth;
	b->mrq_depth = head.mrq_depth;
	b->queues_off = head.queues;
	b->regions_off = head.regions;
	b->routes_off = head.routes;
	b->nroutes = head.nroutes;
	b->most = UINT64_MAX;
	b->tcq_ring = (void *)((char *)b->block + head.tcq_ring);
	b->mrq_ring = (void *)((char *)b->block + head.mrq_ring);
	err = take_regions(b, text, size);
	err = err ? err : take_queues(b, &head, text, size);
	if (!err && VEC_PUSH(&n->bound, b))
		err = refuse(text, size, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	if (err) {
		free_queues(b);
		b->port = NULL;
		free_bound(b);
		return err;
	}
	*name = b->name = ++n->names;
	return 0;
}

/* Takes the routes of a block. Returns 0, or -ERR_x with a sentence in `text`. */
static int take_routes(struct nic *n, struct nic_bound *b, uint64_t *gone, char *text, size_t size)
{
	const struct nic_route *given = (const void *)((const char *)b->block + b->routes_off);

	b->routes = mem_calloc(b->nroutes, sizeof *b->routes);
	if (!b->routes)
		return refuse(text, size, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	for (uint32_t i = 0; i < b->nroutes; i++) {
		struct nic_bound *to = find_bound(n, given[i].peer);

		if (!to && given[i].peer && given[i].peer <= n->names) {
			*gone = given[i].peer;
			return refuse(text, size, -ERR_DEAD, "a way of rank %u leads to a block that is gone", b->rank);
		}
		if (!to || to->id != b->id || given[i].gets > 1 ||
		    (given[i].queue != BIN_NONE && given[i].queue >= (given[i].gets ? b : to)->nqueues))
			return refuse(text, size, -ERR_ARG, "a way of rank %u leads nowhere", b->rank);
		b->routes[i] = (struct route){ .to = to, .queue = given[i].queue, .gets = given[i].gets };
		to->routes_here++;
	}
	return 0;
}

int nic_connect(struct nic *n, const struct nic_port *p, uint64_t name, uint64_t *gone, char *text, size_t size)
{
	struct nic_bound *b = find_bound(n, name);
	int err;

	if (!b || b->port != p || b->connected)
		return refuse(text, size, -ERR_STATE, "there is nothing to connect");
	err = take_routes(n, b, gone, text, size);
	if (err)
		forget_routes(b);
	b->connected = !err;
	return err;
}

int nic_rebind(struct nic *n, const struct nic_port *p, uint64_t name, char *text, size_t size)
{
	struct nic_bound *b = find_bound(n, name);

	return b && b->port == p ? take_regions(b, text, size) :
				   refuse(text, size, -ERR_STATE, "there is nothing to rebind");
}

static void remove_bound(struct nic *n, struct nic_bound *b)
{
	size_t i = 0;

	while (n->bound.at[i] != b)
		i++;
	n->bound.at[i] = n->bound.at[--n->bound.n];
	for (i = 0; i < n->bound.n; i++) {
		struct nic_bound *x = n->bound.at[i];

		if (x->id != b->id || x->most <= b->starts)
			continue;
		x->most = b->starts;
		x->left = b->rank;
		check_left(x);
	}
	free_queues(b);
	b->port = NULL;
	b->block = NULL;
	if (!b->flying)
		drop_routes(b);
}

bool nic_unbind(struct nic *n, const struct nic_port *p, uint64_t name)
{
	struct nic_bound *b = find_bound(n, name);

	if (!b || b->port != p)
		return true;
	poll_block(n, b);
	for (uint32_t i = 0; i < b->nqueues && b->connected && !b->dead; i++)
		if (b->queues[i].consumer < b->queues[i].producer)
			return false;
	if (b->flying && !b->dead)
		return false;
	remove_bound(n, b);
	return true;
}

void nic_close(struct nic *n, struct nic_port *p)
{
	for (size_t i = 0; i < n->bound.n;) {
		struct nic_bound *b = n->bound.at[i];

		if (b->port != p) {
			i++;
			continue;
		}
		/* the ranks of these blocks need not wait until all posted entries have been sent */
		for (size_t k = 0; k < n->bound.n; k++)
			n->bound.at[k]->dead |= n->bound.at[k]->id == b->id;
		remove_bound(n, b);
		i = 0;
	}
	if (p->base)
		munmap(p->base, p->reserved);
}

int nic_init(struct nic *n, const struct nic_options *o)
{
	*n = (struct nic){ .seed = o->seed, .stats = o->stats, .most = o->most, .bounce = mem_alloc(PACKET) };
	if (o->trace >= 0)
		n->trace = fdopen(o->trace, "w");
	return n->bounce && (o->trace < 0 || n->trace) ? 0 : -ERR_NOMEM;
}

void nic_fini(struct nic *n)
{
	for (struct nic_packet *p; (p = pop_packet(n));)
		lose_packet(n, p);
	while (n->spare) {
		struct nic_packet *p = n->spare;

		n->spare = p->next;
		free(p);
	}
	if (n->trace && n->steps > n->most)
		fprintf(n->trace, "and %" PRIu64 " more steps\n", n->steps - n->most);
	if (n->trace)
		fclose(n->trace);
	copier_fini(&n->copier);
	free(n->bounce);
	VEC_FREE(&n->heap);
	VEC_FREE(&n->bound);
}
