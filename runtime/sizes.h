/* SPDX-License-Identifier: BSD-3-Clause
 * Sizes of buffers: those that a schedule declares are compared with the definition of its collective, and with those that
 * the caller passes (sizes.c). */
#ifndef RUNTIME_SIZES_H
#define RUNTIME_SIZES_H

#include "compiler/ir/ir.h"
#include "runtime/sched.h"

/* Returns a struct with all fields: bind itself, or *whole if the caller's is of an older library and has fewer. NULL if it
 * is invalid. */
const struct MPIX_Sched_bind *rt_whole_bind(const struct MPIX_Sched_bind *bind, struct MPIX_Sched_bind *whole);
/* Checks that buffers have the sizes that the definition of the collective gives them. A buffer that the definition does
 * not have on this rank gets size 0 if no op uses it. Returns 0, or an error with a message. */
int rt_check_sizes(struct mpix_sched *s, const struct bin_args *a, bool inplace, struct ir_rank *r);
/* True if an op of the rank accesses a buffer. */
bool rt_uses(const struct ir_rank *r, uint32_t buffer);
/* True if the caller binds a buffer in place. */
bool rt_inplace(const struct bin *b, const struct MPIX_Sched_bind *bind);

#endif
