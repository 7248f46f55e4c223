/* SPDX-License-Identifier: BSD-3-Clause
 * Bells: a thread sleeps on a futex until a peer rings. A peer rings after it has stored a word for which the thread may wait.
 *
 *   sleeper                                 ringer
 *   makes count odd, adds 1 to sleepers     stores the word
 *   membarrier                              loads sleepers; if 0, it is done
 *   checks the word once more               if count is odd, makes it even and wakes all
 *   sleeps while count is unchanged
 *
 * Without a barrier the two could miss each other: the ringer may load sleepers before other CPUs see its store. The sleeper has
 * time and the ringers have not, so the sleeper calls membarrier, which executes a barrier on the CPUs of the ringers. It reaches
 * processes that have registered for it. A ringer that could not register has a fence of its own (be_fence) between its store and its
 * load. All ringers do so, and the sleeper does without membarrier, if its kernel has none, or if it shares its core and sleeps often
 * (count_group in bootstrap.c). Ringers make count even, so that only one of many wakes the sleepers. tests/spin/wait.pml is the
 * Promela program of this protocol.
 *
 * If a device brings messages, too, a rank has an eventfd, which its peers got when the group was made. One of its threads sleeps
 * on the eventfd and on the device's descriptor, the others on the futex. A ringer writes to the eventfd and wakes the futex. */
#include "runtime/heap/bell.h"

#include "util/clock.h"
#include "util/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>

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
		membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED); /* cannot fail: `asks` is false only if the kernel has membarrier */
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

	/* A ring before this read has changed `count`. A ring after it makes the eventfd readable. */
	if (read(fd[0], &rung, sizeof rung) < 0 && errno != EAGAIN)
		return false;
	return atomic_load_explicit(&b->count, memory_order_acquire) != seen || ppoll(p, 2, &t, NULL) > 0;
}

void be_ring_sleepers(struct be_bell *b, int event)
{
	uint32_t seen = atomic_load_explicit(&b->count, memory_order_acquire);

	if (seen & 1 && atomic_compare_exchange_strong_explicit(&b->count, &seen, seen + 1, memory_order_acq_rel,
								memory_order_relaxed)) {
		futex_wake(&b->count, INT_MAX);
		rt_event_ring(event);
	}
}
