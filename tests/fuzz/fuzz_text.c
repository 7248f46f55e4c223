/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes the compiler with text. The last byte of an input chooses the options, the rest is the source.
 * What compiles must pass bin_check, and plain GOAL must come out of its own text unchanged. */
#include "compiler/compile.h"
#include "compiler/print/print.h"
#include "util/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUEL 30000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool cond, const char *what)
{
	if (cond)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

/* Text of a plain binary, compiled again. */
static void again(const struct bin *b, const void *image, size_t size)
{
	struct goal_diags *d = goal_diags_new();
	const struct compile_options o = { .fuel = FUEL };
	struct ir_graph g = { 0 };
	char *text = NULL;
	void *copy = NULL;
	size_t copy_size = 0;

	must(compile_graph(d, 0, b, &(struct bin_args){ 0 }, &g) == 0, "a compiled file has no graph");
	must(print_goal(&g, &text) == 0, "no text");
	must(compile_text(d, "again", text, strlen(text), &o, &copy, &copy_size) == 0, "the text does not compile");
	must(copy_size == size && !memcmp(copy, image, size), "the text compiles to something else");
	free(text);
	free(copy);
	ir_graph_fini(&g);
	goal_diags_free(d);
}

/* Prints every rank of a binary in every way, at a size where that takes few steps. */
static void show(const struct bin *b, uint32_t nranks, int64_t count, const struct bin_arg *args)
{
	struct bin_args a = { .size = b->meta->nranks ? b->meta->nranks : nranks,
			      .count = count,
			      .args = args,
			      .fuel = FUEL };
	struct goal_diags *d = goal_diags_new();
	struct ir_graph g = { 0 };
	struct ir_fault fault;
	struct ir_stats st;
	char *text[4] = { 0 };
	uint32_t rank;

	if (ir_graph_specialise(b, &a, &g, &rank, &fault) == 0) {
		print_stats(&g, &st);
		print_goal(&g, &text[0]);
		print_dot(b, &g, &text[1]);
		print_json(b, &g, &text[2]);
		print_dump(b, &g, &text[3]);
	}
	for (int i = 0; i < 4; i++)
		free(text[i]);
	ir_graph_fini(&g);
	goal_diags_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t sizes[] = { 0, 0, 0, 1, 2, 3, 5, 9 };
	static const int64_t values[] = { 1, 2, 3, 0, 1, 2, 3, 0, 5 };
	const struct define defines[] = {
		{ .name = "v", .rank = -1, .value = values, .n = sizes[size ? data[size - 1] & 7 : 0] },
		{ .name = "count", .rank = -1, .value = values + 2, .n = 1 },
		{ .name = "root", .rank = -1, .value = values, .n = 1 },
	};
	static const char *const lists[] = { "reduce-deps", "fuse;reduce-deps", "fuse:wait=1", "reorder;fuse" };
	uint8_t choice = size ? data[--size] : 0;
	struct compile_options o = { .nranks = sizes[choice & 7],
				     .debug = choice & 8,
				     .passes = choice & 16 ? lists[size ? data[size - 1] >> 3 & 3 : 0] : NULL,
				     .checks_off = choice & 128 ? UINT64_MAX : 0,
				     .fuel = FUEL };
	struct goal_diags *d = goal_diags_new();
	char *text = malloc(size + 1); /* so that reading beyond the end shows */
	void *image = NULL;
	size_t image_size = 0;
	struct bin b;

	if (o.nranks && choice & 32) {
		o.defines = defines;
		o.ndefines = choice & 64 ? 3 : 1;
	}
	if (size)
		memcpy(text, data, size);
	text[size] = '\n';
	int err = compile_text(d, "fuzz", text, size, &o, &image, &image_size);

	must(err <= 0, "a positive error");
	must(err || !goal_diags_errors(d), "errors, but success");
	must(!err || goal_diags_errors(d) || err == -ERR_NOMEM, "no reason for a failure");
	if (!err) {
		must(bin_check(image, image_size) == 0, "the binary is malformed");
		must(bin_open(&b, image, image_size) == 0, "the binary does not open");
		show(&b, 3, 4, NULL);
		if ((b.meta->flags & BIN_F_PLAIN) && !o.debug && !o.passes)
			again(&b, image, image_size);
	}
	free(image);
	free(text);
	goal_diags_free(d);
	return 0;
}
