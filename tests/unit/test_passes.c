/* SPDX-License-Identifier: BSD-3-Clause
 * Passes: lists of them, exactly what they make of small schedules, and that schedules do the same after them, in
 * random orders of the reference executor. */
#include "compiler/passes/passes.h"

#include "compiler/analysis/checks.h"
#include "compiler/compile.h"
#include "compiler/ir/args.h"
#include "compiler/transform.h"
#include "format/check.h"
#include "tests/loop/loop.h"
#include "tests/unit/unit.h"
#include "util/err.h"
#include "util/file.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists ---- */

#define NO_PASS                                                                                       \
	"there is no pass ; it is one of hierarchy, segment, fuse, reorder, reduce-deps, coalesce, " \
	"sparse-rounds, split-tree, odd-even, lower-smcq"

static void lists(void)
{
	static const struct {
		const char *arg, *why;
	} bad[] = {
		{ "", NO_PASS },
		{ "segments:size=3", "there is no pass segments; did you mean segment?" },
		{ "segment", "the pass segment needs segment:size=N" },
		{ "segment:", "the pass segment has no key ; it is one of size" },
		{ "segment:len=3", "the pass segment has no key len; it is one of size" },
		{ "segment:siz=3", "the pass segment has no key siz; did you mean size?" },
		{ "reduce-deps:a=3", "the pass reduce-deps has no key a" },
		{ "segment:size", "the key size of the pass segment is a number from 1 to 9223372036854775807, not " },
		{ "segment:size=0", "the key size of the pass segment is a number from 1 to 9223372036854775807, not 0" },
		{ "segment:size=x", "the key size of the pass segment is a number from 1 to 9223372036854775807, not x" },
		{ "segment:size=-1", "the key size of the pass segment is a number from 1 to 9223372036854775807, not -1" },
		{ "fuse:wait=2", "the key wait of the pass fuse is a number from 0 to 1, not 2" },
		{ "fuse:wait=1,", "the pass fuse has no key ; it is one of wait" },
		{ "split-tree", "the pass split-tree needs split-tree:S=N" },
		{ "split-tree:S=auto", "split-tree:S=auto needs cores=N too" },
		{ "split-tree:S=auto,cores=0", "split-tree:S=auto needs cores=N too" },
		{ "split-tree:S=1,cores=auto", "the key cores of the pass split-tree is a number from 0 to 2147483647, not auto" },
		{ "split-tree:S=aut", "the key S of the pass split-tree is auto or a number from 0 to 65536, not aut" },
		{ "split-tree:S=-1", "the key S of the pass split-tree is auto or a number from 0 to 65536, not -1" },
		{ "fuse;;fuse", NO_PASS },
		{ "fuse;", NO_PASS },
		{ "hierarchy:ranks=2;fuse;hierarchy", "the pass hierarchy can be given once" },
		{ "hierarchy:ranks=2..3", "the key ranks of the pass hierarchy is numbers from 1 to 2147483647 with dots between them, not 2..3" },
		{ "hierarchy:ranks=0", "the key ranks of the pass hierarchy is numbers from 1 to 2147483647 with dots between them, not 0" },
	};
	char *list = NULL;
	const char *rest;
	const struct pass *p;
	int64_t value[PASS_KEYS];

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct text why = { 0 };

		CU_ASSERT_EQUAL(passes_add(&list, bad[i].arg, &why), -ERR_VERSION);
		CU_ASSERT_STRING_EQUAL(why.at, bad[i].why);
		CU_ASSERT_PTR_NULL(list);
		free(why.at);
	}
	CU_ASSERT_EQUAL(passes_add(&list, "segment:size=3;fuse", NULL), 0);
	CU_ASSERT_EQUAL(passes_add(&list, "fuse:wait=1", NULL), 0);
	CU_ASSERT_STRING_EQUAL_FATAL(list, "segment:size=3;fuse;fuse:wait=1");
	CU_ASSERT_PTR_NULL(passes_global(list));
	CU_ASSERT_EQUAL(passes_count(list), 7);
	rest = list;
	CU_ASSERT(pass_take(&rest, &p, value, NULL) == 0 && !strcmp(p->name, "segment") && value[0] == 3);
	CU_ASSERT(pass_take(&rest, &p, value, NULL) == 0 && !strcmp(p->name, "fuse") && value[0] == 0);
	CU_ASSERT(pass_take(&rest, &p, value, NULL) == 0 && !strcmp(p->name, "fuse") && value[0] == 1 && !*rest);
	CU_ASSERT_FALSE(passes_need_root(list));
	CU_ASSERT_EQUAL(passes_add(&list, "split-tree:S=auto,cores=9", NULL), 0);
	CU_ASSERT(passes_need_root(list));
	CU_ASSERT_PTR_EQUAL(passes_on_ops(list), list);
	CU_ASSERT_EQUAL(passes_add(&list, "odd-even;hierarchy", NULL), 0);
	CU_ASSERT_STRING_EQUAL_FATAL(list, "hierarchy;segment:size=3;fuse;fuse:wait=1;split-tree:S=auto,cores=9;odd-even");
	CU_ASSERT_STRING_EQUAL(passes_on_ops(list), list + strlen("hierarchy;"));
	CU_ASSERT_STRING_EQUAL(passes_open(list), "hierarchy");
	free(list);
}

