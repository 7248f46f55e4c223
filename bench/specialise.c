/* SPDX-License-Identifier: BSD-3-Clause
 * specialise: measures the time to make the ops of one rank from a binary, for several numbers of ranks. */
#include "bench/bench.h"
#include "compiler/compile.h"
#include "compiler/passes/passes.h"
#include "util/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPS 256u /* room for the ops of a rank */
#define RANKS 16 /* number of random ranks, which are specialised in turn */

static const char *dir = "schedules";

static _Noreturn void fail(const char *name, const char *why)
{
	fprintf(stderr, "specialise: %s: %s\n", name, why);
	exit(1);
}

struct image {
	struct bin b;
	void *at;
};

static struct image compile(const char *name, uint32_t nranks)
{
	static const int64_t first = 0;
	static const struct define root = { "root", -1, &first, 1, false };
	struct compile_options o = { .nranks = nranks, .defines = &root,
				     .ndefines = nranks && !strncmp(name, "bcast", 5) };
	struct goal_diags *d = goal_diags_new();
	struct image m;
	char path[512], *text;
	size_t len, size;

	snprintf(path, sizeof path, "%s/%s.goal", dir, name);
	if (!d || file_read(path, &text, &len))
		fail(path, "cannot be read");
	if (compile_text(d, path, text, len, &o, &m.at, &size) || bin_check(m.at, size) || bin_open(&m.b, m.at, size))
		fail(path, goal_diags_text(d));
	goal_diags_free(d);
	free(text);
	return m;
}

/* Memory for the reader alone, allocated before the measurement. */
struct room {
	struct bin_op ops[OPS];
	struct bin_dep deps[2 * OPS];
	uint64_t bufsize[16];
	struct bin_space sp;
};

static struct room *room_for(const struct bin *b)
{
	struct room *r = malloc(sizeof *r);
	void *scratch = malloc(bin_scratch_size(b, OPS, 2 * OPS));

	if (!r || !scratch || b->nbuffers > 16)
		fail("room", "too large");
	r->sp = (struct bin_space){ .ops = r->ops, .deps = r->deps, .bufsize = r->bufsize, .scratch = scratch,
				    .ops_cap = OPS, .deps_cap = 2 * OPS };
	return r;
}

static uint32_t ops_of(const struct bin *b, struct room *r, const struct bin_args *a)
{
	if (bin_rank_ops(b, a, &r->sp))
		fail("bin_rank_ops", "fails");
	return r->sp.nops;
}

/* Specialises as MPIX_Sched_init does: with its own memory, and dependencies sorted by op. */
static uint32_t graph_of(const struct bin *b, struct room *r, const struct bin_args *a)
{
	struct ir_rank rank;
	uint32_t n;

	(void)r;
	if (ir_rank_specialise(b, a, &rank, NULL))
		fail("ir_rank_specialise", "fails");
	n = rank.nops;
	ir_rank_fini(&rank);
	return n;
}

static const char *passes_now = "";

/* Does the same, and applies local passes. */
static uint32_t passed_of(const struct bin *b, struct room *r, const struct bin_args *a)
{
	const struct pass_ctx c = passes_ctx(b, a);
	struct ir_rank rank;
	uint32_t n;

	(void)r;
	if (ir_rank_specialise(b, a, &rank, NULL) || passes_run_rank(passes_now, &rank, &c))
		fail(passes_now, "fails");
	n = rank.nops;
	ir_rank_fini(&rank);
	return n;
}

typedef uint32_t way(const struct bin *b, struct room *r, const struct bin_args *a);

/* Returns the CPU time of a call in ns, with warm caches: the best of many batches, in which the ranks take turns. */
static double warm(const struct bin *b, struct room *r, way *w, struct bin_args *a, const uint32_t *ranks,
		   unsigned nranks, double *ops)
{
	enum { BATCHES = 60, CALLS = 320 };
	const int batches = bench_options.quick ? BATCHES / 10 : BATCHES;
	const unsigned calls = bench_options.quick ? CALLS / 5 : CALLS;
	double ns[BATCHES];

	*ops = 0;
	for (unsigned i = 0; i < nranks; i++) {
		a->rank = ranks[i];
		*ops += (double)w(b, r, a) / nranks;
	}
	for (int k = 0; k < batches; k++) {
		uint64_t t = bench_cpu();

		for (unsigned i = 0; i < calls; i++) {
			a->rank = ranks[i % nranks];
			w(b, r, a);
		}
		ns[k] = (double)(bench_cpu() - t) / calls;
	}
	return bench_stats(ns, (size_t)batches).best;
}

