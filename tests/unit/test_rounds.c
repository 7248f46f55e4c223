/* SPDX-License-Identifier: BSD-3-Clause
 * sparse-rounds on neighbour graphs: what the ops wait for makes one send and one recv at a time, and as many
 * steps with heavy messages as König says. The rounds are not taken from the pass, but found again here. */
#include "compiler/analysis/checks.h"
#include "compiler/analysis/match.h"
#include "compiler/passes/passes.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAVY 100u

/* A neighbour collective: edge j of a sender is the j-th block of its first buffer, of a receiver of its second. */
struct edge {
	uint32_t from, to, len, turn;
};

struct net {
	uint32_t nodes, n;
	struct edge edges[4096];
};

static void add(struct net *net, uint32_t from, uint32_t to, uint32_t len, uint32_t turn)
{
	if (net->n == sizeof net->edges / sizeof *net->edges)
		abort();
	net->edges[net->n++] = (struct edge){ from, to, len, turn };
}

/* All ops of a rank at once, or (chain) turn by turn, as a loop of sendrecv. The tag is the same everywhere: the
 * k-th edge of a pair meets the k-th. */
static void build(const struct net *net, bool chain, struct ir_graph *g)
{
	*g = (struct ir_graph){ .nranks = net->nodes, .nbuffers = 2 };
	g->ranks = calloc(net->nodes, sizeof *g->ranks);
	for (uint32_t r = 0; r < net->nodes; r++) {
		struct ir_rank *k = &g->ranks[r];
		struct bin_dep *deps = calloc(8 * (size_t)net->n + 1, sizeof *deps);
		uint32_t ndeps = 0, turn = UINT32_MAX, last = 0, now = 0; /* first ops of two turns */

		k->ops = calloc(2 * (size_t)net->n + 1, sizeof *k->ops);
		k->bufsize = calloc(2, sizeof *k->bufsize);
		for (uint32_t i = 0; i < net->n; i++)
			for (unsigned side = 0; side < 2; side++) {
				const struct edge *e = &net->edges[i];
				uint32_t self = side ? e->to : e->from;

				if (self != r)
					continue;
				k->ops[k->nops] = (struct bin_op){ .kind = side ? BIN_OP_RECV : BIN_OP_SEND,
								   .peer = side ? e->from : e->to,
								   .buf = { (uint16_t)side },
								   .off = { k->bufsize[side] },
								   .len = e->len };
				k->bufsize[side] += e->len;
				if (e->turn != turn) {
					last = now;
					now = k->nops;
					turn = e->turn;
				}
				for (uint32_t on = last; on < now && chain; on++)
					deps[ndeps++] = (struct bin_dep){ k->nops, on };
				k->nops++;
			}
		CU_ASSERT_FATAL(!ir_rank_set_deps(k, deps, ndeps));
		free(deps);
	}
}

/* The most heavy, or light, sends of a rank, or recvs, without those to itself. */
static uint32_t most(const struct net *net, bool heavy)
{
	uint32_t top = 0;

	for (uint32_t r = 0; r < net->nodes; r++) {
		uint32_t out = 0, in = 0;

		for (uint32_t i = 0; i < net->n; i++) {
			const struct edge *e = &net->edges[i];

			if (e->from == e->to || (e->len >= HEAVY) != heavy)
				continue;
			out += e->from == r;
			in += e->to == r;
		}
		top = out > top ? out : top;
		top = in > top ? in : top;
	}
	return top;
}

/* Where each block of a receiver came from: (sender, offset there) by the offset here, from messages and copies. */
static uint64_t flow(const struct ir_graph *g)
{
	struct ir_match *m;
	size_t n;
	uint64_t sum = 0;

	CU_ASSERT_FATAL(!ir_graph_match(g, &m, &n));
#define MIX(src, a, dst, b, len) \
	(((((src)*1000003u + (a)) * 1000003u + (dst)) * 1000003u + (b)) * 1000003u + (len)) * 0x9e3779b97f4a7c15u
	for (size_t i = 0; i < n; i++) {
		const struct bin_op *s = &g->ranks[m[i].src].ops[m[i].send], *r = &g->ranks[m[i].dst].ops[m[i].recv];

		CU_ASSERT_EQUAL(s->len, r->len);
		sum += MIX((uint64_t)m[i].src, s->off[0], m[i].dst, r->off[0], s->len);
	}
	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++) {
			const struct bin_op *o = &g->ranks[r].ops[i];

			if (o->kind == BIN_OP_COPY)
				sum += MIX((uint64_t)r, o->off[0], r, o->off[1], o->len);
		}
	free(m);
	return sum;
}

