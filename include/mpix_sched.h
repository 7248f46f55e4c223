/* SPDX-License-Identifier: BSD-3-Clause
 * Persistent collective schedules. A program loads a schedule, binds it once to a group of ranks and to buffers, and starts
 * it any number of times. See goalsched(7).
 *
 * Every function returns MPIX_SCHED_SUCCESS or one of MPIX_SCHED_ERR_*; outputs are written only on
 * success. MPIX_Sched_error_detail() says more about the last error of a context. Any thread may call any function, but only
 * one thread at a time may use a request. */
#ifndef MPIX_SCHED_H
#define MPIX_SCHED_H

#include "mpix_sched_basic.h"
#include "mpix_sched_transport.h"
#include "mpix_sched_ways.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPIX_SCHED_VERSION_MAJOR 0
#define MPIX_SCHED_VERSION_MINOR 1
#define MPIX_SCHED_VERSION_PATCH 0

typedef struct mpix_sched_ctx *MPIX_Sched_ctx; /* a context, in which all else is created */
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
	MPIX_SCHED_ERR_SIZE = 22, /* the schedule was compiled for another number of ranks */
	MPIX_SCHED_ERR_MISMATCH = 23, /* the ranks bind different schedules, sizes or counts */
	MPIX_SCHED_ERR_UNMATCHED = 24, /* a send or recv has no partner */
	MPIX_SCHED_ERR_DEAD = 25, /* a rank of the group died; the detail names it */
	MPIX_SCHED_ERR_SYS = 26, /* a system call failed; the detail says which */
	MPIX_SCHED_ERR_UNSUPPORTED = 27,
	MPIX_SCHED_ERR_RANGE = 28,
	MPIX_SCHED_ERR_DEADLOCK = 29,
	MPIX_SCHED_ERR_COUNT = 30, /* the schedule was compiled for another count */
	MPIX_SCHED_ERR_CLAIM = 31,
	MPIX_SCHED_ERR_PASS = 32, /* a pass of goalc -T cannot be applied here */
	MPIX_SCHED_ERR_LEVELS = 33, /* a pass that needs the levels of a tree cannot be applied here */
	MPIX_SCHED_ERR_FAULT = 34, /* an op, a loop or a call of the schedule is not valid; the detail says why */
	MPIX_SCHED_ERR_FILES = 35, /* too few file descriptors: ulimit -n is the limit */
	MPIX_SCHED_ERR_FSIZE = 36 /* files may not become that large: ulimit -f is the limit */
};

/* ---- context ---- */

/* Creates a context. It is reference-counted: it lives until it is freed and all objects created from it are freed. */
MPIX_SCHED_API int MPIX_Sched_ctx_create(MPIX_Sched_ctx *ctx);
MPIX_SCHED_API int MPIX_Sched_ctx_free(MPIX_Sched_ctx *ctx);
/* Returns a sentence that describes an error number; never NULL. */
MPIX_SCHED_API const char *MPIX_Sched_error_string(int err);
/* Copies to `buf` the reason why the last call on this context failed, cut to `size` bytes with the final NUL. Returns the
 * length of the whole text. */
MPIX_SCHED_API size_t MPIX_Sched_error_detail(MPIX_Sched_ctx ctx, char *buf, size_t size);
MPIX_SCHED_API int MPIX_Sched_get_version(int *major, int *minor, int *patch);

/* ---- memory of the shared heap ---- */

/* Allocates memory that all ranks of a node can load from and store to. It is zeroed and aligned to 64 bytes, and to 4 KiB if
 * there are that many. Other memory may be bound as well, but is slower. */
MPIX_SCHED_API int MPIX_Sched_alloc(MPIX_Sched_ctx ctx, size_t size, void **ptr);
/* Frees memory. Fails with ERR_STATE while a request is bound to it, and with ERR_ARG if `ptr` is not from MPIX_Sched_alloc. */
MPIX_SCHED_API int MPIX_Sched_dealloc(MPIX_Sched_ctx ctx, void *ptr);

/* ---- schedules ---- */

/* Loads a binary, or compiles a text, from a file. A path without a slash that names no file is the name of an installed
 * schedule. */
