/* SPDX-License-Identifier: BSD-3-Clause
 * The compiler's view of schedules: the program of a parametric one, and the graph of ops of all ranks
 * that checks and passes work on. */
#ifndef COMPILER_IR_IR_H
#define COMPILER_IR_IR_H

#include "format/read.h"
#include "lang/ast.h"
#include "util/mem.h"

/* The ops of one rank. ops[i] waits for deps[dep_at[i] … dep_at[i+1]-1], ascending and distinct;
 * BIN_START in a dependency means irequires. */
struct ir_rank {
	struct bin_op *ops;
	uint32_t nops;
	uint32_t *dep_at, *deps;
	uint64_t *bufsize; /* elements; NULL in plain GOAL */
};

/* Where the instructions of a program stand. */
struct ir_locs {
	VEC(struct goal_loc) v;
};

/* Why a pass cannot be applied, where it can say more than that. */
struct ir_refusal {
	uint32_t rank, op; /* op: BIN_NONE for none */
	uint32_t other; /* another op of the rank that the text is about, + 1; or 0 */
	char text[240]; /* empty: nothing */
};

/* Says why a pass cannot be applied, at an op of a rank or, with BIN_NONE, at none; -ERR_PASS. why: NULL for nobody. */
__attribute__((format(printf, 4, 5))) int ir_refuse(struct ir_refusal *why, uint32_t rank, uint32_t op, const char *fmt, ...);

/* All ranks of a schedule. In ops, line is an index into locs plus 1 where locs is not NULL. */
struct ir_graph {
	uint32_t nranks, nbuffers;
	struct ir_rank *ranks;
	bool plain;
	const struct bin *bin; /* that it was specialised from, borrowed: names and modes of the buffers; may be NULL */
	unsigned file; /* of the diagnostics */
	VEC(struct goal_loc) locs;
	VEC(char) names; /* labels of plain GOAL, NUL-terminated */
	VEC(size_t) name_at; /* in names, for each of locs */
	char sample[160]; /* of a parametric schedule: the values that gave it, ends in ": " */
	struct smcq *queues; /* to which it is lowered (smcq.h), or NULL; the ops are still there */
	struct ir_refusal refused;
	struct ir_left *left; /* where checks leave what they have made (events.h), or NULL */
};

/* Frees what is in it; a zeroed one is fine. */
void ir_rank_fini(struct ir_rank *r);
void ir_graph_fini(struct ir_graph *g);

/* Builds dep_at and deps of r from edges in any order, with duplicates. */
int ir_rank_set_deps(struct ir_rank *r, const struct bin_dep *edges, uint32_t n);

/* Takes out the ops i with by[i] != i; by[i] stands for i in all dependencies, and stays itself. */
int ir_rank_replace(struct ir_rank *r, const uint32_t *by);
/* Where each op is after that: to[i] is the number of i, or of what stands for it. */
void ir_rank_places(const struct ir_rank *r, const uint32_t *by, uint32_t *to);
/* Another order: op i becomes op place[i]. */
int ir_rank_reorder(struct ir_rank *r, const uint32_t *place);

/* A topological position for each op: pos[on] < pos[op] for every dependency. When they form a cycle,
 * -ERR_CYCLE with an op of it in *bad. pos may be NULL. */
int ir_rank_positions(const struct ir_rank *r, uint32_t *pos, uint32_t *bad);

/* What GOAL_MAX_OPS says, as bin_args.most_ops. */
static inline uint32_t ir_most_ops(long n)
{
	return n < 0 || n > BIN_MAX_OPS / 8 ? BIN_MAX_OPS / 8 : (uint32_t)n;
}

/* What went wrong in a specialisation. */
struct ir_fault {
	uint32_t where, what; /* as in struct bin_space */
	int64_t value[3];
	uint64_t steps; /* instructions executed */
	char text[160]; /* of -ERR_CLAIM: what is wrong; else empty */
};

/* What each rank knows: of a rootonly parameter only the root knows the value. */
struct ir_rows {
	const struct bin_arg **by_rank;
	struct bin_arg *own; /* copies, where ranks differ from what was given */
};
/* From args->by_rank, or from args->args, which is then every rank's. */
int ir_rows_init(struct ir_rows *rows, const struct bin *b, const struct bin_args *args);
void ir_rows_fini(struct ir_rows *rows);

/* Specialises b for one rank into r (owned by the caller). fault may be NULL. -ERR_SPACE when it has more than
 * args->most_ops, which fault->value[0] has then. */
