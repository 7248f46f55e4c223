/* SPDX-License-Identifier: BSD-3-Clause
 * A source that repeats a schedule, as a benchmark does in a loop: each rank begins a repetition when all of its ops of the one
 * before are done, and waits for no other rank. */
#ifndef BACKENDS_SIM_REPEAT_H
#define BACKENDS_SIM_REPEAT_H

#include "backends/sim/binary.h"

struct sim_repeat {
	/* The caller sets these fields before sim_repeat_open(). */
	struct sim_binary *binary; /* open */
	uint32_t times; /* at least 1 */
	bool rotate; /* the root of each repetition is the rank behind the one before */
	/* An output. */
	struct sim_source source;
	/* The fields below are private. */
	VEC(struct sim_op) ops;
	VEC(struct bin_dep) deps;
	VEC(uint8_t) ends; /* for each op of a repetition: enum repeat_end */
	uint32_t pause; /* class of the ops between repetitions */
};

/* Makes r->source. Returns 0 or -ERR_NOMEM, or -ERR_STATE if the root is to rotate and the schedule has none, or a fixed one. */
int sim_repeat_open(struct sim_repeat *r);
void sim_repeat_close(struct sim_repeat *r);
/* Finds the repetition of an op of a rank, and the op's number there: BIN_NONE for the op that follows the repetition. Returns 0
 * or -ERR_x. */
int sim_repeat_find(struct sim_repeat *r, uint32_t rank, uint32_t op, uint32_t *turn, uint32_t *number);

#endif
