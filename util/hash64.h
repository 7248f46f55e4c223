/* SPDX-License-Identifier: BSD-3-Clause
 * Pseudorandom numbers, the same in every run. */
#ifndef UTIL_HASH64_H
#define UTIL_HASH64_H

#include <stdint.h>

/* Mixes the bits of x, as the finaliser of a hash function does. The function is a bijection, and flipping one bit of x
 * flips about half of the bits of the result. */
static inline uint64_t hash64(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x7fb5d329728ea185;
	x ^= x >> 27;
	x *= 0x81dadef4bc2dd44d;
	return x ^ x >> 33;
}

#endif
