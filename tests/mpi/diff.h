/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of diff, the differential test of persistent collectives:
 *   diff.c    options, rounds of several requests, comparison
 *   draw.c    communicators, and what the ranks of one agree about before a collective
 *   types.c   predefined and derived datatypes whose layout the test knows
 *   ops.c     operations, predefined and user-defined
 *   sides.c   buffers: their blocks, their contents, and what a collective must make of them
 *   calls.c   the calls of the 22 collectives
 *   waits.c   the forms of waiting and testing
 * All that several ranks must agree about is drawn from a generator with the same seed on all of them. */
#ifndef TESTS_MPI_DIFF_H
#define TESTS_MPI_DIFF_H

#include "persistent.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_RANKS = 64, MOST_REQUESTS = 6, MOST_COMMS = 7, MOST_EDGES = 256 };

/* ---- random numbers ---- */

struct rng {
	uint64_t state;
};

uint64_t mix(uint64_t a, uint64_t b);
uint64_t draw(struct rng *g);
/* A number from 0 to n-1. */
int below(struct rng *g, int n);
/* True once in n times. */
bool one_in(struct rng *g, int n);
/* Puts the numbers 0 to n-1 into a random order. */
void shuffle(struct rng *g, int *at, int n);

/* ---- collectives ---- */

/* X(NAME, name): the order is that of the tables in the manual of MPI. */
#define COLLECTIVES(X) \
	X(BARRIER, Barrier) X(BCAST, Bcast) X(GATHER, Gather) X(GATHERV, Gatherv) X(SCATTER, Scatter) X(SCATTERV, Scatterv) \
	X(ALLGATHER, Allgather) X(ALLGATHERV, Allgatherv) X(ALLTOALL, Alltoall) X(ALLTOALLV, Alltoallv) X(ALLTOALLW, Alltoallw) \
	X(REDUCE, Reduce) X(ALLREDUCE, Allreduce) X(REDUCE_SCATTER, Reduce_scatter) \
	X(REDUCE_SCATTER_BLOCK, Reduce_scatter_block) X(SCAN, Scan) X(EXSCAN, Exscan) \
	X(NEIGHBOR_ALLGATHER, Neighbor_allgather) X(NEIGHBOR_ALLGATHERV, Neighbor_allgatherv) \
	X(NEIGHBOR_ALLTOALL, Neighbor_alltoall) X(NEIGHBOR_ALLTOALLV, Neighbor_alltoallv) \
	X(NEIGHBOR_ALLTOALLW, Neighbor_alltoallw)

enum coll {
#define X(NAME, name) C_##NAME,
	COLLECTIVES(X)
#undef X
	C_COUNT
};

extern const char *const coll_name[C_COUNT];

/* One of the two buffers of a call, as MPI has it. A call does not use all of its fields. */
struct given {
	void *buf;
	int count;
	MPI_Datatype type;
	int n; /* of each array */
	int *counts, *displs;
	MPI_Aint *adispls;
	MPI_Datatype *types;
#if MPI_VERSION >= 4
	MPI_Count *lcounts;
#endif
};

struct args {
	struct given send, recv;
	int root;
	MPI_Op op;
	MPI_Comm comm;
	MPI_Info info;
	MPI_Datatype *owned; /* types to be freed with it */
	int owns;
	bool owns_op;
};

int call_blocking(enum coll c, const struct args *a);
/* Makes a persistent request, by the call with large counts if `large`. */
int call_init(enum coll c, const struct args *a, bool large, MPI_Request *request);

/* ---- datatypes ---- */

enum kind { INTEGER, UNSIGNED, FLOATING, COMPLEX, TRUTH, BYTES, PAIR };

/* A predefined type. It consists of one or two numbers: a complex number and a pair have two. */
struct basic {
	MPI_Datatype type;
	const char *name;
	enum kind kind;
	int size; /* of its first number */
	bool second_floats; /* the second number of a PAIR */
	int second, second_size; /* where the second number is; 0: there is none */
	int extent;
	unsigned fits; /* a bit for each predefined operation that takes it, see ops.c */
};

extern struct basic basics[];
extern int basic_count;

/* What values are for: an operation must not overflow, nor depend on the order by rounding. */
enum use { MOVED, SUMMED, MULTIPLIED, COMPARED, DECIDED, MASKED, LOCATED, USERS };

void basics_begin(void);
/* Writes the value that the hash `h` stands for. */
void basic_put(int basic, enum use use, uint64_t h, void *at);
/* Makes equal values have equal bytes: clears those that carry no value, and signs of zero. `gaps`: also between a pair. */
void basic_clean(int basic, bool gaps, void *at);

struct element {
	long at;
	int basic;
};

/* A datatype, and what it consists of in the order of its type map. */
struct layout {
	MPI_Datatype type;
	bool owned; /* the type is to be freed */
	long lb, extent; /* as MPI tells them */
	int n;
	struct element *e;
};

/* A random type of m times the basics of `unit`. `copies`: how many elements of it a buffer may span. */
struct layout layout_draw(struct rng *own, const int *unit, int units, int m, int copies);
struct layout layout_basic(int basic);
/* A type with the n elements at the given places, and these bounds. */
struct layout layout_places(const int *unit, const long *at, int n, long lb, long extent);
void layout_free(struct layout *l);

/* ---- operations ---- */

enum { PREDEFINED = 12 };

struct user_op {
	const char *name;
	bool commutes;
	int n; /* elements of its type */
	const char *unit[4]; /* their basics */
	long at[4], lb, extent;
	MPI_User_function *function;
};

extern const struct user_op user_ops[];
extern const int user_op_count;

