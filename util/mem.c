/* SPDX-License-Identifier: BSD-3-Clause
 * Allocation and growable arrays. */
#include "util/mem.h"

#include <stdlib.h>
#include <string.h>

/* Size in bytes up to which glibc serves malloc, but not calloc, from the thread's own cache. */
#define SMALL ((size_t)1024)

#ifdef GOAL_ALLOC_HOOK
/* Test builds define this function; it returns true if the next allocation is to fail. */
int GOAL_ALLOC_HOOK(size_t size);
#else
#define GOAL_ALLOC_HOOK(size) 0
#endif

void *mem_alloc(size_t size)
{
	if (GOAL_ALLOC_HOOK(size))
		return NULL;
	return malloc(size ? size : 1);
}

void *mem_calloc(size_t n, size_t size)
{
	void *p;

	if (GOAL_ALLOC_HOOK(size))
		return NULL;
	n = n ? n : 1;
	if (n > SMALL || size > SMALL || n * size > SMALL)
		return calloc(n, size);
	p = malloc(n * size);
	__asm__("" : "+r"(p)); /* keeps the compiler from merging malloc and memset into calloc */
	return p ? memset(p, 0, n * size) : NULL;
}

void *mem_resize(void *p, size_t n, size_t size)
{
	if (GOAL_ALLOC_HOOK(size) || (n && size > SIZE_MAX / n))
		return NULL;
	return realloc(p, n && size ? n * size : 1);
}

int vec_grow(void **at, size_t *cap, size_t want, size_t size)
{
	if (want <= *cap)
		return 0;
	size_t more = *cap ? *cap + *cap / 2 : 8;

	if (more < want)
		more = want;
	void *p = mem_resize(*at, more, size);

	if (!p)
		return -ERR_NOMEM;
	*at = p;
	*cap = more;
	return 0;
}

int vec_append(void **at, size_t *n, size_t *cap, const void *from, size_t count, size_t size)
{
	if (*n + count > *cap && vec_grow(at, cap, *n + count, size))
		return -ERR_NOMEM;
	if (count)
		memcpy((char *)*at + *n * size, from, count * size);
	*n += count;
	return 0;
}
