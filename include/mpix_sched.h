/* SPDX-License-Identifier: BSD-3-Clause
 * Persistent collective schedules: load a schedule, bind it once to a group of ranks and to buffers, start
 * it as often as you like. See sched(7).
 *
 * Every function returns MPIX_SCHED_SUCCESS or one of MPIX_SCHED_ERR_*; outputs are written only on
 * success. MPIX_Sched_error_detail() says more about the last error of a context. Any thread may call; one
 * request is used by one thread at a time. */
#ifndef MPIX_SCHED_H
#define MPIX_SCHED_H

#include "mpix_sched_basic.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPIX_SCHED_VERSION_MAJOR 0
#define MPIX_SCHED_VERSION_MINOR 1
#define MPIX_SCHED_VERSION_PATCH 0

#if defined(__GNUC__)
#define MPIX_SCHED_API __attribute__((visibility("default")))
#else
#define MPIX_SCHED_API
#endif

typedef struct mpix_sched_ctx *MPIX_Sched_ctx; /* everything hangs off a context */
typedef struct mpix_sched *MPIX_Sched; /* a loaded schedule */
typedef struct mpix_sched_group *MPIX_Sched_group; /* ranks that bind together */
typedef struct mpix_sched_type *MPIX_Sched_type; /* layout of an element in memory */
typedef struct mpix_sched_op *MPIX_Sched_op; /* a user-defined reduction */
typedef struct mpix_sched_request *MPIX_Sched_request; /* a bound schedule */

#define MPIX_SCHED_REQUEST_NULL ((MPIX_Sched_request)0)
#define MPIX_SCHED_UNDEFINED (-1)

enum {
	MPIX_SCHED_SUCCESS = 0,
	MPIX_SCHED_ERR_SYNTAX = 1, /* the schedule's text has errors; the detail holds the diagnostics */
	MPIX_SCHED_ERR_NOMEM = 2,
	MPIX_SCHED_ERR_ARG = 3,
	MPIX_SCHED_ERR_STATE = 4, /* the request is active, or not active, or its group has failed */
	MPIX_SCHED_ERR_NOT_BIN = 5, /* not a schedule binary */
	MPIX_SCHED_ERR_VERSION = 6, /* made by a newer compiler */
	MPIX_SCHED_ERR_TRUNCATED = 7,
	MPIX_SCHED_ERR_CHECKSUM = 8,
	MPIX_SCHED_ERR_CORRUPT = 9,
	MPIX_SCHED_ERR_SPACE = 10, /* more ops on a rank than GOAL_MAX_OPS allows */
	MPIX_SCHED_ERR_OVERFLOW = 11,
	MPIX_SCHED_ERR_DIVZERO = 12,
	MPIX_SCHED_ERR_DOMAIN = 13,
	MPIX_SCHED_ERR_FUEL = 14, /* the schedule's program does not terminate */
	MPIX_SCHED_ERR_ASSERT = 15, /* an assertion of the schedule failed */
	MPIX_SCHED_ERR_PEER = 16,
	MPIX_SCHED_ERR_BOUNDS = 17,
	MPIX_SCHED_ERR_LABEL = 18,
	MPIX_SCHED_ERR_PARAM = 19, /* a parameter is missing or has a wrong value */
	MPIX_SCHED_ERR_UNKNOWN = 20,
	MPIX_SCHED_ERR_CYCLE = 21,
	MPIX_SCHED_ERR_SIZE = 22, /* a concrete schedule, and another number of ranks */
	MPIX_SCHED_ERR_MISMATCH = 23, /* the ranks bind different schedules, sizes or counts */
	MPIX_SCHED_ERR_UNMATCHED = 24, /* a send or recv has no partner */
	MPIX_SCHED_ERR_DEAD = 25, /* a rank of the group died; the detail names it */
	MPIX_SCHED_ERR_SYS = 26, /* a system call failed; the detail says which */
	MPIX_SCHED_ERR_UNSUPPORTED = 27,
	MPIX_SCHED_ERR_RANGE = 28,
	MPIX_SCHED_ERR_DEADLOCK = 29,
	MPIX_SCHED_ERR_COUNT = 30, /* a concrete schedule, and another count */
	MPIX_SCHED_ERR_CLAIM = 31,
	MPIX_SCHED_ERR_PASS = 32, /* a pass of goalc -T cannot be applied here */
	MPIX_SCHED_ERR_LEVELS = 33, /* a pass that needs the levels of a tree cannot be applied here */
	MPIX_SCHED_ERR_FAULT = 34, /* an op, a loop or a call of the schedule makes no sense; the detail says why */
	MPIX_SCHED_ERR_FILES = 35, /* too few file descriptors: ulimit -n is the limit */
	MPIX_SCHED_ERR_FSIZE = 36 /* files may not become that large: ulimit -f is the limit */
};

