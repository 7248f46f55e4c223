/* SPDX-License-Identifier: BSD-3-Clause
 * What splitting a tree between communication cores and the ranks' own cores costs, as Denis et al. model it ("Study on
 * progress threads placement and dedicated cores for overlapping MPI nonblocking collectives on manycore processor",
 * IJHPCA 33(6), 2019, section 6.2); its equations are numbered here as there. The unit of time is one copy of the
 * message of a leaf. */
#ifndef COMPILER_PASSES_MODEL_H
#define COMPILER_PASSES_MODEL_H

#include <stdbool.h>
#include <stdint.h>

struct model {
	uint32_t cores; /* of the node: a rank has one of them, the others communicate */
	uint32_t k;	/* the tree is k-nomial; the paper's is binomial, 2 */
	bool growing;	/* each level carries k times as much as the one below it, as gather and scatter do */
	double ratio;	/* what a transfer costs beside a copy: 1, or more where it reduces */
	double compute; /* of the computation on all cores; below 0: as long as the blocking collective there */
};

/* The paper's own for a node. */
struct model model_paper(uint32_t cores);

/* H(N), the levels of the tree. */
unsigned model_height(const struct model *m, uint32_t ranks);
/* T_blocking(N), Eq. 3: every rank communicates on its own core. */
double model_blocking(const struct model *m, uint32_t ranks);
/* C(N), Eq. 4: a computation of a fixed size, shared by the ranks. */
double model_compute(const struct model *m, uint32_t ranks);
/* T_non-blocking(S, N), Eq. 6 and 8: the s levels at the leaves run on the ranks' cores, the others on the rest,
 * which is infinite where there are others and no rest. */
double model_nonblocking(const struct model *m, uint32_t ranks, unsigned s);
/* T_overlapped(S, N), Eq. 7 and 9: the same while the ranks compute. */
double model_overlapped(const struct model *m, uint32_t ranks, unsigned s);
/* The smallest s with the least T_overlapped. */
unsigned model_best(const struct model *m, uint32_t ranks);
/* The number of ranks, of first to last, with the least T_overlapped at its best s; the lowest of several. */
uint32_t model_best_ranks(const struct model *m, uint32_t first, uint32_t last);

#endif