MPIX_SCHED_API int MPIX_Sched_load(MPIX_Sched_ctx ctx, const char *path, MPIX_Sched *sched);
/* Like MPIX_Sched_load, from memory, which it copies. Messages use `name` as the name of a file. */
MPIX_SCHED_API int MPIX_Sched_load_mem(MPIX_Sched_ctx ctx, const char *name, const void *data, size_t size,
				       MPIX_Sched *sched);
/* Frees the handle. Requests made from the schedule stay valid. */
MPIX_SCHED_API int MPIX_Sched_unload(MPIX_Sched *sched);

struct MPIX_Sched_info {
	size_t struct_size; /* sizeof, set by the caller */
	uint32_t nranks; /* number of ranks for which the schedule was compiled; 0: any number */
	uint32_t nbuffers; /* number of buffers, which are counted in the order of their declaration */
	int plain; /* 1 for plain GOAL: buffer 0 holds all sends, buffer 1 all recvs, in bytes */
	const char *name, *implements; /* valid as long as the schedule */
};
MPIX_SCHED_API int MPIX_Sched_get_info(MPIX_Sched sched, struct MPIX_Sched_info *info);
/* Returns the name of one buffer and its mode: "in", "out" or "inout" for a buffer that the caller provides, "scratch" for
 * one that the library allocates. */
MPIX_SCHED_API int MPIX_Sched_get_buffer(MPIX_Sched sched, uint32_t index, const char **name,
					 const char **mode);
struct MPIX_Sched_bind;
/* Computes the size that one buffer would have on this rank, in a group of this size, if the schedule were bound by `bind`.
 * Count, datatype, parameters and IN_PLACE matter; the other buffers may be missing from `bind`. *elements is the number of
 * elements of the datatype, *bytes the number of bytes from the first to the last. Either may be NULL. */
MPIX_SCHED_API int MPIX_Sched_get_buffer_size(MPIX_Sched sched, uint32_t index, int rank, int size,
					      const struct MPIX_Sched_bind *bind, size_t *elements, size_t *bytes);
/* Proves that the schedule does what it claims, for groups of `size` ranks, as goalc --verify does; at once, if its binary
 * records that, otherwise only for up to `most` ranks, if that is not 0. Local. Fails with ERR_FAULT if it does not. */
MPIX_SCHED_API int MPIX_Sched_verify(MPIX_Sched sched, int size, int most);

/* ---- groups ---- */

/* A blocking allgather that the caller of MPIX_Sched_group_create provides: each rank contributes `size` bytes, and `out`
 * receives the contributions of rank 0, 1, …. Returns 0 on success. */
typedef int MPIX_Sched_allgather_fn(const void *in, void *out, size_t size, void *arg);

/* Creates a group, collectively. Only this function calls `allgather`. Cost: two allgathers and two messages per rank. */
MPIX_SCHED_API int MPIX_Sched_group_create(MPIX_Sched_ctx ctx, int rank, int size,
					   MPIX_Sched_allgather_fn *allgather, void *arg,
					   MPIX_Sched_group *group);
/* Creates the group of all ranks of a program that goalrun started, collectively. Without a launcher it is the group of this
 * rank alone. */
MPIX_SCHED_API int MPIX_Sched_group_world(MPIX_Sched_ctx ctx, MPIX_Sched_group *group);
MPIX_SCHED_API int MPIX_Sched_group_rank(MPIX_Sched_group group, int *rank, int *size);
/* Splits a group, collectively over it: ranks with the same color (at least 0) form a subgroup, ordered by key,
 * then by their rank. A rank with the color MPIX_SCHED_UNDEFINED is in no subgroup and gets NULL. A subgroup stays valid when
 * its parent is freed. All ranks get the same error. Cost: five messages per rank. */
