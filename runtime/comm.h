/* SPDX-License-Identifier: BSD-3-Clause
 * Progress by threads other than the rank that waits: communication cores (comm.c; comm_cores.c chooses them), and ranks that help
 * each other (collab.c). */
#ifndef RUNTIME_COMM_H
#define RUNTIME_COMM_H

#include "runtime/placement/cpus.h"
#include "runtime/request.h"

#include <pthread.h>
#include <stdatomic.h>

enum rt_progress { RT_APP, RT_THREAD, RT_COLLAB, RT_PROGRESSES };
extern const char *const rt_progress_names[RT_PROGRESSES];

/* Settings of one rank for progress, from its environment, and the CPUs on which it may run. */
struct rt_comm_config {
	enum rt_progress progress;
	int32_t cpu; /* CPU for its communication */
	struct rt_cpus cpus;
};

/* A request on which threads other than its rank's own make progress. It is bound in this process, or is a view of a
 * request of another process. */
struct rt_driven {
	struct be_bound *bound;
	struct mpix_sched_request *of; /* the request itself, or the one that owns the view */
	uint32_t rank; /* rank to which the request belongs, in the request's group */
	uint32_t slot; /* number of that rank on the board of all ranks */
	bool view;
	bool stray; /* peers of its rank ring the bell of another communication core */
};

/* Information about another rank during binding: its backend's memory, and the number of its communication core. */
struct rt_member {
	struct be_handle handle;
	uint32_t comm_core;
};

/* The driver: this process's part of a communication core, with the requests on which it makes progress and its thread.
 * Ranks that help each other (RT_COLLAB) have one without a thread. */
struct rt_driver {
	struct rt_process *process;
	uint32_t slot; /* lowest rank that this communication core serves; its slot on the board has the hub */
	int32_t cpu; /* CPU to which the thread is pinned; -1 if it is not pinned */
	unsigned spins;
	struct rt_door *door; /* bells of rank slot; bell[1] is the core's */
	pthread_rwlock_t lock; /* protects `driven`; read-locked while a thread makes progress on its requests */
	VEC(struct rt_driven) driven;
	bool changed;
	/* Used by the thread, or to control it: */
	pthread_mutex_t gate; /* protects running, stop and live */
	pthread_cond_t opened;
	pthread_t thread;
	bool running;
	_Atomic bool stop;
	_Atomic uint32_t live; /* number of requests in `driven` that are not paused */
	VEC(uint32_t) active; /* indices in `driven` of the active requests */
	uint32_t seen; /* value of hub.starts when `active` was last filled */
	uint32_t heard; /* count of the core's bell when the thread armed it */
	bool armed, asked; /* asked: the thread has passed the baton once since it armed the bell */
	uint64_t idle_since; /* when the thread last found nothing to move, ns */
	bool lingers; /* true if the last idle time was short enough to be polled through */
};

struct rt_comm {
	enum rt_progress progress;
	pid_t pid;
	uint32_t lead; /* lowest rank of this process */
	uint32_t *driver_of; /* number of the communication core of each rank of this node, by rank */
	struct rt_driver *drivers;
	uint32_t ndrivers;
};

/* Fills in w from the environment. */
int rt_comm_ask(struct mpix_sched_ctx *ctx, uint32_t rank, struct rt_comm_config *w);
/* Checks that the settings of a rank are compatible with those of rank 0. Returns 0, or an error with a message. */
int rt_comm_compare(struct mpix_sched_ctx *ctx, const struct rt_comm_config *zero, const struct rt_comm_config *w, uint32_t rank);
/* Creates l->comm from the settings of all ranks of this node. */
int rt_comm_make(struct mpix_sched_ctx *ctx, struct rt_process *l, uint32_t lead, const struct rt_comm_config *all);
/* Stops the threads of l->comm, waits for them, and frees it. */
void rt_comm_free(struct rt_process *l);
/* Returns the number of the communication core that serves a request. */
uint32_t rt_comm_core(const struct mpix_sched_request *req);
/* True if rank `by` creates a view of the request of `rank`, which is in another process. Of the ranks that one core serves,
 * the lowest one of each process does so. */
bool rt_comm_drives(const struct mpix_sched_request *req, uint32_t by, uint32_t rank);
/* Returns how many ranks of other processes create a view of the request. req->members must be set. */
uint32_t rt_comm_views(const struct mpix_sched_request *req);
/* Lets other threads make progress on a request, until rt_comm_leave. All ranks have bound it. */
int rt_comm_join(struct mpix_sched_request *req);
void rt_comm_leave(struct mpix_sched_request *req);
/* Adds step, 1 or -1, to the number of active requests of the core. The caller holds the request's turn. */
void rt_comm_count(const struct mpix_sched_request *req, uint32_t step);
/* Ends the epoch of a request with result err. The caller holds the turn. */
static inline void rt_finish_request(struct mpix_sched_request *req, int err)
{
	rt_turn_finish(req->turn, err);
	if (req->driver)
		rt_comm_count(req, -1u);
}

/* Makes progress on those ops of a request that the classes in `who` (bits of enum be_who) may carry out. The caller holds
 * the turn. */
static inline void rt_advance(struct mpix_sched_request *req, unsigned who)
{
	int rc = rt_state(req) == RT_ACTIVE ? req->be->progress(req->bound, who, 0) : 0;

	if (rc)
		rt_finish_request(req, rc);
}

/* Wakes the communication core because the request has become active. */
void rt_comm_started(struct mpix_sched_request *req);
/* Makes progress on a request, if it is active. Adds the amount of work done to *moved. If `alarm` is not NULL, lowers
 * *alarm to the time at which the request has to be checked again. Returns false if somebody else holds the turn. */
bool rt_drive(const struct rt_driven *it, uint64_t *moved, uint64_t *alarm);
/* Takes the turn of a request from a holder whose process has died. Returns true if the caller holds it now. */
bool rt_inherit(struct mpix_sched_request *req);

/* Publishes on which NUMA node the calling rank runs. */
void rt_collab_here(const struct be_group *g);
/* Makes progress on requests of other ranks. Returns true if some of them are still active. */
bool rt_collab_help(const struct mpix_sched_request *mine);

#endif