MPI_Op predefined_op(int which);
const char *predefined_op_name(int which);
enum use predefined_use(int which);
/* Finds out which predefined operations take which types here. */
void ops_begin(void);
/* How often a user-defined operation was called with a wrong datatype. */
int ops_wrong(void);

/* ---- communicators ---- */

struct pooled {
	MPI_Comm comm; /* MPI_COMM_NULL: this rank is not in it */
	MPI_Comm twin; /* for the blocking calls */
	bool borrowed; /* not to be freed */
	uint64_t salt; /* differs between communicators that exist side by side */
	int size, rank;
	int world[MOST_RANKS]; /* ranks in the communicator of the round */
	bool near; /* it has neighbours */
	bool grid; /* those of a Cartesian grid */
	bool twice; /* ranks have two edges to the same one: libraries mix up which of its blocks comes by which */
	/* Neighbours of each rank: edges [out_at[r], out_at[r + 1]) of `out`; -1: none at this border */
	int out_at[MOST_RANKS + 1], out[MOST_EDGES], in_at[MOST_RANKS + 1], in[MOST_EDGES];
	char what[64];
};

/* `near`: with neighbours. */
void pooled_draw(struct rng *g, MPI_Comm base, bool near, struct pooled *c);
void pooled_free(struct pooled *c);

/* ---- what the ranks of a communicator agree about ---- */

struct plan {
	enum coll coll;
	const struct pooled *on;
	uint64_t seed;
	int root;
	bool place;
	int unit[4], units; /* the basics that everything consists of */
	int multiple; /* counts are multiples of it */
	int most; /* blocks have up to so many multiples */
	bool none; /* nothing is moved */
	bool hollow; /* because types are empty: libraries hang if counts are zero on one side only */
	int op, user; /* op: predefined, or -1; user: or -1 */
	enum use use;
};

void plan_draw(struct rng *g, enum coll coll, const struct pooled *on, struct plan *p);
bool reduces(enum coll c);
bool is_near(enum coll c);
/* Units in the block that rank i sends to j, or to its neighbour number j. */
int plan_units(const struct plan *p, int i, int j);
uint64_t plan_value(const struct plan *p, int start, int rank, int block, int k);
/* Where block b of the receive side of this rank comes from. False: from nowhere. */
bool plan_source(const struct plan *p, int b, int *rank, int *block);

/* ---- buffers ---- */

struct side {
	bool used; /* MPI looks at it on this rank */
	bool output;
	int blocks;
	int *units; /* of each block */
	bool vector, separate;
	struct layout *lay; /* one, or with `separate` one for each block */
	int lays;
	int *counts, *displs; /* in elements of the type; displacements in bytes with `separate` */
	long low, bytes; /* the first byte that is used, relative to the buffer, and how many there are */
	bool empty; /* nothing is in it, and the buffer is NULL */
	bool shared; /* from MPI_Alloc_mem */
	bool absolute; /* the type has the address, the buffer is MPI_BOTTOM */
	char *ours, *theirs, *right; /* for our call, for the blocking one, and what is right */
};

struct sides {
	const struct plan *plan;
	struct side send, recv;
};

void sides_draw(struct rng *own, const struct plan *p, struct sides *s);
/* What our call is given, or its twin. It has types and an operation of its own, so that they can be freed early. */
void sides_args(struct rng *own, struct sides *s, bool twin, struct args *a);
/* Frees that, after the arrays have been overwritten. */
void sides_forget(struct args *a);
/* New contents, other ones for each start. */
void sides_fill(struct sides *s, int start);
/* Copies what is right to the buffers of our call, or of its twin. */
void sides_set(struct sides *s, bool twin);
/* Compares the buffers of both calls with what is right. `why`: the first difference of ours. */
void sides_compare(struct sides *s, bool *ours, bool *theirs, char *why, size_t room);
void sides_free(struct sides *s);

/* ---- requests ---- */

struct request {
	MPI_Request handle;
	struct plan plan;
	struct sides sides;
	struct args args, twin; /* ours may have been freed already */
	bool has_args;
	bool present; /* this rank is in the communicator */
	bool active, complete, freed;
	MPI_Comm comm;
	bool owns_comm;
	int start; /* the number of its last start */
};

enum { MOST_NATIVE = 5 };

/* A request of the library itself. */
struct native {
	MPI_Request handle;
	bool active, persistent, receives;
	int source, tag, buf[4], want;
};

struct options {
	uint64_t seed;
	long cases, round; /* round: only this one, or -1 */
	const char *filter;
	bool blocking, lenient, verbose;
	int level, threads;
	unsigned bound; /* seconds for an event */
};

/* All that one thread has. */
struct run {
	const struct options *opt;
	int thread;
	MPI_Comm base, side, self; /* all ranks; side, self: for messages of the library */
	int rank, size;
	struct rng own; /* differs between ranks */
	long round, cases, waits, wrong; /* wrong: results of blocking collectives */
	struct pooled pool[MOST_COMMS];
	int pools;
	struct request r[MOST_REQUESTS];
	int n;
	struct native nat[MOST_NATIVE];
	MPI_Win win;
	_Atomic long *begun; /* by rank and request: the last start, in memory of all ranks. NULL: they share none */
	char where[200];
};

/* Prints what went wrong, where, and ends the program. */
_Noreturn void broken(struct run *u, const struct request *q, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* For what hangs. */
void here(struct run *u, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Calls of MPI must succeed. */
#define MUST(u, call) must(u, call, #call)
void must(struct run *u, int rc, const char *call);

/* Completes the collectives of `mine` and all requests of the library, in a random form. */
void wait_for(struct run *u, const bool *mine);
/* Tests a request that may complete by that. */
void poke(struct run *u, struct request *q);
/* Waits and tests for requests that are not active. */
void idle(struct run *u);

#endif
