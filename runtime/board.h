/* SPDX-License-Identifier: BSD-3-Clause
 * The board: records in shared memory by which the ranks of a group exchange what they need to know (board.c). */
#ifndef RUNTIME_BOARD_H
#define RUNTIME_BOARD_H

#include "backends/backend.h"

#include <pthread.h>
#include <stdatomic.h>

/* What a rank is doing when it writes a record: ranks that do not do the same must not take each other's records for
 * their own. */
enum rt_step { RT_MEETING, RT_SPLIT, RT_INIT, RT_STEPS };
extern const char *const rt_step_names[RT_STEPS];

/* The number of a record: its round, and the step in the upper bits. */
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

struct rt_record { /* a short one lies in the line of its number */
	_Alignas(64) _Atomic uint64_t seq;
	char data[HOST_RECORD];
};

/* What the processes of a communication core share, in the slot of the lowest rank that has it. */
struct rt_hub {
	_Alignas(64) _Atomic uint32_t starts; /* of its ranks' requests, and what else its threads should look at */
	_Atomic uint32_t active; /* requests */
	_Atomic uint32_t idle; /* times that the baton has passed since something moved */
	_Alignas(64) _Atomic uint32_t baton; /* lowest rank + 1 of the process whose thread polls; 0: none. A futex */
	_Atomic uint32_t waiting; /* threads that wait for it */
};

struct rt_slot { /* writer: its rank, but of hub */
	struct rt_record record[2]; /* by parity of the round */
	_Alignas(64) _Atomic uint32_t joined; /* the rank holds its lock */
	_Atomic uint32_t closed; /* the rank makes no more calls that all make: it writes no more records */
	_Atomic uint32_t left; /* nor does it send any more: nothing of it uses the group */
	_Atomic uint32_t died; /* of several nodes: enum rt_death, by what has been told */
	uint32_t home; /* of several nodes: its own */
	struct rt_hub hub;
	_Atomic uint32_t node; /* where it lately was, for those that help each other: a NUMA node */
	/* Of who tells other nodes (mirror.c): */
	uint32_t told;
	uint64_t sent[2];
};

enum rt_death { RT_DIED = 1, RT_UNREACHABLE /* with its node */ };

struct rt_board {
	uint32_t size;
	_Atomic uint64_t failed; /* rt_failure of the first rank that was lost; 0: none was */
	_Atomic uint32_t users; /* a subgroup's: ranks that may still touch it; and one for who tells other nodes */
	/* Of several nodes: */
	_Atomic uint32_t bell; /* a job's: file descriptor + 1 that who posts writes to */
	uint32_t home, told; /* this node; of who tells others (mirror.c) */
	uint64_t key; /* the same on all nodes: a subgroup's id, or 0 */
	_Atomic uint64_t next; /* board of this node (bridge.c) */
	pthread_mutex_t lock; /* of next and all that follow */
	_Atomic uint32_t wheel; /* a futex; changes when who tells others may be another process */
	_Alignas(64) struct rt_slot slots[];
};

/* A rank, and who cannot reach it; RT_NOBODY: its process has ended. */
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
/* The last round that a rank has written. */
uint64_t rt_board_round(const struct rt_board *b, uint32_t rank);
/* A rank that will not write its record of a round, as it has left before; or -1. */
int64_t rt_board_missing(const struct rt_board *b, uint64_t round);
/* This rank's record of a round (1, 2, …), which is rt_round of seq. */
void rt_board_post(struct rt_board *b, uint32_t rank, uint64_t seq, const void *in, size_t size);
/* All ranks' records of a round, whatever their steps. spins: as for rt_relax. idle is called while waiting; not 0: give up with that. */
int rt_board_collect(struct rt_board *b, uint64_t seq, size_t size, void *out, unsigned spins,
		     int (*idle)(void *arg), void *arg);
/* Both. */
int rt_board_allgather(struct rt_board *b, uint32_t rank, uint64_t seq, const void *in, size_t size,
		       void *out, unsigned spins, int (*idle)(void *arg), void *arg);

#endif
