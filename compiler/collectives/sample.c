/* SPDX-License-Identifier: BSD-3-Clause
 * Samples of arguments for parameters with the names that collectives use (collectives.goal). The values of the ranks
 * agree with each other: the count that one rank sends is the count that its neighbour receives. */
#include "compiler/collectives/collective.h"
#include "compiler/collectives/names.h"
#include "compiler/ir/args.h"
#include "util/err.h"

#include <stdio.h>
#include <string.h>

enum param {
	INPLACE, COUNTS, DISPLS, MYCOUNT, RECVCOUNTS, RDISPLS, SENDCOUNTS, SDISPLS,
	INDEGREE, OUTDEGREE, SOURCES, DESTINATIONS, NDIMS, DIMS, PERIODS, PARAMS
};

static const char *const names[PARAMS] = {
	"inplace", "counts", "displs", "mycount", "recvcounts", "rdispls", "sendcounts", "sdispls",
	"indegree", "outdegree", "sources", "destinations", "ndims", "dims", "periods",
};

enum kind { EVEN, UNEVEN, SCATTERED, NOTHING, RING, TORUS, RANDOM, EMPTY, LINE, CIRCLE, GRID, BOX, KINDS };

static const char *const kind_names[KINDS] = {
	"even", "uneven", "scattered", "zero", "ring", "torus", "random", "empty", "line", "circle", "grid", "box",
};

/* A list of ranks. */
struct list {
	uint32_t *at, n;
};

struct sample {
	const struct bin *b;
	struct arg_rows *rows;
	int64_t count;
	enum kind kind;
	bool inplace, lists, grid;
	bool ordered; /* true if blocks come in the order of their numbers */
	uint32_t at[PARAMS]; /* index of each parameter, or nparams */
	struct list *in, *out; /* neighbours of each rank */
	int64_t dims[3], periods[3];
	unsigned ndims;
};

/* ---- available samples ---- */

/* Finds the first parameter of each name, in one pass: a schedule may have many parameters, and each case asks again. */
static void find_params(const struct bin *b, uint32_t at[PARAMS])
{
	uint32_t initials = 0; /* low bits of the first characters of the names */

	for (unsigned k = 0; k < PARAMS; k++) {
		at[k] = b->nparams;
		initials |= 1u << (names[k][0] & 31);
	}
	for (uint32_t i = 0; i < b->nparams; i++) {
		const char *name = bin_str(b, b->params[i].name);

		if (!(initials >> (*name & 31) & 1))
			continue;
		for (unsigned k = 0; k < PARAMS; k++)
			if (at[k] == b->nparams && *name == *names[k] && !strcmp(name, names[k]))
				at[k] = i;
	}
}

/* Returns how many kinds of samples suit a schedule, and stores the first kind in *first. Returns 0 if the schedule's
 * parameters need no sample. */
static unsigned suitable_kinds(const struct bin *b, const uint32_t at[PARAMS], enum kind *first)
{
	bool any = false;

	for (unsigned k = COUNTS; k <= SDISPLS; k++)
		any |= at[k] < b->nparams;
	*first = EVEN;
	if (at[SOURCES] < b->nparams || at[DESTINATIONS] < b->nparams)
		*first = RING;
	else if (at[DIMS] < b->nparams)
		*first = LINE;
	else if (!any)
		return 0;
	return 4;
}

unsigned collective_samples(const struct bin *b)
{
	uint32_t at[PARAMS];
	enum kind first;
	unsigned n;

	find_params(b, at);
	n = suitable_kinds(b, at, &first);
	return (n ? n : 1) * (at[INPLACE] < b->nparams ? 2 : 1);
}

/* Sets the kind of sample number `which`, and whether the sample is in place. */
static void choose_kind(const struct bin *b, const uint32_t at[PARAMS], unsigned which, enum kind *kind, bool *inplace)
{
	enum kind first;
	unsigned n = suitable_kinds(b, at, &first);

	*inplace = which >= (n ? n : 1);
	*kind = n ? first + which % n : KINDS;
}

static void name_sample(const struct bin *b, const uint32_t at[PARAMS], enum kind kind, bool inplace, char *out, size_t size)
{
	snprintf(out, size, "%s%s%s", kind < KINDS ? kind_names[kind] : "", kind < KINDS && inplace ? "-" : "",
		 inplace ? "inplace" : kind < KINDS || at[INPLACE] == b->nparams ? "" : "apart");
}

