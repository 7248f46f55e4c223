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

void sim_retire_host(struct sim *s, uint32_t host)
{
	struct host *h = &s->hosts[host];

	if (h->block)
		pool_free(&s->pool, h->block);
	h->block = 0;
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
	free(s->more);
}

/* ---- ops ---- */

/* Counts in s->at the successors of each op. */
static int count_successors(struct sim *s, const struct sim_rank *r)
{
	if (VEC_RESERVE(&s->at, r->nops + 1))
		return -ERR_NOMEM;
	memset(s->at.at, 0, (r->nops + 1) * sizeof *s->at.at);
	for (uint32_t i = 0; i < r->ndeps; i++)
		s->at.at[r->deps[i].on & ~BIN_START]++;
	return 0;
}

/* Stores the ops in their block, with the places where their successors will be. `at` becomes the end of each list. */
static void store_ops(struct sim *s, const struct sim_rank *r, uint32_t block)
{
	uint32_t end = r->nops * (uint32_t)(sizeof(struct op) / 4);

	for (uint32_t i = 0; i < r->nops; i++) {
		const struct sim_op *o = &r->ops[i];
		const uint32_t n = s->at.at[i];

		*sim_op_at(s, block + i) = (struct op){ .cls = o->cls & 0xffffff, .size = (uint32_t)o->size, .peer = o->peer,
							.succ = n ? end : 0 };
		s->at.at[i] = end;
		end += n;
	}
}

/* Stores the successors, each list in the order of the ops. */
static void store_successors(struct sim *s, const struct sim_rank *r, uint32_t block)
{
	uint32_t *words = (uint32_t *)(void *)sim_op_at(s, block);

	for (uint32_t i = 0; i < r->ndeps; i++) {
		const struct bin_dep *d = &r->deps[i];

		words[s->at.at[d->on & ~BIN_START]++] = d->op | (d->on & BIN_START ? SUCC_START : 0);
		sim_op_at(s, block + d->op)->serial++;
	}
	for (uint32_t i = 0; i < r->nops; i++)
		if (sim_op_at(s, block + i)->succ)
			words[s->at.at[i] - 1] |= SUCC_LAST;
}

static uint32_t units_of_rank(const struct sim_rank *r)
{
	return r->nops + (r->ndeps + 7) / 8;
}

static int make_block(struct sim *s, const struct sim_rank *r, uint32_t block)
{
	int err = count_successors(s, r);

	if (err)
		return err;
	store_ops(s, r, block);
	store_successors(s, r, block);
	return 0;
}

/* Keeps the units of a block for ranks that are like its own. */
static int keep_fresh(struct sim *s, const struct sim_rank *r, uint32_t block)
{
	const uint32_t units = units_of_rank(r);

	if (units > s->fresh.cap) {
		struct op *at = mem_resize(s->fresh.at, units, sizeof *at);

		if (!at)
			return -ERR_NOMEM;
		s->fresh.at = at;
		s->fresh.cap = units;
	}
	memcpy(s->fresh.at, sim_op_at(s, block), units * sizeof *s->fresh.at);
	s->fresh.like = r->like;
	return 0;
}

/* Makes a block of a rank that is like the one whose units are kept. */
static void copy_fresh(const struct sim *s, const struct sim_rank *r, uint32_t block)
{
	memcpy(sim_op_at(s, block), s->fresh.at, units_of_rank(r) * sizeof *s->fresh.at);
	for (uint32_t i = 0; i < r->nops; i++)
		sim_op_at(s, block + i)->peer = r->ops[i].peer;
}

int sim_fill_host(struct sim *s, uint32_t host, const struct sim_rank *r)
{
	struct host *h = &s->hosts[host];
	int64_t block;
	int err;

	if (!r->nops) {
		h->complete = 1;
		return 0;
	}
	if (r->nops > POOL_MOST / 16 || r->ndeps > POOL_MOST / 2)
		return -ERR_SPACE;
	block = pool_alloc(&s->pool, units_of_rank(r));
	if (block < 0)
		return (int)block;
	if (r->like && r->like == s->fresh.like) {
		copy_fresh(s, r, (uint32_t)block);
		err = 0;
	} else {
		err = make_block(s, r, (uint32_t)block);
		if (!err && r->like && r->like == s->fresh.seen) /* most ranks that no other is like are not kept */
			err = keep_fresh(s, r, (uint32_t)block);
		s->fresh.seen = r->like;
	}
	if (err)
		return err;
	h->block = block & (POOL_MOST - 1);
	h->left += r->nops;
	h->pinned = s->begin.wild;
	return 0;
}