/* The step of each op if every message takes one and nothing else any; those of a message are the same. Ops of a
 * rank wait only for ops before them, so a few turns do. */
static void steps(const struct ir_graph *g, uint32_t **step)
{
	struct ir_match *m;
	size_t n;
	bool again = true;

	CU_ASSERT_FATAL(!ir_graph_match(g, &m, &n));
	for (unsigned turn = 0; again; turn++) {
		CU_ASSERT_FATAL(turn < 10000);
		again = false;
		for (uint32_t r = 0; r < g->nranks; r++)
			for (uint32_t i = 0; i < g->ranks[r].nops; i++)
				for (uint32_t k = g->ranks[r].dep_at[i]; k < g->ranks[r].dep_at[i + 1]; k++) {
					uint32_t on = g->ranks[r].deps[k];
					uint32_t least = step[r][on] + (g->ranks[r].ops[i].kind != BIN_OP_COPY);

					CU_ASSERT_FATAL(on < i);
					if (step[r][i] < least) {
						step[r][i] = least;
						again = true;
					}
				}
		for (size_t i = 0; i < n; i++) {
			uint32_t *a = &step[m[i].src][m[i].send], *b = &step[m[i].dst][m[i].recv];

			again |= *a != *b;
			*a = *b = *a > *b ? *a : *b;
		}
	}
	free(m);
}

static uint32_t **alloc_steps(const struct ir_graph *g)
{
	uint32_t **step = calloc(g->nranks, sizeof *step);

	for (uint32_t r = 0; r < g->nranks; r++)
		step[r] = calloc(g->ranks[r].nops + 1, sizeof **step);
	steps(g, step);
	return step;
}

static void free_steps(const struct ir_graph *g, uint32_t **step)
{
	for (uint32_t r = 0; r < g->nranks; r++)
		free(step[r]);
	free(step);
}

/* How many steps there are, and how many of them with a heavy message. */
static uint32_t count_steps(const struct ir_graph *g, uint32_t **step, uint32_t *heavy)
{
	bool *any = calloc(16384, sizeof *any);
	uint32_t n = 0;

	*heavy = 0;
	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++) {
			const struct bin_op *o = &g->ranks[r].ops[i];

			if (o->kind == BIN_OP_COPY)
				continue;
			CU_ASSERT_FATAL(step[r][i] < 16384);
			n = step[r][i] + 1 > n ? step[r][i] + 1 : n;
			if (o->len >= HEAVY && !any[step[r][i]]) {
				any[step[r][i]] = true;
				++*heavy;
			}
		}
	free(any);
	return n;
}

static bool is(const struct bin_op *o, uint8_t kind, bool heavy)
{
	return o->kind == kind && (o->len >= HEAVY) == heavy;
}

/* Runs the pass, and holds against each other what it made and what it was given. */
static void check(const struct net *net, bool chain)
{
	struct pass_ctx c = { .size = net->nodes };
	struct goal_diags *d = goal_diags_new();
	struct ir_graph g;
	uint32_t **step, copies = 0, selves = 0, heavy, all, mh = most(net, true), ml = most(net, false);
	uint64_t before;
	char list[64];

	build(net, chain, &g);
	before = flow(&g);
	snprintf(list, sizeof list, "sparse-rounds:heavy=%u", HEAVY);
	CU_ASSERT_FATAL(!passes_run_graph(list, &g, &c, NULL));
	CU_ASSERT_FATAL(!checks_run(d, &g, CHECK_PARAMETRIC, 0));
	CU_ASSERT_EQUAL(goal_diags_errors(d), 0);
	step = alloc_steps(&g);
	all = count_steps(&g, step, &heavy);
	for (uint32_t r = 0; r < net->nodes; r++) {
		const struct ir_rank *k = &g.ranks[r];

		for (uint32_t i = 0; i < k->nops; i++) {
			const struct bin_op *o = &k->ops[i];

			copies += o->kind == BIN_OP_COPY;
			CU_ASSERT(o->kind == BIN_OP_COPY || o->peer != r);
			if (o->kind == BIN_OP_COPY)
				continue;
			/* Never two sends of a rank, or two recvs, in one step; no light one before a heavy one. */
			for (uint32_t j = 0; j < i; j++) {
				CU_ASSERT(k->ops[j].kind != o->kind || step[r][j] < step[r][i]);
				CU_ASSERT(!is(&k->ops[j], o->kind, false) || !is(o, o->kind, true));
			}
		}
	}
	for (uint32_t i = 0; i < net->n; i++)
		selves += net->edges[i].from == net->edges[i].to;
	CU_ASSERT_EQUAL(copies, selves);
	CU_ASSERT_EQUAL(heavy, mh);
	CU_ASSERT(all <= mh + ml);
	CU_ASSERT_EQUAL(flow(&g), before);
	free_steps(&g, step);
	ir_graph_fini(&g);
	goal_diags_free(d);
}