/* Returns the time of a call with cold caches. */
static double cold(const struct bin *b, struct room *r, way *w, struct bin_args *a, uint32_t rank)
{
	enum { CALLS = 9 };
	static char other[(size_t)64 << 20];
	int calls = bench_options.quick ? 1 : CALLS;
	double ns[CALLS];

	a->rank = rank;
	for (int k = 0; k < calls; k++) {
		uint64_t t;

		memset(other, k, sizeof other);
		__asm__ volatile("" : : "r"(other) : "memory");
		t = bench_now();
		w(b, r, a);
		ns[k] = (double)(bench_now() - t);
	}
	return bench_stats(ns, (size_t)calls).median;
}

static void curve(const char *name, bool concrete, unsigned most)
{
	char title[128], label[64];

	snprintf(title, sizeof title, "%s, %s; ns a rank", name, concrete ? "concrete binary" : "parametric binary");
	bench_table(title, "ranks,ops,reader,with graph,ns an op,bar,of the bar,cold reader,cold graph");
	for (unsigned log = 4; log <= most; log += 2) {
		uint32_t size = 1u << log, seed = 1, random[RANKS];
		struct image m = compile(name, concrete ? size : 0);
		struct room *r = room_for(&m.b);
		struct bin_args a = { .size = size, .count = 1000 };

		for (int i = 0; i < RANKS; i++) {
			seed = seed * 1664525u + 1013904223u;
			random[i] = (seed >> 8) % size;
		}
		const struct {
			const char *name;
			const uint32_t *ranks;
			unsigned n;
		} sets[] = { { "first", (const uint32_t[]){ 0 }, 1 },
			     { "middle", (const uint32_t[]){ size / 2 }, 1 },
			     { "last", (const uint32_t[]){ size - 1 }, 1 },
			     { "random", random, RANKS } };

		for (unsigned i = 0; i < sizeof sets / sizeof *sets; i++) {
			double ops, bare, graph, bar;

			bare = warm(&m.b, r, ops_of, &a, sets[i].ranks, sets[i].n, &ops);
			graph = warm(&m.b, r, graph_of, &a, sets[i].ranks, sets[i].n, &ops);
			bar = 1000 + 20 * ops;
			snprintf(label, sizeof label, "2^%u %s", log, sets[i].name);
			BENCH_ROW(label, ops, bare, graph, graph / ops, bar, graph / bar, cold(&m.b, r, ops_of, &a, sets[i].ranks[0]),
				  cold(&m.b, r, graph_of, &a, sets[i].ranks[0]));
		}
		free(r->sp.scratch);
		free(r);
		free(m.at);
	}
}

/* Measures local passes at bind, for several numbers of ranks and of elements. */
static void passed(const char *name, const char *list, int64_t count)
{
	struct image m = compile(name, 0);
	struct room *r = room_for(&m.b);
	char title[160], label[64];

	snprintf(title, sizeof title, "%s -T %s, count %d; ns a rank", name, list, (int)count);
	bench_table(title, "ranks,ops before,ops,with graph,with passes,ns an op,bar,of the bar");
	passes_now = list;
	for (unsigned log = 4; log <= 20; log += 8)
		for (unsigned last = 0; last < 2; last++) {
			struct bin_args a = { .size = 1u << log, .count = count };
			const uint32_t rank = last ? a.size / 2 : 0;
			double before, ops, graph, all, bar;

			graph = warm(&m.b, r, graph_of, &a, &rank, 1, &before);
			all = warm(&m.b, r, passed_of, &a, &rank, 1, &ops);
			bar = 2000 + 50 * fmax(before, ops);
			snprintf(label, sizeof label, "2^%u %s", log, last ? "middle" : "first");
			BENCH_ROW(label, before, ops, graph, all, all / ops, bar, all / bar);
		}
	free(r->sp.scratch);
	free(r);
	free(m.at);
}

