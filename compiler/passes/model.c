/* SPDX-License-Identifier: BSD-3-Clause
 * The cost model of split-tree.
 *
 * Three equations differ from the printed ones; with these the paper's own figures and optima come out:
 *
 * - Eq. 4 is upside down: fewer ranks compute longer, C(N) = (N_proc / N) C(N_proc).
 * - Eq. 5 has a floor: F(N, i) = floor(N / 2^i + 1/2). This equals floor(N / 2^(i-1)) - floor(N / 2^i), the count of
 *   the numbers 1 to N with exactly i - 1 factors of 2. It counts the edges of a tree of N + 1 ranks, on the levels that
 *   the tree of N ranks has. If N is no power of 2, the sum over the levels is N, one more than the N - 1 real transfers.
 * - Eq. 8 and 9 leave C(N) undefined: here C(N_proc) = W_H(N_proc), the blocking time on all cores.
 *
 * In a k-nomial tree a vertex has up to k - 1 children on a level. It serves them one after the other, because they
 * share its accumulator or its core. So a level takes as long as its widest vertex, even if every transfer had a core
 * of its own. The number of edges is the difference above, with k instead of 2. For k = 2 this is the paper's model. */
#include "compiler/passes/model.h"

#include <math.h>

struct model model_paper(uint32_t cores)
{
	return (struct model){ .cores = cores, .k = 2, .ratio = 1, .compute = -1 };
}

unsigned model_height(const struct model *m, uint32_t ranks)
{
	unsigned h = 0;

	for (uint64_t reach = 1; reach < ranks; reach *= m->k)
		h++;
	return h;
}

/* Returns k^(i-1), the number of leaves below a vertex of level i. */
static uint64_t vertex_leaves(const struct model *m, unsigned i)
{
	uint64_t n = 1;

	while (--i)
		n *= m->k;
	return n;
}

/* Returns the time of one transfer of level i. */
static double transfer_weight(const struct model *m, unsigned i)
{
	return m->ratio * (m->growing ? (double)vertex_leaves(m, i) : 1);
}

/* Returns F(N, i), Eq. 5: the number of transfers of level i. */
static uint64_t count_transfers(const struct model *m, uint32_t ranks, unsigned i)
{
	uint64_t below = vertex_leaves(m, i);

	return ranks / below - ranks / (below * m->k);
}

/* Returns the largest number of children that a vertex has on level i. */
static uint64_t most_children(const struct model *m, uint32_t ranks, unsigned i)
{
	uint64_t others = (ranks - 1) / vertex_leaves(m, i);

	return others < m->k - 1 ? others : m->k - 1;
}

/* Returns the time of the s levels at the leaves, which run on the ranks' own cores: Eq. 3, and the first part of Eq. 6 to 9. */
static double on_ranks(const struct model *m, uint32_t ranks, unsigned s)
{
	unsigned h = model_height(m, ranks);
	double t = 0;

	for (unsigned i = 1; i <= s && i <= h; i++)
		t += (double)most_children(m, ranks, i) * transfer_weight(m, i);
	return t;
}

/* Returns the time of the levels above s, which run on the communication cores: the sum in Eq. 6 to 9. */
static double folded_time(const struct model *m, uint32_t ranks, unsigned s)
{
	unsigned h = model_height(m, ranks);
	uint64_t comm = m->cores > ranks ? m->cores - ranks : 0;
	double t = 0;

	if (!comm && s < h)
		return INFINITY;
	for (unsigned i = s + 1; i <= h; i++) {
		uint64_t rounds = (count_transfers(m, ranks, i) + comm - 1) / comm, chain = most_children(m, ranks, i);

		t += (double)(rounds > chain ? rounds : chain) * transfer_weight(m, i);
	}
	return t;
}

double model_blocking(const struct model *m, uint32_t ranks)
{
	return on_ranks(m, ranks, model_height(m, ranks));
}

double model_compute(const struct model *m, uint32_t ranks)
{
	double all = m->compute < 0 ? model_blocking(m, m->cores) : m->compute;

	return m->cores * all / ranks; /* one rounding only, so that whole numbers stay whole and equal times compare equal */
}

double model_nonblocking(const struct model *m, uint32_t ranks, unsigned s)
{
	return on_ranks(m, ranks, s) + folded_time(m, ranks, s);
}

double model_overlapped(const struct model *m, uint32_t ranks, unsigned s)
{
	double busy = model_compute(m, ranks), comm = folded_time(m, ranks, s);

	return on_ranks(m, ranks, s) + (busy > comm ? busy : comm);
}

unsigned model_best(const struct model *m, uint32_t ranks)
{
	unsigned best = 0, h = model_height(m, ranks);

	for (unsigned s = 1; s <= h; s++)
		if (model_overlapped(m, ranks, s) < model_overlapped(m, ranks, best))
			best = s;
	return best;
}

uint32_t model_best_ranks(const struct model *m, uint32_t first, uint32_t last)
{
	double least = INFINITY;
	uint32_t best = first;

	for (uint32_t n = first; n <= last; n++) {
		double t = model_overlapped(m, n, model_best(m, n));

		if (t < least) {
			least = t;
			best = n;
		}
	}
	return best;
}
