/* SPDX-License-Identifier: BSD-3-Clause
 * Terms and their sums of contributions, each stored once; see terms.h. */
#include "compiler/analysis/terms.h"

#include "util/err.h"
#include "util/index.h"

#include <stdlib.h>
#include <string.h>

/* The term "left op right". sum_at is the *at of terms_sum() for the value (term, 0). */
struct term {
	uint32_t left, right, sum;
	int64_t delta, sum_at;
};

/* A sum: its runs in the pool. The first contribution is at 0, and the positions of the others are relative to it. */
struct sum {
	size_t first;
	uint32_t n;
	uint64_t total;
};

/* Numbers of terms and sums below nleaves are leaves: rank * nbuffers + buffer, with one contribution. */
struct terms {
	uint32_t nbuffers, nleaves;
	bool commutative;
	uint64_t max;
	VEC(struct term) terms;
	VEC(struct sum) sums;
	VEC(struct term_run) pool;
	VEC(struct term_run) work; /* sum under construction */
	struct index by_term, by_sum;
};

struct terms *terms_new(uint32_t nranks, uint32_t nbuffers, bool commutative, uint64_t max)
{
	struct terms *t = mem_calloc(1, sizeof *t);

	if (t)
		*t = (struct terms){ .nbuffers = nbuffers,
				     .nleaves = nranks * nbuffers,
				     .commutative = commutative,
				     .max = max };
	return t;
}

void terms_free(struct terms *t)
{
	if (!t)
		return;
	VEC_FREE(&t->terms);
	VEC_FREE(&t->sums);
	VEC_FREE(&t->pool);
	VEC_FREE(&t->work);
	index_free(&t->by_term);
	index_free(&t->by_sum);
	free(t);
}

static uint64_t mix_hash(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

/* ---- sums ---- */

static uint64_t hash_runs(const struct term_run *r, size_t n)
{
	uint64_t h = n;

	for (size_t i = 0; i < n; i++) {
		h = mix_hash(h, (uint64_t)r[i].rank << 32 | r[i].buf);
		h = mix_hash(h, (uint64_t)r[i].n << 32 | r[i].times);
		h = mix_hash(h, (uint64_t)r[i].at);
	}
	return h;
}

static bool same_run(const struct term_run *x, const struct term_run *y)
{
	return x->rank == y->rank && x->buf == y->buf && x->n == y->n && x->times == y->times && x->at == y->at;
}

static bool same_runs(const struct term_run *x, const struct term_run *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!same_run(&x[i], &y[i]))
			return false;
	return true;
}

/* True if sum i of the terms is the one under construction. */
static bool same_sum(const void *terms, uint32_t i, const void *runs)
{
	const struct terms *t = terms;

	return t->sums.at[i].n == t->work.n && same_runs(t->pool.at + t->sums.at[i].first, runs, t->work.n);
}

/* Stores the number of the sum in t->work in *sum. The sum is shifted so that its first position is 0; *at is where this
 * position was. */
static int intern_sum(struct terms *t, uint32_t *sum, int64_t *at)
{
	struct term_run *r = t->work.at;
	size_t n = t->work.n;
	uint64_t total = 0, hash;
	int64_t known;
	int err;

	*at = r[0].at;
	for (size_t i = 0; i < n; i++) {
		uint64_t more = (uint64_t)r[i].n * r[i].times;

		r[i].at -= *at;
		total = more > UINT64_MAX - total ? UINT64_MAX : total + more;
	}
	if ((t->commutative ? total : n) > t->max) {
		*sum = TERMS_TOO_MANY;
		return 0;
	}
	if (total == 1) {
		*sum = r[0].rank * t->nbuffers + r[0].buf;
		return 0;
	}
	hash = hash_runs(r, n);
	known = index_find(&t->by_sum, hash, same_sum, t, r);
	if (known >= 0) {
		*sum = t->nleaves + (uint32_t)known;
		return 0;
	}
	err = VEC_RESERVE(&t->pool, t->pool.n + n);
	err = err ? err : VEC_PUSH(&t->sums, (struct sum){ t->pool.n, (uint32_t)n, total });
	if (err)
		return err;
	memcpy(t->pool.at + t->pool.n, r, n * sizeof *r);
	t->pool.n += n;
	*sum = t->nleaves + (uint32_t)t->sums.n - 1;
	return index_add(&t->by_sum, hash, t->sums.n - 1);
}

