/* SPDX-License-Identifier: BSD-3-Clause
 * Connecting. Every rank has published its block (publish.c), and finds the peers' ends of its messages in the peers' blocks. As
 * the receiver it also chooses how each message travels. One exchange then tells all ranks whether every rank has succeeded. A second
 * exchange follows if a rank has made rings, because a peer may fail to map them. No exchange is
 * needed if the bind repeats an earlier one, and all messages are short: for these the receiver has nothing to choose. */
#include "backends/shm/answer.h"
#include "backends/shm/local_copy.h"
#include "backends/shm/sm.h"
#include "backends/services.h"
#include "util/err.h"
#include "util/mem.h"

#include <stdlib.h>
#include <string.h>

/* The bytes of a peer's block that binding reads: the end of its struct sm_head, and the first descriptors. */
#define PREFETCH offsetof(struct sm_head, wanted)
#define PREFETCH_END (PREFETCH + 4 * SM_LINE)

/* Maps the blocks of the peers. */
static int reach_peers(struct sm_bound *s)
{
	struct be_group *g = s->b.group;

	for (uint32_t i = 0; i < s->head->ndescs; i++) {
		uint32_t p = s->head->descs[i].peer;
		const struct be_handle *handle = group_handle(g, p);
		char *h;

		if (s->peers[p])
			continue;
		if (!group_same_node(g, p))
			return group_error(g, -ERR_UNSUPPORTED,
					   "rank %u is on another node, which shared memory does not reach: "
					   "GOAL_BACKEND=verbs does, goalrun --backend verbs",
					   p);
		h = group_peer(g, p, handle->off, handle->size);
		if (!h || !group_bells(g, p))
			return group_error(g, -ERR_SYS, "the heap of rank %u cannot be mapped", p);
		for (size_t at = PREFETCH; at < PREFETCH_END && at < handle->size; at += SM_LINE)
			__builtin_prefetch(h + at);
		s->peers[p] = (struct sm_head *)(void *)h;
		s->fences |= group_bells(g, p)->fences;
	}
	s->bells = group_bells(g, s->b.rank);
	return 0;
}

static struct sm_desc *find_partner(const struct sm_bound *s, const struct sm_desc *mine)
{
	struct sm_head *h = s->peers[mine->peer];
	struct sm_desc key = { .send = !mine->send, .peer = s->b.rank, .tag = mine->tag, .k = mine->k };

	return h->ndescs ? bsearch(&key, h->descs, h->ndescs, sizeof key, sm_by_channel) : NULL;
}

/* Limits of what goes through slots without trying, in bytes. From private memory: of a message that is stored where ranks have a core
 * each, and where they take turns on a core. From the heap where ranks take turns on a core: of a message; of one of several that are
 * reduced, because what this rank reads itself it adds up at once (reduce_together); of one while this rank sends long messages to the
 * same peer. */
#define SLOTS_STORED ((uint64_t)32 << 10)
#define SLOTS_TURNS_STORED ((uint64_t)256 << 10)
#define SLOTS_TURNS ((uint64_t)32 << 10)
#define SLOTS_TURNS_SUMS ((uint64_t)16 << 10)
#define SLOTS_TURNS_BOTH ((uint64_t)8 << 10)
/* Limits of what is tried from the heap there: a message one way, its sender's only long one; and one that is its receiver's only one, too */
#define TRIED_TURNS ((uint64_t)64 << 10)
#define TRIED_TURNS_ONLY ((uint64_t)256 << 10)
#define SLOTS_ROOM ((size_t)2 << 20) /* limit of the rings of a rank's request */

/* The long messages to this rank. */
struct long_recvs {
	uint32_t n;
	size_t room; /* bytes that rings by choice may still take */
};

/* True if a message is one of several that are reduced. */
static bool is_of_sums(const struct sm_bound *s, const struct sm_desc *recv, const struct long_recvs *all)
{
	return all->n > 1 && bin_reduces(s->b.ops[recv->op].kind);
}