void collective_sample_name(const struct bin *b, unsigned which, char *out, size_t size)
{
	uint32_t at[PARAMS];
	enum kind kind;
	bool inplace;

	find_params(b, at);
	choose_kind(b, at, which, &kind, &inplace);
	name_sample(b, at, kind, inplace, out, size);
}

/* ---- neighbours ---- */

static int push_rank(struct sample *s, struct list *l, uint32_t rank)
{
	uint32_t *at = arena_alloc(&s->rows->store, (l->n + 1) * sizeof *at);

	if (!at)
		return -ERR_NOMEM;
	if (l->n)
		memcpy(at, l->at, l->n * sizeof *at);
	at[l->n++] = rank;
	l->at = at;
	return 0;
}

static int add_neighbours(struct sample *s, uint32_t from, uint32_t to)
{
	int err = push_rank(s, &s->out[from], to);

	return err ? err : push_rank(s, &s->in[to], from);
}

/* Returns a hash of x. It gives numbers that look random but are the same in every run. */
static uint32_t hash_u32(uint32_t x)
{
	x = (x ^ 61) ^ x >> 16;
	x *= 9;
	x = (x ^ x >> 4) * 0x27d4eb2du;
	return x ^ x >> 15;
}

/* Returns the largest divisor of n that is at most the k-th root of n. */
static uint32_t largest_divisor(uint32_t n, unsigned k)
{
	uint32_t best = 1;

	for (uint32_t d = 1; (k == 2 ? (uint64_t)d * d : (uint64_t)d * d * d) <= n; d++)
		if (n % d == 0)
			best = d;
	return best;
}

static void lay_out(struct sample *s)
{
	const uint32_t p = s->rows->size;

	s->ndims = s->kind == BOX ? 3 : s->kind == GRID || s->kind == TORUS ? 2 : 1;
	s->dims[0] = s->ndims == 1 ? p : largest_divisor(p, s->ndims);
	s->dims[1] = s->ndims == 3 ? largest_divisor(p / (uint32_t)s->dims[0], 2) : p / s->dims[0];
	s->dims[2] = s->ndims == 3 ? p / (s->dims[0] * s->dims[1]) : 1;
	for (unsigned d = 0; d < s->ndims; d++)
		s->periods[d] = s->kind != LINE && !(s->kind == BOX && d == 1);
}

/* Returns the neighbour in a dimension, down or up, or BIN_NONE beyond an edge. */
static uint32_t grid_neighbour(const struct sample *s, uint32_t rank, unsigned dim, bool up)
{
	int64_t stride = 1, here, there;

	for (unsigned d = dim + 1; d < s->ndims; d++)
		stride *= s->dims[d];
	here = rank / stride % s->dims[dim];
	there = here + (up ? 1 : -1);
	if (!s->periods[dim] && (there < 0 || there == s->dims[dim]))
		return BIN_NONE;
	there = (there + s->dims[dim]) % s->dims[dim];
	return (uint32_t)(rank + (there - here) * stride);
}

/* Builds the lists of neighbours. The edges are made in the order of rank and edge number, and so each list has this
 * order. */
static int build_neighbours(struct sample *s)
{
	const uint32_t p = s->rows->size;
	int err = 0;

	s->in = arena_alloc(&s->rows->store, p * sizeof *s->in);
	s->out = arena_alloc(&s->rows->store, p * sizeof *s->out);
	if (!s->in || !s->out)
		return -ERR_NOMEM;
	lay_out(s);
	for (uint32_t r = 0; r < p && !err; r++) {
		if (s->kind == EMPTY)
			continue;
		if (s->kind == RANDOM) { /* may include edges from a rank to itself, and several edges to the same rank */
			for (uint32_t k = 0; k < hash_u32(r) % 4 && !err; k++)
				err = add_neighbours(s, r, hash_u32(r * 7 + k) / 3 % p);
			continue;
		}
		for (unsigned j = 0; j < 2 * s->ndims && !err; j++) {
			uint32_t to = grid_neighbour(s, r, j / 2, j % 2);

			if (s->grid) {
				err = push_rank(s, &s->out[r], to);
				err = err ? err : push_rank(s, &s->in[r], to);
			} else {
				err = add_neighbours(s, r, to);
			}
		}
	}
	return err;
}

