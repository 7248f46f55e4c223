/* SPDX-License-Identifier: BSD-3-Clause
 * Compares the bracketings of reductions across cases; see brackets.h. Trees are stored once, so two bracketings are equal if
 * their trees have one number. */
#include "compiler/verify/brackets.h"

#include "compiler/analysis/finding.h"
#include "compiler/ir/args.h"
#include "util/err.h"
#include "util/index.h"
#include "util/order.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The number of a tree is the index of its root in nodes, or LEAF plus the number of a contribution. This is the rank if the
 * contributing ranks ascend, and otherwise the contribution's position in the list of sources. */
#define LEAF ((uint32_t)1 << 31)

struct node {
	uint32_t left, right;
	uint32_t low, n; /* the smallest leaf, and the number of leaves */
};

/* Consecutive ranks in a list of contributing ranks. */
struct ranks {
	uint32_t first, n;
};

/* Where a bracketing was found. */
struct place {
	struct brackets_case in;
	uint32_t rank, buf, tree;
	uint64_t at;
};

/* The bracketing of all elements to which certain ranks contribute, in cases of one size, root and value. */
struct entry {
	size_t ranks; /* index in pool */
	uint32_t nranks; /* number of runs of ranks */
	bool ascend; /* true if the ranks ascend, and no rank contributes twice */
	uint32_t next; /* 1 + an entry that differs only in the value, or 0 */
	struct place place;
};

/* A step of a walk over an expression: visit a value, or join the trees of the operands of the term. */
struct step {
	struct value v;
	bool join;
};

struct brackets {
	bool commutative;
	struct brackets_case now;
	VEC(struct node) nodes;
	VEC(struct entry) entries;
	VEC(struct ranks) pool;
	VEC(struct ranks) work; /* contributing ranks of the range at hand */
	struct index by_node, by_entry;
	VEC(struct step) todo;
	VEC(uint32_t) done; /* trees of operands */
	bool any, differ, by_value;
	struct entry same; /* the entry with the first of two bracketings that differ */
	struct place other; /* where the second was found */
};

/* A case while it is compared. */
struct comparison {
	struct brackets *b;
	const struct symbolic *s;
	uint32_t *memo; /* for each term 1 + the number of its tree, or 0; only for ranks that ascend */
	/* The fields below are for one expected range. */
	const struct expected_src *src;
	uint32_t nsrc;
	bool ascend;
	uint64_t done; /* elements of the range before those at hand */
};

struct brackets *brackets_new(bool commutative)
{
	struct brackets *b = mem_calloc(1, sizeof *b);

	if (b)
		b->commutative = commutative;
	return b;
}

static void forget_trees(struct brackets *b)
{
	b->nodes.n = b->entries.n = b->pool.n = 0;
	index_free(&b->by_node);
	index_free(&b->by_entry);
}

void brackets_free(struct brackets *b)
{
	if (!b)
		return;
	forget_trees(b);
	VEC_FREE(&b->nodes);
	VEC_FREE(&b->entries);
	VEC_FREE(&b->pool);
	VEC_FREE(&b->work);
	VEC_FREE(&b->todo);
	VEC_FREE(&b->done);
	free(b);
}

void brackets_begin_value(struct brackets *b)
{
	b->any = b->differ = false;
}

void brackets_begin_case(struct brackets *b, const struct brackets_case *c, bool keep)
{
	if (c->size != b->now.size && !keep && !b->differ) /* the trees of a difference are kept for its text */
		forget_trees(b);
	b->now = *c;
}

/* ---- trees ---- */

