/* SPDX-License-Identifier: BSD-3-Clause
 * The engine "ofi": command queues on the deferred work of libfabric, for its provider "sockets".
 *
 * A queue is a counter. Entry k is a put that the provider holds back until the queue's counter reaches a threshold.
 * Credit is one more segment of a put, without bytes. It goes to a region of the peer that nobody reads, and that has
 * the peer's queue counter attached: the provider's thread counts each segment when the put has arrived. So a NOP is
 * only a higher threshold for the entries after it. All puts from a rank to another travel on one connection, in order,
 * whether they bring credit or not. A GET is a read, followed by puts that announce it: credit to the rank itself, a
 * notice to the peer, or else a word that nobody reads. These puts are held back by a counter of the completed reads of
 * that queue from that peer.
 *
 * Counters only grow. At each start a counter grows by as much as its entries need:
 *
 * 	session queue	n	added when all is posted. Credit that came earlier therefore releases nothing before that;
 * 				otherwise entries released during posting would overtake each other
 * 			n	credit
 * 	posted queue	needs	credit; then this rank adds n
 * 	normal queue	n	added when all is posted
 * 	CPU's queue	n	credit
 * 	reads		n	added as reads complete: in order, because one connection answers them
 *
 * These limits of the provider shape the code:
 * - A put that finds the provider's ring full is left behind until its counter is examined again, which may be never.
 *   If a start has more puts than half of the ring, all counters are therefore examined after every STEP completed
 *   puts, by deferred work that adds 0 to them. A full ring means that more than STEP puts, or reads followed by puts,
 *   are under way, so that another examination follows.
 * - A put's completion must not be counted by the counter that triggers it: the provider would wait for itself.
 *   Completed puts have a counter of their own (done), whose deferred work only adds 0 to the counters of queues.
 * - Deferred work cannot be cancelled. Each bound schedule therefore has a domain of its own, with the provider's
 *   thread, and closes it as a whole.
 * - Queued work is in use until it has completed, and each start queues it again. So a start is complete only when
 *   all its puts are.
 * - Counters have 31 bits. Between starts, before a counter would overflow, what is used up is subtracted. Counters
 *   start near the limit, so that this is exercised early.
 * - Everybody who reaches the provider's port can connect, and can access each region whose key he knows. The
 *   provider also believes a process that claims to be a peer, and sends it that peer's data and the keys. On one
 *   node the ports are therefore those of the loopback interface. Keys are made of secrets that each rank draws for
 *   each request and shows to its peers only. Once all connections are made, none may belong to another user.
 * - The provider does not check whether it gets a file descriptor, or retries for ever. So we check that there are
 *   enough beforehand. */
#include "backends/smcq/ofi.h"

#include "backends/services.h"
#include "backends/smcq/ofi_fabric.h"
#include "format/check.h"
#include "util/clock.h"
#include "util/env.h"
#include "util/err.h"
#include "util/mac.h"
#include "util/mem.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENTS 7u /* most segments of a put; a longer put could take two slots of the ring */
#define STEP 64u
#define MOST INT32_MAX /* largest value of a counter */
#define CONNECT_S 30 /* seconds that peers may take to answer the first ping */
#define LEAVE_S 10 /* seconds that peers may take to answer the last ping */
#define DEATH_NS 500000000u /* time in ns for a peer to end, or to leave, after closing its connections */
#define DOMAIN_FDS 16u /* file descriptors that the provider uses for a domain, at most */
#define ADDRESS 64u /* bytes of an endpoint's address, at most */
#define HELLO 1u /* the word of the first ping; that of the last one is HELLO and the number of starts */

struct counter {
	struct fid_cntr *cntr;
	uint64_t base; /* value at the beginning of this start */
	uint64_t per; /* growth per start */
};

struct queue {
	struct counter c;
	struct fid_mr *credit;
	uint64_t before; /* growth that the first entry waits for, besides its own credit */
	uint64_t gate; /* growth that this rank itself causes at start */
	bool posted; /* for a posted queue: true if this rank has posted it in this start */
};

struct put {
	struct fi_deferred_work work;
	union {
		struct fi_op_rma rma;
		struct fi_op_atomic atomic;
	};
	union {
		struct iovec from;
		struct fi_ioc operand;
	};
	union {
		struct fi_rma_iov to[SEGMENTS];
		struct fi_rma_ioc target;
	};
	uint32_t to_rank;
	const struct counter *on; /* counter that the put waits for */
	uint32_t at; /* threshold, counted from the beginning of the start */
};

/* A watch: deferred work that makes the provider examine all work that waits for a counter. */
struct watch {
	struct fi_deferred_work work;
	struct fi_op_cntr add;
	uint32_t at;
};

/* The GETs of one queue from one peer. */
struct reads {
	const struct bin_entry *first;
	uint32_t queue;
	uint32_t n; /* reads added so far */
	struct counter c;
};

