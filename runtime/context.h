/* SPDX-License-Identifier: BSD-3-Clause
 * Contexts: all state of the library hangs off one (ctx.c). */
#ifndef RUNTIME_CONTEXT_H
#define RUNTIME_CONTEXT_H

#include "backends/backend.h"
#include "include/mpix_sched.h"
#include "util/env.h"
#include "util/err.h"
#include "util/mem.h"

#include <pthread.h>
#include <stdatomic.h>

struct rt_heap;
struct rt_selected;
struct rt_trace;

struct rt_zombie {
	void *ptr[2];
	_Atomic uint32_t *users;
};

struct mpix_sched_ctx {
	_Atomic uint32_t refs;
	pid_t pid; /* of the process that made it */
	pthread_mutex_t lock; /* of requests and zombies */
	pthread_mutex_t detail_lock; /* of detail; innermost */
	pthread_mutex_t select_lock; /* of selected; outermost */
	struct rt_selected *selected; /* NULL until something is */
	struct rt_heap *heap;
	const struct be_row *backend; /* what carries out its requests; NULL: there is none of that name */
	void *be_state; /* host_state's */
	pthread_mutex_t watch_lock; /* of who sleeps on descriptors: one thread, the others on the bell */
	_Atomic int watched; /* host_watch's, or -1 */
	struct rt_trace *trace; /* NULL: none is kept */
	VEC(struct rt_zombie) zombies;
	VEC(struct mpix_sched_request *) requests; /* bound ones */
	_Atomic uint32_t nactive;
	bool umwaits; /* the CPU's */
	int policy; /* enum rt_policy, or -ERR_ARG */
	pthread_mutex_t energy_lock; /* of energy; whoever is in there may take it again */
	struct {
		MPIX_Sched_energy_fn *fn;
		void *arg;
	} energy;
	_Atomic bool chooses; /* energy.fn is there */
	_Atomic uint32_t ngroups; /* that were created, not split off */
	_Atomic bool paused; /* no communication core makes progress on its requests */
	_Atomic uint64_t steals[2]; /* times that it moved others' requests: of its NUMA node, and not */
	struct MPIX_Sched_stats gone; /* what requests that are no more have counted */
	_Atomic uint32_t usr1_seen; /* SIGUSR1s that were answered */
	_Atomic uint64_t dumped; /* when requests that waited for too long were last printed, ns */
	struct {
		int err;
		long value;
	} env[ENV_COUNT]; /* as numbers, when it was made */
	char detail[2048];
};

void rt_ctx_ref(struct mpix_sched_ctx *ctx);
void rt_ctx_unref(struct mpix_sched_ctx *ctx);
/* Stores what to tell the user; returns err. */
__attribute__((format(printf, 3, 4))) int rt_error(struct mpix_sched_ctx *ctx, int err, const char *fmt, ...);
/* Stores the sentence of err, if it is one. */
int rt_fail(struct mpix_sched_ctx *ctx, int err);
/* The error that errno stands for. */
int rt_errno(void);
/* Stores what errno says of a call; returns that error. */
int rt_sys_error(struct mpix_sched_ctx *ctx, const char *what);
/* An environment variable that is a number, as it was when the context was made; 0 or -ERR_ARG, which is told. */
int rt_env(struct mpix_sched_ctx *ctx, enum env_name name, long *out);
/* Gives back what no peer uses any more. */
void rt_ctx_reap(struct mpix_sched_ctx *ctx);
/* Adds a request to those that are bound, and does the same. */
int rt_ctx_add(struct mpix_sched_ctx *ctx, struct mpix_sched_request *req);
void rt_ctx_remove(struct mpix_sched_ctx *ctx, const struct mpix_sched_request *req);
/* Adds what has been counted in a turn. */
void rt_add_stats(struct MPIX_Sched_stats *s, const struct be_turn *turn);

#endif