/* ---- context ---- */

/* Creates a context. Reference-counted: what is made from it keeps it alive. */
MPIX_SCHED_API int MPIX_Sched_ctx_create(MPIX_Sched_ctx *ctx);
MPIX_SCHED_API int MPIX_Sched_ctx_free(MPIX_Sched_ctx *ctx);
/* The sentence for an error number; never NULL. */
MPIX_SCHED_API const char *MPIX_Sched_error_string(int err);
/* Copies to buf, NUL-terminated, the reason why the last call on this context failed; returns the length of the whole
 * text. */
MPIX_SCHED_API size_t MPIX_Sched_error_detail(MPIX_Sched_ctx ctx, char *buf, size_t size);
MPIX_SCHED_API int MPIX_Sched_get_version(int *major, int *minor, int *patch);

/* ---- memory of the shared heap ---- */

/* Allocates memory that the ranks of a node reach by load and store; 64-byte aligned, zeroed. Any other memory may
 * be bound as well, but is slower. */
MPIX_SCHED_API int MPIX_Sched_alloc(MPIX_Sched_ctx ctx, size_t size, void **ptr);
/* Fails with ERR_STATE while a request is bound to the memory, with ERR_ARG when ptr is not from MPIX_Sched_alloc. */
MPIX_SCHED_API int MPIX_Sched_dealloc(MPIX_Sched_ctx ctx, void *ptr);

/* ---- schedules ---- */

/* Loads a binary, or compiles a text, from a file. */
MPIX_SCHED_API int MPIX_Sched_load(MPIX_Sched_ctx ctx, const char *path, MPIX_Sched *sched);
/* Does the same from memory, which it copies. Messages say name where a file's name would stand. */
MPIX_SCHED_API int MPIX_Sched_load_mem(MPIX_Sched_ctx ctx, const char *name, const void *data, size_t size,
				       MPIX_Sched *sched);
/* Frees the handle. Requests made from the schedule live on. */
MPIX_SCHED_API int MPIX_Sched_unload(MPIX_Sched *sched);

struct MPIX_Sched_info {
	size_t struct_size; /* sizeof, set by the caller */
	uint32_t nranks; /* 0: any number */
	uint32_t nbuffers; /* in the order of their declaration */
	int plain; /* plain GOAL: buffer 0 holds all sends, buffer 1 all recvs, in bytes */
	const char *name, *implements; /* live as long as the schedule */
};
MPIX_SCHED_API int MPIX_Sched_get_info(MPIX_Sched sched, struct MPIX_Sched_info *info);
/* Returns the name of one buffer, and its mode: the caller gives a buffer "in", "out" or "inout", the library one that is
 * "scratch". */
MPIX_SCHED_API int MPIX_Sched_get_buffer(MPIX_Sched sched, uint32_t index, const char **name,
					 const char **mode);
struct MPIX_Sched_bind;
/* Returns the size that one buffer would have on this rank of a group of this size, bound as bind says: count, datatype,
 * parameters and IN_PLACE matter, other buffers need not be there. *elements are those of the datatype; *bytes is what they
 * span. Either may be NULL. */
MPIX_SCHED_API int MPIX_Sched_get_buffer_size(MPIX_Sched sched, uint32_t index, int rank, int size,
					      const struct MPIX_Sched_bind *bind, size_t *elements, size_t *bytes);