struct peer {
	fi_addr_t at;
	char secret[MAC_KEY];
};

enum { REGION_NOTICE, REGION_FREE /* has no counter */, REGION_BUFFERS /* the first buffer; queues follow */ };

struct ofi {
	struct smcq_part part;
	const struct be_bind *b;
	const struct bin_posts *posts;
	const struct be_buffer *at; /* buffers that are bound now */
	const struct ofi_fabric *f;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_ep *ep;
	struct counter done, notice;
	struct fid_cntr *ignored; /* completion counter of watches, which nobody reads */
	struct fid_mr *noticed, *free, **regions; /* regions: of the buffers */
	struct queue *queues;
	VEC(struct reads) reads;
	struct peer *peers; /* the peers, by rank */
	struct put *puts, sample; /* sample: stands in for each put while the puts are only counted */
	struct watch *watches;
	uint32_t nputs, nwatches;
	uint32_t nreads; /* number of elements of `puts` that are reads, for GETs */
	/* by rank: the last word of that rank's pings; not 0 if this rank and that one are connected, by puts in either direction */
	_Atomic uint64_t *met;
	uint64_t locals; /* local notices per start, without those of the CPU's entries */
	uint64_t epoch; /* last epoch that was started */
	uint64_t through; /* last epoch of which all posted work has completed */
	uint64_t word; /* source of puts that bring only credit */
	uint64_t said; /* source of pings */
	uint64_t network; /* identifier of this rank's network namespace */
	bool open; /* true if processes outside the node can connect */
};

static struct ofi *to_ofi(struct smcq_part *l)
{
	return (struct ofi *)l;
}

/* Reports a failed libfabric call. Returns 0 if rc is 0. */
static int check_fi(const struct ofi *o, const char *what, ssize_t rc)
{
	return rc ? group_error(o->b->group, rc == -FI_ENOMEM ? -ERR_NOMEM : -ERR_SYS, "the engine ofi: %s: %s", what,
				o->f->text((int)-rc)) :
		    0;
}

/* True if a peer cannot have completed the start under way when it leaves. Its last ping says how many starts it has
 * completed; there is none from a peer whose request has failed. */
static bool lacks_start(const struct ofi *o, uint32_t rank)
{
	return o->met[rank] && o->met[rank] < HELLO + o->epoch;
}

static int find_left(const struct ofi *o)
{
	for (uint32_t r = 0; r < o->b->size; r++)
		if (group_left(o->b->group, r) && lacks_start(o, r))
			return group_error(o->b->group, -ERR_DEAD, "rank %u has left the group", r);
	return 0;
}

/* Reports a failure that a peer's end may have caused. If a peer has died, or has left too early, that is reported instead. */
static int broken(struct ofi *o, const char *what, ssize_t rc)
{
	const uint64_t end = clock_now_ns() + DEATH_NS;
	int err;

	do {
		err = group_check(o->b->group);
		err = err ? err : find_left(o);
	} while (!err && clock_now_ns() < end && !sched_yield());
	return err ? err : check_fi(o, what, rc);
}

/* ---- counters ---- */

static int open_counter(struct ofi *o, struct counter *c, uint64_t per)
{
	int err = check_fi(o, "a counter", fi_cntr_open(o->domain, NULL, &c->cntr, NULL));

	if (!err && per > MOST / 8)
		err = group_error(o->b->group, -ERR_UNSUPPORTED,
				  "the engine ofi: a queue or the puts of a rank need a counter up to %llu",
				  (unsigned long long)per);
	c->per = per;
	c->base = MOST - 4 * per;
	return err ? err : check_fi(o, "a counter", fi_cntr_set(c->cntr, c->base));
}

/* Returns how much a counter has grown in this start. */
static uint64_t count_since_start(const struct counter *c)
{
	return fi_cntr_read(c->cntr) - c->base;
}

/* Moves a counter to the next start. Everything of this start has been counted; some of the next may have been counted
 * too. */
static void go_on(struct counter *c)
{
	c->base += c->per;
	if (c->base + 2 * c->per <= MOST)
		return;
	fi_cntr_add(c->cntr, -c->base);
	c->base = 0;
}

/* ---- puts ---- */

/* Returns the key of a region of a rank. */
static uint64_t key_of(const struct ofi *o, uint32_t rank, uint64_t region)
{
	return mac(o->peers[rank].secret, &region, sizeof region);
}

/* Adds a put to a rank, still without segments. The put is sent when the counter has grown by the given amount in this
 * start. The first pass, without o->puts, only counts the puts. */
static struct put *add_put(struct ofi *o, const struct counter *on, uint32_t at, uint32_t to)
{
	struct put *p = o->puts ? &o->puts[o->nputs] : &o->sample;

