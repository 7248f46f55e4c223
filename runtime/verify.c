/* SPDX-License-Identifier: BSD-3-Clause
 * MPIX_Sched_verify: the proof of goalc --verify, for programs that run schedules of others. */
#include "compiler/verify_cases.h"
#include "runtime/context.h"
#include "runtime/sched.h"
#include "runtime/specialise.h"

static bool recorded(const struct bin *b, uint32_t size)
{
	for (uint32_t i = 0; i < b->nproved; i++)
		if (size >= b->proved[i].first && size <= b->proved[i].last)
			return true;
	return false;
}

/* Proves all cases of one size. */
static int prove(struct mpix_sched_ctx *ctx, const struct bin *b, const char *name, uint32_t size, uint32_t most_ops)
{
	struct goal_diags *d = goal_diags_new();
	struct verify_result result = { 0 };
	int file = d ? goal_diags_source(d, name, NULL, 0) : -ERR_NOMEM, err = file < 0 ? file : 0;

	if (!err) {
		const struct verify_asked asked = { .file = (unsigned)file, .first = size, .last = size, .most_ops = most_ops };

		err = verify_cases(d, b, &asked, &result);
		if (!err && !result.claims)
			err = rt_error(ctx, -ERR_CLAIM, "%s does not say what it does", name);
		else if (!err && !result.sizes.n)
			err = rt_error(ctx, -ERR_CLAIM, "%s is not for %u ranks", name, size);
		else if (err == -ERR_SYNTAX)
			err = rt_error(ctx, -ERR_FAULT, "%s", goal_diags_text(d));
		else if (err)
			rt_fail(ctx, err);
		verify_result_fini(&result);
	} else {
		rt_fail(ctx, err);
	}
	goal_diags_free(d);
	return err;
}

int MPIX_Sched_verify(MPIX_Sched sched, int size, int most)
{
	const struct bin *b;
	long ops;
	int err;

	if (!sched)
		return MPIX_SCHED_ERR_ARG;
	b = &sched->image->bin;
	if (size < 1)
		return -rt_error(sched->ctx, -ERR_ARG, "a group has at least one rank, not %d", size);
	if (b->meta->nranks && b->meta->nranks != (uint32_t)size)
		return -rt_error(sched->ctx, -ERR_SIZE, "the schedule is for %u ranks, not %d", b->meta->nranks, size);
	if (recorded(b, (uint32_t)size))
		return MPIX_SCHED_SUCCESS;
	if (most && size > most)
		return -rt_error(sched->ctx, -ERR_CLAIM, "the binary of %s records no proof for %d ranks", bin_str(b, b->meta->name), size);
	err = rt_env(sched->ctx, ENV_GOAL_MAX_OPS, &ops);
	return -(err ? err : prove(sched->ctx, b, bin_str(b, b->meta->name), (uint32_t)size, ir_most_ops(ops)));
}
