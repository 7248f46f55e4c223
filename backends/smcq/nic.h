/* SPDX-License-Identifier: BSD-3-Clause
 * The software model of a network interface with command queues in session mode (Tofu2): what ranks and the process that
 * plays it share. A rank registers its heap, and in that, for each schedule that it binds, a block with transmit order
 * queues (TOQ), their pointers, and rings of notices (TCQ, MRQ). What public documents leave open is told in nic.c. */
#ifndef BACKENDS_SMCQ_NIC_H
#define BACKENDS_SMCQ_NIC_H

#include "backends/backend.h"

/* ---- in the rank's heap ---- */

/* An entry of a TOQ, as long as there. */
struct nic_entry {
	uint8_t command, flags, sps, armw; /* as in struct bin_entry */
	uint32_t len; /* bytes */
	uint16_t region[2]; /* of the rank, and of the peer */
	uint32_t way; /* of the block */
	uint64_t off[2]; /* bytes of the region */
};
_Static_assert(sizeof(struct nic_entry) == 32, "an entry of a TOQ");

struct nic_local { /* of a TCQ */
	uint32_t queue, entry; /* entry: its number, modulo 2^32 */
};
_Static_assert(sizeof(struct nic_local) == 8, "an entry of a TCQ");

enum nic_notice { NIC_ARRIVED, NIC_CREDIT };
struct nic_remote { /* of an MRQ */
	uint32_t what; /* enum nic_notice */
	uint32_t rank; /* from where */
	uint32_t queue, sps; /* NIC_CREDIT: for a queue of the CPU */
	uint64_t zero[2];
};
_Static_assert(sizeof(struct nic_remote) == 32, "an entry of an MRQ");

/* Pointers are numbers of entries that only grow; the place is the number modulo the depth. */
struct nic_pointers {
	_Alignas(64) _Atomic uint64_t producer; /* the rank's */
	_Alignas(64) _Atomic uint64_t scheduling, consumer; /* the interface's, for whoever wants to see them */
};

#define NIC_ANY UINT16_MAX
struct nic_queue {
	uint8_t mode; /* enum bin_queue_mode */
	uint8_t depth; /* log2 of its entries; 0: a CPU's, which has none */
	uint16_t tni; /* or NIC_ANY */
	uint32_t zero;
	uint64_t toq; /* offsets here and below are from the block */
};

/* Registered memory. */
struct nic_region {
	uint64_t base; /* of the heap, or an address */
	uint64_t len;
	uint64_t heap; /* whether */
};

/* From a queue of the rank to one of a peer; of GETs from the peer to a queue of the rank. */
struct nic_way {
	uint64_t peer; /* what the interface calls the peer's block */
	uint32_t queue; /* that gets credit, or BIN_NONE */
	uint32_t gets; /* 1: of GETs, else 0 */
};

enum nic_fault { NIC_FINE, NIC_BAD_ENTRY, NIC_NO_MEMORY, NIC_DEAD_SESSION, NIC_NOTICES, NIC_LEFT, NIC_FAULTS };

struct nic_block {
	_Alignas(64) _Atomic uint64_t doorbell; /* the rank's: how often it has posted, */
	_Atomic uint64_t starts; /* and in how many starts */
	_Atomic uint64_t tcq_seen, mrq_seen; /* the rank's: notices that it has read */
	_Alignas(64) _Atomic uint64_t tcq, mrq; /* the interface's: notices that it has written */
	_Atomic uint32_t fault; /* the interface's: enum nic_fault, of queue */
	uint32_t fault_rank, fault_queue; /* queue: not of NIC_LEFT */
	/* The rank's, from when it is told on: */
	_Alignas(64) uint64_t id; /* of what all ranks bind together */
	uint32_t rank;
	uint32_t tnis, cqs; /* what there is for the schedule's target */
	uint32_t offset; /* bits of a session's offset */
	uint32_t nqueues, nregions, nways;
	uint32_t tcq_depth, mrq_depth; /* log2 */
	uint64_t queues, regions, ways, pointers, tcq_ring, mrq_ring;
};

/* ---- over the socket: a request, then its answer ---- */

enum nic_what {
	NIC_HELLO, /* with the heap's descriptor; a: where the rank's bell is in it */
	NIC_BIND, /* a: where the block is, b: its bytes. The answer has its name */
	NIC_CONNECT, /* a: the name; the ways are told */
	NIC_REBIND, /* a: the name; other regions */
	NIC_UNBIND /* a: the name. Answered when all that was posted has gone out, or will never do so */
};
#define NIC_VERSION 2u

struct nic_request {
	uint32_t what, version;
	uint64_t a, b;
};

struct nic_answer {
	int32_t err; /* -ERR_x */
	uint32_t zero;
	uint64_t name;
	char text[112]; /* on an error */
};

/* What the interface shows everybody; its descriptor comes with the answer to NIC_HELLO, behind that of an eventfd. */
struct nic_door {
	_Alignas(64) _Atomic uint32_t asleep; /* then who posts writes to the eventfd */
};

/* ---- the process ---- */

struct nic_stats {
	uint64_t entries, packets, bytes;
};

struct nic_options {
	int listener; /* listens for ranks */
	int life; /* at its end the interface ends */
	uint64_t seed; /* of the order in which packets arrive; 0: in order */
	int trace; /* where the steps are written; -1: nowhere */
	uint64_t most; /* of them */
	struct nic_stats *stats; /* shared with who asks */
};

/* Serves until the end of its life; an exit status. */
int nic_serve(const struct nic_options *o);

#endif
