/* SPDX-License-Identifier: BSD-3-Clause
 * The shared heap of a context: a memfd that only grows, allocated by first fit. The list of its blocks is in private
 * memory, where peers cannot damage it. */
#include "runtime/heap/heap.h"

#include "runtime/heap/bell.h"
#include "util/align.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* A block of a page or more begins with one. If a source and a target differ by a line or a few in their place in the page, some CPUs take
 * a load for one of what was just stored, and a copy takes half as long again. */
#define PAGE ((size_t)4096)
#define FILLED ((size_t)1 << 30) /* most bytes of a block that is present at once: of a longer one the program may touch little */

static void close_files(const struct rt_heap *h)
{
	if (h->fd >= 0)
		close(h->fd);
	if (h->event >= 0)
		close(h->event);
}

/* Makes the first pages of a mapped heap present, so that binds need not wait for them one by one. Fails before Linux 5.14, without
 * consequences. */
static void populate(char *base)
{
	const size_t all = (size_t)128 << 10;

	if (madvise(base, all, MADV_POPULATE_WRITE))
		return;
	/* A hypervisor may have page tables of its own, which only an access fills. This one changes nothing, whoever stores meanwhile. */
	for (size_t at = 0; at < all; at += PAGE)
		atomic_fetch_or_explicit((_Atomic char *)base + at, 0, memory_order_relaxed);
}

/* Maps `size` bytes of a heap's file from `off` on, a multiple of RT_HEAP_STEP, at an address that is reserved. */
static bool map_file(int fd, char *at, size_t off, size_t size)
{
	if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)off) == MAP_FAILED)
		return false;
	madvise(at, size, MADV_HUGEPAGE);
	if (!off)
		populate(at);
	return true;
}

char *rt_heap_map(int fd, size_t size)
{
	char *base = mem_reserve(size);

	if (base && !map_file(fd, base, 0, size)) {
		munmap(base, size);
		return NULL;
	}
	return base;
}

void rt_heap_fill(const struct rt_heap *h, char *at, size_t len)
{
	const uintptr_t first = align_up((uintptr_t)at, RT_HEAP_STEP), end = ((uintptr_t)at + len) / RT_HEAP_STEP * RT_HEAP_STEP;

	if (first >= end || atomic_load_explicit(&h->crowded, memory_order_relaxed))
		return;
	/* The kernel makes a huge page where one of its pages is present. */
	for (uintptr_t p = first; p < end; p += RT_HEAP_STEP)
		atomic_fetch_or_explicit((_Atomic char *)p, 0, memory_order_relaxed);
	mem_collapse((void *)first, end - first);
}

int rt_resize(int fd, size_t size)
{
	struct rlimit most;

	if (!getrlimit(RLIMIT_FSIZE, &most) && size > most.rlim_cur) { /* the kernel would send SIGXFSZ */
		errno = EFBIG;
		return -1;
	}
	return ftruncate(fd, (off_t)size);
}

struct rt_heap *rt_heap_new(bool watches)
{
	struct rt_heap *h = mem_calloc(1, sizeof *h);
	uint64_t door;
	int why = errno = ENOMEM; /* errno for failures that do not set it */

	if (!h)
		return NULL;
	atomic_init(&h->refs, 1);
	h->event = watches ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
	h->fd = memfd_create("goal-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if ((watches && h->event < 0) || h->fd < 0 || fcntl(h->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL)) {
		why = errno;
		goto err_files;
	}
	/* Reserves address space only. Reserves less if a limit or a tool forbids so much. */
	for (h->reserved = (size_t)1 << 38; h->reserved >= (size_t)1 << 28; h->reserved >>= 2) {
		h->base = mem_reserve(h->reserved);
		if (h->base)
			break;
	}
	if (!h->base)
		goto err_files;
	pthread_mutex_init(&h->lock, NULL);
	errno = ENOMEM;
	if (!rt_heap_alloc(h, sizeof(struct rt_door), &door)) {
		why = errno;
		rt_heap_unref(h);
		errno = why;
		return NULL;
	}
	h->blocks.at[0].bound = 1; /* the bells are never freed */
	rt_heap_door(h)->asks = !rt_bell_known();
	return h;
err_files:
	close_files(h);
	free(h);
	errno = why;
	return NULL;
}

