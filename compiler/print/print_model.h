/* SPDX-License-Identifier: BSD-3-Clause
 * Output of goalc --model: the cost model of split-tree for first to last ranks. Each function makes an owned,
 * NUL-terminated text in *out and returns 0 or -ERR_NOMEM. */
#ifndef COMPILER_PRINT_PRINT_MODEL_H
#define COMPILER_PRINT_PRINT_MODEL_H

#include "compiler/passes/model.h"

/* Prints a row for each number of ranks, and the numbers at which the best S changes. */
int print_model_text(const struct model *m, uint32_t first, uint32_t last, char **out);
/* Prints the cost model as the JSON object that goalc(1) describes. */
int print_model_json(const struct model *m, uint32_t first, uint32_t last, char **out);
/* Prints a picture that shows plots like Figures 13 and 14 of the paper, or like 15 and 16, side by side. */
int print_model_svg(const struct model *m, uint32_t first, uint32_t last, char **out);

#endif
