/* SPDX-License-Identifier: BSD-3-Clause
 * Schedules in the compiler's memory: the program of a parametric schedule, and the graph of ops of all ranks that
 * checks and passes work on. */
#ifndef COMPILER_IR_IR_H
#define COMPILER_IR_IR_H

#include "format/read.h"
#include "lang/ast.h"
#include "util/index.h"
#include "util/mem.h"

/* The ops of one rank. ops[i] waits for deps[dep_at[i] … dep_at[i+1]-1], which are ascending and distinct. BIN_START in
 * a dependency means irequires. */
struct ir_rank {
	struct bin_op *ops;
	uint32_t nops;
	uint32_t *dep_at, *deps;
	uint64_t *bufsize; /* size of each buffer, in elements; NULL in plain GOAL */
};

/* Source locations of a program's instructions. */
struct ir_locs {
	VEC(struct goal_loc) v;
};

/* Reason why a pass cannot be applied, for passes that give one. */
struct ir_refusal {
	uint32_t rank, op; /* op: BIN_NONE if the reason names no op */
	uint32_t other; /* 1 + index of a second op of the rank that the text is about, or 0 */
	char text[240]; /* empty if no reason is given */
};

/* Stores in *why the reason why a pass cannot be applied, and returns -ERR_PASS. `op` is an op of the rank, or BIN_NONE.
 * `why` may be NULL. */
__attribute__((format(printf, 4, 5))) int ir_refuse(struct ir_refusal *why, uint32_t rank, uint32_t op, const char *fmt, ...);

/* All ranks of a schedule. If locs is not NULL, the field `line` of an op is 1 + an index into locs. */
struct ir_graph {
	uint32_t nranks, nbuffers;
	struct ir_rank *ranks;
	bool plain;
	/* binary from which the graph was specialised (borrowed), with the names and modes of the buffers; may be NULL */
	const struct bin *bin;
	unsigned file; /* source file named in diagnostics */
	VEC(struct goal_loc) locs;
	VEC(char) names; /* labels of plain GOAL, NUL-terminated */
	VEC(size_t) name_at; /* for each of locs, the offset of its label in names */
	char sample[160]; /* values from which a parametric schedule was specialised, ending in ": " */
	/* The arguments from which the graph was specialised, as long as its ops are the program's: otherwise size is 0. They
	 * borrow the rows of the caller, who uses them only for messages. */
	struct bin_args args;
	struct smcq *queues; /* command queues to which the schedule is lowered (smcq.h), or NULL; the ops are kept as well */
	struct ir_refusal refused;
	struct ir_left *left; /* where checks leave their results for the caller (events.h), or NULL */
};

/* These functions free the contents of the struct, but not the struct itself. A zeroed struct is allowed. */
void ir_rank_fini(struct ir_rank *r);
void ir_graph_fini(struct ir_graph *g);

/* Builds dep_at and deps of r from edges in any order, with duplicates. */
int ir_rank_set_deps(struct ir_rank *r, const struct bin_dep *edges, uint32_t n);

/* Removes each op i with by[i] != i. A dependency on op i becomes a dependency on op by[i], which must not be removed. */
int ir_rank_replace(struct ir_rank *r, const uint32_t *by);
/* Sets to[i] to the number that op i, or the op that replaces it, has after ir_rank_replace(). */
void ir_rank_renumbering(const struct ir_rank *r, const uint32_t *by, uint32_t *to);
/* Renumbers the ops: op i becomes op position[i]. */
int ir_rank_reorder(struct ir_rank *r, const uint32_t *position);

/* Sets pos to a topological order of the ops: pos[on] < pos[op] for every dependency. If the dependencies form a cycle,
 * returns -ERR_CYCLE and stores an op of the cycle in *bad. pos may be NULL. */
int ir_rank_positions(const struct ir_rank *r, uint32_t *pos, uint32_t *bad);

/* Converts the value of GOAL_MAX_OPS to bin_args.most_ops. */
static inline uint32_t ir_most_ops(long n)
{
	return n < 0 || n > BIN_MAX_OPS / 8 ? BIN_MAX_OPS / 8 : (uint32_t)n;
}

/* Error of a specialisation. */
struct ir_fault {
	uint32_t where, what; /* as in struct bin_space */
	int64_t value[3];
	uint64_t steps; /* instructions executed */
	char text[160]; /* for -ERR_CLAIM, what is wrong; otherwise empty */
};

/* The arguments as each rank knows them: only the root knows the value of a rootonly parameter. */
struct ir_rows {
	const struct bin_arg **by_rank;
	struct bin_arg *own; /* copies of given rows, without the rootonly values */
};
/* Takes the rows from args->by_rank or, if that is NULL, args->args for every rank. */
int ir_rows_init(struct ir_rows *rows, const struct bin *b, const struct bin_args *args);
void ir_rows_fini(struct ir_rows *rows);

/* Specialises b for one rank into r, which the caller owns. fault may be NULL. Returns -ERR_SPACE if the rank has more
 * ops than args->most_ops; fault->value[0] is then that limit. */
int ir_rank_specialise(const struct bin *b, const struct bin_args *args, struct ir_rank *r,
		       struct ir_fault *fault);

