/* SPDX-License-Identifier: BSD-3-Clause
 * The ops that were computed last from an image, for callers that compute the same ones again (recall.c). */
#ifndef COMPILER_IR_RECALL_H
#define COMPILER_IR_RECALL_H

#include "compiler/ir/ir.h"

#include <pthread.h>

struct ir_kept;
#define IR_KEPT 4u /* sets of arguments that an image remembers */

struct ir_recall {
	pthread_mutex_t lock;
	struct ir_kept *kept[IR_KEPT];
	uint32_t turns; /* number of sets that were kept so far */
};

void ir_recall_init(struct ir_recall *recall);
void ir_recall_fini(struct ir_recall *recall);
/* Copies to *out the ops that were kept for these arguments. Returns 1, 0 if there are none, or -ERR_NOMEM. */
int ir_recall_find(struct ir_recall *recall, const struct bin *b, const struct bin_args *a, bool inplace, struct ir_rank *out);
/* Keeps a copy of the ops, in the place of the oldest one, if they are few and no argument is a vector. */
void ir_recall_keep(struct ir_recall *recall, const struct bin *b, const struct bin_args *a, bool inplace,
		    const struct ir_rank *ops);

#endif