MPIX_SCHED_API int MPIX_Sched_group_split(MPIX_Sched_group group, int color, int key, MPIX_Sched_group *sub);
/* Frees the handle; local. Requests made from the group stay valid. */
MPIX_SCHED_API int MPIX_Sched_group_free(MPIX_Sched_group *group);
/* Sets *nodes to the number of nodes on which the group's ranks are. */
MPIX_SCHED_API int MPIX_Sched_group_nodes(MPIX_Sched_group group, int *nodes);
/* Sets *name to the name of the backend that carries out requests of the group; the string stays valid. */
MPIX_SCHED_API int MPIX_Sched_group_backend(MPIX_Sched_group group, const char **name);
/* Sets the transport of a group that MPIX_Sched_group_create has made, before it is split or bound to; all its ranks do this.
 * The struct is copied. Its functions are called as long as the group, its subgroups and their requests exist. */
MPIX_SCHED_API int MPIX_Sched_group_set_transport(MPIX_Sched_group group, const struct MPIX_Sched_transport *transport);

/* ---- datatypes and operations ---- */

/* Creates a datatype of n blocks. Block i has length[i] basic elements and begins at offset[i] bytes. Successive elements of
 * the datatype begin `extent` bytes apart. The arrays are copied. */
MPIX_SCHED_API int MPIX_Sched_type_create(MPIX_Sched_ctx ctx, enum MPIX_Sched_basic basic, size_t n,
					  const int64_t *offset, const size_t *length, int64_t extent,
					  MPIX_Sched_type *type);
MPIX_SCHED_API int MPIX_Sched_type_free(MPIX_Sched_type *type);

/* A reduction that the caller provides: inout[i] = in[i] op inout[i] for count elements of the request's datatype, in
 * the caller's layout. It is called in the thread that starts, tests or waits. */
typedef void MPIX_Sched_op_fn(const void *in, void *inout, size_t count, void *arg);
MPIX_SCHED_API int MPIX_Sched_op_create(MPIX_Sched_ctx ctx, MPIX_Sched_op_fn *fn, void *arg, int commutes,
					MPIX_Sched_op *op);
MPIX_SCHED_API int MPIX_Sched_op_free(MPIX_Sched_op *op);

/* ---- selection ---- */

/* The topology of the ranks, which matters to neighbour collectives. */
enum MPIX_Sched_topology { MPIX_SCHED_NO_TOPOLOGY, MPIX_SCHED_CART, MPIX_SCHED_GRAPH };

/* A call of a collective. Fields that are not needed have to be 0. */
struct MPIX_Sched_call {
	size_t struct_size; /* sizeof, set by the caller */
	const char *collective; /* name of the collective, such as "MPI_Bcast" */
	size_t count; /* count with which the schedule will be bound */
	enum MPIX_Sched_basic basic; /* datatype, if type is NULL */
	MPIX_Sched_type type;
	MPIX_Sched_op op; /* user-defined operation; NULL: an operation of the library, or none */
	enum MPIX_Sched_topology topology;
	int reproducible; /* 1: the bits of a reduction may depend only on the data, the number of ranks and the root */
};

/* Loads the schedule that the selection table (select.table(5)) has for a call in a group, with the parameters and passes of its
 * row. The function is local, but all ranks of the group have to pass the same arguments; they then get the same schedule.
 * Fails with ERR_UNSUPPORTED if no row fits the call. The context keeps compiled schedules, so that to select again is cheap. */
MPIX_SCHED_API int MPIX_Sched_select(MPIX_Sched_group group, const struct MPIX_Sched_call *call, MPIX_Sched *sched);

/* ---- requests ---- */

/* A parameter of the schedule, with its value. */
struct MPIX_Sched_param {
	const char *name;
	const int64_t *value;
	size_t n; /* 1, or the length of a vector */
};

/* Passed instead of a buffer that the schedule allows in place: the schedule then uses a part of another buffer, as with
 * MPI_IN_PLACE. */
#define MPIX_SCHED_IN_PLACE ((void *)1)

