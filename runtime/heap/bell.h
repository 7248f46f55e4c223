/* SPDX-License-Identifier: BSD-3-Clause
 * Bells: a thread sleeps until another rank has stored something (bell.c). */
#ifndef RUNTIME_HEAP_BELL_H
#define RUNTIME_HEAP_BELL_H

#include "backends/backend.h"

#include <unistd.h>

/* True if the kernel has membarrier, with which a sleeper orders the stores of other processes. */
bool rt_bell_known(void);
/* Registers this process, so that sleepers can order its stores. Returns false if it has to order them itself. */
bool rt_bell_register(void);
/* Announces that the caller is about to sleep, after one more check. Returns the count to pass to the sleep. asks: as in
 * struct rt_door. */
uint32_t rt_bell_arm(struct be_bell *b, bool asks);
/* Sleeps for at most `ns` nanoseconds, while the bell's count equals `seen`, the value that rt_bell_arm returned. Returns
 * true if the bell was rung. */
bool rt_bell_sleep(struct be_bell *b, uint32_t seen, uint64_t ns);
/* Withdraws the announcement of rt_bell_arm. Each rt_bell_arm needs one rt_bell_disarm. */
void rt_bell_disarm(struct be_bell *b);
/* Like rt_bell_sleep, but empties the eventfd fd[0] first, and also wakes when fd[0] or fd[1] can be read. */
bool rt_bell_sleep_on(struct be_bell *b, uint32_t seen, uint64_t ns, const int fd[2]);

/* Adds 1 to an eventfd, which wakes its reader. Does nothing if the descriptor is negative. */
static inline void rt_event_ring(int fd)
{
	const uint64_t one = 1;

	if (fd >= 0 && write(fd, &one, sizeof one) < 0)
		return; /* the counter of the eventfd is full, so its reader is awake */
}

#endif
