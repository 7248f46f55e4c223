/* SPDX-License-Identifier: BSD-3-Clause
 * König's edge colouring (D. König: Über Graphen und ihre Anwendung auf Determinantentheorie und Mengenlehre, Math.
 * Annalen 77, 1916) by halving. The graph is first made regular: each sender and each receiver gets d edges. A graph
 * with even d is split into two with d / 2 (H. Gabow: Using Euler Partitions to Edge Color Bipartite Multigraphs, Int.
 * J. Computer and Information Sciences 5, 1976). From a graph with odd d a perfect matching is removed, which is one
 * colour. The matching is found by halving, too. Of two halves, only one needs matchings (N. Alon: A simple algorithm
 * for edge-coloring bipartite multigraphs, Information Processing Letters 85, 2003). */
#include "compiler/passes/colour.h"

#include "util/mem.h"

#include <stdlib.h>

#define NONE UINT32_MAX

struct edge {
	uint32_t end[2]; /* sender and receiver */
	/* index among the caller's edges, or larger for an added edge; in a search for a matching, index in `edges`, or NONE */
	uint32_t id;
	uint32_t times; /* multiplicity, in a search for a matching */
};

struct colouring {
	uint32_t nodes, degree; /* nodes on each side; degree of every node */
	uint32_t nreal;
	struct edge *edges; /* the edges of the regular graph, nodes * degree of them */
	struct edge *arcs; /* edges of a search for a matching; has room for all edges and one more for each node */
	uint32_t *pair[2]; /* for each edge, the edges paired with it: at its sender, and at its receiver */
	uint32_t *open; /* for each node, an edge that is not paired yet */
	uint8_t *half; /* the half to which each edge is assigned */
	uint32_t *colour;
};

/* ---- halving ---- */

enum { UNSEEN = 2 };

/* Divides n edges into two halves, such that each node with an even number of edges has equally many in both halves. At each
 * node edges are paired, and paired edges go to different halves. This is always possible: pairs form cycles that alternate
 * between senders and receivers, so the cycles have even length. */
static void halve_edges(struct colouring *c, const struct edge *edges, uint32_t n)
{
	for (unsigned side = 0; side < 2; side++) {
		uint32_t *pair = c->pair[side];

		for (uint32_t i = 0; i < c->nodes; i++)
			c->open[i] = NONE;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t *open = &c->open[edges[i].end[side]];

			if (*open == NONE) {
				*open = i;
			} else {
				pair[i] = *open;
				pair[*open] = i;
				*open = NONE;
			}
		}
	}
	for (uint32_t i = 0; i < n; i++)
		c->half[i] = UNSEEN;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = i; c->half[k] == UNSEEN; k = c->pair[1][k]) {
			c->half[k] = 0;
			k = c->pair[0][k];
			c->half[k] = 1;
		}
}

/* ---- a perfect matching ---- */

/* Halves the multiplicities of the arcs. Odd ones are rounded up or down by dividing these arcs into two halves. The
 * multiplicities in the half with fewer bad arcs are rounded up. */
static uint32_t halve_arcs(struct colouring *c, uint32_t n)
{
	struct edge *arcs = c->arcs;
	uint32_t odd = 0, left = 0;
	uint64_t bad[2] = { 0, 0 };
	unsigned keep;

	for (uint32_t i = 0; i < n; i++) /* moves the odd arcs to the front */
		if (arcs[i].times & 1) {
			struct edge swap = arcs[odd];

			arcs[odd++] = arcs[i];
			arcs[i] = swap;
		}
	halve_edges(c, arcs, odd);
	for (uint32_t i = 0; i < odd; i++)
		bad[c->half[i]] += arcs[i].id == NONE;
	keep = bad[1] < bad[0];
	for (uint32_t i = 0; i < n; i++) {
		arcs[i].times = arcs[i].times / 2 + (i < odd && c->half[i] == keep);
		if (arcs[i].times)
			arcs[left++] = arcs[i];
	}
	return left;
}

/* Finds a perfect matching of the regular graph of nodes * d edges, and puts it into half 0. Each edge gets a
 * multiplicity such that the degree is almost a power of two, 2^t. Bad arcs, fewer than 2^t, fill up the degree. Each of t
 * halvings at least halves the number of bad arcs, so no bad arc is in the matching that remains. */
static void find_matching(struct colouring *c, struct edge *edges, uint32_t d)
{
	uint32_t m = c->nodes * d, n = 0, t = 0, times, more;

	while ((uint64_t)1 << t < m)
		t++;
	times = (uint32_t)(((uint64_t)1 << t) / d);
	more = (uint32_t)(((uint64_t)1 << t) % d);
	for (uint32_t i = 0; i < m; i++)
		c->arcs[n++] = (struct edge){ { edges[i].end[0], edges[i].end[1] }, i, times };
	for (uint32_t i = 0; i < c->nodes && more; i++)
		c->arcs[n++] = (struct edge){ { i, i }, NONE, more };
	while (t--)
		n = halve_arcs(c, n);
	for (uint32_t i = 0; i < m; i++)
		c->half[i] = 1;
	for (uint32_t i = 0; i < n; i++)
		c->half[c->arcs[i].id] = 0;
}

/* ---- colouring ---- */

/* Moves the edges of half 0 to the front. */
static void partition_halves(const struct colouring *c, struct edge *edges, uint32_t n)
{
	uint32_t lo = 0, hi = n;

	for (;;) {
		while (lo < hi && !c->half[lo])
			lo++;
		while (lo < hi && c->half[hi - 1])
			hi--;
		if (lo == hi)
			return;
		struct edge swap = edges[lo];

		edges[lo++] = edges[--hi];
		edges[hi] = swap;
	}
}

