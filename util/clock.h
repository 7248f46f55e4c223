/* SPDX-License-Identifier: BSD-3-Clause
 * Time in nanoseconds. */
#ifndef UTIL_CLOCK_H
#define UTIL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns the time since some fixed moment in the past. Setting the system's clock does not change it. */
static inline uint64_t clock_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Returns the same time as it was some milliseconds ago at most, in a fraction of the time. */
static inline uint64_t clock_recent_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE);
}

/* Converts a duration to the form that system calls take. */
static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
}

#endif
