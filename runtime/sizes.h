/* SPDX-License-Identifier: BSD-3-Clause
 * Sizes of buffers: what a schedule declares is held against the definition of its collective, and against what the caller says (sizes.c). */
#ifndef RUNTIME_SIZES_H
#define RUNTIME_SIZES_H

#include "compiler/ir/ir.h"
#include "runtime/sched.h"

/* bind itself, or *whole where the caller's is of an older library and has less; NULL: it is none. */
const struct MPIX_Sched_bind *rt_whole_bind(const struct MPIX_Sched_bind *bind, struct MPIX_Sched_bind *whole);
/* Whether the buffers have the sizes that the definition of the collective gives them, or no op of the rank uses one that
 * it has not: that one has size 0 then. Errors are told. */
int rt_check_sizes(struct mpix_sched *s, const struct bin_args *a, bool inplace, struct ir_rank *r);
/* Whether an op of the rank touches a buffer. */
bool rt_uses(const struct ir_rank *r, uint32_t buffer);
/* Whether the caller binds a buffer in place. */
bool rt_inplace(const struct bin *b, const struct MPIX_Sched_bind *bind);

#endif