	o->nputs++;
	p->on = on;
	p->at = at;
	p->to_rank = to;
	p->work = (struct fi_deferred_work){ .triggering_cntr = on->cntr,
					     .completion_cntr = o->done.cntr,
					     .op_type = FI_OP_WRITE,
					     .op.rma = &p->rma };
	p->rma = (struct fi_op_rma){ .ep = o->ep,
				     .msg = { .msg_iov = &p->from,
					      .iov_count = 1,
					      .addr = o->peers[to].at,
					      .rma_iov = p->to,
					      .context = &p->work.context } };
	p->from = (struct iovec){ &o->word, sizeof o->word };
	return p;
}

static void add_segment(const struct ofi *o, struct put *p, uint64_t off, size_t len, uint64_t region)
{
	p->to[p->rma.msg.rma_iov_count++] = (struct fi_rma_iov){ off, len, key_of(o, p->to_rank, region) };
}

/* libfabric's operation and datatype of each enum bin_armw. */
static const struct {
	enum fi_op op;
	enum fi_datatype type;
} armws[BIN_ARMWS] = {
#define ARMW(NAME, number, word, op, bytes) [number] = { FI_##op, bytes == 4 ? FI_UINT32 : FI_UINT64 },
#include "format/armw.def"
#undef ARMW
};

/* Turns a put into an atomic operation. It can bring no credit. */
static void make_atomic(const struct ofi *o, struct put *p, uint8_t armw, void *from, uint64_t off, uint64_t region)
{
	const struct fi_msg_rma msg = p->rma.msg;

	p->operand = (struct fi_ioc){ from, 1 };
	p->target = (struct fi_rma_ioc){ off, 1, key_of(o, p->to_rank, region) };
	p->atomic = (struct fi_op_atomic){ .ep = p->rma.ep,
					   .msg = { .msg_iov = &p->operand,
						    .iov_count = 1,
						    .addr = msg.addr,
						    .rma_iov = &p->target,
						    .rma_iov_count = 1,
						    .datatype = armws[armw].type,
						    .op = armws[armw].op,
						    .context = msg.context } };
	p->work.op_type = FI_OP_ATOMIC;
	p->work.op.atomic = &p->atomic;
}

static void add_range(struct ofi *o, struct put *p, const struct bin_entry *e)
{
	const size_t basic = o->b->layout->basic;

	p->from = (struct iovec){ o->at[e->buf[0]].ptr + e->off[0] * basic, e->len * basic };
	add_segment(o, p, e->off[1] * basic, e->len * basic, REGION_BUFFERS + e->buf[1]);
}

/* Adds credit for a queue of a rank, and a notice if asked for, as segments of put `p` and of as many more puts as needed. */
static void add_credit(struct ofi *o, struct put *p, const struct counter *on, uint32_t at, uint32_t to, uint32_t queue,
		       uint32_t credits, bool notice)
{
	for (uint32_t i = 0; i < credits + notice; i++) {
		if (!p || p->rma.msg.rma_iov_count == SEGMENTS)
			p = add_put(o, on, at, to);
		add_segment(o, p, 0, p->rma.msg.rma_iov_count ? 0 : sizeof o->word,
			    i < credits ? REGION_BUFFERS + o->b->bin->nbuffers + queue : REGION_NOTICE);
	}
}

/* Returns the index of the reads that a GET belongs to, or the index at which to add them. */
static size_t reads_of(const struct ofi *o, uint32_t queue, const struct bin_entry *e)
{
	size_t i = 0;

	while (i < o->reads.n && (o->reads.at[i].queue != queue || !bin_entry_same_route(o->reads.at[i].first, e)))
		i++;
	return i;
}

static void add_get(struct ofi *o, uint32_t queue, const struct counter *on, uint32_t at, const struct bin_entry *e)
{
	const uint32_t rank = o->b->rank, credits = e->queue == BIN_NONE ? 0 : e->sps;
	struct reads *r = &o->reads.at[reads_of(o, queue, e)];
	struct put *p = add_put(o, on, at, e->peer);

	p->work.op_type = FI_OP_READ;
	p->work.completion_cntr = r->c.cntr;
	add_range(o, p, e);
	r->n++;
	o->nreads++;
	add_credit(o, NULL, &r->c, r->n, rank, e->queue, credits, false);
	add_credit(o, NULL, &r->c, r->n, e->peer, BIN_NONE, 0, e->flags & BIN_E_REMOTE);
	if (!credits && !(e->flags & BIN_E_REMOTE))
		add_segment(o, add_put(o, &r->c, r->n, rank), rank * sizeof o->word, sizeof o->word, REGION_FREE);
}

