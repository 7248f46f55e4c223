/* SPDX-License-Identifier: BSD-3-Clause
 * Compares the calls of a collective with the rows of selection tables: rows that no call reaches, and calls that no row takes.
 *
 * The ranges of the rows cut the numbers of ranks into intervals, and the numbers of bytes as well. Within a pair of intervals,
 * what a row takes depends only on the shape of the number of ranks, what they share, the topology and the operation. For each shape, all
 * combinations of the others fit a word. */
#include "compiler/select.h"

#include "compiler/collectives/names.h"
#include "util/order.h"

#include <stdlib.h>
#include <string.h>

/* Shapes of numbers of ranks. The number 1, which is odd and a power of two, has an interval of its own. */
enum shape { POW2, EVEN, ODD, SHAPES };

#define OPS SELECT_OPS
#define PER_SHARING (OPS * SELECT_TOPOLOGIES) /* combinations of topology and operation */
_Static_assert(SELECT_SHARINGS * PER_SHARING <= 64, "a word has a bit for each combination");

struct swept_row {
	const struct select_row *row;
	uint64_t takes[SHAPES]; /* the combinations that it takes of each number of ranks of its range but 1 */
	bool reached;
};

/* The first number of each interval, ascending. */
struct cuts {
	VEC(uint64_t) v;
};

struct sweep {
	struct swept_row *rows; /* those of one collective that are alike, in order */
	struct swept_row **active; /* those that take numbers of ranks of the current interval */
	size_t nrows, nactive;
	uint64_t calls; /* the combinations that calls of the collective have, for one shape */
	struct cuts ranks, bytes;
	struct select_call gap; /* ranks: 0 if there is no gap */
};

/* ---- combinations ---- */

static uint64_t bit_of(unsigned sharing, unsigned topology, unsigned op)
{
	return (uint64_t)1 << (sharing * PER_SHARING + topology * OPS + (SELECT_BUILTIN - op));
}

/* Returns the combinations that calls of a collective have, for one shape. Operations are of the class `least` or a later one. */
static uint64_t calls_of(const char *collective, enum select_op least)
{
	const bool reduces = collective_reduces(collective), near = collective_near(collective);
	uint64_t calls = 0;

	for (unsigned sharing = 0; sharing < SELECT_SHARINGS; sharing++)
		for (unsigned t = near ? SELECT_CART : SELECT_NONE; t < SELECT_TOPOLOGIES; t++)
			for (unsigned op = reduces ? least : SELECT_BUILTIN; op < SELECT_OPS; op++)
				calls |= bit_of(sharing, t, op);
	return calls;
}

/* Returns the combinations that a row takes of numbers of ranks of one shape. */
static uint64_t taken_of(const struct select_row *row)
{
	const bool any = row->topology == SELECT_NONE;
	uint64_t taken = 0;

	for (unsigned sharing = 0; sharing <= select_sharing_of(row); sharing++)
		for (unsigned t = any ? SELECT_NONE : row->topology; t < (any ? SELECT_TOPOLOGIES : row->topology + 1u); t++)
			for (unsigned op = row->op; op < SELECT_OPS; op++)
				taken |= bit_of(sharing, t, op);
	return taken;
}

static struct swept_row make_swept(const struct select_row *row)
{
	const uint64_t taken = taken_of(row);
	const bool pow2 = row->shape == SELECT_POW2, even = row->shape == SELECT_EVEN;

	return (struct swept_row){ .row = row,
				   .takes = { [POW2] = taken, [EVEN] = pow2 ? 0 : taken, [ODD] = pow2 || even ? 0 : taken } };
}

/* Returns the least number of a shape that is not below `from`. */
static uint64_t least_of(enum shape shape, uint64_t from)
{
	uint64_t n = 2;

	if (shape == ODD)
		return from | 1;
	while (n < from && n <= UINT64_MAX / 2)
		n *= 2;
	if (shape == POW2)
		return n;
	n = from < 6 ? 6 : from + from % 2;
	return n & (n - 1) ? n : n + 2;
}

/* ---- the sweep ---- */

static int order_numbers(const void *a, const void *b)
{
	ORDER_BY(*(const uint64_t *)a, *(const uint64_t *)b);
	return 0;
}

/* Sorts the numbers, and leaves each once. */
static void sort_cuts(struct cuts *c)
{
	size_t kept = 0;

	ORDER_VEC(&c->v, order_numbers);
	for (size_t i = 0; i < c->v.n; i++)
		if (!kept || c->v.at[kept - 1] != c->v.at[i])
			c->v.at[kept++] = c->v.at[i];
	c->v.n = kept;
}

static int cut_ranks(struct sweep *w)
{
	int err = VEC_PUSH(&w->ranks.v, 1) || VEC_PUSH(&w->ranks.v, 2) ? -ERR_NOMEM : 0;

	for (size_t i = 0; i < w->nrows && !err; i++) {
		const struct select_range *r = &w->rows[i].row->ranks;

		if (r->min > 1)
			err = VEC_PUSH(&w->ranks.v, r->min);
		if (!err && r->max && r->max < UINT64_MAX)
			err = VEC_PUSH(&w->ranks.v, r->max + 1);
	}
	sort_cuts(&w->ranks);
	return err;
}

