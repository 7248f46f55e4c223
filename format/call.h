/* SPDX-License-Identifier: BSD-3-Clause
 * Dependencies between calls, which stand for all ops that they made (man/goal.5). Both ways of specialising make the
 * same edges. Freestanding. */
#ifndef FORMAT_CALL_H
#define FORMAT_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a label stands for: an op, its number + 1; or a call, this bit and the number of its range; or 0: nothing. */
#define BIN_CALL 0x80000000u

/* A call with a label. */
struct bin_range {
	uint32_t labels; /* the first of its instance */
	uint32_t first, end; /* its ops; BIN_NOT_YET: it is only named so far */
	uint32_t end_op[2]; /* + 1: the op that completes (0), or starts (1), as the last one; made when it is due */
	uint32_t begin_op; /* + 1: the op that starts as the first one */
	bool waited[2], waits; /* dependencies have been made, without such an op */
};
#define BIN_NOT_YET UINT32_MAX

/* A dependency that has a call at an end. */
struct bin_call_dep {
	uint32_t op, on; /* what labels stand for */
	uint32_t start, line;
};

/* The neighbours of an op, within its rank: number + 1 of the nearest one before it, or 0; number of the nearest one
 * behind it, or BIN_NOT_YET. */
struct bin_neighbours {
	uint32_t before, behind;
};
enum { BIN_NEEDED, BIN_FOLLOWED, BIN_WAITS, BIN_NEIGHBOURS }; /* who requires it, who waits for it, what it waits for */

struct bin_call_edges {
	struct bin_range *ranges;
	struct bin_neighbours *neighbours; /* BIN_NEIGHBOURS for each op */
	uint32_t nops;
	/* Add an edge, and a nop: its number, or -ERR_x. */
	int (*edge)(void *arg, uint32_t op, uint32_t on);
	int64_t (*nop)(void *arg, uint32_t line);
	void *arg;
};

/* First tells of all edges there are, then connects. */
void bin_call_edges_begin(struct bin_call_edges *f);
void bin_call_edges_note(struct bin_call_edges *f, uint32_t op, uint32_t on);
int bin_call_edges_connect(struct bin_call_edges *f, const struct bin_call_dep *d);

#endif
