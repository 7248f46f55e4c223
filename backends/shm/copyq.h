/* SPDX-License-Identifier: BSD-3-Clause
 * A rank's virtual queue for large copies. A copy is split into fragments of some pages, and whichever thread is free
 * takes the next fragment. The thread that carries out the op puts the copy into the queue and takes fragments from it.
 * The rank joins in as soon as it has nothing else to do, even in the middle of the transfer. A fragment that was taken
 * may complete at any later time. So a DMA controller could take fragments as well, one per channel, and report each by
 * copyq_done.
 *
 * Counters only grow. A queue has one copy under way at a time, whose description stays until its last fragment is
 * done. Hence a thread has read the right description if the count of taken fragments is still what it was before. */
#ifndef BACKENDS_SHM_COPYQ_H
#define BACKENDS_SHM_COPYQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The user's identification of a copy. */
struct copyq_what {
	uint64_t op, address, heap;
};

/* A queue, zeroed at first. It has no pointers, so that it can lie in shared memory. */
struct copyq {
	_Alignas(64) _Atomic uint64_t put; /* number of fragments of all copies so far, including the last copy */
	_Atomic uint64_t first; /* number of fragments of all copies before the last one */
	_Atomic uint64_t bytes, step; /* length of the last copy, and of its fragments */
	_Atomic uint64_t op, address, heap;
	_Alignas(64) _Atomic uint64_t taken;
	_Alignas(64) _Atomic uint64_t done;
};

struct copyq_part {
	uint64_t number;
	uint64_t off, len; /* range of the copy, in bytes */
	struct copyq_what what;
};

/* Puts a copy into the queue. Returns false while another one is under way. Only one thread may call it at a time. */
bool copyq_put(struct copyq *q, const struct copyq_what *what, uint64_t bytes, uint64_t step);
/* copyq_peek returns the next fragment in *p, or false if there is none. The fragment belongs to the caller only if
 * copyq_take then returns true; another thread may have been faster. */
bool copyq_peek(struct copyq *q, struct copyq_part *p);
bool copyq_take(struct copyq *q, const struct copyq_part *p);
/* Reports that a taken fragment has been copied. Returns true if it was the last one. */
bool copyq_done(struct copyq *q);
/* True if every copy that was put in is complete, so that all its bytes are in place. */
bool copyq_complete(struct copyq *q);

#endif
