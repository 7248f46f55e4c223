/* SPDX-License-Identifier: BSD-3-Clause
 * The emulator of a network interface with command queues in session mode (Tofu2): what ranks share with the emulator's
 * process. A rank registers its heap. For each schedule that it binds, it makes a block in the heap, with transmit
 * order queues (TOQ), their pointers, and rings of notices: the transmit complete queue (TCQ) and the message receive
 * queue (MRQ). goalrun/nic/nic.c lists what public documents leave open. */
#ifndef BACKENDS_SMCQ_NIC_H
#define BACKENDS_SMCQ_NIC_H

#include "backends/backend.h"

/* ---- in the rank's heap ---- */

/* An entry of a TOQ, of the same length as in Tofu2. */
struct nic_entry {
	uint8_t command, flags, sps, armw; /* as in struct bin_entry */
	uint32_t len; /* length in bytes */
	uint16_t region[2]; /* indices of the rank's region and of the peer's */
	uint32_t route; /* index of the route in the block */
	uint64_t off[2]; /* offsets in the two regions, in bytes */
};
_Static_assert(sizeof(struct nic_entry) == 32, "an entry of a TOQ");

struct nic_local { /* an entry of a TCQ */
	uint32_t queue, entry; /* entry: number of the completed entry, modulo 2^32 */
};
_Static_assert(sizeof(struct nic_local) == 8, "an entry of a TCQ");

enum nic_notice { NIC_ARRIVED, NIC_CREDIT };
struct nic_remote { /* an entry of an MRQ */
	uint32_t what; /* enum nic_notice */
	uint32_t rank; /* rank that has sent it */
	uint32_t queue, sps; /* NIC_CREDIT: a queue of the CPU, and the credits (SPS, session progress steps) that it gets */
	uint64_t zero[2];
};
_Static_assert(sizeof(struct nic_remote) == 32, "an entry of an MRQ");

/* The pointers of a queue. They count entries and only grow; an entry's position in the queue is its number modulo the
 * depth. */
struct nic_pointers {
	_Alignas(64) _Atomic uint64_t producer; /* written by the rank */
	_Alignas(64) _Atomic uint64_t scheduling, consumer; /* written by the interface, for diagnosis and flow control */
};

#define NIC_ANY UINT16_MAX
struct nic_queue {
	uint8_t mode; /* enum bin_queue_mode */
	uint8_t depth; /* log2 of the number of entries; 0 for a CPU's queue, which has none */
	uint16_t tni; /* Tofu network interface (TNI) of the queue, or NIC_ANY */
	uint32_t zero;
	uint64_t toq; /* offset of the entries; this and the offsets below count from the start of the block */
};

/* Registered memory. */
struct nic_region {
	uint64_t base; /* offset in the heap, or an address in the rank's process */
	uint64_t len;
	uint64_t heap; /* 1 if base is an offset in the heap, else 0 */
};

/* A route from a queue of the rank to a queue of a peer. A route of GETs leads from the peer to a queue of the rank. */
struct nic_route {
	uint64_t peer; /* the interface's name for the peer's block */
	uint32_t queue; /* queue that gets credit, or BIN_NONE */
	uint32_t gets; /* 1 for a route of GETs, else 0 */
};

enum nic_fault { NIC_FINE, NIC_BAD_ENTRY, NIC_NO_MEMORY, NIC_DEAD_SESSION, NIC_NOTICES, NIC_LEFT, NIC_FAULTS };

struct nic_block {
	_Alignas(64) _Atomic uint64_t doorbell; /* written by the rank: number of posts */
	_Atomic uint64_t starts; /* written by the rank: number of starts that it has posted */
	_Atomic uint64_t tcq_seen, mrq_seen; /* written by the rank: notices that it has read */
	_Alignas(64) _Atomic uint64_t tcq, mrq; /* written by the interface: notices that it has written */
	_Atomic uint32_t fault; /* written by the interface: enum nic_fault */
	uint32_t fault_rank, fault_queue; /* rank and queue of the fault; NIC_LEFT has no queue */
	/* Written by the rank before it sends NIC_BIND, and constant from then on: */
	_Alignas(64) uint64_t id; /* number of the request, the same on all ranks */
	uint32_t rank;
	uint32_t tnis, cqs; /* numbers of TNIs and CQs of the schedule's target */
	uint32_t offset; /* bits of a session's offset counter */
	uint32_t nqueues, nregions, nroutes;
	uint32_t tcq_depth, mrq_depth; /* log2 of the rings' lengths */
	uint64_t queues, regions, routes, pointers, tcq_ring, mrq_ring;
};

/* ---- over the socket: a request, then its answer ---- */

enum nic_what {
	NIC_HELLO, /* comes with the heap's descriptor; a: offset of the rank's bell in the heap */
	NIC_BIND, /* a: offset of the block, b: its size. The answer has the block's name */
	NIC_CONNECT, /* a: the block's name; its routes are complete now */
	NIC_REBIND, /* a: the block's name; its regions have changed */
	NIC_UNBIND /* a: the block's name. The answer comes when all that was posted has been sent, or can never be sent */
};
#define NIC_VERSION 2u

struct nic_request {
	uint32_t what, version;
	uint64_t a, b;
};

struct nic_answer {
	int32_t err; /* 0 or -ERR_x */
	uint32_t zero;
	uint64_t name; /* of a block; of the interface after NIC_HELLO; -ERR_DEAD: of the block whose rank is gone */
	char text[112]; /* if err is not 0, the reason in words */
};

/* Memory that the interface shows to all ranks. The answer to NIC_HELLO brings two descriptors: an eventfd, and that of
 * this memory. */
struct nic_door {
	/* 1 while the interface sleeps: a rank that posts then writes to the eventfd */
	_Alignas(64) _Atomic uint32_t asleep;
};

/* ---- the process ---- */

struct nic_stats {
	uint64_t entries, packets, bytes;
};

struct nic_options {
	int listener; /* socket on which the interface accepts ranks */
	int life; /* descriptor whose end of file ends the interface */
	uint64_t seed; /* seed of the order in which packets arrive; 0: they arrive as they were sent */
	int trace; /* descriptor to write the trace to; -1 for none */
	uint64_t most; /* largest number of steps in the trace */
	struct nic_stats *stats; /* counters in memory shared with the process that reads them */
};

/* Serves ranks until the end of file on life. Returns an exit status. */
int nic_serve(const struct nic_options *o);

#endif
