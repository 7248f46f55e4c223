/* SPDX-License-Identifier: BSD-3-Clause
 * Binaries (man/goal-bin.5) as sources of the simulator. The ops of a rank of a parametric binary are made when they are
 * needed. */
#ifndef BACKENDS_SIM_BINARY_H
#define BACKENDS_SIM_BINARY_H

#include "backends/sim/order.h"
#include "backends/sim/row.h"
#include "backends/sim/sim.h"
#include "backends/sim/window.h"

struct sim_binary {
	/* The caller sets the fields of this part before sim_binary_open(). */
	struct bin b; /* opened; the image stays the caller's */
	struct sim_window window; /* with an image: that of b, which has only a part of it in memory */
	struct bin_args args; /* the fields rank and args are not read if by_rank is set */
	uint32_t element; /* bytes of an element; 1 for plain GOAL */
	struct sim_rate copy, reduce; /* time of copies and reductions, per byte */
	bool posted; /* a recv takes the first message of its channel that has come, as in LogGOPSim, and not that of its number */
	/* May be set before a rank is made: the root is so many ranks behind the one of `args`. */
	uint32_t turn;
	/* The fields below are outputs. */
	struct sim_source source;
	struct sim_classes classes;
	struct bin_space space; /* after an error: what is wrong, and args.rank is the rank */
	/* The fields below are private. */
	struct sim_op *ops;
	uint32_t ops_cap, deps_cap;
	const struct bin_arg *common; /* args.args, as the caller has set it */
	struct bin_arg *turned; /* arguments with another root */
	bool alike; /* parametric: all ranks have the ops of rank 0, but for peers, which are so many ranks away: see alike.h */
	struct sim_order order; /* unless `posted`, or the binary is of plain GOAL, which may have wildcards */
	struct sim_rank first; /* rank 0 then; its arrays are owned here */
	bool *shifted; /* for each op of rank 0, true if its peer depends on the rank */
	struct sim_op *of_class; /* concrete: the size and the class of the ops of each row of CLASSES */
	struct sim_row row; /* concrete: the row of which ops and space.deps are, but for peers */
	uint32_t like; /* concrete: number of rows so far that were not like the one before */
};

/* Makes x->source. Returns 0 or -ERR_x, as bin_rank_ops does. */
int sim_binary_open(struct sim_binary *x);
void sim_binary_close(struct sim_binary *x);
/* Makes the ops of a rank as bin_rank_ops does, in memory that is valid until the next rank is made. Returns 0 or -ERR_x. */
int sim_binary_ops(struct sim_binary *x, uint32_t rank, const struct bin_op **out);

#endif
