/* SPDX-License-Identifier: BSD-3-Clause
 * Schedules on the reference executor, in many random orders, against the collective computed by hand. */
#include "compiler/compile.h"
#include "tests/loop/loop.h"
#include "tests/unit/unit.h"
#include "util/err.h"
#include "util/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 5u
#define MOST 16u

/* A schedule at one size, with buffers for all ranks. */
struct bed {
	void *image;
	size_t size;
	struct bin bin;
	struct bin_arg args[4];
	struct ir_graph graph;
	char **buffers[MOST];
};

static bool compile(struct bed *b, const char *text)
{
	struct goal_diags *d = goal_diags_new();
	struct compile_options o = { .debug = true };
	bool ok;

	*b = (struct bed){ 0 };
	ok = d && !compile_text(d, "test.goal", text, strlen(text), &o, &b->image, &b->size) &&
	     !bin_open(&b->bin, b->image, b->size);
	if (!ok && d)
		fputs(goal_diags_text(d), stderr);
	goal_diags_free(d);
	return ok;
}

static bool specialise(struct bed *b, uint32_t p, int64_t root)
{
	struct bin_args a = { .size = p, .count = COUNT, .args = b->args };
	struct ir_fault fault;
	uint32_t rank;

	if (b->bin.meta->root != BIN_NONE)
		b->args[b->bin.meta->root] = (struct bin_arg){ .known = true, .value = root };
	if (ir_graph_specialise(&b->bin, &a, &b->graph, &rank, &fault))
		return false;
	for (uint32_t r = 0; r < p; r++) {
		b->buffers[r] = calloc(b->bin.nbuffers + 1, sizeof(char *));
		for (uint32_t i = 0; i < b->bin.nbuffers; i++)
			b->buffers[r][i] = calloc(b->graph.ranks[r].bufsize[i] + 1, sizeof(int32_t));
	}
	return true;
}

static void drop(struct bed *b, uint32_t p)
{
	for (uint32_t r = 0; r < p; r++) {
		for (uint32_t i = 0; i < b->bin.nbuffers; i++)
			free(b->buffers[r][i]);
		free(b->buffers[r]);
	}
	ir_graph_fini(&b->graph);
}

static int32_t *at(const struct bed *b, uint32_t r, uint32_t buffer)
{
	return (int32_t *)(void *)b->buffers[r][buffer];
}

/* Not commutative, but associative: x op y = 3-by-3 digits side by side would overflow, so affine maps
 * modulo 1009 packed into one number. */
static int32_t combine(int32_t x, int32_t y)
{
	int32_t a = x / 1009, b = x % 1009, c = y / 1009, d = y % 1009;

	return a * c % 1009 * 1009 + (a * d + b) % 1009;
}

static void reduce(const char *a, char *b, uint64_t n, bool with)
{
	const int32_t *x = (const int32_t *)(const void *)a;
	int32_t *y = (int32_t *)(void *)b;

	for (uint64_t i = 0; i < n; i++)
		y[i] = with ? combine(y[i], x[i]) : combine(x[i], y[i]);
}

static int go(struct bed *b, uint64_t seed)
{
	struct loop_job job = { .graph = &b->graph,
				.buffers = (char *const *const *)b->buffers,
				.elem = 4,
				.reduce = reduce,
				.seed = seed };
	uint32_t rank, op;

	return loop_run(&job, &rank, &op);
}

static int32_t value(uint32_t r, uint32_t i, uint64_t seed)
{
	return (int32_t)((r * 7919 + i * 104729 + seed * 31) % (1009 * 1009));
}

static void bcast_is_right(void)
{
	char *text;
	size_t len;
	struct bed b;
	unsigned bad = 0;

	if (file_read("schedules/bcast_binomial.goal", &text, &len)) {
		CU_FAIL("schedules/bcast_binomial.goal cannot be read");
		return;
	}
	CU_ASSERT_FATAL(compile(&b, text));
	for (uint32_t p = 1; p <= MOST; p++)
		for (uint32_t root = 0; root < p; root++) {
			CU_ASSERT_FATAL(specialise(&b, p, root));
			for (uint64_t seed = 1; seed < 20; seed++) {
				for (uint32_t r = 0; r < p; r++)
					for (uint32_t i = 0; i < COUNT; i++)
						at(&b, r, 0)[i] = r == root ? value(r, i, seed) : -1;
				bad += go(&b, seed) != 0;
				for (uint32_t r = 0; r < p; r++)
					for (uint32_t i = 0; i < COUNT; i++)
						bad += at(&b, r, 0)[i] != value(root, i, seed);
			}
			drop(&b, p);
		}
	CU_ASSERT_EQUAL(bad, 0);
	free(text);
	free(b.image);
}

static const char ring[] = "schedule ring implements MPI_Allgather\n"
			   "buffer in mine[count]\nbuffer out all[p * count]\n"
			   "rank r of p {\n"
			   "  own: copy mine into all[r * count +: count]\n"
			   "  for s = 0 to p - 2 {\n"
			   "    give = (r - s) mod p\n    take = (r - s - 1) mod p\n"
			   "    out[s]: send all[give * count +: count] to (r + 1) mod p\n"
			   "    got[s]: recv all[take * count +: count] from (r - 1) mod p\n"
			   "    out[s] requires got[s - 1]\n  }\n"
			   "  out[0] requires own\n}\n";

