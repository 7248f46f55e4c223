/* SPDX-License-Identifier: BSD-3-Clause
 * The transport of a group on one rank, which the groups split from it share. The runtime makes and frees it, the backend that
 * sends through it chooses the tags. */
#ifndef BACKENDS_TRANSPORT_H
#define BACKENDS_TRANSPORT_H

#include "include/mpix_sched_transport.h"
#include "util/mem.h"

#include <pthread.h>
#include <stdatomic.h>

/* Successive tags that a request has reserved. */
struct be_tags {
	uint32_t first, n;
};

struct be_transport {
	_Atomic uint32_t refs; /* groups */
	struct MPIX_Sched_transport of;
	pthread_mutex_t lock; /* protects the fields below */
	VEC(struct be_tags) taken; /* ascending */
	uint32_t next; /* the tag behind those that were reserved last */
};

#endif
