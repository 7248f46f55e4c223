/* SPDX-License-Identifier: BSD-3-Clause
 * Ops that were computed before. To run the program of a schedule is the longest part of a bind of short messages, and most binds
 * repeat an earlier one: a program binds a schedule to many buffers, or binds and frees the same request again and again. So an
 * image keeps the ops of the last few sets of arguments. The ops depend on nothing but the image and these arguments, all of which
 * are compared. */
#include "compiler/ir/recall.h"

#include "util/mem.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((size_t)64 << 10) /* of the ops and dependencies of a rank */

struct ir_kept {
	uint32_t rank, size, most_ops;
	bool inplace, given; /* given: there are arguments; else all have their defaults */
	int64_t count;
	struct ir_rank ops;
	struct bin_arg args[];
};

void ir_recall_init(struct ir_recall *recall)
{
	pthread_mutex_init(&recall->lock, NULL);
}

static void free_kept(struct ir_kept *k)
{
	if (k)
		ir_rank_fini(&k->ops);
	free(k);
}

void ir_recall_fini(struct ir_recall *recall)
{
	for (uint32_t i = 0; i < IR_KEPT; i++)
		free_kept(recall->kept[i]);
	pthread_mutex_destroy(&recall->lock);
}

static void *copy_array(const void *from, size_t n, size_t size)
{
	void *to = mem_alloc(n * size);

	return to && n ? memcpy(to, from, n * size) : to;
}

static int copy_ops(const struct bin *b, const struct ir_rank *from, struct ir_rank *to)
{
	*to = (struct ir_rank){ .nops = from->nops,
				.ops = copy_array(from->ops, from->nops, sizeof *from->ops),
				.dep_at = copy_array(from->dep_at, from->nops + 1, sizeof *from->dep_at),
				.deps = copy_array(from->deps, from->dep_at[from->nops], sizeof *from->deps),
				.bufsize = copy_array(from->bufsize, b->nbuffers, sizeof *from->bufsize) };
	if (to->ops && to->dep_at && to->deps && to->bufsize)
		return 0;
	ir_rank_fini(to);
	return -ERR_NOMEM;
}

static bool has_vector(const struct bin *b, const struct bin_args *a)
{
	for (uint32_t i = 0; i < b->nparams && a->args; i++)
		if (a->args[i].known && b->params[i].vector)
			return true;
	return false;
}

/* No argument is a vector. */
static bool is_same(const struct ir_kept *k, const struct bin *b, const struct bin_args *a, bool inplace)
{
	if (k->rank != a->rank || k->size != a->size || k->most_ops != a->most_ops || k->count != a->count ||
	    k->inplace != inplace || k->given != (a->args != NULL))
		return false;
	for (uint32_t i = 0; i < b->nparams && a->args; i++)
		if (k->args[i].known != a->args[i].known || (k->args[i].known && k->args[i].value != a->args[i].value))
			return false;
	return true;
}

int ir_recall_find(struct ir_recall *recall, const struct bin *b, const struct bin_args *a, bool inplace, struct ir_rank *out)
{
	int found = 0;

	if (has_vector(b, a))
		return 0;
	pthread_mutex_lock(&recall->lock);
	for (uint32_t i = 0; i < IR_KEPT && recall->kept[i] && !found; i++)
		if (is_same(recall->kept[i], b, a, inplace))
			found = copy_ops(b, &recall->kept[i]->ops, out) ? -ERR_NOMEM : 1;
	pthread_mutex_unlock(&recall->lock);
	return found;
}

void ir_recall_keep(struct ir_recall *recall, const struct bin *b, const struct bin_args *a, bool inplace,
		    const struct ir_rank *ops)
{
	const size_t bytes = ops->nops * sizeof *ops->ops + ops->dep_at[ops->nops] * sizeof *ops->deps;
	struct ir_kept *k = has_vector(b, a) || bytes > MOST_BYTES ? NULL : mem_calloc(1, sizeof *k + b->nparams * sizeof *k->args);
	struct ir_kept **at;

	if (!k)
		return;
	k->rank = a->rank;
	k->size = a->size;
	k->most_ops = a->most_ops;
	k->count = a->count;
	k->inplace = inplace;
	k->given = a->args != NULL;
	for (uint32_t i = 0; i < b->nparams && a->args; i++)
		k->args[i] = (struct bin_arg){ .known = a->args[i].known, .value = a->args[i].value };
	if (copy_ops(b, ops, &k->ops)) {
		free(k);
		return;
	}
	pthread_mutex_lock(&recall->lock);
	at = &recall->kept[recall->turns++ % IR_KEPT];
	free_kept(*at);
	*at = k;
	pthread_mutex_unlock(&recall->lock);
}
