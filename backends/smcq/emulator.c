/* SPDX-License-Identifier: BSD-3-Clause
 * The rank's side of the engine "model". At bind it describes the queues in the rank's heap and sends their position to
 * the emulator of the interface. At each start it copies the entries into the queues. */
#include "backends/smcq/emulator.h"

#include "backends/services.h"
#include "backends/smcq/nic.h"
#include "util/clock.h"
#include "util/env.h"
#include "util/err.h"
#include "util/local.h"
#include "util/mem.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LINE 64u
#define LEAST_DEPTH 11u /* log2 of the depth of the smallest queue */
#define CHECK_NS 50000000u /* time between two checks that the interface still runs, in ns */
#define PATIENCE_MS 30000 /* time to wait for an answer, in ms */

/* Connection of a context to the network interface. */
struct connection {
	struct smcq_state base;
	pthread_mutex_t lock; /* held during a request and its answer */
	int sock, bell;
	uint64_t nic; /* number of the interface, the same for all ranks connected to it */
	const struct nic_door *door;
};

struct emulated {
	struct smcq_part base;
	struct connection *c;
	struct nic_block *block;
	/* offset of the block in the heap, and the interface's name for the block; the name is 0 until NIC_BIND */
	uint64_t off, name;
	struct nic_pointers *pointers;
	struct nic_region *regions;
	uint64_t checked; /* time of the last check that the interface runs, in ns */
	uint32_t ncpu; /* number of entries that give credit, in the queues that the CPU runs */
	uint32_t first_route; /* first route of the last queue, which brings credit given by entries that the CPU runs */
	uint64_t epoch, posts, mrq_seen;
	bool late; /* true if some entries of this start are not posted yet */
	struct smcq_notices notices;
	uint64_t *credit; /* credit of each queue of the CPU, and of each posted queue */
	uint64_t *posted; /* entries posted to each queue since bind */
	struct nic_entry *entries; /* entries of all queues, as they are posted */
};

static struct be_group *group_of(const struct emulated *m)
{
	return m->base.job->b->group;
}

static const struct bin_posts *posts_of(const struct emulated *m)
{
	return &m->base.job->posts;
}

static void *block_at(const struct emulated *m, uint64_t off)
{
	return (char *)m->block + off;
}

/* ---- the connection ---- */

static int sys_error(struct be_group *g, const char *what)
{
	return group_error(g, -ERR_SYS, "%s: %s", what, strerror(errno));
}

static int report_nic_gone(struct be_group *g)
{
	return group_error(g, -ERR_SYS, "the network interface of this node is gone");
}

/* Sends a request, with descriptor `fd` unless `fd` is -1, and waits for the answer. `more` receives the descriptors of
 * the answer. */
static int exchange_request(struct be_group *g, const struct connection *c, const struct nic_request *r, int fd,
			    struct nic_answer *a, int more[LOCAL_FDS])
{
	struct pollfd p = { .fd = c->sock, .events = POLLIN };
	bool cut;
	ssize_t n;
	int reset = 0;

	while (local_send(c->sock, r, sizeof *r, &fd, fd >= 0) < 0)
		if (errno == EPIPE) /* the interface may have sent the reason before it closed the connection */
			break;
		else if (errno != EINTR)
			return report_nic_gone(g);
	for (int got; (got = poll(&p, 1, PATIENCE_MS)) <= 0;)
		if (!got || errno != EINTR)
			return group_error(g, -ERR_SYS, "the network interface of this node does not answer");
	do /* the error for unread requests comes first, then what the interface sent before it closed its end */
		n = local_recv(c->sock, a, sizeof *a, more, &cut);
	while (n < 0 && errno == ECONNRESET && !reset++);
	if (n != sizeof *a)
		return report_nic_gone(g);
	if (cut)
		return group_error(g, -ERR_FILES, "%s", err_text(ERR_FILES));
	a->text[sizeof a->text - 1] = '\0';
	if (a->err == -ERR_FILES && !*a->text)
		return group_error(g, a->err, "the network interface: %s", err_text(a->err));
	return a->err ? group_error(g, a->err, "the network interface: %s", a->text) : 0;
}

