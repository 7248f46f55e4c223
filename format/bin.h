/* SPDX-License-Identifier: BSD-3-Clause
 * The format of binary schedules. This file is the specification; man/goal-bin.5 describes the same in prose.
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
 * A parametric binary holds one program for all ranks. A concrete binary holds the ops of each rank, as a part of RANKS.
 * bin_rank_ops() yields the same struct bin_op from both. The reader (format/read.h) needs neither malloc nor libc: it
 * builds with -ffreestanding. */
#ifndef FORMAT_BIN_H
#define FORMAT_BIN_H

#include "format/queues.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BIN_MAGIC "\x89GSB\r\n\x1a\n"
#define BIN_VERSION 10u
/* The field min_reader of a binary is the highest of these versions that it needs. */
#define BIN_MIN_READER 1u /* needed by any binary */
#define BIN_RESULT_READER 2u /* needed by a result, calls, the flag commutative, or a buffer that may be in place */
#define BIN_PROVED_READER 2u /* needed by PROVED */
#define BIN_QUEUES_READER 4u /* needed by QUEUES: readers of version 3 do not know posted queues and ARMW */
#define BIN_GETS_READER 5u /* needed by GET entries in QUEUES */
#define BIN_ASSERT_READER 6u /* needed by the instructions ASSERT, LENGTH and COPYIN */
#define BIN_GIVEN_READER 7u /* needed by the instruction GIVEN, and so by a computed default */
#define BIN_REPRODUCIBLE_READER 8u /* needed by the flag reproducible */
#define BIN_PROOF_READER 9u /* needed by PROOF */
#define BIN_REVERSE_READER 10u /* needed by the instruction REVERSE */
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
	BIN_S_BUFFERS, /* array of struct bin_buffer */
	BIN_S_PARAMS, /* array of struct bin_param */
	BIN_S_CODE, /* array of struct bin_word */
	BIN_S_CONSTS, /* array of int64_t: constants of the program */
	BIN_S_TMPLS, /* array of struct bin_tmpl */
	BIN_S_DEPS, /* array of struct bin_dep_tmpl */
	BIN_S_LINES, /* array of uint32_t: the source line of each instruction; optional */
	BIN_S_EXPRS, /* array of struct bin_expr */
	BIN_S_CLASSES, /* array of struct bin_class */
	BIN_S_DIR, /* array of struct bin_dir; rank r of variant v has row v * nranks + r; the rows of results follow all others */
	BIN_S_RANKS, /* a part for each row of DIR, see struct bin_rank */
	BIN_S_OPDEBUG, /* uint32_t base[rows of DIR + 1], then an array of struct bin_op_debug; optional */
	BIN_S_WINDOWS, /* array of struct bin_window; only in a program with calls */
	BIN_S_CALLS, /* array of struct bin_call; only in a program with calls */
	BIN_S_PROVED, /* array of struct bin_proved, ascending, with gaps between the intervals; optional */
	/* The next three sections exist if the schedule was lowered to command queues. The binary is then concrete, with a
	 * fixed count. */
	BIN_S_TARGET, /* one struct bin_target */
	BIN_S_QDIR, /* array of struct bin_dir, as DIR but without rows of results; offsets into QUEUES are in units of 8 bytes */
	BIN_S_QUEUES, /* a part for each row of QDIR, see struct bin_queues */
	BIN_S_PROOF, /* one struct bin_proof; only in a program, and PROVED is then 1 to INT32_MAX; optional */
	BIN_S_TYPES
};

struct bin_header {
	char magic[8];
	uint16_t version; /* BIN_VERSION of the writer */
	uint16_t min_reader; /* oldest version whose readers understand the file */
	uint32_t nsections;
	uint64_t size; /* bytes of the file */
	uint32_t check; /* XXH32 of the header, with this field as 0, and the section table */
	uint32_t zero[5];
};

struct bin_section {
	uint32_t type;
	uint32_t check; /* XXH32 of the section's bytes; 0 for RANKS and QUEUES, each part of which has its own */
	uint64_t off, len; /* offset in the file, a multiple of 8, and length; both in bytes */
};

#define BIN_F_PARAMETRIC 1u
#define BIN_F_PLAIN 2u /* plain GOAL: every send and recv has bytes of its own; buffer 0 holds what the sends
			  of the rank send, in file order, and buffer 1 what its recvs receive */
#define BIN_F_ROOTS 4u /* the binary is concrete and has one variant for each root */
#define BIN_F_COMMUTATIVE 8u /* the schedule is correct only for commutative operations */
#define BIN_F_REPRODUCIBLE 16u /* the schedule says that all elements of a reduction have the same bracketing */
#define BIN_F_FLAGS 31u

struct bin_meta {
	uint32_t flags;
	uint32_t nranks; /* number of ranks; 0 in a parametric binary */
	uint32_t nregs; /* number of registers, 3 to 4096; registers 0, 1, 2 start as rank, size, count; 0 in a concrete binary */
	uint32_t nlabels; /* number of labels of the program, not counting labels in calls; 0 in a concrete binary */
	uint32_t name, implements, source, passes; /* strings; `passes`: list of passes to run at bind (compiler/passes/passes.h) */
	uint32_t root; /* index of the parameter "root", or BIN_NONE */
	/* 0: no result. Parametric: the instruction where the program of the result begins. Concrete: 1, and DIR has a second
	 * row for each rank and variant, for the result. */
	uint32_t result;
	int64_t count; /* the only count that a concrete binary supports, or BIN_ANY_COUNT */
};
#define BIN_ANY_COUNT (-1)