/* ---- what they make of small schedules ---- */

/* A schedule at one size. */
struct bed {
	void *image;
	size_t size;
	struct bin bin;
	struct ir_graph graph;
};

static bool compile(struct bed *b, const char *name, const char *text)
{
	struct goal_diags *d = goal_diags_new();
	struct compile_options o = { .debug = true };
	bool ok;

	*b = (struct bed){ 0 };
	ok = d && !compile_text(d, name, text, strlen(text), &o, &b->image, &b->size) &&
	     !bin_open(&b->bin, b->image, b->size);
	if (!ok && d)
		fputs(goal_diags_text(d), stderr);
	goal_diags_free(d);
	return ok;
}

/* With the values of a sample. */
static int specialise(struct bed *b, uint32_t p, int64_t count, int64_t root, unsigned sample)
{
	struct arg_rows rows;
	struct bin_args a = { .size = p, .count = count };
	struct ir_fault fault;
	uint32_t rank;
	int err = arg_rows_init(&rows, &b->bin, p);

	CU_ASSERT_EQUAL_FATAL(err, 0);
	CU_ASSERT_EQUAL_FATAL(collective_sample(&b->bin, count, sample, &rows), 0);
	if (b->bin.meta->root != BIN_NONE)
		arg_rows_set(&rows, b->bin.meta->root, (struct bin_arg){ .known = true, .value = root });
	a.by_rank = rows.by_rank;
	err = ir_graph_specialise(&b->bin, &a, &b->graph, &rank, &fault);
	arg_rows_fini(&rows);
	return err;
}

/* The ops of a rank, "number: op ranges peer after others" on a line each. */
static void show(const struct bed *b, uint32_t rank, struct text *t)
{
	const struct ir_rank *r = &b->graph.ranks[rank];

	for (uint32_t i = 0; i < r->nops; i++) {
		const struct bin_op *o = &r->ops[i];

		text_add(t, "%u: %s", i, ir_op_word(o->kind));
		for (unsigned k = 0; k < bin_nranges(o->kind); k++)
			text_add(t, " %s[%d+%d]", bin_str(&b->bin, b->bin.buffers[o->buf[k]].name), (int)o->off[k],
				 (int)o->len);
		if (bin_is_message(o->kind))
			text_add(t, " %s %u", bin_sends(o->kind) ? "to" : "from", o->peer);
		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++)
			text_add(t, "%s%s%u", d == r->dep_at[i] ? " after " : ",", r->deps[d] & BIN_START ? "start of " : "",
				 r->deps[d] & ~BIN_START);
		text_add(t, "\n");
	}
}

