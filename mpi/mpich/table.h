/* SPDX-License-Identifier: BSD-3-Clause
 * Which requests of the program are ours. The handle of a request of ours is a native persistent receive that is never started:
 * what we have no wrapper for treats it as an inactive request, and native functions ignore it in arrays. */
#ifndef MPI_MPICH_TABLE_H
#define MPI_MPICH_TABLE_H

#include "mpi/goalmpi.h"

#include <stdatomic.h>
#include <stdint.h>

/* A slot of an open hash table. The key is a handle, or one of these, which are no handles. */
enum { GM_SLOT_EMPTY = 0, GM_SLOT_GONE = 1 };

struct gm_slot {
	_Atomic uintptr_t key;
	_Atomic(struct gm_request *) request;
};

struct gm_table {
	size_t mask; /* number of slots - 1 */
	unsigned shift;
	struct gm_table *older; /* tables that this one has replaced: other threads may still read them */
	struct gm_slot slots[];
};

/* NULL until the first request of ours is made. */
extern _Atomic(struct gm_table *) gm_table;

static inline size_t gm_slot_first(const struct gm_table *t, uintptr_t key)
{
	return (size_t)((uint64_t)key * 0x9e3779b97f4a7c15u >> t->shift);
}

/* Returns the request of ours that has a handle, else NULL. Takes no lock: a program frees no request that it uses, so the slot
 * of its handle stays as it is while it is looked for. */
static inline struct gm_request *gm_find(const MPI_Request *request)
{
	struct gm_table *t = atomic_load_explicit(&gm_table, memory_order_acquire);
	uintptr_t key;

	if (__builtin_expect(!t, 1) || !request)
		return NULL;
	key = (uintptr_t)*request;
	for (size_t i = gm_slot_first(t, key);; i = (i + 1) & t->mask) {
		uintptr_t k = atomic_load_explicit(&t->slots[i].key, memory_order_acquire);

		if (k == key)
			return atomic_load_explicit(&t->slots[i].request, memory_order_relaxed);
		if (k == GM_SLOT_EMPTY)
			return NULL;
	}
}

/* Makes a request of ours by a function of goalmpi.h, and a handle for it. Returns false if the call is not for us; else *rc is
 * what the wrapper returns. */
bool gm_serve(int (*make)(const struct gm_call *call, struct gm_request **out), const struct gm_call *call, MPI_Request *request,
	      int *rc);
/* Forgets the handle of a request, frees it and sets it to MPI_REQUEST_NULL. */
int gm_handle_free(MPI_Request *request);
/* Frees all requests that the program has not freed, before MPI is finalized. */
void gm_handles_end(void);

/* The status of a request of ours that is complete, or of one that is not active. */
extern MPI_Status gm_empty_status;

#endif