/* True if this rank sends long messages to the peer of a recv, other than such as are complete before the recv begins. */
static bool sends_long(const struct sm_bound *s, const struct sm_desc *recv)
{
	const struct sm_desc *e = s->head->descs + s->head->ndescs;

	while (e-- > s->head->descs && e->send)
		if (e->peer == recv->peer && e->bytes > SM_EAGER_MAX && !be_requires(&s->b, recv->op, e->op))
			return true;
	return false;
}

/* Returns the bytes of a message's chunks. e: the descriptor that has their scale */
static uint32_t chunk_of(const struct sm_desc *e)
{
	return SM_CHUNK_MIN << e->scale;
}

static uint32_t count_chunks(const struct sm_desc *e)
{
	const uint32_t chunk = chunk_of(e);

	return (uint32_t)((e->bytes + chunk - 1) / chunk);
}

static size_t ring_bytes(const struct sm_desc *e, uint32_t slots)
{
	return (e->multicast ? count_chunks(e) : slots) * sm_slot_bytes(e->bytes, chunk_of(e));
}

/* Returns up to how many bytes a message that this rank can read goes through slots without trying. */
static uint64_t sure_of(const struct sm_bound *s, const struct sm_desc *recv, const struct sm_desc *send, const struct long_recvs *all)
{
	const bool reduces = bin_reduces(s->b.ops[recv->op].kind), crowded = group_crowded(s->b.group);

	if (send->source != SM_HEAP)
		return reduces ? UINT64_MAX : crowded ? SLOTS_TURNS_STORED : SLOTS_STORED;
	return !crowded ? 0 : recv->two_way ? SLOTS_TURNS_BOTH : is_of_sums(s, recv, all) ? SLOTS_TURNS_SUMS : SLOTS_TURNS;
}

/* True if this rank makes a long copy that nothing waits for: that of its own block, unless that is also sent. While pieces of it alternate
 * with slots, what has come through these leaves the caches; a trial, which ends when all has come, does not see that it then takes longer
 * to read. */
static bool copies_long(const struct sm_bound *s)
{
	const struct be_bind *b = &s->b;

	for (uint32_t i = 0; i < b->nops; i++) {
		bool last = b->ops[i].kind == BIN_OP_COPY && b->ops[i].len * b->layout->basic >= SM_LONG;

		for (uint32_t d = 0; d < b->dep_at[b->nops] && last; d++)
			last = b->deps[d] != i;
		if (last && sm_twin_of(s, i) == BIN_NONE)
			return true;
	}
	return false;
}

/* Returns up to how many bytes such a message that is not sure may go through slots. */
static uint64_t tried_of(const struct sm_bound *s, const struct sm_desc *recv, const struct sm_desc *send, const struct long_recvs *all)
{
	if (send->source != SM_HEAP)
		return recv->bytes >= SM_LONG && copies_long(s) ? 0 : UINT64_MAX;
	if (!group_crowded(s->b.group) || recv->two_way || send->several || is_of_sums(s, recv, all))
		return 0;
	return all->n == 1 ? TRIED_TURNS_ONLY : TRIED_TURNS;
}

/* Returns how a message travels that this rank can read. In slots the sender copies while this rank reads from the caches, an operand
 * need not be stored before it is reduced, nobody calls the kernel, and a sender is done without another turn on its core. But both
 * ranks have to make progress, more often the longer the message is: of longer messages that are stored it depends on the machine and the
 * program what is faster. ring: bytes of the message's ring */
static enum sm_mode mode_of_readable(const struct sm_bound *s, const struct sm_desc *recv, const struct sm_desc *send, size_t ring,
				     struct long_recvs *all)
{
	const bool sure = recv->bytes <= sure_of(s, recv, send, all);

	if (s->b.helped || group_same_process(s->b.group, recv->peer) || ring > all->room || s->head->allowed == GROUP_DIRECT_ALWAYS ||
	    (!sure && recv->bytes > tried_of(s, recv, send, all)))
		return SM_PULL;
	all->room -= ring;
	return sure ? SM_STAGED : SM_LEARNED;
}

