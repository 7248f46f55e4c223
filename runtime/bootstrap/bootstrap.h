/* SPDX-License-Identifier: BSD-3-Clause
 * The state of the bootstrap (bootstrap.c), and its part within a node (node.c). */
#ifndef RUNTIME_BOOTSTRAP_BOOTSTRAP_H
#define RUNTIME_BOOTSTRAP_BOOTSTRAP_H

#include "runtime/comm.h"
#include "runtime/nodes.h"

#include <unistd.h>

#define RT_BOOTSTRAP_MS 30000 /* time that the ranks of a node have to exchange descriptors */

/* What each rank tells all others first. */
struct rt_hello {
	int err, rank;
	uint64_t node, pid;
	int64_t autogroup; /* of its process (rt_autogroup) */
	char process[16]; /* random identifier of the rank's process */
	char cookie[MAC_KEY]; /* random secret of rank 0; a process that knows the secret belongs to this job */
	char name[12]; /* abstract name of rank 0's socket */
	uint32_t name_len, number; /* number: above those of all groups of its context */
	int heap_fd, event;
	uint64_t heap;
	struct rt_comm_config config;
};
_Static_assert(sizeof(struct rt_hello) <= GROUP_RECORD && sizeof(struct rt_card) <= GROUP_RECORD, "goalrun's exchange carries it");

struct rt_ready;

/* State of the bootstrap on one rank. */
struct rt_bootstrap {
	struct mpix_sched_ctx *ctx;
	struct be_group *group; /* to be made: it has only its context, rank and size yet */
	MPIX_Sched_allgather_fn *allgather;
	void *arg;
	uint32_t rank, size, lead; /* lead: lowest rank of this process */
	uint32_t head; /* lowest rank of this node, which makes the board */
	struct rt_hello *all;
	struct rt_card *cards; /* cards of the nodes, by rank; NULL if there is one node */
	struct rt_ready *ready; /* what each rank has sent at the end of a step */
	struct rt_process *process;
	int listener, sock; /* listener: listening socket of a head; sock: connection of another lead to the head */
	int port, bell; /* with several nodes: listening TCP socket and eventfd for the bridge */
	uint64_t until, checked; /* times in ns: `until`: when this rank stops waiting; `checked`: the last check for deaths */
	bool caused; /* true if this rank failed because of another rank's failure */
	bool networked; /* as in struct rt_process */
};

/* True if a rank is on this node. */
bool rt_boot_same_node(const struct rt_bootstrap *m, uint32_t rank);
bool rt_boot_same_process(const struct rt_hello *a, const struct rt_hello *b);
/* Return the lowest rank of a rank's node (head_of), and of a rank's process (lead_of). */
uint32_t rt_boot_head_of(const struct rt_bootstrap *m, uint32_t rank);
uint32_t rt_boot_lead_of(const struct rt_bootstrap *m, uint32_t rank);
/* Returns how many ranks are in the process of rank `lead`. */
uint32_t rt_boot_ranks_of(const struct rt_bootstrap *m, uint32_t lead);

/* Returns a rank that died, or -1. Waits for a moment, because the process of a rank that does not answer any more may be about to
 * end. */
int64_t rt_boot_find_dying(const struct rt_bootstrap *m);
/* Stores the error for the death of a rank, and returns it. */
int rt_boot_report_dead(const struct rt_bootstrap *m, int64_t rank);

/* The head's part: waits for the lead of every other process, and serves it. After an error it closes all sockets, which
 * the leads notice. */
int rt_boot_serve_node(struct rt_bootstrap *m, int err);
/* On a lead that is not the head: exchanges descriptors with the head. A lead that has failed before also connects, to
 * report its failure. */
int rt_boot_join_head(struct rt_bootstrap *m, int failure);
/* Maps the board of a node with several processes, and locks the places of this process's ranks in its file. */
int rt_boot_map_board(struct rt_bootstrap *m);

static inline void rt_close_fds(int fd[2])
{
	for (int i = 0; i < 2; i++) {
		if (fd[i] >= 0)
			close(fd[i]);
		fd[i] = -1;
	}
}

#endif