static uint64_t mix_hash(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint32_t lowest_leaf(const struct brackets *b, uint32_t tree)
{
	return tree & LEAF ? tree - LEAF : b->nodes.at[tree].low;
}

static uint32_t count_leaves(const struct brackets *b, uint32_t tree)
{
	return tree & LEAF ? 1 : b->nodes.at[tree].n;
}

static bool same_node(const void *nodes, uint32_t i, const void *key)
{
	const struct node *x = (const struct node *)nodes + i, *y = key;

	return x->left == y->left && x->right == y->right;
}

/* Stores the number of the tree "left op right" in *tree. If the operands have no order, the one with the smallest leaf is the
 * left one. */
static int intern_tree(struct brackets *b, uint32_t left, uint32_t right, uint32_t *tree)
{
	const uint32_t l = lowest_leaf(b, left), r = lowest_leaf(b, right);
	const bool swap = b->commutative && (l > r || (l == r && left > right));
	const struct node x = { swap ? right : left, swap ? left : right, l < r ? l : r,
				count_leaves(b, left) + count_leaves(b, right) };
	const uint64_t hash = mix_hash(mix_hash(0, x.left), x.right);
	const int64_t known = index_find(&b->by_node, hash, same_node, b->nodes.at, &x);

	*tree = known >= 0 ? (uint32_t)known : (uint32_t)b->nodes.n;
	if (known >= 0)
		return 0;
	return VEC_PUSH(&b->nodes, x) ? -ERR_NOMEM : index_add(&b->by_node, hash, b->nodes.n - 1);
}

/* Returns the number of the contribution that an initial value is. The range's data is proved, so it is one of the sources. */
static uint32_t number_leaf(const struct comparison *c, struct value v)
{
	const struct term_run x = terms_source(c->s->terms, v);
	uint32_t i = 0;

	if (c->ascend)
		return x.rank;
	while (i + 1 < c->nsrc &&
	       (c->src[i].rank != x.rank || c->src[i].buf != x.buf || (int64_t)(c->src[i].off + c->done) != x.at))
		i++;
	return i;
}

/* Visits a value: its tree is known, or the operands are visited first. */
static int visit_value(struct comparison *c, struct value v)
{
	struct brackets *b = c->b;
	struct value left, right;

	if (c->ascend && c->memo[v.term])
		return VEC_PUSH(&b->done, c->memo[v.term] - 1);
	if (!terms_operands(c->s->terms, v, &left, &right))
		return VEC_PUSH(&b->done, LEAF + number_leaf(c, v));
	if (VEC_PUSH(&b->todo, (struct step){ v, true }) || VEC_PUSH(&b->todo, (struct step){ right, false }))
		return -ERR_NOMEM;
	return VEC_PUSH(&b->todo, (struct step){ left, false });
}

/* Replaces the trees of the operands of a term by the tree of the term. */
static int join_trees(struct comparison *c, uint32_t term)
{
	struct brackets *b = c->b;
	uint32_t *operands = &b->done.at[b->done.n -= 2], tree;
	int err = intern_tree(b, operands[0], operands[1], &tree);

	if (err)
		return err;
	if (c->ascend)
		c->memo[term] = tree + 1;
	return VEC_PUSH(&b->done, tree);
}

/* Stores the number of the tree of a value. */
static int find_tree(struct comparison *c, struct value v, uint32_t *tree)
{
	struct brackets *b = c->b;
	int err;

	b->todo.n = b->done.n = 0;
	err = VEC_PUSH(&b->todo, (struct step){ v, false });
	while (b->todo.n && !err) {
		const struct step x = b->todo.at[--b->todo.n];

		err = x.join ? join_trees(c, x.v.term) : visit_value(c, x.v);
	}
	*tree = err ? 0 : b->done.at[0];
	return err;
}

/* ---- comparison ---- */

/* Lists the contributing ranks of a range in b->work. */
static int list_ranks(struct comparison *c)
{
	struct brackets *b = c->b;

	b->work.n = 0;
	c->ascend = true;
	for (uint32_t i = 0; i < c->nsrc; i++) {
		struct ranks *last = b->work.n ? &b->work.at[b->work.n - 1] : NULL;

		c->ascend &= !i || c->src[i - 1].rank < c->src[i].rank;
		if (last && last->first + last->n == c->src[i].rank)
			last->n++;
		else if (VEC_PUSH(&b->work, (struct ranks){ c->src[i].rank, 1 }))
			return -ERR_NOMEM;
	}
	return 0;
}

static uint64_t hash_entry(const struct brackets *b)
{
	uint64_t h = mix_hash(b->now.size, (uint64_t)b->now.root);

	for (size_t i = 0; i < b->work.n; i++)
		h = mix_hash(h, (uint64_t)b->work.at[i].first << 32 | b->work.at[i].n);
	return h;
}

/* True if entry i is for the size and root of the case and for the ranks in b->work. */
static bool same_entry(const void *brackets, uint32_t i, const void *unused)
{
	const struct brackets *b = brackets;
	const struct entry *e = &b->entries.at[i];

	(void)unused;
	return e->place.in.size == b->now.size && e->place.in.root == b->now.root && e->nranks == b->work.n &&
	       !memcmp(b->pool.at + e->ranks, b->work.at, b->work.n * sizeof *b->work.at);
}

/* Adds an entry for the ranks in b->work. `first` is the entry with another value, or -1. */
static int add_entry(struct brackets *b, const struct comparison *c, int64_t first, const struct place *place)
{
	struct entry e = { b->pool.n, (uint32_t)b->work.n, c->ascend, 0, *place };
	int err = 0;

	if (first >= 0) {
		e.ranks = b->entries.at[first].ranks;
		e.next = b->entries.at[first].next;
		b->by_value |= b->entries.at[first].place.tree != place->tree;
	} else {
		err = VEC_APPEND(&b->pool, b->work.at, b->work.n);
	}
	err = err ? err : VEC_PUSH(&b->entries, e);
	if (err || first < 0)
		return err ? err : index_add(&b->by_entry, hash_entry(b), b->entries.n - 1);
	b->entries.at[first].next = (uint32_t)b->entries.n;
	return 0;
}

/* Compares a bracketing of elements to which the ranks in b->work contribute. */
static int compare_tree(struct brackets *b, const struct comparison *c, const struct place *place)
{
	const int64_t first = index_find(&b->by_entry, hash_entry(b), same_entry, b, NULL);

	for (int64_t i = first; i >= 0; i = (int64_t)b->entries.at[i].next - 1) {
		if (b->entries.at[i].place.in.value != place->in.value)
			continue;
		if (b->entries.at[i].place.tree != place->tree) {
			b->differ = true;
			b->same = b->entries.at[i];
			b->other = *place;
		}
		return 0;
	}
	return add_entry(b, c, first, place);
}

/* Compares the bracketings of a range. If two of them differ, stores the op that wrote the second. */
static int compare_range(struct comparison *c, uint32_t rank, const struct expected_range *range, uint32_t *writer)
{
	struct sym_initial room;
	const struct sym_map *m = sym_contents(c->s, rank, range->buf, &room);
	const uint64_t end = range->off + range->len;
	int err = list_ranks(c);

	for (size_t i = sym_find(m, range->off); !err && i < m->v.n && m->v.at[i].lo < end && !c->b->differ; i++) {
		const struct sym_seg *seg = &m->v.at[i];
		const uint64_t at = seg->lo > range->off ? seg->lo : range->off;
		struct place place = { c->b->now, rank, range->buf, 0, at };

		c->done = at - range->off;
		err = find_tree(c, (struct value){ seg->term, (int64_t)at + seg->shift }, &place.tree);
		err = err ? err : compare_tree(c->b, c, &place);
		*writer = seg->writer;
	}
	return err;
}

/* Reports a difference in a schedule that is marked reproducible. */
static int report_differ(const struct brackets *b, struct goal_diags *d, const struct ir_graph *g, uint32_t writer)
{
	struct goal_loc at = { .file = (uint16_t)g->file };
	char *text;
	int err = brackets_text(b, g->bin, &text);

	if (writer)
		at = check_loc(g, b->other.rank, writer - 1);
	if (!err)
		goal_diag(d, GOAL_ERROR, at, "reproducible", "the schedule says reproducible, but %s", text);
	free(text);
	return err;
}

int brackets_compare(struct brackets *b, struct goal_diags *d, const struct symbolic *s, const struct expected *by_rank)
{
	struct comparison c = { .b = b, .s = s };
	uint32_t writer = 0;
	int err = 0;

	if (b->differ)
		return 0;
	for (uint32_t r = 0; r < s->g->nranks && !err && !b->differ; r++)
		for (size_t i = 0; i < by_rank[r].v.n && !err && !b->differ; i++) {
			const struct expected_range *range = &by_rank[r].v.at[i];

			if (range->nsrc < 2 || !range->len)
				continue;
			b->any = true;
			c.memo = c.memo ? c.memo : mem_calloc(terms_count(s->terms), sizeof *c.memo);
			c.src = by_rank[r].src.at + range->src;
			c.nsrc = range->nsrc;
			err = c.memo ? compare_range(&c, r, range, &writer) : -ERR_NOMEM;
		}
	free(c.memo);
	return !err && b->differ && s->g->bin->meta->flags & BIN_F_REPRODUCIBLE ? report_differ(b, d, s->g, writer) : err;
}

bool brackets_any(const struct brackets *b)
{
	return b->any;
}

bool brackets_differ(const struct brackets *b)
{
	return b->differ;
}

bool brackets_differ_by_value(const struct brackets *b)
{
	return b->by_value;
}

/* ---- text ---- */

#define SHOWN 16u /* most leaves of a tree that is shown as a whole */

struct leaves {
	VEC(uint32_t) v;
};

static int by_number(const void *a, const void *b)
{
	ORDER_BY(*(const uint32_t *)a, *(const uint32_t *)b);
	return 0;
}

/* Returns the rank of leaf k of the entry's trees. */
static uint32_t rank_of_leaf(const struct brackets *b, uint32_t k)
{
	const struct ranks *r = b->pool.at + b->same.ranks;

	if (b->same.ascend)
		return k;
	for (; k >= r->n; r++)
		k -= r->n;
	return r->first + k;
}

/* Lists the leaves of a tree in ascending order, as contributions. */
static int list_leaves(const struct brackets *b, uint32_t tree, struct leaves *out)
{
	VEC(uint32_t) todo = { 0 };
	int err = VEC_PUSH(&todo, tree);

	out->v.n = 0;
	while (todo.n && !err) {
		const uint32_t x = todo.at[--todo.n];

		if (x & LEAF)
			err = VEC_PUSH(&out->v, x - LEAF);
		else if (VEC_PUSH(&todo, b->nodes.at[x].left) || VEC_PUSH(&todo, b->nodes.at[x].right))
			err = -ERR_NOMEM;
	}
	VEC_FREE(&todo);
	ORDER_VEC(&out->v, by_number);
	return err;
}

/* True if two trees have the same leaves. If memory runs out, the answer is no. */
static bool same_leaves(const struct brackets *b, uint32_t x, uint32_t y)
{
	struct leaves of[2] = { 0 };
	bool same = count_leaves(b, x) == count_leaves(b, y) && !list_leaves(b, x, &of[0]) && !list_leaves(b, y, &of[1]) &&
		    !memcmp(of[0].v.at, of[1].v.at, of[0].v.n * sizeof *of[0].v.at);

	VEC_FREE(&of[0].v);
	VEC_FREE(&of[1].v);
	return same;
}

/* Replaces two different trees that are too large to be shown by parts of them that differ at their roots. */
static void find_difference(const struct brackets *b, uint32_t *x, uint32_t *y)
{
	while (count_leaves(b, *x) > SHOWN) {
		const struct node *a = &b->nodes.at[*x], *c = &b->nodes.at[*y];

		if (!same_leaves(b, a->left, c->left) || !same_leaves(b, a->right, c->right))
			return;
		*x = a->left != c->left ? a->left : a->right;
		*y = a->left != c->left ? c->left : c->right;
	}
}

/* Adds the ranks of a tree as "[0-31]". */
static void add_ranks(struct text *t, const struct brackets *b, uint32_t tree)
{
	struct leaves of = { 0 };
	size_t n = 0;
	int err = list_leaves(b, tree, &of);

	for (size_t i = 0; i < of.v.n && !err; i++)
		of.v.at[i] = rank_of_leaf(b, of.v.at[i]);
	ORDER_VEC(&of.v, by_number);
	for (size_t i = 0; i < of.v.n; i++)
		if (!n || of.v.at[n - 1] != of.v.at[i])
			of.v.at[n++] = of.v.at[i];
	text_add(t, "[");
	text_add_ranges(t, of.v.at, n, 4);
	text_add(t, "]");
	t->err = t->err ? t->err : err;
	VEC_FREE(&of.v);
}

/* Adds a tree in the form "(0 + 1) + 2". Operands with many leaves are shown by their ranks. */
static void add_tree(struct text *t, const struct brackets *b, uint32_t tree)
{
	const bool all = count_leaves(b, tree) <= SHOWN;

	if (tree & LEAF) {
		text_add(t, "%" PRIu32, rank_of_leaf(b, tree - LEAF));
		return;
	}
	for (unsigned k = 0; k < 2; k++) {
		const uint32_t operand = k ? b->nodes.at[tree].right : b->nodes.at[tree].left;
		const bool leaf = operand & LEAF, shown = all || count_leaves(b, operand) <= SHOWN / 2;

		text_add(t, "%s%s", k ? " + " : "", shown && !leaf ? "(" : "");
		(shown ? add_tree : add_ranks)(t, b, operand);
		text_add(t, "%s", shown && !leaf ? ")" : "");
	}
}

/* Adds the values of a case that tell it from the case of another place. */
static void add_case(struct text *t, const struct bin *bin, const struct brackets_case *c, const char *before)
{
	char name[32] = "";

	if (c->chosen)
		collective_sample_name(bin, c->sample, name, sizeof name);
	text_add(t, "%scount %" PRId64 "%s%s%s", before, c->count, *name ? " (" : "", name, *name ? ")" : "");
}

static void add_place(struct text *t, const struct brackets *b, const struct bin *bin, const struct place *place, uint32_t tree)
{
	text_add(t, "%s[%" PRIu64 "] of rank %" PRIu32 " %s ", bin_str(bin, bin->buffers[place->buf].name), place->at, place->rank,
		 tree == place->tree ? "is" : "has");
	add_tree(t, b, tree);
}

int brackets_text(const struct brackets *b, const struct bin *bin, char **out)
{
	const struct place *x = &b->same.place, *y = &b->other;
	const bool one = x->in.count == y->in.count && x->in.sample == y->in.sample;
	uint32_t of_x = x->tree, of_y = y->tree;
	struct text t = { 0 };

	find_difference(b, &of_x, &of_y);
	text_add(&t, "with %" PRIu32 " ranks", y->in.size);
	if (y->in.root >= 0)
		text_add(&t, "%s root %" PRId64, one ? "," : " and", y->in.root);
	if (one)
		add_case(&t, bin, &y->in, " and ");
	text_add(&t, ", ");
	add_place(&t, b, bin, x, of_x);
	if (!one)
		add_case(&t, bin, &x->in, " for ");
	text_add(&t, " and ");
	add_place(&t, b, bin, y, of_y);
	if (!one)
		add_case(&t, bin, &y->in, " for ");
	return text_take(&t, out);
}
