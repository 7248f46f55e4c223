/* SPDX-License-Identifier: BSD-3-Clause
 * Assigns tasks to entries of queues.
 *
 * Tasks of a rank that wait for the same arrivals form a block: consecutive entries of one queue. A block of m
 * entries that waits for k arrivals is preceded by m (k - 1) NOPs, and each arrival brings m credits. So the last
 * arrival releases the entries, in whatever order the arrivals come. An arrival can bring credit to one queue only.
 * If several blocks wait for an arrival, it brings credit to only one of them, which waits for nothing else. That
 * block has additional entries, puts of the rank to itself, which bring credit to the other blocks. If block A waits
 * for everything that block B waits for, A gets a signal from an entry of B instead. A block that is too long for the
 * credit of one packet is divided, and puts of the rank to itself bring credit to each part.
 *
 * A block may follow another block in a queue if all its arrivals come after all arrivals of the other block. Then it
 * neither waits longer nor takes credit that is meant for the other block. No block follows a block that gathers the
 * starts of ranks, because reports of the next start may arrive as soon as that block's own credit is used.
 *
 * A posted queue has one block and no NOPs, because the rank's CPU counts the arrivals. The CPU posts only until the
 * rank is done, so the rank waits for at least one of the queue's entries. */
#include "compiler/queues/tasks.h"

#include "format/check.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

struct block {
	uint32_t rank, nic;
	enum bin_queue_mode mode;
	bool gathers; /* true if the block waits for ranks to start */
	struct smcq_set needs; /* tasks that the block waited for at first */
	struct smcq_set waits; /* tasks that the block waits for now, after signals have replaced some */
	VEC(uint32_t) tasks;
	uint64_t key; /* key of the block's first task */
	uint32_t before; /* 1 + the block that this block must follow in its queue, or 0 */
	bool followed; /* true if another block must follow this block */
	uint32_t level, open; /* level in a topological order; number of waits that are still open */
	uint32_t queue;
};

struct queue {
	uint32_t rank, nic;
	enum bin_queue_mode mode;
	uint32_t tasks, index; /* number of tasks; index of the queue in its rank */
	VEC(uint32_t) blocks;
};

/* The arrivals at a rank that its blocks wait for. */
struct arrivals {
	uint32_t n;
	size_t words;
	uint64_t *before; /* for each arrival, a row of bits: the arrivals that come before the task of this arrival is issued */
};

struct assignment {
	struct smcq_tasks *t;
	VEC(struct block) blocks;
	VEC(struct queue) queues;
	struct smcq_set *of_rank; /* for each rank, its blocks; later, its queues */
	uint32_t *order; /* topological order of the blocks */
	uint32_t *slot; /* for each task, its index among the arrivals at its rank */
	struct arrivals *arrivals; /* one element for each rank */
};

static int64_t new_block(struct assignment *p, uint32_t rank, enum bin_queue_mode mode, uint64_t key)
{
	const struct block b = { .rank = rank, .nic = SMCQ_ANY, .mode = mode, .key = key };

	if (VEC_PUSH(&p->blocks, b) || smcq_add(&p->of_rank[rank], (uint32_t)p->blocks.n - 1))
		return -ERR_NOMEM;
	return (int64_t)p->blocks.n - 1;
}

static bool sets_are_equal(const struct smcq_set *a, const struct smcq_set *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->at, b->at, a->n * sizeof *a->at));
}

/* True if all elements of a are in b. */
static bool is_subset(const struct smcq_set *a, const struct smcq_set *b)
{
	size_t k = 0;

	for (size_t i = 0; i < a->n; i++) {
		while (k < b->n && b->at[k] < a->at[i])
			k++;
		if (k == b->n || b->at[k] != a->at[i])
			return false;
	}
	return true;
}

static bool nics_agree(uint32_t a, uint32_t b)
{
	return a == b || a == SMCQ_ANY || b == SMCQ_ANY;
}

static int put_task(struct assignment *p, uint32_t block, uint32_t task)
{
	struct block *b = &p->blocks.at[block];
	struct smcq_task *t = &p->t->v.at[task];

	t->block = block;
	if (b->nic == SMCQ_ANY)
		b->nic = t->nic;
	return VEC_PUSH(&b->tasks, task);
}

/* ---- blocks ---- */

/* Returns the mode of the queue for a task. Two kinds of tasks wait only for starts of ranks. The first kind
 * reports these starts to another rank. The second kind is at the rank where all starts are known; it goes into a posted
 * queue if the options allow this. */
