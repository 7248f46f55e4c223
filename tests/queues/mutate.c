/* SPDX-License-Identifier: BSD-3-Clause
 * Mutants of lowered schedules. */
#include "tests/queues/mutate.h"

#include "format/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const mutation_words[MUTATIONS] = { "drop",	  "sps",   "queue",  "swap", "ready", "flag",
						"shift", "merge", "normal", "move", "command", "range", "nop" };

struct mutation_of {
	struct smcq *s;
	const struct ir_graph *g;
	uint64_t random;
};

static uint32_t chance(struct mutation_of *m, size_t n)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return n ? (uint32_t)(m->random % n) : 0;
}

struct smcq *mutant_copy(const struct smcq *s)
{
	struct smcq *c = smcq_new(s->nranks);

	if (!c)
		abort();
	c->target = s->target;
	for (uint32_t r = 0; r < s->nranks; r++) {
		const struct smcq_rank *from = &s->ranks[r];
		struct smcq_rank *to = &c->ranks[r];

		to->locals = from->locals;
		to->remotes = from->remotes;
		for (size_t i = 0; i < from->queues.n; i++)
			if (VEC_PUSH(&to->queues, from->queues.at[i]))
				abort();
		for (size_t i = 0; i < from->entries.n; i++)
			if (VEC_PUSH(&to->entries, from->entries.at[i]))
				abort();
	}
	return c;
}

/* ---- changes that keep the rest as it is ---- */

static uint32_t queue_of(const struct smcq_rank *r, uint32_t e)
{
	uint32_t q = 0;

	while (e >= r->queues.at[q].first + r->queues.at[q].n)
		q++;
	return q;
}

/* Notices of an entry are expected, or no longer. */
static void expect(struct smcq *s, uint32_t rank, const struct bin_entry *e, int by)
{
	if (e->flags & BIN_E_LOCAL)
		s->ranks[rank].locals += (uint32_t)by;
	if (e->flags & BIN_E_REMOTE)
		s->ranks[e->peer].remotes += (uint32_t)by;
}

static void take_out(struct smcq *s, uint32_t rank, uint32_t e)
{
	struct smcq_rank *r = &s->ranks[rank];
	const uint32_t q = queue_of(r, e);

	expect(s, rank, &r->entries.at[e], -1);
	memmove(r->entries.at + e, r->entries.at + e + 1, (r->entries.n - e - 1) * sizeof *r->entries.at);
	r->entries.n--;
	r->queues.at[q].n--;
	for (size_t i = q + 1; i < r->queues.n; i++)
		r->queues.at[i].first--;
}

static void put_in(struct smcq *s, uint32_t rank, uint32_t q, uint32_t at, struct bin_entry e)
{
	struct smcq_rank *r = &s->ranks[rank];
	const uint32_t i = r->queues.at[q].first + at;

	if (VEC_RESERVE(&r->entries, r->entries.n + 1))
		abort();
	memmove(r->entries.at + i + 1, r->entries.at + i, (r->entries.n - i) * sizeof *r->entries.at);
	r->entries.at[i] = e;
	r->entries.n++;
	r->queues.at[q].n++;
	for (size_t k = q + 1; k < r->queues.n; k++)
		r->queues.at[k].first++;
	expect(s, rank, &e, 1);
}

/* Of the entries that bring credit to a queue the n-th, or NULL; *n: how many are left. */
static struct bin_entry *bringing(struct smcq *s, uint32_t peer, uint32_t queue, size_t *n)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		for (size_t e = 0; e < s->ranks[r].entries.n; e++) {
			struct bin_entry *b = &s->ranks[r].entries.at[e];

			if (b->sps && bin_entry_lands(b, r) == peer && b->queue == queue && !(*n)--)
				return b;
		}
	return NULL;
}

static size_t count_bringing(struct smcq *s, uint32_t peer, uint32_t queue)
{
	size_t n = SIZE_MAX;

	bringing(s, peer, queue, &n);
	return SIZE_MAX - n;
}

/* An entry that does something, at random: its rank and number. */
static bool pick(struct mutation_of *m, uint32_t *rank, uint32_t *e)
{
	for (unsigned tries = 0; tries < 50; tries++) {
		const struct smcq_rank *r;

		*rank = chance(m, m->s->nranks);
		r = &m->s->ranks[*rank];
		if (!r->entries.n)
			continue;
		*e = chance(m, r->entries.n);
		if (r->entries.at[*e].kind != BIN_E_NOP)
			return true;
	}
	return false;
}

/* ---- the kinds ---- */

static bool change_sps(struct mutation_of *m, struct bin_entry *e)
{
	if (e->queue == BIN_NONE)
		return false;
	if (e->sps && chance(m, 2))
		e->sps--;
	else if (e->sps < m->s->target.limit[BIN_LIMIT_SPS])
		e->sps++;
	else
		return false;
	return true;
}

