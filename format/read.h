/* SPDX-License-Identifier: BSD-3-Clause
 * The reader of binaries: opens, validates and specialises them, without malloc. The caller owns the image, and bin_check()
 * must accept it before anything else reads it. */
#ifndef FORMAT_READ_H
#define FORMAT_READ_H

#include "format/bin.h"

/* An op of one rank, with everything resolved. */
struct bin_op {
	uint8_t kind, exec;
	uint16_t level;
	uint32_t peer, tag, cpu, nic; /* peer and tag of a recv may be BIN_ANY in plain GOAL */
	uint16_t buf[2];
	uint32_t line; /* line of the GOAL text; 0: unknown */
	uint64_t off[2], len; /* elements (bytes in plain GOAL); len of a calc: ns */
};

/* The result of a rank is a separate list of ops, of the kind GETS: at the end, range 0 holds what range 1 of rank `peer`
 * held at the start. The sizes of another rank's buffers are not known here, so range 1 is not checked against one. */

/* A dependency: op waits for op `on`, in which the bit BIN_START is set for irequires. */
struct bin_dep {
	uint32_t op, on;
};

/* An opened binary: pointers into the image, and the numbers of records. A pointer is NULL if its section is absent. */

struct bin {
	const unsigned char *base;
	size_t size;
	const struct bin_meta *meta;
	const char *strings;
	const struct bin_buffer *buffers;
	const struct bin_param *params;
	const struct bin_word *code;
	const int64_t *consts;
	const struct bin_tmpl *tmpls;
	const struct bin_dep_tmpl *deps;
	const struct bin_window *windows;
	const struct bin_call *calls;
	const uint32_t *lines; /* source line of each instruction, or NULL */
	const struct bin_expr *exprs;
	const struct bin_class *classes;
	const struct bin_dir *dir;
	const unsigned char *ranks;
	const uint32_t *debug_base; /* first record of `debug` for each row of DIR, or NULL */
	const struct bin_op_debug *debug;
	const struct bin_proved *proved;
	const struct bin_proof *proof; /* NULL: not proved for every number of ranks */
	const struct bin_target *target; /* NULL if the binary has no command queues */
	const struct bin_dir *qdir;
	const unsigned char *queues;
	uint64_t strings_len, ranks_len, queues_len;
	uint32_t nbuffers, nparams, ncode, nconsts, ntmpls, ndeps, nexprs, nclasses, ndir, ndebug, nproved, nwindows,
		ncalls;
};

/* The value of a parameter for one rank. */
struct bin_arg {
	bool known; /* the value was given, and this rank knows it */
	int64_t value;
	const int64_t *elem; /* elements of a vector; NULL: every element is `value`, as in a default */
	size_t n; /* length of a vector */
};

static inline struct bin_arg bin_default(const struct bin_param *p)
{
	return (struct bin_arg){ .known = true, .value = p->value, .n = p->elements };
}

/* The fields of an op whose range of values is limited; -ERR_RANGE names one of them. */
enum bin_field {
	BIN_FIELD_LEVEL,
	BIN_FIELD_TAG,
	BIN_FIELD_CPU,
	BIN_FIELD_NIC,
	BIN_FIELD_LEN,
	BIN_FIELD_INDEX,
	BIN_FIELDS
};

struct bin_args {
	uint32_t rank, size;
	int64_t count; /* elements per block */
	const struct bin_arg *args; /* arguments of this rank, in the order of PARAMS; NULL: all defaults */
	const struct bin_arg *const *by_rank; /* arguments of each rank, used by results; NULL: all ranks have `args` */
	uint64_t fuel; /* the most instructions that may run; 0: 2^28 */
	uint32_t most_ops; /* the most ops that the rank may have; 0: BIN_USUAL_OPS */
	const char *sample; /* name of this set of arguments in messages, or NULL */
};

/* Default limit of the ops of a rank; an alltoall of 2^20 ranks has half as many. BIN_USUAL_DEPS is the limit of the average
 * number of dependencies of an op. */
#define BIN_USUAL_OPS (1u << 22)
#define BIN_USUAL_DEPS 4u

/* The caller's memory for bin_rank_ops. */
struct bin_space {
	struct bin_op *ops;
	struct bin_dep *deps;
	uint64_t *bufsize; /* size of each of the nbuffers buffers, in elements */
	void *scratch; /* bin_scratch_size() bytes, 8-aligned */
	uint32_t ops_cap, deps_cap;
	/* The fields below are outputs. */
	uint32_t nops, ndeps;
	uint32_t where; /* on error: number of the instruction (parametric) or of the op (concrete) */
	uint32_t what; /* on ERR_ASSERT and ERR_FAULT: a string; on ERR_PARAM and ERR_UNKNOWN: a parameter; on ERR_RANGE:
			  enum bin_field; on ERR_BOUNDS: a buffer (in a call, a window), or the vector parameter that has no
			  such element */
	int64_t value[3]; /* on ERR_PEER and ERR_RANGE: the value that is wrong; on ERR_BOUNDS: offset, length and size */
	uint64_t steps; /* instructions executed */
	uint32_t first_slot, slots; /* where the labels with an index are in scratch, see struct machine in format/machine.h */
};

