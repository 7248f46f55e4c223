/* SPDX-License-Identifier: BSD-3-Clause
 * split-tree and odd-even: which op of which tree goes where, against the shape that each schedule is known to have; what
 * S=auto comes to; and that no rank hangs when ops run only where they are marked for, whatever order ranks start and
 * wait in. */
#include "compiler/analysis/match.h"
#include "compiler/compile.h"
#include "compiler/ir/args.h"
#include "compiler/passes/model.h"
#include "compiler/passes/passes.h"
#include "format/check.h"
#include "tests/unit/unit.h"
#include "util/err.h"
#include "util/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64u /* ranks */

/* ---- schedules ---- */

enum ways { DOWN, UP, BOTH };

static const struct tree {
	const char *name;
	enum ways ways;
	unsigned k;    /* of a k-nomial tree; 0: another one */
	bool growing;
} trees[] = {
	{ "bcast_binomial", DOWN, 2, false },
	{ "bcast_knomial", DOWN, 4, false },
	{ "bcast_linear", DOWN, MOST, false },
	{ "bcast_chain", DOWN, 0, false },
	{ "bcast_binary", DOWN, 0, false },
	{ "bcast_trinary", DOWN, 0, false },
	{ "scatter_binomial", DOWN, 2, true },
	{ "scatter_linear", DOWN, MOST, false },
	{ "reduce_binomial", UP, 2, false },
	{ "reduce_knomial", UP, 4, false },
	{ "reduce_chain", UP, 0, false },
	{ "gather_binomial", UP, 2, true },
	{ "gather_linear", UP, MOST, false },
	{ "allreduce_reduce_bcast", BOTH, 2, false },
	{ "barrier_tree", BOTH, 2, false },
};
#define TREES (sizeof trees / sizeof *trees)

/* One of them, compiled. */
struct bed {
	char path[64];
	void *image;
	size_t size;
	struct bin bin;
};

static void bed_init(struct bed *b, const char *name)
{
	struct goal_diags *d = goal_diags_new();
	const struct compile_options o = { 0 };
	char *text = NULL;
	size_t len = 0;

	snprintf(b->path, sizeof b->path, "schedules/%s.goal", name);
	CU_ASSERT_FATAL(d && !file_read(b->path, &text, &len));
	CU_ASSERT_FATAL(!compile_text(d, b->path, text, len, &o, &b->image, &b->size));
	CU_ASSERT_FATAL(!bin_open(&b->bin, b->image, b->size));
	goal_diags_free(d);
	free(text);
}

/* The values of all parameters, those of a schedule that has none too. */
static const struct bin_arg *with_root(const struct bed *b, uint32_t root, struct bin_arg values[16])
{
	CU_ASSERT_FATAL(b->bin.nparams <= 16);
	memset(values, 0, 16 * sizeof *values);
	if (b->bin.meta->root != BIN_NONE)
		values[b->bin.meta->root] = (struct bin_arg){ .known = true, .value = root };
	return values;
}

/* All ranks after some passes: their error. */
static int graph(const struct bed *b, uint32_t p, uint32_t root, const char *list, struct ir_graph *g)
{
	struct bin_arg values[16];
	const struct bin_args a = { .size = p, .count = 7, .args = with_root(b, root, values) };
	const struct pass_ctx c = passes_ctx(&b->bin, &a);
	struct ir_fault fault;
	uint32_t rank;

	CU_ASSERT_EQUAL_FATAL(ir_graph_specialise(&b->bin, &a, g, &rank, &fault), 0);
	return passes_run_graph(list, g, &c, NULL);
}

/* ---- what goes where ---- */

/* The root has one child only: nothing tells its one message from that of a leaf. */
static bool is_alone(const struct ir_graph *g, uint32_t rank, uint32_t root)
{
	const struct ir_rank *r = &g->ranks[rank];
	uint32_t peer = BIN_ANY;

	for (uint32_t i = 0; i < r->nops; i++)
		if (bin_is_message(r->ops[i].kind)) {
			if (peer != BIN_ANY && peer != r->ops[i].peer)
				return false;
			peer = r->ops[i].peer;
		}
	return rank == root;
}

static bool goes_up(const struct tree *t, const struct bin_op *o, uint32_t rank)
{
	if (t->ways == BOTH) /* these have their root at 0, and parents come before their children */
		return bin_sends(o->kind) ? o->peer < rank : o->peer > rank;
	return t->ways == UP;
}

