/* SPDX-License-Identifier: BSD-3-Clause
 * Computes the ops of a rank from the caller's arguments: parameters, buffers in place, and the sizes of buffers. The
 * sizes are compared with the definition of the collective, and returned to the application. */
#include "runtime/specialise.h"

#include "format/check.h"
#include "runtime/context.h"

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
	memcpy(whole, bind, bind->struct_size);
	return whole;
}

static int find_params(struct mpix_sched *s, const struct MPIX_Sched_bind *bind, struct bin_arg *args, uint64_t *hash)
{
	const struct bin *b = &s->image->bin;

	for (size_t k = 0; k < bind->nparams; k++) {
		const struct MPIX_Sched_param *p = &bind->params[k];
		uint32_t i = 0;

		while (p->name && i < b->nparams && strcmp(bin_str(b, b->params[i].name), p->name) != 0)
			i++;
		if (!p->name || i == b->nparams)
			return rt_error(s->ctx, -ERR_PARAM, "the schedule has no parameter %s",
					p->name ? p->name : "(null)");
		if (b->params[i].vector ? !p->value && p->n : !p->value || p->n != 1)
			return rt_error(s->ctx, -ERR_PARAM, "the parameter %s needs %s", p->name,
					b->params[i].vector ? "values" : "one value");
		args[i] = (struct bin_arg){ .known = true, .value = p->n ? p->value[0] : 0, .elem = p->value, .n = p->n };
	}
	for (uint32_t i = 0; i < b->nparams; i++) {
		/* Hashes only global parameters, whose values must be the same on all ranks. The order of bind->params does
		 * not matter. */
		if (b->params[i].scope != BIN_GLOBAL || !args[i].known)
			continue;
		*hash = *hash * 31 + i;
		for (size_t k = 0; k < args[i].n; k++)
			*hash = *hash * 0x9e3779b97f4a7c15u + (uint64_t)args[i].elem[k];
	}
	return 0;
}

bool rt_in_place(void *const *buffers, size_t n, uint32_t i)
{
	return i < n && buffers[i] == MPIX_SCHED_IN_PLACE;
}

/* True if the caller binds a buffer in place. The schedule has a parameter for that, too (set_inplace). */
bool rt_inplace(const struct bin *b, const struct MPIX_Sched_bind *bind)
{
	bool any = false;

	for (uint32_t i = 0; i < b->nbuffers; i++)
		any |= b->buffers[i].inplace && rt_in_place(bind->buffers, bind->nbuffers, i);
	return any;
}

static void set_inplace(const struct bin *b, struct bin_arg *args)
{
	for (uint32_t i = 0; i < b->nparams; i++)
		if (!strcmp(bin_str(b, b->params[i].name), "inplace"))
			args[i] = (struct bin_arg){ .known = true, .value = 1 };
}

bool rt_span(const struct mpix_sched_type *t, uint64_t n, int64_t *low, size_t *len)
{
	int64_t elements = (int64_t)((n + t->layout.per - 1) / t->layout.per), reach, high, span;

	*low = t->low;
	*len = 0;
	if (!n)
		return true;
	if (__builtin_mul_overflow(elements - 1, t->layout.extent, &reach))
		return false;
	high = t->high;
	if (reach < 0 ? __builtin_add_overflow(*low, reach, low) : __builtin_add_overflow(high, reach, &high))
		return false;
	if (__builtin_sub_overflow(high, *low, &span))
		return false;
	*len = (size_t)span;
	return true;
}

bool rt_uses(const struct ir_rank *r, uint32_t buffer)
{
	for (uint32_t i = 0; i < r->nops; i++)
		for (unsigned k = 0; k < bin_nranges(r->ops[i].kind); k++)
			if (r->ops[i].buf[k] == buffer && r->ops[i].len)
				return true;
	return false;
}

/* Returns the first buffer whose size is not the one that is due, or the number of buffers. One that is not due on this rank may be there
 * if no op uses it. */
static uint32_t find_misfit(const struct bin *b, const struct ir_rank *r, const uint64_t *due)
{
	uint32_t i = 0;

	/* Command queues are not searched for uses of the buffer: there it counts as used. */
	while (i < b->nbuffers && (b->buffers[i].mode == BIN_SCRATCH || r->bufsize[i] == due[i] || (!due[i] && !b->target && !rt_uses(r, i))))
		i++;
	return i;
}

/* Checks that buffers have the sizes that the definition of the collective gives them. A buffer that the definition does
 * not have on this rank gets size 0. Returns 0, or an error with a message. */
