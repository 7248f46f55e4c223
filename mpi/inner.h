/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of this folder share; fronts do not include it. */
#ifndef MPI_INNER_H
#define MPI_INNER_H

#include "include/mpix_sched.h"
#include "mpi/goalmpi.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* ---- collectives (init.c) ---- */

enum gm_blocks { GM_NO, GM_ONE, GM_EACH, GM_VECTOR };
enum gm_flags {
	GM_ROOT = 1,
	GM_SENDS = 2,
	GM_RECEIVES = 4,
	GM_REDUCES = 8,
	GM_SEPARATE = 16,
	GM_NEAR = 32,
	GM_EITHER = 64,
};

struct gm_spec {
	const char *name; /* of the collective, as schedules call it: "MPI_Bcast" */
	enum gm_blocks send, recv;
	unsigned flags;
};
extern const struct gm_spec gm_specs[GM_COLLS];

/* ---- communicators (comm.c) ---- */

/* What is known of a communicator: its ranks as a group, and its topology. Kept as an attribute of the communicator. Requests
 * hold references, because the communicator may be freed before they are. */
struct gm_comm {
	_Atomic unsigned refs;
	_Atomic bool freed; /* the communicator is gone */
	MPI_Comm comm;
	bool spread; /* the ranks are on several nodes */
	MPI_Comm wire; /* the same ranks, for messages between nodes; MPI_COMM_NULL if there are no such messages */
	MPIX_Sched_group group; /* NULL if none could be made: then nothing on this communicator is for us */
	bool chosen; /* all ranks have the same choices of schedules in their environment; if not, these have no effect */
	int rank, size;
	enum MPIX_Sched_topology topology;
	/* Neighbours: of a grid, or lists. Without a topology, all are empty. A source or destination may be MPI_PROC_NULL. */
	int64_t ndims, *dims, *periods;
	int64_t nsources, *sources, ndests, *dests;
	struct gm_nbc *nbc; /* NULL: collectives that do not block are not served */
};

/* Returns what is known of an intracommunicator, with a reference for the caller. Collective at its first call for a
 * communicator. Returns NULL if there is no memory. */
struct gm_comm *gm_comm_of(MPI_Comm comm);
/* The same if it is known already, without a reference; else NULL. Local. */
struct gm_comm *gm_comm_known(MPI_Comm comm);
void gm_comm_unref(struct gm_comm *c);
int gm_comms_begin(void);
void gm_comms_end(void);

/* If the group's ranks are on several nodes, and it has no RDMA devices for that, lets it send messages between nodes by MPI
 * (transport.c). Collective. If it fails, schedules with such messages cannot be bound. */
void gm_transport_set(struct gm_comm *c);
/* True if threads of ours may call MPI: at MPI_THREAD_MULTIPLE. */
bool gm_any_thread(void);

/* ---- datatypes and operations (types.c) ---- */

/* True if the elements of a type follow each other without gaps, in the order of its signature: n of them are n * size bytes. */
bool gm_dense(MPI_Datatype type);
/* Finds the basic element of the library that is the same as a predefined type. */
bool gm_basic(MPI_Datatype type, enum MPIX_Sched_basic *basic);
/* Finds the operation of the library that is the same as a predefined one. *known: false if `op` is not predefined. Returns
 * false if the library does not have it for this element. */
bool gm_builtin(MPI_Op op, enum MPIX_Sched_basic basic, enum MPIX_Sched_builtin *builtin);
bool gm_predefined(MPI_Op op);

/* ---- staging (stage.c) ---- */

/* A part of a user's buffer that is packed into, or unpacked from, memory without gaps. */
struct gm_piece {
	MPI_Aint from; /* offset in the user's buffer, in bytes */
	int64_t at; /* offset in the staging memory, in bytes */
	int64_t count; /* elements */
	uint32_t type; /* index of the datatype in gm_stage.types */
	bool packs, unpacks; /* copied at start, copied at completion */
};

/* Any address but that of MPI_BOTTOM, aligned for all types. */
#define GM_BIAS 4096

/* Staging memory of one side of a request, whose data has gaps or is in another order than the schedule's. */
struct gm_stage {
	char *mem; /* NULL if the side needs no staging */
	bool private; /* `mem` is not of the shared heap */
	char *user; /* the user's buffer, plus `bias` */
	MPI_Aint bias; /* subtracted from the displacements of the datatypes: MPI_Pack of MPICH refuses MPI_BOTTOM */
	struct gm_piece *pieces;
	size_t npieces;
	MPI_Comm comm; /* for MPI_Pack, which does not communicate */
	MPI_Datatype *types; /* duplicates, which may outlive the user's */
	size_t ntypes;
	bool raw; /* elements keep their layout: MPI_Reduce_local must see the user's datatype */
};

/* Adds a duplicate of a datatype. Returns an error class of MPI. */
int gm_stage_type(struct gm_stage *s, MPI_Datatype type);
int gm_stage_pack(const struct gm_stage *s);
int gm_stage_unpack(const struct gm_stage *s);
void gm_stage_free(struct gm_stage *s);

/* ---- requests (request.c) ---- */

enum { GM_SEND, GM_RECV };

