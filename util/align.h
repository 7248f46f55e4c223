/* SPDX-License-Identifier: BSD-3-Clause
 * Rounding up to a multiple. */
#ifndef UTIL_ALIGN_H
#define UTIL_ALIGN_H

#include <stddef.h>

/* Returns the smallest multiple of `to` (a power of two) that is at least n. */
static inline size_t align_up(size_t n, size_t to)
{
	return (n + to - 1) & ~(to - 1);
}

#endif
