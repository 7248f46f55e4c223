/* SPDX-License-Identifier: BSD-3-Clause
 * The binary schedule: this file is its specification; man/goal-bin.5 tells it in prose.
 *
 * A file is little-endian and used in place. All offsets are from the start of the file.
 *
 *   +-----------------------+ 0
 *   | struct bin_header     |
 *   +-----------------------+ 48
 *   | struct bin_section x n|   one per section, ascending offsets
 *   +-----------------------+
 *   | sections, 8-aligned   |   META STRINGS BUFFERS PARAMS, then
 *   |                       |   parametric: CODE CONSTS TMPLS DEPS [LINES] [WINDOWS CALLS]
 *   |                       |   concrete:   EXPRS CLASSES DIR RANKS [OPDEBUG]
 *   |                       |   and [PROVED] [TARGET QDIR QUEUES]
 *   +-----------------------+
 *
 * A parametric binary holds one program for all ranks; a concrete one holds a section of ops for each
 * rank. bin_rank_ops() yields the same struct bin_op from both. The reader (bin_read.c) needs neither
 * malloc nor libc: it builds with -ffreestanding. */
#ifndef FORMAT_BIN_H
#define FORMAT_BIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BIN_MAGIC "\x89GSB\r\n\x1a\n"
#define BIN_VERSION 6u
#define BIN_MIN_READER 1u
#define BIN_RESULT_READER 2u /* of what has a result or calls, is commutative, or may be in place */
#define BIN_PROVED_READER 2u /* of what has PROVED */
#define BIN_QUEUES_READER 4u /* of what has QUEUES; 3 does not know posted queues and ARMW */
#define BIN_GETS_READER 5u /* of what has GETs in them */
#define BIN_ASSERT_READER 6u /* of programs with ASSERT, LENGTH or COPYIN */
#define BIN_ANY UINT32_MAX
#define BIN_NONE UINT32_MAX
#define BIN_NOREG UINT16_MAX

enum bin_kind {
#define OP(NAME, number, text, operands) BIN_OP_##NAME = number,
#include "format/ops.def"
#undef OP
	BIN_OP_KINDS
};

enum bin_insn {
#define INSN(NAME, number, text, form) BIN_##NAME = number,
#include "format/insn.def"
#undef INSN
	BIN_INSNS = 72
};

enum bin_exec {
	BIN_DEFAULT,
#define EXEC(NAME, number, word) BIN_##NAME = number,
#include "format/execs.def"
#undef EXEC
	BIN_EXECS
};
enum bin_mode { BIN_IN, BIN_OUT, BIN_INOUT, BIN_SCRATCH, BIN_MODES };
enum bin_scope { BIN_GLOBAL, BIN_ROOTONLY, BIN_LOCAL, BIN_SCOPES };

enum bin_section_type {
	BIN_S_META = 1, /* one struct bin_meta */
	BIN_S_STRINGS, /* NUL-terminated strings; the first is empty */
	BIN_S_BUFFERS, /* struct bin_buffer */
	BIN_S_PARAMS, /* struct bin_param */
	BIN_S_CODE, /* struct bin_word */
	BIN_S_CONSTS, /* int64_t */
	BIN_S_TMPLS, /* struct bin_tmpl */
	BIN_S_DEPS, /* struct bin_dep_tmpl */
	BIN_S_LINES, /* uint32_t, the source line of each instruction; optional */
	BIN_S_EXPRS, /* struct bin_expr */
	BIN_S_CLASSES, /* struct bin_class */
	BIN_S_DIR, /* struct bin_dir; rank r of variant v is entry v * nranks + r; results come behind all of them */
	BIN_S_RANKS, /* sections of ranks, see struct bin_rank */
	BIN_S_OPDEBUG, /* uint32_t base[entries of DIR + 1], then struct bin_op_debug; optional */
	BIN_S_WINDOWS, /* struct bin_window; of a program with calls */
	BIN_S_CALLS, /* struct bin_call; of a program with calls */
	BIN_S_PROVED, /* struct bin_proved, ascending, with gaps between them; optional */
	/* Lowered to command queues; optional, concrete with a fixed count. */
	BIN_S_TARGET, /* one struct bin_target */
	BIN_S_QDIR, /* struct bin_dir, as in DIR without results, but in units of 8 bytes */
	BIN_S_QUEUES, /* what each rank posts, see struct bin_queues */
	BIN_S_TYPES
};

