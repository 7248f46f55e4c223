/* SPDX-License-Identifier: BSD-3-Clause
 * The labels of one rank of plain GOAL, numbered in the order in which they first appear. */
#ifndef LANG_LABELS_H
#define LANG_LABELS_H

#include "util/mem.h"

#include <stdbool.h>

struct goal_labels {
	VEC(char) names; /* one behind the other, NUL-terminated */
	VEC(uint32_t) end; /* of each of them */
	VEC(uint32_t) slots; /* open hash, number + 1; as many as a power of two */
};

/* Forgets the labels and keeps the memory. */
void goal_labels_clear(struct goal_labels *l);
void goal_labels_fini(struct goal_labels *l);
/* The number of the label at s, a new one if need be, or -ERR_NOMEM. It ends where a name ends. */
int64_t goal_label(struct goal_labels *l, const char *s);
/* Whether a name may go on with c. */
static inline bool goal_is_name(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
/* The text of a label. */
const char *goal_label_text(const struct goal_labels *l, uint32_t label, size_t *len);

#endif