static unsigned wrong(const struct tree *t, const struct ir_graph *g, uint32_t rank, uint32_t root, uint32_t s)
{
	const struct ir_rank *r = &g->ranks[rank];
	const bool alone = t->ways != BOTH && is_alone(g, rank, root);
	unsigned bad = 0;

	for (uint32_t i = 0; i < r->nops; i++) {
		const struct bin_op *o = &r->ops[i];
		const unsigned want = o->level >= s ? BIN_COMM : goes_up(t, o, rank) ? BIN_EARLY : BIN_APP;
		const uint32_t far = o->peer > rank ? o->peer - rank : rank - o->peer;

		bad += bin_is_message(o->kind) && (alone ? (o->exec == BIN_COMM) != (o->level >= s) : o->exec != want);
		/* A binomial tree joins ranks at a distance of 2^level. */
		bad += bin_is_message(o->kind) && t->k == 2 && far != 1u << o->level && g->nranks - far != 1u << o->level;
		/* What runs in the start needs nothing that does not, and a communication core waits for no rank. */
		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1] && !alone; d++) {
			const unsigned on = r->ops[r->deps[d] & ~BIN_START].exec;

			bad += o->exec == BIN_EARLY && on != BIN_EARLY;
			bad += o->exec == BIN_COMM && on == BIN_APP;
		}
	}
	return bad;
}

static void test_ways(void)
{
	for (size_t t = 0; t < TREES; t++) {
		struct bed b;
		unsigned bad = 0, seen = 0;

		bed_init(&b, trees[t].name);
		for (uint32_t p = 1; p <= 33; p++)
			for (uint32_t s = 0; s <= 7; s++)
				for (uint32_t k = 0; k < 3; k++) {
					const uint32_t root = b.bin.meta->root == BIN_NONE ? 0 : k * (p - 1) / 2;
					char list[64];
					struct ir_graph g;

					snprintf(list, sizeof list, "%ssplit-tree:S=%u", k == 1 ? "segment:size=3;fuse;" : "", s);
					CU_ASSERT_EQUAL(graph(&b, p, root, list, &g), 0);
					for (uint32_t r = 0; r < p; r++, seen++)
						bad += wrong(&trees[t], &g, r, root, s);
					ir_graph_fini(&g);
				}
		if (bad)
			fprintf(stderr, "%s: %u ops are in the wrong place\n", trees[t].name, bad);
		CU_ASSERT_EQUAL(bad, 0);
		CU_ASSERT(seen > 1000);
		free(b.image);
	}
}

static void test_odd_even(void)
{
	struct bed b;
	struct ir_graph g;
	unsigned bad = 0;

	bed_init(&b, "scan_chain");
	CU_ASSERT_EQUAL(graph(&b, 9, 0, "odd-even", &g), 0);
	for (uint32_t r = 0; r < 9; r++)
		for (uint32_t i = 0; i < g.ranks[r].nops; i++)
			bad += g.ranks[r].ops[i].exec != BIN_COMM || g.ranks[r].ops[i].cpu != r + 1;
	ir_graph_fini(&g);
	free(b.image);
	/* What is for the rank's own thread stays there. */
	bed_init(&b, "bcast_binomial");
	CU_ASSERT_EQUAL(graph(&b, 9, 0, "split-tree:S=1;odd-even", &g), 0);
	for (uint32_t r = 0; r < 9; r++)
		for (uint32_t i = 0; i < g.ranks[r].nops; i++) {
			const struct bin_op *o = &g.ranks[r].ops[i];

			bad += o->level ? o->exec != BIN_COMM || o->cpu != r + 1 : o->exec != BIN_APP || o->cpu;
		}
	ir_graph_fini(&g);
	free(b.image);
	CU_ASSERT_EQUAL(bad, 0);
}

/* ---- S=auto ---- */

static bool same_places(const struct ir_rank *a, const struct ir_rank *b)
{
	bool same = a->nops == b->nops;

	for (uint32_t i = 0; i < a->nops && same; i++)
		same = a->ops[i].exec == b->ops[i].exec;
	return same;
}

