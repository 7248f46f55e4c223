/* SPDX-License-Identifier: BSD-3-Clause
 * Programs whose ranks are alike up to a shift: all ranks have the same ops and dependencies, but for peers that are so many ranks
 * away. They are found by one run of the program, and then no other rank has to be specialised. */
#ifndef BACKENDS_SIM_ALIKE_H
#define BACKENDS_SIM_ALIKE_H

#include "format/read.h"

#include <stdbool.h>

/* Makes the ops of rank 0 in sp, as bin_rank_ops does, and finds out whether every rank r has these ops, and no error, if r is added to
 * the peers that are marked in shifted[], modulo the number of ranks. `shifted` has sp->ops_cap elements, which the caller has
 * cleared. Returns 1 if so; 0 if that is not known, or if rank 0 has an error; -ERR_SPACE as bin_rank_ops does; or -ERR_NOMEM. */
int sim_alike(const struct bin *b, const struct bin_args *args, struct bin_space *sp, bool *shifted);

#endif
