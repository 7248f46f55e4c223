/* SPDX-License-Identifier: BSD-3-Clause
 * Handles of requests of ours. */
#include "mpi/mpich/table.h"
#include "mpi/mpich/front.h"

#include <pthread.h>
#include <stdlib.h>

enum { SLOTS_AT_FIRST = 64 };

_Atomic(struct gm_table *) gm_table;
MPI_Status gm_empty_status;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t used; /* slots of the table that are not empty */
static size_t live; /* slots of the table that hold handles */

/* Handles of requests that are freed, for later ones. MPICH 4.0 hangs in a persistent collective of its own whose request it
 * makes of the memory of a persistent receive that was freed, so ours are not freed. */
static struct {
	MPI_Request *at;
	size_t n, room;
} spares;

static struct gm_table *table_new(size_t slots, struct gm_table *older)
{
	struct gm_table *t = calloc(1, sizeof *t + slots * sizeof *t->slots);

	if (t) {
		t->mask = slots - 1;
		t->shift = 64 - (unsigned)__builtin_ctzl(slots);
		t->older = older;
	}
	return t;
}

/* Fills the first free slot on a key's way. The request is stored before the key, by which others find it. */
static void put(struct gm_table *t, uintptr_t key, struct gm_request *r)
{
	size_t i = gm_slot_first(t, key);

	while (t->slots[i].key > GM_SLOT_GONE)
		i = (i + 1) & t->mask;
	used += t->slots[i].key == GM_SLOT_EMPTY;
	live++;
	atomic_store_explicit(&t->slots[i].request, r, memory_order_relaxed);
	atomic_store_explicit(&t->slots[i].key, key, memory_order_release);
}

/* Returns a table with an empty slot in it at least half the time, or NULL if there is no memory. */
static struct gm_table *table_with_room(void)
{
	struct gm_table *old = gm_table, *t;
	size_t slots = old ? old->mask + 1 : SLOTS_AT_FIRST;

	if (old && 2 * (used + 1) <= slots)
		return old;
	t = table_new(old && 4 * live > slots ? 2 * slots : slots, old);
	if (!t)
		return NULL;
	used = live = 0;
	for (size_t i = 0; old && i <= old->mask; i++)
		if (old->slots[i].key > GM_SLOT_GONE)
			put(t, old->slots[i].key, old->slots[i].request);
	atomic_store_explicit(&gm_table, t, memory_order_release);
	return t;
}

static int table_add(MPI_Request h, struct gm_request *r)
{
	struct gm_table *t;

	pthread_mutex_lock(&lock);
	t = table_with_room();
	if (t)
		put(t, (uintptr_t)h, r);
	pthread_mutex_unlock(&lock);
	return t ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* No way leads over a slot before an empty one, so such slots become empty again: else a table in which requests come and go
 * would have none left, and those who look for native requests would search all of it. */
static void table_remove(MPI_Request h)
{
	struct gm_table *t;
	size_t i;

	pthread_mutex_lock(&lock);
	t = gm_table;
	i = gm_slot_first(t, (uintptr_t)h);
	while (t->slots[i].key != (uintptr_t)h)
		i = (i + 1) & t->mask;
	t->slots[i].key = GM_SLOT_GONE;
	live--;
	while (t->slots[i].key == GM_SLOT_GONE && t->slots[(i + 1) & t->mask].key == GM_SLOT_EMPTY) {
		t->slots[i].key = GM_SLOT_EMPTY;
		used--;
		i = (i - 1) & t->mask;
	}
	pthread_mutex_unlock(&lock);
}

/* Without MPI_Init, which programs with sessions need not call, there is no MPI_COMM_SELF. Then the handle of a request keeps the
 * communicator, even if the program frees that. */
MPI_Comm gm_local_comm(MPI_Comm comm)
{
	return gm_has_world() ? MPI_COMM_SELF : comm;
}

bool gm_applies_ops(void)
{
	return true;
}

static bool take_spare(MPI_Request *h)
{
	bool any;

	pthread_mutex_lock(&lock);
	any = spares.n > 0;
	if (any)
		*h = spares.at[--spares.n];
	pthread_mutex_unlock(&lock);
	return any;
}

/* A handle on another communicator than MPI_COMM_SELF would keep that, so it is freed. */
static void put_spare(MPI_Request h)
{
	bool kept = gm_has_world();

	pthread_mutex_lock(&lock);
	if (kept && spares.n == spares.room) {
		MPI_Request *more = realloc(spares.at, (2 * spares.room + 8) * sizeof *more);

		kept = more != NULL;
		spares.at = kept ? more : spares.at;
		spares.room = kept ? 2 * spares.room + 8 : spares.room;
	}
	if (kept)
		spares.at[spares.n++] = h;
	pthread_mutex_unlock(&lock);
	if (!kept)
		PMPI_Request_free(&h);
}

/* Makes a handle for a request. */
static int make_handle(MPI_Comm comm, struct gm_request *r, MPI_Request *request)
{
	MPI_Request h;
	int rc = MPI_SUCCESS;

	if (!take_spare(&h))
		rc = PMPI_Recv_init(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, gm_local_comm(comm), &h);
	if (rc != MPI_SUCCESS)
		return MPI_ERR_OTHER;
	rc = table_add(h, r);
	if (rc != MPI_SUCCESS)
		put_spare(h);
	else
		*request = h;
	return rc;
}

bool gm_serve(int (*make)(const struct gm_call *call, struct gm_request **out), const struct gm_call *call, MPI_Request *request,
	      int *rc)
{
	struct gm_request *r = NULL;

	if (!gm_running() || !request)
		return false;
	*rc = make(call, &r);
	if (*rc == MPI_SUCCESS && !r)
		return false;
	if (*rc == MPI_SUCCESS) {
		*rc = make_handle(call->comm, r, request);
		if (*rc != MPI_SUCCESS)
			gm_free(r);
	}
	if (*rc != MPI_SUCCESS)
		PMPI_Comm_call_errhandler(call->comm, *rc);
	return true;
}

/* The handle goes first: once the native request is free, another thread may get it as one of its own. */
int gm_handle_free(MPI_Request *request)
{
	table_remove(*request);
	put_spare(*request);
	*request = MPI_REQUEST_NULL;
	return MPI_SUCCESS;
}

void gm_handles_end(void)
{
	struct gm_table *t = gm_table, *older;

	for (size_t i = 0; t && i <= t->mask; i++) {
		MPI_Request h = (MPI_Request)t->slots[i].key;

		if (t->slots[i].key <= GM_SLOT_GONE)
			continue;
		PMPI_Request_free(&h);
		gm_free(t->slots[i].request);
	}
	while (spares.n)
		PMPI_Request_free(&spares.at[--spares.n]);
	free(spares.at);
	spares.at = NULL;
	spares.room = 0;
	gm_table = NULL;
	used = live = 0;
	for (; t; t = older) {
		older = t->older;
		free(t);
	}
}
