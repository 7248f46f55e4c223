/* SPDX-License-Identifier: BSD-3-Clause
 * The cores of this node. Copies all that is needed, and does not keep hwloc's topology. */
#include "runtime/placement/topology.h"

#include "util/env.h"
#include "util/err.h"
#include "util/library.h"
#include "util/mem.h"

#include <dlfcn.h>
#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#ifndef HWLOC_LIBRARY
#define HWLOC_LIBRARY "libhwloc.so.15"
#endif
#define HWLOC_FUNCTIONS                                                                                            \
	FN(topology_init) FN(topology_set_flags) FN(topology_load) FN(topology_destroy) FN(topology_is_thissystem) \
	FN(get_cpubind) FN(get_type_depth) FN(get_nbobjs_by_depth) FN(get_obj_by_depth) FN(bitmap_alloc)           \
	FN(bitmap_free) FN(bitmap_intersects) FN(bitmap_isset) FN(bitmap_next)

struct hwloc {
#define FN(name) __typeof__(&hwloc_##name) name;
	HWLOC_FUNCTIONS
#undef FN
	hwloc_topology_t all;
	hwloc_bitmap_t mine; /* the cpuset; NULL: all CPUs */
};

static int load_hwloc(struct hwloc *h, struct text *why)
{
	static const struct library_fn fns[] = {
#define FN(name) { "hwloc_" #name, offsetof(struct hwloc, name) },
		HWLOC_FUNCTIONS
#undef FN
	};
	const char *missing = library_load(HWLOC_LIBRARY, fns, sizeof fns / sizeof *fns, h);

	if (!missing)
		return 0;
	text_add(why, "the cores are not known: %s cannot be loaded: %s", missing, dlerror());
	return -ERR_UNSUPPORTED;
}

/* Returns the first NUMA node of the core. If the core has nodes with several kinds of memory, the first one has the usual
 * kind. */
static uint32_t numa_of(const struct hwloc *h, hwloc_obj_t core)
{
	const int depth = HWLOC_TYPE_DEPTH_NUMANODE;
	const uint32_t n = h->get_nbobjs_by_depth(h->all, depth);
	uint32_t i = 0;

	while (i < n && !h->bitmap_intersects(h->get_obj_by_depth(h->all, depth, i)->cpuset, core->cpuset))
		i++;
	return i;
}

/* Returns the core's cache of the last level, or NULL. */
static hwloc_obj_t cache_of(hwloc_obj_t core)
{
	hwloc_obj_t cache = NULL;

	for (hwloc_obj_t o = core; o; o = o->parent)
		if (o->type >= HWLOC_OBJ_L1CACHE && o->type <= HWLOC_OBJ_L5CACHE)
			cache = o;
	return cache;
}

static int copy_cores(const struct hwloc *h, struct topology *t)
{
	int depth = h->get_type_depth(h->all, HWLOC_OBJ_CORE);
	VEC(uint32_t) cpus = { 0 };
	int err = 0;

	if (depth < 0) /* cores are unknown on this system: each CPU counts as one */
		depth = h->get_type_depth(h->all, HWLOC_OBJ_PU);
	t->ncores = h->get_nbobjs_by_depth(h->all, depth);
	t->cores = mem_calloc(t->ncores, sizeof *t->cores);
	if (!t->cores)
		return -ERR_NOMEM;
	for (uint32_t i = 0; i < t->ncores && !err; i++) {
		hwloc_obj_t core = h->get_obj_by_depth(h->all, depth, i), cache = cache_of(core);
		struct topology_core *c = &t->cores[i];

		c->numa = numa_of(h, core);
		c->cache = cache ? cache->gp_index : 0;
		c->cache_bytes = cache ? cache->attr->cache.size : 0;
		c->usable = !h->mine || h->bitmap_intersects(h->mine, core->cpuset);
		c->first = (uint32_t)cpus.n;
		for (int p = h->bitmap_next(core->cpuset, -1); p >= 0 && !err; p = h->bitmap_next(core->cpuset, p))
			if (!h->mine || !c->usable || h->bitmap_isset(h->mine, (unsigned)p))
				err = VEC_PUSH(&cpus, (uint32_t)p);
		c->ncpus = (uint32_t)cpus.n - c->first;
	}
	t->cpus = cpus.at;
	return err;
}

/* Returns an error if hwloc does not understand HWLOC_SYNTHETIC. In that case hwloc silently uses this machine. */
static int check_source(const struct hwloc *h, struct text *why)
{
	const char *asked = env_get(ENV_HWLOC_SYNTHETIC);
	const char *source = hwloc_obj_get_info_by_name(h->get_obj_by_depth(h->all, 0, 0), "Backend");

	if (!*asked || !h->topology_is_thissystem(h->all) || (source && !strcmp(source, "Synthetic")))
		return 0;
	text_add(why, "HWLOC_SYNTHETIC is no topology: %s", asked);
	return -ERR_ARG;
}

/* Finds the cpuset of this thread, unless the topology is that of another machine, to which the cpuset does not apply. */
static int get_cpuset(struct hwloc *h, struct topology *t)
{
	t->here = h->topology_is_thissystem(h->all);
	if (!t->here)
		return 0;
	h->mine = h->bitmap_alloc();
	if (!h->mine)
		return -ERR_NOMEM;
	return h->get_cpubind(h->all, h->mine, HWLOC_CPUBIND_THREAD) ? -ERR_SYS : 0;
}

int topology_load(struct topology *t, bool whole, struct text *why)
{
	struct hwloc h = { 0 };
	int err;

	*t = (struct topology){ 0 };
	err = load_hwloc(&h, why);
	if (err)
		return err;
	if (h.topology_init(&h.all))
		return -ERR_NOMEM;
	if (whole)
		h.topology_set_flags(h.all, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	err = h.topology_load(h.all) ? -ERR_SYS : check_source(&h, why);
	err = err ? err : get_cpuset(&h, t);
	if (err == -ERR_SYS)
		text_add(why, "the cores of this machine cannot be found out: %s", strerror(errno));
	err = err ? err : copy_cores(&h, t);
	if (h.mine)
		h.bitmap_free(h.mine);
	h.topology_destroy(h.all);
	if (err)
		topology_free(t);
	return err;
}

void topology_free(struct topology *t)
{
	free(t->cores);
	free(t->cpus);
	*t = (struct topology){ 0 };
}
