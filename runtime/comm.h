/* SPDX-License-Identifier: BSD-3-Clause
 * Progress by others than the rank that waits: communication cores (comm.c), and ranks that help each other (collab.c). */
#ifndef RUNTIME_COMM_H
#define RUNTIME_COMM_H

#include "runtime/cpus.h"
#include "runtime/request.h"

#include <pthread.h>
#include <stdatomic.h>

enum rt_progress { RT_APP, RT_THREAD, RT_COLLAB, RT_PROGRESSES };
extern const char *const rt_progress_names[RT_PROGRESSES];

/* What a rank asks for, and where it may run. */
struct rt_wish {
	enum rt_progress progress;
	int32_t cpu; /* of its communication */
	struct rt_cpus cpus;
};

/* What is driven by others than its rank's own thread: a request of this process, or a view of another's. */
struct rt_item {
	struct be_bound *bound;
	struct mpix_sched_request *of; /* it, or what the view hangs on */
	uint32_t rank; /* its rank in the group of these */
	uint32_t slot; /* and in that of the board */
	bool view;
	bool stray; /* what is stored for its rank rings at another core */
};

/* What is known of a rank when it binds. */
struct rt_mate {
	struct be_place place;
	uint32_t core;
};

/* Those that drive the same ranks: this process's part of a communication core. */
struct rt_core {
	struct rt_local *local;
	uint32_t slot; /* on the board: the lowest rank that has this core */
	int32_t cpu; /* -1: not pinned */
	unsigned spins;
	struct rt_door *door; /* of that rank: bell[1] is the core's */
	pthread_rwlock_t lock; /* of items; who drives them has it, too */
	VEC(struct rt_item) items;
	bool changed;
	/* Of its thread: */
	pthread_mutex_t gate; /* of running, stop and live */
	pthread_cond_t opened;
	pthread_t thread;
	bool running;
	_Atomic bool stop;
	_Atomic uint32_t live; /* items that are not paused */
	VEC(uint32_t) active; /* items */
	uint32_t seen; /* of hub.starts, when they were looked for */
	uint32_t heard; /* of the core's bell, while it has armed that */
	bool armed, asked; /* asked: and since then passed the baton to those who may have to go on */
};

struct rt_comm {
	enum rt_progress progress;
	pid_t pid;
	uint32_t lead; /* the lowest rank of this process */
	uint32_t *core_of; /* by rank, of those of this node */
	struct rt_core *cores;
	uint32_t ncores;
};

/* Reads the environment. */
int rt_comm_ask(struct mpix_sched_ctx *ctx, uint32_t rank, struct rt_wish *w);
/* Whether a rank's wish goes with that of rank 0. */
int rt_comm_compare(struct mpix_sched_ctx *ctx, const struct rt_wish *zero, const struct rt_wish *w, uint32_t rank);
/* l->comm, from the wishes of all its ranks of this node. */
int rt_comm_make(struct mpix_sched_ctx *ctx, struct rt_local *l, uint32_t lead, const struct rt_wish *all);
/* Waits for its threads. */
void rt_comm_free(struct rt_local *l);
/* The lowest of the ranks that have the communication core of rank, of this node; UINT32_MAX: it has none. */
uint32_t rt_comm_slot(const struct rt_local *l, uint32_t rank);
/* The communication core that a request is for. */
uint32_t rt_comm_core(const struct mpix_sched_request *req);
/* How many ranks of other processes need a view of it; req->mates are known. */
uint32_t rt_comm_views(const struct mpix_sched_request *req);
/* From now on others make progress on a request, which all have bound, until rt_comm_leave. */
int rt_comm_join(struct mpix_sched_request *req);
void rt_comm_leave(struct mpix_sched_request *req);
/* One more of its requests is active, or one less. Who has the turn tells. */
void rt_comm_count(const struct mpix_sched_request *req, uint32_t step);
/* It has become active. */
void rt_comm_started(struct mpix_sched_request *req);
/* Drives one, if it is active. Adds to *moved; alarm, if not NULL: takes the time when it has to be looked at again.
 * false: somebody else is at it. */
bool rt_drive(const struct rt_item *it, uint64_t *moved, uint64_t *alarm);
/* The turn of a request whose holder has died with its process; whether the caller has it now. */
bool rt_inherit(struct mpix_sched_request *req);

/* The NUMA node of a rank is now this one. */
void rt_collab_here(const struct be_group *g);
/* Makes progress for other ranks; whether something of theirs is left. */
bool rt_collab_help(const struct mpix_sched_request *mine);

#endif
