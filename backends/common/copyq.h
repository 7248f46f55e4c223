/* SPDX-License-Identifier: BSD-3-Clause
 * A rank's virtual queue: a large copy in fragments of some pages, which are taken one by one by whoever is free. Who
 * carries out the op puts it in and takes from it; the rank joins in as soon as it has nothing else to do, and then
 * takes what is left, in the middle of the transfer. A fragment that has been taken may complete at any time later: so
 * an engine in hardware can take fragments as well, as many as it has channels, and report each by copyq_done.
 *
 * Counts only grow. Of a queue's copies one is under way at a time, and its description stays until its last fragment
 * is done; hence who still finds the count of fragments taken as it was when it looked has read the right one. */
#ifndef BACKENDS_COMMON_COPYQ_H
#define BACKENDS_COMMON_COPYQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What its user knows a copy by. */
struct copyq_what {
	uint64_t op, address, heap;
};

/* Zeroed at first; no pointers, so it can be in memory that is shared. */
struct copyq {
	_Alignas(64) _Atomic uint64_t put; /* fragments, up to the end of the last copy */
	_Atomic uint64_t first; /* those before it */
	_Atomic uint64_t bytes, step; /* of it, and of a fragment */
	_Atomic uint64_t op, address, heap;
	_Alignas(64) _Atomic uint64_t taken;
	_Alignas(64) _Atomic uint64_t done;
};

struct copyq_part {
	uint64_t number;
	uint64_t off, len; /* bytes of the copy */
	struct copyq_what what;
};

/* Puts in a copy; false while another one is under way. For one thread at a time. */
bool copyq_put(struct copyq *q, const struct copyq_what *what, uint64_t bytes, uint64_t step);
/* The next fragment, if there is one. Another one may be faster: it is the caller's if copyq_take then says so. */
bool copyq_look(struct copyq *q, struct copyq_part *p);
bool copyq_take(struct copyq *q, const struct copyq_part *p);
/* A fragment that was taken has been copied. Whether it was the last one. */
bool copyq_done(struct copyq *q);
/* Whether all that was put in has been copied: all its bytes are there. */
bool copyq_complete(struct copyq *q);

#endif
