/* SPDX-License-Identifier: BSD-3-Clause
 * Copies by two threads, if there are CPU cores for both. The emulator serves all ranks of a node in one process, and
 * alone would copy more slowly than the ranks, which have several cores. */
#ifndef GOALRUN_NIC_COPIER_H
#define GOALRUN_NIC_COPIER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct copier {
	/* The chunks of the current copy that nobody has taken. Bits 0-15: the first chunk; bits 16-31: the end; bits 32-63:
	 * the number of the copy. */
	_Alignas(64) _Atomic uint64_t ticket;
	char *to;
	const char *from;
	size_t len;
	_Alignas(64) _Atomic uint32_t copied; /* chunks that the helper has copied, in all copies */
	_Atomic bool asleep, stop;
	bool tried, running;
	pthread_t helper;
	pthread_mutex_t lock;
	pthread_cond_t wake;
};

/* Ends the helper thread. A zeroed copier needs no other setup; the first large copy starts the helper. */
void copier_fini(struct copier *c);
/* Copies like memmove. */
void copier_move(struct copier *c, char *to, const char *from, size_t len);

#endif
