/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun's parts: options (main.c), starting ranks (launch.c), what a rank does (rank.c), what the result
 * has to be (oracle.c). */
#ifndef RUNTIME_RUN_RUN_H
#define RUNTIME_RUN_RUN_H

#include "compiler/compile.h"
#include "runtime/rt.h"
#include "util/options.h"

enum run_memory { RUN_HEAP, RUN_PRIVATE, RUN_STAGED, RUN_MEMORIES };
extern const char *const run_memory_names[RUN_MEMORIES];
extern const char *const run_type_names[MPIX_SCHED_BASICS];

/* One combination that is bound and run. */
struct run_case {
	int64_t count, root; /* root -1: the schedule has none */
	enum MPIX_Sched_basic type;
	enum run_memory memory;
};

struct run_result {
	double median_us, min_us, start_us, init_us;
};

/* Shared by all ranks of a launch. */
struct run_shared {
	_Atomic uint32_t bad; /* a rank has failed */
	_Atomic uint64_t cases_done; /* by rank 0 */
};

struct run_options {
	uint32_t nranks;
	bool threads, verify, json, plain;
	int64_t iters, warmup, seed, delay;
	struct defines defines;
	/* the schedule */
	const char *name;
	void *image;
	size_t size;
	bool has_root;
	const struct oracle *oracle; /* NULL: the result cannot be checked */
	const struct ir_graph *graph; /* plain: the ops of all ranks */
	/* the cases, and how one launch takes those of one memory kind */
	struct run_case *cases;
	size_t ncases;
	char **program; /* instead of a schedule */
};

/* Memory shared with the ranks: times[rank][iteration] of the case at hand, and texts of failures. */
struct run_launch {
	const struct run_options *o;
	enum run_memory memory;
	struct rt_board *board;
	struct run_shared *shared;
	char (*error)[512]; /* by rank */
	double *total, *start, *init; /* [case][rank][iteration], [case][rank][iteration], [case][rank] */
};

/* Zeroed memory that is shared with ranks; NULL when there is none. */
void *run_shared_memory(size_t size);
/* Runs all cases of one memory kind as one rank; 0, or 1 with a text in error. */
int run_rank(struct run_launch *l, uint32_t rank);
/* Starts the ranks and waits for them; an exit status. */
int launch_schedule(struct run_launch *l);
int launch_program(const struct run_options *o);

/* ---- what a collective does to its buffers (oracle.c) ---- */

struct oracle_call {
	uint32_t rank, size;
	uint64_t root, count, epoch, seed;
	size_t elem; /* bytes of an element */
	char **buffers;
	const uint64_t *bytes; /* of each buffer */
};

struct oracle {
	const char *implements;
	/* Fills this rank's buffers before the start of an epoch. */
	void (*fill)(const struct oracle_call *c);
	/* The first wrong byte after it: its offset in buffer *buffer, or -1. */
	int64_t (*check)(const struct oracle_call *c, uint32_t *buffer);
};

/* NULL when there is none for that collective. */
const struct oracle *oracle_find(const char *implements);
/* Pseudo-random bytes that depend on key. */
void oracle_pattern(char *p, uint64_t bytes, uint64_t key);
/* The first byte that differs from the pattern, or -1. */
int64_t oracle_compare(const char *p, uint64_t bytes, uint64_t key);
uint64_t oracle_key(uint64_t a, uint64_t b, uint64_t c, uint64_t d);

#endif
