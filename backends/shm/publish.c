/* SPDX-License-Identifier: BSD-3-Clause
 * Publishing: each rank makes its block, with the descriptors of its messages, and room for the words that travel with them. Sends of
 * the same bytes to several ranks become multicasts. */
#include "backends/shm/answer.h"
#include "backends/shm/sm.h"
#include "backends/services.h"
#include "util/align.h"
#include "util/clock.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

static size_t align_to_line(size_t n)
{
	return align_up(n, SM_LINE);
}

static enum sm_source source_of(const struct be_bind *b, const struct bin_op *op)
{
	if (!b->layout->contiguous)
		return SM_SCATTERED;
	return b->buffers[op->buf[0]].heap ? SM_HEAP : SM_PRIVATE;
}

/* True if two sends, the second of which comes next, can be a multicast: they have the same bytes and become ready at the same
 * time. Whatever changes the bytes waits for both. */
static bool same_send(const struct be_bind *b, uint32_t x, uint32_t y)
{
	const struct bin_op *m = &b->ops[x], *n = &b->ops[y];
	const uint32_t deps = b->dep_at[x + 1] - b->dep_at[x];

	return m->buf[0] == n->buf[0] && m->off[0] == n->off[0] && m->len == n->len && m->exec == n->exec &&
	       deps == b->dep_at[y + 1] - b->dep_at[y] &&
	       (!deps || !memcmp(b->deps + b->dep_at[x], b->deps + b->dep_at[y], deps * sizeof *b->deps));
}

#define MULTICAST_MIN 3u /* least number of sends that share slots; to two receivers two copies are as fast */
/* Most bytes of a staged multicast, whose ring holds all of it, so that no receiver waits for another: where ranks take turns on a core,
 * from private memory and from the heap; and where they have a core each, from private memory. A longer one may be faster by pull, or by
 * a ring for each receiver. */
#define MULTICAST_TURNS ((uint64_t)1 << 20)
#define MULTICAST_TURNS_HEAP ((uint64_t)32 << 10)
#define MULTICAST_APART ((uint64_t)32 << 10)

static uint64_t multicast_most(const struct be_bind *b, uint32_t op)
{
	const bool heap = source_of(b, &b->ops[op]) == SM_HEAP;

	if (group_crowded(b->group))
		return heap ? MULTICAST_TURNS_HEAP : MULTICAST_TURNS;
	return heap ? 0 : MULTICAST_APART; /* what the receiver can load it reads where it is */
}

/* True if a message is a send that may share slots with others. Bytes that fit the line of their number are as fast in slots of their
 * own. */
static bool may_share(const struct sm_bound *s, uint32_t op, int allowed)
{
	const struct be_bind *b = &s->b;
	const uint64_t bytes = b->ops[op].len * b->layout->basic;

	if (!sm_in_memory(s, op) || !bin_sends(b->ops[op].kind))
		return false;
	if (bytes <= SM_EAGER_MAX)
		return bytes > SM_LINE - sizeof(struct sm_slot);
	return bytes <= multicast_most(b, op) && !b->helped && allowed != GROUP_DIRECT_ALWAYS &&
	       !group_same_process(b->group, b->ops[op].peer);
}

/* Finds the sends that share slots: those that follow each other. */
static void find_shares(struct sm_bound *s, int allowed)
{
	uint32_t first = 0, last = UINT32_MAX, n = 0;

	for (uint32_t i = 0; i < s->b.nops; i++) {
		if (!may_share(s, i, allowed))
			continue;
		if (last == UINT32_MAX || !same_send(&s->b, last, i)) {
			first = i;
			n = 0;
		}
		last = i;
		if (++n < MULTICAST_MIN)
			continue;
		for (uint32_t k = n == MULTICAST_MIN ? first : i; k <= i; k++)
			if (may_share(s, k, allowed))
				s->msgs[k].shares = first + 1;
	}
}

/* Where cells are in a block: the slots of each epoch modulo SM_SLOTS are together, in a plane, and the words of messages follow all
 * planes. As sizes, or as positions of what comes next, in bytes. */
struct cells {
	size_t plane, words;
	bool wide; /* some slot has several lines */
};

/* Adds n bytes, and returns their position in lines, or 0 if n is 0. */
static uint32_t add_bytes(size_t *at, size_t n)
{
	*at += n;
	return n ? (uint32_t)((*at - n) / SM_LINE) : 0; /* a heap has no more lines than fit */
}

static uint32_t add_slot(struct cells *at, uint64_t bytes)
{
	const size_t n = sm_eager_bytes(bytes);

	at->wide |= n > SM_LINE;
	return add_bytes(&at->plane, n);
}

