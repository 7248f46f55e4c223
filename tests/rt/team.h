/* SPDX-License-Identifier: BSD-3-Clause
 * Runs the ranks of a test as threads or processes, and provides an allgather by which they create groups. */
#ifndef TESTS_RT_TEAM_H
#define TESTS_RT_TEAM_H

#include <mpix_sched.h>

#include <stdatomic.h>
#include <stdbool.h>

#define TEAM_MAX 16
#define TEAM_RECORD 256

struct team_slot {
	_Atomic uint64_t seq;
	char data[2][TEAM_RECORD];
};

/* The state of all ranks of a test, in memory that processes share. */
struct team {
	int size;
	_Atomic int failed; /* 1 if a rank has failed: the allgather then returns an error */
	_Atomic int wrong; /* number of ranks whose function did not return 0 */
	struct team_slot slots[TEAM_MAX];
	void *rings; /* memory of the transport, or NULL */
};

struct member {
	struct team *team;
	int rank, size;
	uint64_t seq;
	void *arg;
	MPIX_Sched_ctx ctx;
	MPIX_Sched_group group;
	void *post; /* the transport of the rank */
};

/* Texts of schedules: a binomial broadcast; a broadcast along a chain from rank 0 on; a chain on which each rank adds its
 * number to the data that it receives and sends the sum on; a ring, on which each rank sends "mine" to its right neighbour. */
extern const char team_bcast[], team_chain[], team_sum_chain[], team_ring[];

/* An MPIX_Sched_allgather_fn; arg is a member. */
int team_allgather(const void *in, void *out, size_t size, void *arg);
/* The same for groups of one rank; arg is not used. */
int team_alone(const void *in, void *out, size_t size, void *arg);
/* A barrier. Returns 0, or 1 if a rank has failed. */
int team_meet(struct member *m);
/* The most seconds that ranks may take that are processes; 60 by default. */
extern double team_seconds;
/* Creates context and group of each rank, and calls fn in it. Returns 0 if all calls returned 0 in time. With
 * TEAM_TRANSPORT=app or TEAM_TRANSPORT=threads in the environment, the group gets a transport, which any thread may call in the
 * second case. With TEAM_NODES=N, ranks that are processes are on N nodes. */
int team_run(int size, bool threads, int (*fn)(struct member *), void *arg);
/* transport.c: make a transport for this rank, and set it for its group. */
struct MPIX_Sched_transport team_transport_make(struct member *m, const char *how);
int team_transport(struct member *m, const char *how);
void team_transport_end(struct member *m);
size_t team_transport_size(void);
/* Like team_run, but fn has to create context and group itself. */
int team_run_bare(int size, bool threads, int (*fn)(struct member *), void *arg);
/* Loads the broadcast for this many ranks: its text, or, if TEAM_BINS=DIR is set, DIR/RANKS.COUNT.bin. Backends that need
 * lowered schedules use the latter. */
int team_load(struct member *m, int size, size_t count, MPIX_Sched *s);
/* Binds the ring to n integers each way. */
int team_ring_init(struct member *m, void *in, void *out, size_t n, MPIX_Sched_request *req);
/* Some epochs of it, in which the right numbers arrive. */
int team_ring_epochs(struct member *m, MPIX_Sched_request req, int *in, const int *out, int n);
/* Returns the number of files in /dev/shm that are of no MPI library. */
int team_shm(void);

/* Prints a message and returns 1 from the calling function, unless cond is true. */
#define NEED(cond)                                                                                   \
	do {                                                                                         \
		if (!(cond)) {                                                                       \
			fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, m->rank, #cond); \
			return 1;                                                                    \
		}                                                                                    \
	} while (0)

/* Calls a function of the library. If it fails, prints the detail and returns 1 from the calling function. */
#define CALL(expr)                                                                                  \
	do {                                                                                        \
		int rc_ = (expr);                                                                   \
		if (rc_) {                                                                          \
			char text_[512];                                                            \
			MPIX_Sched_error_detail(m->ctx, text_, sizeof text_);                       \
			fprintf(stderr, "%s:%d: rank %d: %s: %s (%s)\n", __FILE__, __LINE__, m->rank, \
				#expr, MPIX_Sched_error_string(rc_), text_);                        \
			return 1;                                                                   \
		}                                                                                   \
	} while (0)

#endif
