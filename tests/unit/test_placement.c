/* SPDX-License-Identifier: BSD-3-Clause
 * Placements: the paper's examples, and on topologies of up to 1,024 cores, whole and with cores taken out, what is
 * said of them, stated in another way than it is computed. */
#include "runtime/placement/placement.h"

#include "runtime/placement/cpus.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- topologies ---- */

static void load(struct topology *t, const char *synthetic)
{
	struct text why = { 0 };

	setenv("HWLOC_SYNTHETIC", synthetic, 1);
	CU_ASSERT_EQUAL_FATAL(topology_load(t, false, &why), 0);
	unsetenv("HWLOC_SYNTHETIC");
	CU_ASSERT_PTR_NULL(why.at);
}

/* Nodes of given sizes, as topology_load makes them. */
static void build(struct topology *t, const uint32_t *cores, uint32_t nodes)
{
	*t = (struct topology){ 0 };
	for (uint32_t i = 0; i < nodes; i++)
		t->ncores += cores[i];
	t->cores = calloc(t->ncores + 1, sizeof *t->cores);
	if (!t->cores)
		abort();
	for (uint32_t i = 0, c = 0; i < nodes; i++)
		for (uint32_t k = 0; k < cores[i]; k++)
			t->cores[c++] = (struct topology_core){ .numa = i, .usable = true };
}

static void test_topology(void)
{
	struct topology t;
	bool right = true;

	load(&t, "pack:2 numa:2 core:256 pu:2");
	CU_ASSERT_EQUAL(t.ncores, 1024);
	CU_ASSERT_FALSE(t.here);
	for (uint32_t c = 0; c < t.ncores; c++)
		right &= t.cores[c].usable && t.cores[c].numa == c / 256 && t.cores[c].ncpus == 2 &&
			 t.cpus[t.cores[c].first] == 2 * c && t.cpus[t.cores[c].first + 1] == 2 * c + 1;
	CU_ASSERT(right);
	topology_free(&t);
	load(&t, "numa:1 pu:3"); /* no cores */
	CU_ASSERT_EQUAL(t.ncores, 3);
	topology_free(&t);
}

/* ---- what a placement is ---- */

static bool fails(const char *what, const struct topology *t, const struct placement_asked *a, uint32_t n)
{
	printf("placement %d of %u ranks on %u cores, %lld of them to communicate: %s\n", (int)a->kind, n, t->ncores,
	       (long long)a->comm_cores, what);
	return false;
}
#define HOLDS(x) ((x) || fails(#x, t, a, n))

static uint32_t usable(const struct topology *t, uint32_t numa)
{
	uint32_t n = 0;

	for (uint32_t c = 0; c < t->ncores; c++)
		n += t->cores[c].usable && t->cores[c].numa == numa;
	return n;
}

/* Every rank has a core of the cpuset, in order; ranks share one only where there are too few, and then evenly. */
static bool ranks_are_right(const struct topology *t, const struct placement_asked *a, const struct placement *p,
			    const bool *free_core, uint32_t room)
{
	const uint32_t n = p->nranks;
	uint32_t *load_of = calloc(t->ncores, sizeof *load_of);
	bool ok = load_of;

	for (uint32_t r = 0; r < n && ok; r++) {
		ok = HOLDS(p->core[r] < t->ncores) && HOLDS(t->cores[p->core[r]].usable) &&
		     HOLDS(!free_core[p->core[r]]) && HOLDS(!r || p->core[r] >= p->core[r - 1]);
		load_of[p->core[r]]++;
	}
	for (uint32_t c = 0; c < t->ncores && ok; c++)
		if (t->cores[c].usable && !free_core[c])
			ok = HOLDS(load_of[c] >= n / room) && HOLDS(load_of[c] <= (n + room - 1) / room);
	free(load_of);
	return ok;
}

/* Even over the NUMA nodes: one has more ranks than another only by one, if it comes first, or where the other is
 * full. */
static bool nodes_are_even(const struct topology *t, const struct placement_asked *a, const uint32_t *share,
			   const uint32_t *most, uint32_t nodes, uint32_t n)
{
	for (uint32_t i = 0; i < nodes; i++)
		for (uint32_t j = i + 1; j < nodes; j++)
			if (!HOLDS(share[i] >= share[j] || share[i] == most[i]) ||
			    !HOLDS(share[j] + 1 >= share[i] || share[j] == most[j]))
				return false;
	return true;
}

