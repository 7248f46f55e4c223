/* SPDX-License-Identifier: BSD-3-Clause
 * The state of a simulation: what the files of this folder share.
 *
 * Four choices make the simulator fast. First, of the ops and messages that wait for the same cpu and nic of a host, only the
 * first one is in the event queue. This is exact: the times at which a cpu or nic is free only grow, so those that wait are
 * served in the order of (time, serial number), and that is the order in which they come. What comes in another order is
 * queued alone. For the same reason, where queues of a lane wait for the same cpu, only one of them is in the event queue.
 * Second, a message is its send op, so that there is no memory of messages. Third, recvs and messages that wait for each other
 * are in one hash table per host (match.h), whose entries tell them apart without a look at the ops. Fourth, ranks with the same
 * dependencies share the lists of successors, which then stay in the cache. */
#ifndef BACKENDS_SIM_STATE_H
#define BACKENDS_SIM_STATE_H

#include "backends/sim/pool.h"
#include "backends/sim/sim.h"
#include "backends/sim/wheel.h"

/* Ops or messages of a kind that wait for the same cpu and nic. */
struct queue {
	uint32_t first : 30; /* the first one, or 0 */
	uint32_t leads : 1; /* it is in the event queue, and those that are parked look for the next leader at its event */
	uint32_t parked : 1; /* it is not in the event queue: its time is not before that of the leader */
};

/* The times at which a cpu or nic of a host is free, and the queues of what waits for it. A lane i is of cpu i, of nic i, and,
 * for the queues of sends and messages, of the pair i of a cpu and a nic. */
struct lane {
	uint64_t cpu, send, recv; /* ns: the cpu; the nic for sending; the nic for receiving */
	struct queue queue[SIM_KINDS + 1];
};

/* The last one of each queue of a lane, if there is one. It is apart from the lane, because only what adds to a queue needs it. */
struct lasts {
	uint32_t at[SIM_KINDS + 1];
};

/* A rank that has ops or messages. */
struct host {
	uint32_t rank;
	uint32_t block : 30; /* its ops in the pool; 0: not made yet, or all done */
	uint32_t pinned : 1; /* recvs and messages that wait are in the chain, because the order of wildcards matters */
	uint32_t complete : 1; /* all ops are done */
	uint32_t left; /* ops that are not done, messages of the rank that are not received, and messages on the way to it */
	uint32_t waiting : 25; /* recvs and messages that wait for each other, see match.h */
	uint32_t size : 7; /* of their table, as match_slots() counts; 0: they are in a chain */
	uint32_t match; /* the block of their table in the pool; or the last op of the chain, which is linked as a queue is, or 0 */
	uint32_t lists; /* the block of the lists of its ops' successors in the pool; 0: they have none */
	struct lane lane; /* lane 0 */
};
_Static_assert(sizeof(struct host) == 64, "a line of the cache");
_Static_assert(POOL_MOST <= 1u << 30, "the bits of a block");

#define NO_HOST UINT32_MAX
#define SLOT_NONE 0u
#define SLOT_GONE UINT32_MAX

/* What an event is about: a queue of a host, or an op alone. */
#define WHAT_ALONE 0x80000000u
#define WHAT_MESSAGE 0x40000000u /* the op alone is a message */
#define WHAT_OP 0x3fffffffu
/* Serial numbers of the ops that are ready at the start are below this one. */
#define SERIAL_LATER ((uint64_t)1 << 32)

/* Ops that the current event has made ready, in their order. */
struct ready {
	uint32_t host; /* NO_HOST: the event does nothing, because its cpu or nic is busy */
	VEC(uint32_t) ops;
};

/* How a rank begins. */
struct begin {
	uint32_t like; /* as in struct sim_rank; 0: it is of no other rank */
	bool waits; /* nothing happens on it before its first message */
	bool posts; /* nobody waits for the start of its recvs, so that they are posted at once */
	bool wild; /* its recvs or messages can match in several ways, so that their order matters */
};

struct sim {
	const struct sim_source *src;
	const struct sim_params *p;
	struct sim_result *result;
	struct wheel wheel;
	struct pool pool;
	struct host *hosts;
	struct lane *more; /* lanes 1 and up of all hosts, `lanes` - 1 of each */
	struct lasts *lasts; /* of each lane of each host */
	size_t lasts_size; /* bytes */
	uint32_t nhosts, hosts_cap, free_host; /* free_host: 1 + the first free host, or 0; the field `rank` links them */
	uint32_t lanes;
	/* For shared calcs, or else NULL: when each lane is open, and those that have waited for a lane since one opened. */
	uint64_t *open;
	VEC(uint32_t) late;
	uint64_t *links; /* ns: when each link of the topology is free, or NULL */
	uint32_t *slot; /* for each rank: 1 + its host, SLOT_NONE if it has none yet, or SLOT_GONE */
	uint64_t serial, start_serial; /* numbers of the next event, and of the next op that is ready at the start */
	struct ready ready[2]; /* of the host of the event, and of the sender of its message */
	VEC(uint32_t) at; /* memory for making blocks */
	struct begin begin; /* of the rank that was made last */
	/* The lists of the rank that was made last, which the next one shares if it has the same. */
	struct {
		uint32_t block, n; /* in the pool, or 0; successors in all */
	} lists;
	/* The ops of a rank before its first event, for those that are like it. They have these lists. */
	struct fresh {
		struct op *at;
		uint32_t like, seen; /* as in struct sim_rank: of what is kept, and of the rank that was made last */
		uint32_t cap; /* ops */
	} fresh;
	/* For what the next events need, which is fetched ahead. They are known by their places in `current` of the wheel. */
	struct ahead {
		uint32_t host, op;
		enum sim_kind kind;
		bool none; /* nothing is known about the event */
	} ahead[32];
	bool charges_recv; /* messages are charged to the cpu and nic of their recv */
};

static inline struct op *sim_op_at(const struct sim *s, uint32_t i)
{
	return &s->pool.at[i];
}

/* Returns the lists of successors in a block of the pool. Word 0 counts who uses them: hosts, and `lists` of struct sim. */
static inline uint32_t *sim_lists_at(const struct sim *s, uint32_t block)
{
	return (uint32_t *)(void *)sim_op_at(s, block);
}

static inline const struct sim_class *sim_class_of(const struct sim *s, const struct op *op)
{
	return &s->src->classes->v.at[op->cls];
}

static inline uint64_t sim_size(const struct sim_class *c, const struct op *op)
{
	return (uint64_t)c->high << 32 | op->size;
}

static inline struct lane *sim_lane(const struct sim *s, uint32_t host, uint32_t i)
{
	return i ? &s->more[(size_t)host * (s->lanes - 1) + i - 1] : &s->hosts[host].lane;
}

static inline uint64_t sim_later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- host.c ---- */

/* Returns the host of a rank, which it makes if there is none, or -ERR_x. It may move all hosts. */
int64_t sim_host_of(struct sim *s, uint32_t rank);
/* Makes the ops of a host from those of its rank. */
int sim_fill_host(struct sim *s, uint32_t host, const struct sim_rank *r);
/* Notes the time at which the rank of a host finishes so far. */
void sim_note_finish(struct sim *s, uint32_t host);
/* Frees the ops of a host with nothing left to do and, if no message can come any more, the host. */
void sim_retire_host(struct sim *s, uint32_t host);
void hosts_fini(struct sim *s);

/* ---- blocked.c ---- */

/* Finds the ranks that have not finished, and a cycle of ops that wait for each other. */
int blocked_find(struct sim *s);

#endif