/* Adds the cell of a message. */
static uint32_t add_cell(struct cells *at, bool send, uint64_t bytes)
{
	if (bytes > SM_EAGER_MAX)
		return add_bytes(&at->words, send ? sizeof(struct sm_out) : sizeof(struct sm_in));
	return send ? add_bytes(&at->words, bytes > SM_LOAN_MIN ? SM_LINE : 0) : add_slot(at, bytes);
}

/* Adds the cell that sends share. */
static uint32_t add_shared(struct cells *at, uint64_t bytes)
{
	return bytes <= SM_EAGER_MAX ? add_slot(at, bytes) : add_bytes(&at->words, sizeof(struct sm_multicast));
}

uint8_t sm_scale_of(uint64_t bytes, bool fine)
{
	uint8_t scale = (uint8_t)__builtin_ctz(SM_CHUNK_SHORT / SM_CHUNK_MIN);

	while (SM_CHUNK_MIN << scale < SM_CHUNK && (!fine || (SM_CHUNK_MIN << scale) * SM_RING < bytes))
		scale++;
	return scale;
}

/* Gives a message its cell, and the one that it shares if it has none yet. */
static void place_cells(const struct sm_bound *s, struct sm_desc *e, struct cells *cells)
{
	const uint32_t shares = s->msgs[e->op].shares;
	uint32_t *shared = shares ? &s->msgs[shares - 1].cell : NULL;

	if (shared && !*shared)
		*shared = add_shared(cells, e->bytes);
	e->cell = shared && e->bytes <= SM_EAGER_MAX ? *shared : add_cell(cells, e->send, e->bytes);
	if (!shared)
		return;
	e->multicast = true;
	s->msgs[e->op].cell = *shared;
	if (e->bytes <= SM_EAGER_MAX)
		return;
	e->scale = sm_scale_of(e->bytes, !group_crowded(s->b.group));
	((struct sm_out *)sm_cell(s->head, e->cell))->multicast = *shared;
}

/* Lists this rank's messages, sorted by channel, and places their cells. */
static void list_messages(const struct sm_bound *s, struct sm_desc *descs, uint32_t n, struct cells cells)
{
	const struct be_bind *b = &s->b;
	bool sorted = true; /* messages of the same direction often are in order already */
	uint32_t at = 0, nlong = 0; /* nlong: long messages that this rank sends */

	for (int send = 0; send < 2; send++)
		for (uint32_t i = 0; i < b->nops; i++) {
			if (!sm_in_memory(s, i) || bin_sends(b->ops[i].kind) != send)
				continue;
			descs[at] = (struct sm_desc){ .peer = b->ops[i].peer,
						      .tag = b->ops[i].tag,
						      .k = i, /* in program order; numbered below */
						      .op = i,
						      .bytes = b->ops[i].len * b->layout->basic,
						      .send = (uint8_t)send,
						      .source = source_of(b, &b->ops[i]) };
			sorted &= !at || sm_by_channel(&descs[at - 1], &descs[at]) < 0;
			nlong += send && descs[at].bytes > SM_EAGER_MAX;
			at++;
		}
	if (!sorted)
		qsort(descs, n, sizeof *descs, sm_by_channel);
	for (uint32_t i = 0; i < n; i++) {
		struct sm_desc *e = &descs[i];
		const struct sm_desc *last = i ? e - 1 : NULL;

		e->k = last && last->send == e->send && last->peer == e->peer && last->tag == e->tag ?
			       last->k + 1 :
			       0;
		e->several = e->send && nlong > 1;
		place_cells(s, e, &cells);
	}
	for (uint32_t i = 0; i < n; i++)
		descs[i].answers = sm_answers(s, &descs[i]);
}

/* Reserves n bytes at *at, and advances *at to their end. Returns the offset of the bytes. */
static uint64_t reserve_room(uint64_t *at, size_t n)
{
	uint64_t here = *at;

	*at += (n + 7) / 8 * 8;
	return here;
}

static uint32_t count_buffers(const struct be_bind *b)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->nops; i++)
		for (unsigned k = 0; k < bin_nranges(b->ops[i].kind); k++)
			n = b->ops[i].buf[k] >= n ? b->ops[i].buf[k] + 1u : n;
	return n;
}

size_t sm_lay_out(const struct be_bind *b, uint32_t ndescs, struct sm_shared *sh)
{
	uint64_t at = sizeof *sh;

	*sh = (struct sm_shared){ .nops = b->nops, .nbuffers = count_buffers(b) };
	sh->dispatcher = reserve_room(&at, dispatch_room(b));
	sh->moved = reserve_room(&at, b->nops * sizeof(struct sm_moved));
	sh->deadlines = reserve_room(&at, b->nops * sizeof(uint64_t));
	if (!b->helped)
		return at;
	sh->ops = reserve_room(&at, b->nops * sizeof *b->ops);
	sh->buffers = reserve_room(&at, sh->nbuffers * sizeof(struct sm_buffer));
	sh->partners = reserve_room(&at, ndescs * sizeof(struct sm_partner));
	if (b->fragment) {
		at = align_to_line(at);
		sh->fragment = b->fragment;
		sh->queue = reserve_room(&at, sizeof(struct copyq));
	}
	return at;
}