struct gm_request {
	MPIX_Sched_request req;
	struct gm_comm *comm;
	enum gm_coll coll;
	struct gm_once *once; /* NULL for a persistent request; else req is NULL, and this is the call */
	bool active; /* started, and not yet tested or waited for; belongs to the thread that uses the request */
	bool unpacked; /* a call that keeps the request active has found it complete, and what is staged is unpacked, with this result: */
	int unpack_err;
	bool plain; /* a start and a wait are those of the library: persistent, without stages or statistics */
	struct gm_record *record; /* statistics of its schedule; NULL if none are kept */
	struct gm_stage stage[2];
	bool calls; /* its operation calls MPI, which only the program's threads may do */
	MPI_Op op; /* operation that MPI_Reduce_local applies; MPI_OP_NULL if the library's own does */
	MPI_Datatype type; /* its duplicate of the datatype; MPI_DATATYPE_NULL if op is null */
	struct gm_request *next; /* in the list of active requests that the user has freed */
	uint64_t started; /* ns, while statistics are kept */
};

uint64_t gm_now_ns(void);
/* Frees a request that is not active. */
void gm_request_free(struct gm_request *r);
/* Unpacks what is staged, when the program is first told that the request is complete. Returns an error class of MPI. */
int gm_unpack(struct gm_request *r);
/* Frees those requests that were active when the user freed them, and are complete. */
void gm_reap(void);

/* ---- collectives that do not block (nbc.c, once.c) ---- */

/* Waits until no thread binds. Returns false if that takes too long: then the context has to stay. */
bool gm_nbc_end(void);
struct gm_nbc *gm_nbc_new(struct gm_comm *c);
void gm_nbc_free(struct gm_nbc *n);
/* Waits until all is bound. To be called before anything else is bound in the communicator's group. */
void gm_nbc_drain(struct gm_nbc *n);
/* Starts calls that wait for an earlier one, if that is complete. Returns how many wait still. */
int gm_nbc_progress(void);
/* As gm_test, gm_peek (keeps) and gm_wait. */
int gm_once_test(struct gm_request *r, bool *flag, bool keeps);
int gm_once_wait(struct gm_request *r);

/* ---- progress without the program's help (helper.c) ---- */

/* Starts the thread, if it is not there. */
void gm_helper_begin(void);
void gm_helper_end(void);
/* Adds step to the number of active requests during which the thread makes no progress. Waits until it makes none. */
void gm_helper_stays_out(int step);
extern struct gm_helper {
	_Atomic bool sleeps;
	_Atomic uint64_t starts; /* so far; two threads that add to it at once may count once */
} gm_helper;
void gm_helper_wake(void);
/* Tells the thread that a request has been started. */
static inline void gm_helper_started(void)
{
	atomic_store_explicit(&gm_helper.starts, atomic_load_explicit(&gm_helper.starts, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	if (__builtin_expect(atomic_load_explicit(&gm_helper.sleeps, memory_order_relaxed), 0))
		gm_helper_wake();
}

/* ---- statistics (stats.c) ---- */

/* What became of a call: it was served, left to the MPI library, or the schedule of the user's choice was refused. */
enum gm_outcome { GM_SERVED, GM_LEFT, GM_REFUSED };

/* What is counted of one schedule, or of one reason why calls were not served. */
struct gm_record {
	struct gm_record *next;
	enum gm_coll coll;
	bool once; /* of a call that does not block */
	enum gm_outcome outcome;
	char *what; /* name of the schedule, or the reason */
	_Atomic uint64_t inits, starts, start_ns, wait_ns, apart_ns;
};

/* Returns the record of a schedule, or of a reason; NULL if no statistics are kept. Counts one init. */
struct gm_record *gm_record_of(enum gm_coll coll, bool once, enum gm_outcome outcome, const char *what);
bool gm_counts(void);
/* Counts a communicator whose ranks are on several nodes, by how they send to each other. */
void gm_count_spread(bool by_messages);
void gm_stats_begin(void);
void gm_stats_end(void);

/* ---- schedules of the user's choice (own.c) ---- */

/* A number of the user's choices in the environment, at least 0: equal choices have equal numbers. */
int gm_own_hash(void);
void gm_own_end(void);

/* ---- memory of devices (device.c) ---- */

/* True if the program has loaded a library of a device. */
bool gm_device_any(void);
/* True if an address is in memory of a device, and so cannot be read here. */
bool gm_device_memory(const void *p);

/* ---- memory of the program (memory.c) ---- */

/* True if the program has memory of gm_memory_alloc that it has not freed. */
bool gm_memory_used(void);

/* ---- what the program has loaded (objects.c) ---- */

/* How many libraries have been loaded so far. */
unsigned long long gm_loads(void);

/* ---- the process (state.c) ---- */

/* Prints a line to stderr in one piece, so that lines of several ranks do not mix. */
__attribute__((format(printf, 1, 2))) void gm_say(const char *fmt, ...);

/* The functions of libgoalsched, once gm_ctx() has returned a context. */
struct gm_library {
#define X(name) __typeof__(MPIX_Sched_##name) *name;
#include "mpi/library.def"
#undef X
};
extern struct gm_library gm_lib;

/* The library's context for this process, made at the first use; NULL if it could not be made. */
MPIX_Sched_ctx gm_ctx(void);
/* True once there is one: other memory of it costs little. */
bool gm_loaded(void);

#endif