static int cut_bytes(struct sweep *w)
{
	int err;

	w->bytes.v.n = 0;
	err = VEC_PUSH(&w->bytes.v, 0);
	for (size_t i = 0; i < w->nactive && !err; i++) {
		const struct select_range *r = &w->active[i]->row->bytes;

		if (r->min)
			err = VEC_PUSH(&w->bytes.v, r->min);
		if (!err && r->max < UINT64_MAX)
			err = VEC_PUSH(&w->bytes.v, r->max + 1);
	}
	sort_cuts(&w->bytes);
	return err;
}

/* Takes note of calls that no row takes: the one with the fewest ranks is kept. */
static void note_gap(struct sweep *w, const uint64_t left[SHAPES], uint64_t ranks, uint64_t bytes)
{
	for (unsigned shape = 0; shape < SHAPES; shape++) {
		const uint64_t n = least_of(shape, ranks);
		const unsigned bit = left[shape] ? (unsigned)__builtin_ctzll(left[shape]) : 0;

		if (!left[shape] || (w->gap.ranks && w->gap.ranks <= n))
			continue;
		w->gap = (struct select_call){ .collective = w->rows[0].row->collective,
					       .ranks = n,
					       .bytes = bytes,
					       .op = SELECT_BUILTIN - bit % OPS,
					       .topology = bit / OPS % SELECT_TOPOLOGIES,
					       .reproducible = w->rows[0].row->reproducible,
					       .sharing = bit / PER_SHARING };
	}
}

/* Goes through the calls of one interval of ranks, which begins with `ranks`. `calls` are the combinations that they have. A row
 * for powers of two takes the number 1, which is odd. */
static int sweep_bytes(struct sweep *w, const uint64_t calls[SHAPES], uint64_t ranks)
{
	int err = cut_bytes(w);

	for (size_t i = 0; i < w->bytes.v.n && !err; i++) {
		uint64_t left[SHAPES];

		memcpy(left, calls, sizeof left);
		for (size_t k = 0; k < w->nactive; k++) {
			struct swept_row *a = w->active[k];
			const struct select_row *row = a->row;

			if (w->bytes.v.at[i] < row->bytes.min || w->bytes.v.at[i] > row->bytes.max)
				continue;
			for (unsigned shape = 0; shape < SHAPES; shape++) {
				const uint64_t takes = a->takes[ranks == 1 && row->shape == SELECT_POW2 ? POW2 : shape];

				a->reached |= (left[shape] & takes) != 0;
				left[shape] &= ~takes;
			}
		}
		note_gap(w, left, ranks, w->bytes.v.at[i]);
	}
	return err;
}

/* Goes through all calls. */
static int sweep_ranks(struct sweep *w)
{
	int err = cut_ranks(w);

	for (size_t i = 0; i < w->ranks.v.n && w->ranks.v.at[i] <= SELECT_MOST_RANKS && !err; i++) {
		const uint64_t first = w->ranks.v.at[i], last = i + 1 < w->ranks.v.n ? w->ranks.v.at[i + 1] - 1 : UINT64_MAX;
		uint64_t calls[SHAPES];

		for (unsigned shape = 0; shape < SHAPES; shape++)
			calls[shape] = least_of(shape, first) <= last ? w->calls : 0;
		w->nactive = 0;
		for (size_t k = 0; k < w->nrows; k++)
			if (first >= w->rows[k].row->ranks.min && first <= w->rows[k].row->ranks.max)
				w->active[w->nactive++] = &w->rows[k];
		err = sweep_bytes(w, calls, first);
	}
	return err;
}

/* Adds the rows of one collective that no call reaches, and its gap. */
static int note_found(const struct sweep *w, struct select_cover *out)
{
	int err = w->gap.ranks ? VEC_PUSH(&out->gaps, w->gap) : 0;

	for (size_t i = 0; i < w->nrows && !err; i++)
		if (!w->rows[i].reached)
			err = VEC_PUSH(&out->unreached, w->rows[i].row);
	return err;
}

/* Takes the rows that are like row i, unless one of them comes before it. Returns whether there are any. */
static bool take_rows(struct sweep *w, const struct select *s, size_t first, size_t i, size_t end)
{
	const struct select_row *rows = s->rows.at;
	enum select_op least = SELECT_BUILTIN;

	w->nrows = 0;
	while (first < i && !select_alike(&rows[first], &rows[i]))
		first++;
	for (size_t k = i; k < end && first == i; k++) {
		if (!select_alike(&rows[k], &rows[i]))
			continue;
		w->rows[w->nrows++] = make_swept(&rows[k]);
		least = rows[k].op < least ? rows[k].op : least;
	}
	w->calls = calls_of(rows[i].collective, rows[i].reproducible ? least : SELECT_ANY_OP);
	return w->nrows;
}

int select_cover(const struct select *s, size_t first, size_t end, struct select_cover *out)
{
	const size_t n = end - first + 1;
	struct sweep w = { .rows = mem_alloc(n * sizeof *w.rows), .active = mem_alloc(n * sizeof *w.active) };
	int err = w.rows && w.active ? 0 : -ERR_NOMEM;

	*out = (struct select_cover){ 0 };
	for (size_t i = first; i < end && !err; i++) {
		if (!take_rows(&w, s, first, i, end))
			continue;
		w.ranks.v.n = 0;
		w.gap = (struct select_call){ 0 };
		err = sweep_ranks(&w);
		err = err ? err : note_found(&w, out);
	}
	free(w.rows);
	free(w.active);
	VEC_FREE(&w.ranks.v);
	VEC_FREE(&w.bytes.v);
	return err;
}

void select_cover_free(struct select_cover *c)
{
	VEC_FREE(&c->unreached);
	VEC_FREE(&c->gaps);
}