#define RING_SLOTS 16u /* where ranks take turns on a core */
/* A ring of as many bytes as the cache next to a core. What the receiver has not read yet, and what the sender is to store, then are in
 * the cache behind it: a CPU may take long to get lines that another core has just stored. On an EPYC (1 MiB) a message of 64 KiB
 * takes 0.6 to 0.8 of the time so, one of 1 MiB 0.5 to 1.0. */
#define RING_BYTES ((size_t)1 << 20)
/* Bytes of messages whose rings begin with few slots, if any do: longer ones soon are through a ring once. */
#define GROWING_MOST ((uint64_t)16 << 10)

/* Sets the numbers of slots of a ring, if a message to this rank gets one. Where ranks take turns on a core, the bytes are to stay in the
 * caches until it is the receiver's turn: there a ring has what the sender, an epoch ahead at most, can fill. So has that of a message
 * shorter than SM_CHUNK_SHORT, which then stays in the cache next to the core. nlong: number of long messages to this rank, which share the
 * room */
static void size_ring(const struct sm_bound *s, const struct sm_desc *recv, uint32_t nlong, struct sm_ring *ring)
{
	const bool crowded = group_crowded(s->b.group), stays = crowded && bin_reduces(s->b.ops[recv->op].kind);
	const bool few = crowded || recv->bytes < SM_CHUNK_SHORT;
	const size_t slot = sm_slot_bytes(recv->bytes, chunk_of(recv)), room = SLOTS_ROOM / nlong / slot;
	const uint32_t filled = 2 * count_chunks(recv);
	size_t n = few ? stays ? SM_RING : RING_SLOTS : RING_BYTES / slot;

	n = n < room ? n : room > SM_RING ? room : SM_RING;
	if (few && filled < n)
		n = filled;
	sm_ring_size(ring, (uint32_t)n, few || recv->bytes > GROWING_MOST ? (uint32_t)n : filled);
}

/* Bytes of messages whose rings may be narrow: of longer ones it depends on the collective what is faster. */
#define NARROW_LEAST ((uint64_t)6 << 10)
#define NARROW_MOST ((uint64_t)8 << 10)

/* True if the ring of a message to this rank, whose way is chosen, may be narrow. */
static bool may_be_narrow(const struct sm_bound *s, const struct sm_desc *recv)
{
	return recv->mode == SM_STAGED && !group_crowded(s->b.group) && recv->bytes >= NARROW_LEAST && recv->bytes <= NARROW_MOST;
}

/* Chooses how a long message to this rank travels. The sender reads the choice in this rank's block. */
static void choose_mode(struct sm_bound *s, struct sm_desc *recv, const struct sm_desc *send, struct long_recvs *all)
{
	struct sm_msg *m = &s->msgs[recv->op];
	const struct sm_desc *last = recv > s->head->descs ? recv - 1 : NULL;

	/* descriptors are sorted, so the previous one may have tried the same peer */
	if (last && !last->send && last->peer == recv->peer && last->bytes > SM_EAGER_MAX)
		recv->direct = last->direct;
	else
		recv->direct = sm_can_read(s, recv->peer);
	recv->two_way = sends_long(s, recv);
	recv->scale = sm_scale_of(recv->bytes, !group_crowded(s->b.group) && !recv->two_way);
	size_ring(s, recv, all->n, &m->ring);
	if (send->multicast)
		recv->mode = SM_STAGED_MULTICAST;
	else if (send->source == SM_HEAP || (send->source == SM_PRIVATE && recv->direct))
		recv->mode = mode_of_readable(s, recv, send, ring_bytes(recv, m->ring.slots), all);
	else
		recv->mode = SM_STAGED;
	if (may_be_narrow(s, recv)) {
		recv->scale = 0;
		size_ring(s, recv, all->n, &m->ring);
	}
}

/* True if a send announces bytes that the receiver, or a helper that carries out the recv for it, could not access. */
static bool is_hidden(const struct sm_bound *s, uint32_t op, const struct be_buffer *buffers)
{
	const struct bin_op *o = &s->b.ops[op];
	const struct sm_msg *m = &s->msgs[op];

	return bin_sends(o->kind) && (m->mode == SM_PULL || m->mode == SM_LEARNED) && (!m->direct || m->heap) &&
	       !buffers[o->buf[0]].heap;
}

