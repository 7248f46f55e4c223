/* SPDX-License-Identifier: BSD-3-Clause
 * The data of the collectives that are measured. All of them are made of one tile, which repeats: rank r sends the tile from
 * another position in each iteration. So data are written and compared as fast as memory allows. */
#include "bench/collectives/cell.h"

#include <string.h>

#define TILE 1021 /* doubles; a prime, so that no block or slice begins where another one does */

const char *const what_names[COLLECTIVES] = { "barrier",	"bcast",      "reduce",		      "allreduce",
					      "allgather",	"alltoall",   "gather",		      "scatter",
					      "scan",		"exscan",     "reduce_scatter_block", "reduce_scatter",
					      "allgatherv",	"alltoallv",  "gatherv",	      "scatterv" };

enum what what_named(const char *name)
{
	enum what w = 0;

	while (w < COLLECTIVES && strcmp(what_names[w], name) != 0)
		w++;
	return w;
}

/* ---- sizes ---- */

static size_t bytes_of(size_t count)
{
	return (count ? count : 1) * sizeof(double);
}

/* Returns the collective without counts for each rank that moves the same data; that is itself if it has none. */
static enum what even(const struct cell *c)
{
	switch (c->what) {
	case REDUCE_SCATTER:
		return REDUCE_SCATTER_BLOCK;
	case ALLGATHERV:
		return ALLGATHER;
	case ALLTOALLV:
		return ALLTOALL;
	case GATHERV:
		return GATHER;
	case SCATTERV:
		return SCATTER;
	default:
		return c->what;
	}
}

size_t cell_in_bytes(const struct cell *c)
{
	const enum what w = even(c);

	return bytes_of(w == ALLTOALL || w == SCATTER || w == REDUCE_SCATTER_BLOCK ? c->count * (size_t)c->size : c->count);
}

size_t cell_out_bytes(const struct cell *c)
{
	const enum what w = even(c);

	return bytes_of(w == ALLTOALL || w == ALLGATHER || w == GATHER ? c->count * (size_t)c->size : c->count);
}

size_t cell_sent(const struct cell *c)
{
	switch (even(c)) {
	case BARRIER:
		return 0;
	case BCAST:
		return c->rank == ROOT ? c->count : 0;
	case SCATTER:
		return c->rank == ROOT ? c->count * (size_t)c->size : 0;
	case ALLTOALL:
	case REDUCE_SCATTER_BLOCK:
		return c->count * (size_t)c->size;
	default:
		return c->count;
	}
}

size_t cell_received(const struct cell *c)
{
	switch (even(c)) {
	case BARRIER:
		return 0;
	case BCAST:
		return c->rank == ROOT ? 0 : c->count;
	case REDUCE:
		return c->rank == ROOT ? c->count : 0;
	case EXSCAN:
		return c->rank ? c->count : 0;
	case GATHER:
		return c->rank == ROOT ? c->count * (size_t)c->size : 0;
	case ALLGATHER:
	case ALLTOALL:
		return c->count * (size_t)c->size;
	default:
		return c->count;
	}
}

static const double *received_in(const struct cell *c)
{
	return c->what == BCAST ? c->in : c->out;
}

/* ---- data ---- */

/* Returns element t of the tile. */
static double tile_at(size_t t)
{
	return (double)((t * t * 7 + t * 13) % 251);
}

/* Returns two tiles, one behind the other, so that a tile can be copied from any position on. */
static const double *get_tiles(void)
{
	static double tiles[2 * TILE];

	if (tiles[1] == 0)
		for (size_t t = 0; t < 2 * TILE; t++)
			tiles[t] = tile_at(t % TILE);
	return tiles;
}

/* Returns the position in the tile of element `at` of what rank r sends in iteration k. */
static size_t position_of(int r, size_t at, uint64_t k)
{
	return ((size_t)r * 131 + (size_t)(k % TILE) * 17 + at) % TILE;
}

void cell_fill(const struct cell *c, uint64_t k)
{
	const double *from = get_tiles() + position_of(c->rank, 0, k);
	const size_t n = cell_sent(c);

	for (size_t at = 0; at < n; at += TILE)
		memcpy(c->in + at, from, (n - at < TILE ? n - at : TILE) * sizeof(double));
}

/* As wide as registers are everywhere: wider ones would be kept in memory, and reading would take longer than the collective. */
typedef uint64_t words __attribute__((vector_size(16), aligned(8), may_alias));

uint64_t cell_read(const struct cell *c)
{
	const double *x = received_in(c), *end = x + cell_received(c);
	words sum[4] = { 0 };
	uint64_t all;

	for (; end - x >= 8; x += 8) {
		const words *w = (const words *)x;

		sum[0] += w[0];
		sum[1] += w[1];
		sum[2] += w[2];
		sum[3] += w[3];
	}
	sum[0] += sum[1] + sum[2] + sum[3];
	all = sum[0][0] + sum[0][1];
	for (; x < end; x++)
		all += ((const union { double d; uint64_t u; } *)x)->u;
	return all;
}

/* Returns true if n doubles repeat the tile, from one position in it on. */
static bool is_tiled(const double *x, size_t n, const double *tile)
{
	for (size_t at = 0; at < n; at += TILE)
		if (memcmp(x + at, tile, (n - at < TILE ? n - at : TILE) * sizeof(double)) != 0)
			return false;
	return true;
}

/* Returns true if the buffer has the sums of what the first `ranks` ranks sent, from element `at` on. They repeat as well. */
static bool is_sum(const struct cell *c, int ranks, size_t at, uint64_t k)
{
	double sum[TILE];
	const size_t n = c->count < TILE ? c->count : TILE;

	for (size_t i = 0; i < n; i++) {
		sum[i] = 0;
		for (int r = 0; r < ranks; r++)
			sum[i] += get_tiles()[position_of(r, at + i, k)];
	}
	return is_tiled(c->out, c->count, sum);
}

bool cell_right(const struct cell *c, uint64_t k)
{
	const size_t offset = c->count * (size_t)c->rank, n = cell_received(c);
	const enum what w = even(c);
	bool right = true;

	if (!n)
		return true;
	switch (w) {
	case REDUCE:
	case ALLREDUCE:
		return is_sum(c, c->size, 0, k);
	case REDUCE_SCATTER_BLOCK:
		return is_sum(c, c->size, offset, k);
	case SCAN:
		return is_sum(c, c->rank + 1, 0, k);
	case EXSCAN:
		return is_sum(c, c->rank, 0, k);
	case BCAST:
	case SCATTER:
		return is_tiled(received_in(c), n, get_tiles() + position_of(ROOT, w == SCATTER ? offset : 0, k));
	default:
		for (int r = 0; r < c->size && right; r++)
			right = is_tiled(c->out + c->count * (size_t)r, c->count,
					 get_tiles() + position_of(r, w == ALLTOALL ? offset : 0, k));
		return right;
	}
}