static void allgather_is_right(void)
{
	struct bed b;
	unsigned bad = 0;

	CU_ASSERT_FATAL(compile(&b, ring));
	for (uint32_t p = 1; p <= MOST; p++) {
		CU_ASSERT_FATAL(specialise(&b, p, 0));
		for (uint64_t seed = 1; seed < 20; seed++) {
			for (uint32_t r = 0; r < p; r++)
				for (uint32_t i = 0; i < COUNT; i++)
					at(&b, r, 0)[i] = value(r, i, seed);
			bad += go(&b, seed) != 0;
			for (uint32_t r = 0; r < p; r++)
				for (uint32_t i = 0; i < p * COUNT; i++)
					bad += at(&b, r, 1)[i] != value(i / COUNT, i % COUNT, seed);
		}
		drop(&b, p);
	}
	CU_ASSERT_EQUAL(bad, 0);
	free(b.image);
}

static const char scan[] = "schedule scan\n"
			   "buffer inout data[count]\nbuffer scratch left[count]\n"
			   "rank r of p {\n"
			   "  if r > 0 { got: recv left from r - 1\n"
			   "    sum: reduce left into data\n sum requires got }\n"
			   "  if r < p - 1 { on: send data to r + 1\n on requires sum }\n}\n";

/* The same from the right, with the other form of reduce. */
static const char suffix[] = "schedule suffix\n"
			     "buffer inout data[count]\nbuffer scratch part[count]\n"
			     "rank r of p {\n"
			     "  if r < p - 1 { got: recv part from r + 1\n"
			     "    sum: reduce data with part into data\n sum requires got }\n"
			     "  if r > 0 { on: send data to r - 1\n on requires sum }\n}\n";

static void reductions_keep_order(void)
{
	const char *const texts[] = { scan, suffix };
	struct bed b;
	unsigned bad = 0;

	for (int way = 0; way < 2; way++) {
		CU_ASSERT_FATAL(compile(&b, texts[way]));
		for (uint32_t p = 1; p <= MOST; p++) {
			CU_ASSERT_FATAL(specialise(&b, p, 0));
			for (uint64_t seed = 1; seed < 10; seed++) {
				for (uint32_t r = 0; r < p; r++)
					for (uint32_t i = 0; i < COUNT; i++)
						at(&b, r, 0)[i] = value(r, i, seed);
				bad += go(&b, seed) != 0;
				for (uint32_t r = 0; r < p; r++)
					for (uint32_t i = 0; i < COUNT; i++) {
						uint32_t from = way ? r : 0, to = way ? p - 1 : r;
						int32_t want = value(from, i, seed);

						for (uint32_t k = from + 1; k <= to; k++)
							want = combine(want, value(k, i, seed));
						bad += at(&b, r, 0)[i] != want;
					}
			}
			drop(&b, p);
		}
		free(b.image);
	}
	CU_ASSERT_EQUAL(bad, 0);
}

/* Both send first and wait for that: goes well only when sends are kept. The executor must show both. */
static void late_sends_show(void)
{
	static const char text[] = "num_ranks 2\n"
				   "rank 0 {\ns: send 4b to 1\nr: recv 4b from 1\nr requires s\n}\n"
				   "rank 1 {\ns: send 4b to 0\nr: recv 4b from 0\nr requires s\n}\n";
	struct goal_diags *d = goal_diags_new();
	struct compile_options o = { 0 };
	struct ir_graph g;
	struct bin b;
	void *image;
	size_t size;
	struct goal_diags *again = goal_diags_new();

	CU_ASSERT_FATAL(!compile_text(d, "t", text, strlen(text), &o, &image, &size));
	CU_ASSERT_FATAL(!bin_open(&b, image, size));
	CU_ASSERT_FATAL(!compile_graph(d, 0, &b, &(struct bin_args){ .size = 2 }, &g));
	/* The check calls it a deadlock, as no schedule may rely on sends that are kept. */
	CU_ASSERT(!checks_run(again, &g, CHECK_RUN, 0));
	CU_ASSERT_EQUAL(goal_diags_errors(again), 1);
	CU_ASSERT(strstr(goal_diags_text(again), "[deadlock]") != NULL);
	ir_graph_fini(&g);
	free(image);
	goal_diags_free(d);
	goal_diags_free(again);
}

static void real_deadlock_is_found(void)
{
	static const char text[] = "num_ranks 2\n"
				   "rank 0 {\nr: recv 4b from 1\ns: send 4b to 1\ns requires r\n}\n"
				   "rank 1 {\nr: recv 4b from 0\ns: send 4b to 0\ns requires r\n}\n";
	struct goal_diags *d = goal_diags_new();
	struct compile_options o = { 0 };
	struct ir_graph g;
	struct bin b;
	void *image;
	size_t size;
	char bytes[2][4];
	char *both[2][2] = { { bytes[0], bytes[0] }, { bytes[1], bytes[1] } };
	char *const *const buffers[2] = { both[0], both[1] };
	uint32_t rank, op;

	CU_ASSERT_FATAL(!compile_text(d, "t", text, strlen(text), &o, &image, &size));
	CU_ASSERT_FATAL(!bin_open(&b, image, size));
	CU_ASSERT_FATAL(!compile_graph(d, 0, &b, &(struct bin_args){ .size = 2 }, &g));
	for (uint64_t seed = 1; seed < 50; seed++) {
		struct loop_job job = { .graph = &g, .buffers = buffers, .elem = 1, .seed = seed };

		CU_ASSERT_EQUAL(loop_run(&job, &rank, &op), -ERR_DEADLOCK);
	}
	ir_graph_fini(&g);
	free(image);
	goal_diags_free(d);
}

static const struct unit_test tests[] = {
	{ "bcast_is_right", bcast_is_right },
	{ "allgather_is_right", allgather_is_right },
	{ "reductions_keep_order", reductions_keep_order },
	{ "late_sends_show", late_sends_show },
	{ "real_deadlock_is_found", real_deadlock_is_found },
	{ NULL, NULL },
};

const struct unit_suite suite_loop = { "loop", tests };