/* Sends a request without descriptors and waits for the answer. Locks the connection. */
static int request_nic(const struct emulated *m, enum nic_what what, uint64_t a, uint64_t b, uint64_t *name)
{
	const struct nic_request r = { .what = what, .version = NIC_VERSION, .a = a, .b = b };
	struct nic_answer answer = { 0 };
	int none[LOCAL_FDS], err;

	pthread_mutex_lock(&m->c->lock);
	err = exchange_request(group_of(m), m->c, &r, -1, &answer, none);
	pthread_mutex_unlock(&m->c->lock);
	if (name)
		*name = answer.name;
	return err;
}

static int say_hello(struct be_group *g, uint32_t rank, struct connection *c)
{
	char *base;
	const int heap = group_heap(g, &base);
	const struct be_bells *bells = group_bells(g, rank);
	struct nic_request r = { .what = NIC_HELLO, .version = NIC_VERSION };
	struct nic_answer a;
	int fds[LOCAL_FDS] = { -1, -1 }, err;
	void *door;

	if (!bells)
		return group_error(g, -ERR_SYS, "the heap of rank %u cannot be mapped", rank);
	r.a = (uint64_t)((char *)bells->at[0] - base);
	err = exchange_request(g, c, &r, heap, &a, fds);
	c->bell = fds[0];
	if (!err && fds[1] < 0)
		err = report_nic_gone(g);
	if (!err) {
		c->nic = a.name;
		door = mmap(NULL, sizeof *c->door, PROT_READ, MAP_SHARED, fds[1], 0);
		c->door = door == MAP_FAILED ? NULL : door;
		err = c->door ? 0 : sys_error(g, "mmap");
	}
	if (fds[1] >= 0)
		close(fds[1]);
	return err;
}

static int connect_nic(struct be_group *g, struct connection *c)
{
	const char *name = env_get(ENV_GOAL_NIC);
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const size_t n = strlen(name);
	int pid;

	if (!n)
		return group_error(g, -ERR_UNSUPPORTED,
				   "this node has no network interface with command queues: goalrun --backend smcq plays one");
	if (n > sizeof to.sun_path - 1)
		return group_error(g, -ERR_ARG, "the environment variable GOAL_NIC is too long");
	memcpy(to.sun_path + 1, name, n);
	c->sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (c->sock < 0)
		return sys_error(g, "socket");
	if (connect(c->sock, (struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)))
		return group_error(g, -ERR_SYS, "the network interface \"%s\" (GOAL_NIC) cannot be reached: %s", name,
				   strerror(errno));
	if (!local_same_user(c->sock, &pid))
		return group_error(g, -ERR_SYS, "the network interface \"%s\" (GOAL_NIC) is another user's", name);
	return 0;
}