static enum bin_queue_mode mode_for(const struct assignment *p, const struct smcq_task *t)
{
	if (t->entry.kind == BIN_E_CPU)
		return BIN_Q_CPU;
	if (!t->waits.n)
		return BIN_Q_NORMAL;
	return p->t->post && !t->gathers && p->t->v.at[t->waits.at[0]].gathers ? BIN_Q_POSTED : BIN_Q_SESSION;
}

/* Returns the block of the task's rank that has the same waits as the task. Makes a block if there is none. */
static int64_t block_for(struct assignment *p, uint32_t task)
{
	const struct smcq_task *t = &p->t->v.at[task];
	const enum bin_queue_mode mode = mode_for(p, t);
	const struct smcq_set *mine = &p->of_rank[t->from];
	int64_t id;
	int err = 0;

	for (size_t i = mine->n; i--;) {
		const struct block *b = &p->blocks.at[mine->at[i]];

		if (b->mode == mode && nics_agree(b->nic, t->nic) && sets_are_equal(&b->needs, &t->waits))
			return mine->at[i];
	}
	id = new_block(p, t->from, mode, t->key);
	for (size_t i = 0; id >= 0 && i < t->waits.n && !err; i++) {
		struct block *b = &p->blocks.at[id];

		err = smcq_add(&b->needs, t->waits.at[i]);
		err = err ? err : smcq_add(&b->waits, t->waits.at[i]);
	}
	return err ? err : id;
}

struct by_key {
	uint64_t key;
	uint32_t id;
};

static int compare_keys(const void *a, const void *b)
{
	const struct by_key *x = a, *y = b;

	return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->id > y->id) - (x->id < y->id);
}

static int make_blocks(struct assignment *p)
{
	const uint32_t n = (uint32_t)p->t->v.n;
	struct by_key *s = mem_alloc((size_t)n * sizeof *s);
	int err = s ? 0 : -ERR_NOMEM;

	for (uint32_t i = 0; i < n && !err; i++)
		s[i] = (struct by_key){ p->t->v.at[i].key, i };
	if (!err && n)
		qsort(s, n, sizeof *s, compare_keys);
	for (uint32_t i = 0; i < n && !err; i++) {
		int64_t b = block_for(p, s[i].id);

		err = b < 0 ? (int)b : put_task(p, (uint32_t)b, s[i].id);
	}
	free(s);
	return err;
}

/* Adds a task to block `by`: a put of the rank to itself, which signals to block `to`. Returns its number. */
static int64_t add_self_put(struct assignment *p, uint32_t by, uint32_t to)
{
	const uint32_t rank = p->blocks.at[by].rank;
	int64_t id = smcq_task(p->t, rank, rank, p->blocks.at[to].key);

	if (id >= 0 && put_task(p, by, (uint32_t)id))
		return -ERR_NOMEM;
	return id;
}

/* Replaces all waits of a block that are in the set `gone` by one task. */
static int replace_waits(struct block *b, const struct smcq_set *gone, uint32_t task)
{
	size_t n = 0, k = 0;

	for (size_t i = 0; i < b->waits.n; i++) {
		while (k < gone->n && gone->at[k] < b->waits.at[i])
			k++;
		if (k == gone->n || gone->at[k] != b->waits.at[i])
			b->waits.at[n++] = b->waits.at[i];
	}
	b->waits.n = n;
	return smcq_add(&b->waits, task);
}

/* True if a block can have an entry that signals to another block. */
static bool may_signal(const struct block *b)
{
	return b->mode == BIN_Q_SESSION || b->mode == BIN_Q_POSTED;
}

/* Returns the block with the most needs, at least two, all of which block y needs too; -1 if there is none. */
static int64_t largest_within(const struct assignment *p, uint32_t y)
{
	const struct block *b = &p->blocks.at[y];
	const struct smcq_set *mine = &p->of_rank[b->rank];
	int64_t best = -1;

	for (size_t i = 0; i < mine->n && mine->at[i] < y; i++) {
		const struct block *x = &p->blocks.at[mine->at[i]];

		if (may_signal(x) && x->needs.n > 1 && is_subset(&x->needs, &b->needs) &&
		    (best < 0 || x->needs.n >= p->blocks.at[best].needs.n))
			best = mine->at[i];
	}
	return best;
}

