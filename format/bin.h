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

#include "format/queues.h"

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
	BIN_S_DIR, /* struct bin_dir; rank r of variant v is row v * nranks + r; results come behind all of them */
	BIN_S_RANKS, /* sections of ranks, see struct bin_rank */
	BIN_S_OPDEBUG, /* uint32_t base[rows of DIR + 1], then struct bin_op_debug; optional */
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
	/* Of the result, 0: none. Parametric: where its program begins. Concrete: 1, and DIR has as many rows again. */
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

#endif
