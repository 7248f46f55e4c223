/* SPDX-License-Identifier: BSD-3-Clause
 * The CPUs of ranks: whether they share a cache, and how long a waiting rank may keep its CPU: not at all if other ranks need it. */
#include "runtime/placement/cpus.h"

#include "backends/services.h"
#include "runtime/placement/topology.h"

#include <sched.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

void rt_cpus_get(struct rt_cpus *c)
{
	cpu_set_t set;

	*c = (struct rt_cpus){ 0 };
	/* Fails if there are more CPUs than cpu_set_t holds. The set stays empty then: the rank counts as one with CPUs of
	 * its own. */
	if (sched_getaffinity(0, sizeof set, &set))
		return;
	for (unsigned i = 0; i < RT_CPUS; i++)
		if (CPU_ISSET(i, &set))
			c->bits[i / 64] |= 1ull << i % 64;
}

static unsigned count_common(const struct rt_cpus *a, const struct rt_cpus *b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < RT_CPUS / 64; i++)
		n += (unsigned)__builtin_popcountll(a->bits[i] & b->bits[i]);
	return n;
}

struct rt_caches rt_cpus_caches(const struct rt_cpus *cpus)
{
	struct rt_caches found = { 0 };
	struct text why = { 0 };
	struct topology t;
	uint64_t last = 0;
	/* whole: all ranks of the node are to come to the same result, also in containers with different CPUs */
	bool known = !topology_load(&t, true, &why);

	free(why.at);
	if (!known)
		return found;
	for (uint32_t i = 0; i < t.ncores; i++) {
		const struct topology_core *c = &t.cores[i];
		bool used = false;

		for (uint32_t k = c->first; k < c->first + c->ncpus; k++)
			used |= rt_cpus_have(cpus, t.cpus[k]);
		if (!used)
			continue;
		known &= c->cache != 0;
		if (c->cache == last) /* the cores of a cache follow each other */
			continue;
		last = c->cache;
		found.n++;
		found.bytes += c->cache_bytes;
	}
	topology_free(&t);
	return known ? found : (struct rt_caches){ 0 };
}

bool rt_cpus_share_cache(const struct rt_cpus *cpus)
{
	return rt_cpus_caches(cpus).n == 1;
}

bool rt_cpus_shared_here(void)
{
	struct rt_cpus cpus;

	rt_cpus_get(&cpus);
	return rt_cpus_share_cache(&cpus);
}

#if defined(__x86_64__)

bool rt_cpu_umwaits(void)
{
	unsigned a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && c >> 5 & 1;
}

#define UMWAIT_CYCLES 4000u

/* The instructions are bytes, so that the compiler needs no option for them. ecx = 1 selects the lighter of two sleep
 * states, which the CPU leaves faster. */
void be_umwait(const _Atomic uint64_t *word, uint64_t value)
{
	uint64_t until = __rdtsc() + UMWAIT_CYCLES;

	__asm__ volatile(".byte 0xf3, 0x0f, 0xae, 0xf0" /* umonitor rax */ : : "a"(word) : "memory");
	if (atomic_load_explicit(word, memory_order_relaxed) < value)
		__asm__ volatile(".byte 0xf2, 0x0f, 0xae, 0xf1" /* umwait ecx */
				 :
				 : "c"(1), "a"((uint32_t)until), "d"((uint32_t)(until >> 32))
				 : "memory", "cc");
}

#else

bool rt_cpu_umwaits(void)
{
	return false;
}

void be_umwait(const _Atomic uint64_t *word, uint64_t value)
{
	(void)word;
	(void)value;
	be_pause();
}

#endif

unsigned rt_spins(uint32_t n)
{
	struct rt_cpus c;

	rt_cpus_get(&c);
	return n > count_common(&c, &c) ? 0 : RT_SPINS;
}

unsigned rt_cpus_spins(const void *all, size_t stride, uint32_t n, uint32_t me)
{
	const struct rt_cpus *mine = (const struct rt_cpus *)(const void *)((const char *)all + me * stride);
	double load = 0; /* expected number of ranks that run on the CPUs of rank `me` */

	for (uint32_t r = 0; r < n; r++) {
		const struct rt_cpus *c = (const struct rt_cpus *)(const void *)((const char *)all + r * stride);
		unsigned width = count_common(c, c);

		load += width ? (double)count_common(c, mine) / width : 0;
	}
	return load > count_common(mine, mine) ? 0 : RT_SPINS;
}
