/* SPDX-License-Identifier: BSD-3-Clause
 * Allocation and growable arrays. Every allocation of the project goes through mem_alloc, mem_calloc or mem_resize, so that
 * tests can make the n-th one fail. */
#ifndef UTIL_MEM_H
#define UTIL_MEM_H

#include "util/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t size);
void *mem_calloc(size_t n, size_t size);
/* Resizes `p` to `n` elements, as realloc does. Returns NULL when out of memory; then `p` is still valid. */
void *mem_resize(void *p, size_t n, size_t size);
/* Returns the bytes of an allocation, rounded up as the C library does; 0 for NULL. */
size_t mem_bytes(const void *p);

#define MEM_LARGE_PAGE ((size_t)2 << 20) /* of x86-64, and usually of aarch64 */
/* Reserves addresses that begin where a large page of the machine may, to be mapped by the caller. Returns NULL if there are none. */
char *mem_reserve(size_t size);
/* Resizes a large block to `size` bytes, not 0; new bytes are 0. `p` is NULL, or a block of `old` bytes of this function. Large pages
 * of the machine hold it, where there are any: accesses to random places then rarely miss the cache of addresses. It moves without
 * being copied. Returns NULL when out of memory; then `p` is still valid. */
void *mem_large(void *p, size_t old, size_t size);
void mem_large_free(void *p, size_t size);
/* True if none of the pages of a mapped range has to be made: somebody has stored to each. */
bool mem_is_present(const void *at, size_t len);
/* True unless the administrator has forbidden large pages. */
bool mem_may_collapse(void);
/* Has the kernel make large pages of those in [at, at + len), multiples of MEM_LARGE_PAGE. Returns 0 or an error number of madvise(2);
 * EINVAL where there is nothing, or before Linux 6.1. */
int mem_collapse(void *at, size_t len);

/* A growable array of T: VEC(int) v = {0}; VEC_PUSH(&v, 3) returns 0 or -ERR_NOMEM. */
#define VEC(T)                \
	struct {              \
		T *at;        \
		size_t n, cap; \
	}
#define VEC_PUSH(v, ...)                                                                  \
	(VEC_RESERVE(v, (v)->n + 1) ? -ERR_NOMEM : ((v)->at[(v)->n++] = (__VA_ARGS__), 0))
#define VEC_RESERVE(v, want) \
	((want) <= (v)->cap ? 0 : vec_grow((void **)&(v)->at, &(v)->cap, (want), sizeof *(v)->at))
/* Appends `count` elements. Returns 0 or -ERR_NOMEM. */
#define VEC_APPEND(v, from, count) \
	vec_append((void **)&(v)->at, &(v)->n, &(v)->cap, (from), (count), sizeof *(v)->at)
#define VEC_FREE(v) (free((v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)

/* Grows *at to hold at least `want` elements. Returns 0 or -ERR_NOMEM. */
int vec_grow(void **at, size_t *cap, size_t want, size_t size);
int vec_append(void **at, size_t *n, size_t *cap, const void *from, size_t count, size_t size);

#endif
