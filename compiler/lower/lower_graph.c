/* SPDX-License-Identifier: BSD-3-Clause
 * Lowers a graph to sections of a concrete binary. The graph is one of plain GOAL, or one that passes have changed; its
 * ranges and sizes are numbers, which do not depend on count. */
#include "compiler/lower/lower.h"

#include "compiler/ir/smcq.h"
#include "format/check.h"
#include "util/err.h"

#include <stdio.h>
#include <stdlib.h>

/* Returns the row of EXPRS for a number, or -ERR_x. */
static int64_t const_row(struct ir_image *im, uint64_t v)
{
	return ir_image_expr(im, (struct bin_expr){ .op = BIN_CONST, .imm = (int64_t)v });
}

static int64_t class_of(struct ir_image *im, const struct bin_op *op)
{
	struct bin_class c = { .kind = op->kind,
			       .exec = op->exec,
			       .level = op->level,
			       .tag = op->tag,
			       .cpu = op->cpu,
			       .nic = op->nic,
			       .off = { BIN_NONE, BIN_NONE } };
	int64_t r = const_row(im, op->len);

	c.len = (uint32_t)r;
	for (unsigned k = 0; k < bin_nranges(op->kind) && r >= 0; k++) {
		c.buf[k] = op->buf[k];
		r = const_row(im, op->off[k]);
		c.off[k] = (uint32_t)r;
	}
	return r < 0 ? r : ir_image_class(im, &c);
}

/* Adds to the image the scratch buffers that passes have added to the graph. */
static int add_buffers(const struct ir_graph *g, struct ir_image *im)
{
	while (im->buffers.n < g->nbuffers) {
		char name[24];
		int64_t s;

		snprintf(name, sizeof name, "pass%zu", im->buffers.n);
		s = ir_image_string(im, name);
		if (s < 0 || VEC_PUSH(&im->buffers, (struct bin_buffer){ (uint32_t)s, BIN_SCRATCH, 0, 0 }))
			return -ERR_NOMEM;
	}
	return 0;
}

static int begin_image(const struct ir_graph *g, struct ir_image *out)
{
	int err;

	if (g->plain) {
		err = lower_plain_begin(out, g->nranks);
		return err ? err : VEC_PUSH(&out->debug_base, 0);
	}
	err = out->done ? 0 : add_buffers(g, out);
	return err || out->buffers.n == g->nbuffers ? err : -ERR_SIZE;
}

/* Adds the source line and the label of an op. */
static int add_debug(const struct ir_graph *g, const struct bin_op *op, struct ir_image *out)
{
	const char *name = ir_graph_name(g, op);
	int64_t s = *name ? ir_image_string(out, name) : 0;

	if (s < 0)
		return (int)s;
	return VEC_PUSH(&out->debug, (struct bin_op_debug){ ir_graph_loc(g, op).line, (uint32_t)s });
}

int lower_graph(const struct ir_graph *g, bool debug, struct ir_image *out)
{
	VEC(struct bin_op32) ops = { 0 };
	VEC(uint32_t) sizes = { 0 };
	int err = begin_image(g, out);

	for (uint32_t r = 0; r < g->nranks && !err; r++) {
		const struct ir_rank *rank = &g->ranks[r];

		ops.n = sizes.n = 0;
		for (uint32_t i = 0; i < rank->nops && !err; i++) {
			const struct bin_op *op = &rank->ops[i];
			int64_t cls = g->plain ? lower_plain_class(out, op) : class_of(out, op);

			err = cls < 0 ? (int)cls : VEC_PUSH(&ops, ir_image_op(out, op, (uint32_t)cls));
			if (!err && debug)
				err = add_debug(g, op, out);
		}
		for (uint32_t i = 0; !g->plain && i < g->nbuffers && !err; i++) {
			int64_t size = const_row(out, rank->bufsize[i]);

			err = size < 0 ? (int)size : VEC_PUSH(&sizes, (uint32_t)size);
		}
		err = err ? err : ir_image_rank(out, rank, ops.at, g->plain ? NULL : sizes.at);
		if (debug && !err)
			err = VEC_PUSH(&out->debug_base, (uint32_t)out->debug.n);
	}
	if (!err && g->queues)
		err = smcq_to_image(g->queues, out);
	VEC_FREE(&ops);
	VEC_FREE(&sizes);
	return err;
}

int lower_image(const struct ir_graph *g, const struct bin *b, const struct bin_args *args, void **image, size_t *size)
{
	struct ir_image im;
	int err = ir_image_init(&im);

	if (!err && b)
		err = lower_concrete_begin(b, args, false, &im);
	err = err ? err : lower_graph(g, true, &im);
	err = err ? err : ir_image_finish(&im, true, image, size);
	ir_image_fini(&im);
	return err;
}
