/* SPDX-License-Identifier: BSD-3-Clause
 * The shared heap of a context: memory that peers can map (heap.c). */
#ifndef RUNTIME_HEAP_H
#define RUNTIME_HEAP_H

#include "backends/backend.h"
#include "util/mem.h"

#include <pthread.h>
#include <stdatomic.h>

struct rt_block {
	uint64_t off;
	size_t len;
	bool used;
	uint32_t bound; /* requests that use it */
};

/* At the beginning of each heap, so that whoever reaches a rank can wake it. */
struct rt_door {
	struct be_bell bell[2]; /* as in struct be_bells */
	bool asks; /* the system gives its sleepers no membarrier */
};

/* One sealed memfd per context. Its owner sees it at one address for ever; peers map what they need. */
struct rt_heap {
	_Atomic uint32_t refs;
	int fd;
	int event; /* an eventfd that wakes its owner where that sleeps on descriptors; -1: it sleeps on its bell */
	char *base;
	size_t reserved, size; /* address space; bytes of the file */
	pthread_mutex_t lock;
	VEC(struct rt_block) blocks; /* ascending, without holes */
};

/* ftruncate, but where a limit of the process forbids the size: then EFBIG, and no signal. */
int rt_resize(int fd, size_t size);
/* NULL: errno says why. */
struct rt_heap *rt_heap_new(bool watches);
static inline struct rt_door *rt_heap_door(const struct rt_heap *h)
{
	return (struct rt_door *)(void *)h->base;
}
void rt_heap_unref(struct rt_heap *h);
/* Zeroed, 64-byte aligned; NULL when there is no more. */
void *rt_heap_alloc(struct rt_heap *h, size_t size, uint64_t *off);
/* 0, -ERR_ARG for a foreign pointer, -ERR_STATE while it is bound. */
int rt_heap_free(struct rt_heap *h, void *ptr);
/* Whether [ptr, ptr + len) lies in one allocation; then it counts as bound until rt_heap_unbind. */
bool rt_heap_bind(struct rt_heap *h, const void *ptr, size_t len, uint64_t *off);
void rt_heap_unbind(struct rt_heap *h, uint64_t off);

#endif
