/* SPDX-License-Identifier: BSD-3-Clause
 * Lowered schedules as models for spin. */
#ifndef COMPILER_PRINT_PRINT_PROMELA_H
#define COMPILER_PRINT_PRINT_PROMELA_H

#include "compiler/ir/ir.h"

/* The model, owned by the caller. g has queues, messages that all meet, and no deadlock. */
int print_promela(const struct ir_graph *g, char **out);

#endif