/* Whether core c is one of the K free ones of its node's N: of the first x cores floor(x K / N) are, for every x. */
static void find_free(const struct topology *t, uint32_t nodes, const uint32_t *k, bool *free_core)
{
	for (uint32_t i = 0; i < nodes; i++) {
		const uint64_t all = usable(t, i);
		uint64_t x = 0;

		for (uint32_t c = 0; c < t->ncores; c++)
			if (t->cores[c].usable && t->cores[c].numa == i) {
				free_core[c] = (x + 1) * k[i] / all > x * k[i] / all;
				x++;
			}
	}
}

/* No nearer free core in the direction that counts, inside the node as long as it has one. */
static bool numa_is_right(const struct topology *t, const struct placement_asked *a, const struct placement *p,
			  const bool *free_core, const uint32_t *k, uint32_t all)
{
	const uint32_t n = p->nranks;

	for (uint32_t r = 0; r < n; r++) {
		const uint32_t own = p->core[r], comm = p->comm[r], node = t->cores[own].numa;

		if (!all) {
			if (!HOLDS(comm == own))
				return false;
			continue;
		}
		if (!HOLDS(free_core[comm]))
			return false;
		if (!k[node])
			continue;
		if (!HOLDS(t->cores[comm].numa == node) || !HOLDS(comm > own)) /* the last core of a node is free */
			return false;
		for (uint32_t c = own; c < comm; c++)
			if (!HOLDS(!free_core[c]))
				return false;
	}
	return true;
}

static bool odd_even_is_right(const struct topology *t, const struct placement_asked *a, const struct placement *p,
			      const bool *free_core, uint32_t all)
{
	const uint32_t n = p->nranks;
	uint32_t *aside = calloc(t->ncores, sizeof *aside), k = 0;
	bool ok = aside;

	for (uint32_t c = 0; c < t->ncores; c++)
		if (free_core[c])
			aside[k++] = c;
	ok = ok && HOLDS(k == all);
	for (uint32_t r = 0; r < n && ok; r++)
		ok = HOLDS(p->comm[r] == aside[r % k]);
	free(aside);
	return ok;
}

/* Each rank is served by its core, once. */
static bool served_are_right(const struct topology *t, const struct placement_asked *a, const struct placement *p)
{
	const uint32_t n = p->nranks;
	uint32_t total = 0;

	for (uint32_t i = 0; i < p->ncomms; i++) {
		const struct placement_comm *m = &p->comms[i];

		if (!HOLDS(m->n > 0) || !HOLDS(m->first == total) || !HOLDS(!i || m->core > p->comms[i - 1].core))
			return false;
		for (uint32_t k = 0; k < m->n; k++)
			if (!HOLDS(p->comm[p->served[total + k]] == m->core) ||
			    !HOLDS(!k || p->served[total + k] > p->served[total + k - 1]))
				return false;
		total += m->n;
	}
	return HOLDS(total == n);
}

/* Makes one and looks at all of it; the nodes are those of `nodes` first numbers. */
static bool is_right(const struct topology *t, uint32_t nodes, const struct placement_asked *a, uint32_t n)
{
	struct text why = { 0 };
	struct placement p;
	uint32_t all = 0, k[64] = { 0 }, most[64], share[64] = { 0 }, slots[64];
	bool *free_core = calloc(t->ncores + 1, sizeof *free_core);
	int err = placement_make(&p, t, a, n, &why);
	bool ok = free_core;

	for (uint32_t i = 0; i < nodes; i++)
		all += most[i] = usable(t, i);
	const uint32_t aside = all == 1 ? 0 : a->comm_cores >= 0 ? (uint32_t)a->comm_cores : n < all ? all - n : 0;

	if (aside >= all || (a->kind == PLACEMENT_ODD_EVEN && !aside && all > 1)) {
		ok = HOLDS(err == -ERR_ARG) && HOLDS(why.n > 20);
		goto out;
	}
	ok = ok && HOLDS(!err);
	if (!ok)
		goto out;
	/* What is not set aside is split evenly; deal it out one by one. */
	for (uint32_t i = 0, left = all - aside; left; i = (i + 1) % nodes)
		if (share[i] < most[i]) {
			share[i]++;
			left--;
		}
	for (uint32_t i = 0; i < nodes; i++)
		k[i] = most[i] - share[i];
	memcpy(slots, share, sizeof slots);
	ok = nodes_are_even(t, a, share, most, nodes, n);
	find_free(t, nodes, k, free_core);
	ok = ok && ranks_are_right(t, a, &p, free_core, all - aside);
	memset(share, 0, sizeof share);
	for (uint32_t r = 0; r < n && ok; r++)
		share[t->cores[p.core[r]].numa]++;
	if (n <= all - aside)
		ok = ok && nodes_are_even(t, a, share, slots, nodes, n);
	if (a->kind == PLACEMENT_BIND || all == 1)
		ok = ok && HOLDS(!memcmp(p.core, p.comm, n * sizeof *p.core));
	if (a->kind == PLACEMENT_NUMA)
		ok = ok && numa_is_right(t, a, &p, free_core, k, aside);
	if (a->kind == PLACEMENT_ODD_EVEN && all > 1)
		ok = ok && odd_even_is_right(t, a, &p, free_core, aside);
	ok = ok && served_are_right(t, a, &p);
	placement_free(&p);
out:
	free(why.at);
	free(free_core);
	return ok;
}