/* Returns the address of the first range of an op, or NULL if it is out of reach, and stores its location. */
static char *locate(const struct sm_bound *s, const struct bin_op *o, const struct be_buffer *buffers,
		    struct sm_location *location)
{
	const struct be_buffer *buf = &buffers[o->buf[0]];
	const uint64_t at = o->off[0] * s->b.layout->basic;
	char *p = buf->ptr ? buf->ptr + at : NULL;

	if (!s->view) /* only the rank itself announces locations to its peers */
		*location = (struct sm_location){ (uint64_t)(uintptr_t)p, buf->heap ? buf->heap_off + at + 1 : 0 };
	return p;
}

/* True if this rank receives messages that may be lent. */
static bool may_borrow(const struct sm_bound *s)
{
	for (uint32_t i = 0; i < s->head->ndescs && !s->head->descs[i].send; i++)
		if (s->head->descs[i].bytes > SM_LOAN_MIN)
			return true;
	return false;
}

void sm_settle(struct sm_bound *s, uint32_t op, const struct be_buffer *buffers)
{
	struct sm_msg *m = &s->msgs[op];
	const uint32_t copy = m->now->copy;
	char *p;

	if (!s->b.layout->contiguous)
		return;
	p = locate(s, &s->b.ops[op], buffers, &m->now->location);
	m->mine = m->reduces ? NULL : p;
	m->into = m->reduces && s->b.combine ? p : NULL;
	if (copy)
		m->operand = locate(s, &s->b.ops[copy - 1], buffers, &m->now->operand);
	if (m->mode == SM_LOAN && bin_sends(s->b.ops[op].kind))
		m->lends = buffers[s->b.ops[op].buf[0]].heap && !s->b.helped && !group_crowded(s->b.group) && !may_borrow(s);
	if (s->view)
		return;
	m->bounces = is_hidden(s, op, buffers);
	if (m->bounces)
		m->now->location = (struct sm_location){ (uint64_t)(uintptr_t)m->bounce, m->bounce_off + 1 };
}

static enum sm_mode eager_mode(const struct sm_desc *send)
{
	return send->multicast ? SM_EAGER_MULTICAST : send->bytes > SM_LOAN_MIN ? SM_LOAN : SM_EAGER;
}

/* True if the issue of a recv leaves a short message to poll. Nothing waits for it, and a sender that starts at the same time would
 * have to take the line of the slot away again. Where ranks share cores, others have started long before, and it may be there; but the
 * sender's trace may not have it yet. */
static bool can_wait(const struct sm_bound *s, const struct sm_desc *mine)
{
	return !mine->send && mine->bytes <= SM_EAGER_MAX && !s->b.helped && s->b.ops[mine->op].exec != BIN_EARLY &&
	       (s->trace || !group_crowded(s->b.group)) && !s->dispatcher.ops[mine->op].ndone;
}

