/* SPDX-License-Identifier: BSD-3-Clause
 * Boards that are kept alike on several nodes. Each node has one; its own ranks write their slots, and who carries
 * frames from node to node writes those of the others. A frame says what a slot holds, and what a slot holds only
 * grows: so a frame may come twice, or late, and after a break all are sent again. */
#ifndef RUNTIME_MIRROR_H
#define RUNTIME_MIRROR_H

#include "runtime/board.h"

enum rt_frame_what {
	RT_FRAME_RECORD,
	RT_FRAME_CLOSED,
	RT_FRAME_LEFT,
	RT_FRAME_DIED,
	RT_FRAME_FAILED /* seq is what failed has */
};

struct rt_frame {
	uint32_t what, rank;
	uint64_t key; /* the board's */
	uint64_t seq;
	char data[HOST_RECORD];
};

typedef void rt_emit(void *arg, const struct rt_frame *f);

/* Emits what this node's ranks have written since the last call; all: whatever they have written, and the next call
 * emits what it would have without this one. Deaths are left to rt_mirror_deaths. */
void rt_mirror_scan(struct rt_board *b, bool all, rt_emit *emit, void *arg);
/* The deaths of this node's ranks. They come last: that a rank has left a group counts before. */
void rt_mirror_deaths(struct rt_board *b, bool all, rt_emit *emit, void *arg);
/* Whether all of this node's ranks have left, and that was emitted. */
bool rt_mirror_over(const struct rt_board *b);
/* Whether that was emitted of those that have. */
bool rt_mirror_told(const struct rt_board *b);
/* Whether a rank of a node has not left. */
bool rt_mirror_cares(const struct rt_board *b, uint32_t home);
/* Takes over what another node has told. */
void rt_mirror_apply(struct rt_board *b, const struct rt_frame *f);

#endif