/* ---- groups ---- */

/* An allgather of size bytes per rank, for MPIX_Sched_group_create: out receives the contributions of
 * rank 0, 1, …. Returns 0 on success. Blocking. */
typedef int MPIX_Sched_allgather_fn(const void *in, void *out, size_t size, void *arg);

/* Makes a group, collectively. It calls allgather, and no other function does. Cost: two allgathers and two messages
 * per rank. */
MPIX_SCHED_API int MPIX_Sched_group_create(MPIX_Sched_ctx ctx, int rank, int size,
					   MPIX_Sched_allgather_fn *allgather, void *arg,
					   MPIX_Sched_group *group);
/* Makes the group of all ranks of a program that goalrun started, or of this rank alone without a launcher. Collective. */
MPIX_SCHED_API int MPIX_Sched_group_world(MPIX_Sched_ctx ctx, MPIX_Sched_group *group);
MPIX_SCHED_API int MPIX_Sched_group_rank(MPIX_Sched_group group, int *rank, int *size);
/* Splits a group, collectively over it: ranks with the same color (at least 0) make a subgroup, ordered by key,
 * then by their rank. With MPIX_SCHED_UNDEFINED a rank is in none, and *sub is NULL. A subgroup lives on when
 * its parent is freed. All ranks get the same error. Cost: five messages per rank. */
MPIX_SCHED_API int MPIX_Sched_group_split(MPIX_Sched_group group, int color, int key, MPIX_Sched_group *sub);
/* Frees the handle; local. Requests made from the group live on. */
MPIX_SCHED_API int MPIX_Sched_group_free(MPIX_Sched_group *group);

/* ---- datatypes and operations ---- */

/* A datatype of n blocks: block i is length[i] basic elements at offset[i] bytes; one element of the type
 * follows the other at extent bytes. The arrays are copied. */
MPIX_SCHED_API int MPIX_Sched_type_create(MPIX_Sched_ctx ctx, enum MPIX_Sched_basic basic, size_t n,
					  const int64_t *offset, const size_t *length, int64_t extent,
					  MPIX_Sched_type *type);
MPIX_SCHED_API int MPIX_Sched_type_free(MPIX_Sched_type *type);

/* inout[i] = in[i] op inout[i] for count elements of the request's datatype in the user's layout. Called
 * in the thread that starts, tests or waits. */
typedef void MPIX_Sched_op_fn(const void *in, void *inout, size_t count, void *arg);
MPIX_SCHED_API int MPIX_Sched_op_create(MPIX_Sched_ctx ctx, MPIX_Sched_op_fn *fn, void *arg, int commutes,
					MPIX_Sched_op *op);
MPIX_SCHED_API int MPIX_Sched_op_free(MPIX_Sched_op *op);

/* ---- selection ---- */

/* How the ranks are arranged, for the neighbour collectives. */
enum MPIX_Sched_topology { MPIX_SCHED_NO_TOPOLOGY, MPIX_SCHED_CART, MPIX_SCHED_GRAPH };

/* A call of a collective. Zero what you do not need. */
struct MPIX_Sched_call {
	size_t struct_size; /* sizeof, set by the caller */
	const char *collective; /* "MPI_Bcast" */
	size_t count; /* as it will be bound */
	enum MPIX_Sched_basic basic; /* the datatype, when type is NULL */
	MPIX_Sched_type type;
	MPIX_Sched_op op; /* NULL: one of the library's, or none */
	enum MPIX_Sched_topology topology;
};

/* Loads the schedule that the selection table (select.table(5)) has for a call in a group, with the parameters and
 * passes of its row. Local: ranks that pass the same arguments get the same schedule, and all ranks of the group have to pass the
 * same. ERR_UNSUPPORTED when no row is for the call. The context keeps what it has compiled: a second selection is cheap. */
MPIX_SCHED_API int MPIX_Sched_select(MPIX_Sched_group group, const struct MPIX_Sched_call *call, MPIX_Sched *sched);

/* ---- requests ---- */