static bool other_queue(struct mutation_of *m, uint32_t rank, struct bin_entry *e)
{
	const struct smcq_rank *to = &m->s->ranks[bin_entry_lands(e, rank)];
	const uint32_t q = chance(m, to->queues.n);

	if (e->queue == BIN_NONE || q == e->queue || to->queues.at[q].mode == BIN_Q_NORMAL)
		return false;
	e->queue = q;
	return true;
}

static bool swap(struct mutation_of *m, struct smcq_rank *r, uint32_t e)
{
	const struct bin_queue *q = &r->queues.at[queue_of(r, e)];
	const uint32_t k = q->first + chance(m, q->n);
	const struct bin_entry was = r->entries.at[e];

	if (k == e || !memcmp(&was, &r->entries.at[k], sizeof was))
		return false;
	r->entries.at[e] = r->entries.at[k];
	r->entries.at[k] = was;
	return true;
}

/* A signal, and the NOPs that are there for it. */
static bool drop_signal(struct mutation_of *m, uint32_t rank, uint32_t e)
{
	const struct bin_entry b = m->s->ranks[rank].entries.at[e];
	uint32_t left = b.sps;

	if (b.op != BIN_NONE || b.kind != BIN_E_PIGGYBACK || b.queue == BIN_NONE)
		return false;
	take_out(m->s, rank, e);
	while (left--) {
		const struct smcq_rank *r = &m->s->ranks[b.peer];
		const struct bin_queue *q = &r->queues.at[b.queue];
		uint32_t i = q->first;

		while (i < q->first + q->n && r->entries.at[i].kind != BIN_E_NOP)
			i++;
		if (i == q->first + q->n)
			break;
		take_out(m->s, b.peer, i);
	}
	return true;
}

static bool drop_nop(struct mutation_of *m, uint32_t rank, uint32_t e)
{
	const struct smcq_rank *r = &m->s->ranks[rank];
	uint32_t tries = (uint32_t)r->entries.n;

	while (tries-- && r->entries.at[e].kind != BIN_E_NOP)
		e = (e + 1) % (uint32_t)r->entries.n;
	if (r->entries.at[e].kind != BIN_E_NOP)
		return false;
	take_out(m->s, rank, e);
	return true;
}

static bool change_flag(struct mutation_of *m, uint32_t rank, struct bin_entry *e)
{
	expect(m->s, rank, e, -1);
	e->flags ^= (uint8_t)(1u << chance(m, 3));
	expect(m->s, rank, e, 1);
	return true;
}

static bool shift_credit(struct mutation_of *m, struct bin_entry *e)
{
	size_t n = e->queue == BIN_NONE ? 0 : count_bringing(m->s, e->peer, e->queue);
	struct bin_entry *other;

	if (n < 2 || !e->sps)
		return false;
	n = chance(m, n);
	other = bringing(m->s, e->peer, e->queue, &n);
	if (other == e || other->sps == m->s->target.limit[BIN_LIMIT_SPS])
		return false;
	e->sps--;
	other->sps++;
	return true;
}

/* The second queue's entries follow those of the first, or are mixed with them in their order. */
static bool merge(struct mutation_of *m, uint32_t rank)
{
	struct smcq_rank *r = &m->s->ranks[rank];
	const uint32_t a = chance(m, r->queues.n), b = chance(m, r->queues.n);
	uint32_t at = chance(m, 2) ? r->queues.at[a].n : 0;

	if (a == b || r->queues.at[a].mode != BIN_Q_SESSION || r->queues.at[b].mode != BIN_Q_SESSION)
		return false;
	while (r->queues.at[b].n) {
		const struct bin_entry e = r->entries.at[r->queues.at[b].first];

		take_out(m->s, rank, r->queues.at[b].first);
		put_in(m->s, rank, a, at, e);
		at += 1 + chance(m, 2);
		at = at > r->queues.at[a].n ? r->queues.at[a].n : at;
	}
	for (uint32_t i = 0; i < m->s->nranks; i++)
		for (size_t k = 0; k < m->s->ranks[i].entries.n; k++) {
			struct bin_entry *e = &m->s->ranks[i].entries.at[k];

			if (bin_entry_lands(e, i) == rank && e->queue == b)
				e->queue = a;
		}
	return true;
}

