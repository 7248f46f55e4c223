/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers that look random, and are the same in every run. */
#ifndef UTIL_MIX_H
#define UTIL_MIX_H

#include <stdint.h>

/* A bijection of shifts and multiplications, as the finalizers of hash functions are: each bit of x changes about half of
 * the bits. */
static inline uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x7fb5d329728ea185;
	x ^= x >> 27;
	x *= 0x81dadef4bc2dd44d;
	return x ^ x >> 33;
}

#endif
