/* SPDX-License-Identifier: BSD-3-Clause
 * Which core a rank has, and which one communicates for it: the placements of Denis et al. (IJHPCA 33(6), 2019),
 * described in goalrun(1). Cores are hwloc's logical indices. */
#ifndef RUNTIME_PLACEMENT_H
#define RUNTIME_PLACEMENT_H

#include "runtime/topology.h"
#include "util/mem.h"

enum placement_kind { PLACEMENT_BIND, PLACEMENT_NUMA, PLACEMENT_ODD_EVEN, PLACEMENT_LIST };

struct placement_asked {
	enum placement_kind kind;
	VEC(uint32_t) list; /* PLACEMENT_LIST: number r mod n of its n cores communicates for rank r */
	int64_t comm_cores; /* to be set aside, but for a list; -1: all that the ranks leave */
};

/* A core that communicates. */
struct placement_comm {
	uint32_t core;
	uint32_t first, n; /* whom it serves, of served */
};

struct placement {
	uint32_t nranks;
	uint32_t *core, *comm; /* by rank */
	struct placement_comm *comms; /* ascending */
	uint32_t ncomms;
	uint32_t *served; /* ranks, ascending for each core */
};

/* "bind", "numa", "odd-even", or a list of cores "A", "A-B", separated by commas. 0, -ERR_ARG or -ERR_NOMEM. */
int placement_parse(const char *s, struct placement_asked *a);
/* Places all ranks of a node. 0, -ERR_NOMEM, or -ERR_ARG where cores or ranks do not suffice; a sentence in why. */
int placement_make(struct placement *p, const struct topology *t, const struct placement_asked *a, uint32_t nranks,
		   struct text *why);
void placement_free(struct placement *p);

#endif