/* Adds the puts of entry k of a queue: one, or several if the entry brings much credit, is atomic or is a GET. */
static void add_entry(struct ofi *o, uint32_t queue, uint32_t k, const struct bin_entry *e)
{
	const struct counter *on = &o->queues[queue].c;
	const uint32_t at = (uint32_t)o->queues[queue].before + k + 1;
	const size_t basic = o->b->layout->basic;
	struct put *p = NULL;

	if (e->kind == BIN_E_GET) {
		add_get(o, queue, on, at, e);
		return;
	}
	if (e->kind == BIN_E_PUT)
		add_range(o, p = add_put(o, on, at, e->peer), e);
	else if (e->kind == BIN_E_ARMW)
		make_atomic(o, add_put(o, on, at, e->peer), e->armw, o->at[e->buf[0]].ptr + e->off[0] * basic,
			    e->off[1] * basic, REGION_BUFFERS + e->buf[1]);
	add_credit(o, p, on, at, e->peer, e->queue, e->queue == BIN_NONE ? 0 : e->sps, e->flags & BIN_E_REMOTE);
}

static void add_entries(struct ofi *o)
{
	o->nputs = o->nreads = 0;
	for (size_t i = 0; i < o->reads.n; i++)
		o->reads.at[i].n = 0;
	for (uint32_t q = 0; q < o->posts->head->nqueues; q++) {
		const struct bin_queue *b = &o->posts->queues[q];

		for (uint32_t k = 0; k < b->n && b->mode != BIN_Q_CPU; k++)
			add_entry(o, q, k, &o->posts->entries[b->first + k]);
	}
}

static bool puts_from(const struct ofi *o, uint32_t queue)
{
	const struct bin_queue *b = &o->posts->queues[queue];

	return b->n && b->mode != BIN_Q_CPU;
}

static void add_watch(struct ofi *o, uint32_t at, const struct counter *c)
{
	struct watch *l = o->watches ? &o->watches[o->nwatches] : NULL;

	o->nwatches++;
	if (!l)
		return;
	l->at = at;
	l->add.cntr = c->cntr;
	l->work.op_type = FI_OP_CNTR_ADD;
	l->work.op.cntr = &l->add;
	l->work.triggering_cntr = o->done.cntr;
	l->work.completion_cntr = o->ignored;
}

/* Adds watches up to, but not at, the last completed put. A watch of the last put might still be under way when the next
 * start queues the watch again. */
static void add_watches(struct ofi *o)
{
	o->nwatches = 0;
	for (uint32_t at = STEP; at < o->done.per; at += STEP) {
		for (uint32_t q = 0; q < o->posts->head->nqueues; q++)
			if (puts_from(o, q))
				add_watch(o, at, &o->queues[q].c);
		for (size_t i = 0; i < o->reads.n; i++)
			add_watch(o, at, &o->reads.at[i].c);
	}
}

static int add_work(struct ofi *o)
{
	const bool many = o->nputs > o->f->info->tx_attr->size / 2; /* open_all has counted the puts */

	o->puts = mem_calloc(o->nputs, sizeof *o->puts);
	if (o->puts)
		add_entries(o);
	if (many)
		add_watches(o);
	o->watches = mem_calloc(o->nwatches, sizeof *o->watches);
	if (o->watches && many)
		add_watches(o);
	return o->puts && o->watches ? 0 : check_fi(o, "deferred work", -FI_ENOMEM);
}

/* ---- regions, counters, domain ---- */

/* Registers memory for access by peers, with offsets from 0. The counter `c`, if not NULL, counts what arrives there. */
static int open_region(struct ofi *o, struct fid_mr **r, void *at, size_t len, uint64_t access, uint64_t region, struct counter *c)
{
	int rc = fi_mr_reg(o->domain, at, len, access, 0, key_of(o, o->b->rank, region), 0, r, NULL);

	return check_fi(o, "a memory region", rc || !c ? rc : fi_mr_bind(*r, &c->cntr->fid, FI_REMOTE_WRITE));
}

static int open_buffer(struct ofi *o, uint32_t i, const struct be_buffer *b)
{
	const uint64_t access = FI_REMOTE_READ | (o->b->bin->buffers[i].mode == BIN_IN ? 0 : FI_REMOTE_WRITE);

	if (!b->elements || !b->ptr)
		return 0;
	return open_region(o, &o->regions[i], b->ptr, b->elements * o->b->layout->basic, access, REGION_BUFFERS + i, NULL);
}

static int open_queue(struct ofi *o, uint32_t i)
{
	const struct bin_queue *b = &o->posts->queues[i];
	struct queue *q = &o->queues[i];
	int err;

	q->gate = b->mode == BIN_Q_SESSION || b->mode == BIN_Q_NORMAL ? b->n : 0;
	q->before = b->mode == BIN_Q_SESSION ? b->n : b->needs;
	err = open_counter(o, &q->c, q->before + b->n);
	return err ? err :
		     open_region(o, &q->credit, &o->word, sizeof o->word, FI_REMOTE_WRITE,
				 REGION_BUFFERS + o->b->bin->nbuffers + i, &q->c);
}

