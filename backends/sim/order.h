/* SPDX-License-Identifier: BSD-3-Clause
 * The order of the messages of a channel (order.c). */
#ifndef BACKENDS_SIM_ORDER_H
#define BACKENDS_SIM_ORDER_H

#include "backends/sim/sim.h"

/* Counts the messages of a rank by channel and direction. Zeroed before use. */
struct sim_order {
	struct sim_channel {
		uint32_t peer, tag, kind;
		uint32_t rank; /* `rank` below, or the slot is free */
		uint32_t n; /* messages so far */
	} *slots;
	uint32_t nslots; /* a power of two */
	uint32_t rank; /* changes from rank to rank */
};

void sim_order_fini(struct sim_order *o);
/* Gives each message of a rank, none of which has a wildcard, the class that says how many others of its channel are before it. Returns 1
 * if that has changed a class, 0 if not, or -ERR_NOMEM or -ERR_SPACE. */
int sim_order_ops(struct sim_order *o, struct sim_classes *c, struct sim_op *ops, uint32_t nops);

#endif
