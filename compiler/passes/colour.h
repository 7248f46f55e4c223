/* SPDX-License-Identifier: BSD-3-Clause
 * Edge colouring of bipartite multigraphs, which assigns messages between senders and receivers to rounds. */
#ifndef COMPILER_PASSES_COLOUR_H
#define COMPILER_PASSES_COLOUR_H

#include <stdint.h>

struct colour_edge {
	uint32_t from, to; /* a sender and a receiver, both less than nodes */
};

/* Colours n edges, such that edges with the same sender have different colours, and edges with the same receiver
 * have different colours. Several edges may be equal. *ncolours is the largest number of edges at one sender or one receiver;
 * fewer colours are impossible, and König showed that so many suffice. The same input always gives the same colours. Takes time
 * O(n log n). Returns 0, -ERR_NOMEM, or -ERR_RANGE for 2^30 edges or more. */
int colour_edges(const struct colour_edge *edges, uint32_t n, uint32_t nodes, uint32_t *colour,
		 uint32_t *ncolours);

#endif