static int open_reads(struct ofi *o)
{
	int err = 0;

	for (uint32_t q = 0; q < o->posts->head->nqueues; q++)
		for (uint32_t k = 0; k < o->posts->queues[q].n; k++) {
			const struct bin_entry *e = &o->posts->entries[o->posts->queues[q].first + k];
			const size_t i = reads_of(o, q, e);

			if (e->kind != BIN_E_GET)
				continue;
			if (i == o->reads.n && VEC_PUSH(&o->reads, (struct reads){ .first = e, .queue = q }))
				return check_fi(o, "deferred work", -FI_ENOMEM);
			o->reads.at[i].n++;
		}
	for (size_t i = 0; i < o->reads.n && !err; i++)
		err = open_counter(o, &o->reads.at[i].c, o->reads.at[i].n);
	return err;
}

/* True if all ranks share this rank's loopback interface. */
static bool share_loopback(const struct ofi *o)
{
	bool same = true;

	for (uint32_t r = 0; r < o->b->size; r++)
		same = same && group_same_node(o->b->group, r) && group_handle(o->b->group, r)->off == o->network;
	return same;
}

static int find_fabric(struct ofi *o)
{
	long allowed;
	int err;

	o->open = !share_loopback(o);
	if (env_number(ENV_GOAL_OFI_NETWORK, &allowed))
		return group_error(o->b->group, -ERR_ARG, "the environment variable GOAL_OFI_NETWORK cannot be \"%s\": 0 or 1",
				   env_get(ENV_GOAL_OFI_NETWORK));
	if (o->open && allowed != 1)
		return group_error(o->b->group, -ERR_UNSUPPORTED,
				   "the engine ofi cannot keep others on the network from the ranks' data, and the ranks "
				   "share no loopback interface; GOAL_OFI_NETWORK=1 allows it all the same");
	if (getrandom(o->peers[o->b->rank].secret, MAC_KEY, 0) != MAC_KEY)
		return group_error(o->b->group, -ERR_SYS, "getrandom: %s", strerror(errno));
	o->f = ofi_fabric_of(o->b->group, &smcq_ofi, o->open ? OFI_NETWORK : OFI_NODE, &err);
	return err;
}

/* Opens the domain with all signals blocked. The provider's threads inherit the mask, so that the application's threads
 * get the signals. */
static int open_domain(struct ofi *o)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = fi_domain(o->f->fabric, o->f->info, &o->domain, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return check_fi(o, "a domain", rc);
}

static int open_endpoint(struct ofi *o)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .count = o->b->size };
	int rc = fi_av_open(o->domain, &attr, &o->av, NULL);

	rc = rc ? rc : fi_endpoint(o->domain, o->f->info, &o->ep, NULL);
	rc = rc ? rc : fi_ep_bind(o->ep, &o->av->fid, 0);
	rc = rc ? rc : fi_ep_bind(o->ep, &o->done.cntr->fid, FI_WRITE | FI_READ | FI_SEND); /* counts failures as well */
	return check_fi(o, "an endpoint", rc ? rc : fi_enable(o->ep));
}

/* Counts the local and remote notices of a start, without those that the CPU's entries cause. */
static void count_notices(struct ofi *o, uint64_t *remotes)
{
	const struct bin_queues *h = o->posts->head;

	o->locals = h->locals;
	*remotes = h->remotes;
	for (uint32_t q = 0; q < h->nqueues; q++)
		for (uint32_t k = 0; k < o->posts->queues[q].n && o->posts->queues[q].mode == BIN_Q_CPU; k++) {
			const struct bin_entry *e = &o->posts->entries[o->posts->queues[q].first + k];

			o->locals -= (e->flags & BIN_E_LOCAL) != 0;
			*remotes -= (e->flags & BIN_E_REMOTE) != 0;
		}
}

static int open_all(struct ofi *o)
{
	uint64_t remotes;
	int err = find_fabric(o);

	err = err ? err : open_domain(o);
	count_notices(o, &remotes);
	for (uint32_t q = 0; q < o->posts->head->nqueues && !err; q++)
		err = open_queue(o, q);
	err = err ? err : open_reads(o);
	if (!err)
		add_entries(o);
	err = err ? err : open_counter(o, &o->done, o->nputs - o->nreads);
	err = err ? err : open_counter(o, &o->notice, remotes);
	err = err ? err : check_fi(o, "a counter", fi_cntr_open(o->domain, NULL, &o->ignored, NULL));
	err = err ? err : open_region(o, &o->noticed, &o->word, sizeof o->word, FI_REMOTE_WRITE, REGION_NOTICE, &o->notice);
	err = err ? err : open_region(o, &o->free, (void *)o->met, o->b->size * sizeof *o->met, FI_REMOTE_WRITE, REGION_FREE, NULL);
	for (uint32_t i = 0; i < o->b->bin->nbuffers && !err; i++)
		err = open_buffer(o, i, &o->at[i]);
	return err ? err : open_endpoint(o);
}

