/* SPDX-License-Identifier: BSD-3-Clause
 * Collectives written by hand whose buffers are in private memory: what the machine allows there (limit.c). */
#include "bench/collectives/limit.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

/* Copies n doubles between this rank's memory and that of another rank. */
static int copy_remote(const struct hand *h, int rank, double *mine, double *remote, size_t n, bool store)
{
	size_t left = n * sizeof(double);

	while (left) {
		const size_t at = n * sizeof(double) - left;
		struct iovec local = { (char *)mine + at, left }, there = { (char *)remote + at, left };
		const pid_t pid = h->sh->places[rank].pid;
		const ssize_t k = store ? process_vm_writev(pid, &local, 1, &there, 1, 0) : process_vm_readv(pid, &local, 1, &there, 1, 0);

		if (k <= 0)
			return rank_fail(h->r, "process_vm_%s: %s", store ? "writev" : "readv", strerror(errno));
		left -= (size_t)k;
	}
	return 0;
}

/* Returns how many doubles of a block its receiver copies. */
static size_t receivers_part(const struct hand *h, const struct cell *c)
{
	return h->kind == HALVES ? c->count / 2 : c->count;
}

/* Pulls the blocks of the others, or their first halves. */
static int pull_blocks(const struct hand *h, const struct cell *c)
{
	int rc = 0;

	for (int k = 1; k < c->size && !rc; k++) {
		const int from = (c->rank + k) % c->size;

		if (!is_source(c, from, c->rank))
			continue;
		await(h, &h->sh->started[from], h->epoch);
		rc = copy_remote(h, from, place_of(h, c, from, c->rank), (double *)block_for(c, h->in[from], c->rank),
				 receivers_part(h, c), false);
	}
	return rc;
}

static int push_halves(const struct hand *h, const struct cell *c)
{
	const size_t at = receivers_part(h, c);
	int rc = 0;

	for (int to = 0; to < c->size && !rc; to++) {
		if (to == c->rank || at == c->count || !is_source(c, c->rank, to))
			continue;
		await(h, &h->sh->started[to], h->epoch);
		rc = copy_remote(h, to, (double *)block_for(c, c->in, to) + at, place_of(h, c, c->rank, to) + at, c->count - at, true);
	}
	return rc;
}

static void copy_own(const struct hand *h, const struct cell *c)
{
	if (is_source(c, c->rank, c->rank))
		memcpy(place_of(h, c, c->rank, c->rank), block_for(c, c->in, c->rank), c->count * sizeof(double));
}

/* Adds up what the others have, chunk by chunk. */
static int pull_sums(struct hand *h, const struct cell *c)
{
	static double stage[RANKS_MAX][CHUNK];
	int rc = 0;

	for (int from = 0; from < c->size; from++)
		if (from != c->rank && is_source(c, from, c->rank))
			await(h, &h->sh->started[from], h->epoch);
	for (size_t at = 0; at < c->count && is_source(c, 0, c->rank) && !rc; at += CHUNK) {
		const size_t n = c->count - at < CHUNK ? c->count - at : CHUNK;

		for (int from = 0; from < c->size && !rc; from++) {
			h->source[from] = (from == c->rank ? c->in : stage[from] - at);
			if (from != c->rank && is_source(c, from, c->rank))
				rc = copy_remote(h, from, stage[from], h->in[from] + at, n, false);
		}
		make_part(h, c, c->rank, at, n);
	}
	return rc;
}

int finish_pulled(struct cell *c)
{
	struct hand *h = c->state;
	const uint64_t e = h->epoch;
	int rc = 0;

	/* One of two that exchange blocks begins with its own. */
	if (c->rank % 2 == 0 && !reduces(c->what))
		copy_own(h, c);
	rc = reduces(c->what) ? pull_sums(h, c) : pull_blocks(h, c);
	rc = rc ? rc : push_halves(h, c);
	if (c->rank % 2 && !reduces(c->what))
		copy_own(h, c);
	set(&h->sh->done[c->rank], e);
	for (int i = 0; i < c->size; i++)
		if (i != c->rank && (is_source(c, c->rank, i) || is_source(c, i, c->rank)))
			await(h, &h->sh->done[i], e);
	return rc;
}

static double *chunk_of(const struct hand *h, int from, int to, uint64_t number)
{
	return h->rings[from * h->r->size + to][number % CHUNKS];
}

static uint64_t chunks_of(const struct cell *c)
{
	return (c->count + CHUNK - 1) / CHUNK;
}

/* Puts a chunk into each ring that has room. Returns false if all chunks are there. */
static bool put_chunks(struct hand *h, const struct cell *c)
{
	bool left = false;

	for (int to = 0; to < c->size; to++) {
		_Atomic uint64_t *put = &h->sh->put[c->rank][to].word, *taken = &h->sh->taken[c->rank][to].word;
		const uint64_t n = atomic_load_explicit(put, memory_order_relaxed);
		const size_t at = (size_t)(n - (h->epoch - 1) * chunks_of(c)) * CHUNK;

		if (to == c->rank || !is_source(c, c->rank, to) || at >= c->count)
			continue;
		left = true;
		if (n >= atomic_load_explicit(taken, memory_order_acquire) + CHUNKS)
			continue;
		memcpy(chunk_of(h, c->rank, to, n), block_for(c, c->in, to) + at,
		       (c->count - at < CHUNK ? c->count - at : CHUNK) * sizeof(double));
		atomic_store_explicit(put, n + 1, memory_order_release);
	}
	return left;
}

/* Waits for chunk k of this epoch from a rank. */
static const double *await_chunk(struct hand *h, const struct cell *c, int from, uint64_t k)
{
	_Atomic uint64_t *put = &h->sh->put[from][c->rank].word;
	const uint64_t n = (h->epoch - 1) * chunks_of(c) + k;

	while (atomic_load_explicit(put, memory_order_acquire) <= n)
		if (!put_chunks(h, c)) {
			if (h->yields)
				sched_yield();
			else
				board_pause();
		}
	return chunk_of(h, from, c->rank, n);
}

int finish_staged(struct cell *c)
{
	struct hand *h = c->state;

	for (uint64_t k = 0; k < chunks_of(c); k++) {
		const size_t at = (size_t)k * CHUNK, n = c->count - at < CHUNK ? c->count - at : CHUNK;

		put_chunks(h, c);
		for (int from = 0; from < c->size; from++)
			h->source[from] = from == c->rank		    ? block_for(c, c->in, from) :
					  is_source(c, from, c->rank) ? await_chunk(h, c, from, k) - at :
									NULL;
		make_part(h, c, c->rank, at, n);
		for (int from = 0; from < c->size; from++)
			if (from != c->rank && is_source(c, from, c->rank))
				atomic_fetch_add_explicit(&h->sh->taken[from][c->rank].word, 1, memory_order_release);
	}
	while (put_chunks(h, c))
		if (h->yields)
			sched_yield();
	return 0;
}
