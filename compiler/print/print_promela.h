/* SPDX-License-Identifier: BSD-3-Clause
 * Lowered schedules as Promela programs for spin. */
#ifndef COMPILER_PRINT_PRINT_PROMELA_H
#define COMPILER_PRINT_PRINT_PROMELA_H

#include "compiler/ir/ir.h"

/* Makes the Promela program, owned by the caller. g must have queues and no deadlock, and all its sends and recvs must
 * match. */
int print_promela(const struct ir_graph *g, char **out);

#endif
