/* SPDX-License-Identifier: BSD-3-Clause
 * Computing without touching memory, for benchmarks of overlap; bench/overlap_mpi.c computes the same. */
#ifndef RUNTIME_RUN_WORK_H
#define RUNTIME_RUN_WORK_H

#include <stdint.h>

/* Some tens of nanoseconds a unit. */
void work_do(uint64_t units);
/* Units a nanosecond while this thread computes, not counting the time when others have its core. */
double work_rate(void);

#endif
