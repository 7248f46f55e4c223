/* SPDX-License-Identifier: BSD-3-Clause
 * Groups on several nodes: addresses (nodes.c), and the connection that keeps the boards of all nodes alike (bridge.c). */
#ifndef RUNTIME_NODES_H
#define RUNTIME_NODES_H

#include "runtime/group.h"
#include "util/mac.h"

#include <netinet/in.h>

/* The same for all that can map each other's memory. */
uint64_t rt_node_id(void);

#define RT_ADDRESSES 8u

/* Where a node answers: what its lowest rank tells all others. */
struct rt_card {
	int err;
	char name[12]; /* of a Unix socket, for its own ranks */
	uint32_t name_len;
	uint16_t port, naddresses;
	struct in6_addr address[RT_ADDRESSES]; /* the best first */
};

/* Where this node can be reached; errors are told. */
int rt_node_addresses(struct mpix_sched_ctx *ctx, struct rt_card *card);

/* What a process needs to keep the boards of its node like those of the others. */
struct rt_bridge_plan {
	const struct rt_card *cards; /* by rank */
	char secret[MAC_KEY];
	int listener, bell; /* shared by the processes of the node; they pass to the bridge */
	bool first; /* it connects; the others take over when it has left */
};

/* An open TCP port, told on the card, for so many nodes; or an error that is told. */
int rt_bridge_listen(struct mpix_sched_ctx *ctx, struct rt_card *card, uint32_t nodes, int *listener);
/* The process that tells other nodes holds this lock of the board's file. */
int rt_bridge_steer(const struct rt_local *l);
/* Makes l->bridge; returns when all nodes are connected, or with an error that is told. */
int rt_bridge_open(struct mpix_sched_ctx *ctx, struct rt_local *l, const struct rt_bridge_plan *p);
/* When all has been told that ranks of this process have to tell. NULL is harmless. */
void rt_bridge_close(struct rt_bridge *b);
/* There is something to tell. */
void rt_bridge_ring(const struct rt_local *l);
/* From now on a board of a subgroup, in this node's heap of rank owner, is one of those that are kept alike. */
void rt_bridge_add(struct rt_local *l, struct rt_board *b, uint32_t owner, uint64_t off);

#endif
