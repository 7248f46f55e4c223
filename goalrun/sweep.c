/* SPDX-License-Identifier: BSD-3-Clause
 * Chooses a set of cases in which every pair of values of two options occurs. */
#include "goalrun/run.h"

#include <stdlib.h>
#include <string.h>

enum { DIMS = 6, PAIRS = DIMS * (DIMS - 1) / 2 };

static void values_of(const struct run_case *c, int64_t v[DIMS])
{
	v[0] = c->count;
	v[1] = c->root;
	v[2] = c->type;
	v[3] = c->op;
	v[4] = c->memory;
	v[5] = c->sample;
}

/* Numbers the values of each option from 0: at[case * DIMS + option] is the number of a case's value, n[option] the
 * number of different values. */
static int number_values(const struct run_case *cases, size_t count, uint32_t *at, uint32_t n[DIMS])
{
	int64_t *seen = mem_alloc(count * sizeof *seen), v[DIMS];

	if (!seen)
		return -ERR_NOMEM;
	for (int d = 0; d < DIMS; d++) {
		n[d] = 0;
		for (size_t i = 0; i < count; i++) {
			uint32_t k = 0;

			values_of(&cases[i], v);
			while (k < n[d] && seen[k] != v[d])
				k++;
			if (k == n[d])
				seen[n[d]++] = v[d];
			at[i * DIMS + d] = k;
		}
	}
	free(seen);
	return 0;
}

/* Returns how many pairs of a case have not been covered yet. If `meet` is true, marks these pairs as covered. */
static unsigned pairs_of(const uint32_t *at, const uint32_t *n, bool *met[PAIRS], bool meet)
{
	unsigned news = 0, p = 0;

	for (int a = 0; a < DIMS; a++)
		for (int b = a + 1; b < DIMS; b++, p++) {
			bool *m = &met[p][at[a] * n[b] + at[b]];

			news += !*m;
			*m |= meet;
		}
	return news;
}

/* Moves the case with most new pairs to the front, the first one if there are several, until no case has new pairs.
 * Returns the number of cases moved. */
static size_t take_cases(struct run_case *cases, size_t count, uint32_t *at, const uint32_t *n, bool *met[PAIRS])
{
	for (size_t taken = 0;; taken++) {
		size_t best = taken;
		unsigned most = 0;

		for (size_t i = taken; i < count && most < PAIRS; i++) {
			unsigned news = pairs_of(at + i * DIMS, n, met, false);

			if (news > most) {
				most = news;
				best = i;
			}
		}
		if (!most)
			return taken;
		struct run_case c = cases[best];
		uint32_t v[DIMS];

		pairs_of(at + best * DIMS, n, met, true);
		memcpy(v, at + best * DIMS, sizeof v);
		cases[best] = cases[taken];
		memcpy(at + best * DIMS, at + taken * DIMS, sizeof v);
		cases[taken] = c;
		memcpy(at + taken * DIMS, v, sizeof v);
	}
}

size_t sweep_pairs(struct run_case *cases, size_t count)
{
	uint32_t n[DIMS], p = 0, *at = mem_alloc((count + 1) * DIMS * sizeof *at);
	bool *met[PAIRS] = { 0 };
	size_t taken = 0;
	int err = at ? number_values(cases, count, at, n) : -ERR_NOMEM;

	for (int a = 0; a < DIMS && !err; a++)
		for (int b = a + 1; b < DIMS && !err; b++, p++) {
			met[p] = mem_calloc((size_t)n[a] * n[b] + 1, sizeof(bool));
			err = met[p] ? 0 : -ERR_NOMEM;
		}
	if (!err)
		taken = take_cases(cases, count, at, n, met);
	for (p = 0; p < PAIRS; p++)
		free(met[p]);
	free(at);
	return taken;
}
