/* SPDX-License-Identifier: BSD-3-Clause
 * coalesce on graphs made by hand and at random: what it leaves passes the checks, moves the same bytes in any order
 * on the reference executor, and has as few messages as it should. */
#include "compiler/analysis/checks.h"
#include "compiler/passes/passes.h"
#include "tests/loop/loop.h"
#include "tests/unit/unit.h"
#include "util/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS 5u
#define ROOM 4096u /* elements of a buffer */

enum { MINE, THEIRS };

/* A rank that is being written. */
struct writer {
	struct bin_op ops[512];
	struct bin_dep deps[4096];
	uint32_t nops, ndeps;
	uint64_t room; /* of THEIRS, that is taken */
	uint32_t gate; /* the op that ends the phase before, or UINT32_MAX */
};

static struct writer writers[RANKS];

static uint32_t put(uint32_t r, struct bin_op op)
{
	struct writer *w = &writers[r];

	if (w->nops == 512)
		abort();
	w->ops[w->nops] = op;
	return w->nops++;
}

static void wait_for(uint32_t r, uint32_t op, uint32_t on)
{
	struct writer *w = &writers[r];

	if (w->ndeps == 4096)
		abort();
	w->deps[w->ndeps++] = (struct bin_dep){ op, on };
}

static void begin(void)
{
	memset(writers, 0, sizeof writers);
	for (uint32_t r = 0; r < RANKS; r++)
		writers[r].gate = UINT32_MAX;
}

static void end(struct ir_graph *g)
{
	*g = (struct ir_graph){ .nranks = RANKS, .nbuffers = 2 };
	g->ranks = calloc(RANKS, sizeof *g->ranks);
	for (uint32_t r = 0; r < RANKS; r++) {
		struct ir_rank *k = &g->ranks[r];

		k->nops = writers[r].nops;
		k->ops = calloc(k->nops + 1, sizeof *k->ops);
		memcpy(k->ops, writers[r].ops, k->nops * sizeof *k->ops);
		k->bufsize = calloc(2, sizeof *k->bufsize);
		k->bufsize[MINE] = k->bufsize[THEIRS] = ROOM;
		CU_ASSERT_FATAL(!ir_rank_set_deps(k, writers[r].deps, writers[r].ndeps));
	}
}

static void message(uint32_t src, uint16_t sbuf, uint64_t soff, uint32_t dst, uint64_t doff, uint64_t len, uint32_t tag)
{
	uint32_t s = put(src, (struct bin_op){ .kind = BIN_OP_SEND, .peer = dst, .tag = tag, .buf = { sbuf },
					       .off = { soff }, .len = len });
	uint32_t t = put(dst, (struct bin_op){ .kind = BIN_OP_RECV, .peer = src, .tag = tag, .buf = { THEIRS },
					       .off = { doff }, .len = len });

	if (writers[src].gate != UINT32_MAX)
		wait_for(src, s, writers[src].gate);
	if (writers[dst].gate != UINT32_MAX)
		wait_for(dst, t, writers[dst].gate);
}

/* What is in THEIRS of all ranks after a run. */
static bool run(const struct ir_graph *g, uint64_t seed, uint32_t out[RANKS][ROOM])
{
	uint32_t *memory[RANKS][3] = { { NULL } };
	char **buffers[RANKS];
	struct loop_job job = { .graph = g, .buffers = (char *const *const *)buffers, .elem = 4, .seed = seed };
	uint32_t rank, op;
	bool ok;

	for (uint32_t r = 0; r < RANKS; r++) {
		for (uint32_t b = 0; b < g->nbuffers; b++)
			memory[r][b] = calloc(g->ranks[r].bufsize[b] + 1, sizeof(uint32_t));
		for (uint32_t i = 0; i < ROOM; i++)
			memory[r][MINE][i] = r * ROOM + i + 1;
		buffers[r] = (char **)(void *)memory[r];
	}
	ok = !loop_run(&job, &rank, &op);
	for (uint32_t r = 0; r < RANKS; r++) {
		memcpy(out[r], memory[r][THEIRS], sizeof out[r]);
		for (uint32_t b = 0; b < g->nbuffers; b++)
			free(memory[r][b]);
	}
	return ok;
}

