/* SPDX-License-Identifier: BSD-3-Clause
 * Sizes of buffers: compares those that a schedule declares with the definition of its collective, and returns them to the
 * application. */
#include "runtime/sizes.h"

#include "runtime/request.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Size of the struct in the first version of the library. */
#define LEAST_BIND offsetof(struct MPIX_Sched_bind, sizes)

const struct MPIX_Sched_bind *rt_whole_bind(const struct MPIX_Sched_bind *bind, struct MPIX_Sched_bind *whole)
{
	if (!bind || bind->struct_size < LEAST_BIND)
		return NULL;
	if (bind->struct_size >= sizeof *whole)
		return bind;
	memset(whole, 0, sizeof *whole);
	memcpy(whole, bind, LEAST_BIND);
	return whole;
}

int rt_check_sizes(struct mpix_sched *s, const struct bin_args *a, bool inplace, struct ir_rank *r)
{
	const struct bin *b = &s->bin;
	struct ir_fault fault;
	uint64_t *due;
	int err;

	if (!s->sized)
		return 0;
	due = mem_alloc(b->nbuffers * sizeof *due);
	err = due ? claim_sizes(&s->claim, a, inplace, due, &fault) : -ERR_NOMEM;
	if (err)
		err = err == -ERR_CLAIM ? rt_error(s->ctx, err, "%s", fault.text) : rt_fail(s->ctx, err);
	for (uint32_t i = 0; i < b->nbuffers && !err; i++) {
		if (b->buffers[i].mode == BIN_SCRATCH || r->bufsize[i] == due[i])
			continue;
		/* Command queues are not searched for uses of the buffer: there it counts as used. */
		if (!due[i] && !b->target && !rt_uses(r, i))
			r->bufsize[i] = 0;
		else
			err = rt_error(s->ctx, -ERR_CLAIM, "the buffer %s has %" PRIu64 " elements, in %s it has %" PRIu64,
				       bin_str(b, b->buffers[i].name), r->bufsize[i], s->claim.name, due[i]);
	}
	free(due);
	return err;
}

int MPIX_Sched_get_buffer_size(MPIX_Sched sched, uint32_t index, int rank, int size, const struct MPIX_Sched_bind *bind,
			       size_t *elements, size_t *bytes)
{
	struct bin_args a = { .rank = (uint32_t)rank, .size = (uint32_t)size };
	const struct mpix_sched_type *type;
	struct MPIX_Sched_bind whole;
	struct ir_rank r = { 0 };
	struct bin_arg *row;
	uint64_t params, n;
	int64_t low;
	size_t len;
	int err;

	bind = rt_whole_bind(bind, &whole);
	if (!sched || !bind || index >= sched->bin.nbuffers || size < 1 || rank < 0 || rank >= size)
		return MPIX_SCHED_ERR_ARG;
	if ((bind->nbuffers && !bind->buffers) || (bind->nparams && !bind->params))
		return -rt_error(sched->ctx, -ERR_ARG, "buffers or params is NULL");
	type = bind->type ? bind->type : rt_type_basic(sched->bin.meta->flags & BIN_F_PLAIN ? MPIX_SCHED_BYTE : bind->basic);
	if (!type)
		return -rt_error(sched->ctx, -ERR_ARG, "there is no basic datatype %d", (int)bind->basic);
	err = rt_specialise(sched, type, bind, &a, &row, &r, &params);
	n = err ? 0 : r.bufsize[index];
	if (!err && !rt_span(type, n, &low, &len))
		err = rt_error(sched->ctx, -ERR_OVERFLOW, "the buffer %s is too large",
			       bin_str(&sched->bin, sched->bin.buffers[index].name));
	ir_rank_fini(&r);
	free(row);
	if (err)
		return -err;
	if (elements)
		*elements = (size_t)((n + type->layout.per - 1) / type->layout.per);
	if (bytes)
		*bytes = len;
	return MPIX_SCHED_SUCCESS;
}
