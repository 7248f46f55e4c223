/* SPDX-License-Identifier: BSD-3-Clause
 * What nbc.c, which keeps bound schedules for collectives that do not block, shares with once.c, which makes their requests. */
#ifndef MPI_NBC_H
#define MPI_NBC_H

#include "mpi/inner.h"

struct gm_instance;

/* What the calls of one key have in common. All fields are compared as bytes. */
struct gm_key {
	enum gm_coll coll;
	enum MPIX_Sched_basic basic;
	enum MPIX_Sched_builtin builtin;
	int root;
	uint64_t count;
	uint64_t in_place; /* of all ranks */
};

enum gm_once_state { GM_QUEUED, GM_RUNNING, GM_DONE };

/* A call. */
struct gm_once {
	struct gm_once *next; /* in the queue of the instance */
	struct gm_instance *instance;
	enum gm_once_state state;
	bool waited; /* a thread waits for it, and completes it */
	int err;
	void *buffers[2];
};

/* True if the instance that the next call with a key will use need not be bound any more. */
bool gm_nbc_bound(struct gm_nbc *n, const struct gm_key *k);
/* Has a call started as soon as its instance is bound and not in use. Takes *sched over if that is to be bound. Returns false if
 * there is no memory. */
bool gm_nbc_enqueue(struct gm_nbc *n, const struct gm_key *k, struct gm_once *o, MPIX_Sched *sched);

#endif
