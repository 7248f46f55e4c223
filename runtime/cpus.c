/* SPDX-License-Identifier: BSD-3-Clause
 * How long a rank that waits may keep its core: not at all where others want it. */
#include "runtime/rt.h"

#include <sched.h>

void rt_cpus_get(struct rt_cpus *c)
{
	cpu_set_t set;

	*c = (struct rt_cpus){ 0 };
	if (sched_getaffinity(0, sizeof set, &set)) /* more CPUs than fit: not crowded, one hopes */
		return;
	for (unsigned i = 0; i < RT_CPUS; i++)
		if (CPU_ISSET(i, &set))
			c->bits[i / 64] |= 1ull << i % 64;
}

static unsigned count(const struct rt_cpus *a, const struct rt_cpus *b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < RT_CPUS / 64; i++)
		n += (unsigned)__builtin_popcountll(a->bits[i] & b->bits[i]);
	return n;
}

unsigned rt_spins(uint32_t n)
{
	struct rt_cpus c;

	rt_cpus_get(&c);
	return n > count(&c, &c) ? 0 : RT_SPINS;
}

unsigned rt_cpus_spins(const void *all, size_t stride, uint32_t n, uint32_t me)
{
	const struct rt_cpus *mine = (const struct rt_cpus *)(const void *)((const char *)all + me * stride);
	double load = 0; /* ranks on the CPUs of this one */

	for (uint32_t r = 0; r < n; r++) {
		const struct rt_cpus *c = (const struct rt_cpus *)(const void *)((const char *)all + r * stride);
		unsigned width = count(c, c);

		load += width ? (double)count(c, mine) / width : 0;
	}
	return load > count(mine, mine) ? 0 : RT_SPINS;
}
