/* SPDX-License-Identifier: BSD-3-Clause
 * Binds that repeat an earlier one of their group, and need no exchange of results (settled.c). */
#ifndef RUNTIME_SETTLED_H
#define RUNTIME_SETTLED_H

#include "backends/backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a rank publishes when it binds: where its block is, and a hash of its messages in their order. */
struct rt_offer {
	struct be_handle handle;
	uint64_t messages;
};

/* A bind that the group remembers. */
struct rt_settled {
	uint64_t messages; /* hash of the messages of all ranks */
	bool valid; /* it has succeeded, and its exchange of results carried no data */
};
#define RT_SETTLED 16u /* binds that a group remembers */

/* Finds out whether the bind under way repeats an earlier one: afterwards group_repeats says so. Called on all ranks, with the
 * offers of all, which are `stride` bytes apart. */
void rt_settled_find(struct be_group *g, const struct rt_offer *first, size_t stride);

#endif