static int share_needs(struct assignment *p)
{
	int err = 0;

	for (uint32_t y = 0; y < p->blocks.n && !err; y++) {
		int64_t x = p->blocks.at[y].needs.n > 1 ? largest_within(p, y) : -1, put;

		if (x < 0)
			continue;
		put = add_self_put(p, (uint32_t)x, y);
		err = put < 0 ? (int)put : replace_waits(&p->blocks.at[y], &p->blocks.at[x].needs, (uint32_t)put);
	}
	return err;
}

/* Returns the block that waits for one task and nothing else. Makes a block if there is none. */
static int64_t only_for(struct assignment *p, uint32_t task, uint64_t key)
{
	const uint32_t rank = p->t->v.at[task].to;
	const struct smcq_set *mine = &p->of_rank[rank];
	int64_t id;

	for (size_t i = 0; i < mine->n; i++) {
		const struct block *b = &p->blocks.at[mine->at[i]];

		if (may_signal(b) && b->waits.n == 1 && b->waits.at[0] == task)
			return mine->at[i];
	}
	id = new_block(p, rank, BIN_Q_SESSION, key);
	if (id >= 0 && smcq_add(&p->blocks.at[id].waits, task))
		return -ERR_NOMEM;
	return id;
}

/* If several blocks wait for a task, lets only one block wait for it; this block then signals to the others. */
static int share_arrivals(struct assignment *p)
{
	const uint32_t n = (uint32_t)p->t->v.n, nblocks = (uint32_t)p->blocks.n;
	uint32_t *waiting = mem_calloc(n, sizeof *waiting);
	int err = waiting ? 0 : -ERR_NOMEM;

	for (uint32_t y = 0; y < nblocks && !err; y++)
		for (size_t i = 0; i < p->blocks.at[y].waits.n; i++)
			waiting[p->blocks.at[y].waits.at[i]]++;
	for (uint32_t y = 0; y < nblocks && !err; y++) {
		struct smcq_set old = { 0 };

		for (size_t i = 0; i < p->blocks.at[y].waits.n && !err; i++)
			if (p->blocks.at[y].waits.at[i] < n && waiting[p->blocks.at[y].waits.at[i]] > 1)
				err = smcq_add(&old, p->blocks.at[y].waits.at[i]);
		for (size_t i = 0; i < old.n && !err; i++) {
			const struct smcq_set one = { &old.at[i], 1, 1 };
			int64_t by = only_for(p, old.at[i], p->blocks.at[y].key), put;

			if (by == y)
				continue;
			put = by < 0 ? by : add_self_put(p, (uint32_t)by, y);
			err = put < 0 ? (int)put : replace_waits(&p->blocks.at[y], &one, (uint32_t)put);
		}
		VEC_FREE(&old);
	}
	free(waiting);
	return err;
}

/* Divides a block into parts with no more entries than one packet can release. */
static int split_large_block(struct assignment *p, uint32_t y)
{
	const uint32_t most = p->t->target.limit[BIN_LIMIT_SPS], n = (uint32_t)p->blocks.at[y].tasks.n;
	int64_t by = new_block(p, p->blocks.at[y].rank, BIN_Q_SESSION, p->blocks.at[y].key);
	uint32_t part = y;
	int err = by < 0 ? (int)by : 0;

	if (err)
		return err;
	p->blocks.at[by].waits = p->blocks.at[y].waits;
	p->blocks.at[y].waits = (struct smcq_set){ 0 };
	for (uint32_t at = 0; at < n && !err; at += most) {
		int64_t put;

		if (at) {
			int64_t next = new_block(p, p->blocks.at[y].rank, p->blocks.at[y].mode, p->blocks.at[y].key);

			if (next < 0)
				return (int)next;
			p->blocks.at[next].before = part + 1;
			p->blocks.at[part].followed = true;
			part = (uint32_t)next;
			for (uint32_t i = at; i < n && i < at + most && !err; i++)
				err = put_task(p, part, p->blocks.at[y].tasks.at[i]);
		}
		put = err ? err : add_self_put(p, (uint32_t)by, part);
		err = put < 0 ? (int)put : smcq_add(&p->blocks.at[part].waits, (uint32_t)put);
	}
	p->blocks.at[y].tasks.n = most;
	return err;
}

static int cut_all(struct assignment *p)
{
	int err = 0;

	for (uint32_t y = 0; y < p->blocks.n && !err; y++) {
		const struct block *b = &p->blocks.at[y];

		if (b->mode != BIN_Q_NORMAL && b->mode != BIN_Q_POSTED && b->tasks.n > p->t->target.limit[BIN_LIMIT_SPS])
			err = split_large_block(p, y);
	}
	return err;
}

