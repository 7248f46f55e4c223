/* SPDX-License-Identifier: BSD-3-Clause
 * Placement: which core a rank runs on, and which core communicates for it. The placements are those of Denis et al.
 * (IJHPCA 33(6), 2019), described in goalrun(1). Cores are numbered by hwloc's logical index. */
#ifndef RUNTIME_PLACEMENT_H
#define RUNTIME_PLACEMENT_H

#include "runtime/placement/topology.h"
#include "util/mem.h"

enum placement_kind { PLACEMENT_BIND, PLACEMENT_NUMA, PLACEMENT_ODD_EVEN, PLACEMENT_LIST };

struct placement_asked {
	enum placement_kind kind;
	VEC(uint32_t) list; /* PLACEMENT_LIST: n cores; the one at index r mod n communicates for rank r */
	int64_t comm_cores; /* number of cores to set aside; -1: all cores that the ranks leave. Unused with a list */
};

/* A core that communicates. */
struct placement_comm {
	uint32_t core;
	uint32_t first, n; /* range in `served` of the ranks that the core serves */
};

struct placement {
	uint32_t nranks;
	uint32_t *core, *comm; /* core of each rank, and core that communicates for the rank */
	struct placement_comm *comms; /* cores that communicate, ascending */
	uint32_t ncomms;
	uint32_t *served; /* ranks, sorted by the core that serves them, then ascending */
};

/* Parses "bind", "numa", "odd-even", or a list of cores "A" or "A-B", separated by commas. Returns 0, -ERR_ARG or
 * -ERR_NOMEM. */
int placement_parse(const char *s, struct placement_asked *a);
/* Places all ranks of a node. Returns 0 or -ERR_NOMEM; or -ERR_ARG if there are too few cores, and adds a sentence to `why`. */
int placement_make(struct placement *p, const struct topology *t, const struct placement_asked *a, uint32_t nranks,
		   struct text *why);
void placement_free(struct placement *p);

#endif
