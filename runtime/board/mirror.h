/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps the boards of several nodes alike. Each node has a board of its own. Its own ranks write their slots, and its
 * bridge writes the slots of the ranks of other nodes, from the frames that it receives. A frame says what a slot holds,
 * and what a slot holds only grows. So a frame may arrive twice or late, and after a broken connection all frames are sent
 * again. */
#ifndef RUNTIME_MIRROR_H
#define RUNTIME_MIRROR_H

#include "backends/services.h"
#include "runtime/board/board.h"

enum rt_frame_what {
	RT_FRAME_RECORD,
	RT_FRAME_CLOSED,
	RT_FRAME_LEFT,
	RT_FRAME_DIED,
	RT_FRAME_FAILED /* seq is the value of rt_board.failed */
};

struct rt_frame {
	uint32_t what, rank;
	uint64_t key; /* key of the board */
	uint64_t seq;
	char data[GROUP_RECORD];
};

typedef void rt_emit(void *arg, const struct rt_frame *f);

/* Emits what this node's ranks have written since the last call. If `all` is true, emits everything that they have written,
 * and does not change what later calls emit. Deaths are left to rt_mirror_deaths. */
void rt_mirror_scan(struct rt_board *b, bool all, rt_emit *emit, void *arg);
/* Emits the deaths of this node's ranks. Called after all boards are scanned, so that other nodes first learn which ranks
 * have left: the death of a rank that has left a group is no failure of that group. */
void rt_mirror_deaths(struct rt_board *b, bool all, rt_emit *emit, void *arg);
/* True if all of this node's ranks have left, and frames that say so were emitted. */
bool rt_mirror_over(const struct rt_board *b);
/* True if a frame was emitted for each of this node's ranks that has left. */
bool rt_mirror_forwarded(const struct rt_board *b);
/* True if a rank of node `home` has not left. */
bool rt_mirror_cares(const struct rt_board *b, uint32_t home);
/* Applies a frame of another node to the board. */
void rt_mirror_apply(struct rt_board *b, const struct rt_frame *f);

#endif
