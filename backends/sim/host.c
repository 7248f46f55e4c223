/* SPDX-License-Identifier: BSD-3-Clause
 * The hosts of a simulation: the memory of ranks that have begun and have not finished. */
#include "backends/sim/match.h"

#include <stdlib.h>
#include <string.h>

/* ---- hosts ---- */

static int grow_hosts(struct sim *s)
{
	const uint64_t most = ((uint64_t)WHAT_ALONE >> 2) / s->lanes, more = s->lanes - 1;
	uint64_t cap = s->hosts_cap ? s->hosts_cap + (uint64_t)s->hosts_cap / 2 : 64;
	struct host *hosts;
	struct lasts *lasts;
	struct lane *lanes;

	cap = cap < s->src->nranks ? cap : s->src->nranks;
	if (cap > most)
		return -ERR_SPACE;
	if (more) {
		lanes = mem_resize(s->more, cap * more, sizeof *lanes);
		if (!lanes)
			return -ERR_NOMEM;
		s->more = lanes;
	}
	lasts = mem_large(s->lasts, s->lasts_size, cap * s->lanes * sizeof *lasts);
	if (!lasts)
		return -ERR_NOMEM;
	s->lasts = lasts;
	s->lasts_size = cap * s->lanes * sizeof *lasts;
	hosts = mem_large(s->hosts, s->hosts_cap * sizeof *hosts, cap * sizeof *hosts);
	if (!hosts)
		return -ERR_NOMEM;
	s->hosts = hosts;
	s->hosts_cap = (uint32_t)cap;
	return 0;
}

/* Returns a host that is not in use, or -ERR_x. */
static int64_t take_host(struct sim *s)
{
	const uint32_t free_host = s->free_host;
	int err;

	if (free_host) {
		s->free_host = s->hosts[free_host - 1].rank;
		return free_host - 1;
	}
	err = s->nhosts == s->hosts_cap ? grow_hosts(s) : 0;
	return err ? err : (int64_t)s->nhosts++;
}

int64_t sim_host_of(struct sim *s, uint32_t rank)
{
	const uint32_t slot = s->slot[rank];
	int64_t host;

	if (slot != SLOT_NONE && slot != SLOT_GONE)
		return slot - 1;
	host = take_host(s);
	if (host < 0)
		return host;
	/* A message for a rank that has finished stays there, and nobody receives it. */
	s->hosts[host] = (struct host){ .rank = rank, .complete = slot == SLOT_GONE };
	s->hosts[host].lane.cpu = slot == SLOT_GONE ? s->result->finish[rank] : 0;
	if (s->lanes > 1)
		memset(sim_lane(s, (uint32_t)host, 1), 0, (s->lanes - 1) * sizeof(struct lane));
	for (uint32_t i = 0; s->p->start && slot != SLOT_GONE && i < s->lanes; i++)
		sim_lane(s, (uint32_t)host, i)->cpu = s->p->start[rank];
	s->slot[rank] = (uint32_t)host + 1;
	return host;
}

void sim_note_finish(struct sim *s, uint32_t host)
{
	uint64_t *finish = &s->result->finish[s->hosts[host].rank];

	for (uint32_t i = 0; i < s->lanes; i++)
		*finish = sim_later(*finish, sim_lane(s, host, i)->cpu);
	s->result->end = sim_later(s->result->end, *finish);
}

/* Frees lists that nobody uses any more. */
static void leave_lists(struct sim *s, uint32_t block)
{
	if (block && !--*sim_lists_at(s, block))
		pool_free(&s->pool, block);
}

void sim_retire_host(struct sim *s, uint32_t host)
{
	struct host *h = &s->hosts[host];

	if (h->block)
		pool_free(&s->pool, h->block);
	leave_lists(s, h->lists);
	h->block = h->lists = 0;
	h->complete = 1;
	if (h->waiting)
		return;
	match_free(s, host);
	if (!s->src->again)
		return;
	sim_note_finish(s, host);
	s->slot[h->rank] = SLOT_GONE;
	h->rank = s->free_host;
	s->free_host = host + 1;
}

void hosts_fini(struct sim *s)
{
	mem_large_free(s->hosts, s->hosts_cap * sizeof *s->hosts);
	mem_large_free(s->lasts, s->lasts_size);
	free(s->more);
}

/* ---- ops ---- */

