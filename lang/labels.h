/* SPDX-License-Identifier: BSD-3-Clause
 * The labels of one rank of plain GOAL, numbered in the order in which they first appear. */
#ifndef LANG_LABELS_H
#define LANG_LABELS_H

#include "util/mem.h"

#include <stdbool.h>

struct goal_labels {
	VEC(char) names; /* all names, one after the other, each NUL-terminated */
	VEC(uint32_t) end; /* offset of each name's terminator in `names` */
	VEC(uint32_t) slots; /* hash table with open addressing: label + 1, or 0; its size is a power of two */
};

/* Removes all labels and keeps the memory. */
void goal_labels_clear(struct goal_labels *l);
void goal_labels_fini(struct goal_labels *l);
/* Returns the number of the label whose name begins at s, or -ERR_NOMEM; adds the label if it is new. The name ends before
 * the first character that is not part of a name. */
int64_t goal_label(struct goal_labels *l, const char *s);
/* True if c can be part of a name. */
static inline bool goal_is_name(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
/* Returns the name of a label, and its length in *len. */
const char *goal_label_text(const struct goal_labels *l, uint32_t label, size_t *len);

#endif