/* Checks that there are enough file descriptors for all ranks of this process, which bind at the same time. Each rank checks
 * in make, before any of them opens descriptors in bind. A rank needs two per peer, as both may connect at once, and two for
 * puts to itself. */
static int need_descriptors(const struct be_bind *b)
{
	uint64_t need = DOMAIN_FDS + 2 * (uint64_t)b->size, ranks = 0, used = 0;
	struct rlimit limit;
	DIR *d = opendir("/proc/self/fd");

	for (uint32_t r = 0; r < b->size; r++)
		ranks += r == b->rank || group_same_process(b->group, r);
	if (getrlimit(RLIMIT_NOFILE, &limit) || (!d && errno != EMFILE && errno != ENFILE))
		return 0; /* the limit, or the number in use, cannot be found out */
	while (d && readdir(d))
		used++;
	if (d)
		closedir(d);
	used -= d ? 3 : 0; /* the entries . and .., and the descriptor of the directory itself */
	if (d && used + ranks * need <= limit.rlim_cur)
		return 0;
	return group_error(b->group, -ERR_SYS,
			   "the engine ofi needs %llu file descriptors, and of the limit of %llu (ulimit -n) too many are in use",
			   (unsigned long long)(ranks * need), (unsigned long long)limit.rlim_cur);
}

