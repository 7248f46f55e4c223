/* SPDX-License-Identifier: BSD-3-Clause
 * What schedules claim, of parametric and concrete binaries. */
#include "compiler/collectives/collective.h"
#include "compiler/compile.h"
#include "tests/unit/unit.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Compiles a text, or says why not. */
static bool compile(const char *text, const struct compile_options *o, void **image, struct bin *b)
{
	struct goal_diags *d = goal_diags_new();
	size_t size = 0;
	int err = d ? compile_text(d, "test.goal", text, strlen(text), o, image, &size) : -ERR_NOMEM;

	if (err && d)
		fputs(goal_diags_text(d), stderr);
	goal_diags_free(d);
	return !err && !bin_check(*image, size) && !bin_open(b, *image, size);
}

/* "buf off len < rank:buf+off ..." for each range, a line each. */
static void print(const struct expected *w, char *out, size_t size)
{
	size_t n = 0;

	*out = '\0';
	for (size_t i = 0; i < w->v.n && n < size; i++) {
		const struct expected_range *x = &w->v.at[i];

		n += (size_t)snprintf(out + n, size - n, "%u %" PRIu64 " %" PRIu64 " <", x->buf, x->off, x->len);
		for (uint32_t k = 0; k < x->nsrc && n < size; k++) {
			const struct expected_src *s = &w->src.at[x->src + k];

			n += (size_t)snprintf(out + n, size - n, " %u:%u+%" PRIu64, s->rank, s->buf, s->off);
		}
		if (n < size)
			n += (size_t)snprintf(out + n, size - n, "\n");
	}
}

/* What a rank wants, as a text. */
static int wants_text(const struct bin *b, const struct bin_args *args, char *out, size_t size)
{
	struct expected w = { 0 };
	struct ir_fault fault;
	struct claim c;
	int err = claim_open(&c, b, &fault);

	if (err)
		return err;
	err = claim_expected(&c, args, &w, &fault);
	claim_close(&c);
	print(&w, out, size);
	expected_fini(&w);
	return err;
}

/* The same from a text, compiled as it is and for a fixed size, with the count open and fixed. */
static void expect(const char *text, struct bin_args args, const char *want)
{
	for (int kind = 0; kind < 2; kind++) {
		struct compile_options o = { .nranks = kind ? args.size : 0, .debug = true };
		void *image = NULL;
		char got[2048];
		struct bin b;

		CU_ASSERT_FATAL(compile(text, &o, &image, &b));
		CU_ASSERT(!wants_text(&b, &args, got, sizeof got));
		CU_ASSERT_STRING_EQUAL(got, want);
		if (strcmp(got, want) != 0)
			fprintf(stderr, "%s instead of %s", got, want);
		free(image);
	}
}

static const char pairs[] = "schedule pairs(local k = 1)\n"
			    "buffer in mine[2 * count]\n"
			    "buffer out sum[2 * count]\n"
			    "result {\n"
			    "  other = r xor 1\n"
			    "  if other < p {\n"
			    "    sum[count +: count] gets mine[(k of other) * count +: count] of min(r, other)\n"
			    "    sum[count +: count] gets mine[count +: count] of max(r, other)\n"
			    "  }\n"
			    "  sum[0 +: count] gets mine[count +: count] of r\n"
			    "}\n"
			    "rank r of p { copy mine into sum }\n";

static void own_result(void)
{
	expect(pairs, (struct bin_args){ .rank = 0, .size = 3, .count = 5 },
	       "1 0 5 < 0:0+5\n1 5 5 < 0:0+5 1:0+5\n");
	expect(pairs, (struct bin_args){ .rank = 1, .size = 3, .count = 2 },
	       "1 0 2 < 1:0+2\n1 2 2 < 0:0+2 1:0+2\n");
	expect(pairs, (struct bin_args){ .rank = 2, .size = 3, .count = 1 }, "1 0 1 < 2:0+1\n");
}

static void no_result(void)
{
	expect("schedule s\nbuffer in a[1]\nrank r of p { nop }\n", (struct bin_args){ .size = 2, .count = 1 }, "");
}

/* Values of other ranks. */
static void rows(void)
{
	const struct compile_options o = { .debug = true };
	const struct bin_arg k[2] = { { .known = true, .value = 0 }, { .known = true, .value = 1 } };
	const struct bin_arg *const by_rank[2] = { &k[0], &k[1] };
	struct bin_args args = { .size = 2, .count = 4, .by_rank = by_rank };
	void *image = NULL;
	char got[256];
	struct bin b;

	CU_ASSERT_FATAL(compile(pairs, &o, &image, &b));
	CU_ASSERT(!wants_text(&b, &args, got, sizeof got));
	CU_ASSERT_STRING_EQUAL(got, "1 0 4 < 0:0+4\n1 4 4 < 0:0+4 1:0+4\n");
	args.rank = 1;
	CU_ASSERT(!wants_text(&b, &args, got, sizeof got));
	CU_ASSERT_STRING_EQUAL(got, "1 0 4 < 1:0+4\n1 4 4 < 0:0+0 1:0+4\n");
	free(image);
}

/* A binary that nobody has compiled: it names a collective that it does not fit, and has a result that fits its own
 * buffers. */
static void name_of_another(void)
{
	static const char text[] = "schedule s(root = 0) implements MPI_Bcasx\nbuffer inout data[count]\nbuffer in more[2 * count]\n"
				   "result { data gets data of root }\nrank r of p { if r == root { for i = 1 to p - 1 { "
				   "send data to (r + i) mod p } } else { recv data from root } }\n";

	for (uint32_t n = 0; n <= 2; n += 2) {
		struct compile_options o = { .nranks = n };
		void *image = NULL;
		struct ir_fault fault;
		struct claim c;
		struct bin b;

		CU_ASSERT_FATAL(compile(text, &o, &image, &b));
		CU_ASSERT(!claim_open_named(&c, &b, &fault) && !c.any);
		strstr((char *)(uintptr_t)bin_str(&b, b.meta->implements), "sx")[1] = 't';
		CU_ASSERT(!claim_open(&c, &b, &fault) && c.any && !c.name);
		CU_ASSERT(claim_open_named(&c, &b, &fault) == -ERR_CLAIM);
		CU_ASSERT_STRING_EQUAL(fault.text, "MPI_Bcast has 0 in buffers, the schedule has 1");
		free(image);
	}
}

static const struct unit_test tests[] = {
	{ "own_result", own_result },
	{ "no_result", no_result },
	{ "rows", rows },
	{ "name_of_another", name_of_another },
	{ NULL, NULL },
};

const struct unit_suite suite_collective = { "collective", tests };