/* All kinds, with what the ranks leave and with some numbers of cores set aside. */
static bool all_are_right(const struct topology *t, uint32_t nodes, uint32_t n)
{
	const int64_t aside[] = { -1, 0, 1, 2, 3, nodes, t->ncores / 4, t->ncores - 1, t->ncores };

	for (int kind = PLACEMENT_BIND; kind <= PLACEMENT_ODD_EVEN; kind++)
		for (size_t i = 0; i < sizeof aside / sizeof *aside; i++) {
			struct placement_asked a = { .kind = (enum placement_kind)kind, .comm_cores = aside[i] };

			if (!is_right(t, nodes, &a, n))
				return false;
		}
	return true;
}

/* ---- cases ---- */

/* The cores that communicate, "3:0-2 7:3-5" for Figure 3. */
static void expect(const char *synthetic, const char *placement, uint32_t n, const char *want)
{
	struct placement_asked a = { .comm_cores = -1 };
	struct text why = { 0 }, got = { 0 };
	struct placement p;
	struct topology t;

	load(&t, synthetic);
	CU_ASSERT_EQUAL_FATAL(placement_parse(placement, &a), 0);
	CU_ASSERT_EQUAL_FATAL(placement_make(&p, &t, &a, n, &why), 0);
	for (uint32_t i = 0; i < p.ncomms; i++) {
		const uint32_t *s = p.served + p.comms[i].first, last = p.comms[i].n - 1;

		text_add(&got, i ? " %u:%u" : "%u:%u", p.comms[i].core, s[0]);
		if (last)
			text_add(&got, s[1] - s[0] > 1 ? "-%u:%u" : "-%u", s[last], s[1] - s[0]);
	}
	CU_ASSERT_STRING_EQUAL(got.at, want);
	if (strcmp(got.at, want) != 0)
		printf("%s of %u ranks on %s: %s\n", placement, n, synthetic, got.at);
	free(got.at);
	VEC_FREE(&a.list);
	placement_free(&p);
	topology_free(&t);
}

static void test_paper(void)
{
	expect("numa:2 core:4 pu:1", "numa", 6, "3:0-2 7:3-5");
	expect("numa:2 core:4 pu:1", "numa", 4, "1:0 3:1 5:2 7:3"); /* Figure 1: every other core */
	expect("numa:2 core:4 pu:1", "bind", 6, "0:0 1:1 2:2 4:3 5:4 6:5"); /* Figure 2 */
	expect("numa:2 core:32 pu:4", "numa", 62, "31:0-30 63:31-61");
	expect("numa:2 core:32 pu:4", "odd-even", 62, "31:0-60:2 63:1-61:2");
	expect("numa:1 core:64 pu:4", "numa", 62, "31:0-30 63:31-61"); /* one node, as a KNL has: the same */
	expect("numa:1 core:64 pu:4", "odd-even", 62, "31:0-60:2 63:1-61:2");
	expect("numa:2 core:4 pu:1", "numa", 8, "0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7"); /* Eq. 1, first case */
	expect("numa:2 core:4 pu:1", "7,3", 6, "3:1-5:2 7:0-4:2");
	expect("numa:2 core:4 pu:1", "0-2", 3, "0:0 1:1 2:2");
	expect("core:1 pu:2", "0,0", 3, "0:0-2");
}

static void test_properties(void)
{
	static const uint32_t shapes[][8] = { { 1 },	   { 2 },	     { 7 },	   { 64 },
					      { 1, 1 },	   { 4, 4 },	     { 4, 2 },	   { 1, 9 },
					      { 24, 24 },  { 5, 3, 8 },	     { 2, 0, 3 },  { 16, 16, 16, 16 },
					      { 3, 1, 2, 1, 4, 1, 5, 9 } };
	struct topology t;

	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		bool right = true;

		build(&t, shapes[i], 8);
		for (uint32_t n = 1; n <= 2 * t.ncores + 3 && right; n++)
			right = all_are_right(&t, 8, n);
		CU_ASSERT(right);
		topology_free(&t);
	}
}