static int ofi_make(const struct smcq_job *job, struct smcq_part **out, struct be_handle *handle)
{
	const uint32_t nqueues = job->posts.head->nqueues, nbuffers = job->b->bin->nbuffers;
	struct ofi *o = mem_calloc(1, sizeof *o + nqueues * sizeof *o->queues + nbuffers * sizeof *o->regions +
					      job->b->size * (sizeof *o->met + sizeof *o->peers));
	struct stat st;

	if (!o)
		return group_error(job->b->group, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	*out = &o->part;
	o->part.job = job;
	o->b = job->b;
	o->posts = &job->posts;
	o->at = job->b->buffers;
	o->queues = (struct queue *)(void *)(o + 1);
	o->regions = (struct fid_mr **)(void *)(o->queues + nqueues);
	o->met = (_Atomic uint64_t *)(void *)(o->regions + nbuffers);
	o->peers = (struct peer *)(void *)(o->met + job->b->size);
	o->word = 1;
	handle->off = o->network = stat("/proc/thread-self/ns/net", &st) ? 0 : st.st_ino;
	return need_descriptors(job->b);
}

static void close_fid(void *fid)
{
	if (fid)
		fi_close(fid);
}

/* ---- connecting ---- */

struct address {
	int err;
	char name[ADDRESS];
	char secret[MAC_KEY];
};

/* Puts a word to every connected rank and waits until it has arrived. No other work is under way. Ranks that have sent their
 * last ping are left out, for they may be gone; if one goes meanwhile, the last ping of this rank goes on to the others. */
static int ping_peers(struct ofi *o, uint64_t word, unsigned seconds)
{
	const uint64_t end = clock_now_ns() + seconds * UINT64_C(1000000000);
	const bool last = word > HELLO;
	uint64_t n = 0;
	ssize_t rc = fi_cntr_set(o->done.cntr, 0);
	int err = 0;

	o->said = word;
	for (uint32_t r = 0; r < o->b->size && !rc && !err; r++) {
		if (!o->met[r] || o->met[r] > HELLO)
			continue;
		do
			rc = fi_write(o->ep, &o->said, sizeof o->said, NULL, o->peers[r].at, o->b->rank * sizeof *o->met,
				      key_of(o, r, REGION_FREE), NULL);
		while (rc == -FI_EAGAIN && !(err = group_check(o->b->group)) && clock_now_ns() < end && !sched_yield());
		n += !rc;
		rc = last ? 0 : rc;
	}
	while (!rc && !err && fi_cntr_read(o->done.cntr) + (last ? fi_cntr_readerr(o->done.cntr) : 0) < n) {
		err = group_check(o->b->group);
		if (!last && fi_cntr_readerr(o->done.cntr))
			rc = -FI_EIO;
		else if (clock_now_ns() > end)
			rc = -FI_ETIMEDOUT;
		else
			sched_yield();
	}
	fi_cntr_set(o->done.cntr, o->done.base);
	return err || !rc ? err : broken(o, "a peer", rc);
}

/* Reports an error if another user is connected to this rank. Root is ignored: nothing keeps root out anyway, and the
 * kernel lists closed connections as root's. */
static int find_others(struct ofi *o, const struct sockaddr_in *mine)
{
	unsigned long addr, port, user;
	char line[256];
	FILE *f = fopen("/proc/thread-self/net/tcp", "re");
	int err = 0;

	if (!f)
		return group_error(o->b->group, -ERR_SYS, "the engine ofi: who is connected cannot be seen: /proc/net/tcp: %s",
				   strerror(errno));
	while (!err && fgets(line, sizeof line, f))
		if (sscanf(line, "%*u: %*x:%*x %lx:%lx %*x %*x:%*x %*x:%*x %*x %lu", &addr, &port, &user) == 3 &&
		    addr == mine->sin_addr.s_addr && port == ntohs(mine->sin_port) && user != geteuid() && user)
			err = group_error(o->b->group, -ERR_SYS, "the engine ofi: user %lu has connected to this rank", user);
	fclose(f);
	return err;
}

/* Connects to the peers. The connections are made now, because no thread could wait for them later. */
static int connect_peers(struct ofi *o, const struct address *all)
{
	struct sockaddr_in mine;
	int err;

	for (uint32_t r = 0; r < o->b->size; r++)
		if (fi_av_insert(o->av, all[r].name, 1, &o->peers[r].at, 0, NULL) != 1)
			return check_fi(o, "the address of a peer", -FI_EADDRNOTAVAIL);
	for (uint32_t r = 0; r < o->b->size; r++)
		memcpy(o->peers[r].secret, all[r].secret, MAC_KEY);
	for (uint32_t i = 0; i < o->posts->head->nentries; i++)
		if (bin_entry_facts(o->posts->entries[i].kind).sends)
			o->met[o->posts->entries[i].peer] = HELLO;
	if (o->nreads)
		o->met[o->b->rank] = HELLO;
	memcpy(&mine, all[o->b->rank].name, sizeof mine);
	err = ping_peers(o, HELLO, CONNECT_S);
	return err || o->open ? err : find_others(o, &mine);
}

static int meet_all(struct smcq_part *l, int err)
{
	struct ofi *o = to_ofi(l);
	const struct address *all;
	struct address mine = { 0 };
	size_t len = ADDRESS;
	int rc;

	err = err ? err : open_all(o);
	err = err ? err : check_fi(o, "the address", fi_getname(&o->ep->fid, mine.name, &len));
	mine.err = err;
	memcpy(mine.secret, o->peers[o->b->rank].secret, MAC_KEY);
	all = group_room(o->b->group);
	rc = group_allgather(o->b->group, &mine, sizeof mine, group_room(o->b->group));
	if (rc)
		return rc;
	for (uint32_t r = 0; r < o->b->size; r++)
		if (all[r].err)
			return group_agree(o->b->group, err);
	err = connect_peers(o, all);
	return group_agree(o->b->group, err ? err : add_work(o));
}

/* ---- running ---- */

static int queue_work(struct ofi *o)
{
	int rc = 0;

	for (uint32_t i = 0; i < o->nputs && !rc; i++) {
		struct put *p = &o->puts[i];

		p->work.threshold = p->on->base + p->at;
		rc = fi_control(&o->domain->fid, FI_QUEUE_WORK, &p->work);
	}
	for (uint32_t i = 0; i < o->nwatches && !rc; i++) {
		o->watches[i].work.threshold = o->done.base + o->watches[i].at;
		rc = fi_control(&o->domain->fid, FI_QUEUE_WORK, &o->watches[i].work);
	}
	return rc ? broken(o, "deferred work", rc) : 0;
}

static int ofi_start(struct smcq_part *l, uint64_t epoch)
{
	struct ofi *o = to_ofi(l);
	const uint32_t n = o->posts->head->nqueues;
	int err;

	if (o->epoch) {
		go_on(&o->done);
		go_on(&o->notice);
		for (size_t i = 0; i < o->reads.n; i++)
			go_on(&o->reads.at[i].c);
	}
	for (uint32_t q = 0; q < n; q++) {
		if (o->epoch)
			go_on(&o->queues[q].c);
		o->queues[q].posted = false;
	}
	o->epoch = epoch;
	err = queue_work(o);
	for (uint32_t q = 0; q < n && !err; q++)
		if (o->queues[q].gate)
			fi_cntr_add(o->queues[q].c.cntr, o->queues[q].gate);
	return err;
}

static int ofi_poll(struct smcq_part *l, struct smcq_notices *sum)
{
	struct ofi *o = to_ofi(l);

	if (fi_cntr_readerr(o->done.cntr))
		return broken(o, "a put to another rank", -FI_EIO);
	if (o->through < o->epoch && count_since_start(&o->done) == o->done.per)
		o->through = o->epoch;
	sum->locals = o->through * o->locals;
	sum->remotes = (o->epoch - 1) * o->notice.per + count_since_start(&o->notice);
	return o->through == o->epoch;
}

static uint64_t ofi_credit(const struct smcq_part *l, uint32_t queue)
{
	const struct ofi *o = (const struct ofi *)l;
	const struct queue *q = &o->queues[queue];
	const struct bin_queue *b = &o->posts->queues[queue];

	return (o->epoch - 1) * (b->mode == BIN_Q_POSTED ? b->needs : b->n) +
	       count_since_start(&q->c) - (q->posted ? b->n : 0);
}

static int ofi_post(struct smcq_part *l, uint32_t queue)
{
	struct ofi *o = to_ofi(l);

	o->queues[queue].posted = true;
	return check_fi(o, "a counter", fi_cntr_add(o->queues[queue].c.cntr, o->posts->queues[queue].n));
}

static int ofi_release(struct smcq_part *l, uint32_t queue, uint32_t sps)
{
	struct ofi *o = to_ofi(l);

	return check_fi(o, "a counter", fi_cntr_add(o->queues[queue].c.cntr, sps));
}

/* Registers changed buffers anew. The keys of the regions stay, so that peers need not be informed. */
static int replace_regions(struct ofi *o, const struct be_buffer *buffers)
{
	int err = 0;

	for (uint32_t i = 0; i < o->b->bin->nbuffers && !err; i++) {
		if (buffers[i].ptr == o->at[i].ptr && o->regions[i])
			continue;
		close_fid(o->regions[i]);
		o->regions[i] = NULL;
		err = open_buffer(o, i, &buffers[i]);
	}
	return err;
}

static int ofi_rebind(struct smcq_part *l, const struct be_buffer *buffers)
{
	struct ofi *o = to_ofi(l);
	int err = replace_regions(o, buffers);

	if (err) {
		replace_regions(o, o->at);
		return err;
	}
	o->at = buffers;
	add_entries(o);
	return 0;
}

static uint32_t ofi_issued(const struct smcq_part *l, uint32_t queue, uint64_t epoch)
{
	const struct ofi *o = (const struct ofi *)l;
	const uint64_t n = count_since_start(&o->queues[queue].c), before = o->queues[queue].before;

	(void)epoch; /* the caller asks only about the last epoch */
	return n <= before ? 0 : n - before < o->posts->queues[queue].n ? (uint32_t)(n - before) : o->posts->queues[queue].n;
}

static bool ofi_waits_for(const struct smcq_part *l, uint32_t rank)
{
	return lacks_start((const struct ofi *)l, rank);
}

#define POLL_NS 100000u /* ns between two polls: no bell rings when the provider counts */

static uint64_t next_poll(const struct smcq_part *l)
{
	(void)l;
	return clock_now_ns() + POLL_NS;
}

static void ofi_memory(const struct smcq_part *l, struct be_memory *m)
{
	const struct ofi *o = (const struct ofi *)l;

	m->private += mem_bytes(o) + mem_bytes(o->reads.at) + mem_bytes(o->puts) + mem_bytes(o->watches);
}

static void ofi_unmake(struct smcq_part *l)
{
	struct ofi *o = to_ofi(l);

	if (!o)
		return;
	if (o->epoch && o->through == o->epoch && !group_lost(o->b->group))
		/* puts arrive in order, so everything that peers wait for has arrived with this ping */
		ping_peers(o, HELLO + o->epoch, LEAVE_S);
	close_fid(o->ep);
	for (uint32_t i = 0; i < o->b->bin->nbuffers; i++)
		close_fid(o->regions[i]);
	for (uint32_t q = 0; q < o->posts->head->nqueues; q++)
		close_fid(o->queues[q].credit);
	close_fid(o->noticed);
	close_fid(o->free);
	for (uint32_t q = 0; q < o->posts->head->nqueues; q++)
		close_fid(o->queues[q].c.cntr);
	for (size_t i = 0; i < o->reads.n; i++)
		close_fid(o->reads.at[i].c.cntr);
	VEC_FREE(&o->reads);
	close_fid(o->notice.cntr);
	close_fid(o->done.cntr);
	close_fid(o->ignored);
	close_fid(o->av);
	close_fid(o->domain);
	free(o->puts);
	free(o->watches);
	free(o);
}

const struct smcq_engine smcq_ofi = {
	.name = "ofi",
	.make = ofi_make,
	.connect = meet_all,
	.memory = ofi_memory,
	.unmake = ofi_unmake,
	.start = ofi_start,
	.poll = ofi_poll,
	.post = ofi_post,
	.credit = ofi_credit,
	.release = ofi_release,
	.rebind = ofi_rebind,
	.issued = ofi_issued,
	.waits_for = ofi_waits_for,
	.alarm = next_poll,
	.close = ofi_fabric_close,
};
