/* SPDX-License-Identifier: BSD-3-Clause
 * The words in a rank's block through which messages travel (sm.h): which rank writes each of them, and what it says. */
#ifndef BACKENDS_SHM_WORDS_H
#define BACKENDS_SHM_WORDS_H

#include "backends/backend.h"
#include "util/align.h"
#include "util/order.h"

#include <stdatomic.h>

#define SM_LINE 64u

/* loan: eager, or by pull if the sender lends its bytes; multicast: several sends share the slots; learned: pull or staged, whichever
 * turns out to be faster */
enum sm_mode { SM_EAGER, SM_LOAN, SM_EAGER_MULTICAST, SM_PULL, SM_STAGED, SM_STAGED_MULTICAST, SM_LEARNED, SM_MODES };

/* True if messages of that mode may go through a ring of their receiver's. */
static inline bool sm_has_ring(uint8_t mode)
{
	return mode == SM_STAGED || mode == SM_LEARNED;
}

/* Accessibility of a message's source bytes to other ranks: not contiguous, in private memory, or in the rank's heap. */
enum sm_source { SM_SCATTERED, SM_PRIVATE, SM_HEAP };

/* Descriptor of one message, written by the rank of one end. Descriptors are sorted by (send, peer, tag, k), and two fit in
 * a cache line, because binding reads those of the peers. */
struct sm_desc {
	uint32_t peer, tag, k; /* k: number of the message in its channel */
	uint32_t op;
	uint64_t bytes;
	/* Position in lines from this rank's head: of the words that the peer writes, or of the slots of an eager multicast; 0: there are
	 * none. Of a send that may lend it is the line of `done`. */
	uint32_t cell;
	uint8_t send : 1;
	uint8_t source : 2; /* enum sm_source */
	uint8_t answers; /* 1 + number of the message, of the same tag, to which this is an answer (answer.h); 0: none */
	/* Of a recv, once its rank has chosen: */
	uint8_t mode; /* enum sm_mode */
	bool direct : 1; /* true if the sender's private memory can be read */
	/* Of a recv, but of a staged multicast's send: its chunks are of SM_CHUNK_MIN << scale bytes */
	uint8_t scale : 4;
	bool two_way : 1; /* of a recv: true if its rank sends long messages to the peer meanwhile */
	bool multicast : 1; /* of a send: true if it shares its slots with others */
	bool several : 1; /* of a send: true if its rank sends several long messages */
};

/* Compares two descriptors. */
static inline int sm_by_channel(const void *a, const void *b)
{
	const struct sm_desc *x = a, *y = b;

	ORDER_BY(x->send, y->send);
	ORDER_BY(x->peer, y->peer);
	ORDER_BY(x->tag, y->tag);
	return (x->k > y->k) - (x->k < y->k);
}

struct sm_head {
	struct be_turn turn;
	_Alignas(SM_LINE) _Atomic uint64_t started; /* writer: this rank; readers: the ranks that exchange messages with it */
	/* `wanted` has a line of its own: sm_start reads it right after storing `started`, and senders may just have written
	 * it. */
	/* writers: the ranks that send to this one; the last epoch for which one of them had no credit */
	_Alignas(SM_LINE) _Atomic uint64_t wanted;
	/* Used for binding and unbinding only: */
	_Atomic uint32_t users; /* number of ranks that may still access this block */
	uint32_t ndescs;
	/* address of this block in its process, and a number by which a reader recognises the block there */
	uint64_t address, token;
	uint64_t own; /* address of the rank's struct sm_bound, for other threads of its process */
	uint64_t shared; /* offset of struct sm_shared from here; 0 if there are no helpers */
	uint8_t allowed; /* enum group_direct: whether other ranks may read this rank's private memory */
	uint32_t plane; /* lines from a slot of one epoch to that of the next, of each message whose slots are in this block */
	_Alignas(SM_LINE) struct sm_desc descs[];
};

/* Location of a rank's bytes. */
struct sm_location {
	uint64_t address; /* address in the rank's process */
	uint64_t heap; /* offset in the rank's heap, plus 1; 0 if the bytes are in private memory */
};

