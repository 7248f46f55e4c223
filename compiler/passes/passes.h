/* SPDX-License-Identifier: BSD-3-Clause
 * Named passes. A local pass changes the ops of one rank by themselves, and runs at bind time as well as in goalc; a
 * global one needs the whole graph; and one on texts works before there are ops. Passes change; they report nothing: one
 * that cannot be applied returns an error, may say why in the graph (refused), and leaves what may only be freed.
 *
 * A list of passes is a text "name:key=value,key=value;name;…", in the order of application. */
#ifndef COMPILER_PASSES_PASSES_H
#define COMPILER_PASSES_PASSES_H

#include "compiler/ir/ir.h"
#include "util/text.h"

/* A value that a pass takes. */
struct pass_key {
	const char *name;
	const char *help;
	int64_t min, max, value; /* value: the default; PASS_NEEDED: there is none */
	bool elements; /* a number of elements: goalc checks with counts beyond it */
	const char *word; /* that may stand in place of a number, which then is PASS_WORD; NULL: none */
	const char *with; /* another key, which has to be given beside the word */
	const char *words; /* "a|b|c" in place of the numbers 0, 1, 2; NULL: it takes numbers */
	bool several; /* numbers with dots between them, of which the value says how many they are */
};
#define PASS_KEYS 13u
#define PASS_NEEDED (-1)
#define PASS_WORD (-2)

/* What a pass is told beside the ops. */
struct pass_ctx {
	uint32_t rank; /* of a local pass */
	uint32_t size; /* number of ranks */
	const struct bin_buffer *buffers; /* of the binary */
	uint32_t nbuffers;
	uint32_t root; /* the rank at the root of trees: that of the parameter, or 0 */
	const struct ir_rank *root_ops; /* for passes_run_rank: its ops before any pass; NULL: not known, or rank is root */
	struct ir_refusal *refused; /* where a local pass says why it cannot be applied; NULL: nobody asks */
	int64_t value[PASS_KEYS]; /* in the order of the pass's keys */
};

struct pass {
	const char *name;
	const char *help;
	/* Exactly one of the three is not NULL. */
	int (*text)(struct goal_diags *d, const char *with, struct goal_text **texts); /* "key=value,..."; NULL: none */
	int (*local)(struct ir_rank *r, const struct pass_ctx *c);
	int (*global)(struct ir_graph *g, const struct pass_ctx *c);
	/* Of a local one: puts numbers in place of words, by the ops of the root. NULL: it has no words. */
	int (*settle)(const struct ir_rank *root, struct pass_ctx *c);
	struct pass_key keys[PASS_KEYS + 1]; /* up to one without a name */
};

extern const struct pass passes[];
extern const unsigned npasses;

/* The mode of a buffer; one that a pass added (ir_graph_add_scratch) is scratch. */
static inline enum bin_mode pass_mode(const struct pass_ctx *c, uint32_t buffer)
{
	return buffer < c->nbuffers ? (enum bin_mode)c->buffers[buffer].mode : BIN_SCRATCH;
}

/* What passes are told of a schedule that is specialised with these arguments. */
struct pass_ctx passes_ctx(const struct bin *b, const struct bin_args *a);

/* Takes the first pass and its values off a list that is not empty. -ERR_VERSION for one that this version does
 * not know; what is wrong is added to why, which may be NULL. */
int pass_take(const char **list, const struct pass **p, int64_t value[PASS_KEYS], struct text *why);
/* Appends what a -T names to an owned list, NULL at first; a pass on texts goes to its front. Mistakes are as for
 * pass_take; or -ERR_NOMEM. */
int passes_add(char **list, const char *arg, struct text *why);
/* What is left of a list behind a pass on texts, which may be nothing. */
const char *passes_on_ops(const char *list);
/* The name of a pass on texts that has not been told of nodes, or NULL; and an owned copy of that list, where it has: as
 * pass_hierarchy_nodes. */
const char *passes_open(const char *list);
int passes_close(const char *list, const uint32_t *node, uint32_t nranks, uint32_t *apart, char **out);
/* The name of the first global pass of a list, or NULL. */
const char *passes_global(const char *list);
/* Whether a list has words, which need the ops of the root. */
bool passes_need_root(const char *list);
/* A count that is beyond all values that are numbers of elements; 0 where there is none. */
int64_t passes_count(const char *list);

/* Runs the pass on texts, if a list has one, on a text and what it imports: another text may come in front. What is wrong
 * are diagnostics; 0 or -ERR_NOMEM. */
int passes_run_text(const char *list, struct goal_diags *d, struct goal_text **texts);
/* Runs the others on one rank (local ones) or on a graph (all); the ctx's rank (there) and value need
 * not be set. *failed, if not NULL, is the name of the pass that failed. */
int passes_run_rank(const char *list, struct ir_rank *r, const struct pass_ctx *c);
int passes_run_graph(const char *list, struct ir_graph *g, const struct pass_ctx *c, const char **failed);

/* Appends what hierarchy is told of nodes, of which node[r] is that of rank r. -ERR_NOMEM; or -ERR_UNSUPPORTED where their ranks
 * neither follow each other nor take turns: rank *apart is on the node of an earlier one, but not of the one before it. */
int pass_hierarchy_nodes(const uint32_t *node, uint32_t nranks, uint32_t *apart, struct text *out);

/* Each in a file of its name. */
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
