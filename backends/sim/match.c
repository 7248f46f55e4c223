/* SPDX-License-Identifier: BSD-3-Clause
 * Matching of recvs and messages, see match.h. */
#include "backends/sim/match.h"

#include <string.h>

#define MOST_IN_CHAIN 2u /* without wildcards */

bool match_fits(const struct sim_class *recv, uint32_t peer, const struct sim_class *send, uint32_t source)
{
	return (peer == source || peer == BIN_ANY) && recv->before == send->before && (recv->tag == send->tag || recv->tag == BIN_ANY || send->tag == BIN_ANY);
}

/* True if one of the two is a recv, and the other a message for it. */
static inline bool is_pair(const struct sim *s, const struct op *a, const struct op *b)
{
	const struct sim_class *ca = sim_class_of(s, a), *cb = sim_class_of(s, b);

	if (ca->kind == cb->kind)
		return false;
	return ca->kind == SIM_RECV ? match_fits(ca, a->peer, cb, b->peer) : match_fits(cb, b->peer, ca, a->peer);
}

/* ---- chains ---- */

static void append_to_chain(const struct sim *s, uint32_t *tail, uint32_t i)
{
	struct op *op = sim_op_at(s, i);

	if (*tail) {
		struct op *last = sim_op_at(s, *tail);

		op->next = last->next;
		last->next = i;
	} else {
		op->next = i;
	}
	*tail = i;
}

/* Returns the first partner of an op in a chain, and in *before the op before it there. */
static uint32_t find_in_chain(const struct sim *s, uint32_t tail, const struct op *op, uint32_t *before)
{
	*before = tail;
	while (*before) {
		const uint32_t i = sim_op_at(s, *before)->next;

		if (is_pair(s, op, sim_op_at(s, i)))
			return i;
		*before = i == tail ? 0 : i;
	}
	return 0;
}

static uint32_t take_from_chain(const struct sim *s, uint32_t *tail, const struct op *op)
{
	uint32_t before, found = find_in_chain(s, *tail, op, &before);

	if (!found)
		return 0;
	sim_op_at(s, before)->next = sim_op_at(s, found)->next;
	if (found == *tail)
		*tail = before == found ? 0 : before;
	return found;
}

/* ---- tables ---- */

/* Adds an entry behind those of its key: a slot whose op was removed may be before one of them. */
static void add_entry(const struct sim *s, const struct host *h, struct match_entry e)
{
	struct match_entry *t = match_table(s, h);
	uint32_t slot = match_home(h, e.key);

	while (t[slot].op)
		slot = match_after(h, slot);
	t[slot] = e;
	t[match_slots(h->size)].op++;
}

/* Finds the first partner of an op. Returns true and its slot, or false. */
static bool find_slot(const struct sim *s, const struct host *h, const struct op *op, uint32_t *slot)
{
	const uint32_t key = match_key(s, op);
	const struct match_entry *t = match_table(s, h);

	for (*slot = match_home(h, key); t[*slot].op; *slot = match_after(h, *slot))
		if (t[*slot].key == key && t[*slot].op != MATCH_GONE && is_pair(s, op, sim_op_at(s, t[*slot].op)))
			return true;
	return false;
}

/* Removes an entry. Its slot, and those before it that are unused too, are free if nothing is behind them. */
static void remove_entry(const struct sim *s, const struct host *h, uint32_t slot)
{
	struct match_entry *t = match_table(s, h);

	t[slot].op = MATCH_GONE;
	if (t[match_after(h, slot)].op)
		return;
	while (t[slot].op == MATCH_GONE) {
		t[slot].op = 0;
		slot = slot ? slot - 1 : match_slots(h->size) - 1;
	}
}

void match_free(struct sim *s, uint32_t host)
{
	struct host *h = &s->hosts[host];

	if (h->size)
		pool_free(&s->pool, h->match);
	h->size = 0;
	h->match = 0;
}

/* Makes a table of a size, and moves all to it. Entries of the same key stay in their order: the walk begins behind a free slot, so
 * that no run of entries is cut. */
