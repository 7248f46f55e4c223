/* SPDX-License-Identifier: BSD-3-Clause
 * The state of a request that changes while a schedule runs. With helpers it lies in the rank's block (sm.h), so that any process that
 * has a view of it goes on where another one has stopped. */
#ifndef BACKENDS_SHM_STATE_H
#define BACKENDS_SHM_STATE_H

#include "backends/shm/words.h"

/* Progress of a message. Here and in struct sm_msg (sm.h) what a start needs comes first: the program may have driven it out of the
 * caches. */
struct sm_moved {
	struct sm_location location; /* location of this rank's bytes, announced to the peer */
	/* chunks that this end has moved in this epoch; loan, send: times that it was polled while lent; copy that waits: times polled */
	uint32_t moved;
	uint32_t copy; /* recv-reduce: 1 + the copy that it absorbs; 0: none */
	bool asking; /* eager, send: true if it is in its slot, and it awaits credit */
	bool absorbed; /* copy: true if a recv-reduce absorbs it */
	/* pull: true if the epoch's announcement has been made (send) or seen (recv); loan, send: true while bytes are lent; copy in
	 * pieces: true until all are made */
	bool begun;
	bool both; /* recv, pull: true if both ends copy in this epoch */
	bool parted; /* recv, pull: true if the bytes go through the rank's queue of fragments */
	bool narrow; /* staged, send: true if the ring is narrow in this epoch (ring.h) */
	bool queued; /* true while the message, or the copy op, is in the queue of fragments */
	uint32_t copies; /* loan, send: epochs in which it copies before it lends again */
	uint64_t lends_from; /* loan, send: the epoch from which on it lends again */
	uint64_t theirs; /* recv, pull: chunks that the sender has copied in earlier epochs */
	uint64_t room; /* staged, send; multicast, first send: chunks of all epochs that the ring is known to have room for */
	/* staged: chunks of earlier epochs; multicast, first send: chunks in the ring in all epochs; copy in pieces: bytes copied */
	uint64_t staged;
	uint64_t since; /* loan, send: time from which it has waited for the receiver, ns */
	struct sm_location operand; /* recv-reduce: location of the source of the copy that it absorbs */
};

struct sm_buffer {
	uint64_t elements;
	uint64_t heap; /* offset in the rank's heap plus 1; 0 if the buffer is in private memory */
};

/* The state of a request that changes while a schedule runs. The fields from `dispatcher` to `queue` are offsets in bytes
 * from the start of this struct. The fields from `ops` on are set only with helpers, which need them to make a view. */
struct sm_shared {
	uint64_t epoch; /* epoch under way, kept with helpers */
	uint64_t busy; /* time until which a calc of this rank runs, in ns */
	uint32_t nops, nbuffers;
	uint32_t generation; /* grows when rebind changes locations and buffers */
	bool past; /* true if long copies go past the caches, which what the ranks have bound does not fit into */
	uint64_t dispatcher; /* offset of the dispatcher's memory */
	uint64_t moved; /* offset of the struct sm_moved of all ops */
	uint64_t deadlines; /* offset of the deadlines of calcs, a uint64_t for each op, in ns */
	uint64_t ops; /* offset of the struct bin_op of all ops */
	uint64_t buffers; /* offset of the struct sm_buffer of all buffers */
	uint64_t partners; /* offset of the struct sm_partner of all message descriptors */
	uint64_t queue; /* offset of the struct copyq; unused if `fragment` is 0 */
	uint64_t fragment; /* bytes of a fragment (not an offset); 0 if the rank has no queue */
};

/* Position of the peer's end of a message. */
struct sm_partner {
	struct be_handle handle; /* handle of the peer's block */
	uint32_t desc; /* index of the message's descriptor in the peer's block */
};

#endif
