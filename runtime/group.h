/* SPDX-License-Identifier: BSD-3-Clause
 * Groups of ranks: meeting.c makes them, group.c has what they do, host.c what backends ask of them. */
#ifndef RUNTIME_GROUP_H
#define RUNTIME_GROUP_H

#include "runtime/board.h"
#include "runtime/context.h"
#include "runtime/heap.h"

#include <stdatomic.h>

struct rt_bridge;
struct rt_comm;

struct rt_map {
	char *base;
	size_t len;
};

struct rt_peer {
	int pid;
	uint32_t node; /* nodes are numbered in the order of their lowest ranks */
	uint32_t lead; /* the lowest rank of its process */
	bool same; /* a thread of this process */
	int fd, event; /* of its heap, or -1 */
	struct rt_heap *heap; /* when same; holds a reference */
	VEC(struct rt_map) maps; /* the last is the largest: */
	char *_Atomic base;
	_Atomic size_t reach; /* what base reaches at least: it is stored behind it */
	_Atomic bool rings; /* bells is filled in */
	struct be_bells bells;
};

/* What the ranks of one group that live in one process share, with all groups that were split off from it. */
struct rt_local {
	_Atomic uint32_t refs;
	uint32_t size;
	pid_t pid;
	pthread_mutex_t lock; /* of what is made of peers */
	struct rt_board *board;
	bool ordered; /* the kernel orders this process's stores for those that go to sleep */
	int fd; /* of the board; -1 when all ranks of this node are threads of this process */
	struct rt_peer *peers;
	uint32_t *near; /* the ranks of this node, in order */
	uint32_t nnear, node, nnodes;
	struct rt_bridge *bridge; /* NULL: there is one node */
	struct rt_comm *comm; /* NULL: only a rank's own thread makes progress on its requests */
};

struct be_group {
	_Atomic uint32_t refs;
	struct mpix_sched_ctx *ctx;
	struct rt_local *local;
	struct rt_board *board; /* local's, or a subgroup's own, in the heap of its rank 0 */
	uint32_t *root; /* a subgroup's: the ranks of its ranks in local; else NULL, they are the same */
	uint32_t rank, size;
	uint64_t id; /* the same on all ranks, and another one than that of other groups */
	uint64_t seq; /* rounds on the board */
	enum rt_step step; /* of the call that it is in */
	char *gathered; /* HOST_RECORD bytes per rank: to agree needs no memory that could be missing */
	unsigned spins; /* turns of waiting before a rank yields */
	_Atomic uint64_t checked; /* when deaths were last looked for, ns */
};

struct mpix_sched_group {
	struct be_group g;
};

/* What two numbers identify together, as one. */
static inline uint64_t rt_id(uint64_t a, uint64_t b)
{
	return (a ^ b >> 7) * 0x9e3779b97f4a7c15u + b;
}

static inline uint32_t rt_root_rank(const struct be_group *g, uint32_t rank)
{
	return g->root ? g->root[rank] : rank;
}

/* Whether this process made it: not a child that was forked since, whose frees do not concern the other ranks. */
bool rt_local_owned(const struct rt_local *l);
void rt_group_ref(struct be_group *g);
void rt_group_unref(struct be_group *g);
/* When no group of its process has it any more; also one that is not complete. NULL is harmless. */
void rt_local_free(struct rt_local *l);
/* 0, or -ERR_DEAD, which is told, once it is known that a rank of the group was lost. */
int rt_group_dead(struct be_group *g);
/* The same; looks for itself at most every 50 ms. */
int rt_group_check(struct be_group *g);
/* The same for a rank that waits for the records of all. -ERR_DEAD as well if one has left that has not written its own. */
int rt_group_await(struct be_group *g);
/* Of the n ranks with board b, one of another process that has joined and not left, but whose lock is gone; or -1. Locks
 * are held until a process has left all groups of its local. root: as in struct be_group. */
int64_t rt_find_dead(const struct rt_local *l, const struct rt_board *b, const uint32_t *root, uint32_t n);
/* Where the bells of a rank of l are; NULL: out of reach. */
struct rt_door *rt_door_of(struct rt_local *l, uint32_t rank);
/* Where something of a rank's heap is; NULL: out of reach. */
void *rt_reach(struct rt_local *l, uint32_t rank, uint64_t off, size_t len);
/* Whether a rank of l has died with its process, which is another. */
bool rt_rank_died(const struct rt_local *l, uint32_t rank);
/* Whether a rank has freed the group. */
bool rt_group_left(const struct be_group *g, uint32_t rank);

#endif
