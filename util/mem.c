/* SPDX-License-Identifier: BSD-3-Clause
 * Allocation and growable arrays. */
#include "util/mem.h"

#include "util/align.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* since Linux 6.1 */
#endif

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

size_t mem_bytes(const void *p)
{
	return malloc_usable_size((void *)(uintptr_t)p);
}

/* ---- large blocks ---- */

/* Smaller blocks have ordinary pages: the kernel clears a large page as a whole. */
#define LARGE_BLOCK (4 * MEM_LARGE_PAGE)

char *mem_reserve(size_t size)
{
	char *all = mmap(NULL, size + MEM_LARGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	const size_t before = all == MAP_FAILED ? 0 : -(uintptr_t)all & (MEM_LARGE_PAGE - 1);

	if (all == MAP_FAILED)
		return NULL;
	if (before)
		munmap(all, before);
	munmap(all + before + size, MEM_LARGE_PAGE - before);
	return all + before;
}

static size_t large_size(size_t size)
{
	return align_up(size, MEM_LARGE_PAGE);
}

void *mem_large(void *p, size_t old, size_t size)
{
	const size_t all = large_size(size);
	char *at;
	void *q;

	if (GOAL_ALLOC_HOOK(size) || size > SIZE_MAX / 2)
		return NULL;
	if (p && all == large_size(old))
		return p;
	at = mem_reserve(all);
	if (!at)
		return NULL;
	q = p ? mremap(p, large_size(old), all, MREMAP_MAYMOVE | MREMAP_FIXED, at) :
		mmap(at, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (q == MAP_FAILED) {
		munmap(at, all);
		return NULL;
	}
	if (all >= LARGE_BLOCK)
		madvise(q, all, MADV_HUGEPAGE); /* without large pages it is only slower */
	return q;
}

void mem_large_free(void *p, size_t size)
{
	if (p)
		munmap(p, large_size(size));
}

bool mem_is_present(const void *at, size_t len)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const uintptr_t begin = (uintptr_t)at / page * page;
	uintptr_t end = align_up((uintptr_t)at + len, page);
	unsigned char present[256];

	/* The last page first: what nobody has used seldom takes a second call. */
	for (size_t n = 1; end > begin; n = sizeof present) {
		n = (end - begin) / page < n ? (end - begin) / page : n;
		end -= n * page;
		if (mincore((void *)end, n * page, present))
			return false;
		for (size_t i = 0; i < n; i++)
			if (!(present[i] & 1))
				return false;
	}
	return true;
}

bool mem_may_collapse(void)
{
	const int fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
	char text[64] = "";
	bool may;

	if (fd < 0)
		return false;
	may = read(fd, text, sizeof text - 1) > 0 && !strstr(text, "[never]");
	close(fd);
	return may;
}

int mem_collapse(void *at, size_t len)
{
	return madvise(at, len, MADV_COLLAPSE) ? errno : 0;
}

/* ---- growable arrays ---- */

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
