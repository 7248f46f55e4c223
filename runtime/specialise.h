/* SPDX-License-Identifier: BSD-3-Clause
 * Computes the ops of a rank from the caller's arguments (specialise.c). */
#ifndef RUNTIME_SPECIALISE_H
#define RUNTIME_SPECIALISE_H

#include "compiler/ir/ir.h"
#include "runtime/sched.h"

/* Returns a struct with all fields: `bind` itself, or *whole if the caller was built with an older version, whose struct has
 * fewer fields. Returns NULL if `bind` is invalid. */
const struct MPIX_Sched_bind *rt_whole_bind(const struct MPIX_Sched_bind *bind, struct MPIX_Sched_bind *whole);
/* Computes the rank's ops. The caller sets a->rank and a->size. Stores the values of the schedule's parameters in *row
 * (owned by the caller, NULL if there are none), the ops in *out, and a hash of the global parameters, which ranks compare,
 * in *params. On failure stores an error message. */
int rt_specialise(struct mpix_sched *s, const struct mpix_sched_type *type, const struct MPIX_Sched_bind *bind,
		  struct bin_args *a, struct bin_arg **row, struct ir_rank *out, uint64_t *params);

/* Computes which bytes n basic elements touch: the offset of the first in *low, their number in *len. Returns false on
 * overflow. */
bool rt_span(const struct mpix_sched_type *t, uint64_t n, int64_t *low, size_t *len);

/* True if an op of the rank accesses a buffer. */
bool rt_uses(const struct ir_rank *r, uint32_t buffer);
/* rt_in_place: true if the caller passes MPIX_SCHED_IN_PLACE for buffer `i`. rt_inplace: true if the caller passes it for
 * the buffer that allows it. */
bool rt_in_place(void *const *buffers, size_t n, uint32_t i);
bool rt_inplace(const struct bin *b, const struct MPIX_Sched_bind *bind);

#endif