/* Cpusets that cut nodes, or leave nothing of some. */
static void test_cpusets(void)
{
	const uint32_t shape[] = { 6, 6, 6, 6, 6 };
	uint64_t seed = 1;
	bool right = true;

	for (int turn = 0; turn < 60 && right; turn++) {
		struct topology t;
		uint32_t left = 0;

		build(&t, shape, 5);
		for (uint32_t c = 0; c < t.ncores; c++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			t.cores[c].usable = (seed >> 40) % 5 > (unsigned)turn % 5;
			left += t.cores[c].usable;
		}
		t.cores[turn % 30].usable = true;
		for (uint32_t n = 1; n <= left + 9 && right; n++)
			right = all_are_right(&t, 5, n);
		topology_free(&t);
	}
	CU_ASSERT(right);
}

static void test_large(void)
{
	static const uint32_t ranks[] = { 1, 2, 3, 500, 511, 512, 513, 1000, 1008, 1022, 1023, 1024, 1025, 5000 };
	struct topology t;

	load(&t, "pack:4 numa:4 core:64 pu:2");
	for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
		CU_ASSERT(all_are_right(&t, 16, ranks[i]));
	for (uint32_t c = 0; c < t.ncores; c++)
		t.cores[c].usable = c % 7 && c / 64 != 5 && c != 1023;
	for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
		CU_ASSERT(all_are_right(&t, 16, ranks[i]));
	topology_free(&t);
}

/* Where the node of a rank has no free core: the nearest one. */
static void test_elsewhere(void)
{
	const uint32_t shape[] = { 2, 2, 2 }, hollow[] = { 4, 1, 4 };
	struct placement_asked a = { .kind = PLACEMENT_NUMA, .comm_cores = 1 };
	struct text why = { 0 };
	struct placement p;
	struct topology t;

	build(&t, shape, 3);
	CU_ASSERT_EQUAL_FATAL(placement_make(&p, &t, &a, 5, &why), 0);
	CU_ASSERT_EQUAL(p.core[4], 4);
	for (uint32_t r = 0; r < 5; r++)
		CU_ASSERT_EQUAL(p.comm[r], 5);
	placement_free(&p);
	a.comm_cores = 2; /* cores 3 and 5: the first node has two ranks, each of the others one */
	CU_ASSERT_EQUAL_FATAL(placement_make(&p, &t, &a, 4, &why), 0);
	CU_ASSERT(p.comm[0] == 3 && p.comm[1] == 3 && p.core[2] == 2 && p.comm[2] == 3 && p.comm[3] == 5);
	placement_free(&p);
	t.cores[5].usable = false; /* now only core 3 is left of these: before the last rank, with no other behind it */
	a.comm_cores = 1;
	CU_ASSERT_EQUAL_FATAL(placement_make(&p, &t, &a, 4, &why), 0);
	CU_ASSERT(p.comm[0] == 3 && p.core[3] == 4 && p.comm[3] == 3);
	placement_free(&p);
	topology_free(&t);
	build(&t, hollow, 3);
	a.comm_cores = 2; /* cores 3 and 8 */
	CU_ASSERT_EQUAL_FATAL(placement_make(&p, &t, &a, 7, &why), 0);
	CU_ASSERT(p.core[3] == 4 && p.comm[3] == 3 && p.comm[2] == 3 && p.comm[4] == 8);
	placement_free(&p);
	topology_free(&t);
}

/* What is asked cannot be had: why, in words. */
static void refuse(const struct topology *t, const char *placement, int64_t comm_cores, uint32_t n, const char *want)
{
	struct placement_asked a = { .comm_cores = comm_cores };
	struct text why = { 0 };
	struct placement p;

	CU_ASSERT_EQUAL(placement_parse(placement, &a), 0);
	CU_ASSERT_EQUAL(placement_make(&p, t, &a, n, &why), -ERR_ARG);
	CU_ASSERT_STRING_EQUAL(why.at, want);
	CU_ASSERT_PTR_NULL(p.core);
	free(why.at);
	VEC_FREE(&a.list);
}