void sm_connect_message(struct sm_bound *s, const struct sm_desc *mine)
{
	struct sm_msg *m = &s->msgs[mine->op];
	const struct sm_desc *other = m->other;
	const struct sm_desc *send = mine->send ? mine : other, *recv = mine->send ? other : mine;
	struct sm_head *sender = mine->send ? s->head : s->peers[mine->peer];
	struct sm_head *receiver = mine->send ? s->peers[mine->peer] : s->head;

	m->mode = m->way = mine->bytes > SM_EAGER_MAX ? recv->mode : eager_mode(send);
	if (m->mode == SM_LEARNED)
		s->learn.again = 0;
	m->end = mine->send ? SM_SEND : SM_RECV;
	m->direct = recv->direct;
	m->two_way = recv->two_way;
	m->heap = receiver->shared && send->source == SM_HEAP;
	m->reduces = bin_reduces(s->b.ops[mine->op].kind);
	m->same = group_same_process(s->b.group, mine->peer);
	m->pid = group_pid(s->b.group, mine->peer);
	m->peer = mine->peer;
	m->op = mine->op;
	m->bytes = mine->bytes;
	m->leaves = sm_is_long(s, mine->op) || can_wait(s, mine);
	m->bells = group_bells(s->b.group, mine->peer);
	s->tells |= mine->send || mine->bytes > SM_LOAN_MIN;
	m->started = &s->peers[mine->peer]->started;
	m->known = &s->known[mine->peer];
	sm_settle(s, mine->op, s->b.buffers);
	s->dispatcher.todo[mine->op].how = (mine->send ? sm_how_send : sm_how_recv)[m->mode];
	s->dispatcher.todo[mine->op].what = m;
	if (mine->bytes <= SM_EAGER_MAX) {
		m->cell = mine->cell;
		m->first = send->multicast ? sm_cell(sender, send->cell) : sm_cell(receiver, recv->cell);
		m->plane = (size_t)(send->multicast ? sender : receiver)->plane * SM_LINE;
		m->done = sm_cell(sender, send->cell);
		return;
	}
	m->chunk = chunk_of(send->multicast ? send : recv);
	m->chunks = count_chunks(send->multicast ? send : recv);
	m->in = sm_cell(receiver, recv->cell);
	m->ring.slots = send->multicast ? m->chunks : m->in->slots;
	m->ring.first = send->multicast ? m->chunks : m->in->first;
	m->ring.slot = sm_slot_bytes(m->bytes, m->chunk);
	m->out = sm_cell(sender, send->cell);
	m->produced = &m->in->produced;
	sm_link_answer(s, mine);
	if (m->mode == SM_LEARNED && sm_trial_epochs(m) > s->learn.epochs)
		s->learn.epochs = sm_trial_epochs(m);
}

/* Connects either the long messages or the short ones. For long messages the receivers must have chosen before how the
 * messages travel. */
static void connect_messages(struct sm_bound *s, bool large)
{
	for (uint32_t i = 0; i < s->head->ndescs; i++)
		if ((s->head->descs[i].bytes > SM_EAGER_MAX) == large)
			sm_connect_message(s, &s->head->descs[i]);
}

static uint32_t count_long_recvs(const struct sm_bound *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->head->ndescs && !s->head->descs[i].send; i++)
		n += s->head->descs[i].bytes > SM_EAGER_MAX;
	return n;
}

/* Finds the peers' ends of all messages, and chooses how each message to this rank travels. */
static int match_entries(struct sm_bound *s)
{
	struct long_recvs all = { count_long_recvs(s), SLOTS_ROOM };

	for (uint32_t i = 0; i < s->head->ndescs; i++) {
		struct sm_desc *e = &s->head->descs[i];
		const struct sm_desc *other = find_partner(s, e);
		const char *verb = e->send ? "send to" : "recv from";

		if (!other)
			return group_error(s->b.group, -ERR_UNMATCHED, "op %u, a %s rank %u with tag %u, has no partner",
					   e->op, verb, e->peer, e->tag);
		if (other->bytes != e->bytes)
			return group_error(s->b.group, -ERR_MISMATCH,
					   "op %u, a %s rank %u, has %llu bytes, its partner %llu", e->op, verb,
					   e->peer, (unsigned long long)e->bytes,
					   (unsigned long long)other->bytes);
		s->msgs[e->op].other = other;
		if (s->b.helped)
			sm_partners(s)[i] = (struct sm_partner){ *group_handle(s->b.group, e->peer),
								 (uint32_t)(other - s->peers[e->peer]->descs) };
		if (e->bytes > SM_EAGER_MAX && !e->send)
			choose_mode(s, e, other, &all);
	}
	return 0;
}

/* Returns where to store the offset of a ring that this rank makes for a message, or NULL if it makes none. */
static uint64_t *ring_place(const struct sm_bound *s, const struct sm_desc *e)
{
	if (e->multicast && e->bytes > SM_EAGER_MAX && s->msgs[e->op].shares == e->op + 1)
		return &((struct sm_multicast *)sm_cell(s->head, s->msgs[e->op].cell))->ring;
	return sm_has_ring(e->mode) ? &((struct sm_in *)sm_cell(s->head, e->cell))->ring : NULL;
}

