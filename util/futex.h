/* SPDX-License-Identifier: BSD-3-Clause
 * Futexes in memory shared between processes. */
#ifndef UTIL_FUTEX_H
#define UTIL_FUTEX_H

#include "util/clock.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Sleeps while *word equals value, for at most ns nanoseconds. Returns 0 when woken, or -1 with errno set. */
static inline long futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
	const struct timespec t = clock_timespec(ns);

	return syscall(SYS_futex, word, FUTEX_WAIT, value, &t, NULL, 0);
}

/* Wakes at most n sleepers and returns how many it woke. */
static inline long futex_wake(_Atomic uint32_t *word, int n)
{
	return syscall(SYS_futex, word, FUTEX_WAKE, n, NULL, NULL, 0);
}

#endif
