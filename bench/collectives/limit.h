/* SPDX-License-Identifier: BSD-3-Clause
 * Collectives written by hand: what those in shared memory (limit.c) and those in private memory (private.c) have in common. */
#ifndef BENCH_COLLECTIVES_LIMIT_H
#define BENCH_COLLECTIVES_LIMIT_H

#include "bench/collectives/rank.h"

#include <sched.h>
#include <sys/types.h>

#define CHUNK ((size_t)4096) /* doubles of a chunk */
#define CHUNKS 16 /* chunks of a ring */
#define HALVES_MIN ((size_t)16384) /* fewest doubles of a block that is halved */

enum { POSTED, OWNED /* the last with slots */, OWN, AHEAD, PAST, PUSH, SLICES, COUNTED, PULLED, HALVES, STAGED };

/* What the ranks share. Behind it are the slots, and then the buffers of each rank. */
struct shared {
	struct board_line started[RANKS_MAX]; /* epoch of each rank */
	struct board_line done[RANKS_MAX];
	struct board_line passed[RANKS_MAX]; /* epoch up to which the rank needs no slot of others any more */
	struct board_line count, all; /* of the barrier that counts */
	struct board_line put[RANKS_MAX][RANKS_MAX], taken[RANKS_MAX][RANKS_MAX]; /* chunks in all epochs, by sender and receiver */
	/* of private buffers */
	struct {
		pid_t pid;
		double *in, *out;
	} places[RANKS_MAX];
};

struct hand {
	struct shared *sh;
	uint64_t epoch;
	struct rank *r;
	char *slots;
	double *in[RANKS_MAX], *out[RANKS_MAX]; /* of each rank, at its own addresses if they are private */
	const double *source[RANKS_MAX]; /* block of each rank for the one whose data are made */
	double (*rings)[CHUNKS][CHUNK]; /* by sender and receiver */
	size_t bytes, stride; /* bytes of the shared memory; of a slot for one receiver */
	int kind;
	bool yields, private;
};

static inline void set(struct board_line *l, uint64_t epoch)
{
	atomic_store_explicit(&l->word, epoch, memory_order_release);
}

static inline void await_word(const struct hand *h, _Atomic uint64_t *word, uint64_t epoch)
{
	while (atomic_load_explicit(word, memory_order_acquire) < epoch)
		if (h->yields)
			sched_yield();
		else
			board_pause();
}

static inline void await(const struct hand *h, struct board_line *l, uint64_t epoch)
{
	await_word(h, &l->word, epoch);
}

static inline void await_all(const struct hand *h, struct board_line *l, uint64_t epoch)
{
	for (int i = 0; i < h->r->size; i++)
		if (i != h->r->rank)
			await(h, &l[i], epoch);
}

bool reduces(enum what w);
/* True if rank `to` receives data of rank `from`. */
bool is_source(const struct cell *c, int from, int to);
/* The block of a send buffer that is for rank `to`. */
const double *block_for(const struct cell *c, const double *in, int to);
/* Where rank `to` receives the block of rank `from`. */
double *place_of(const struct hand *h, const struct cell *c, int from, int to);
/* Makes elements [at, at + n) of what rank `to` receives, of h->source. */
void make_part(const struct hand *h, const struct cell *c, int to, size_t at, size_t n);

/* private.c */
int finish_pulled(struct cell *c);
int finish_staged(struct cell *c);

#endif