/* What passes make of rank 1 of three, with count 5. */
static const struct {
	const char *list, *body, *want;
} cases[] = {
	/* the pieces of a forward follow each other */
	{ "segment:size=2",
	  "got: recv d from 0\nout: send d to 2\nout requires got\n",
	  "0: recv d[0+2] from 0\n1: recv d[2+2] from 0\n2: recv d[4+1] from 0\n"
	  "3: send d[0+2] to 2 after 0\n4: send d[2+2] to 2 after 1\n5: send d[4+1] to 2 after 2\n" },
	/* of ranges that do not line up each piece waits for two */
	{ "segment:size=2",
	  "got: recv e[0 +: 5] from 0\nout: send e[1 +: 4] to 2\nout requires got\n",
	  "0: recv e[0+2] from 0\n1: recv e[2+2] from 0\n2: recv e[4+1] from 0\n"
	  "3: send e[1+2] to 2 after 0,1\n4: send e[3+2] to 2 after 1,2\n" },
	/* no common elements: all wait for all, by way of a nop */
	{ "segment:size=2",
	  "got: recv d from 0\nout: send e[0 +: 5] to 2\nout requires got\n",
	  "0: recv d[0+2] from 0\n1: recv d[2+2] from 0\n2: recv d[4+1] from 0\n3: nop after 0,1,2\n"
	  "4: send e[0+2] to 2 after 3\n5: send e[2+2] to 2 after 3\n6: send e[4+1] to 2 after 3\n" },
	/* several of them: a nop in front; a start is that of all pieces */
	{ "segment:size=3",
	  "a: recv d from 0\nb: calc 7\nout: send e[0 +: 5] to 2\nout requires b\nout irequires a\n",
	  "0: recv d[0+3] from 0\n1: recv d[3+2] from 0\n2: calc\n3: nop after 2,start of 0,start of 1\n"
	  "4: send e[0+3] to 2 after 3\n5: send e[3+2] to 2 after 3\n" },
	/* short ops stay; one that waits for some elements waits for their pieces only */
	{ "segment:size=2",
	  "got: recv d from 0\nout: send d[1 +: 2] to 2\nout requires got\n",
	  "0: recv d[0+2] from 0\n1: recv d[2+2] from 0\n2: recv d[4+1] from 0\n3: send d[1+2] to 2 after 0,1\n" },
	/* order that a chain gave is lost by pieces, so that it becomes a dependency: new waits for out */
	{ "segment:size=2",
	  "out: send e[0 +: 5] to 2\nmid: copy e[4 +: 4] into t[0 +: 4]\nnew: recv e[0 +: 5] from 0\n"
	  "mid requires out\nnew requires mid\n",
	  "0: send e[0+2] to 2\n1: send e[2+2] to 2\n2: send e[4+1] to 2\n3: copy e[4+2] t[0+2] after 2\n"
	  "4: copy e[6+2] t[2+2]\n5: recv e[0+2] from 0 after 0\n6: recv e[2+2] from 0 after 1\n"
	  "7: recv e[4+1] from 0 after 2,3\n" },

	/* receive and reduce */
	{ "fuse",
	  "got: recv t[0 +: 5] from 0\nadd: reduce t[0 +: 5] into d\nout: send d to 2\nadd requires got\nout requires add\n",
	  "0: recv-reduce d[0+5] from 0\n1: send d[0+5] to 2 after 0\n" },
	{ "fuse",
	  "got: recv t[0 +: 5] from 0\nadd: reduce d with t[0 +: 5] into d\nadd requires got\n",
	  "0: recv-reduce-with d[0+5] from 0\n" },
	/* not so when somebody else reads it, */
	{ "fuse",
	  "got: recv t[0 +: 5] from 0\nadd: reduce t[0 +: 5] into d\nout: send t[0 +: 1] to 2\nadd requires got\n"
	  "out requires got\n",
	  "0: recv t[0+5] from 0\n1: reduce t[0+5] d[0+5] after 0\n2: send t[0+1] to 2 after 0\n" },
	/* when it is only a part, */
	{ "fuse",
	  "got: recv t[0 +: 5] from 0\nadd: reduce t[0 +: 3] into d[0 +: 3]\nadd requires got\n",
	  "0: recv t[0+5] from 0\n1: reduce t[0+3] d[0+3] after 0\n" },
	/* or when the recv would have to wait for a message: that may be for ever */
	{ "fuse",
	  "got: recv t[0 +: 5] from 0\nout: send d to 0\nadd: reduce t[0 +: 5] into d\nadd requires got, out\n",
	  "0: recv t[0+5] from 0\n1: send d[0+5] to 0\n2: reduce t[0+5] d[0+5] after 0,1\n" },
	{ "fuse:wait=1",
	  "got: recv t[0 +: 5] from 0\nout: send d to 0\nadd: reduce t[0 +: 5] into d\nadd requires got, out\n",
	  "0: recv-reduce d[0+5] from 0 after 1\n1: send d[0+5] to 0\n" },
	/* unless it waits for that already */
	{ "fuse",
	  "out: send d to 0\ngot: recv t[0 +: 5] from 0\nadd: reduce t[0 +: 5] into d\ngot requires out\n"
	  "add requires got, out\n",
	  "0: send d[0+5] to 0\n1: recv-reduce d[0+5] from 0 after 0\n" },
	/* what is the rank's own business can be waited for; who waits for the start of the reduce waits for the recv */
	{ "fuse",
	  "got: recv t[0 +: 5] from 0\nown: copy e[0 +: 5] into d\nadd: reduce t[0 +: 5] into d\nadd requires got, own\n"
	  "n: nop\nn irequires add\n",
	  "0: recv-reduce d[0+5] from 0 after 1\n1: copy e[0+5] d[0+5]\n2: nop after 0\n" },
	/* but not for what waits for the recv */
	{ "fuse",
	  "got: recv t[0 +: 5] from 0\nown: copy t[5 +: 5] into d\nadd: reduce t[0 +: 5] into d\nown requires got\n"
	  "add requires got, own\n",
	  "0: recv t[0+5] from 0\n1: copy t[5+5] d[0+5] after 0\n2: reduce t[0+5] d[0+5] after 0,1\n" },

	/* a copy that others can do without */
	{ "fuse",
	  "c: copy d into t[5 +: 5]\nout: send t[6 +: 2] to 2\nout requires c\n",
	  "0: send d[1+2] to 2\n" },
	/* the original must stay as long as it is read */
	{ "fuse",
	  "c: copy d into t[0 +: 5]\nout: send t[0 +: 5] to 2\nnew: recv d from 0\nout requires c\nnew requires c\n",
	  "0: copy d[0+5] t[0+5]\n1: send t[0+5] to 2 after 0\n2: recv d[0+5] from 0 after 0\n" },
	{ "fuse",
	  "c: copy d into t[0 +: 5]\nout: send t[0 +: 5] to 2\nnew: recv d from 0\nout requires c\nnew requires c, out\n",
	  "0: send d[0+5] to 2\n1: recv d[0+5] from 0 after 0\n" },
	/* nobody may write to the copy, or read more than it */
	{ "fuse",
	  "c: copy d into t[0 +: 5]\nadd: reduce e[0 +: 5] into t[0 +: 5]\nadd requires c\n",
	  "0: copy d[0+5] t[0+5]\n1: reduce e[0+5] t[0+5] after 0\n" },
	{ "fuse",
	  "c: copy d into t[0 +: 5]\nout: send t[0 +: 6] to 2\nout requires c\n",
	  "0: copy d[0+5] t[0+5]\n1: send t[0+6] to 2 after 0\n" },
	/* copies of copies; what several wait for is kept by a nop */
	{ "fuse",
	  "a: calc 1\nb: calc 2\nc: copy d into t[0 +: 5]\nf: copy t[0 +: 5] into t[5 +: 5]\nout: send t[5 +: 5] to 2\n"
	  "c requires a, b\nf requires c\nout requires f\n",
	  "0: calc\n1: calc\n2: nop after 0,1\n3: send d[0+5] to 2 after 2\n" },

	/* receive where the copy would go, and send on from there */
	{ "fuse",
	  "got: recv t[0 +: 5] from 0\nc: copy t[0 +: 5] into d\nout: send t[0 +: 5] to 2\nc requires got\nout requires got\n",
	  "0: recv d[0+5] from 0\n1: send d[0+5] to 2 after 0\n" },
	/* but not when it is overwritten there */
	{ "fuse",
	  "got: recv t[0 +: 5] from 0\nc: copy t[0 +: 5] into d\nout: send t[0 +: 5] to 2\nnew: recv d from 0 tag 1\n"
	  "c requires got\nout requires got\nnew requires c\n",
	  "0: recv t[0+5] from 0\n1: copy t[0+5] d[0+5] after 0\n2: send t[0+5] to 2 after 0\n"
	  "3: recv d[0+5] from 0 after 1\n" },

	/* c, on which f depends, comes first; b and g are of one channel and stay in order */
	{ "reorder",
	  "a: calc 1\nb: send e[0 +: 2] to 2 tag 1\nc: recv d from 0\nf: send d to 2\ng: send e[0 +: 9] to 2 tag 1\n"
	  "f requires c\n",
	  "0: recv d[0+5] from 0\n1: send d[0+5] to 2 after 0\n2: send e[0+2] to 2\n3: send e[0+9] to 2\n4: calc\n" },

	{ "reduce-deps",
	  "a: nop\nb: nop\nc: nop\nb requires a\nc requires a, b\nc irequires a\n",
	  "0: nop\n1: nop after 0\n2: nop after 1\n" },
	{ "reduce-deps",
	  "a: calc 1\nb: nop\nc: nop\nb irequires a\nc requires a, b\n",
	  "0: calc\n1: nop after start of 0\n2: nop after 0,1\n" },
};