/* Specialises the result declaration of b for one rank, otherwise like ir_rank_specialise(). */
int ir_rank_result(const struct bin *b, const struct bin_args *args, struct ir_rank *r, struct ir_fault *fault);

/* Specialises b for all ranks, with the arguments that struct ir_rows describes. args->fuel, if set, is the limit for
 * all ranks together. On error, *rank is the first rank with a fault. The `line` of an op is its line in the binary. */
int ir_graph_specialise(const struct bin *b, const struct bin_args *args, struct ir_graph *g,
			uint32_t *rank, struct ir_fault *fault);

/* Adds a scratch buffer of size 0 on all ranks and returns its index, or -ERR_x. The schedule must have buffers. */
int64_t ir_graph_add_scratch(struct ir_graph *g);
/* Returns the mode of a buffer. Buffers that a pass added are scratch. g->bin must not be NULL. */
static inline enum bin_mode ir_graph_mode(const struct ir_graph *g, uint32_t buf)
{
	return buf < g->bin->nbuffers ? (enum bin_mode)g->bin->buffers[buf].mode : BIN_SCRATCH;
}

/* Returns an empty template of an op: no registers, no label. */
struct bin_tmpl ir_tmpl(unsigned kind);
/* Returns the keyword for a kind of op (ops.def). */
const char *ir_op_word(unsigned kind);
/* Returns the source location of an op, with line 0 if it is unknown. */
struct goal_loc ir_graph_loc(const struct ir_graph *g, const struct bin_op *op);
/* Returns the label of an op in plain GOAL, or "". */
const char *ir_graph_name(const struct ir_graph *g, const struct bin_op *op);

/* Stores the indices of the label of an op: of the op labelled out[i, j], i and j. Returns how many there are; 0 also if they
 * are not known. This runs the program of the rank once more. */
unsigned ir_graph_index(const struct ir_graph *g, uint32_t rank, uint32_t op, int32_t index[2]);

/* ---- binary under construction ---- */

struct ir_image {
	VEC(char) strings;
	VEC(struct bin_buffer) buffers;
	VEC(struct bin_param) params;
	VEC(struct bin_word) code;
	VEC(struct goal_loc) locs; /* location of each instruction */
	VEC(uint32_t) lines; /* line of each instruction in the schedule's own file; for imported code, the line of the call */
	VEC(int64_t) consts;
	VEC(struct bin_tmpl) tmpls;
	VEC(struct bin_dep_tmpl) deps;
	VEC(struct bin_window) windows;
	VEC(struct bin_call) calls;
	VEC(struct bin_expr) exprs;
	VEC(struct bin_class) classes;
	VEC(char) body; /* the sections DIR and then RANKS, laid out as in the file */
	uint64_t dir_rows, done; /* number of rows of DIR, and number of rows filled in */
	VEC(uint32_t) debug_base;
	VEC(struct bin_op_debug) debug;
	VEC(struct bin_dir) qdir;
	VEC(char) queues;
	bool gets; /* true if queues contains gets */
	struct bin_target target;
	struct index by_class, by_expr;
	struct bin_meta meta;
};

int ir_image_init(struct ir_image *im);
void ir_image_fini(struct ir_image *im);
/* Adds a string and returns its offset, or -ERR_NOMEM. */
int64_t ir_image_string(struct ir_image *im, const char *s);
/* Reserves the rows of DIR. Must come before the first section. */
int ir_image_begin(struct ir_image *im, uint64_t dir_rows);
/* Appends rows to DIR. */
int ir_image_more(struct ir_image *im, uint64_t dir_rows);
/* Returns an op of a class in the form that ir_image_rank() takes. */
struct bin_op32 ir_image_op(const struct ir_image *im, const struct bin_op *op, uint32_t cls);
/* Appends the section for the next row of DIR. `ops` has the ops of r in the binary's form, whose ndeps may be unset; r->ops
 * is not read. size_rows holds one row of EXPRS for each buffer, or is NULL. */
int ir_image_rank(struct ir_image *im, const struct ir_rank *r, const struct bin_op32 *ops,
		  const uint32_t *size_rows);
/* Returns a section already appended. The pointer is valid until the next section is appended. */
const struct bin_rank *ir_image_section(const struct ir_image *im, uint64_t dir_row);
/* Returns the row of EXPRS that holds e, or -ERR_NOMEM. Adds the row if there is none. */
int64_t ir_image_expr(struct ir_image *im, struct bin_expr e);
int64_t ir_image_class(struct ir_image *im, const struct bin_class *c);
/* Builds the finished binary, which the caller owns; names and lines are included if debug is set. The sections move
 * out of im. */
int ir_image_finish(struct ir_image *im, bool debug, void **image, size_t *size);

/* Each returns in *out a copy of a binary, owned by the caller. bin_record records the numbers of ranks for which it is proved,
 * which ascend, and bin_record_all that it is proved for all; it sets proof->program. */
int bin_record(const void *image, size_t size, const uint32_t *sizes, size_t n, void **out, size_t *out_size);
int bin_record_all(const void *image, size_t size, struct bin_proof *proof, void **out, size_t *out_size);

#endif
