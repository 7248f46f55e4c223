/* SPDX-License-Identifier: BSD-3-Clause
 * Recognises a case that equals another case with each element replaced by `times` elements. Ops, dependencies
 * and messages are then the same, and all offsets and lengths are multiplied by `times`. For each k < times, element
 * x * times + k is treated like element x of the other case, and no op combines elements of different k. So the proof of
 * the other case holds for this one too. */
#include "compiler/verify/verify_parts.h"

#include "compiler/collectives/collective.h"
#include "format/check.h"

#include <string.h>

static bool is(uint64_t x, uint64_t times, uint64_t y)
{
	uint64_t product;

	return !__builtin_mul_overflow(x, times, &product) && product == y;
}

static bool same_op(const struct bin_op *x, uint64_t times, const struct bin_op *y)
{
	const unsigned n = bin_nranges(x->kind);
	bool same = x->kind == y->kind;

	if (bin_is_message(x->kind))
		same &= x->peer == y->peer && x->tag == y->tag;
	if (n) /* without ranges, the length of an op is a time */
		same &= is(x->len, times, y->len);
	for (unsigned k = 0; k < n && same; k++)
		same = x->buf[k] == y->buf[k] && (!x->len || is(x->off[k], times, y->off[k]));
	return same;
}

static bool same_rank(const struct ir_graph *g, const struct ir_rank *x, uint64_t times, const struct ir_rank *y)
{
	bool same = x->nops == y->nops && x->dep_at[x->nops] == y->dep_at[y->nops] &&
		    !memcmp(x->dep_at, y->dep_at, ((size_t)x->nops + 1) * sizeof *x->dep_at) &&
		    !memcmp(x->deps, y->deps, x->dep_at[x->nops] * sizeof *x->deps);

	for (uint32_t i = 0; i < g->nbuffers && same; i++)
		same = is(x->bufsize[i], times, y->bufsize[i]);
	for (uint32_t i = 0; i < x->nops && same; i++)
		same = same_op(&x->ops[i], times, &y->ops[i]);
	return same;
}

static bool same_expects(const struct expected *x, uint64_t times, const struct expected *y)
{
	bool same = x->v.n == y->v.n && x->src.n == y->src.n;

	for (size_t i = 0; i < x->v.n && same; i++) {
		const struct expected_range *a = &x->v.at[i], *b = &y->v.at[i];

		same = a->buf == b->buf && a->src == b->src && a->nsrc == b->nsrc && is(a->off, times, b->off) &&
		       is(a->len, times, b->len);
	}
	for (size_t i = 0; i < x->src.n && same; i++) {
		const struct expected_src *a = &x->src.at[i], *b = &y->src.at[i];

		same = a->rank == b->rank && a->buf == b->buf && is(a->off, times, b->off);
	}
	return same;
}

bool verify_multiple(const struct ir_graph *x, const struct expected *x_expects, uint64_t times, const struct ir_graph *y,
		     const struct expected *y_expects)
{
	bool same = times && x->nranks == y->nranks && x->nbuffers == y->nbuffers && !x->plain && !y->plain && !x->queues &&
		    !y->queues && !x_expects == !y_expects;

	for (uint32_t r = 0; r < x->nranks && same; r++)
		same = same_rank(x, &x->ranks[r], times, &y->ranks[r]) &&
		       (!x_expects || same_expects(&x_expects[r], times, &y_expects[r]));
	return same;
}