/* ---- queues ---- */

/* Returns an op of a block, or BIN_NONE. */
static uint32_t op_in(const struct assignment *p, const struct block *b)
{
	for (size_t k = 0; k < b->tasks.n; k++)
		if (p->t->v.at[b->tasks.at[k]].entry.op != BIN_NONE)
			return p->t->v.at[b->tasks.at[k]].entry.op;
	return BIN_NONE;
}

/* Refuses a schedule in which blocks wait for each other. A schedule that the checks accept has no such blocks. */
static int refuse_cycle(const struct assignment *p)
{
	for (size_t y = 0; y < p->blocks.n; y++) {
		const struct block *b = &p->blocks.at[y];
		const uint32_t op = b->open ? op_in(p, b) : BIN_NONE;

		if (op != BIN_NONE)
			return ir_refuse(&p->t->g->refused, b->rank, op, "rank %u: this %s waits for what waits for it", b->rank,
					   ir_op_word(p->t->g->ranks[b->rank].ops[op].kind));
	}
	return -ERR_CYCLE;
}

/* Sorts the blocks by level. The level of a block is above the levels of the blocks with the tasks that it waits for. */
static int sort_blocks(struct assignment *p)
{
	const uint32_t n = (uint32_t)p->blocks.n;
	uint32_t *waiting = mem_alloc(p->t->v.n * sizeof *waiting), *queue = mem_alloc((size_t)n * sizeof *queue);
	struct by_key *s = mem_alloc((size_t)n * sizeof *s);
	uint32_t tail = 0, head = 0;
	int err = waiting && queue && s ? 0 : -ERR_NOMEM;

	for (size_t i = 0; i < p->t->v.n && !err; i++)
		waiting[i] = BIN_NONE;
	for (uint32_t y = 0; y < n && !err; y++) {
		struct block *b = &p->blocks.at[y];

		for (size_t i = 0; i < b->waits.n; i++)
			waiting[b->waits.at[i]] = y;
		b->open = (uint32_t)b->waits.n;
		if (!b->open)
			queue[tail++] = y;
	}
	for (; head < tail && !err; head++) {
		const struct block *x = &p->blocks.at[queue[head]];

		for (size_t i = 0; i < x->tasks.n; i++) {
			const uint32_t y = waiting[x->tasks.at[i]];

			if (y == BIN_NONE)
				continue;
			if (p->blocks.at[y].level <= x->level)
				p->blocks.at[y].level = x->level + 1;
			if (!--p->blocks.at[y].open)
				queue[tail++] = y;
		}
	}
	for (uint32_t y = 0; y < n && !err; y++)
		s[y] = (struct by_key){ (uint64_t)p->blocks.at[y].level << 40 | (p->blocks.at[y].key & ((UINT64_C(1) << 40) - 1)), y };
	if (!err && tail < n)
		err = refuse_cycle(p);
	if (!err && n)
		qsort(s, n, sizeof *s, compare_keys);
	p->order = err ? NULL : queue;
	for (uint32_t y = 0; y < n && !err; y++)
		queue[y] = s[y].id;
	if (err)
		free(queue);
	free(waiting);
	free(s);
	return err;
}

/* Collects, for each block, the arrivals at a rank that come before the block is issued: the arrivals that it waits for, and
 * the arrivals that come before the blocks of the tasks that it waits for. */
static void collect_arrivals(const struct assignment *p, uint32_t rank, uint64_t *seen)
{
	const size_t words = p->arrivals[rank].words;

	memset(seen, 0, p->blocks.n * words * sizeof *seen);
	for (size_t i = 0; i < p->blocks.n; i++) {
		const struct block *b = &p->blocks.at[p->order[i]];
		uint64_t *mine = seen + p->order[i] * words;

		for (size_t k = 0; k < b->waits.n; k++) {
			const uint32_t w = b->waits.at[k];
			const uint64_t *its = seen + p->t->v.at[w].block * words;

			for (size_t n = 0; n < words; n++)
				mine[n] |= its[n];
			if (b->rank == rank)
				mine[p->slot[w] / 64] |= UINT64_C(1) << p->slot[w] % 64;
		}
	}
}