/* Slot of an eager message in the receiver's block, or of a multicast in the sender's. */
struct sm_slot {
	/* the epoch; if the message may be lent, twice the epoch, and one more if it is: a struct sm_location follows then */
	_Alignas(8) _Atomic uint64_t seq;
	char rest[];
};

#define SM_LOAN_MIN 1024u /* bytes; longer messages may be lent, shorter ones are faster in slots */
#define SM_INLINE_MAX 512u /* bytes of a payload that begins in the line of its number */

/* Returns the offset of a payload in its slot. A long one begins with a line of its own, because copies to and from whole lines are
 * faster. */
static inline size_t sm_payload(uint64_t bytes)
{
	return bytes > SM_INLINE_MAX ? SM_LINE : sizeof(struct sm_slot);
}

/* Slots of a message: that of this epoch, and those of the two before, which the receiver may not have read when the send begins. */
#define SM_SLOTS 3u
/* Bytes between slots of several lines: a CPU that loads a slot loads some of the lines behind it as well, which would take them away from
 * a rank that is about to store to them. */
#define SM_APART 2048u

/* Returns the bytes of a slot for an eager message. */
static inline size_t sm_eager_bytes(uint64_t bytes)
{
	return align_up(sm_payload(bytes) + bytes, SM_LINE);
}

/* Returns the address of what lies at a position in lines from a head. */
static inline void *sm_cell(struct sm_head *h, uint32_t cell)
{
	return (char *)h + (size_t)cell * SM_LINE;
}

/* The words of a long message in the receiver's block. The sender writes them, except those of the ring, which the receiver writes. */
struct sm_in {
	_Alignas(SM_LINE) _Atomic uint64_t avail; /* pull, learned: the epoch announced */
	struct sm_location from;
	uint64_t ring; /* offset of the ring in the receiver's heap, if there is one */
	uint32_t slots, first; /* of the ring */
	uint64_t took[2]; /* learned: times that the sender has measured for the message, staged [0] and pulled [1], ns */
	_Atomic uint64_t stands; /* pull: epoch from which on the sender's start announces the bytes at `from`; 0: it does not (start.c) */
	_Alignas(SM_LINE) _Atomic uint64_t helped; /* pull: chunks that the sender has copied in all epochs */
	_Atomic uint64_t produced; /* staged: twice the chunks in all epochs, plus 1 while the ring is narrow */
};

/* The words of a staged multicast, in the sender's block. */
struct sm_multicast {
	_Alignas(SM_LINE) _Atomic uint64_t produced; /* as in struct sm_in */
	uint64_t ring; /* offset of the ring in the sender's heap */
};

/* What the receiver tells a sender that is to copy as well. */
struct sm_invitation {
	_Alignas(SM_LINE) _Atomic uint64_t epoch;
	struct sm_location to;
	struct sm_location operand; /* what the message is reduced with; zeroed: the bytes at `to` */
	uint64_t reduces; /* how the message is reduced, BIN_OP_RECV_REDUCE or BIN_OP_RECV_REDUCE_WITH; 0: it is stored */
};

/* The words of a long message in the sender's block. The receiver writes them. */
struct sm_out {
	_Alignas(SM_LINE) _Atomic uint64_t done; /* pull: the epoch whose bytes were read */
	_Atomic uint64_t consumed; /* staged: chunks in all epochs */
	_Atomic uint64_t way; /* learned: SM_PULL or SM_STAGED, once the receiver has chosen */
	_Atomic uint64_t stands; /* pull: epoch from which on the receiver's start invites the sender, in both ways below; 0: it does not */
	uint32_t multicast; /* written by the sender: position of the struct sm_multicast, in lines from its head; or 0 */
	struct sm_invitation invited[2]; /* pull: of even and odd epochs, because the sender may be one epoch behind */
	/* pull: chunks claimed by either end in all epochs; both ends write it */
	_Alignas(SM_LINE) _Atomic uint64_t taken;
};

#endif