/* The value of a parameter of the schedule. */
struct MPIX_Sched_param {
	const char *name;
	const int64_t *value;
	size_t n; /* 1, or the length of a vector */
};

/* Stands for a buffer that the schedule allows in place: a part of another buffer is used, as with MPI_IN_PLACE. */
#define MPIX_SCHED_IN_PLACE ((void *)1)

/* The memory and the values that a schedule is bound to. Zero what you do not need. */
struct MPIX_Sched_bind {
	size_t struct_size; /* sizeof, set by the caller */
	void *const *buffers; /* one for each buffer of the schedule; NULL for scratch and unused ones, or IN_PLACE */
	size_t nbuffers;
	size_t count; /* elements of the datatype per block; 1 in plain GOAL */
	enum MPIX_Sched_basic basic; /* the datatype, when type is NULL */
	MPIX_Sched_type type;
	enum MPIX_Sched_builtin builtin; /* the operation, when op is NULL */
	MPIX_Sched_op op;
	const struct MPIX_Sched_param *params; /* others take their defaults */
	size_t nparams;
	/* Elements of the datatype (bytes in plain GOAL) that each of buffers holds, also after a rebind: binding fails
	 * where the schedule needs more. NULL: the caller trusts the schedule. */
	const size_t *sizes;
};

/* Binds, collectively over the group and in the same order on all its ranks. What is bound is kept as long
 * as the request: types and ops may be freed, memory may not. All ranks get the same error. */
MPIX_SCHED_API int MPIX_Sched_init(MPIX_Sched sched, MPIX_Sched_group group,
				   const struct MPIX_Sched_bind *bind, MPIX_Sched_request *req);
/* Binds other buffers, from the next start on; all else stays as it was bound. Local: other ranks need not take part.
 * buffers are those of MPIX_Sched_bind. ERR_STATE when the request is active. After an error the old buffers stay bound. */
MPIX_SCHED_API int MPIX_Sched_rebind(MPIX_Sched_request req, void *const *buffers, size_t nbuffers);
/* Starts the request, without waiting for another rank. ERR_STATE when the request is active. */
MPIX_SCHED_API int MPIX_Sched_start(MPIX_Sched_request req);
MPIX_SCHED_API int MPIX_Sched_startall(size_t n, const MPIX_Sched_request *reqs);
/* *flag is 1 when the request is complete or not active. Makes progress on all requests of the context. */
MPIX_SCHED_API int MPIX_Sched_test(MPIX_Sched_request req, int *flag);
/* Returns at once when the request is not active. */
MPIX_SCHED_API int MPIX_Sched_wait(MPIX_Sched_request req);
/* Waits for all. Entries may be MPIX_SCHED_REQUEST_NULL. Returns the first error; all requests are complete or failed. */
MPIX_SCHED_API int MPIX_Sched_waitall(size_t n, const MPIX_Sched_request *reqs);
/* The next five functions test arrays, or wait for them. They pass over entries that are MPIX_SCHED_REQUEST_NULL or not
 * active. A request that failed counts as complete. They return the first error of the requests that they complete, after
 * they have completed all of them. errors may be NULL; else it receives the error of each: errors[i] of reqs[i], or with
 * indices errors[k] of reqs[indices[k]]. */

/* *flag is 1 when all are complete or none is active; else 0, and all stay active. errors has n elements. */
MPIX_SCHED_API int MPIX_Sched_testall(size_t n, const MPIX_Sched_request *reqs, int *flag, int *errors);
/* Waits for one of them. *index is MPIX_SCHED_UNDEFINED when none is active. */
MPIX_SCHED_API int MPIX_Sched_waitany(size_t n, const MPIX_Sched_request *reqs, int *index);
/* *flag is 1 when one is complete, or none is active; else 0, and *index is MPIX_SCHED_UNDEFINED. */
MPIX_SCHED_API int MPIX_Sched_testany(size_t n, const MPIX_Sched_request *reqs, int *index, int *flag);
/* Waits for at least one, and completes all that can be. *count is their number, MPIX_SCHED_UNDEFINED when none is active;
 * indices receives their indices, ascending. indices and errors have n elements. */
