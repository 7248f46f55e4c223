/* SPDX-License-Identifier: BSD-3-Clause
 * Dependencies between calls: a call stands for all ops that it made (man/goal.5). The reader and the compiler both use
 * these functions, so that they make the same edges. Freestanding. */
#ifndef FORMAT_CALL_H
#define FORMAT_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A label's value is the number + 1 of an op, or this bit and the number of the range of a call, or 0 for nothing. */
#define BIN_CALL 0x80000000u

/* The range of ops of a call that has a label. */
struct bin_range {
	uint32_t labels; /* first label of the call's instance */
	uint32_t first, end; /* first op and end of the ops; BIN_NOT_YET: the call has been named, but not entered */
	uint32_t end_op[2]; /* number + 1 of the op that completes last ([0]) or starts last ([1]); 0 until one is needed */
	uint32_t begin_op; /* number + 1 of the op that starts first; 0 until one is needed */
	/* waited: some op already waits for the last outermost ops of the call ([0] requires, [1] irequires); waits:
	 * the first outermost ops of the call already wait for some op */
	bool waited[2], waits;
};
#define BIN_NOT_YET UINT32_MAX

/* A dependency that has a call at an end. */
struct bin_call_dep {
	uint32_t op, on; /* values of the two labels, see BIN_CALL */
	uint32_t start, line;
};

/* The nearest neighbours of an op by number. before: 1 + the number of the last neighbour before the op, or 0. behind: the
 * number of the first neighbour behind the op, or BIN_NOT_YET. The neighbours are the ops that require the op (BIN_NEEDED),
 * the ops that require or irequire it (BIN_FOLLOWED), or the ops that it waits for (BIN_WAITS). */
struct bin_neighbours {
	uint32_t before, behind;
};
enum { BIN_NEEDED, BIN_FOLLOWED, BIN_WAITS, BIN_NEIGHBOURS };

struct bin_call_edges {
	struct bin_range *ranges;
	struct bin_neighbours *neighbours; /* BIN_NEIGHBOURS elements for each op */
	uint32_t nops;
	/* `edge` adds an edge. `nop` adds a nop and returns its number. Both return -ERR_x on error. */
	int (*edge)(void *arg, uint32_t op, uint32_t on);
	int64_t (*nop)(void *arg, uint32_t line);
	void *arg;
};

/* Call order: bin_call_edges_begin() once, bin_call_edges_note() for each existing edge, then bin_call_edges_connect() for
 * each dependency that has a call at an end. */
void bin_call_edges_begin(struct bin_call_edges *f);
void bin_call_edges_note(struct bin_call_edges *f, uint32_t op, uint32_t on);
int bin_call_edges_connect(struct bin_call_edges *f, const struct bin_call_dep *d);

#endif