/* Numbers the arrivals of each rank. Returns the number of words for the rank with most arrivals. */
static size_t number_arrivals(struct assignment *p)
{
	size_t most = 0;

	for (size_t y = 0; y < p->blocks.n; y++) {
		struct block *b = &p->blocks.at[y];
		struct arrivals *a = &p->arrivals[b->rank];

		for (size_t i = 0; i < b->waits.n; i++) {
			p->slot[b->waits.at[i]] = a->n++;
			b->gathers |= p->t->v.at[b->waits.at[i]].gathers;
		}
		a->words = ((size_t)a->n + 63) / 64;
		most = a->words > most ? a->words : most;
	}
	return most;
}

static int keep_rows(struct assignment *p, uint32_t rank, const uint64_t *seen)
{
	struct arrivals *a = &p->arrivals[rank];

	a->before = mem_alloc(a->n * a->words * sizeof *a->before);
	if (!a->before)
		return -ERR_NOMEM;
	for (size_t y = 0; y < p->blocks.n; y++) {
		const struct smcq_set *w = &p->blocks.at[y].waits;

		for (size_t i = 0; i < w->n && p->blocks.at[y].rank == rank; i++)
			memcpy(a->before + p->slot[w->at[i]] * a->words, seen + p->t->v.at[w->at[i]].block * a->words,
			       a->words * sizeof *seen);
	}
	return 0;
}

/* For each arrival at a rank, finds the other arrivals that come before the task of this arrival is issued. */
static int find_before(struct assignment *p)
{
	uint64_t *seen;
	int err = 0;

	p->slot = mem_calloc(p->t->v.n, sizeof *p->slot);
	p->arrivals = mem_calloc(p->t->g->nranks, sizeof *p->arrivals);
	if (!p->slot || !p->arrivals)
		return -ERR_NOMEM;
	seen = mem_alloc(p->blocks.n * number_arrivals(p) * sizeof *seen);
	err = seen ? 0 : -ERR_NOMEM;
	for (uint32_t r = 0; r < p->t->g->nranks && !err; r++) {
		collect_arrivals(p, r, seen);
		err = keep_rows(p, r, seen);
	}
	free(seen);
	return err;
}

/* True if task x arrives before task c because both bring credit to one queue by the same route. */
static bool same_route(const struct assignment *p, uint32_t x, uint32_t c)
{
	const struct smcq_task *a = &p->t->v.at[x], *b = &p->t->v.at[c];

	return p->blocks.at[a->block].queue == p->blocks.at[b->block].queue && a->position < b->position &&
	       a->entry.peer == b->entry.peer && (a->entry.kind == BIN_E_GET) == (b->entry.kind == BIN_E_GET);
}

/* True if all tasks that block x waits for arrive before task c. */
static bool all_before(const struct assignment *p, const struct block *x, uint32_t c)
{
	const struct arrivals *a = &p->arrivals[x->rank];
	const uint64_t *row = a->before + p->slot[c] * a->words;

	for (size_t i = 0; i < x->waits.n; i++) {
		const uint32_t w = x->waits.at[i];

		if (!(row[p->slot[w] / 64] >> p->slot[w] % 64 & 1) && !same_route(p, w, c))
			return false;
	}
	return true;
}

/* True if block b may follow the last block of a queue. */
static bool may_follow(const struct assignment *p, const struct queue *q, const struct block *b)
{
	const struct block *x = &p->blocks.at[q->blocks.at[q->blocks.n - 1]];

	if (q->mode != b->mode || !nics_agree(q->nic, b->nic) || b->mode == BIN_Q_POSTED || x->gathers || b->gathers ||
	    x->followed)
		return false;
	for (size_t k = 0; k < b->waits.n; k++)
		if (!all_before(p, x, b->waits.at[k]))
			return false;
	return true;
}

/* True if block b waits for an arrival by the same route as one that the queue's last block waits for. */
static bool goes_on(const struct assignment *p, const struct queue *q, const struct block *b)
{
	const struct block *x = &p->blocks.at[q->blocks.at[q->blocks.n - 1]];

	return b->waits.n && x->waits.n && same_route(p, x->waits.at[0], b->waits.at[0]);
}

/* Returns a queue that block y may join, or a new queue. A queue whose last block waits for arrivals by the same route is
 * preferred, because blocks of other ranks that wait for y can then join queues in the same way. */
