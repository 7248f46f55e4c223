/* SPDX-License-Identifier: BSD-3-Clause
 * Command queues in a binary: a part of the specification in bin.h. */
#ifndef FORMAT_QUEUES_H
#define FORMAT_QUEUES_H

#include <stdint.h>

enum bin_limit {
#define LIMIT(NAME, key, least, most, usual, help) BIN_LIMIT_##NAME,
#include "format/smcq.def"
#undef LIMIT
	BIN_LIMITS
};

/* What the queues were made for. */
struct bin_target {
	uint32_t limit[BIN_LIMITS];
};

/* What a rank posts at each start: this header, its queues, the entries of all of them in order. */
struct bin_queues {
	uint32_t nqueues, nentries;
	uint32_t locals; /* entries of its own with BIN_E_LOCAL; the rank is done when all of them are */
	uint32_t remotes; /* entries with BIN_E_REMOTE that name it as the peer; and these have arrived */
};

/* An entry of a normal queue is carried out when those before it have been issued. That of a session also needs credit:
 * entry k of a start waits until the packets of that start that name the queue have brought more than k. The queue of
 * a CPU is no command queue: the rank's CPU does the same with what it is told of. A posted queue is a normal one, which
 * the rank leaves empty until it has got as much credit as it needs; then it posts all entries. */
enum bin_queue_mode { BIN_Q_NORMAL, BIN_Q_SESSION, BIN_Q_CPU, BIN_Q_POSTED, BIN_Q_MODES };
struct bin_queue {
	uint8_t mode, zero;
	uint16_t tni, cq; /* Tofu network interface and command queue; 0 of a CPU's */
	uint16_t needs; /* of a posted one; else 0 */
	uint32_t first, n; /* entries */
};

/* PUT writes range 0 of the rank to range 1 of the peer; PIGGYBACK a word of its own to one that nobody reads, but for its
 * credit; GET writes range 1 of the peer to range 0 of the rank, where it arrives; ARMW (atomic read-modify-write) combines
 * the one element of range 0 with that of range 1, as one step for all that is on the way there; CPU is the op itself. */
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
#define BIN_E_STRONG 1u /* arrives behind what the same queue sent before to, or got from, the same peer for the same queue */
#define BIN_E_LOCAL 2u /* the rank gets a notice when it has arrived */
#define BIN_E_REMOTE 4u /* the peer gets a notice when it has arrived */
#define BIN_E_FLAGS 7u
struct bin_entry {
	uint8_t kind, flags;
	uint8_t sps; /* session progress step: entries of the queue that it releases when it has arrived; of a CPU: when it is done */
	uint8_t armw; /* enum bin_armw; else 0 */
	uint32_t peer; /* that of a NOP and a CPU is the rank */
	uint32_t queue; /* of where it arrives (bin_entry_lands), to which it goes; BIN_NONE: one that takes no credit */
	uint32_t len; /* elements */
	uint16_t buf[2];
	uint32_t op, at; /* for which ops of the rank and of the peer it is; or BIN_NONE */
	uint32_t zero2;
	uint64_t off[2]; /* elements */
};

#define BIN_QUEUE_SIZE(type, n) _Static_assert(sizeof(type) == (n), #type)
BIN_QUEUE_SIZE(struct bin_target, 32);
BIN_QUEUE_SIZE(struct bin_queues, 16);
BIN_QUEUE_SIZE(struct bin_queue, 16);
BIN_QUEUE_SIZE(struct bin_entry, 48);
#undef BIN_QUEUE_SIZE

#endif