static int make_table(struct sim *s, struct host *h, unsigned size)
{
	const struct host old = *h;
	const size_t bytes = (match_slots(size) + (size_t)1) * sizeof(struct match_entry);
	const int64_t block = pool_alloc(&s->pool, (uint32_t)((bytes + sizeof(struct op) - 1) / sizeof(struct op)));
	const struct match_entry *t;
	uint32_t i = 0;

	if (block < 0)
		return (int)block;
	h->size = size & 127;
	h->match = (uint32_t)block;
	memset(match_table(s, h), 0, bytes);
	if (!old.size) {
		for (i = old.match; i; i = i == old.match ? 0 : i) {
			i = sim_op_at(s, i)->next;
			add_entry(s, h, (struct match_entry){ match_key(s, sim_op_at(s, i)), i });
		}
		return 0;
	}
	t = match_table(s, &old);
	while (t[i].op)
		i++;
	for (uint32_t n = match_slots(old.size); n; n--, i = match_after(&old, i))
		if (t[i].op && t[i].op != MATCH_GONE)
			add_entry(s, h, t[i]);
	pool_free(&s->pool, old.match);
	return 0;
}

/* At most seven of eight slots are used. */
static inline bool has_room(unsigned size, uint32_t n)
{
	return n < match_slots(size) - match_slots(size) / 8;
}

/* Makes room for so many recvs and messages of a host. */
static int reserve(struct sim *s, uint32_t host, uint32_t n)
{
	struct host *h = &s->hosts[host];
	unsigned size = 1;

	if (n > MATCH_MOST)
		return -ERR_SPACE;
	if (h->pinned || (!h->size && n <= MOST_IN_CHAIN))
		return 0;
	while (!has_room(size, n))
		size++;
	return make_table(s, h, size);
}

/* ---- both ---- */

/* True if one more can be added. Those that were added to a table and removed take room, too. */
static inline bool has_room_for_one(const struct sim *s, const struct host *h)
{
	if (h->size)
		return has_room(h->size, match_table(s, h)[match_slots(h->size)].op + 1);
	return h->waiting < (h->pinned ? MATCH_MOST : MOST_IN_CHAIN);
}

int match_add(struct sim *s, uint32_t host, uint32_t i)
{
	struct host *h = &s->hosts[host];
	const uint32_t n = h->waiting + 1u, more = n + n / 2;

	if (!has_room_for_one(s, h)) {
		int err = reserve(s, host, n < MATCH_MOST && more > MATCH_MOST ? MATCH_MOST : more);

		if (err)
			return err;
	}
	if (h->size)
		add_entry(s, h, (struct match_entry){ match_key(s, sim_op_at(s, i)), i });
	else
		append_to_chain(s, &h->match, i);
	h->waiting = n & MATCH_MOST;
	return 0;
}

int match_add_first(struct sim *s, uint32_t host, const uint32_t *recvs, uint32_t n)
{
	struct host *h = &s->hosts[host];
	int err = reserve(s, host, n);

	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++)
		if (h->size)
			add_entry(s, h, (struct match_entry){ match_key(s, sim_op_at(s, recvs[i])), recvs[i] });
		else
			append_to_chain(s, &h->match, recvs[i]);
	h->waiting = n & MATCH_MOST;
	return 0;
}

uint32_t match_find(const struct sim *s, uint32_t host, uint32_t i)
{
	const struct host *h = &s->hosts[host];
	const struct op *op = sim_op_at(s, i);
	uint32_t at;

	if (!h->size)
		return find_in_chain(s, h->match, op, &at);
	return find_slot(s, h, op, &at) ? match_table(s, h)[at].op : 0;
}

uint32_t match_take(struct sim *s, uint32_t host, uint32_t i)
{
	struct host *h = &s->hosts[host];
	const struct op *op = sim_op_at(s, i);
	uint32_t found = 0, slot;

	if (!h->size) {
		found = take_from_chain(s, &h->match, op);
	} else if (find_slot(s, h, op, &slot)) {
		found = match_table(s, h)[slot].op;
		remove_entry(s, h, slot);
	}
	h->waiting -= found != 0;
	return found;
}