static int64_t queue_for(struct assignment *p, uint32_t y)
{
	const struct block *b = &p->blocks.at[y];
	const struct smcq_set *mine = &p->of_rank[b->rank];
	int64_t first = -1;

	if (b->before)
		return p->blocks.at[b->before - 1].queue;
	for (size_t i = 0; i < mine->n; i++) {
		const struct queue *q = &p->queues.at[mine->at[i]];

		if (!may_follow(p, q, b))
			continue;
		if (goes_on(p, q, b))
			return mine->at[i];
		first = first < 0 ? mine->at[i] : first;
	}
	if (first >= 0)
		return first;
	if (VEC_PUSH(&p->queues, (struct queue){ .rank = b->rank, .nic = SMCQ_ANY, .mode = b->mode }) ||
	    smcq_add(&p->of_rank[b->rank], (uint32_t)p->queues.n - 1))
		return -ERR_NOMEM;
	return (int64_t)p->queues.n - 1;
}

static int fill_queues(struct assignment *p)
{
	int err = 0;

	for (uint32_t r = 0; r < p->t->g->nranks; r++)
		p->of_rank[r].n = 0;
	for (size_t i = 0; i < p->blocks.n && !err; i++) {
		struct block *b = &p->blocks.at[p->order[i]];
		int64_t at = queue_for(p, p->order[i]);
		struct queue *q = at < 0 ? NULL : &p->queues.at[at];

		if (!q)
			return (int)at;
		b->queue = (uint32_t)at;
		if (q->nic == SMCQ_ANY)
			q->nic = b->nic;
		for (size_t k = 0; k < b->tasks.n; k++)
			p->t->v.at[b->tasks.at[k]].position = q->tasks++;
		err = VEC_PUSH(&q->blocks, p->order[i]);
	}
	return err;
}

/* ---- entries ---- */

/* Returns an op that a queue serves: an op of its tasks or, if there is none, an op of the same rank that waits for its
 * signals. Returns BIN_NONE if there is neither. */
static uint32_t op_of(const struct assignment *p, const struct queue *q)
{
	uint32_t op = BIN_NONE;

	for (size_t i = 0; i < q->blocks.n && op == BIN_NONE; i++)
		op = op_in(p, &p->blocks.at[q->blocks.at[i]]);
	for (size_t y = 0; y < p->blocks.n && op == BIN_NONE; y++) {
		const struct block *b = &p->blocks.at[y];

		for (size_t i = 0; i < b->waits.n && b->rank == q->rank && op == BIN_NONE; i++)
			if (&p->queues.at[p->blocks.at[p->t->v.at[b->waits.at[i]].block].queue] == q)
				op = op_in(p, b);
	}
	return op;
}

static const char *word_of(const struct assignment *p, const struct queue *q)
{
	const uint32_t op = op_of(p, q);

	return op == BIN_NONE ? "op" : ir_op_word(p->t->g->ranks[q->rank].ops[op].kind);
}

/* Assigns a command queue of the required network interface to a queue. If any interface will do, takes the least used one.
 * Returns -ERR_PASS if no command queue is left. */
static int take_cq(struct assignment *p, const struct queue *q, uint32_t *used, struct bin_queue *out)
{
	const uint32_t tnis = p->t->target.limit[BIN_LIMIT_TNIS], cqs = p->t->target.limit[BIN_LIMIT_CQS];
	uint32_t tni = q->nic == SMCQ_ANY ? 0 : q->nic;

	if (q->mode == BIN_Q_CPU)
		return 0;
	for (uint32_t i = 0; i < tnis && q->nic == SMCQ_ANY; i++)
		if (used[i] < used[tni])
			tni = i;
	if (used[tni] == cqs)
		return ir_refuse(&p->t->g->refused, q->rank, op_of(p, q),
				   q->nic == SMCQ_ANY ? "rank %u: for this %s there is no command queue left of %u (cqs) on each of %u "
							"interfaces (tnis)" :
							"rank %u: for this %s there is no command queue left of %u (cqs) on the "
							"interface that it names, of %u (tnis)",
				   q->rank, word_of(p, q), cqs, tnis);
	out->tni = (uint16_t)tni;
	out->cq = (uint16_t)used[tni]++;
	return 0;
}