int ir_rank_specialise(const struct bin *b, const struct bin_args *args, struct ir_rank *r,
		       struct ir_fault *fault);

/* The same for its result. */
int ir_rank_result(const struct bin *b, const struct bin_args *args, struct ir_rank *r, struct ir_fault *fault);

/* All ranks, with args->by_rank or all with args->args (struct ir_rows). args->fuel, if any, is for all together. On
 * error *rank is the first one at fault. locs are the image's lines. */
int ir_graph_specialise(const struct bin *b, const struct bin_args *args, struct ir_graph *g,
			uint32_t *rank, struct ir_fault *fault);

/* Another scratch buffer, of size 0 on all ranks: its index, or -ERR_x. Only for schedules with buffers. */
int64_t ir_graph_add_scratch(struct ir_graph *g);
/* The mode of a buffer; one that a pass added is scratch. g->bin is not NULL. */
static inline enum bin_mode ir_graph_mode(const struct ir_graph *g, uint32_t buf)
{
	return buf < g->bin->nbuffers ? (enum bin_mode)g->bin->buffers[buf].mode : BIN_SCRATCH;
}

/* A template of an op that has nothing yet: no registers, no label. */
struct bin_tmpl ir_tmpl(unsigned kind);
/* The word for an op of a kind (ops.def). */
const char *ir_op_word(unsigned kind);
/* Where an op stands in its source; line 0 when that is not known. */
struct goal_loc ir_graph_loc(const struct ir_graph *g, const struct bin_op *op);
/* Its label in plain GOAL, "" where there is none. */
const char *ir_graph_name(const struct ir_graph *g, const struct bin_op *op);

/* ---- a growing image ---- */

struct ir_image {
	VEC(char) strings;
	VEC(struct bin_buffer) buffers;
	VEC(struct bin_param) params;
	VEC(struct bin_word) code;
	VEC(struct goal_loc) locs; /* one for each instruction */
	VEC(uint32_t) lines; /* the same in the schedule's own file: that of the call, for what is imported */
	VEC(int64_t) consts;
	VEC(struct bin_tmpl) tmpls;
	VEC(struct bin_dep_tmpl) deps;
	VEC(struct bin_window) windows;
	VEC(struct bin_call) calls;
	VEC(struct bin_expr) exprs;
	VEC(struct bin_class) classes;
	VEC(char) body; /* DIR, then RANKS, as in the file */
	uint64_t entries, done; /* of DIR: all, and those filled in */
	VEC(uint32_t) debug_base;
	VEC(struct bin_op_debug) debug;
	VEC(struct bin_dir) qdir;
	VEC(char) queues;
	bool gets; /* in these */
	struct bin_target target;
	VEC(uint32_t) class_table, expr_table; /* open hashes, index + 1 */
	struct bin_meta meta;
};

int ir_image_init(struct ir_image *im);
void ir_image_fini(struct ir_image *im);
/* The offset of a string, or -ERR_NOMEM. */
int64_t ir_image_string(struct ir_image *im, const char *s);
/* Room for so many entries of DIR; before any section. */
int ir_image_begin(struct ir_image *im, uint64_t entries);
/* Room for more, behind those. */
int ir_image_more(struct ir_image *im, uint64_t entries);
/* An op of a class, as ir_image_rank takes it. */
struct bin_op32 ir_image_op(const struct ir_image *im, const struct bin_op *op, uint32_t cls);
/* Appends the section of the next entry of DIR. ops: those of r, which need no ndeps; r->ops are not looked at.
 * size_rows (nbuffers rows of EXPRS) may be NULL. */
int ir_image_rank(struct ir_image *im, const struct ir_rank *r, const struct bin_op32 *ops,
		  const uint32_t *size_rows);
/* A section that is there; valid until the next one is appended. */
const struct bin_rank *ir_image_section(const struct ir_image *im, uint64_t entry);
/* Row of EXPRS, or -ERR_NOMEM. */
int64_t ir_image_expr(struct ir_image *im, struct bin_expr e);
int64_t ir_image_class(struct ir_image *im, const struct bin_class *c);
/* The finished binary, owned by the caller; with names and lines if debug. Takes the sections out of im. */
int ir_image_finish(struct ir_image *im, bool debug, void **image, size_t *size);

/* A copy of a binary, owned by the caller, that records for which sizes, ascending, it is proved. */
int bin_record(const void *image, size_t size, const uint32_t *sizes, size_t n, void **out, size_t *out_size);

#endif
