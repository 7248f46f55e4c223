/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks for tests: as threads or processes, with an allgather of their own. */
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

/* Lies in memory that processes share. */
struct team {
	int size;
	_Atomic int failed; /* the allgather gives up */
	_Atomic int wrong; /* ranks whose function returned not 0 */
	struct team_slot slots[TEAM_MAX];
};

struct member {
	struct team *team;
	int rank, size;
	uint64_t seq;
	void *arg;
	MPIX_Sched_ctx ctx;
	MPIX_Sched_group group;
};

/* As texts: a binomial broadcast; a chain from rank 0 on; one on which each rank adds its number to what it gets and
 * sends it on. */
extern const char team_bcast[], team_chain[], team_sum_chain[];

/* An MPIX_Sched_allgather_fn; arg is a member. */
int team_allgather(const void *in, void *out, size_t size, void *arg);
/* How long the ranks may take, as processes: 60. */
extern double team_seconds;
/* Runs fn as every rank with its context and group made; 0 when all returned 0 in time. */
int team_run(int size, bool threads, int (*fn)(struct member *), void *arg);
/* The same, but fn makes context and group itself. */
int team_run_bare(int size, bool threads, int (*fn)(struct member *), void *arg);
/* The broadcast for so many ranks: the text, or DIR/RANKS.COUNT.bin where TEAM_BINS=DIR, for a backend that needs it
 * lowered. */
int team_load(struct member *m, int size, size_t count, MPIX_Sched *s);
/* How many files a directory has. */
int team_entries(const char *dir);

/* Says where and why, and returns 1 from the calling function, unless cond holds. */
#define NEED(cond)                                                                                   \
	do {                                                                                         \
		if (!(cond)) {                                                                       \
			fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, m->rank, #cond); \
			return 1;                                                                    \
		}                                                                                    \
	} while (0)

/* A call that must succeed; prints the detail if not. */
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