/* A rank by itself, as a program binds it. */
static bool bound_alike(const struct bed *b, uint32_t root, uint32_t rank, const char *list, const struct ir_graph *g)
{
	struct bin_arg values[16];
	const struct bin_args a = { .rank = rank, .size = g->nranks, .count = 7, .args = with_root(b, root, values) };
	struct bin_args there = a;
	struct pass_ctx c = passes_ctx(&b->bin, &a);
	struct ir_rank own, ops;
	bool same;

	there.rank = c.root;
	CU_ASSERT_FATAL(!ir_rank_specialise(&b->bin, &a, &own, NULL) && !ir_rank_specialise(&b->bin, &there, &ops, NULL));
	c.root_ops = &ops;
	same = passes_need_root(list) && !passes_run_rank(list, &own, &c) && same_places(&own, &g->ranks[rank]);
	ir_rank_fini(&own);
	ir_rank_fini(&ops);
	return same;
}

static void test_auto(void)
{
	unsigned chosen = 0;

	for (size_t t = 0; t < TREES; t++) {
		unsigned bad = 0;
		struct bed b;

		if (!trees[t].k)
			continue;
		bed_init(&b, trees[t].name);
		for (uint32_t p = 2; p < MOST; p += p < 40 ? 5 : 1) {
			const uint32_t root = b.bin.meta->root == BIN_NONE ? 0 : p % 3 * (p - 1) / 2;
			struct model m = model_paper(MOST);
			struct ir_graph want, got;
			char list[64];

			m.k = trees[t].k < p ? trees[t].k : p;
			m.growing = trees[t].growing;
			chosen |= 1u << model_best(&m, p);
			snprintf(list, sizeof list, "split-tree:S=%u", model_best(&m, p));
			CU_ASSERT_EQUAL(graph(&b, p, root, list, &want), 0);
			snprintf(list, sizeof list, "split-tree:S=auto,cores=%u", MOST);
			CU_ASSERT_EQUAL(graph(&b, p, root, list, &got), 0);
			for (uint32_t r = 0; r < p; r++)
				if (!same_places(&want.ranks[r], &got.ranks[r]) || !bound_alike(&b, root, r, list, &got)) {
					fprintf(stderr, "%s, rank %u of %u, root %u: not S = %u\n", trees[t].name, r, p, root,
						model_best(&m, p));
					bad++;
				}
			ir_graph_fini(&want);
			ir_graph_fini(&got);
		}
		CU_ASSERT_EQUAL(bad, 0);
		free(b.image);
	}
	CU_ASSERT_EQUAL(chosen & 15, 15); /* S = 0 to 3 */
}

/* What has no levels, or not those of a tree that the model knows. */
static void test_refused(void)
{
	static const struct {
		const char *name, *list;
		uint32_t p;
		int want;
	} cases[] = {
		{ "scan_chain", "split-tree:S=1", 3, -ERR_LEVELS },
		{ "scan_chain", "split-tree:S=1", 2, 0 },
		{ "allgather_ring", "split-tree:S=0", 5, -ERR_LEVELS },
		{ "alltoall_linear", "split-tree:S=0", 3, -ERR_LEVELS },
		{ "bcast_chain", "split-tree:S=auto,cores=64", 5, -ERR_LEVELS },
		{ "bcast_chain", "split-tree:S=2", 5, 0 },
		{ "bcast_binary", "split-tree:S=auto,cores=64", 32, -ERR_LEVELS },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ir_graph g;
		struct bed b;

		bed_init(&b, cases[i].name);
		CU_ASSERT_EQUAL(graph(&b, cases[i].p, 0, cases[i].list, &g), cases[i].want);
		ir_graph_fini(&g);
		free(b.image);
	}
}

/* ---- that no rank hangs ---- */

/* How ranks and cores behave; all but the first are wrong. */
enum rules { AS_BUILT, WAIT_FOR_ONE /* wait makes progress for its own request only */, BLOCKING_START };

enum state { NEW, ISSUED, DONE };

/* Two requests of the same ranks. A message moves when both ends have been issued, by a step of one of the two and
 * then one of the other, each taken where that op may run. */
struct play {
	struct ir_graph *g[2];
	struct ir_match *match[2];
	size_t matches[2];
	uint32_t *partner[2][MOST]; /* of an op: its message, + 1 */
	uint8_t *state[2][MOST];
	bool started[2][MOST];
	uint8_t calls[MOST][4]; /* of a rank: start 0, start 1, wait 0 and wait 1 in its order */
	uint8_t at[MOST]; /* the call that it is in */
	enum rules rules;
	uint64_t random;
};