static void exact(void)
{
	static const char head[] = "schedule s\nbuffer inout d[count]\nbuffer inout e[2 * count]\n"
				   "buffer scratch t[2 * count]\nrank r of p {\nif r == 1 {\n";
	char text[1024];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct goal_diags *d = goal_diags_new();
		const struct define count = { "count", -1, (const int64_t[]){ 5 }, 1, false };
		struct compile_options o = { .nranks = 3, .defines = &count, .ndefines = 1, .checks_off = UINT64_MAX };
		struct text got = { 0 };
		struct bed b = { 0 };
		struct pass_ctx c;

		snprintf(text, sizeof text, "%s%s}\n}\n", head, cases[i].body);
		int err = compile_text(d, "t.goal", text, strlen(text), &o, &b.image, &b.size);

		fputs(goal_diags_text(d), stderr);
		CU_ASSERT_EQUAL_FATAL(err, 0);
		CU_ASSERT_EQUAL_FATAL(bin_open(&b.bin, b.image, b.size), 0);
		CU_ASSERT_EQUAL_FATAL(specialise(&b, 3, 5, 0, 0), 0);
		c = passes_ctx(&b.bin, &(struct bin_args){ .size = 3 });
		CU_ASSERT_EQUAL(passes_run_graph(cases[i].list, &b.graph, &c, NULL), 0);
		show(&b, 1, &got);
		if (strcmp(got.at, cases[i].want) != 0) {
			fprintf(stderr, "%s of\n%smakes\n%snot\n%s", cases[i].list, cases[i].body, got.at, cases[i].want);
			CU_FAIL("a pass makes other ops");
		}
		free(got.at);
		ir_graph_fini(&b.graph);
		free(b.image);
		goal_diags_free(d);
	}
}

