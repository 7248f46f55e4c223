/* SPDX-License-Identifier: BSD-3-Clause
 * Makes the graphs and the expected ranges of a schedule. */
#include "compiler/origin.h"

#include "compiler/lower/lower.h"

#include <stdlib.h>

int origin_open(struct origin *s)
{
	struct ir_fault fault = { 0 };
	int err;

	if (s->locs) {
		s->numbers = mem_alloc((size_t)s->b.ncode * sizeof *s->numbers);
		if (!s->numbers)
			return -ERR_NOMEM;
		for (uint32_t i = 0; i < s->b.ncode; i++)
			s->numbers[i] = i + 1;
		s->b.lines = s->numbers;
	}
	err = claim_open(&s->claim, &s->b, &fault);
	if (err != -ERR_CLAIM)
		return err;
	goal_diag(s->d, GOAL_ERROR, s->locs ? s->locs[0] : origin_file_loc(s->file), NULL, "%s", fault.text);
	return -ERR_SYNTAX;
}

void origin_close(struct origin *s)
{
	claim_close(&s->claim);
	free(s->numbers);
}

int origin_specialise(const struct origin *s, struct bin_args *a, struct ir_graph *g, struct ir_fault *fault)
{
	int err = ir_graph_specialise(&s->b, a, g, &a->rank, fault);

	if (err)
		return err;
	g->file = s->file;
	if (s->locs)
		g->args = *a;
	lower_sample(g->sample, sizeof g->sample, &s->b, a);
	for (uint32_t i = 0; s->locs && i < s->b.ncode && !err; i++)
		err = VEC_PUSH(&g->locs, s->locs[i]);
	if (err)
		ir_graph_fini(g);
	return err;
}

int origin_expected(const struct origin *s, struct bin_args *a, struct expected **out, struct ir_fault *fault)
{
	int err;

	*out = NULL;
	if (!s->claim.any)
		return 0;
	*out = mem_calloc(a->size, sizeof **out);
	err = *out ? claim_all_expected(&s->claim, a, *out, &a->rank, fault) : -ERR_NOMEM;
	if (!err)
		return 0;
	free(*out); /* after an error the elements of *out hold no memory */
	*out = NULL;
	return err;
}

void origin_free_expected(struct expected *e, uint32_t n)
{
	for (uint32_t r = 0; e && r < n; r++)
		expected_fini(&e[r]);
	free(e);
}

int origin_fault(const struct origin *s, const struct bin_args *a, int err, const struct ir_fault *fault)
{
	if (err == -ERR_NOMEM)
		return err;
	lower_fault(s->d, s->file, &s->b, s->locs, a, err, fault);
	return -ERR_SYNTAX;
}
