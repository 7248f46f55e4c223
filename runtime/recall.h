/* SPDX-License-Identifier: BSD-3-Clause
 * The ops that were computed last from an image, for callers that compute the same ones again (recall.c). */
#ifndef RUNTIME_RECALL_H
#define RUNTIME_RECALL_H

#include "compiler/ir/ir.h"

#include <pthread.h>

struct rt_kept;
#define RT_KEPT 4u /* sets of arguments that an image remembers */

struct rt_recall {
	pthread_mutex_t lock;
	struct rt_kept *kept[RT_KEPT];
	uint32_t turns; /* number of sets that were kept so far */
};

void rt_recall_init(struct rt_recall *recall);
void rt_recall_fini(struct rt_recall *recall);
/* Copies to *out the ops that were kept for these arguments. Returns 1, 0 if there are none, or -ERR_NOMEM. */
int rt_recall_find(struct rt_recall *recall, const struct bin *b, const struct bin_args *a, bool inplace, struct ir_rank *out);
/* Keeps a copy of the ops, in the place of the oldest one, if they are few and no argument is a vector. */
void rt_recall_keep(struct rt_recall *recall, const struct bin *b, const struct bin_args *a, bool inplace,
		    const struct ir_rank *ops);

#endif
