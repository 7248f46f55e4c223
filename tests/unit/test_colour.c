/* SPDX-License-Identifier: BSD-3-Clause
 * Colourings: proper, and with exactly as many colours as König says, on grids and on random multigraphs. */
#include "compiler/passes/colour.h"
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct graph {
	struct colour_edge *edges;
	uint32_t n, cap, nodes;
};

static void add(struct graph *g, uint32_t from, uint32_t to)
{
	if (g->n == g->cap) {
		g->cap = g->cap ? 2 * g->cap : 64;
		g->edges = realloc(g->edges, g->cap * sizeof *g->edges);
		if (!g->edges)
			abort();
	}
	g->edges[g->n++] = (struct colour_edge){ from, to };
}

static void drop(struct graph *g)
{
	free(g->edges);
	*g = (struct graph){ 0 };
}

/* The most edges at one sender or one receiver, counted here. */
static uint32_t most(const struct graph *g)
{
	uint32_t *d = calloc(2 * (size_t)g->nodes + 1, sizeof *d), top = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		d[2 * g->edges[i].from]++;
		d[2 * g->edges[i].to + 1]++;
	}
	for (uint32_t i = 0; i < 2 * g->nodes; i++)
		top = d[i] > top ? d[i] : top;
	free(d);
	return top;
}

/* Whether no sender and no receiver has a colour twice: by a sorted list of (node, colour), nothing clever. */
static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool proper(const struct graph *g, const uint32_t *colour)
{
	uint64_t *seen = malloc(((size_t)g->n + 1) * sizeof *seen);
	bool ok = seen != NULL;

	for (unsigned side = 0; side < 2 && ok; side++) {
		for (uint32_t i = 0; i < g->n; i++)
			seen[i] = (uint64_t)(side ? g->edges[i].to : g->edges[i].from) << 32 | colour[i];
		qsort(seen, g->n, sizeof *seen, by_value);
		for (uint32_t i = 1; i < g->n; i++)
			ok = ok && seen[i] != seen[i - 1];
	}
	free(seen);
	return ok;
}

static bool right(const struct graph *g)
{
	uint32_t *colour = malloc(((size_t)g->n + 1) * sizeof *colour), n = 0, want = most(g);
	bool ok = colour && !colour_edges(g->edges, g->n, g->nodes, colour, &n) && n == want && proper(g, colour);

	for (uint32_t i = 0; i < g->n && ok; i++)
		ok = colour[i] < n;
	if (!ok)
		printf("# %u edges, %u nodes: %u colours, not %u\n", g->n, g->nodes, n, want);
	free(colour);
	return ok;
}

/* Each node of a periodic grid to both neighbours in each dimension; with a side of 1 that is itself, with one
 * of 2 the same one twice. */
static void grid(struct graph *g, unsigned ndims, const uint32_t *side)
{
	uint32_t stride = 1;

	g->nodes = 1;
	for (unsigned d = 0; d < ndims; d++)
		g->nodes *= side[d];
	for (unsigned d = 0; d < ndims; d++) {
		for (uint32_t v = 0; v < g->nodes; v++) {
			uint32_t at = v / stride % side[d], rest = v - at * stride;

			add(g, v, rest + (at + 1) % side[d] * stride);
			add(g, v, rest + (at + side[d] - 1) % side[d] * stride);
		}
		stride *= side[d];
	}
}

static void test_grids(void)
{
	for (uint32_t x = 1; x <= 7; x++)
		for (uint32_t y = 1; y <= 7; y++) {
			struct graph g = { 0 };

			grid(&g, 2, (uint32_t[]){ x, y });
			CU_ASSERT_EQUAL(most(&g), 4);
			CU_ASSERT(right(&g));
			drop(&g);
			for (uint32_t z = 1; z <= 5; z++) {
				grid(&g, 3, (uint32_t[]){ x, y, z });
				CU_ASSERT_EQUAL(most(&g), 6);
				CU_ASSERT(right(&g));
				drop(&g);
			}
		}
}

static uint32_t below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % n;
}

/* Few or many edges, evenly or around a few nodes, with many parallel ones and some to oneself. */
static void random_graph(struct graph *g, uint64_t seed)
{
	uint32_t edges, hubs;

	g->nodes = 1 + below(&seed, seed % 3 ? 12 : 60);
	edges = below(&seed, 1 + g->nodes * (1 + below(&seed, 12)));
	hubs = below(&seed, 4) ? g->nodes : 1 + below(&seed, g->nodes);
	for (uint32_t i = 0; i < edges; i++)
		add(g, below(&seed, below(&seed, 2) ? hubs : g->nodes), below(&seed, g->nodes));
}

static void test_random(void)
{
	for (uint64_t seed = 1; seed <= 1000; seed++) {
		struct graph g = { 0 };

		random_graph(&g, seed * 7919);
		CU_ASSERT(right(&g));
		drop(&g);
	}
}

static void test_shapes(void)
{
	struct graph g = { .nodes = 5 };

	CU_ASSERT(right(&g)); /* without edges */
	for (uint32_t i = 0; i < 9; i++)
		add(&g, 3, 3); /* all parallel, to oneself */
	CU_ASSERT(right(&g));
	drop(&g);
	g.nodes = 33;
	for (uint32_t i = 0; i < 33; i++) /* a star: one sender */
		add(&g, 7, i);
	CU_ASSERT(right(&g));
	for (uint32_t d = 1; d < 33; d++) /* and all to all */
		for (uint32_t i = 0; i < 33; i++)
			add(&g, i, (i + d) % 33);
	CU_ASSERT(right(&g));
	drop(&g);
}

/* A million edges. The time of this thread decides nothing; it is near to linear. */
static void test_million(void)
{
	struct graph g = { .nodes = 100000 };
	uint64_t seed = 1;
	clock_t t;

	for (uint32_t i = 0; i < 1000000; i++)
		add(&g, i % g.nodes, below(&seed, g.nodes));
	t = clock();
	CU_ASSERT(right(&g));
	t = clock() - t;
	printf("# 1000000 edges, %u nodes, %u colours: %.2f s with the check\n", g.nodes, most(&g),
	       (double)t / CLOCKS_PER_SEC);
	drop(&g);
}

/* The check itself notices what is wrong. */
static void test_check(void)
{
	struct graph g = { .nodes = 2 };

	add(&g, 0, 0);
	add(&g, 0, 1);
	CU_ASSERT(proper(&g, (uint32_t[]){ 0, 1 }));
	CU_ASSERT_FALSE(proper(&g, (uint32_t[]){ 0, 0 }));
	add(&g, 1, 1);
	CU_ASSERT(proper(&g, (uint32_t[]){ 0, 1, 0 }));
	CU_ASSERT_FALSE(proper(&g, (uint32_t[]){ 0, 1, 1 }));
	drop(&g);
}

const struct unit_suite suite_colour = { "colour",
					 (const struct unit_test[]){ { "check", test_check },
								     { "shapes", test_shapes },
								     { "grids", test_grids },
								     { "random", test_random },
								     { "million", test_million },
								     { NULL, NULL } } };
