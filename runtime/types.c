/* SPDX-License-Identifier: BSD-3-Clause
 * Datatypes and user-defined operations. */
#include "runtime/context.h"
#include "runtime/sched.h"

#include <stdlib.h>
#include <string.h>

const struct mpix_sched_type *rt_type_basic(enum MPIX_Sched_basic basic)
{
#define X(NAME, name, kind, T) { 0, sizeof(T) },
	static const struct be_block blocks[MPIX_SCHED_BASICS] = { MPIX_SCHED_BASIC_LIST(X) };
#undef X
#define X(NAME, name, kind, T)                                                                    \
	{ .basic = MPIX_SCHED_##NAME,                                                             \
	  .layout = { sizeof(T), 1, sizeof(T), 1, &blocks[MPIX_SCHED_##NAME], .contiguous = true }, \
	  .high = sizeof(T) },
	static const struct mpix_sched_type types[MPIX_SCHED_BASICS] = { MPIX_SCHED_BASIC_LIST(X) };
#undef X

	return (unsigned)basic < MPIX_SCHED_BASICS ? &types[basic] : NULL;
}

size_t rt_basic_size(enum MPIX_Sched_basic basic)
{
	const struct mpix_sched_type *t = rt_type_basic(basic);

	return t ? t->layout.basic : 0;
}

static struct mpix_sched_type *new_type(struct mpix_sched_ctx *ctx, enum MPIX_Sched_basic basic, size_t n)
{
	struct mpix_sched_type *t;

	if (n > SIZE_MAX / 2 / sizeof *t->blocks)
		return NULL;
	t = mem_calloc(1, sizeof *t + n * sizeof *t->blocks);
	if (!t)
		return NULL;
	atomic_init(&t->refs, 1);
	t->ctx = ctx;
	rt_ctx_ref(ctx);
	t->basic = basic;
	t->layout = (struct be_layout){ .basic = rt_basic_size(basic), .nblocks = n, .blocks = t->blocks };
	return t;
}

/* Limit of offsets, lengths and extents, so that sums do not overflow. */
#define LIMIT ((int64_t)1 << 40)

int MPIX_Sched_type_create(MPIX_Sched_ctx ctx, enum MPIX_Sched_basic basic, size_t n, const int64_t *offset,
			   const size_t *length, int64_t extent, MPIX_Sched_type *type)
{
	struct mpix_sched_type *t;
	size_t size = rt_basic_size(basic);

	if (!ctx || !type)
		return rt_invalid(ctx);
	if (!size || !n || !offset || !length)
		return -rt_error(ctx, -ERR_ARG, "a datatype needs a basic type and at least one block");
	if (extent < -LIMIT || extent > LIMIT)
		return -rt_error(ctx, -ERR_ARG, "the extent of the datatype is out of range");
	for (size_t i = 0; i < n; i++)
		if (offset[i] < -LIMIT || offset[i] > LIMIT || length[i] > (size_t)LIMIT / size)
			return -rt_error(ctx, -ERR_ARG, "block %zu of the datatype is out of range", i);
	t = new_type(ctx, basic, n);
	if (!t)
		return -rt_fail(ctx, -ERR_NOMEM);
	t->low = INT64_MAX;
	t->high = INT64_MIN;
	t->layout.nblocks = 0;
	for (size_t i = 0; i < n; i++) {
		struct be_block *last = t->layout.nblocks ? &t->blocks[t->layout.nblocks - 1] : NULL;
		int64_t end = offset[i] + (int64_t)(length[i] * size);

		if (!length[i])
			continue;
		t->layout.per += length[i];
		if (t->layout.per * size > (size_t)LIMIT) {
			rt_type_unref(t);
			return -rt_error(ctx, -ERR_ARG, "the datatype is too large");
		}
		t->low = offset[i] < t->low ? offset[i] : t->low;
		t->high = end > t->high ? end : t->high;
		if (last && last->off + (int64_t)last->len == offset[i])
			last->len += length[i] * size;
		else
			t->blocks[t->layout.nblocks++] = (struct be_block){ offset[i], length[i] * size };
	}
	if (!t->layout.per) {
		rt_type_unref(t);
		return -rt_error(ctx, -ERR_ARG, "the datatype is empty");
	}
	t->layout.extent = extent;
	t->layout.contiguous = t->layout.nblocks == 1 && t->blocks[0].off == 0 &&
			       (int64_t)t->blocks[0].len == extent;
	*type = t;
	return MPIX_SCHED_SUCCESS;
}

void rt_type_unref(struct mpix_sched_type *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) != 1)
		return;
	rt_ctx_unref(t->ctx);
	free(t);
}

int MPIX_Sched_type_free(MPIX_Sched_type *type)
{
	if (!type)
		return MPIX_SCHED_ERR_ARG;
	rt_type_unref(*type);
	*type = NULL;
	return MPIX_SCHED_SUCCESS;
}

int MPIX_Sched_op_create(MPIX_Sched_ctx ctx, MPIX_Sched_op_fn *fn, void *arg, int commutes, MPIX_Sched_op *op)
{
	struct mpix_sched_op *o;

	if (!ctx || !fn || !op)
		return rt_invalid(ctx);
	o = mem_calloc(1, sizeof *o);
	if (!o)
		return -rt_fail(ctx, -ERR_NOMEM);
	atomic_init(&o->refs, 1);
	o->ctx = ctx;
	rt_ctx_ref(ctx);
	o->fn = fn;
	o->arg = arg;
	o->commutes = commutes != 0;
	*op = o;
	return MPIX_SCHED_SUCCESS;
}

void rt_op_unref(struct mpix_sched_op *op)
{
	if (!op || atomic_fetch_sub(&op->refs, 1) != 1)
		return;
	rt_ctx_unref(op->ctx);
	free(op);
}

int MPIX_Sched_op_free(MPIX_Sched_op *op)
{
	if (!op)
		return MPIX_SCHED_ERR_ARG;
	rt_op_unref(*op);
	*op = NULL;
	return MPIX_SCHED_SUCCESS;
}