/* Checks the number of a queue's entries. */
static int check_length(const struct assignment *p, const struct queue *q, uint64_t n)
{
	const uint32_t depth = p->t->target.limit[BIN_LIMIT_DEPTH], bits = p->t->target.limit[BIN_LIMIT_OFFSET];

	if (q->mode == BIN_Q_CPU)
		return 0;
	if (n > UINT64_C(1) << (11 + 2 * depth))
		return ir_refuse(&p->t->g->refused, q->rank, op_of(p, q),
				   "rank %u: the queue of this %s has %llu entries, and one of the target 2^%u (depth)", q->rank,
				   word_of(p, q), (unsigned long long)n, 11 + 2 * depth);
	if (n >= UINT64_C(1) << bits)
		return ir_refuse(&p->t->g->refused, q->rank, op_of(p, q),
				   "rank %u: the queue of this %s has %llu entries, and a scheduling pointer is less than 2^%u ahead "
				   "(offset)",
				   q->rank, word_of(p, q), (unsigned long long)n, bits);
	return 0;
}

/* Returns the number of NOPs that precede a block. */
static uint64_t count_joins(const struct block *b)
{
	return b->waits.n && b->mode != BIN_Q_POSTED ? (uint64_t)b->tasks.n * (b->waits.n - 1) : 0;
}

/* Sets the credit that each arrival brings, and the queue that gets it. The queues must have their numbers. */
static void give_credit(struct assignment *p)
{
	for (size_t y = 0; y < p->blocks.n; y++) {
		const struct block *b = &p->blocks.at[y];

		for (size_t i = 0; i < b->waits.n; i++) {
			struct bin_entry *e = &p->t->v.at[b->waits.at[i]].entry;

			e->queue = p->queues.at[b->queue].index;
			e->sps = b->mode == BIN_Q_POSTED ? 1 : (uint8_t)b->tasks.n;
		}
	}
	for (size_t i = p->t->v.n; i--;) /* backwards, because all parts take the route of the last part */
		if (p->t->v.at[i].more)
			p->t->v.at[i].entry.queue = p->t->v.at[p->t->v.at[i].more - 1].entry.queue;
}

static int add_entries(const struct assignment *p, const struct queue *q, struct smcq_rank *r)
{
	const struct bin_entry nop = { .kind = BIN_E_NOP, .peer = q->rank, .queue = BIN_NONE, .op = BIN_NONE, .at = BIN_NONE };
	int err = 0;

	for (size_t i = 0; i < q->blocks.n; i++) {
		const struct block *b = &p->blocks.at[q->blocks.at[i]];

		for (uint64_t k = count_joins(b); k && !err; k--)
			err = VEC_PUSH(&r->entries, nop);
		for (size_t k = 0; k < b->tasks.n && !err; k++) {
			struct bin_entry e = p->t->v.at[b->tasks.at[k]].entry;

			if (e.op != BIN_NONE)
				e.flags |= BIN_E_LOCAL | (e.peer != q->rank ? BIN_E_REMOTE : 0);
			err = VEC_PUSH(&r->entries, e);
		}
	}
	return err;
}

/* Removes implied notices: an entry needs no notice if a later entry on the same route has the same notice. */
static int thin_notices(struct bin_entry *e, uint32_t n)
{
	VEC(struct bin_entry) seen = { 0 }; /* last entry of each route */
	int err = 0;

	while (n-- && !err) {
		size_t k = 0;

		if (e[n].kind == BIN_E_NOP)
			continue;
		while (k < seen.n && !bin_entry_same_route(&seen.at[k], &e[n]))
			k++;
		if (k == seen.n) {
			err = VEC_PUSH(&seen, e[n]);
		} else {
			const uint8_t asked = seen.at[k].flags & (BIN_E_LOCAL | BIN_E_REMOTE);

			seen.at[k].flags |= e[n].flags;
			e[n].flags &= (uint8_t)~asked;
		}
	}
	VEC_FREE(&seen);
	return err;
}

/* Makes the rank wait for the last entry of a posted queue, unless it waits for another entry of that queue. */
static void wait_for_post(struct bin_entry *e, uint32_t n)
{
	bool waits = false;

	for (uint32_t i = 0; i < n; i++)
		waits |= e[i].flags & BIN_E_LOCAL;
	if (n && !waits)
		e[n - 1].flags |= BIN_E_LOCAL;
}

/* Checks that a command queue is left for the puts by which the rank's CPU passes credit on. The rank takes any when it binds. */
static int leave_cq(const struct assignment *p, uint32_t rank, const uint32_t *used, const struct smcq_rank *r)
{
	const uint32_t tnis = p->t->target.limit[BIN_LIMIT_TNIS], cqs = p->t->target.limit[BIN_LIMIT_CQS];
	const struct bin_entry *e = smcq_cpu_puts(r);

	if (!e)
		return 0;
	for (uint32_t i = 0; i < tnis; i++)
		if (used[i] < cqs)
			return 0;
	return ir_refuse(&p->t->g->refused, rank, e->op,
			 "rank %u: for the credit that this %s of the CPU gives there is no command queue left of %u (cqs) on each of %u "
			 "interfaces (tnis)",
			 rank, ir_op_word(p->t->g->ranks[rank].ops[e->op].kind), cqs, tnis);
}