static void test_refused(void)
{
	static const char *const bad[] = { "",	    ",",  "1,",	  ",1",		 "3-1",	 "x",
					   "numa,1", "-1", "1--2", "99999999999", "bind " };
	struct placement_asked a = { 0 };
	const uint32_t shape[] = { 2, 2 };
	struct topology t;

	build(&t, shape, 2);
	t.cores[2].usable = false;
	refuse(&t, "odd-even", -1, 3, "none of the 3 cores is free for communication");
	refuse(&t, "odd-even", 0, 1, "none of the 3 cores is free for communication");
	refuse(&t, "numa", 3, 1, "no core is left for the ranks: all of the 3 communicate");
	refuse(&t, "bind", 9, 1, "no core is left for the ranks: all of the 3 communicate");
	refuse(&t, "3,4", -1, 1, "there is no core 4: the node has 4");
	refuse(&t, "0-2", -1, 1, "core 2 is not in the cpuset of the process");
	refuse(&t, "3,1,0,3", -1, 1, "no core is left for the ranks: all of the 3 communicate");
	topology_free(&t);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CU_ASSERT_EQUAL(placement_parse(bad[i], &a), -ERR_ARG);
	VEC_FREE(&a.list);
}

/* Two CPUs share a cache if all caches above them are the same, up to the last. */
static bool share(const char *synthetic, unsigned x, unsigned y)
{
	struct rt_cpus cpus = { 0 };
	bool shared;

	cpus.bits[x / 64] |= 1ull << x % 64;
	cpus.bits[y / 64] |= 1ull << y % 64;
	setenv("HWLOC_SYNTHETIC", synthetic, 1);
	shared = rt_cpus_share_cache(&cpus);
	unsetenv("HWLOC_SYNTHETIC");
	return shared;
}

/* Returns the bytes of the caches that `n` CPUs from `first` on have. */
static uint64_t cached(const char *synthetic, unsigned first, unsigned n)
{
	struct rt_cpus cpus = { 0 };
	uint64_t bytes;

	for (unsigned x = first; x < first + n; x++)
		cpus.bits[x / 64] |= 1ull << x % 64;
	setenv("HWLOC_SYNTHETIC", synthetic, 1);
	bytes = rt_cpus_caches(&cpus).bytes;
	unsetenv("HWLOC_SYNTHETIC");
	return bytes;
}

static void test_cache_sizes(void)
{
	static const char l3[] = "pack:2 l3:2(size=3000000) l2:2(size=500000) core:1 pu:2", l2[] = "pack:1 l2:2(size=700000) core:2 pu:1";

	for (unsigned n = 1; n <= 16; n++)
		CU_ASSERT_EQUAL(cached(l3, 0, n), (n + 3) / 4 * 3000000);
	CU_ASSERT_EQUAL(cached(l3, 3, 2), 6000000);
	CU_ASSERT_EQUAL(cached(l2, 0, 2), 700000);
	CU_ASSERT_EQUAL(cached(l2, 1, 2), 1400000);
	CU_ASSERT_EQUAL(cached(l2, 4, 1), 0); /* not there */
	CU_ASSERT_EQUAL(cached("pack:2 core:2 pu:2", 0, 4), 0);
}

static void test_caches(void)
{
	static const char two[] = "pack:2 l3:2 l2:2 core:1 pu:2", none[] = "pack:2 core:2 pu:2", l2[] = "pack:1 l2:2 core:2 pu:1";
	const struct rt_cpus empty = { 0 };

	for (unsigned x = 0; x < 16; x++)
		for (unsigned y = 0; y < 16; y++)
			CU_ASSERT_EQUAL(share(two, x, y), x / 4 == y / 4);
	for (unsigned x = 0; x < 4; x++)
		for (unsigned y = 0; y < 4; y++)
			CU_ASSERT_EQUAL(share(l2, x, y), x / 2 == y / 2);
	CU_ASSERT_FALSE(share(none, 0, 1));
	CU_ASSERT_FALSE(share(none, 2, 2));
	CU_ASSERT_FALSE(share(two, 100, 101)); /* not there */
	CU_ASSERT_FALSE(share("bogus", 0, 1));
	CU_ASSERT_FALSE(rt_cpus_share_cache(&empty));
}

static const struct unit_test tests[] = {
	{ "topology", test_topology },	   { "paper", test_paper },   { "properties", test_properties },
	{ "cpusets", test_cpusets },	   { "large", test_large },   { "elsewhere", test_elsewhere },
	{ "refused", test_refused },	   { "caches", test_caches }, { "cache_sizes", test_cache_sizes }, { 0 },
};
const struct unit_suite suite_placement = { "placement", tests };