static bool make_normal(struct mutation_of *m, uint32_t rank, uint32_t e)
{
	const uint32_t q = queue_of(&m->s->ranks[rank], e);
	struct bin_queue *b = &m->s->ranks[rank].queues.at[q];

	if (b->mode != BIN_Q_SESSION)
		return false;
	b->mode = BIN_Q_NORMAL;
	for (uint32_t i = 0; i < m->s->nranks; i++)
		for (size_t k = 0; k < m->s->ranks[i].entries.n; k++) {
			struct bin_entry *x = &m->s->ranks[i].entries.at[k];

			if (bin_entry_lands(x, i) == rank && x->queue == q)
				x->sps = 0;
		}
	return true;
}

static bool move(struct mutation_of *m, uint32_t rank, uint32_t e)
{
	struct smcq_rank *r = &m->s->ranks[rank];
	const uint32_t from = queue_of(r, e), to = chance(m, r->queues.n);
	const struct bin_entry b = r->entries.at[e];
	size_t n = count_bringing(m->s, rank, from);
	struct bin_entry *credit;

	if (from == to || !n || r->queues.at[from].mode != BIN_Q_SESSION || r->queues.at[to].mode != BIN_Q_SESSION)
		return false;
	n = chance(m, n);
	credit = bringing(m->s, rank, from, &n);
	if (credit->sps != 1)
		return false;
	credit->queue = to;
	take_out(m->s, rank, e);
	put_in(m->s, rank, to, chance(m, (size_t)r->queues.at[to].n + 1), b);
	return true;
}

static bool change_range(struct mutation_of *m, uint32_t rank, struct bin_entry *e)
{
	const unsigned side = chance(m, 2);
	const uint32_t of = side ? e->peer : rank;

	if (!bin_entry_facts(e->kind).ranges)
		return false;
	if (e->off[side] && chance(m, 2))
		e->off[side]--;
	else if (e->off[side] + e->len < m->g->ranks[of].bufsize[e->buf[side]])
		e->off[side]++;
	else if (e->kind != BIN_E_ARMW)
		e->len--;
	else
		return false;
	return true;
}

/* The other way round, with credit for a queue of the same number. */
static bool turn(struct mutation_of *m, uint32_t rank, struct bin_entry *e)
{
	const uint8_t was = e->kind;

	e->kind = was == BIN_E_PUT ? BIN_E_GET : BIN_E_PUT;
	if (e->queue == BIN_NONE || e->queue < m->s->ranks[bin_entry_lands(e, rank)].queues.n)
		return true;
	e->kind = was;
	return false;
}

/* Another operation, or none; or what was to be put is fetched. */
static bool change_command(struct mutation_of *m, uint32_t rank, struct bin_entry *e)
{
	const uint8_t was = e->armw;

	if (e->kind == BIN_E_PUT || e->kind == BIN_E_GET)
		return turn(m, rank, e);
	if (e->kind != BIN_E_ARMW)
		return false;
	if (chance(m, 2)) {
		e->kind = BIN_E_PUT;
		e->armw = 0;
		return true;
	}
	do
		e->armw = (uint8_t)(1 + chance(m, BIN_ARMWS - 1));
	while (e->armw == was || bin_armw_bytes(e->armw) != bin_armw_bytes(was));
	return true;
}

static bool apply(struct mutation_of *m, enum mutation kind, uint32_t rank, uint32_t e)
{
	struct smcq_rank *r = &m->s->ranks[rank];
	struct bin_entry *b = &r->entries.at[e];

	switch (kind) {
	case MUTATE_DROP:
		take_out(m->s, rank, e);
		return true;
	case MUTATE_SPS:
		return change_sps(m, b);
	case MUTATE_QUEUE:
		return other_queue(m, rank, b);
	case MUTATE_SWAP:
		return swap(m, r, e);
	case MUTATE_READY:
		return drop_signal(m, rank, e);
	case MUTATE_FLAG:
		return change_flag(m, rank, b);
	case MUTATE_SHIFT:
		return shift_credit(m, b);
	case MUTATE_MERGE:
		return merge(m, rank);
	case MUTATE_NORMAL:
		return make_normal(m, rank, e);
	case MUTATE_MOVE:
		return move(m, rank, e);
	case MUTATE_COMMAND:
		return change_command(m, rank, b);
	case MUTATE_NOP:
		return drop_nop(m, rank, e);
	default:
		return change_range(m, rank, b);
	}
}

bool mutate(struct smcq *s, const struct ir_graph *g, enum mutation kind, uint64_t seed, char *what, size_t size)
{
	struct mutation_of m = { s, g, seed * 0x9e3779b97f4a7c15 + 12345 };
	uint32_t rank, e;

	for (unsigned i = 0; i < 5; i++)
		chance(&m, 2);
	for (unsigned tries = 0; tries < 30; tries++)
		if (pick(&m, &rank, &e)) {
			snprintf(what, size, "%s, rank %u entry %u", mutation_words[kind], rank, e);
			if (apply(&m, kind, rank, e))
				return true;
		}
	return false;
}
