/* SPDX-License-Identifier: BSD-3-Clause
 * Memory of the shared heap for the program: other ranks load from it and store to it without a copy in between. */
#include "mpi/inner.h"

/* A block that the program has freed while a request was still bound to it. It holds this, as nobody uses it any more. */
struct late {
	struct late *next;
};

static struct {
	pthread_mutex_t lock;
	_Atomic size_t live; /* blocks that the program has, and late ones */
	struct late *first;
} memory = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Frees the late blocks whose requests are gone. */
static void free_late(void)
{
	pthread_mutex_lock(&memory.lock);
	for (struct late **at = &memory.first; *at;) {
		struct late *b = *at, *next = b->next;

		if (gm_lib.dealloc(gm_ctx(), b) == MPIX_SCHED_SUCCESS) {
			*at = next;
			atomic_fetch_sub(&memory.live, 1);
		} else {
			at = &b->next;
		}
	}
	pthread_mutex_unlock(&memory.lock);
}

void *gm_memory_alloc(size_t size)
{
	void *mem = NULL;

	if (!gm_ctx())
		return NULL;
	free_late();
	if (gm_lib.alloc(gm_ctx(), size, &mem))
		return NULL;
	atomic_fetch_add(&memory.live, 1);
	return mem;
}

bool gm_memory_free(void *mem)
{
	struct late *b = mem;
	int rc;

	if (!mem || !atomic_load_explicit(&memory.live, memory_order_relaxed))
		return false;
	free_late();
	rc = gm_lib.dealloc(gm_ctx(), mem);
	if (rc == MPIX_SCHED_SUCCESS) {
		atomic_fetch_sub(&memory.live, 1);
	} else if (rc == MPIX_SCHED_ERR_STATE) {
		pthread_mutex_lock(&memory.lock);
		b->next = memory.first;
		memory.first = b;
		pthread_mutex_unlock(&memory.lock);
	}
	return rc != MPIX_SCHED_ERR_ARG;
}

bool gm_memory_used(void)
{
	if (atomic_load(&memory.live))
		free_late();
	return atomic_load(&memory.live);
}