/* ---- that schedules do the same ---- */

#define MOST 16u

/* Not commutative, but associative: affine maps modulo 1009 packed into one number. */
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

/* Runs a graph on buffers of its own, sizes[rank][buffer] long; all ranks' buffers but scratch are left in *out. */
static int go(const struct bed *b, uint64_t *const *sizes, uint64_t seed, struct text *out)
{
	char **buffers[MOST];
	struct loop_job job = { .graph = &b->graph,
				.buffers = (char *const *const *)buffers,
				.elem = 4,
				.reduce = reduce,
				.seed = seed };
	uint32_t n = b->bin.nbuffers, rank, op;
	int err;

	for (uint32_t r = 0; r < b->graph.nranks; r++) {
		buffers[r] = calloc(n + 1, sizeof *buffers[r]);
		for (uint32_t i = 0; i < n; i++) {
			int32_t *p = calloc(sizes[r][i] + 1, sizeof *p);

			for (uint64_t k = 0; k < sizes[r][i]; k++)
				p[k] = (int32_t)((r * 7919 + i * 104729 + k * 31) % (1009 * 1009));
			buffers[r][i] = (char *)p;
		}
	}
	err = loop_run(&job, &rank, &op);
	for (uint32_t r = 0; r < b->graph.nranks; r++) {
		for (uint32_t i = 0; i < n; i++) {
			for (uint64_t k = 0; k < sizes[r][i] && b->bin.buffers[i].mode != BIN_SCRATCH; k++)
				text_add(out, "%d ", ((int32_t *)(void *)buffers[r][i])[k]);
			free(buffers[r][i]);
		}
		free(buffers[r]);
	}
	return err;
}