/* ---- values ---- */

static int64_t block_count(const struct sample *s, uint32_t number)
{
	const int64_t c = s->count, uneven[] = { c, 0, 2 * c, c / 2, c - c / 3 };

	switch (s->kind) {
	case EVEN:
	case RING:
	case CIRCLE:
		return c;
	case NOTHING:
		return 0;
	default:
		return uneven[number % 5];
	}
}

/* Returns the number of elements that one rank sends another in a message. In place, both
 * ranks send each other the same number. */
static int64_t pair_count(const struct sample *s, uint32_t from, uint32_t to, uint32_t k)
{
	return block_count(s, s->inplace ? from + to : 3 * from + 2 * to + k);
}

/* Returns the length of the message of neighbour i in a list. Its number k counts the earlier edges of the list to or
 * from the same rank; in a grid, k is the direction. */
static int64_t message_count(const struct sample *s, uint32_t rank, uint32_t i, bool out)
{
	const struct list *l = out ? &s->out[rank] : &s->in[rank];
	uint32_t other = l->at[i], k = 0;

	if (other == BIN_NONE)
		return 0;
	for (uint32_t e = 0; e < i; e++)
		k += l->at[e] == other;
	if (s->grid)
		k = out ? i : i ^ 1;
	return out ? pair_count(s, rank, other, k) : pair_count(s, other, rank, k);
}

static int set_param(struct sample *s, uint32_t rank, enum param p, struct bin_arg v)
{
	const uint32_t at = s->at[p];
	struct bin_arg *row;

	if (at == s->b->nparams || arg_row(s->rows, rank)[at].known || s->b->params[at].vector != (v.elem != NULL))
		return 0;
	row = arg_row_own(s->rows, rank);
	if (!row)
		return -ERR_NOMEM;
	row[at] = v;
	return 0;
}

static int set_number(struct sample *s, uint32_t rank, enum param p, int64_t v)
{
	return set_param(s, rank, p, (struct bin_arg){ .known = true, .value = v });
}

static int64_t *alloc_vector(struct sample *s, uint32_t n)
{
	return arena_alloc(&s->rows->store, (n + 1) * sizeof(int64_t));
}

static int set_vector(struct sample *s, uint32_t rank, enum param p, const int64_t *v, uint32_t n)
{
	return v ? set_param(s, rank, p, (struct bin_arg){ .known = true, .value = n ? v[0] : 0, .elem = v, .n = n }) :
		   -ERR_NOMEM;
}

/* Sets counts and displacements. If counts are uneven, there are gaps between the blocks, which differ between ranks where
 * they may. If the schedule must accept any order, the blocks stand in reverse order, and the empty blocks beyond them. */
static int set_blocks(struct sample *s, uint32_t rank, enum param counts, enum param displs, const int64_t *v, uint32_t n)
{
	const bool gaps = s->kind != EVEN && s->kind != RING && s->kind != CIRCLE;
	const bool own = s->at[displs] < s->b->nparams && s->b->params[s->at[displs]].scope == BIN_LOCAL;
	int64_t *at = alloc_vector(s, n), end = 0;
	int err = set_vector(s, rank, counts, v, n);

	if (err || !at)
		return -ERR_NOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = s->ordered ? i : n - 1 - i;

		if (gaps && v[k])
			end += (k + (own ? rank : 0)) % 3;
		at[k] = end + (s->ordered || v[k] ? 0 : 1000);
		end += v[k];
	}
	return set_vector(s, rank, displs, at, n);
}