struct bin_buffer {
	uint32_t name; /* string */
	uint8_t mode; /* enum bin_mode */
	uint8_t zero;
	uint16_t inplace; /* index + 1 of the buffer in which this one may be in place; 0: none */
};

/* Whether a parameter has a default. The program computes a BIN_COMPUTED one where GIVEN says that there is no value. */
enum bin_has { BIN_NO_DEFAULT, BIN_NUMBER, BIN_COMPUTED, BIN_HAS };

struct bin_param {
	uint32_t name; /* string */
	uint8_t scope; /* enum bin_scope */
	uint8_t vector, has_default; /* has_default: enum bin_has */
	uint8_t elements; /* length of a vector that has a default; else 0 */
	int64_t value; /* default value, a number; for a vector, the default of each element */
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

/* A template, from which EMIT, EMITIN, COPYIN, GETS and INPLACE make ops. Fields from off to instance are numbers of
 * registers that hold the values; BIN_NOREG stands for the value 0. */
struct bin_tmpl {
	uint8_t kind; /* enum bin_kind */
	uint8_t exec; /* enum bin_exec */
	uint16_t buf[2]; /* rows of BUFFERS for ranges 0 and 1; in a call rows of WINDOWS */
	uint16_t off[2], len; /* elements; len of a calc: ns */
	uint16_t peer, tag, level, cpu, nic;
	uint16_t index[2]; /* indices of the label */
	uint16_t instance; /* in a call: register with the first label of the call's instance; else 0 */
	uint32_t label; /* 0 … nlabels-1; with an instance, counted from its first label; BIN_NONE: the op has no label */
};

/* A template, from which DEP and DEPIN make a dependency: the op with label op waits for the op with label on. */
struct bin_dep_tmpl {
	uint32_t op, on; /* labels */
	uint16_t op_index[2], on_index[2]; /* registers with the indices of the labels, or BIN_NOREG */
	uint32_t start; /* 1: irequires; 0: requires */
	uint16_t op_instance, on_instance; /* registers with the first label of an instance, as in struct bin_tmpl; only for DEPIN */
};

/* A window: a part of a buffer, which the ops of a call use as one of their buffers. */
struct bin_window {
	uint32_t name; /* string */
	uint16_t buf;
	uint16_t base, size; /* registers with the first element and the number of elements; BIN_NOREG in base stands for 0 */
	uint16_t zero;
};

/* A call, as ENTER, LEAVE and INSIDE use it. */
struct bin_call {
	uint32_t label; /* label of the call, or BIN_NONE */
	uint32_t nlabels; /* number of labels that an instance of the call has */
	uint16_t index[2], instance; /* index and instance of the label, as in struct bin_tmpl */
	uint16_t zero;
};

/* A value of a concrete binary. A row refers only to rows before it. */
struct bin_expr {
	uint8_t op; /* BIN_CONST: the value is imm; BIN_PARAM: count; else an ARITH instruction, on rows a and b */
	uint8_t zero[3];
	uint32_t a;
	union {
		int64_t imm;
		uint64_t b;
	};
};

/* The properties that ops of a concrete binary share. */
struct bin_class {
	uint8_t kind, exec;
	uint16_t level;
	uint32_t tag, cpu, nic;
	uint16_t buf[2];
	uint32_t off[2], len; /* rows of EXPRS; BIN_NONE stands for 0, but as len of a calc for the op's arg, in ns */
};

struct bin_dir {
	uint32_t off; /* where the rank's part begins in RANKS, in units of 4 bytes */
	uint32_t check; /* XXH32 of the part */
};

/* A rank's part of RANKS: this header, then
 *   with BIN_R_SIZES uint32_t size[buffers] (rows of EXPRS),
 *   the ops,
 *   the dependencies of op 0, 1, …,
 *   with BIN_R_POS the positions,
 *   zeros up to a multiple of 4.
 * Narrow: struct bin_op16, uint16_t dependencies (bit 15: irequires), uint16_t positions.
 * Wide (BIN_R_WIDE): struct bin_op32, uint32_t dependencies (bit 31: irequires), uint32_t positions.
 * A dependency is the number of the op that is waited for. This op has a smaller position than the op that has the
 * dependency, which proves that there is no cycle. Without positions the position of an op is its number; they are
 * there only when a dependency points forward. */
struct bin_rank {
	uint32_t nops;
	uint32_t ndeps; /* number of dependencies (BIN_R_NDEPS) and the flags BIN_R_* */
};
#define BIN_R_WIDE 0x80000000u
#define BIN_R_POS 0x40000000u
#define BIN_R_SIZES 0x20000000u
#define BIN_R_NDEPS 0x1fffffffu
#define BIN_START16 0x8000u
#define BIN_START 0x80000000u
#define BIN_MAX_OPS 0x7fffffffu

struct bin_op16 {
	uint32_t arg; /* peer of a message, or ns of a calc */
	uint16_t cls; /* row of CLASSES */
	uint16_t ndeps; /* number of dependencies, from which the op's counter starts */
};

struct bin_op32 {
	uint32_t arg, cls, ndeps;
};

struct bin_op_debug {
	uint32_t line, name; /* name: string */
};

/* An interval of numbers of ranks for which the schedule was verified. */
struct bin_proved {
	uint32_t first, last;
};

/* A proof for every number of ranks. */
struct bin_proof {
	uint64_t program; /* bin_program_sum: the proof is about this program */
	uint64_t obligations; /* sum of the XXH64 of the obligations' texts */
	uint32_t n; /* number of obligations */
	uint32_t zero;
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
BIN_SIZE(struct bin_proof, 24);

#endif
