/* SPDX-License-Identifier: BSD-3-Clause
 * CPUs on which ranks may run, what they share, and how long a rank spins before it yields its CPU (cpus.c, board.c). */
#ifndef RUNTIME_CPUS_H
#define RUNTIME_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_CPUS 512u /* CPUs with higher numbers are ignored */
#define RT_SPINS 256u /* iterations of waiting before a rank yields, even if it has a CPU of its own */

/* CPUs on which a rank may run. */
struct rt_cpus {
	uint64_t bits[RT_CPUS / 64];
};

static inline bool rt_cpus_have(const struct rt_cpus *c, uint32_t cpu)
{
	return cpu < RT_CPUS && c->bits[cpu / 64] >> cpu % 64 & 1;
}

/* Adds the CPUs of `c` to `all`. Returns false if there are none. */
static inline bool rt_cpus_add(struct rt_cpus *all, const struct rt_cpus *c)
{
	uint64_t some = 0;

	for (unsigned i = 0; i < RT_CPUS / 64; i++) {
		all->bits[i] |= c->bits[i];
		some |= c->bits[i];
	}
	return some != 0;
}

/* True if the CPU has the instructions of be_umwait. The check takes microseconds on virtual machines. */
bool rt_cpu_umwaits(void);
void rt_cpus_get(struct rt_cpus *c);
/* Returns how many iterations each of n ranks may spin, if all of them may run on this rank's CPUs. */
unsigned rt_spins(uint32_t n);
/* Returns how many iterations rank `me` may spin: 0 if more ranks run on its CPUs than there are CPUs. all: the CPUs of the
 * n ranks of its node, `stride` bytes apart. */
unsigned rt_cpus_spins(const void *all, size_t stride, uint32_t n, uint32_t me);

struct rt_caches {
	uint32_t n;
	uint64_t bytes; /* of all of them */
};

/* Returns the caches of the last level that these CPUs have: none if hwloc does not know that of each CPU. Takes milliseconds. */
struct rt_caches rt_cpus_caches(const struct rt_cpus *cpus);
/* True if all these CPUs share such a cache. Takes milliseconds. */
bool rt_cpus_share_cache(const struct rt_cpus *cpus);
/* True if that holds for those on which this thread may run. */
bool rt_cpus_shared_here(void);

/* Does one iteration of waiting: pauses the CPU if `spun` is less than `spins`, else yields it. */
void rt_relax(unsigned spun, unsigned spins);

#endif