static void paint_edges(struct colouring *c, const struct edge *edges, uint32_t colour)
{
	for (uint32_t i = 0; i < c->nodes; i++)
		if (edges[i].id < c->nreal)
			c->colour[edges[i].id] = colour;
}

/* Colours a regular graph with d colours, numbered from `first` on, and leaves the edges sorted by colour. */
static void colour_regular(struct colouring *c, struct edge *edges, uint32_t d, uint32_t first)
{
	uint32_t again = 0;

	if (d > 1 && d % 2) {
		find_matching(c, edges, d);
		partition_halves(c, edges, c->nodes * d);
	}
	if (d % 2) {
		paint_edges(c, edges, first++);
		edges += c->nodes;
	}
	d /= 2;
	if (!d)
		return;
	halve_edges(c, edges, 2 * c->nodes * d);
	partition_halves(c, edges, 2 * c->nodes * d);
	colour_regular(c, edges, d, first);
	/* Together with `again` colours of the first half, the second half has a degree that is a power of two. It then
	 * needs no matching. */
	while ((d + again) & (d + again - 1))
		again++;
	first += d - again;
	colour_regular(c, edges + (size_t)c->nodes * (d - again), d + again, first);
}

/* ---- regular graph ---- */

/* Merges nodes while the merged node has at most d edges. Returns the number of merged nodes; to[i] is the new number of node
 * i. A proper colouring for merged nodes is proper for the nodes themselves. Any two consecutive merged nodes together have
 * more than d edges, so the graph does not grow much when edges are added until all nodes have d edges. */
static uint32_t merge_nodes(const uint32_t *degree, uint32_t nodes, uint32_t d, uint32_t *to)
{
	uint32_t n = 0, used = 0;

	for (uint32_t i = 0; i < nodes; i++) {
		if (used + degree[i] > d) {
			n++;
			used = 0;
		}
		used += degree[i];
		to[i] = n;
	}
	return n + 1;
}

/* Returns the first node, from *at on, with fewer than d edges, and counts one more edge for this node. */
static uint32_t take_free(uint32_t *used, uint32_t d, uint32_t *at)
{
	while (used[*at] == d)
		++*at;
	used[*at]++;
	return *at;
}

static int make_regular(struct colouring *c, const struct colour_edge *edges, uint32_t n, uint32_t nodes,
			uint32_t *degree[2], uint32_t *to[2])
{
	uint32_t merged[2], *used[2] = { degree[0], degree[1] }, at[2] = { 0, 0 }, all;

	for (unsigned side = 0; side < 2; side++)
		merged[side] = merge_nodes(degree[side], nodes, c->degree, to[side]);
	c->nodes = merged[0] > merged[1] ? merged[0] : merged[1];
	all = c->nodes * c->degree; /* at most 2 n + degree */
	c->edges = mem_resize(NULL, all, sizeof *c->edges);
	c->arcs = mem_resize(NULL, (size_t)all + c->nodes, sizeof *c->arcs);
	c->half = mem_alloc((size_t)all + c->nodes);
	c->open = mem_resize(NULL, c->nodes, sizeof *c->open);
	c->pair[0] = mem_resize(NULL, (size_t)all + c->nodes, sizeof *c->pair[0]);
	c->pair[1] = mem_resize(NULL, (size_t)all + c->nodes, sizeof *c->pair[1]);
	if (!c->edges || !c->arcs || !c->half || !c->open || !c->pair[0] || !c->pair[1])
		return -ERR_NOMEM;
	for (unsigned side = 0; side < 2; side++)
		for (uint32_t i = 0; i < c->nodes; i++)
			used[side][i] = 0;
	for (uint32_t i = 0; i < n; i++) {
		c->edges[i] = (struct edge){ { to[0][edges[i].from], to[1][edges[i].to] }, i, 0 };
		used[0][c->edges[i].end[0]]++;
		used[1][c->edges[i].end[1]]++;
	}
	for (uint32_t i = n; i < all; i++)
		c->edges[i] = (struct edge){ { take_free(used[0], c->degree, &at[0]),
					       take_free(used[1], c->degree, &at[1]) }, i, 0 };
	return 0;
}

static void free_colouring(struct colouring *c)
{
	free(c->edges);
	free(c->arcs);
	free(c->pair[0]);
	free(c->pair[1]);
	free(c->open);
	free(c->half);
}

int colour_edges(const struct colour_edge *edges, uint32_t n, uint32_t nodes, uint32_t *colour,
		 uint32_t *ncolours)
{
	struct colouring c = { .nreal = n, .colour = colour };
	uint32_t *degree[2], *to[2];
	int err = 0;

	*ncolours = 0;
	if (!n)
		return 0;
	if (n >= 1u << 30)
		return -ERR_RANGE;
	for (unsigned side = 0; side < 2; side++) {
		degree[side] = mem_calloc(nodes, sizeof *degree[side]);
		to[side] = mem_resize(NULL, nodes, sizeof *to[side]);
		err = degree[side] && to[side] ? err : -ERR_NOMEM;
	}
	for (uint32_t i = 0; i < n && !err; i++) {
		uint32_t out = ++degree[0][edges[i].from], in = ++degree[1][edges[i].to];

		c.degree = out > c.degree ? out : c.degree;
		c.degree = in > c.degree ? in : c.degree;
	}
	err = err ? err : make_regular(&c, edges, n, nodes, degree, to);
	if (!err) {
		colour_regular(&c, c.edges, c.degree, 0);
		*ncolours = c.degree;
	}
	for (unsigned side = 0; side < 2; side++) {
		free(degree[side]);
		free(to[side]);
	}
	free_colouring(&c);
	return err;
}
