/* SPDX-License-Identifier: BSD-3-Clause
 * Networks of switches: which links a message crosses from host to host. Rank r is on host r. */
#ifndef BACKENDS_SIM_TOPOLOGY_H
#define BACKENDS_SIM_TOPOLOGY_H

#include <stdint.h>

#define TOPOLOGY_MOST 8 /* numbers of a shape */

/* The shape of a network. All zero: there are no links, and no message waits. */
struct sim_topology {
	enum topology_kind { TOPOLOGY_NONE, TOPOLOGY_TORUS, TOPOLOGY_FAT_TREE, TOPOLOGY_DRAGONFLY, TOPOLOGY_KINDS } kind;
	/* Torus: the switches in each dimension, with one host each.
	 * Fat tree (C. E. Leiserson, IEEE Transactions on Computers C-34, 1985): n[0] hosts are at a switch of the lowest level, and
	 * n[i] groups of level i - 1 make one of level i, up to the whole.
	 * Dragonfly (J. Kim, W. Dally, S. Scott, D. Abts, ISCA 2008): n[0] hosts at a switch, n[1] switches in a group, and n[2] links
	 * of each switch to other groups, of which there are n[1] n[2]; so each group has one link to each other group. */
	uint32_t n[TOPOLOGY_MOST], count;
	uint32_t taper; /* of a fat tree: a switch has so many links down for each link up; a group above, likewise */
	const char *text; /* the shape, as it was given */
};

/* Parses a shape, KIND:NxN...; a fat tree may have /TAPER after it. *t keeps the text. Returns NULL, or the form that is expected. */
const char *sim_topology_parse(const char *text, struct sim_topology *t);

uint64_t sim_topology_hosts(const struct sim_topology *t);
/* Returns the number of links, each of one direction. Those between a host and its switch are no links here: they are the nics. */
uint64_t sim_topology_links(const struct sim_topology *t);

/* Returns the link that a message from one host to another crosses after k others, or -1 if it is there. Torus: one dimension after
 * the other, the shorter way round. Fat tree: which of parallel links it takes depends on the receiver (D-mod-k). Dragonfly: the
 * shortest way. */
int64_t sim_topology_link(const struct sim_topology *t, uint32_t from, uint32_t to, uint64_t k);

#endif
