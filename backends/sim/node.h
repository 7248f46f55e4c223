/* SPDX-License-Identifier: BSD-3-Clause
 * Schedules whose ranks share a node: each op runs on the core of its executor, and messages are copied by these cores.
 *
 * The simulator knows hosts with cpus. A node is one host, whose cpus are its cores: sends and recvs become calcs on the core that
 * copies, and a message becomes a dependency of its recv on its send. goalsim(1) states the rules. */
#ifndef BACKENDS_SIM_NODE_H
#define BACKENDS_SIM_NODE_H

#include "backends/sim/binary.h"

#define NODE_NONE UINT32_MAX

struct node_op;
struct node_extra;

struct sim_node {
	/* The caller sets the fields of this part. */
	struct sim_binary *binary; /* open, and of parametric GOAL */
	const uint32_t *core, *comm; /* of each rank: its core, and the core that communicates for it */
	const uint32_t *comms; /* cores that communicate */
	uint32_t ncomms;
	uint64_t compute; /* ns that each rank computes, on its core */
	bool own; /* all ops run on the cores of their ranks */
	bool collab; /* ops that are not their ranks' own run on the core of any rank that has computed */
	bool barrier; /* the levels of a tree run one after the other, and ops of `comms` on the one that has least to do */
	/* The fields below are outputs. */
	uint64_t least, most; /* bytes of the messages */
	/* The fields below are private. */
	const struct sim_params *params;
	struct sim_source source;
	struct sim_classes classes;
	VEC(struct node_op) ops; /* ops of the schedule, rank after rank */
	VEC(struct node_extra) extras; /* further ops of the host, behind these */
	VEC(struct bin_dep) deps; /* of the host */
	VEC(struct sim_op) made; /* ops of the host */
	uint64_t *finish; /* of each rank */
	int err;
};

/* Simulates a node. The result has the numbers of the schedule's ranks and ops, as have the steps for those who watch. Returns
 * as sim_run(); or -ERR_LEVELS if `barrier` is set and the levels of the ops are not those of one tree towards its root or from
 * it. */
int sim_node_run(struct sim_node *n, const struct sim_params *p, struct sim_result *r);
/* Frees the private part. */
void sim_node_fini(struct sim_node *n);

#endif