/* Stores the runs of a sum in *runs and returns their number. A leaf has no runs in the pool, so its single
 * run is made in *one. */
static size_t runs_of(const struct terms *t, uint32_t sum, struct term_run *one, const struct term_run **runs)
{
	if (sum >= t->nleaves) {
		*runs = t->pool.at + t->sums.at[sum - t->nleaves].first;
		return t->sums.at[sum - t->nleaves].n;
	}
	*one = terms_source(t, (struct value){ sum, 0 });
	*runs = one;
	return 1;
}

/* Appends a run to t->work, merged with the last one if it continues it. */
static int append_run(struct terms *t, struct term_run r)
{
	struct term_run *last = t->work.n ? &t->work.at[t->work.n - 1] : NULL;

	if (last && last->buf == r.buf && last->at == r.at && last->times == r.times &&
	    last->rank + last->n == r.rank) {
		last->n += r.n;
		return 0;
	}
	return VEC_PUSH(&t->work, r);
}

static int concatenate_terms(struct terms *t, const struct term_run *x, size_t nx, const struct term_run *y, size_t ny,
			     int64_t delta)
{
	int err = 0;

	for (size_t i = 0; i < nx && !err; i++)
		err = append_run(t, x[i]);
	for (size_t i = 0; i < ny && !err; i++) {
		struct term_run r = y[i];

		r.at += delta;
		err = append_run(t, r);
	}
	return err;
}

/* The order of the runs of a multiset. It stays the same if all positions shift. */
static bool run_is_before(const struct term_run *x, const struct term_run *y)
{
	if (x->buf != y->buf)
		return x->buf < y->buf;
	if (x->at != y->at)
		return x->at < y->at;
	return x->rank < y->rank;
}

static struct term_run cut_run(struct term_run *r, uint32_t n)
{
	struct term_run front = *r;

	front.n = n;
	r->rank += n;
	r->n -= n;
	return front;
}

/* Unites two multisets: where they overlap, the multiplicities add up. */
static int unite_terms(struct terms *t, const struct term_run *x, size_t nx, const struct term_run *y, size_t ny,
		       int64_t delta)
{
	struct term_run a = { 0 }, b = { 0 };
	int err = 0;

	while (!err) {
		if (!a.n && nx) {
			a = *x++;
			nx--;
		}
		if (!b.n && ny) {
			b = *y++;
			b.at += delta;
			ny--;
		}
		if (!a.n && !b.n)
			break;
		if (!a.n || !b.n || a.buf != b.buf || a.at != b.at) {
			struct term_run *r = !b.n || (a.n && run_is_before(&a, &b)) ? &a : &b;

			err = append_run(t, cut_run(r, r->n));
		} else if (a.rank != b.rank) {
			struct term_run *r = a.rank < b.rank ? &a : &b;
			uint32_t gap = a.rank < b.rank ? b.rank - a.rank : a.rank - b.rank;

			err = append_run(t, cut_run(r, r->n < gap ? r->n : gap));
		} else {
			uint32_t n = a.n < b.n ? a.n : b.n;
			struct term_run r = cut_run(&a, n);

			r.times += cut_run(&b, n).times;
			err = append_run(t, r);
		}
	}
	return err;
}

static int by_source(const void *a, const void *b)
{
	const struct term_run *x = a, *y = b;

	return run_is_before(x, y) ? -1 : run_is_before(y, x);
}

int terms_expected(struct terms *t, struct term_run *parts, size_t n, uint32_t *sum, int64_t *at)
{
	int err = 0;

	if (t->commutative)
		qsort(parts, n, sizeof *parts, by_source);
	t->work.n = 0;
	for (size_t i = 0; i < n && !err;) {
		struct term_run r = parts[i++];

		for (; t->commutative && i < n && same_run(&parts[i], &parts[i - 1]); i++)
			r.times++;
		err = append_run(t, r);
	}
	return err ? err : intern_sum(t, sum, at);
}

/* ---- terms ---- */

struct value terms_leaf(const struct terms *t, uint32_t rank, uint32_t buf, int64_t at)
{
	return (struct value){ rank * t->nbuffers + buf, at };
}

