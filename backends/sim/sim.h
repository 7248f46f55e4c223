/* SPDX-License-Identifier: BSD-3-Clause
 * The simulator: it computes when each rank of a schedule finishes in the LogGOPS model (Hoefler, Schneider, Lumsdaine:
 * LogGOPSim, HPDC LSAP 2010, section 2), for hosts with any number of cpus and network interfaces. goalsim(1) describes the
 * rules.
 *
 * A schedule comes from a source that makes the ops of one rank at a time, so that a rank needs memory only between its first
 * event and its last one. */
#ifndef BACKENDS_SIM_SIM_H
#define BACKENDS_SIM_SIM_H

#include "backends/sim/random.h"
#include "backends/sim/topology.h"
#include "format/read.h"
#include "util/index.h"
#include "util/mem.h"

#include <stdbool.h>

/* What bytes cost, in ns: so much each, whole numbers exactly and others in steps of a millionth; or by size. Then `whole` is
 * SIM_BY_SIZE, and costs between two points are interpolated. The line of the last two goes on, and the first one begins at 0. */
struct sim_rate {
	uint64_t whole, millionths;
	uint32_t npoints;
	struct sim_point {
		uint64_t bytes, ns;
	} point[24]; /* with ascending sizes, not 0 */
};
#define SIM_BY_SIZE UINT64_MAX
#define SIM_MOST_POINTS (sizeof((struct sim_rate *)0)->point / sizeof(struct sim_point))
#define SIM_TOO_LONG ((uint64_t)1 << 60) /* ns: greater than every time of an event, and sums of a few do not wrap */

/* The same as sim_cost(), of a cost by size. */
uint64_t sim_cost_by_size(const struct sim_rate *r, uint64_t bytes);
/* Returns what so many bytes cost in ns, at most SIM_TOO_LONG. */
static inline uint64_t sim_cost(const struct sim_rate *r, uint64_t bytes)
{
	const unsigned __int128 parts = r->millionths ? (unsigned __int128)bytes * r->millionths / 1000000 : 0;
	const unsigned __int128 all = (unsigned __int128)bytes * r->whole + parts;

	if (r->npoints)
		return sim_cost_by_size(r, bytes);
	return all > SIM_TOO_LONG ? SIM_TOO_LONG : (uint64_t)all;
}

struct sim_watch;

struct sim_params {
	uint64_t L, o, g; /* ns: latency, overhead of a message, gap between messages */
	struct sim_rate G, O; /* gap and overhead per byte */
	uint64_t S; /* the most bytes of an eager message */
	struct sim_topology topology; /* has a host for each rank, unless it is of no kind */
	uint64_t hop; /* ns: L is between two hosts of a switch, and each link adds this */
	struct sim_rate link; /* for how long bytes keep a link busy */
	bool compatible; /* rules of LogGOPSim instead of the corrected ones */
	const uint64_t *start; /* ns: when the cpus of each rank are free at first; NULL: all at 0 */
	struct sim_random noise; /* each use of a cpu takes so much longer */
	uint64_t seed;
	const struct sim_watch *watch; /* NULL: nobody watches */
};

/* ---- classes ---- */

enum sim_kind { SIM_SEND, SIM_RECV, SIM_CALC, SIM_MESSAGE, SIM_KINDS = SIM_MESSAGE };

/* What many ops have in common. */
struct sim_class {
	uint32_t tag, cpu, nic, high; /* as in struct bin_op; high: the upper 32 bits of the size */
	uint32_t at_cpu, at_nic, at_pair; /* indices of the cpu, the nic, and this pair, among those of the schedule */
	uint32_t before : 24; /* of a message: how many of its channel are before it, if the order on channels counts; else 0 */
	uint32_t kind : 5; /* enum sim_kind */
	uint32_t idle : 1; /* of a calc: it is time that passes, and occupies no cpu */
	uint32_t shared : 1; /* of a calc: it occupies any cpu of its host that is open */
	uint32_t opens : 1; /* of a calc: its cpu is closed to shared calcs until it is done */
};
_Static_assert(sizeof(struct sim_class) == 32, "a power of two, as classes are found by their index");

struct sim_numbers {
	VEC(uint64_t) v;
};

