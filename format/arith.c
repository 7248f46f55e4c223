/* SPDX-License-Identifier: BSD-3-Clause
 * The arithmetic functions of format/read.h that are called and not inlined. Freestanding. */
#include "format/arith.h"

#include "format/read.h"

int bin_arith(int op, int64_t x, int64_t y, int64_t *out)
{
	return apply_arith(op, x, y, out);
}

/* True if a^n < p. */
static bool power_below(uint64_t a, unsigned n, uint32_t p)
{
	uint64_t x = 1;

	while (n-- && x < p)
		x *= a;
	return x < p;
}

/* Finds, among all grids of p points in n dimensions, the one whose longest side is shortest. Returns that side's
 * length, or 0 if it is longer than `most`. The search tries the divisors of p in ascending order, from the n-th root of p
 * on; divisors beyond the square root are found as p / f. */
static uint32_t least_side(uint32_t p, unsigned n, uint32_t most, uint64_t *steps)
{
	uint32_t a = 0;

	if (p == 1 || n == 1)
		return p <= most ? p : 0;
	for (uint32_t bit = 1u << 31; bit; bit >>= 1)
		a += power_below((uint64_t)a + bit, n, p) ? bit : 0;
	for (a++; a <= most && (uint64_t)a * a <= p; a++, ++*steps)
		if (p % a == 0 && least_side(p / a, n - 1, a, steps))
			return a;
	for (uint32_t f = p / a; f && p / f <= most; f--, ++*steps)
		if (p % f == 0 && least_side(f, n - 1, p / f, steps))
			return p / f;
	return 0;
}

int bin_side(int64_t places, int64_t dims, int64_t *out, uint64_t *steps)
{
	if (places < 1 || places > UINT32_MAX || dims < 1)
		return -ERR_DOMAIN;
	/* A number of 32 bits has at most 31 prime factors, so more dimensions than 32 change nothing. */
	*out = least_side((uint32_t)places, dims < 32 ? (unsigned)dims : 32, (uint32_t)places, steps);
	return 0;
}