uint32_t terms_sum(const struct terms *t, struct value v, int64_t *at)
{
	if (v.term < t->nleaves) {
		*at = v.at;
		return v.term;
	}
	*at = v.at + t->terms.at[v.term - t->nleaves].sum_at;
	return t->terms.at[v.term - t->nleaves].sum;
}

static uint64_t hash_term(const struct term *x)
{
	return mix_hash(mix_hash(x->left, x->right), (uint64_t)x->delta);
}

static bool same_term(const void *terms, uint32_t i, const void *key)
{
	const struct term *x = (const struct term *)terms + i, *y = key;

	return x->left == y->left && x->right == y->right && x->delta == y->delta;
}

/* Computes the contributions of left op right. */
static int add_up(struct terms *t, struct value left, struct value right, uint32_t *sum, int64_t *at)
{
	struct term_run one[2];
	const struct term_run *x, *y;
	int64_t x_at, y_at;
	uint32_t sx = terms_sum(t, left, &x_at), sy = terms_sum(t, right, &y_at);
	size_t nx, ny;
	int err;

	*sum = TERMS_TOO_MANY;
	*at = 0;
	if (sx == TERMS_TOO_MANY || sy == TERMS_TOO_MANY)
		return 0;
	nx = runs_of(t, sx, &one[0], &x);
	ny = runs_of(t, sy, &one[1], &y);
	t->work.n = 0;
	err = (t->commutative ? unite_terms : concatenate_terms)(t, x, nx, y, ny, y_at - x_at);
	err = err ? err : intern_sum(t, sum, at);
	*at += x_at;
	return err;
}

int terms_op(struct terms *t, struct value left, struct value right, struct value *out)
{
	struct term x;
	int64_t known;
	int err;

	/* For a commutative operation, a op b and b op a have equal bits, so both are one term. */
	if (t->commutative && (left.term > right.term || (left.term == right.term && left.at > right.at))) {
		struct value v = left;

		left = right;
		right = v;
	}
	x = (struct term){ .left = left.term, .right = right.term, .delta = right.at - left.at };
	out->at = left.at;
	known = index_find(&t->by_term, hash_term(&x), same_term, t->terms.at, &x);
	if (known >= 0) {
		out->term = t->nleaves + (uint32_t)known;
		return 0;
	}
	err = add_up(t, left, right, &x.sum, &x.sum_at);
	x.sum_at -= left.at;
	err = err ? err : VEC_PUSH(&t->terms, x);
	out->term = t->nleaves + (uint32_t)t->terms.n - 1;
	return err ? err : index_add(&t->by_term, hash_term(&x), t->terms.n - 1);
}

uint32_t terms_count(const struct terms *t)
{
	return t->nleaves + (uint32_t)t->terms.n;
}

bool terms_operands(const struct terms *t, struct value v, struct value *left, struct value *right)
{
	const struct term *x;

	if (v.term < t->nleaves)
		return false;
	x = &t->terms.at[v.term - t->nleaves];
	*left = (struct value){ x->left, v.at };
	*right = (struct value){ x->right, v.at + x->delta };
	return true;
}

struct term_run terms_source(const struct terms *t, struct value v)
{
	return (struct term_run){ v.term / t->nbuffers, v.term % t->nbuffers, 1, 1, v.at };
}

#define LISTED 65536u /* most contributions that are visited */

size_t terms_list(const struct terms *t, struct value v, struct term_run *runs, size_t max, bool *more)
{
	VEC(struct value) todo = { 0 };
	size_t n = 0;

	*more = VEC_PUSH(&todo, v) != 0;
	for (uint32_t seen = 0; todo.n && seen < LISTED; seen++) {
		struct term_run r;
		struct value right;

		v = todo.at[--todo.n];
		while (terms_operands(t, v, &v, &right))
			if (VEC_PUSH(&todo, right))
				break;
		r = terms_source(t, v);
		if (n && runs[n - 1].buf == r.buf && runs[n - 1].at == r.at &&
		    runs[n - 1].rank + runs[n - 1].n == r.rank) {
			runs[n - 1].n++;
		} else if (n < max) {
			runs[n++] = r;
		} else {
			*more = true;
			break;
		}
	}
	*more |= todo.n > 0;
	VEC_FREE(&todo);
	return n;
}
