/* SPDX-License-Identifier: BSD-3-Clause
 * Reductions of basic types, in variants for different CPUs that agree to the bit. */
#ifndef RUNTIME_KERNELS_H
#define RUNTIME_KERNELS_H

#include "include/mpix_sched.h"
#include "runtime/sched.h"

/* inout[i] = in[i] op inout[i] = inout[i] op in[i]: all of these operations commute, to the bit. in and inout
 * are aligned for their type, and are the same or do not overlap. */
typedef void rt_kernel(const void *in, void *inout, size_t n);

/* NULL where MPI defines no such operation. */
struct rt_kernels {
	rt_kernel *of[MPIX_SCHED_BASICS][MPIX_SCHED_BUILTINS];
};

/* runtime/loops.c, compiled once for each. */
#define VARIANT(name, test) extern const struct rt_kernels rt_kernels_##name;
#include "runtime/variants.def"
#undef VARIANT

/* The fastest variant of this CPU, or the one that GOAL_KERNELS names; NULL when that one cannot be had. */
const struct rt_kernels *rt_kernels_choose(void);
/* Variant i of those that are built, whether this CPU can run it, and its name; NULL behind the last one. */
const struct rt_kernels *rt_kernels_variant(unsigned i, const char **name, int *runs);

#endif