/* Measures the schedules of the library that take O(log P) steps: for each schedule, the rank that takes longest. */
static void library(void)
{
	static const char *const names[] = {
		"barrier_dissemination", "barrier_tree", "bcast_binomial", "bcast_knomial", "bcast_binary", "bcast_trinary",
		"bcast_trinaryx3", "gather_binomial", "scatter_binomial", "allgather_bruck", "allgather_recursive_doubling",
		"reduce_binomial", "reduce_knomial", "reduce_rabenseifner", "allreduce_recursive_doubling", "allreduce_rabenseifner",
		"allreduce_reduce_bcast", "scan_binomial", "exscan_binomial",
	};
	char label[64];

	bench_table("the library; ns of the dearest of its ranks", "schedule,ops,with graph,ns an op,bar,of the bar");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct image m = compile(names[i], 0);

		for (unsigned log = 4; log <= 20; log += 8) {
			uint32_t size = 1u << log;
			/* Ranks near both ends and in the middle, among them odd numbers and numbers with many bits set. */
			const uint32_t ranks[] = { 0, 1, size / 4 + 1, size / 2 - 1, size / 2, size - 2, size - 1 };
			double worst = 0, worst_ns = 0, worst_ops = 0, ops, ns;
			struct bin_args a = { .size = size, .count = 1000 };

			for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++) {
				ns = warm(&m.b, NULL, graph_of, &a, &ranks[k], 1, &ops);
				if (ns / (2000 + 50 * ops) > worst) {
					worst = ns / (2000 + 50 * ops);
					worst_ns = ns;
					worst_ops = ops;
				}
			}
			snprintf(label, sizeof label, "%s 2^%u", names[i], log);
			BENCH_ROW(label, worst_ops, worst_ns, worst_ns / worst_ops, 2000 + 50 * worst_ops, worst);
		}
		free(m.at);
	}
}

static bool option(int c, const char *arg)
{
	dir = arg;
	return c == 's';
}

int main(int argc, char **argv)
{
	bench_begin(argc, argv,
		    "usage: specialise [-j] [-q] [-s DIR]\n"
		    "  -j  JSON          -q  fewer runs\n"
		    "  -s  where the schedules are\n",
		    "s:", option);
	bench_method("ns of this thread's computing time for one rank, the best of batches of calls: reader = the bare reader "
		     "into memory that is there, with graph = as bind calls it, with memory of its own and dependencies by "
		     "op; cold = wall time of a call after 64 MB of other data; the bar is 20 ns an op and 1000 ns, with passes 50 ns and 2000 ns, of the ops before or after, whichever are more");
	bench_yardsticks();
	curve("bcast_binomial", false, 20);
	curve("barrier_dissemination", false, 20);
	curve("bcast_binomial", true, 14);
	curve("barrier_dissemination", true, 14);
	library();
	passed("bcast_binomial", "segment:size=1000", 1000); /* a pass that changes nothing */
	passed("bcast_binomial", "segment:size=500", 1000);
	passed("bcast_binomial", "segment:size=100", 1000);
	passed("bcast_binomial", "segment:size=10", 1000);
	passed("allreduce_recursive_doubling", "segment:size=100", 1000);
	passed("allreduce_recursive_doubling", "fuse", 1000);
	passed("reduce_binomial", "fuse:wait=1", 1000);
	passed("reduce_binomial", "segment:size=100;fuse:wait=1", 1000);
	passed("reduce_binomial", "reduce-deps", 1000);
	passed("reduce_binomial", "segment:size=10;reduce-deps", 1000);
	passed("allreduce_reduce_bcast", "split-tree:S=2;odd-even", 1000);
	passed("reduce_binomial", "segment:size=10;split-tree:S=2", 1000);
	return bench_end();
}
