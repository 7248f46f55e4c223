/* SPDX-License-Identifier: BSD-3-Clause
 * Copies by two threads, where there are CPUs for both: the interfaces of a node are one process, and its ranks have more. */
#ifndef GOALRUN_NIC_COPIER_H
#define GOALRUN_NIC_COPIER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct copier {
	/* The chunks of the copy at hand that nobody has taken: the first, the end above it, and above that its number. */
	_Alignas(64) _Atomic uint64_t ticket;
	char *to;
	const char *from;
	size_t len;
	_Alignas(64) _Atomic uint32_t copied; /* chunks, by the helper, of all copies */
	_Atomic bool asleep, stop;
	bool tried, running;
	pthread_t helper;
	pthread_mutex_t lock;
	pthread_cond_t wake;
};

/* A zeroed copier needs no more; the helper is there from the first large copy on. */
void copier_fini(struct copier *c);
/* As memmove. */
void copier_move(struct copier *c, char *to, const char *from, size_t len);

#endif