static uint32_t count(const struct ir_graph *g, uint8_t kind)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++)
			n += g->ranks[r].ops[i].kind == kind;
	return n;
}

/* Sends from one rank to another. */
static uint32_t between(const struct ir_graph *g)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++)
			n += g->ranks[r].ops[i].kind == BIN_OP_SEND && g->ranks[r].ops[i].peer != r;
	return n;
}

/* Runs the pass on what was written, and checks all but the number of messages. */
static void apply(const char *list, struct ir_graph *g)
{
	static uint32_t want[RANKS][ROOM], got[RANKS][ROOM];
	struct pass_ctx c = { .size = RANKS };
	struct goal_diags *d = goal_diags_new();

	end(g);
	CU_ASSERT_FATAL(!checks_run(d, g, CHECK_PARAMETRIC, 0));
	CU_ASSERT_EQUAL_FATAL(goal_diags_errors(d), 0);
	CU_ASSERT_FATAL(run(g, 1, want));
	CU_ASSERT_FATAL(!passes_run_graph(list, g, &c, NULL));
	CU_ASSERT_FATAL(!checks_run(d, g, CHECK_PARAMETRIC, 0));
	CU_ASSERT_EQUAL(goal_diags_errors(d), 0);
	if (goal_diags_errors(d))
		fputs(goal_diags_text(d), stdout);
	for (uint64_t seed = 1; seed <= 5; seed++) {
		CU_ASSERT(run(g, seed, got));
		CU_ASSERT(!memcmp(want, got, sizeof want));
	}
	goal_diags_free(d);
}

static void expect(const char *list, uint32_t messages, uint32_t copies)
{
	struct ir_graph g;

	apply(list, &g);
	CU_ASSERT_EQUAL(count(&g, BIN_OP_SEND), messages);
	CU_ASSERT_EQUAL(count(&g, BIN_OP_RECV), messages);
	CU_ASSERT_EQUAL(count(&g, BIN_OP_COPY), copies);
	ir_graph_fini(&g);
}

static void test_adjacent(void)
{
	begin(); /* in pieces, and not in the order of the text */
	message(0, MINE, 10, 1, 110, 10, 0);
	message(0, MINE, 0, 1, 100, 10, 0);
	message(0, MINE, 20, 1, 120, 1000, 0);
	message(0, MINE, 0, 1, 0, 0, 0);
	message(0, MINE, 0, 2, 100, 10, 0); /* to another one */
	expect("coalesce", 2, 0);
	begin(); /* other tags, in the same order on both ranks */
	message(0, MINE, 0, 1, 0, 5, 3);
	message(0, MINE, 5, 1, 5, 5, 1);
	expect("coalesce", 1, 0);
	begin(); /* to oneself */
	message(2, MINE, 0, 2, 0, 5, 0);
	message(2, MINE, 5, 2, 5, 5, 0);
	expect("coalesce", 1, 0);
	begin();
	message(0, MINE, 0, 1, 0, 0, 0);
	message(0, MINE, 7, 1, 9, 0, 0);
	expect("coalesce:most=0", 1, 0);
}

static void test_packed(void)
{
	begin(); /* apart on both ranks */
	message(0, MINE, 0, 1, 100, 5, 0);
	message(0, MINE, 50, 1, 200, 5, 0);
	expect("coalesce", 2, 0);
	expect("coalesce:most=5", 1, 4);
	expect("coalesce:most=4", 2, 0);
	begin(); /* side by side here, or there */
	message(0, MINE, 0, 1, 105, 5, 0);
	message(0, MINE, 5, 1, 100, 5, 0);
	expect("coalesce:most=64", 1, 2);
	begin();
	message(0, MINE, 80, 1, 100, 5, 0);
	message(0, MINE, 10, 1, 105, 5, 0);
	expect("coalesce:most=64", 1, 2);
	begin(); /* two small ones and a large one */
	message(0, MINE, 0, 1, 0, 5, 0);
	message(0, MINE, 100, 1, 100, 500, 0);
	message(0, MINE, 1000, 1, 1000, 5, 0);
	expect("coalesce:most=64", 2, 4);
}