/* Allocates rings for the staged messages to this rank, and for the multicasts from it. */
static int make_rings(struct sm_bound *s)
{
	const struct sm_desc *descs = s->head->descs;
	const char *at;
	size_t total = 0;
	uint64_t off;

	for (uint32_t i = 0; i < s->head->ndescs; i++)
		total += ring_place(s, &descs[i]) ? ring_bytes(&descs[i], s->msgs[descs[i].op].ring.slots) : 0;
	if (!total)
		return 0;
	s->rings = group_alloc_raw(s->b.group, total, &off);
	if (!s->rings)
		return group_error(s->b.group, -ERR_NOMEM, "no %zu bytes of shared memory for slots", total);
	at = s->rings;
	for (uint32_t i = 0; i < s->head->ndescs; i++) {
		const struct sm_ring *ring = &s->msgs[descs[i].op].ring;
		const size_t bytes = ring_bytes(&descs[i], ring->slots);
		uint64_t *place = ring_place(s, &descs[i]);

		if (!place)
			continue;
		*place = off;
		if (!descs[i].send) {
			struct sm_in *in = sm_cell(s->head, descs[i].cell);

			in->slots = ring->slots;
			in->first = ring->first < ring->slots && mem_is_present(at, bytes) ? ring->slots : ring->first;
		}
		off += bytes;
		at += bytes;
	}
	return 0;
}

bool sm_reach_rings(struct sm_bound *s)
{
	for (uint32_t i = 0; i < s->head->ndescs; i++) {
		const struct sm_desc *mine = &s->head->descs[i];
		struct sm_msg *m = &s->msgs[mine->op];
		const bool multicast = m->mode == SM_STAGED_MULTICAST;
		const uint32_t at = mine->send == multicast ? s->b.rank : mine->peer; /* whose heap has the ring */
		uint64_t off;

		if (!sm_has_ring(m->mode) && !multicast)
			continue;
		off = m->in->ring;
		if (multicast) {
			struct sm_multicast *shared = sm_cell(mine->send ? s->head : s->peers[mine->peer], m->out->multicast);

			off = shared->ring;
			m->produced = &shared->produced;
		}
		m->ring.at = group_peer(s->b.group, at, off, m->ring.slots * m->ring.slot);
		if (!m->ring.at) {
			group_error(s->b.group, -ERR_SYS, "the heap of rank %u cannot be mapped", mine->peer);
			return false;
		}
	}
	return true;
}

/* Result of binding on one rank. */
struct opinion {
	int err;
	bool rings; /* it has made rings */
	bool again; /* a bind like this one has to exchange results, too: a receiver chooses, or helpers take part */
	uint64_t bytes; /* of the buffers that the schedule uses on the rank; together: on the ranks of this node */
};

static bool has_long(const struct sm_bound *s)
{
	for (uint32_t i = 0; i < s->head->ndescs; i++)
		if (s->head->descs[i].bytes > SM_EAGER_MAX)
			return true;
	return false;
}

static uint64_t count_bytes(const struct sm_bound *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->sh->nbuffers; i++)
		n += s->b.buffers[i].ptr ? s->b.buffers[i].elements * s->b.layout->basic : 0;
	return n;
}

/* Gathers the results of all ranks; an error on one rank is an error on all. Sets *any to what any rank has set, and adds up bytes. */
static int collect_opinions(struct sm_bound *s, int err, struct opinion *any)
{
	struct be_group *g = s->b.group;
	const struct opinion *all = group_room(g);
	int rc = group_collect(g, sizeof *all, group_room(g));

	any->bytes = 0;
	for (uint32_t r = 0; r < s->b.size && !rc; r++) {
		if (all[r].err)
			return group_agree(g, err);
		any->rings |= all[r].rings;
		any->again |= all[r].again;
		any->bytes += group_same_node(g, r) ? all[r].bytes : 0;
	}
	return rc;
}

/* Bytes of a rank that any cache of the last level has room for: below that nobody is asked how large it is */
#define CACHED ((uint64_t)1 << 20)

/* True if what the ranks of this node have bound does not fit into their caches. What is stored is out of the caches then before it
 * is read, so that it need not be there at all. */
static bool exceeds_caches(const struct sm_bound *s, uint64_t bytes)
{
	return bytes > s->b.size * CACHED && bytes > group_caches(s->b.group);
}