struct bin_header {
	char magic[8];
	uint16_t version; /* of the writer */
	uint16_t min_reader; /* oldest reader that understands the file */
	uint32_t nsections;
	uint64_t size; /* of the file, bytes */
	uint32_t check; /* XXH32 of the header and the section table, this field as 0 */
	uint32_t zero[5];
};

struct bin_section {
	uint32_t type;
	uint32_t check; /* XXH32 of its bytes; 0 for RANKS, whose parts have their own */
	uint64_t off, len; /* bytes; off is a multiple of 8 */
};

#define BIN_F_PARAMETRIC 1u
#define BIN_F_PLAIN 2u /* every send and recv has bytes of its own: buffer 0 holds what the sends
			  of the rank send, in file order, and buffer 1 what its recvs receive */
#define BIN_F_ROOTS 4u /* concrete, with one variant for each root */
#define BIN_F_COMMUTATIVE 8u /* only right for operations that commute */
#define BIN_F_FLAGS 15u

struct bin_meta {
	uint32_t flags;
	uint32_t nranks; /* 0: parametric */
	uint32_t nregs; /* 3 … 4096; registers 0, 1, 2 start as rank, size, count */
	uint32_t nlabels;
	uint32_t name, implements, source, passes; /* strings; passes to run at bind, see compiler/passes/passes.h */
	uint32_t root; /* index of the parameter "root", or BIN_NONE */
	/* Of the result, 0: none. Parametric: where its program begins. Concrete: 1, and DIR has as many entries again. */
	uint32_t result;
	int64_t count; /* the only count that a concrete binary serves, or BIN_ANY_COUNT */
};
#define BIN_ANY_COUNT (-1)

struct bin_buffer {
	uint32_t name; /* string */
	uint8_t mode; /* enum bin_mode */
	uint8_t zero;
	uint16_t inplace; /* the buffer that it may be in, + 1; 0: none */
};

struct bin_param {
	uint32_t name; /* string */
	uint8_t scope; /* enum bin_scope */
	uint8_t vector, has_default;
	uint8_t elements; /* of a vector with a default */
	int64_t value; /* the default, of each element */
};

/* One instruction of a program, 8 bytes:
 *   op:8 0:8 a:16 b:16 c:16   or   op:8 0:8 a:16 imm:32 */
struct bin_word {
	uint8_t op; /* enum bin_insn */
	uint8_t zero;
	uint16_t a;
	union {
		struct {
			uint16_t b, c;
		};
		int32_t imm;
	};
};

/* What EMIT, EMITIN and COPYIN make an op from. Registers, BIN_NOREG for 0. */
struct bin_tmpl {
	uint8_t kind; /* enum bin_kind */
	uint8_t exec; /* enum bin_exec */
	uint16_t buf[2]; /* buffers, in calls windows, of operand 0 and 1 */
	uint16_t off[2], len; /* elements; ns for calc */
	uint16_t peer, tag, level, cpu, nic;
	uint16_t index[2]; /* of the label */
	uint16_t instance; /* in calls: register with the first label of the instance, or 0 */
	uint32_t label; /* 0 … nlabels-1, or within the instance; or BIN_NONE */
};

/* What DEP and DEPIN make an edge from: instance (label, index) of op waits for that of on. */
struct bin_dep_tmpl {
	uint32_t op, on; /* labels */
	uint16_t op_index[2], on_index[2]; /* registers or BIN_NOREG */
	uint32_t start; /* 1: irequires */
	uint16_t op_instance, on_instance; /* as in a bin_tmpl, for DEPIN */
};

/* A part of a buffer, which the ops of a call have for a buffer. */
struct bin_window {
	uint32_t name; /* string */
	uint16_t buf;
	uint16_t base, size; /* registers; base may be BIN_NOREG for 0 */
	uint16_t zero;
};

/* What ENTER, LEAVE and INSIDE know of a call. */
struct bin_call {
	uint32_t label; /* of the call, or BIN_NONE */
	uint32_t nlabels; /* inside */
	uint16_t index[2], instance; /* of the label */
	uint16_t zero;
};

/* A value of a concrete binary: a row may only refer to rows before it. */
struct bin_expr {
	uint8_t op; /* BIN_CONST: imm; BIN_PARAM: count; else arithmetic on rows a and b */
	uint8_t zero[3];
	uint32_t a;
	union {
		int64_t imm;
		uint64_t b;
	};
};

/* What ops of a concrete binary share. off and len are rows of EXPRS. */
struct bin_class {
	uint8_t kind, exec;
	uint16_t level;
	uint32_t tag, cpu, nic;
	uint16_t buf[2];
	uint32_t off[2], len; /* BIN_NONE: 0; len of a calc BIN_NONE: ns is the op's arg */
};

