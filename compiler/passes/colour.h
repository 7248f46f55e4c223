/* SPDX-License-Identifier: BSD-3-Clause
 * Edge colouring of bipartite multigraphs: messages of senders to receivers, put into rounds. */
#ifndef COMPILER_PASSES_COLOUR_H
#define COMPILER_PASSES_COLOUR_H

#include <stdint.h>

struct colour_edge {
	uint32_t from, to; /* a sender and a receiver, each below nodes */
};

/* A colour for each of n edges, such that edges with the same sender differ, and edges with the same receiver.
 * Edges may be there several times. *ncolours is the largest number of edges at one sender or one receiver:
 * fewer are impossible, and König showed that these suffice. The same input has always the same colours.
 * Time O(n log n). 0, -ERR_NOMEM, or -ERR_RANGE from 2^30 edges on. */
int colour_edges(const struct colour_edge *edges, uint32_t n, uint32_t nodes, uint32_t *colour,
		 uint32_t *ncolours);

#endif
