/* SPDX-License-Identifier: BSD-3-Clause
 * The cores of this node, from hwloc. Loads libhwloc on first use, as libpmix: programs that neither place ranks, nor
 * ask what cores share, nor bind much data do not need it, and can be linked statically. */
#ifndef RUNTIME_TOPOLOGY_H
#define RUNTIME_TOPOLOGY_H

#include "util/text.h"

#include <stdbool.h>
#include <stdint.h>

struct topology_core {
	uint32_t numa;	      /* logical index of the core's NUMA node; the number of NUMA nodes if it has none */
	uint64_t cache;	      /* number of the core's cache of the last level, which other caches do not have; 0 if it is not known */
	uint64_t cache_bytes; /* of that cache */
	bool usable;	      /* in the cpuset of the thread that called topology_load */
	uint32_t first, ncpus; /* the core's CPUs, as a range of `cpus`: only those in the cpuset, if any is */
};

struct topology {
	struct topology_core *cores; /* cores, by hwloc's logical index */
	uint32_t ncores;
	uint32_t *cpus; /* CPU numbers of the operating system, core after core */
	bool here;	/* true for this machine; false for another one (HWLOC_SYNTHETIC, HWLOC_XMLFILE): nothing can be pinned */
};

/* whole: with cores that the process may not use because the system hides them from it, in a container for instance. Returns 0 or
 * -ERR_NOMEM; or -ERR_UNSUPPORTED without hwloc, -ERR_ARG or -ERR_SYS, and adds a sentence to `why`. */
int topology_load(struct topology *t, bool whole, struct text *why);
void topology_free(struct topology *t);

#endif
