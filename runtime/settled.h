/* SPDX-License-Identifier: BSD-3-Clause
 * Binds that repeat an earlier one of their group, and need fewer exchanges (settled.c). */
#ifndef RUNTIME_SETTLED_H
#define RUNTIME_SETTLED_H

#include "runtime/group.h"

/* If this rank need not exchange what it binds, takes the next block that was published for such a bind. Returns true, and
 * rt_settled_block has the block of each rank. */
bool rt_settled_take(struct be_group *g, const struct rt_terms *terms, bool inplace);
struct be_handle rt_settled_block(const struct be_group *g, uint32_t rank);

/* What the ranks have published: their handles, `stride` bytes apart. */
struct rt_handles {
	const struct be_handle *first;
	size_t stride;
};

/* Finds out whether the bind under way repeats an earlier one: afterwards group_repeats says so. Called after the contracts were
 * exchanged. terms: what all ranks have agreed on; NULL if their ops do not follow from it. inplace: of all ranks. */
void rt_settled_find(struct be_group *g, const struct rt_terms *terms, bool inplace, struct rt_handles all);
/* Ends a bind that has exchanged its terms. Frees the blocks that this rank has published for later binds, if there can be none.
 * mine: what this rank has published. */
void rt_settled_over(struct be_group *g, const struct rt_terms *terms, const struct be_handle *mine);
/* Frees what is left when no bind can follow. */
void rt_settled_end(struct be_group *g);

/* Lets the other ranks know what this one binds. */
void rt_settled_note(struct be_group *g, const struct rt_terms *terms, bool inplace);
/* Returns a rank that has bound something else than this one after the same number of binds; -1 if none is known. */
int64_t rt_settled_stranger(const struct be_group *g);

#endif
