/* SPDX-License-Identifier: BSD-3-Clause
 * split-tree: runs the S levels at the leaves of a tree on the ranks' own cores and the others on communication cores,
 * as Denis et al. describe (IJHPCA 33(6), 2019, section 6.1). In a tree towards its root, the ops of the first S levels
 * run at the start. In a tree from its root, the ops of the last S levels run in test and wait.
 *
 * Only executors change, so the result is right for any S; doc/decisions/passes.md says why no rank hangs.
 *
 * The direction of a message is found from the ops of one rank, by levels along its dependencies:
 *
 * - Towards the root, a rank first receives from its children and then sends on a higher level. So a send goes to the
 *   root if it is on a higher level than all recvs before it. A recv belongs to that direction if a send on at least
 *   its own level follows.
 * - All other sends after a recv, and recvs before a send, come from the root.
 * - The rest are sends without a recv before them and recvs without a send after them. A rank that sends such messages
 *   to several ranks is the root of a tree from the root. A rank that receives them from several ranks is the root of a
 *   tree to the root. A rank with such messages to or from only one other rank is a leaf. So a root with a single child
 *   (in a chain, or with two ranks) is taken for a leaf. This only changes the call in which its single transfer runs.
 *
 * A reduction whose result comes back, as in an allreduce, has both directions, and each is recognised. Other ops have
 * the direction of the messages that they wait for. An op that waits for no message has the direction of the messages that
 * wait for it.
 *
 * Without levels every op is on level 0. That is right for a star, the only tree in which no rank forwards. So a rank
 * that forwards from level 0 to level 0 is refused, and so is a rank that would be the root of two trees at once. */
#include "compiler/passes/passes.h"

#include "compiler/passes/model.h"
#include "format/check.h"
#include "util/err.h"
#include "util/order.h"

#include <stdlib.h>

enum direction { NO_DIRECTION /* the op waits for no message */, TO_ROOT, FROM_ROOT };

struct split {
	uint32_t order; /* op at this position */
	uint32_t before, after; /* 1 + the highest level of the recvs before an op, and of the sends after it; or 0 */
	enum direction direction;
	uint32_t level; /* level that decides the executor: a message's own level, for another op the level of related messages */
};

/* The ranks at the other ends of some messages. */
struct peers {
	uint32_t one; /* one of these ranks */
	bool any, several;
};

static void add_peer(struct peers *p, uint32_t peer)
{
	p->several |= p->any && p->one != peer;
	p->one = peer;
	p->any = true;
}

static void raise_level(uint32_t *level, uint32_t to)
{
	*level = to > *level ? to : *level;
}

/* Finds `before` and `after` of each op. Only dependencies on completions count: an op that waits for a start needs nothing
 * that was received. */
static void find_levels(const struct ir_rank *r, struct split *x)
{
	for (uint32_t p = 0; p < r->nops; p++) {
		const uint32_t i = x[p].order;

		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++) {
			const uint32_t on = r->deps[d];

			if (on & BIN_START)
				continue;
			raise_level(&x[i].before, x[on].before);
			if (bin_recvs(r->ops[on].kind))
				raise_level(&x[i].before, r->ops[on].level + 1u);
		}
	}
	for (uint32_t p = r->nops; p-- > 0;) {
		const uint32_t i = x[p].order, own = bin_sends(r->ops[i].kind) ? r->ops[i].level + 1u : 0;

		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++)
			if (!(r->deps[d] & BIN_START)) {
				raise_level(&x[r->deps[d]].after, x[i].after);
				raise_level(&x[r->deps[d]].after, own);
			}
	}
}

/* Finds the directions of messages, or returns -ERR_LEVELS. */
static int find_directions(const struct ir_rank *r, struct split *x)
{
	struct peers first = { 0 }, last = { 0 }, from = { 0 }, forwarded = { 0 };
	uint32_t highest = 0;

	for (uint32_t i = 0; i < r->nops; i++) {
		const struct bin_op *o = &r->ops[i];
		const bool sends = bin_sends(o->kind);

		if (!bin_is_message(o->kind))
			continue;
		raise_level(&highest, o->level);
		if (sends)
			add_peer(x[i].before ? &forwarded : &first, o->peer);
		else
			add_peer(&from, o->peer);
		if (!sends && !x[i].after)
			add_peer(&last, o->peer);
	}
	if (first.several && last.several)
		return -ERR_LEVELS;
	if (!highest && forwarded.any && from.any && from.one != forwarded.one && !(from.several && forwarded.several))
		return -ERR_LEVELS;
	for (uint32_t i = 0; i < r->nops; i++) {
		const struct bin_op *o = &r->ops[i];

		x[i].level = bin_is_message(o->kind) ? o->level : UINT32_MAX;
		if (!bin_is_message(o->kind))
			continue;
		if (bin_sends(o->kind))
			x[i].direction = (x[i].before ? o->level >= x[i].before : !first.several) ? TO_ROOT : FROM_ROOT;
		else
			x[i].direction = (x[i].after ? x[i].after > o->level : last.several) ? TO_ROOT : FROM_ROOT;
	}
	return 0;
}

/* Takes over direction and level of an op that x waits for. FROM_ROOT takes precedence over TO_ROOT. Among equal
 * directions, the lowest level takes precedence for FROM_ROOT, and the highest level for TO_ROOT. */
