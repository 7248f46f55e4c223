/* SPDX-License-Identifier: BSD-3-Clause
 * The shared heap of a context: memory that peers can map (heap.c). */
#ifndef RUNTIME_HEAP_HEAP_H
#define RUNTIME_HEAP_HEAP_H

#include "backends/backend.h"
#include "util/mem.h"

#include <pthread.h>
#include <stdatomic.h>

#define RT_HEAP_LINE 64u /* alignment of blocks */
#define RT_HEAP_STEP MEM_LARGE_PAGE /* the file grows by multiples of this */

struct rt_block {
	uint64_t off;
	size_t len;
	bool used;
	uint32_t bound; /* number of requests that use the block */
};

/* First block of each heap: bells with which any peer that maps the heap can wake its rank. */
struct rt_door {
	struct be_bell bell[2]; /* bells of the rank's own threads, and of its communication core */
	/* True if ringers must order their stores themselves: the system has no membarrier, or this rank sleeps often (count_group in
	 * bootstrap.c). Does not change once a peer may have read it. */
	_Atomic bool asks;
};

/* The shared heap: one sealed memfd per context. Its owner maps it at a fixed address; peers map as much as they need. */
struct rt_heap {
	_Atomic uint32_t refs;
	int fd;
	int event; /* an eventfd that wakes the owner while it sleeps on descriptors; -1: the owner sleeps on its bell only */
	char *base;
	size_t reserved, size; /* bytes of reserved address space; bytes of the file */
	pthread_mutex_t lock;
	VEC(struct rt_block) blocks; /* blocks by ascending offset, without gaps */
	size_t full; /* the first so many blocks are in use */
	_Atomic bool crowded; /* ranks outnumber cores in a group of its context: nothing is filled */
};

/* Like ftruncate, but fails with EFBIG where RLIMIT_FSIZE forbids the size, instead of raising SIGXFSZ. */
int rt_resize(int fd, size_t size);
/* Creates a heap, with an eventfd if `watches` is true. On failure returns NULL and sets errno. */
struct rt_heap *rt_heap_new(bool watches);
static inline struct rt_door *rt_heap_door(const struct rt_heap *h)
{
	return (struct rt_door *)(void *)h->base;
}
void rt_heap_unref(struct rt_heap *h);
/* Maps the first `size` bytes of a heap's file, of which the first pages are present then, so that binds need not wait for them one by
 * one. Returns NULL on failure. */
char *rt_heap_map(int fd, size_t size);
/* Makes the huge pages present that are wholly in a mapped range of the heap, if the system has some. Where it does not, as before
 * Linux 6.1, the range is present page by page once it is accessed. The bytes stay as they are. */
void rt_heap_fill(const struct rt_heap *h, char *at, size_t len);
/* Returns how many bytes the file of a heap has at least if a block ends at `end`. A peer that maps the block maps them all. */
uint64_t rt_heap_reach(uint64_t end);
/* Allocates zeroed memory, aligned to 64 bytes, and stores its offset in *off. A block of 2 MiB to 1 GiB is filled (rt_heap_fill), unless
 * it has been in use before. Returns NULL when there is no more. */
void *rt_heap_alloc(struct rt_heap *h, size_t size, uint64_t *off);
/* Does the same without touching the memory, which may hold anything. */
void *rt_heap_alloc_scratch(struct rt_heap *h, size_t size, uint64_t *off);
/* Allocates n zeroed blocks for `size` bytes each, rt_heap_room(size) bytes apart. Each is freed by itself. */
void *rt_heap_alloc_row(struct rt_heap *h, size_t size, uint32_t n, uint64_t *off);
/* Returns the bytes that a block for `size` bytes takes, never 0; SIZE_MAX if it is too large. */
static inline size_t rt_heap_room(size_t size)
{
	return size > SIZE_MAX / 2 ? SIZE_MAX : (size + RT_HEAP_LINE) / RT_HEAP_LINE * RT_HEAP_LINE;
}
/* Frees a block. Returns 0, -ERR_ARG for a pointer that is not a block's, or -ERR_STATE while the block is bound. */
int rt_heap_free(struct rt_heap *h, void *ptr);
/* Returns the bytes of a block that is allocated; 0 for any other pointer. */
size_t rt_heap_bytes(struct rt_heap *h, const void *ptr);
/* Returns true if [ptr, ptr + len) is within one block. Then the block is bound, until rt_heap_unbind, and *off is the
 * offset of ptr. */
bool rt_heap_bind(struct rt_heap *h, const void *ptr, size_t len, uint64_t *off);
void rt_heap_unbind(struct rt_heap *h, uint64_t off);

#endif