/* Connects a request as an earlier one was, which cannot fail. If it does, the other ranks must not wait for this one. */
static int connect_again(struct sm_bound *s)
{
	int err = reach_peers(s);

	err = err ? err : match_entries(s);
	if (err)
		return group_unreachable(s->b.group, s->b.rank, "it cannot bind what it has bound before");
	sm_prepare(s);
	connect_messages(s, false);
	s->connected = true;
	return 0;
}

static int connect_rings(struct sm_bound *s)
{
	struct opinion any = { .err = sm_reach_rings(s) ? 0 : -ERR_SYS };
	int rc = group_post(s->b.group, &any, sizeof any);

	return rc ? rc : collect_opinions(s, any.err, &any);
}

int sm_connect(struct sm_bound *s, uint32_t views, int err)
{
	struct opinion any = { 0 };
	int rc;

	if (group_repeats(s->b.group))
		return connect_again(s);
	atomic_fetch_add_explicit(&s->head->users, views, memory_order_relaxed);
	err = err ? err : reach_peers(s);
	err = err ? err : match_entries(s);
	err = err ? err : make_rings(s);
	any = (struct opinion){ err, s->rings, s->b.helped || has_long(s), count_bytes(s) };
	rc = group_post(s->b.group, &any, sizeof any);
	/* This set-up overlaps with the exchange of results. */
	sm_prepare(s);
	if (!err)
		connect_messages(s, false);
	rc = rc ? rc : collect_opinions(s, err, &any);
	if (rc)
		return rc;
	connect_messages(s, true);
	s->sh->past = exceeds_caches(s, any.bytes);
	if (any.rings)
		rc = connect_rings(s);
	s->connected = !rc;
	if (!rc && !any.again)
		group_settle(s->b.group);
	if (!rc && s->b.helped)
		sm_classify(s);
	return rc;
}

#define USERS_STAY (UINT32_MAX / 2) /* more users than a block ever has */

void sm_disconnect(struct sm_bound *s)
{
	if (!s->head)
		return;
	/* Releases the blocks of the peers first, and this rank's own last. The rank accesses none of them from here
	 * on. */
	for (uint32_t i = 0; i < s->head->ndescs && s->connected; i++) {
		const struct sm_desc *e = &s->head->descs[i];

		if (e->peer == s->b.rank || !s->peers[e->peer])
			continue;
		atomic_fetch_sub(&s->peers[e->peer]->users, 1);
		s->peers[e->peer] = NULL;
	}
	for (uint32_t i = 0; i < s->b.nops; i++)
		group_free(s->b.group, s->msgs[i].bounce);
	/* If connecting has failed on all ranks, nobody accesses the block any more. But if a rank has died, other ranks may
	 * have succeeded and still use the block; in that case the block is never freed. */
	if (s->connected)
		atomic_fetch_sub(&s->head->users, 1);
	else
		atomic_store(&s->head->users, group_lost(s->b.group) ? USERS_STAY : 0);
	group_free_later(s->b.group, s->head, s->rings, &s->head->users);
}

/* Sets the new locations, which senders announce anew in each epoch. If the receiver cannot read a new buffer directly,
 * the send goes through a copy in the heap. */
int sm_rebind(struct sm_bound *s, const struct be_buffer *buffers)
{
	for (uint32_t i = 0; i < s->b.nops; i++) {
		struct sm_msg *m = &s->msgs[i];

		if (!is_hidden(s, i, buffers) || m->bounce)
			continue;
		m->bounce = group_alloc(s->b.group, m->bytes, &m->bounce_off);
		if (!m->bounce)
			return group_error(s->b.group, -ERR_NOMEM, "no %llu bytes of shared memory for a copy",
					   (unsigned long long)m->bytes);
	}
	for (uint32_t i = 0; i < s->b.nops; i++)
		if (sm_in_memory(s, i))
			sm_settle(s, i, buffers);
	s->b.buffers = buffers;
	sm_plan_start(s); /* it tells the peers of other buffers */
	if (s->b.helped)
		sm_classify(s);
	return 0;
}
