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

#ifdef __SSE2__
struct copy_line {
	__m128i x[4];
};

static inline struct copy_line copy_load(const char *from)
{
	const __m128i *x = (const __m128i *)(const void *)from;

	return (struct copy_line){ { _mm_loadu_si128(x), _mm_loadu_si128(x + 1), _mm_loadu_si128(x + 2), _mm_loadu_si128(x + 3) } };
}

static inline void copy_store(char *to, struct copy_line l)
{
	__m128i *y = (__m128i *)(void *)to;

	_mm_store_si128(y, l.x[0]);
	_mm_store_si128(y + 1, l.x[1]);
	_mm_store_si128(y + 2, l.x[2]);
	_mm_store_si128(y + 3, l.x[3]);
}

static inline void copy_stream(char *to, struct copy_line l)
{
	__m128i *y = (__m128i *)(void *)to;

	_mm_stream_si128(y, l.x[0]);
	_mm_stream_si128(y + 1, l.x[1]);
	_mm_stream_si128(y + 2, l.x[2]);
	_mm_stream_si128(y + 3, l.x[3]);
}
#endif

/* Copies n bytes past the caches: no line of the destination is loaded before it is stored, and other data stays in the caches. To
 * other threads the stores are as those of memcpy. Equals memcpy on CPUs other than x86. */
static inline void copy_past(char *restrict to, const char *restrict from, size_t n)
{
#ifdef __SSE2__
	size_t head = -(uintptr_t)to % 64;

	head = head < n ? head : n;
	memcpy(to, from, head); /* up to the first line that is stored whole */
	for (to += head, from += head, n -= head; n >= 64; to += 64, from += 64, n -= 64)
		copy_stream(to, copy_load(from));
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

#define COPY_PART ((size_t)4096) /* bytes that stay in the nearest cache from one copy to the next */

/* Copies n bytes to a place whose address is a multiple of 16, as copy_long does, and past the caches to another one. */
static inline void copy_twice(char *restrict to, bool past, char *restrict other, const char *restrict from, size_t n)
{
	size_t part;

#ifdef __SSE2__
	for (; n >= 64 && (uintptr_t)other % 16 == 0; to += 64, other += 64, from += 64, n -= 64) {
		const struct copy_line l = copy_load(from);

		copy_stream(other, l);
		if (past)
			copy_stream(to, l);
		else
			copy_store(to, l);
	}
	_mm_sfence();
#endif
	for (; n; to += part, other += part, from += part, n -= part) {
		part = n < COPY_PART ? n : COPY_PART;
		copy_long(to, from, part, past);
		copy_past(other, from, part);
	}
}

#endif