struct sim_classes {
	VEC(struct sim_class) v;
	struct sim_numbers cpus, nics, pairs; /* pairs: a cpu in the upper half, a nic in the lower */
	struct index index;
	bool any_tag; /* some message has any tag */
	bool any_shared; /* there are shared calcs; then there is one host */
	uint32_t last[SIM_KINDS]; /* 1 + the class that was asked for last, for each kind */
};
#define SIM_MOST_CLASSES (1u << 24)

void sim_classes_fini(struct sim_classes *c);
/* Returns the number of the class of such ops, or -ERR_NOMEM, or -ERR_SPACE if there are too many. */
int64_t sim_class(struct sim_classes *c, enum sim_kind kind, uint32_t tag, uint32_t cpu, uint32_t nic, uint32_t high);
/* The same for messages like those of a class, each with so many of its channel before it. */
int64_t sim_ordered_class(struct sim_classes *c, uint32_t like, uint32_t before);
/* The same for calcs that occupy no cpu; any cpu that is open; or a cpu that they open. */
int64_t sim_idle_class(struct sim_classes *c, uint32_t high);
int64_t sim_shared_class(struct sim_classes *c, uint32_t high);
int64_t sim_opening_class(struct sim_classes *c, uint32_t cpu, uint32_t high);

/* ---- the source of a schedule ---- */

struct sim_op {
	uint64_t size; /* bytes of a message, ns of a calc */
	uint32_t peer; /* may be BIN_ANY in a recv */
	uint32_t cls;
};

/* The ops of one rank, in memory of the source that is valid until it makes the next rank. */
struct sim_rank {
	const struct sim_op *ops;
	const struct bin_dep *deps; /* in any order */
	uint32_t nops, ndeps;
	/* Not 0: ranks with the same number one after the other have the same ops and dependencies, but for the peers, and all or none
	 * of them have wildcards. */
	uint32_t like;
};

struct sim_source {
	uint32_t nranks;
	/* All classes, cpus and nics that the ranks have. If the source adds classes while it makes ranks, they have no new cpu
	 * and no new nic. */
	struct sim_classes *classes;
	/* True if a rank that waits for its first message may be made twice, to save memory. There are then no wildcards. */
	bool again;
	/* Makes the ops of a rank. Returns 0 or -ERR_x; the source keeps the details of an error. */
	int (*make)(void *arg, uint32_t rank, struct sim_rank *out);
	void *arg;
};

/* ---- steps, for those who watch ---- */

/* What an op does from begin to end: it occupies a cpu, unless both are one time. */
struct sim_step {
	enum { SIM_STARTED /* it is not done yet */, SIM_PART, SIM_DONE /* its last step */ } what;
	uint32_t rank, op, cpu;
	uint64_t begin, end; /* ns */
	const struct sim_class *cls; /* of the op */
	uint64_t size; /* of the op */
	uint32_t peer; /* of a message; may be BIN_ANY before it is done */
	uint32_t sent, tag; /* of a recv that is done: the op of its send, and the tag of that; else the tag of the op */
};

struct sim_watch {
	/* Called for each step, not in the order of time. Returns 0, or -ERR_x, which ends the simulation. */
	int (*step)(void *arg, const struct sim_step *s);
	void *arg;
};

/* ---- results ---- */

/* An op of a cycle of ops that wait for each other. */
struct sim_waiting {
	uint32_t rank, op;
	enum { SIM_FOR_OP, SIM_FOR_START, SIM_FOR_MESSAGE, SIM_FOR_RECV, SIM_FOR_NOBODY } waits; /* for the next one of the list */
};

/* Zeroed before use. */
struct sim_result {
	uint64_t *finish; /* ns, for each rank (owned) */
	uint64_t end; /* the latest of them */
	uint64_t events; /* ops and messages */
	uint64_t unmatched; /* messages that no recv has received */
	uint32_t blocked; /* ranks with ops that have not run */
	VEC(struct sim_waiting) cycle; /* if ranks are blocked: a cycle; or one op alone, for which nobody sends or receives */
};

void sim_result_fini(struct sim_result *r);
/* Simulates a schedule. Returns 0, even if ranks are blocked; an error of the source; -ERR_NOMEM; -ERR_OVERFLOW if a time exceeds
 * 2^56 ns; or -ERR_SPACE if there are more ops or ranks at a time than this simulator can number. */
int sim_run(const struct sim_source *src, const struct sim_params *p, struct sim_result *r);

#endif
