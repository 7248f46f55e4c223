/* SPDX-License-Identifier: BSD-3-Clause
 * Repeated schedules, see repeat.h. Between two repetitions a rank has an op without duration: the ops of the second one that
 * require no others require it, and it requires the ops of the first one that no others require. */
#include "backends/sim/repeat.h"

#include <stdlib.h>

enum repeat_end { WAITS = 1, AWAITED = 2 }; /* an op that waits for others of its repetition, or whose end others wait for */

static int make_turn(struct sim_repeat *r, uint32_t rank, uint32_t turn, struct sim_rank *out)
{
	struct sim_binary *x = r->binary;
	int err;

	x->turn = r->rotate ? turn : 0;
	err = x->source.make(x->source.arg, rank, out);
	x->turn = 0;
	return err;
}

static int add_dep(struct sim_repeat *r, uint32_t op, uint32_t on)
{
	return VEC_PUSH(&r->deps, (struct bin_dep){ op, on });
}

/* Adds the ops and dependencies of a repetition. */
static int add_ops(struct sim_repeat *r, const struct sim_rank *one)
{
	const uint32_t base = (uint32_t)r->ops.n;

	if (r->ops.n + one->nops >= BIN_MAX_OPS / 2)
		return -ERR_SPACE;
	r->ends.n = 0;
	if (VEC_APPEND(&r->ops, one->ops, one->nops) || VEC_RESERVE(&r->ends, one->nops))
		return -ERR_NOMEM;
	for (uint32_t i = 0; i < one->nops; i++)
		r->ends.at[r->ends.n++] = 0;
	for (uint32_t i = 0; i < one->ndeps; i++) {
		const struct bin_dep *d = &one->deps[i];
		const uint32_t on = d->on & ~BIN_START, start = d->on & BIN_START;

		r->ends.at[d->op] |= WAITS;
		r->ends.at[on] |= start ? 0 : AWAITED;
		if (add_dep(r, base + d->op, (base + on) | start))
			return -ERR_NOMEM;
	}
	return 0;
}

/* Lets the ops of the last repetition that wait for none wait for the op before them. */
static int add_begin(struct sim_repeat *r, uint32_t pause)
{
	const uint32_t base = pause + 1;

	for (uint32_t i = 0; i < r->ends.n; i++)
		if (!(r->ends.at[i] & WAITS) && add_dep(r, base + i, pause))
			return -ERR_NOMEM;
	return 0;
}

/* Adds the op that follows the last repetition, which begins at `base`. */
static int add_pause(struct sim_repeat *r, uint32_t base)
{
	const uint32_t pause = (uint32_t)r->ops.n;

	if (VEC_PUSH(&r->ops, (struct sim_op){ .cls = r->pause }))
		return -ERR_NOMEM;
	for (uint32_t i = 0; i < r->ends.n; i++)
		if (!(r->ends.at[i] & AWAITED) && add_dep(r, pause, base + i))
			return -ERR_NOMEM;
	return !r->ends.n && base ? add_dep(r, pause, base - 1) : 0;
}

static int make_repeated(void *arg, uint32_t rank, struct sim_rank *out)
{
	struct sim_repeat *r = arg;
	struct sim_rank one;
	int err = 0;

	r->ops.n = r->deps.n = 0;
	for (uint32_t turn = 0; turn < r->times && !err; turn++) {
		const uint32_t base = (uint32_t)r->ops.n;

		err = make_turn(r, rank, turn, &one);
		err = err ? err : add_ops(r, &one);
		err = err || !turn ? err : add_begin(r, base - 1);
		err = err || turn + 1 == r->times ? err : add_pause(r, base);
	}
	*out = (struct sim_rank){ r->ops.at, r->deps.at, (uint32_t)r->ops.n, (uint32_t)r->deps.n, 0 };
	return err;
}

int sim_repeat_open(struct sim_repeat *r)
{
	const struct bin *b = &r->binary->b;
	const bool variants = b->meta->flags & (BIN_F_PARAMETRIC | BIN_F_ROOTS);
	const int64_t pause = sim_class(&r->binary->classes, SIM_CALC, 0, 0, 0, 0);

	if (r->rotate && (b->meta->root == BIN_NONE || !variants))
		return -ERR_STATE;
	if (pause < 0)
		return (int)pause;
	r->pause = (uint32_t)pause;
	r->source = r->binary->source;
	r->source.make = make_repeated;
	r->source.arg = r;
	return 0;
}

void sim_repeat_close(struct sim_repeat *r)
{
	VEC_FREE(&r->ops);
	VEC_FREE(&r->deps);
	VEC_FREE(&r->ends);
}

int sim_repeat_find(struct sim_repeat *r, uint32_t rank, uint32_t op, uint32_t *turn, uint32_t *number)
{
	struct sim_rank one;

	*number = op;
	for (*turn = 0;; ++*turn) {
		int err = make_turn(r, rank, *turn, &one);

		if (err || *number < one.nops)
			return err;
		if (*number == one.nops) {
			*number = BIN_NONE;
			return 0;
		}
		*number -= one.nops + 1;
	}
}
