/* SPDX-License-Identifier: BSD-3-Clause
 * The board: shared memory in which each rank of a group writes records, to exchange them with the others (board.c). */
#ifndef RUNTIME_BOARD_H
#define RUNTIME_BOARD_H

#include "backends/services.h"

#include <pthread.h>
#include <stdatomic.h>

/* Kinds of collective calls that write records. A record has its kind, so that ranks notice if they are in different
 * calls. */
enum rt_step { RT_BOOTSTRAP, RT_SPLIT, RT_INIT, RT_STEPS };
extern const char *const rt_step_names[RT_STEPS];

/* The number of a record (seq) has the round in its low bits, and the step in the bits above. */
#define RT_STEP_SHIFT 56
static inline uint64_t rt_round(uint64_t seq)
{
	return seq & ((1ull << RT_STEP_SHIFT) - 1);
}
static inline uint64_t rt_seq(uint64_t round, enum rt_step step)
{
	return round | (uint64_t)step << RT_STEP_SHIFT;
}
static inline enum rt_step rt_step_of(uint64_t seq)
{
	return (enum rt_step)(seq >> RT_STEP_SHIFT);
}

struct rt_record { /* a short record shares a cache line with its number */
	_Alignas(64) _Atomic uint64_t seq;
	char data[GROUP_RECORD];
};

/* State shared by the processes that have threads on one communication core. It is in the slot of the lowest rank that the
 * core serves. */
struct rt_hub {
	_Alignas(64) _Atomic uint32_t starts; /* grows when a request becomes active, and when other changes matter */
	_Atomic uint32_t active; /* number of active requests */
	_Atomic uint32_t idle; /* times that the baton was passed since some request made progress */
	_Alignas(64) _Atomic uint32_t baton; /* lowest rank + 1 of the process whose thread polls; 0: none. A futex */
	_Atomic uint32_t waiting; /* number of threads that wait for the baton */
};

struct rt_slot { /* written by its rank only, except hub and the fields of the bridge */
	struct rt_record record[2]; /* records of the last two rounds, by parity of the round */
	_Alignas(64) _Atomic uint32_t joined; /* its process holds the rank's lock on the board's file */
	_Atomic uint32_t closed; /* the rank makes no more collective calls: it writes no more records */
	_Atomic uint32_t left; /* the rank does not use the group any more, not even to send */
	_Atomic uint32_t died; /* with several nodes: enum rt_death, set by the bridge; 0: alive */
	uint32_t home; /* with several nodes: node of the rank */
	struct rt_hub hub;
	_Atomic uint32_t node; /* NUMA node on which the rank last ran, for ranks that help each other */
	_Atomic uint32_t taken; /* number of the rank's binds from stocks */
	_Atomic uint32_t cpu; /* 1 + the CPU on which the rank last posted a record or began to wait; 0: not known, or on another node */
	/* Used by the bridge of this node (mirror.c): */
	uint32_t forwarded; /* events of the rank that were forwarded to the other nodes (bits) */
	uint64_t sent[2]; /* numbers of the records that were forwarded, by parity */
};

enum rt_death { RT_DIED = 1, RT_UNREACHABLE /* its node cannot be reached */ };

struct rt_board {
	uint32_t size;
	_Atomic uint64_t failed; /* rt_failure of the first rank that was lost; 0: none */
	_Atomic uint32_t users; /* of a subgroup: number of this node's ranks that may still use the board, plus 1 for the bridge */
	/* With several nodes: */
	_Atomic uint32_t bell; /* goalrun's board: descriptor + 1 of the eventfd to ring after posting a record; 0: none */
	uint32_t home, forwarded; /* home: this node; forwarded: not 0 once `failed` was forwarded to the other nodes */
	uint64_t key; /* identifies the board on all nodes: id of a subgroup; 0: the board of all ranks */
	_Atomic uint64_t next; /* location of the next board of this node, as pack_board of bridge.c packs it; 0: none */
	pthread_mutex_t lock; /* in the first board of a node: protects `next` of all boards of the node */
	_Atomic uint32_t wheel; /* a futex; changes when another process may have to run the bridge */
	/* For ranks that sleep until a round is complete: */
	_Alignas(64) _Atomic uint32_t posted; /* a futex: number of records that were written, by all ranks and in all rounds */
	_Atomic uint32_t asleep; /* number of ranks that sleep on it, or are about to */
	/* In the first board of a group of all ranks: number of threads of this node's ranks that sleep on bells, or are about to
	 * (sleepers.h), counted once for each group of theirs. In a line of its own: each start may read it. */
	_Alignas(64) _Atomic uint32_t sleepers;
	_Alignas(64) struct rt_slot slots[];
};

/* Packs a lost rank and the rank that cannot reach it; RT_NOBODY: the lost rank's process has ended. */
#define RT_NOBODY UINT32_MAX
static inline uint64_t rt_failure(uint32_t rank, uint32_t by)
{
	return (uint64_t)(by + 1) << 32 | (rank + 1);
}
static inline uint32_t rt_failed(uint64_t failure)
{
	return (uint32_t)failure - 1;
}
static inline uint32_t rt_failed_by(uint64_t failure)
{
	return (uint32_t)(failure >> 32) - 1;
}

size_t rt_board_size(uint32_t ranks);
/* Returns the last round whose record a rank has written. */
uint64_t rt_board_round(const struct rt_board *b, uint32_t rank);
/* Returns a rank that has left without writing its record of a round, and never will; or -1. */
int64_t rt_board_missing(const struct rt_board *b, uint64_t round);
/* Returns 1 + the CPU on which the calling thread runs. */
uint32_t rt_board_cpu(void);
/* Publishes on which CPU a rank of this process runs. */
void rt_board_here(struct rt_board *b, uint32_t rank);
/* Writes this rank's record of a round. Rounds count from 1; the round is rt_round of seq. */
void rt_board_post(struct rt_board *b, uint32_t rank, uint64_t seq, const void *in, size_t size);
/* Waits for all ranks' records of the round of `seq`, whatever their steps, and copies them to `out`. Calls `idle` while it
 * waits, at least every 10 ms; if `idle` returns an error, returns that error. spins: as for rt_relax. */
int rt_board_collect(struct rt_board *b, uint64_t seq, size_t size, void *out, unsigned spins,
		     int (*idle)(void *arg), void *arg);
/* Posts a record and collects those of all ranks. */
int rt_board_allgather(struct rt_board *b, uint32_t rank, uint64_t seq, const void *in, size_t size,
		       void *out, unsigned spins, int (*idle)(void *arg), void *arg);

#endif
