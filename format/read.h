/* SPDX-License-Identifier: BSD-3-Clause
 * Reading binaries: what is opened, checked and specialised, without malloc. */
#ifndef FORMAT_READ_H
#define FORMAT_READ_H

#include "format/bin.h"

/* An op of one rank, with everything resolved. */
struct bin_op {
	uint8_t kind, exec;
	uint16_t level;
	uint32_t peer, tag, cpu, nic; /* peer, tag may be BIN_ANY in plain GOAL */
	uint16_t buf[2];
	uint32_t line; /* 0: unknown */
	uint64_t off[2], len; /* elements (bytes in plain GOAL); ns for calc */
};

/* A result is a list of ops of its own: "gets" is GETS, where range 0 holds at the end what range 1 of rank peer
 * held at the start. No other rank's buffers are known here: range 1 is not held against a size. */

/* deps[].on has BIN_START set for irequires. */
struct bin_dep {
	uint32_t op, on;
};

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
	const uint32_t *lines; /* NULL without */
	const struct bin_expr *exprs;
	const struct bin_class *classes;
	const struct bin_dir *dir;
	const unsigned char *ranks;
	const uint32_t *debug_base; /* NULL without */
	const struct bin_op_debug *debug;
	const struct bin_proved *proved;
	const struct bin_target *target; /* NULL: there are no queues */
	const struct bin_dir *qdir;
	const unsigned char *queues;
	uint64_t strings_len, ranks_len, queues_len;
	uint32_t nbuffers, nparams, ncode, nconsts, ntmpls, ndeps, nexprs, nclasses, ndir, ndebug, nproved, nwindows,
		ncalls;
};

/* The value of a parameter for one rank. */
struct bin_arg {
	bool known; /* false: not given, or not known to this rank */
	int64_t value;
	const int64_t *elem; /* vector; NULL: each is value, as by default */
	size_t n;
};

static inline struct bin_arg bin_default(const struct bin_param *p)
{
	return (struct bin_arg){ .known = true, .value = p->value, .n = p->elements };
}

/* Fields of ops that a value may not fit. */
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
	const struct bin_arg *args; /* of this rank, in the order of PARAMS; NULL: all defaults */
	const struct bin_arg *const *by_rank; /* of each rank, for results; NULL: all have args */
	uint64_t fuel; /* instructions at most; 0: 2^28 */
	uint32_t most_ops; /* of the rank; 0: BIN_USUAL_OPS */
	const char *sample; /* what the arguments are called in messages; NULL: nothing */
};

/* Ops that a rank has at most unless something else is asked for: in an alltoall of 2^20 ranks it has half as many. Each
 * may have so many dependencies, on average. */
#define BIN_USUAL_OPS (1u << 22)
#define BIN_USUAL_DEPS 4u

/* The caller's memory for bin_rank_ops. */
struct bin_space {
	struct bin_op *ops;
	struct bin_dep *deps;
	uint64_t *bufsize; /* nbuffers entries, in elements */
	void *scratch; /* bin_scratch_size() bytes, 8-aligned */
	uint32_t ops_cap, deps_cap;
	/* results */
	uint32_t nops, ndeps;
	uint32_t where; /* on error: instruction (parametric) or op (concrete) */
	uint32_t what; /* on ERR_ASSERT and ERR_FAULT: a string; on ERR_PARAM and ERR_UNKNOWN: a parameter; on ERR_BOUNDS:
			  a buffer, in a call a window, of an element of a vector: a parameter; on ERR_RANGE:
			  enum bin_field */
	int64_t value[3]; /* on ERR_PEER and ERR_RANGE: it; on ERR_BOUNDS: offset, length and size */
	uint64_t steps; /* instructions executed */
};

/* Validates header, section table and all sections but RANKS, and fills b. The image is borrowed.
 * 0, -ERR_NOT_BIN, -ERR_VERSION, -ERR_TRUNCATED, -ERR_CHECKSUM or -ERR_CORRUPT. */
int bin_open(struct bin *b, const void *image, size_t size);
/* Validates the section of one row of DIR: bounds, checksum, peers, classes, no cycle. */
int bin_check_rank(const struct bin *b, uint32_t dir_row);
/* Whether an op names its network interface; where the number of ranks is fixed, one other than 0. */
bool bin_names_nics(const struct bin *b);
/* Validates what one row of DIR, of no result, posts: bounds, checksum, queues, peers, and ranges on both sides. */
int bin_check_queues(const struct bin *b, uint32_t dir_row);
/* All of them, for the whole image: the only gate from untrusted bytes. */
int bin_check(const void *image, size_t size);

/* The row of DIR for a rank; root counts only with BIN_F_ROOTS. */
uint32_t bin_dir_row(const struct bin *b, uint32_t rank, int64_t root);
/* The root that args name, or the default; -1 without a parameter root. */
int64_t bin_root(const struct bin *b, const struct bin_arg *args);
/* A string of the image; any offset is safe. */
const char *bin_str(const struct bin *b, uint32_t off);
/* Bytes of scratch for these capacities. */
size_t bin_scratch_size(const struct bin *b, uint32_t ops_cap, uint32_t deps_cap);
/* Specialises: the ops, dependencies and buffer sizes of one rank. The row must have passed
 * bin_check_rank. -ERR_SPACE when a capacity is too small; other errors are faults of the schedule or of
 * its arguments. Cost: linear in what the program executes for this rank. */
int bin_rank_ops(const struct bin *b, const struct bin_args *args, struct bin_space *sp);
/* The same for the result: its ops, without dependencies; none when the binary has no result. */
int bin_result_ops(const struct bin *b, const struct bin_args *args, struct bin_space *sp);
/* The room that a parametric binary takes for a rank, or its result, at least: sets nops and ndeps, without ops and deps, and
 * with scratch for none. -ERR_SPACE when there are more than args->most_ops, which ends it. */
int bin_count_ops(const struct bin *b, const struct bin_args *args, bool result, struct bin_space *sp);

/* What a row of DIR posts, borrowed; it must have passed bin_check_queues. */
struct bin_posts {
	const struct bin_queues *head;
	const struct bin_queue *queues;
	const struct bin_entry *entries;
};
struct bin_posts bin_posts(const struct bin *b, uint32_t dir_row);

/* XXH32 with seed 0, and the check of a header with the section table behind it. */
uint32_t bin_sum(const void *p, size_t len);
uint32_t bin_header_sum(const struct bin_header *h);

/* Arithmetic of programs and EXPRS; 0, -ERR_OVERFLOW, -ERR_DIVZERO or -ERR_DOMAIN. */
int bin_arith(int op, int64_t x, int64_t y, int64_t *out);
/* The largest side of the grid of so many points and dimensions in which it is smallest. Adds to steps what it costs. */
int bin_side(int64_t points, int64_t dims, int64_t *out, uint64_t *steps);

#endif