static uint32_t draw(struct play *x, uint32_t n)
{
	x->random ^= x->random << 13;
	x->random ^= x->random >> 7;
	x->random ^= x->random << 17;
	return (uint32_t)(x->random >> 33) % n;
}

static bool complete(const struct play *x, unsigned q, uint32_t r)
{
	for (uint32_t i = 0; i < x->g[q]->ranks[r].nops; i++)
		if (x->state[q][r][i] != DONE)
			return false;
	return x->started[q][r];
}

/* Whether an op may take a step: who would carry it out is there. */
static bool may_run(const struct play *x, unsigned q, uint32_t r, uint32_t i)
{
	const unsigned exec = x->g[q]->ranks[r].ops[i].exec, call = x->at[r] < 4 ? x->calls[r][x->at[r]] : 4;

	if (!x->started[q][r])
		return false;
	if (exec == BIN_APP)
		return call == 2 + q || ((call == 2 || call == 3) && x->rules != WAIT_FOR_ONE);
	return true;
}

static bool is_ready(const struct play *x, unsigned q, uint32_t r, uint32_t i)
{
	const struct ir_rank *rank = &x->g[q]->ranks[r];

	for (uint32_t d = rank->dep_at[i]; d < rank->dep_at[i + 1]; d++)
		if (x->state[q][r][rank->deps[d] & ~BIN_START] < (rank->deps[d] & BIN_START ? ISSUED : DONE))
			return false;
	return true;
}

/* The other end of an op's message has come so far that this end can go on. */
static bool met(const struct play *x, unsigned q, uint32_t r, uint32_t i)
{
	const uint32_t k = x->partner[q][r][i];
	const struct ir_match *m;
	bool send;
	unsigned other;

	if (!k)
		return true;
	m = &x->match[q][k - 1];
	send = bin_sends(x->g[q]->ranks[r].ops[i].kind);
	other = send ? x->state[q][m->dst][m->recv] : x->state[q][m->src][m->send];
	/* Every other message is moved by its sender, the rest by their receivers. */
	return other >= (send == (k % 2 == 0) ? ISSUED : DONE);
}

static bool step(struct play *x, unsigned q, uint32_t r, uint32_t i)
{
	uint8_t *s = &x->state[q][r][i];

	if (*s == DONE || (*s == NEW ? !is_ready(x, q, r, i) : !met(x, q, r, i)))
		return false;
	++*s;
	return true;
}

/* In a start: as many steps as the rank happens to take. */
static void issue(struct play *x, unsigned q, uint32_t r)
{
	const struct ir_rank *rank = &x->g[q]->ranks[r];

	for (uint32_t n = rank->nops ? draw(x, 3 * rank->nops) : 0; n; n--) {
		const uint32_t i = draw(x, rank->nops);

		if (rank->ops[i].exec != BIN_COMM)
			step(x, q, r, i);
	}
}

/* The rank goes on with its calls, if it can. */
static bool call(struct play *x, uint32_t r)
{
	unsigned what, q;

	if (x->at[r] == 4)
		return false;
	what = x->calls[r][x->at[r]];
	q = what % 2;
	if (what < 2 && !x->started[q][r]) {
		x->started[q][r] = true;
		issue(x, q, r);
		x->at[r] += x->rules != BLOCKING_START;
		return true;
	}
	for (uint32_t i = 0; i < x->g[q]->ranks[r].nops && what < 2; i++)
		if (x->g[q]->ranks[r].ops[i].exec == BIN_EARLY && x->state[q][r][i] != DONE)
			return false;
	if (what >= 2 && !complete(x, q, r))
		return false;
	x->at[r]++;
	return true;
}