void sm_share(struct sm_bound *s, struct sm_shared *sh)
{
	s->sh = sh;
	s->next_slot = 1; /* that of the first epoch */
	s->deadlines = sm_at(s, sh->deadlines);
	s->queue = sh->fragment ? sm_at(s, sh->queue) : NULL;
	for (uint32_t i = 0; i < sh->nops; i++)
		s->msgs[i].now = (struct sm_moved *)sm_at(s, sh->moved) + i;
}

/* Counts the ranks that may access this rank's block, itself included. Set before others know the block, because a peer may be
 * connected, complete and freed before this rank is connected. */
static uint32_t count_users(const struct sm_bound *s)
{
	uint64_t *seen = s->known; /* not in use yet */
	uint32_t n = 1;

	for (uint32_t i = 0; i < s->head->ndescs; i++) {
		const uint32_t p = s->head->descs[i].peer;

		n += p != s->b.rank && !seen[p];
		seen[p] = 1;
	}
	memset(seen, 0, s->b.size * sizeof *seen);
	return n;
}

/* Counts the messages, and their cells. */
static int count_messages(const struct sm_bound *s, uint32_t *n, struct cells *all)
{
	const struct be_bind *b = &s->b;

	for (uint32_t i = 0; i < b->nops; i++) {
		const uint64_t bytes = b->ops[i].len * b->layout->basic;

		if (!bin_is_message(b->ops[i].kind))
			continue;
		if (b->ops[i].peer == BIN_ANY || b->ops[i].tag == BIN_ANY)
			return group_error(b->group, -ERR_UNSUPPORTED,
					   "op %u has a wildcard: messages are matched before they run", i);
		if (bytes / SM_CHUNK >= UINT32_MAX)
			return group_error(b->group, -ERR_RANGE, "op %u moves too many bytes", i);
		if (s->msgs[i].network)
			continue;
		add_cell(all, bin_sends(b->ops[i].kind), bytes);
		if (s->msgs[i].shares == i + 1)
			add_shared(all, bytes);
		++*n;
	}
	return 0;
}

int sm_publish(struct sm_bound *s, struct be_handle *handle)
{
	const struct be_bind *b = &s->b;
	int allowed = group_direct_allowed(b->group);
	struct sm_shared shared;
	void *spare;
	bool ready;
	size_t cells, plane, end;
	struct cells all = { 0 };
	uint32_t n = 0;
	int err;

	if (allowed < 0)
		return allowed;
	find_shares(s, allowed);
	err = count_messages(s, &n, &all);
	if (err)
		return err;
	/* The cells of different ranks are staggered. Otherwise two ranks' words would have the same offset in their
	 * pages, and a store to one that is still in the store buffer would delay loads of the other. */
	cells = align_to_line(sizeof *s->head + n * sizeof *s->head->descs) + b->rank % 8 * 4 * SM_LINE;
	plane = all.plane + (all.wide ? SM_APART : 0);
	handle->size = end = cells + SM_SLOTS * plane + all.words;
	if (b->helped)
		handle->size += sm_lay_out(b, n, &shared);
	s->head = group_block(b->group, handle->size, &handle->off, &ready);
	if (!s->head)
		return group_error(b->group, -ERR_NOMEM, "no %zu bytes of shared memory for %u messages",
				   (size_t)handle->size, n);
	s->base.turn = &s->head->turn;
	if (ready)
		return 0;
	s->head->ndescs = n;
	s->head->allowed = (uint8_t)allowed;
	s->head->address = (uint64_t)(uintptr_t)s->head;
	/* only receivers of long messages check the token */
	s->head->token = all.words ? s->head->address ^ clock_now_ns() : 0;
	s->head->plane = (uint32_t)(plane / SM_LINE);
	list_messages(s, s->head->descs, n, (struct cells){ cells, cells + SM_SLOTS * plane, false });
	atomic_store_explicit(&s->head->users, count_users(s), memory_order_relaxed);
	if (b->helped) {
		struct sm_shared *sh = (struct sm_shared *)(void *)((char *)s->head + end);

		*sh = shared;
		s->head->own = (uint64_t)(uintptr_t)s;
		s->head->shared = end;
		sm_share(s, sh);
		if (b->nops)
			memcpy(sm_at(s, sh->ops), b->ops, b->nops * sizeof *b->ops);
	}
	for (uint32_t i = 0; (spare = group_spare(b->group, s->head, handle->size, i)); i++)
		memcpy(spare, s->head, cells); /* its `address` is not its own; but only receivers of long messages read it */
	return 0;
}