struct bin_dir {
	uint32_t off; /* in RANKS, in units of 4 bytes */
	uint32_t check; /* XXH32 of the rank's section */
};

/* A rank's section: this header, with BIN_F_PARAMETRIC sources uint32_t size[buffers] (rows of EXPRS),
 * the ops, the dependencies of op 0, 1, …, the positions, zeros up to a multiple of 4.
 * Narrow: struct bin_op16, uint16_t dependencies (bit 15: irequires), uint16_t positions.
 * Wide: struct bin_op32, uint32_t dependencies (bit 31: irequires), uint32_t positions.
 * Positions are there when a dependency points forward: a dependency's position is always smaller than
 * that of the op that has it, which proves that there is no cycle. */
struct bin_rank {
	uint32_t nops;
	uint32_t ndeps; /* and flags */
};
#define BIN_R_WIDE 0x80000000u
#define BIN_R_POS 0x40000000u
#define BIN_R_SIZES 0x20000000u
#define BIN_R_NDEPS 0x1fffffffu
#define BIN_START16 0x8000u
#define BIN_START 0x80000000u
#define BIN_MAX_OPS 0x7fffffffu

struct bin_op16 {
	uint32_t arg; /* peer, or ns of a calc */
	uint16_t cls;
	uint16_t ndeps; /* the op's counter at start */
};

struct bin_op32 {
	uint32_t arg, cls, ndeps;
};

struct bin_op_debug {
	uint32_t line, name; /* name: string */
};

/* Numbers of ranks for which the schedule was verified. */
struct bin_proved {
	uint32_t first, last;
};

/* ---- command queues ---- */

enum bin_limit {
#define LIMIT(NAME, key, least, most, usual, help) BIN_LIMIT_##NAME,
#include "format/smcq.def"
#undef LIMIT
	BIN_LIMITS
};

/* What the queues were made for. */
struct bin_target {
	uint32_t limit[BIN_LIMITS];
};

/* What a rank posts at each start: this header, its queues, the entries of all of them in order. */
struct bin_queues {
	uint32_t nqueues, nentries;
	uint32_t locals; /* entries of its own with BIN_E_LOCAL; the rank is done when all of them are */
	uint32_t remotes; /* entries with BIN_E_REMOTE that name it as the peer; and these have arrived */
};

/* An entry of a normal queue is carried out when those before it have been issued. That of a session also needs credit:
 * entry k of a start waits until the packets of that start that name the queue have brought more than k. The queue of
 * a CPU is no command queue: the rank's CPU does the same with what it is told of. A posted queue is a normal one, which
 * the rank leaves empty until it has been told of as much credit as told; then it posts all entries. */
enum bin_queue_mode { BIN_Q_NORMAL, BIN_Q_SESSION, BIN_Q_CPU, BIN_Q_POSTED, BIN_Q_MODES };
struct bin_queue {
	uint8_t mode, zero;
	uint16_t tni, cq; /* 0 of a CPU's */
	uint16_t told; /* of a posted one; else 0 */
	uint32_t first, n; /* entries */
};

/* PUT writes range 0 of the rank to range 1 of the peer; PIGGYBACK a word of its own to one that nobody reads, but for its
 * credit; GET writes range 1 of the peer to range 0 of the rank, where it arrives; ARMW combines the one element of range 0
 * with that of range 1, as one step for all that is on the way there; CPU is the op itself. */
enum bin_entry_kind {
#define ENTRY(NAME, number, word, sends, ranges) BIN_E_##NAME = number,
#include "format/entry.def"
#undef ENTRY
	BIN_E_KINDS
};
enum bin_armw {
#define ARMW(NAME, number, word, op, bytes) BIN_ARMW_##NAME = number,
#include "format/armw.def"
#undef ARMW
	BIN_ARMWS
};
#define BIN_E_STRONG 1u /* arrives behind what the same queue sent before to, or got from, the same peer for the same queue */
#define BIN_E_LOCAL 2u /* the rank is told when it has arrived */
#define BIN_E_REMOTE 4u /* the peer is told when it has arrived */
#define BIN_E_FLAGS 7u
struct bin_entry {
	uint8_t kind, flags;
	uint8_t sps; /* entries of the queue that it releases when it has arrived; of a CPU: when it is done */
	uint8_t armw; /* enum bin_armw; else 0 */
	uint32_t peer; /* that of a NOP and a CPU is the rank */
	uint32_t queue; /* of where it arrives (bin_entry_lands), to which it goes; BIN_NONE: one that takes no credit */
	uint32_t len; /* elements */
	uint16_t buf[2];
	uint32_t op, at; /* for which ops of the rank and of the peer it is; or BIN_NONE */
	uint32_t zero2;
	uint64_t off[2]; /* elements */
};

