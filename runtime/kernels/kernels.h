/* SPDX-License-Identifier: BSD-3-Clause
 * Reductions of basic types, in variants for different CPUs. All variants give the same bits. */
#ifndef RUNTIME_KERNELS_H
#define RUNTIME_KERNELS_H

#include "include/mpix_sched.h"

/* Computes out[i] = a[i] op b[i]. This equals b[i] op a[i]: all of these operations commute, to the bit. The arrays are aligned
 * for their type. Any two are the same array or do not overlap. */
typedef void rt_kernel(const void *a, const void *b, void *out, size_t n);

/* A variant: functions by basic type and operation. NULL where MPI does not define the operation for the type. */
struct rt_kernels {
	rt_kernel *of[MPIX_SCHED_BASICS][MPIX_SCHED_BUILTINS];
};

/* Each variant is runtime/kernels/loops.c, compiled with the options of that variant. */
#define VARIANT(name, test) extern const struct rt_kernels rt_kernels_##name;
#include "runtime/kernels/variants.def"
#undef VARIANT

/* Returns the fastest variant for this CPU, or the variant that GOAL_KERNELS names. Returns NULL if no variant has that
 * name, or if this CPU cannot run it. */
const struct rt_kernels *rt_kernels_choose(void);
/* Returns the built variant with index `i`, or NULL after the last one. Sets *name, and sets *runs if this CPU can run the
 * variant. */
const struct rt_kernels *rt_kernels_variant(unsigned i, const char **name, int *runs);

#endif
