/* SPDX-License-Identifier: BSD-3-Clause
 * Cost model of a tree that is split between communication cores and the ranks' own cores, by Denis et al. ("Study on
 * progress threads placement and dedicated cores for overlapping MPI nonblocking collectives on manycore processor",
 * IJHPCA 33(6), 2019, section 6.2). Equations have their numbers there. The unit of time is one copy of a leaf's
 * message. */
#ifndef COMPILER_PASSES_MODEL_H
#define COMPILER_PASSES_MODEL_H

#include <stdbool.h>
#include <stdint.h>

struct model {
	uint32_t cores; /* cores of the node: each rank has one core, and the others are communication cores */
	uint32_t k;	/* the tree is k-nomial; the paper's tree is binomial, k = 2 */
	bool growing;	/* true if each level carries k times as much as the one below, as in gather and scatter */
	double ratio;	/* time of a transfer divided by the time of a copy: 1, or more if the transfer reduces */
	double compute; /* time of the computation on all cores; below 0: as long as the blocking collective on all cores */
};

/* Returns the paper's own parameters for a node. */
struct model model_paper(uint32_t cores);

/* Returns H(N), the number of levels of the tree. */
unsigned model_height(const struct model *m, uint32_t ranks);
/* Returns T_blocking(N), Eq. 3: every rank communicates on its own core. */
double model_blocking(const struct model *m, uint32_t ranks);
/* Returns C(N), Eq. 4: the time of a computation of a fixed size that the ranks share. */
double model_compute(const struct model *m, uint32_t ranks);
/* Returns T_non-blocking(S, N), Eq. 6 and 8: the s levels at the leaves run on the ranks' cores, the other levels on the
 * communication cores. The result is infinite if there are other levels but no communication cores. */
double model_nonblocking(const struct model *m, uint32_t ranks, unsigned s);
/* Returns T_overlapped(S, N), Eq. 7 and 9: as T_non-blocking(S, N), but while the ranks compute. */
double model_overlapped(const struct model *m, uint32_t ranks, unsigned s);
/* Returns the smallest s with the least T_overlapped. */
unsigned model_best(const struct model *m, uint32_t ranks);
/* Returns the number of ranks, from first to last, with the least T_overlapped at its best s. Returns the lowest
 * number if several are equally good. */
uint32_t model_best_ranks(const struct model *m, uint32_t first, uint32_t last);

#endif