static int emit_rank(struct assignment *p, uint32_t rank, uint32_t *used, struct smcq *out)
{
	struct smcq_rank *r = &out->ranks[rank];
	int err = 0;

	memset(used, 0, p->t->target.limit[BIN_LIMIT_TNIS] * sizeof *used);
	for (size_t i = 0; i < p->of_rank[rank].n && !err; i++) {
		const struct queue *q = &p->queues.at[p->of_rank[rank].at[i]];
		struct bin_queue b = { .mode = (uint8_t)q->mode, .first = (uint32_t)r->entries.n };
		uint64_t n = 0;

		for (size_t k = 0; k < q->blocks.n; k++)
			n += count_joins(&p->blocks.at[q->blocks.at[k]]) + p->blocks.at[q->blocks.at[k]].tasks.n;
		err = check_length(p, q, n);
		err = err ? err : take_cq(p, q, used, &b);
		err = err ? err : add_entries(p, q, r);
		b.n = (uint32_t)r->entries.n - b.first;
		b.needs = q->mode == BIN_Q_POSTED ? (uint16_t)p->blocks.at[q->blocks.at[0]].waits.n : 0;
		err = err ? err : thin_notices(r->entries.at + b.first, b.n);
		if (!err && q->mode == BIN_Q_POSTED)
			wait_for_post(r->entries.at + b.first, b.n);
		err = err ? err : VEC_PUSH(&r->queues, b);
	}
	return err ? err : leave_cq(p, rank, used, r);
}

static int emit_queues(struct assignment *p, struct smcq *out)
{
	uint32_t *used = mem_alloc(p->t->target.limit[BIN_LIMIT_TNIS] * sizeof *used);
	int err = used ? 0 : -ERR_NOMEM;

	for (uint32_t r = 0; r < out->nranks; r++)
		for (size_t i = 0; i < p->of_rank[r].n; i++)
			p->queues.at[p->of_rank[r].at[i]].index = (uint32_t)i;
	give_credit(p);
	for (uint32_t r = 0; r < out->nranks && !err; r++)
		err = emit_rank(p, r, used, out);
	for (uint32_t r = 0; r < out->nranks && !err; r++)
		for (size_t i = 0; i < out->ranks[r].entries.n; i++) {
			const struct bin_entry *e = &out->ranks[r].entries.at[i];

			out->ranks[r].locals += (e->flags & BIN_E_LOCAL) != 0;
			out->ranks[e->peer].remotes += (e->flags & BIN_E_REMOTE) != 0;
		}
	free(used);
	return err;
}

int smcq_assign(struct smcq_tasks *t, struct smcq *out)
{
	const uint32_t n = t->g->nranks;
	struct assignment p = { .t = t, .of_rank = mem_calloc(n, sizeof *p.of_rank) };
	int err = p.of_rank ? make_blocks(&p) : -ERR_NOMEM;

	err = err ? err : share_needs(&p);
	err = err ? err : share_arrivals(&p);
	err = err ? err : cut_all(&p);
	err = err ? err : sort_blocks(&p);
	err = err ? err : find_before(&p);
	err = err ? err : fill_queues(&p);
	err = err ? err : emit_queues(&p, out);
	for (size_t i = 0; i < p.blocks.n; i++) {
		VEC_FREE(&p.blocks.at[i].needs);
		VEC_FREE(&p.blocks.at[i].waits);
		VEC_FREE(&p.blocks.at[i].tasks);
	}
	for (size_t i = 0; i < p.queues.n; i++)
		VEC_FREE(&p.queues.at[i].blocks);
	for (uint32_t r = 0; p.of_rank && r < n; r++)
		VEC_FREE(&p.of_rank[r]);
	for (uint32_t r = 0; p.arrivals && r < n; r++)
		free(p.arrivals[r].before);
	free(p.arrivals);
	free(p.slot);
	VEC_FREE(&p.blocks);
	VEC_FREE(&p.queues);
	free(p.of_rank);
	free(p.order);
	return err;
}