/* Both neighbours in each dimension of a periodic grid; the borders of the first dimension are heavy. */
static void grid(struct net *net, unsigned ndims, const uint32_t *side)
{
	uint32_t stride = 1;

	*net = (struct net){ .nodes = 1 };
	for (unsigned d = 0; d < ndims; d++)
		net->nodes *= side[d];
	for (unsigned d = 0; d < ndims; d++) {
		for (uint32_t k = 0; k < 2 * net->nodes; k++) {
			uint32_t v = k % net->nodes, at = v / stride % side[d], by = k < net->nodes ? side[d] - 1 : 1;

			add(net, v, v - at * stride + (at + by) % side[d] * stride, d ? 10 : 1000,
			    2 * d + (k >= net->nodes));
		}
		stride *= side[d];
	}
}

static struct net net;

static void test_grids(void)
{
	for (uint32_t x = 1; x <= 5; x++)
		for (uint32_t y = 1; y <= 5; y++) {
			grid(&net, 2, (uint32_t[]){ x, y });
			CU_ASSERT_EQUAL(most(&net, true), x > 1 ? 2 : 0);
			CU_ASSERT_EQUAL(most(&net, false), y > 1 ? 2 : 0);
			check(&net, false);
			check(&net, true);
			for (uint32_t z = 1; z <= 3; z++) {
				grid(&net, 3, (uint32_t[]){ x, y, z });
				check(&net, false);
			}
		}
}

/* Four neighbours, left, right, up and down. Of the two edges of a node in each dimension one is heavy, and not
 * the same for all: in a loop over the directions each round has heavy messages. */
static void test_four_neighbours(void)
{
	const uint32_t side = 4;
	struct ir_graph g;
	uint32_t **step, heavy;

	net = (struct net){ .nodes = side * side };
	for (unsigned direction = 0; direction < 4; direction++)
		for (uint32_t v = 0; v < net.nodes; v++) {
			uint32_t x = v % side, y = v / side, by = direction % 2 ? 1 : side - 1;
			uint32_t to = direction < 2 ? y * side + (x + by) % side : (y + by) % side * side + x;

			add(&net, v, to, (x + y + direction) % 2 ? 1000 : 10, direction);
		}
	CU_ASSERT_EQUAL(most(&net, true), 2);
	CU_ASSERT_EQUAL(most(&net, false), 2);
	build(&net, true, &g);
	step = alloc_steps(&g);
	CU_ASSERT_EQUAL(count_steps(&g, step, &heavy), 4);
	CU_ASSERT_EQUAL(heavy, 4); /* check() finds two */
	free_steps(&g, step);
	ir_graph_fini(&g);
	check(&net, true);
	check(&net, false);
}

static uint32_t below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % n;
}

/* Multigraphs with edges in parallel and to oneself, some all light, some all heavy. */
static void test_random(void)
{
	for (uint64_t seed = 1; seed <= 1000; seed++) {
		uint64_t x = seed * 7919;
		uint32_t edges, share;

		net = (struct net){ .nodes = 1 + below(&x, 10) };
		edges = below(&x, 6 * net.nodes);
		share = below(&x, 5);
		for (uint32_t i = 0; i < edges; i++)
			add(&net, below(&x, net.nodes), below(&x, net.nodes),
			    below(&x, 4) < share ? HEAVY + below(&x, 3) : below(&x, HEAVY), i);
		check(&net, seed % 2);
	}
}

const struct unit_suite suite_rounds = { "rounds",
					 (const struct unit_test[]){ { "four-neighbours", test_four_neighbours },
								     { "grids", test_grids },
								     { "random", test_random },
								     { NULL, NULL } } };