void rt_heap_unref(struct rt_heap *h)
{
	if (!h || atomic_fetch_sub(&h->refs, 1) != 1)
		return;
	munmap(h->base, h->reserved);
	close_files(h);
	pthread_mutex_destroy(&h->lock);
	VEC_FREE(&h->blocks);
	free(h);
}

uint64_t rt_heap_reach(uint64_t end)
{
	return align_up(end, RT_HEAP_STEP);
}

static bool grow_heap(struct rt_heap *h, size_t need)
{
	size_t size = rt_heap_reach(need);

	if (size <= h->size)
		return true;
	if (size > h->reserved || rt_resize(h->fd, size))
		return false;
	if (!map_file(h->fd, h->base + h->size, h->size, size - h->size))
		return false;
	h->size = size;
	return true;
}

/* Splits block i, so that it has `len` bytes and the rest follows as a block of its own. */
static bool split_block(struct rt_heap *h, size_t i, size_t len)
{
	struct rt_block *b;

	if (h->blocks.at[i].len == len)
		return true;
	if (VEC_RESERVE(&h->blocks, h->blocks.n + 1))
		return false;
	b = &h->blocks.at[i];
	memmove(b + 1, b, (h->blocks.n - i) * sizeof *b);
	h->blocks.n++;
	b[1].off += len;
	b[1].len -= len;
	b->len = len;
	return true;
}

static void merge_next(struct rt_heap *h, size_t i)
{
	struct rt_block *b = &h->blocks.at[i];

	if (i + 1 >= h->blocks.n || b->used || b[1].used)
		return;
	b->len += b[1].len;
	memmove(b + 1, b + 2, (h->blocks.n - i - 2) * sizeof *b);
	h->blocks.n--;
}

/* Returns the bytes from `off` on that a block of `len` bytes leaves out. */
static size_t gap_before(uint64_t off, size_t len)
{
	return len < PAGE ? 0 : align_up(off, PAGE) - off;
}

/* clear: true if the block has to be zero, and as much of it as can be in huge pages */
static void *take_block(struct rt_heap *h, size_t len, bool clear, uint64_t *off)
{
	const size_t size = h->size;
	uint64_t end = h->blocks.n ? h->blocks.at[h->blocks.n - 1].off + h->blocks.at[h->blocks.n - 1].len : 0;
	const size_t gap = gap_before(end, len);

	while (h->full < h->blocks.n && h->blocks.at[h->full].used)
		h->full++;
	for (size_t i = h->full; i < h->blocks.n; i++) {
		struct rt_block *b = &h->blocks.at[i];
		const size_t skip = gap_before(b->off, len);

		if (b->used || b->len < skip || b->len - skip < len)
			continue;
		if (skip && !split_block(h, i++, skip))
			return NULL;
		if (!split_block(h, i, len)) {
			merge_next(h, i - !!skip);
			return NULL;
		}
		b = &h->blocks.at[i];
		b->used = true;
		*off = b->off;
		return clear ? memset(h->base + b->off, 0, len) : h->base + b->off;
	}
	/* Beyond the last block the file has never been written: it is zero. */
	if (len > SIZE_MAX / 2 || !grow_heap(h, end + gap + len) || VEC_RESERVE(&h->blocks, h->blocks.n + 2))
		return NULL;
	if (gap)
		(void)VEC_PUSH(&h->blocks, (struct rt_block){ .off = end, .len = gap });
	(void)VEC_PUSH(&h->blocks, (struct rt_block){ .off = end + gap, .len = len, .used = true });
	if (clear && len >= RT_HEAP_STEP && len <= FILLED)
		rt_heap_fill(h, h->base + size, h->size - size);
	*off = end + gap;
	return h->base + end + gap;
}