MPIX_SCHED_API int MPIX_Sched_waitsome(size_t n, const MPIX_Sched_request *reqs, int *count, int *indices,
				       int *errors);
/* Does the same without waiting: *count may be 0. */
MPIX_SCHED_API int MPIX_Sched_testsome(size_t n, const MPIX_Sched_request *reqs, int *count, int *indices,
				       int *errors);
/* *flag is 1 if a test would find the request complete; makes progress, but the request stays active. error may be NULL;
 * else it receives the error with which the last start ended, also once the request is not active any more. */
MPIX_SCHED_API int MPIX_Sched_request_get_status(MPIX_Sched_request req, int *flag, int *error);
/* Writes a line to a file descriptor for each pending op of the active requests of a context: what the op waits for. The
 * library does so on SIGUSR1, and after GOAL_DUMP_AFTER seconds of waiting; see MPIX_Sched_dump(3). */
MPIX_SCHED_API int MPIX_Sched_dump(MPIX_Sched_ctx ctx, int fd);
/* From now on no communication core makes progress for the context, until progress_resume: its ranks make it themselves,
 * when they test or wait. Returns when no such core is in the middle of a step. */
MPIX_SCHED_API int MPIX_Sched_progress_pause(MPIX_Sched_ctx ctx);
MPIX_SCHED_API int MPIX_Sched_progress_resume(MPIX_Sched_ctx ctx);
/* Counters of one rank since its context was created. */
struct MPIX_Sched_stats {
	size_t struct_size; /* sizeof, set by the caller */
	uint64_t steals_local; /* times that it made progress for another rank of its NUMA node */
	uint64_t steals_remote; /* times that it made progress for a rank of another NUMA node */
	uint64_t passed; /* ops marked "on start" that were not ready at the start, and were left to others */
	uint64_t copied_core; /* bytes that communication cores copied in fragments (GOAL_FRAGMENT) */
	uint64_t copied_joined; /* bytes that waiting ranks copied in fragments */
	/* The rest is of backends that send over a network. */
	uint64_t links; /* connections that were made */
	uint64_t link_bytes; /* memory of the connections and all that belongs to them */
	uint64_t posted; /* work requests that were given to the device */
	uint64_t sent, sent_bytes; /* messages to other ranks by the network */
	uint64_t near_sent; /* messages that went by shared memory instead */
};
MPIX_SCHED_API int MPIX_Sched_stats(MPIX_Sched_ctx ctx, struct MPIX_Sched_stats *stats);
/* Frees the request; local. ERR_STATE when the request is active and its group has not failed. */
MPIX_SCHED_API int MPIX_Sched_free(MPIX_Sched_request *req);

/* ---- how to wait ---- */

/* What a thread that has waited for a while does next. */
enum MPIX_Sched_way { MPIX_SCHED_SPIN, MPIX_SCHED_YIELD, MPIX_SCHED_BLOCK };

struct MPIX_Sched_energy_info {
	size_t struct_size; /* of the library's */
	int rank, size; /* in the group of the request */
	int peer; /* of the first message of the request that is open; -1 without one */
	unsigned tag;
	size_t bytes;
	uint64_t iterations; /* turns of this wait */
	uint64_t waited_ns; /* time in this wait, after a brief spin */
	uint64_t last_ns; /* time in the last wait for this request */
};

/* The function that chooses. Threads that wait call it, one at a time, again whenever its last choice has been done. */
typedef enum MPIX_Sched_way MPIX_Sched_energy_fn(const struct MPIX_Sched_energy_info *info, void *arg);

/* Lets a function choose how threads of the context wait, in place of GOAL_WAIT or of the function before it. Threads may be
 * waiting already. */
MPIX_SCHED_API int MPIX_Sched_energy_handler_reg(MPIX_Sched_ctx ctx, MPIX_Sched_energy_fn *fn, void *arg);
/* Takes the function back: it is not called any more when this returns. */
MPIX_SCHED_API int MPIX_Sched_energy_handler_dereg(MPIX_Sched_ctx ctx);

#ifdef __cplusplus
}
#endif

#endif