static void join_paths(struct split *x, const struct split *on)
{
	if (on->direction == NO_DIRECTION)
		return;
	if (x->direction == NO_DIRECTION || (x->direction == TO_ROOT && on->direction == FROM_ROOT)) {
		x->direction = on->direction;
		x->level = on->level;
	} else if (x->direction == on->direction && (x->direction == TO_ROOT ? on->level > x->level : on->level < x->level)) {
		x->level = on->level;
	}
}

static void level_others(const struct ir_rank *r, struct split *x)
{
	for (uint32_t p = 0; p < r->nops; p++) {
		const uint32_t i = x[p].order;

		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1] && !bin_is_message(r->ops[i].kind); d++)
			join_paths(&x[i], &x[r->deps[d] & ~BIN_START]);
	}
	/* An op that waits for no message takes the lowest level of the ops that wait for it; ops of direction FROM_ROOT do not
	 * count. */
	for (uint32_t p = r->nops; p-- > 0;) {
		const uint32_t i = x[p].order;

		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1] && x[i].direction != FROM_ROOT; d++) {
			struct split *on = &x[r->deps[d] & ~BIN_START];

			if (on->direction == NO_DIRECTION && x[i].level < on->level)
				on->level = x[i].level;
		}
	}
}

int pass_split_tree(struct ir_rank *r, const struct pass_ctx *c)
{
	const uint32_t s = (uint32_t)c->value[0];
	struct split *x = mem_calloc(r->nops, sizeof *x);
	uint32_t *pos = mem_alloc(r->nops * sizeof *pos), bad;
	int err = x && pos ? ir_rank_positions(r, pos, &bad) : -ERR_NOMEM;

	for (uint32_t i = 0; i < r->nops && !err; i++)
		x[pos[i]].order = i;
	if (!err) {
		find_levels(r, x);
		err = find_directions(r, x);
	}
	if (!err)
		level_others(r, x);
	for (uint32_t i = 0; i < r->nops && !err; i++)
		r->ops[i].exec = x[i].level >= s ? BIN_COMM : x[i].direction == FROM_ROOT ? BIN_APP : BIN_EARLY;
	free(pos);
	free(x);
	return err;
}

/* ---- S=auto ---- */

/* A message between the root and a child. */
struct child {
	uint32_t level, distance, peer; /* distance: between the numbers of the child and the root */
	uint64_t len;
};

static int in_order(const void *a, const void *b)
{
	const struct child *x = a, *y = b;

	ORDER_BY(x->level, y->level);
	ORDER_BY(x->distance, y->distance);
	return (x->peer > y->peer) - (x->peer < y->peer);
}

/* Lists the messages of the root. The distance of a child is the difference of the ranks' numbers. If the root has
 * children on both sides, numbers may wrap around after the last rank, and the shorter way counts. A tree on each side of
 * the root therefore counts as one tree that has all its children twice. */
static size_t list_children(const struct ir_rank *root, const struct pass_ctx *c, struct child *out)
{
	bool above = false, below = false;
	size_t n = 0;

	for (uint32_t i = 0; i < root->nops; i++) {
		const struct bin_op *o = &root->ops[i];

		if (!bin_is_message(o->kind))
			continue;
		above |= o->peer > c->root;
		below |= o->peer < c->root;
		out[n++] = (struct child){ o->level, 0, o->peer, o->len };
	}
	for (size_t i = 0; i < n; i++) {
		struct child *x = &out[i];

		x->distance = x->peer > c->root ? x->peer - c->root : c->root - x->peer;
		if (above && below && x->distance > c->size - x->distance)
			x->distance = c->size - x->distance;
	}
	qsort(out, n, sizeof *out, in_order);
	return n;
}

/* Recognises the tree. It is k-nomial if the root has up to k - 1 children on a level. The tree is growing if a child
 * on some level gets more than each child on the lowest level. */
static void recognise_tree(const struct child *x, size_t n, struct model *m)
{
	uint64_t most = 0, lowest = 0, len = 0;
	uint32_t distances = 0;

	for (size_t i = 0; i < n; i++) {
		const bool level = !i || x[i].level != x[i - 1].level, distance = level || x[i].distance != x[i - 1].distance;

		distances = (level ? 0 : distances) + distance;
		m->k = distances >= m->k ? distances + 1 : m->k;
		len = (distance || x[i].peer != x[i - 1].peer ? 0 : len) + x[i].len;
		most = len > most ? len : most;
		if (x[i].level == x[0].level)
			lowest = most;
	}
	m->growing = most > lowest;
}

int pass_split_tree_settle(const struct ir_rank *root, struct pass_ctx *c)
{
	struct model m = model_paper((uint32_t)c->value[1]);
	struct child *x;
	size_t n;

	if (c->value[0] != PASS_WORD)
		return 0;
	x = mem_alloc(root->nops * sizeof *x);
	if (!x)
		return -ERR_NOMEM;
	n = list_children(root, c, x);
	recognise_tree(x, n, &m);
	/* The cost model does not cover a chain, or a tree with as many children on the lowest levels as on others. */
	const bool higher = n && x[n - 1].level >= model_height(&m, c->size);

	free(x);
	c->value[0] = model_best(&m, c->size);
	return higher ? -ERR_LEVELS : 0;
}