static void disconnect_nic(void *state)
{
	struct connection *c = state;

	if (c->sock >= 0)
		close(c->sock);
	if (c->bell >= 0)
		close(c->bell);
	if (c->door)
		munmap((void *)(uintptr_t)c->door, sizeof *c->door);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* Makes the context's connection. */
static int make_connection(const struct be_bind *b, void **out)
{
	struct connection *c;
	int err;

	c = mem_calloc(1, sizeof *c);
	if (!c)
		return group_error(b->group, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	*c = (struct connection){ .base = { &smcq_emulator }, .sock = -1, .bell = -1 };
	pthread_mutex_init(&c->lock, NULL);
	err = connect_nic(b->group, c);
	err = err ? err : say_hello(b->group, b->rank, c);
	if (err)
		disconnect_nic(c);
	else
		*out = c;
	return err;
}

/* Returns the context's connection in *out. The first bind makes it. */
static int find_connection(const struct be_bind *b, struct connection **out)
{
	void **kept = group_state(b->group);
	int err = *kept ? 0 : make_connection(b, kept);

	*out = *kept;
	group_state_done(b->group);
	return err;
}

/* ---- the block ---- */

static uint64_t reserve_lines(uint64_t *at, uint64_t n)
{
	const uint64_t here = *at;

	*at = (here + n + LINE - 1) / LINE * LINE;
	return here;
}

static uint32_t log2_up(uint64_t n)
{
	uint32_t k = 0;

	while (UINT64_C(1) << k < n)
		k++;
	return k;
}

/* Returns the depth code of a queue with n entries per start. A queue has room for two starts, because some entries may be
 * sent after a rank is done, but is no deeper than the target's queues. */
static uint8_t depth_for(const struct emulated *m, uint32_t n)
{
	const uint32_t most = m->base.job->b->bin->target->limit[BIN_LIMIT_DEPTH];
	uint32_t t = 0;

	while (t < most && UINT64_C(1) << (LEAST_DEPTH + 2 * t) < 2 * (uint64_t)n)
		t++;
	return (uint8_t)(LEAST_DEPTH + 2 * t);
}

/* Sets the offsets of everything in the block, and returns its size. */
static uint64_t lay_out(const struct emulated *m, struct nic_block *b, uint32_t nbuffers)
{
	const uint32_t *limit = m->base.job->b->bin->target->limit;
	const struct bin_posts *p = posts_of(m);
	uint64_t end = 0, remotes = p->head->remotes;

	for (uint32_t i = 0; i < p->head->nqueues; i++)
		/* a packet brings at least one credit */
		remotes += p->queues[i].mode == BIN_Q_CPU ? p->queues[i].n : p->queues[i].needs;
	*b = (struct nic_block){ .id = m->base.job->b->request,
				 .rank = m->base.job->b->rank,
				 .tnis = limit[BIN_LIMIT_TNIS],
				 .cqs = limit[BIN_LIMIT_CQS],
				 .offset = limit[BIN_LIMIT_OFFSET],
				 .nqueues = p->head->nqueues + (m->ncpu > 0),
				 .nregions = nbuffers,
				 .nroutes = p->head->nentries, /* upper bound */
				 .tcq_depth = log2_up(2 * (uint64_t)p->head->locals + 1),
				 .mrq_depth = log2_up(2 * remotes + 1) };
	reserve_lines(&end, sizeof *b);
	b->queues = reserve_lines(&end, b->nqueues * sizeof(struct nic_queue));
	b->regions = reserve_lines(&end, b->nregions * sizeof(struct nic_region));
	b->routes = reserve_lines(&end, b->nroutes * sizeof(struct nic_route));
	b->pointers = reserve_lines(&end, b->nqueues * sizeof(struct nic_pointers));
	b->tcq_ring = reserve_lines(&end, sizeof(struct nic_local) << b->tcq_depth);
	b->mrq_ring = reserve_lines(&end, sizeof(struct nic_remote) << b->mrq_depth);
	return end;
}

static void register_buffers(const struct emulated *m, const struct be_buffer *buffers, struct nic_region *out)
{
	const struct be_bind *b = m->base.job->b;

	for (uint32_t i = 0; i < b->bin->nbuffers; i++) {
		const struct be_buffer *p = &buffers[i];

		out[i] = (struct nic_region){ .base = p->heap ? p->heap_off : (uint64_t)(uintptr_t)p->ptr,
					      .len = p->ptr ? p->elements * b->layout->basic : 0,
					      .heap = p->heap };
	}
}

/* Refuses buffers in private memory unless the user lets ranks access each other's private memory: the interface's
 * process would have to access it too. */
static int check_private(const struct emulated *m, const struct be_buffer *buffers)
{
	const struct be_bind *b = m->base.job->b;
	const int allowed = group_direct_allowed(b->group);

	for (uint32_t i = 0; i < b->bin->nbuffers && !allowed; i++)
		if (buffers[i].ptr && buffers[i].elements && !buffers[i].heap)
			return group_error(b->group, -ERR_UNSUPPORTED,
					   "the buffer %s is private memory, which nobody else may touch where GOAL_SHM_DIRECT is 0",
					   bin_str(b->bin, b->bin->buffers[i].name));
	return allowed < 0 ? allowed : 0;
}

/* Returns the route of an entry, which it searches among the routes of the entry's queue, from index `first` on. Adds the
 * route if it is not there. */
static uint32_t find_route(struct nic_route *routes, uint32_t first, uint32_t *n, const struct bin_entry *e)
{
	uint32_t i = first;

	const bool gets = e->kind == BIN_E_GET;

	while (i < *n && (routes[i].peer != e->peer || routes[i].queue != e->queue || routes[i].gets != gets))
		i++;
	if (i == *n)
		routes[(*n)++] = (struct nic_route){ .peer = e->peer, .queue = e->queue, .gets = gets };
	return i;
}

/* Prepares the entries in the form in which they are posted. A route has the peer's rank at first, and the name of the
 * peer's block once the name is known. */
static void prepare_entries(struct emulated *m)
{
	const struct bin_posts *p = posts_of(m);
	const size_t basic = m->base.job->b->layout->basic;
	struct nic_route *routes = block_at(m, m->block->routes);
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->head->nqueues; i++) {
		const struct bin_queue *q = &p->queues[i];
		const uint32_t first = n;

		for (uint32_t k = q->first; k < q->first + q->n && q->mode != BIN_Q_CPU; k++) {
			const struct bin_entry *e = &p->entries[k];

			m->entries[k] = (struct nic_entry){ .command = e->kind,
							    .flags = e->flags,
							    .sps = e->sps,
							    .armw = e->armw,
							    .len = (uint32_t)(e->len * basic),
							    .region = { e->buf[0], e->buf[1] },
							    .route = e->kind == BIN_E_NOP ? 0 : find_route(routes, first, &n, e),
							    .off = { e->off[0] * basic, e->off[1] * basic } };
		}
	}
	m->first_route = n;
	for (uint32_t i = 0; i < p->head->nentries; i++)
		if (p->entries[i].kind == BIN_E_CPU && p->entries[i].sps)
			find_route(routes, m->first_route, &n, &p->entries[i]);
	m->block->nroutes = n;
}

/* Returns the interface's description of queue i of the rank. Reserves the queue's memory at *end. */
static struct nic_queue describe_queue(const struct emulated *m, uint32_t i, uint64_t *end)
{
	const struct bin_posts *p = posts_of(m);
	const bool cpu = i == p->head->nqueues;
	struct nic_queue q = { .mode = BIN_Q_NORMAL, .tni = NIC_ANY };

	if (!cpu)
		q = (struct nic_queue){ .mode = p->queues[i].mode, .tni = p->queues[i].tni };
	if (q.mode == BIN_Q_CPU)
		return q;
	q.depth = depth_for(m, cpu ? m->ncpu : p->queues[i].n);
	q.toq = reserve_lines(end, sizeof(struct nic_entry) << q.depth);
	return q;
}

static int make_block(struct emulated *m)
{
	const struct be_bind *b = m->base.job->b;
	struct nic_block head;
	struct nic_queue *queues;
	uint64_t size = lay_out(m, &head, b->bin->nbuffers), end = size;

	for (uint32_t i = 0; i < head.nqueues; i++)
		describe_queue(m, i, &size);
	m->block = group_alloc(b->group, size, &m->off);
	if (!m->block)
		return group_error(b->group, -ERR_NOMEM, "the shared heap has no %llu bytes for queues",
				   (unsigned long long)size);
	*m->block = head;
	m->pointers = block_at(m, head.pointers);
	m->regions = block_at(m, head.regions);
	queues = block_at(m, head.queues);
	for (uint32_t i = 0; i < head.nqueues; i++)
		queues[i] = describe_queue(m, i, &end);
	register_buffers(m, b->buffers, m->regions);
	prepare_entries(m);
	return request_nic(m, NIC_BIND, m->off, size, &m->name);
}

static uint32_t count_cpu(const struct bin_posts *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->head->nentries; i++)
		n += p->entries[i].kind == BIN_E_CPU && p->entries[i].sps;
	return n;
}

