/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes the reader of binaries. The last byte of an input chooses what to do with the image before it;
 * unless its lowest bit is set the checksums are made right first. */
#include "compiler/compile.h"
#include "compiler/passes/passes.h"
#include "compiler/print/print.h"
#include "compiler/transform.h"
#include "format/check.h"
#include "tests/fuzz/repair.h"
#include "util/err.h"

#include <stdio.h>
#include <stdlib.h>

#define FUEL 20000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool cond, const char *what)
{
	if (cond)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void run_rank(const struct bin *b, struct bin_args *a, uint32_t rank)
{
	struct bin_space sp = { .ops_cap = 30, .deps_cap = 30 };
	int err;

	a->rank = rank;
	for (int again = 0;; again++) {
		sp.ops = malloc(sp.ops_cap * sizeof *sp.ops);
		sp.deps = malloc(sp.deps_cap * sizeof *sp.deps);
		sp.bufsize = calloc(b->nbuffers, sizeof *sp.bufsize);
		sp.scratch = malloc(bin_scratch_size(b, sp.ops_cap, sp.deps_cap));
		err = bin_rank_ops(b, a, &sp);
		for (uint32_t i = 0; err == 0 && i < sp.nops; i++)
			for (unsigned k = 0; k < bin_nranges(sp.ops[i].kind); k++) {
				uint64_t room = sp.bufsize[sp.ops[i].buf[k]];

				must(sp.ops[i].len <= room && sp.ops[i].off[k] <= room - sp.ops[i].len,
				     "a range is outside of its buffer");
			}
		free(sp.ops);
		free(sp.deps);
		free(sp.bufsize);
		free(sp.scratch);
		if (err != -ERR_SPACE || again || (b->meta->flags & BIN_F_PARAMETRIC))
			return;
		sp.ops_cap = sp.nops;
		sp.deps_cap = sp.ndeps;
	}
}

static bool has_cycle(const struct ir_graph *g)
{
	bool any = false;

	for (uint32_t r = 0; r < g->nranks; r++) {
		uint32_t *pos = malloc(g->ranks[r].nops * sizeof *pos + 1), bad;

		any |= ir_rank_positions(&g->ranks[r], pos, &bad) != 0;
		free(pos);
	}
	return any;
}

/* What passes make of the ops keeps to the buffers, and has no cycle where the ops had none. */
static void transform(const struct bin *b, struct ir_graph *g, unsigned which)
{
	/* Those with segment at even places. */
	static const char *const lists[] = { "segment:size=3", "fuse:wait=1", "segment:size=2;fuse;reduce-deps", "reorder",
					     "fuse;segment:size=5", "reduce-deps", "segment:size=3;fuse:wait=1", "fuse",
					     "segment:size=3;split-tree:S=1", "split-tree:S=auto,cores=9;odd-even",
					     "segment:size=2;lower-smcq:assist=1,get=1", "fuse;lower-smcq:depth=0,sps=2" };
	const struct pass_ctx c = passes_ctx(b, &(struct bin_args){ .size = g->nranks });
	const bool cycle = has_cycle(g);
	uint64_t longest = 0;
	int err;

	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++)
			longest = g->ranks[r].ops[i].len > longest ? g->ranks[r].ops[i].len : longest;
	if (longest > 1000) /* too many pieces */
		which |= 1;
	err = passes_run_graph(lists[which % (sizeof lists / sizeof *lists)], g, &c, NULL);
	must(err == 0 || err == -ERR_PASS || err == -ERR_LEVELS || err == -ERR_DEADLOCK || err == -ERR_NOMEM ||
		     err == -ERR_CYCLE,
	     "a pass fails otherwise");
	must(err || cycle || !has_cycle(g), "a pass makes a cycle");
	for (uint32_t r = 0; r < g->nranks && !err; r++) {
		const struct ir_rank *rank = &g->ranks[r];

		for (uint32_t i = 0; i < rank->nops; i++)
			for (unsigned k = 0; k < bin_nranges(rank->ops[i].kind); k++) {
				const struct bin_op *o = &rank->ops[i];
				uint64_t room = rank->bufsize[o->buf[k]];

				must(o->len <= room && o->off[k] <= room - o->len, "a pass leaves a buffer");
			}
	}
}

/* All ranks, as goalc prints them, when they take few steps; then after passes. */
static void show(const struct bin *b, const struct bin_args *args, unsigned which)
{
	struct goal_diags *d = goal_diags_new();
	struct ir_graph g = { 0 };
	struct ir_fault fault = { 0 };
	struct ir_stats st;
	char *text[5] = { 0 };
	uint32_t rank;
	int err = ir_graph_specialise(b, args, &g, &rank, &fault);

	ir_graph_fini(&g);
	print_dump(b, NULL, &text[4]);
	goal_diags_source(d, "fuzz", NULL, 0);
	if (err != -ERR_FUEL && compile_graph(d, 0, b, args, &g) == 0) {
		for (unsigned i = 0; i < nchecks; i++)
			if (checks[i].run)
				checks[i].run(d, &g, &checks[i], GOAL_WARNING);
		print_stats(&g, &st);
		print_goal(&g, &text[0]);
		print_dot(b, &g, &text[1]);
		print_json(b, &g, &text[2]);
		print_dump(b, &g, &text[3]);
		transform(b, &g, which);
	}
	for (int i = 0; i < 5; i++)
		free(text[i]);
	ir_graph_fini(&g);
	goal_diags_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int64_t counts[] = { 7, 0, 1, INT64_MAX };
	static const int64_t elem[] = { 1, 2, 3 };
	uint8_t choice = size ? data[--size] : 0;
	unsigned char *image = malloc(size ? size : 1);
	struct bin_arg *args;
	struct bin b;

	if (size)
		memcpy(image, data, size);
	if (!(choice & 1))
		repair(image, size);
	if (bin_check(image, size) == 0) {
		must(bin_open(&b, image, size) == 0, "checked, but does not open");
		args = calloc(b.nparams + 1, sizeof *args);
		for (uint32_t i = 0; i < b.nparams; i++)
			if (b.params[i].vector)
				args[i] = (struct bin_arg){ .known = true, .elem = elem, .n = 3 };
			else if (choice & 2)
				args[i] = (struct bin_arg){ .known = true, .value = 1 };
		struct bin_args a = { .size = b.meta->nranks ? b.meta->nranks : 3,
				      .count = counts[choice >> 2 & 3],
				      .args = args,
				      .fuel = FUEL };

		run_rank(&b, &a, 0);
		run_rank(&b, &a, a.size / 2);
		run_rank(&b, &a, a.size - 1);
		if (a.size <= 4096)
			show(&b, &a, choice >> 4);
		free(args);
	}
	free(image);
	return 0;
}
