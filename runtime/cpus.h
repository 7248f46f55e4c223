/* SPDX-License-Identifier: BSD-3-Clause
 * CPUs that ranks may run on, and how long a rank spins before it gives its core away (cpus.c, board.c). */
#ifndef RUNTIME_CPUS_H
#define RUNTIME_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_CPUS 512u /* those above count for nothing */
#define RT_SPINS 256u /* turns before who has a core for itself gives it away all the same */

/* Those that a rank may run on. */
struct rt_cpus {
	uint64_t bits[RT_CPUS / 64];
};

/* What host_umwaits tells; costs microseconds on virtual machines. */
bool rt_cpu_umwaits(void);
void rt_cpus_get(struct rt_cpus *c);
/* The turns that one of n ranks may spin when all run where this one may. */
unsigned rt_spins(uint32_t n);
/* The turns that rank me may spin, from the CPUs of n ranks of its node, stride bytes apart: 0 if there are
 * more ranks than CPUs where it runs. */
unsigned rt_cpus_spins(const void *all, size_t stride, uint32_t n, uint32_t me);

/* One step of waiting: spins for some turns, then yields the core. */
void rt_relax(unsigned turn, unsigned spins);

#endif