static int emulator_make(const struct smcq_job *job, struct smcq_part **out, struct be_handle *handle)
{
	const uint32_t nqueues = job->posts.head->nqueues, nentries = job->posts.head->nentries;
	struct emulated *m = mem_calloc(1, sizeof *m + (size_t)nentries * sizeof *m->entries +
						(2 * (size_t)nqueues + 1) * sizeof(uint64_t));
	int err;

	if (!m)
		return group_error(job->b->group, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	*out = &m->base;
	m->base.job = job;
	m->entries = (struct nic_entry *)(void *)(m + 1);
	m->credit = (uint64_t *)(void *)(m->entries + nentries);
	m->posted = m->credit + nqueues;
	m->ncpu = count_cpu(&job->posts);
	err = find_connection(job->b, &m->c);
	err = err ? err : check_private(m, job->b->buffers);
	err = err ? err : make_block(m);
	if (!err)
		*handle = (struct be_handle){ .off = m->name, .size = m->c->nic };
	return err;
}

static int connect_routes(struct smcq_part *l, int err)
{
	struct emulated *m = (struct emulated *)l;
	const struct be_bind *b = l->job->b;
	struct nic_route *routes = block_at(m, m->block->routes);
	uint64_t gone = 0;

	for (uint32_t r = 0; r < b->size && !err; r++)
		if (group_handle(b->group, r)->size != m->c->nic)
			err = group_error(b->group, -ERR_UNSUPPORTED,
					  "rank %u has another network interface than rank %u, and the model has one node", r,
					  b->rank);
	for (uint32_t i = 0; i < m->block->nroutes && !err; i++)
		routes[i].peer = group_handle(b->group, (uint32_t)routes[i].peer)->off;
	if (!err) {
		err = request_nic(m, NIC_CONNECT, m->name, 0, &gone);
		for (uint32_t r = 0; r < b->size && err == -ERR_DEAD; r++)
			if (group_handle(b->group, r)->off == gone)
				err = group_unreachable(b->group, r, "the network interface has lost it");
	}
	return group_agree(b->group, err);
}

static void emulator_memory(const struct smcq_part *l, struct be_memory *all)
{
	const struct emulated *m = (const struct emulated *)l;

	all->shared += group_block_bytes(group_of(m), m->block);
	all->private += mem_bytes(m);
}

static void emulator_unmake(struct smcq_part *l)
{
	struct emulated *m = (struct emulated *)l;

	if (!m)
		return;
	/* An error means that the interface is gone, so there is nothing left to release. */
	if (m->name)
		request_nic(m, NIC_UNBIND, m->name, 0, NULL);
	group_free(group_of(m), m->block);
	free(m);
}

/* ---- running ---- */

static const struct nic_queue *queue_at(const struct emulated *m, uint32_t i)
{
	return (const struct nic_queue *)block_at(m, m->block->queues) + i;
}

/* Copies entries to the queue's producer pointer and advances the pointer. Returns false if the queue is full. */
static bool post_entries(struct emulated *m, uint32_t queue, const struct nic_entry *e, uint64_t n)
{
	struct nic_entry *toq = block_at(m, queue_at(m, queue)->toq);
	const uint64_t depth = UINT64_C(1) << queue_at(m, queue)->depth, from = m->posted[queue] & (depth - 1);
	const uint64_t first = n < depth - from ? n : depth - from;

	if (m->posted[queue] + n - atomic_load_explicit(&m->pointers[queue].consumer, memory_order_acquire) > depth)
		return false;
	memcpy(toq + from, e, first * sizeof *toq);
	memcpy(toq, e + first, (n - first) * sizeof *toq);
	m->posted[queue] += n;
	atomic_store_explicit(&m->pointers[queue].producer, m->posted[queue], memory_order_release);
	return true;
}

static int ring_doorbell(struct emulated *m)
{
	const uint64_t one = 1;

	/* The store and the load are sequentially consistent. The interface stores `asleep` and then reads the doorbell once
	 * more. So either the interface sees this post, or this rank sees that the interface sleeps. */
	atomic_store(&m->block->doorbell, ++m->posts);
	if (atomic_load(&m->c->door->asleep) && write(m->c->bell, &one, sizeof one) < 0)
		return sys_error(group_of(m), "write to the network interface's bell");
	return 0;
}

/* Posts the entries of this start that are not posted yet, as far as there is room. */
static int post_all(struct emulated *m)
{
	const struct bin_posts *p = posts_of(m);

	m->late = false;
	for (uint32_t i = 0; i < p->head->nqueues; i++) {
		const struct bin_queue *q = &p->queues[i];

		if (q->mode == BIN_Q_CPU || q->mode == BIN_Q_POSTED || m->posted[i] == m->epoch * q->n)
			continue;
		m->late |= !post_entries(m, i, m->entries + q->first, q->n);
	}
	return ring_doorbell(m);
}

static int emulator_start(struct smcq_part *l, uint64_t epoch)
{
	struct emulated *m = (struct emulated *)l;

	m->epoch = epoch;
	atomic_store_explicit(&m->block->starts, epoch, memory_order_relaxed); /* the doorbell's store publishes it */
	return post_all(m);
}

static void read_notices(struct emulated *m)
{
	const struct nic_block *b = m->block;
	const struct nic_remote *ring = block_at(m, b->mrq_ring);
	const uint64_t tcq = atomic_load_explicit(&b->tcq, memory_order_acquire);
	const uint64_t mrq = atomic_load_explicit(&b->mrq, memory_order_acquire);

	if (tcq != m->notices.locals) { /* only the number of local notices matters */
		m->notices.locals = tcq;
		atomic_store_explicit(&m->block->tcq_seen, tcq, memory_order_release);
	}
	if (mrq == m->mrq_seen)
		return;
	for (; m->mrq_seen < mrq; m->mrq_seen++) {
		const struct nic_remote *n = &ring[m->mrq_seen & ((UINT64_C(1) << b->mrq_depth) - 1)];

		if (n->what == NIC_ARRIVED)
			m->notices.remotes++;
		else if (n->queue < b->nqueues)
			m->credit[n->queue] += n->sps;
	}
	atomic_store_explicit(&m->block->mrq_seen, mrq, memory_order_release);
}

static int report_fault(const struct emulated *m, uint32_t fault)
{
	static const char *const text[NIC_FAULTS] = {
		[NIC_BAD_ENTRY] = "an entry that it does not understand",
		[NIC_NO_MEMORY] = "memory that cannot be reached",
		[NIC_DEAD_SESSION] = "more credit than its offset can count: the session is dead",
		[NIC_NOTICES] = "more notices than there is room for",
	};

	if (fault == NIC_LEFT)
		return group_error(group_of(m), -ERR_DEAD, "rank %u has left the group", m->block->fault_rank);
	return group_error(group_of(m), -ERR_SYS, "the network interface found at queue %u of rank %u: %s", m->block->fault_queue,
			   m->block->fault_rank, fault < NIC_FAULTS ? text[fault] : "a fault");
}

/* Checks from time to time that the interface still runs. */
static int check_nic(struct emulated *m)
{
	const uint64_t now = clock_now_ns();
	ssize_t n;
	char byte;

	if (now - m->checked < CHECK_NS)
		return 0;
	m->checked = now;
	n = recv(m->c->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)) ? 0 : report_nic_gone(group_of(m));
}