/* The memory and the values that a schedule is bound to. Fields that are not needed have to be 0. */
struct MPIX_Sched_bind {
	size_t struct_size; /* sizeof, set by the caller */
	void *const *buffers; /* address of each buffer of the schedule, or IN_PLACE; NULL for scratch and unused buffers */
	size_t nbuffers; /* the buffers after these count as NULL */
	size_t count; /* elements of the datatype per block; 1 in plain GOAL */
	enum MPIX_Sched_basic basic; /* datatype, if type is NULL */
	MPIX_Sched_type type;
	enum MPIX_Sched_builtin builtin; /* operation, if op is NULL */
	MPIX_Sched_op op;
	const struct MPIX_Sched_param *params; /* values of parameters; parameters that are not listed have their defaults */
	size_t nparams;
	/* Size of each buffer, in elements of the datatype (bytes in plain GOAL); it holds for rebind too. Binding fails if
	 * the schedule needs more. NULL: sizes are not checked. */
	const size_t *sizes;
	/* Why this rank does not bind; NULL: it does. Binding then fails on all ranks, with this as the detail. The schedule may be
	 * NULL. */
	const char *refusal;
	/* Not 0: this rank promises that whenever it binds with the same schedule, count, basic datatype, operation, parameters and use
	 * of IN_PLACE as now, all ranks do so. If all ranks promise it, later ones of these binds may return before other ranks have
	 * come to them; an error of one rank then is an error of its peers' starts. */
	int alike;
};

/* Binds a schedule, collectively over the group and in the same order on all its ranks. Types and ops may be freed while the
 * request exists; the memory of buffers may not. All ranks get the same error. */
MPIX_SCHED_API int MPIX_Sched_init(MPIX_Sched sched, MPIX_Sched_group group,
				   const struct MPIX_Sched_bind *bind, MPIX_Sched_request *req);
/* Binds other buffers, from the next start on; all else stays as it was bound. Local: other ranks need not take part.
 * `buffers` has the form of the field `buffers` of MPIX_Sched_bind. Fails with ERR_STATE if the request is active. After an
 * error the old buffers stay bound. */
MPIX_SCHED_API int MPIX_Sched_rebind(MPIX_Sched_request req, void *const *buffers, size_t nbuffers);
/* Starts the request, without waiting for another rank. Fails with ERR_STATE if the request is active. */
MPIX_SCHED_API int MPIX_Sched_start(MPIX_Sched_request req);
MPIX_SCHED_API int MPIX_Sched_startall(size_t n, const MPIX_Sched_request *reqs);
/* Makes progress on all requests of the context. Sets *flag to 1 if the request is complete or not active, else to 0. */
MPIX_SCHED_API int MPIX_Sched_test(MPIX_Sched_request req, int *flag);
/* Waits until the request is complete. Returns at once if it is not active. */
MPIX_SCHED_API int MPIX_Sched_wait(MPIX_Sched_request req);
/* Waits until all requests are complete or have failed. Returns the first error. Elements may be MPIX_SCHED_REQUEST_NULL. */
MPIX_SCHED_API int MPIX_Sched_waitall(size_t n, const MPIX_Sched_request *reqs);
/* The next five functions test arrays of requests, or wait for them. They ignore elements that are MPIX_SCHED_REQUEST_NULL or
 * not active. A request that failed counts as complete. They complete all requests that they can, and then return the first
 * error of these. errors may be NULL. Otherwise it receives the error of each request: errors[i] is that of reqs[i], or in
 * functions with indices errors[k] is that of reqs[indices[k]]. */

/* Sets *flag to 1 if all requests are complete or none is active; else to 0, and all stay active. `errors` has n elements. */
MPIX_SCHED_API int MPIX_Sched_testall(size_t n, const MPIX_Sched_request *reqs, int *flag, int *errors);
/* Waits for one request and sets *index to its index, or to MPIX_SCHED_UNDEFINED if none is active. */
MPIX_SCHED_API int MPIX_Sched_waitany(size_t n, const MPIX_Sched_request *reqs, int *index);
/* Like MPIX_Sched_waitany, but does not wait. Sets *flag to 1 if one request is complete or none is active; else to 0, and
 * *index to MPIX_SCHED_UNDEFINED. */
MPIX_SCHED_API int MPIX_Sched_testany(size_t n, const MPIX_Sched_request *reqs, int *index, int *flag);
/* Waits until at least one request is complete. *count receives the number of complete requests, MPIX_SCHED_UNDEFINED if
 * none was active; `indices` receives their indices, ascending. `indices` and `errors` have n elements. */
