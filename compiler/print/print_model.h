/* SPDX-License-Identifier: BSD-3-Clause
 * What goalc --model prints: the split-tree model for first to last ranks. Each makes an owned, NUL-terminated text in
 * *out; 0 or -ERR_NOMEM. */
#ifndef COMPILER_PRINT_PRINT_MODEL_H
#define COMPILER_PRINT_PRINT_MODEL_H

#include "compiler/passes/model.h"

/* A row for each number of ranks, and where the best S changes. */
int print_model_text(const struct model *m, uint32_t first, uint32_t last, char **out);
/* The object that goalc(1) describes. */
int print_model_json(const struct model *m, uint32_t first, uint32_t last, char **out);
/* A picture like Figures 13 and 14 of the paper, or 15 and 16, side by side. */
int print_model_svg(const struct model *m, uint32_t first, uint32_t last, char **out);

#endif
