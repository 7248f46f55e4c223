/* SPDX-License-Identifier: BSD-3-Clause
 * Lowered schedules as Promela programs for spin. */
#ifndef COMPILER_PRINT_PRINT_PROMELA_H
#define COMPILER_PRINT_PRINT_PROMELA_H

#include "compiler/ir/ir.h"

/* Makes the Promela program, which the caller owns. g must have queues and no deadlock, and its sends and recvs must all be
 * matched. */
int print_promela(const struct ir_graph *g, char **out);

#endif
