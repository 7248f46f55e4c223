/* SPDX-License-Identifier: BSD-3-Clause
 * Copies of long blocks, through the caches or past them. */
#ifndef BACKENDS_SHM_COPY_H
#define BACKENDS_SHM_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Copies n bytes past the caches: no line of the destination is loaded before it is stored, and other data stays in the caches. To
 * other threads the stores are as those of memcpy. Equals memcpy on CPUs other than x86. */
static inline void copy_past(char *restrict to, const char *restrict from, size_t n)
{
#ifdef __SSE2__
	size_t head = -(uintptr_t)to % 64;

	head = head < n ? head : n;
	memcpy(to, from, head); /* up to the first line that is stored whole */
	for (to += head, from += head, n -= head; n >= 64; to += 64, from += 64, n -= 64) {
		const __m128i *x = (const __m128i *)(const void *)from;
		const __m128i a = _mm_loadu_si128(x), b = _mm_loadu_si128(x + 1), c = _mm_loadu_si128(x + 2), d = _mm_loadu_si128(x + 3);
		__m128i *y = (__m128i *)(void *)to;

		_mm_stream_si128(y, a);
		_mm_stream_si128(y + 1, b);
		_mm_stream_si128(y + 2, c);
		_mm_stream_si128(y + 3, d);
	}
	_mm_sfence(); /* a release store orders other stores only */
#endif
	memcpy(to, from, n);
}

static inline void copy_long(char *restrict to, const char *restrict from, size_t n, bool past)
{
	if (past)
		copy_past(to, from, n);
	else
		memcpy(to, from, n);
}

#endif
