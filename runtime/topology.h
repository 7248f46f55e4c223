/* SPDX-License-Identifier: BSD-3-Clause
 * The cores of this node, as hwloc sees them. libhwloc is loaded when it is needed, as libpmix is: who has no
 * communication cores does without, and programs can be linked statically. */
#ifndef RUNTIME_TOPOLOGY_H
#define RUNTIME_TOPOLOGY_H

#include "util/text.h"

#include <stdbool.h>
#include <stdint.h>

struct topology_core {
	uint32_t numa;	      /* logical index of its NUMA node; the number of nodes where it has none */
	bool usable;	      /* in the cpuset of the thread that loaded it */
	uint32_t first, ncpus; /* its CPUs, of cpus: those in the cpuset, if there are any */
};

struct topology {
	struct topology_core *cores; /* by hwloc's logical index */
	uint32_t ncores;
	uint32_t *cpus; /* as the system numbers them */
	bool here;	/* of this machine; else of HWLOC_SYNTHETIC or HWLOC_XMLFILE, where nothing can be bound */
};

/* 0, -ERR_NOMEM, -ERR_UNSUPPORTED without hwloc, -ERR_ARG or -ERR_SYS; a sentence in why. */
int topology_load(struct topology *t, struct text *why);
void topology_free(struct topology *t);

#endif
