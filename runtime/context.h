/* SPDX-License-Identifier: BSD-3-Clause
 * Contexts: a context holds all state of the library (ctx.c). */
#ifndef RUNTIME_CONTEXT_H
#define RUNTIME_CONTEXT_H

#include "backends/backend.h"
#include "include/mpix_sched.h"
#include "runtime/huge.h"
#include "runtime/heap/sleepers.h"
#include "util/env.h"
#include "util/err.h"
#include "util/mem.h"
#include "util/patience.h"

#include <pthread.h>
#include <stdatomic.h>

struct rt_heap;
struct rt_moved;
struct rt_selected;
struct rt_trace;

struct rt_zombie {
	void *ptr[2];
	_Atomic uint32_t *users;
};

/* Which requests are active (active.h). */
#define RT_LISTED 8u
struct rt_active {
	_Atomic uint32_t counted; /* active requests that are not listed */
	_Atomic uint32_t nlisted;
	struct mpix_sched_request *listed[RT_LISTED]; /* active while their `start_word` is NULL */
	pthread_mutex_t lock; /* protects `listed`; taken after all other locks */
};

struct mpix_sched_ctx {
	_Atomic uint32_t refs;
	pid_t pid; /* process that created the context */
	pthread_mutex_t lock; /* protects requests, zombies and heap->crowded */
	pthread_mutex_t detail_lock; /* protects `detail`; taken after all other locks */
	pthread_mutex_t select_lock; /* protects `selected`; taken before all other locks */
	struct rt_selected *selected; /* selection tables and compiled schedules; NULL until first used */
	struct rt_heap *heap;
	struct rt_moved *moved; /* memory of the program in the heap; NULL if none is moved */
	struct rt_huge huge; /* huge pages under buffers of the program */
	const struct be_row *backend; /* backend for its requests; NULL if GOAL_BACKEND names none */
	bool automatic; /* GOAL_BACKEND is BE_AUTO: groups on several nodes may use the backend with a network */
	pthread_mutex_t state_lock; /* protects be_state; taken before all other locks */
	void *be_state; /* the backend's data for this context (group_state) */
	pthread_mutex_t watch_lock; /* held by the one thread that sleeps on descriptors; the others sleep on the bell */
	_Atomic int watched; /* descriptor that the backend gave to group_watch, or -1 */
	struct rt_trace *trace; /* trace of the context; NULL if nothing is traced */
	VEC(struct rt_zombie) zombies;
	VEC(struct mpix_sched_request *) requests; /* bound requests */
	struct rt_active active;
	_Atomic uint32_t passes; /* tests that made progress on all active requests */
	bool umwaits; /* true if the CPU can sleep until a store (group_umwaits) */
	int policy; /* enum rt_policy, or -ERR_ARG if GOAL_WAIT is invalid */
	pthread_mutex_t energy_lock; /* protects `energy`; recursive, because the energy function may register another one */
	struct {
		MPIX_Sched_energy_fn *fn;
		void *arg;
	} energy;
	_Atomic bool chooses; /* true if energy.fn is not NULL */
	uint32_t ngroups; /* groups created from this context, without subgroups */
	uint32_t number; /* no group of this context has a higher one */
	struct stays stays; /* of threads that wait */
	struct rt_sleepers sleepers;
	_Atomic bool paused; /* true if communication cores make no progress on its requests */
	_Atomic uint64_t steals[2]; /* times that the rank made progress for others: [0] on its NUMA node, [1] elsewhere */
	struct MPIX_Sched_stats gone; /* counters of requests that have been freed */
	_Atomic uint32_t usr1_seen; /* number of SIGUSR1s answered so far */
	_Atomic uint64_t dumped; /* time of the last dump because of GOAL_DUMP_AFTER, ns */
	struct {
		int err;
		long value;
	} env[ENV_COUNT]; /* environment variables as numbers, read when the context was created */
	char detail[2048];
};

void rt_ctx_ref(struct mpix_sched_ctx *ctx);
void rt_ctx_unref(struct mpix_sched_ctx *ctx);
/* Stores an error message for the user and returns err. */
__attribute__((format(printf, 3, 4))) int rt_error(struct mpix_sched_ctx *ctx, int err, const char *fmt, ...);
/* If err is not 0, stores its sentence as the error message. Returns err. */
int rt_fail(struct mpix_sched_ctx *ctx, int err);
/* Returns MPIX_SCHED_ERR_ARG, of whose reason nothing more is known, for a call on a context, which may be NULL. */
int rt_invalid(struct mpix_sched_ctx *ctx);
/* Returns the error number (negative) for errno. */
int rt_errno(void);
/* Stores an error message for the failed system call named `what`, with the reason from errno. Returns the error number. */
int rt_sys_error(struct mpix_sched_ctx *ctx, const char *what);
/* Stores the error message for an environment variable that has an invalid value. Returns -ERR_ARG. */
int rt_bad_env(struct mpix_sched_ctx *ctx, enum env_name name);
/* Returns in *out the value that a numeric environment variable had when the context was created. Returns 0, or -ERR_ARG
 * with an error message. */
int rt_env(struct mpix_sched_ctx *ctx, enum env_name name, long *out);
/* Frees heap blocks that no peer uses any more. */
void rt_ctx_reap(struct mpix_sched_ctx *ctx);
/* Adds a bound request to the context's list. Also frees heap blocks, as rt_ctx_reap does. */
int rt_ctx_add(struct mpix_sched_ctx *ctx, struct mpix_sched_request *req);
void rt_ctx_remove(struct mpix_sched_ctx *ctx, const struct mpix_sched_request *req);
/* Counts SIGUSR1 from now on, until rt_usr1_release was called as often. Does nothing if the application handles the signal. */
void rt_usr1_hold(void);
void rt_usr1_release(void);
uint32_t rt_usr1_count(void);

#endif
