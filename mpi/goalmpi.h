/* SPDX-License-Identifier: BSD-3-Clause
 * Persistent collectives of MPI, served by schedules. The files of this folder do what is the same for all MPI libraries.
 * They are compiled once for each library, with its mpi.h, and call it by PMPI_ names. The folders in it are the fronts:
 * mpich/ is a library of wrappers around MPI_ functions, openmpi/ is a component of Open MPI. A front passes a call of
 * MPI_*_init to gm_init. If that makes no request, the front makes the same call of the MPI library itself. */
#ifndef MPI_GOALMPI_H
#define MPI_GOALMPI_H

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>

enum gm_coll {
#define X(NAME, name, send, recv, flags) GM_##NAME,
#include "mpi/collectives.def"
#undef X
	GM_COLLS
};

/* Counts or displacements, as the caller has them: `at` is an array of int, or of MPI_Count or MPI_Aint if `wide`. */
struct gm_ints {
	const void *at;
	bool wide;
};

/* What a rank sends or receives. Which fields count depends on the collective, see collectives.def. */
struct gm_side {
	void *buf; /* MPI_IN_PLACE is allowed as in MPI */
	MPI_Count count; /* ONE, EACH */
	MPI_Datatype type;
	struct gm_ints counts, displs; /* VECTOR. With SEPARATE, displacements are in bytes. MPI_Reduce_scatter has no displs */
	const MPI_Datatype *types; /* SEPARATE */
};
/* A side with one count. Buffers are passed on, and never written to where MPI says const. */
#define GM_BLOCK(b, n, t) { .buf = (void *)(uintptr_t)(b), .count = (n), .type = (t) }

/* A call of MPI_*_init. MPI_Bcast has its buffer in `send`. Reductions have their type in `send`, MPI_Reduce_scatter has its
 * counts in `recv`. The arrays need to live only as long as the call. */
struct gm_call {
	enum gm_coll coll;
	struct gm_side send, recv;
	int root;
	MPI_Op op;
	MPI_Comm comm;
	MPI_Info info;
};

struct gm_request;

/* Makes a request, collectively over the communicator. Returns MPI_SUCCESS with *out, or with *out == NULL if the call is not
 * for us, on all ranks alike. Else returns an error class of MPI: the call is for us, but cannot be served, because the
 * schedule that the user has asked for is wrong. */
int gm_init(const struct gm_call *call, struct gm_request **out);

/* How many persistent collectives have been made: served, and left to the MPI library. */
struct gm_totals {
	_Atomic unsigned long long served, left;
};
extern struct gm_totals gm_totals;

/* True if collectives that do not block are to be served. */
bool gm_nbc_on(void);
/* Makes a communicator known, collectively, so that such calls on it are served. It may be MPI_COMM_NULL. */
void gm_nbc_comm(MPI_Comm comm);
/* Makes an active request of such a call: MPI_I*. Local. As gm_init otherwise. The request cannot be started again. */
int gm_once_start(const struct gm_call *call, struct gm_request **out);
/* True for a request of gm_once_start: it is freed when it is complete. */
bool gm_is_once(const struct gm_request *r);

/* Starts a request. Local. Returns an error class of MPI, as all functions below that return int: MPI_ERR_REQUEST if it is active. */
int gm_start(struct gm_request *r);
/* *flag: true if the request is not active, or complete; then it is no longer active. Any thread may call this, but only one
 * at a time for one request. Makes progress on all active requests of the process. */
int gm_test(struct gm_request *r, bool *flag);
/* Waits until the request is complete. Calls gm_native_progress now and then. */
int gm_wait(struct gm_request *r);
/* Waits until done(arg) returns another number than 0: for requests and for other things at once. `done` tests all of them. */
void gm_wait_until(int (*done)(void *arg), void *arg);
/* Like gm_test, but the request stays active. */
int gm_peek(struct gm_request *r, bool *flag);
bool gm_active(const struct gm_request *r);
/* The communicator of the request, for error handlers. If the program has freed it, that of gm_local_comm. */
MPI_Comm gm_comm(const struct gm_request *r);
/* Frees a request. If it is active, it is freed once it is complete. */
void gm_free(struct gm_request *r);

/* Allocates memory that other ranks load from and store to directly, when it is bound to requests. It is zeroed, and aligned to
 * 64 bytes. Loads the library and makes its context, if that was not done. Returns NULL if there is no such memory. */
void *gm_memory_alloc(size_t size);
/* Frees such memory. A request may be bound to it that is not started any more. Returns false if the memory is not of
 * gm_memory_alloc. Fast if there is none of it. */
bool gm_memory_free(void *mem);
/* True if MPI_Alloc_mem should allocate such memory: GOAL_MPI_ALLOC says so, or the program has persistent collectives. */
bool gm_memory_wanted(void);

/* What a front provides. Makes the MPI library progress once. Called in threads that wait in gm_wait. */
void gm_native_progress(void);
/* A communicator for local calls, such as MPI_Pack, that is valid while the handle of a request on `comm` exists. */
MPI_Comm gm_local_comm(MPI_Comm comm);
/* True if the MPI library can apply operations by itself: MPI_Reduce_local. */
bool gm_applies_ops(void);
/* Keeps an operation from being freed while a request uses it, and lets it go. */
void gm_op_retain(MPI_Op op);
void gm_op_release(MPI_Op op);

/* True while this thread is in a call of the MPI library that a request of ours has made, and holds its turn: then a front that
 * the MPI library calls back must leave all requests alone. */
bool gm_inside(void);

/* Called once, after MPI has been initialised. Does little: all else is made by the first gm_init. */
void gm_begin(void);
/* Called before MPI is finalized. Frees what is left, and prints the statistics if GOAL_MPI_STATS is set. */
void gm_end(void);

#endif