static int poll_notices(struct smcq_part *l, struct smcq_notices *notices)
{
	struct emulated *m = (struct emulated *)l;
	const uint32_t fault = atomic_load_explicit(&m->block->fault, memory_order_acquire);
	int err = m->late ? post_all(m) : 0;

	read_notices(m);
	*notices = m->notices;
	err = err || !fault ? err : report_fault(m, fault);
	err = err ? err : check_nic(m);
	return err ? err : !m->late;
}

static uint64_t emulator_credit(const struct smcq_part *l, uint32_t queue)
{
	return ((const struct emulated *)l)->credit[queue];
}

/* Reports that entries of the previous start are still in the queue. */
static int report_full_queue(const struct emulated *m, uint32_t queue)
{
	return group_error(group_of(m), -ERR_STATE, "queue %u is full", queue);
}

static int post_queue(struct smcq_part *l, uint32_t queue)
{
	struct emulated *m = (struct emulated *)l;
	const struct bin_queue *q = &posts_of(m)->queues[queue];

	if (!post_entries(m, queue, m->entries + q->first, q->n))
		return report_full_queue(m, queue);
	return ring_doorbell(m);
}

/* Gives credit by a put of the rank to itself, through the extra queue of the CPU. */
static int emulator_release(struct smcq_part *l, uint32_t queue, uint32_t sps)
{
	struct emulated *m = (struct emulated *)l;
	const struct nic_route *routes = block_at(m, m->block->routes);
	struct nic_entry e = { .command = BIN_E_PIGGYBACK, .sps = (uint8_t)sps, .route = m->first_route };

	while (routes[e.route].queue != queue)
		e.route++;
	if (!post_entries(m, posts_of(m)->head->nqueues, &e, 1))
		return report_full_queue(m, posts_of(m)->head->nqueues);
	return ring_doorbell(m);
}

static int emulator_rebind(struct smcq_part *l, const struct be_buffer *buffers)
{
	struct emulated *m = (struct emulated *)l;
	int err = check_private(m, buffers);

	if (err)
		return err;
	register_buffers(m, buffers, m->regions);
	err = request_nic(m, NIC_REBIND, m->name, 0, NULL);
	if (err)
		register_buffers(m, l->job->b->buffers, m->regions);
	return err;
}

static uint32_t emulator_issued(const struct smcq_part *l, uint32_t queue, uint64_t epoch)
{
	const struct emulated *m = (const struct emulated *)l;
	const uint32_t n = posts_of(m)->queues[queue].n;
	const uint64_t done = atomic_load(&m->pointers[queue].consumer), before = (epoch - 1) * n;

	return done < before ? 0 : (uint32_t)(done - before);
}

const struct smcq_engine smcq_emulator = {
	.name = "model",
	.make = emulator_make,
	.connect = connect_routes,
	.memory = emulator_memory,
	.unmake = emulator_unmake,
	.start = emulator_start,
	.poll = poll_notices,
	.post = post_queue,
	.credit = emulator_credit,
	.release = emulator_release,
	.rebind = emulator_rebind,
	.issued = emulator_issued,
	.close = disconnect_nic,
};