/* Validates header, section table and all sections but RANKS and QUEUES, and fills b, which points into the image. Returns
 * 0, -ERR_ARG (image not 8-aligned), -ERR_NOT_BIN, -ERR_VERSION, -ERR_TRUNCATED, -ERR_CHECKSUM or -ERR_CORRUPT. */
int bin_open(struct bin *b, const void *image, size_t size);
/* Validates the part of RANKS of one row of DIR: bounds, checksum, peers, classes, and that dependencies form no cycle. */
int bin_check_rank(const struct bin *b, uint32_t dir_row);
/* True if an op may name a network interface with "nic". In a concrete binary, interface 0 cannot be told from none. */
bool bin_names_nics(const struct bin *b);
/* Validates the part of QUEUES of one row of QDIR: bounds, checksum, queues, peers, and ranges on both sides. */
int bin_check_queues(const struct bin *b, uint32_t dir_row);
/* Validates a whole image with the functions above. Bytes that are not trusted must pass this first. */
int bin_check(const void *image, size_t size);

/* Returns the row of DIR of a rank. The root matters only with BIN_F_ROOTS. */
uint32_t bin_dir_row(const struct bin *b, uint32_t rank, int64_t root);
/* Returns the root that args name, or the default; -1 if there is no parameter "root". */
int64_t bin_root(const struct bin *b, const struct bin_arg *args);
/* Returns a string of the image; "" if the offset is outside. */
const char *bin_str(const struct bin *b, uint32_t off);
/* Returns the bytes of scratch that a bin_space with these capacities needs. */
size_t bin_scratch_size(const struct bin *b, uint32_t ops_cap, uint32_t deps_cap);
/* Specialises a binary: stores the ops, dependencies and buffer sizes of one rank in sp. The rank's row must have passed
 * bin_check_rank. Returns -ERR_SPACE if a capacity is too small; other errors are faults of the schedule or of
 * its arguments. The cost is linear in the number of instructions that the program executes for this rank. */
int bin_rank_ops(const struct bin *b, const struct bin_args *args, struct bin_space *sp);
/* Like bin_rank_ops, for the rank's result. Stores the result's ops, without dependencies; no ops if there is no result. */
int bin_result_ops(const struct bin *b, const struct bin_args *args, struct bin_space *sp);
/* Checks that a concrete binary is for these arguments, and stores the values of the rows of EXPRS, as int64_t, in sp->scratch.
 * For callers that read the sections of many ranks. */
int bin_values(const struct bin *b, const struct bin_args *args, struct bin_space *sp);
/* Computes the capacities that bin_rank_ops, or bin_result_ops, needs for one rank of a parametric binary: sets nops and
 * ndeps of sp. No memory for ops and deps is needed, and scratch only for capacities of 0. With calls, the actual need may be
 * larger. Returns -ERR_SPACE as soon as there are more ops than args->most_ops. */
int bin_count_ops(const struct bin *b, const struct bin_args *args, bool result, struct bin_space *sp);

/* The queues that the rank of a row of QDIR posts, as pointers into the image. The row must have passed bin_check_queues. */
struct bin_posts {
	const struct bin_queues *head;
	const struct bin_queue *queues;
	const struct bin_entry *entries;
};
struct bin_posts bin_posts(const struct bin *b, uint32_t dir_row);

/* bin_sum returns the XXH32 of len bytes, with seed 0, and bin_sum64 their XXH64. bin_header_sum returns the XXH32 of a header and its section table. */
uint32_t bin_sum(const void *p, size_t len);
uint64_t bin_sum64(const void *p, size_t len);
uint32_t bin_header_sum(const struct bin_header *h);
/* Returns a hash of all sections that say what a parametric schedule does: XXH64 of one section after the other. The seed of each is
 * the hash of those before it plus its type. */
uint64_t bin_program_sum(const struct bin_header *h);

/* Carries out an ARITH instruction. Returns 0, -ERR_OVERFLOW, -ERR_DIVZERO or -ERR_DOMAIN. */
int bin_arith(int op, int64_t x, int64_t y, int64_t *out);
/* Finds, among all grids with this many points and dimensions, the one whose longest side is shortest, and stores this side
 * in *out. Adds the steps of the search to *steps. */
int bin_side(int64_t points, int64_t dims, int64_t *out, uint64_t *steps);

#endif
