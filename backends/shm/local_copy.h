/* SPDX-License-Identifier: BSD-3-Clause
 * Copies within a rank, such as that of its own block (local_copy.c). */
#ifndef BACKENDS_SHM_LOCAL_COPY_H
#define BACKENDS_SHM_LOCAL_COPY_H

#include "backends/common/dispatch.h"

#include <stdint.h>

struct sm_bound;
struct sm_msg;

/* Carries out a copy op, or a piece of it. */
int sm_copy(struct dispatcher *e, void *what);
/* Leaves a long op to its poll. */
int sm_leave_op(struct dispatcher *e, void *what);
/* Returns the functions of a copy op that is long. */
struct dispatch_how sm_how_long_copy(const struct sm_bound *s, uint32_t copy);

/* Returns the send of the bytes of a copy op, its twin, or BIN_NONE. */
uint32_t sm_twin_of(const struct sm_bound *s, uint32_t copy);
/* Links long copies with their twins. */
void sm_link_twins(struct sm_bound *s);
/* Of a send that has a twin, in an epoch whose data exceed the caches: returns where the bytes from offset `skip` on are to be copied as
 * they are stored in a slot, which the caller then does, or NULL. */
char *sm_twin_takes(const struct sm_bound *s, const struct sm_msg *m, uint64_t skip, size_t bytes);

#endif