static void test_apart(void)
{
	begin(); /* the second send waits for the first */
	message(0, MINE, 0, 1, 0, 5, 0);
	message(0, MINE, 5, 1, 5, 5, 0);
	wait_for(0, 1, 0);
	expect("coalesce:most=64", 2, 0);
	begin(); /* the second recv waits for a message that waits for the first */
	message(0, MINE, 0, 1, 0, 5, 0);
	message(1, THEIRS, 0, 2, 0, 5, 0);
	wait_for(1, 1, 0);
	message(2, THEIRS, 0, 1, 5, 5, 0);
	message(0, MINE, 5, 1, 10, 5, 0);
	wait_for(1, 3, 2);
	wait_for(2, 1, 0);
	expect("coalesce:most=64", 4, 0);
	begin(); /* other tags, crossed */
	message(0, MINE, 0, 1, 0, 5, 3);
	put(1, writers[1].ops[0]);
	writers[1].ops[0].tag = 1;
	writers[1].ops[0].off[0] = 5;
	put(0, (struct bin_op){ .kind = BIN_OP_SEND, .peer = 1, .tag = 1, .off = { 5 }, .len = 5 });
	expect("coalesce:most=64", 2, 0);
}

static uint32_t below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % n;
}

/* A block of THEIRS that nobody has: behind the last one, or with a gap. */
static uint64_t block(uint32_t r, uint64_t len, uint64_t *x)
{
	struct writer *w = &writers[r];
	uint64_t off = w->room + (below(x, 3) ? 0 : below(x, 4));

	w->room = off + len;
	if (w->room > ROOM)
		abort();
	return off;
}

/* Some phases; in each one, messages of what came before. If all may be copied, one remains for each pair. */
static void test_random(void)
{
	uint32_t before = 0, after = 0;

	for (uint64_t seed = 1; seed <= 1000; seed++) {
		uint64_t x = seed * 104729;
		uint32_t n = 2 + below(&x, RANKS - 1), phases = 1 + below(&x, 3);
		uint32_t most = below(&x, 2) ? 10000 : below(&x, 9), pairs = 0;
		struct ir_graph g;
		char list[32];

		begin();
		for (uint32_t f = 0; f < phases; f++) {
			uint32_t messages = below(&x, 30);
			bool seen[RANKS][RANKS] = { { false } };
			uint64_t came[RANKS];

			for (uint32_t r = 0; r < RANKS; r++)
				came[r] = writers[r].room;
			for (uint32_t i = 0; i < messages; i++) {
				uint32_t src = below(&x, n), dst = below(&x, n), len = below(&x, 8), at = below(&x, 30);
				bool on = f && at + len <= came[src];

				message(src, on ? THEIRS : MINE, at, dst, block(dst, len, &x), len, below(&x, 4) / 3);
				pairs += !seen[src][dst] && src != dst;
				seen[src][dst] = true;
				before++;
			}
			for (uint32_t r = 0; r < RANKS; r++) { /* some more waits for some less */
				uint32_t all = writers[r].nops, nop = put(r, (struct bin_op){ .kind = BIN_OP_NOP });

				for (uint32_t i = 0; i < all; i++)
					if (writers[r].ops[i].kind == BIN_OP_RECV || below(&x, 2))
						wait_for(r, nop, i);
				writers[r].gate = nop;
			}
		}
		snprintf(list, sizeof list, "coalesce:most=%u", most);
		apply(list, &g);
		after += count(&g, BIN_OP_SEND);
		CU_ASSERT(most < 10000 || between(&g) == pairs);
		ir_graph_fini(&g);
	}
	CU_ASSERT(after < before);
	printf("# %u messages became %u\n", before, after);
}

const struct unit_suite suite_coalesce = { "coalesce",
					   (const struct unit_test[]){ { "adjacent", test_adjacent },
								       { "packed", test_packed },
								       { "apart", test_apart },
								       { "random", test_random },
								       { NULL, NULL } } };