/* Makes in s->at the end of each op's list of successors, and behind these ends all lists, each in the order of the ops. */
static int make_lists(struct sim *s, const struct sim_rank *r)
{
	uint32_t *end, *words, sum = 0;

	if (VEC_RESERVE(&s->at, (size_t)r->nops + r->ndeps + 1))
		return -ERR_NOMEM;
	end = s->at.at;
	words = end + r->nops;
	memset(end, 0, r->nops * sizeof *end);
	for (uint32_t i = 0; i < r->ndeps; i++)
		end[r->deps[i].on & ~BIN_START]++;
	for (uint32_t i = 0; i < r->nops; i++) {
		sum += end[i];
		end[i] = sum - end[i];
	}
	for (uint32_t i = 0; i < r->ndeps; i++) {
		const struct bin_dep *d = &r->deps[i];

		words[end[d->on & ~BIN_START]++] = d->op | (d->on & BIN_START ? SUCC_START : 0);
	}
	for (uint32_t i = 0, before = 0; i < r->nops; before = end[i++])
		if (end[i] > before)
			words[end[i] - 1] |= SUCC_LAST;
	return 0;
}

/* Stores the lists of s->at in the pool, unless they are those of the rank that was made last. */
static int keep_lists(struct sim *s, const struct sim_rank *r)
{
	const size_t bytes = r->ndeps * sizeof(uint32_t);
	int64_t block;

	if (s->lists.block && s->lists.n == r->ndeps && !memcmp(sim_lists_at(s, s->lists.block) + 1, s->at.at + r->nops, bytes))
		return 0;
	leave_lists(s, s->lists.block);
	s->lists.block = 0;
	s->fresh.like = 0;
	if (!r->ndeps)
		return 0;
	block = pool_alloc(&s->pool, (uint32_t)((bytes + sizeof(uint32_t) + sizeof(struct op) - 1) / sizeof(struct op)));
	if (block < 0)
		return (int)block;
	s->lists.block = (uint32_t)block;
	s->lists.n = r->ndeps;
	*sim_lists_at(s, s->lists.block) = 1;
	memcpy(sim_lists_at(s, s->lists.block) + 1, s->at.at + r->nops, bytes);
	return 0;
}

/* Stores the ops in their block, whose lists are in s->at. */
static void store_ops(const struct sim *s, const struct sim_rank *r, uint32_t block)
{
	for (uint32_t i = 0, before = 0; i < r->nops; before = s->at.at[i++]) {
		const struct sim_op *o = &r->ops[i];

		*sim_op_at(s, block + i) = (struct op){ .cls = o->cls & 0xffffff, .size = (uint32_t)o->size, .peer = o->peer,
							.succ = s->at.at[i] > before ? before + 1 : 0 };
	}
	for (uint32_t i = 0; i < r->ndeps; i++)
		sim_op_at(s, block + r->deps[i].op)->serial++;
}

/* Keeps the ops of a rank for those that are like it. */
static int keep_fresh(struct sim *s, const struct sim_rank *r, uint32_t block)
{
	if (r->nops > s->fresh.cap) {
		struct op *at = mem_resize(s->fresh.at, r->nops, sizeof *at);

		if (!at)
			return -ERR_NOMEM;
		s->fresh.at = at;
		s->fresh.cap = r->nops;
	}
	memcpy(s->fresh.at, sim_op_at(s, block), r->nops * sizeof *s->fresh.at);
	s->fresh.like = r->like;
	return 0;
}

/* Stores the ops of a rank that is like the one whose ops are kept. */
static void copy_fresh(const struct sim *s, const struct sim_rank *r, uint32_t block)
{
	struct op *to = sim_op_at(s, block);

	for (uint32_t i = 0; i < r->nops; i++) {
		to[i] = s->fresh.at[i];
		to[i].peer = r->ops[i].peer;
	}
}

/* Stores the ops of a rank in a block, and keeps its lists and perhaps its ops for the next ranks. */
static int make_ops(struct sim *s, const struct sim_rank *r, uint32_t block)
{
	const bool again = r->like && r->like == s->fresh.seen; /* most ranks that no other is like are not kept */
	int err = make_lists(s, r);

	err = err ? err : keep_lists(s, r);
	if (err)
		return err;
	store_ops(s, r, block);
	s->fresh.seen = r->like;
	return again ? keep_fresh(s, r, block) : 0;
}

int sim_fill_host(struct sim *s, uint32_t host, const struct sim_rank *r)
{
	struct host *h = &s->hosts[host];
	int64_t block;

	if (!r->nops) {
		h->complete = 1;
		return 0;
	}
	if (r->nops > POOL_MOST / 16 || r->ndeps > POOL_MOST / 2)
		return -ERR_SPACE;
	block = pool_alloc(&s->pool, r->nops);
	if (block < 0)
		return (int)block;
	if (r->like && r->like == s->fresh.like) {
		copy_fresh(s, r, (uint32_t)block);
	} else {
		int err = make_ops(s, r, (uint32_t)block);

		if (err)
			return err;
	}
	h->block = block & (POOL_MOST - 1);
	h->lists = r->ndeps ? s->lists.block : 0;
	if (h->lists)
		++*sim_lists_at(s, h->lists);
	h->left += r->nops;
	h->pinned = s->begin.wild;
	return 0;
}
