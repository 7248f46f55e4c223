/* SPDX-License-Identifier: BSD-3-Clause
 * Groups on several nodes: addresses (nodes.c), and the bridge that keeps the boards of all nodes alike (bridge.c). */
#ifndef RUNTIME_NODES_H
#define RUNTIME_NODES_H

#include "runtime/group.h"
#include "util/mac.h"

#include <netinet/in.h>

/* Returns a number that is the same for all processes that can map each other's memory. */
uint64_t rt_node_id(void);
/* Returns the number of the group in which Linux schedules this process, its session's (sched(7)), or -1 if there is none. Unlike the
 * number of the session, it is known in all PID namespaces. */
int64_t rt_autogroup(void);

#define RT_ADDRESSES 8u

/* The addresses at which a node answers. Its lowest rank sends the card to all others; on those of other ranks only the first
 * two fields count. */
struct rt_card {
	int err;
	uint64_t network; /* of the rank, as be_ops.network returns it; 0 if it must not use that */
	char name[12]; /* name of a Unix socket, for the ranks of this node */
	uint32_t name_len;
	uint16_t port, naddresses;
	struct in6_addr address[RT_ADDRESSES]; /* best first */
};

/* Stores the addresses of this node on its card. Returns 0, or an error with a message. */
int rt_node_addresses(struct mpix_sched_ctx *ctx, struct rt_card *card);

/* Converts the address of a socket to IPv6. Returns false if the address is of no use beyond its network link. `a` may be
 * NULL. */
bool rt_node_in6(const struct sockaddr *a, struct in6_addr *out);

/* Arguments of rt_bridge_open. */
struct rt_bridge_plan {
	const struct rt_card *cards; /* cards of the nodes, by rank */
	char secret[MAC_KEY];
	int listener, bell; /* shared by the processes of the node; rt_bridge_open takes them */
	bool first; /* this process connects; the others take over when it has left */
};

/* Opens a TCP port for the other nodes, and stores the port and this node's addresses on the card. `nodes` is the number of
 * all nodes. Returns 0, or an error with a message. */
int rt_bridge_listen(struct mpix_sched_ctx *ctx, struct rt_card *card, uint32_t nodes, int *listener);
/* Tries to take the lock on the board's file, whose holder runs the bridge. Returns 0 if this process has it. */
int rt_bridge_steer(const struct rt_process *l);
/* Makes l->bridge. If this process is the first to run it, returns when all nodes are connected. Returns 0, or an error
 * with a message. */
int rt_bridge_open(struct mpix_sched_ctx *ctx, struct rt_process *l, const struct rt_bridge_plan *p);
/* Stops the bridge when the other nodes know what the ranks of this process did last. NULL is harmless. */
void rt_bridge_close(struct rt_bridge *b);
/* Adds the board of a subgroup to the boards that the bridge copies between nodes. The board is at offset `off` in the heap
 * of rank `owner` of this node. */
void rt_bridge_add(struct rt_process *l, struct rt_board *b, uint32_t owner, uint64_t off);

#endif
