/* SPDX-License-Identifier: BSD-3-Clause
 * Command queues in a binary. This is a part of the specification in bin.h. */
#ifndef FORMAT_QUEUES_H
#define FORMAT_QUEUES_H

#include <stdint.h>

enum bin_limit {
#define LIMIT(NAME, key, least, most, usual, help) BIN_LIMIT_##NAME,
#include "format/smcq.def"
#undef LIMIT
	BIN_LIMITS
};

/* The limits of the hardware that the queues were made for. */
struct bin_target {
	uint32_t limit[BIN_LIMITS];
};

/* One rank's part of QUEUES, which the rank posts at each start: this header, its queues, then the entries of all its queues
 * in order. A rank has completed the start when it has received `locals` local and `remotes` remote notices. */
struct bin_queues {
	uint32_t nqueues, nentries;
	uint32_t locals; /* number of the rank's own entries with BIN_E_LOCAL */
	uint32_t remotes; /* number of entries of all ranks with BIN_E_REMOTE and this rank as peer */
};

/* The mode says when a queue issues an entry.
 *   NORMAL   once the entries before it have been issued
 *   SESSION  as NORMAL, but entry k of a start, counted from 0, also waits until the packets of that start that name the
 *            queue have brought more than k credits
 *   CPU      as SESSION, but this is no command queue: the rank's CPU carries out the entries, as notices bring it credit
 *   POSTED   as NORMAL, but the rank leaves the queue empty until the credits that it needs have arrived; then the rank
 *            posts all entries */
enum bin_queue_mode { BIN_Q_NORMAL, BIN_Q_SESSION, BIN_Q_CPU, BIN_Q_POSTED, BIN_Q_MODES };
struct bin_queue {
	uint8_t mode, zero;
	uint16_t tni, cq; /* Tofu network interface and its command queue; 0 if the mode is CPU */
	uint16_t needs; /* credits for which a POSTED queue waits; else 0 */
	uint32_t first, n; /* first entry and number of entries */
};

/* Actions of the kinds of entries:
 *   NOP        does nothing
 *   PUT        writes range 0 of the rank to range 1 of the peer
 *   PIGGYBACK  writes a word that nobody reads, to bring credit
 *   GET        writes range 1 of the peer to range 0 of the rank, where it arrives
 *   ARMW       (atomic read-modify-write) combines the one element of range 0 into that of range 1; no other ARMW changes
 *              the element in between
 *   CPU        is the op itself, carried out by the rank's CPU */
enum bin_entry_kind {
#define ENTRY(NAME, number, word, sends, ranges) BIN_E_##NAME = number,
#include "format/entry.def"
#undef ENTRY
	BIN_E_KINDS
};
enum bin_armw {
#define ARMW(NAME, number, word, op, bytes) BIN_ARMW_##NAME = number,
#include "format/armw.def"
#undef ARMW
	BIN_ARMWS
};
#define BIN_E_STRONG 1u /* strong order: arrives after earlier strong entries of the same route (bin_entry_same_route) */
#define BIN_E_LOCAL 2u /* the rank gets a notice when the entry has arrived */
#define BIN_E_REMOTE 4u /* the peer gets a notice when the entry has arrived */
#define BIN_E_FLAGS 7u
struct bin_entry {
	uint8_t kind, flags;
	uint8_t sps; /* session progress step: credits that the entry brings to `queue` when it has arrived (CPU: when it is done) */
	uint8_t armw; /* operation of an ARMW (enum bin_armw); else 0 */
	uint32_t peer; /* the other rank; in a NOP or CPU the rank itself */
	uint32_t queue; /* queue of the rank where the entry arrives (bin_entry_lands); BIN_NONE: a queue that takes no credit */
	uint32_t len; /* elements */
	uint16_t buf[2]; /* buffers of range 0 (of the rank) and range 1 (of the peer) */
	uint32_t op, at; /* op of the rank, and op of the peer, that the entry is made for; or BIN_NONE */
	uint32_t zero2;
	uint64_t off[2]; /* offsets of range 0 and range 1, in elements */
};

#define BIN_QUEUE_SIZE(type, n) _Static_assert(sizeof(type) == (n), #type)
BIN_QUEUE_SIZE(struct bin_target, 32);
BIN_QUEUE_SIZE(struct bin_queues, 16);
BIN_QUEUE_SIZE(struct bin_queue, 16);
BIN_QUEUE_SIZE(struct bin_entry, 48);
#undef BIN_QUEUE_SIZE

#endif
