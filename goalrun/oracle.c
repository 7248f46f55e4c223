/* SPDX-License-Identifier: BSD-3-Clause
 * Test data for what a schedule claims: the data of all ranks at the start, and the result that follows from it. */
#include "goalrun/run.h"
#include "runtime/sched.h"

#include <stdlib.h>

/* Generates elements of a rank's buffer as they are at the start of an epoch. */
static void generate_values(const struct oracle *o, uint64_t epoch, const struct expected_src *at, uint64_t n, char *out)
{
	values_fill(o->type, o->op, values_key(o->seed, epoch, at->rank, at->buf), at->rank, at->off, n, out);
}

int oracle_open(struct oracle *o, const struct claim *c, const struct bin_args *args, const uint64_t *elements,
		struct ir_fault *fault)
{
	uint64_t most = 0;
	int err = claim_expected(c, args, &o->expected, fault);

	o->b = c->b;
	o->rank = args->rank;
	o->elem = rt_basic_size(o->type);
	if (err)
		return err;
	for (size_t i = 0; i < o->expected.v.n; i++)
		if (o->expected.v.at[i].len > most)
			most = o->expected.v.at[i].len;
	for (uint32_t i = 0; i < o->b->nbuffers; i++)
		if (o->b->buffers[i].mode == BIN_IN && elements[i] > most)
			most = elements[i];
	o->work = mem_alloc(2 * (size_t)most * o->elem);
	return o->work ? 0 : -ERR_NOMEM;
}

void oracle_close(struct oracle *o)
{
	expected_fini(&o->expected);
	free(o->work);
	o->work = NULL;
}

void oracle_fill(const struct oracle *o, uint64_t epoch, char *const *buffers, const uint64_t *bytes)
{
	for (uint32_t i = 0; i < o->b->nbuffers; i++) {
		const struct expected_src all = { o->rank, i, 0 };

		if (!buffers[i])
			continue;
		if (o->b->buffers[i].mode != BIN_OUT)
			generate_values(o, epoch, &all, bytes[i] / o->elem, buffers[i]);
		else /* results are overwritten with a pattern, different on each rank */
			values_pattern(buffers[i], bytes[i], values_key(o->seed, epoch, o->rank, UINT64_MAX - i));
	}
	if (o->expected.inplace.len) {
		const struct expected_src mine = { o->rank, o->expected.inplace.buf, o->expected.inplace.off };

		generate_values(o, epoch, &mine, o->expected.inplace.len, buffers[mine.buf] + mine.off * o->elem);
	}
}

/* Compares a range with its expected result. Returns the index of the first wrong byte, or -1. */
static int64_t check_range(const struct oracle *o, uint64_t epoch, const struct expected_range *w, const char *got)
{
	const struct expected_src *src = &o->expected.src.at[w->src];
	char *sum = o->work, *next = o->work + w->len * o->elem;

	generate_values(o, epoch, src, w->len, sum);
	for (uint32_t k = 1; k < w->nsrc; k++) {
		char *t = sum;

		generate_values(o, epoch, &src[k], w->len, next);
		values_fold(o->type, o->op, sum, next, w->len);
		sum = next;
		next = t;
	}
	return values_compare(o->type, w->nsrc == 1 ? MPIX_SCHED_NO_OP : o->op, got, sum, w->len);
}

int64_t oracle_check(const struct oracle *o, uint64_t epoch, char *const *buffers, const uint64_t *bytes,
		     uint32_t *buffer)
{
	int64_t at;

	for (size_t i = 0; i < o->expected.v.n; i++) {
		const struct expected_range *w = &o->expected.v.at[i];

		*buffer = w->buf;
		at = check_range(o, epoch, w, buffers[w->buf] + w->off * o->elem);
		if (at >= 0)
			return (int64_t)(w->off * o->elem) + at;
	}
	for (uint32_t i = 0; i < o->b->nbuffers; i++) {
		const struct expected_src all = { o->rank, i, 0 };

		if (o->b->buffers[i].mode != BIN_IN || !buffers[i])
			continue;
		*buffer = i;
		generate_values(o, epoch, &all, bytes[i] / o->elem, o->work);
		at = values_compare(o->type, MPIX_SCHED_NO_OP, buffers[i], o->work, bytes[i] / o->elem);
		if (at >= 0)
			return at;
	}
	return -1;
}
