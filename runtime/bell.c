/* SPDX-License-Identifier: BSD-3-Clause
 * Bells: a futex that threads sleep on, and that is rung by who has stored something that they may wait for.
 *
 *   sleeper                                       ringer
 *   count odd, sleepers + 1                       stores the word
 *   membarrier                                    sleepers? if not, that is all
 *   looks for the word once more                  count odd? makes it even and wakes all
 *   sleeps while count is what it was
 *
 * Without the barrier both could miss each other: a store may still be on its way when the load behind it is done. It
 * is the sleeper who makes the ringers' cores have a barrier there, as it has time and they have not. membarrier reaches
 * processes that have registered. Where a sleeper's kernel has none, or a ringer could not register, that ringer adds 0
 * to sleepers in place of the load, which orders the two as well. Ringers make count even, so that of many only one
 * wakes. tests/spin/wait.pml is the model.
 *
 * Where a device brings messages as well a rank has an eventfd, which its peers got when they met. One of its threads
 * sleeps on that and on what the device has, the others on the futex; who rings writes to the one and wakes the other. */
#include "runtime/bell.h"

#include "util/clock.h"
#include "util/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0);
}

bool rt_bell_known(void)
{
	long commands = membarrier(MEMBARRIER_CMD_QUERY);

	return commands > 0 && commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED;
}

bool rt_bell_register(void)
{
	return rt_bell_known() && membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

uint32_t rt_bell_arm(struct be_bell *b, bool asks)
{
	uint32_t seen = atomic_load_explicit(&b->count, memory_order_acquire);

	while (!(seen & 1) && !atomic_compare_exchange_weak_explicit(&b->count, &seen, seen + 1, memory_order_acq_rel,
								      memory_order_acquire))
		;
	atomic_fetch_add_explicit(&b->sleepers, 1, memory_order_acq_rel);
	if (!asks)
		membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED); /* known, so that it cannot fail */
	return seen | 1;
}

void rt_bell_disarm(struct be_bell *b)
{
	atomic_fetch_sub_explicit(&b->sleepers, 1, memory_order_relaxed);
}

bool rt_bell_sleep(struct be_bell *b, uint32_t seen, uint64_t ns)
{
	return futex_wait(&b->count, seen, ns) == 0 || errno == EAGAIN;
}

bool rt_bell_sleep_on(struct be_bell *b, uint32_t seen, uint64_t ns, const int fd[2])
{
	const struct timespec t = clock_timespec(ns);
	struct pollfd p[2] = { { .fd = fd[0], .events = POLLIN }, { .fd = fd[1], .events = POLLIN } };
	uint64_t rung;

	/* Who has rung before this has changed the count; who rings from now on is heard. */
	if (read(fd[0], &rung, sizeof rung) < 0 && errno != EAGAIN)
		return false;
	return atomic_load_explicit(&b->count, memory_order_acquire) != seen || ppoll(p, 2, &t, NULL) > 0;
}

void host_ring(struct be_bell *b, int event)
{
	const uint64_t one = 1;
	uint32_t seen = atomic_load_explicit(&b->count, memory_order_acquire);

	if (seen & 1 && atomic_compare_exchange_strong_explicit(&b->count, &seen, seen + 1, memory_order_acq_rel,
								memory_order_relaxed)) {
		futex_wake(&b->count, INT_MAX);
		if (event >= 0 && write(event, &one, sizeof one) < 0)
			return; /* it has been rung so often that it is awake */
	}
}
