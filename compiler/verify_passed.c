/* SPDX-License-Identifier: BSD-3-Clause
 * Explains excluded cases: an assertion excludes the count, the root or the sample of a case. Such a value is reported as
 * excluded only if a case that differs in nothing else is proved, and no case with this value is proved. Other excluded cases
 * are reported as they are. */
#include "compiler/verify_cases.h"

#include "compiler/collectives/collective.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int tries_init(struct tries *t, uint32_t size)
{
	*t = (struct tries){ size, mem_calloc((size_t)size + 1, sizeof *t->root) };
	return t->root ? 0 : -ERR_NOMEM;
}

void tries_fini(struct tries *t)
{
	free(t->root);
	*t = (struct tries){ 0 };
}

void tries_note(struct tries *t, int64_t root, unsigned k, unsigned sample, bool proved)
{
	struct tried *x = &t->root[root + 1];

	*(proved ? &x->proved[k] : &x->excluded[k]) |= 1u << sample;
}

/* Returns the samples with which a root is proved. */
static uint32_t proved_with(const struct tried *x)
{
	uint32_t samples = 0;

	for (unsigned k = 0; k < TRIED_COUNTS; k++)
		samples |= x->proved[k];
	return samples;
}

/* Returns the excluded counts, one bit for each: a case that differs from a proved case only in this count is excluded, and no
 * case with the count is proved. proved[k] has the samples with which count k is proved. */
static unsigned blame_counts(const struct tries *t, const uint32_t *proved)
{
	unsigned counts = 0;

	for (uint32_t r = 0; r <= t->size; r++)
		for (unsigned k = 0; k < COUNTS_USUAL; k++)
			if (!proved[k] && t->root[r].excluded[k] & proved_with(&t->root[r]))
				counts |= 1u << k;
	return counts;
}

/* Returns the excluded samples, one bit for each: a case that differs from a proved case only in this sample is excluded, and
 * no case with the sample is proved. */
static uint32_t blame_samples(const struct tries *t, const uint32_t *proved)
{
	uint32_t samples = 0, any = 0;

	for (unsigned k = 0; k < TRIED_COUNTS; k++)
		any |= proved[k];
	for (uint32_t r = 0; r <= t->size; r++)
		for (unsigned k = 0; k < TRIED_COUNTS; k++)
			if (t->root[r].proved[k])
				samples |= t->root[r].excluded[k] & ~any;
	return samples;
}

static bool blame_root(const struct tried *x, const uint32_t *proved)
{
	bool alone = false;

	for (unsigned k = 0; k < TRIED_COUNTS; k++)
		alone |= (x->excluded[k] & proved[k]) != 0;
	return alone && !proved_with(x);
}

int ascending_add(struct ascending *a, int64_t x)
{
	size_t i = a->v.n;

	for (size_t k = 0; k < a->v.n; k++)
		if (a->v.at[k] == x)
			return 0;
	if (VEC_PUSH(&a->v, x))
		return -ERR_NOMEM;
	for (; i && a->v.at[i - 1] > x; i--)
		a->v.at[i] = a->v.at[i - 1];
	a->v.at[i] = x;
	return 0;
}

static void add_case(struct verify_passed *out, const struct bin *b, uint32_t size, uint32_t root, int64_t count, unsigned sample)
{
	char name[32], of_root[32] = "";

	if (out->cases++)
		return;
	collective_sample_name(b, sample, name, sizeof name);
	if (root)
		snprintf(of_root, sizeof of_root, ", root %" PRIu32, root - 1);
	snprintf(out->such, sizeof out->such, "size %" PRIu32 ", count %" PRId64 "%s%s%s", size, count, of_root,
		 *name ? ", " : "", name);
}

int tries_tell(const struct tries *t, const struct bin *b, const int64_t *counts, struct verify_passed *out)
{
	uint32_t proved[TRIED_COUNTS] = { 0 }, samples;
	unsigned of_count;
	int err = 0;

	for (uint32_t r = 0; r <= t->size; r++)
		for (unsigned k = 0; k < TRIED_COUNTS; k++)
			proved[k] |= t->root[r].proved[k];
	of_count = blame_counts(t, proved);
	samples = blame_samples(t, proved);
	for (uint32_t r = 0; r <= t->size && !err; r++) {
		const bool root = r && blame_root(&t->root[r], proved);

		if (root)
			err = ascending_add(&out->roots, (int64_t)r - 1);
		for (unsigned k = 0; k < TRIED_COUNTS && !root; k++)
			for (unsigned s = 0; s < 32 && !(of_count >> k & 1); s++)
				if ((t->root[r].excluded[k] & ~samples) >> s & 1)
					add_case(out, b, t->size, r, counts[k], s);
	}
	out->counts |= of_count;
	out->samples |= samples;
	return err;
}