/* Plays until nothing moves; whether all ranks are through. */
static bool play(struct play *x, uint64_t seed)
{
	const uint32_t p = x->g[0]->nranks;
	bool moved = true, through = true;

	x->random = seed * 0x9e3779b97f4a7c15 + 1;
	for (uint32_t r = 0; r < p; r++) {
		const uint8_t s = (uint8_t)draw(x, 2), w = (uint8_t)draw(x, 2);
		const uint8_t calls[4] = { s, !s, 2 + w, 3 - w };

		memcpy(x->calls[r], calls, sizeof calls);
		x->at[r] = 0;
		for (unsigned q = 0; q < 2; q++) {
			x->started[q][r] = false;
			memset(x->state[q][r], NEW, x->g[q]->ranks[r].nops);
		}
	}
	while (moved) {
		const uint32_t first = draw(x, p);

		moved = false;
		for (uint32_t k = 0; k < p; k++) {
			const uint32_t r = (first + k) % p;

			if (draw(x, 3))
				moved |= call(x, r);
			for (unsigned q = 0; q < 2; q++)
				for (uint32_t i = 0; i < x->g[q]->ranks[r].nops; i++)
					if (may_run(x, q, r, i))
						moved |= step(x, q, r, i);
		}
		for (uint32_t r = 0; r < p && !moved; r++) /* who was not drawn */
			moved = call(x, r);
	}
	for (uint32_t r = 0; r < p; r++)
		through &= x->at[r] == 4;
	return through;
}

static void play_init(struct play *x, struct ir_graph *a, struct ir_graph *b, enum rules rules)
{
	*x = (struct play){ .g = { a, b }, .rules = rules };
	for (unsigned q = 0; q < 2; q++) {
		const struct ir_graph *g = x->g[q];

		for (uint32_t r = 0; r < g->nranks; r++) {
			x->partner[q][r] = calloc(g->ranks[r].nops + 1, sizeof **x->partner[q]);
			x->state[q][r] = calloc(g->ranks[r].nops + 1, 1);
		}
		CU_ASSERT_EQUAL_FATAL(ir_graph_match(g, &x->match[q], &x->matches[q]), 0);
		for (uint32_t k = 0; k < x->matches[q]; k++) {
			const struct ir_match *m = &x->match[q][k];

			x->partner[q][m->src][m->send] = x->partner[q][m->dst][m->recv] = k + 1;
		}
	}
}

static void play_fini(struct play *x)
{
	for (unsigned q = 0; q < 2; q++) {
		for (uint32_t r = 0; r < x->g[q]->nranks; r++) {
			free(x->partner[q][r]);
			free(x->state[q][r]);
		}
		free(x->match[q]);
	}
}

/* Plays all trees in pairs, at all S: the number of plays, and of those that hang. */
static unsigned hangs(enum rules rules, unsigned *plays)
{
	static const uint32_t sizes[] = { 2, 3, 5, 8, 9 };
	struct bed beds[TREES];
	unsigned hung = 0;

	*plays = 0;
	for (size_t t = 0; t < TREES; t++)
		bed_init(&beds[t], trees[t].name);
	for (size_t t = 0; t < TREES; t++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
			for (uint32_t s = 0; s <= 5; s++) {
				const uint32_t p = sizes[i], root = beds[t].bin.meta->root == BIN_NONE ? 0 : s % p;
				const struct bed *other = &beds[(t + s) % TREES];
				struct ir_graph a, b;
				char list[64];
				struct play x;

				snprintf(list, sizeof list, "split-tree:S=%u;odd-even", s);
				CU_ASSERT_EQUAL_FATAL(graph(&beds[t], p, root, list, &a), 0);
				CU_ASSERT_EQUAL_FATAL(graph(other, p, 0, list, &b), 0);
				play_init(&x, &a, &b, rules);
				for (uint64_t seed = 1; seed <= 20; seed++, ++*plays)
					hung += !play(&x, seed + 1000 * s);
				play_fini(&x);
				ir_graph_fini(&a);
				ir_graph_fini(&b);
			}
	for (size_t t = 0; t < TREES; t++)
		free(beds[t].image);
	return hung;
}

static void test_hangs(void)
{
	unsigned plays;

	CU_ASSERT_EQUAL(hangs(AS_BUILT, &plays), 0);
	printf("# %u plays of two requests in any order\n", plays);
	/* It would notice. */
	CU_ASSERT(hangs(WAIT_FOR_ONE, &plays) > plays / 50);
	CU_ASSERT(hangs(BLOCKING_START, &plays) > plays / 50);
}

const struct unit_suite suite_split = { "split", (const struct unit_test[]){ { "ways", test_ways },
									     { "odd_even", test_odd_even },
									     { "auto", test_auto },
									     { "refused", test_refused },
									     { "hangs", test_hangs },
									     { NULL, NULL } } };