MPIX_SCHED_API int MPIX_Sched_waitsome(size_t n, const MPIX_Sched_request *reqs, int *count, int *indices,
				       int *errors);
/* Like MPIX_Sched_waitsome, but does not wait: *count may be 0. */
MPIX_SCHED_API int MPIX_Sched_testsome(size_t n, const MPIX_Sched_request *reqs, int *count, int *indices,
				       int *errors);
/* Waits until `done`, a function of the program, returns another number than 0: for requests of the context and other things at
 * once. It tests all of them, and is called again and again. */
MPIX_SCHED_API int MPIX_Sched_wait_until(MPIX_Sched_ctx ctx, int (*done)(void *arg), void *arg);
/* Makes progress, and sets *flag to 1 if MPIX_Sched_test would find the request complete; but the request stays active.
 * `error` may be NULL. Otherwise *error receives the error with which the last start ended, also after the request has been
 * completed. */
MPIX_SCHED_API int MPIX_Sched_request_get_status(MPIX_Sched_request req, int *flag, int *error);
/* Makes progress on all active requests of the context, and sets *active, which may be NULL, to their number before. */
MPIX_SCHED_API int MPIX_Sched_progress(MPIX_Sched_ctx ctx, int *active);
/* Writes a line for each pending op of the context's active requests to a file descriptor; the line says what the op waits
 * for. The library also does this on SIGUSR1, and after GOAL_DUMP_AFTER seconds of waiting; see MPIX_Sched_dump(3). */
MPIX_SCHED_API int MPIX_Sched_dump(MPIX_Sched_ctx ctx, int fd);
/* Stops communication cores from making progress for the context, until MPIX_Sched_progress_resume: in the meantime its ranks
 * make progress themselves, when they test or wait. Returns when no communication core is in the middle of a step. */
MPIX_SCHED_API int MPIX_Sched_progress_pause(MPIX_Sched_ctx ctx);
MPIX_SCHED_API int MPIX_Sched_progress_resume(MPIX_Sched_ctx ctx);
/* Counters of one rank since its context was created. */
struct MPIX_Sched_stats {
	size_t struct_size; /* sizeof, set by the caller */
	uint64_t steals_local; /* times that the rank made progress for another rank of its NUMA node */
	uint64_t steals_remote; /* times that the rank made progress for a rank of another NUMA node */
	uint64_t passed; /* ops marked "on start" that were not ready at the start, and were left to other executors */
	uint64_t copied_core, copied_joined; /* bytes that communication cores, and waiting ranks, copied in fragments */
	/* Only backends that send over a network count these: */
	uint64_t links, link_bytes; /* connections that were made; bytes of memory for them and all that belongs to them */
	uint64_t posted; /* work requests that were posted to the device */
	uint64_t sent, sent_bytes; /* messages sent to other ranks over the network, and their bytes */
	uint64_t near_sent; /* messages that were sent through shared memory instead */
	uint64_t requests; /* all backends: requests that were bound; their bytes in the shared heap, of scratch, and private */
	uint64_t shared_bytes, scratch_bytes, private_bytes;
	uint64_t moved_bytes; /* bytes of the caller's private memory that were moved to the shared heap (GOAL_MOVE) */
};
MPIX_SCHED_API int MPIX_Sched_stats(MPIX_Sched_ctx ctx, struct MPIX_Sched_stats *stats);
/* Frees the request; local. Fails with ERR_STATE if the request is active and its group has not failed. */
MPIX_SCHED_API int MPIX_Sched_free(MPIX_Sched_request *req);

/* ---- how to wait ---- */

/* Registers a function that chooses how threads of the context wait. It replaces GOAL_WAIT and any function registered
 * before. Threads may be waiting already. */
MPIX_SCHED_API int MPIX_Sched_energy_handler_reg(MPIX_Sched_ctx ctx, MPIX_Sched_energy_fn *fn, void *arg);
/* Removes the registered function. The library does not call it any more after this returns. */
MPIX_SCHED_API int MPIX_Sched_energy_handler_dereg(MPIX_Sched_ctx ctx);

#ifdef __cplusplus
}
#endif

#endif
