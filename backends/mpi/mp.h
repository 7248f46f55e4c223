/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of this backend share. mpi.c has the table of operations, connect.c makes messages, move.c moves them.
 *
 * Each op that sends or receives between nodes has a tag of its own and, for its request's life, persistent messages of the
 * transport, one for each part of at most most_bytes bytes. Each rank chooses the tags of its recvs, and sends the first of
 * them to the peer when it binds. A recv is started when its op is issued, hence only after its rank has started the epoch
 * and all that uses the buffer before has completed. What a fast peer sends earlier waits in the transport.
 *
 * Why messages of different epochs are not mixed up: in each epoch both ends start the same parts of an op, in the same
 * order, and do not start the next epoch before these are complete. Messages from one rank to another with the same tag are
 * received in the order in which they were sent. So the n-th start of one end meets the n-th start of the other.
 *
 * Why a rank is at most one epoch ahead of its peers: if the schedule has messages in both directions between two ranks,
 * neither completes an epoch before the other has started it. Otherwise the messages of odd epochs are synchronous: an odd
 * epoch completes on the sender only after the receiver has started it, and so the following even epoch begins then. An even
 * epoch costs no answer. */
#ifndef BACKENDS_MPI_MP_H
#define BACKENDS_MPI_MP_H

#include "backends/shm/sm.h"
#include "backends/services.h"
#include "include/mpix_sched_transport.h"

/* A message between nodes. */
struct mp_msg {
	uint32_t peer, tag, k; /* tag and number in the channel, as in the schedule */
	uint32_t op, link; /* link: index in mp_bound.links */
	uint64_t bytes;
	bool send;
	bool begun; /* true if the message has been started in this epoch, and is not complete */
	char *slot; /* memory in which the bytes are packed; NULL if they are sent from, or received into, the buffer */
	uint32_t nparts, done; /* done: parts that are complete in this epoch */
	size_t handle; /* index of its first handle in mp_bound.handles */
	uint32_t odd; /* distance to the handles for odd epochs: nparts if they are synchronous, else 0 */
};

/* What a rank tells the peers with which it exchanges messages. */
struct mp_pair {
	uint32_t peer;
	uint32_t nsends, nrecvs;
	uint32_t channels[2]; /* hash of the tags of the messages: [0] of recvs, [1] of sends */
	uint32_t sizes[2]; /* hash of their sizes */
	uint32_t tag; /* tag of its first recv from the peer, for the transport */
};

/* A peer on another node. */
struct mp_link {
	struct mp_pair mine, theirs;
	uint32_t first; /* index of its first message; recvs come before sends */
	bool known; /* true if `theirs` has arrived */
};

struct mp_bound {
	struct sm_bound sm;
	const struct MPIX_Sched_transport *transport; /* NULL if the request has no messages between nodes */
	struct mp_msg *msgs; /* messages, sorted by peer, send, tag, k */
	struct mp_link *links; /* peers, ascending */
	uint32_t nmsgs, nlinks, nrecvs;
	uint32_t tag; /* first of the tags that are reserved for recvs */
	void **handles; /* messages of the transport */
	size_t nhandles;
	char *slots; /* memory of the slots */
	uint64_t counted[BE_COUNTS];
	uint32_t nmemory; /* sends through shared memory per start */
	bool tagged; /* true if tags are reserved */
	bool calls; /* true if the thread that makes progress now may call the transport */
};

static inline struct mp_bound *mp_of(struct dispatcher *e)
{
	return (struct mp_bound *)sm_of(e);
}

/* connect.c */
/* Lists the messages and makes all that needs no other rank. */
int mp_prepare(struct mp_bound *m);
/* Finds out whether the peers have the other ends of the messages, and makes the transport's messages. Collective. */
int mp_connect(struct mp_bound *m);
void mp_disconnect(struct mp_bound *m);
/* As in be_ops. */
int mp_rebind(struct be_bound *bound, const struct be_buffer *buffers);

/* tags.c */
/* Reserves n successive tags for messages to this rank, and returns the first one in *first. n is not 0. */
int mp_take_tags(struct be_group *g, uint32_t n, uint32_t *first);
/* Gives back what mp_take_tags has reserved from tag `first` on. */
void mp_give_tags(struct be_group *g, uint32_t first);

/* move.c */
extern const struct dispatch_how mp_how;
/* True if a message between nodes is under way. */
bool mp_any_open(const struct mp_bound *m);
const char *mp_message_waits(const struct mp_msg *x);

#endif