static void *alloc_block(struct rt_heap *h, size_t size, bool clear, uint64_t *off)
{
	void *p;

	pthread_mutex_lock(&h->lock);
	p = take_block(h, rt_heap_room(size), clear, off);
	pthread_mutex_unlock(&h->lock);
	return p;
}

void *rt_heap_alloc(struct rt_heap *h, size_t size, uint64_t *off)
{
	return alloc_block(h, size, true, off);
}

void *rt_heap_alloc_scratch(struct rt_heap *h, size_t size, uint64_t *off)
{
	return alloc_block(h, size, false, off);
}

/* Returns the index of the block that contains an offset, by bisection; n if none does. */
static size_t find_block(const struct rt_heap *h, uint64_t off)
{
	size_t lo = 0, hi = h->blocks.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (h->blocks.at[mid].off + h->blocks.at[mid].len <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void *rt_heap_alloc_row(struct rt_heap *h, size_t size, uint32_t n, uint64_t *off)
{
	const size_t len = rt_heap_room(size);
	char *p = NULL;

	if (len > SIZE_MAX / 2 / n)
		return NULL;
	pthread_mutex_lock(&h->lock);
	if (!VEC_RESERVE(&h->blocks, h->blocks.n + 2 + n)) /* so nothing below runs out of memory for the list */
		p = take_block(h, n * len, true, off);
	for (size_t i = p ? find_block(h, *off) : 0; p && --n; i++)
		split_block(h, i, len);
	pthread_mutex_unlock(&h->lock);
	return p;
}

static bool ptr_in_heap(const struct rt_heap *h, const void *ptr)
{
	return (const char *)ptr >= h->base && (const char *)ptr < h->base + h->size;
}

/* Returns the index of the block in use that begins at ptr; the number of blocks if there is none. The caller holds the lock. */
static size_t find_used(const struct rt_heap *h, const void *ptr)
{
	const uint64_t off = ptr_in_heap(h, ptr) ? (uint64_t)((const char *)ptr - h->base) : UINT64_MAX;
	const size_t i = off == UINT64_MAX ? h->blocks.n : find_block(h, off);

	return i < h->blocks.n && h->blocks.at[i].off == off && h->blocks.at[i].used ? i : h->blocks.n;
}

int rt_heap_free(struct rt_heap *h, void *ptr)
{
	int err = -ERR_ARG;
	size_t i;

	pthread_mutex_lock(&h->lock);
	i = find_used(h, ptr);
	if (i < h->blocks.n) {
		err = h->blocks.at[i].bound ? -ERR_STATE : 0;
		if (!err) {
			h->blocks.at[i].used = false;
			merge_next(h, i);
			if (i)
				merge_next(h, i - 1);
			h->full = i < h->full ? i : h->full;
		}
	}
	pthread_mutex_unlock(&h->lock);
	return err;
}

size_t rt_heap_bytes(struct rt_heap *h, const void *ptr)
{
	size_t i, len;

	pthread_mutex_lock(&h->lock);
	i = find_used(h, ptr);
	len = i < h->blocks.n ? h->blocks.at[i].len : 0;
	pthread_mutex_unlock(&h->lock);
	return len;
}

bool rt_heap_bind(struct rt_heap *h, const void *ptr, size_t len, uint64_t *off)
{
	bool ok = false;

	pthread_mutex_lock(&h->lock);
	if (ptr_in_heap(h, ptr)) {
		size_t i;

		*off = (uint64_t)((const char *)ptr - h->base);
		i = find_block(h, *off);
		if (i < h->blocks.n && h->blocks.at[i].used &&
		    len <= h->blocks.at[i].off + h->blocks.at[i].len - *off) {
			h->blocks.at[i].bound++;
			ok = true;
		}
	}
	pthread_mutex_unlock(&h->lock);
	return ok;
}

void rt_heap_unbind(struct rt_heap *h, uint64_t off)
{
	pthread_mutex_lock(&h->lock);
	h->blocks.at[find_block(h, off)].bound--;
	pthread_mutex_unlock(&h->lock);
}