/* One size of one schedule: whether the result is the same with passes as without, in some orders. */
static bool same(struct bed *b, const char *list, uint32_t p, int64_t count, int64_t root, unsigned sample)
{
	struct pass_ctx c = passes_ctx(&b->bin, &(struct bin_args){ .size = p });
	uint64_t *sizes[MOST];
	struct text want = { 0 };
	struct goal_diags *d = goal_diags_new();
	bool ok = true;
	int err = specialise(b, p, count, root, sample);

	c.root = (uint32_t)root;
	if (err) /* an assertion of the schedule's */
		goto out;
	for (uint32_t r = 0; r < p; r++) {
		sizes[r] = calloc(b->bin.nbuffers + 1, sizeof *sizes[r]);
		memcpy(sizes[r], b->graph.ranks[r].bufsize, b->bin.nbuffers * sizeof *sizes[r]);
	}
	ok = !go(b, sizes, 1, &want) && !transform_graph(d, list, &c, CHECK_PARAMETRIC, 0, &b->graph) &&
	     !goal_diags_errors(d);
	for (uint64_t seed = 1; seed < 4 && ok; seed++) {
		struct text got = { 0 };

		ok = !go(b, sizes, seed, &got) && got.n == want.n && (!want.n || !strcmp(got.at, want.at));
		free(got.at);
	}
	if (!ok)
		fprintf(stderr, "%s, %u ranks, count %d, root %d, sample %u: %s", list, p, (int)count, (int)root, sample,
			goal_diags_text(d));
	for (uint32_t r = 0; r < p; r++)
		free(sizes[r]);
	ir_graph_fini(&b->graph);
out:
	free(want.at);
	goal_diags_free(d);
	return ok;
}

static void schedules(void)
{
	static const char *const lists[] = { "segment:size=1", "segment:size=3", "fuse", "segment:size=2;fuse",
					     "fuse;segment:size=3", "reduce-deps", "segment:size=2;fuse;reduce-deps", "reorder",
					     "odd-even;segment:size=2;fuse", "segment:size=2;reorder:constant=0;fuse",
					     "segment:size=2;lower-smcq:cqs=256,assist=1" };
	static const uint32_t sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16 };
	glob_t g;
	unsigned bad = 0, ran = 0;

	CU_ASSERT_EQUAL_FATAL(glob("schedules/*.goal", 0, NULL, &g), 0);
	CU_ASSERT_EQUAL_FATAL(glob("tests/passes/*.goal", GLOB_APPEND, NULL, &g), 0);
	for (size_t s = 0; s < g.gl_pathc; s++) {
		struct bed b;
		char *text;
		size_t len;

		CU_ASSERT_EQUAL_FATAL(file_read(g.gl_pathv[s], &text, &len), 0);
		CU_ASSERT_FATAL(compile(&b, g.gl_pathv[s], text));
		for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
			for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++, ran++)
				if (!same(&b, lists[l], sizes[i], i % 2 ? 7 : 4, sizes[i] / 2,
					  (unsigned)(i + l) % collective_samples(&b.bin))) {
					fprintf(stderr, "%s is not the same\n", g.gl_pathv[s]);
					bad++;
				}
		free(text);
		free(b.image);
	}
	globfree(&g);
	CU_ASSERT_EQUAL(bad, 0);
	CU_ASSERT(ran > 100);
}

const struct unit_suite suite_passes = { "passes", (const struct unit_test[]){ { "lists", lists },
									       { "exact", exact },
									       { "schedules", schedules },
									       { NULL, NULL } } };
