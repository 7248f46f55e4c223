/* SPDX-License-Identifier: BSD-3-Clause
 * The labels of one rank of plain GOAL, numbered in the order in which they first appear. */
#ifndef LANG_LABELS_H
#define LANG_LABELS_H

#include "util/mem.h"

struct goal_labels {
	VEC(char) names; /* one behind the other */
	VEC(uint32_t) end; /* of each of them */
	VEC(uint32_t) slots; /* open hash, number + 1; as many as a power of two */
};

/* Forgets the labels and keeps the memory. */
void goal_labels_clear(struct goal_labels *l);
void goal_labels_fini(struct goal_labels *l);
/* The number of a label, a new one if need be, or -ERR_NOMEM. */
int64_t goal_label(struct goal_labels *l, const char *s, size_t len);
/* The text of a label, without a NUL. */
const char *goal_label_text(const struct goal_labels *l, uint32_t label, size_t *len);

#endif
