/* SPDX-License-Identifier: BSD-3-Clause
 * Named passes. A local pass changes the ops of one rank without looking at other ranks, and runs at bind time as well
 * as in goalc. A global pass needs the whole graph. A pass on texts runs before there are ops. Passes only change their
 * argument and report nothing. A pass that cannot be applied returns an error and may store the reason in the
 * graph (refused); the ops or the graph may then only be freed.
 *
 * A list of passes is a text "name:key=value,key=value;name;…", in the order of application. */
#ifndef COMPILER_PASSES_PASSES_H
#define COMPILER_PASSES_PASSES_H

#include "compiler/ir/ir.h"
#include "util/text.h"

/* A key that a pass takes. */
struct pass_key {
	const char *name;
	const char *help;
	int64_t min, max, value; /* value: the default, or PASS_NEEDED if the key must be given */
	bool elements; /* true if the value is a number of elements; goalc then also checks with larger counts */
	const char *word; /* a word allowed instead of a number, whose value is PASS_WORD; or NULL */
	const char *with; /* another key that must be given together with the word */
	const char *words; /* words for the values 0, 1, 2 and so on, in the form "a|b|c"; NULL if the key takes numbers */
	bool several; /* true if the key takes several numbers with dots between them; its value is how many there are */
};
#define PASS_KEYS 13u
#define PASS_NEEDED (-1)
#define PASS_WORD (-2)

/* Arguments of a pass in addition to the ops. */
struct pass_ctx {
	uint32_t rank; /* the rank whose ops a local pass changes */
	uint32_t size; /* number of ranks */
	const struct bin_buffer *buffers; /* buffers of the binary */
	uint32_t nbuffers;
	bool barrier; /* true if the schedule is a barrier: its dependencies are all that it does */
	uint32_t root; /* rank at the root of trees: the value of the root parameter, or 0 */
	/* the root's ops before any pass, for passes_run_rank(); NULL if unknown, or if rank is the root */
	const struct ir_rank *root_ops;
	struct ir_refusal *refused; /* where a local pass stores why it cannot be applied, or NULL */
	int64_t value[PASS_KEYS]; /* values in the order of the pass's keys */
};

struct pass {
	const char *name;
	const char *help;
	/* Exactly one of the next three functions is not NULL. */
	int (*text)(struct goal_diags *d, const char *with, struct goal_text **texts); /* with: "key=value,...", or NULL */
	int (*local)(struct ir_rank *r, const struct pass_ctx *c);
	int (*global)(struct ir_graph *g, const struct pass_ctx *c);
	/* Replaces words by numbers, which it computes from the ops of the root. NULL if the pass has no words; only local passes
	 * have words. */
	int (*settle)(const struct ir_rank *root, struct pass_ctx *c);
	struct pass_key keys[PASS_KEYS + 1]; /* keys of the pass; the last one is followed by a key without a name */
};

extern const struct pass passes[];
extern const unsigned npasses;

/* Returns the mode of a buffer. Buffers that a pass added (ir_graph_add_scratch) are scratch. */
static inline enum bin_mode pass_mode(const struct pass_ctx *c, uint32_t buffer)
{
	return buffer < c->nbuffers ? (enum bin_mode)c->buffers[buffer].mode : BIN_SCRATCH;
}

/* Returns the pass arguments for a schedule that is specialised with arguments a. */
struct pass_ctx passes_ctx(const struct bin *b, const struct bin_args *a);

/* Takes the first pass and its values off a list that is not empty. Returns -ERR_VERSION if this version of goalc does not know
 * it, or if a value is wrong. The error text is appended to why, which may be NULL. */
int pass_take(const char **list, const struct pass **p, int64_t value[PASS_KEYS], struct text *why);
/* Appends the passes of a -T argument to an owned list, which is NULL at first. A pass on texts goes to the front.
 * Errors are those of pass_take(), or -ERR_NOMEM. */
int passes_add(char **list, const char *arg, struct text *why);
/* Returns the part of a list after its pass on texts, which may be empty. */
const char *passes_on_ops(const char *list);
/* passes_open() returns the name of a list's pass on texts, if the pass does not say which rank is on which node. It returns
 * NULL if there is no such pass. passes_close() makes an owned copy of the list, with the nodes added; see
 * pass_hierarchy_nodes(). */
const char *passes_open(const char *list);
int passes_close(const char *list, const uint32_t *node, uint32_t nranks, uint32_t *apart, char **out);
/* Returns the name of the first global pass of a list, or NULL. */
const char *passes_global(const char *list);
/* True if some value in a list is a word (struct pass_key, word). The ops of the root decide which number it stands for. */
bool passes_need_root(const char *list);
/* Returns a count larger than all values that are numbers of elements, or 0 if there are none. */
int64_t passes_count(const char *list);

/* Runs a list's pass on texts, if any, on a text and its imports. The pass may put another text at the front of *texts.
 * Errors are reported as diagnostics; the result is 0 or -ERR_NOMEM. */
int passes_run_text(const char *list, struct goal_diags *d, struct goal_text **texts);
/* passes_run_rank() runs a list's local passes on one rank. passes_run_graph() runs its local and global passes on a graph. In
 * *c, `value` need not be set, and for a graph `rank` need not be set either. If `failed` is not NULL, *failed is set to the
 * name of the pass that failed. */
int passes_run_rank(const char *list, struct ir_rank *r, const struct pass_ctx *c);
int passes_run_graph(const char *list, struct ir_graph *g, const struct pass_ctx *c, const char **failed);

/* Appends the nodes as a value for the pass hierarchy; node[r] is the node of rank r. Returns -ERR_NOMEM, or
 * -ERR_UNSUPPORTED if the ranks of a node are neither consecutive nor assigned in turn. In the latter case *apart
 * is a rank whose node has some lower rank, but not the rank just below. */
int pass_hierarchy_nodes(const uint32_t *node, uint32_t nranks, uint32_t *apart, struct text *out);

/* The passes. Each is in the file of its name. */
int pass_reduce_deps(struct ir_rank *r, const struct pass_ctx *c);
int pass_coalesce(struct ir_graph *g, const struct pass_ctx *c);
int pass_fuse(struct ir_rank *r, const struct pass_ctx *c);
int pass_hierarchy(struct goal_diags *d, const char *with, struct goal_text **texts);
int pass_lower_smcq(struct ir_graph *g, const struct pass_ctx *c);
int pass_odd_even(struct ir_rank *r, const struct pass_ctx *c);
int pass_reorder(struct ir_graph *g, const struct pass_ctx *c);
int pass_segment(struct ir_rank *r, const struct pass_ctx *c);
int pass_sparse_rounds(struct ir_graph *g, const struct pass_ctx *c);
int pass_split_tree(struct ir_rank *r, const struct pass_ctx *c);
int pass_split_tree_settle(const struct ir_rank *root, struct pass_ctx *c);

#endif