static int check_sizes(struct mpix_sched *s, const struct bin_args *a, bool inplace, struct ir_rank *r)
{
	const struct bin *b = &s->image->bin;
	/* A concrete binary may have been compiled for use in place. Then its caller does not say so. */
	const bool either = !inplace && !(b->meta->flags & BIN_F_PARAMETRIC);
	struct ir_fault fault, other;
	const uint64_t *sizes;
	uint64_t *due, *within;
	uint32_t misfit;
	int err;

	if (!s->image->sized)
		return 0;
	due = mem_alloc(2 * b->nbuffers * sizeof *due);
	if (!due)
		return rt_fail(s->ctx, -ERR_NOMEM);
	sizes = due;
	within = due + b->nbuffers;
	err = claim_sizes(&s->image->claim, a, inplace, due, &fault);
	misfit = err ? 0 : find_misfit(b, r, due);
	if (!err && misfit < b->nbuffers && either && !claim_sizes(&s->image->claim, a, true, within, &other) &&
	    find_misfit(b, r, within) == b->nbuffers) {
		sizes = within;
		misfit = b->nbuffers;
	}
	if (err)
		err = err == -ERR_CLAIM ? rt_error(s->ctx, err, "%s", fault.text) : rt_fail(s->ctx, err);
	else if (misfit < b->nbuffers)
		err = rt_error(s->ctx, -ERR_CLAIM, "the buffer %s has %" PRIu64 " elements, in %s it has %" PRIu64,
			       bin_str(b, b->buffers[misfit].name), r->bufsize[misfit], s->image->claim.name, due[misfit]);
	for (uint32_t i = 0; i < b->nbuffers && !err; i++)
		if (b->buffers[i].mode != BIN_SCRATCH)
			r->bufsize[i] = sizes[i];
	free(due);
	return err;
}

/* Stores the error message that explains why the rank's ops could not be computed. Returns err. */
static int not_special(struct mpix_sched *s, int err, const struct ir_fault *fault)
{
	const struct bin *b = &s->image->bin;
	const char *selected = s->image->selected;

	if (err == -ERR_NOMEM)
		return rt_fail(s->ctx, err);
	if (err == -ERR_ASSERT && selected)
		return rt_error(s->ctx, err, "the row %s selects a schedule that is not for this call: %s", selected,
				bin_str(b, fault->what));
	if (err == -ERR_ASSERT || err == -ERR_FAULT)
		return rt_error(s->ctx, err, "%s", bin_str(b, fault->what));
	if (err == -ERR_PARAM || err == -ERR_UNKNOWN)
		return rt_error(s->ctx, err, "%s: %s", err_text(err), bin_str(b, b->params[fault->what].name));
	if (err == -ERR_SPACE)
		return rt_error(s->ctx, err,
				"there are more than %" PRId64 " ops on a rank, or %u times as many dependencies: the environment "
				"variable GOAL_MAX_OPS raises the limit", fault->value[0], BIN_USUAL_DEPS);
	if (b->lines)
		return rt_error(s->ctx, err, "%s (line %u)", err_text(err), b->lines[fault->where]);
	return rt_error(s->ctx, err, "%s (%s %u)", err_text(err),
			b->meta->flags & BIN_F_PARAMETRIC ? "instruction" : "op", fault->where);
}

/* Computes the ops of a rank, or recalls them. */
static int compute_ops(struct mpix_sched *s, const struct bin_args *a, bool inplace, struct ir_rank *out)
{
	const struct bin *b = &s->image->bin;
	struct ir_fault fault = { 0 };
	int err = ir_recall_find(&s->image->recall, b, a, inplace, out);

	if (err)
		return err < 0 ? rt_fail(s->ctx, err) : 0;
	err = ir_rank_specialise(b, a, out, &fault);
	err = err ? not_special(s, err, &fault) : check_sizes(s, a, inplace, out);
	if (!err)
		ir_recall_keep(&s->image->recall, b, a, inplace, out);
	return err;
}

int rt_specialise(struct mpix_sched *s, const struct mpix_sched_type *type, const struct MPIX_Sched_bind *bind,
		  struct bin_args *a, struct bin_arg **row, struct ir_rank *out, uint64_t *params)
{
	const struct bin *b = &s->image->bin;
	const bool inplace = rt_inplace(b, bind), any = bind->nparams || inplace;
	struct bin_arg *args = *row = any ? mem_calloc(b->nparams, sizeof *args) : NULL;
	long most;
	int err = any && !args ? rt_fail(s->ctx, -ERR_NOMEM) : rt_env(s->ctx, ENV_GOAL_MAX_OPS, &most);

	*params = 0;
	err = err || !any ? err : find_params(s, bind, args, params);
	if (!err && inplace)
		set_inplace(b, args);
	if (!err && bind->count > (size_t)INT64_MAX / 2 / type->layout.per)
		err = rt_error(s->ctx, -ERR_ARG, "the count is too large");
	if (err)
		return err;
	a->args = args;
	a->most_ops = ir_most_ops(most);
	/* Schedules count basic elements. The caller's count is in elements of its datatype. */
	a->count = b->meta->flags & BIN_F_PLAIN ? 0 : (int64_t)(bind->count * type->layout.per);
	return compute_ops(s, a, inplace, out);
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
	if (!sched || !bind || index >= sched->image->bin.nbuffers || size < 1 || rank < 0 || rank >= size)
		return rt_invalid(sched ? sched->ctx : NULL);
	if ((bind->nbuffers && !bind->buffers) || (bind->nparams && !bind->params))
		return -rt_error(sched->ctx, -ERR_ARG, "buffers or params is NULL");
	type = bind->type ? bind->type : rt_type_basic(sched->image->bin.meta->flags & BIN_F_PLAIN ? MPIX_SCHED_BYTE : bind->basic);
	if (!type)
		return -rt_error(sched->ctx, -ERR_ARG, "there is no basic datatype %d", (int)bind->basic);
	err = rt_specialise(sched, type, bind, &a, &row, &r, &params);
	n = err ? 0 : r.bufsize[index];
	if (!err && !rt_span(type, n, &low, &len))
		err = rt_error(sched->ctx, -ERR_OVERFLOW, "the buffer %s is too large",
			       bin_str(&sched->image->bin, sched->image->bin.buffers[index].name));
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