static int set_lists(struct sample *s, uint32_t rank)
{
	const struct list *const lists[] = { &s->in[rank], &s->out[rank] };
	static const enum param numbers[] = { INDEGREE, OUTDEGREE }, vectors[] = { SOURCES, DESTINATIONS };
	static const enum param counts[] = { RECVCOUNTS, SENDCOUNTS }, displs[] = { RDISPLS, SDISPLS };
	const bool blocks = s->at[MYCOUNT] < s->b->nparams; /* each rank sends the same block to all its neighbours */
	int err = 0;

	for (unsigned out = 0; out < 2 && !err; out++) {
		const struct list *l = lists[out];
		int64_t *ranks = alloc_vector(s, l->n), *len = alloc_vector(s, l->n);

		if (!ranks || !len)
			return -ERR_NOMEM;
		for (uint32_t i = 0; i < l->n; i++) {
			ranks[i] = l->at[i];
			len[i] = blocks && l->at[i] != BIN_NONE ? block_count(s, l->at[i]) :
				 message_count(s, rank, i, out);
		}
		err = set_number(s, rank, numbers[out], l->n);
		err = err ? err : set_vector(s, rank, vectors[out], ranks, l->n);
		err = err ? err : set_blocks(s, rank, counts[out], displs[out], len, l->n);
	}
	if (!err && s->grid) {
		int64_t *dims = alloc_vector(s, 3), *periods = alloc_vector(s, 3);

		if (!dims || !periods)
			return -ERR_NOMEM;
		memcpy(dims, s->dims, sizeof s->dims);
		memcpy(periods, s->periods, sizeof s->periods);
		err = set_number(s, rank, NDIMS, s->ndims);
		err = err ? err : set_vector(s, rank, DIMS, dims, s->ndims);
		err = err ? err : set_vector(s, rank, PERIODS, periods, s->ndims);
	}
	return err;
}

/* Sets the counts of a collective in which every rank communicates with all. */
static int set_all(struct sample *s, uint32_t rank)
{
	const bool pairs = s->at[SENDCOUNTS] < s->b->nparams; /* each pair of ranks has a count of its own */
	const uint32_t p = s->rows->size;
	int64_t *own = alloc_vector(s, p), *recv = alloc_vector(s, p), *send = alloc_vector(s, p);
	int err = own && recv && send ? 0 : -ERR_NOMEM;

	for (uint32_t r = 0; r < p && !err; r++) {
		own[r] = block_count(s, r);
		recv[r] = pairs ? pair_count(s, r, rank, 0) : own[r];
		send[r] = s->inplace ? 0 : pair_count(s, rank, r, 0); /* has no meaning in place */
	}
	err = err ? err : set_blocks(s, rank, COUNTS, DISPLS, own, p);
	err = err ? err : set_blocks(s, rank, RECVCOUNTS, RDISPLS, recv, p);
	return err ? err : set_blocks(s, rank, SENDCOUNTS, SDISPLS, send, p);
}

/* True if some rank has a value of a parameter; stores that value. */
static bool get_given(const struct sample *s, enum param p, int64_t *value)
{
	for (uint32_t r = 0; r < s->rows->size && s->at[p] < s->b->nparams; r++) {
		const struct bin_arg *a = &arg_row(s->rows, r)[s->at[p]];

		*value = a->value;
		if (a->known)
			return true;
	}
	return false;
}

int collective_sample(const struct bin *b, int64_t count, unsigned which, struct arg_rows *a)
{
	struct sample s = { .b = b, .rows = a, .count = count };
	int64_t value;
	int err = 0;

	find_params(b, s.at);
	choose_kind(b, s.at, which, &s.kind, &s.inplace);
	name_sample(b, s.at, s.kind, s.inplace, a->name, sizeof a->name);
	if (get_given(&s, INPLACE, &value))
		s.inplace = value != 0;
	for (unsigned p = COUNTS; p < PARAMS; p++)
		if (get_given(&s, p, &value))
			return 0; /* given values may not agree with a sample */
	s.ordered = (s.kind != SCATTERED && s.kind != RANDOM && s.kind != BOX) ||
		    !collective_known(bin_str(b, b->meta->implements));
	s.lists = s.kind >= RING && s.kind <= EMPTY;
	s.grid = s.kind >= LINE && s.kind < KINDS;
	if (s.lists || s.grid)
		err = build_neighbours(&s);
	for (uint32_t r = 0; r < a->size && !err; r++) {
		if (s.inplace)
			set_number(&s, r, INPLACE, 1);
		if (s.kind == KINDS)
			continue;
		set_number(&s, r, MYCOUNT, block_count(&s, r));
		err = s.lists || s.grid ? set_lists(&s, r) : set_all(&s, r);
	}
	return err;
}
