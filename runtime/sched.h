/* SPDX-License-Identifier: BSD-3-Clause
 * Schedules (sched.c, select.c), datatypes and operations (types.c). */
#ifndef RUNTIME_SCHED_H
#define RUNTIME_SCHED_H

#include "backends/backend.h"
#include "compiler/collectives/collective.h"
#include "compiler/compile.h"
#include "compiler/ir/recall.h"
#include "include/mpix_sched.h"

#include <stdatomic.h>

/* What a schedule was loaded from. Several schedules can share it. */
struct rt_image {
	_Atomic uint32_t refs;
	void *data;
	size_t size;
	struct bin bin;
	struct claim claim; /* the collective named by implements, whose definition gives the sizes of its buffers */
	bool sized; /* the sizes of buffers have to be compared with the definition at bind */
	struct ir_recall recall;
	char *selected; /* position of the row of a selection table that names the schedule, as "FILE:LINE"; or NULL */
};

struct mpix_sched {
	_Atomic uint32_t refs;
	struct mpix_sched_ctx *ctx;
	struct rt_image *image;
};

/* Creates a schedule from a file. A text is compiled with the options `o`. Returns 0 or MPIX_SCHED_ERR_*. */
int rt_sched_load(struct mpix_sched_ctx *ctx, const char *path, const struct compile_options *o, MPIX_Sched *out);
/* Creates another schedule from an image. Returns 0 or MPIX_SCHED_ERR_*. */
int rt_sched_share(struct mpix_sched_ctx *ctx, struct rt_image *image, MPIX_Sched *out);
void rt_sched_unref(struct mpix_sched *s);
/* Makes an image from `data`, a text or a binary followed by a NUL, and takes ownership of `data`. Texts are compiled with the
 * options `o`. Returns 0 or -ERR_x with an error message. */
int rt_image_make(struct mpix_sched_ctx *ctx, const char *name, char *data, size_t size, const struct compile_options *o,
		  struct rt_image **out);
void rt_image_unref(struct rt_image *image);

struct mpix_sched_type {
	_Atomic uint32_t refs;
	struct mpix_sched_ctx *ctx;
	enum MPIX_Sched_basic basic;
	struct be_layout layout;
	int64_t low, high; /* range of bytes that an element touches: [low, high) */
	struct be_block blocks[];
};

struct mpix_sched_op {
	_Atomic uint32_t refs;
	struct mpix_sched_ctx *ctx;
	MPIX_Sched_op_fn *fn;
	void *arg;
	bool commutes;
};

size_t rt_basic_size(enum MPIX_Sched_basic basic);
/* Returns the type of one basic element, which is static; NULL if there is none. */
const struct mpix_sched_type *rt_type_basic(enum MPIX_Sched_basic basic);
void rt_type_unref(struct mpix_sched_type *t);
void rt_op_unref(struct mpix_sched_op *op);

#endif