#define BIN_SIZE(type, n) _Static_assert(sizeof(type) == (n), #type)
BIN_SIZE(struct bin_header, 48);
BIN_SIZE(struct bin_section, 24);
BIN_SIZE(struct bin_meta, 48);
BIN_SIZE(struct bin_buffer, 8);
BIN_SIZE(struct bin_param, 16);
BIN_SIZE(struct bin_word, 8);
BIN_SIZE(struct bin_tmpl, 32);
BIN_SIZE(struct bin_dep_tmpl, 24);
BIN_SIZE(struct bin_window, 12);
BIN_SIZE(struct bin_call, 16);
BIN_SIZE(struct bin_expr, 16);
BIN_SIZE(struct bin_class, 32);
BIN_SIZE(struct bin_dir, 8);
BIN_SIZE(struct bin_rank, 8);
BIN_SIZE(struct bin_op16, 8);
BIN_SIZE(struct bin_op32, 12);
BIN_SIZE(struct bin_op_debug, 8);
BIN_SIZE(struct bin_proved, 8);
BIN_SIZE(struct bin_target, 32);
BIN_SIZE(struct bin_queues, 16);
BIN_SIZE(struct bin_queue, 16);
BIN_SIZE(struct bin_entry, 48);

/* ---- reading ---- */

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
/* Validates the section of one entry of DIR: bounds, checksum, peers, classes, no cycle. */
int bin_check_rank(const struct bin *b, uint32_t entry);
/* Whether an op names its network interface; where the number of ranks is fixed, one other than 0. */
bool bin_names_nics(const struct bin *b);
/* Validates what one entry of DIR, of no result, posts: bounds, checksum, queues, peers, and ranges on both sides. */
int bin_check_queues(const struct bin *b, uint32_t entry);
/* All of them, for the whole image: the only gate from untrusted bytes. */
int bin_check(const void *image, size_t size);

/* The entry of DIR for a rank; root counts only with BIN_F_ROOTS. */
uint32_t bin_entry(const struct bin *b, uint32_t rank, int64_t root);
/* The root that args name, or the default; -1 without a parameter root. */
int64_t bin_root(const struct bin *b, const struct bin_arg *args);
/* A string of the image; any offset is safe. */
const char *bin_str(const struct bin *b, uint32_t off);
/* Bytes of scratch for these capacities. */
size_t bin_scratch_size(const struct bin *b, uint32_t ops_cap, uint32_t deps_cap);
/* Specialises: the ops, dependencies and buffer sizes of one rank. The entry must have passed
 * bin_check_rank. -ERR_SPACE when a capacity is too small; other errors are faults of the schedule or of
 * its arguments. Cost: linear in what the program executes for this rank. */
int bin_rank_ops(const struct bin *b, const struct bin_args *args, struct bin_space *sp);
/* The same for the result: its ops, without dependencies; none when the binary has no result. */
int bin_result_ops(const struct bin *b, const struct bin_args *args, struct bin_space *sp);
/* The room that a parametric binary takes for a rank, or its result, at least: sets nops and ndeps, without ops and deps, and
 * with scratch for none. -ERR_SPACE when there are more than args->most_ops, which ends it. */
int bin_count_ops(const struct bin *b, const struct bin_args *args, bool result, struct bin_space *sp);

/* What an entry of DIR posts, borrowed; it must have passed bin_check_queues. */
struct bin_posts {
	const struct bin_queues *head;
	const struct bin_queue *queues;
	const struct bin_entry *entries;
};
struct bin_posts bin_posts(const struct bin *b, uint32_t entry);

/* XXH32 with seed 0, and the check of a header with the section table behind it. */
uint32_t bin_sum(const void *p, size_t len);
uint32_t bin_header_sum(const struct bin_header *h);

/* Arithmetic of programs and EXPRS; 0, -ERR_OVERFLOW, -ERR_DIVZERO or -ERR_DOMAIN. */
int bin_arith(int op, int64_t x, int64_t y, int64_t *out);
/* The largest side of the grid of so many places and dimensions in which it is smallest. Adds to steps what it costs. */
int bin_side(int64_t places, int64_t dims, int64_t *out, uint64_t *steps);

#endif
