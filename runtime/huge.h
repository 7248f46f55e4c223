/* SPDX-License-Identifier: BSD-3-Clause
 * Huge pages under long buffers of the program: GOAL_HUGE (huge.c). */
#ifndef RUNTIME_HUGE_H
#define RUNTIME_HUGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mpix_sched_request;

#define RT_HUGE_SEEN 16u /* buffers that a context remembers */

/* What a context knows of huge pages. */
struct rt_huge {
	_Atomic bool works; /* pages are made: GOAL_HUGE and the administrator allow it, and the system has not run out of them */
	uint64_t since; /* when the context was made, ns */
	_Atomic uint64_t spent; /* time that pages have taken, ns */
	/* The buffers that were bound last, in turn; protected by the lock of the context */
	struct {
		const void *ptr;
		uint64_t elements;
	} seen[RT_HUGE_SEEN];
	unsigned next;
};

/* The next page of a request. */
struct rt_page {
	uint32_t buffer;
	size_t done; /* bytes of that buffer's pages before this one */
	uint32_t epochs; /* since pages were made last */
};

/* Makes pages under the buffers that a request has got, unless they have been bound before; and says in req->makes_pages whether some may
 * be left. */
void rt_huge_bind(struct mpix_sched_request *req);
/* Makes some of those at the end of an epoch, if it is time for it. Called at the end of each while req->makes_pages is true. */
void rt_huge_go_on(struct mpix_sched_request *req);

#endif
