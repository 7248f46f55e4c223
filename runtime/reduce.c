/* SPDX-License-Identifier: BSD-3-Clause
 * The reductions of a request, as backends call them: built-in ones by a kernel, the program's own on whole elements. */
#include "runtime/reduce.h"

#include "backends/services.h"
#include "format/check.h"
#include "runtime/specialise.h"

#include <stddef.h>
#include <string.h>

static void reduce_kernel(void *arg, char *a, uint64_t a_first, char *b, uint64_t b_first, size_t n, bool with)
{
	const struct rt_reduce *r = arg;

	(void)with; /* built-in operations commute */
	while (n) {
		char *p, *q;
		size_t run = be_layout_run(r->layout, a, a_first, n, &p);

		run = be_layout_run(r->layout, b, b_first, run, &q);
		r->kernel(p, q, q, run);
		a_first += run;
		b_first += run;
		n -= run;
	}
}

/* True if `p` is aligned for elements of any type. */
#define ALIGNED(p) ((uintptr_t)(p) % _Alignof(max_align_t) == 0)

static void reduce_packed_kernel(void *arg, const char *a, const char *operand, char *b, uint64_t b_first, size_t n, bool with)
{
	const struct rt_reduce *r = arg;
	const struct be_layout *l = r->layout;
	_Alignas(max_align_t) char room[1024];
	/* Data of a message may begin at any multiple of 8 bytes. */
	const bool aligned = l->basic % _Alignof(max_align_t) || ALIGNED(a);

	(void)with;
	while (n) {
		char *q;
		size_t most = aligned || n < sizeof room / l->basic ? n : sizeof room / l->basic;
		size_t run = be_layout_run(l, b, b_first, most, &q);

		if (!aligned)
			memcpy(room, a, run * l->basic);
		r->kernel(aligned ? a : room, operand ? operand : q, q, run);
		a += run * l->basic;
		operand = operand ? operand + run * l->basic : NULL;
		b_first += run;
		n -= run;
	}
}

static void reduce_user(void *arg, char *a, uint64_t a_first, char *b, uint64_t b_first, size_t n, bool with)
{
	const struct mpix_sched_request *req = arg;
	const struct be_layout *l = &req->type->layout;
	char *x = a + (int64_t)(a_first / l->per) * l->extent, *y = b + (int64_t)(b_first / l->per) * l->extent;

	if (!with) {
		req->op->fn(x, y, n / l->per, req->op->arg);
		return;
	}
	/* b = b op a: the function overwrites its right operand, so a is copied first. */
	be_copy(l, req->reduce_tmp, 0, a, a_first, n);
	req->op->fn(y, req->reduce_tmp, n / l->per, req->op->arg);
	be_copy(l, b, b_first, req->reduce_tmp, 0, n);
}

static void reduce_packed_user(void *arg, const char *a, const char *operand, char *b, uint64_t b_first, size_t n, bool with)
{
	const struct mpix_sched_request *req = arg;
	const struct be_layout *l = &req->type->layout;
	char *y = b + (int64_t)(b_first / l->per) * l->extent;

	(void)operand;
	if (!with && l->contiguous && ALIGNED(a)) {
		req->op->fn(a, y, n / l->per, req->op->arg);
		return;
	}
	be_unpack(l, req->reduce_tmp, 0, n, a);
	if (!with) {
		req->op->fn(req->reduce_tmp, y, n / l->per, req->op->arg);
		return;
	}
	req->op->fn(y, req->reduce_tmp, n / l->per, req->op->arg);
	be_copy(l, b, b_first, req->reduce_tmp, 0, n);
}

/* Returns how many basic elements reduce_tmp has to hold. */
static uint64_t tmp_elements(const struct mpix_sched_request *req)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < req->rank.nops; i++) {
		const struct bin_op *o = &req->rank.ops[i];

		if (bin_reduces(o->kind) && o->kind != BIN_OP_REDUCE && o->len > most)
			most = o->len;
	}
	return most;
}

int rt_prepare_reduce(struct mpix_sched_request *req, const struct MPIX_Sched_bind *bind)
{
	const struct ir_rank *r = &req->rank;
	size_t per = req->type->layout.per, len = 0;
	uint64_t most;
	int64_t low = 0;
	bool any = false;

	for (uint32_t i = 0; i < r->nops; i++) {
		const struct bin_op *o = &r->ops[i];

		if (!bin_reduces(o->kind))
			continue;
		any = true;
		for (unsigned k = 0; k < bin_nranges(o->kind); k++)
			if (req->op && (o->off[k] % per || o->len % per))
				return group_error(req->group, -ERR_UNSUPPORTED,
						   "op %u splits an element that a user's operation takes whole", i);
	}
	if (!req->op) { /* a rank that only sends may have to reduce a part of the message */
		const struct rt_kernels *k = rt_kernels_choose();

		if (!k && !any && !req->helped)
			return 0;
		if (!k)
			return group_error(req->group, -ERR_ARG, "GOAL_KERNELS cannot be \"%s\" on this CPU",
					   env_get(ENV_GOAL_KERNELS));
		if ((unsigned)bind->builtin < MPIX_SCHED_BUILTINS)
			req->reduce.kernel = k->of[req->type->basic][bind->builtin];
		req->plain.kernel = req->reduce.kernel;
		return req->reduce.kernel || !any ? 0 :
						    group_error(req->group, -ERR_ARG,
								"the operation is not defined for the basic datatype");
	}
	most = tmp_elements(req);
	if (!most || !rt_span(req->type, most, &low, &len))
		return 0;
	req->reduce_block = mem_calloc(1, len);
	if (!req->reduce_block)
		return rt_fail(req->ctx, -ERR_NOMEM);
	req->reduce_tmp = req->reduce_block - low;
	return 0;
}

/* Returns the kernel of a reduction that can take operands where they are; otherwise NULL. */
static rt_kernel *combine_of(const struct rt_reduce *r)
{
	return r->layout->contiguous && r->layout->basic % _Alignof(max_align_t) ? r->kernel : NULL;
}

static void set_kernel(struct be_bind *b, struct rt_reduce *r)
{
	b->layout = r->layout;
	b->reduce = reduce_kernel;
	b->reduce_packed = r->kernel ? reduce_packed_kernel : NULL;
	b->reduce_arg = r;
	b->combine = combine_of(r);
	b->whole = 1;
}

void rt_set_reduce(struct be_bind *b, struct mpix_sched_request *req)
{
	set_kernel(b, &req->reduce);
	if (!req->op)
		return;
	b->reduce = reduce_user;
	b->reduce_packed = reduce_packed_user;
	b->reduce_arg = req;
	b->combine = NULL;
	b->whole = req->type->layout.per;
	b->user = true;
}

void rt_set_plain_reduce(struct be_bind *b, struct mpix_sched_request *req)
{
	set_kernel(b, &req->plain);
}
