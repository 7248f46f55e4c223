/* SPDX-License-Identifier: BSD-3-Clause
 * Groups of ranks: bootstrap/ creates them, group.c splits and frees them, group_services.c has the functions for backends. */
#ifndef RUNTIME_GROUP_H
#define RUNTIME_GROUP_H

#include "runtime/board/board.h"
#include "runtime/context.h"
#include "runtime/placement/cpus.h"
#include "runtime/heap/heap.h"
#include "runtime/stock.h"

#include <stdatomic.h>

struct be_transport;
struct rt_bridge;
struct rt_comm;

struct rt_map {
	char *base;
	size_t len;
};

struct rt_peer {
	int pid;
	uint32_t node; /* number of the rank's node; nodes are numbered in the order of their lowest ranks */
	uint32_t lead; /* lowest rank of the rank's process */
	bool same; /* true if the rank is a thread of this process */
	struct rt_cpus cpus; /* CPUs on which the rank may run */
	int fd, event; /* descriptors of the rank's heap and eventfd, or -1 */
	struct rt_heap *heap; /* the rank's heap, with a reference, if `same` is true; else NULL */
	VEC(struct rt_map) maps; /* mappings of the rank's heap, each longer than the one before; `base` is the last */
	char *_Atomic base;
	_Atomic size_t reach; /* `base` maps at least this many bytes; stored after `base`, so a reader loads `reach` first */
	_Atomic bool rings; /* true once `bells` is filled in */
	struct be_bells bells;
	_Atomic bool readable; /* of the backend (group_readable) */
};

/* State shared by the ranks of one group that are threads of one process, and by all groups split from that group. */
struct rt_process {
	_Atomic uint32_t refs;
	uint32_t size;
	pid_t pid;
	pthread_mutex_t lock; /* protects the mappings and bells that are added to `peers` later */
	struct rt_board *board;
	bool ordered; /* sleepers can order the stores of this process by membarrier */
	int fd; /* descriptor of the board; -1 if all ranks of this node are threads of this process */
	struct rt_peer *peers;
	uint32_t *node_ranks; /* ranks of this node, ascending */
	uint32_t nnode_ranks, node, nnodes;
	_Atomic uint64_t caches; /* bytes of the caches of the last level that these ranks have; UINT64_MAX: not known; 0: not asked yet */
	bool networked; /* there are several nodes, and all ranks use the backend with a network, as BE_AUTO chooses it */
	struct rt_bridge *bridge; /* connections to the other nodes; NULL if there is one node */
	int bell; /* eventfd that wakes the bridge of this node; -1 if there is one node */
	struct rt_comm *comm; /* threads that help with progress; NULL: each rank makes its own */
};

enum rt_shares { RT_UNKNOWN, RT_SHARED, RT_NOT_SHARED };

struct be_group {
	_Atomic uint32_t refs;
	struct mpix_sched_ctx *ctx;
	struct rt_process *process;
	struct rt_tally tally; /* of sleepers, on the board of `process` */
	struct rt_board *board; /* the board of all ranks; of a subgroup: a board in the heap of its lowest rank of this node */
	struct be_transport *transport; /* NULL if the program has set none */
	uint32_t *root; /* of a subgroup: its members' ranks in the group of all ranks; NULL for the group of all ranks */
	uint32_t rank, size;
	uint64_t id; /* identifier of the group: the same on all its ranks, and no other group has it */
	uint64_t seq; /* number of rounds on the board so far */
	enum rt_step step; /* collective call that the rank is in */
	char *gathered; /* GROUP_RECORD bytes per rank, allocated early, so that reporting an error needs no memory */
	struct rt_settled settled[RT_SETTLED];
	uint64_t *reach; /* by row of `settled` and rank: bytes of the rank's heap that its peers have mapped. After `gathered` */
	uint32_t row, turns; /* row of the bind under way, or RT_SETTLED; number of rows that took the place of others */
	bool repeats; /* the bind under way repeats that of its row */
	struct rt_stock stocks[RT_STOCKS];
	uint32_t nstocks; /* stocks added so far */
	bool takes; /* the bind under way takes its blocks from a stock */
	uint32_t spares; /* blocks that the bind under way makes for later ones */
	uint64_t binds; /* number of binds so far */
	unsigned spins; /* iterations of waiting before a rank yields its CPU */
	enum rt_shares cores, cache; /* whether ranks share cores, or all a cache, once a selection has depended on that */
	_Atomic uint64_t checked; /* time of the last check for deaths, ns */
};

struct mpix_sched_group {
	struct be_group g;
};

/* Combines two numbers into one identifier. */
static inline uint64_t rt_id(uint64_t a, uint64_t b)
{
	return (a ^ b >> 7) * 0x9e3779b97f4a7c15u + b;
}

static inline uint32_t rt_root_rank(const struct be_group *g, uint32_t rank)
{
	return g->root ? g->root[rank] : rank;
}

/* True if a thread of a rank sleeps on the rank's bell, and nobody has rung it. False if the bell is not known here. */
static inline bool rt_group_sleeps(const struct be_group *g, uint32_t rank)
{
	const struct rt_peer *p = &g->process->peers[rt_root_rank(g, rank)];
	const struct be_bell *bell = atomic_load_explicit(&p->rings, memory_order_acquire) ? p->bells.at[0] : NULL;

	return bell && atomic_load_explicit(&bell->count, memory_order_relaxed) & 1 &&
	       atomic_load_explicit(&bell->sleepers, memory_order_relaxed);
}

/* Wakes the bridge: a board of this node has changed. */
void rt_bridge_ring(const struct rt_process *l);
/* True if this process created `l`. False in a child that was forked later: what the child frees must not affect the other
 * ranks. */
bool rt_process_owned(const struct rt_process *l);
void rt_group_unref(struct be_group *g);
/* Allocates the memory that a group has for each of its ranks. Returns false if there is none. */
bool rt_group_rooms(struct be_group *g);
/* Returns 0 if GOAL_BACKEND names a backend that ranks can use, else -ERR_ARG with an error message. */
int rt_group_check_backend(struct be_group *g);
/* Returns the backend for requests of the group; one that ranks cannot use if rt_group_check_backend fails. */
const struct be_row *rt_group_backend(const struct be_group *g);
/* Frees `l`, which may be incomplete, when no group of this process uses it any more. NULL is harmless. */
void rt_process_free(struct rt_process *l);
/* Returns the address of the bells of a rank of `l`; NULL if they cannot be mapped. */
struct rt_door *rt_door_of(struct rt_process *l, uint32_t rank);
/* Returns the address in this process of `len` bytes at offset `off` in a rank's heap; NULL if they cannot be mapped. */
void *rt_reach(struct rt_process *l, uint32_t rank, uint64_t off, size_t len);
/* True if a rank of `l` in another process has died. */
bool rt_rank_died(const struct rt_process *l, uint32_t rank);

#endif
