/* SPDX-License-Identifier: BSD-3-Clause
 * What collectives do, computed without any schedule: one table. */
#include "runtime/run/run.h"

#include <string.h>

uint64_t oracle_hash(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

uint64_t oracle_key(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	return oracle_hash(oracle_hash(oracle_hash(oracle_hash(a + 1) + b) + c) + d);
}

void oracle_pattern(char *p, uint64_t bytes, uint64_t key)
{
	for (uint64_t i = 0; i < bytes; i += 8) {
		uint64_t v = oracle_hash(key + i);

		memcpy(p + i, &v, bytes - i < 8 ? bytes - i : 8);
	}
}

int64_t oracle_compare(const char *p, uint64_t bytes, uint64_t key)
{
	for (uint64_t i = 0; i < bytes; i += 8) {
		uint64_t v = oracle_hash(key + i), n = bytes - i < 8 ? bytes - i : 8;

		if (memcmp(p + i, &v, n) == 0)
			continue;
		for (uint64_t k = 0; k < n; k++)
			if (p[i + k] != ((const char *)&v)[k])
				return (int64_t)(i + k);
	}
	return -1;
}

/* ---- where a block of a result comes from ---- */

/* Block number block of the ranks first to last, combined in this order; of one rank it is a copy. */
struct source {
	int64_t first, last;
	uint64_t block;
};

static struct source the_root(const struct oracle_call *c, uint64_t j)
{
	(void)j;
	return (struct source){ (int64_t)c->root, (int64_t)c->root, 0 };
}

static struct source the_roots_for_me(const struct oracle_call *c, uint64_t j)
{
	(void)j;
	return (struct source){ (int64_t)c->root, (int64_t)c->root, c->rank };
}

static struct source rank_j(const struct oracle_call *c, uint64_t j)
{
	(void)c;
	return (struct source){ (int64_t)j, (int64_t)j, 0 };
}

static struct source rank_js_for_me(const struct oracle_call *c, uint64_t j)
{
	return (struct source){ (int64_t)j, (int64_t)j, c->rank };
}

static struct source everybody(const struct oracle_call *c, uint64_t j)
{
	(void)j;
	return (struct source){ 0, (int64_t)c->size - 1, 0 };
}

static struct source everybodys_for_me(const struct oracle_call *c, uint64_t j)
{
	(void)j;
	return (struct source){ 0, (int64_t)c->size - 1, c->rank };
}

static struct source up_to_me(const struct oracle_call *c, uint64_t j)
{
	(void)j;
	return (struct source){ 0, c->rank, 0 };
}

static struct source before_me(const struct oracle_call *c, uint64_t j)
{
	(void)j;
	return (struct source){ 0, (int64_t)c->rank - 1, 0 }; /* rank 0: not defined */
}

/* ---- the table ---- */

enum { NO, ONE = 1, EACH = 2, ROOT = 4 }; /* one block or one for each rank; only at the root */

static const struct oracle oracles[] = {
	{ "MPI_Barrier", .barrier = true },
	{ "MPI_Bcast", .inout = true, .in = ONE | ROOT, .out = ONE, .source = the_root },
	{ "MPI_Gather", .in = ONE, .out = EACH | ROOT, .source = rank_j },
	{ "MPI_Scatter", .in = EACH | ROOT, .out = ONE, .source = the_roots_for_me },
	{ "MPI_Allgather", .in = ONE, .out = EACH, .source = rank_j },
	{ "MPI_Alltoall", .in = EACH, .out = EACH, .source = rank_js_for_me },
	{ "MPI_Reduce", .reduces = true, .in = ONE, .out = ONE | ROOT, .source = everybody },
	{ "MPI_Allreduce", .reduces = true, .in = ONE, .out = ONE, .source = everybody },
	{ "MPI_Reduce_scatter_block", .reduces = true, .in = EACH, .out = ONE, .source = everybodys_for_me },
	{ "MPI_Scan", .reduces = true, .in = ONE, .out = ONE, .source = up_to_me },
	{ "MPI_Exscan", .reduces = true, .in = ONE, .out = ONE, .source = before_me },
};

const struct oracle *oracle_find(const char *implements)
{
	for (size_t i = 0; i < sizeof oracles / sizeof *oracles; i++)
		if (!strcmp(oracles[i].implements, implements))
			return &oracles[i];
	return NULL;
}

static uint64_t blocks(const struct oracle_call *c, unsigned shape)
{
	if ((shape & ROOT) && c->rank != c->root)
		return 0;
	return shape & EACH ? c->size : shape & ONE;
}

bool oracle_has(const struct oracle *o, const struct oracle_call *c, enum bin_mode mode, uint64_t *elements)
{
	unsigned shape = mode == BIN_IN ? o->in : o->out;

	*elements = blocks(c, shape) * c->count;
	return !(shape & ROOT) || c->rank == c->root;
}

bool oracle_fits(const struct oracle *o, const struct bin *b)
{
	unsigned n[BIN_SCRATCH + 1] = { 0 };

	for (uint32_t i = 0; i < b->nbuffers; i++)
		n[b->buffers[i].mode]++;
	return n[BIN_INOUT] == (o->inout ? 1 : 0) && n[BIN_IN] == (!o->inout && o->in ? 1 : 0) &&
	       n[BIN_OUT] == (!o->inout && o->out ? 1 : 0);
}

/* ---- data ---- */

static void block_of(const struct oracle_call *c, uint64_t rank, uint64_t block, char *out)
{
	values_fill(c->type, c->op, oracle_key(c->seed, c->epoch, rank, block), (uint32_t)rank, c->count, out);
}

void oracle_fill(const struct oracle *o, const struct oracle_call *c)
{
	uint64_t block = c->count * rt_basic_size(c->type);

	/* Results are overwritten with something else, different on each rank. */
	if (c->out)
		oracle_pattern(c->out, blocks(c, o->out) * block,
			       oracle_key(c->seed, c->epoch, c->rank, UINT64_MAX));
	for (uint64_t i = 0; c->in && i < blocks(c, o->in); i++)
		block_of(c, c->rank, i, c->in + i * block);
}

static int64_t check_out(const struct oracle *o, const struct oracle_call *c, uint64_t j)
{
	struct source s = o->source(c, j);
	uint64_t bytes = c->count * rt_basic_size(c->type);
	char *sum = c->work, *next = c->work + bytes;

	if (s.first > s.last)
		return -1;
	block_of(c, (uint64_t)s.first, s.block, sum);
	for (int64_t q = s.first + 1; q <= s.last; q++) {
		char *t = sum;

		block_of(c, (uint64_t)q, s.block, next);
		values_fold(c->type, c->op, sum, next, c->count);
		sum = next;
		next = t;
	}
	return values_compare(c->type, s.first == s.last ? MPIX_SCHED_NO_OP : c->op, c->out + j * bytes, sum,
			      c->count);
}

int64_t oracle_check(const struct oracle *o, const struct oracle_call *c, bool *in)
{
	uint64_t bytes = c->count * rt_basic_size(c->type);
	int64_t at;

	*in = false;
	for (uint64_t j = 0; c->out && j < blocks(c, o->out); j++) {
		at = check_out(o, c, j);
		if (at >= 0)
			return (int64_t)(j * bytes) + at;
	}
	*in = true;
	for (uint64_t i = 0; c->in && !o->inout && i < blocks(c, o->in); i++) {
		block_of(c, c->rank, i, c->work);
		at = values_compare(c->type, MPIX_SCHED_NO_OP, c->in + i * bytes, c->work, c->count);
		if (at >= 0)
			return (int64_t)(i * bytes) + at;
	}
	return -1;
}
